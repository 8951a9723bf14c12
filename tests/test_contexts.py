"""Where a command stands: in which shell, in which loops, and in which background command."""

from __future__ import annotations

import pytest

from sbatchlint.bash.trace import Invocation
from sbatchlint.job import Job, Site
from sbatchlint.source.text import Source


def commands(script: str) -> dict[str, Invocation]:
    """The commands of a script by their first word (`srun a` as `a`), each of which it has once."""
    job = Job.from_source(Source("#!/bin/bash\n#SBATCH -n1\n" + script, "job.sbatch"), Site())
    return {str(each.name): each for each in job.invocations if each.name not in ("srun", "bash")}


def shells(script: str) -> list[list[str]]:
    """The names of the commands of each shell process."""
    found: dict[object, list[str]] = {}
    for name, command in commands(script).items():
        found.setdefault(command.context.shell, []).append(name)
    return list(found.values())


def chain(command: Invocation) -> str:
    """The kinds of a command's shell and of those around it, innermost first."""
    kinds = []
    shell = command.context.shell
    while shell.parent is not None:
        kinds.append(shell.kind)
        assert shell.depth == shell.parent.depth + 1
        shell = shell.parent
    assert (shell.kind, shell.depth) == ("script", 0)
    return " ".join(kinds)


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ("a; { b; }; if c; then d; fi", [["a", "b", "c", "d"]]),
        ("a; (b; c); (d)", [["a"], ["b", "c"], ["d"]]),
        ("a | b; c", [["a"], ["b"], ["c"]]),
        ("a $(b; c)", [["b", "c"], ["a"]]),
        ("f() { a; }; f; b", [["f", "a", "b"]]),
        ("a & b", [["a"], ["b"]]),
        ("bash -c 'a; b'; c", [["a", "b"], ["c"]]),
        ("eval 'a; b'; c", [["eval", "a", "b", "c"]]),
        ("trap 'a' EXIT; b", [["trap", "a", "b"]]),
    ],
)
def test_commands_of_one_shell(script: str, expected: list[list[str]]) -> None:
    assert sorted(shells(script)) == sorted(expected)


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ("x", ""),
        ("(x)", "subshell"),
        ("(y | x)", "pipeline subshell"),
        ("y <(x)", "substitution"),
        ("(x) &", "subshell background"),
        ("srun bash -c 'y & x'", "program program"),
        ("srun bash -c 'x &'", "background program program"),
    ],
)
def test_what_makes_a_shell(script: str, expected: str) -> None:
    assert chain(commands(script)["x"]) == expected


def test_where_a_background_command_begins() -> None:
    script = "if a; then\n  { b | c; d; } > log &\nfi\n(e & f) & g"
    found = commands(script)
    text = "#!/bin/bash\n#SBATCH -n1\n" + script

    def begun(name: str) -> str | None:
        shell = found[name].context.background
        return None if shell is None else text[shell.span.start : shell.span.end]

    assert [begun(name) for name in "abcdefg"] == [
        None, *["{ b | c; d; } > log &"] * 3, "e &", "(e & f) &", None,
    ]  # fmt: skip


def awaits(wait: Invocation, command: Invocation) -> bool:
    background = command.context.background
    return background is not None and wait.context.shell is background.parent and wait.index > command.index


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ("a & wait", True),
        ("a && b & wait", True),
        ("a | b & wait", True),
        ("{ a & }; wait", True),
        ("for i in 1 2; do a & done; wait", True),
        ("for i in 1 2; do a & wait; done", True),
        ("f() { a & }; f; wait", True),
        ("srun a & wait", True),
        ("bash -c 'a & wait'", True),
        ("wait; a &", False),
        ("(a &); wait", False),
        ("a & (wait)", False),
        ("a | (b & c); wait", False),
        ("bash -c 'a &'; wait", False),
    ],
)
def test_which_wait_awaits_a_background_command(script: str, expected: bool) -> None:
    found = commands(script)
    started = found["b"] if "b" in found and found["a"].context.background is None else found["a"]
    assert awaits(found["wait"], started) is expected


def test_loops_by_their_spans() -> None:
    script = "a\nfor i in 1 2; do\n  b\n  while c; do d; done\ndone\nfor i in 1; do e; done\nuntil f; do :; done"
    found = commands(script)
    text = "#!/bin/bash\n#SBATCH -n1\n" + script

    def around(name: str) -> list[str]:
        return [text[span.start : span.end].split()[0] for span in found[name].context.loops]

    assert {name: around(name) for name in "abcdef"} == {
        "a": [], "b": ["for"], "c": ["for", "while"], "d": ["for", "while"], "e": [], "f": ["until"],
    }  # fmt: skip
    assert found["b"].context.loops == found["c"].context.loops[:1]
    assert found["d"].context.may_repeat and not found["e"].context.may_repeat
