"""The expansion of words: from the parts of a word to the fields that a command receives.

Every expansion returns alternatives, each with its guards. An unknown piece that is not quoted is *open*: it may be no
field, or several.
"""

import re
from collections.abc import Sequence

from sbatchlint.bash.expansion import arithmetic
from sbatchlint.bash.expansion.arithmetic_variables import ShellVariables
from sbatchlint.bash.expansion.brace_expansion import expand_braces, has_braces, with_empty_quotes
from sbatchlint.bash.expansion.combinations import MOST_COMBINATIONS, combine
from sbatchlint.bash.expansion.field_splitting import (
    Segment,
    Segments,
    joined,
    segments_of,
    split_fields,
)
from sbatchlint.bash.expansion.parameters import ParameterExpander
from sbatchlint.bash.expansion.patterns import quoted
from sbatchlint.bash.expansion.protocol import Choice, FieldChoice, Scope, Substituter
from sbatchlint.bash.limits import MOST_FIELDS, MOST_NOTED, MOST_PARTS, MOST_PIECES, fits
from sbatchlint.bash.syntax.tree import (
    Arithmetic,
    Broken,
    CommandSubstitution,
    Literal,
    Parameter,
    Part,
    ProcessSubstitution,
    Word,
)
from sbatchlint.bash.values import UNKNOWN_CHARACTER, Expansion, Piece, Pieces, Text, expansions, flattened, text_of
from sbatchlint.bash.variables import MOST_ALTERNATIVES, NO_GUARDS, Guards, merge_guards
from sbatchlint.source.regex import Regex
from sbatchlint.source.text import Span

# Names of variables that arithmetic reads.
NAMES = Regex(r"(?<![\w#])[A-Za-z_]\w*(?!\w|\s*=[^=]|\s*\[)")
CHANGING = Regex(r"(?<![=!<>])=(?!=)|<<=|>>=|\+\+|--")
# A tilde that stands for a folder, at the beginning of a word or behind `=` and `:`.
TILDE = Regex(r"~[\w+.-]*(?=[/:]|\Z)")


