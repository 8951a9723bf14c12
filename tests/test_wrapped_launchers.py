"""The same mistake behind a wrapper: what a check finds in a launch it also finds where `env` or a container starts it.

The first bad script of each check is tried in all wrappers, each further one in every third, in turn. Where a
check then has another answer for a good reason, `OTHERWISE` says it.
"""

from __future__ import annotations

import pytest

from check_cases import ENTRIES, Case, cases_of, findings
from sbatchlint.check import Bad
from sbatchlint.job import Job, Site
from sbatchlint.registry import Entry
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
# Of these, what a script after the first of its check is tried in.
EVERY = 3
OTHERWISE = {
    ("SB318", "apptainer"): "an mpirun in a container need not know Slurm",
    ("SB616", "apptainer"): "an mpirun in a container need not know Slurm",
    ("SB342", "apptainer"): "the mpirun of the image need not be that of Open MPI",
    ("SB414", "apptainer"): "the image may set the variable",
    ("SB508", "apptainer"): "a container in the container",
    ("SB603", "apptainer"): "the folder need not be mounted",
    ("SB607", "*"): "the launcher of another environment",
    ("SB608", "conda"): "the environment may set PYTHONPATH",
    ("SB806", "apptainer"): "what the image starts may be a step",
    ("SB721", "bash"): "the string may test the status itself",
    ("SB619", "apptainer"): "the search path of the image",
    ("SB612", "apptainer"): "the Python of the image",
    ("SB917", "numactl"): "who places memory on all sockets may use them all",
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


def bad_launches(entry: Entry) -> list[tuple[Case, list[tuple[int, bool]]]]:
    """The bad scripts of a check that have launchers, and the places of these."""
    bad = [case for case in cases_of(entry) if isinstance(case.case, Bad) and not case.case.missed]
    return [(case, places) for case in bad if (places := launched(case))]


@pytest.mark.slow
@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: f"{entry.code}-{entry.name}")
def test_a_launcher_behind_a_wrapper_is_judged(entry: Entry) -> None:
    wrong = []
    for row, (case, places) in enumerate(bad_launches(entry)):
        wrappers = list(WRAPPERS)[row % EVERY :: EVERY] if row else WRAPPERS
        for wrapper in wrappers:
            if {(entry.code, wrapper), (entry.code, "*")} & OTHERWISE.keys():
                continue
            if wrapper == "bash" and any(is_quoted for _, is_quoted in places):
                continue  # it has quotes of its own
            text = case.case.example.text
            for place, _ in places:
                text = text[:place] + WRAPPERS[wrapper] + text[place:]
            if not findings(case, text):
                wrong.append(f"{case.label}, {wrapper}:\n{text}")
    assert not wrong, "\n".join(wrong)
