"""What swift/cli/main.py imports."""

from logging import getLogger as get_logger

__all__ = ["get_logger"]
