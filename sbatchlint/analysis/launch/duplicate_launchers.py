"""Launchers that a step starts on all of its nodes, and those of which it starts several on a node that one fills.

What the launchers do is from their sources (torch/distributed/run.py, accelerate utils/launch.py 1.15, deepspeed
launcher/runner.py) and from runs of torch 2.6 with two agents on two hosts.
"""

from sbatchlint.bash.trace import is_set
from sbatchlint.bash.values import expansions, text_of
from sbatchlint.job import Job, Launch
from sbatchlint.job.environment import TASK_COUNTS
from sbatchlint.job.gpus import DEVICE_VARIABLES, step_gpus
from sbatchlint.job.once import once
from sbatchlint.job.steps import Step
from sbatchlint.job.worlds import LaunchWorld
from sbatchlint.programs import programs_with

# Options that give every task GPUs of its own.
PER_TASK_GPUS = ("gpus-per-task", "ntasks-per-gpu", "tres-per-task", "ntasks-per-tres", "gpu-bind", "tres-bind")


def is_duplicated(job: Job, launch: Launch) -> bool:
    """Whether some node starts this launcher several times, though that is not intended."""
    step, launcher = launch.step, launch.launcher
    if step is None or launch.restricted or not launcher.spawns:
        return False
    if step.geometry.several is not True or step.geometry.ignored is not False:
        return False
    if launcher.kind == "deepspeed" and "no_ssh" not in launcher.flags:
        return False
    if launcher.kind == "ray" and "head" not in launcher.flags:
        # A Ray node per task, each with its share, is a valid cluster; several heads on a node clash.
        if not launcher.certain or launcher.setting("num-cpus", "num-gpus") is not None:
            return False
    if not _starting_several(job).isdisjoint(map(id, launch.invocation.ancestors())):
        return False  # its own launcher decides how often it runs
    return not _is_node_per_task(job, launch, step)


@once
def _starting_several(job: Job) -> frozenset[int]:
    """The identities of the calls of launchers that start several processes."""
    return frozenset(id(each.invocation) for each in job.launches if each.launcher.starts_several)


def _is_node_per_task(job: Job, launch: Launch, step: Step) -> bool:
    """Whether every task is meant to be a node of its own, with one worker or GPUs of its own."""
    launcher = launch.launcher
    workers = launcher.processes_per_task
    if workers == 1:
        # only as many workers can join the world as it has nodes
        return not (isinstance(launcher.nnodes, int) and 1 < launcher.nnodes == step.nodes)
    bound = any(name in step.options or job.request.has_option(name) for name in PER_TASK_GPUS)
    bound = bound or any(is_set(launch.invocation, name) for name in DEVICE_VARIABLES)  # each task chooses its GPUs
    each_task = counts_tasks(launch, step)
    if workers == "auto":
        return bound  # even where each task counts as a node: it starts a worker for every GPU of the node
    if not isinstance(workers, int):
        return bound or each_task or not _fills_node(launch, step)
    if each_task:
        gpus, starts = job.request.gpus_per_node(), step.tasks_per_node
        return bound or gpus is None or starts is None or workers * starts <= gpus
    if not bound:
        return False
    own = step_gpus(job, step).per_task
    return own is None or own == workers and not isinstance(launcher.nnodes, int)


def _fills_node(launch: Launch, step: Step) -> bool:
    """Whether a launcher with an unknown number of workers is meant to be alone on its node."""
    launcher = launch.launcher
    if not launcher.is_a("joins", "by-variables"):
        return True
    setting = launcher.setting("nproc_per_node", "num_processes")
    if setting is None or setting.value is None:
        return False
    if any("GPU" in each.name or "nvidia-smi" in each.name for each in expansions(setting.value)):
        return True
    return launcher.nnodes is not None and launcher.nnodes == step.nodes


def counts_tasks(launch: Launch, step: Step) -> bool:
    """Whether the launcher's number of nodes is the number of tasks."""
    machines = launch.launcher.machines
    if machines is None or machines.value is None:
        return False
    if {each.name for each in expansions(machines.value)} & TASK_COUNTS:
        return True
    number = machines.number
    return number is not None and number > 1 and number == step.tasks


# Launchers that form one world across the nodes on which they are started.
WORLD_LAUNCHERS = programs_with("joins")


def is_started_by_whole_step(job: Job, world: LaunchWorld) -> bool:
    """Whether all nodes of a step start a launcher: neither host by host in a loop, nor in some of the tasks only."""
    return world.step is not None and world.isolation in ("", "part") and not job.request.heterogeneous


def fills_node(job: Job, world: LaunchWorld) -> bool:
    """Whether one launcher is meant to fill its node, even if the step starts several there."""
    if world.step is None:
        return False
    per_node = world.step.option("ntasks-per-node")
    ignored = world.step.geometry.ignored is not False and per_node is not None and per_node.text == "1"
    return world.starts_per_node == 1 or ignored or is_duplicated(job, world.launch)


def has_job_node_count(launch: Launch) -> bool:
    """Whether a launcher's number of nodes is set to SLURM_JOB_NUM_NODES."""
    machines = launch.launcher.machines
    value = () if machines is None else machines.value or ()
    return [each.name for each in expansions(value)] == ["SLURM_JOB_NUM_NODES"] and text_of(value) != ""
