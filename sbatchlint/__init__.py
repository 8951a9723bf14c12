"""A static linter and autofixer for Slurm batch scripts."""

__version__ = "0.1.0"
# With it begins what comments of scripts say to sbatchlint.
COMMENT_MARK = "sbatchlint:"
ISSUES = "https://github.com/sbatchlint/sbatchlint/issues"
