"""A static linter and autofixer for Slurm batch scripts."""

__version__ = "0.1.0"
# The beginning of a comment that addresses sbatchlint.
COMMENT_MARK = "sbatchlint:"
ISSUES = "https://github.com/sbatchlint/sbatchlint/issues"
