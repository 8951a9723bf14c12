"""Values with more alternatives than are followed: what remains known of them."""

from __future__ import annotations

import subprocess

import pytest

from sbatchlint.bash.trace import Invocation
from sbatchlint.bash.values import shown_text
from sbatchlint.job import Job, Site
from sbatchlint.source.text import Source


def called(script: str) -> list[Invocation]:
    """Every record of the command `run`."""
    job = Job.from_source(Source("#!/bin/bash\n#SBATCH -n1\n" + script, "job.sbatch"), Site())
    return [each for each in job.invocations if each.name == "run"]


def words(script: str) -> list[str]:
    """The words of `run`, with `?` for what is unknown, of each of its records."""
    return [" ".join(map(shown_text, each.argv)).replace("\ue000", "?") for each in called(script)]


def test_few_defaults_have_two_values_each() -> None:
    assert len(words("run ${A:-1} ${B:-2}\n")) == 4


@pytest.mark.parametrize(
    "script",
    [
        "run ${A:-1} ${B:-2} ${C:-3} ${D:-4}\n",
        "X=(${A:-1} ${B:-2} ${C:-3} ${D:-4})\nrun \"${X[@]}\"\n",
        'X="${A:-1} ${B:-2} ${C:-3} ${D:-4}"\nrun $X\n',
        "A=${A:-1}; B=${B:-2}; C=${C:-3}; D=${D:-4}\nX=($A $B)\nX+=($C $D)\nrun \"${X[@]}\"\n",
    ],
)  # fmt: skip
def test_many_defaults_count(script: str) -> None:
    assert words(script) == ["run 1 2 3 4"]


# Several `case` of one word: what `run` gets for the words a, b, ab, "b c" and x.y.
CASES = {
    'case "$u" in x.y) A=8 ;; *) A=4 ;; esac; case "$u" in x.y) C=ab ;; "b c") C= ;; a) C=q ;; esac; run "$A-$C"': (
        "4- 4-q 8-ab"
    ),
    "case $u in a) A=1 ;; b) A=2 ;; *) A=3 ;; esac; case $u in b) B=1 ;; *) B=2 ;; esac; run $A$B": "12 21 32",
    "case $u in a*) A=1 ;; *) A=2 ;; esac; case $u in a) B=1 ;; a*) B=2 ;; *) B=3 ;; esac; run $A$B": "11 12 23",
    "case $u in a | b) A=1 ;; *) A=2 ;; esac; case $u in b | ab) B=1 ;; *) B=2 ;; esac; run $A$B": "11 12 21 22",
    "case $u in a) A=1 ;& b) B=1 ;; *) A=2; B=2 ;; esac; case $u in a) C=1 ;; *) C=2 ;; esac; run $A$B$C": "111 12 222",
    "case $u in a*) A=1 ;;& *b) B=1 ;; *) C=1 ;; esac; case $u in a) D=1 ;; *b) D=2 ;; esac; run $A-$B-$D": (
        "-- -1-2 1--1 1-1-2"
    ),
    "p=a; case $u in $p) A=1 ;; *) A=2 ;; esac; p=b; case $u in $p) B=1 ;; *) B=2 ;; esac; run $A$B": "12 21 22",
    "case $u in a) A=1 ;; *) A=2 ;; esac; u=b; case $u in a) B=1 ;; b) B=2 ;; esac; run $A$B": "12 22",
    "case $u in b) A=1 ;; esac; case $u in a) case $u in b) run ;; a) run a ;; ab) run ;; esac ;; esac; run $A": (
        " 1 a"
    ),
}


@pytest.mark.parametrize("script", CASES)
def test_what_happens_in_several_cases_of_a_word(script: str) -> None:
    start = 'run() { echo "$*"; }; unset A B C D'
    told = [
        subprocess.run(["bash", "-c", f"{start}; u='{word}'; {script}"], capture_output=True, text=True, check=True)
        for word in ("a", "b", "ab", "b c", "x.y")
    ]
    happens = {line for each in told for line in each.stdout.splitlines()}
    assert happens == set(CASES[script].split(" "))
    found = {each.removeprefix("run").strip() for each in words(f"u=$(get); A= B= C= D=; {script}")}
    # whether a body is entered by its pattern or from the one before is not known any more after it
    assert found >= happens if ";&" in script or ";;&" in script else found == happens


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ("shopt -s nocasematch; A=AB; run ${A/b/x}", ["run ?"]),
        ("shopt -s nocasematch; A=AB; if [[ $A =~ ^a ]]; then B=1; else B=2; fi; run $B", ["run 1", "run 2"]),
        ("shopt -s lastpipe; A=x; echo b | read A; run $A", ["run x", "run b"]),
        ("shopt -s lastpipe; echo b | { A=1; C=2; }; run $A$C", ["run ??", "run 12"]),
        ("A=x; echo b | read A; run $A", ["run x"]),
    ],
)
def test_what_an_option_of_the_shell_decides(script: str, expected: list[str]) -> None:
    assert words(script) == expected


CASE = "case $1 in a) X=1 ;; b) X=2 ;; c) X=3 ;; d) X=4 ;; e) X=5 ;; f) X=6 ;; esac\n"


def test_an_element_of_an_array_becomes_unknown_for_itself() -> None:
    assert set(words(CASE + 'Y=(--a=$X b)\nrun "${Y[@]}"\n')) == {"run --a=? b"}


def test_a_word_of_a_command_becomes_unknown_for_itself() -> None:
    other = CASE.replace("X=", "Y=").replace("$1", "$2")
    found = words(CASE + other + "run a --x=$X --y=$Y b\n")
    assert all(each.startswith("run a --x=") and each.endswith(" --y=? b") for each in found)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("X='a b'; run $X c", ["run a b c"]),
        ("X=(a b); run $X c", ["run ? c"]),
        ("X=(a b); run ${X[1]} c", ["run ? c"]),
        ("X=(a b); run ${X[@]} c", ["run a b c"]),
        ("X=/a/b.c; run ${X:t} c", ["run ? c"]),
    ],
)
def test_what_zsh_reads_otherwise(line: str, expected: list[str]) -> None:
    job = Job.from_source(Source(f"#!/bin/zsh\n#SBATCH -n1\n{line}\n", "job.sbatch"), Site())
    found = [each for each in job.invocations if each.name == "run"]
    assert [" ".join(map(shown_text, each.argv)).replace("\ue000", "?") for each in found] == expected
    if line.startswith("X='a b'"):
        assert len(found[0].argv) == 3


def test_arms_of_a_long_chain_exclude_each_other() -> None:
    arms = "".join(
        f"elif a{number}; then {'A=x; B=x' if number == 60 else 'A=y; B=y' if number == 70 else ':'}\n"
        for number in range(90)
    )
    found = words(f"A=0 B=0\nif a; then :\n{arms}else A=z; B=z; fi\nrun $A $B\n")
    assert {"run 0 0", "run x x", "run y y", "run z z"} <= {*found}
    assert not {"run x y", "run y x", "run x z", "run z y"} & {*found}
