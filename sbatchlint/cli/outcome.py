"""The result of a run for one file. Imports nothing of what evaluates it."""

from typing import TYPE_CHECKING

from sbatchlint.diagnostics import Diagnostic, Fault
from sbatchlint.source.lookups import Answer, Question

if TYPE_CHECKING:
    from sbatchlint.fix import Refused


class Outcome:
    """The result for a file. `hidden`: how many findings are below --min-severity; `ignored`: how many comments switch
    off; `failing`: how many of those shown are at or above --fail-on; `applied`: code and name of each
    fix; `text`: the bytes after fixing, for standard input; `origin`: the configuration file that was followed.
    `asked`: what was asked of the file system, and the answers; None where that was not recorded, or is not enough to
    repeat the result."""

    __slots__ = (
        "applied", "asked", "diagnostics", "diff", "error", "failing", "faults", "hidden", "ignored", "origin",
        "path", "refused", "text",
    )  # fmt: skip

    def __init__(
        self, path: str, diagnostics: list[Diagnostic], hidden: int = 0, failing: int = 0,
        applied: tuple[tuple[str, str], ...] = (), refused: "tuple[Refused, ...]" = (), diff: str = "",
        text: bytes = b"", faults: tuple[Fault, ...] = (), error: str = "", origin: str = "",
        asked: "dict[Question, Answer] | None" = None, ignored: int = 0,
    ) -> None:  # fmt: skip
        self.path = path
        self.diagnostics = diagnostics
        self.hidden = hidden
        self.failing = failing
        self.applied = applied
        self.refused = refused
        self.diff = diff
        self.text = text
        self.faults = faults
        self.error = error
        self.origin = origin
        self.asked = asked
        self.ignored = ignored
