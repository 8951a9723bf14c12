"""Which lines of a text became which of another, in time that grows with the lines alone.

`difflib` looks for the best answer, and takes time that grows with the square of the lines, or faster: it is asked of
few lines at a time. Between them the lines are the same that both texts have equally often, the first for the first and
so on.
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

# What `difflib` compares: lines of the one text times lines of the other.
MOST_COMPARED = 1 << 14
# How often what is left between lines that are the same is looked through for more of them.
MOST_DIVIDED = 4
# Lines around a change that a unified diff shows.
CONTEXT = 3


class Change(NamedTuple):
    """The lines from `start` to before `end` that became those from `at` to before `to`."""

    start: int
    end: int
    at: int
    to: int


def changes(old: Sequence[str], new: Sequence[str]) -> list[Change]:
    """What differs, in order."""
    found: list[Change] = []
    for part in _between(old, new, Change(0, len(old), 0, len(new)), 0):
        if found and found[-1].end == part.start and found[-1].to == part.at:
            part = Change(found[-1].start, part.end, found.pop().at, part.to)
        found.append(part)
    return found


def _between(old: Sequence[str], new: Sequence[str], part: Change, divided: int) -> Iterator[Change]:
    """What differs in a part of the lines, which was `divided` so often."""
    start, end, at, to = part
    while start < end and at < to and old[start] == new[at]:
        start, at = start + 1, at + 1
    while start < end and at < to and old[end - 1] == new[to - 1]:
        end, to = end - 1, to - 1
    if start == end or at == to:
        if start < end or at < to:
            yield Change(start, end, at, to)
    elif (end - start) * (to - at) <= MOST_COMPARED:
        from difflib import SequenceMatcher  # heavy, and needed where somebody asks for changes only

        matcher = SequenceMatcher(None, old[start:end], new[at:to], False)
        for kind, low, high, new_low, new_high in matcher.get_opcodes():
            if kind != "equal":
                yield Change(start + low, start + high, at + new_low, at + new_high)
    else:
        same = _same(old[start:end], new[at:to]) if divided < MOST_DIVIDED else []
        if not same:
            yield Change(start, end, at, to)
            return
        before, new_before = start, at
        for row, new_row in [(start + row, at + new_row) for row, new_row in same] + [(end, to)]:
            yield from _between(old, new, Change(before, row, new_before, new_row), divided + 1)
            before, new_before = row + 1, new_row + 1


def _same(old: Sequence[str], new: Sequence[str]) -> list[tuple[int, int]]:
    """Lines that are the same, as many as can be without crossing, of those that both have equally often."""
    count, new_count = Counter(old), Counter(new)
    places = {numbered: row for row, numbered in enumerate(_numbered(new))}
    ends: list[int] = []  # the last rows of the shortest chains of each length
    last: list[int] = []  # and which pairs these are
    pairs: list[tuple[int, int]] = []
    before: list[int] = []
    for row, numbered in enumerate(_numbered(old)):
        if count[numbered[0]] != new_count[numbered[0]]:
            continue
        new_row = places[numbered]
        length = bisect_left(ends, new_row)
        pairs.append((row, new_row))
        before.append(last[length - 1] if length else -1)
        ends[length : length + 1] = [new_row]
        last[length : length + 1] = [len(pairs) - 1]
    chain = []
    at = last[-1] if last else -1
    while at >= 0:
        chain.append(pairs[at])
        at = before[at]
    return chain[::-1]


def _numbered(lines: Iterable[str]) -> Iterator[tuple[str, int]]:
    """The lines, each with how many times it came before."""
    seen: Counter[str] = Counter()
    for line in lines:
        yield line, seen[line]
        seen[line] += 1


def unified(old: Sequence[str], new: Sequence[str], path: str) -> Iterator[str]:
    """The lines of a unified diff, each with its end, where it has one."""
    groups: list[list[Change]] = []
    for change in changes(old, new):
        if groups and change.start - groups[-1][-1].end <= 2 * CONTEXT:
            groups[-1].append(change)
        else:
            groups.append([change])
    if groups:
        yield f"--- {path}\n"
        yield f"+++ {path}\n"
    for group in groups:
        first, last = group[0], group[-1]
        above, below = min(CONTEXT, first.start), min(CONTEXT, len(old) - last.end)
        start, end = first.start - above, last.end + below
        yield f"@@ -{_range(start, end)} +{_range(first.at - above, last.to + below)} @@\n"
        for change in group:
            yield from (" " + line for line in old[start : change.start])
            yield from ("-" + line for line in old[change.start : change.end])
            yield from ("+" + line for line in new[change.at : change.to])
            start = change.end
        yield from (" " + line for line in old[start:end])


def _range(start: int, end: int) -> str:
    """Lines as a unified diff names them."""
    if end - start == 1:
        return str(start + 1)
    return f"{start + (end > start)},{end - start}"
