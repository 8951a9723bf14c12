"""A program of mpirun, which tells its processes who they are; MPI itself is not asked."""

import os

from train import meet

# Two mpiruns on one node need two ports.
port = os.environ["OMPI_MCA_" + "ess_base_jobid"]
nodes = os.popen("scontrol show hostnames $SLURM_JOB_NODELIST").read().split()
meet(int(os.environ["OMPI_COMM_WORLD_RANK"]), int(os.environ["OMPI_COMM_WORLD_SIZE"]),
     int(os.environ["OMPI_COMM_WORLD_LOCAL_RANK"]), nodes[0],
     int(port) % 10000 + 20000)  # fmt: skip
