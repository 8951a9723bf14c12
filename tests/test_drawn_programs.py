"""What the evaluator calls known, against bash itself, on small programs that Hypothesis writes.

Each program runs in bash, in an empty environment and an empty folder, without external commands, and is evaluated
here. For every place that prints:
- a print that is not reached here is not reached by bash;
- where it is reached for certain, bash comes there just as often, and its words are those of bash;
- where it may be reached, or several times, each of bash's turns is one of those that were thought possible;
- an unknown piece stands for any text, an open one for any number of words;
- of a command with more than 12 combinations of values only those are told in which each `${X:-d}` takes its default.
Of programs whose loops decide all their guards themselves, words that are known are those of an iteration in bash.

SBATCHLINT_PROGRAMS is how many programs a deep run draws (600; a plain run 60), SBATCHLINT_SEED where drawing begins
(0).
"""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis.strategies import SearchStrategy

from conftest import ALL, examples
from sbatchlint.bash.interpreter.interpreter import ScriptInterpreter
from sbatchlint.bash.state import State
from sbatchlint.bash.syntax.parser import parse
from sbatchlint.bash.trace import Context, Invocation, Spawn
from sbatchlint.bash.values import Expansion, Pieces, Text, is_open, text_of
from sbatchlint.bash.values import Phase as ShellPhase
from sbatchlint.source.text import Span
from shell_programs import UNKNOWN, loops, nested_loops, programs

COUNT = int(os.environ.get("SBATCHLINT_PROGRAMS", "600" if ALL else "300"))
PLAIN = 60
# Of loops, a third as many.
LOOPS = 3
SEED = int(os.environ.get("SBATCHLINT_SEED", "0"))
BATCH = 50
# Variables that bash sets on its own, and those that the harness sets.
NOT_KNOWN = re.compile(
    r"BASH\w*|PIPESTATUS|FUNCNAME|PATH|IFS|PWD|OLDPWD|SHLVL|_|HOME|HOST\w*|\w+TYPE|SHELLOPTS|[EPU]*ID|TERM|OPT\w+|u\d"
)


class Empty:
    """An empty environment, but for what bash sets itself."""

    answers_of_jobs = 0
    is_outside = False

    def has_program(self, name: str, context: Context) -> bool | None:
        return None

    def is_terminal(self, fd: str, context: Context) -> bool | None:
        return None

    def lookup(self, name: str, context: Context) -> str | bool | None:
        return None if NOT_KNOWN.fullmatch(name) or name in ("RANDOM", "SECONDS", "LINENO") else False

    def differs(self, name: str) -> bool:
        return False

    def certainly_prints(self, expansion: Expansion) -> bool:
        return False


class Alone:
    """No command starts another."""

    environment = Empty()

    def spawn(self, invocation: Invocation) -> Spawn | None:
        return None

    def file(self, name: str, included_from: Span) -> Text | None:
        return None

    def host_paths(self, path: Pieces, command: Invocation) -> list[Pieces]:
        return []


Turn = tuple[str, ...]


def run_bash(texts: Sequence[str], folder: Path, number: int = 0, timeout: float = 120) -> list[dict[str, list[Turn]]]:
    """The words of every print, by place, of each program. All of them run in one bash, each in a subshell."""
    empty = folder / f"empty{number}"
    empty.mkdir(exist_ok=True)
    driver = ["PATH=/nonexistent"]
    for index, text in enumerate(texts):
        name = folder / f"{number}-{index}"
        name.write_text(text)
        chosen = text.partition("\n")[0].split()[1:]
        pairs = zip(UNKNOWN.items(), chosen, strict=True)
        inputs = " ".join([f"{name}='{values[int(number)]}'" for (name, values), number in pairs])
        driver.append(f"( {inputs}; . {name} ) 3>{name}.out 2>{name}.err >/dev/null </dev/null")
    script = folder / f"driver{number}"
    script.write_text("\n".join(driver) + "\n")
    subprocess.run(
        ["bash", "--norc", "--noprofile", str(script)],
        env={"LC_ALL": "C.UTF-8"}, cwd=empty, timeout=timeout, check=False, capture_output=True,
    )  # fmt: skip
    return [
        turns((folder / f"{number}-{index}.out").read_text(errors="surrogateescape")) for index in range(len(texts))
    ]


def turns(output: str) -> dict[str, list[Turn]]:
    found: dict[str, list[Turn]] = {}
    current: list[str] = []
    for part in re.findall(r"\x01([^\x02]*)\x02", output):
        if re.fullmatch(r"@\d+", part):
            current = []
            found.setdefault(part, []).append(())
            place = part
        current.append(part)
        found[place][-1] = tuple(current)
    return found


