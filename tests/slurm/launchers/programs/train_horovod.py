"""A program of horovodrun, which tells its processes who they are; Horovod itself is not asked."""

import os

from train import meet

meet(int(os.environ["HOROVOD_RANK"]), int(os.environ["HOROVOD_SIZE"]), int(os.environ["HOROVOD_LOCAL_RANK"]),
     "localhost", 29500)  # fmt: skip
