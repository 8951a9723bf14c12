"""Editing the commands of a script where their words stand: adding options, taking them out, and proving it."""
