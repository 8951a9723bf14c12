"""Reads logs, of whatever size, in one pass and in bounded memory, and keeps what symptoms they hold.

A second look, at a few places only, gathers the lines around each event.
"""

import re
from collections.abc import Iterator, Sequence
from typing import BinaryIO

from sbatchlint.diagnose.findings import Findings
from sbatchlint.diagnose.lines import LONGEST, read_line, segments
from sbatchlint.diagnose.symptom import Event

CHUNK = 4 << 20
# Before and behind a match in a line without an end in sight.
AROUND = 2 * LONGEST
# The end of a log, every line of which is looked at, however often the same was said before.
END = 8 << 20
# Of a line, so many literals count where it is compared with others.
LONGEST_SHAPE = 16
# Around an event.
CONTEXT_BYTES, CONTEXT_LINES = 32 << 10, 12

# Control sequences of ECMA-48 that stay in the line.
_COLOURS = re.compile(rb"\x1b\[[0-?]*[ -/]*[@-~]")
# A line that fills the terminal, and the next one. Of larger logs nobody makes a copy.
_WRAPPED = re.compile(rb"(?:\A|(?<=\n))([^\r\n]{79}[^\s=*#-])\r?\n(?=([^\s=*#-][^\r\n]{0,400}))")
LARGEST_WRAPPED = 1 << 20


def read_log(stream: BinaryIO, path: str, file: int, findings: Findings) -> int:
    """Reads a log to its end; returns how many lines it has."""
    rows, base = 1, 0  # the row and the offset at which the buffer begins
    ending = stream.seek(0, 2) - END
    stream.seek(0)
    rest = b""
    while True:
        data = stream.read(CHUNK)
        buffer = rest + data
        cut = len(buffer) if not data else buffer.rfind(b"\n") + 1
        if not cut:  # a line longer than this: what is behind the place where a match might be cut off waits
            cut = max(len(buffer) - AROUND, 0) if len(buffer) >= CHUNK else 0
        rest = buffer[cut:]
        text, end = buffer, cut
        if buffer.find(b"\x1b[", 0, cut) >= 0:  # colours may stand inside of words
            text = _COLOURS.sub(b"", buffer[:cut])
            end = len(text)
        counted, shift = 0, 0
        symptoms = findings.symptoms
        expression = symptoms.expression if base + cut >= ending else symptoms.early
        for start, stop, shape in _told(text, end, expression):
            passed = text.count(b"\n", counted, start)
            if text is not buffer:  # where the line begins in the log as it lies on disk
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
        if not base and len(buffer) <= LARGEST_WRAPPED:  # all of a log that is no longer
            _read_wrapped(buffer, path, file, findings)
        base += cut
        if not data:
            findings.catch_up(path, file)
            return rows if buffer and not buffer.endswith(b"\n") else rows - 1


def _told(text: bytes, end: int, expression: re.Pattern[bytes]) -> Iterator[tuple[int, int, bytes]]:
    """Where the lines with a literal begin and end, or parts of very long ones; and their shape: the literals."""
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
    """Looks for messages that a terminal of 80 columns has cut in two, in a log that was copied from one."""
    for match in _WRAPPED.finditer(buffer):
        row = buffer.count(b"\n", 0, match.start(1)) + 1
        findings.look_wrapped(match[1], match[2], path, file, row, match.start(1))


def add_context(stream: BinaryIO, events: Sequence[Event]) -> None:
    """Gives the events of one log the lines around them, of the same task where lines say whose they are."""
    for event in events:
        first = max(event.offset - CONTEXT_BYTES, 0)
        stream.seek(first)
        data = stream.read(event.offset - first + CONTEXT_BYTES)
        before = data[: event.offset - first].split(b"\n")
        after = data[event.offset - first :].split(b"\n")
        above: list[str] = []
        for raw in reversed(before[:-1][-400:]):
            line = read_line(segments(raw)[-1] if raw.strip(b"\r") else b"")
            event.time = event.time or line.time
            if line.label == event.label and line.text:
                above.append(line.text)
                if len(above) == CONTEXT_LINES * 4:
                    break
        event.above = tuple(reversed(above))
        if len(before) > 1 and _goes_on(before[-2], event):
            event.rows = (event.row - 1, event.row)
        below: list[str] = []
        wanted = event.symptom.below
        if wanted is not None and not re.search(wanted.after, event.text):
            wanted = None
        for row, raw in enumerate(after[1:400], event.row + 1):
            line = read_line(segments(raw)[-1] if raw.strip(b"\r") else b"")
            if line.label != event.label or not line.text:
                continue
            if len(below) < CONTEXT_LINES:
                below.append(line.text)
            elif wanted is None or not wanted.instead:
                break
            if wanted is not None and (match := re.search(wanted.pattern, line.text)):
                _announced(event, line.text, row, match, wanted.instead)
                wanted = None
        event.below = tuple(below)


def _goes_on(before: bytes, event: Event) -> bool:
    """Whether a sentence that begins on the line right above goes on in that of the event."""
    if not re.match(r"[a-z]+ ", event.text) or len(before) >= LONGEST:
        return False
    above = read_line(before)
    return above.label == event.label and re.search(r"^[A-Z].*[\w\"'],?$", above.text) is not None


def _announced(event: Event, text: str, row: int, match: re.Match[str], instead: bool) -> None:
    """Gives an event the message that stands below its line."""
    event.groups = {**event.groups, **{name: value for name, value in match.groupdict().items() if value}}
    if instead:
        event.last += row - event.row
        event.text, event.row, event.rows = text, row, (row,)
    else:
        event.text, event.rows = f"{event.text} {text.strip()}"[:LONGEST], (event.row, row)
