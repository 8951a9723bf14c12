"""The expansion of the parts of words: parameters, substitutions, arithmetic."""

import re
from collections.abc import Sequence

from sbatchlint.bash.expansion import arithmetic
from sbatchlint.bash.expansion.arithmetic_variables import ShellVariables
from sbatchlint.bash.expansion.assignment import widen_all, widen_one
from sbatchlint.bash.expansion.field_splitting import Segments, joined, segments_of
from sbatchlint.bash.expansion.lookup import elements
from sbatchlint.bash.expansion.parameters import expand_parameter
from sbatchlint.bash.expansion.protocol import Choice, Scope
from sbatchlint.bash.expansion.words import Expander
from sbatchlint.bash.limits import MOST_NOTED
from sbatchlint.bash.state import NAME
from sbatchlint.bash.syntax.characters import backquote_escape, quoted_backquote_escape
from sbatchlint.bash.syntax.tree import (
    Arithmetic,
    Broken,
    CommandSubstitution,
    Literal,
    Parameter,
    Part,
    ProcessSubstitution,
    Statement,
    Unparsed,
    Word,
)
from sbatchlint.bash.values import (
    UNKNOWN_CHARACTER,
    Expansion,
    Piece,
    Pieces,
    Text,
    expansions,
    flattened,
    text_of,
    texts_of,
)
from sbatchlint.bash.variables import NO_GUARDS
from sbatchlint.source.regex import Regex
from sbatchlint.source.text import Span

# Names of variables that arithmetic reads.
NAMES = Regex(r"(?<![\w#])[A-Za-z_]\w*(?!\w|\s*=[^=]|\s*\[)")
_INDIRECT_DEFAULT = Regex(r"\$\{!([A-Za-z_]\w*):?=", re.ASCII)
# What stands in an expression for a text that is not known.
_UNKNOWN = " sbatchlint_unknown "
# Whether such a text is, or ends, the name of what is assigned.
_SETTING = Regex(r"sbatchlint_unknown\s*(?:\[[^]]{0,200}\]\s*)?(?:[-+*/%&|^]|<<|>>)?=(?!=)")


