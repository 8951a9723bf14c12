"""Runs the selected checks on a file."""

import re
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from sbatchlint import COMMENT_MARK
from sbatchlint.analysis.script.idle_branches import is_in_idle_branch
from sbatchlint.analysis.script.samples import may_be_edited, may_be_right_later
from sbatchlint.analysis.script.submit_lines import is_sized_elsewhere
from sbatchlint.bash.values import UNKNOWN_CHARACTER, may_have_slots
from sbatchlint.card_index import card_index
from sbatchlint.check import Finding, Fix
from sbatchlint.diagnostics import Diagnostic, Fault, Related
from sbatchlint.job import Job, Phase
from sbatchlint.job.once import once
from sbatchlint.registry import Check, Entry, registry
from sbatchlint.settings import Settings
from sbatchlint.slurm.versions import are_old
from sbatchlint.source.edits import in_order
from sbatchlint.source.regex import Regex
from sbatchlint.source.secrets import redacted, secrets_of
from sbatchlint.source.shortening import shorten_message
from sbatchlint.source.text import SLOT, Source, Span
from sbatchlint.source.workspace import Workspace, origin_of_options
from sbatchlint.triggers import IgnoreComments, Index

if TYPE_CHECKING:
    from sbatchlint.source.documents.snippet import Snippet

# Words of a comment that mentions a number of things.
_OF_COUNTS = Regex(r"(?i)\b(?:gpu|task|node|cpu|core|rank|process|thread|worker)(?:s|es)?\b")
# Numbers, and the names of options.
_COUNTED = Regex(r"\d+|--[a-z][a-z-]*")
_COMMENT = Regex(r"(?:^|(?<=[ \t;&|]))#(?!!|SBATCH\b)[^\n]*", re.MULTILINE)


# The cost of a run is counted in statements with all that checks ask of them. One costs about as much as evaluating
# this many characters for a proof,
_PROVED_FOR_A_STATEMENT = 8
# or as reading this many that cannot be evaluated.
_READ_FOR_A_STATEMENT = 16


Question = Callable[[Job], object]


class Inspection(NamedTuple):
    """The findings in a file.

    `syntax_errors`: how many ranges the shell parser could not parse. `ignored`: how many findings are suppressed by
    comments. `cost`: about how many statements would cost as much. `is_cut`: whether the analysis stopped early.
    `unread`: why nothing of a document was read.
    `scripts`: those of a document; `parts`: their inspections, as far as they were looked at.
    `answer`: what else was asked of the job of a script.
    """

    diagnostics: list[Diagnostic]
    syntax_errors: int
    faults: list[Fault]
    ignored: int = 0
    cost: int = 0
    is_cut: bool = False
    unread: str = ""
    scripts: "tuple[Snippet, ...]" = ()
    parts: "tuple[Inspection, ...]" = ()
    answer: object = None


def lint_source(source: Source, settings: Settings, faults: list[Fault] | None = None) -> list[Diagnostic]:
    """The findings in a file, sorted by position.

    An exception in a check is appended to `faults`, and the other checks still run; without that list it is raised.
    """
    inspection = inspect(source, settings, raising=faults is None)
    if faults is not None:
        faults.extend(inspection.faults)
    return inspection.diagnostics


def inspect(
    source: Source, settings: Settings, raising: bool = False, spent: int = 0, ask: Question | None = None
) -> Inspection:
    """The findings of the selected checks in a file. `spent`: what other scripts in the same document have cost.

    `ask`: what else to ask of the job, before it is released.
    """
    try:
        job = Job.from_source(source, settings.site_of(source.path), spent=spent)
    except Exception as error:
        if raising:
            raise
        return Inspection([], 0, [_fault(source, "the reader", error)])
    inspection = inspect_job(job, source, settings, raising)
    if ask is not None:
        try:
            inspection = inspection._replace(answer=ask(job))
        except Exception as error:
            inspection.faults.append(_fault(source, "what was asked of the job", error))
    job.release()
    return inspection


