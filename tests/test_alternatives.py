"""Values with more alternatives than are followed: what remains known of them."""

from __future__ import annotations

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
