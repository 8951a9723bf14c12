"""Idle nodes: what the batch shell starts itself runs on the first node of the job, and on no other.

A launcher that is told of all nodes then waits for the others; one that is not leaves them idle. Nothing of the kind
holds where something else may start processes on the other nodes: ssh and its like, an MPI launcher, a step with work
of its own, a script that cannot be read.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from sbatchlint.analysis.expansion.sourced import is_unclear_source
from sbatchlint.analysis.launch.evidence import rank_sign, trains_alone
from sbatchlint.analysis.launch.launcher_options import proven
from sbatchlint.analysis.launch.lone_ranks import Repair
from sbatchlint.analysis.launch.repeatable import is_repeatable_step
from sbatchlint.bash.trace import Invocation, exported
from sbatchlint.bash.values import Phase, expansions, shown_text, span_of, text_of
from sbatchlint.job.steps import job_nodes
from sbatchlint.job.worlds import LaunchWorld, World, by_place, find_worlds
from sbatchlint.source.edits import Edit
from sbatchlint.source.text import Span

if TYPE_CHECKING:
    from sbatchlint.analysis.launch.evidence import RankSign
    from sbatchlint.job import Job
    from sbatchlint.job.launches import Launch
    from sbatchlint.job.steps import Step

KINDS = ("torchrun", "torch.distributed.launch", "accelerate", "swift", "fabric")
# Commands that start others on other machines, or hand work to daemons there.
REMOTE = frozenset(
    {
        "ssh",
        "pdsh",
        "clush",
        "pssh",
        "parallel-ssh",
        "prsync",
        "dsh",
        "psh",
        "rsh",
        "blaunch",
        "ibrun",
        "aprun",
        "jsrun",
    }
    | {"orterun", "prun", "flux", "charmrun", "ray", "dask", "dask-mpi", "dask-scheduler", "horovodrun", "sbatch"}
    | {"salloc", "sbcast", "parsl", "spark-submit", "start-all.sh", "deepspeed", "xargs", "parallel", "wwrun", "dshbak"}
)
_SHELLS = frozenset({"bash", "sh", "zsh", "dash", "ksh", "csh", "tcsh", "source", ".", "eval", "exec"})
_ENDINGS = (".sh", ".bash", ".zsh", ".sbatch", ".slurm", ".csh")
# Words in the names of files that set up a shell.
_SETUP = ("env", "setup", "activate", "module", "conda", "rc", "profile", "config", "init", "load", "secret", "path")


class IdleNodes(NamedTuple):
    """A launcher, or a program that is one rank of many, in the batch shell of a job of several nodes.

    `nodes`: of the job. `waits`: it is told of several nodes, and waits for those that nobody starts. `sign`: why a
    program without a launcher is one rank of many; None where nothing says so.
    """

    invocation: Invocation
    launch: Launch | None
    nodes: int
    waits: bool
    sign: RankSign | None
    repair: Repair | None

    @property
    def place(self) -> Span:
        return span_of(self.invocation.argv[0]) if self.launch is None else self.launch.launcher.span


def find_idle_nodes(job: Job) -> list[IdleNodes]:
    nodes = job_nodes(job.request)
    if nodes is None or nodes < 2 or job.phase is not Phase.BATCH or job.request.heterogeneous:
        return []
    if not job.request.directives.certain:
        return []
    found = [one for place in by_place(find_worlds(job)) if (one := _of_launcher(job, place, nodes)) is not None]
    if not found:
        found = list(_programs(job, nodes))
    return found


def _of_launcher(job: Job, place: list[LaunchWorld], nodes: int) -> IdleNodes | None:
    if not all(_is_in_batch_shell(world) for world in place):
        return None
    world = place[0]
    launch = world.launch
    assert launch is not None
    waits = all(not each.launcher.standalone and _tells_of_several(each) for each in place if each.launcher is not None)
    if waits and _others_may_join(job) or not waits and not _leaves_idle(job, place):
        return None
    repair = _under_srun(job, launch, nodes) if waits else None
    return IdleNodes(world.invocation, launch, nodes, waits, None, repair)


def _leaves_idle(job: Job, place: list[LaunchWorld]) -> bool:
    """Whether a launcher of one node is all that the job runs."""
    if any(each.asked.number != 1 and not _is_standalone(each) for each in place):
        return False
    if any(each.launcher is None or each.launcher.hostfile is not None or not each.certain for each in place):
        return False
    return not place[0].invocation.context.conditional and not _others_may_work(job)


def _is_standalone(world: World) -> bool:
    return world.launcher is not None and world.launcher.standalone


def _tells_of_several(world: World) -> bool:
    """Whether the launcher is told of several nodes, the job's own number included."""
    return bool(world.asked.several or world.asked.of_job)