@lru_cache(maxsize=1)
def trigger_index() -> Index:
    return Index(card_index().triggers)


@lru_cache(maxsize=1)
def _late() -> frozenset[str]:
    """The checks of the ignore comments, which run after all others."""
    return frozenset(name for name, trigger in card_index().triggers.items() if isinstance(trigger, IgnoreComments))


def inspect_job(job: Job, source: Source, settings: Settings, raising: bool = False) -> Inspection:
    """The findings of the selected checks in the job of this file."""
    run = _Run(job, source, settings, raising)
    silent = run.untriggered() | _late()
    diagnostics = run.ask(entry for entry in run.entries if entry.module not in silent)
    ignored = 0
    if settings.ignores and run.has_ignore_comments(diagnostics):
        diagnostics, ignored = run.apply_ignores(diagnostics)
    diagnostics.sort(key=lambda each: (each.reached, each.span.start, each.span.end, each.code))
    errors = len(job.program.errors)
    return Inspection(diagnostics, errors, run.faults, ignored, run.cost(diagnostics), job.limits.exhausted)


class _Run:
    """The selected checks on a job and those it submits; their exceptions are collected in `faults`, or raised."""

    def __init__(self, job: Job, source: Source, settings: Settings, raising: bool) -> None:
        self.job = job
        self.jobs = job.with_submitted()
        self.source = source
        self.settings = settings
        self.raising = raising
        self.entries = settings.checks(source.path)
        self.faults: list[Fault] = []

    def untriggered(self) -> frozenset[str]:
        """The modules of the checks whose triggers do not hold, so that they need not be loaded."""
        try:
            index = trigger_index()
            return index.names.difference(*map(index.holding, self.jobs))
        except Exception as error:
            self._record("the triggers", error)
            return frozenset()

    def ask(self, entries: Iterable[Entry]) -> list[Diagnostic]:
        """The findings of these checks."""
        prepared = _prepared(self.settings)
        found: list[Diagnostic] = []
        for entry in entries:
            if self.job.proceed is not None:
                self.job.proceed()
            try:
                found += _diagnostics(prepared[entry], self.jobs, self.source, self.settings)
            except Exception as error:
                self._record(entry.name, error)
        if not found:
            return found
        text = self.source.text
        redacted_ones = without_secrets(found, secrets_of(self.source))
        return [each._replace(message=shorten_message(each.message, text)) for each in redacted_ones]

    def _record(self, where: str, error: Exception) -> None:
        if self.raising:
            raise error
        self.faults.append(_fault(self.source, where, error))

    def has_ignore_comments(self, diagnostics: list[Diagnostic]) -> bool:
        """Whether the script, or an included file with findings, may contain an ignore comment."""
        texts = [self.source.text, *(each.source.text for each in diagnostics if each.reached)]
        return any(COMMENT_MARK in text for text in texts)

    def apply_ignores(self, diagnostics: list[Diagnostic]) -> tuple[list[Diagnostic], int]:
        """The findings that no comment suppresses, with those about the comments; and how many are suppressed."""
        from sbatchlint.ignores import apply_ignores  # few scripts have such comments

        ran = frozenset(entry.code for entry in self.entries)
        applied = apply_ignores(self.source, diagnostics, ran)
        self.job.ignores, self.job.unused_ignores = applied.comments, applied.unused
        # The findings about comments can be suppressed, too.
        triggers = card_index().triggers
        late = [entry for entry in self.entries if entry.module in _late()]
        late_findings = self.ask(entry for entry in late if any(map(triggers[entry.module].holds, self.jobs)))
        last = apply_ignores(self.source, late_findings, frozenset())
        return applied.kept + last.kept, applied.ignored + last.ignored

    def cost(self, diagnostics: list[Diagnostic]) -> int:
        """About how many statements would cost as much as the run."""
        evaluated = self.job.work + self.job.proved // _PROVED_FOR_A_STATEMENT
        return evaluated + len(diagnostics) + len(self.source.text) // _READ_FOR_A_STATEMENT


