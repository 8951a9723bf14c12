"""The default format: the lines of each finding with underlined labels, and its fix as a small diff."""

from collections import Counter

from sbatchlint.diagnostics import Diagnostic
from sbatchlint.report.cells import escape, wrap
from sbatchlint.report.model import Report, shown_path
from sbatchlint.report.patch import render_fix
from sbatchlint.report.snippet import Label, Line
from sbatchlint.report.summary import summary
from sbatchlint.report.terminal import Terminal
from sbatchlint.source.secrets import redacted_source
from sbatchlint.source.text import Source, Span

# A label over more rows than this is shown on the first two and the last.
MOST_ROWS = 5
# More findings of one check in a file are only counted, since nobody reads them.
MOST_OF_A_CHECK = 1_000


def render(report: Report, terminal: Terminal) -> str:
    shown: list[str] = []
    counts: Counter[tuple[str, str]] = Counter()
    for diagnostic in report.diagnostics:
        counts[diagnostic.code, diagnostic.source.path] += 1
        if counts[diagnostic.code, diagnostic.source.path] <= MOST_OF_A_CHECK:
            shown.append(render_diagnostic(diagnostic, terminal))
    for (code, path), count in counts.items():
        if count > MOST_OF_A_CHECK:
            more = f"... and {count - MOST_OF_A_CHECK} more of {code} in {escape(shown_path(path))}"
            shown.append("\n".join(wrap(f"{more} (--output-format concise lists all)", terminal.width)) + "\n")
    return "\n".join([*shown, summary(report, terminal, explained=True)])


def render_diagnostic(diagnostic: Diagnostic, terminal: Terminal) -> str:
    """The lines that show a finding."""
    source = redacted_source(diagnostic.source)
    rows = _rows(diagnostic)
    gutter = max(len(str(max(rows))), 2)
    lines = _heading(diagnostic, terminal)
    position = source.position(diagnostic.span.start)
    bar = terminal.style("gutter", " " * gutter + " |")
    place = f"{escape(shown_path(source.path))}:{position.row}:{position.column}"
    lines.append(terminal.style("gutter", " " * gutter + "--> ") + place)
    lines.append(bar)
    before = 0
    for row in sorted(rows):
        if before and row == before + 2:
            lines.extend(_row(source, before + 1, [], gutter, bar, terminal))
        elif before and row > before + 2:
            lines.append(terminal.style("gutter", "..."))
        lines.extend(_row(source, row, rows[row], gutter, bar, terminal))
        before = row
    if diagnostic.fix is not None:
        lines.append(bar)
        lines.extend(render_fix(source, diagnostic.fix, gutter, terminal))
    return "\n".join(lines) + "\n"


def _heading(diagnostic: Diagnostic, terminal: Terminal) -> list[str]:
    severity = diagnostic.severity
    size = len(f"{severity}[{diagnostic.code}] {diagnostic.name}: ")
    name = terminal.style("bold", terminal.link(diagnostic.url, diagnostic.name))
    first = f"{terminal.style(severity, f'{severity}[{diagnostic.code}]')} {name}: "
    message = wrap(escape(diagnostic.message), terminal.width - 2, terminal.width - size)
    return [first + message[0], *("  " + line for line in message[1:])]


def _rows(diagnostic: Diagnostic) -> dict[int, list[Label]]:
    """The labels of each shown row, with offsets in its line."""
    rows: dict[int, list[Label]] = {}
    source = diagnostic.source
    for span, text in diagnostic.related:
        _add(rows, source, span, text, False)
    _add(rows, source, diagnostic.span, "", True)
    return rows


def _add(rows: dict[int, list[Label]], source: Source, span: Span, text: str, primary: bool) -> None:
    first = source.row(span.start)
    last = max(source.row(max(span.end - 1, span.start)), first)
    numbers = list(range(first, last + 1))
    if len(numbers) > MOST_ROWS:
        numbers = [first, first + 1, last]
    for row in numbers:
        line = source.line(row)
        start = max(span.start, line.start)
        end = min(span.end, max(source.full_line(row).end, line.start))
        if row != first:  # without the indentation
            body = source.text[line.start : line.end]
            start = min(line.start + len(body) - len(body.lstrip()), max(end - 1, start))
        if end > line.end and span.start < line.end:
            end = line.end
        rows.setdefault(row, []).append(
            Label(start - line.start, max(end - line.start, start - line.start), text if row == last else "", primary)
        )


def _row(source: Source, row: int, labels: list[Label], gutter: int, bar: str, terminal: Terminal) -> list[str]:
    line = source.line(row)
    room = terminal.width - gutter - 4
    most = max((label.end for label in labels), default=0)
    text = source.text[line.start : min(line.end, line.start + most + 8 * room)]  # the rest is never shown
    if most > len(text):  # a label on the newline
        text = source.slice(source.full_line(row)).removesuffix("\n")
    drawn = Line(text, labels, room)
    number = terminal.style("gutter", f"{row:>{gutter}} |")
    out = [f"{number} {drawn.text}".rstrip() if not drawn.text else f"{number} {drawn.text}"]
    out.extend(f"{bar} {under}" for under in drawn.under(terminal))
    return out
