"""A line of a script with labels below it."""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from itertools import accumulate
from typing import NamedTuple

from sbatchlint.report.cells import escape, shown, width, wrap
from sbatchlint.report.terminal import Terminal

_CUT = "..."
_CONTEXT = 16  # cells kept before a label in a cut line
CUT_ROOM = 2 * len(_CUT)


class Label(NamedTuple):
    """A label on characters `start` to `end` of a line; an empty range is a place between two characters."""

    start: int
    end: int
    text: str
    primary: bool


class Line:
    """A line in `room` cells, escaped, and cut around its labels if it is too long."""

    __slots__ = ("_labels", "room", "text")

    def __init__(self, string: str, labels: list[Label], room: int) -> None:
        self.room = room
        string, labels = _around(string, labels, 4 * room)
        is_plain = string.isascii() and string.isprintable()
        if is_plain and len(string) <= room:  # most lines: each character is shown in one cell
            self.text = string
            self._labels = [_shown_as(label, label.start, label.end, len(string)) for label in labels]
            return
        drawn: Sequence[str] = string
        columns: Sequence[int] = range(len(string) + 1)
        if not is_plain:
            cells = [shown(character) for character in string]
            drawn, columns = [cell for cell, _ in cells], [0, *accumulate(size for _, size in cells)]
        total = columns[-1]
        self.text = ""
        # for each shown part: its start and end in the line, and its first cell
        parts: list[tuple[int, int, int]] = []
        for left, right in self._windows(labels, columns, total):
            first, last = bisect_left(columns, left), bisect_right(columns, right) - 1
            if first > (parts[-1][1] if parts else 0):
                self.text += _CUT
            parts.append((first, last, width(self.text)))
            self.text += "".join(drawn[first:last])
        end_of_text = width(self.text)
        if parts[-1][1] < len(drawn):
            self.text += _CUT

        def cell_of(index: int, begin: int) -> int:
            """The cell of the place `index`, in the part with the character `begin`."""
            first, last, at = next((part for part in reversed(parts) if part[0] <= begin), parts[0])
            return at + columns[min(max(index, first), last)] - columns[first]

        self._labels = []
        for label in labels:
            start, end = min(label.start, len(drawn)), min(label.end, len(drawn))
            left, right = cell_of(start, start), cell_of(end, max(end - 1, start))
            self._labels.append(_shown_as(label, left, right, end_of_text))

    def _windows(self, labels: list[Label], columns: Sequence[int], total: int) -> list[tuple[int, int]]:
        """The shown ranges of cells: one, or one around each label if they are too far apart."""
        only = self._window(labels, columns, total)
        size = len(columns) - 1
        places = sorted({(columns[min(each.start, size)], columns[min(each.end, size)]) for each in labels})
        if all(only[0] <= start and end <= only[1] for start, end in places) or len(places) < 2:
            return [only]
        room = (self.room - len(_CUT) * (len(places) + 1)) // len(places)
        if room < _CONTEXT:
            return [only]
        windows: list[tuple[int, int]] = []
        for start, end in places:
            left = max(min(start - _CONTEXT // 2, total - room), 0)
            if end > left + room:
                left = max(min(end - room, start), 0)
            right = min(left + room, total)
            if windows and left <= windows[-1][1] + len(_CUT):
                left, right = windows.pop()[0], max(right, left)
            windows.append((left, right))
        # the first part gets the remaining cells
        spare = self.room - len(_CUT) * (len(windows) + 1) - sum(right - left for left, right in windows)
        (left, right), *more = windows
        return [(left, min(right + spare, more[0][0] if more else total)), *more]

    def _window(self, labels: list[Label], columns: Sequence[int], total: int) -> tuple[int, int]:
        """The shown range of cells, if there is only one."""
        if total <= self.room:
            return 0, total
        size = len(columns) - 1
        room = self.room - CUT_ROOM
        if not labels:
            return 0, room
        low = columns[min(min(label.start for label in labels), size)]
        high = columns[min(max(label.end for label in labels), size)]
        if high - low > room:
            main = next((label for label in labels if label.primary), labels[0])
            low, high = columns[min(main.start, size)], columns[min(main.end, size)]
        left = max(min(low - _CONTEXT, total - room), 0)
        if high > left + room:
            left = max(min(high - room, low), 0)
        if left <= len(_CUT):
            left = 0
        return left, min(left + room, total)

    def under(self, terminal: Terminal) -> list[str]:
        """The lines below: underlines, then the texts of the labels."""
        if not self._labels:
            return []
        size = max(label.end for label in self._labels)
        marks = [" "] * size
        styles = [""] * size
        for label in sorted(self._labels, key=lambda label: label.primary):
            columns = label.end - label.start
            marks[label.start : label.end] = ("^" if label.primary else "-") * columns
            styles[label.start : label.end] = ["error" if label.primary else "related"] * columns
        line = _styled(marks, styles, terminal)
        pending = sorted((label for label in self._labels if label.text), key=lambda label: (label.start, label.end))
        if pending and pending[-1].end == size and size + 1 + width(pending[-1].text) <= self.room:
            last = pending.pop()
            line += " " + terminal.style("related", escape(last.text))
        lines = [line]
        if pending:
            lines.append(self._stems(pending, "", terminal))
        while pending:
            label = pending.pop()
            texts = wrap(escape(label.text), max(self.room - label.start, 24))
            for number, text in enumerate(texts):
                padding = label.start
                if padding + width(text) > self.room:
                    padding = max(self.room - width(text), 0)
                stems = [other for other in pending if other.start < padding] if number or pending else []
                lines.append(self._stems(stems, text, terminal, padding))
        return lines

    @staticmethod
    def _stems(labels: list[Label], text: str, terminal: Terminal, column: int = 0) -> str:
        out = ""
        at = 0
        for start in sorted({label.start for label in labels}):
            out += " " * (start - at) + terminal.style("related", "|")
            at = start + 1
        if text:
            out += " " * (column - at) + terminal.style("related", text)
        return out


def _shown_as(label: Label, left: int, right: int, most: int) -> Label:
    """The label in cells of a line of `most` cells, at least one cell wide."""
    left = min(left, most)
    return Label(left, max(min(right, most), left + 1), label.text, label.primary)


def _around(text: str, labels: list[Label], more: int) -> tuple[str, list[Label]]:
    """The parts of a line around its labels, with `more` characters on both sides, and the labels moved to them.

    The text between labels that are farther apart is never shown.
    """
    if len(text) <= more:
        return text, labels
    parts: list[tuple[int, int]] = []
    for start, end in sorted((each.start, each.end) for each in labels) or [(0, 0)]:
        low, high = max(start - more, 0), end + more
        if parts and low <= parts[-1][1]:
            before = parts.pop()
            low, high = before[0], max(before[1], high)
        parts.append((low, high))
    starts = [low for low, _ in parts]
    gaps = [low - high for low, high in zip(starts, (0, *(high for _, high in parts)), strict=False)]
    removed = list(accumulate(gaps))
    moved = [(each, removed[bisect_right(starts, each.start) - 1]) for each in labels]
    return "".join([text[low:high] for low, high in parts]), [
        label._replace(start=label.start - before, end=label.end - before) for label, before in moved
    ]


def _styled(marks: list[str], styles: list[str], terminal: Terminal) -> str:
    if not terminal.colour:
        return "".join(marks)
    out = ""
    at = 0
    while at < len(marks):
        end = at
        while end < len(marks) and styles[end] == styles[at]:
            end += 1
        run = "".join(marks[at:end])
        out += terminal.style(styles[at], run) if styles[at] else run
        at = end
    return out
