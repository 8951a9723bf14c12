"""The events in logs: lines with symptoms."""

import re
from collections.abc import Iterable, Iterator
from itertools import pairwise

from sbatchlint.diagnose.lines import LONGEST_LINE, Line, read_line, segments
from sbatchlint.diagnose.logged_secrets import LoggedSecrets
from sbatchlint.diagnose.pasted import Pasted
from sbatchlint.diagnose.prefilter import compiled, parts
from sbatchlint.diagnose.symptom import Event, Symptom

# The maximum number of lines remembered without their numbers, their length, texts of a symptom, and
# tasks counted.
MOST_KNOWN, LONGEST_KNOWN, MOST_VARIANTS, MOST_TASKS = 20_000, 600, 40, 20_000
# How many lines with the same literals in the same order are looked at; of the others only the last one is.
MOST_ALIKE, MOST_SHAPES = 20_000, 10_000
# Symptoms that count only within this many lines from the end are searched only in the last part of a log.
FEW_LINES = 10
# The maximum number of spaces before a line that is quoted from another log.
DEEPEST = 8
# After this many lines only the first literal is compared, and this many lines with it are looked at.
MOST_LOOKED, FEW_ALIKE = 300_000, 200

_DIGITS = b"0123456789"
# A line of a traceback that quotes the program: the message itself follows.
_SOURCE = re.compile(r" {2,}raise \w")
# Sites put a script in place of Slurm's commands, which are called `sbatch.bin` then.
_BINARY = re.compile(rb"\b(sbatch|srun|salloc|squeue|scontrol|scancel)\.bin: ")
_OWN_NAME = re.compile(r"\b(sbatch|srun|salloc): ")
_NUMBERS = re.compile(r"0x[0-9a-fA-F]+|\b[0-9a-f]{12,}\b|\d+")


def _has_number(pattern: str) -> bool:
    """Whether an expression contains a literal number."""
    return re.search(r"\d", re.sub(r"\\.|\{[\d,]*\}|\[[^\]]*\]|\(\?P<\w+>", "", pattern)) is not None


class Symptoms:
    """The symptoms with their search expressions."""

    def __init__(self, symptoms: Iterable[Symptom]) -> None:
        self.all = list(symptoms)
        found = parts(literal for each in self.all for literal in (*each.literals, *each.recovery))
        named = parts(_OWN_NAME.sub(r"\1.bin: ", each) for each in found if _OWN_NAME.search(each))
        self.expression = compiled([*found.values(), *named.values()])
        # Most of a log is far from its end.
        early = [each for each in self.all if not 0 < each.near_end <= FEW_LINES]
        of_early = parts(literal for each in early for literal in (*each.literals, *each.recovery))
        self.early = compiled([*of_early.values(), *named.values()])
        # The symptoms that depend on a number in the line: an exit code, a rank.
        self.numbered = frozenset(each.id for each in self.all if any(map(_has_number, each.patterns)))
        # By part of a literal the literals, by literal the indexes of its symptoms.
        self._by_part: dict[bytes, dict[bytes, set[int]]] = {}
        for number, symptom in enumerate(self.all):
            for literal in (*symptom.literals, *symptom.recovery):
                by_literal = self._by_part.setdefault(found[literal].encode(), {})
                by_literal.setdefault(literal.encode(), set()).add(number)

    def near(self, raw: bytes) -> list[Symptom]:
        """The symptoms with a literal in this line, in their order."""
        found: set[int] = set()
        match = self.expression.search(raw)
        while match:
            for literal, numbers in self._by_part.get(match[0], {}).items():
                if literal in raw:
                    found |= numbers
            match = self.expression.search(raw, match.start() + 1)
        return [self.all[number] for number in sorted(found)]


class Shape:
    """Lines with the same literals: how many were read, how many wait, and the last one with its row and offset."""

    __slots__ = ("last", "looked", "waiting")

    def __init__(self) -> None:
        self.looked = self.waiting = 0
        self.last: tuple[bytes, int, int] | None = None