class WordExpander:
    """Expands words, parameters through `parameters` and `$(…)` through `substituter`."""

    def __init__(self, substituter: Substituter) -> None:
        self.substituter = substituter
        self.parameters = ParameterExpander(self)

    # --- words -------------------------------------------------------------------------------

    def fields(self, word: Word, scope: Scope) -> list[FieldChoice]:
        """The fields of a word of a command."""
        parts: Sequence[Part | Piece] = word.parts
        if not parts:
            span = scope.text.span(word.start, word.end)
            return [(((Piece("", span.start, span.end),),) if word.quoted_empty else (), NO_GUARDS)]
        if word.quoted_empty:
            parts = with_empty_quotes(word, scope)
        if scope.text.string.find("{", word.start, word.end) < 0 or not has_braces(parts):
            return self._split(parts, scope)
        words = expand_braces(parts, scope)
        if words is None:
            span = scope.text.span(word.start, word.end)
            return [(((Piece(None, *span, Expansion("{}", span, scope.context.phase), open=True),),), NO_GUARDS)]
        results: list[FieldChoice] = []
        for number, each in enumerate(words):
            found = self._split(each, scope)
            if not number:
                results = found
                continue
            results = [
                (fields + more, merged)
                for fields, guards in results
                for more, other in found
                if (merged := merge_guards(guards, other)) is not None
            ][:MOST_COMBINATIONS]
        return results

    def _split(self, parts: Sequence[Part | Piece], scope: Scope) -> list[FieldChoice]:
        """The fields of the parts of a word, without brace expansion."""
        pieces, at = self._plain(parts, scope, True)
        if at == len(parts):
            return [((tuple(pieces),), NO_GUARDS)]
        found = self._segments(parts, at, pieces, scope, True, "argument")
        if len(found) == 1:
            segments, guards = found[0]
            return [(split_fields(segments, scope.state), guards)]
        return [(split_fields(segments, scope.state), guards) for segments, guards in found]

    def value(self, word: Word | None, scope: Scope) -> list[tuple[Pieces, Guards]]:
        """The value of a word that is not split: of a redirect, a `case`, a condition."""
        return self._unsplit(word, scope, "word", MOST_PARTS)

    def assignment_value(self, word: Word | None, scope: Scope) -> list[tuple[Pieces, Guards]]:
        """The value of a word on the right side of an assignment."""
        return self._unsplit(word, scope, "assignment", MOST_PIECES)

    def _unsplit(self, word: Word | None, scope: Scope, tilde: str, most: int) -> list[tuple[Pieces, Guards]]:
        if word is None:
            return [((), NO_GUARDS)]
        parts = word.parts
        if len(parts) == 1 and isinstance(parts[0], Literal) and (parts[0].quoted or "~" not in parts[0].text):
            return [(self.literal(parts[0], scope), NO_GUARDS)]
        begun, at = self._plain(parts, scope, False)
        if at == len(parts):
            return [(self._bounded(begun, word, scope, most), NO_GUARDS)]
        values: list[tuple[Pieces, Guards]] = []
        for segments, guards in self._segments(parts, at, begun, scope, False, tilde):
            values.append((self._bounded(joined(segments), word, scope, most), guards))
        return values

    def _bounded(self, pieces: Sequence[Piece], word: Word, scope: Scope, most: int) -> Pieces:
        """The pieces of a value, but for empty ones, and at most so many."""
        kept = tuple([piece for piece in pieces if piece.text != ""])
        if fits(kept, most):
            return kept
        span = scope.text.span(word.start, word.end)
        return self.substituter.limits.bounded(kept, most, span, scope.context.phase)

    def single_value(self, word: Word | None, scope: Scope) -> Pieces:
        """The only value of a word; unknown where there are several."""
        return self.only_value(self.value(word, scope), word, scope)

    def only_value(self, values: list[tuple[Pieces, Guards]], word: Word | None, scope: Scope) -> Pieces:
        """The only one of these values of a word; unknown where there are several."""
        if len(values) == 1:
            return values[0][0]
        if word is None or not values:
            return ()
        span = scope.text.span(word.start, word.end)
        inputs = flattened(each for pieces, _ in values for each in expansions(pieces))
        return (Piece(None, span.start, span.end, Expansion("", span, scope.context.phase, inputs)),)

    def pattern(self, word: Word | None, scope: Scope) -> str | None:
        """The text of a pattern, in which quoted characters are escaped by a backslash; None where unknown."""
        out = []
        for part in word.parts if word is not None else ():
            if isinstance(part, Literal):
                text = part.text
                if UNKNOWN_CHARACTER in text:
                    return None
                is_quoted = part.quoted
            else:
                choices = self.part(part, scope, split=False)
                found = text_of(joined(choices[0][0])) if len(choices) == 1 else None
                if found is None:
                    return None
                text = found
                is_quoted = bool(getattr(part, "quoted", True))
            out.append(quoted(text) if is_quoted else text)
        return "".join(out)

    def argv(self, words: Sequence[Word], scope: Scope) -> list[FieldChoice]:
        """The words of a command: every consistent combination, at most `MOST_COMBINATIONS`."""
        results: list[FieldChoice] = [((), scope.context.guards)]
        plain: list[Pieces] = []  # fields of words without alternatives, added to all results at once
        is_plain, begin = scope.text.is_plain, scope.text.start
        for word in words:
            parts = word.parts
            if len(parts) == 1 and type(part := parts[0]) is Literal:
                text = part.text
                if part.quoted or "~" not in text and "{" not in text:
                    if is_plain and len(text) == part.end - part.start:
                        plain.append((Piece(text, begin + part.start, begin + part.end),))
                    else:
                        plain.append(self.literal(part, scope))
                    continue
            choices = self.fields(word, scope)
            if len(choices) == 1 and not choices[0][1]:
                plain.extend(choices[0][0])
                if len(plain) > MOST_FIELDS:
                    break  # the rest is cut off below
                continue
            if plain:
                results = [((*fields, *plain), guards) for fields, guards in results]
                plain = []
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
        if len(results) == 1 and len(results[0][0]) + len(plain) <= MOST_FIELDS:
            return [((*results[0][0], *plain), results[0][1])]
        results = [((*fields, *plain), guards) for fields, guards in results]
        if all(len(fields) <= MOST_FIELDS for fields, _ in results):
            return results
        span = scope.text.span(words[0].start, words[-1].end)
        bounded = self.substituter.limits.bounded_fields
        return [(bounded(fields, span, scope.context.phase), guards) for fields, guards in results]

    def array(self, elements: Sequence[Word], scope: Scope) -> list[FieldChoice]:
        """The elements of `(…)`."""
        inner = Scope(scope.state, scope.text, scope.context.replace(guards=NO_GUARDS))
        found = self.argv(elements, inner)
        if len(found) <= MOST_ALTERNATIVES or not elements:
            return found
        span = scope.text.span(elements[0].start, elements[-1].end)
        inputs = flattened(each for fields, _ in found for field in fields for each in expansions(field))
        piece = Piece(None, *span, Expansion("", span, scope.context.phase, inputs), open=True)
        return [(((piece,),), NO_GUARDS)]

    # --- parts -------------------------------------------------------------------------------

    def literal(self, part: Literal, scope: Scope) -> Pieces:
        """The pieces of literal text; an unknown that is parsed again stays unknown, open where it is not quoted."""
        text, start, end = scope.text, part.start, part.end
        if len(part.text) == end - start:
            if text.is_plain:
                return (Piece(part.text, text.start + start, text.start + end),)
            pieces = text.pieces(start, end)
            if UNKNOWN_CHARACTER in part.text:
                is_open = not part.quoted
                pieces = tuple(
                    [
                        Piece(None, piece.start, piece.end, piece.expansion, is_open) if piece.text is None else piece
                        for piece in pieces
                    ]
                )
            return pieces
        span = text.span(start, end)
        inside = () if text.is_plain else text.pieces(start, end)
        expansion = next((piece.expansion for piece in inside if piece.expansion is not None), None)
        return (Piece(part.text, span.start, span.end, expansion),)

    def _tilde(self, part: Literal, scope: Scope, first: bool, last: bool, tilde: str) -> Pieces:
        """The pieces of an unquoted literal, in which `~` is a folder: `~/x`, `a=~/x`, and in assignments `x:~/y`."""
        text = part.text
        if not first and tilde != "assignment" or len(text) != part.end - part.start:
            return self.literal(part, scope)
        places = [0] if first else []
        if tilde == "argument" and re.match(r"[A-Za-z_]\w*\+?=", text):
            equals = text.index("=") + 1
            places += [equals, *(match.end() for match in re.finditer(":", text) if match.end() > equals)]
        elif tilde == "assignment":
            places += [match.end() for match in re.finditer(":", text)]
        out: list[Piece] = []
        at = 0
        for place in places:
            match = TILDE.match(text, place)
            if match is None or match.end() == len(text) and not last:
                continue
            out.extend(scope.text.pieces(part.start + at, part.start + place))
            at = match.end()
            span = scope.text.span(part.start + place, part.start + at)
            out.append(Piece(None, *span, Expansion("HOME", span, scope.context.phase)))
        if not at:
            return self.literal(part, scope)
        return (*out, *scope.text.pieces(part.start + at, part.end))

    def segments(
        self, parts: Sequence[Part | Piece], scope: Scope, split: bool = True, tilde: str = "word",
        loose: bool = False,
    ) -> list[Choice]:  # fmt: skip
        """The segments of a word's parts. `split`: into fields; `loose`: literal text is split, too."""
        begun, at = ([], 0) if loose else self._plain(parts, scope, split)
        return self._segments(parts, at, begun, scope, split, tilde, loose)

    def _plain(self, parts: Sequence[Part | Piece], scope: Scope, split: bool) -> tuple[list[Piece], int]:
        """The pieces of the first parts, and how many these are: those with one value that is there as it is."""
        pieces: list[Piece] = []
        if len(parts) > MOST_PARTS:
            return pieces, 0
        is_plain, begin = scope.text.is_plain, scope.text.start
        for number, part in enumerate(parts):
            if type(part) is Literal:
                text = part.text
                if not part.quoted and "~" in text:
                    return pieces, number
                if is_plain and len(text) == part.end - part.start:
                    pieces.append(Piece(text, begin + part.start, begin + part.end))
                    continue
                field: Pieces | None = self.literal(part, scope)
            elif type(part) is Parameter and (part.quoted or not split):
                field = self.parameters.settled(part, scope, False)
            else:
                return pieces, number
            if not field:
                return pieces, number
            pieces.extend(field)
        return pieces, len(parts)

    def _segments(
        self, parts: Sequence[Part | Piece], at: int, begun: list[Piece], scope: Scope, split: bool, tilde: str,
        loose: bool = False,
    ) -> list[Choice]:  # fmt: skip
        """The segments of a word's parts, of which those before `at` gave the pieces in `begun`."""
        choices: list[list[Choice]] = []
        # what has no alternatives, since the last part with some
        alone: list[Segment] = [(tuple(begun), False)] if begun else []
        final = len(parts) - 1
        for number in range(at, len(parts)):
            part = parts[number]
            if number == MOST_PARTS:
                alone.append(self._rest(part, scope))
                break
            if isinstance(part, Literal):
                if not part.quoted and "~" in part.text:
                    pieces = self._tilde(part, scope, not number, number == final, tilde)
                else:
                    pieces = self.literal(part, scope)
                if not pieces:
                    offset = scope.text.offset(part.start)
                    pieces = (Piece("", offset, offset),)
                alone.append((pieces, loose and not part.quoted))
                continue
            if isinstance(part, Parameter):
                splitting = split and not part.quoted
                field = self.parameters.settled(part, scope, splitting)
                if field is not None:
                    if field:
                        alone.append((field, splitting))
                    continue
                found = self.parameters.expand(part, scope, split)
            elif isinstance(part, Piece):
                alone.append(((part,), False))
                continue
            else:
                found = self.part(part, scope, split)
            if len(found) == 1 and not found[0][1]:
                alone.extend(found[0][0])
                continue
            if alone:
                choices.append([(tuple(alone), NO_GUARDS)])
                alone = []
            choices.append(found)
        if not choices:
            return [(tuple(alone), NO_GUARDS)]
        if alone:
            choices.append([(tuple(alone), NO_GUARDS)])
        return combine(choices)

    def _rest(self, part: Part | Piece, scope: Scope) -> Segment:
        """An unknown in place of the rest of a word that is too long, from this part on."""
        span = part.span if isinstance(part, Piece) else scope.text.span(part.start, part.end)
        self.substituter.limits.note("value", span)
        piece = Piece(None, *span, Expansion("", span, scope.context.phase), open=True)
        return (piece,), False

    def part(self, part: Part, scope: Scope, split: bool = True) -> list[Choice]:
        """The alternatives of a part other than literal text."""
        if isinstance(part, Parameter):
            return self.parameters.expand(part, scope, split)
        is_quoted = getattr(part, "quoted", True)
        splitting = split and not is_quoted
        span = scope.text.span(part.start, part.end)
        phase = scope.context.phase
        if isinstance(part, CommandSubstitution):
            return self._substitution(part, scope, span, splitting)
        if isinstance(part, Arithmetic):
            pieces = self.arithmetic(part.expression_start, part.expression_end, scope, span)
            return [(segments_of(pieces, splitting), NO_GUARDS)]
        if isinstance(part, ProcessSubstitution):
            inputs: list[Expansion] = []
            commands: list[tuple[str, ...]] = []
            self.substituter.output(part.body, scope, inputs, commands)
            name = scope.text.string[part.start : part.end]
            expansion = Expansion(name, span, phase, flattened(inputs), tuple(commands))
            return [((((Piece(None, *span, expansion),), False),), NO_GUARDS)]
        if isinstance(part, Broken):
            scope.state.doubtful = True
            pieces = (Piece(None, *span, Expansion("", span, phase), open=splitting),)
            return [(segments_of(pieces, splitting), NO_GUARDS)]
        raise AssertionError(part)

    def _substitution(self, part: CommandSubstitution, scope: Scope, span: Span, splitting: bool) -> list[Choice]:
        inputs: list[Expansion] = []
        commands: list[tuple[str, ...]] = []
        known = self.substituter.output(part.body, scope, inputs, commands)
        inside = scope.text.string[part.start : part.end].strip("`")
        name = "$(" + " ".join(inside.removeprefix("$(").removesuffix(")").split()) + ")"
        expansion = Expansion(name, span, scope.context.phase, flattened(inputs), tuple(commands))
        if known is None:
            return [((((Piece(None, *span, expansion, open=splitting),), splitting),), NO_GUARDS)]
        empty: Segments = () if splitting else (((Piece("", span.start, span.start),), False),)
        return [(segments_of(pieces, splitting) or empty, guards) for pieces, guards in known]

    # --- arithmetic --------------------------------------------------------------------------

    def arithmetic(self, start: int, end: int, scope: Scope, span: Span) -> Pieces:
        """The value of an arithmetic expression, as one piece."""
        word, inner = self._expression(start, end, scope)
        value, inputs, _ = self._number(word, inner)
        if value is None:
            scope.state.doubtful = True
        self._note_names(word, inner)
        expansion = Expansion("$((" + scope.text.string[start:end].strip() + "))", span, scope.context.phase, inputs)
        return (Piece(None if value is None else str(value), span.start, span.end, expansion),)

    def number(self, start: int, end: int, scope: Scope) -> tuple[int | None, tuple[Expansion, ...]]:
        """The value of the expression in a range of the text, and its inputs; makes its assignments.

        bash abandons the command around an invalid expression.
        """
        value, inputs, _ = self._number(*self._expression(start, end, scope))
        if value is None:
            scope.state.doubtful = True
        return value, inputs

    def truth(self, start: int, end: int, scope: Scope) -> int | None:
        """The exit status of `((…))`, None where unknown; an invalid expression is false."""
        value, _, wrong = self._number(*self._expression(start, end, scope))
        return 1 if wrong else None if value is None else int(not value)

    def _number(self, word: Word, scope: Scope) -> tuple[int | None, tuple[Expansion, ...], bool]:
        """The value of an expression, its inputs, and whether it is certainly invalid."""
        inputs: dict[Expansion, None] = {}
        expression = ""
        known = True
        for part in word.parts:
            if isinstance(part, Literal):
                expression += part.text.replace('"', "")
                known = known and UNKNOWN_CHARACTER not in part.text
                continue
            choices = self.part(part, scope, split=False)
            pieces = joined(choices[0][0]) if len(choices) == 1 else ()
            for segments, _ in choices:
                for own, _ in segments:
                    inputs.update(dict.fromkeys(expansions(own or ())))
            text = text_of(tuple(pieces)) if len(choices) == 1 else None
            known = known and text is not None
            expression += " sbatchlint_unknown " if text is None else text
        found, wrong = self.number_of(expression, scope, inputs)
        # an unknown text may change how the whole is parsed
        return found if known else None, flattened(inputs), wrong and known

    @staticmethod
    def _expression(start: int, end: int, scope: Scope) -> tuple[Word, Scope]:
        """An arithmetic expression as a word of a text of its own, so that parsing costs its length, not the file's."""
        text = Text(scope.text.pieces(start, end))
        return arithmetic.parsed(text.string), Scope(scope.state, text, scope.context)

    def note_names(self, start: int, end: int, scope: Scope) -> None:
        """Records the variables that an expression names without `$`."""
        self._note_names(*self._expression(start, end, scope))

    def _note_names(self, word: Word, scope: Scope) -> None:
        trace = self.substituter.trace
        if word.end > MOST_NOTED:
            self.substituter.limits.note("value", scope.text.span(0, word.end))
            return
        for part in word.parts if trace.is_kept else ():
            if isinstance(part, Literal) and len(part.text) == part.end - part.start:
                for match in NAMES.finditer(part.text):
                    start, end = part.start + match.start(), part.start + match.end()
                    found = scope.state.variables.get(match[0])
                    trace.record_read(match[0], start, end, "arithmetic", found, scope.text, scope.context)

    def number_of(self, expression: str, scope: Scope, inputs: dict[Expansion, None]) -> tuple[int | None, bool]:
        """The value of an expression without `$`, and whether it is certainly invalid; makes its assignments."""
        names = ShellVariables(self, scope, inputs)
        try:
            return arithmetic.evaluate(expression, names), False
        except arithmetic.NotUnderstood:
            if not CHANGING.search(expression):
                return None, not names.unknown
            # bash may have made some of its assignments before it noticed
            for name in dict.fromkeys(re.findall(r"[A-Za-z_]\w*", expression)):
                if name != "sbatchlint_unknown":
                    names.assign(name, None, None)
            scope.state.doubtful = True
            return None, False
