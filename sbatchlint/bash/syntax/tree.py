"""The syntax tree of a shell program, as small as evaluation needs it.

`start` and `end` of every node count characters of the text that was parsed (`Text.span` leads to the file). Quotes and
backslashes are resolved: a word is a sequence of parts, each knowing whether it was quoted.
"""

from typing import Union

from sbatchlint.source.records import Record


class Node(Record):
    """A node of the tree; two of the same class with equal attributes are equal."""

    def _values(self) -> list[object]:
        return [getattr(self, name) for name in type(self).__annotations__]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Node) and type(self) is type(other) and self._values() == other._values()

    def __hash__(self) -> int:
        return hash((type(self), *[value for value in self._values() if isinstance(value, (int, str))]))

    def __repr__(self) -> str:
        named = zip(type(self).__annotations__, self._values(), strict=True)
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in named)})"


class Literal(Node):
    """Characters that stand for themselves.

    `text` has the length of the range, except for one escaped character (`\\$`: `text` is `$`, the range has 2) and for
    escapes of `$'…'` (one part per escape). A backslash-newline gives no part at all.
    """

    text: str
    start: int
    end: int
    quoted: bool


class Parameter(Node):
    """`$NAME`, `${NAME}`, `${NAME:-word}`, `${#NAME}`, `${!NAME}`, `${NAME[@]:1:2}` …

    `name`: a variable, or one of `@ * # ? - $ !` or digits. `index`: the subscript as a word, None if there is none.
    `operator`: '' or one of `:- - := = :? ? :+ + # ## % %% / // /# /% ^ ^^ , ,, : @ length indirect prefix` (`:` is the
    substring `${X:a:b}`, `@` is `${X@Q}`, `prefix` is `${!X*}`, `length` is `${#X}`, `indirect` with an `index` of `@`
    or `*` is the list of keys `${!X[@]}`). Spaces and newlines are ordinary characters of the arguments. `arguments`:
    the words after the operator: one (maybe without parts), or two for `/` with a replacement and for `:` with a
    length. Literal parts of patterns, offsets and subscripts are `quoted` only where they are quoted themselves.
    """

    name: str
    operator: str
    arguments: "tuple[Word, ...]"
    index: "Word | None"
    start: int
    end: int
    quoted: bool


class CommandSubstitution(Node):
    """`$(…)` or backquotes. In backquotes a body with `\\$`, or one that bash would refuse, is one `Unparsed`."""

    body: "tuple[Statement, ...]"
    start: int
    end: int
    quoted: bool
    backquoted: bool


class Arithmetic(Node):
    """`$((…))` or `$[…]`; `expression` is the range between the parentheses, parsed by the evaluator."""

    expression_start: int
    expression_end: int
    start: int
    end: int
    quoted: bool


class ProcessSubstitution(Node):
    """`<(…)` or `>(…)`."""

    body: "tuple[Statement, ...]"
    direction: str
    start: int
    end: int


class Broken(Node):
    """A part that could not be understood: its value is unknown."""

    start: int
    end: int
    quoted: bool


Part = Union[Literal, Parameter, CommandSubstitution, Arithmetic, ProcessSubstitution, Broken]


class Word(Node):
    """One word before expansion. `quoted_empty`: `""` or `''` is in it: it is a field even if its parts give none."""

    parts: tuple[Part, ...]
    start: int
    end: int
    quoted_empty: bool = False


class ArrayLiteral(Node):
    """`(a b "$c")`; `keys[i]` is the subscript of `[k]=v` elements, None for plain ones."""

    elements: tuple[Word, ...]
    keys: tuple[Word | None, ...]
    start: int
    end: int


class Assignment(Node):
    """`NAME=value`, `NAME+=value`, `NAME[i]=value`, `NAME=(…)`; `value` None is an empty value."""

    name: str
    name_start: int
    index: Word | None
    append: bool
    value: Word | ArrayLiteral | None
    start: int
    end: int


class Heredoc(Node):
    """The body of `<<WORD`: parts (one literal where the delimiter is quoted; tabs of `<<-` are left out).

    `body` ends before the delimiter's line and is outside the range of its redirect. `closed`: whether that line was
    found; without it bash warns and takes the rest of the text.
    """

    body: Word
    delimiter: str
    quoted: bool
    strip_tabs: bool
    closed: bool = True


