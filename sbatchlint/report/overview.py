"""What a terminal shows of many findings: the first of each check, their numbers and files, and what to do next."""

import shlex
from collections.abc import Sequence

from sbatchlint.configuration import LEVELS
from sbatchlint.report.cells import escape, width
from sbatchlint.report.full import render_diagnostic
from sbatchlint.report.model import Report, by_file, shown_path
from sbatchlint.report.summary import Row, by_check, summary
from sbatchlint.report.terminal import Terminal
from sbatchlint.slurm.versions import MAJORS
from sbatchlint.source.numbers import counted

# The files with the most findings.
MOST_FILES = 5
# The whole is to be read on so many screens; this many findings are shown in any case.
SCREENS = 2
LEAST_IN_FULL = 3
BASELINE = ".sbatchlint-baseline.json"


def render(report: Report, terminal: Terminal, paths: Sequence[str], is_release_named: bool) -> str:
    """The overview. `paths`: what was named on the command line; `is_release_named`: whether `slurm-version` is set."""
    rows = sorted(by_check(report), key=lambda row: -LEVELS.index(row.worst.severity))
    files = ["", *_files(report, terminal), ""]
    totals = summary(report, terminal).removesuffix("\n").split("\n")
    ending = [*totals, "", *_next_steps(report, rows, terminal, paths, is_release_named)]
    table = [*_checks(rows, terminal), *files]
    first = sum(render_diagnostic(row.worst, terminal).count("\n") + 1 for row in rows[:LEAST_IN_FULL])
    room = SCREENS * terminal.height - len(ending)
    if first + len(table) > room:
        checks = _checks(rows, terminal, whole=False)
        most = max(room - first - len(files), LEAST_IN_FULL + 1)
        if len(checks) > most:
            more = counted(len(checks) - most + 1, "more check")
            checks = [*checks[: most - 1], terminal.style("dim", f"and {more}: sbatchlint --statistics")]
        table = [*checks, *files]
    room -= len(table)
    shown: list[str] = []
    brief: list[str] = []
    for number, row in enumerate(rows):
        lines = render_diagnostic(row.worst, terminal).split("\n")
        if number < LEAST_IN_FULL or not brief and len(lines) <= room - (len(rows) - number - 1):
            shown += lines
        elif room > 0:
            lines = [_in_one_line(row, terminal)]
            brief += lines
        room -= len(lines)
    shown += [*brief, ""] if brief else []
    return "\n".join([*shown, *table, *ending]) + "\n"


def _in_one_line(row: Row, terminal: Terminal) -> str:
    """The first finding of a check, as much of it as fits on a line."""
    worst = row.worst
    place = f"{escape(shown_path(worst.source.path))}:{worst.source.row(worst.span.start)}"
    code = f"{worst.severity}[{worst.code}]"
    room = max(terminal.width - len(code), width(place) + 2)  # a terminal opens a whole place only
    return terminal.style(worst.severity, code) + _beginning(f" {place}: {escape(worst.message)}", room)


def _beginning(text: str, room: int) -> str:
    """The first cells of a text, with dots for the rest."""
    return text if width(text) <= room else f"{_cells(text, room - 3)}..."


def _end(text: str, room: int) -> str:
    """The last cells of a text, with dots for the rest; '' where there is no room for a few."""
    if room < 12:
        return ""
    kept = text
    while width(kept) > room - 3:
        kept = kept[1:]
    return f"...{kept}"


def _cells(text: str, room: int) -> str:
    """As much of the beginning of a text as fits into so many cells."""
    left = room
    for at, character in enumerate(text):
        left -= width(character)
        if left < 0:
            return text[:at]
    return text


def _checks(rows: list[Row], terminal: Terminal, whole: bool = True) -> list[str]:
    """A table of the checks: findings, files, the check, and the place of its first finding.

    `whole`: a long place has a line of its own, otherwise its beginning is left out.
    """
    names = [f"{row.worst.code} {row.worst.name}{' [*]' if row.safe else ''}" for row in rows]
    counts = max(len("findings"), *(len(str(row.findings)) for row in rows))
    files = max(len("files"), *(len(str(row.files)) for row in rows))
    room = max(*map(len, names))
    left = terminal.width - counts - files - len("  warning  ") - room - 4
    titles = f"{'findings':>{counts}}  {'files':>{files}}  {'':<7}  {'[*]: --fix repairs some':<{room}}  {'first'}"
    lines = [terminal.style("dim", titles.rstrip())]
    for name, row in zip(names, rows, strict=True):
        worst = row.worst
        place = f"{escape(shown_path(worst.source.path))}:{worst.source.row(worst.span.start)}"
        styled = terminal.style(worst.severity, f"{worst.severity:<7}")
        check = terminal.link(worst.url, name) + " " * (room - len(name))
        line = f"{row.findings:>{counts}}  {row.files:>{files}}  {styled}  {check}"
        if width(place) > left and not whole:
            place = _end(place, left)
        if width(place) <= left:
            lines.append(f"{line}  {place}")
        else:  # whole, on a line of its own: a terminal opens no part of it
            lines += [line.rstrip(), f"{'':>{counts + files + 4}}{place}"]
    return lines


def _files(report: Report, terminal: Terminal) -> list[str]:
    """The files with the most findings."""
    files = sorted(by_file(report.diagnostics).items(), key=lambda item: (-len(item[1]), item[0]))[:MOST_FILES]
    room = max(len("findings"), *(len(str(len(found))) for _, found in files))
    lines = [terminal.style("dim", f"{'findings':>{room}}  most in one file")]
    for path, found in files:
        errors = sum(each.severity == "error" for each in found)
        told = f" ({counted(errors, 'error')})" if errors else ""
        lines.append(f"{len(found):>{room}}  {escape(shown_path(path))}{told}")
    return lines


def _next_steps(
    report: Report, rows: list[Row], terminal: Terminal, paths: Sequence[str], is_release_named: bool
) -> list[str]:
    """Commands that go on from here, and what each does."""
    named = "".join(f" {shlex.quote(escape(path))}" for path in paths)
    if len(named) > 40:
        named = " ..."
    code = rows[0].worst.code
    safe = sum(each.fix is not None and each.fix.safe for each in report.diagnostics)
    steps = [
        (f"all {len(report.diagnostics)} findings", f"--output-format full{named}"),
        ("those of one check, also of severity info", f"--select {code}{named}"),
        ("why a check exists, with examples", f"explain {code}"),
    ]
    if safe:
        steps.append((f"what --fix repairs ({counted(safe, 'finding')})", f"--diff{named}"))
    if not is_release_named:
        release = MAJORS[-2]
        others = sum(bool(each.versions) and release not in each.versions for each in report.diagnostics)
        if others:
            told = f"for Slurm {release}, if that is yours (hides {counted(others, 'finding')})"
            steps.append((told, f"--slurm-version {release}{named}"))
    if not report.known:
        steps.append(("from now on, only new findings", f"--write-baseline {BASELINE}{named}"))
    room = max(len(told) for told, _ in steps)
    lines = [terminal.style("bold", "what to do next")]
    is_wide = all(width(f"  {told:<{room}}  sbatchlint {command}") <= terminal.width for told, command in steps)
    for told, command in steps:
        if is_wide:
            lines.append(f"  {told:<{room}}  sbatchlint {command}")
        else:
            lines += [f"  {told}", f"      sbatchlint {command}"]
    return lines