def _is_in_batch_shell(world: World) -> bool:
    launcher = world.launcher
    if launcher is None or launcher.kind not in KINDS or not launcher.spawns or not world.in_batch_shell:
        return False
    context = world.invocation.context
    if world.apart not in ("", "sharded") or context.looped and context.background or launcher.cpu:
        return False
    return all(each.name not in REMOTE for each in world.invocation.ancestors())


# --- who may start something on the other nodes ------------------------------------------------------


def _others_may_join(job: Job) -> bool:
    """Whether something may start the launchers of the other nodes: by ssh, or in the background."""
    if any(each.name in REMOTE and each.phase is Phase.BATCH for each in job.invocations):
        return True
    if any(step.invocation.context.background and not is_repeatable_step(step) for step in job.steps):
        return True
    return any(_is_unread(each) and each.context.background for each in job.invocations)


def _others_may_work(job: Job) -> bool:
    """Whether something else may use the other nodes, at any time."""
    for each in job.invocations:
        if each.phase is not Phase.BATCH or each.context.captured:
            continue
        if each.name in REMOTE or getattr(each.spawn, "kind", None) == "mpi" or _is_unread(each):
            return True
    return any(_is_at_work(step) for step in job.steps)


def _is_at_work(step: Step) -> bool:
    """Whether a step may use several nodes for more than looking around."""
    return step.nodes != 1 and not is_repeatable_step(step) and not step.invocation.context.captured


def _is_unread(invocation: Invocation) -> bool:
    """Whether a command runs a script that cannot be read here, or nobody knows what."""
    if invocation.children or invocation.text is not None or invocation.phase is not Phase.BATCH:
        return False
    if not invocation.argv:
        return False
    name = invocation.name
    if name is None:
        return True
    if name in ("source", ".", "eval"):
        words = [shown_text(field).lower() for field in invocation.argv[1:2]]
        setting_up = any(word in base for base in words for word in _SETUP)
        return is_unclear_source(invocation) and not setting_up
    if name in _SHELLS:
        return len(invocation.argv) > 1 and text_of(invocation.argv[1]) not in ("-l", "--login", "--version")
    return name.endswith(_ENDINGS)


# --- programs without a launcher ---------------------------------------------------------------------


def _programs(job: Job, nodes: int) -> list[IdleNodes]:
    """Programs that are one rank of many, though the batch shell starts them once."""
    found: dict[Span, IdleNodes] = {}
    if _others_may_work(job):
        return []
    for each in job.invocations:
        context = each.context
        if each.phase is not Phase.BATCH or each.children or context.captured or context.looped or context.conditional:
            continue
        if context.background or any(one.spawn and getattr(one.spawn, "kind", "") == "mpi" for one in each.ancestors()):
            continue
        sign = rank_sign(each.argv, lambda name, here=each: exported(here, name))  # type: ignore[misc]
        if sign is not None and sign.kind == "jax":
            continue
        if sign is None and not (job.request.asks_for_gpus and trains_alone(each.argv)):
            continue
        waits = sign is not None and (sign.nodes or 1) > 1
        found.setdefault(each.span, IdleNodes(each, None, nodes, waits, sign, None))
    return list(found.values())


# --- repair ------------------------------------------------------------------------------------------


def _under_srun(job: Job, launch: Launch, nodes: int) -> Repair | None:
    """`srun` in front of the command, with one task per node."""
    outer = launch.invocation
    for each in launch.invocation.ancestors():
        if each.phase is Phase.BATCH:
            outer = each
    place = outer.name_span.start
    if outer.name in ("source", ".", "eval", "exec", "time", "command") or not outer.argv:
        return None

    def is_step(changed: Launch) -> bool:
        step, rank, rendezvous = changed.step, changed.launcher.node_rank, changed.launcher.rendezvous
        if step is None or step.nodes != nodes or step.tasks_per_node != 1:
            return False
        if rank is None or rendezvous is not None and rendezvous.backend not in (None, "static"):
            return True
        return any(each.phase is Phase.TASK for each in expansions(rank.value or ()))  # else all nodes have the same

    for options in ("", "--ntasks=$SLURM_NNODES --ntasks-per-node=1 ", f"--ntasks={nodes} --ntasks-per-node=1 "):
        edits = [Edit(Span(place, place), f"srun {options}")]
        if proven(job, launch, edits, is_step):
            return Repair("start it with srun, once on each node", tuple(edits), False)
    return None
