"""A file in, its findings out."""

from __future__ import annotations

from .check import Finding, Fix, Related
from .job import Job
from .registry import Check, registry
from .settings import Settings
from .source.records import NamedTuple
from .source.text import Source, Span

READER = "the reader"


class Diagnostic(NamedTuple):
    """A finding as reports and fixes see it; `fix.safe` is what the engine holds it to be."""

    code: str
    name: str
    severity: str
    message: str
    span: Span
    related: tuple[Related, ...]
    fix: Fix | None
    source: Source
    url: str


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
            check = registry().load(entry)
            if check.card.stage != "stable" and entry.code not in settings.named:
                continue
            diagnostics.extend(_findings(check, jobs, source, settings))
        except Exception as error:
            if raising:
                raise
            faults.append(_fault(source, entry.name, error))
    diagnostics.sort(key=lambda each: (each.span.start, each.span.end, each.code))
    return Inspection(diagnostics, errors, faults)


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
                found[key] = _diagnostic(finding, check, severity, source)
    return list(found.values())


def _diagnostic(finding: Finding, check: Check, severity: str | None, source: Source) -> Diagnostic:
    size = len(source.text)
    spans = [finding.span, *(span for span, _ in finding.related)]
    if finding.fix is not None:
        spans.extend(edit.span for edit in finding.fix.edits)
    for start, end in spans:
        if not 0 <= start <= end <= size:
            raise ValueError(f"span {start}:{end} lies outside of the file ({size} characters)")
    fix = finding.fix
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
