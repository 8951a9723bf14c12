"""The abstract interpreter: walks a program in order and records every command that it would run."""
