"""Parameter expansion: `$X`, `${X:-y}`, `${X##*/}`, `${A[@]}` and the like."""

import re
from collections.abc import Hashable

from sbatchlint.bash.expansion.arrays import indices, is_open
from sbatchlint.bash.expansion.assignment import set_alternatives, subscript
from sbatchlint.bash.expansion.field_splitting import (
    BREAK,
    SOFT_BREAK,
    WHITESPACE,
    Segment,
    Segments,
    joined,
    segments_of,
    separators_of,
)
from sbatchlint.bash.expansion.lookup import ARRAYS, ValueChoice, alternatives, elements, may_be_told, note_unset, told
from sbatchlint.bash.expansion.protocol import Choice, Scope
from sbatchlint.bash.expansion.transforms import substring, transformed
from sbatchlint.bash.expansion.words import Expander
from sbatchlint.bash.state import NAME, STDOUT, UNKNOWN_OUTPUT, ZSH, without
from sbatchlint.bash.syntax.tree import Parameter
from sbatchlint.bash.values import Piece, Pieces, expansions, flattened, not_empty, text_of
from sbatchlint.bash.variables import (
    EMPTY,
    FILLED,
    NO_GUARDS,
    PARTLY_ARRAY,
    PARTLY_READONLY,
    UNSET,
    Alternative,
    Fields,
    Guards,
    Variable,
    Variables,
    merge_guards,
    values_or_none,
)
from sbatchlint.source.numbers import is_number, parse_integer
from sbatchlint.source.records import Record
from sbatchlint.source.regex import Regex

INDIRECT = Regex(r"([A-Za-z_]\w*|\d+|[@*#])(?:\[([^]]+)\])?", re.ASCII)


# The operators of defaults, and none.
_OF_DEFAULTS = ("", "-", "=", "+", "?", ":-", ":=", ":+", ":?")


def _has_attributes(variable: Variable | None) -> bool:
    return variable is not None and (variable.array or variable.exported or bool(variable.flags))


class Subject(Record):
    """The subject of an expansion: a parameter, an element, or all elements.

    `element`: a number or key, None without a subscript, "" where unknown. `several`: `@` or `*` (`star`).
    """

    name: str
    element: int | str | None = None
    several: bool = False
    star: bool = False


def expand_parameter(expander: Expander, part: Parameter, scope: Scope, split: bool) -> list[Choice]:
    """The alternatives of `$NAME` or `${…}` as segments. `split`: whether the word is split into fields."""
    return ParameterExpansion(expander, part, scope, split).choices()


