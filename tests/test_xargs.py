"""What `xargs` and GNU `parallel` run."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from sbatchlint.bash.values import UNKNOWN_CHARACTER as WHAT
from sbatchlint.bash.values import Pieces, shown_text
from sbatchlint.job import Job, Site
from sbatchlint.source.text import Source


def _last(job: Job, name: str) -> Sequence[Pieces]:
    return [each for each in job.invocations if shown_text(each.argv[0]) == name][-1].argv


def words(command: str, name: str) -> list[str]:
    """The words of the last command of this name, with a mark for what is unknown."""
    script = f"#!/bin/bash\n#SBATCH --nodes=2\nX=1\nexport Y=2\n{command}\n"
    job = Job.from_source(Source(script, "job.sbatch"), Site())
    return [shown_text(field) for field in _last(job, name)]


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("parallel -j 4 ./a.out --case {} -v ::: a b", ["./a.out", "--case", WHAT, "-v"]),
        ("parallel --joblog x -k ./a.out {.}.out {/} ::: *.in", ["./a.out", f"{WHAT}.out", WHAT]),
        ("parallel './a.out {1} > {2}' ::: a ::: b", ["./a.out", WHAT]),
        ("cat list | parallel ./a.out -n", ["./a.out", "-n", WHAT]),
        ("parallel ./a.out '$Y' ::: a", ["./a.out", "2", WHAT]),
        ("parallel -I @@ ./a.out @@ {} ::: a", ["./a.out", WHAT, "{}"]),
        ("parallel srun -n1 ./a.out {} ::: a b", ["./a.out", WHAT]),
        ("xargs -n 2 -P4 ./a.out --names < list", ["./a.out", "--names", WHAT]),
        ("xargs -I % ./a.out %.in -o x% < list", ["./a.out", f"{WHAT}.in", "-o", f"x{WHAT}"]),
    ],
)
def test_the_command_that_is_run(command: str, expected: list[str]) -> None:
    assert words(command, expected[0]) == expected


@pytest.mark.parametrize("command", ["parallel", "parallel ::: a b", "xargs", "parallel -j"])
def test_without_a_command(command: str) -> None:
    script = f"#!/bin/bash\n#SBATCH --nodes=2\n{command}\n"
    job = Job.from_source(Source(script, "job.sbatch"), Site())
    assert len(job.invocations) == 1
