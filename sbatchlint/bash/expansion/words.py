"""The expansion of words: from the parts of a word to the fields that a command receives.

Every expansion returns alternatives, each with its guards. An unknown piece that is not quoted is *open*: it may be no
field, or several.
"""

import re
from collections.abc import Sequence

from sbatchlint.bash.expansion.brace_expansion import expand_braces, has_braces, has_other_braces, with_empty_quotes
from sbatchlint.bash.expansion.combinations import MOST_COMBINATIONS, combinations, combine
from sbatchlint.bash.expansion.field_splitting import Segment, Segments, joined, split_fields
from sbatchlint.bash.expansion.globs import is_wild, matched, opened
from sbatchlint.bash.expansion.lookup import note_unset
from sbatchlint.bash.expansion.patterns import quoted
from sbatchlint.bash.expansion.protocol import Choice, FieldChoice, Scope, Substituter
from sbatchlint.bash.limits import MOST_FIELDS, MOST_PARTS, MOST_PIECES
from sbatchlint.bash.syntax.tree import Literal, Parameter, Part, Word
from sbatchlint.bash.values import (
    UNKNOWN_CHARACTER,
    Expansion,
    Piece,
    Pieces,
    expansions,
    flattened,
    is_open,
    text_of,
    texts_of,
)
from sbatchlint.bash.variables import MOST_ALTERNATIVES, NO_GUARDS, Fields, Guards, common_pieces
from sbatchlint.source.regex import Regex

# A tilde that stands for a folder, at the beginning of a word or after `=` and `:`.
TILDE = Regex(r"~[\w+.-]*(?=[/:]|\Z)")


def begins_with_folder(word: Word, scope: Scope) -> bool:
    """Whether a pattern or its replacement begins with a `~` that stands for a folder, also in double quotes."""
    return TILDE.match(scope.text.string, word.start, word.end) is not None


# After these operators a word is there, or none, whatever is beside it.
_NOT_ALL = frozenset(("length", "prefix", "-", "=", "?", ":-", ":=", ":?"))


def _is_all(part: Part | Piece, sign: str, scope: Scope) -> bool:
    """Whether a part is all arguments, or all elements of an array, in quotes; `sign`: `@` or `*`."""
    if not isinstance(part, Parameter) or not part.quoted or part.operator in _NOT_ALL:
        return False
    return part.name == sign if part.index is None else scope.written(part.index) == sign


def _beside_all(parts: Sequence[Part | Piece], scope: Scope) -> set[int]:
    """The numbers of the parts that stand in the same quotes as `$@` or `${A[@]}` and need care (see `_removable`).

    Where nothing but expansions is there, that is no word, and they are empty, what is in these quotes is no word, too.
    """
    found: set[int] = set()
    if not any(_is_all(part, "@", scope) for part in parts):
        return found
    group: list[int] = []
    for number, part in enumerate((*parts, None)):
        before = parts[number - 1] if group else None
        if before is not None and (
            part is None or isinstance(part, Piece) or '"' in scope.text.string[before.end : part.start]
        ):
            whole = [each for each in group if _is_all(parts[each], "@", scope)]
            if whole and not any(isinstance(parts[each], Literal) for each in group):
                found.update(set(group).difference(whole))
            elif whole:
                found.update(each for each in group if _is_changed_star(parts[each], scope))
            group = []
        if part is not None and not isinstance(part, Piece) and getattr(part, "quoted", False):
            group.append(number)
    return found


def _is_changed_star(part: Part | Piece, scope: Scope) -> bool:
    return _is_all(part, "*", scope) and isinstance(part, Parameter) and part.operator != ""


def _removable(segments: Segments, part: Part, scope: Scope) -> Segments:
    """The segments of a part beside `"$@"`: nothing where they are empty; what may be empty may be no word."""
    if _is_changed_star(part, scope):
        # bash may also split what it makes of the elements
        inputs = flattened(each for pieces, _ in segments for each in expansions(pieces or ()))
        return (((scope.expanded(None, "*", scope.span(part), inputs, is_open=True),), False),)
    kept: list[Segment] = []
    for pieces, is_split in segments:
        found = pieces and tuple([_perhaps_no_word(piece) for piece in pieces if piece.text != ""])
        if found or pieces is None:
            kept.append((found, is_split))
    return tuple(kept)


def _perhaps_no_word(piece: Piece) -> Piece:
    return piece.replace(open=True) if piece.text is None and not piece.filled else piece