class _Prepared:
    """A loaded check, with its options if it has any, and the severity set by the settings, None for its own."""

    def __init__(self, check: Check, settings: Settings) -> None:
        self.check = check
        self.card = check.card
        self.run = check.run
        self.arguments = (settings.options(check),) if check.card.options else ()
        self.severity = settings.severities.get(check.entry.code)
        self.have_run = settings.have_run

    def applies_to(self, job: Job, source: Source) -> bool:
        """Whether, by its card, the check applies to a job."""
        card = self.card
        if card.whole_script and job.limits.exhausted:
            return False
        if card.absent and SLOT in source.text:
            return False
        if source.is_fragment and not card.alone and (source.is_partial or not _is_complete(job)):
            return False
        return not (
            card.batch and job.phase is not Phase.BATCH
            or card.certain and not job.directives.certain
            or card.homogeneous and job.request.heterogeneous
        )  # fmt: skip

    def level(self, finding: Finding, job: Job) -> str:
        """The severity of a finding: that of the settings, or the check's, which is advice in an unfinished script."""
        if self.severity is not None:
            return self.severity
        level = finding.severity or self.card.severity
        if level == "info" or is_dated(finding, job):
            return "info"
        if not self.have_run and may_be_right_later(job, None if self.card.lasting else finding.span):
            return "info"
        if is_in_idle_branch(job, finding.span):
            return "info"
        if self.card.sized and is_sized_elsewhere(job):
            return "info"
        return "warning" if _is_of_few_releases(finding, job) else level


@once
def _is_complete(job: Job) -> bool:
    """Whether a job of a fragment is all there: one that is submitted in it, without commands that are filled in."""
    from sbatchlint.source.documents.blocks import may_hold_lines  # with the document

    return job.outer is not None and not may_hold_lines(job.text.string)


def is_dated(finding: Finding, job: Job) -> bool:
    """Whether a finding holds only for releases that the site may have, but few sites still do."""
    return bool(finding.versions) and not job.site.versions_named and are_old(finding.versions or ())


def _is_of_few_releases(finding: Finding, job: Job) -> bool:
    """Whether a finding does not hold for most of the releases that the site may have."""
    if not finding.versions or job.site.versions_named:
        return False
    return 2 * len(set(finding.versions).intersection(job.versions.majors)) < len(job.versions.majors)


class _AllPrepared(dict[Entry, _Prepared]):
    """The checks used so far, which are loaded on first use."""

    def __init__(self, settings: Settings) -> None:
        super().__init__()
        self.settings = settings

    def __missing__(self, entry: Entry) -> _Prepared:
        self[entry] = prepared = _Prepared(registry().load(entry), self.settings)
        return prepared


@lru_cache(maxsize=16)  # the same for all files of a run
def _prepared(settings: Settings) -> _AllPrepared:
    return _AllPrepared(settings)


def _diagnostics(prepared: _Prepared, jobs: list[Job], source: Source, settings: Settings) -> Iterable[Diagnostic]:
    """The findings of a check in these jobs: the first at each place, since jobs may share a script."""
    found: dict[Span, Diagnostic] = {}
    for job in jobs:
        if not prepared.applies_to(job, source):
            continue
        for finding in prepared.run(job, *prepared.arguments):
            if finding.span in found:
                continue
            level = prepared.level(finding, job)
            if finding.fix is not None and not may_be_edited(job):
                finding = finding._replace(fix=None)
            finding = _completed(finding, settings.shows(prepared.check.entry.code, level))
            assert not callable(finding.fix)
            if finding.fix is not None and (_joins_places(job, finding.fix) or _breaks_echo(job, finding.fix)):
                finding = finding._replace(fix=None)
            if job.directives_expand:
                finding = _within_quotes(finding, job)
            placed, where, reached = _placed(finding, job.source)
            if not reached or _is_wanted(prepared.check.entry, where.path, settings):
                dated = level == "info" and finding.severity != "info" and is_dated(finding, job)
                versions = _some(finding, job)
                found[finding.span] = _diagnostic(placed, where, reached, prepared.check, level, dated, versions)
    return found.values()


