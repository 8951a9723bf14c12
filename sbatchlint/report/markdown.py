"""A Markdown table, for the summary of a CI step or a comment on a pull request."""

import re

from sbatchlint.report.cells import escape
from sbatchlint.report.identity import repository_path
from sbatchlint.report.model import Report
from sbatchlint.report.summary import summary
from sbatchlint.report.terminal import Terminal

# GitHub truncates a summary at 1 MiB; readers give up long before.
MOST_ROWS = 500
_MARKUP = re.compile(r"([\\`*_{}\[\]<>()#!|~&@])")


def render(report: Report, terminal: Terminal) -> str:
    lines = [f"**sbatchlint**: {_text(summary(report, Terminal(), wrapped=False).rstrip())}"]
    found = report.diagnostics
    if found:
        lines += ["", "| | where | check | |", "|---|---|---|---|"]
    for diagnostic in found[:MOST_ROWS]:
        place = f"{repository_path(diagnostic.source.path)}:{diagnostic.source.row(diagnostic.span.start)}"
        check = f"[{diagnostic.code} {diagnostic.name}]({diagnostic.url})"
        lines.append(f"| {diagnostic.severity} | {_text(place)} | {check} | {_text(diagnostic.message)} |")
    if len(found) > MOST_ROWS:
        lines += ["", f"{len(found) - MOST_ROWS} more are not shown."]
    return "\n".join(lines) + "\n"


def _text(text: str) -> str:
    """A text on one line, escaped for Markdown and HTML."""
    return _MARKUP.sub(r"\\\1", escape(text))
