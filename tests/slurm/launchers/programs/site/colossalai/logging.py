"""What colossalai/context imports."""

from logging import getLogger as get_dist_logger

__all__ = ["get_dist_logger"]