def _completed(finding: Finding, shown: bool) -> Finding:
    """The finding with its deferred fix and the deferred end of its message, which are computed only if it is shown."""
    if finding.advice is not None and shown:
        finding = finding._replace(message=f"{finding.message}; {finding.advice()}")
    if callable(finding.fix):
        finding = finding._replace(fix=finding.fix() if shown else None)
    return finding


def _within_quotes(finding: Finding, job: Job) -> Finding:
    """A finding in a job that another shell expands, where what is to be written needs backslashes before dollars."""
    from sbatchlint.source.dollars import escape_advice, escape_dollars, escape_edits  # few jobs are so

    literals = [each.span for each in job.text.field if each.start >= job.text.start]
    inside = Span(min(each.start for each in literals), max(each.end for each in literals)) if literals else Span(0, 0)
    if not inside.contains(finding.span):
        return finding
    line = job.source.slice(job.source.line_of(finding.span.start))
    fix = finding.fix
    if fix is not None and not callable(fix):
        edits = escape_edits(list(fix.edits), job.source.text, inside)
        if job.outer is None or job.outer.directives_expand:
            fix = fix if edits == list(fix.edits) else None  # more than one backslash
        else:
            fix = fix._replace(edits=edits, title=escape_dollars(fix.title, line))
    return finding._replace(message=escape_advice(finding.message, line), fix=fix)


def _joins_places(job: Job, fix: Fix) -> bool:
    """Whether an edit covers what is between a variable's value and the text that it went into."""
    return not job.text.is_plain and any(
        "\n" in job.source.slice(edit.span).strip("\n") and "\n" not in edit.content for edit in fix.edits
    )


def _breaks_echo(job: Job, fix: Fix) -> bool:
    """Whether an edit adds or removes a line, within a command such as `echo`, of a script that these write."""
    if not job.is_embedded:
        return False
    text = job.source.text
    for edit in fix.edits:
        start, content = edit.span.start, edit.content
        if not start or text[start - 1] == "\n" or content[:1] == "\n":
            continue
        if content[-1:] == "\n" or not content and "\n" in job.source.slice(edit.span):
            return True
    return False


def _is_wanted(entry: Entry, path: str, settings: Settings) -> bool:
    """Whether a check reports findings in an included file: the settings may exclude the file or the check."""
    return not settings.excluded(path, False) and entry in settings.checks(path)


def _placed(finding: Finding, workspace: Workspace) -> tuple[Finding, Source, str]:
    """A finding with offsets in its own file, that file, and the place that includes it ("" for the script itself).

    Related places in a third file are dropped, and so is a fix that changes a file other than the script.
    """
    if not workspace.has_included_files:
        return finding, workspace.own, ""
    source, base = workspace.part(finding.span.start)
    origin = origin_of_options(source.path)
    if origin is not None:
        line = workspace.own.line_of(0)
        if origin.startswith("[["):  # the line has nothing of it
            finding = finding._replace(message=f"{finding.message} (from {origin})")
        related = [each for each in finding.related if workspace.part(each[0].start)[0] is workspace.own]
        return finding._replace(span=line, related=related, fix=None), workspace.own, ""
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


def _some(finding: Finding, job: Job) -> tuple[str, ...]:
    """The releases for which a finding holds; empty if these are all that the site may have."""
    known = frozenset(finding.versions or ())
    found = tuple(each for each in job.versions.majors if each in known)
    return () if len(found) == len(job.versions.majors) else found


