"""Patterns of .gitignore: what git says of them, and what hostile ones cost."""

from __future__ import annotations

import random
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from counting import executed_lines
from sbatchlint.source.patterns import Patterns

PARTS = (
    "a", "b", "ab", "*", "**", "***", "?", "/", "/", "[ab]", "[!a]", "[^/]", "[a-c]", "[b-a]", "[]a]", "[[:alpha:]]",
    "[", "\\a", "\\*", "\\", ".", " ", "!", "#", "-",
)  # fmt: skip
NAMES = ("a", "b", "ab", "ba", "aa", ".a", "c", "a b", "-", "abc", "*", "#a", "]", "[a", "!a")


@pytest.mark.parametrize(
    ("lines", "path", "decided"),
    [
        (["*.sh"], "a/b.sh", True),
        (["*.sh", "!b.sh"], "a/b.sh", False),
        (["*.sh", "!b.sh"], "a/c.py", None),
        (["old"], "a/old/b.sh", True),
        (["old/", "!old/b.sh"], "old/b.sh", True),  # what is in an ignored folder stays ignored
        (["old/"], "old", None),
        (["old/"], "old/", True),
        (["/old"], "a/old", None),
        (["a/old"], "b/a/old", None),
        (["**/old"], "a/b/old", True),
        (["a/**"], "a/b/c", True),
        (["a/**"], "a/", None),
        (["a/**/c"], "a/c", True),
        (["a/**/c"], "a/b/b/c", True),
        (["a/*/c"], "a/b/b/c", None),
        (["a**c"], "a/c", None),
        (["#a"], "#a", None),
        (["\\#a"], "#a", True),
        (["a  "], "a", True),
        (["a\\ "], "a ", True),
        (["[a", "b"], "b", True),
        (["[!a-c]"], "d", True),
        (["?"], "é", True),
        (["*"], "a\nb", True),
        (["*"], "./", None),
        ([], "a", None),
    ],
)
def test_what_a_pattern_matches(lines: list[str], path: str, decided: bool | None) -> None:
    assert Patterns(lines).decide(path) is decided


@pytest.mark.parametrize("seed", [pytest.param(seed, marks=pytest.mark.slow) if seed else seed for seed in range(20)])
def test_git_says_the_same(tmp_path: Path, seed: int) -> None:
    """Of files, whose folders git finds by itself."""
    draw = random.Random(seed)
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    for _ in range(20):
        lines = ["".join(draw.choices(PARTS, k=draw.randint(1, 7))) for _ in range(draw.randint(1, 3))]
        if any("*" in line and line.lstrip("/!")[:1] not in "*?[" for line in lines):
            # what stands before the first special character git compares by itself: `a**/b` is `a`, and then `**/b`
            lines = [re.sub(r"\*+", "*", line) for line in lines]
        (tmp_path / ".gitignore").write_text("\n".join(lines) + "\n")
        paths = ["/".join(draw.choices(NAMES, k=draw.randint(1, 4))) for _ in range(60)]
        command = ["git", "check-ignore", "--no-index", "-z", "-v", "-n", "--stdin"]
        done = subprocess.run(
            command, cwd=tmp_path, input="\0".join(paths) + "\0", capture_output=True, text=True, check=False
        )
        fields = done.stdout.split("\0")
        said = dict(zip(fields[3::4], fields[2::4], strict=False))
        patterns = Patterns(lines)
        for path in paths:
            ignored = said[path] != "" and not said[path].startswith("!")
            assert bool(patterns.decide(path)) == ignored, (lines, path, said[path])


HOSTILE: dict[str, Callable[[int], str]] = {
    "stars": lambda size: "*" * size + "x",
    "names": lambda size: "*a" * size + "b",
    "any": lambda size: "?*" * size + "!",
    "classes": lambda size: "[a-z]*" * size + "1",
    "folders": lambda size: "**/" * size + "x",
    "chain": lambda size: "**/" + "a/" * size + "b",
    "chains": lambda size: "**/a/" * size + "b",
    "parts": lambda size: "**/" + "*a*/" * size + "b",
    "both": lambda size: "**/" + "*a*a*/**/" * size + "b",
    "mixed": lambda size: "[ab]*a/**/" * size + "b",
}
PATHS = ("a" * 250, "a/" * 1900 + "a", ("a" * 60 + "/") * 60 + "a")


@pytest.mark.parametrize("shape", HOSTILE)
def test_no_pattern_stalls(shape: str) -> None:
    """Of the lines of this file there are few, and in one of them the expression of a name reads 255 characters."""

    def lines(size: int) -> int:
        return executed_lines(lambda: [Patterns([HOSTILE[shape](size)]).decide(path) for path in PATHS])

    lines(3)
    assert lines(300) < 13 * lines(30)


def test_no_expression_is_compiled_for_names_that_begin_otherwise(monkeypatch: pytest.MonkeyPatch) -> None:
    """To compile one takes thousands of lines of Python, and a repository may bring thousands of patterns."""
    found = Patterns([f"x{number}?/y[a-z]*.sh" for number in range(3000)])
    monkeypatch.setattr(re, "compile", None)
    assert found.decide("jobs/a.sh") is None
    monkeypatch.undo()
    assert found.decide("x2999a/yes.sh") is True
