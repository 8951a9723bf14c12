"""All launchers but one fail: they run at the same time on one node, with the same port.

A launcher for one node makes its workers meet at a port of this node: 29500, unless another one is set. The second
launcher there ends with `EADDRINUSE: address already in use`, or joins the rendezvous of the first and disturbs it. So
several trainings on the GPUs of one node (`&`, a loop, several tasks of a step) need a port each.

From torch 2.12 on, torchrun chooses a free port itself if none is set, and newer releases of accelerate do so if they
find their port in use, which two that start together do not; deepspeed never does. `torchrun --standalone` has always
chosen a free one.

Nothing is reported where there is a `wait` in between, or for containers with a network of their own.

A warning where a test decides whether both run, or the ports are not certainly the same.

## Fix

Adds `--standalone` to torchrun. Unsafe: something outside may rely on the port.

## References

torch/distributed/run.py and static_tcp_rendezvous.py of torch 2.6 to 2.13; commands/launch.py and utils/launch.py of
accelerate 1.15; launcher/runner.py of deepspeed
"""

from bisect import bisect_right
from collections.abc import Iterator
from operator import attrgetter
from typing import NamedTuple

from sbatchlint.analysis.editing.options import add_launcher_options
from sbatchlint.analysis.launch.duplicate_launchers import is_duplicated
from sbatchlint.analysis.script.background import is_started_again
from sbatchlint.analysis.script.conditionals import depends_on_test
from sbatchlint.bash.trace import Shell
from sbatchlint.bash.values import expansions, text_of
from sbatchlint.bash.variables import merge_guards
from sbatchlint.check import Bad, Card, Finding, Good, Job
from sbatchlint.job.environment import TASK_VARIABLES
from sbatchlint.job.geometry import job_nodes
from sbatchlint.job.once import once
from sbatchlint.job.steps import Step
from sbatchlint.job.worlds import LaunchWorld, by_place, find_worlds
from sbatchlint.programs import has_trait, programs_with
from sbatchlint.triggers import Launchers

CARD = Card(
    "SB332", "launchers-share-port", severity="error", fix="sometimes", since="0.1.0",
    when=Launchers(*programs_with("ranks")),
    seen="torch/distributed/run.py of torch 2.6; launcher/runner.py of deepspeed",
)  # fmt: skip

DEFAULT = "29500"
# The number of earlier launchers with which a launcher is compared.
MOST_COMPARED = 20
# Options with which steps may share a node of a job, and options that choose their nodes.
SHARING = ("overlap", "exact", "exclusive")
PLACING = ("nodelist", "exclude", "relative", "nodefile")


class Port(NamedTuple):
    """The port of a launcher. `name`: its rendezvous, if any. `is_set`: an option or variable sets the port."""

    number: str
    name: str
    is_set: bool


def check(job: Job) -> Iterator[Finding]:
    before: dict[tuple[str, str], list[LaunchWorld]] = {}
    for place in by_place(find_worlds(job)):
        world, port = place[0], _port(place[0])
        if port is None or any(_port(other) != port for other in place):
            continue
        same = before.setdefault(port[:2], [])
        same[:] = [each for each in same[-MOST_COMPARED:] if not _is_awaited(job, each, world)]
        other = next((each for each in same if _at_once(job, each, world)), None)
        found = ""
        if other is not None:
            found = f"{world.name} opens port {port.number} while the one on line {job.line(other.span.start)} uses it"
        elif all(_is_repeated(job, each) for each in place):
            found = f"each iteration starts {world.name} on port {port.number}, while the one before still uses it"
        elif all(_is_in_tasks(job, each) for each in place):
            found = f"srun starts several {world.name} processes per node, all on port {port.number}"
        if world.invocation.context.background is not None:
            same.append(world)  # one in the foreground ends before the next begins
        if found:
            yield _finding(job, world, port, found, other)


