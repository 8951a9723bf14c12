"""GitLab's Code Quality report: a JSON list. https://docs.gitlab.com/ci/testing/code_quality/"""

import json

from sbatchlint.report.identity import fingerprints, repository_path
from sbatchlint.report.json import clean, clean_path
from sbatchlint.report.model import Report
from sbatchlint.report.terminal import Terminal

_SEVERITIES = {"error": "major", "warning": "minor", "info": "info"}


def render(report: Report, terminal: Terminal) -> str:
    found = report.diagnostics
    values = []
    for diagnostic, fingerprint in zip(found, fingerprints(found), strict=True):
        start, end = (
            diagnostic.source.position(diagnostic.span.start),
            diagnostic.source.position(max(diagnostic.span.end - 1, diagnostic.span.start)),
        )
        values.append(
            {
                "description": f"{diagnostic.name}: {clean(diagnostic.message)}",
                "check_name": diagnostic.code,
                "fingerprint": fingerprint,
                "severity": _SEVERITIES[diagnostic.severity],
                "location": {
                    "path": clean_path(repository_path(diagnostic.source.path)),
                    "lines": {"begin": start.row, "end": end.row},
                },
            }
        )
    return json.dumps(values, indent=2) + "\n"
