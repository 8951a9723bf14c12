"""Launchers that a step starts on all of its nodes, each of which fills its own node.

What a wrong number of nodes does is from runs of torch 2.6 with two agents on two hosts, and from accelerate
utils/launch.py (1.15).
"""

from sbatchlint.analysis.launch.duplicate_launchers import is_duplicated
from sbatchlint.bash.values import expansions, text_of
from sbatchlint.job import Job, Launch
from sbatchlint.job.worlds import LaunchWorld
from sbatchlint.programs import programs_with

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
