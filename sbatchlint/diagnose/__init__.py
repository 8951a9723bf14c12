"""Finds the line of a script that caused the failure in the log of its job; not loaded for linting."""
