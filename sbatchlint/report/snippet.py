"""One line of a script with labels underneath."""

from typing import NamedTuple

from sbatchlint.report.cells import escape, shown, width, wrap
from sbatchlint.report.terminal import Terminal

_CUT = "..."
_CONTEXT = 16  # cells before a label that a cut line keeps


class Label(NamedTuple):
    """A label on characters `start` to `end` of a line; an empty range is the place between two characters."""

    start: int
    end: int
    text: str
    primary: bool


class Line:
    """A line in `room` cells: escaped, and cut around its labels where it is too long."""

    __slots__ = ("_labels", "room", "text")

    def __init__(self, text: str, labels: list[Label], room: int) -> None:
        self.room = room
        if text.isascii() and text.isprintable():
            drawn, columns = list(text), list(range(len(text) + 1))
        else:
            drawn, columns = [], [0]
            for character in text:
                cell, size = shown(character)
                drawn.append(cell)
                columns.append(columns[-1] + size)
        total = columns[-1]
        left, right = self._window(labels, columns, total)
        first = next(index for index, column in enumerate(columns) if column >= left)
        last = max(index for index, column in enumerate(columns) if column <= right)
        before = _CUT if first else ""
        after = _CUT if last < len(drawn) else ""
        self.text = before + "".join(drawn[first:last]) + after
        shift = columns[first] - len(before)
        edge = columns[last] - shift
        self._labels = []
        for label in labels:
            start = columns[min(label.start, len(drawn))] - shift
            end = columns[min(label.end, len(drawn))] - shift
            start = min(max(start, len(before)), edge)
            end = min(end, edge)
            self._labels.append(label._replace(start=start, end=max(end, start + 1)))

    def _window(self, labels: list[Label], columns: list[int], total: int) -> tuple[int, int]:
        """The range of cells of the line that is shown."""
        if total <= self.room:
            return 0, total
        size = len(columns) - 1
        room = self.room - 2 * len(_CUT)
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
            for column in range(label.start, label.end):
                marks[column] = "^" if label.primary else "-"
                styles[column] = "error" if label.primary else "related"
        line = _styled(marks, styles, terminal)
        said = sorted((label for label in self._labels if label.text), key=lambda label: (label.start, label.end))
        if said and said[-1].end == size and size + 1 + width(said[-1].text) <= self.room:
            last = said.pop()
            line += " " + terminal.style("related", escape(last.text))
        lines = [line]
        if said:
            lines.append(self._stems(said, "", terminal))
        while said:
            label = said.pop()
            texts = wrap(escape(label.text), max(self.room - label.start, 24))
            for number, text in enumerate(texts):
                padding = label.start
                if padding + width(text) > self.room:
                    padding = max(self.room - width(text), 0)
                stems = [other for other in said if other.start < padding] if number or said else []
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


def _styled(marks: list[str], styles: list[str], terminal: Terminal) -> str:
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
