"""Checkstyle XML, which many CI services read."""

from sbatchlint.report.cells import escape
from sbatchlint.report.identity import repository_path
from sbatchlint.report.model import Report, by_file
from sbatchlint.report.terminal import Terminal
from sbatchlint.report.xml import document, element


def render(report: Report, terminal: Terminal) -> str:
    root = element("checkstyle", version="4.3")
    for path, members in by_file(report.diagnostics).items():
        file = element("file", root, name=repository_path(path))
        for member in members:
            row, column = member.source.position(member.span.start)
            source = f"sbatchlint.{member.code}.{member.name}"
            place = {"line": row, "column": column}
            element("error", file, **place, severity=member.severity, message=escape(member.message), source=source)
    return document(root)
