"""Reviewdog Diagnostic Format, one JSON object, with columns in bytes of UTF-8, from 1.

https://github.com/reviewdog/reviewdog/blob/master/proto/rdf/reviewdog.proto
"""

import json
from typing import Any

from sbatchlint.diagnostics import Diagnostic
from sbatchlint.report.identity import repository_path
from sbatchlint.report.json import clean, clean_path
from sbatchlint.report.model import Report
from sbatchlint.report.sarif import INFORMATION
from sbatchlint.report.terminal import Terminal
from sbatchlint.source.text import Source, Span


def render(report: Report, terminal: Terminal) -> str:
    value = {
        "source": {"name": "sbatchlint", "url": INFORMATION},
        "diagnostics": [_diagnostic(each) for each in report.diagnostics],
    }
    return json.dumps(value, indent=2) + "\n"


def _diagnostic(diagnostic: Diagnostic) -> dict[str, Any]:
    source = diagnostic.source
    path = clean_path(repository_path(source.path))
    value: dict[str, Any] = {
        "message": clean(diagnostic.message),
        "location": {"path": path, "range": _range(source, diagnostic.span)},
        "severity": diagnostic.severity.upper(),
        "code": {"value": f"{diagnostic.code} {diagnostic.name}", "url": diagnostic.url},
    }
    if diagnostic.related:
        value["related_locations"] = [
            {"message": clean(label), "location": {"path": path, "range": _range(source, span)}}
            for span, label in diagnostic.related
        ]
    fix = diagnostic.fix
    # Each suggestion is accepted or rejected by itself, so a fix with several edits cannot be offered.
    if fix is not None and len(fix.edits) == 1:
        edit = fix.edits[0]
        value["suggestions"] = [{"range": _range(source, edit.span), "text": clean(edit.content)}]
    return value


def _range(source: Source, span: Span) -> dict[str, Any]:
    return {"start": _position(source, span.start), "end": _position(source, span.end)}


def _position(source: Source, offset: int) -> dict[str, int]:
    start = source.line_of(offset).start
    return {"line": source.row(offset), "column": len(Source.encode(source.text[start:offset])) + 1}
