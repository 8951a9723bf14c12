"""Linting and fixing of the scripts in a document: each by itself, with places translated to those of the document.

So a fix only changes characters of the scripts, and is proven like the fix of a script.
"""

import re
from collections.abc import Callable, Iterable

from sbatchlint.bash.limits import MOST_WORK, cost_of_script
from sbatchlint.diagnostics import Diagnostic, Fault, Fix, Related
from sbatchlint.engine import Inspection, inspect
from sbatchlint.fix import MOST_COST, Admits, Fixed, Refused, fix_source
from sbatchlint.ignores import with_ignores
from sbatchlint.registry import registry
from sbatchlint.settings import Settings
from sbatchlint.source.documents import Reading, Snippet, read_document
from sbatchlint.source.documents.snippet import Embedded
from sbatchlint.source.edits import Edit, apply
from sbatchlint.source.text import Source, Span

# A line that shows syntax instead of a value: `<account>`, `[INSERT NAME]`, `...`, `option=value`, two directives.
_SAMPLE = re.compile(
    r"<[A-Za-z][^<>\n|]*[^<>\s|]>|<[A-Za-z]>|\[[A-Z][A-Za-z _-]{3,}\]|\.{3}|…"
    r"|(?<![\w-])(?:option|argument|value|directive)s?(?:[_ ]?name)?\b|#SBATCH\b.*#SBATCH\b"
)

Inspected = Callable[[Snippet, Settings, int], Inspection]
# A script of a document, by its number; what became of it, and the edits of the document (None: it cannot be written).
_Changed = tuple[int, Fixed, list[Edit] | None]
# What a document cannot hold is looked for in so many groups of changes.
MOST_GROUPS = 16


class _Known:
    """Inspections of the scripts of a document, each made once for all that have the same text."""

    def __init__(self) -> None:
        self._found: dict[tuple[str, bool, bool], Inspection] = {}

    def keep(self, script: Source, inspection: Inspection) -> None:
        if isinstance(script, Embedded) and script.marks_rows and not (inspection.is_cut or inspection.faults):
            self._found[script.key] = inspection

    def inspect(self, snippet: Snippet, settings: Settings, spent: int) -> Inspection:
        """What is known of a script costs nothing any more."""
        known = self._found.get(snippet.key)
        if known is not None:
            return known._replace(cost=0)
        snippet.marks_rows = True
        found = inspect(snippet, settings, spent=spent)
        self.keep(snippet, found)
        return found


def inspect_document(source: Source, settings: Settings, inspected: Inspected | None = None) -> Inspection:
    """The findings in all scripts of a document, in order.

    `inspected`: what gives those of a script, of which it is told what the scripts before have cost.
    """
    return _inspect(read_document(source), settings, inspected or _Known().inspect)


def _inspect(reading: Reading, settings: Settings, inspected: Inspected) -> Inspection:
    diagnostics: list[Diagnostic] = []
    faults: list[Fault] = []
    parts: list[Inspection] = []
    cost = 0
    seen: set[tuple[str, Span]] = set()  # several scripts of a program may have a part of it in common
    for snippet in reading.snippets:
        inspection = inspected(snippet, settings, cost)
        for each in inspection.diagnostics:
            placed = _placed(each, snippet, settings)
            if (placed.code, placed.span) not in seen:
                seen.add((placed.code, placed.span))
                diagnostics.append(placed)
        faults.extend(inspection.faults)
        parts.append(inspection)
        cost += inspection.cost + cost_of_script(snippet.text)
        if inspection.is_cut and cost > MOST_WORK:
            break
    errors, ignored = sum([each.syntax_errors for each in parts]), sum([each.ignored for each in parts])
    return Inspection(
        diagnostics, errors, faults, ignored, cost,
        unread=reading.reason, scripts=tuple(reading.snippets), parts=tuple(parts),
    )  # fmt: skip


def _placed(found: Diagnostic, snippet: Snippet, settings: Settings) -> Diagnostic:
    """A finding in a snippet, with its places in the document.

    It is reduced to advice if the line has a placeholder, or if it warns of something that an example may leave out.
    """
    severity = found.severity
    if found.code not in settings.severities and severity != "info":
        line = snippet.slice(snippet.line_of(found.span.start))
        entry = registry().find(found.code)
        assert entry is not None
        if _SAMPLE.search(line) or severity == "warning" and registry().load(entry).card.whole_script:
            severity = "info"
    fix = found.fix
    if fix is not None:
        edits = snippet.edits(fix.edits)
        fix = None if edits is None else Fix(snippet.with_rows(fix.title), edits, fix.safe)
    where = snippet.where(found.span.start)
    message = snippet.with_rows(f"{found.message} ({where})" if where else found.message)
    related = tuple(Related(snippet.span(each.span), snippet.with_rows(each.label)) for each in found.related)
    return found._replace(
        severity=severity,
        message=message,
        source=snippet.outer,
        span=snippet.span(found.span),
        related=related,
        fix=fix,
    )