class ParameterExpansion:
    """The expansion of one parameter. `splitting`: whether its value is split into fields."""

    __slots__ = ("environment", "expander", "is_zsh", "part", "scope", "span", "split", "splitting")

    def __init__(self, expander: Expander, part: Parameter, scope: Scope, split: bool) -> None:
        self.expander = expander
        self.environment = expander.substituter.environment
        self.part = part
        self.scope = scope
        self.span = scope.span(part)
        self.split = split
        self.splitting = split and not part.quoted
        self.is_zsh = scope.state.option(ZSH)

    def choices(self) -> list[Choice]:
        operator = self.part.operator
        if operator in ("indirect", "prefix"):
            return self._indirect()
        subject = self._subject()
        values = self._values(subject)
        if operator == "length":
            return [(self._length(fields, subject), guards) for fields, guards in values]
        if operator and operator in _OF_DEFAULTS:
            results: list[Choice] = []
            taken = False
            for fields, guards in values:
                own, is_taken = self._default(fields, guards, subject)
                results.extend(own)
                taken = taken or is_taken
            if operator[-1] == "?":
                empty = [guards - self.scope.context.guards for fields, guards in values if self._is_empty(fields)]
                without(self.scope.state, [each for each in empty if each])  # the shell has ended with these
                if self._is_plain(subject):
                    self.scope.state.learn({subject.name: FILLED if operator[0] == ":" else EMPTY | FILLED})
            if taken and operator[-1] == "=":
                self._assign_default(subject, results)
            return results
        changed = values
        found = self.scope.state.variables.get(subject.name)
        is_scalar = subject.several and found is not None and not found.array and subject.name not in ARRAYS
        if operator == ":" and (self.is_zsh or subject.several and found is not None and PARTLY_ARRAY in found.flags):
            is_open = subject.several or not self.part.quoted
            changed = [(self._unknown(subject.name, is_open=is_open), guards) for _, guards in values]
        elif operator == ":":
            changed = [
                (substring(self.expander, fields, subject.several, self.part, self.scope, self.span, is_scalar), guards)
                for fields, guards in values
            ]
        elif operator == "@" and self.scope.written(self.part.arguments[0]) in ("A", "a") and _has_attributes(found):
            # of a variable that is not set, too
            changed = [(self._unknown(subject.name, is_open=subject.several), guards) for _, guards in values]
        elif operator:
            changed = transformed(self.expander, values, self.part, self.scope, self.span)
        if not subject.several and any(fields is None for fields, _ in values):
            note_unset(self.scope)
            if self.scope.state.option("nounset") is True:
                self.scope.state.escaped = True
                if STDOUT in self.scope.state.variables:  # nothing more is written
                    self.scope.state.variables[STDOUT] = UNKNOWN_OUTPUT
        return [(self._segments(fields or (), subject), guards) for fields, guards in changed]

    def _record(self, name: str, operator: str) -> None:
        """Records that a variable is looked up."""
        part, scope = self.part, self.scope
        found = scope.state.variables.get(name)
        trace = self.expander.substituter.trace
        trace.record_read(name, part.start, part.end, operator, found, scope.text, scope.context)

    def _subject(self) -> Subject:
        name, index = self.scope.state.target(self.part.name), self.part.index
        if index is None:
            return Subject(name, None, name in ("@", "*"), name == "*")
        raw = self.scope.written(index)
        if raw in ("@", "*"):
            return Subject(name, None, True, raw == "*")
        found = self.scope.state.variables.get(name)
        element = subscript(self.expander, index, found.flags if found else "", self.scope)
        return Subject(name, "" if element is None else element)

    # --- segments ----------------------------------------------------------------------------

    def _empty(self) -> Segments:
        """The segments of an empty string, which is a field."""
        return (((Piece("", self.span.start, self.span.start),), False),)

    def _segments(self, fields: Fields, subject: Subject) -> Segments:
        if not subject.several:
            pieces = fields[0] if fields else ()
            splitting = self.splitting and not (self.is_zsh and text_of(pieces) is not None)
            return segments_of(pieces, splitting) if pieces or self.splitting else self._empty()
        if self.splitting and self.part.operator not in (*_OF_DEFAULTS, ":") and separators_of(self.scope.state) == "":
            # what bash makes of the elements is one word then
            inputs = flattened(each for field in fields for each in expansions(field))
            return (((self.scope.expanded(None, self.part.name, self.span, inputs, is_open=True),), False),)
        between: Segment | None = BREAK
        if subject.star and not self.splitting or not self.split:
            space: str | None = " "
            if subject.star:
                separators = separators_of(self.scope.state)
                space = None if separators is None else separators[:1]
            elif self.part.operator not in _OF_DEFAULTS and (separators_of(self.scope.state) or "")[:1] != " ":
                space = None  # bash joins `"${A[@]%.*}"` by IFS, and not `"${A[@]}"`
            between = None if space == "" else ((self.scope.expanded(space, self.part.name, self.span),), False)
            if not fields:
                return self._empty()
        is_one_word = between is not BREAK
        if not is_one_word and self.splitting and not self.is_zsh:
            first = (separators_of(self.scope.state) or " ")[0]
            if first not in WHITESPACE:  # bash joins the elements by it, and splits what that gives
                between = (self.scope.expanded(first, self.part.name, self.span),), True
        segments: list[Segment] = []
        separated = soft = False
        tail = len(fields)  # from here on all may be none
        while tail and fields[tail - 1] and all(piece.open for piece in fields[tail - 1]):
            tail -= 1
        for number, field in enumerate(fields):
            may_be_none = bool(field) and all(piece.open for piece in field)
            # a field that may be none swallows the separator beside it
            vanishing = is_one_word and may_be_none
            if separated and between is not None and not vanishing:
                is_soft = between is BREAK and (soft or number >= tail)
                segments.append(SOFT_BREAK if is_soft else between)
            separated = separated or not vanishing
            soft = may_be_none and (soft or number == 0)
            if field and is_one_word:
                # inside one word an unknown is one field; what a pattern of files matches is not known
                unknown = self.scope.expanded(None, self.part.name, self.span)
                known = [unknown if each.open and each.text is not None else each.replace(open=False) for each in field]
                segments.append((tuple(known), self.splitting))
            elif field:
                segments.append((field, self.splitting))
            elif not self.splitting:
                segments.extend(self._empty())
        return tuple(segments)

    # --- values ------------------------------------------------------------------------------

    def _unknown(self, name: str, is_open: bool = False) -> Fields:
        return (self.scope.unknown(name, self.span, is_open=is_open),)

    def _special(self, name: str) -> Fields | bool | None:
        """The fields of a special or positional parameter, None where it is not set; False for any other parameter."""
        if len(name) > 1 and name != "PIPESTATUS" and not is_number(name):
            return False
        state = self.scope.state
        positional = state.positional
        if name in ("@", "*"):
            return self._unknown("@", is_open=True) if positional is None else positional
        if is_number(name) and name != "0":
            number = parse_integer(name)
            if positional is None:
                note_unset(self.scope)
            if positional is None or is_open(positional[:number]):
                return told([(self._unknown(name), NO_GUARDS)], state.may_be(name))[0][0]
            if number > len(positional):
                return None
            return told([((positional[number - 1],), NO_GUARDS)], state.may_be(name))[0][0]
        if name == "#" and positional is not None and not is_open(positional):
            return ((self.scope.expanded(str(len(positional)), "#", self.span),),)
        if name in ("?", "PIPESTATUS"):
            self.expander.substituter.read_status(name)
        if name == "?" and state.status is not None:
            return ((self.scope.expanded(str(state.status), "?", self.span),),)
        if name == "0" and state.zero is not None:
            return (state.zero,)
        if name == "0":  # recorded, as scripts that look for their own folder read it
            self._record(name, "")
        if name in ("?", "$", "0", "#"):
            return ((self.scope.expanded(None, name, self.span).replace(filled=True),),)
        return self._unknown(name) if name in ("-", "!", "_") else False

    def _values(self, subject: Subject) -> list[ValueChoice]:
        """The fields before the operator is applied."""
        special = self._special(subject.name)
        if not isinstance(special, bool):
            return [(special, NO_GUARDS)]
        if self.part.operator not in ("indirect", "prefix"):
            self._record(self.part.name, self.part.operator)
        found = self.scope.state.variables.get(subject.name)
        if found is None and subject.name in ARRAYS and (subject.several or subject.element not in (None, 0)):
            if subject.name == "BASH_REMATCH" and not subject.several:
                note_unset(self.scope)
            return [(self._unknown(subject.name, is_open=subject.several), NO_GUARDS)]
        if self.is_zsh and not subject.several and found is not None and found.array:
            # all elements without a subscript, and others than in bash with one
            return [(self._unknown(subject.name, is_open=not self.part.quoted), NO_GUARDS)]
        if not subject.several:
            choices = elements(self.environment, subject.name, subject.element, self.scope, self.span)
            if subject.name == "BASH_REMATCH" and any(fields and text_of(fields[0]) is None for fields, _ in choices):
                note_unset(self.scope)  # it may have fewer
            return choices
        results: list[ValueChoice] = []
        for alternative in alternatives(self.environment, subject.name, found, self.scope, self.span, True):
            fields = alternative.fields or ()
            if found is not None and "A" in found.flags and len(fields) > 1:
                # the order of an associative array is that of its hash table
                inputs = flattened(each for field in fields for each in expansions(field))
                fields = (self.scope.unknown(subject.name, self.span, inputs, True),)
            results.append((fields, alternative.guards))
        return results

    # --- defaults ----------------------------------------------------------------------------

    def _is_empty(self, fields: Fields | None) -> bool | None:
        """Whether `${X:-d}` (or `${X-d}`) takes its default; None where unknown."""
        if not fields:
            return True
        if self.part.operator[0] != ":":
            if any(text_of(field) is not None or any(piece.filled for piece in field) for field in fields):
                return False
            return False if all(any(piece.text is not None for piece in field) for field in fields) else None
        if any(piece.text or piece.filled for field in fields for piece in field):
            return False
        if len(fields) > 1:
            return None
        return True if all(text_of(field) == "" for field in fields) else None

    def _is_plain(self, subject: Subject) -> bool:
        """Whether the subject is a variable or an argument of which tests may tell something."""
        return subject.element is None and not subject.several and may_be_told(subject.name, self.scope.state)

    def _takes_default(self, fields: Fields | None, subject: Subject) -> bool | None:
        """The same as `_is_empty`, with what tests have told of the variable."""
        is_empty = self._is_empty(fields)
        if is_empty is not None or not self.scope.state.facts or not self._is_plain(subject):
            return is_empty
        kinds = self.scope.state.may_be(subject.name)
        if self.part.operator[0] == ":":
            return None if kinds & FILLED else True
        return None if kinds & UNSET else False

    def _default(self, fields: Fields | None, guards: Guards, subject: Subject) -> tuple[list[Choice], bool]:
        """The alternatives of `${X:-d}` and the like for one value of X, and whether the default may be taken."""
        operator = self.part.operator[-1]
        is_empty = self._takes_default(fields, subject)
        if is_empty is None and self.part.operator[0] == ":" and operator != "+" and fields and len(fields) == 1:
            fields = (not_empty(fields[0]),)  # else it is not this value that counts
        own = self._segments(fields or (), subject)
        if operator == "?":
            if is_empty is not False:
                self.scope.state.doubtful = self.scope.state.escaped = True
            if not fields:
                own = segments_of(self.scope.unknown(self.part.name, self.span), False)
            return [(own, guards)], False
        wanted, otherwise, arm = is_empty, own, 0
        if operator == "+":
            wanted, arm = None if is_empty is None else not is_empty, 1
            several = subject.several and not subject.star and self.part.quoted and self.split
            is_one = fields is not None and len(fields) == 1 and is_empty  # an empty word stays one
            otherwise = () if several and not is_one else self._segments((), Subject(self.part.name))
        if wanted is False:
            return [(otherwise, guards)], False
        branch = self._branch()
        before = self.scope.state.variables.copy() if wanted is None else None
        found = self._argument()
        if before is not None:
            self._guard_changes(before, branch, arm)
        results: list[Choice] = []
        for segments, other in found:
            merged = merge_guards(guards, other)
            if merged is not None and wanted is None:
                merged = merge_guards(merged, frozenset(((branch, arm),)))
            if merged is None:
                continue
            if operator == "=":
                # the assigned value is expanded again, without its quotes
                is_usual = (separators_of(self.scope.state) or "")[:1] == " "
                space = (self.scope.expanded(" " if is_usual else None, self.part.name, self.span),)
                segments = tuple([(space if pieces is None else pieces, self.splitting) for pieces, _ in segments])
            results.append((segments, merged))
        if wanted is None:
            merged = merge_guards(guards, frozenset(((branch, 1 - arm),)))
            if merged is not None:
                results.append((otherwise, merged))
        return results, True

    def _guard_changes(self, before: Variables, branch: Hashable, arm: int) -> None:
        """Guards the changes that the expansion of a default made: they hold only where it is taken."""
        variables = self.scope.state.variables
        for name in list(before.changes(variables)):
            old, new = before.get(name), variables.get(name)
            guarded = [
                alternative._replace(guards=alternative.guards | {(branch, number)})
                for number, variable in ((arm, new), (1 - arm, old))
                for alternative in (values_or_none(variable) if variable is not None else (Alternative(None),))
            ]
            model = new if new is not None else old
            if model is not None:
                variables[name] = model._replace(alternatives=tuple(guarded))

    def _branch(self) -> Hashable:
        """A key that is equal for two defaults of a variable that is not set in between."""
        name, index = self.part.name, self.part.index
        found = self.scope.state.variables.get(name)
        if found is not None:
            self.expander.substituter.kept_alive.append(found)
        element = None if index is None else self.scope.written(index)
        if found is not None:
            version = id(found)
        else:
            version = 1 if name.isdigit() and self.scope.state.has_set_positional else 0
        return ("default", name, element, self.part.operator[0] == ":", version)

    def _argument(self) -> list[Choice]:
        """The alternatives of the default itself."""
        (word,) = self.part.arguments
        empty = () if self.splitting else self._empty()
        if not word.parts:
            return [(self._empty() if word.quoted_empty else empty, NO_GUARDS)]
        found = self.expander.segments(word.parts, self.scope, self.split, loose=self.splitting)
        return [(segments or empty, guards) for segments, guards in found]

    def _assign_default(self, subject: Subject, results: list[Choice]) -> None:
        """Sets the variable of `${X:=y}`."""
        if subject.several or not NAME.fullmatch(subject.name) or subject.element == "":
            self.expander.substituter.abandon(self.scope)
            if subject.several or not NAME.fullmatch(subject.name):
                return
        values = []
        for segments, guards in results:
            pieces = tuple([piece.replace(open=False) for piece in joined(segments) if piece.text != ""])
            values.append(Alternative((pieces,), guards))
        found = self.scope.state.variables.get(subject.name)
        if found is not None and ("r" in found.flags or PARTLY_READONLY in found.flags):
            self.expander.substituter.abandon(self.scope)
        set_alternatives(self.expander, subject.name, values, self.scope, self.span, subject.element)

    # --- length, names -----------------------------------------------------------------------

    def _length(self, fields: Fields | None, subject: Subject) -> Segments:
        value: int | None
        if subject.several:
            found = self.scope.state.variables.get(subject.name)
            if subject.name not in ("@", "*") and (
                found is None
                or not found.array
                or PARTLY_ARRAY in found.flags
                or any(not each.fields for each in found.alternatives)
            ):
                note_unset(self.scope)
            value = None if is_open(fields or ()) else len(fields or ())
            if found is not None and "A" in found.flags and len(found.alternatives) == 1:
                only = found.alternatives[0]
                value = len(only.keys) if only.keys is not None else None if only.fields else 0
        elif fields is None:
            note_unset(self.scope)
            value = 0
        else:
            text = text_of(fields[0]) if fields else ""
            value = None if text is None or not text.isascii() else len(text)
        inputs = flattened(each for field in fields or () for each in expansions(field))
        shown = None if value is None else str(value)
        return (((self.scope.expanded(shown, f"#{self.part.name}", self.span, inputs),), self.splitting),)

    def _indirect(self) -> list[Choice]:
        """The alternatives of `${!X}`, `${!X[@]}` and `${!X*}`."""
        part, scope = self.part, self.scope
        if part.operator == "prefix":
            return [(((scope.unknown(f"!{part.name}*", self.span, is_open=True), self.splitting),), NO_GUARDS)]
        raw = "" if part.index is None else scope.written(part.index)
        if raw in ("@", "*"):
            return self._keys(raw == "*")
        results: list[Choice] = []
        variables = scope.state.variables
        self._record(part.name, part.operator)
        own = variables.get(part.name)
        if own is not None and "n" in own.flags:
            # the name that a reference stands for, through others
            named = [(self._named(each.fields[0]), each.guards) for each in own.alternatives if each.fields]
            return [(segments_of(pieces, self.splitting), guards) for pieces, guards in named]
        for fields, guards in self._values(self._subject()):
            name = text_of(fields[0]) if fields else ""
            match = None if name is None else INDIRECT.fullmatch(name)
            if match is None:
                self.expander.substituter.abandon(scope)
                unknown = scope.unknown(part.name, self.span, is_open=not part.quoted)
                results.append((((unknown, self.splitting),), guards))
                continue
            index: int | str | None = match[2]
            if match[2] is not None and match[2] not in ("@", "*"):
                found = variables.get(match[1])
                if found is None or "A" not in found.flags:
                    number = self.expander.integer_of(match[2], scope)
                    index = "" if number is None else number
            self._record(match[1], part.operator)
            several = index in ("@", "*") or match[1] in ("@", "*")
            subject = Subject(match[1], None if several else index, several, index == "*" or match[1] == "*")
            for value, other in self._values(subject):
                merged = merge_guards(guards, other)
                if merged is not None:
                    if value is None:
                        note_unset(scope)
                    results.append((self._segments(value or (), subject), merged))
        return results

    def _named(self, reference: Pieces) -> Pieces:
        """The name of the variable that the value of a reference stands for."""
        name = text_of(reference)
        last = name if name is None else self.scope.state.target(name)
        return reference if last == name else (self.scope.expanded(last, self.part.name, self.span),)

    def _keys(self, star: bool) -> list[Choice]:
        """The alternatives of `${!A[@]}`, the subscripts of an array."""
        name = self.scope.state.target(self.part.name)
        found = self.scope.state.variables.get(name)
        results: list[Choice] = []
        for alternative in alternatives(self.environment, name, found, self.scope, self.span, True):
            known = self._known_keys(alternative, found)
            if known is None:
                keys = self._unknown(f"!{name}", is_open=True)
            else:
                keys = tuple([(self.scope.expanded(key, f"!{name}", self.span),) for key in known])
            results.append((self._segments(keys, Subject(name, None, True, star)), alternative.guards))
        return results

    @staticmethod
    def _known_keys(alternative: Alternative, found: Variable | None) -> list[str] | None:
        fields = alternative.fields or ()
        if is_open(fields) or found is None and fields:
            return None
        if found is None or "A" not in found.flags:
            return [str(number) for number in indices(fields, alternative.keys)]
        # several keys of an associative array have no known order
        if alternative.keys is None:
            return None if fields else []
        return list(alternative.keys) if len(alternative.keys) < 2 else None
