"""Checkstyle's XML, which many services of CI read."""

from sbatchlint.report.cells import escape
from sbatchlint.report.identity import repository_path
from sbatchlint.report.model import Report, by_file
from sbatchlint.report.terminal import Terminal
from sbatchlint.report.xml import document, element


def render(report: Report, terminal: Terminal) -> str:
    root = element("checkstyle", version="4.3")
    for path, members in by_file(report.diagnostics).items():
        file = element("file", root, name=repository_path(path))
        for each in members:
            row, column = each.source.position(each.span.start)
            source = f"sbatchlint.{each.code}.{each.name}"
            place = {"line": row, "column": column}
            element("error", file, **place, severity=each.severity, message=escape(each.message), source=source)
    return document(root)
