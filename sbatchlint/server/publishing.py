"""Findings as clients show them."""

import os

from lsprotocol import types
from pygls import uris

from sbatchlint.diagnostics import Diagnostic
from sbatchlint.report.json import clean
from sbatchlint.server.positions import Positions
from sbatchlint.server.snapshot import Snapshot
from sbatchlint.source.numbers import is_number, parse_integer
from sbatchlint.source.text import Span

SOURCE = "sbatchlint"
SEVERITIES = {
    "error": types.DiagnosticSeverity.Error,
    "warning": types.DiagnosticSeverity.Warning,
    "info": types.DiagnosticSeverity.Information,
}


def shown(snapshot: Snapshot, found: Diagnostic) -> types.Diagnostic:
    """A finding; one in a file that the script includes is shown at the line that includes it."""
    related = []
    if found.reached:
        other = Positions(found.source.text, snapshot.encoding)
        uri = uris.from_fs_path(os.path.abspath(found.source.path)) or snapshot.uri
        related.append(_related(uri, other, found.span, "here"))
        span = _including(snapshot, found)
    else:
        span = found.span
        related = [_related(snapshot.uri, snapshot.positions, place, label) for place, label in found.related]
    return types.Diagnostic(
        range=snapshot.positions.range(span),
        message=clean(found.message),
        severity=SEVERITIES[found.severity],
        code=found.code,
        code_description=types.CodeDescription(found.url),
        source=SOURCE,
        related_information=related,
        data={"name": found.name},
    )


def _related(uri: str, positions: Positions, span: Span, label: str) -> types.DiagnosticRelatedInformation:
    return types.DiagnosticRelatedInformation(types.Location(uri, positions.range(span)), clean(label))


def _including(snapshot: Snapshot, found: Diagnostic) -> Span:
    """The line of the script that leads to an included file; the first one where another file includes it."""
    path, _, row = found.reached.rpartition(":")
    known = path == snapshot.source.path and is_number(row) and parse_integer(row) <= snapshot.source.rows
    return snapshot.source.line(parse_integer(row) if known else 1)


def published(snapshot: Snapshot) -> list[types.Diagnostic]:
    """All that is reported of a file."""
    return [shown(snapshot, each) for each in snapshot.findings]
