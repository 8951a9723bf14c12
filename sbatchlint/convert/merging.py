"""Merges commands for one node each into one: `torchrun --node_rank 0 …`, `torchrun --node_rank 1 …`.

Notes and READMEs often describe a training on several nodes by a command for each node. The commands must be equal
except for the number of the node, which must be each of 0 to N-1 once.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

from sbatchlint.bash.trace import Invocation
from sbatchlint.bash.values import Phase, Pieces, shown_text, text_of
from sbatchlint.convert.draft import Draft
from sbatchlint.convert.goal import NotConvertible
from sbatchlint.job import Job, Launch
from sbatchlint.job.argv import assignment_of
from sbatchlint.job.containers import Container
from sbatchlint.job.worlds import by_place, find_worlds
from sbatchlint.source.edits import Edit, remove
from sbatchlint.source.numbers import parse_integer
from sbatchlint.source.text import Span


def merge(draft: Draft) -> None:
    """Replaces such commands by one, if there are any. Raises `NotConvertible`."""
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
    draft.edit([*_removals(job, first, others), *_node_numbers(job, first, launches[number], numbered)])
    lines = ", ".join(str(job.line(command.span.start)) for command in commands)
    draft.decisions.append(f"lines {lines} start a node each: they become one command, which all nodes start")


def _outermost(launch: Launch) -> Invocation:
    enclosing = [launch.invocation, *launch.invocation.ancestors()]
    return next(each for each in enclosing if each.context.parent is None)


class _Numbered(NamedTuple):
    """The node number of each command; and by index the words that contain it, with the text before it."""

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
    """The common prefix of the texts, without digits at its end."""
    least = min(texts, key=len)
    size = next((at for at, letters in enumerate(zip(*texts, strict=False)) if len(set(letters)) > 1), len(least))
    return least[:size].rstrip("0123456789") if least[:size][-1:].isdigit() else least[:size]


def _removals(job: Job, first: Invocation, others: list[Invocation]) -> Iterator[Edit]:
    """The edits that remove the other commands and the comments on each node. Raises `NotConvertible`."""
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
    """The start of the line above, if it is a comment; else 0."""
    above = text.rfind("\n", 0, max(start - 1, 0)) + 1
    line = text[above:start].lstrip()
    return above if line.startswith("#") and not line.startswith(("#!", "#SBATCH")) else 0


def _numberless(comment: str) -> str:
    return re.sub(r"\d+", "", comment)


def _node_numbers(job: Job, command: Invocation, launch: Launch, numbered: _Numbered) -> Iterator[Edit]:
    """The edits that take the number from Slurm, except in the launcher's own option."""
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
    raise NotConvertible("the number of a node is not in the script")
