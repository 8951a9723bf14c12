"""Bash programs: from text to the tree of `syntax`.

A parser of its own, by recursive descent over bash's grammar (parse.y of bash 5.2), because what a shell does with a
script depends on the details that general grammars give up: heredocs before a pipe, `((` that is two subshells, words
joined over lines. It accepts what `bash -n` accepts and a little more (extended patterns without `shopt -s extglob`,
any order of operands in `[[`, carriage returns before newlines). What it cannot read becomes `Unparsed`, by lines.
"""

import re

from sbatchlint.bash.syntax.bounds import MOST_CHAINED, MOST_NESTED, TextTooLong
from sbatchlint.bash.syntax.characters import CLOSERS, EDGE, END, OPENERS, ShellSyntaxError, reserved
from sbatchlint.bash.syntax.simple_commands import SimpleCommands, function_parentheses
from sbatchlint.bash.syntax.tree import (
    AndOr,
    ArithmeticCommand,
    ArithmeticFor,
    Background,
    Broken,
    Case,
    For,
    Group,
    If,
    Literal,
    Pipeline,
    Program,
    Simple,
    Statement,
    TestCommand,
    Unparsed,
    While,
    Word,
)
from sbatchlint.source.regex import Regex

# A text with more errors is not a script; the rest of it is not parsed.
_MOST_ERRORS = 40
# Of these, what is never closed: each is seen at the end of the text only, and the lines after it are read again.
_MOST_UNCLOSED = 8

_name = re.compile(r"[A-Za-z_][A-Za-z0-9_]*" + EDGE).match
_any_name = re.compile(r"[^ \t\r\n;&|()<>\0]+").match
_time_option = Regex(r"(?:[ \t]+(?:-p|--)" + EDGE + ")+")


