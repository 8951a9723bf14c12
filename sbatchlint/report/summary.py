"""The summary line, and the statistics."""

import json
from typing import NamedTuple

from sbatchlint.configuration import LEVELS
from sbatchlint.diagnostics import Diagnostic
from sbatchlint.report.cells import wrap
from sbatchlint.report.model import Report
from sbatchlint.report.terminal import Terminal
from sbatchlint.slurm.versions import OLDEST_USUAL
from sbatchlint.source.numbers import counted

# The maximum number of checks that the summary names as those whose findings were repaired.
_MOST_CODES = 4


def summary(report: Report, terminal: Terminal, wrapped: bool = True, explained: bool = False) -> str:
    """`3 findings (1 error, 2 warnings) in 2 of 41 scripts; 2 fixable with --fix, 1 more with --unsafe-fixes`.

    `explained`: it ends with the command that explains the first of the worst findings.
    """
    found = report.diagnostics
    left = " left" if report.fixed else ""
    all_of_them = (counted(len(found), "finding") if found else "no findings") + left
    parts = [_fixed(report)] if report.fixed else []
    scripts = counted(report.scripts, "script")
    if found:
        files = len({each.source.path for each in found})
        parts.append(f"{all_of_them} ({by_severity(found)}) in {files} of {scripts}")
    else:
        parts.append(f"{all_of_them} in {scripts}")
    safe = sum(each.fix is not None and each.fix.safe for each in found)
    unsafe = sum(each.fix is not None and not each.fix.safe for each in found)
    if safe and unsafe:
        parts.append(f"{safe} fixable with --fix, {unsafe} more with --unsafe-fixes")
    elif safe:
        parts.append(f"{safe} fixable with --fix")
    elif unsafe:
        parts.append(f"{unsafe} fixable with --fix --unsafe-fixes")
    if report.ignored:
        parts.append(f"{report.ignored} ignored")
    if report.known:
        parts.append(f"{report.known} in the baseline")
    if report.hidden:
        plural = "finding" if report.hidden == 1 else "findings"
        below = f"info {plural}" if report.least == "warning" else f"{plural} below {report.least}"
        parts.append(f"{report.hidden} {below} not shown (--min-severity info)")
    if report.dated:
        are_hidden = report.hidden and not any(each.dated for each in found)
        which = "of these" if are_hidden else "of all findings" if report.hidden else "of the findings"
        matters = f"1 {which} matters" if report.dated == 1 else f"{report.dated} {which} matter"
        parts.append(f"{matters} only on Slurm before {OLDEST_USUAL}; set slurm-version to hide or raise these")
    if found and explained:
        code = worst(found).code
        why = "why" if all(each.code == code for each in found) else f"why {code}"
        parts.append(f"{why}: `sbatchlint explain {code}`")
    text = "; ".join(parts)
    if wrapped:
        text = "\n  ".join(wrap(text, terminal.width - 2, terminal.width))
    return text.replace(all_of_them, terminal.style("bold", all_of_them), 1) + "\n"


def _fixed(report: Report) -> str:
    """`3 fixed (SB101, SB108)`; of many checks only the number, and the option that names them."""
    codes = list(dict.fromkeys(sorted(report.repaired)))
    if not codes:
        return f"{report.fixed} fixed"
    return f"{report.fixed} fixed ({', '.join(codes) if len(codes) <= _MOST_CODES else '--show-fixes names them'})"


def by_severity(found: list[Diagnostic]) -> str:
    """`1 error, 2 warnings`."""
    severities = [each.severity for each in found]
    numbers = [(severity, severities.count(severity)) for severity in ("error", "warning", "info")]
    return ", ".join(
        counted(number, severity) if severity != "info" else f"{number} info" for severity, number in numbers if number
    )


class Row(NamedTuple):
    """The findings of a check: the first of the worst, their severities where these differ, how many, in how many
    files, and whether --fix repairs some."""

    worst: Diagnostic
    severities: str
    findings: int
    files: int
    safe: bool


def statistics(report: Report, terminal: Terminal) -> str:
    """The number of findings by check, highest first, and of their files; `[*]` if some have a safe fix."""
    rows = by_check(report)
    room = max((len(str(row.findings)) for row in rows), default=0)
    wide = max((len(counted(row.files, "file")) for row in rows), default=0)
    lines = []
    for row in rows:
        severity = row.worst.severity
        files = counted(row.files, "file")
        lines.append(
            f"{row.findings:>{room}} in {files:<{wide}} {terminal.style(severity, f'{severity:<7}')}"
            f" {'[*]' if row.safe else '   '} {terminal.link(row.worst.url, f'{row.worst.code} {row.worst.name}')}"
            f"{f' ({row.severities})' if row.severities else ''}\n"
        )
    return "".join(lines)


def statistics_json(report: Report) -> str:
    """The statistics as a JSON list."""
    rows = [
        {
            "code": row.worst.code,
            "name": row.worst.name,
            "severity": row.worst.severity,
            "count": row.findings,
            "files": row.files,
        }
        for row in by_check(report)
    ]
    return json.dumps(rows, indent=2) + "\n"


def by_check(report: Report) -> list[Row]:
    """The checks that found something, the highest number first."""
    checks: dict[str, list[Diagnostic]] = {}
    for each in report.diagnostics:
        checks.setdefault(each.code, []).append(each)
    rows = [
        Row(
            worst(found),
            by_severity(found) if len({each.severity for each in found}) > 1 else "",
            len(found),
            len({each.source.path for each in found}),
            any(each.fix is not None and each.fix.safe for each in found),
        )
        for found in checks.values()
    ]
    return sorted(rows, key=lambda row: (-row.findings, row.worst.code))


def worst(found: list[Diagnostic]) -> Diagnostic:
    """The first finding of the highest severity."""
    return max(found, key=lambda each: LEVELS.index(each.severity))
