"""Commands that run other commands: wrappers, containers, profilers, runners of Python."""
