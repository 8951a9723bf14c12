"""A program without a launcher: srun's tasks are its ranks."""

import os

from train import meet

meet(int(os.environ["SLURM_PROCID"]), int(os.environ["SLURM_NTASKS"]), int(os.environ["SLURM_LOCALID"]),
     os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"]))  # fmt: skip
