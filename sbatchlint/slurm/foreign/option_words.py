"""Parses the options of foreign directives like getopt_long(), and collects their translations."""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from sbatchlint.slurm.getopt import UNKNOWN
from sbatchlint.slurm.lines import DirectiveLine, Readable, Token
from sbatchlint.slurm.model import ForeignSetting, Problem
from sbatchlint.slurm.options import find
from sbatchlint.source.text import Span

# sbatch's message for anything that getopt refuses, after getopt's own.
UNRECOGNIZED = "Unrecognized command line parameter ?"


class Dialect(NamedTuple):
    """The options of another scheduler that sbatch translates.

    `letters`: those with a value, and those without (`flags`). `names`: the letter of each long name.
    `optional`: long names whose value may be missing. `spellings`: words with one dash that stand for another.
    """

    letters: str
    flags: str
    names: Mapping[str, str]
    optional: frozenset[str] = frozenset()
    spellings: Mapping[str, str] = {}


class ForeignOption(NamedTuple):
    """An option of a foreign directive.

    `value`: None for a flag; it is in `value_token` from character `value_start` on. `start`: the offset of the option
    in its word.
    """

    letter: str
    written: str
    value: str | None
    line: DirectiveLine
    token: Token
    start: int
    value_line: DirectiveLine
    value_token: Token | None
    value_start: int


class Translation:
    """The settings and problems that result from the words, each with the offset of its option."""

    def __init__(self, string: Readable) -> None:
        self.text = string
        self.certain = True
        self.settings: list[tuple[int, ForeignSetting]] = []
        self.problems: list[tuple[int, Problem]] = []

    def add(
        self,
        option: ForeignOption,
        name: str,
        value: str | None,
        part: tuple[int, int] | None = None,
        joins: str = "",
    ) -> None:
        """Adds a setting. `part`: the range of the value that it comes from, None for the whole option."""
        span, line = self.place(option, part)
        setting = ForeignSetting(name, value, span, line, joins, None, find(name))
        self.settings.append((option.token.start, setting))

    def refuse(
        self,
        option: ForeignOption,
        message: str,
        kind: str = "bad-value",
        part: tuple[int, int] | None = None,
        candidates: tuple[str, ...] = (),
    ) -> None:
        span, line = self.place(option, part)
        problem = Problem(
            kind, span, message, option.written, line, candidates, None, option.token, option.value_token,
            option.start,
        )  # fmt: skip
        self.problems.append((option.token.start, problem))

    def place(self, option: ForeignOption, part: tuple[int, int] | None = None) -> tuple[Span, DirectiveLine]:
        """The span and line of an option or of a part of its value, which may be in a later line."""
        token = option.value_token
        if part is not None and token is not None:
            start, end = option.value_start + part[0], option.value_start + part[1]
            if end > start:
                first, last = token.offset(start), token.offset(end - 1)
                stop = token.end if end >= len(token.text) else last + 1
                return self.text.span(token.start if start == 0 else first, stop), option.value_line
        start = option.token.start if option.start <= 1 else option.token.offset(option.start)
        own_line = token is not None and option.value_line is option.line
        return self.text.span(start, token.end if own_line and token is not None else option.token.end), option.line


SetOption = Callable[[Translation, ForeignOption], None]


