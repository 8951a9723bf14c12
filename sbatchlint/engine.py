"""A file in, its findings out."""

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple

from sbatchlint import COMMENT_MARK
from sbatchlint.analysis.script.samples import is_unfinished
from sbatchlint.bash.values import UNKNOWN_CHARACTER, may_have_slots
from sbatchlint.card_index import card_index
from sbatchlint.check import Finding, Fix
from sbatchlint.diagnostics import Diagnostic, Fault, Related
from sbatchlint.job import Job
from sbatchlint.registry import Check, Entry, registry
from sbatchlint.settings import Settings
from sbatchlint.source.edits import in_order
from sbatchlint.source.regex import Regex
from sbatchlint.source.secrets import covered
from sbatchlint.source.text import Source, Span
from sbatchlint.source.workspace import Workspace
from sbatchlint.triggers import IgnoreComments, Index

_COMMENT = Regex(r"(?:^|(?<=[ \t;&|]))#(?!!|SBATCH\b)[^\n]*", re.MULTILINE)


# To evaluate so many characters for a proof takes about as long as a statement with all that checks ask of it.
_PROVED_FOR_A_STATEMENT = 8
# And so does reading so many, where nothing can be evaluated.
_READ_FOR_A_STATEMENT = 16


class Inspection(NamedTuple):
    """The findings in a file. `syntax_errors`: how many ranges the shell parser could not read; `ignored`: how many
    findings comments of the script switch off; `cost`: what it took, in about as many times what a statement takes;
    `is_cut`: whether what stands behind some statement was not looked at."""

    diagnostics: list[Diagnostic]
    syntax_errors: int
    faults: list[Fault]
    ignored: int = 0
    cost: int = 0
    is_cut: bool = False


def lint_source(source: Source, settings: Settings, faults: list[Fault] | None = None) -> list[Diagnostic]:
    """The findings in a file, sorted by position.

    An exception inside a check is added to `faults`, and the other checks still run; without that list it is raised.
    """
    inspection = inspect(source, settings, raising=faults is None)
    if faults is not None:
        faults.extend(inspection.faults)
    return inspection.diagnostics


def inspect(source: Source, settings: Settings, raising: bool = False) -> Inspection:
    """Builds the job of a file and gathers what the selected checks find in it."""
    try:
        job = Job.from_source(source, settings.site)
    except Exception as error:
        if raising:
            raise
        return Inspection([], 0, [_fault(source, "the reader", error)])
    inspection = inspect_job(job, source, settings, raising)
    job.let_go()
    return inspection


@lru_cache(maxsize=1)
def trigger_index() -> Index:
    return Index(card_index().triggers)


@lru_cache(maxsize=1)
def _late() -> frozenset[str]:
    """The checks of the comments that switch others off, which run after them."""
    return frozenset(name for name, trigger in card_index().triggers.items() if isinstance(trigger, IgnoreComments))


