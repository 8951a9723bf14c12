"""The expansion of words: from the parts of a word to the fields that a command receives.

Every expansion gives alternatives, each with its guards. What cannot be known is an unknown piece; an unknown that is
not quoted is *open*: it may be no field, or several.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

from ..source.records import NamedTuple
from ..source.regex import Regex
from ..source.text import Span
from . import arithmetic
from .patterns import matches
from .state import MOST_ALTERNATIVES, NO_GUARDS, Alternative, Fields, Guards, State, Variable, merge_guards
from .syntax import (
    Arithmetic,
    Broken,
    CommandSubstitution,
    Literal,
    Parameter,
    Part,
    ProcessSubstitution,
    Statement,
    Word,
)
from .trace import Context, Trace
from .values import UNKNOWN_CHARACTER, Expansion, Phase, Piece, Pieces, Text, cut, expansions, flattened, text_of

if TYPE_CHECKING:
    from .parameters import ParameterExpander

# Combinations that one command may have; beyond, the word that adds most becomes unknown.
MOST_COMBINATIONS = 12
BLANKS = Regex(r"[ \t\n]+|[^ \t\n]+")
BRACES = Regex(r"\{([^{}\s]+)\}")
MOST_BRACES = 64
# Names of variables in arithmetic that are not just set there.
NAMES = Regex(r"(?<![\w#])[A-Za-z_]\w*(?!\w|\s*=[^=]|\s*\[)")


class Environment(Protocol):
    """What is in the environment before the script sets anything."""

    def lookup(self, name: str, context: Context) -> str | bool | None:
        """The value where it is known; False: certainly not set; True or None: unknown."""

    def differs(self, name: str) -> bool:
        """Whether the variable differs between the tasks of a step."""


class Scope(NamedTuple):
    """Where a word is expanded: in which shell, from which text, in which flow."""

    state: State
    text: Text
    context: Context


class Segment(NamedTuple):
    """A piece on its way into a field; `split`: it came from an expansion without quotes. None ends the field."""

    piece: Piece | None
    split: bool


BREAK = Segment(None, False)
Segments = tuple[Segment, ...]
Choice = tuple[Segments, Guards]
FieldChoice = tuple[Fields, Guards]


class Substituter(Protocol):
    """The interpreter, as far as expansion needs it."""

    environment: Environment
    trace: Trace

    def output(
        self, body: Sequence[Statement], scope: Scope, inputs: list[Expansion], commands: list[tuple[str, ...]]
    ) -> list[tuple[Pieces, Guards]] | None:
        """What a substitution prints, where that is known; adds what goes into it and the commands that it runs."""

    def read_status(self, name: str) -> None:
        """The exit status was looked at."""


def combine(choices: list[list[Choice]], limit: int = MOST_COMBINATIONS) -> list[Choice]:
    """All consistent combinations of parts that follow each other."""
    if all(len(each) == 1 for each in choices):
        guards: Guards = NO_GUARDS
        for each in choices:
            merged = merge_guards(guards, each[0][1])
            if merged is None:
                return []
            guards = merged
        return [(tuple(segment for each in choices for segment in each[0][0]), guards)]
    results: list[Choice] = [((), NO_GUARDS)]
    for each in choices:
        extended: list[Choice] = []
        for segments, guards in results:
            for more, other in each:
                merged = merge_guards(guards, other)
                if merged is not None:
                    extended.append((segments + more, merged))
        if len(extended) > limit and len(each) > 1:
            extended = [(segments + _widened(each), guards) for segments, guards in results]
        results = extended
    return results


def _widened(choices: list[Choice]) -> Segments:
    """One unknown in place of too many choices."""
    inputs: dict[Expansion, None] = {}
    model: Piece | None = None
    split = False
    for segments, _ in choices:
        for segment in segments:
            split = split or segment.split
            if segment.piece is not None:
                model = model or segment.piece
                if segment.piece.expansion is not None:
                    inputs[segment.piece.expansion] = None
    if model is None:
        return ()
    first = next(iter(inputs), None)
    expansion = None if first is None else first._replace(inputs=flattened((*first.inputs, *inputs)))
    return (Segment(Piece(None, model.start, model.end, expansion, open=split), split),)


def split_fields(segments: Segments, separators: str | None = None) -> Fields:
    """Field splitting: segments to fields, by blanks of the unquoted expansions."""
    if not any(piece is None or split for piece, split in segments):
        return (tuple(piece for piece, _ in segments if piece is not None),) if segments else ()
    fields: list[Pieces] = []
    current: list[Piece] | None = None
    for piece, split in segments:
        if piece is None:
            if current is not None:
                fields.append(tuple(current))
            current = None
            continue
        if not split:
            current = current if current is not None else []
            current.append(piece)
        elif piece.text is None:
            current = current if current is not None else []
            current.append(piece._replace(open=True))
        else:
            words = (
                BLANKS if separators is None else re.compile(f"[{re.escape(separators)}]+|[^{re.escape(separators)}]+")
            )
            for match in words.finditer(piece.text):
                if match[0][0] in (" \t\n" if separators is None else separators):
                    if current is not None:
                        fields.append(tuple(current))
                    current = None
                else:
                    current = current if current is not None else []
                    current.extend(cut((piece,), match.start(), match.end()))
    if current is not None:
        fields.append(tuple(current))
    return tuple(fields)


class Expander:
    """Expands words. `parameters` expands `${…}`; the substituter runs `$(…)`."""

    def __init__(self, substituter: Substituter) -> None:
        from .parameters import ParameterExpander

        self.substituter = substituter
        self.parameters: ParameterExpander = ParameterExpander(self)

    # --- words -------------------------------------------------------------------------------

    def fields(self, word: Word, scope: Scope) -> list[FieldChoice]:
        """The fields of a word of a command."""
        parts = word.parts
        if len(parts) == 1 and isinstance(parts[0], Literal):
            part = parts[0]
            if not part.quoted and (part.text[0] == "~" or "{" in part.text):
                return self._unquoted_literal(part, scope)
            return [((self.literal(part, scope),), NO_GUARDS)]
        if not parts:
            span = scope.text.span(word.start, word.end)
            return [(((Piece("", span.start, span.end),),) if word.quoted_empty else (), NO_GUARDS)]
        separators = self.separators(scope.state)
        results = []
        for segments, guards in self._segments(word, scope):
            fields = split_fields(segments, separators)
            if not fields and (word.quoted_empty or self._is_kept_when_empty(word, scope)):
                span = scope.text.span(word.start, word.end)
                fields = ((Piece("", span.start, span.end),),)
            results.append((fields, guards))
        return results

    def _is_kept_when_empty(self, word: Word, scope: Scope) -> bool:
        """Whether a word that expands to nothing is an empty field: `"$X"` is, `$X` and `"$@"` are none."""
        for part in word.parts:
            if getattr(part, "quoted", False):
                if not isinstance(part, Parameter):
                    return True
                index = part.index
                if part.name != "@" and (index is None or scope.text.string[index.start : index.end] != "@"):
                    return True
        return False

    def value(self, word: Word | None, scope: Scope) -> list[tuple[Pieces, Guards]]:
        """The value of a word that is not split: of an assignment, a redirect, a `case`, a pattern."""
        if word is None:
            return [((), NO_GUARDS)]
        parts = word.parts
        if len(parts) == 1 and isinstance(parts[0], Literal) and (parts[0].quoted or parts[0].text[0] != "~"):
            return [(self.literal(parts[0], scope), NO_GUARDS)]
        return [
            (tuple(segment.piece for segment in segments if segment.piece is not None), guards)
            for segments, guards in self._segments(word, scope, split=False)
        ]

    def single(self, word: Word | None, scope: Scope) -> Pieces:
        """The value of a word where only one is wanted: unknown where there are several."""
        values = self.value(word, scope)
        if len(values) == 1:
            return values[0][0]
        if word is None or not values:
            return ()
        span = scope.text.span(word.start, word.end)
        inputs = flattened(each for pieces, _ in values for each in expansions(pieces))
        return (Piece(None, span.start, span.end, Expansion("", span, scope.context.phase, inputs)),)

    def argv(self, words: Sequence[Word], scope: Scope) -> list[FieldChoice]:
        """The words of a command: every consistent combination, at most `MOST_COMBINATIONS`."""
        results: list[FieldChoice] = [((), scope.context.guards)]
        for word in words:
            choices = self.fields(word, scope)
            if len(choices) == 1 and not choices[0][1]:
                more = choices[0][0]
                results = [(fields + more, guards) for fields, guards in results]
                continue
            extended = []
            for fields, guards in results:
                for more, other in choices:
                    merged = merge_guards(guards, other)
                    if merged is not None:
                        extended.append((fields + more, merged))
            if len(extended) > MOST_COMBINATIONS:
                span = scope.text.span(word.start, word.end)
                inputs = flattened(each for more, _ in choices for field in more for each in expansions(field))
                piece = Piece(None, span.start, span.end, Expansion("", span, scope.context.phase, inputs), open=True)
                extended = [((*fields, (piece,)), guards) for fields, guards in results]
            results = extended
        return results

    def array(self, elements: Sequence[Word], scope: Scope) -> list[FieldChoice]:
        """The elements of `(…)`."""
        inner = Scope(scope.state, scope.text, scope.context.replace(guards=NO_GUARDS))
        return self.argv(elements, inner)[:MOST_ALTERNATIVES]

    # --- parts -------------------------------------------------------------------------------

    def separators(self, state: State) -> str | None:
        """IFS, where the script sets it (None: blanks)."""
        variable = state.variables.get("IFS")
        if variable is None or len(variable.alternatives) != 1 or variable.alternatives[0].fields is None:
            return None
        text = text_of(variable.alternatives[0].fields[0]) if variable.alternatives[0].fields else None
        return text if text and text.strip(" \t\n") else None

    def literal(self, part: Literal, scope: Scope) -> Pieces:
        """The pieces of literal text; an unknown that is parsed again stays unknown, open where it is not quoted."""
        start, end = part.start, part.end
        if len(part.text) == end - start:
            pieces = scope.text.pieces(start, end)
            if UNKNOWN_CHARACTER in part.text:
                pieces = tuple(
                    piece._replace(open=not part.quoted) if piece.text is None else piece for piece in pieces
                )
            return pieces
        span = scope.text.span(start, end)
        return (Piece(part.text, span.start, span.end),)

    def _unquoted_literal(self, part: Literal, scope: Scope) -> list[FieldChoice]:
        if part.text[0] == "~":
            return [((self._tilde(part, scope),), NO_GUARDS)]
        return [(self._braces(self.literal(part, scope), part.text), NO_GUARDS)]

    def _tilde(self, part: Literal, scope: Scope) -> Pieces:
        """`~` and `~/x`: the home folder."""
        if part.text != "~" and part.text[1:2] != "/":
            return self.literal(part, scope)
        span = scope.text.span(part.start, part.start + 1)
        home = Piece(None, span.start, span.end, Expansion("HOME", span, scope.context.phase))
        if len(part.text) == 1:
            return (home,)
        return (home, *scope.text.pieces(part.start + 1, part.end))

    def _braces(self, pieces: Pieces, text: str) -> Fields:
        """`{a,b}` and `{1..3}` of a literal word, a few of them; anything odd stays as it is."""
        match = BRACES.search(text)
        if match is None or "${" in text:
            return (pieces,)
        before, after = cut(pieces, 0, match.start()), cut(pieces, match.end(), len(text))
        span = Span(pieces[0].start, pieces[-1].end)
        out: list[Pieces] = []
        if "," in match[1]:
            at = match.start() + 1
            for item in match[1].split(","):
                out.append((*before, *cut(pieces, at, at + len(item)), *after))
                at += len(item) + 1
        else:
            numbers = re.fullmatch(r"(-?\d+)\.\.(-?\d+)", match[1])
            if numbers is None or abs(int(numbers[1]) - int(numbers[2])) >= MOST_BRACES:
                return (pieces,)
            first, last = int(numbers[1]), int(numbers[2])
            numbers_between = range(first, last + 1) if first <= last else range(first, last - 1, -1)
            expansion = Expansion("{}", span, Phase.BATCH)
            out.extend((*before, Piece(str(each), *span, expansion), *after) for each in numbers_between)
        return tuple(out)

    def _segments(self, word: Word, scope: Scope, split: bool = True) -> list[Choice]:
        choices: list[list[Choice]] = []
        for number, part in enumerate(word.parts):
            if isinstance(part, Literal):
                if (
                    number == 0
                    and not part.quoted
                    and part.text[:1] == "~"
                    and (len(part.text) > 1 or len(word.parts) == 1)
                ):
                    pieces = self._tilde(part, scope)
                else:
                    pieces = self.literal(part, scope)
                choices.append([(tuple(Segment(piece, False) for piece in pieces), NO_GUARDS)])
            else:
                choices.append(self.part(part, scope, split))
        return combine(choices)

    def part(self, part: Part, scope: Scope, split: bool = True) -> list[Choice]:
        """The alternatives of a part that is not literal."""
        if isinstance(part, Parameter):
            return self.parameters.expand(part, scope, split and not part.quoted)
        splitting = split and not getattr(part, "quoted", True)
        span = scope.text.span(part.start, part.end)
        phase = scope.context.phase
        if isinstance(part, CommandSubstitution):
            return self._substitution(part, scope, span, splitting)
        if isinstance(part, Arithmetic):
            pieces = self.arithmetic(part.expression_start, part.expression_end, scope, span)
            return [(tuple(Segment(piece, splitting) for piece in pieces), NO_GUARDS)]
        if isinstance(part, ProcessSubstitution):
            inputs: list[Expansion] = []
            commands: list[tuple[str, ...]] = []
            self.substituter.output(part.body, scope, inputs, commands)
            name = scope.text.string[part.start : part.end]
            expansion = Expansion(name, span, phase, flattened(inputs), tuple(commands))
            return [((Segment(Piece(None, *span, expansion), False),), NO_GUARDS)]
        if isinstance(part, Broken):
            return [((Segment(Piece(None, *span, Expansion("", span, phase), open=splitting), splitting),), NO_GUARDS)]
        raise AssertionError(part)

    def _substitution(self, part: CommandSubstitution, scope: Scope, span: Span, splitting: bool) -> list[Choice]:
        inputs: list[Expansion] = []
        commands: list[tuple[str, ...]] = []
        known = self.substituter.output(part.body, scope, inputs, commands)
        inside = scope.text.string[part.start : part.end].strip("`")
        name = "$(" + " ".join(inside.removeprefix("$(").removesuffix(")").split()) + ")"
        expansion = Expansion(name, span, scope.context.phase, flattened(inputs), tuple(commands))
        if known is None:
            return [((Segment(Piece(None, *span, expansion, open=splitting), splitting),), NO_GUARDS)]
        return [(tuple(Segment(piece, splitting) for piece in pieces), guards) for pieces, guards in known]

    # --- arithmetic --------------------------------------------------------------------------

    def arithmetic(self, start: int, end: int, scope: Scope, span: Span) -> Pieces:
        """The value of an arithmetic expression, as one piece."""
        value, inputs = self.number(start, end, scope)
        self.note_names(start, end, scope)
        expansion = Expansion("$((" + scope.text.string[start:end].strip() + "))", span, scope.context.phase, inputs)
        return (Piece(None if value is None else str(value), span.start, span.end, expansion),)

    def number(self, start: int, end: int, scope: Scope) -> tuple[int | None, tuple[Expansion, ...]]:
        """The value of the expression in a range of the text, and what went into it; sets what it assigns."""
        from .parse import parse_word_text

        inputs: dict[Expansion, None] = {}
        expression = ""
        for part in parse_word_text(scope.text.string, start, end).parts:
            if isinstance(part, Literal):
                expression += part.text
                continue
            choices = self.part(part, scope, split=False)
            pieces = [segment.piece for segment in choices[0][0] if segment.piece] if len(choices) == 1 else []
            for segments, _ in choices:
                for segment in segments:
                    if segment.piece is not None and segment.piece.expansion is not None:
                        inputs.update(dict.fromkeys(segment.piece.expansion.all()))
            text = text_of(tuple(pieces)) if len(choices) == 1 else None
            expression += " sbatchlint_unknown " if text is None else text
        found = self.number_of(expression, scope, inputs)
        return found, flattened(inputs)

    def note_names(self, start: int, end: int, scope: Scope) -> None:
        """Notes the variables that an expression names without `$`."""
        from .parse import parse_word_text

        for part in parse_word_text(scope.text.string, start, end).parts:
            if isinstance(part, Literal) and len(part.text) == part.end - part.start:
                for match in NAMES.finditer(part.text):
                    span = scope.text.span(part.start + match.start(), part.start + match.end())
                    self.substituter.trace.note_read(match[0], span, "arithmetic", scope.state, scope.context)

    def number_of(self, expression: str, scope: Scope, inputs: dict[Expansion, None]) -> int | None:
        """The value of an expression without `$`; names are looked up, assignments made."""

        def lookup(name: str, depth: int = 0) -> int | None:
            if name == "sbatchlint_unknown" or depth > 8:
                return None
            span = Span(scope.text.offset(0), scope.text.offset(0))
            choices = self.parameters.variable(name, scope, span)
            values = set()
            for fields, _ in choices:
                if fields is None:
                    values.add(0 if self.substituter.environment.lookup(name, scope.context) is False else None)
                    continue
                field = fields[0] if fields else ()
                inputs.update(dict.fromkeys(expansions(field)))
                text = text_of(field)
                number = None if text is None else arithmetic.parse_number(text.strip())
                if number is None and text and re.fullmatch(r"[A-Za-z_]\w*", text.strip()):
                    number = lookup(text.strip(), depth + 1)
                values.add(0 if text == "" else number)
            return values.pop() if len(values) == 1 else None

        try:
            result = arithmetic.evaluate(expression, lookup)
        except arithmetic.NotUnderstood:
            return None
        for name, value in result.assigned:
            start = scope.text.offset(0)
            old = scope.state.variables.get(name)
            span = old.span if old else Span(start, start)
            piece = Piece(
                None if value is None else str(value),
                *span,
                Expansion(f"$(({name}))", span, scope.context.phase, flattened(inputs)),
            )
            scope.state.variables[name] = Variable(
                (Alternative(((piece,),)),), exported=bool(old and old.exported), span=span
            )
        return result.value


def text_matches(pattern: Pieces, subject: Pieces) -> bool | None:
    """Whether a `case` pattern or `[[ == ]]` pattern matches; None where that is not known."""
    known = text_of(pattern)
    if known == "*":
        return True
    text = text_of(subject)
    return None if known is None or text is None else matches(known, text)
