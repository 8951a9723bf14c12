"""The summary line, and the statistics."""

import json
from collections import Counter

from sbatchlint.diagnostics import Diagnostic
from sbatchlint.report.cells import wrap
from sbatchlint.report.model import Report
from sbatchlint.report.terminal import Terminal
from sbatchlint.slurm.versions import OLDEST_USUAL


def count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def summary(report: Report, terminal: Terminal, wrapped: bool = True) -> str:
    """`3 findings (1 error, 2 warnings) in 2 of 41 scripts; 2 fixable with --fix, 1 more with --unsafe-fixes`."""
    found = report.diagnostics
    left = " left" if report.fixed else ""
    counted = (count(len(found), "finding") if found else "no findings") + left
    parts = [f"{report.fixed} fixed"] if report.fixed else []
    scripts = count(report.scripts, "script")
    if found:
        severities = []
        for severity in ("error", "warning", "info"):
            number = sum(each.severity == severity for each in found)
            if number:
                severities.append(count(number, severity) if severity != "info" else f"{number} info")
        files = len({each.source.path for each in found})
        parts.append(f"{counted} ({', '.join(severities)}) in {files} of {scripts}")
    else:
        parts.append(f"{counted} in {scripts}")
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
        below = "of severity info" if report.least == "warning" else f"below {report.least}"
        parts.append(f"{report.hidden} {below} not shown (--min-severity info)")
    if report.dated:
        holds = "1 holds" if report.dated == 1 else f"{report.dated} hold"
        parts.append(f"{holds} only before Slurm {OLDEST_USUAL}: if you have such a release, set slurm-version")
    text = "; ".join(parts)
    if wrapped:
        text = "\n  ".join(wrap(text, terminal.width - 2, terminal.width))
    return text.replace(counted, terminal.style("bold", counted), 1) + "\n"


def statistics(report: Report, terminal: Terminal) -> str:
    """The number of findings by check, highest first; `[*]` if some have a safe fix."""
    safe = {each.code for each in report.diagnostics if each.fix is not None and each.fix.safe}
    rows = _by_check(report)
    room = max((len(str(number)) for _, number in rows), default=0)
    lines = []
    for diagnostic, number in rows:
        mark = "[*]" if diagnostic.code in safe else "   "
        styled = terminal.style(diagnostic.severity, f"{diagnostic.severity:<7}")
        lines.append(
            f"{number:>{room}} {styled} {mark}"
            f" {terminal.link(diagnostic.url, f'{diagnostic.code} {diagnostic.name}')}\n"
        )
    return "".join(lines)


def statistics_json(report: Report) -> str:
    """The statistics as a JSON list."""
    rows = [
        {"code": diagnostic.code, "name": diagnostic.name, "severity": diagnostic.severity, "count": number}
        for diagnostic, number in _by_check(report)
    ]
    return json.dumps(rows, indent=2) + "\n"


def _by_check(report: Report) -> list[tuple[Diagnostic, int]]:
    """The first finding and the number of findings of each check, highest number first."""
    counts = Counter(each.code for each in report.diagnostics)
    first = {each.code: each for each in reversed(report.diagnostics)}
    return sorted(((first[code], number) for code, number in counts.items()), key=lambda row: (-row[1], row[0].code))
