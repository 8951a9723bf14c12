"""Logs of many jobs: which log is of which job, one diagnosis for each, and what they have in common."""

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

from sbatchlint.diagnose.accounts import FINE, read_accounts
from sbatchlint.diagnose.lines import read_line
from sbatchlint.diagnose.logs import log_paths
from sbatchlint.diagnose.nodes import node_of
from sbatchlint.diagnose.run import Near, Run, of_logs
from sbatchlint.diagnose.symptom import Account, Where
from sbatchlint.settings import Overrides
from sbatchlint.source.files import InputError, read_bytes

# A number in the name of a log that may be that of its job, with the index of an array's element. Slurm's numbers have
# no zero in front; a word before it may say that it counts something else.
_NUMBER = re.compile(
    r"(?P<before>(?<![A-Za-z])(?:slurm|job(?:id)?|[oe])[-_.]?|(?<![A-Za-z\d]))(?P<job>[1-9]\d{0,9})(?:_(?P<element>\d+))?(?![A-Za-z\d])"
)
_COUNTS = re.compile(
    r"(?:rank|worker|task|proc|process|node|host|gpu|step|epoch|part|shard|seed|fold|run|ver|port)[-_.]?$"
)
_DATE = re.compile(r"(?:19|20)\d\d(?:0\d|1[0-2])[0-3]\d$")
# A shorter number is only taken where `slurm` or `job` is before it.
_SHORTEST = 3


class JobRun(NamedTuple):
    """The diagnosis of one of several jobs. `hours`: how long it ran, `node_hours` the same for all of its nodes; None
    where neither the record nor the log says so."""

    job: str
    run: Run
    hours: float | None
    node_hours: float | None

    @property
    def symptom(self) -> str:
        return self.run.diagnosis.answers[0].event.symptom.id if self.run.diagnosis.answers else ""

    @property
    def failed(self) -> bool:
        return bool(self.run.diagnosis.answers)

    def elements(self) -> tuple[list[str], int]:
        """The elements of the array in whose logs the failure stands, and the number of elements with a log."""
        of_log = {path: element for path in self.run.logs if (element := job_of(path)[1])}
        if not self.failed or not of_log:
            return [], 0
        event = self.run.diagnosis.answers[0].event
        logs = [self.run.logs[each] for each in event.files if each < len(self.run.logs)]
        found = {of_log[each] for each in logs if each in of_log}
        return sorted(found, key=int), len(set(of_log.values()))


class Row(NamedTuple):
    """A line of the summary: a symptom, with the jobs that have it, and the hours of these."""

    symptom: str
    title: str
    where: Where
    jobs: list[str]
    hours: float | None
    node_hours: float | None


def job_of(path: str) -> tuple[str, str]:
    """The number of the job of a log by its name, or that of its folder, and of the array's element; '' for none."""
    folder, name = os.path.split(path)
    for text in (name, os.path.basename(folder)):
        found = [each for each in _NUMBER.finditer(text) if _may_be_job(each, text)]
        if found:
            best = max(found, key=lambda each: (bool(each["before"]), len(each["job"]), each.start()))
            return best["job"], best["element"] or ""
    return "", ""


def _may_be_job(match: re.Match[str], name: str) -> bool:
    if _COUNTS.search(name[: match.start()].lower()) or _DATE.match(match["job"]):
        return False
    return bool(match["before"].rstrip("-_.")) or len(match["job"]) >= _SHORTEST


def by_job(paths: Sequence[str]) -> dict[str, list[str]]:
    """The logs of each job, in order; all under '' where the names tell of one job at most."""
    numbers = {path: job_of(path)[0] for path in paths}
    if len(set(numbers.values()) - {""}) < 2:
        return {"": list(paths)}
    found: dict[str, list[str]] = {}
    for path, number in numbers.items():
        found.setdefault(number or os.path.splitext(os.path.basename(path))[0], []).append(path)
    return found


def judged_jobs(
    names: list[str], script: str | None = None, sacct: str | None = None, options: Overrides | None = None,
    only: str | None = None,
) -> list[JobRun]:  # fmt: skip
    """A diagnosis for each job whose logs these arguments name, or that the records name as failed; one with the job ''
    where there is only one. Raises `InputError`."""
    groups = by_job(log_paths(names)) if names else {}
    accounts: Mapping[str, Account] = {}
    if sacct is not None:
        accounts = read_accounts(read_bytes(sacct).decode("utf-8", "replace"), sacct)
        for job, account in accounts.items():
            if len(accounts) > 1 and not account.state.startswith(FINE) and list(groups) != [""]:
                groups.setdefault(job, [])
        if not names and not groups:
            groups = {"": []} if len(accounts) == 1 else {}
    if list(groups) == [""]:
        of_name = {job_of(each)[0] for each in groups[""]} - {""}
        number = next(iter(of_name), "")
        known = accounts.get(number) or (next(iter(accounts.values())) if len(accounts) == 1 else None)
        accounts = {} if known is None else {number: known}
        groups = {number: groups[""]}
        runs = _judged_all(groups, script, accounts, sacct, options)
        if only is not None and len(runs) > 1:
            return _only(only, runs)
        return runs if len(runs) > 1 else [runs[0]._replace(job="")]
    if only is not None:
        job = only.partition("_")[0]
        if job not in groups:
            raise InputError(f"there is no log of job {only}; there are {', '.join(list(groups)[:10])}")
        return _only(only, _judged_all({job: groups[job]}, script, accounts, sacct, options))
    return _judged_all(groups, script, accounts, sacct, options)


