"""Where a fault lies, by evidence: what speaks for the script, the submission, the cluster, the code or the data.

The cause of an answer says where it lies. Where the answer is not certain, what else the log shows may speak for
another place; both then stand, each with its reason.
"""

from collections.abc import Sequence
from typing import NamedTuple

from sbatchlint.diagnose.answers import Answer, codes_of
from sbatchlint.diagnose.clues import by_program
from sbatchlint.diagnose.nodes import IS_RANK, node_of
from sbatchlint.diagnose.symptom import Event, Where
from sbatchlint.diagnose.traceback import own_frame
from sbatchlint.source.text import Source

# More places than two say nothing.
MOST_PLACES = 2


class Place(NamedTuple):
    """A place where the fault may lie, and what speaks for it."""

    where: Where
    why: str


def places(answers: Sequence[Answer], source: Source | None, events: Sequence[Event] = ()) -> list[Place]:
    """Where the fault of the first answer lies, the likeliest place first. `events`: all others in the logs."""
    best = answers[0]
    found = [Place(best.where, _why(best, source))]
    if best.confidence == "certain":
        return found
    found += _signs(best.event, events)
    for other in answers[1:]:
        if other.says != best.says and has_ground(other, source):
            found.append(Place(other.where, other.says))
    first: dict[Where, Place] = {}
    for place in found:
        if place.where != "unknown":
            first.setdefault(place.where, place)
    return list(first.values())[:MOST_PLACES] or found[:1]


def has_ground(answer: Answer, source: Source | None) -> bool:
    """Whether an answer may be named beside another: not one about a script that is there and does not show it."""
    return answer.where != "script" or answer.proven or source is None


def _why(answer: Answer, source: Source | None) -> str:
    """What speaks for the place of an answer."""
    if answer.findings:
        return f"the script has the fault ({', '.join(codes_of(answer.findings))})"
    if answer.proven and answer.spans and source is not None:
        rows = sorted({source.row(each.start) for each in answer.spans})
        return f"line {rows[0]} of the script" if len(rows) == 1 else f"lines {rows[0]} to {rows[-1]} of the script"
    frame = own_frame(answer.event.above) if answer.where == "code" else ""
    return f"the traceback ends in {frame}" if frame else answer.says


def _signs(event: Event, others: Sequence[Event]) -> list[Place]:
    """What else in the log speaks for a place."""
    found = []
    node = node_of(event, others)
    labels = {each for other in (event, *others) for each in other.tasks if not IS_RANK.match(each)}
    nodes = {each for each in labels if each[:1].isalpha() and each[-1:].isdigit()}
    if node and len(nodes) > 1 and event.tasks == {node}:
        found.append(Place("cluster", f"only {node} says it, and the job has other nodes"))
    if "slurmctld" in event.symptom.printed_by and by_program(event):
        found.append(Place("submission", "the lines around it are those of a program that submits jobs"))
    frame = own_frame(event.above)
    if frame:
        found.append(Place("code", f"the traceback ends in {frame}"))
    return found