class Parser(SimpleCommands):
    """Parses commands; after each the cursor is at the next token."""

    __slots__ = ()

    # Lists

    def program(self) -> Program:
        """Parses the whole text; lines with syntax errors become `Unparsed`."""
        statements: list[Statement] = []
        cut = None
        unclosed = 0
        while True:
            begin = len(statements)
            try:
                self.statements((), statements)
                break
            except TextTooLong:
                cut = self.begun
                break
            except (ShellSyntaxError, RecursionError) as fault:
                start = max(self.begun, statements[-1].end if begin < len(statements) else 0)
                where = start
                if not isinstance(fault, ShellSyntaxError) or fault.kind == "end":
                    unclosed += 1
                else:
                    where = fault.where
                self.recover(start, where if unclosed < _MOST_UNCLOSED else len(self.text), statements)
        self.errors.sort()
        return Program(tuple(statements), tuple(self.errors), cut)

    def recover(self, start: int, where: int, statements: list[Statement]) -> None:
        """Skips everything from `start` to the end of the line of `where`."""
        size = len(self.text) - 1
        end = self.text.find("\n", max(start, where))
        if end < 0 or len(self.errors) >= _MOST_ERRORS:
            end = size
        end = max(end, min(start + 1, size))
        statements.append(Unparsed(start, end))
        self.errors = [each for each in self.errors if each[0] < start]
        self.errors.append((start, end))
        self.pending = []
        self.at = end

    def statements(self, stops: tuple[str, ...], out: list[Statement]) -> str:
        """Parses statements up to one of `stops`, where the cursor stays, and returns that word.

        Without `stops`, up to the end of the text. A line with an error is left out, unless the list belongs to a
        substitution, or the error is another construct's closing word or the end of the text.
        """
        text = self.text
        while True:
            character = self.skip()
            start = self.at
            match = reserved(text, start)
            if match:
                word = match[0]
                if word in stops:
                    return word
                if word in CLOSERS:
                    if not stops:
                        self.begun = start
                    raise ShellSyntaxError(start, "closer")
            elif character == ")" and ")" in stops:
                return ")"
            elif character == ";" and ";;" in stops and text[start + 1] in ";&":
                return ";;"
            elif character == END and not stops:
                return ""
            if not stops:
                self.begun = start
            try:
                statement = self.and_or(match)
                character = text[self.at]
                if character == ";":
                    # `;;` ends an item of `case`, and is an error elsewhere.
                    if text[self.at + 1] not in ";&":
                        self.at += 1
                elif character == "&":
                    self.at += 1
                    statement = Background(statement, statement.start, self.at)
                elif character not in "\n)" + END:
                    match = reserved(text, self.at)
                    if not match or match[0] not in CLOSERS:
                        self.unexpected()
                out.append(statement)
            except ShellSyntaxError as fault:
                if fault.kind or not stops or ")" in stops:
                    raise
                self.recover(start, fault.where, out)

    def block(self, stops: tuple[str, ...]) -> tuple[tuple[Statement, ...], str]:
        """Parses a non-empty list and returns it with the word that ended it."""
        out: list[Statement] = []
        stop = self.statements(stops, out)
        if not out:
            raise ShellSyntaxError(self.at, "closer" if stop in CLOSERS else "")
        return tuple(out), stop

    def statements_until_parenthesis(self) -> tuple[Statement, ...]:
        out: list[Statement] = []
        self.statements((")",), out)
        return tuple(out)

    def whole(self, start: int, end: int) -> tuple[Statement, ...] | None:
        return self.up_to(end, start).without_errors()

    def without_errors(self) -> tuple[Statement, ...] | None:
        """Parses the whole text; None at its first error, whose place is not looked for. Raises `TextTooLong`."""
        statements: list[Statement] = []
        try:
            self.statements((), statements)
        except (ShellSyntaxError, RecursionError):
            return None
        return None if self.errors else tuple(statements)

    def and_or(self, match: re.Match[str] | None) -> Statement:
        """Parses `a && b || c`, which is left-associative. `match`: of a reserved word at the cursor."""
        text = self.text
        left = self.pipeline(match)
        chained = 1
        while True:
            character = text[self.at]
            if character not in "&|" or text[self.at + 1] != character:
                return left
            self.at += 2
            self.skip()
            right = self.pipeline(reserved(text, self.at))
            left = AndOr(left, character * 2, right, left.start, right.end)
            chained += 1
            if chained > MOST_CHAINED:
                raise TextTooLong

    def pipeline(self, match: re.Match[str] | None) -> Statement:
        text = self.text
        start = self.at
        negated = timed = False
        end = start
        while match and match[0] in ("!", "time"):
            if match[0] == "!":
                negated = not negated
            end = match.end()
            if match[0] == "time":
                option = _time_option.match(text, end)
                end = option.end() if option else end
            timed = True
            self.at = end
            self.skip_spaces()
            match = reserved(text, self.at)
        if timed and (text[self.at] in "\n;" + END or text[self.at] in ")&"):
            return Pipeline((Simple((), (), (), end, end),), negated, start, end)
        first = self.command(match)
        if text[self.at] != "|" or text[self.at + 1] == "|":
            return Pipeline((first,), negated, start, first.end) if timed else first
        commands = [first]
        while text[self.at] == "|" and text[self.at + 1] != "|":
            self.at += 2 if text[self.at + 1] == "&" else 1
            self.skip()
            commands.append(self.command(reserved(text, self.at)))
            if len(commands) > MOST_CHAINED:
                raise TextTooLong
        return Pipeline(tuple(commands), negated, start, commands[-1].end)

    # Commands

    def command(self, match: re.Match[str] | None) -> Statement:
        if match:
            word = match[0]
            if word in OPENERS:
                return self.compound(word)
            if word == "function":
                return self.function_keyword()
            if word == "coproc":
                return self.coprocess()
            if word != "time":
                raise ShellSyntaxError(self.at, "closer" if word in CLOSERS else "")
        elif self.text[self.at] == "(":
            return self.compound("(")
        return self.simple()

    def compound(self, word: str) -> Statement:
        """Parses the compound command that begins with `word` at the cursor, with its redirects."""
        if self.nested == MOST_NESTED:
            raise TextTooLong
        self.nested += 1
        try:
            return self.compound_of(word)
        finally:
            self.nested -= 1

    def compound_of(self, word: str) -> Statement:
        start = self.at
        self.at = start + len(word)
        if word == "if":
            return self.if_command(start)
        if word == "for" or word == "select":
            return self.for_command(start, word == "select")
        if word == "while" or word == "until":
            condition, _ = self.block(("do",))
            self.at += 2
            body, _ = self.block(("done",))
            end = self.expect("done")
            redirects, end = self.redirects(end)
            return While(condition, body, word == "until", redirects, start, end)
        if word == "case":
            return self.case_command(start)
        if word == "{":
            body, _ = self.block(("}",))
            redirects, end = self.redirects(self.expect("}"))
            return Group(body, False, redirects, start, end)
        if word == "[[":
            return self.test_command(start)
        if self.text[self.at] == "(":
            close = self.closings.of(self.at + 1, ")")
            if close >= 0 and self.text[close + 1] == ")":
                redirects, end = self.redirects(close + 2)
                return ArithmeticCommand(start + 2, close, redirects, start, end)
        body, _ = self.block((")",))
        redirects, end = self.redirects(self.at + 1)
        return Group(body, True, redirects, start, end)

    def function_keyword(self) -> Statement:
        start = self.at
        self.at += len("function")
        self.skip_spaces()
        match = _any_name(self.text, self.at)
        if not match:
            self.unexpected()
        self.at = match.end()
        self.skip_spaces()
        parentheses = function_parentheses(self.text, self.at)
        if parentheses:
            self.at = parentheses.end()
        return self.function(match[0], start)

    def coprocess(self) -> Statement:
        start = self.at
        self.at += len("coproc")
        self.skip_spaces()
        match = _name(self.text, self.at)
        if match and not reserved(self.text, self.at):
            at = self.at
            self.at = match.end()
            self.skip_spaces()
            opener = reserved(self.text, self.at)
            if not ((opener and opener[0] in OPENERS) or self.text[self.at] == "("):
                self.at = at
        command = self.command(reserved(self.text, self.at))
        return Background(command, start, command.end)

    def if_command(self, start: int) -> Statement:
        branches = []
        otherwise = None
        while True:
            condition, _ = self.block(("then",))
            self.at += 4
            body, stop = self.block(("elif", "else", "fi"))
            branches.append((condition, body))
            self.at += len(stop)
            if stop == "else":
                otherwise, stop = self.block(("fi",))
                self.at += 2
            if stop == "fi":
                break
        redirects, end = self.redirects(self.at)
        return If(tuple(branches), otherwise, redirects, start, end)

    def for_command(self, start: int, selects: bool) -> Statement:
        text = self.text
        if self.skip_spaces() == "(" and text[self.at + 1] == "(":
            header = self.at + 2
            close = self.closings.of(header, ")")
            if close < 0 or text[close + 1] != ")":
                raise ShellSyntaxError(self.at, "end" if close < 0 else "")
            self.at = close + 2
            body = self.do_body()
            redirects, end = self.redirects(self.at)
            return ArithmeticFor(header, close, body, redirects, start, end)
        match = _name(text, self.at) or _any_name(text, self.at)
        if not match:
            self.unexpected()
        self.at = match.end()
        words: list[Word] | None = None
        self.skip_lines()
        if text.startswith("in", self.at) and text[self.at + 2] in " \t\r\n;\\#" + END:
            self.at += 2
            words = []
            while self.skip_spaces() not in "\n;&|)(" + END:
                words.append(self.word())
                self.room.take(1)
            if text[self.at] not in ";\n":
                self.unexpected()
        body = self.do_body()
        redirects, end = self.redirects(self.at)
        return For(match[0], None if words is None else tuple(words), body, redirects, start, end, selects)

    def do_body(self) -> tuple[Statement, ...]:
        """Parses `do … done` or `{ … }`, after at most one `;`."""
        if self.skip_spaces() == ";":
            self.at += 1
        self.skip()
        match = reserved(self.text, self.at)
        if match and match[0] == "do":
            self.at += 2
            body, _ = self.block(("done",))
            self.at += 4
        elif match and match[0] == "{":
            self.at += 1
            body, _ = self.block(("}",))
            self.at += 1
        else:
            self.unexpected()
        return body

    def case_command(self, start: int) -> Statement:
        text = self.text
        self.skip_spaces()
        word = self.word()
        self.skip()
        if not text.startswith("in", self.at) or text[self.at + 2] not in " \t\r\n;\\#(" + END:
            self.unexpected()
        self.at += 2
        items: list[tuple[tuple[Word, ...], tuple[Statement, ...], str]] = []
        while True:
            character = self.skip()
            match = reserved(text, self.at)
            if match and match[0] == "esac":
                break
            if character == "(":
                self.at += 1
                self.skip_spaces()
            patterns = []
            while True:
                self.room.take(1)
                patterns.append(self.word())
                character = self.skip_spaces()
                if character != "|":
                    break
                self.at += 1
                self.skip_spaces()
            if character != ")":
                self.unexpected()
            self.at += 1
            body: list[Statement] = []
            if self.statements((";;", "esac"), body) == "esac":
                items.append((tuple(patterns), tuple(body), ""))
                break
            size = 3 if text.startswith(";;&", self.at) else 2
            items.append((tuple(patterns), tuple(body), text[self.at : self.at + size]))
            self.at += size
        redirects, end = self.redirects(self.at + 4)
        return Case(word, tuple(items), redirects, start, end)

    def test_command(self, start: int) -> Statement:
        text = self.text
        words: list[Word] = []
        regex = False
        while True:
            self.room.take(1)
            character = self.skip()
            at = self.at
            if character in "()" and not regex:
                size = 1
            elif character in "&|" and text[at + 1] == character:
                size = 2
            elif character in "<>" and text[at + 1] != "(":
                size = 1
            elif character in "&|;" and not regex:
                raise ShellSyntaxError(at)
            else:
                word = self.word(regex)
                words.append(word)
                operand = text[at : word.end]
                regex = operand == "=~"
                if operand == "]]":
                    words.pop()
                    break
                continue
            self.at = at + size
            words.append(Word((Literal(text[at : self.at], at, self.at, False),), at, self.at))
            regex = False
        redirects, end = self.redirects(self.at)
        return TestCommand(tuple(words), redirects, start, end)


def parse(string: str) -> Program:
    """Parses a program; positions are indices of `string`. Never raises: code that bash rejects is `Unparsed`.

    Of a text that is too long only the beginning is parsed, see `Program.cut`.
    """
    return _parser(string).program()


def parse_valid(string: str) -> Program | None:
    """Parses a program as `parse` does; None where it has a syntax error or is too long, which costs one pass."""
    try:
        statements = _parser(string).without_errors()
    except TextTooLong:
        return None
    return None if statements is None else Program(statements, (), None)


def _parser(string: str) -> Parser:
    return Parser(string.replace(END, "\ufffd") if END in string else string)


def parse_word_text(string: str, start: int, end: int, mode: str = "double") -> Word:
    """Parses a range of a text as one word, in which whitespace and metacharacters are ordinary characters.

    `mode`: `double` for what is between double quotes or in an arithmetic expression, `heredoc` for the body of a
    heredoc, `index` for a subscript (quotes are resolved). What cannot be read is `Broken`.
    """
    try:
        return Parser(string.replace(END, "\ufffd"), start).range(start, end, mode)
    except TextTooLong:
        return Word((Broken(start, end, mode != "index"),), start, end)
