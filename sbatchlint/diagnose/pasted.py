"""Records of a job that stand in a log, as people paste what sacct or `scontrol show job` printed."""

import re
from collections.abc import Iterator
from textwrap import dedent
from typing import BinaryIO, NamedTuple

from sbatchlint.diagnose.accounts import FINE, read_account
from sbatchlint.diagnose.lines import plain
from sbatchlint.diagnose.symptom import Account
from sbatchlint.source.files import InputError

# How much of a log is looked at: nobody pastes a record into a long one.
_LOOKED = 256 << 10
_SHOWN = re.compile(r"[ \t]*JobId=\d+ ")
_FIELDS = re.compile(r"[ \t]*[A-Z][\w:/]*=")
_HEAD = re.compile(r"[ \t]*(?=.*\bJobID\b)(?=.*\bState\b)")
_RULE = re.compile(r"[ \t]*-+(?: -+)+[ \t]*$")
_ROW = re.compile(r"[ \t]*\d")


class Pasted(NamedTuple):
    """A record in a log, and the line that says how the job ended, with its row."""

    account: Account
    path: str
    file: int
    row: int
    line: str


def pasted_record(stream: BinaryIO, path: str, file: int) -> Pasted | None:
    """The record of a job that did not end well in a log; None if there is none, or with those of several jobs."""
    stream.seek(0)
    data = stream.read(_LOOKED)
    if b"JobState=" not in data and b"JobID" not in data:
        return None
    lines = [plain(each).rstrip("\r") for each in data.split(b"\n")]
    accounts = [(at, end, account) for at, end in _records(lines) if (account := _account(lines[at:end])) is not None]
    if len({re.split(r"[._+]", account.job)[0] for _, _, account in accounts}) != 1:
        return None
    at, end, account = accounts[-1]
    if not account.state or account.state.startswith(FINE):
        return None
    states = (f"JobState={account.state[:9]}", account.state[:9])
    row = next((row for state in states for row in range(at, end) if state in lines[row]), None)
    return None if row is None else Pasted(account, path, file, row + 1, lines[row].strip())


def _records(lines: list[str]) -> Iterator[tuple[int, int]]:
    """The first line of each record, and the one after its last: of scontrol, or a table of sacct."""
    for at, line in enumerate(lines):
        if _SHOWN.match(line):
            yield at, _after(lines, at + 1, _FIELDS)
        elif _HEAD.match(line) and at + 1 < len(lines) and _RULE.match(lines[at + 1]):
            yield at, _after(lines, at + 2, _ROW)


def _after(lines: list[str], at: int, form: re.Pattern[str]) -> int:
    """The first line from one on that has not this form."""
    while at < len(lines) and form.match(lines[at]):
        at += 1
    return at


def _account(lines: list[str]) -> Account | None:
    try:
        return read_account(dedent("\n".join(lines)), "")
    except (InputError, ValueError):
        return None