def pattern(fields: Sequence[Pieces]) -> re.Pattern[str]:
    """The words that an invocation may have, as a pattern over `\\1word\\2…`."""
    out = []
    for field in fields:
        text = None if is_open(field) else text_of(field)
        if text is not None:
            out.append("\x01" + re.escape(text) + "\x02")
        elif all(piece.open for piece in field):
            out.append("(?:\x01.*\x02)?")
        else:
            inside = [
                ".*" if piece.open else re.escape(piece.text) if piece.text is not None else "[^\x01\x02]*"
                for piece in field
            ]
            out.append("\x01" + "".join(inside) + "\x02")
    return re.compile("".join(out), re.DOTALL)


def certain(invocation: Invocation) -> bool:
    """Whether the invocation is said to run, once."""
    context = invocation.context
    possible = context.conditional or context.may_repeat or invocation.guards or invocation.alternatives > 1
    return not (possible or invocation.state.doubtful or invocation.state.escaped)


def told_by_default(commands: Sequence[Invocation]) -> bool:
    """Whether all is told under the condition that some `${X:-d}` takes its default, as for too many combinations."""
    shared = frozenset.intersection(*[each.guards for each in commands]) if commands else frozenset()
    return any(isinstance(key, tuple) and key[0] == "default" for key, _ in shared)


def known(invocation: Invocation) -> bool:
    return all(text_of(field) is not None and not is_open(field) for field in invocation.argv)


class Verdict(NamedTuple):
    """What is wrong ("" if nothing is), how often bash printed, for how many of these the words were known, and
    for how many it was known too that they would be printed, and how often."""

    fault: str
    printed: int
    words: int
    all: int


def prints_of(text: str) -> tuple[dict[str, list[Invocation]], bool]:
    """The prints of a program as they are evaluated, by place; and whether something may have failed."""
    interpreter = ScriptInterpreter(Alone())
    state = State()
    # bash gets no arguments; of some programs this is not known here
    state.positional = None if text[2] == "1" else ()
    interpreter.run(Text.of_file(text), parse(text), ShellPhase.BATCH, state)
    ours: dict[str, list[Invocation]] = {}
    uncertain = interpreter.limits.exhausted
    for command in interpreter.trace.invocations:
        uncertain = uncertain or command.state.sourced or command.state.doubtful
        if (
            len(command.argv) > 2
            and command.name == "printf"
            and (place := text_of(command.argv[2]))
            and place[0] == "@"
        ):
            ours.setdefault(place, []).append(command)
    return ours, uncertain


def invented(text: str, told: dict[str, list[Turn]]) -> str:
    """A print whose words are all known here, and which bash never makes; "" where there is none."""
    ours, _ = prints_of(text)
    for place, commands in ours.items():
        for command in commands:
            words = tuple(text_of(field) for field in command.argv[2:])
            if known(command) and words not in told.get(place, []):
                return f"{place}: {words} is none of {told.get(place, [])}"
    return ""


def judge(text: str, told: dict[str, list[Turn]]) -> Verdict:
    ours, uncertain = prints_of(text)
    printed = words = everything = 0
    for place in {**told, **ours}:
        theirs, mine = told.get(place, []), ours.get(place, [])
        printed += len(theirs)
        patterns = [pattern(each.argv[2:]) for each in mine]
        written = ["".join(f"\x01{word}\x02" for word in turn) for turn in theirs]
        if mine and all(map(certain, mine)):
            if len(mine) != len(theirs):
                return Verdict(f"{place}: bash comes here {len(theirs)} times, we {len(mine)}", 0, 0, 0)
            for one, expected, command in zip(written, patterns, mine, strict=True):
                if not expected.fullmatch(one):
                    return Verdict(f"{place}: bash has {one!r}, we {expected.pattern!r}", 0, 0, 0)
                words += known(command)
                everything += known(command)
            continue
        if uncertain or any(each.state.doubtful for each in mine) or told_by_default(mine):
            continue
        for one in written:
            fitting = [each for each, expected in zip(mine, patterns, strict=True) if expected.fullmatch(one)]
            if not fitting:
                said = [expected.pattern for expected in patterns]
                return Verdict(f"{place}: bash has {one!r}, we one of {said!r}", 0, 0, 0)
            words += any(map(known, fitting))
        for command, expected in zip(mine, patterns, strict=True):
            if certain(command) and not any(map(expected.fullmatch, written)):
                return Verdict(f"{place}: bash has none of {written!r} that we are certain of: {command}", 0, 0, 0)
    return Verdict("", printed, words, everything)


