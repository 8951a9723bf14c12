"""Bash: its syntax (tree-sitter), and the evaluation of words, variables and nested programs."""
