"""Parameter expansion: `$X`, `${X:-y}`, `${X##*/}`, `${A[@]}` and the like."""

import re
from collections.abc import Hashable

from sbatchlint.bash.expansion.arrays import indices, is_open
from sbatchlint.bash.expansion.assignment import NAME, set_alternatives, subscript
from sbatchlint.bash.expansion.field_splitting import BREAK, Segment, Segments, joined, segments_of, separators_of
from sbatchlint.bash.expansion.lookup import ValueChoice, alternatives, elements, note_unset, unknown
from sbatchlint.bash.expansion.protocol import Choice, Scope
from sbatchlint.bash.expansion.transforms import substring, transformed
from sbatchlint.bash.expansion.words import Expander
from sbatchlint.bash.syntax.tree import Parameter, Word
from sbatchlint.bash.values import Expansion, Piece, Pieces, expansions, flattened, text_of
from sbatchlint.bash.variables import NO_GUARDS, Alternative, Fields, Guards, Variable, Variables, merge_guards
from sbatchlint.source.numbers import is_number, parse_integer
from sbatchlint.source.regex import Regex
from sbatchlint.source.text import Span

INDIRECT = Regex(r"([A-Za-z_]\w*|\d+|[@*#])(?:\[([^]]+)\])?", re.ASCII)


class Subject:
    """The subject of an expansion: a parameter, an element, or all elements.

    `element`: a number or key, None without a subscript, "" where unknown. `several`: `@` or `*` (`star`).
    """

    __slots__ = ("element", "name", "several", "star")

    def __init__(self, name: str, element: int | str | None, several: bool, star: bool) -> None:
        self.name = name
        self.element = element
        self.several = several
        self.star = star


def _empty(span: Span) -> Segments:
    """An expansion that gives an empty text, which is a field."""
    return (((Piece("", span.start, span.start),), False),)


