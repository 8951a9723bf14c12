"""Workflow commands of GitHub Actions, which become annotations.

GitHub shows only ten errors and ten warnings per step, so the most severe findings come first.
"""

import re

from sbatchlint.report.cells import escape
from sbatchlint.report.identity import repository_path
from sbatchlint.report.json import clean, clean_path
from sbatchlint.report.model import Report
from sbatchlint.report.terminal import Terminal

_COMMANDS = {"error": "error", "warning": "warning", "info": "notice"}
_CONTROLS = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069]")


def render(report: Report, terminal: Terminal) -> str:
    lines = []
    for diagnostic in sorted(report.diagnostics, key=lambda each: list(_COMMANDS).index(each.severity)):
        start, end = diagnostic.source.position(diagnostic.span.start), diagnostic.source.position(diagnostic.span.end)
        properties = {
            "file": repository_path(diagnostic.source.path),
            "line": str(start.row),
            "col": str(start.column),
            "endLine": str(end.row),
            # GitHub accepts columns only if both ends are on one line
            "endColumn": str(end.column) if end.row == start.row else "",
            "title": f"{diagnostic.name} ({diagnostic.code})",
        }
        lines.append(_command(_COMMANDS[diagnostic.severity], properties, diagnostic.message))
    return "".join(lines)


def command(kind: str, path: str, row: int, title: str, message: str) -> str:
    """An annotation on a row of a file, or on the run if the path is ""."""
    place = {"file": repository_path(path), "line": str(row)} if path else {}
    return _command(kind, {**place, "title": title}, message)


def _command(kind: str, properties: dict[str, str], message: str) -> str:
    escaped = {name: _path(value) if name == "file" else _property(value) for name, value in properties.items()}
    pairs = ",".join(f"{name}={value}" for name, value in escaped.items() if value)
    return f"::{kind} {pairs}::{_data(message)}\n"


def _data(text: str) -> str:
    """A text with control characters escaped, and line feeds in the encoding of GitHub."""
    lines = clean(text).replace("\r\n", "\n").split("\n")
    return "\n".join(map(escape, lines)).replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")


def _path(text: str) -> str:
    """A path in the encoding of GitHub, with only those characters escaped that a log must not contain."""
    text = _CONTROLS.sub(lambda match: escape(match[0]), clean_path(text)).replace("%", "%25").replace(":", "%3A")
    return text.replace(",", "%2C").replace("\r", "%0D").replace("\n", "%0A")
