"""SARIF 2.1.0, for GitHub code scanning and other services.

https://docs.oasis-open.org/sarif/sarif/v2.1.0/
"""

import json
from typing import Any

from sbatchlint import __version__
from sbatchlint.diagnostics import Diagnostic, Fix
from sbatchlint.registry import registry
from sbatchlint.report.identity import fingerprints, uri
from sbatchlint.report.json import clean
from sbatchlint.report.model import Report
from sbatchlint.report.terminal import Terminal
from sbatchlint.source.text import Source, Span

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
INFORMATION = "https://github.com/sbatchlint/sbatchlint"
_LEVELS = {"error": "error", "warning": "warning", "info": "note"}


def render(report: Report, terminal: Terminal) -> str:
    found = report.diagnostics
    codes = sorted({each.code for each in found})
    by_code = {each.code: each for each in found}
    results = [
        _result(diagnostic, codes.index(diagnostic.code), fingerprint)
        for diagnostic, fingerprint in zip(found, fingerprints(found), strict=True)
    ]
    driver = {
        "name": "sbatchlint",
        "version": __version__,
        "informationUri": INFORMATION,
        "rules": [_rule(by_code[code]) for code in codes],
    }
    run = {"tool": {"driver": driver}, "columnKind": "unicodeCodePoints", "results": results}
    return json.dumps({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2) + "\n"


def _rule(diagnostic: Diagnostic) -> dict[str, Any]:
    rule = {
        "id": diagnostic.code,
        "name": "".join(word.capitalize() for word in diagnostic.name.split("-")),
        "helpUri": diagnostic.url,
        "defaultConfiguration": {"level": _LEVELS[diagnostic.severity]},
    }
    entry = registry().find(diagnostic.code)
    if entry is not None:
        check = registry().load(entry)
        text = (check.module.__doc__ or "").strip()
        rule["shortDescription"] = {"text": check.summary}
        rule["help"] = {"text": text, "markdown": text}
    return rule


def _result(diagnostic: Diagnostic, rule: int, fingerprint: str) -> dict[str, Any]:
    source = diagnostic.source
    result: dict[str, Any] = {
        "ruleId": diagnostic.code,
        "ruleIndex": rule,
        "level": _LEVELS[diagnostic.severity],
        "message": {"text": clean(diagnostic.message)},
        "locations": [_location(source, diagnostic.span)],
        "partialFingerprints": {"sbatchlint/v1": fingerprint},
    }
    if diagnostic.related:
        result["relatedLocations"] = [
            {"id": number, **_location(source, span), "message": {"text": clean(label)}}
            for number, (span, label) in enumerate(diagnostic.related, 1)
        ]
    if diagnostic.fix is not None:
        result["fixes"] = [_fix(source, diagnostic.fix)]
    return result


def _fix(source: Source, fix: Fix) -> dict[str, Any]:
    replacements = [
        {"deletedRegion": _region(source, edit.span), "insertedContent": {"text": clean(edit.content)}}
        for edit in fix.edits
    ]
    return {
        "description": {"text": clean(fix.title) + ("" if fix.safe else " (unsafe: encodes a guess)")},
        "artifactChanges": [{"artifactLocation": {"uri": uri(source.path)}, "replacements": replacements}],
    }


def _location(source: Source, span: Span) -> dict[str, Any]:
    return {"physicalLocation": {"artifactLocation": {"uri": uri(source.path)}, "region": _region(source, span)}}


def _region(source: Source, span: Span) -> dict[str, int]:
    start, end = source.position(span.start), source.position(span.end)
    return {"startLine": start.row, "startColumn": start.column, "endLine": end.row, "endColumn": end.column}
