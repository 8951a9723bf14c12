"""Editing a script's commands in place: adding, removing and replacing options, and proving that the edits work."""
