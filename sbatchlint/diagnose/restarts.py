"""The runs of a job that Slurm put back into the queue: with `--open-mode=append` one log holds them all."""

import re
from collections.abc import Iterable, Mapping

from sbatchlint.diagnose.symptom import Event

EARLIER = "of an earlier run: the job was requeued after it"
# How slurmstepd says that a run of the whole job ended and another may follow (src/slurmd/slurmstepd/req.c).
_ENDED = re.compile(r"\*\*\* JOB \S+ .*DUE TO (?:JOB REQUEUE|PREEMPTION|NODE ?FAIL)")


def of_earlier_runs(events: Iterable[Event], lines: Mapping[str, int]) -> list[Event]:
    """The events of all runs but the last one of each log; empty where the last run shows no failure of its own."""
    found = list(events)
    ends: dict[int, int] = {}
    for event in found:
        if _ENDED.search(event.text) and event.last < lines.get(event.path, 0):
            ends[event.file] = max(ends.get(event.file, 0), event.last)
    earlier = [each for each in found if each.files == {each.file} and each.last <= ends.get(each.file, 0)]
    later = [each for each in found if each not in earlier and each.symptom.role in ("cause", "consequence")]
    return earlier if any(each.file in ends for each in later) else []
