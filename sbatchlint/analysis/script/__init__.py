"""The script as text and as a shell program."""
