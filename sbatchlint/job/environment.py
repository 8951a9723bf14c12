"""Slurm's variables by their meaning, from the table in `slurm.environment`."""

from collections.abc import Sequence

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
# Lists of nodes, which Slurm writes in short: `node[01-04]`.
NODE_LISTS = ("SLURM_JOB_NODELIST", "SLURM_NODELIST", "SLURM_STEP_NODELIST")
GPU_OPTIONS = ("gpus", "gpus-per-node", "gpus-per-socket", "gpus-per-task", "gres", "ntasks-per-gpu", "tres-per-task")
# Options by which sbatch multiplies the nodes to get a number of tasks that nothing else sets.
TASK_FACTORS = ("extra-node-info", "sockets-per-node", "cores-per-socket", "threads-per-core")
COUNTING_OPTIONS = ("ntasks", "ntasks-per-node", "ntasks-per-gpu", "ntasks-per-tres", "gpus-per-task")

# What other batch systems call things that each of their jobs has, by what Slurm calls them.
FOREIGN_NAMES = {
    "SLURM_SUBMIT_DIR": "PBS_O_WORKDIR LS_SUBCWD SGE_O_WORKDIR OAR_WORKDIR OAR_WORKING_DIRECTORY COBALT_CWD",
    "SLURM_JOB_ID": "PBS_JOBID LSB_JOBID OAR_JOB_ID OAR_JOBID COBALT_JOBID",
    "SLURM_JOB_NAME": "PBS_JOBNAME LSB_JOBNAME OAR_JOB_NAME",
    "SLURM_SUBMIT_HOST": "PBS_O_HOST LSB_SUB_HOST SGE_O_HOST",
    "SLURM_JOB_PARTITION": "PBS_QUEUE LSB_QUEUE",
}
# Variables that no batch shell of Slurm has: those of other batch systems, and bash's prompt, which it removes itself.
NEVER_IN_BATCH = frozenset(" ".join(FOREIGN_NAMES.values()).split()) | {"PS1"}


def shows_hostnames(words: Sequence[str]) -> bool:
    """Whether a command is `scontrol show hostnames`, which lists the names of nodes one by one."""
    return tuple(words[:2]) == ("scontrol", "show") and len(words) > 2 and words[2] in ("hostname", "hostnames")
