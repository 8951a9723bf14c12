"""A static linter and autofixer for Slurm batch scripts."""

__version__ = "0.1.0"
ISSUES = "https://github.com/sbatchlint/sbatchlint/issues"
