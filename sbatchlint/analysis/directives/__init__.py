"""How directives go wrong in the writing, and what was probably meant."""
