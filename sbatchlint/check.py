"""What a check imports: its card, its findings and fixes, its examples, and the job it looks at."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from sbatchlint.diagnostics import Fix
from sbatchlint.job import Job, Launch
from sbatchlint.job.argv import quoted
from sbatchlint.source.edits import Edit, insert, remove, replace
from sbatchlint.source.text import Span
from sbatchlint.triggers import Trigger

__all__ = [
    "Bad",
    "Card",
    "Edit",
    "Finding",
    "Fix",
    "Good",
    "Job",
    "Launch",
    "Option",
    "Span",
    "corrected",
    "insert",
    "quoted",
    "remove",
    "replace",
]


SEVERITIES = ("info", "warning", "error")


class Option(NamedTuple):
    """A setting of one check, under `[tool.sbatchlint.checks.NAME]`."""

    name: str
    default: object
    help: str


class Card(NamedTuple):
    """What is known of a check without running it.

    `severity`: the worst it reports; a finding may be less. `fix`: whether findings have one: always, sometimes, never.
    `stage`: "stable", or "preview" or "optional": those run only where they are selected by their own code or name.
    `when`: what a script must have for it to have anything to say; None where it is always asked. A trigger that finds
    commands, steps, launches or blocks of options may hand each of them to the check (`Trigger.asks`).
    `batch`: it speaks of batch scripts only, not of other scripts that submit some. `certain`: only where nothing is
    unclear about which options the directives set. `homogeneous`: not of heterogeneous jobs.
    `whole_script`: it speaks of what is missing, so it is silent where the script was not looked at to its end.
    `alone`: it judges a line or a command by itself, so that it speaks of a piece of a script (in a document) as well.
    `always_shown`: it says what of the script was not looked at, so that not even --min-severity hides it.
    `seen`: what the fault is known from, as a phrase ("a live run of Slurm 23.11", "src/sbatch/opt.c of 26.05"); needed
    for a check that neither a real script nor a failure re-created from one has set off (tests/data/fired.txt).
    """

    code: str
    name: str
    severity: str
    fix: str
    since: str
    stage: str = "stable"
    options: tuple[Option, ...] = ()
    when: Trigger | None = None
    seen: str = ""
    batch: bool = False
    certain: bool = False
    homogeneous: bool = False
    whole_script: bool = False
    alone: bool = False
    always_shown: bool = False


class Finding(NamedTuple):
    """One fault at one place. `severity` None means the card's. Of several at one place, only the first is reported.

    `fix`: or what makes it, which is asked only where the finding is reported: for repairs that take long to prove.
    `advice`: what makes the end of the message, where that hangs on such a repair; asked likewise.
    """

    span: Span
    message: str
    severity: str | None = None
    related: Sequence[tuple[Span, str]] = ()
    fix: Fix | Callable[[], Fix | None] | None = None
    advice: Callable[[], str] | None = None


def corrected(span: Span, message: str, instead: str | None, edits: Sequence[Edit]) -> Finding:
    """A finding on a value, with what to write instead where that is known; the fix is a guess."""
    if instead is None:
        return Finding(span, message)
    return Finding(span, f"{message}; write {instead}", fix=Fix(f"write {instead}", edits) if edits else None)


OPEN, CLOSE = "«", "»"


class Example(NamedTuple):
    """A script as the linter sees it, and the places marked in it."""

    text: str
    spans: tuple[Span, ...]


def _dedent(text: str) -> str:
    from textwrap import dedent  # examples are read by tests, explain and the docs only, never by a run

    return dedent(text)


def unmark(marked: str) -> Example:
    """Takes the marks «…» out of a script; an example that begins with a newline or blanks is dedented."""
    text = _dedent(marked)
    parts: list[str] = []
    spans: list[Span] = []
    starts: list[int] = []
    size = at = 0
    for index, character in enumerate(text):
        if character not in (OPEN, CLOSE):
            continue
        parts.append(text[at:index])
        size += index - at
        at = index + 1
        if character == OPEN:
            starts.append(size)
        else:
            spans.append(Span(starts.pop(), size))
    parts.append(text[at:])
    if starts:
        raise ValueError("a mark is not closed")
    return Example("".join(parts), tuple(sorted(spans)))


class _Case:
    """What `Bad` and `Good` share: a script, the files beside it, the settings it is linted with, and a title."""

    def __init__(
        self, string: str, files: Mapping[str, str] | None, settings: Mapping[str, object] | None, title: str
    ) -> None:
        self._text = string
        self._files = files or {}
        self.settings = settings or {}
        self.title = title

    @property
    def example(self) -> Example:
        return unmark(self._text)

    @property
    def files(self) -> dict[str, Example]:
        """The files beside the script, by their paths from the script's folder."""
        return {path: unmark(text) for path, text in self._files.items()}


class Bad(_Case):
    """A script with the fault: it is reported at the marked places, and nowhere else.

    `files`: what lies beside the script, {"lib/env.sh": "export PORT=29500"}; the script itself is `job.sh`. What is
    found in one of them is marked there.
    `fixed`: what `--fix` makes of it; `unsafe_fixed`: what `--fix --unsafe-fixes` makes of it (None: no such fix).
    `severity`: of the finding, where it is not the card's. `missed`: a known limit, not reported yet.
    `settings`: keys as in the configuration file, for instance {"site": {"shared-paths": ["/data"]}}.
    """

    def __init__(
        self,
        string: str,
        *,
        files: Mapping[str, str] | None = None,
        fixed: str | None = None,
        unsafe_fixed: str | None = None,
        severity: str | None = None,
        missed: bool = False,
        settings: Mapping[str, object] | None = None,
        title: str = "",
    ) -> None:
        super().__init__(string, files, settings, title)
        self._fixed = fixed
        self._unsafe_fixed = unsafe_fixed
        self.severity = severity
        self.missed = missed

    @property
    def fixed(self) -> str | None:
        return None if self._fixed is None else _dedent(self._fixed)

    @property
    def unsafe_fixed(self) -> str | None:
        return None if self._unsafe_fixed is None else _dedent(self._unsafe_fixed)


class Good(_Case):
    """A script without the fault: this check says nothing. `flagged`: a known false alarm. The rest as for `Bad`."""

    def __init__(
        self,
        string: str,
        *,
        files: Mapping[str, str] | None = None,
        flagged: bool = False,
        settings: Mapping[str, object] | None = None,
        title: str = "",
    ) -> None:
        super().__init__(string, files, settings, title)
        self.flagged = flagged


Cases = Iterable[Bad | Good]
