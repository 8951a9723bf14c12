"""What the words of a command say: its name and options, and the command that it runs in turn."""
