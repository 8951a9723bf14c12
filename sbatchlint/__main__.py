"""`python -m sbatchlint`."""

from __future__ import annotations

import sys

from sbatchlint.cli import command

if __name__ == "__main__":
    sys.exit(command())
