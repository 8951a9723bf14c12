"""The environments of Python and of training programs that commands run in."""
