"""What checks import: the card, findings, fixes, examples and the job."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from sbatchlint.diagnostics import Fix
from sbatchlint.job import Job, Launch
from sbatchlint.job.argv import quoted
from sbatchlint.source.edits import Edit, insert, remove, replace
from sbatchlint.source.shortening import shortened
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
    "joined",
    "quoted",
    "remove",
    "replace",
    "shortened",
]


SEVERITIES = ("info", "warning", "error")


class Option(NamedTuple):
    """A setting of one check, under `[tool.sbatchlint.checks.NAME]`."""

    name: str
    default: object
    help: str


class Card(NamedTuple):
    """What is known of a check without running it.

    `severity`: the highest it reports; a finding may have a lower one. `fix`: whether findings have one: always,
    sometimes, never. `stage`: "stable", or "preview" or "optional", which run only when selected by their own code or
    name. `when`: what a script must contain for the check to report anything; None for a check that always runs. A
    trigger that finds commands, steps, launches or option blocks may pass each of them to the check (`Trigger.asks`).
    `batch`: it applies to batch scripts only, not to scripts that submit them. `certain`: only if it is certain which
    options the directives set. `homogeneous`: not to heterogeneous jobs.
    `sized`: it compares what the job has with what it starts: advice where the command line of sbatch says how large
    the job is.
    `lasting`: what it reports is not repaired by filling in a placeholder, not even one on the same line.
    `whole_script`: it reports something missing, so it is silent if the analysis stopped before the end of the script.
    `absent`: it reports that the script does not ask for something, so it is silent where a program fills in parts.
    `alone`: it judges a line or a command by itself, so it also applies to a fragment of a script in a document.
    `always_shown`: it reports what was not analysed, so not even --min-severity hides it.
    `seen`: the evidence for the fault, as a phrase ("a live run of Slurm 23.11", "src/sbatch/opt.c of 26.05"); required
    for a check that no real script and no re-created failure has triggered (tests/data/fired.txt).
    `unseen`: what one sees of the fault, as a sentence, where no log says anything of it; otherwise its code is among
    those of a symptom's cause (sbatchlint/diagnose/symptoms).
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
    unseen: str = ""
    batch: bool = False
    certain: bool = False
    homogeneous: bool = False
    sized: bool = False
    lasting: bool = False
    whole_script: bool = False
    absent: bool = False
    alone: bool = False
    always_shown: bool = False


class Finding(NamedTuple):
    """A fault at one place; of several at the same place, only the first is reported.

    `severity`: None for the card's. `versions`: the releases for which it holds, None for all: what holds only before
    23.11 is advice, and what most releases do not do is at most a warning, unless the settings name the releases.
    `fix`: the fix, or for one that is slow to prove a function that returns it, called only if the finding is reported.
    `advice`: a function that returns the end of the message, called likewise.
    """

    span: Span
    message: str
    severity: str | None = None
    related: Sequence[tuple[Span, str]] = ()
    fix: Fix | Callable[[], Fix | None] | None = None
    advice: Callable[[], str] | None = None
    versions: Collection[str] | None = None


def corrected(
    span: Span, message: str, instead: str | None, edits: Sequence[Edit], versions: Collection[str] | None
) -> Finding:
    """A finding about a value, with what to write instead if that is known; its fix is unsafe."""
    if instead is None:
        return Finding(span, message, versions=versions)
    fix = Fix(f"write {instead}", edits) if edits else None
    return Finding(span, f"{message}; write {instead}", fix=fix, versions=versions)


def joined(findings: Sequence[Finding], note: str) -> Finding:
    """One finding for several of one cause: the worst, the places of others, and the fixes of all if each has one."""
    worst = max(findings, key=lambda each: SEVERITIES.index(each.severity or "error"))
    fixes = [each.fix for each in findings if isinstance(each.fix, Fix)]
    if len(fixes) == len(findings) > 1:
        edits = sorted((edit for fix in fixes for edit in fix.edits), key=lambda edit: edit.span)
        title = fixes[findings.index(worst)].title
        worst = worst._replace(fix=Fix(title, edits, safe=all(fix.safe for fix in fixes)))
    others = [(each.span, note) for each in findings if each.span != worst.span]
    return worst._replace(related=[*worst.related, *others[:4]])


def joined_alike(findings: Iterable[Finding], note: str, fixed_apart: bool = False) -> Iterator[Finding]:
    """One finding for all with the same message: one mistake in many commands.

    `fixed_apart`: those with a fix are one, and those without another, so that what can be fixed keeps its fix.
    """
    groups: dict[tuple[str, bool], list[Finding]] = {}
    for each in findings:
        groups.setdefault((each.message, fixed_apart and each.fix is not None), []).append(each)
    for alike in groups.values():
        yield joined(alike, note)


OPEN, CLOSE = "«", "»"


class Example(NamedTuple):
    """An example without its marks, and the spans that were marked."""

    text: str
    spans: tuple[Span, ...]


def _dedent(text: str) -> str:
    from textwrap import dedent  # examples are read by tests, explain and the docs only, never by a run

    return dedent(text)


def unmark(marked: str) -> Example:
    """The example in a script with marks «…»; the script is dedented."""
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
    """The base of `Bad` and `Good`: a script, the files next to it, the settings it is linted with, and a title."""

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
        """The files next to the script, by their paths relative to it."""
        return {path: unmark(text) for path, text in self._files.items()}


class Bad(_Case):
    """A script with the fault, which is reported at the marked places and nowhere else.

    `files`: the files next to the script, {"lib/env.sh": "export PORT=29500"}, with marks where something is reported
    in them; the script itself is `job.sh`.
    `fixed`: the result of `--fix`; `unsafe_fixed`: that of `--fix --unsafe-fixes`; None for no such fix. Either is the
    whole script, or its changes: {"what stands once in the script": "what stands there afterwards"}.
    `severity`: that of the findings, None for the card's. `missed`: a known limitation, not reported yet.
    `settings`: keys as in the configuration file, for instance {"site": {"shared-paths": ["/data"]}}.
    """

    def __init__(
        self,
        string: str,
        *,
        files: Mapping[str, str] | None = None,
        fixed: str | Mapping[str, str] | None = None,
        unsafe_fixed: str | Mapping[str, str] | None = None,
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
        return self._changed(self._fixed)

    @property
    def unsafe_fixed(self) -> str | None:
        return self._changed(self._unsafe_fixed)

    def _changed(self, fixed: str | Mapping[str, str] | None) -> str | None:
        if fixed is None:
            return None
        if isinstance(fixed, str):
            return _dedent(fixed)
        text = self.example.text
        for old, new in fixed.items():
            if text.count(old) != 1:
                raise ValueError(f"the script has {old!r} {text.count(old)} times")
            text = text.replace(old, new)
        return text


class Good(_Case):
    """A script without the fault, for which nothing is reported. `flagged`: a known false alarm. Otherwise as `Bad`."""

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
