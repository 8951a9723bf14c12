"""Options of a rendezvous that torchrun does not look at (torch/distributed/run.py, 2.13).

`--master_addr`, `--master_port` and `--node_rank` belong to the static backend; an endpoint wins over the first two;
`--standalone` sets backend, endpoint and name itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from sbatchlint.analysis.launch.launcher_options import without
from sbatchlint.analysis.launch.rendezvous import TORCHRUN, Repair
from sbatchlint.analysis.launch.step_options import Words
from sbatchlint.job.worlds import World, by_place, find_worlds
from sbatchlint.source.text import Span

if TYPE_CHECKING:
    from sbatchlint.job import Job
    from sbatchlint.job.launches import Launch

STATIC = ("master_addr", "master_port", "node_rank")
STANDALONE = ("rdzv_backend", "rdzv_endpoint", "rdzv_id", *STATIC)


class DeadOption(NamedTuple):
    """An option without effect, and what takes it: `--rdzv_backend=c10d`, `--rdzv_endpoint`, `--standalone`."""

    world: World
    name: str
    place: Span
    because: str


def find_dead_options(job: Job) -> list[DeadOption]:
    found: list[DeadOption] = []
    seen: set[Span] = set()
    for place in by_place(find_worlds(job)):
        each = [_dead(world) for world in place]
        names = [name for name in each[0] if all(name in others for others in each)]
        for name in names:
            world = place[0]
            assert world.launch is not None
            given = world.launch.launcher.options[name]
            if given.span in seen:
                continue
            seen.add(given.span)
            found.append(DeadOption(world, name, given.span, each[0][name]))
    return found


def _dead(world: World) -> dict[str, str]:
    """The options that do nothing, and why."""
    launcher = world.launcher
    if launcher is None or launcher.kind not in TORCHRUN or not launcher.certain or not launcher.spawns:
        return {}
    given = [name for name in STANDALONE if name in launcher.options]
    if launcher.standalone:
        return dict.fromkeys(given, "--standalone")
    rendezvous = launcher.rendezvous
    if rendezvous is None or rendezvous.endpoint is None or rendezvous.backend is None:
        return {}
    if rendezvous.backend != "static":
        return {name: f"--rdzv_backend={rendezvous.backend}" for name in given if name in STATIC}
    return {name: "--rdzv_endpoint" for name in given if name in STATIC[:2]}


def without_dead_option(job: Job, found: DeadOption) -> Repair | None:
    """Takes a dead option out, where the script evaluated anew shows that nothing else changes."""
    launch, name = found.world.launch, found.name
    assert launch is not None
    launcher = launch.launcher
    if len([each for each in launcher.given if each.name == name]) > 1:
        return None
    given = launcher.options[name]
    place = Words(job).behind(given.span.start, given.value_at != given.at, launch.invocation.span)
    if place is None or place.offset <= given.span.start:
        return None
    kept = {key for key in launcher.options if key != name}
    program = launcher.program_name

    def is_gone(changed: Launch) -> bool:
        other = changed.launcher
        return (
            set(other.options) == kept and other.flags.keys() == launcher.flags.keys() and other.program_name == program
        )

    edits = without(job, launch, [Span(given.span.start, place.offset)], is_gone)
    return None if edits is None else Repair(f"take --{name} out", tuple(edits), True)