class Expander:
    """Expands words; `ScriptExpander` adds the parts that are not literal."""

    def __init__(self, substituter: Substituter) -> None:
        self.substituter = substituter
        self.fragile = 0  # how often an expression was met that is invalid if a variable is not set
        self.risky = False  # whether the last expression is invalid with one of the values that variables have

    def part(self, part: Part, scope: Scope, split: bool = True) -> list[Choice]:
        """The alternatives of a part other than literal text."""
        raise NotImplementedError

    def number(self, start: int, end: int, scope: Scope) -> tuple[int | None, tuple[Expansion, ...]]:
        """The value of the arithmetic expression in a range of the text, and its inputs; makes its assignments.

        bash abandons the command around an invalid expression.
        """
        raise NotImplementedError

    def integer_of(self, expression: str, scope: Scope) -> int | None:
        """The value of an expression that stands in a text, as in `read 'A[i]'`; None where it is unknown.

        bash abandons the command around an invalid expression.
        """
        raise NotImplementedError

    def number_of(self, expression: str, scope: Scope, inputs: dict[Expansion, None]) -> tuple[int | None, bool | None]:
        """The value of an expression without `$`, and whether it is invalid, None where it may be.

        Makes its assignments.
        """
        raise NotImplementedError

    def fields(self, word: Word, scope: Scope) -> list[FieldChoice]:
        """The fields of a word of a command."""
        parts: Sequence[Part | Piece] = word.parts
        # Nearly all words are one literal: to look for these first saves 0.7 % of a run.
        if len(parts) == 1 and isinstance(part := parts[0], Literal):
            if part.quoted or "~" not in part.text and "{" not in part.text:
                pieces = self.literal(part, scope)
                if is_wild(part):
                    pieces = self._matched(opened(pieces, scope.state), scope)
                return [((pieces,), NO_GUARDS)]
        if not parts:
            span = scope.span(word)
            return [(((Piece("", span.start, span.end),),) if word.quoted_empty else (), NO_GUARDS)]
        # an empty string in the word matters where the other parts may give nothing, or a tilde is not the first
        if word.quoted_empty and not (len(parts) == 1 and isinstance(parts[0], Literal) and "~" not in parts[0].text):
            parts = with_empty_quotes(word, scope)
        if scope.text.string.find("{", word.start, word.end) < 0:
            return self._split(parts, scope)
        has_others = has_other_braces(word, scope)
        expands = scope.state.options.get("braceexpand", True)
        if expands is False or not has_others and not has_braces(parts):
            return self._split(parts, scope)
        if has_others:
            expands = None
            self._split(parts, scope)  # for the commands in it
        words = expand_braces(parts, scope) if expands else None
        if words is None:
            note_unset(scope)  # the names in it are others than those that were read: `{a,$b}c` has `$bc`
            span = scope.span(word)
            return [(((scope.expanded(None, "{}", span, is_open=True),),), NO_GUARDS)]
        found = [self._split(each, scope) for each in words]
        return combinations(
            found, NO_GUARDS, MOST_COMBINATIONS, lambda number, alternatives: self._widened(word, alternatives, scope)
        )

    def _split(self, parts: Sequence[Part | Piece], scope: Scope) -> list[FieldChoice]:
        """The fields of the parts of a word, without brace expansion."""
        found = self.segments(parts, scope, tilde="argument")
        return [
            (tuple([self._matched(field, scope) for field in split_fields(segments, scope.state)]), guards)
            for segments, guards in found
        ]

    def _matched(self, field: Pieces, scope: Scope) -> Pieces:
        found = matched(field, scope.state)
        if "failglob" in scope.state.options and is_open(found) and scope.state.option("failglob") is not False:
            self.substituter.abandon(scope)  # where no file matches
        return found

    def value(self, word: Word | None, scope: Scope) -> list[tuple[Pieces, Guards]]:
        """The value of a word that is not split: of a redirect, a `case`, a condition."""
        return self._unsplit(word, scope, "word", MOST_PARTS)

    def assignment_value(self, word: Word | None, scope: Scope) -> list[tuple[Pieces, Guards]]:
        """The value of a word on the right side of an assignment."""
        return self._unsplit(word, scope, "assignment", MOST_PIECES)

    def _unsplit(self, word: Word | None, scope: Scope, tilde: str, most: int) -> list[tuple[Pieces, Guards]]:
        if word is None:
            return [((), NO_GUARDS)]
        found = self.segments(word.parts, scope, False, tilde)
        return [(self._bounded(joined(segments), word, scope, most), guards) for segments, guards in found]

    def _bounded(self, pieces: Sequence[Piece], word: Word, scope: Scope, most: int) -> Pieces:
        """The pieces of a value without empty ones, at most `most` of them."""
        kept = tuple(pieces)
        if "" in texts_of(kept):
            kept = tuple([piece for piece in kept if piece.text != ""])
        return self.substituter.limits.bounded(kept, most, scope.span(word), scope.context.phase)

    def single_value(self, word: Word | None, scope: Scope) -> Pieces:
        """The only value of a word; unknown where there are several."""
        return self.only_value(self.value(word, scope), word, scope)

    def only_value(self, values: list[tuple[Pieces, Guards]], word: Word | None, scope: Scope) -> Pieces:
        """The only one of these values of a word; unknown where there are several."""
        if len(values) == 1:
            return values[0][0]
        if word is None or not values:
            return ()
        span = scope.span(word)
        inputs = flattened(each for pieces, _ in values for each in expansions(pieces))
        return (scope.expanded(None, "", span, inputs),)

    def pattern(self, word: Word | None, scope: Scope) -> str | None:
        """A pattern as a string, in which quoted characters are escaped by a backslash; None where unknown."""
        out = []
        if word is not None and begins_with_folder(word, scope):
            return None
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

    def argv(self, words: Sequence[Word], scope: Scope, limit: int = MOST_COMBINATIONS) -> list[FieldChoice]:
        """The fields of the words of a command: every consistent combination, at most `limit`."""
        parts: list[list[FieldChoice]] = []
        of_parts: list[Word] = []
        plain: list[Pieces] = []  # fields of words without alternatives, added to all results at once
        for word in words:
            choices = self.fields(word, scope)
            if len(choices) == 1 and not choices[0][1]:
                plain.extend(choices[0][0])
                if len(plain) > MOST_FIELDS:
                    break  # the rest is cut off below
                continue
            if plain:
                parts.append([(tuple(plain), NO_GUARDS)])
                of_parts.append(word)
                plain = []
            parts.append(choices)
            of_parts.append(word)
        results = combinations(
            parts, scope.context.guards, limit, lambda number, found: self._widened(of_parts[number], found, scope)
        )
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
        return self.argv(elements, inner, MOST_ALTERNATIVES)

    def _widened(self, word: Word, choices: list[FieldChoice], scope: Scope) -> Fields:
        """An unknown in place of the fields of a word that has too many alternatives."""
        span = scope.span(word)
        inputs = flattened(each for more, _ in choices for field in more for each in expansions(field))
        single = all(len(more) == 1 and not is_open(more[0]) for more, _ in choices)
        piece = scope.expanded(None, "", span, inputs, is_open=not single)
        return (common_pieces([more[0] for more, _ in choices], piece) if single else (piece,),)

    # --- parts -------------------------------------------------------------------------------

    def literal(self, part: Literal, scope: Scope) -> Pieces:
        """The pieces of literal text; an unknown that is parsed again stays unknown, open where it is not quoted."""
        text, start, end = scope.text, part.start, part.end
        if len(part.text) == end - start:
            pieces = text.pieces(start, end)
            if not text.is_plain and UNKNOWN_CHARACTER in part.text:
                is_open = not part.quoted
                pieces = tuple(
                    [
                        Piece(None, piece.start, piece.end, piece.expansion, is_open) if piece.text is None else piece
                        for piece in pieces
                    ]
                )
            return pieces
        span = text.span(start, end)
        inside = text.pieces(start, end)
        expansion = next((piece.expansion for piece in inside if piece.expansion is not None), None)
        if part.text == UNKNOWN_CHARACTER:  # an escape
            return (Piece(None, span.start, span.end, expansion),)
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
            out.append(scope.expanded(None, "HOME", span))
        if not at:
            return self.literal(part, scope)
        return (*out, *scope.text.pieces(part.start + at, part.end))

    def segments(
        self, parts: Sequence[Part | Piece], scope: Scope, split: bool = True, tilde: str = "word",
        loose: bool = False,
    ) -> list[Choice]:  # fmt: skip
        """The segments of a word's parts. `split`: into fields; `loose`: literal text is split as well."""
        choices: list[list[Choice]] = []
        alone: list[Segment] = []  # segments without alternatives since the last part that has some
        final = len(parts) - 1
        beside = _beside_all(parts, scope) if split and len(parts) > 1 else ()
        for number, part in enumerate(parts):
            if number == MOST_PARTS:
                alone.append(self._rest(part, scope))
                break
            if isinstance(part, Literal):
                if not part.quoted and "~" in part.text:
                    pieces = self._tilde(part, scope, not number, number == final, tilde)
                else:
                    pieces = self.literal(part, scope)
                if split and is_wild(part):
                    pieces = opened(pieces, scope.state)
                if not pieces:
                    offset = scope.text.offset(part.start)
                    pieces = (Piece("", offset, offset),)
                alone.append((pieces, loose and not part.quoted))
                continue
            if isinstance(part, Piece):
                alone.append(((part,), False))
                continue
            found = self.part(part, scope, split)
            if number in beside:
                found = [(_removable(segments, part, scope), guards) for segments, guards in found]
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
        span = part.span if isinstance(part, Piece) else scope.span(part)
        self.substituter.limits.note("value", span)
        piece = scope.expanded(None, "", span, is_open=True)
        return (piece,), False