class Findings:
    """The events in all logs, by symptom and text, in the order in which they were found."""

    def __init__(self, symptoms: Symptoms) -> None:
        self.symptoms = symptoms
        self.events: dict[tuple[str, str], Event] = {}
        # By symptom, the number of the log and the offset of the last line that cancels it.
        self.recoveries: dict[str, tuple[int, int]] = {}
        self.variants: dict[str, int] = {}
        self.known: dict[bytes, Event | None] = {}
        self.by_number: set[bytes] = set()  # lines that are remembered with their numbers
        self.shapes: dict[bytes, Shape] = {}
        self.glances = 0
        self.lines: dict[str, int] = {}
        self.last: Event | None = None  # the last line of the last log
        self.record: Pasted | None = None
        self.secrets = LoggedSecrets()

    def glance(self, shape: bytes, raw: bytes, path: str, file: int, row: int, offset: int) -> None:
        """Looks at a line, or lets it wait if many lines had the same shape (the literals in it)."""
        most = MOST_ALIKE
        if self.glances >= MOST_LOOKED:
            shape, most = shape.partition(b"\n")[0], FEW_ALIKE
        known = self.shapes.get(shape)
        if known is None:
            if len(self.shapes) >= MOST_SHAPES:
                self.catch_up(path, file)
            known = self.shapes[shape] = Shape()
        if known.looked < most:
            known.looked += 1
            self.glances += 1
            self.look(raw, path, file, row, offset)
        else:
            known.waiting += 1
            known.last = raw, row, offset

    def catch_up(self, path: str, file: int) -> None:
        """Looks at the last waiting line of each shape."""
        for shape in self.shapes.values():
            if shape.last is not None:
                event = self.look(shape.last[0], path, file, *shape.last[1:])
                if event is not None:
                    event.count += shape.waiting - 1
        self.shapes.clear()

    def look(self, raw: bytes, path: str, file: int, row: int, offset: int) -> Event | None:
        """The event in a line with a literal, or in a part of a very long one; None if there is none."""
        key = raw.translate(None, _DIGITS) if len(raw) <= LONGEST_KNOWN else b""
        if key in self.by_number:
            key = raw
        if key and key in self.known:
            event = self.known[key]
            if event is not None:
                _again(event, read_line(raw).label if event.count < MOST_TASKS else "", file, row)
            return event
        found: Event | None = None
        recovered = False
        for part in (part for each in segments(raw) for part in _parts(each, self.symptoms.expression)):
            if b".bin: " in part:
                part = _BINARY.sub(rb"\1: ", part)
            near = self.symptoms.near(part)
            if not near:
                continue
            line = read_line(part)
            if _SOURCE.match(line.text):
                continue
            if key and key is not raw and any(each.id in self.symptoms.numbered for each in near):
                if len(self.by_number) >= MOST_KNOWN:
                    self.by_number.clear()
                self.by_number.add(key)
                key = raw
            for symptom in near:
                if symptom.recovered_by and re.search(symptom.recovered_by, line.text):
                    self.recoveries[symptom.id] = file, offset
                    recovered = True
            found = self._found(near, line, path, file, row, offset) or found
        if key and not recovered:
            if len(self.known) >= MOST_KNOWN:
                self.known.clear()
            self.known[key] = found
        return found

    def _found(
        self, near: Iterable[Symptom], line: Line, path: str, file: int, row: int, offset: int
    ) -> Event | None:  # fmt: skip
        """The event in a line; what a workflow quotes from the log of a task is indented."""
        text = line.text.lstrip()
        is_quoted = 0 < len(line.text) - len(text) <= DEEPEST
        for symptom in near:
            match = symptom.found(line.text)
            if match:
                return self._event(symptom, line, match, path, file, row, offset)
            match = symptom.found(text) if is_quoted and symptom.below is None else None
            if match:
                return self._event(symptom, line._replace(text=text), match, path, file, row, offset)
        return None

    def look_wrapped(self, first: bytes, second: bytes, path: str, file: int, row: int, offset: int) -> None:
        """Looks at two lines that may be one for a symptom that neither has alone."""
        near = self.symptoms.near(first + second)
        if near:
            whole, parts = read_line(first + second), (read_line(first).text, read_line(second).text)
            for symptom in near:
                match = symptom.found(whole.text)
                if match and not any(map(symptom.search, parts)):
                    self._event(symptom, whole, match, path, file, row, offset).rows = (row, row + 1)
                    return

    def _event(
        self, symptom: Symptom, line: Line, match: re.Match[str], path: str, file: int, row: int, offset: int
    ) -> Event:  # fmt: skip
        text = _NUMBERS.sub("0", line.text)
        event = self.events.get((symptom.id, text))
        if event is None and self.variants.get(symptom.id, 0) >= MOST_VARIANTS:
            event = self.events[(symptom.id, "")]
        if event is not None:
            _again(event, line.label, file, row)
            return event
        groups = {name: value for name, value in match.groupdict().items() if value}
        event = Event(symptom, line.text, groups, path, row, offset, file, line.label)
        event.time = line.time
        number = self.variants[symptom.id] = self.variants.get(symptom.id, 0) + 1
        self.events[(symptom.id, "" if number == MOST_VARIANTS else text)] = event
        return event


def _again(event: Event, label: str, file: int, row: int) -> None:
    event.count += 1
    event.files.add(file)
    if file == event.file:
        event.last = max(event.last, row)
    if label:
        event.tasks.add(label)


def _parts(raw: bytes, expression: re.Pattern[bytes]) -> Iterator[bytes]:
    """The line, or the parts of a long line around each literal."""
    if len(raw) <= LONGEST_LINE:
        yield raw
        return
    starts: list[int] = []
    for match in expression.finditer(raw):
        if not starts or match.start() >= starts[-1] + LONGEST_LINE * 3 // 4:
            starts.append(max(match.start() - LONGEST_LINE // 4, 0))
    for start, end in pairwise([*starts, len(raw)]):
        yield raw[start : min(start + LONGEST_LINE, end)]
