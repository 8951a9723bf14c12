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
from sbatchlint.source.documents import Snippet, read_document, snippets
from sbatchlint.source.edits import Edit, apply
from sbatchlint.source.text import Source, Span

# A line that shows syntax instead of a value: `<account>`, `[INSERT NAME]`, `...`, `option=value`, two directives.
_SAMPLE = re.compile(
    r"<[A-Za-z][^<>\n|]*[^<>\s|]>|<[A-Za-z]>|\[[A-Z][A-Za-z _-]{3,}\]|\.{3}|…"
    r"|(?<![\w-])(?:option|argument|value|directive)s?(?:[_ ]?name)?\b|#SBATCH\b.*#SBATCH\b"
)

# A script of a document, by its number; what became of it, and the edits of the document (None: it cannot be written).
_Changed = tuple[int, Fixed, list[Edit] | None]
# What a document cannot hold is looked for in so many groups of changes.
MOST_GROUPS = 16


def inspect_document(
    source: Source, settings: Settings, inspected: Callable[[Snippet, Settings, int], Inspection] | None = None
) -> Inspection:
    """The findings in all scripts of a document, in order.

    `inspected`: what gives those of a script, of which it is told what the scripts before have cost.
    """
    inspected = _inspected if inspected is None else inspected
    diagnostics: list[Diagnostic] = []
    faults: list[Fault] = []
    parts: list[Inspection] = []
    cost = 0
    reading = read_document(source)
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
    return Inspection(diagnostics, errors, faults, ignored, cost, unread=reading.reason, parts=tuple(parts))


def _inspected(snippet: Snippet, settings: Settings, spent: int) -> Inspection:
    return inspect(snippet, settings, spent=spent)


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
        fix = None if edits is None else Fix(fix.title, edits, fix.safe)
    where = snippet.where(found.span.start)
    message = f"{found.message} ({where})" if where else found.message
    related = tuple(Related(snippet.span(each.span), each.label) for each in found.related)
    return found._replace(
        severity=severity,
        message=message,
        source=snippet.outer,
        span=snippet.span(found.span),
        related=related,
        fix=fix,
    )


def fix_document(source: Source, settings: Settings, unsafe: bool = False, first: Inspection | None = None) -> Fixed:
    """The document after the fixes in each of its scripts; see `fix_source`."""
    found = snippets(source)
    inspections = (first or inspect_document(source, settings)).parts
    spent = 0
    texts = [each.text for each in found]
    changed: list[_Changed] = []
    refused: list[Refused] = []
    for number, (snippet, inspection) in enumerate(zip(found, inspections)):
        if not any(each.fix for each in inspection.diagnostics):
            continue
        if spent > MOST_COST:
            break
        fixed = fix_source(snippet, settings, unsafe, inspection, _admits(snippet), spent)
        spent = fixed.spent
        refused.extend(Refused(_placed(each.diagnostic, snippet, settings), each.reason) for each in fixed.refused)
        if fixed.applied:
            changed.append((number, fixed, snippet.rewriting(fixed.source.text)))
    writable = [each for each in changed if each[2] is not None]
    kept = _kept(source, texts, writable, len(writable) // MOST_GROUPS)
    numbers = {number for number, _, _ in kept}
    for item in changed:
        if item[0] not in numbers:
            place = _placed(item[1].applied[0], found[item[0]], settings)
            refused.append(Refused(place, "the document cannot hold its result"))
    after = _edited(source, [edit for _, _, edits in kept for edit in edits or ()])
    applied = [diagnostic for _, fixed, _ in kept for diagnostic in fixed.applied]
    return Fixed(after, applied, refused, inspect_document(after, settings), spent)


def _admits(snippet: Snippet) -> Admits | None:
    """Whether the document can hold a fix, where that is not the same for all: a string may have escapes and slots."""
    if snippet.lines is not None:
        return None
    return lambda source, fix: snippet.rewriting(apply(source.text, fix.edits)) is not None


def _kept(source: Source, texts: list[str], changed: list[_Changed], fewest: int) -> list[_Changed]:
    """The changes that the document can hold, as far as they can be told from others in groups of more than `fewest`.

    A change may end the block that it is in, or begin another one.
    """
    if _holds(source, texts, changed):
        return changed
    half = len(changed) // 2
    if half == 0 or len(changed) <= fewest:
        return []
    return [each for part in (changed[:half], changed[half:]) for each in _kept(source, texts, part, fewest)]


def _holds(source: Source, texts: list[str], changed: list[_Changed]) -> bool:
    """Whether the edited document contains these scripts, and the others unchanged."""
    expected = list(texts)
    edits: list[Edit] = []
    for number, fixed, rewriting in changed:
        expected[number] = fixed.source.text
        edits.extend(rewriting or ())
    try:
        after = _edited(source, edits)
    except ValueError:  # two scripts have a part in common, of which each makes something else
        return False
    return [each.text for each in snippets(after)] == expected


def _edited(source: Source, edits: Iterable[Edit]) -> Source:
    return Source(apply(source.text, dict.fromkeys(edits)), source.path)


def document_with_ignores(source: Source, settings: Settings, found: list[Diagnostic], reason: str) -> Source:
    """The document with comments in its scripts that ignore these findings; see `with_ignores`."""
    wanted = {(each.code, each.span) for each in found}
    edits: list[Edit] = []
    for snippet, inspection in zip(snippets(source), inspect_document(source, settings).parts):
        own = [each for each in inspection.diagnostics if (each.code, snippet.span(each.span)) in wanted]
        if own:
            edits.extend(snippet.rewriting(with_ignores(snippet, own, reason).text) or ())
    return _edited(source, edits)
