"""The inside of words: quotes, escapes, parameters with their operators, and the substitutions in them.

The lexer works on a text that ends in `END`, a character that no text holds, so that it can always look one character
ahead. It keeps one cursor, `at`; methods that read something leave the cursor after it. The rules are those of
bash 5.2, parse.y (read_token_word, parse_matched_pair) and subst.c (parameter_brace_expand).
"""

from typing import Self

from sbatchlint.bash.syntax.bounds import CHARACTERS_OF_A_NODE, NODES_OF_A_RANGE, Room
from sbatchlint.bash.syntax.characters import (
    BREAKS,
    END,
    ESCAPED,
    RUNS,
    ShellSyntaxError,
    ansi_escape,
    ansi_run,
    backquote_escape,
    double_run,
    heredoc_run,
    index_run,
    parameter,
    parameter_name,
    parameter_operator,
    parenthesis_run,
    plain_run,
    quoted_backquote_escape,
    regex_run,
    unescape,
)
from sbatchlint.bash.syntax.closings import Closings
from sbatchlint.bash.syntax.tree import (
    Arithmetic,
    Broken,
    CommandSubstitution,
    Heredoc,
    Literal,
    Parameter,
    Part,
    ProcessSubstitution,
    Statement,
    Unparsed,
    Word,
)

# What follows the parentheses of a function's name, `f@() {`; before anything else they are a pattern, `@()`.
_BODIES = frozenset(" \t\r\n{(;#" + END)


