"""The variables that Slurm sets, by phase: what a script can know of them before it runs.

From setup_env() and env_array_for_batch_job() (src/common/env.c, 20.11 to 26.05) and live runs on 22.05, 23.11, 24.11
and 26.05. The batch shell is task 0 of a one-task step on the first node, so that the variables of a task are there,
and 0. Values come from the directives; the command line may override these, and nobody can see that.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..shell.trace import Context
from ..shell.values import Phase
from .request import Request

if TYPE_CHECKING:
    from .steps import Step

# Different in each task, or on each node, of a step.
PER_TASK = frozenset({"SLURM_PROCID", "SLURM_LOCALID", "SLURM_TASK_PID"})
PER_NODE = frozenset({"SLURM_NODEID", "SLURM_GTIDS", "SLURMD_NODENAME", "SLURM_TOPOLOGY_ADDR"})
TASK_VARIABLES = PER_TASK | PER_NODE | {"SLURM_CPU_BIND", "SLURM_CPU_BIND_LIST"}
ZERO_IN_BATCH = frozenset({"SLURM_PROCID", "SLURM_LOCALID", "SLURM_NODEID", "SLURM_GTIDS"})

NODE_COUNTS = frozenset({"SLURM_NNODES", "SLURM_JOB_NUM_NODES"})
TASK_COUNTS = frozenset({"SLURM_NTASKS", "SLURM_NPROCS"})
ONLY_IN_STEPS = frozenset(
    {
        "SLURM_STEP_NODELIST",
        "SLURM_STEP_NUM_NODES",
        "SLURM_STEP_NUM_TASKS",
        "SLURM_STEP_TASKS_PER_NODE",
        "SLURM_STEP_GPUS",
        "SLURM_LAUNCH_NODE_IPADDR",
        "SLURM_SRUN_COMM_HOST",
        "SLURM_SRUN_COMM_PORT",
    }
)
# Set in the batch shell just where the option of the same name was given.
WITH_OPTION = {
    "SLURM_NTASKS_PER_NODE": "ntasks-per-node",
    "SLURM_CPUS_PER_TASK": "cpus-per-task",
    "SLURM_GPUS": "gpus",
    "SLURM_GPUS_PER_NODE": "gpus-per-node",
    "SLURM_GPUS_PER_SOCKET": "gpus-per-socket",
    "SLURM_CPUS_PER_GPU": "cpus-per-gpu",
    "SLURM_NTASKS_PER_SOCKET": "ntasks-per-socket",
    "SLURM_NTASKS_PER_GPU": "ntasks-per-gpu",
}
GPU_OPTIONS = ("gpus", "gpus-per-node", "gpus-per-socket", "gpus-per-task", "gres", "ntasks-per-gpu", "tres-per-task")
COUNTING_OPTIONS = ("ntasks", "ntasks-per-node", "ntasks-per-gpu", "ntasks-per-tres", "gpus-per-task")


class JobEnvironment:
    """The environment of the job's shells, as the evaluator asks for it."""

    def __init__(self, request: Request | None) -> None:
        self.request = request

    def differs(self, name: str) -> bool:
        return name in TASK_VARIABLES

    def lookup(self, name: str, context: Context) -> str | bool | None:
        request = self.request
        if request is None or not name.startswith(("SLURM", "CUDA_")) or context.phase is Phase.SUBMIT:
            return None
        if request.heterogeneous:
            return "0" if name in ZERO_IN_BATCH and context.phase is Phase.BATCH else None
        if context.phase is Phase.TASK:
            return self._in_task(name, context, request)
        if name in ZERO_IN_BATCH:
            return "0"
        if name in ONLY_IN_STEPS:
            return False
        return self._of_job(name, request)

    def _of_job(self, name: str, request: Request) -> str | bool | None:
        if name in NODE_COUNTS:
            nodes = request.exact_nodes()
            return None if nodes is None else str(nodes)
        if name in TASK_COUNTS:
            return self._tasks(request)
        option = WITH_OPTION.get(name)
        if option is not None:
            if not request.asked(option):
                return False if request.directives.certain else None
            return request.text(option)
        if name == "SLURM_GPUS_ON_NODE":
            gpus = request.gpus_per_node()
            return None if gpus is None else str(gpus)
        if name == "SLURM_JOB_NAME":
            return request.text("job-name")
        return None

    def _tasks(self, request: Request) -> str | bool | None:
        """SLURM_NTASKS: only where the script asks for tasks (just --nodes leaves it unset)."""
        if request.tasks is not None:
            return str(request.tasks)
        if not any(request.asked(name) for name in COUNTING_OPTIONS):
            return False if request.directives.certain else None
        nodes = request.exact_nodes()
        if not request.asked("ntasks") and request.tasks_per_node is not None and nodes is not None:
            return str(nodes * request.tasks_per_node)
        return None

    def _in_task(self, name: str, context: Context, request: Request) -> str | bool | None:
        step = step_around(context)
        if name in TASK_VARIABLES:
            if step is not None and name in ZERO_IN_BATCH:
                alone = step.tasks == 1 or step.nodes == 1 and name == "SLURM_NODEID"
                alone = alone or step.tasks_per_node == 1 and name == "SLURM_LOCALID"
                return "0" if alone else None
            return None
        if name == "SLURM_JOB_NUM_NODES":
            return self._of_job(name, request)
        if name == "SLURM_NNODES":
            return None if step is None or step.nodes is None else str(step.nodes)
        if name in TASK_COUNTS:
            return None if step is None or step.tasks is None else str(step.tasks)
        if name == "SLURM_CPUS_PER_TASK" and step is not None and (option := step.option("cpus-per-task")) is not None:
            return option.text
        if name in WITH_OPTION and name != "SLURM_CPUS_PER_TASK":
            return None
        if name == "SLURM_GPUS_ON_NODE" and (step is None or _has_own_gpus(step, request)):
            return None
        if name == "SLURM_JOB_NAME" and step is not None and step.option("job-name") is not None:
            return None
        return None if name in ONLY_IN_STEPS else self._of_job(name, request)


def _has_own_gpus(step: Step, request: Request) -> bool:
    """Whether a step may have other GPUs than the job has on the node."""
    return request.gpus.per_task is not None or any(name in step.options for name in GPU_OPTIONS)


def step_around(context: Context) -> Step | None:
    """The step in whose tasks a command runs."""
    from .steps import Step

    each = context.parent
    while each is not None:
        info = getattr(each.spawn, "info", None)
        if isinstance(info, Step):
            return info
        each = each.context.parent
    return None
