"""Bash: its syntax, and the evaluation of words, variables and nested programs."""
