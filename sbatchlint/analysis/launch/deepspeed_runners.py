"""DeepSpeed runners, and how they learn of other nodes.

deepspeed/launcher/runner.py (0.19): the runner reads its hostfile (default /job/hostfile). Without one it uses only its
own node, whatever --launcher says, and refuses --num_nodes above 1. With one it starts the workers of all nodes itself
(pdsh, ssh, mpirun, srun), so one runner is enough. With --no_ssh, each node starts a runner, with --node_rank.
"""

from collections.abc import Iterator

from sbatchlint.bash.values import shown_text
from sbatchlint.job import Job
from sbatchlint.job.launchers import DeepSpeed
from sbatchlint.job.once import once
from sbatchlint.job.worlds import LaunchWorld, find_worlds

DEFAULT_HOSTFILE = "/job/hostfile"


def deepspeed_runners(job: Job) -> Iterator[tuple[LaunchWorld, DeepSpeed]]:
    """Runners whose options are all known, and that start the workers of all nodes themselves."""
    for world in find_worlds(job):
        launcher = world.launcher
        if isinstance(launcher, DeepSpeed) and launcher.kind == "deepspeed" and launcher.certain:
            if not launcher.no_ssh and world.isolation != "restricted":
                yield world, launcher


def has_hostfile(job: Job, runner: DeepSpeed) -> bool:
    """Whether a runner has a hostfile: by its option, or because some command names the default one."""
    return runner.hostfile is not None or _names_default_hostfile(job)


@once
def _names_default_hostfile(job: Job) -> bool:
    return any(
        DEFAULT_HOSTFILE in shown_text(field)
        for command in job.invocations
        for field in (
            *command.argv,
            *(redirect.target for redirect in command.redirects if redirect.target is not None),
        )
    )


def wants_several_nodes(runner: DeepSpeed) -> bool:
    """Whether a runner's --num_nodes is above 1."""
    number = None if runner.machines is None else runner.machines.number
    return number is not None and number > 1