class Redirect(Node):
    """`2> file`, `<<EOF`, `<<< word`, `2>&1`, `&> file`; `operator` as written.

    `fd`: the number, or `{name}` as written; None if there is none. `target` is None for heredocs alone.
    """

    operator: str
    fd: str | None
    target: Word | None
    heredoc: Heredoc | None
    start: int
    end: int


class Simple(Node):
    """A simple command: assignments, words, redirects; all three are empty after a bare `!` or `time`.

    `words` holds plain words; for declaration commands (declare, export, local, readonly, typeset) an argument that is
    an assignment is an `Assignment` in `words`.
    """

    assignments: tuple[Assignment, ...]
    words: tuple[Word | Assignment, ...]
    redirects: tuple[Redirect, ...]
    start: int
    end: int


class Pipeline(Node):
    """`a | b |& c`, `! a`, `time a`; one command only where it is negated or timed.

    `negated` of `! ! a` is False. `|&` gives no redirect.
    """

    commands: "tuple[Statement, ...]"
    negated: bool
    start: int
    end: int


class AndOr(Node):
    """`left && right` or `left || right` (`operator`)."""

    left: "Statement"
    operator: str
    right: "Statement"
    start: int
    end: int


class Background(Node):
    """`statement &`, and `coproc [NAME] command`."""

    statement: "Statement"
    start: int
    end: int


class If(Node):
    """Pairs of condition and body (if, elif …), and the body of else (None if there is none)."""

    branches: "tuple[tuple[tuple[Statement, ...], tuple[Statement, ...]], ...]"
    otherwise: "tuple[Statement, ...] | None"
    redirects: tuple[Redirect, ...]
    start: int
    end: int


class For(Node):
    """`for NAME in words` (words None: over "$@"), and `select`, which asks for one of them each time."""

    name: str
    words: tuple[Word, ...] | None
    body: "tuple[Statement, ...]"
    redirects: tuple[Redirect, ...]
    start: int
    end: int
    selects: bool = False


class ArithmeticFor(Node):
    """`for ((…; …; …))`; `header` is the range between the parentheses."""

    header_start: int
    header_end: int
    body: "tuple[Statement, ...]"
    redirects: tuple[Redirect, ...]
    start: int
    end: int


class While(Node):
    """`while`, or `until` where `negated`."""

    condition: "tuple[Statement, ...]"
    body: "tuple[Statement, ...]"
    negated: bool
    redirects: tuple[Redirect, ...]
    start: int
    end: int


class Case(Node):
    """`case word in pattern | pattern) body ;;`: each item has its patterns, its body and its terminator."""

    word: Word
    items: "tuple[tuple[tuple[Word, ...], tuple[Statement, ...], str], ...]"
    redirects: tuple[Redirect, ...]
    start: int
    end: int


class Group(Node):
    """`{ …; }`, or `( … )` where `subshell`."""

    body: "tuple[Statement, ...]"
    subshell: bool
    redirects: tuple[Redirect, ...]
    start: int
    end: int


class Function(Node):
    """A definition; `body` is the compound command that a call runs."""

    name: str
    body: "Statement"
    start: int
    end: int


class TestCommand(Node):
    """`[[ … ]]`: its words and operators in order, operators as words too (one literal, not quoted)."""

    words: tuple[Word, ...]
    redirects: tuple[Redirect, ...]
    start: int
    end: int


class ArithmeticCommand(Node):
    """`(( … ))`; the range between the parentheses."""

    expression_start: int
    expression_end: int
    redirects: tuple[Redirect, ...]
    start: int
    end: int


class Unparsed(Node):
    """What could not be understood. Anything may happen in it, and after it the state is uncertain."""

    start: int
    end: int


Statement = Union[
    Simple,
    Pipeline,
    AndOr,
    Background,
    If,
    For,
    ArithmeticFor,
    While,
    Case,
    Group,
    Function,
    TestCommand,
    ArithmeticCommand,
    Unparsed,
]


class Program(Node):
    """A parsed text: its statements, and the ranges in which the parser found an error.

    `cut`: where the statement begins from which on nothing was read, as there is too much; None where all was.
    """

    statements: tuple[Statement, ...]
    errors: tuple[tuple[int, int], ...]
    cut: int | None = None