def _finding(job: Job, world: LaunchWorld, port: Port, found: str, other: LaunchWorld | None) -> Finding:
    kind, certain = world.launcher.kind, port.is_set or world.launcher.kind == "deepspeed"
    ends = "all but the first fail" if other is None else "the second fails"
    if kind == "accelerate":
        ends, certain = ends.replace(" fails", " may fail").replace("first fail", "first may fail"), False
    elif not certain:
        ends = "before torch 2.12 " + ends
    advice = "give each its own `--master_port`"
    fix = None
    if world.launcher.is_a("torch"):
        advice = "write `--standalone`"
        title, accept = "let it take a free port", attrgetter("launcher.standalone")
        fix = add_launcher_options(job, world.launch, "--standalone", title, accept)
    elif kind == "accelerate":
        advice = "write `--main_process_port 0`"
    elif world.launcher.is_a("by-variables"):
        advice = "give each its own MASTER_PORT"
    tested = depends_on_test(world.invocation) or other is not None and depends_on_test(other.invocation)
    return Finding(
        world.span,
        f"{found}: {ends}; {advice}",
        None if certain and not tested else "warning",
        related=[] if other is None else [(other.span, "has the same port")],
        fix=fix,
    )


# --- the port --------------------------------------------------------------------------------------------


def _port(world: LaunchWorld) -> Port | None:
    """The port that a launcher opens on its node; None where it is unknown, or the launcher chooses a free one."""
    launcher, container = world.launcher, world.launch.container
    if not launcher.is_a("ranks") or not launcher.spawns or launcher.cpu or launcher.standalone:
        return None
    if not world.certain or world.nodes_setting.number != 1 or launcher.hostfile is not None:
        return None
    if container is not None and container.kind in ("docker", "podman"):
        return None  # it has a network of its own
    if launcher.kind == "accelerate" and world.processes == 1 and "multi_gpu" not in launcher.flags:
        return None  # starts its program without a rendezvous
    rendezvous = launcher.rendezvous
    if rendezvous is None or rendezvous.backend not in ("static", "c10d"):
        return None
    if rendezvous.port is None:
        static = rendezvous.backend == "static" and rendezvous.endpoint is None
        return Port(DEFAULT, "", False) if static else None
    value = rendezvous.port.value or ()
    number = text_of(value)
    if number in (None, "", "0") or any(each.name in TASK_VARIABLES for each in expansions(value)):
        return None
    name = launcher.setting("rdzv_id") if rendezvous.backend == "c10d" else None
    if name is not None and name.text is None:
        return None
    return Port(number or "", f"{rendezvous.backend} {'' if name is None else name.text}", True)


# --- at the same time, on one node ------------------------------------------------------------------------


def _is_remote(world: LaunchWorld) -> bool:
    return world.mpi is not None or any(has_trait(each.name, "remote") for each in world.invocation.ancestors())


def _shares_node(job: Job, step: Step | None) -> bool:
    """Whether background steps of the batch shell run on one node, at the same time."""
    if step is None:
        return True
    placed = any(name in step.options for name in PLACING)
    return job_nodes(job.request) == 1 and not placed and step.certain and any(n in step.options for n in SHARING)


def _background(world: LaunchWorld) -> tuple[Shell | None, Step | None]:
    """The enclosing background statement of a launch, and the step within it (None where the tasks contain it)."""
    background = world.invocation.context.background
    step = world.step
    if step is not None and background is not step.invocation.context.background:
        return background, None
    return background, step


def _is_repeated(job: Job, world: LaunchWorld) -> bool:
    """Whether a loop starts a launch in the background in each iteration."""
    background, step = _background(world)
    if background is None or background.parent is None or _is_remote(world) or not _shares_node(job, step):
        return False
    if world.invocation.context.restricted:
        return False
    return is_started_again(job, world.invocation, background)


