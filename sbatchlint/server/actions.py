"""What a client may change: quick fixes, comments that ignore, and all fixes of a file."""

from collections.abc import Iterator

from lsprotocol import types

from sbatchlint.diagnostics import Diagnostic
from sbatchlint.linting import fix_file, with_comments
from sbatchlint.report.json import clean
from sbatchlint.server.publishing import shown
from sbatchlint.server.snapshot import Snapshot
from sbatchlint.source.edits import Edit, edits_between
from sbatchlint.source.text import Span

FIX_ALL = "source.fixAll.sbatchlint"
# Not below `source.fixAll`: editors run all of that when a file is saved.
FIX_ALL_UNSAFE = "source.sbatchlint.unsafe"
KINDS = (types.CodeActionKind.QuickFix, FIX_ALL, FIX_ALL_UNSAFE)
# What is written where no reason is given: somebody is to write one.
REASON = "TODO: say why"


def actions(
    snapshot: Snapshot, span: Span, only: list[str] | None, lazily: bool, reason: str
) -> list[types.CodeAction]:
    """The actions for a range of the file. `lazily`: the edits of all fixes are made when `resolved` is asked."""
    found: list[types.CodeAction] = []
    if _is_wanted(types.CodeActionKind.QuickFix, only):
        for finding in snapshot.findings:
            if not finding.reached and finding.span.start <= span.end and span.start <= finding.span.end:
                found += _of_finding(snapshot, finding, reason)
    for kind, unsafe in ((FIX_ALL, False), (FIX_ALL_UNSAFE, True)):
        repairable = any(each.fix is not None and each.fix.safe is not unsafe for each in snapshot.findings)
        if not _is_wanted(kind, only) or not repairable:
            continue
        title = "Fix everything, also by guesses (unsafe)" if unsafe else "Fix everything that is safe to fix"
        action = types.CodeAction(title, kind=kind, data={"uri": snapshot.uri, "unsafe": unsafe})
        found.append(action if lazily else resolved(snapshot, action))
    return found


def _is_wanted(kind: str, only: list[str] | None) -> bool:
    return only is None or any(kind == each or kind.startswith(f"{each}.") or not each for each in only)


def _of_finding(snapshot: Snapshot, finding: Diagnostic, reason: str) -> Iterator[types.CodeAction]:
    told = shown(snapshot, finding)
    if finding.fix is not None:
        title = clean(finding.fix.title)
        yield types.CodeAction(
            f"{title[:1].upper()}{title[1:]}" + ("" if finding.fix.safe else " (unsafe)"),
            kind=types.CodeActionKind.QuickFix,
            diagnostics=[told],
            is_preferred=finding.fix.safe or None,
            edit=_edit(snapshot, list(finding.fix.edits)),
        )
    after = with_comments(snapshot.source, snapshot.settings, [finding], reason)
    edits = edits_between(snapshot.source.text, after.text)
    if edits:
        yield types.CodeAction(
            f"Ignore {finding.name} here",
            kind=types.CodeActionKind.QuickFix,
            diagnostics=[told],
            edit=_edit(snapshot, edits),
        )


def resolved(snapshot: Snapshot, action: types.CodeAction) -> types.CodeAction:
    """The action with the edits of all fixes."""
    unsafe = isinstance(action.data, dict) and action.data.get("unsafe") is True
    fixed = fix_file(snapshot.source, snapshot.settings, unsafe, snapshot.inspection)
    action.edit = _edit(snapshot, edits_between(snapshot.source.text, fixed.source.text))
    return action


def _edit(snapshot: Snapshot, edits: list[Edit]) -> types.WorkspaceEdit:
    newline = snapshot.source.newline
    if newline != "\n":
        edits = [Edit(each.span, each.content.replace("\r\n", "\n").replace("\n", newline)) for each in edits]
    document = types.OptionalVersionedTextDocumentIdentifier(snapshot.uri, snapshot.version)
    changes: list[types.TextEdit | types.AnnotatedTextEdit | types.SnippetTextEdit] = [
        *snapshot.positions.text_edits(edits)
    ]
    return types.WorkspaceEdit(document_changes=[types.TextDocumentEdit(document, changes)])