def _only(job: str, runs: list[JobRun]) -> list[JobRun]:
    """The runs of a job, or that of some elements of its array. Raises `InputError`."""
    found = [each for each in runs if job in (each.job, each.job.partition("_")[0])]
    if not found:
        raise InputError(f"there is no log of job {job}; there are {', '.join(each.job for each in runs[:10])}")
    return found


def _judged_all(
    groups: Mapping[str, list[str]], script: str | None, accounts: Mapping[str, Account], sacct: str | None,
    options: Overrides | None,
) -> list[JobRun]:  # fmt: skip
    """A diagnosis for each job, or several where the elements of an array failed in different ways."""
    near, found = Near({}, {}), list[JobRun]()
    for job, paths in groups.items():
        account, runs = accounts.get(job), list[JobRun]()
        run = _judged(job, paths, script, account, sacct or "", options, near)
        while True:
            own, others = _apart(run) if len(runs) + 1 < _MOST_WAYS else ([], [])
            rest = _judged(job, others, script, None, "", options, near) if others else None
            if rest is None or not rest.failed:
                break  # the other elements are well
            runs.append(_judged(job, own, script, account, sacct or "", options, near))
            run, account = rest, None
        found += [each._replace(job=_of_elements(each)) for each in (*runs, run)] if runs else [run]
    return found


# In so many ways at most the elements of an array are told apart.
_MOST_WAYS = 8


def _apart(run: JobRun) -> tuple[list[str], list[str]]:
    """The logs of the elements that have the failure of a run, and those of the others, which are jobs of their own."""
    paths = run.run.logs
    elements = [job_of(each)[1] for each in paths]
    lost = set(run.elements()[0])
    if not lost or not set(elements) - lost - {""}:
        return paths, []
    own = [path for path, element in zip(paths, elements, strict=True) if element in lost or not element]
    return own, [path for path, element in zip(paths, elements, strict=True) if element and element not in lost]


def _of_elements(run: JobRun) -> str:
    """The name of the elements of an array that failed, as Slurm writes it: `101_3`, `101_[0,2]`."""
    elements = run.elements()[0]
    shown = ",".join(elements[:4]) + (",..." if len(elements) > 4 else "")
    return f"{run.job}_{shown}" if len(elements) == 1 else f"{run.job}_[{shown}]"


def _judged(
    job: str, paths: list[str], script: str | None, account: Account | None, sacct: str, options: Overrides | None,
    near: Near,
) -> JobRun:  # fmt: skip
    """The diagnosis of one job."""
    run = of_logs(paths, script, account, sacct, options, near)
    if account is not None and account.hours is not None:
        return JobRun(job, run, account.hours, account.node_hours)
    answers = run.diagnosis.answers
    lost = [paths[each] for each in sorted(answers[0].event.files) if each < len(paths)] if answers else []
    return JobRun(job, run, hours_in(lost or paths), None)


def summary(runs: Iterable[JobRun]) -> list[Row]:
    """The symptoms of the jobs that went wrong, those of most jobs first."""
    found: dict[str, list[JobRun]] = {}
    for run in runs:
        if run.failed:
            found.setdefault(run.symptom, []).append(run)
    rows = []
    for symptom, those in found.items():
        best = those[0].run.diagnosis.answers[0]
        jobs = [each.job for each in those]
        hours, nodes = total(each.hours for each in those), total(each.node_hours for each in those)
        rows.append(Row(symptom, best.event.symptom.title, best.where, jobs, hours, nodes))
    return sorted(rows, key=lambda row: (-len(row.jobs), -(row.hours or 0), row.symptom))


def total(values: Iterable[float | None]) -> float | None:
    """The sum of what is known; None for nothing."""
    known = [each for each in values if each is not None]
    return round(sum(known), 2) if known else None


def failing_nodes(runs: Iterable[JobRun]) -> dict[str, list[str]]:
    """The nodes on which more than one job failed for a reason that may be the node's, with these jobs."""
    found: dict[str, list[str]] = {}
    for run in runs:
        if not run.failed:
            continue
        best = run.run.diagnosis.answers[0]
        if best.where in ("cluster", "unknown") or best.event.symptom.id in _OF_NODES:
            node = node_of(best.event, (noise.event for noise in run.run.diagnosis.noise))
            if node:
                found.setdefault(node, []).append(run.job)
    return {node: jobs for node, jobs in found.items() if len(jobs) > 1}


# Failures of a program that a broken node may cause as well.
_OF_NODES = ("task-segfault", "task-illegal-instruction", "gpu-kernel-fault", "nccl-cuda-error", "collective-timeout")


# The bytes at the beginning and at the end of a log that are searched for times.
_SEARCHED = 32 << 10
_SECONDS = 3600


def hours_in(paths: Sequence[str]) -> float | None:
    """The hours between the first and the last time in these logs; None where fewer than two have a date."""
    times = [each for path in paths if path != "-" for each in _times(path)]
    if len(times) < 2 or max(times) == min(times):
        return None
    return round((max(times) - min(times)).total_seconds() / _SECONDS, 3)


def _times(path: str) -> list[datetime]:
    found: list[datetime] = []
    try:
        with open(path, "rb") as file:
            begin = file.read(_SEARCHED)
            file.seek(max(file.seek(0, 2) - _SEARCHED, 0))
            end = file.read()
    except OSError:
        return found
    for lines in (begin.split(b"\n"), reversed(end.split(b"\n"))):
        for raw in lines:
            time = read_line(raw[:400]).time
            if len(time) >= len("2026-01-01 00:00:00"):
                try:
                    found.append(datetime.fromisoformat(time[:19]))
                except ValueError:
                    continue
                break
    return found
