"""Our reading of scripts against bash (`bash -n`) and, for every simple command, against bashlex.

Scripts: those of cases_real and, when SBATCHLINT_CORPUS names a folder, all that are in it.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from bash_referee import agree, bash_accepts, command_text, nodes, ours, theirs
from sbatchlint.bash.syntax.parser import parse
from sbatchlint.bash.syntax.tree import Simple

HERE = Path(__file__).parent
CASES = sorted((HERE / "cases_real").glob("*/*.sh"))
CORPUS = os.environ.get("SBATCHLINT_CORPUS")

PROGRAMS = (HERE / "bash_programs.txt").read_text().split("\n===\n")

# Where we and bash differ, and why. bash reads extended patterns only after `shopt -s extglob` has run.
LENIENT = {"echo @(a|b)", "echo !(a)", "shopt -s extglob\necho @(a|b) +(x) !(y) ?(z) *(w)"}
# The order of operands in `[[ ]]`, and `in` as the name of a command.
LENIENT |= {"[[ a == b c ]]", "[[ $a =~ a<b ]]", "[[ $a =~ a) ]]", "[[ a ) ]]", "[[ a b ]]", "[[ -f ]]"}
LENIENT |= {"[[ a -a b ]]", "[[ a\n&& b\n]]", "[[ ( a ]]", "in", "in a"}
# Reserved words and operators that are continued on the next line.
STRICT = {"i\\\nf a; then b; fi", "if a; then b; f\\\ni", "a &\\\n& b"}


def scripts(folder: str) -> Iterator[tuple[Path, str]]:
    for path in sorted(Path(folder).rglob("*")):
        if path.is_file():
            data = path.read_bytes()
            if b"\0" not in data:
                yield path, data.decode("utf-8", "surrogateescape")


@pytest.mark.parametrize("program", PROGRAMS)
def test_bash_agrees_on_small_programs(program: str) -> None:
    # Without the last newline bash forgets to report some errors in `[[ ]]`.
    accepted = bash_accepts(program + "\n")
    if program in LENIENT:
        assert not accepted and not parse(program + "\n").errors
    elif program in STRICT:
        assert accepted and parse(program + "\n").errors
    else:
        assert (not parse(program + "\n").errors) == accepted


@pytest.mark.parametrize("path", CASES, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_cases_are_read_as_bash_and_bashlex_do(path: Path) -> None:
    text = path.read_bytes().decode()
    program = parse(text)
    assert bash_accepts(text) == (not program.errors)
    for node in nodes(program):
        if isinstance(node, Simple) and node.end > node.start:
            command = command_text(node, text)
            reading = theirs(command)
            assert reading is None or agree(ours(node, text), reading, command), command


@pytest.mark.skipif(not CORPUS, reason="SBATCHLINT_CORPUS names no folder")
def test_bash_agrees_on_every_script_of_the_corpus() -> None:
    differing = [str(path) for path, text in scripts(CORPUS or "") if bash_accepts(text) and parse(text).errors]
    assert not differing


@pytest.mark.skipif(not CORPUS, reason="SBATCHLINT_CORPUS names no folder")
def test_bashlex_agrees_on_nearly_every_command_of_the_corpus(capsys: pytest.CaptureFixture[str]) -> None:
    """What is left are faults of bashlex: braces in quotes in braces, `'$X'` in assignments, blanks before `)`."""
    total = refereed = agreed = 0
    for _, text in scripts(CORPUS or ""):
        if "\r" in text:
            continue
        for node in nodes(parse(text)):
            if isinstance(node, Simple) and node.end > node.start:
                total += 1
                command = command_text(node, text)
                reading = theirs(command)
                if reading is not None:
                    refereed += 1
                    agreed += agree(ours(node, text), reading, command)
    with capsys.disabled():
        print(f"\n{total} simple commands, {refereed} refereed, {agreed} agreed")
    assert refereed > total * 0.9
    assert agreed > refereed * 0.995
