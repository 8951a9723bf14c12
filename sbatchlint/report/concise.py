"""One line per finding."""

from sbatchlint.report.cells import escape
from sbatchlint.report.model import Report, shown_path
from sbatchlint.report.summary import summary
from sbatchlint.report.terminal import Terminal


def render(report: Report, terminal: Terminal) -> str:
    """Lines `path:line:column: severity code name message [*]`, with `[*]` for a safe fix."""
    lines = []
    for diagnostic in report.diagnostics:
        row, column = diagnostic.source.position(diagnostic.span.start)
        path = terminal.style("bold", escape(shown_path(diagnostic.source.path)))
        severity = terminal.style(diagnostic.severity, diagnostic.severity)
        name = terminal.link(diagnostic.url, f"{diagnostic.code} {diagnostic.name}")
        mark = " [*]" if diagnostic.fix is not None and diagnostic.fix.safe else ""
        lines.append(f"{path}:{row}:{column}: {severity} {name} {escape(diagnostic.message)}{mark}\n")
    return "".join(lines) + summary(report, terminal, wrapped=False)
