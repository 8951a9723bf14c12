"""The same mistake behind a wrapper: what a check finds in a launch it also finds where `env` or a container starts it.

Where a check then has another answer for a good reason, `OTHERWISE` says it.
"""

from __future__ import annotations

import pytest

from check_cases import ALL, Case, findings
from sbatchlint.check import Bad
from sbatchlint.job import Job, Site
from sbatchlint.source.text import Source

WRAPPERS = {
    "uv": "uv run ",
    "env": "env PYTHONUNBUFFERED=1 ",
    "nohup": "nohup ",
    "time": "time -p ",
    "stdbuf": "stdbuf -oL -eL ",
    "numactl": "numactl --interleave=all ",
    "nsys": "nsys profile -o report ",
    "conda": "conda run -n train --no-capture-output ",
    "bash": "bash -c 'exec \"$@\"' _ ",
    "apptainer": "apptainer exec --nv train.sif ",
}
OTHERWISE = {
    ("SB318", "apptainer"): "an mpirun in a container need not know Slurm",
    ("SB414", "apptainer"): "the image may set the variable",
    ("SB508", "apptainer"): "a container in the container",
    ("SB603", "apptainer"): "the folder need not be mounted",
    ("SB607", "*"): "the launcher of another environment",
    ("SB608", "conda"): "the environment may set PYTHONPATH",
    ("SB721", "bash"): "the string may test the status itself",
    ("SB612", "apptainer"): "the Python of the image",
    ("SB328", "bash"): "the words that srun does not read are then those of the string",
}


def launched(case: Case) -> list[tuple[int, bool]]:
    """Where the launchers of a script are written, in commands of its own text, and whether that is quoted text."""
    text = case.case.example.text
    job = Job.from_source(Source(text, "job.sh"), Site())
    found = set()
    for launch in job.launches:
        start = launch.invocation.name_span.start
        word = text[start:].split(None, 1)[0].strip("\"'") if start < len(text) else ""
        if (
            launch.invocation.span.contains(launch.invocation.name_span)
            and word.rpartition("/")[2] == launch.invocation.name
        ):
            found.add((start, job.in_quoted_text(start)))
    return sorted(found, reverse=True)


def bad_launches() -> dict[str, list[tuple[Case, list[tuple[int, bool]]]]]:
    """The bad scripts with launchers, and the places of these."""
    found: dict[str, list[tuple[Case, list[int]]]] = {}
    for case in ALL:
        code = case.check.entry.code
        if isinstance(case.case, Bad) and not case.case.missed:
            places = launched(case)
            if places:
                found.setdefault(code, []).append((case, places))
    return found


CASES = bad_launches()


@pytest.mark.slow
@pytest.mark.parametrize("code", CASES)
@pytest.mark.parametrize("wrapper", WRAPPERS)
def test_a_launcher_behind_a_wrapper_is_judged(code: str, wrapper: str) -> None:
    wrong = []
    for case, places in CASES[code]:
        text = case.case.example.text
        if wrapper == "bash" and any(is_quoted for _, is_quoted in places):
            continue  # it has quotes of its own
        for place, _ in places:
            text = text[:place] + WRAPPERS[wrapper] + text[place:]
        if not findings(case, text) and not {(code, wrapper), (code, "*")} & OTHERWISE.keys():
            wrong.append(f"{case.label}:\n{text}")
    assert not wrong, "\n".join(wrong)
