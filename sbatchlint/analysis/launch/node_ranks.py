"""The number that tells a launcher which node it is on: missing, or that of something else.

torchrun looks at `--node_rank` with the static rendezvous alone (torch/distributed/run.py, 2.13), and takes 0 without
it; accelerate needs `--machine_rank` wherever there are several machines (utils/launch.py, 1.15).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from sbatchlint.analysis.launch.duplicate_launchers import is_duplicated
from sbatchlint.analysis.launch.launcher_options import replaced, with_options, wrapped
from sbatchlint.analysis.launch.rendezvous import Repair, meets_others
from sbatchlint.bash.values import Expansion, Phase, expansions
from sbatchlint.job.launches import container_of
from sbatchlint.job.worlds import World, by_place, find_worlds
from sbatchlint.source.edits import Edit
from sbatchlint.source.text import Span

if TYPE_CHECKING:
    from sbatchlint.job import Job
    from sbatchlint.job.launches import Launch

OPTIONS = {"accelerate": "machine_rank"}


class NodeRank(NamedTuple):
    """A launch on several nodes whose launchers do not know which node they are.

    `kind`: `missing`; `constant` (the same number on all); `SLURM_PROCID` or `SLURM_LOCALID`, what is taken for it.
    `certain`: it has several nodes in every run, and no file may say more.
    """

    world: World
    kind: str
    place: Span
    certain: bool
    repair: Repair | None


def find_missing(job: Job) -> list[NodeRank]:
    """Launchers of several nodes that are not told which node they are on, and need it."""
    found = []
    for place in by_place(find_worlds(job)):
        meets = {meets_others(job, world) for world in place}
        if False in meets or not all(_lacks_rank(world) for world in place):
            continue
        world = place[0]
        launch = world.launch
        assert launch is not None
        certain = None not in meets and launch.launcher.kind != "accelerate"
        found.append(NodeRank(world, "missing", launch.launcher.span, certain, _give_rank(job, launch)))
    return found


def _needs_rank(world: World) -> bool:
    launcher = world.launcher
    if launcher is None:
        return False
    rendezvous = launcher.rendezvous
    return launcher.kind == "accelerate" or rendezvous is not None and rendezvous.backend == "static"


def _lacks_rank(world: World) -> bool:
    launcher = world.launcher
    if launcher is None or not world.certain or world.apart in ("restricted", "loop"):
        return False
    if world.apart == "part" and world.step is not None and world.step.invocation.context.background:
        return False
    return _needs_rank(world) and launcher.node_rank is None


def _give_rank(job: Job, launch: Launch) -> Repair | None:
    container = container_of(launch.invocation)
    if container is not None and container.kind in ("docker", "podman"):
        return None  # such a container gets none of the job's variables
    option = OPTIONS.get(launch.launcher.kind, "node_rank")
    text = f"--{option}=$SLURM_NODEID"
    if launch.step is None:
        return None
    edits = with_options(job, launch, text, _is_nodeid)
    if edits is not None:
        return Repair("tell it its node", tuple(edits), True)
    edits = wrapped(job, launch, text, _is_nodeid)
    return None if edits is None else Repair("have a shell in each task tell it its node", tuple(edits), False)


def _is_nodeid(launch: Launch) -> bool:
    rank = launch.launcher.node_rank
    found = expansions((rank.value if rank is not None else None) or ())
    return [(each.name, each.phase) for each in found] == [("SLURM_NODEID", Phase.TASK)]


def find_wrong(job: Job) -> list[NodeRank]:
    """Launchers that take the number of a task, or a fixed one, for that of their node."""
    found = []
    for place in by_place(find_worlds(job)):
        if any(meets_others(job, world) is False for world in place):
            continue
        each = [_wrong(job, world) for world in place]
        kinds = [one for one in each if one is not None]
        if not kinds or len(kinds) < len(place):
            continue
        kind, span = kinds[0]
        world = place[0]
        assert world.launch is not None
        certain = all(meets_others(job, one) for one in place)
        found.append(NodeRank(world, kind, span, certain, _write_nodeid(job, world.launch, kind)))
    return found


def _wrong(job: Job, world: World) -> tuple[str, Span] | None:
    launcher, launch, step = world.launcher, world.launch, world.step
    rank = None if launcher is None else launcher.node_rank
    if launch is None or launcher is None or rank is None or rank.value is None or step is None:
        return None
    rendezvous = launcher.rendezvous
    if rendezvous is None or rendezvous.backend != "static" or world.apart in ("restricted", "loop"):
        return None
    if world.apart == "part" and step.invocation.context.background:
        return None
    alone = expansions(rank.value)
    if not alone:
        same = rank.number is not None and world.several_nodes is True
        return ("constant", rank.span) if same else None
    if len(alone) != 1 or alone[0].phase is not Phase.TASK or len(rank.value) != 1:
        return None
    expansion = alone[0]
    if expansion.name == "SLURM_LOCALID" and world.several_nodes is True:
        return "SLURM_LOCALID", expansion.span
    if expansion.name == "SLURM_PROCID" and step.geometry.several is True and is_duplicated(job, launch):
        return "SLURM_PROCID", expansion.span
    return None


def _write_nodeid(job: Job, launch: Launch, kind: str) -> Repair | None:
    rank = launch.launcher.node_rank
    if rank is None or rank.value is None:
        return None
    if kind == "constant":
        piece = rank.value[0]
        if len(rank.value) != 1 or rank.from_environment:
            return None
        edits = replaced(job, launch, piece.span, "$SLURM_NODEID", _is_nodeid)
        return None if edits is None else Repair("write its node", tuple(edits), False)
    (expansion,) = expansions(rank.value)
    edit = _renamed(job, expansion, kind)
    if edit is None:
        return None
    edits = replaced(job, launch, edit.span, edit.content, _is_nodeid)
    return None if edits is None else Repair("write $SLURM_NODEID", tuple(edits), True)


def _renamed(job: Job, expansion: Expansion, name: str) -> Edit | None:
    """The variable's name, where it is written in the expansion."""
    text = job.source.slice(expansion.span)
    at = text.find(name)
    if at < 0 or text.count(name) > 1:
        return None
    start = expansion.span.start + at
    return Edit(Span(start, start + len(name)), "SLURM_NODEID")