def inspect_job(job: Job, source: Source, settings: Settings, raising: bool = False) -> Inspection:
    """What the selected checks find in a job that was built of this file."""
    faults: list[Fault] = []
    jobs = job.with_submitted()
    entries = settings.checks(source.path)
    prepared = _prepared(settings)

    def run(chosen: Iterable[Entry]) -> list[Diagnostic]:
        found: list[Diagnostic] = []
        for entry in chosen:
            try:
                found += _findings(prepared[entry], jobs, source, settings)
            except Exception as error:
                if raising:
                    raise
                faults.append(_fault(source, entry.name, error))
        return without_secrets(found)

    try:
        index = trigger_index()
        silent = index.names.difference(*map(index.holding, jobs))
    except Exception as error:
        if raising:
            raise
        faults.append(_fault(source, "the triggers", error))
        silent = frozenset()
    # without what its trigger wants, a check is not even loaded
    silent = silent | _late()
    diagnostics = run([entry for entry in entries if entry.module not in silent])
    ignored = 0
    texts = [source.text, *(each.source.text for each in diagnostics if each.reached)]
    if settings.ignores and any(COMMENT_MARK in text for text in texts):
        from sbatchlint.ignores import apply_ignores  # few scripts have such comments

        ran = frozenset(entry.code for entry in entries)
        applied = apply_ignores(source, diagnostics, ran)
        job.ignores, job.unused_ignores = applied.comments, applied.unused
        # What these say can be ignored, too.
        triggers = card_index().triggers
        late = [each for each in entries if each.module in _late() and any(map(triggers[each.module].holds, jobs))]
        last = apply_ignores(source, run(late), frozenset())
        diagnostics = applied.kept + last.kept
        ignored = applied.ignored + last.ignored
    diagnostics.sort(key=lambda each: (each.reached, each.span.start, each.span.end, each.code))
    cost = sum(each.limits.work for each in jobs) + job.proved // _PROVED_FOR_A_STATEMENT + len(diagnostics)
    cost += len(source.text) // _READ_FOR_A_STATEMENT
    return Inspection(diagnostics, len(job.program.errors), faults, ignored, cost, job.limits.exhausted)


class _Prepared:
    """A check, loaded, with its options where it has any and the severity that the settings give it."""

    __slots__ = ("alone", "arguments", "check", "run", "severity", "whole_script")

    def __init__(self, check: Check, settings: Settings) -> None:
        self.check = check
        self.run = check.run
        self.whole_script = check.card.whole_script
        self.alone = check.card.alone
        self.arguments = (settings.options(check),) if check.card.options else ()
        self.severity = settings.severities.get(check.entry.code)


class _AllPrepared(dict[Entry, _Prepared]):
    """The checks that were asked for so far."""

    def __init__(self, settings: Settings) -> None:
        super().__init__()
        self.settings = settings

    def __missing__(self, entry: Entry) -> _Prepared:
        self[entry] = prepared = _Prepared(registry().load(entry), self.settings)
        return prepared


@lru_cache(maxsize=16)  # the same for all files of a run
def _prepared(settings: Settings) -> _AllPrepared:
    return _AllPrepared(settings)


def _findings(prepared: _Prepared, jobs: list[Job], source: Source, settings: Settings) -> Iterable[Diagnostic]:
    found: dict[tuple[Span, str], Diagnostic] = {}
    code = prepared.check.entry.code
    for job in jobs:
        if prepared.whole_script and job.limits.exhausted:
            continue
        if source.is_fragment and not prepared.alone and job.outer is None:
            continue  # what is not written there may stand elsewhere; a script that it submits is whole
        for finding in prepared.run(job, *prepared.arguments):
            card, severity = prepared.check.card, prepared.severity
            if severity is None and (finding.severity or card.severity) != "info" and is_unfinished(job):
                finding = finding._replace(severity="info")
            level = severity or finding.severity or card.severity
            if finding.advice is not None and settings.shows(code, level):
                finding = finding._replace(message=f"{finding.message}; {finding.advice()}")
            key = (finding.span, finding.message)
            if key not in found:  # an inner script may be seen from more than one job
                if callable(finding.fix):
                    finding = finding._replace(fix=finding.fix() if settings.shows(code, level) else None)
                placed, where, reached = _placed(finding, job.source)
                if not reached or _is_wanted(prepared.check.entry, where.path, settings):
                    found[key] = _diagnostic(placed, where, reached, prepared.check, severity)
    return found.values()


def _is_wanted(entry: Entry, path: str, settings: Settings) -> bool:
    """Whether a check reports findings in a file beside the script: the settings may exclude the file or the check."""
    return not settings.excluded(path, False) and entry in settings.checks(path)


