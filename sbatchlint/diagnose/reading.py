"""Reads logs of any size in one pass and in bounded memory, and collects their symptoms.

A second pass over a few places collects the lines around each event.
"""

import re
from collections.abc import Iterator, Sequence
from typing import BinaryIO

from sbatchlint.diagnose.findings import Findings
from sbatchlint.diagnose.lines import LONGEST_LINE, read_last, read_line
from sbatchlint.diagnose.symptom import Event

CHUNK = 4 << 20
# The bytes before and after a match that are looked at in a very long line.
AROUND = 2 * LONGEST_LINE
# The bytes at the end of a log in which every line is looked at, even if it repeats others.
END = 8 << 20
# The number of literals of a line that are compared with those of others.
LONGEST_SHAPE = 16
# The context of an event.
CONTEXT_BYTES, CONTEXT_LINES = 32 << 10, 12
# The beginning of a log, where jobs say what they run with.
EARLY_BYTES, EARLY_LINES = 16 << 10, 120

# Control sequences of ECMA-48 that do not move the cursor.
_COLOURS = re.compile(rb"\x1b\[[0-?]*[ -/]*[@-~]")
# A line that fills the terminal, and the next one. Nobody copies larger logs from a terminal.
_WRAPPED = re.compile(rb"(?:\A|(?<=\n))([^\r\n]{79}[^\s=*#-])\r?\n(?=([^\s=*#-][^\r\n]{0,400}))")
LARGEST_WRAPPED = 1 << 20


def read_log(stream: BinaryIO, path: str, file: int, findings: Findings) -> int:
    """Reads a log to its end; returns the number of its lines."""
    rows, base = 1, 0  # the row and the offset at which the buffer begins
    ending = stream.seek(0, 2) - END
    stream.seek(0)
    rest = b""
    while True:
        data = stream.read(CHUNK)
        buffer = rest + data
        cut = len(buffer) if not data else buffer.rfind(b"\n") + 1
        if not cut:  # a longer line: its end waits, so that no match is cut off
            cut = max(len(buffer) - AROUND, 0) if len(buffer) >= CHUNK else 0
        rest = buffer[cut:]
        text, end = buffer, cut
        if buffer.find(b"\x1b[", 0, cut) >= 0:  # colours may be inside words
            text = _COLOURS.sub(b"", buffer[:cut])
            end = len(text)
        findings.secrets.scan(text, end)
        counted, shift = 0, 0
        symptoms = findings.symptoms
        expression = symptoms.expression if base + cut >= ending else symptoms.early
        for start, stop, shape in _matching_lines(text, end, expression):
            passed = text.count(b"\n", counted, start)
            if text is not buffer:  # the offset of the line in the file
                for _ in range(passed):
                    shift = buffer.find(b"\n", shift) + 1
            rows += passed
            counted = start
            offset = base + (start if text is buffer else shift)
            if offset < ending:
                findings.glance(shape, text[start:stop], path, file, rows, offset)
            else:
                findings.look(text[start:stop], path, file, rows, offset)
        rows += text.count(b"\n", counted, end)
        if not base and len(buffer) <= LARGEST_WRAPPED:  # the whole log
            _read_wrapped(buffer, path, file, findings)
        base += cut
        if not data:
            findings.catch_up(path, file)
            return rows if buffer and not buffer.endswith(b"\n") else rows - 1


def _matching_lines(text: bytes, end: int, expression: re.Pattern[bytes]) -> Iterator[tuple[int, int, bytes]]:
    """The start and end of each line with a literal, or part of a very long line; and its shape: the literals."""
    stop = 0
    while match := expression.search(text, stop, end):
        at = match.start()
        first = max(at - AROUND, stop)
        start = text.rfind(b"\n", first, at) + 1 or first
        stop = text.find(b"\n", at, min(at + AROUND, end))
        if stop < 0:
            stop = min(at + AROUND, end)
        yield start, stop, b"\n".join(expression.findall(text, at, stop)[:LONGEST_SHAPE])