class ScriptExpander(Expander):
    """Expands all words of a script, `$(…)` through `substituter`."""

    def part(self, part: Part, scope: Scope, split: bool = True) -> list[Choice]:
        if isinstance(part, Parameter):
            return expand_parameter(self, part, scope, split)
        is_quoted = getattr(part, "quoted", True)
        splitting = split and not is_quoted
        span = scope.span(part)
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
            name = scope.written(part)
            expansion = Expansion(name, span, phase, flattened(inputs), tuple(commands))
            return [((((Piece(None, *span, expansion),), False),), NO_GUARDS)]
        if isinstance(part, Broken):
            self.substituter.abandon(scope)
            match = _INDIRECT_DEFAULT.match(scope.written(part))
            if match is not None:
                self._widen_indirect(match[1], span, scope)
            # also what is valid but not read, such as `"${!P#x}"` where P is `A[@]`
            return [(segments_of(scope.unknown("", span, is_open=split), splitting), NO_GUARDS)]
        raise AssertionError(part)

    def _widen_indirect(self, reference: str, span: Span, scope: Scope) -> None:
        """What `${!X:=y}` may set is unknown."""
        found = elements(self.substituter.environment, reference, None, scope, span)
        target = text_of(found[0][0][0]) if len(found) == 1 and found[0][0] else None
        if target is None or not NAME.fullmatch(target):
            widen_all(self, span, scope)
        else:
            widen_one(scope.state.target(target), span, scope, is_unset=True)

    def _substitution(self, part: CommandSubstitution, scope: Scope, span: Span, splitting: bool) -> list[Choice]:
        inputs: list[Expansion] = []
        commands: list[tuple[str, ...]] = []
        body, inner = self._body(part, scope)
        known = self.substituter.output(body, inner, inputs, commands)
        inside = scope.written(part).strip("`")
        name = "$(" + " ".join(inside.removeprefix("$(").removesuffix(")").split()) + ")"
        expansion = Expansion(name, span, scope.context.phase, flattened(inputs), tuple(commands))
        if known is None:
            filled = self.substituter.environment.certainly_prints(expansion)
            return [((((Piece(None, *span, expansion, splitting, filled),), splitting),), NO_GUARDS)]
        empty: Segments = () if splitting else (((Piece("", span.start, span.start),), False),)
        return [(segments_of(pieces, splitting) or empty, guards) for pieces, guards in known]

    def _body(self, part: CommandSubstitution, scope: Scope) -> tuple[Sequence[Statement], Scope]:
        """The commands of a substitution; those in backquotes are parsed without their backslashes."""
        if not part.backquoted or not part.body or not isinstance(part.body[0], Unparsed):
            return part.body, scope
        start, end = part.body[0].start, part.body[0].end
        escape = quoted_backquote_escape if part.quoted else backquote_escape
        pieces: list[Piece] = []
        for match in escape.finditer(scope.text.string, start, end):
            pieces.extend(scope.text.pieces(start, match.start()))
            start = match.start() + 1
        text = Text((*pieces, *scope.text.pieces(start, end)))
        context = scope.context.replace(depth=scope.context.depth + 1)
        return self.substituter.parsed(text.string).statements, Scope(scope.state, text, context)

    # --- arithmetic --------------------------------------------------------------------------

    def arithmetic(self, start: int, end: int, scope: Scope, span: Span) -> Pieces:
        """The value of an arithmetic expression, as one piece."""
        word, inner = self._expression(start, end, scope)
        value, inputs, wrong = self._number(word, inner)
        self._note_wrong(wrong, scope)
        self._note_names(word, inner)
        shown = None if value is None else str(value)
        name = "$((" + scope.text.string[start:end].strip() + "))"
        return (scope.expanded(shown, name, span, inputs).replace(filled=True),)

    def number(self, start: int, end: int, scope: Scope) -> tuple[int | None, tuple[Expansion, ...]]:
        value, inputs, wrong = self._number(*self._expression(start, end, scope))
        self._note_wrong(wrong, scope)
        return value, inputs

    def _note_wrong(self, wrong: bool | None, scope: Scope) -> None:
        """Notes that an expression is invalid, or may be: with numbers for what is not known it is not."""
        if wrong or self.risky:
            self.substituter.abandon(scope)
        elif wrong is None:
            scope.state.doubtful = True

    def truth(self, start: int, end: int, scope: Scope) -> tuple[int | None, bool | None]:
        """The exit status of `((…))`, None where unknown; an invalid one is false. The second: see `number_of`."""
        value, _, wrong = self._number(*self._expression(start, end, scope))
        return arithmetic.status_of(value, wrong), wrong

    def _number(self, word: Word, scope: Scope) -> tuple[int | None, tuple[Expansion, ...], bool | None]:
        """The value of an expression, its inputs, and whether it is invalid, as in `number_of`."""
        inputs: dict[Expansion, None] = {}
        expression = ""
        bare = ""  # the same where what may not be set is not
        known = True
        is_risky = may_be_zero = False
        for part in word.parts:
            if isinstance(part, Literal):
                expression += part.text.replace('"', "")
                bare += part.text.replace('"', "")
                known = known and UNKNOWN_CHARACTER not in part.text
                continue
            choices = self.part(part, scope, split=False)
            pieces = joined(choices[0][0]) if len(choices) == 1 else ()
            for segments, _ in choices:
                for own, _ in segments:
                    inputs.update(dict.fromkeys(expansions(own or ())))
            text = text_of(tuple(pieces)) if len(choices) == 1 else None
            for segments, _ in choices if text is None else ():
                is_risky = is_risky or arithmetic.may_be_invalid(texts_of(joined(segments)))
                may_be_zero = may_be_zero or arithmetic.is_zero(text_of(joined(segments)))
            known = known and text is not None
            expression += _UNKNOWN if text is None else text
            bare += text if text is not None else "" if self._may_be_unset(part, scope) else _UNKNOWN
        is_fragile = bare != expression and arithmetic.is_invalid(bare)
        found, wrong = self.number_of(expression, scope, inputs, may_be_zero)
        self.risky = self.risky or is_risky
        if is_fragile:
            self.fragile += 1
            for name in re.findall(r"[A-Za-z_]\w*", bare) if arithmetic.CHANGING.search(bare) else ():
                if name in scope.state.variables:
                    widen_one(scope.state.target(name), Span(0, 0), scope, is_unset=True)
        # an unknown text may change how the whole is parsed
        return (found, flattened(inputs), wrong) if known else (None, flattened(inputs), None)

    def _may_be_unset(self, part: Part, scope: Scope) -> bool:
        """Whether a part is `$X` where nothing in the script sets X for certain, and no job has it."""
        if not isinstance(part, Parameter) or part.operator or part.index is not None or not NAME.fullmatch(part.name):
            return False
        found = scope.state.variables.get(scope.state.target(part.name))
        if found is not None and found.alternatives and all(each.fields is not None for each in found.alternatives):
            return False
        return self.substituter.environment.lookup(part.name, scope.context) is None

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

    def integer_of(self, expression: str, scope: Scope) -> int | None:
        value, wrong = self.number_of(expression, scope, {})
        if wrong is not False:
            scope.state.doubtful = True
        return value

    def evaluated(self, field: Pieces, scope: Scope) -> tuple[int | None, bool | None]:
        """The value of a word as an expression, and `wrong` as in `number_of`; what it assigns is set.

        Where a part of it is unknown, so is its value.
        """
        text = text_of(field)
        if text is not None:
            return self.number_of(text, scope, {})
        expression = "".join([_UNKNOWN if piece.text is None else piece.text for piece in field])
        self.number_of(expression, scope, dict.fromkeys(expansions(field)))
        return None, None

    def number_of(
        self, expression: str, scope: Scope, inputs: dict[Expansion, None], may_be_zero: bool = False
    ) -> tuple[int | None, bool | None]:
        names = ShellVariables(self, scope, inputs)
        names.may_be_zero = may_be_zero
        self.risky = False
        try:
            value = arithmetic.evaluate(expression, names)
            self.risky = names.risky or names.fallible and names.may_be_zero
            if names.fallible and names.changing:
                scope.state.doubtful = True
            # `0 * x` is 0, or x is no expression
            return value, None if value is None or names.unknown else False
        except arithmetic.NotUnderstood as error:
            # also in a part that may not be evaluated
            parts = expression.replace(_UNKNOWN, UNKNOWN_CHARACTER).split(UNKNOWN_CHARACTER)
            self.risky = names.risky or arithmetic.is_invalid("1".join(parts))
            if isinstance(error, arithmetic.BadSubscript):
                scope.state.doubtful = True
                names.unknown = True
            if _SETTING.search(expression):
                widen_all(self, names.span, scope)
            if not arithmetic.CHANGING.search(expression):
                return None, None if names.unknown and not isinstance(error, arithmetic.AlwaysWrong) else True
            # bash may have made some of its assignments before it noticed
            for name in dict.fromkeys(re.findall(r"[A-Za-z_]\w*", expression)):
                if name != "sbatchlint_unknown":
                    widen_one(scope.state.target(name), names.span, scope)
            scope.state.doubtful = True
            return None, True if isinstance(error, arithmetic.AlwaysWrong) else None
