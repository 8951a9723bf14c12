"""Directive lines that end in a backslash, which continues nothing: sbatch drops it and goes on with the next line.

That line is read like any other: a directive is read, a comment is skipped, and anything else is a shell command,
after which sbatch reads no more directives (`get_argument()`, src/sbatch/opt.c, 20.11 to 26.05). With whitespace after
it, the backslash makes a word of one space from 24.05 on, which sbatch refuses.
"""

from typing import NamedTuple

from sbatchlint.analysis.directives.near_misses import read_as_directive
from sbatchlint.slurm.directives import Directives
from sbatchlint.slurm.lines import BLANKS, DirectiveLine, magic_of, read_words
from sbatchlint.source.regex import Regex

_COMMENTED = Regex(r"[ \t]*#+[ \t]*(?=--?[A-Za-z])")
_TRAILING = Regex(r"\\[ \t\v\f\r]*$")


class Piece(NamedTuple):
    """A line that was meant to continue a directive. All offsets are into the text.

    `start`, `end`: the line without its newline; `words`: where its options begin; `last`: where they end, before its
    own backslash. `commented`: whether a `#` precedes them.
    """

    start: int
    end: int
    words: int
    last: int
    commented: bool


class Continuation(NamedTuple):
    """A directive line that ends in a backslash.

    `backslash`: its offset in the text; `start`, `end`: the backslash and the whitespace around it. `pieces`: the
    lines after it that hold options, in order. `swallowed`: whether the shell takes them for a command; sbatch then
    reads no directive below. `refused`: whether sbatch refuses the line from 24.05 on, as the backslash makes a word of
    a space.
    """

    line: DirectiveLine
    backslash: int
    start: int
    end: int
    pieces: tuple[Piece, ...]
    swallowed: bool
    refused: bool


def backslash_at(string: str, start: int, end: int) -> int | None:
    """The offset of an unquoted, unescaped backslash at the end of these words; None if there is none."""
    found = _TRAILING.search(string, start, end)
    if found is None:
        return None
    at = found.start()
    before = at
    while before > start and string[before - 1] == "\\":
        before -= 1
    if (at - before) % 2:
        return None
    words = read_words(string, start, at, strict_separator=False)
    return at if words.comment is None and words.fault is None and words.dropped is None else None


def continuations(directives: Directives) -> list[Continuation]:
    """The directive lines that end in a backslash, each with the lines that were meant to continue it."""
    text = directives.text
    string = text.string
    found: list[Continuation] = []
    for line in directives.lines:
        # In older releases the backslash ends a line that goes on with a comment; newer ones see the comment.
        comment = read_words(string, line.words_start, line.end).comment
        at = backslash_at(string, line.words_start, line.end if comment is None else comment)
        if at is None:
            continue
        start = at
        while start > line.words_start and string[start - 1] in BLANKS:
            start -= 1
        refused = comment is not None or line.end > at + 1
        pieces = _pieces(directives, string.find("\n", at) + 1) if comment is None else ()
        swallowed = any(not piece.commented for piece in pieces)
        last = line.end if comment is None else at + 1
        found.append(Continuation(line, at, start, last, pieces, swallowed, refused))
    return found


def _pieces(directives: Directives, at: int) -> tuple[Piece, ...]:
    """The lines of options from `at` on, up to the first that does not end in a backslash."""
    string = directives.text.string
    pieces: list[Piece] = []
    while 0 < at < len(string):
        newline = string.find("\n", at)
        end = newline if newline >= 0 else len(string)
        shown_end = end - 1 if string[end - 1] == "\r" else end
        first = at
        while first < shown_end and string[first] in BLANKS:
            first += 1
        commented = _COMMENTED.match(string, at, shown_end)
        if magic_of(string, at) is not None or commented is None and string[first : first + 1] != "-":
            break
        words = commented.end() if commented is not None else first
        backslash = backslash_at(string, words, shown_end)
        last = shown_end if backslash is None else backslash
        while last > words and string[last - 1] in BLANKS:
            last -= 1
        if commented is not None and not read_as_directive(directives, words, last)[1]:
            break
        pieces.append(Piece(at, shown_end, words, last, commented is not None))
        if backslash is None or newline < 0:
            break
        at = newline + 1
    return tuple(pieces)
