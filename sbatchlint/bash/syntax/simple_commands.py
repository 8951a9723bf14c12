"""Simple commands: words, assignments, arrays, redirects, the whitespace between them, and function bodies."""

import re
from typing import NoReturn

from sbatchlint.bash.syntax.bounds import MOST_NODES, TextTooLong
from sbatchlint.bash.syntax.characters import (
    CLOSERS,
    END,
    GAPS,
    OPENERS,
    SPACES,
    ShellSyntaxError,
    comment,
    gap_run,
    reserved,
    space_run,
)
from sbatchlint.bash.syntax.heredocs import body_of, delimiter_of, end_of
from sbatchlint.bash.syntax.tree import (
    ArrayLiteral,
    Assignment,
    Function,
    Heredoc,
    Literal,
    Redirect,
    Simple,
    Statement,
    Word,
)
from sbatchlint.bash.syntax.word_lexer import WordLexer

_assignment = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)(?:(\+?)=|\[)").match
_redirect = re.compile(
    r"([0-9]+|\{[A-Za-z_][A-Za-z0-9_]*(?:\[[^]\s]*\])?\})?(<<<|<<-|<<|<>|<&|<|>>|>\||>&|>|&>>|&>)"
).match
function_parentheses = re.compile(r"\((?:[ \t]|\\\n)*\)").match
_ends = frozenset("\n;&|)" + END)
_declarations = frozenset(("declare", "export", "local", "readonly", "typeset"))
_arrays_allowed = frozenset(("eval", "let", "alias"))


class SimpleCommands(WordLexer):
    """Parses simple commands; after each the cursor is at the next token of the line."""

    __slots__ = ()

    def compound(self, word: str) -> Statement:
        """The compound command that begins with `word` at the cursor, with its redirects."""
        raise NotImplementedError

    def skip(self) -> str:
        """Moves the cursor to the next token, on any line, and returns its first character."""
        text = self.text
        at = self.at
        while True:
            if not self.pending:
                if text[at] == "\n":
                    at += 1
                if text[at] in GAPS:
                    at = gap_run(text, at).end()  # type: ignore[union-attr]
                break
            at = space_run(text, at).end()  # type: ignore[union-attr]
            if text[at] == "#":
                at = comment(text, at).end()  # type: ignore[union-attr]
            if text[at] != "\n":
                break
            at = self.heredocs(at + 1)
        self.at = at
        return text[at]

    def skip_spaces(self) -> str:
        """Moves the cursor to the next token of the line, or its newline, and returns the character there."""
        text = self.text
        at = space_run(text, self.at).end()  # type: ignore[union-attr]
        if text[at] == "#":
            at = comment(text, at).end()  # type: ignore[union-attr]
        self.at = at
        return text[at]

    def heredocs(self, at: int) -> int:
        """Parses the heredoc bodies that begin with the line at `at`; returns the index after them."""
        pending = self.pending
        self.pending = []
        for heredoc in pending:
            end, following, heredoc.closed = end_of(self.text, at, heredoc, self.depth > 0)
            heredoc.body = body_of(self, heredoc, at, end)
            at = following
        return at

    def skip_lines(self) -> None:
        """Moves the cursor over newlines and comments to the next token."""
        if self.skip_spaces() == "\n":
            self.skip()

    def expect(self, word: str) -> int:
        """Reads a reserved word at the cursor; returns the position after it."""
        match = reserved(self.text, self.at)
        if not match or match[0] != word:
            self.unexpected()
        self.at += len(word)
        return self.at

    def unexpected(self) -> NoReturn:
        """Raises the error of a token at the cursor that may not stand there."""
        match = reserved(self.text, self.at)
        if self.text[self.at] == END:
            raise ShellSyntaxError(self.at, "end")
        raise ShellSyntaxError(self.at, "closer" if match and match[0] in CLOSERS else "")

    def redirects(self, end: int) -> tuple[tuple[Redirect, ...], int]:
        """Parses the redirects after a compound command that ends at `end`; returns them and the new end."""
        self.at = end
        found: list[Redirect] = []
        while self.skip_spaces() in "<>&{0123456789":
            match = _redirect(self.text, self.at)
            if not match:
                break
            found.append(self.redirect(match))
            end = found[-1].end
        return tuple(found), end

    def redirect(self, match: re.Match[str]) -> Redirect:
        start = self.at
        fd, operator = match.groups()
        self.at = match.end()
        if operator[:2] == "<<" and operator != "<<<":
            if self.skip_spaces() == "\n":
                raise ShellSyntaxError(self.at)
            begin = self.at
            self.word()
            delimiter, quoted = delimiter_of(self.text[begin : self.at])
            heredoc = Heredoc(Word((), self.at, self.at), delimiter, quoted, operator == "<<-", False)
            self.pending.append(heredoc)
            return Redirect(operator, fd, None, heredoc, start, self.at)
        self.skip_spaces()
        target = self.word()
        return Redirect(operator, fd, target, None, start, target.end)

    def simple(self) -> Statement:
        text = self.text
        start = end = self.at
        assignments: list[Assignment] = []
        words: list[Word | Assignment] = []
        redirects: list[Redirect] = []
        declares = False
        while True:
            if len(words) > MOST_NODES:
                raise TextTooLong
            at = end
            character = text[at]
            if character in SPACES:
                at = space_run(text, at).end()  # type: ignore[union-attr]
                character = text[at]
            self.at = at
            if character in "<>&{0123456789":
                match = _redirect(text, at)
                if match and not (match[2] in "<>" and text[match.end()] == "("):
                    redirects.append(self.redirect(match))
                    end = redirects[-1].end
                    continue
            if character in _ends:
                break
            if character == "#":
                self.at = comment(text, at).end()  # type: ignore[union-attr]
                break
            if character == "(":
                parentheses = function_parentheses(text, at)
                if parentheses and len(words) == 1 and not assignments and not redirects:
                    self.at = parentheses.end()
                    return self.function(text[start:end], start)
                raise ShellSyntaxError(at)
            if declares or not words:
                match = _assignment(text, at)
                if match:
                    assignment = self.assignment(match)
                    if assignment:
                        (words if declares else assignments).append(assignment)
                        end = self.at
                        continue
            word = self.word()
            end = self.at
            if not words:
                name = text[word.start : end]
                declares = name in _declarations
            elif text[end] == "(" and text[end - 1] == "=" and text[words[0].start : words[0].end] in _arrays_allowed:
                end = self.closings.of(end + 1, ")") + 1
                if not end:
                    raise ShellSyntaxError(at, "end")
                word = Word((Literal(text[at:end], at, end, False),), at, end)
            words.append(word)
        if end == start:
            self.unexpected()
        self.room.take(1 + len(words) + len(redirects))
        return Simple(tuple(assignments), tuple(words), tuple(redirects), start, end)

    def assignment(self, match: re.Match[str]) -> Assignment | None:
        """Parses an assignment whose name matched at the cursor; None, with the cursor unmoved, where it is not one."""
        text = self.text
        start = self.at
        at = match.end()
        append = match[2] == "+"
        self.room.take(1)
        index = None
        if match[2] is None:
            close = self.closings.of(at, "]")
            if close < 0:
                raise ShellSyntaxError(start, "end")
            append = text[close + 1] == "+"
            equals = close + 1 + append
            if text[equals] != "=":
                return None
            index = self.range(at, close, "index")
            at = equals + 1
        value: Word | ArrayLiteral | None = None
        character = text[at]
        self.at = at
        if character == "(":
            value = self.array(at)
        elif character not in " \t\n;&|)" + END and not (character in "<>" and text[at + 1] != "("):
            value = None if text.startswith("\r\n", at) else self.word()
        return Assignment(match[1], start, index, append, value, start, self.at)

    def array(self, start: int) -> ArrayLiteral:
        """Parses the `(…)` of an array, over several lines and with comments."""
        text = self.text
        elements: list[Word] = []
        keys: list[Word | None] = []
        self.at = start + 1
        while True:
            character = self.skip()
            at = self.at
            if character == ")":
                break
            key = None
            if character == "[":
                close = self.closings.of(at + 1, "]")
                equals = close + 1 + (text[close + 1] == "+")
                if close < 0:
                    raise ShellSyntaxError(at, "end")
                if text[equals] == "=":
                    key = self.range(at + 1, close, "index")
                    self.at = equals + 1
                    if text[self.at] in " \t\r\n)":
                        elements.append(Word((), self.at, self.at))
                        keys.append(key)
                        continue
            elements.append(self.word())
            keys.append(key)
            self.room.take(1)
        self.at += 1
        return ArrayLiteral(tuple(elements), tuple(keys), start, self.at)

    def function(self, name: str, start: int) -> Statement:
        """Parses the body of a function; the cursor is after its name and parentheses."""
        self.skip()
        match = reserved(self.text, self.at)
        if match and match[0] in OPENERS:
            body = self.compound(match[0])
        elif self.text[self.at] == "(":
            body = self.compound("(")
        else:
            raise ShellSyntaxError(self.at, "end" if self.text[self.at] == END else "")
        return Function(name, body, start, body.end)
