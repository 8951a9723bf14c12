"""Stands for mosaicml without what it needs to train: its launcher is the real one."""

import os
import sys

__path__ += [f"{folder}/composer" for folder in sys.path if os.path.exists(f"{folder}/composer/cli/launcher.py")]
__version__ = "0"
