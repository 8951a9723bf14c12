"""How a job ends: what it leaves behind, what it says of its failures, and when its handlers run."""

from __future__ import annotations

import re
from typing import NamedTuple

import pytest

from sbatchlint.diagnostics import Diagnostic
from sbatchlint.engine import inspect
from sbatchlint.settings import Settings
from sbatchlint.source.text import Source

from .local_slurm import LocalSlurm

WORK = "srun python3 -m timeit -n1 -r1 -s 'import time' 'time.sleep(3)'"
FAILING = "srun ./no_such_solver"
ASKED = """\
trap 'echo "handled after $SECONDS s"; handled=1' USR1
(sleep 1; scancel --batch --signal=USR1 "$SLURM_JOB_ID") &
"""


class Ending(NamedTuple):
    """The commands of a job of one task, and what comes of them: its state, and what its output has and has not.

    `there`: a regular expression; `missing`: a string.
    `code`: the check that reports it, among CODES; '' for none.
    """

    commands: str
    code: str
    state: str
    there: str = ""
    missing: str = "\0"


CODES = ("SB710", "SB711", "SB720", "SB801", "SB805", "SB820")
ENDINGS = {
    "killed": Ending(f"{WORK} &\n", "SB801", "COMPLETED", missing="1 loop"),
    "awaited": Ending(f"{WORK} &\nwait $!\n", "", "COMPLETED", "1 loop"),
    "lost in a pipe": Ending(f"{FAILING} | cat\n", "SB710", "COMPLETED", "No such file"),
    "seen through a pipe": Ending(f"set -o pipefail\n{FAILING} | cat\n", "", "FAILED", "No such file"),
    "lost by the last command": Ending(f"{FAILING}\necho end\n", "SB710", "COMPLETED", "end"),
    "seen in time": Ending(f"set -e\n{FAILING}\necho end\n", "", "FAILED", missing="end\n"),
    "lost by wait": Ending(f"{FAILING} &\nwait\n", "SB711", "COMPLETED", "No such file"),
    "kept by wait": Ending(f"{FAILING} &\nwait $!\n", "", "FAILED", "No such file"),
    "kept by a second wait": Ending(f"{FAILING} &\npid=$!\nwait $pid\nwait $pid\n", "", "FAILED", "No such file"),
    "looked at too late": Ending(
        f"{FAILING}\necho end\nif [ $? -ne 0 ]; then\n    exit 1\nfi\n", "SB720", "COMPLETED", "end"
    ),
    "waiting for a number": Ending(f"{WORK}\nwait 20\n", "SB820", "FAILED", "not a child of this shell"),
    "cancelled after a failure": Ending(f"{FAILING}\nscancel $SLURM_JOB_ID\n", "SB710", "CANCELLED", "No such file"),
    "cancelled after success": Ending(f"{WORK}\nscancel $SLURM_JOB_ID\n", "SB710", "CANCELLED", "1 loop"),
    "handled too late": Ending(f"{ASKED}{WORK}\n", "SB805", "COMPLETED", "handled after [3-9] s"),
    "handled in time": Ending(f"{ASKED}{WORK} &\nwait\n", "", "FAILED", "handled after [12] s"),
}


def script_of(name: str) -> str:
    return f"#!/bin/bash\n#SBATCH --ntasks=1 --signal=B:USR1@60\n{ENDINGS[name].commands}"


@pytest.fixture(scope="module", autouse=True)
def ahead(slurm: LocalSlurm) -> None:
    slurm.run_ahead(map(script_of, ENDINGS))


@pytest.mark.parametrize("name", ENDINGS)
def test_a_job_ends_as_the_checks_say(slurm: LocalSlurm, name: str) -> None:
    ending, script = ENDINGS[name], script_of(name)
    settings = Settings.of_table({"slurm-version": slurm.version})
    found = {each.code for each in inspect(Source(script, "job.sbatch"), settings).diagnostics}
    assert found & set(CODES) == ({ending.code} if ending.code else set())
    outcome = slurm.run(script)
    assert outcome.state == ending.state, outcome
    assert re.search(ending.there, outcome.output) and ending.missing not in outcome.output, outcome


@pytest.mark.parametrize(("work", "states"), [(WORK, ["COMPLETED", "CANCELLED"]), (FAILING, ["FAILED"])])
def test_a_task_may_end_its_chain_and_complete(slurm: LocalSlurm, work: str, states: list[str]) -> None:
    """What SB710 advises for a task that cancels its array: the others do not start, and the task itself COMPLETES."""
    script = f"#!/bin/bash\n#SBATCH --array=1-3%1\n{work}\nscancel $SLURM_ARRAY_JOB_ID\n"
    (found,) = _of_status(script)
    assert found.message.endswith("append `|| exit` to line 3 and `-t PENDING` to line 4")
    followed = script.replace(work, f"{work} || exit").replace("_ID\n", "_ID -t PENDING\n")
    assert not _of_status(followed)
    before, after = (slurm.run(each).job for each in (script, followed))
    assert set(_states(slurm, before)) == {"CANCELLED"}
    found_states = _states(slurm, after)
    assert found_states[0] == states[0] and set(found_states[1:]) == {states[-1]}


def _states(slurm: LocalSlurm, job: str) -> list[str]:
    """The states of an array's tasks, those that ran first."""
    shown = slurm.client("scontrol", "--oneliner", "show", "job", job).stdout
    tasks = re.findall(r"(?m)ArrayTaskId=(\d+).* JobState=(\w+)", shown)
    return [state for _, state in sorted(tasks, key=lambda each: int(each[0]))]


def _of_status(script: str) -> list[Diagnostic]:
    found = inspect(Source(script, "job.sh"), Settings.of_table({})).diagnostics
    return [each for each in found if each.code == "SB710"]