class ParameterExpander(Expander):
    """Expands words; adds parameters to what `Expander` knows."""

    def parameter(self, part: Parameter, scope: Scope, split: bool) -> list[Choice]:
        """The alternatives of `${…}` as segments. `split`: whether the word is split into fields."""
        span = scope.span(part)
        operator = part.operator
        if operator in ("indirect", "prefix"):
            return self._indirect(part, scope, span, split)
        subject = self._subject(part, scope)
        choices = self._values(subject, part, scope, span)
        if operator == "length":
            return [self._length(fields, guards, subject, part, scope, span, split) for fields, guards in choices]
        if operator.lstrip(":") in ("-", "=", "+", "?") and operator != ":":
            results: list[Choice] = []
            taken = False
            for fields, guards in choices:
                own, decided = self._default(fields, guards, subject, part, scope, span, split)
                results.extend(own)
                taken = taken or decided
            if taken and operator[-1] == "=":
                self._assign_default(subject, results, scope, span)
            return results
        if operator == ":":
            changed = [
                (substring(self, fields, subject.several, part, scope, span), guards) for fields, guards in choices
            ]
        elif operator:
            changed = transformed(self, choices, part, scope, span)
        else:
            changed = choices
        if not subject.several and any(fields is None for fields, _ in choices):
            note_unset(scope)
        return [(self._segments(fields or (), subject, part, scope, span, split), guards) for fields, guards in changed]

    def _record(self, name: str, operator: str, found: Variable | None, part: Parameter, scope: Scope) -> None:
        """Records that a variable is looked up."""
        trace = self.substituter.trace
        trace.record_read(name, part.start, part.end, operator, found, scope.text, scope.context)

    def _subject(self, part: Parameter, scope: Scope) -> Subject:
        if part.index is None:
            several = part.name in ("@", "*")
            return Subject(part.name, None, several, part.name == "*")
        raw = scope.written(part.index)
        if raw in ("@", "*"):
            return Subject(part.name, None, True, raw == "*")
        found = scope.state.variables.get(part.name)
        index = subscript(self, part.index, found.flags if found else "", scope)
        return Subject(part.name, "" if index is None else index, False, False)

    def _segments(
        self, fields: Fields, subject: Subject, part: Parameter, scope: Scope, span: Span, split: bool
    ) -> Segments:
        splitting = split and not part.quoted
        if not subject.several:
            pieces = fields[0] if fields else ()
            if not pieces and not splitting:
                return _empty(span)
            return segments_of(pieces, splitting)
        between: Segment | None = BREAK
        if subject.star and not splitting or not split:
            blank: str | None = " "
            if subject.star:
                separators = separators_of(scope.state)
                blank = None if separators is None else separators[:1]
            expansion = Expansion(part.name, span, scope.context.phase)
            between = None if blank == "" else ((Piece(blank, *span, expansion),), False)
            if not fields:
                return _empty(span)
        out: list[Segment] = []
        separated = False
        for number, field in enumerate(fields):
            # a field that may be none swallows the separator beside it
            vanishing = between is not BREAK and bool(field) and all(piece.open for piece in field)
            if separated and between is not None and not vanishing:
                out.append(between)
            separated = not vanishing or number > 0
            if field and between is not BREAK:
                # inside one word an unknown is one field
                out.append((tuple([piece.replace(open=False) for piece in field]), splitting))
            elif field:
                out.append((field, splitting))
            elif not splitting:
                out.extend(_empty(span))
        return tuple(out)

    def _special(self, name: str, part: Parameter, scope: Scope, span: Span) -> list[ValueChoice] | None:
        if len(name) > 1 and name != "PIPESTATUS" and not is_number(name):
            return None
        positional = scope.state.positional
        if name in ("@", "*"):
            if positional is None:
                piece = scope.expanded(None, "@", span, is_open=True)
                return [(((piece,),), NO_GUARDS)]
            return [(positional, NO_GUARDS)]
        if is_number(name) and name != "0":
            if positional is None:
                note_unset(scope)
                return [((unknown(name, scope, span),), NO_GUARDS)]
            if any(piece.open for field in positional[: parse_integer(name)] for piece in field):
                return [((unknown(name, scope, span),), NO_GUARDS)]
            return [
                ((positional[parse_integer(name) - 1],) if parse_integer(name) <= len(positional) else None, NO_GUARDS)
            ]
        if name == "#" and positional is not None and not any(p.open for field in positional for p in field):
            expansion = Expansion("#", span, scope.context.phase)
            return [(((Piece(str(len(positional)), *span, expansion),),), NO_GUARDS)]
        if name in ("?", "PIPESTATUS"):
            self.substituter.read_status(name)
        if name == "?" and scope.state.status is not None:
            expansion = Expansion("?", span, scope.context.phase)
            return [(((Piece(str(scope.state.status), *span, expansion),),), NO_GUARDS)]
        if name == "0" and scope.state.zero is not None:
            return [((scope.state.zero,), NO_GUARDS)]
        if name == "0":  # who am I? a question of scripts that look for their folder
            self._record(name, "", scope.state.variables.get(name), part, scope)
        if name in ("?", "-", "$", "!", "_", "0", "#"):
            return [((unknown(name, scope, span),), NO_GUARDS)]
        return None

    def _values(self, subject: Subject, part: Parameter, scope: Scope, span: Span) -> list[ValueChoice]:
        """The fields before the operator is applied."""
        special = self._special(subject.name, part, scope, span)
        if special is not None:
            return special
        found = scope.state.variables.get(subject.name)
        if part.operator not in ("indirect", "prefix"):
            self._record(part.name, part.operator, found, part, scope)
        if not subject.several:
            return elements(self.substituter.environment, subject.name, subject.element, scope, span)
        results: list[ValueChoice] = []
        for each in alternatives(self.substituter.environment, subject.name, found, scope, span):
            fields = each.fields
            if fields is not None and found is not None and "A" in found.flags and len(fields) > 1:
                # the order of an associative array is that of its hash table
                inputs = flattened(each for field in fields for each in expansions(field))
                fields = ((unknown(subject.name, scope, span, inputs)[0].replace(open=True),),)
            results.append((() if fields is None else fields, each.guards))
        return results

    # --- defaults ----------------------------------------------------------------------------

    def _is_empty(self, fields: Fields | None, colon: bool, subject: Subject) -> bool | None:
        """Whether `${X:-d}` (or `${X-d}`) takes its default; None where unknown."""
        if fields is None or not fields:
            return True
        if not colon:
            if any(text_of(field) is not None for field in fields):
                return False
            return False if all(self._is_certain(field) for field in fields) else None
        if any(piece.text for field in fields for piece in field):
            return False
        if len(fields) > 1:
            return None
        if any(self._has_text(piece) for field in fields for piece in field):
            return False
        return True if all(text_of(field) == "" for field in fields) else None

    def _has_text(self, piece: Piece) -> bool:
        """Whether a piece is not empty, though it is not known what it is."""
        found = piece.expansion
        return found is not None and (found.name.startswith("$((") or self.substituter.environment.surely_prints(found))

    @staticmethod
    def _is_certain(field: Pieces) -> bool:
        return any(piece.text is not None for piece in field)

    def _default(
        self, fields: Fields | None, guards: Guards, subject: Subject, part: Parameter, scope: Scope, span: Span,
        split: bool,
    ) -> tuple[list[Choice], bool]:  # fmt: skip
        """The alternatives of `${X:-d}` and the like for one value of X, and whether the default may be taken."""
        operator = part.operator.lstrip(":")
        colon = part.operator[0] == ":"
        empty = self._is_empty(fields, colon, subject)
        own = self._segments(fields if fields is not None else (), subject, part, scope, span, split)
        if operator == "?":
            if empty is not False:
                scope.state.doubtful = True
            if not fields:
                own = segments_of(unknown(part.name, scope, span), False)
            return [(own, guards)], False
        argument = part.arguments[0] if part.arguments else None
        wanted = empty if operator != "+" else (None if empty is None else not empty)
        nothing = self._segments((), Subject(part.name, None, False, False), part, scope, span, split)
        if subject.several and not subject.star and part.quoted and split:
            nothing = ()
        if wanted is False:
            return [(own if operator != "+" else nothing, guards)], False
        results: list[Choice] = []
        branch = self._branch(part, scope, colon)
        before = scope.state.variables.copy() if wanted is None else None
        found = self._argument(argument, scope, part.quoted, split, span)
        if before is not None:
            self._maybe(before, branch, 0 if operator != "+" else 1, scope)
        for segments, other in found:
            merged = merge_guards(guards, other)
            if merged is None:
                continue
            if wanted is None:
                tagged = merge_guards(merged, frozenset(((branch, 0 if operator != "+" else 1),)))
                if tagged is None:
                    continue
                merged = tagged
            if operator == "=":
                # the assigned value is expanded again, without its quotes
                splitting = split and not part.quoted
                segments = tuple([(pieces, splitting) for pieces, _ in segments if pieces is not None])
            results.append((segments, merged))
        if wanted is None:
            tagged = merge_guards(guards, frozenset(((branch, 1 if operator != "+" else 0),)))
            if tagged is not None:
                results.append((own if operator != "+" else nothing, tagged))
        return results, True

    @staticmethod
    def _maybe(before: Variables, branch: Hashable, arm: int, scope: Scope) -> None:
        """Guards the changes that the expansion of a default made: they hold only where it is taken."""
        variables = scope.state.variables
        for name in list(before.changes(variables)):
            old, new = before.get(name), variables.get(name)
            alternatives = [
                each._replace(guards=each.guards | {(branch, number)})
                for number, variable in ((arm, new), (1 - arm, old))
                for each in (variable.alternatives if variable is not None else ()) or (Alternative(None),)
            ]
            model = new if new is not None else old
            if model is not None:
                variables[name] = model._replace(alternatives=tuple(alternatives))

    def _branch(self, part: Parameter, scope: Scope, colon: bool) -> Hashable:
        """A key that is equal for two defaults of a variable that is not set in between."""
        found = scope.state.variables.get(part.name)
        if found is not None:
            self.substituter.kept_alive.append(found)
        index = None if part.index is None else scope.written(part.index)
        return ("default", part.name, index, colon, id(found) if found is not None else 0)

    def _argument(self, word: Word | None, scope: Scope, quoted: bool, split: bool, span: Span) -> list[Choice]:
        empty = () if split and not quoted else _empty(span)
        if word is None or not word.parts:
            kept = word is not None and word.quoted_empty
            return [(_empty(span) if kept else empty, NO_GUARDS)]
        found = self.segments(word.parts, scope, split, loose=split and not quoted)
        return [(segments or empty, guards) for segments, guards in found]

    def _assign_default(self, subject: Subject, results: list[Choice], scope: Scope, span: Span) -> None:
        """Sets the variable of `${X:=y}`."""
        if subject.several or not NAME.fullmatch(subject.name) or subject.element == "":
            scope.state.doubtful = True
            return
        values = []
        for segments, guards in results:
            pieces = tuple([piece for piece in joined(segments) if piece.text != ""])
            values.append(Alternative((tuple([each.replace(open=False) for each in pieces]),), guards))
        set_alternatives(self, subject.name, values, scope, span, subject.element)

    # --- length, names -----------------------------------------------------------------------

    def _length(
        self, fields: Fields | None, guards: Guards, subject: Subject, part: Parameter, scope: Scope, span: Span,
        split: bool,
    ) -> Choice:  # fmt: skip
        value: int | None
        inputs = flattened(each for field in fields or () for each in expansions(field))
        if subject.name in ("@", "*") or subject.several:
            found = scope.state.variables.get(subject.name)
            if subject.name not in ("@", "*") and (found is None or any(not e.fields for e in found.alternatives)):
                note_unset(scope)
            value = None if is_open(fields or ()) else len(fields or ())
            if found is not None and "A" in found.flags and len(found.alternatives) == 1:
                each = found.alternatives[0]
                value = len(each.keys) if each.keys is not None else None if each.fields else 0
        elif fields is None:
            note_unset(scope)
            value = 0
        else:
            text = text_of(fields[0]) if fields else ""
            value = None if text is None or not text.isascii() else len(text)
        expansion = Expansion(f"#{part.name}", span, scope.context.phase, inputs)
        piece = Piece(None if value is None else str(value), *span, expansion)
        return (((piece,), split and not part.quoted),), guards

    def _indirect(self, part: Parameter, scope: Scope, span: Span, split: bool) -> list[Choice]:
        """The alternatives of `${!X}`, `${!X[@]}` and `${!X*}`."""
        unknown = scope.expanded(None, part.name, span, is_open=not part.quoted)
        raw = "" if part.index is None else scope.written(part.index)
        if part.operator == "prefix":
            return [((((unknown.replace(open=True),), split and not part.quoted),), NO_GUARDS)]
        if raw in ("@", "*"):
            return self._keys(part, scope, span, split, raw == "*")
        results: list[Choice] = []
        variables = scope.state.variables
        self._record(part.name, part.operator, variables.get(part.name), part, scope)
        for fields, guards in self._values(self._subject(part, scope), part, scope, span):
            name = text_of(fields[0]) if fields else ""
            match = None if name is None else INDIRECT.fullmatch(name)
            index: int | str | None = None if match is None else match[2]
            if match is not None and match[2] is not None and match[2] not in ("@", "*"):
                found = variables.get(match[1])
                if found is None or "A" not in found.flags:
                    index = parse_integer(match[2]) if re.fullmatch(r"-?\d{1,6}", match[2]) else ""
            if match is None:
                scope.state.doubtful = True
                results.append(((((unknown,), split and not part.quoted),), guards))
                continue
            self._record(match[1], part.operator, variables.get(match[1]), part, scope)
            several = index in ("@", "*") or match[1] in ("@", "*")
            subject = Subject(match[1], None if several else index, several, index == "*" or match[1] == "*")
            for value, other in self._values(subject, part, scope, span):
                merged = merge_guards(guards, other)
                if merged is not None:
                    if value is None:
                        note_unset(scope)
                    results.append((self._segments(value or (), subject, part, scope, span, split), merged))
        return results

    def _keys(self, part: Parameter, scope: Scope, span: Span, split: bool, star: bool) -> list[Choice]:
        """The alternatives of `${!A[@]}`, the subscripts of an array."""
        found = scope.state.variables.get(part.name)
        expansion = Expansion(f"!{part.name}", span, scope.context.phase)
        unknown: Fields = ((Piece(None, *span, expansion, open=True),),)
        subject = Subject(part.name, None, True, star)
        results: list[Choice] = []
        for each in alternatives(self.substituter.environment, part.name, found, scope, span):
            fields = each.fields or ()
            if is_open(fields) or found is None and fields:
                keys = unknown
            elif found is not None and "A" in found.flags:
                known = each.keys if each.keys is not None else None if fields else ()
                keys = (
                    unknown
                    if known is None or len(known) > 1
                    else tuple([(Piece(k, *span, expansion),) for k in known])
                )
            else:
                keys = tuple([(Piece(str(number), *span, expansion),) for number in indices(fields, each.keys)])
            results.append((self._segments(keys, subject, part, scope, span, split), each.guards))
        return results
