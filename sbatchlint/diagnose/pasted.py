"""Records of a job that stand in a log, as people paste what sacct or `scontrol show job` printed."""

import re
from textwrap import dedent
from typing import BinaryIO, NamedTuple

from sbatchlint.diagnose.accounts import read_account
from sbatchlint.diagnose.lines import plain
from sbatchlint.diagnose.symptom import Account
from sbatchlint.source.files import InputError

# How much of a log is looked at: nobody pastes a record into a long one.
_LOOKED = 256 << 10
_SHOWN = re.compile(r"(?m)^[ \t]*JobId=\d+ [^\n]*\n(?:[ \t]*[A-Z][\w:/]*=[^\n]*(?:\n|\Z)){2,60}")
_STATE = re.compile(r"(?m)^[^\n]*\bJobState=(?P<state>[A-Z_]+)[^\n]*")
_TABLE = re.compile(
    r"(?m)^[ \t]*(?=[^\n]*\bJobID\b)(?=[^\n]*\bState\b)[^\n]*\n[ \t]*-+(?: -+)+[ \t]*\n(?:[ \t]*\d+[^\n]*(?:\n|\Z))+"
)
# A job of these states did not go wrong, or not yet.
_FINE = ("COMPLETED", "PENDING", "RUNNING", "CONFIGURING", "COMPLETING", "SUSPENDED")


class Pasted(NamedTuple):
    """A record in a log, and the line that says how the job ended, with its row."""

    account: Account
    path: str
    file: int
    row: int
    line: str


def pasted_record(stream: BinaryIO, path: str, file: int) -> Pasted | None:
    """The record of a job that did not end well in a log; None without one, or with those of several jobs."""
    stream.seek(0)
    data = stream.read(_LOOKED)
    if b"JobState=" not in data and b"JobID" not in data:
        return None
    text = "\n".join(map(plain, data.split(b"\n")))
    found = [*_SHOWN.finditer(text), *_TABLE.finditer(text)]
    accounts = [(match, account) for match in found if (account := _account(match[0])) is not None]
    if len({re.split(r"[._+]", account.job)[0] for _, account in accounts}) != 1:
        return None
    match, account = accounts[-1]
    if not account.state or account.state.startswith(_FINE):
        return None
    state = re.compile(rf"(?m)^[^\n]*\b{account.state[:9]}[^\n]*")
    line = _STATE.search(text, match.start()) or state.search(text, match.start())
    if line is None:
        return None
    return Pasted(account, path, file, text.count("\n", 0, line.start()) + 1, line[0].strip())


def _account(text: str) -> Account | None:
    try:
        return read_account(dedent(text), "")
    except (InputError, ValueError):
        return None
