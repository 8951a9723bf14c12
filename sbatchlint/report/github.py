"""Workflow commands of GitHub Actions, which become annotations.

GitHub shows only ten errors and ten warnings of a step, so the worst come first.
"""

import os

from sbatchlint.report.cells import escape
from sbatchlint.report.json import clean
from sbatchlint.report.model import Report
from sbatchlint.report.terminal import Terminal

_COMMANDS = {"error": "error", "warning": "warning", "info": "notice"}


def render(report: Report, terminal: Terminal) -> str:
    lines = []
    for each in sorted(report.diagnostics, key=lambda each: list(_COMMANDS).index(each.severity)):
        start, end = each.source.position(each.span.start), each.source.position(each.span.end)
        properties = {
            "file": _path(each.source.path),
            "line": str(start.row),
            "col": str(start.column),
            "endLine": str(end.row),
            # GitHub takes columns only where both ends are on one line
            "endColumn": str(end.column) if end.row == start.row else "",
            "title": f"{each.name} ({each.code})",
        }
        given = ",".join(f"{name}={_property(value)}" for name, value in properties.items() if value)
        lines.append(f"::{_COMMANDS[each.severity]} {given}::{_data(each.message)}\n")
    return "".join(lines)


def _path(path: str) -> str:
    """The path relative to the workspace, as annotations need it."""
    top = os.environ.get("GITHUB_WORKSPACE")
    if path.startswith("<"):
        return path
    full = os.path.abspath(path)
    relative = os.path.relpath(full, top or os.getcwd())
    return full if relative.startswith("..") else relative.replace(os.sep, "/")


def _data(text: str) -> str:
    """A text without control characters, which a log must not hold; a line feed is written as GitHub reads it."""
    lines = clean(text).replace("\r\n", "\n").split("\n")
    return "\n".join(map(escape, lines)).replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
