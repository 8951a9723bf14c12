"""Heredocs: delimiters, where the bodies end, and their parts (make_cmd.c of bash 5.2)."""

import re

from sbatchlint.bash.syntax.characters import END
from sbatchlint.bash.syntax.tree import Heredoc, Literal, Part, Word
from sbatchlint.bash.syntax.word_lexer import WordLexer
from sbatchlint.source.regex import Regex

_quotes = Regex(r"\\\n|\\(.)|'([^']*)'|\$?\"((?:[^\"\\]|\\.)*)\"", re.S)
_indent = Regex(r"\n\t+")


def delimiter_of(written: str) -> tuple[str, bool]:
    """The delimiter without its quotes, and whether there were any."""
    if "\\" not in written and "'" not in written and '"' not in written:
        return written, False
    return _quotes.sub(lambda match: match[1] or match[2] or match[3] or "", written), True


def end_of(text: str, at: int, heredoc: Heredoc, nested: bool = False) -> tuple[int, int, bool]:
    """Where the body that begins at `at` ends, where the next line begins, and whether the delimiter was found.

    `nested`: in a substitution, whose `)` may follow the delimiter on its line.
    """
    delimiter = heredoc.delimiter
    found = at
    while True:
        found = text.find(delimiter, found)
        if found < 0:
            return len(text) - 1, len(text) - 1, False
        line = found
        if heredoc.strip_tabs:
            while line > at and text[line - 1] == "\t":
                line -= 1
        after = found + len(delimiter)
        if text[after] == "\r":
            after += 1
        if (line == at or text[line - 1] == "\n") and (text[after] in "\n)" + END):
            if heredoc.quoted or line == at or not _joined(text, at, line - 1):
                if text[after] != ")":
                    return line, min(after + 1, len(text) - 1), True
                if nested:
                    return line, after, True
        if text[found] == END:
            return len(text) - 1, len(text) - 1, False
        found += 1


def _joined(text: str, at: int, newline: int) -> bool:
    """Whether a backslash joins the line before a newline to the next."""
    first = newline
    while first > at and text[first - 1] == "\\":
        first -= 1
    return (newline - first) % 2 == 1


def body_of(words: WordLexer, heredoc: Heredoc, start: int, end: int) -> Word:
    """The body as one word; in `<<-` the tabs that begin lines are left out."""
    if heredoc.quoted:
        body = Word((Literal(words.text[start:end], start, end, True),) if end > start else (), start, end)
    else:
        body = words.range(start, end, "heredoc")
    return _without_tabs(words.text, body) if heredoc.strip_tabs else body


def _without_tabs(text: str, body: Word) -> Word:
    parts: list[Part] = []
    for part in body.parts:
        if not isinstance(part, Literal) or part.end - part.start != len(part.text):
            parts.append(part)
            continue
        at = part.start
        if at == body.start:
            while at < part.end and text[at] == "\t":
                at += 1
        while at < part.end:
            match = _indent.search(text, at, part.end)
            if not match:
                parts.append(Literal(text[at : part.end], at, part.end, True))
                break
            parts.append(Literal(text[at : match.start() + 1], at, match.start() + 1, True))
            at = match.end()
    return Word(tuple(parts), body.start, body.end)
