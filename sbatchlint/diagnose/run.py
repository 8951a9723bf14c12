"""One run of the diagnosis: logs and a script are read and judged."""

import os
from typing import NamedTuple

from sbatchlint.diagnose.accounts import read_account
from sbatchlint.diagnose.answers import Picture, overrides_for, picture_of
from sbatchlint.diagnose.diagnosis import Diagnosis, diagnose
from sbatchlint.diagnose.findings import Findings
from sbatchlint.diagnose.logs import STANDARD_INPUT, log_paths, read_logs
from sbatchlint.diagnose.places import Place, places
from sbatchlint.diagnose.printed import release_of
from sbatchlint.diagnose.scripts import Candidate, script_of
from sbatchlint.diagnose.symptom import Account, Event
from sbatchlint.diagnose.symptoms import symptoms
from sbatchlint.settings import Overrides, Resolver
from sbatchlint.source.files import read, read_bytes
from sbatchlint.source.secrets import values_in
from sbatchlint.source.text import Source

# A shorter part of a secret is not redacted where it stands alone: it could be any word.
_SHORTEST_PART = 6


class Run(NamedTuple):
    """The result of a run. `notes`: how the script was found. `lines`: the number of lines of all logs.

    `secrets`: the values of secrets that the script or its logs tell, which are redacted wherever they stand.
    """

    diagnosis: Diagnosis
    logs: list[str]
    picture: Picture | None
    account: Account | None
    notes: list[str]
    lines: int
    secrets: tuple[str, ...]

    @property
    def source(self) -> Source | None:
        return None if self.picture is None else self.picture.source

    def places(self) -> list[Place]:
        """Where the fault lies, by evidence; empty without a diagnosis."""
        found = self.diagnosis.answers
        return places(found, self.source, [each.event for each in self.diagnosis.noise]) if found else []


def picture_at(script: str, options: Overrides | None, release: str | None = None) -> Picture:
    """The picture of the script of this path. `release`: that of Slurm, as a log says it. Raises `InputError`."""
    source = read(script)
    options = options or Overrides()
    resolver = Resolver(overrides_for(options._replace(slurm_version=options.slurm_version or release)))
    return picture_of(source, resolver.settings(source.path))


def script_for(
    paths: list[str], account: Account | None, known: dict[str, list[Candidate]] | None = None
) -> tuple[str | None, list[str]]:
    """The script of a job by its record, else by its first log; and notes on that. `known`: scripts found before."""
    script = None if account is None else account.limits.get("Command")
    if script is not None and os.path.isfile(script):
        return script, []
    return _found(paths, known)


class Near(NamedTuple):
    """What was read for other jobs: the scripts near their logs, by folder, and the pictures of scripts, by path and
    release of Slurm.
    """

    candidates: dict[str, list[Candidate]]
    pictures: dict[tuple[str, str | None], Picture]


def judged(
    names: list[str], script: str | None = None, sacct: str | None = None, options: Overrides | None = None,
    searching: bool = True,
) -> Run:  # fmt: skip
    """The diagnosis of the logs named by arguments, which are those of one job. Raises `InputError`."""
    account = None
    if sacct is not None:
        account = read_account(read_bytes(sacct).decode("utf-8", "replace"), sacct)
    return of_logs(log_paths(names), script, account, sacct or "", options, Near({}, {}), searching)


def of_logs(
    paths: list[str], script: str | None, account: Account | None, account_path: str, options: Overrides | None,
    near: Near, searching: bool = True,
) -> Run:  # fmt: skip
    """The diagnosis of the logs of one job. `searching`: for its script where none is named. Raises `InputError`."""
    findings = read_logs(paths)
    notes: list[str] = []
    if script is None and searching:
        script, notes = script_for(paths, account, near.candidates)
    picture = None
    if script is not None:
        release = release_of(findings.events.values())
        key = (script, release)
        picture = near.pictures.get(key) or near.pictures.setdefault(key, picture_at(script, options, release))
    shown = [STANDARD_INPUT if each == "-" else each for each in paths]
    return judge(findings, shown, picture, account, account_path, notes)


def judge(
    findings: Findings, logs: list[str], picture: Picture | None, account: Account | None, account_path: str,
    notes: list[str],
) -> Run:  # fmt: skip
    """The diagnosis of what was read. `account_path`: where the record of the job comes from."""
    record = findings.record
    if account is not None:
        _add_account(account, account_path, len(logs), findings.events)
    elif record is not None:
        account = record.account
        event = _add_account(account, record.path, record.file, findings.events)
        if event is not None:
            event.text, event.row, event.last, event.rows = record.line, record.row, record.row, (record.row,)
    result = diagnose(findings, picture, account)
    secrets = findings.secrets.values()
    if picture is not None:
        secrets = (*values_in(picture.source.text), *secrets)
    secrets = (*secrets, *_parts(secrets, result))
    return Run(result, logs, picture, account, notes, sum(findings.lines.values()), secrets)


def _parts(secrets: tuple[str, ...], result: Diagnosis) -> list[str]:
    """What the patterns of symptoms take out of secrets, as a module's name ends at a hyphen."""
    events = [answer.event for answer in result.answers] + [noise.event for noise in result.noise]
    groups = dict.fromkeys(group for event in events for group in event.groups.values())
    parts = [group for group in groups if len(group) >= _SHORTEST_PART and not group.isalpha()]
    return [part for part in parts if any(part in secret and part != secret for secret in secrets)]


def _found(paths: list[str], known: dict[str, list[Candidate]] | None) -> tuple[str | None, list[str]]:
    """The script of the first log, None if it is unknown, and notes on that."""
    for path in [each for each in paths if each != "-"][:1]:
        found, several = script_of(path, known)
        if found is not None:
            return found.path, [
                f"{found.path} is taken for the script of this job, by {found.by}; --script names another"
            ]
        if several:
            some = ", ".join(several[:3]) + (", ..." if len(several) > 3 else "")
            return None, [f"{len(several)} scripts may have written this log ({some}); --script says which"]
    return None, []


def _add_account(account: Account, path: str, file: int, events: dict[tuple[str, str], Event]) -> Event | None:
    """Adds the record of sacct as an event after those of all logs, and returns it; None if it reports no failure."""
    text = f"JobState={account.state} Reason={account.reason or 'None'} ExitCode={account.exit_code}"
    for symptom in symptoms().values():
        match = symptom.search(text)
        if match:
            groups = {name: value for name, value in match.groupdict().items() if value}
            return events.setdefault((symptom.id, text), Event(symptom, text, groups, path, 1, 0, file))
    return None
