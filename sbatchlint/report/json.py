"""A JSON list of findings. Rows and columns count from 1, columns in characters; `end_location` is exclusive.

What decides whether to act on one is named as in `sbatchlint.api`: docs/ci.md has the keys.
"""

import json

from sbatchlint.diagnostics import Diagnostic
from sbatchlint.report.cells import escape
from sbatchlint.report.model import Report, shown_path
from sbatchlint.report.reasons import certainty, check_of, references, silencing
from sbatchlint.report.terminal import Terminal
from sbatchlint.source.regex import Regex
from sbatchlint.source.text import Source, Span

_BYTE = Regex("[\ud800-\udfff]")


def render(report: Report, terminal: Terminal) -> str:
    values = [finding(each) for each in report.diagnostics]
    return json.dumps(values, indent=2) + "\n"


def finding(diagnostic: Diagnostic) -> dict[str, object]:
    """The JSON value of a finding."""
    source = diagnostic.source
    fix = diagnostic.fix
    check = check_of(diagnostic)
    return {
        "code": diagnostic.code,
        "name": diagnostic.name,
        "severity": diagnostic.severity,
        "message": clean(diagnostic.message),
        "certainty": certainty(diagnostic),
        "releases": list(diagnostic.versions),
        "summary": check.summary,
        "source": references(check),
        "silence": silencing(diagnostic),
        "url": diagnostic.url,
        "filename": clean_shown_path(source.path),
        "reached": clean(diagnostic.reached),
        **locations(source, diagnostic.span),
        "related": [{"message": clean(label), **locations(source, span)} for span, label in diagnostic.related],
        "fix": None
        if fix is None
        else {
            "applicability": "safe" if fix.safe else "unsafe",
            "message": clean(fix.title),
            "edits": [{"content": clean(edit.content), **locations(source, edit.span)} for edit in fix.edits],
        },
    }


def locations(source: Source, span: Span) -> dict[str, object]:
    start, end = source.position(span.start), source.position(span.end)
    return {
        "location": {"row": start.row, "column": start.column},
        "end_location": {"row": end.row, "column": end.column},
    }


def clean_shown_path(path: str) -> str:
    """The path as `shown_path` gives it, and `clean_path`."""
    return clean_path(shown_path(path))


def clean_path(path: str) -> str:
    """A path in which each byte that is not UTF-8 is shown by its code, so that two paths stay two."""
    if path.isascii():
        return path
    read = path.encode("utf-8", "surrogateescape").decode("utf-8", "surrogateescape")  # in any locale
    return _BYTE.sub(lambda byte: escape(byte[0]), read)


def clean(text: str) -> str:
    """The text with U+FFFD for each byte that is not UTF-8, which JSON cannot represent."""
    return text if text.isascii() else text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
