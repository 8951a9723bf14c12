"""Records of jobs from sacct and `scontrol show job`: state, exit code, reason, limits, the script."""

import json
import re
from collections.abc import Mapping
from typing import Any

from sbatchlint.diagnose.symptom import Account
from sbatchlint.source.files import InputError
from sbatchlint.source.numbers import parse_integer

# The names of a field in sacct, scontrol, and the JSON of both.
_NAMES = {
    "job": ("JobID", "JobId", "JobIDRaw", "job_id"),
    "state": ("State", "JobState", "job_state", "state"),
    "exit_code": ("ExitCode", "exit_code"),
    "reason": ("Reason", "state_reason"),
}
_LIMITS = (
    "Timelimit", "TimeLimit", "Elapsed", "RunTime", "ReqMem", "MinMemoryNode", "MinMemoryCPU", "MaxRSS", "NNodes",
    "NumNodes", "NCPUS", "NumCPUs", "Partition", "NodeList", "ReqTRES", "AllocTRES", "Command", "StdOut", "StdErr",
    "JobName", "WorkDir", "SubmitLine", "BatchHost",
)  # fmt: skip
# The states of a job that has not ended, or ended well.
FINE = ("COMPLETED", "PENDING", "RUNNING", "CONFIGURING", "COMPLETING", "SUSPENDED")
# sacct prints a line for each step of a job: the worst state counts.
_WORST = (
    "OUT_OF_ME", "NODE_FAIL", "BOOT_FAIL", "LAUNCH_FAILED", "DEADLINE", "TIMEOUT", "PREEMPTED", "REQUEUED",
    "CANCELLED", "FAILED", "COMPLETED",
)  # fmt: skip


def read_account(text: str, path: str) -> Account:
    """The record of a job in any of these formats. Raises `InputError` for another format."""
    return _account(_records(text, path))


def read_accounts(text: str, path: str) -> dict[str, Account]:
    """The records of all jobs, by their numbers: steps, and elements of an array, belong to their job."""
    found: dict[str, list[Mapping[str, str]]] = {}
    for record in _records(text, path):
        found.setdefault(re.split(r"[._+]", _of(record, "job"))[0], []).append(record)
    return {job: _account(records) for job, records in found.items()}


def _records(text: str, path: str) -> list[Mapping[str, str]]:
    stripped = text.strip()
    records: list[Mapping[str, str]]
    if stripped.startswith(("{", "[")):
        try:
            records = _of_json(json.loads(stripped))
        except (ValueError, RecursionError):
            raise InputError(f"{path}: this is not JSON of sacct or scontrol") from None
    elif re.search(r"\bJobId=\S", stripped):
        records = [dict(re.findall(r"([A-Z][A-Za-z:/]*)=(\S*)", part)) for part in re.split(r"\n\s*\n", stripped)]
    else:
        records = _of_table(text.strip("\n"))
    records = [each for each in records if _of(each, "state")]
    if not records:
        raise InputError(
            f"{path}: there is no state of a job in it: sacct -j JOB -o JobID,State,ExitCode,Reason shows one"
        )
    return records


def _hours(record: Mapping[str, str]) -> float | None:
    """The hours that a job or an element of an array ran."""
    match = re.match(r"(?:(\d+)-)?(?:(\d+):)?(\d+):(\d+)", record.get("Elapsed") or record.get("RunTime") or "")
    if match is None:
        return None
    days, hours, minutes, seconds = (parse_integer(each or "0") for each in match.groups())
    return days * 24 + hours + minutes / 60 + seconds / 3600


def _account(records: list[Mapping[str, str]]) -> Account:
    first = records[0]
    states = [_of(each, "state").upper() for each in records]
    state = states[0]
    if state.startswith(("FAILED", "CANCELLED", "COMPLETED")):  # a step says more, such as OUT_OF_MEMORY
        worst = min(states, key=lambda each: next((n for n, name in enumerate(_WORST) if each.startswith(name)), 99))
        if worst.startswith(_WORST[:5]):
            state = worst
    reason = _of(first, "reason")
    limits = {name: each[name] for each in reversed(records) for name in _LIMITS if each.get(name)}
    whole = [each for each in records if "." not in _of(each, "job")]
    lost = [each for each in whole if not _of(each, "state").upper().startswith("COMPLETED")] or whole
    ran = [(hours, each) for each in lost if (hours := _hours(each)) is not None]
    nodes = [(hours, each.get("NNodes") or each.get("NumNodes") or "") for hours, each in ran]
    counted = bool(nodes) and all(count.isdecimal() for _, count in nodes)
    return Account(
        _of(first, "job"),
        state,
        _of(first, "exit_code"),
        "" if reason == "None" else reason,
        limits,
        round(sum(hours for hours, _ in ran), 3) if ran else None,
        round(sum(hours * parse_integer(count) for hours, count in nodes), 3) if counted else None,
    )


def _of(record: Mapping[str, str], what: str) -> str:
    return next((record[name] for name in _NAMES[what] if record.get(name)), "")


def _of_table(text: str) -> list[Mapping[str, str]]:
    """The rows of the table that sacct prints: in columns under dashes, or separated by `|` (-P, -p)."""
    lines = [line for line in text.split("\n") if line.strip()]
    if len(lines) < 2:
        return []
    if "|" in lines[0]:
        names = [each.strip() for each in lines[0].split("|")]
        return [dict(zip(names, (each.strip() for each in line.split("|")), strict=False)) for line in lines[1:]]
    if not re.fullmatch(r"[- ]+", lines[1]):
        return []
    spans = [match.span() for match in re.finditer("-+", lines[1])]
    names = [lines[0][start:end].strip() for start, end in spans]
    rows = [[line[start:end].strip().rstrip("+") for start, end in spans] for line in lines[2:]]
    return [dict(zip(names, row, strict=True)) for row in rows]


def _of_json(value: Any) -> list[Mapping[str, str]]:
    jobs = value.get("jobs") if isinstance(value, dict) else value
    if not isinstance(jobs, list):
        return []
    return [_flat(job) for job in jobs if isinstance(job, dict)]


def _flat(job: Mapping[str, Any]) -> Mapping[str, str]:
    """A job in JSON, with the field names that sacct prints."""
    state = job.get("job_state", job.get("state"))
    reason = job.get("state_reason", "")
    if isinstance(state, dict):
        reason = reason or state.get("reason", "")
        state = state.get("current")
    if isinstance(state, list):
        state = state[0] if state else ""
    time = job.get("time")
    limit = job.get("time_limit") or (time.get("limit") if isinstance(time, dict) else None)
    found = {
        "JobID": job.get("job_id"), "State": state, "Reason": reason, "ExitCode": _exit_code(job.get("exit_code")),
        "TimeLimit": _number(limit), "Command": job.get("command"), "StdOut": job.get("standard_output"),
        "JobName": job.get("name"), "SubmitLine": job.get("submit_line"),
        "WorkDir": job.get("current_working_directory"),
    }  # fmt: skip
    return {name: str(each) for name, each in found.items() if each not in (None, "", [], {})}


def _number(value: Any) -> Any:
    """A number, which is an object since the data_parser plugins: {"set": true, "infinite": false, "number": 5}."""
    return value.get("number") if isinstance(value, dict) else value


def _exit_code(value: Any) -> str:
    if not isinstance(value, dict):
        return "" if value is None else str(value)
    signal = value.get("signal")
    number = _number(signal.get("id", signal.get("signal_id"))) if isinstance(signal, dict) else None
    code = _number(value.get("return_code"))
    return "" if code is None else f"{code}:{number or 0}"
