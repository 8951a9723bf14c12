"""Stands for the training itself."""

import os

from train import meet

if "RANK" in os.environ:
    meet(int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"]), int(os.environ["LOCAL_RANK"]),
         os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"]))  # fmt: skip
else:
    meet(0, 1, None, "localhost", 29500)
