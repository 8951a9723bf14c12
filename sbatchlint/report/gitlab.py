"""GitLab's Code Quality report: a JSON list. https://docs.gitlab.com/ci/testing/code_quality/"""

import json

from sbatchlint.report.identity import fingerprints, repository_path
from sbatchlint.report.json import clean
from sbatchlint.report.model import Report
from sbatchlint.report.terminal import Terminal

_SEVERITIES = {"error": "major", "warning": "minor", "info": "info"}


def render(report: Report, terminal: Terminal) -> str:
    found = report.diagnostics
    values = []
    for each, fingerprint in zip(found, fingerprints(found), strict=True):
        start, end = (
            each.source.position(each.span.start),
            each.source.position(max(each.span.end - 1, each.span.start)),
        )
        values.append(
            {
                "description": f"{each.name}: {clean(each.message)}",
                "check_name": each.code,
                "fingerprint": fingerprint,
                "severity": _SEVERITIES[each.severity],
                "location": {
                    "path": clean(repository_path(each.source.path)),
                    "lines": {"begin": start.row, "end": end.row},
                },
            }
        )
    return json.dumps(values, indent=2) + "\n"
