"""The diagnosis as text: the decisive line, its meaning, the lines of the script with their fix; the rest shortened."""

import os

from sbatchlint.diagnose.answers import Answer, advice_of, codes_of
from sbatchlint.diagnose.places import Place, has_ground
from sbatchlint.diagnose.ranking import Noise
from sbatchlint.diagnose.run import Run
from sbatchlint.diagnose.symptom import Event
from sbatchlint.diagnose.traceback import own_frame
from sbatchlint.report.cells import escape, wrap
from sbatchlint.report.full import render_diagnostic
from sbatchlint.report.model import shown_path
from sbatchlint.report.snippet import Label, Line
from sbatchlint.report.terminal import Terminal
from sbatchlint.source.numbers import counted
from sbatchlint.source.secrets import masked
from sbatchlint.source.text import Source, Span

# The maximum number of messages of noise, lines of the script, and rows of the decisive line that are shown.
MOST_NOISE, MOST_ROWS, MOST_TEXT = 6, 6, 4
_COLOURS = {"certain": "error", "likely": "warning", "possible": "info"}
_WHERE = {
    "script": "the script",
    "cluster": "the cluster: its nodes, network, limits or plugins",
    "submission": "the submission: the command line, or a program that submits",
    "code": "the program that the job runs",
    "data": "the data, or the room for it",
    "unknown": "unknown",
}

SHORT = {
    "script": "the script", "cluster": "the cluster", "submission": "the submission", "code": "the program",
    "data": "the data", "unknown": "unknown",
}  # fmt: skip


def render(run: Run, terminal: Terminal) -> str:
    """The text of a diagnosis."""
    found = run.diagnosis.answers
    lines = [f"note: {_shown(each, run)}" for each in run.notes]
    if not found:
        logs = "1 log" if len(run.logs) == 1 else f"{len(run.logs)} logs"
        where = f"{logs} ({counted(run.lines, 'line')})" if run.logs else "the record of the job"
        lines.append(f"Nothing in {where} says what went wrong.")
        lines.extend(_noise(run.diagnosis.noise, run, terminal))
        return "\n".join(lines) + "\n"
    named = run.places()
    lines.extend(_answer(found[0], run, named[1:], terminal))
    alternatives: list[str] = []
    told = {found[0].says, *(place.why for place in named)}
    for other in found[1:]:
        if other.says in told or not has_ground(other, run.source):
            continue  # a cause is said once
        alternative = f"{_shown(other.says, run)} ({escape(SHORT[other.where])}): {_shown(advice_of(other), run)}"
        alternatives.extend(_field("or", alternative, terminal))
    lines += ["", *alternatives] if alternatives else []
    lines.extend(_noise(run.diagnosis.noise, run, terminal))
    return "\n".join(lines) + "\n"


def _answer(answer: Answer, run: Run, others: list[Place], terminal: Terminal) -> list[str]:
    event = answer.event
    kind = terminal.style(_COLOURS[answer.confidence], f"{answer.confidence}[{event.symptom.id}]")
    lines = [f"{kind} {terminal.style('bold', escape(event.symptom.title))}"]
    gutter = max(len(str(max(event.rows))), 2)
    times = "" if event.count == 1 else f" ({event.count} times{_who(event)})"
    arrow, margin = (terminal.style("gutter", " " * gutter + sign) for sign in ("--> ", " | "))
    number = terminal.style("gutter", f"{event.row:>{gutter}} | ")
    lines.append(f"{arrow}{_shown(shown_path(event.path), run)}:{event.row}{times}")
    frame = own_frame(event.above)
    if frame:
        lines.append(
            margin + terminal.style("dim", Line(masked(frame, run.secrets), [], terminal.width - gutter - 4).text)
        )
    text = _rows(event.text, run, terminal.width - gutter - 4)
    lines.extend((margin if part else number) + each for part, each in enumerate(text))
    lines.append("")
    lines.extend(_field("cause", _shown(answer.says, run), terminal))
    lines.extend(_field("where", _where(answer, run), terminal))
    if not answer.findings:
        lines.extend(_field("advice", _shown(answer.advice, run), terminal))
    for place in others:
        other = next((each for each in run.diagnosis.answers if each.says == place.why), None)
        advice = "" if other is None else f": {_shown(advice_of(other), run)}"
        where = _WHERE[place.where].partition(":")[0]
        lines.extend(_field("or", f"{where}: {_shown(place.why, run)}{advice}", terminal))
    if run.source is not None:
        if answer.findings:
            for finding in answer.findings[:MOST_ROWS]:
                lines.append("")
                lines.extend(masked(render_diagnostic(finding, terminal), run.secrets).rstrip("\n").split("\n"))
        elif answer.spans:
            lines.append("")
            lines.extend(_script(run.source, run.secrets, answer.spans, terminal))
        elif answer.related:
            lines.extend(_field("see", "the lines of the script that have to do with it", terminal))
            lines.extend(_script(run.source, run.secrets, answer.related, terminal))
    return lines


