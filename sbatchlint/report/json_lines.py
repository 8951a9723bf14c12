"""One JSON object per line and finding."""

import json

from sbatchlint.report.json import finding
from sbatchlint.report.model import Report
from sbatchlint.report.terminal import Terminal


def render(report: Report, terminal: Terminal) -> str:
    return "".join([json.dumps(finding(each)) + "\n" for each in report.diagnostics])