def count_of(number: int) -> int:
    return number if examples(number) == number else min(number, PLAIN)


def drawn(count: int, start: int, kind: SearchStrategy[str]) -> list[str]:
    """So many different programs, always the same for one `start`."""
    found: dict[str, None] = {}

    @seed(start)
    @settings(
        max_examples=2 * count,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(kind)
    def collect(text: str) -> None:
        if len(found) < count:
            found[text] = None

    collect()
    return list(found)


def compare(texts: Sequence[str], folder: Path) -> tuple[list[tuple[str, str]], Verdict]:
    """What is wrong with which program, and the sums over all."""
    faults: list[tuple[str, str]] = []
    sums = [0, 0, 0]
    for number, start in enumerate(range(0, len(texts), BATCH)):
        batch = texts[start : start + BATCH]
        for text, told in zip(batch, run_bash(batch, folder, number), strict=True):
            verdict = judge(text, told)
            if verdict.fault:
                faults.append((verdict.fault, text))
            for index, value in enumerate(verdict[1:]):
                sums[index] += value
    return faults, Verdict("", *sums)


@pytest.mark.deep
def test_what_is_known_is_what_bash_prints(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    count = count_of(COUNT)
    texts = drawn(count, SEED, programs())
    assert len(texts) == count
    faults, sums = compare(texts, tmp_path)
    words, everything = sums.words / sums.printed, sums.all / sums.printed
    with capsys.disabled():
        print(f"\n{count} programs, {sums.printed} prints by bash: {words:.1%} known, {everything:.1%} to the turn")
    faults.sort(key=lambda each: len(each[1]))
    assert not faults, "\n\n".join([f"--- {fault}\n{text}" for fault, text in faults[:3]])
    # nothing would be wrong, either, if nothing were known
    assert words > 0.7 and everything > 0.6


@pytest.mark.deep
@pytest.mark.parametrize("kind", [loops, nested_loops])
def test_what_loops_decide_is_known_for_each_iteration(tmp_path: Path, kind: Callable[[], SearchStrategy[str]]) -> None:
    texts = drawn(count_of(COUNT // LOOPS), SEED, kind())
    faults, sums = compare(texts, tmp_path)
    for number, start in enumerate(range(0, len(texts), BATCH), len(texts)):
        batch = texts[start : start + BATCH]
        for text, told in zip(batch, run_bash(batch, tmp_path, number), strict=True):
            if fault := invented(text, told):
                faults.append((fault, text))
    faults.sort(key=lambda each: len(each[1]))
    assert not faults, "\n\n".join([f"--- {fault}\n{text}" for fault, text in [(len(faults), ""), *faults[:3]]])
    assert sums.words / sums.printed > 0.5


# Loops that leave a function or the shell in an iteration, where it is not known whether there is one. `L`, `A`: prints
# in the loop or behind it in the function, and after it all.
LEAVING = (
    "for e in $u1 *; do exit; done; A",
    "for e in *; do while true; do case $e in 1) : ;; *) exit ;; esac; done; done; A",
    'while read -r x; do return; done <<< "$u1"; A',
    "f() { for e in $u1 *; do return; done; L; }; f; A",
    "f() { for e in *; do e=0; while (( e < 4 )); do case $((++e)) in 2 | 3) return ;; esac; done; done; L; }; f; A",
    "( for e in *; do exit; done; L ); A",
    "for e in *; do while :; do break 2; done; L; done; A",
    "for e in $u1 2; do while true; do continue 2; done; L; done; A",
    'for e in 1 2; do while read -r x; do break 2; done <<< "$u1"; L; done; A',
    'f() { while read -r x; do case $x in a) return ;; esac; done <<< "$u1"; L; }; f; A',
    'until [ "$u1" = x ]; do return; done; A',
    "f() { for e in $u1; do for d in $u1; do return; done; L; done; }; f; A",
    "f() { for ((n=0; n<u1; n++)); do return; done; L; }; f; A",
    'for e in 1 2; do [ "$u1" ] && return; done; A',
    "( return ); A",
)


def test_what_follows_a_loop_that_may_leave_is_not_certain(tmp_path: Path) -> None:
    texts = [
        f"# {inputs}\n"
        + re.sub(r"\b[LA]$|\b[LA](?=;| \))", lambda which: f"printf '\\1%s\\2' @{which[0] == 'A':d} x >&3", text)
        + "\n"
        for text in LEAVING
        for inputs in ("0 0 0", "1 0 0", "4 0 0")
    ]
    faults, sums = compare(texts, tmp_path)
    assert not faults and sums.printed > 30