def fix_document(source: Source, settings: Settings, unsafe: bool = False, first: Inspection | None = None) -> Fixed:
    """The document after the fixes in each of its scripts; see `fix_source`.

    Scripts of the same text are fixed once, and what became of a script is not looked at again in the document.
    """
    known = _Known()
    first = first or inspect_document(source, settings, known.inspect)
    fixes: dict[tuple[str, bool, bool], Fixed] = {}
    spent = 0
    changed: list[_Changed] = []
    refused: list[Refused] = []
    for number, (snippet, inspection) in enumerate(zip(first.scripts, first.parts)):
        known.keep(snippet, inspection)
        if not any(each.fix for each in inspection.diagnostics):
            continue
        admits = _admits(snippet)
        fixed = fixes.get(snippet.key) if admits is None else None
        if fixed is None:
            if spent > MOST_COST:
                continue
            snippet.marks_rows = True
            fixed = fix_source(snippet, settings, unsafe, inspection, admits, spent)
            spent = fixed.spent
            known.keep(fixed.source, fixed.inspection)
            if admits is None:
                fixes[snippet.key] = fixed
        refused.extend(Refused(_placed(each.diagnostic, snippet, settings), each.reason) for each in fixed.refused)
        if fixed.applied:
            changed.append((number, fixed, snippet.rewriting(fixed.source.text)))
    writable = [each for each in changed if each[2] is not None]
    texts = [each.text for each in first.scripts]
    kept, reading = _kept(source, texts, writable, len(writable) // MOST_GROUPS)
    numbers = {number for number, _, _ in kept}
    for item in changed:
        if item[0] not in numbers:
            place = _placed(item[1].applied[0], first.scripts[item[0]], settings)
            refused.append(Refused(place, "the document cannot hold its result"))
    after = _edited(source, kept)
    applied = [diagnostic for _, fixed, _ in kept for diagnostic in fixed.applied]
    return Fixed(after, applied, refused, _inspect(reading or read_document(after), settings, known.inspect), spent)


def _admits(snippet: Snippet) -> Admits | None:
    """Whether the document can hold a fix, where that is not the same for all: a string may have escapes and slots."""
    if snippet.lines is not None:
        return None
    return lambda source, fix: snippet.rewriting(apply(source.text, fix.edits)) is not None


def _kept(
    source: Source, texts: list[str], changed: list[_Changed], fewest: int
) -> tuple[list[_Changed], Reading | None]:
    """The changes that the document can hold, as far as they can be told from others in groups of more than `fewest`,
    and what the document then is where all of them are kept.

    A change may end the block that it is in, or begin another one. Where only some of the changed scripts are not read
    as they were written, these are the ones.
    """
    reading, unlike = _reading(source, texts, changed)
    if reading is not None and not unlike:
        return changed, reading
    if unlike and unlike <= {number for number, _, _ in changed}:
        others = [each for each in changed if each[0] not in unlike]
        return _kept(source, texts, others, fewest) if others else ([], None)
    half = len(changed) // 2
    if half == 0 or len(changed) <= fewest:
        return [], None
    parts = (changed[:half], changed[half:])
    return [each for part in parts for each in _kept(source, texts, part, fewest)[0]], None


def _reading(source: Source, texts: list[str], changed: list[_Changed]) -> tuple[Reading | None, set[int]]:
    """What the edited document is, and the numbers of the scripts that it does not contain as they should be.

    None where it cannot be edited, or contains more or fewer scripts.
    """
    expected = list(texts)
    for number, fixed, _ in changed:
        expected[number] = fixed.source.text
    try:
        after = _edited(source, changed)
    except ValueError:  # two scripts have a part in common, of which each makes something else
        return None, set()
    reading = read_document(after)
    if len(reading.snippets) != len(expected):
        return None, set()
    pairs = zip(reading.snippets, expected)
    return reading, {number for number, (snippet, text) in enumerate(pairs) if snippet.text != text}


def _edited(source: Source, changed: Iterable[_Changed]) -> Source:
    """The document with all changes."""
    return _with_edits(source, (edit for _, _, edits in changed for edit in edits or ()))


def _with_edits(source: Source, edits: Iterable[Edit]) -> Source:
    return source.with_text(apply(source.text, dict.fromkeys(edits)))


def document_with_ignores(source: Source, settings: Settings, found: list[Diagnostic], reason: str) -> Source:
    """The document with comments in its scripts that ignore these findings; see `with_ignores`."""
    wanted = {(each.code, each.span) for each in found}
    edits: list[Edit] = []
    whole = inspect_document(source, settings)
    for snippet, inspection in zip(whole.scripts, whole.parts):
        own = [each for each in inspection.diagnostics if (each.code, snippet.span(each.span)) in wanted]
        if own:
            edits.extend(snippet.rewriting(with_ignores(snippet, own, reason).text) or ())
    return _with_edits(source, edits)
