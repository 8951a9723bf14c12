"""The expansion of parameters: `$X`, `${X:-y}`, `${X##*/}`, `${A[@]}` and all their kin."""

from __future__ import annotations

import re
from collections.abc import Hashable
from typing import TYPE_CHECKING

from ..source.text import Span
from .patterns import pattern_to_regex, removed_range
from .state import NO_GUARDS, Fields, Guards, Variable, merge_guards
from .syntax import Parameter, Word
from .values import Expansion, Piece, Pieces, cut, expansions, flattened, text_of

if TYPE_CHECKING:
    from .expand import Choice, Expander, Scope, Segment

ValueChoice = tuple[Fields | None, Guards]


class ParameterExpander:
    """Looks up and transforms parameters; part of `Expander`."""

    def __init__(self, expander: Expander) -> None:
        self.expander = expander

    def expand(self, part: Parameter, scope: Scope, splitting: bool) -> list[Choice]:
        """The alternatives of `${…}` as segments."""
        span = scope.text.span(part.start, part.end)
        index = self._index_text(part, scope)
        results: list[Choice] = []
        for fields, guards in self._operate(part, scope, span, index):
            results.append((self._segments(fields, index, splitting, span, part, scope), guards))
        return results

    def _segments(
        self, fields: Fields, index: str | None, splitting: bool, span: Span, part: Parameter, scope: Scope
    ) -> tuple[Segment, ...]:
        from .expand import BREAK, Segment

        several = (
            index in ("@", "*")
            or part.name in ("@", "*")
            and part.operator in ("", ":", "#", "##", "%", "%%", "/", "//")
        )
        if not several:
            return tuple(Segment(piece, splitting) for piece in (fields[0] if fields else ()))
        joined = (index == "*" or part.name == "*") and not splitting
        out: list[Segment] = []
        for number, field in enumerate(fields):
            if number:
                if joined:
                    blank = Piece(" ", *span, Expansion(part.name, span, scope.context.phase))
                    out.append(Segment(blank, False))
                else:
                    out.append(BREAK)
            if field:
                out.extend(Segment(piece, splitting) for piece in field)
            elif not splitting:
                out.append(Segment(Piece("", *span), False))
        return tuple(out)

    def _index_text(self, part: Parameter, scope: Scope) -> str | None:
        """The subscript: `@`, `*`, a number as text, "" where it is unknown, None without one."""
        if part.index is None:
            return None
        raw = scope.text.string[part.index.start : part.index.end]
        if raw in ("@", "*"):
            return raw
        number, _ = self.expander.number(part.index.start, part.index.end, scope)
        return "" if number is None else str(number)

    # --- variables ---------------------------------------------------------------------------

    def unknown(self, name: str, scope: Scope, span: Span, inputs: tuple[Expansion, ...] = ()) -> Pieces:
        return (Piece(None, span.start, span.end, Expansion(name, span, scope.context.phase, inputs)),)

    def variable(self, name: str, scope: Scope, span: Span) -> list[ValueChoice]:
        """The alternatives of a variable; fields None: not set by the script (`environment` may know more)."""
        found = scope.state.variables.get(name)
        if found is None:
            return [(self._environment(name, scope, span), NO_GUARDS)]
        if not found.alternatives:
            return [(None, NO_GUARDS)]
        results: list[ValueChoice] = []
        for each in found.alternatives:
            guards = merge_guards(scope.context.guards, each.guards)
            if guards is None:
                continue
            fields = self._environment(name, scope, span) if each.fields is None else each.fields
            results.append((fields, each.guards))
        return results or [((self.unknown(name, scope, span),), NO_GUARDS)]

    def _environment(self, name: str, scope: Scope, span: Span) -> Fields | None:
        """What the environment holds: a value, unknown, or None where it is certainly not set."""
        value = self.expander.substituter.environment.lookup(name, scope.context)
        if value is False:
            return None
        expansion = Expansion(name, span, scope.context.phase)
        return ((Piece(value if isinstance(value, str) else None, span.start, span.end, expansion),),)

    def _special(self, name: str, scope: Scope, span: Span) -> list[ValueChoice] | None:
        positional = scope.state.positional
        if name in ("@", "*"):
            if positional is None:
                piece = Piece(None, span.start, span.end, Expansion("@", span, scope.context.phase), open=True)
                return [(((piece,),), NO_GUARDS)]
            return [(positional, NO_GUARDS)]
        if name.isdigit() and name != "0":
            if positional is None:
                return [((self.unknown(name, scope, span),), NO_GUARDS)]
            if any(piece.open for field in positional[: int(name)] for piece in field):
                return [((self.unknown(name, scope, span),), NO_GUARDS)]
            return [((positional[int(name) - 1],) if int(name) <= len(positional) else None, NO_GUARDS)]
        if name == "#" and positional is not None and not any(p.open for field in positional for p in field):
            expansion = Expansion("#", span, scope.context.phase)
            return [(((Piece(str(len(positional)), *span, expansion),),), NO_GUARDS)]
        if name in ("?", "PIPESTATUS"):
            self.expander.substituter.read_status(name)
        if name in ("?", "-", "$", "!", "_", "0", "#"):
            return [((self.unknown(name, scope, span),), NO_GUARDS)]
        return None

    def _value(self, part: Parameter, scope: Scope, span: Span, index: str | None) -> list[ValueChoice]:
        """The fields before the operator is applied."""
        special = self._special(part.name, scope, span)
        if special is not None:
            return special
        self.expander.substituter.trace.note_read(part.name, span, part.operator, scope.state, scope.context)
        choices = self.variable(part.name, scope, span)
        if index in ("@", "*"):
            return [(() if fields is None else fields, guards) for fields, guards in choices]
        if part.index is None:
            return [
                ((fields[0] if fields else (),) if fields is not None else None, guards) for fields, guards in choices
            ]
        results: list[ValueChoice] = []
        for fields, guards in choices:
            if fields is None:
                results.append((None, guards))
                continue
            inputs = flattened(each for field in fields for each in expansions(field))
            name = inputs[0].name if len(fields) == 1 and inputs else part.name
            unknown = (Piece(None, span.start, span.end, Expansion(name, span, scope.context.phase, inputs)),)
            number = int(index) if index not in (None, "") else None
            if number is None or any(p.open for f in fields[: number + 1 if number >= 0 else None] for p in f):
                results.append(((unknown,), guards))
                continue
            if not self._is_array(part.name, scope) and not (fields and number == 0):
                results.append(((unknown,), guards))
                continue
            inside = -len(fields) <= number < len(fields)
            results.append(((fields[number],) if inside else None, guards))
        return results

    @staticmethod
    def _is_array(name: str, scope: Scope) -> bool:
        found = scope.state.variables.get(name)
        return found is not None and found.array

    # --- operators ---------------------------------------------------------------------------

    def _operate(self, part: Parameter, scope: Scope, span: Span, index: str | None) -> list[tuple[Fields, Guards]]:
        operator = part.operator
        if operator in ("indirect", "prefix"):
            return self._indirect(part, scope, span)
        choices = self._value(part, scope, span, index)
        if operator == "":
            return [(fields if fields is not None else (), guards) for fields, guards in choices]
        if operator == "length":
            return [self._length(fields, guards, part, scope, span, index) for fields, guards in choices]
        results: list[tuple[Fields, Guards]] = []
        for fields, guards in choices:
            results.extend(self._apply(fields, guards, part, scope, span))
        return results

    def _apply(
        self, fields: Fields | None, guards: Guards, part: Parameter, scope: Scope, span: Span
    ) -> list[tuple[Fields, Guards]]:
        operator = part.operator
        if operator.lstrip(":") in ("-", "=", "+", "?"):
            return self._default(fields, guards, part, scope, span)
        if fields is None:
            return [((), guards)]
        if operator == ":":
            return [(self._substring(fields, part, scope, span), guards)]
        words = [self.expander.value(word, scope) for word in part.arguments]
        texts = [text_of(choices[0][0]) if len(choices) == 1 else None for choices in words]
        return [(tuple(self._transform(field, operator, texts, part, scope, span) for field in fields), guards)]

    def _is_empty(self, fields: Fields | None, colon: bool) -> bool | None:
        """Whether the default of `${X:-d}` (or `${X-d}`) is taken; None where that is not known."""
        if fields is None:
            return True
        if not colon:
            return False if any(text_of(field) is not None for field in fields) else None
        if any(text_of(field) for field in fields):
            return False
        if any(piece.text for field in fields for piece in field):
            return False
        return True if all(text_of(field) == "" for field in fields) else None

    def _default(
        self, fields: Fields | None, guards: Guards, part: Parameter, scope: Scope, span: Span
    ) -> list[tuple[Fields, Guards]]:
        operator = part.operator.lstrip(":")
        empty = self._is_empty(fields, part.operator[0] == ":")
        own: Fields = fields if fields is not None else ()
        if operator == "?":
            return [(own or (self.unknown(part.name, scope, span),), guards)]
        argument = part.arguments[0] if part.arguments else None
        wanted = empty if operator != "+" else (None if empty is None else not empty)
        if wanted is False:
            return [(own if operator != "+" else (), guards)]
        results: list[tuple[Fields, Guards]] = []
        branch: Hashable = ("default", part.name)
        for value, other in self._argument(argument, scope, part.quoted):
            merged = merge_guards(guards, other)
            if merged is None:
                continue
            if wanted is None:
                tagged = merge_guards(merged, frozenset(((branch, 0 if operator != "+" else 1),)))
                if tagged is None:
                    continue
                merged = tagged
            results.append((value, merged))
        if wanted is None:
            tagged = merge_guards(guards, frozenset(((branch, 1 if operator != "+" else 0),)))
            if tagged is not None:
                results.append((own if operator != "+" else (), tagged))
        if operator == "=" and results:
            self._assign_default(part.name, results, scope, span)
        return results

    def _argument(self, word: Word | None, scope: Scope, quoted: bool) -> list[tuple[Fields, Guards]]:
        if word is None or quoted or not word.parts:
            return [((value,) if value or quoted else (), guards) for value, guards in self.expander.value(word, scope)]
        return [((value,), guards) for value, guards in self.expander.value(word, scope)]

    def _assign_default(self, name: str, results: list[tuple[Fields, Guards]], scope: Scope, span: Span) -> None:
        from .state import Alternative, widen

        old = scope.state.variables.get(name)
        alternatives = [Alternative(fields, guards) for fields, guards in results]
        scope.state.variables[name] = Variable(
            widen(alternatives, name, span, scope.context.phase), exported=bool(old and old.exported), span=span
        )

    def _transform(
        self, field: Pieces, operator: str, words: list[str | None], part: Parameter, scope: Scope, span: Span
    ) -> Pieces:
        """`#`, `%`, `/`, `^`, `,` and `@` on one field."""
        inputs = flattened(expansions(field))
        unknown = self.unknown(part.name, scope, span, inputs)
        text = text_of(field)
        if text is None:
            return unknown
        if operator in ("#", "##", "%", "%%"):
            if not words or words[0] is None:
                return unknown
            kept = removed_range(text, operator, words[0])
            return unknown if kept is None else cut(field, *kept)
        expansion = Expansion(part.name, span, scope.context.phase, inputs)
        if operator in ("^", "^^", ",", ",,"):
            change = str.upper if operator[0] == "^" else str.lower
            new = change(text) if len(operator) == 2 else change(text[:1]) + text[1:]
            return (Piece(new, *span, expansion),)
        if operator[0] == "/":
            if not words or words[0] is None or len(words) > 1 and words[1] is None:
                return unknown
            regex = pattern_to_regex(words[0])
            if regex is None or not words[0]:
                return unknown if words[0] else field
            replacement = words[1] if len(words) > 1 and words[1] is not None else ""
            anchor = {"/#": r"\A", "/%": ""}.get(operator, "")
            pattern = anchor + regex.pattern + (r"\Z" if operator == "/%" else "")
            new = re.sub(pattern, lambda _: replacement, text, count=0 if operator == "//" else 1, flags=re.DOTALL)
            return field if new == text else (Piece(new, *span, expansion),)
        return unknown

    def _substring(self, fields: Fields, part: Parameter, scope: Scope, span: Span) -> Fields:
        """`${X:a:b}` and `${A[@]:a:b}`."""
        bounds: list[int | None] = [self.expander.number(word.start, word.end, scope)[0] for word in part.arguments]
        inputs = flattened(each for field in fields for each in expansions(field))
        several = part.name in ("@", "*") or (
            part.index is not None and scope.text.string[part.index.start : part.index.end] in ("@", "*")
        )
        unknown = Piece(
            None, span.start, span.end, Expansion(part.name, span, scope.context.phase, inputs), open=several
        )
        if any(bound is None for bound in bounds) or not bounds:
            return ((unknown,),)
        start, length = bounds[0] or 0, bounds[1] if len(bounds) > 1 else None
        if several:
            if any(piece.open for field in fields for piece in field):
                return ((unknown,),)
            # "$@" counts from 1 (0 is the script's name, not kept here)
            offset = max(start - 1, 0) if part.name in ("@", "*") else start
            chosen = fields[offset:] if start >= 0 else fields[start:]
            return chosen if length is None else chosen[:length]
        field = fields[0] if fields else ()
        text = text_of(field)
        if text is None:
            return ((unknown,),)
        low = start if start >= 0 else max(len(text) + start, 0)
        high = len(text) if length is None else (low + length if length >= 0 else len(text) + length)
        return (cut(field, low, max(high, low)),)

    def _length(
        self, fields: Fields | None, guards: Guards, part: Parameter, scope: Scope, span: Span, index: str | None
    ) -> tuple[Fields, Guards]:
        several = index in ("@", "*") or part.name in ("@", "*")
        value: int | None
        inputs = flattened(each for field in fields or () for each in expansions(field))
        if fields is None:
            value = 0
        elif several:
            value = None if any(piece.open for field in fields for piece in field) else len(fields)
        else:
            text = text_of(fields[0]) if fields else ""
            value = None if text is None else len(text)
        expansion = Expansion(f"#{part.name}", span, scope.context.phase, inputs)
        return ((Piece(None if value is None else str(value), *span, expansion),),), guards

    def _indirect(self, part: Parameter, scope: Scope, span: Span) -> list[tuple[Fields, Guards]]:
        unknown = Piece(
            None, span.start, span.end, Expansion(part.name, span, scope.context.phase), open=not part.quoted
        )
        if part.operator == "prefix" or part.index is not None:
            return [(((unknown._replace(open=True),),), NO_GUARDS)]
        results: list[tuple[Fields, Guards]] = []
        for fields, guards in self._value(part, scope, span, None):
            name = text_of(fields[0]) if fields else None
            if name is None or not re.fullmatch(r"[A-Za-z_]\w*", name):
                results.append((((unknown,),), guards))
                continue
            for value, other in self.variable(name, scope, span):
                merged = merge_guards(guards, other)
                if merged is not None:
                    results.append((value[:1] if value is not None else (), merged))
        return results
