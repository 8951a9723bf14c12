"""Rendezvous ports that are the same in every job, on nodes that may be shared.

Two jobs on one node that open the same port clash (EADDRINUSE), and so do two runs of one script. Where the node is one
job's own, or the job spans several, this is rare.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from sbatchlint.analysis.launch.launcher_options import proven
from sbatchlint.analysis.launch.rendezvous import PORT
from sbatchlint.bash.values import Phase, Pieces, text_of
from sbatchlint.job.worlds import find_worlds
from sbatchlint.source.edits import Edit
from sbatchlint.source.text import Span

if TYPE_CHECKING:
    from sbatchlint.job import Job
    from sbatchlint.job.launches import Launch

# GPUs of a node that is most often given whole.
WHOLE_NODE = 8


class FixedPort(NamedTuple):
    """A port that is written as a number. `edit`: makes it of the job's number, where it can be written there."""

    place: Span
    number: str
    edit: Edit | None


def find_fixed_ports(job: Job) -> list[FixedPort]:
    if not _may_share_node(job):
        return []
    found: dict[Span, FixedPort] = {}
    for world in find_worlds(job):
        launcher, launch = world.launcher, world.launch
        rendezvous = None if launcher is None else launcher.rendezvous
        if launch is None or rendezvous is None or rendezvous.port is None or world.nodes not in (None, 1):
            continue
        number = _number(rendezvous.port.value)
        if number is not None and number[0] not in found:
            found[number[0]] = FixedPort(*number, _edit_of_launcher(job, launch, number[0]))
    for assigned in job.assigned:
        if assigned.name != "MASTER_PORT" or assigned.context.phase is Phase.SUBMIT or len(assigned.alternatives) != 1:
            continue
        fields = assigned.alternatives[0].fields
        number = _number(fields[0]) if fields and len(fields) == 1 else None
        if number is not None and number[0] not in found:
            plain = not job.is_embedded and not job.in_quoted_text(number[0].start)
            found[number[0]] = FixedPort(*number, Edit(number[0], PORT) if plain else None)
    return list(found.values())


def _may_share_node(job: Job) -> bool:
    """Whether the job has a part of one node, as far as its script tells."""
    request = job.request
    if request.exclusive is not None or request.asked("exclusive") or request.heterogeneous:
        return False
    from sbatchlint.job.steps import job_nodes

    if job_nodes(request) != 1:
        return False
    gpus = request.gpus_per_node()
    return request.asks_for_gpus is False or gpus is not None and gpus < WHOLE_NODE


def _number(value: Pieces | None) -> tuple[Span, str] | None:
    """Where a port above 0 is written as a number."""
    text = None if value is None else text_of(value)
    if not value or text is None or not text.isdecimal() or int(text) == 0:
        return None
    if len(value) != 1 or value[0].expansion is not None:
        return None
    return value[0].span, text


def _edit_of_launcher(job: Job, launch: Launch, place: Span) -> Edit | None:
    def changes(changed: Launch) -> bool:
        rendezvous = changed.launcher.rendezvous
        port = None if rendezvous is None else rendezvous.port
        value = () if port is None else port.value or ()
        return len(value) == 1 and value[0].expansion is not None

    edit = Edit(place, PORT)
    return edit if proven(job, launch, [edit], changes) else None