def _at_once(job: Job, first: LaunchWorld, second: LaunchWorld) -> bool:
    """Whether a launch still runs in the background when a later one starts on its node."""
    (background, step), (_, later_step) = _background(first), _background(second)
    if background is None or background.parent is None or _is_remote(first) or _is_remote(second):
        return False
    if not _shares_node(job, step) or not _shares_node(job, later_step) or (step is None) != (later_step is None):
        return False
    if step is None and first.step is not second.step:
        return False
    if first.invocation.context.restricted or second.invocation.context.restricted:
        return False
    enclosing = list(second.invocation.context.shell.enclosing_shells())
    if first.invocation.index > second.invocation.index:
        return False
    if background.parent not in enclosing or background in enclosing:
        return False
    return merge_guards(first.invocation.guards, second.invocation.guards) is not None


def _is_awaited(job: Job, first: LaunchWorld, second: LaunchWorld) -> bool:
    """Whether the shell that started a launch in the background waits before it starts a later one."""
    background, _ = _background(first)
    waits = [] if background is None or background.parent is None else _waits(job).get(background.parent, [])
    at = bisect_right(waits, first.invocation.index)
    return at < len(waits) and waits[at] < second.invocation.index


@once
def _waits(job: Job) -> dict[Shell, list[int]]:
    """The indices of the `wait` commands of each shell."""
    found: dict[Shell, list[int]] = {}
    for command in job.invocations:
        if command.name == "wait":
            found.setdefault(command.context.shell, []).append(command.index)
    return found


def _is_in_tasks(job: Job, world: LaunchWorld) -> bool:
    """Whether the tasks of a step start a launch several times on a node, each on its own (SB301 reports others)."""
    step = world.step
    if step is None or step.geometry.several is not True or step.geometry.ignored is not False:
        return False
    restricted = world.isolation.startswith("restricted")
    return not restricted and not _is_remote(world) and not is_duplicated(job, world.launch)


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1 --gpus-per-node=4
        CUDA_VISIBLE_DEVICES=0,1 torchrun --nproc_per_node=2 --master_port=29501 train.py --seed 1 &
        CUDA_VISIBLE_DEVICES=2,3 «torchrun» --nproc_per_node=2 --master_port=29501 train.py --seed 2 &
        wait
        """,
        unsafe_fixed="""\
        #!/bin/bash
        #SBATCH --nodes=1 --gpus-per-node=4
        CUDA_VISIBLE_DEVICES=0,1 torchrun --nproc_per_node=2 --master_port=29501 train.py --seed 1 &
        CUDA_VISIBLE_DEVICES=2,3 torchrun --standalone --nproc_per_node=2 --master_port=29501 train.py --seed 2 &
        wait
        """,
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1 --gpus-per-node=4
        for gpu in 0 1 2 3; do
            «deepspeed» --include localhost:$gpu train.py --seed $gpu &
        done
        wait
        """,
        title="deepspeed's own port, in a loop",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1 --ntasks-per-node=4 --gpus-per-task=2
        srun bash -c '«accelerate» launch --multi_gpu --num_processes 2 train.py --seed $SLURM_PROCID'
        """,
        severity="warning",
        title="a launcher for each task",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=1 --gpus-per-node=4
        for gpu in 0 1 2 3; do
            torchrun --nproc_per_node=1 --master_port=$((29500 + gpu)) train.py --seed $gpu &
        done
        wait
        """,
        title="a port each",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=1 --gpus-per-node=4
        torchrun --nproc_per_node=4 --master_port=29501 train.py &
        wait
        torchrun --nproc_per_node=4 --master_port=29501 evaluate.py
        """,
        title="one after the other",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=2 --ntasks-per-node=1 --gpus-per-node=4
        for node in $(scontrol show hostnames "$SLURM_JOB_NODELIST"); do
            srun -N1 -n1 -w "$node" torchrun --nproc_per_node=4 --master_port=29501 train.py &
        done
        wait
        """,
        title="a node each",
    ),
]
