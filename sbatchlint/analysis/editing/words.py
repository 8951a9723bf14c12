"""The places of a script's words in the file, and the commands that get them."""

import re
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from itertools import accumulate
from operator import itemgetter
from typing import NamedTuple

from sbatchlint.bash.syntax.tree import ArrayLiteral, Assignment, Heredoc, Literal, Simple, Word
from sbatchlint.bash.syntax.walk import nodes_of
from sbatchlint.bash.trace import Invocation
from sbatchlint.job import Job
from sbatchlint.job.once import once
from sbatchlint.programs import has_trait
from sbatchlint.source.text import Nested, Span


class Place(NamedTuple):
    """The offset at which an option may be added. `in_string`: within quotes, so that only plain words fit there.

    `separator`: what separates the options there. `start`: where the previous option begins. `shared`: whether it is
    not among the words of the command itself, so that other commands may get them too.
    """

    offset: int
    separator: str
    start: int
    in_string: bool
    shared: bool


class WordRow(NamedTuple):
    """The words of a command or the elements of an array (`owner`), and the index of one of them (`at`)."""

    owner: Simple | ArrayLiteral
    words: Sequence[Word | Assignment]
    at: int

    def last(self, with_value: bool) -> Word | Assignment | None:
        """The last word of an option that begins here; None where its value is missing."""
        last = self.at + with_value
        return self.words[last] if last < len(self.words) else None


class ScriptWords:
    """The words of a script by their places in the file.

    The words of a statement are collected when one of its places is first requested.
    """

    def __init__(self, job: Job) -> None:
        self.job = job
        self._rows: dict[int, WordRow] = {}  # by the identity of a word
        self._heredocs: set[int] = set()
        self._statements = job.program.statements if job.text.is_plain else ()
        self._starts = [job.text.start + statement.start for statement in self._statements]
        self._nested: dict[int, Nested[Word]] = {}

    def at(self, offset: int) -> Word | None:
        """The innermost word that holds a character of the file; None if there is none."""
        number = bisect_right(self._starts, offset) - 1
        # the body of a heredoc follows the rest of its line, which may have other statements
        for statement in (number, -1):  # all words of the script only if need be
            for word in self._words_of(statement).around(Span(offset, offset + 1)):
                return word
        return None

    def row(self, word: Word) -> WordRow | None:
        """The row of a word that `at` has returned; None for a word of neither a command nor an array."""
        return self._rows.get(id(word))

    def quote_around(self, offset: int) -> str:
        """The quote that begins the word around a character; "" if there is none."""
        word = self.at(offset)
        start = offset if word is None else self.span(word).start
        return quote if start < offset and (quote := self.job.source.text[start : start + 1]) in ('"', "'") else ""

    def span(self, word: Word) -> Span:
        return self.job.span(word.start, word.end)

    def after_option(self, start: int, with_value: bool, command: Span) -> Place | None:
        """The place after the option that begins at `start`, for the command at `command`; None if there is none."""
        word = self.at(start)
        if word is None:
            return None
        row = self.row(word)
        if row is not None and self._is_whole(word, start):
            last = row.last(with_value)
            span = None if last is None else self.job.span(word.start, last.end)
            if isinstance(row.owner, ArrayLiteral):
                if span is None:
                    return None
                separator = self._separator(span, "")
                offset = span.end if separator == " " else self.job.source.line_of(span.end).end
                return Place(offset, separator, start, False, True)
            if self.span(word).start >= command.start:
                if span is None or not command.contains(span):
                    return None
                return Place(span.end, self._separator(span, " \\"), start, False, False)
        end = self._end_in_string(word, start, with_value)
        return None if end is None else Place(end, self._separator(Span(start, end), " \\"), start, True, True)

    def removal(self, start: int, with_value: bool, command: Span) -> tuple[Span, bool] | None:
        """What to remove for an option that begins at `start`, and whether other commands may have these words too.

        None where it is not whole words of the command or of an array, or follows a comment.
        """
        word = self.at(start)
        row = None if word is None or not self._is_whole(word, start) else self.row(word)
        last = None if row is None else row.last(with_value)
        if word is None or row is None or last is None:
            return None
        shared = isinstance(row.owner, ArrayLiteral)
        if not shared and not command.start <= self.span(word).start < command.end:
            return None
        if not row.at:
            after = list(row.words).index(last) + 1
            return self.job.span(word.start, row.words[after].start if after < len(row.words) else last.end), shared
        gap = self.job.span(row.words[row.at - 1].end, word.start)
        if self.job.source.slice(gap).replace("\\\n", "").strip():
            return None
        return Span(gap.start, self.job.span(word.start, last.end).end), shared

    def _words_of(self, number: int) -> Nested[Word]:
        """The words of the statement with this index; for -1, of the whole script."""
        if number in self._nested:
            return self._nested[number]
        tree = self.job.program if number < 0 else self._statements[number]
        rows: list[tuple[Simple | ArrayLiteral, Sequence[Word | Assignment]]] = []
        rows.extend((command, command.words) for command in nodes_of(tree, Simple))
        rows.extend((array, array.elements) for array in nodes_of(tree, ArrayLiteral))
        for owner, words in rows:
            self._rows.update((id(word), WordRow(owner, words, index)) for index, word in enumerate(words))
        self._heredocs.update(id(heredoc.body) for heredoc in nodes_of(tree, Heredoc))
        found = self._nested[number] = Nested((self.span(word), word) for word in reversed(nodes_of(tree, Word)))
        return found

    def _is_whole(self, word: Word, start: int) -> bool:
        """Whether an option that begins at `start` is the whole of its word."""
        before = self.job.source.text[self.span(word).start : start]
        return not before.strip("\"'") and not any(
            isinstance(part, Literal) and re.search(r"\s--?\w", part.text) for part in word.parts
        )

    def _separator(self, span: Span, continuation: str) -> str:
        """What separates options: a space, or a line break where each has its own line."""
        source = self.job.source
        if source.row(span.start) != source.row(span.end):
            return " "
        line = source.line_of(span.start)
        before = source.text[line.start : span.start]
        after = source.text[span.end : line.end].strip()
        is_last = not after or (after == "\\" if continuation else after.startswith("#"))
        return f"{continuation}\n{before}" if is_last and not before.strip() else " "

    def _end_in_string(self, word: Word, start: int, with_value: bool) -> int | None:
        """Where an option within a string ends; None where nothing can be inserted after it."""
        heredoc = id(word) in self._heredocs
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


words_of = once(ScriptWords)


def commands_with(job: Job, offset: int) -> list[Invocation]:
    """The commands whose words include a character of the file, in order."""
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
    """The pieces of all words in order: their starts, how far each and the earlier ones reach, and the pieces."""
    pieces = [(each.start, each.end, command) for command in job.invocations for word in command.argv for each in word]
    pieces.sort(key=itemgetter(0))
    return [start for start, _, _ in pieces], list(accumulate((end for _, end, _ in pieces), max)), pieces


def reaches_only(job: Job, offset: int, commands: Iterable[Invocation]) -> bool:
    """Whether only these commands get a character of the file, but for commands that start them or print it."""
    wanted = {id(command) for command in commands}
    for command in commands_with(job, offset):
        if id(command) in wanted or has_trait(command.name, "prints"):
            continue
        if not any(id(child) in wanted and _holds(child, offset) for child in command.descendants()):
            return False
    return True


def _holds(command: Invocation, offset: int) -> bool:
    return any(piece.start <= offset < piece.end for field in command.argv for piece in field)