class WordLexer:
    """Reads words from a text; `Parser` adds commands."""

    __slots__ = ("at", "begun", "closings", "depth", "errors", "here", "nested", "pending", "room", "text")

    def __init__(self, string: str, at: int = 0, room: Room | None = None) -> None:
        self.text = string + END
        self.at = at
        self.begun = at  # where the current top-level statement begins
        self.depth = 0  # how many substitutions are around the cursor
        self.nested = 0  # and how many compound commands
        self.here = False  # whether it reads the body of a heredoc
        self.pending: list[Heredoc] = []
        self.errors: list[tuple[int, int]] = []
        self.closings = Closings(self.text)
        self.room = room or Room()

    def up_to(self, end: int, start: int) -> Self:
        """A parser of the text up to `end`, its cursor at `start`."""
        self.room.take(NODES_OF_A_RANGE + end // CHARACTERS_OF_A_NODE)
        return type(self)(self.text[:end], start, self.room)

    def statements_until_parenthesis(self) -> tuple[Statement, ...]:
        """Parses the commands up to `)`, where the cursor stays."""
        raise NotImplementedError

    def whole(self, start: int, end: int) -> tuple[Statement, ...] | None:
        """Parses a range of the text as commands; None where it has an error."""
        raise NotImplementedError

    def word(self, regex: bool = False) -> Word:
        """Reads the word at the cursor; raises `ShellSyntaxError` where there is none.

        `regex`: the right side of `=~`, where `|` and `(` are ordinary characters.
        """
        text = self.text
        start = at = self.at
        parts: list[Part] = []
        empty = False
        depth = 0
        run = regex_run if regex else plain_run
        while True:
            match = run(text, at)
            if match:
                end = match.end()
                parts.append(Literal(match[0], at, end, False))
                at = end
            character = text[at]
            if character in BREAKS and not (depth or regex):
                break
            if character == '"':
                count = len(parts)
                at = self.double(at, parts)
                empty = empty or len(parts) == count
            elif character == "$":
                at = self.dollar(at, parts, False)
            elif character == "'":
                end = self.single(at, parts)
                empty = empty or end == at + 2
                at = end
            elif character == "\\":
                at = self.escape(at, parts)
            elif character == "`":
                at = self.backquotes(at, parts, False)
            elif character == "(" and (
                depth
                or regex
                or (at > start and text[at - 1] in "?*+@!" and (text[at + 1] != ")" or text[at + 2] not in _BODIES))
            ):
                # A part of a regex, or of an extended pattern such as `@(a|b)`.
                depth += 1
                run = parenthesis_run
                parts.append(Literal("(", at, at + 1, False))
                at += 1
            elif character == ")" and depth:
                depth -= 1
                if not depth:
                    run = regex_run if regex else plain_run
                parts.append(Literal(")", at, at + 1, False))
                at += 1
            elif character in "<>" and text[at + 1] == "(" and not depth:
                at = self.process(at, parts)
            elif character == "\r" and text[at + 1] != "\n":
                parts.append(Literal("\r", at, at + 1, False))
                at += 1
            else:
                break
        if depth:
            raise ShellSyntaxError(at, "end")
        if at == start:
            raise ShellSyntaxError(at, "end" if character == END else "")
        self.at = at
        self.room.take(len(parts))
        return Word(tuple(parts), start, at, empty)

    def single(self, at: int, parts: list[Part]) -> int:
        """Reads `'…'`; returns the position after it."""
        end = self.text.find("'", at + 1)
        if end < 0:
            raise ShellSyntaxError(at, "end")
        if end > at + 1:
            parts.append(Literal(self.text[at + 1 : end], at + 1, end, True))
        return end + 1

    def escape(self, at: int, parts: list[Part]) -> int:
        """A backslash outside quotes."""
        text = self.text
        character = text[at + 1]
        if text.startswith(("\n", "\r\n"), at + 1):
            return at + (2 if character == "\n" else 3)
        if character == END:
            parts.append(Literal("\\", at, at + 1, True))
            return at + 1
        parts.append(Literal(character, at, at + 2, True))
        return at + 2

    def double(self, at: int, parts: list[Part]) -> int:
        """Reads `"…"`; returns the position after it."""
        text = self.text
        at += 1
        while True:
            character = text[at]
            if character == '"':
                return at + 1
            if character == "$":
                at = self.dollar(at, parts, True)
            elif character == "\\":
                at = self.escape_in_quotes(at, parts, '$`"\\')
            elif character == "`":
                at = self.backquotes(at, parts, True)
            elif character == END:
                raise ShellSyntaxError(at, "end")
            else:
                start, at = double_run(text, at).span()  # type: ignore[union-attr]
                parts.append(Literal(text[start:at], start, at, True))

    def escape_in_quotes(self, at: int, parts: list[Part], special: str) -> int:
        """Reads a backslash where it escapes only some characters, and is literal before others."""
        character = self.text[at + 1]
        if character == "\n":
            return at + 2
        if character in special:
            parts.append(Literal(character, at, at + 2, True))
            return at + 2
        parts.append(Literal("\\", at, at + 1, True))
        return at + 1

    def ansi(self, at: int, parts: list[Part]) -> int:
        """Reads `$'…'`: a part for each run and each escape."""
        text = self.text
        start = at
        count = len(parts)
        at += 2
        while True:
            match = ansi_run(text, at)
            if match:
                end = match.end()
                parts.append(Literal(match[0], at, end, True))
                at = end
            if text[at] == "'":
                if len(parts) == count:
                    parts.append(Literal("", at, at, True))
                return at + 1
            match = ansi_escape.match(text, at)
            if not match:
                raise ShellSyntaxError(start, "end")
            character = unescape(match[0])
            at = match.end()
            if character == "\0":  # it ends the string
                parts.append(Literal("", match.start(), match.start(), True))
                while text[at] != "'":
                    match = ansi_run(text, at) or ansi_escape.match(text, at)
                    if not match:
                        raise ShellSyntaxError(start, "end")
                    at = match.end()
                return at + 1
            parts.append(Literal(character, match.start(), at, True))

    def dollar(self, at: int, parts: list[Part], quoted: bool) -> int:
        """Reads what `$` begins, or a literal `$`."""
        text = self.text
        character = text[at + 1]
        if character == "{":
            return self.brace(at, parts, quoted)
        if character == "(":
            if text[at + 2] == "(":
                end = self.closings.of(at + 3, ")")
                if end >= 0 and text[end + 1] == ")":
                    parts.append(Arithmetic(at + 3, end, at, end + 2, quoted))
                    return end + 2
            return self.substitution(at, parts, quoted)
        if character == "[":
            end = self.closings.of(at + 2, "]")
            if end < 0:
                raise ShellSyntaxError(at, "end")
            parts.append(Arithmetic(at + 2, end, at, end + 1, quoted))
            return end + 1
        match = parameter(text, at + 1)
        if match:
            end = match.end()
            parts.append(Parameter(match[0], "", (), None, at, end, quoted))
            return end
        if not quoted and character == "'":
            return self.ansi(at, parts)
        elif not quoted and character == '"':
            count = len(parts)
            end = self.double(at + 1, parts)
            if len(parts) == count:
                parts.append(Literal("", end - 1, end - 1, True))
            return end
        elif character == "\ue000":
            # an unknown name makes both unknown
            parts.append(Broken(at, at + 2, quoted))
            return at + 2
        parts.append(Literal("$", at, at + 1, quoted))
        return at + 1

    def substitution(self, at: int, parts: list[Part], quoted: bool) -> int:
        """`$(…)`."""
        body, end = self.parenthesised(at + 2)
        parts.append(CommandSubstitution(body, at, end, quoted, False))
        return end

    def process(self, at: int, parts: list[Part]) -> int:
        """`<(…)` and `>(…)`."""
        body, end = self.parenthesised(at + 2)
        parts.append(ProcessSubstitution(body, self.text[at], at, end))
        return end

    def parenthesised(self, at: int) -> tuple[tuple[Statement, ...], int]:
        """Parses the commands up to `)`; returns the position after it. Heredocs of the outer line stay pending."""
        waiting = self.pending
        self.pending = []
        self.at = at
        self.depth += 1
        try:
            body = self.statements_until_parenthesis()
        finally:
            self.depth -= 1
        self.pending = waiting + self.pending if self.pending else waiting
        return body, self.at + 1

    def backquotes(self, at: int, parts: list[Part], quoted: bool) -> int:
        """Reads `` `…` ``, which bash parses when it runs: an error in it does not concern the rest of the text."""
        text = self.text
        end = at + 1
        while text[end] != "`":
            if text[end] == END:
                raise ShellSyntaxError(at, "end")
            end += 2 if text[end] == "\\" and text[end + 1] != END else 1
        # removing these backslashes shifts the positions of the rest
        moved = (quoted_backquote_escape if quoted else backquote_escape).search(text, at, end)
        body = None if moved else self.whole(at + 1, end)
        parts.append(CommandSubstitution((Unparsed(at + 1, end),) if body is None else body, at, end + 1, quoted, True))
        return end + 1

    def brace(self, start: int, parts: list[Part], quoted: bool) -> int:
        """Reads any `${…}`. bash rejects a bad one only at run time, so that it is `Broken`, not an error."""
        text = self.text
        at = start + 2
        prefix = ""
        if text[at] == "#" and text[at + 1] not in "}:=+%/^,":
            prefix = "length"
            at += 1
        elif text[at] == "!" and text[at + 1] not in "}:=+%/^,-":
            prefix = "indirect"
            at += 1
        match = parameter_name.match(text, at)
        if not match:
            return self.broken(start, parts, quoted)
        name = match[0]
        at = match.end()
        index = None
        if text[at] == "[":
            end = self.closings.of(at + 1, "]")
            if end < 0:
                return self.broken(start, parts, quoted)
            index = self.range(at + 1, end, "index", quoted)
            at = end + 1
        if text[at] == "}":
            parts.append(Parameter(name, prefix, (), index, start, at + 1, quoted))
            return at + 1
        if prefix == "indirect" and index is None and text[at] in "*@" and text[at + 1] == "}":
            parts.append(Parameter(name, "prefix", (), None, start, at + 2, quoted))
            return at + 2
        match = parameter_operator.match(text, at)
        if not match or prefix:
            return self.broken(start, parts, quoted)
        operator = match[0]
        at = match.end()
        arguments = self.arguments(at, operator, quoted)
        if arguments is None:
            return self.broken(start, parts, quoted)
        parts.append(Parameter(name, operator, arguments, index, start, self.at, quoted))
        return self.at

    def arguments(self, at: int, operator: str, quoted: bool) -> tuple[Word, ...] | None:
        """Reads what follows an operator, up to and including the `}`."""
        text = self.text
        if operator[0] == "/":
            # `${X////_}`: the first slash after `//` belongs to the pattern (parameter_brace_patsub).
            first = self.run(at, "slash pattern" if operator == "//" else "pattern", False)
            if text[self.at] == "}":
                self.at += 1
                return (first,)
            second = self.run(self.at + 1, "brace", quoted)
            self.at += 1
            return first, second
        if operator == ":":
            first = self.run(at, "offset", False)
            if text[self.at] == "}":
                if self.at == at:  # `${X:}`
                    return None
                self.at += 1
                return (first,)
            second = self.run(self.at + 1, "offset", False)
            if text[self.at] != "}":
                return None
            self.at += 1
            return first, second
        if operator[0] in "#%^,@":
            first = self.run(at, "brace", False)
        else:
            first = self.run(at, "brace quoted" if quoted else "brace", quoted)
        self.at += 1
        return (first,)

    def run(self, start: int, mode: str, quoted: bool) -> Word:
        """Reads a word inside `${…}`, up to `}`, `/` in a pattern, or `:` in an offset."""
        text = self.text
        parts: list[Part] = []
        empty = False
        at = start
        depth = ternary = 0
        plain = RUNS[mode]
        bare = mode == "brace quoted"
        apostrophe = start
        while True:
            match = plain(text, at)
            if match:
                end = match.end()
                parts.append(Literal(match[0], at, end, quoted))
                at = end
            character = text[at]
            if character == "}" and at >= apostrophe:
                break
            if character == "$":
                # also in `"${x:-$'a'}"`, but not in a heredoc
                in_quotes = quoted and text[at + 1] == "'" and not self.here
                at = self.ansi(at, parts) if in_quotes else self.dollar(at, parts, quoted)
            elif character == '"':
                count = len(parts)
                at = self.double(at, parts)
                empty = empty or len(parts) == count
            elif bare and character in "'}":
                # between double quotes apostrophes are literal, but protect what is between them
                if character == "'" and at >= apostrophe and text[at - 1] != "\\":
                    apostrophe = text.find("'", at + 1) + 1
                    if not apostrophe:
                        raise ShellSyntaxError(at, "end")
                parts.append(Literal(character, at, at + 1, quoted))
                at += 1
            elif character == "'":
                end = self.single(at, parts)
                empty = empty or end == at + 2
                at = end
            elif character == "\\":
                at = self.escape_in_quotes(at, parts, '$`"\\}') if bare else self.escape(at, parts)
            elif character == "`":
                at = self.backquotes(at, parts, quoted)
            elif character == END:
                raise ShellSyntaxError(at, "end")
            elif (character == "/" and (at > start or mode == "pattern")) or (character == ":" and not depth + ternary):
                break
            else:
                # neither the `:` of `a ? b : c` nor one in parentheses ends an offset
                ternary += (character == "?") - (character == ":" and not depth)
                depth += (character == "(") - (character == ")")
                parts.append(Literal(character, at, at + 1, quoted))
                at += 1
        self.at = at
        return Word(tuple(parts), start, at, empty)

    def broken(self, start: int, parts: list[Part], quoted: bool) -> int:
        end = self.closings.of(start + 2, "}")
        if end < 0:
            raise ShellSyntaxError(start, "end")
        parts.append(Broken(start, end + 1, quoted))
        return end + 1

    def range(self, start: int, end: int, mode: str, quoted: bool = False) -> Word:
        """Reads a range as one word, in which whitespace and metacharacters are ordinary characters.

        `index`: quotes and escapes are resolved. `double`: as inside double quotes. `heredoc`: the same, and `"` is an
        ordinary character too. What cannot be read is `Broken` up to the end.
        """
        inner = self if end == len(self.text) - 1 else None
        errors = len(self.errors)
        at = start
        parts: list[Part] = []
        empty = False
        loose = mode == "index"
        plain = index_run if loose else double_run if mode == "double" else heredoc_run
        text = self.text
        quoted = quoted or not loose
        try:
            while at < end:
                match = plain(text, at, end)
                if match:
                    at = match.end()
                    parts.append(Literal(match[0], match.start(), at, quoted and not loose))
                    continue
                character = text[at]
                match = parameter(text, at + 1, end) if character == "$" else None
                if match:
                    parts.append(Parameter(match[0], "", (), None, at, match.end(), quoted))
                    at = match.end()
                    continue
                # what else there is may go on for longer than the range, so it is read from a text that ends there:
                # a copy, whose cost grows with the text, so that it is not made for `$NAME`
                inner = inner or self.up_to(end, start)
                inner.here = mode == "heredoc"
                if character == "$":
                    at = inner.dollar(at, parts, quoted)
                elif character == "\\":
                    at = inner.escape(at, parts) if loose else inner.escape_in_quotes(at, parts, ESCAPED[mode])
                elif character == "`":
                    at = inner.backquotes(at, parts, quoted)
                elif loose and character == "'":
                    empty = empty or text[at + 1] == "'"
                    at = inner.single(at, parts)
                elif loose:
                    count = len(parts)
                    at = inner.double(at, parts)
                    empty = empty or len(parts) == count
                else:
                    parts.append(Literal(character, at, at + 1, True))
                    at += 1
        except (ShellSyntaxError, RecursionError):
            parts.append(Broken(at, end, quoted))
        del self.errors[errors:]
        self.room.take(len(parts))
        return Word(tuple(parts), start, end, empty)
