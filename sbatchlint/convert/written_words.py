"""The words of a command as written in the script, with quotes and variables."""

from collections.abc import Sequence
from itertools import pairwise

from sbatchlint.analysis.editing.words import words_of
from sbatchlint.bash.syntax.tree import ArrayLiteral, Simple, Word
from sbatchlint.bash.syntax.walk import nodes_of
from sbatchlint.bash.trace import Invocation
from sbatchlint.bash.values import Pieces, text_of
from sbatchlint.convert.goal import NotConvertible
from sbatchlint.job import Job
from sbatchlint.job.argv import quoted
from sbatchlint.source.text import Span


class WrittenWords:
    """The words of a command in the script itself. Raises `NotConvertible` if one is unknown.

    A word that expands to several (`$DOCKER_OPTIONS`) is replaced by these, if its value is known.
    """

    def __init__(self, job: Job, command: Invocation) -> None:
        self.job = job
        self.command = command
        known = words_of(job)
        name = known.at(command.name_span.start)
        row = None if name is None else known.row(name)
        if row is None or not isinstance(row.owner, Simple) or job.in_quoted_text(command.name_span.start):
            raise NotConvertible(f"{command.name} on line {job.line(command.span.start)} is inside a string")
        words = [word for word in row.words if isinstance(word, Word)]
        first = command
        while first.context.parent is not None and _holds(job, words, first.context.parent.name_span.start):
            first = first.context.parent
        self.first = first
        before = len(first.argv) - len(command.argv)
        self._words = {at - before: word for at, word in _aligned(job, words, first.argv).items()}
        # The elements of an array are used in place of its expansion.
        arrays = nodes_of(job.program, ArrayLiteral)
        spans = {known.span(element): element for array in arrays for element in array.elements}
        owners = [_owner(list(spans), field) for field in command.argv]
        self._elements = {
            at: list(spans.values())[number]
            for at, number in enumerate(owners)
            if number is not None and owners.count(number) == 1
        }

    def span(self, at: int) -> Span | None:
        """The span of the word with this index; None if it is one of several that a word expands to."""
        word = self._words.get(at)
        return None if word is None else self.job.span(word.start, word.end)

    def text(self, at: int) -> str:
        span = self.span(at)
        if span is not None:
            return self.job.source.slice(span).replace("\\\n", "")
        if at in self._elements:
            element = self._elements[at]
            return self.job.source.slice(self.job.span(element.start, element.end))
        known = text_of(self.command.argv[at])
        if known is None:
            raise NotConvertible(f"not all words of {self.command.name} on line {self._line} are known")
        return quoted(known)

    def value(self, at: int, option_at: int) -> str:
        """The value of an option, which is a separate word or follows the name of the option."""
        text = self.text(at)
        if at != option_at:
            return text
        quote = text[:1] if text[:1] in "\"'" else ""
        name, equals, value = text[len(quote) :].partition("=")
        if not name.startswith("--"):  # -v/a:/b, -v=/a:/b
            value = text[len(quote) + 2 :].removeprefix("=")
        elif not equals:
            raise NotConvertible(f"not all words of {self.command.name} on line {self._line} are known")
        return quote + value

    @property
    def _line(self) -> int:
        return self.job.line(self.command.span.start)


def _holds(job: Job, words: Sequence[object], offset: int) -> bool:
    spans = (job.span(each.start, each.end) for each in words if isinstance(each, Word))
    return any(start <= offset < end for start, end in spans)


def _aligned(job: Job, words: list[Word], argv: Sequence[Pieces]) -> dict[int, Word]:
    """The words that expand to exactly one field, by the index of that field.

    A field with literal parts belongs to the word with these. Fields between such fields consist of variables only;
    they belong to one word each if they are as many as the words there.
    """
    spans = [job.span(each.start, each.end) for each in words]
    owners: list[tuple[int, int]] = [(-1, -1)]  # index of a field, and of its word
    for at, field in enumerate(argv):
        number = _owner(spans, field)
        if number is not None:
            owners.append((at, number))
    owners.append((len(argv), len(words)))
    aligned: dict[int, Word] = {}
    for (at, number), (next_at, next_number) in pairwise(owners):
        if next_at - at == next_number - number:
            aligned.update((at + each, words[number + each]) for each in range(1, next_at - at))
            if number >= 0:
                aligned[at] = words[number]
        elif next_number == number:
            aligned.pop(at, None)  # several fields of one word
        elif next_number > number + 1 and number >= 0:
            aligned[at] = words[number]
    several = {number for (_, number), (_, other) in pairwise(owners) if number == other}
    return {at: word for at, word in aligned.items() if words.index(word) not in several}


def _owner(spans: Sequence[Span], field: Pieces) -> int | None:
    """The index of the word that contains a part of a field; None if there is none."""
    places = [each.start if each.expansion is None else each.expansion.span.start for each in field]
    found = (n for n, span in enumerate(spans) if any(span.start <= place < span.end for place in places))
    return next(found, None)
