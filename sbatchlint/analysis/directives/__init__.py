"""How directives are miswritten, and what was probably meant."""