class OptionParser:
    """Parses the words as one argument vector and calls `set_option` for each option.

    sbatch exits at the first problem; the rest is read as well, because it shows what the script is meant to set.
    """

    def __init__(
        self,
        translation: Translation,
        words: Sequence[tuple[DirectiveLine, Token]],
        dialect: Dialect,
        set_option: SetOption,
    ) -> None:
        self.translation = translation
        self.words = words
        # sbatch replaces spellings only at odd indices of the vector, where it expects the options
        self.strings = [
            token.text if index % 2 else dialect.spellings.get(token.text, token.text)
            for index, (_, token) in enumerate(words)
        ]
        self.dialect = dialect
        self.set_option = set_option

    def run(self) -> None:
        index = 0
        ended = False
        while index < len(self.words):
            word = self.strings[index]
            if not ended and word == "--":
                ended = True
                index += 1
            elif word.startswith(UNKNOWN):
                self.translation.certain = False
                index += 1
            elif ended or len(word) < 2 or word[0] != "-":
                index = self.stray(index, word, ended)
            elif word.startswith("--"):
                index = self.long(index, word)
            else:
                index = self.cluster(index, word)

    def option(
        self, index: int, letter: str, written: str, start: int, value: str | None, value_word: int, value_start: int
    ) -> ForeignOption:
        line, token = self.words[index]
        value_line, own = self.words[value_word]
        value_token = None if value is None else own
        return ForeignOption(letter, written, value, line, token, start, value_line, value_token, value_start)

    def found(self, index: int, letter: str, written: str, start: int, value: str | None, value_start: int) -> int:
        """Sets an option whose value, None without one, is in its own word; returns the index after it."""
        self.set_option(self.translation, self.option(index, letter, written, start, value, index, value_start))
        return index + 1

    def refuse(self, index: int, written: str, start: int, kind: str, candidates: tuple[str, ...] = ()) -> int:
        """Adds a problem with an option; returns the index after it and the words that are plainly its value."""
        line = self.words[index][0]
        last = index
        if kind == "unknown-option" and "=" not in self.strings[index]:
            while last + 1 < len(self.words) and self.words[last + 1][0] is line:
                if self.strings[last + 1][:1] == "-":
                    break
                last += 1
        value = None if last == index else self.strings[last]
        option = self.option(index, "?", written, start, value, last, 0)
        self.translation.refuse(option, UNRECOGNIZED, kind, None, candidates)
        return last + 1

    def stray(self, index: int, word: str, ended: bool) -> int:
        """Adds a positional word as a problem, as sbatch exits there; returns the index after the words on its line."""
        line, token = self.words[index]
        last = index
        while last + 1 < len(self.words) and self.words[last + 1][0] is line:
            if not ended and self.strings[last + 1][:1] == "-":
                break
            last += 1
        span = self.translation.text.span(token.start, self.words[last][1].end)
        problem = Problem("stray-word", span, f"Invalid argument: {word}", word, line, (), None, token)
        self.translation.problems.append((token.start, problem))
        return last + 1

    def long(self, index: int, word: str) -> int:
        name, equals, value = word[2:].partition("=")
        written = word[: 2 + len(name)]
        names = self.dialect.names
        if UNKNOWN in name:
            self.translation.certain = False
            return index + 1
        found = [name] if name in names else [each for each in names if each.startswith(name)]
        if not found:
            return self.refuse(index, written, 0, "unknown-option")
        if len({(names[each], each in self.dialect.optional) for each in found}) > 1:
            return self.refuse(index, written, 0, "ambiguous-option", tuple(found))
        letter = names[found[0]]
        is_flag = letter in self.dialect.flags
        if is_flag and equals:
            return self.refuse(index, written, 0, "unexpected-value", (found[0],))
        if not equals and not is_flag and found[0] not in self.dialect.optional:
            return self.take_next(index, letter, written, 0)
        return self.found(index, letter, written, 0, value if equals else None, len(written) + 1)

    def cluster(self, index: int, word: str) -> int:
        for at in range(1, len(word)):
            letter = word[at]
            written = "-" + letter
            if letter == UNKNOWN:
                self.translation.certain = False
                return index + 1
            if letter in self.dialect.flags:
                self.found(index, letter, written, at, None, 0)
            elif letter not in self.dialect.letters:
                # the rest of the word may be its value or more letters
                return self.refuse(index, written, at, "unknown-option")
            elif at + 1 < len(word):
                return self.found(index, letter, written, at, word[at + 1 :], at + 1)
            else:
                return self.take_next(index, letter, written, at)
        return index + 1

    def take_next(self, index: int, letter: str, written: str, start: int) -> int:
        """Takes the next word as the value of an option, whatever it looks like."""
        if index + 1 >= len(self.words):
            return self.refuse(index, written, start, "missing-value")
        option = self.option(index, letter, written, start, self.strings[index + 1], index + 1, 0)
        self.set_option(self.translation, option)
        return index + 2
