"""The commands of a job by their programs, and the options that are looked for among their words."""

from __future__ import annotations

from argv_helper import argv
from sbatchlint.bash.values import shown_text
from sbatchlint.job import Job, Site
from sbatchlint.job.argv import program_options
from sbatchlint.job.launchers import may_launch
from sbatchlint.job.programs import commands_named, commands_of
from sbatchlint.programs import programs_with
from sbatchlint.source.text import Source

SCRIPT = """\
#!/bin/bash
#SBATCH --ntasks=1
python a.py
$VENV/bin/pip list
srun /usr/bin/python b.py
$PROGRAM c
pip check
"""


def test_commands_of_several_programs_are_in_order_of_running() -> None:
    job = Job.from_source(Source(SCRIPT, "job.sbatch"), Site())
    found = commands_of(job, {"python", "pip"}.__contains__)
    assert [each.words[-1] for each in found] == ["a.py", "list", "b.py", "check"]
    found.clear()
    assert len(commands_of(job, {"python", "pip"}.__contains__)) == 4


def test_commands_of_a_name_that_is_known_are_in_order_of_running() -> None:
    job = Job.from_source(Source(SCRIPT, "job.sbatch"), Site())
    assert [each.words[-1] for each in commands_named(job, "python", "pip")] == ["a.py", "b.py", "check"]
    assert [each.words[-1] for each in commands_named(job, "pip")] == ["check"]
    assert commands_named(job, "conda") == []


def test_no_command_that_does_no_work_is_a_launcher() -> None:
    assert not [each for each in programs_with("minor") if may_launch(each) or each == "srun"]


def test_options_of_a_fitting_name() -> None:
    words = argv("--lr=1 --seed 2 --seed=$SEED x=--seed --$NAME=3")
    found = [(name, value and shown_text(value)) for name, value, _ in program_options(words, {"--seed"}.__contains__)]
    assert found == [("--seed", "2"), ("--seed", None)]
    assert len([*program_options(words)]) == 5
