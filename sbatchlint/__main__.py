"""`python -m sbatchlint`."""

import sys

from sbatchlint.cli import command

if __name__ == "__main__":
    sys.exit(command())
