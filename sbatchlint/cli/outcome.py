"""The result of a run for one file. Imports nothing of what evaluates it."""

from typing import TYPE_CHECKING, NamedTuple

from sbatchlint.diagnostics import Diagnostic, Fault
from sbatchlint.source.lookups import Answer, Question

if TYPE_CHECKING:
    from sbatchlint.fix import Refused


class Outcome(NamedTuple):
    """The result for a file. `hidden`: how many findings are below --min-severity; `ignored`: how many comments switch
    off; `dated`: how many are advice as they hold for old releases only; `failing`: how many of those shown are at or
    above --fail-on; `applied`: code and name of each fix; `text`: the bytes after fixing, for standard input; `origin`:
    the configuration file that was followed.
    `is_redacted`: the diff lacks secrets, and cannot be applied.
    `asked`: what was asked of the file system, and the answers; None where that was not recorded, or is not enough to
    repeat the result. `unread`: why nothing of a document was read. `more`: what a verb other than lint found.
    `out_of_memory`: whether the error is that there was not enough memory, so that another process may do better."""

    path: str
    diagnostics: list[Diagnostic]
    hidden: int = 0
    failing: int = 0
    applied: tuple[tuple[str, str], ...] = ()
    refused: "tuple[Refused, ...]" = ()
    diff: str = ""
    text: bytes = b""
    faults: tuple[Fault, ...] = ()
    error: str = ""
    origin: str = ""
    asked: dict[Question, Answer] | None = None
    ignored: int = 0
    dated: int = 0
    is_redacted: bool = False
    unread: str = ""
    more: object = None
    out_of_memory: bool = False


# The interpreter raises the second where there is no memory for the first.
STARVED = (MemoryError, SystemError)


def starved(path: str) -> Outcome:
    """The outcome of a script for which there is not enough memory."""
    return Outcome(path, [], error=f"cannot lint {path}: there is not enough memory", out_of_memory=True)
