"""Which lines of a text became which of another: told rightly of any, and at a cost that grows with the lines."""

from __future__ import annotations

import random
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from counting import executed_lines
from sbatchlint.source.differences import changes, unified
from sbatchlint.source.edits import apply, edits_between


def drawn(draw: random.Random, count: int) -> list[str]:
    return [f"{draw.choice('abcdefgh')}{draw.randrange(draw.choice((1, 3, 1000)))}\n" for _ in range(count)]


def texts(seed: int) -> tuple[list[str], list[str]]:
    draw = random.Random(seed)
    old = drawn(draw, draw.choice((0, 1, 5, 40, 400)))
    new = list(old)
    for _ in range(draw.choice((0, 1, 3, 60))):
        at = draw.randrange(len(new) + 1)
        new[at : at + draw.randrange(4)] = drawn(draw, draw.randrange(4))
    return old, new


@pytest.mark.parametrize("seed", range(60))
def test_a_change_is_what_differs(seed: int, tmp_path: Path) -> None:
    old, new = texts(seed)
    before = (0, 0)
    for start, end, at, to in changes(old, new):
        assert old[before[0] : start] == new[before[1] : at]
        assert (start, at) >= before and old[start:end] != new[at:to]
        before = (end, to)
    assert old[before[0] :] == new[before[1] :]
    first, second = "".join(old), "".join(new)
    assert apply(first, edits_between(first, second)) == second
    if seed < 10:
        (tmp_path / "a").write_text(first)
        diff = "".join(unified(old, new, "a"))
        subprocess.run(["patch", "-s", "-o", "b", "a"], input=diff or "\n", text=True, cwd=tmp_path, check=bool(diff))
        assert not diff and first == second or (tmp_path / "b").read_text() == second


GROWING: dict[str, Callable[[int], tuple[list[str], list[str]]]] = {
    "every other line": lambda size: (
        [f"a{number}\n" for number in range(size)],
        [f"{'ab'[number % 2]}{number}\n" for number in range(size)],
    ),
    "the same lines": lambda size: (["a\n", "b\n"] * size, ["c\n", "b\n"] * size),
    "the same lines, one more": lambda size: (["a\n", "b\n"] * size, ["b\n", *["c\n", "b\n"] * size]),
    "all others": lambda size: (["a\n"] * size, ["b\n"] * size),
    "in another order": lambda size: (
        [f"{number}\n" for number in range(size)],
        [f"{number}\n" for number in reversed(range(size))],
    ),
    "lines that repeat in another order": lambda size: (
        [f"{number % 7}\n" for number in range(size)],
        [f"{number % 5}\n" for number in range(size)],
    ),
}


@pytest.mark.parametrize("shape", GROWING)
def test_time_grows_with_the_lines(shape: str) -> None:
    def difference(size: int) -> list[str]:
        return list(unified(*GROWING[shape](size), "a"))

    assert executed_lines(lambda: difference(5000)) < 13 * executed_lines(lambda: difference(500))