def _where(answer: Answer, run: Run) -> str:
    where = _WHERE[answer.where]
    if run.source is None:
        if answer.where == "submission":
            return "what the job was given: by its script (--script SCRIPT), by the command line, or by a program"
        return where if answer.where != "script" else f"{where}, which was not given (--script SCRIPT)"
    name = escape(shown_path(run.source.path))
    if answer.where != "script":
        return where if answer.spans or answer.related else f"{where}; no line of {name} speaks of it"
    if not answer.proven:
        return f"{where}, {name}, though nothing that is seen in it shows that"
    return f"{where}, {name}" + (f" ({', '.join(codes_of(answer.findings))})" if answer.findings else "")


def _field(name: str, text: str, terminal: Terminal) -> list[str]:
    first, *more = wrap(text, terminal.width - 8)
    return [f"{terminal.style('help', f'{name}:'):<7} {first}", *(" " * 8 + each for each in more)]


def _script(source: Source, secrets: tuple[str, ...], spans: tuple[Span, ...], terminal: Terminal) -> list[str]:
    """The lines of a script with these spans underlined."""
    rows: dict[int, list[Label]] = {}
    for span in spans:
        row = source.row(span.start)
        line = source.line(row)
        rows.setdefault(row, []).append(Label(span.start - line.start, min(span.end, line.end) - line.start, "", True))
    gutter = max(len(str(max(rows))), 2)
    lines = [terminal.style("gutter", " " * gutter + "--> ") + escape(shown_path(source.path))]
    for row in sorted(rows)[:MOST_ROWS]:
        drawn = Line(masked(source.slice(source.line(row)), secrets), rows[row], terminal.width - gutter - 4)
        lines.append(terminal.style("gutter", f"{row:>{gutter}} | ") + drawn.text)
        lines.extend(terminal.style("gutter", " " * gutter + " | ") + under for under in drawn.under(terminal))
    return lines


def _noise(noise: list[Noise], run: Run, terminal: Terminal) -> list[str]:
    """The other messages in the logs, one on each line."""
    if not noise:
        return []
    lines = ["", terminal.style("dim", "not the cause:")]
    for item in noise[:MOST_NOISE]:
        event = item.event
        place = f"line {event.row}" if len(run.logs) == 1 else f"{os.path.basename(event.path)}:{event.row}"
        times = f", {event.count} times" if event.count > 1 else ""
        begin, end = f"  {_shown(place, run)}{times}: ", f" ({item.reason})"
        text = _shown(event.text, run)
        room = max(terminal.width - len(begin) - len(end), 30)
        lines.append(terminal.style("dim", begin + (text if len(text) <= room else text[: room - 3] + "...") + end))
    if len(noise) > MOST_NOISE:
        lines.append(terminal.style("dim", f"  and {len(noise) - MOST_NOISE} more"))
    return lines


def _rows(text: str, run: Run, room: int) -> list[str]:
    """The decisive line on at most `MOST_TEXT` rows."""
    rows = [
        line[at : at + room]
        for line in wrap(_shown(text, run), room)
        for at in range(0, max(len(line), 1), room)  # words that are longer than a row
    ]
    return rows if len(rows) <= MOST_TEXT else [*rows[: MOST_TEXT - 1], rows[MOST_TEXT - 1][: room - 3] + "..."]


def _who(event: Event) -> str:
    if not event.tasks:
        return ""
    some = sorted(event.tasks, key=lambda each: (len(each), each))
    return ": " + escape(", ".join(some[:4])) + (f" and {len(some) - 4} more" if len(some) > 4 else "")


def _shown(text: str, run: Run) -> str:
    return escape(masked(text, run.secrets))
