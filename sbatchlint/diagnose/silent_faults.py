"""Faults of a script of which no log tells: the job ends early, and says nothing."""

from typing import BinaryIO

from sbatchlint.diagnose.answers import Answer, Picture, blaming
from sbatchlint.diagnose.lines import read_last
from sbatchlint.diagnose.reading import last_output
from sbatchlint.diagnose.symptom import Cause, Event, Symptom

# The last lines that may complain.
_LAST = 4
# How much of the end of a log is read for its last line.
_END_BYTES = 65_536

SILENT = Symptom(
    id="nothing-said",
    title="the log reports no failure, but the script has a fault that no log would show",
    docs="""\
A job that ends before its work is done, as COMPLETED: what runs in the background is ended with the script, a step
reads the list that a loop is to read. The line that is shown is the last one of the log.
""",
    printed_by="any program",
    role="warning",
    literals=(),
    patterns=(),
    causes=(
        Cause(
            "ends-early",
            "script",
            "the job ends before its work is done, and no message says so",
            "see the finding",
            codes=("SB801", "SB803", "SB726"),
        ),
    ),
    matches="all workers are started\n",
)


def last_line(stream: BinaryIO, path: str, file: int, row: int) -> Event | None:
    """The last line of a log that is not blank, as an event; `row`: how many lines it has. None for an empty log."""
    size = stream.seek(0, 2)
    start = max(size - _END_BYTES, 0)
    stream.seek(start)
    lines = stream.read(_END_BYTES).split(b"\n")
    if lines and not lines[-1]:
        lines.pop()
    for back, raw in enumerate(reversed(lines)):
        if raw.strip():
            line = read_last(raw)
            event = Event(SILENT, line.text, {}, path, max(row - back, 1), size, file, line.label)
            event.output = last_output(lines[: len(lines) - back], event.row + 1, _LAST)
            return event
    return None


def silent_answers(last: Event | None, picture: Picture | None) -> list[Answer]:
    """The answer for a log that reports no failure, from findings on the script; empty without one."""
    if last is None or picture is None:
        return []
    cause = SILENT.causes[0]
    found = [each for each in picture.findings if each.code in cause.codes and each.severity == "error"]
    if not found:
        return []
    answer = Answer(last, cause, "likely", cause.says, cause.advice)
    return [blaming(answer, found[:1], picture, "likely")]
