"""One line for each finding."""

from sbatchlint.report.cells import escape
from sbatchlint.report.model import Report, shown_path
from sbatchlint.report.summary import summary
from sbatchlint.report.terminal import Terminal


def render(report: Report, terminal: Terminal) -> str:
    """`path:line:column: severity code name message [*]`; `[*]` where a safe fix exists."""
    lines = []
    for each in report.diagnostics:
        row, column = each.source.position(each.span.start)
        path = terminal.style("bold", escape(shown_path(each.source.path)))
        severity = terminal.style(each.severity, each.severity)
        name = terminal.link(each.url, f"{each.code} {each.name}")
        mark = " [*]" if each.fix is not None and each.fix.safe else ""
        lines.append(f"{path}:{row}:{column}: {severity} {name} {escape(each.message)}{mark}\n")
    return "".join(lines) + summary(report, terminal, wrapped=False)