def _read_wrapped(buffer: bytes, path: str, file: int, findings: Findings) -> None:
    """Looks for messages wrapped by a terminal of 80 columns, in a log that was copied from one."""
    for match in _WRAPPED.finditer(buffer):
        row = buffer.count(b"\n", 0, match.start(1)) + 1
        findings.look_wrapped(match[1], match[2], path, file, row, match.start(1))


def add_context(stream: BinaryIO, events: Sequence[Event]) -> None:
    """Sets the lines around the events of one log, only those of the same task if lines have labels; and the first."""
    early = _early(stream) if events else ()
    for event in events:
        event.early = early[: event.row - 1]
        first = max(event.offset - CONTEXT_BYTES, 0)
        stream.seek(first)
        data = stream.read(event.offset - first + CONTEXT_BYTES)
        before = data[: event.offset - first].split(b"\n")
        after = data[event.offset - first :].split(b"\n")
        if event.symptom.tells_end:
            event.output = last_output(before[:-1], event.row)
        above: list[str] = []
        for raw in reversed(before[:-1][-400:]):
            line = read_last(raw)
            event.time = event.time or line.time
            event.before = event.before or line.time
            if line.label == event.label and line.text:
                above.append(line.text)
                if len(above) == CONTEXT_LINES * 4:
                    break
        event.above = tuple(reversed(above))
        if len(before) > 1 and _goes_on(before[-2], event):
            event.rows = (event.row - 1, event.row)
        below: list[str] = []
        indent = event.text[: len(event.text) - len(event.text.lstrip())]
        wanted = event.symptom.below
        if wanted is not None and not re.search(wanted.after, event.text):
            wanted = None
        for row, raw in enumerate(after[1:400], event.row + 1):
            line = read_last(raw)
            if line.label != event.label or not line.text:
                continue
            if len(below) < CONTEXT_LINES:
                below.append(line.text)
            elif wanted is None or not wanted.instead:
                break
            if wanted is not None:
                text = line.text.removeprefix(indent)
                if len(indent) > 1 and text is line.text:
                    wanted = None  # the end of what is quoted there
                elif match := re.search(wanted.pattern, text):
                    _announced(event, text, row, match, wanted.instead)
                    wanted = None
        event.below = tuple(below)


# The last lines of output before the message that a process ended.
OUTPUT_LINES = 12


def last_output(lines: Sequence[bytes], row: int, most: int = OUTPUT_LINES) -> tuple[tuple[int, str, str], ...]:
    """The last lines of a log before a row, of whatever task: their rows, labels and texts."""
    found: list[tuple[int, str, str]] = []
    for back, raw in enumerate(reversed(lines[-100:]), 1):
        line = read_last(raw)
        if line.text.strip():
            found.append((row - back, line.label, line.text))
            if len(found) == most:
                break
    return tuple(reversed(found))


def _early(stream: BinaryIO) -> tuple[str, ...]:
    """The first lines of a log, of whatever task; a line that is cut is left out."""
    stream.seek(0)
    lines = stream.read(EARLY_BYTES).split(b"\n")[:-1]
    return tuple(read_last(raw).text for raw in lines[:EARLY_LINES])


def _goes_on(before: bytes, event: Event) -> bool:
    """Whether a sentence on the line before continues on that of the event."""
    if not re.match(r"[a-z]+ ", event.text) or len(before) >= LONGEST_LINE:
        return False
    above = read_line(before)
    return above.label == event.label and re.search(r"^[A-Z].*[\w\"'],?$", above.text) is not None


def _announced(event: Event, text: str, row: int, match: re.Match[str], instead: bool) -> None:
    """Sets the message of an event that is on a later line."""
    event.groups = {**event.groups, **{name: value for name, value in match.groupdict().items() if value}}
    if instead:
        event.last += row - event.row
        event.text, event.row, event.rows = text, row, (row,)
    else:
        event.text, event.rows = f"{event.text} {text.strip()}"[:LONGEST_LINE], (event.row, row)
