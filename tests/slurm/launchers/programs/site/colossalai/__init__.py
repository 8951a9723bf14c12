"""Stands for colossalai without what it needs to train: its command line is the real one."""

import os
import sys

__path__ += [f"{folder}/colossalai" for folder in sys.path if os.path.exists(f"{folder}/colossalai/cli/cli.py")]
