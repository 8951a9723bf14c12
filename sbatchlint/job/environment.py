"""Slurm's variables by their meaning, from the table in `slurm.environment`."""

from sbatchlint.slurm import environment as table

_ALL = table.variables()
# Variables that differ between the tasks, or between the nodes, of a step.
PER_TASK = frozenset(each.name for each in _ALL.values() if each.varies == "task")
PER_NODE = frozenset(each.name for each in _ALL.values() if each.varies == "node" and each.when == "always")
# What numbers the tasks of a node, by Slurm and by MPI libraries.
LOCAL_RANKS = frozenset({"SLURM_LOCALID", "MPI_LOCALRANKID", "OMPI_COMM_WORLD_LOCAL_RANK"})
TASK_VARIABLES = PER_TASK | PER_NODE | {"SLURM_CPU_BIND", "SLURM_CPU_BIND_LIST"}
ZERO_IN_BATCH = frozenset(each.name for each in _ALL.values() if each.value == "0")

NODE_COUNTS = frozenset(each.name for each in _ALL.values() if each.value == "nodes")
TASK_COUNTS = frozenset(each.name for each in _ALL.values() if each.value == "tasks")
GPU_OPTIONS = ("gpus", "gpus-per-node", "gpus-per-socket", "gpus-per-task", "gres", "ntasks-per-gpu", "tres-per-task")
# Options by which sbatch multiplies the nodes to get a number of tasks that nothing else sets.
TASK_FACTORS = ("extra-node-info", "sockets-per-node", "cores-per-socket", "threads-per-core")
COUNTING_OPTIONS = ("ntasks", "ntasks-per-node", "ntasks-per-gpu", "ntasks-per-tres", "gpus-per-task")
