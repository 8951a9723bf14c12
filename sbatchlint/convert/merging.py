"""Several commands that start one node each, told their number, as one: `torchrun --node_rank 0 …`, `--node_rank 1 …`.

So notes and READMEs write down a training on several nodes: a line for each, to be typed there. The lines must be the
same but for the number of the node, and name each of 0 to N-1 once.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

from sbatchlint.bash.trace import Invocation
from sbatchlint.bash.values import Phase, Pieces, shown_text, text_of
from sbatchlint.convert.draft import Draft
from sbatchlint.convert.wish import NotConvertible
from sbatchlint.job import Job, Launch
from sbatchlint.job.argv import assignment_of
from sbatchlint.job.containers import Container
from sbatchlint.job.worlds import by_place, find_worlds
from sbatchlint.source.edits import Edit, remove
from sbatchlint.source.numbers import parse_integer
from sbatchlint.source.text import Span


def merge(draft: Draft) -> None:
    """Writes one command in the place of those, if there are any. Raises `NotConvertible`."""
    job = draft.job
    launches = [place[0].launch for place in by_place(find_worlds(job)) if place[0].launcher.spawns]
    commands = [_outermost(launch) for launch in launches]
    if len(commands) < 2 or any(
        command.phase is not Phase.BATCH or command.context.may_repeat or len(command.argv) != len(commands[0].argv)
        for command in commands
    ):
        return
    numbered = _numbered(commands)
    if numbered is None:
        return
    number = numbered.numbers.index(0)
    first = commands[number]
    others = [command for command in commands if command is not first]
    draft.edit([*_without(job, first, others), *_of_node(job, first, launches[number], numbered)])
    lines = ", ".join(str(job.line(command.span.start)) for command in commands)
    draft.decisions.append(f"lines {lines} start a node each: they become one command, which all nodes start")


def _outermost(launch: Launch) -> Invocation:
    around = [launch.invocation, *launch.invocation.ancestors()]
    return next(each for each in around if each.context.parent is None)


class _Numbered(NamedTuple):
    """The number of the node of each command, and the words of which it is a part: what stands before it there."""

    numbers: list[int]
    words: dict[int, str]


def _numbered(commands: list[Invocation]) -> _Numbered | None:
    numbers: list[int] | None = None
    words = {}
    for at, fields in enumerate(zip(*(each.argv for each in commands), strict=True)):
        texts = [shown_text(field) for field in fields]
        if len(set(texts)) == 1:
            continue
        before, after = _common(texts), _common([each[::-1] for each in texts])[::-1]
        inside = [each[len(before) : len(each) - len(after)] for each in texts]
        if not all(re.fullmatch(r"\d{1,4}", each) for each in inside):
            return None
        found = [parse_integer(each) for each in inside]
        if numbers not in (None, found) or sorted(found) != list(range(len(found))):
            return None
        numbers = found
        words[at] = before
    return None if numbers is None else _Numbered(numbers, words)


def _common(texts: list[str]) -> str:
    """What all texts begin with, up to a number."""
    least = min(texts, key=len)
    size = next((at for at, letters in enumerate(zip(*texts, strict=False)) if len(set(letters)) > 1), len(least))
    return least[:size].rstrip("0123456789") if least[:size][-1:].isdigit() else least[:size]


def _without(job: Job, first: Invocation, others: list[Invocation]) -> Iterator[Edit]:
    """Takes the other commands out, with the comments that name a node. Raises `NotConvertible`."""
    text = job.source.own.text
    comments = set()
    for command in others:
        start, end = job.source.line_of(command.span.start).start, job.source.line_of(command.span.end).end
        if text[start : command.span.start].strip(" \tsudo") or text[command.span.end : end].strip(" \t\r&"):
            raise NotConvertible(f"the command of a node on line {job.line(command.span.start)} does not stand alone")
        while above := _comment(text, start):
            comments.add(_numberless(text[above:start]))
            start = above
        yield Edit(Span(start, min(end + 1, len(text))), "")
    start = job.source.line_of(first.span.start).start
    while (above := _comment(text, start)) and _numberless(text[above:start]) in comments:
        yield remove(Span(above, start))
        start = above


def _comment(text: str, start: int) -> int:
    """Where the line above begins, if it is a comment; 0 if not."""
    above = text.rfind("\n", 0, max(start - 1, 0)) + 1
    line = text[above:start].lstrip()
    return above if line.startswith("#") and not line.startswith(("#!", "#SBATCH")) else 0


def _numberless(comment: str) -> str:
    return re.sub(r"\d+", "", comment)


def _of_node(job: Job, command: Invocation, launch: Launch, numbered: _Numbered) -> Iterator[Edit]:
    """Has Slurm tell the number wherever the launcher is not told it by an option of its own."""
    rank = launch.launcher.setting("node_rank", "machine_rank")
    own = rank.value if rank is not None else ()
    for at, before in numbered.words.items():
        field = command.argv[at]
        place = _place(field, len(before))
        if own and any(piece.start <= place < piece.end for piece in own):
            pair = assignment_of(field)
            if pair is None:
                continue
        info = launch.container
        named = isinstance(info, Container) and any(before == f"{name}=" for name in info.passed)
        if not named and not before.startswith(("-e", "--env=")):
            raise NotConvertible(f"what {text_of(field)!r} on line {job.line(command.span.start)} means is not known")
        yield Edit(Span(place, place + 1), "$SLURM_NODEID")


def _place(field: Pieces, index: int) -> int:
    for piece in field:
        size = 1 if piece.text is None else len(piece.text)
        if index < size:
            return piece.offset(index)
        index -= size
    raise NotConvertible("the number of a node does not stand in the script")