def _diagnostic(
    finding: Finding, source: Source, reached: str, check: Check, severity: str, dated: bool,
    versions: tuple[str, ...],
) -> Diagnostic:  # fmt: skip
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
        in_order(fix.edits)  # raises if the edits overlap: a fault of the check
    if fix is not None and may_have_slots(source.text) and _fills_in(source.text, fix):
        fix = None
    if fix is not None and fix.safe and (drops_comment(source.text, fix) or belies_comment(source.text, fix)):
        fix = fix._replace(safe=False)
    return Diagnostic(
        check.entry.code,
        check.entry.name,
        severity,
        _with_dots(finding.message),
        Span(*finding.span),
        tuple([Related(Span(*span), _with_dots(label)) for span, label in finding.related]),
        fix,
        source,
        check.entry.url,
        reached,
        check.card.always_shown,
        dated,
        versions,
    )


def _with_dots(text: str) -> str:
    """A text with an ellipsis for each unknown part."""
    return text.replace(UNKNOWN_CHARACTER, "…") if UNKNOWN_CHARACTER in text else text


def without_secrets(diagnostics: list[Diagnostic], values: tuple[str, ...] = ()) -> list[Diagnostic]:
    """The findings with redacted texts, and without fixes that write a secret, since reports show fixes, too.

    `values`: secrets of the script, which a text may name without what tells that they are some.
    """
    texts: list[str] = []
    for diagnostic in diagnostics:
        texts.append(diagnostic.message)
        texts += [related.label for related in diagnostic.related]
        if diagnostic.fix is not None:
            texts += [diagnostic.fix.title, *(edit.content for edit in diagnostic.fix.edits)]
    together = "\n\n".join(texts)  # nearly always without a secret
    if redacted(together, values) == together:
        return diagnostics
    return [_without_secrets(diagnostic, values) for diagnostic in diagnostics]


def _without_secrets(found: Diagnostic, values: tuple[str, ...]) -> Diagnostic:
    related = tuple([each._replace(label=redacted(each.label, values)) for each in found.related])
    fix = found.fix
    if fix is not None and any(redacted(each.content, values) != each.content for each in fix.edits):
        fix = None
    elif fix is not None:
        fix = fix._replace(title=redacted(fix.title, values))
    return found._replace(message=redacted(found.message, values), related=related, fix=fix)


def _fills_in(text: str, fix: Fix) -> bool:
    """Whether a fix overwrites a slot that a program is to fill in."""
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
            comment = text[max(match.start(), span.start) : match.end()]
            if COMMENT_MARK in comment:
                continue  # it addresses sbatchlint
            words = re.findall(r"\w+", comment.lower())
            if re.match(r"#\s*\w+\s+-", comment):
                del words[0]  # a directive whose magic word is misspelled
            if not kept.issuperset(words):
                return True
    return False


def belies_comment(text: str, fix: Fix) -> bool:
    """Whether a fix changes a number or an option of a directive whose comment may mention it: `# number of GPUs`."""
    for (start, end), content in fix.edits:
        line = text.rfind("\n", 0, start) + 1
        if start == end or not text.startswith("#SBATCH", line):
            continue
        gone = set(_COUNTED.findall(text[start:end])) - set(_COUNTED.findall(content))
        newline = text.find("\n", end)
        after = text[end : newline if newline >= 0 else len(text)]
        comment = after.partition(" #")[2]
        speaks = _OF_COUNTS.search(comment) is not None or not gone.isdisjoint(re.findall(r"\d+", comment))
        if gone and speaks and COMMENT_MARK not in comment:
            return True
    return False


def _fault(source: Source, where: str, error: Exception) -> Fault:
    from traceback import format_exception  # heavy, and rarely needed

    shown = " ".join(f"{type(error).__name__}: {error}".split())
    return Fault(source.path, where, shown, "".join(format_exception(error)))
