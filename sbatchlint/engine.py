"""A file in, its findings out."""

from __future__ import annotations

from typing import NamedTuple

from sbatchlint.check import Finding, Fix, Related
from sbatchlint.job import Job
from sbatchlint.registry import Check, Entry, registry
from sbatchlint.settings import Settings
from sbatchlint.source.text import Source, Span
from sbatchlint.source.workspace import Workspace
from sbatchlint.triggered import TRIGGERS

READER = "the reader"


class Diagnostic(NamedTuple):
    """A finding as reports and fixes see it; `fix.safe` is what the engine holds it to be.

    `reached`: for a finding in another file than the one that was looked at, the place that led there, `path:row`.
    """

    code: str
    name: str
    severity: str
    message: str
    span: Span
    related: tuple[Related, ...]
    fix: Fix | None
    source: Source
    url: str
    reached: str = ""


class Fault(NamedTuple):
    """An exception inside sbatchlint: where it was (a check's name, or the reader), and what it was."""

    path: str
    where: str
    error: str
    traceback: str


class Inspection(NamedTuple):
    """What looking at a file gave. `syntax_errors`: how many ranges the shell parser could not read."""

    diagnostics: list[Diagnostic]
    syntax_errors: int
    faults: list[Fault]


def lint_source(source: Source, settings: Settings, faults: list[Fault] | None = None) -> list[Diagnostic]:
    """The findings in a file, sorted by position.

    What goes wrong inside a check is added to `faults`, and the other checks go on; without that list it is raised.
    """
    inspection = inspect(source, settings, raising=faults is None)
    if faults is not None:
        faults.extend(inspection.faults)
    return inspection.diagnostics


def inspect(source: Source, settings: Settings, raising: bool = False) -> Inspection:
    """Builds the job, asks every selected check, and gathers what they say."""
    faults: list[Fault] = []
    try:
        job = Job.from_source(source, settings.site)
        errors = len(job.program.errors)
    except Exception as error:
        if raising:
            raise
        return Inspection([], 0, [_fault(source, READER, error)])
    jobs = _with_submitted(job)
    diagnostics: list[Diagnostic] = []
    for entry in settings.checks(source.path):
        try:
            if not _is_triggered(entry, jobs):
                continue
            check = registry().load(entry)
            if check.card.stage != "stable" and entry.code not in settings.named:
                continue
            diagnostics.extend(_findings(check, jobs, source, settings))
        except Exception as error:
            if raising:
                raise
            faults.append(_fault(source, entry.name, error))
    job.let_go()
    diagnostics.sort(key=lambda each: (each.reached, each.span.start, each.span.end, each.code))
    return Inspection(diagnostics, errors, faults)


def _is_triggered(entry: Entry, jobs: list[Job]) -> bool:
    """Whether a check can have anything to say of one of these jobs; it is not even loaded where it cannot."""
    trigger = TRIGGERS.get(entry.module)
    return trigger is None or any(map(trigger.holds, jobs))


def _with_submitted(job: Job) -> list[Job]:
    """A job, and those that scripts inside its script describe."""
    jobs = [job]
    for each in jobs:
        jobs.extend(each.submits)
    return jobs


def _findings(check: Check, jobs: list[Job], source: Source, settings: Settings) -> list[Diagnostic]:
    entry = check.entry
    arguments = (settings.options(check),) if check.card.options else ()
    severity = settings.severities.get(entry.code)
    found: dict[tuple[Span, str], Diagnostic] = {}
    for job in jobs:
        for finding in check.run(job, *arguments):
            key = (finding.span, finding.message)
            if key not in found:  # an inner script may be seen from more than one job
                if callable(finding.fix):
                    shown = settings.shows(entry.code, severity or finding.severity or check.card.severity)
                    finding = finding._replace(fix=finding.fix() if shown else None)
                placed, where, reached = _placed(finding, job.source)
                if not reached or _is_wanted(entry, where.path, settings):
                    found[key] = _diagnostic(placed, where, reached, check, severity)
    return list(found.values())


def _is_wanted(entry: Entry, path: str, settings: Settings) -> bool:
    """Whether a finding of a check is reported in a file beside the script: it may be excluded, or the check there."""
    return not settings.excluded(path, False) and entry in settings.checks(path)


def _placed(finding: Finding, workspace: Workspace) -> tuple[Finding, Source, str]:
    """A finding in the offsets of the file in which it is, that file, and the place that led to it where it is another.

    What belongs to it in a third file is left out; so is a fix that is not wholly in the script itself.
    """
    if not workspace.several:
        return finding, workspace.own, ""
    source, base = workspace.part(finding.span.start)
    way = workspace.way(finding.span.start)
    related = [
        (Span(span.start - base, span.end - base), label)
        for span, label in finding.related
        if workspace.part(span.start)[0] is source
    ]
    fix = finding.fix
    assert not callable(fix)
    if fix is not None and any(workspace.part(edit.span.end)[0] is not workspace.own for edit in fix.edits):
        fix = None
    if way is None:
        return finding._replace(related=related, fix=fix), source, ""
    leading, leading_base = workspace.part(way.start)
    reached = f"{leading.path}:{leading.row(way.start - leading_base)}"
    span = Span(finding.span.start - base, finding.span.end - base)
    message = finding.message.replace(f" of {source.path}", "") + f" (reached from {reached})"
    return finding._replace(span=span, message=message, related=related, fix=None), source, reached


def _diagnostic(finding: Finding, source: Source, reached: str, check: Check, severity: str | None) -> Diagnostic:
    size = len(source.text)
    fix = finding.fix
    assert not callable(fix)
    spans = [finding.span, *(span for span, _ in finding.related)]
    if fix is not None:
        spans.extend(edit.span for edit in fix.edits)
    for start, end in spans:
        if not 0 <= start <= end <= size:
            raise ValueError(f"span {start}:{end} lies outside of the file ({size} characters)")
    if fix is not None and fix.safe and drops_comment(source.text, fix):
        fix = fix._replace(safe=False)
    return Diagnostic(
        check.entry.code,
        check.entry.name,
        severity or finding.severity or check.card.severity,
        finding.message,
        Span(*finding.span),
        tuple(Related(Span(*span), label) for span, label in finding.related),
        fix,
        source,
        check.entry.url,
        reached,
    )


def drops_comment(text: str, fix: Fix) -> bool:
    """Whether a fix takes away words of a comment and puts them nowhere."""
    removed = [edit.span for edit in fix.edits if "#" in text[edit.span.start : edit.span.end]]
    if not removed:
        return False
    import re

    comment = re.compile(r"(?:^|(?<=[ \t;&|]))#(?!!|SBATCH\b)[^\n]*", re.MULTILINE)
    kept = set(re.findall(r"\w+", " ".join(edit.content for edit in fix.edits).lower()))
    for span in removed:
        line = text.rfind("\n", 0, span.start) + 1
        for match in comment.finditer(text, line, span.end):
            if match.end() <= span.start:
                continue
            gone = text[max(match.start(), span.start) : match.end()]
            words = re.findall(r"\w+", gone.lower())
            if re.match(r"#\s*\w+\s+-", gone):
                del words[0]  # a directive whose magic word is misspelled
            if not kept.issuperset(words):
                return True
    return False


def _fault(source: Source, where: str, error: Exception) -> Fault:
    from traceback import format_exception

    shown = " ".join(f"{type(error).__name__}: {error}".split())
    return Fault(source.path, where, shown, "".join(format_exception(error)))