def _placed(finding: Finding, workspace: Workspace) -> tuple[Finding, Source, str]:
    """A finding in the offsets of the file in which it is, that file, and where the script led to it ("" for itself).

    Related places in a third file are left out, and so is a fix that changes more than the script itself.
    """
    if not workspace.has_included_files:
        return finding, workspace.own, ""
    source, base = workspace.part(finding.span.start)
    included_from = workspace.included_from(finding.span.start)
    related = [
        (Span(span.start - base, span.end - base), label)
        for span, label in finding.related
        if workspace.part(span.start)[0] is source
    ]
    fix = finding.fix
    assert not callable(fix)
    if fix is not None and any(workspace.part(edit.span.end)[0] is not workspace.own for edit in fix.edits):
        fix = None
    if included_from is None:
        return finding._replace(related=related, fix=fix), source, ""
    including, including_base = workspace.part(included_from.start)
    reached = f"{including.path}:{including.row(included_from.start - including_base)}"
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
    if fix is not None and len(fix.edits) > 1:
        in_order(fix.edits)  # a fix whose edits overlap is a fault of its check, and of no report
    if fix is not None and may_have_slots(source.text) and _fills_in(source.text, fix):
        fix = None
    if fix is not None and fix.safe and drops_comment(source.text, fix):
        fix = fix._replace(safe=False)
    return Diagnostic(
        check.entry.code,
        check.entry.name,
        severity or finding.severity or check.card.severity,
        _with_dots(finding.message),
        Span(*finding.span),
        tuple([Related(Span(*span), _with_dots(label)) for span, label in finding.related]),
        fix,
        source,
        check.entry.url,
        reached,
        check.card.always_shown,
    )


def _with_dots(text: str) -> str:
    """A text with dots for what is not known."""
    return text.replace(UNKNOWN_CHARACTER, "…") if UNKNOWN_CHARACTER in text else text


def without_secrets(diagnostics: list[Diagnostic]) -> list[Diagnostic]:
    """The findings with covered texts, and without fixes that write a secret: reports show these, too."""
    texts: list[str] = []
    for each in diagnostics:
        texts.append(each.message)
        texts += [related.label for related in each.related]
        texts += [edit.content for edit in each.fix.edits] if each.fix is not None else ()
    together = "\n\n".join(texts)  # nearly always there is none in all of them
    return diagnostics if covered(together) == together else [*map(_without_secrets, diagnostics)]


def _without_secrets(found: Diagnostic) -> Diagnostic:
    related = tuple([each._replace(label=covered(each.label)) for each in found.related])
    fix = found.fix
    if fix is not None and any(covered(each.content) != each.content for each in fix.edits):
        fix = None
    return found._replace(message=covered(found.message), related=related, fix=fix)


def _fills_in(text: str, fix: Fix) -> bool:
    """Whether a fix writes where a program is to fill something in."""
    from sbatchlint.source.templates import slots  # few files have any

    for (start, end), content in fix.edits:
        for first, last in slots(text):
            if first < end and start < last and (first < start or last > end or text[first:last] not in content):
                return True
    return False


def drops_comment(text: str, fix: Fix) -> bool:
    """Whether a fix removes words of a comment without writing them elsewhere."""
    removed = [edit.span for edit in fix.edits if "#" in text[edit.span.start : edit.span.end]]
    if not removed:
        return False
    kept = set(re.findall(r"\w+", " ".join(edit.content for edit in fix.edits).lower()))
    for span in removed:
        line = text.rfind("\n", 0, span.start) + 1
        for match in _COMMENT.finditer(text, line, span.end):
            if match.end() <= span.start:
                continue
            gone = text[max(match.start(), span.start) : match.end()]
            if COMMENT_MARK in gone:
                continue  # it was meant for us
            words = re.findall(r"\w+", gone.lower())
            if re.match(r"#\s*\w+\s+-", gone):
                del words[0]  # a directive whose magic word is misspelled
            if not kept.issuperset(words):
                return True
    return False


def _fault(source: Source, where: str, error: Exception) -> Fault:
    from traceback import format_exception  # heavy, and rare: an error of our own

    shown = " ".join(f"{type(error).__name__}: {error}".split())
    return Fault(source.path, where, shown, "".join(format_exception(error)))
