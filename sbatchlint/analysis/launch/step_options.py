"""Gives an option to the steps of a script: where the words of an srun stand in the file, and where another goes.

The options of an srun may stand on its own line, in an array, or in a string; the edit is made where they stand.
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterable, Sequence
from itertools import accumulate
from operator import itemgetter
from typing import NamedTuple

from sbatchlint.bash.syntax.tree import ArrayLiteral, Assignment, Heredoc, Literal, Simple, Word
from sbatchlint.bash.syntax.walk import nodes_of
from sbatchlint.bash.trace import Invocation
from sbatchlint.bash.values import UNKNOWN_CHARACTER
from sbatchlint.job import Job
from sbatchlint.job.argv import is_plain
from sbatchlint.job.once import once
from sbatchlint.job.srun import StepOption
from sbatchlint.job.steps import Step
from sbatchlint.source.edits import Edit
from sbatchlint.source.text import Span

_HARMLESS = frozenset({"echo", "printf"})


class Place(NamedTuple):
    """Where an option may be put: behind `offset`. `string`: inside quotes, so that only plain words fit there.

    `before`, `after`: what the insertion begins and ends with, for options that stand one a line. `start`: where the
    option in front of it begins. `shared`: not among the words of the command itself.
    """

    offset: int
    before: str
    start: int
    string: bool
    shared: bool


class Words:
    """The words of a script by the place of their characters in the file.

    `simple`: by the identity of a word that `at` gave, its command and its index there; `elements`: the same of arrays.
    A statement is looked at when a place in it is asked for; where it may stand elsewhere than its words, all of them.
    """

    def __init__(self, job: Job) -> None:
        self.job = job
        self.simple: dict[int, tuple[Simple, int]] = {}
        self.elements: dict[int, tuple[ArrayLiteral, int]] = {}
        self.heredocs: set[int] = set()
        self.statements = job.program.statements if job.text.is_plain else ()
        self.begins = [job.text.start + each.start for each in self.statements]
        self.nested: dict[int, _Nested] = {}

    def at(self, offset: int) -> Word | None:
        """The innermost word that holds a character of the file."""
        number = bisect_right(self.begins, offset) - 1
        found = self._looked_at(number).at(offset)
        # the body of a heredoc stands behind what else is on its line
        return self._looked_at(-1).at(offset) if found is None and number >= 0 else found

    def _looked_at(self, number: int) -> "_Nested":
        """The words of the statement of this number, or of the whole script."""
        if number in self.nested:
            return self.nested[number]
        tree = self.job.program if number < 0 else self.statements[number]
        for command in nodes_of(tree, Simple):
            for index, word in enumerate(command.words):
                self.simple[id(word)] = (command, index)
        for array in nodes_of(tree, ArrayLiteral):
            for index, element in enumerate(array.elements):
                self.elements[id(element)] = (array, index)
        self.heredocs.update(id(heredoc.body) for heredoc in nodes_of(tree, Heredoc))
        words = [(self.job.span(each.start, each.end), each) for each in nodes_of(tree, Word)]
        found = self.nested[number] = _Nested(words)
        return found

    def behind(self, start: int, with_value: bool, inside: Span) -> Place | None:
        """The place behind the option that begins at `start`, for the command that stands at `inside`."""
        word = self.at(start)
        if word is None:
            return None
        if id(word) in self.simple and self.job.span(word.start, word.end).start >= inside.start:
            command, index = self.simple[id(word)]
            if self._whole(word, start):
                last = self._next(command.words, index, with_value)
                span = None if last is None else self.job.span(word.start, last.end)
                if span is not None and inside.holds(span):
                    return Place(span.end, self._separator(span, " \\"), start, False, False)
                return None
        if id(word) in self.elements and self._whole(word, start):
            array, index = self.elements[id(word)]
            last = self._next(array.elements, index, with_value)
            if last is None:
                return None
            span = self.job.span(word.start, last.end)
            separator = self._separator(span, "")
            row = self.job.source.line_of(span.end)
            return Place(row.end if separator != " " else span.end, separator, start, False, True)
        end = self._end_in_string(word, start, with_value)
        if end is None:
            return None
        return Place(end, self._separator(Span(start, end), " \\"), start, True, True)

    def removal(self, option: StepOption, inside: Span) -> tuple[Edit, bool] | None:
        """The edit that takes an option with its value out, and whether others than its command have these words.

        None where it is not whole words of the command or of an array, or a comment stands in front of it.
        """
        word = self.at(option.span.start)
        if word is None or not self._whole(word, option.span.start):
            return None
        start = self.job.span(word.start, word.end).start
        row: Sequence[Word | Assignment]
        if id(word) in self.simple and inside.start <= start < inside.end:
            command, index = self.simple[id(word)]
            row, shared = command.words, False
        elif id(word) in self.elements:
            array, index = self.elements[id(word)]
            row, shared = array.elements, True
        else:
            return None
        last = self._next(row, index, option.value_word != option.word)
        if last is None:
            return None
        if not index:
            behind = list(row).index(last) + 1
            end = row[behind].start if behind < len(row) else last.end
            return Edit(self.job.span(word.start, end), ""), shared
        gap = self.job.span(row[index - 1].end, word.start)
        if self.job.source.slice(gap).replace("\\\n", "").strip():
            return None
        return Edit(Span(gap.start, self.job.span(word.start, last.end).end), ""), shared

    def _whole(self, word: Word, start: int) -> bool:
        """Whether an option that begins at `start` is all of its word."""
        string = self.job.source.text
        return all(
            character in "\"'" for character in string[self.job.span(word.start, word.end).start : start]
        ) and not any(isinstance(part, Literal) and re.search(r"\s--?\w", part.text) for part in word.parts)

    @staticmethod
    def _next(words: Sequence[Word | Assignment], index: int, with_value: bool) -> Word | Assignment | None:
        at = index + 1 if with_value else index
        return words[at] if at < len(words) else None

    def _separator(self, span: Span, continuation: str) -> str:
        """What stands between options: a blank, or a line end where each has a line of its own."""
        source = self.job.source
        if source.row(span.start) != source.row(span.end):
            return " "
        line = source.line_of(span.start)
        before = source.text[line.start : span.start]
        behind = source.text[span.end : line.end].strip()
        allowed = ("\\", "") if continuation else ("",)
        if before.strip() or (behind not in allowed and not (not continuation and behind.startswith("#"))):
            return " "
        return f"{continuation}\n{before}"

    def _end_in_string(self, word: Word, start: int, with_value: bool) -> int | None:
        """Where an option that stands inside a string ends; None where nothing can be inserted behind it."""
        heredoc = id(word) in self.heredocs
        words_left = 2 if with_value else 1
        at = None
        for part in word.parts:
            span = self.job.span(part.start, part.end)
            if span.end <= start:
                continue
            if not heredoc and not getattr(part, "quoted", False):
                return None
            if isinstance(part, Literal) and len(part.text) == span.end - span.start:
                begin = max(start - span.start, 0)
                for match in re.finditer(r"\s+", part.text[begin:]):
                    if at is None and match.start() == 0 and begin == 0:
                        words_left -= 1
                        if not words_left:
                            return span.start
                    elif match.start() or at is not None:
                        words_left -= 1
                        if not words_left:
                            return span.start + begin + match.start()
            at = span.end
        return at if words_left == 1 and not heredoc else None


class _Nested:
    """Words with their places, by what holds what."""

    def __init__(self, words: list[tuple[Span, Word]]) -> None:
        words.reverse()
        self.words = sorted(words, key=lambda each: (each[0].start, -each[0].end))
        self.starts = [span.start for span, _ in self.words]
        self.around: list[int] = []  # for each word the one in which it stands, -1 without one
        for number, (span, _) in enumerate(self.words):
            outer = number - 1
            while outer >= 0 and self.words[outer][0].end < span.end:
                outer = self.around[outer]
            self.around.append(outer)

    def at(self, offset: int) -> Word | None:
        """The innermost word that holds a character of the file."""
        found = bisect_right(self.starts, offset) - 1
        while found >= 0 and self.words[found][0].end <= offset:
            found = self.around[found]
        return None if found < 0 else self.words[found][1]


words_of = once(Words)


@once
def _unseen_steps(job: Job) -> bool:
    """Whether the script holds an srun that no way through it was found to run (a function nobody calls)."""
    seen = {each.span.start for each in job.invocations}
    for command in nodes_of(job.program, Simple):
        if command.words and isinstance(command.words[0], Word):
            first = command.words[0]
            if (
                job.text.string[first.start : first.end] == "srun"
                and job.span(first.start, first.end).start not in seen
            ):
                return True
    return False


def knows_all_steps(job: Job) -> bool:
    """Whether every srun of the script is found, and its options are known."""
    return all(step.certain for step in job.steps) and not _unseen_steps(job)


def add_step_option(
    job: Job, steps: Iterable[Step], option: str, behind: Collection[str] = (), *, as_in_file: bool = False
) -> list[Edit] | None:
    """The edits that put an option (as the job's shell must see it, or as the file has it) into these steps.

    It goes behind a step's last option whose name is in `behind`, else behind the word `srun`. None where a step has no
    place for it, or where it would reach other commands. Its dollars are escaped where an outer shell expands the text.
    """
    if "$" in option and not as_in_file and job.directives_expand:
        if job.outer is None or job.outer.directives_expand:
            return None
        option = option.replace("$", "\\$")
    words = words_of(job)
    groups: dict[int, list[Step]] = {}
    for step in steps:
        groups.setdefault(step.invocation.span.start, []).append(step)
    wanted = {id(step) for group in groups.values() for step in group}
    plain = is_plain(option)
    for own_only in (False, True):
        places: dict[int, Place] = {}
        for group in groups.values():
            place = _place(job, words, group, behind, plain, own_only, wanted)
            if place is None:
                return None
            places[place.offset] = place
        starts = sorted(place.start for place in places.values())
        if all(_held(step, starts) == 1 for group in groups.values() for step in group):
            return [Edit(Span(at, at), place.before + option) for at, place in sorted(places.items())]
    return None


def remove_step_option(job: Job, step: Step, option: StepOption) -> Edit | None:
    """The edit that takes an option out of a step; None where its words are not known, or are other commands' too."""
    found = words_of(job).removal(option, step.invocation.span)
    if found is None or found[1] and not _only_these(job, option.span.start, {id(step)}):
        return None
    return found[0]


def commands_with(job: Job, offset: int) -> list[Invocation]:
    """The commands that have a character of the file among their words, in order."""
    starts, latest, pieces = _pieces(job)
    found: dict[int, Invocation] = {}
    at = bisect_right(starts, offset) - 1
    while at >= 0 and latest[at] > offset:
        _, end, command = pieces[at]
        if end > offset:
            found[command.index] = command
        at -= 1
    return [found[index] for index in sorted(found)]


@once
def _pieces(job: Job) -> tuple[list[int], list[int], list[tuple[int, int, Invocation]]]:
    """Where the pieces of all words begin; up to which place these and those before them reach; and themselves."""
    pieces = [(each.start, each.end, command) for command in job.invocations for word in command.argv for each in word]
    pieces.sort(key=itemgetter(0))
    return [start for start, _, _ in pieces], list(accumulate((end for _, end, _ in pieces), max)), pieces


def only_in(job: Job, offset: int, commands: Iterable[Invocation]) -> bool:
    """Whether text of the file reaches these commands only, and what prints it; those that start them have it too."""
    wanted = {id(each) for each in commands}
    for each in commands_with(job, offset):
        if id(each) in wanted or each.name in _HARMLESS:
            continue
        if not any(id(child) in wanted and _holds(child.argv, offset) for child in each.descendants()):
            return False
    return True


def _place(
    job: Job, words: Words, group: list[Step], behind: Collection[str], plain: bool, own_only: bool, wanted: set[int]
) -> Place | None:
    first = group[0]
    for option in reversed(first.given):
        if option.name not in behind or not all(_gives(step, option) for step in group[1:]):
            continue
        place = words.behind(option.span.start, option.value_word != option.word, first.invocation.span)
        if place is None or (place.string and not plain) or (place.shared and own_only):
            continue
        if not place.shared or _only_these(job, place.start, wanted):
            return place
    name = first.invocation.name_span
    if job.source.slice(name) != "srun":
        return None
    place = words.behind(name.start, False, first.invocation.span)
    if place is None or (place.string and not plain) or (place.shared and not _only_these(job, name.start, wanted)):
        return None
    return place._replace(before=" ")


def _gives(step: Step, option: StepOption) -> bool:
    return any(each.name == option.name and each.span.start == option.span.start for each in step.given)


def _held(step: Step, starts: list[int]) -> int:
    """How many of these offsets, which are in order, lie in this step's words."""
    first, last = starts[0], starts[-1]
    pieces = [each for field in step.invocation.argv for each in field if each.start <= last and first < each.end]
    ranges = (range(bisect_left(starts, each.start), bisect_left(starts, each.end)) for each in pieces)
    return len({at for each in ranges for at in each})


def _holds(argv: Sequence[Sequence[object]], offset: int) -> bool:
    return any(getattr(piece, "start", -1) <= offset < getattr(piece, "end", -1) for field in argv for piece in field)


def _only_these(job: Job, offset: int, wanted: set[int]) -> bool:
    """Whether words that stand outside of the commands reach only these steps."""
    steps = {id(step.invocation): step for step in job.steps}
    for each in commands_with(job, offset):
        if each.name in _HARMLESS:
            continue
        step = steps.get(id(each))
        if step is not None:
            if id(step) not in wanted:
                return False
        elif not any(id(child) in steps and _holds(child.argv, offset) for child in each.descendants()):
            return False
    return UNKNOWN_CHARACTER not in job.source.text[offset : offset + 1]
