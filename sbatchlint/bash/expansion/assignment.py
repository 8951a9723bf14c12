"""Assignments: scalars, elements, arrays, `+=`, and the attributes of `declare`."""

from collections.abc import Callable, Iterable, Sequence

from sbatchlint.bash.expansion.arithmetic import is_plain_number
from sbatchlint.bash.expansion.arrays import element, element_index, indices, is_open, with_element
from sbatchlint.bash.expansion.brace_expansion import has_braces, has_other_braces
from sbatchlint.bash.expansion.lookup import alternatives
from sbatchlint.bash.expansion.protocol import Scope
from sbatchlint.bash.expansion.words import Expander
from sbatchlint.bash.limits import MOST_PIECES, PIECES_OF_A_STATEMENT
from sbatchlint.bash.state import NAME, State
from sbatchlint.bash.syntax.tree import ArrayLiteral, Assignment, Word
from sbatchlint.bash.trace import VariableAssignment
from sbatchlint.bash.values import Expansion, Piece, Pieces, expansions, flattened, text_of
from sbatchlint.bash.variables import (
    ENVIRONMENT_NAMES,
    NO_GUARDS,
    PARTLY_ARRAY,
    PARTLY_CHANGING,
    PARTLY_EXPORTED,
    PARTLY_READONLY,
    STAYING,
    UNEXPORTED,
    VOLATILE,
    Alternative,
    Fields,
    Variable,
    merge_guards,
    widen,
)
from sbatchlint.source.numbers import parse_integer
from sbatchlint.source.text import Span

# --- values --------------------------------------------------------------------------------------


def expand_assignment(expander: Expander, node: Assignment, scope: Scope) -> list[Alternative]:
    """The alternatives of the value on the right side."""
    if isinstance(node.value, ArrayLiteral):
        return _array(expander, node, node.value, (), "", scope)
    return [Alternative((field,), guards) for field, guards in expander.assignment_value(node.value, scope)]


def _array(
    expander: Expander, node: Assignment, literal: ArrayLiteral, before: tuple[Alternative, ...], flags: str,
    scope: Scope,
) -> list[Alternative]:  # fmt: skip
    """The alternatives of `(…)`; for `+=`, appended to those of `before`."""
    span = scope.span(node)
    unknown = scope.unknown(node.name, span, is_open=True)
    befores = before if node.append else ()
    if all(key is None for key in literal.keys) and "A" not in flags:
        results = []
        for fields, guards in expander.array(literal.elements, scope):
            expander.substituter.spend_words(len(fields), scope, node)
            for old in befores or (Alternative(()),):
                merged = merge_guards(old.guards, guards)
                if merged is None:
                    continue
                keys = old.keys if old.fields is not None else None
                if keys is not None:
                    start = parse_integer(keys[-1]) + 1
                    if is_open(fields):
                        fields, keys = (*fields, unknown), None
                    else:
                        keys = (*keys, *(str(start + number) for number in range(len(fields))))
                results.append(Alternative((old.fields or ()) + tuple(fields), merged, keys))
        return results
    if len(befores) > 1 or befores and befores[0].guards:
        return [Alternative((unknown,))]
    result = Alternative((), NO_GUARDS, () if "A" in flags else None)
    if befores and befores[0].fields is not None:
        result = befores[0]
    inner = Scope(scope.state, scope.text, scope.context.replace(guards=NO_GUARDS))
    following = max(indices(result.fields or (), result.keys), default=-1) + 1 if "A" not in flags else 0
    is_known = True  # where not, the other words are expanded for what they change
    for key, word in zip(literal.keys, literal.elements, strict=True):
        if key is None:
            choices = expander.fields(word, inner)
            if len(choices) != 1 or is_open(choices[0][0]) or "A" in flags:
                is_known = False
                continue
            additions = list(choices[0][0])
        else:
            if scope.text.string.endswith("+=", 0, word.start):
                is_known = False
            if "A" not in flags and (has_braces(word.parts) or has_other_braces(word, scope)):
                is_known = False  # the words that they make are elements as they are, with `[1]=`
            values = expander.assignment_value(word, inner)
            # by then it is empty, but for `+=`, and has the elements above: what reads or sets it is unknown
            kept = during = scope.state.variables.get(node.name)
            if not node.append:
                during = scope.state.variables[node.name] = Variable((Alternative((unknown,)),), array=True)
            index = subscript(expander, key, flags, inner)
            is_changed = scope.state.variables.get(node.name) is not during
            if not node.append:
                _put_back(scope.state, node.name, kept)
            if len(values) != 1 or index is None or is_changed:
                is_known = False
                continue
            additions = [values[0][0]]
            if isinstance(index, int):
                following = index
        for value in additions if is_known else ():
            changed = with_element(result, following if "A" not in flags else index, value, flags, unknown)
            if changed is None:
                scope.state.doubtful = True
                return [Alternative((unknown,))]
            result = changed
            following += 1
    return [result if is_known else Alternative((unknown,))]


def _put_back(state: State, name: str, variable: Variable | None) -> None:
    if variable is None:
        state.variables.pop(name, None)
    else:
        state.variables[name] = variable


def subscript(expander: Expander, word: Word, flags: str, scope: Scope) -> int | str | None:
    """The subscript of an element: a number, the key of an associative array, None where it is unknown."""
    if "A" in flags:
        values = expander.value(word, scope)
        if any(text_of(value) == "" for value, _ in values):  # an invalid one
            scope.state.doubtful = True
        return text_of(values[0][0]) or None if len(values) == 1 else None
    return expander.number(word.start, word.end, scope)[0]


def joined_flags(before: str, added: str) -> str:
    """The attributes of a variable that a declaration adds some to: of `l` and `u` the last one stays, of both none."""
    gone = {"l": "u", "u": "l"}
    return "".join(each for each in before + added if gone.get(each, " ") not in added)


def with_attributes(expander: Expander, values: list[Alternative], flags: str, scope: Scope) -> list[Alternative]:
    """The values as a variable with attributes stores them: evaluated (i), in lower (l) or upper case (u)."""
    if not set(flags) & {"i", "l", "u"}:
        return values
    _note_several(values, (), flags, scope)
    return _mapped(values, lambda field: _with_attributes(expander, field, flags, scope))


def note_evaluated(fields: Iterable[Pieces], flags: str, scope: Scope) -> None:
    """Notes that an integer variable may get one of several values, of which some may be invalid, or assign."""
    if "i" in flags and not all(is_plain_number(text_of(field)) for field in fields):
        scope.state.doubtful = True


def _note_several(values: Sequence[Alternative], before: Sequence[Alternative], flags: str, scope: Scope) -> None:
    """See `note_evaluated`; `before`: the values of the variable that others are appended to."""
    if "i" in flags and (len(values) > 1 or len(before) > 1):
        note_evaluated([field for value in (*values, *before) for field in value.fields or ()], flags, scope)


def _mapped(values: list[Alternative], change: Callable[[Pieces], Pieces]) -> list[Alternative]:
    """The values with each of their fields changed."""
    return [
        value if value.fields is None else value._replace(fields=tuple(map(change, value.fields))) for value in values
    ]


def _with_attributes(expander: Expander, field: Pieces, flags: str, scope: Scope) -> Pieces:
    text = text_of(field)
    if is_open((field,)):
        return field
    source = field[0] if field else Piece("", 0, 0)
    span = Span(source.start, field[-1].end if field else source.end)
    expansion = Expansion("declare", span, scope.context.phase, flattened(expansions(field)))
    if text is None and "i" in flags:
        scope.state.doubtful = True
        new = None
    elif text is not None and "i" in flags:
        number, wrong = expander.number_of(text, scope, {})
        scope.state.guessed = scope.state.guessed or wrong is None
        if wrong or expander.risky:
            expander.substituter.abandon(scope)
        new = None if number is None else str(number)
    else:
        new = text if text is None else text.upper() if "u" in flags else text.lower() if "l" in flags else text
    if new is not None and new == text:
        return field
    return (Piece(None if PARTLY_CHANGING in flags else new, *span, expansion),)


def right_side(
    expander: Expander, node: Assignment, scope: Scope, local: bool = False, flags: str = ""
) -> list[Alternative]:
    """The alternatives of the value on the right side, with what `+=` appends an array to."""
    fragile = expander.fragile
    values = _right_side(expander, node, scope, local, flags)
    if expander.fragile == fragile:
        return values
    # `X=$((2 * $Y))` may fail: then X is what it was
    inputs = flattened(each for value in values for field in value.fields or () for each in expansions(field))
    is_array = isinstance(node.value, ArrayLiteral)
    return [Alternative((scope.unknown(node.name, scope.span(node), inputs, is_array),))]


def _right_side(expander: Expander, node: Assignment, scope: Scope, local: bool, flags: str) -> list[Alternative]:
    if not isinstance(node.value, ArrayLiteral):
        return expand_assignment(expander, node, scope)
    name, old, fresh = _assigned(node.name, local, flags, scope.state)
    before: tuple[Alternative, ...] = ()
    if old is not None and not fresh:
        before, flags = old.alternatives, flags + old.flags
    elif old is None and node.append:
        before = _inherited(expander, name, scope, several=True)
    return _array(expander, node, node.value, before, flags, scope)


def _assigned(name: str, local: bool, flags: str, state: State) -> tuple[str, Variable | None, bool]:
    """The name of the variable that is assigned, the variable, and whether a declaration hides it by a local one."""
    fresh = local and state.restored is not None and name not in state.restored
    if not fresh and "n" not in flags:
        name = state.target(name)
    return name, state.variables.get(name), fresh


# --- assignments -----------------------------------------------------------------------------------


def assign(
    expander: Expander, node: Assignment, scope: Scope, exported: bool = False, local: bool = False,
    flags: str = "", array: bool = False, values: list[Alternative] | None = None,
) -> None:  # fmt: skip
    """Runs an assignment. `exported`, `local`, `flags`, `array`: the attributes that a declaration adds; `values`: its
    right side, where that was expanded before."""
    state = scope.state
    span = scope.span(node)
    is_declared = values is not None
    if values is None:
        if isinstance(node.value, ArrayLiteral):  # by the time that it is expanded, the variable is an array
            name, old, fresh = _assigned(node.name, local, flags, state)
            if old is not None and old.alternatives and not fresh and not set(old.flags) & {"n", "r"}:
                state.variables[name] = old._replace(array=True)
        values = right_side(expander, node, scope, local, flags)
    name, old, fresh = _assigned(node.name, local, flags, state)
    if old is not None and "r" in old.flags:
        state.doubtful = True
        if not is_declared:
            expander.substituter.abandon(scope)
        return
    if old is not None and "n" in old.flags and old.alternatives and not fresh and "n" not in flags:
        widen_targets(expander, name, span, scope, isinstance(node.value, ArrayLiteral))
        return
    if node.index is not None and isinstance(node.value, ArrayLiteral):  # bash does not assign a list to an element
        expander.substituter.abandon(scope)
        return
    if "n" in flags and not is_reference(node.name, values):
        widen_elements(values, span, scope)
        flags = flags.replace("n", "")
        values = [Alternative((scope.unknown(name, span),))]
        state.doubtful = True
    is_array = array or isinstance(node.value, ArrayLiteral) or node.index is not None
    before: tuple[Alternative, ...] = ()
    if old is not None and not fresh:
        before, array, flags = old.alternatives, array or old.array, joined_flags(old.flags, flags)
    flags = "".join(sorted(set(flags))) if flags else ""
    if is_array:
        flags = flags.replace(PARTLY_ARRAY, "")
    if isinstance(node.value, ArrayLiteral):
        array = True
        values = with_attributes(expander, values, flags, scope)
    else:
        array = array or node.index is not None or "A" in flags
        index: int | str | None = "0" if "A" in flags else 0
        if node.index is not None:
            index = subscript(expander, node.index, flags, scope)
            changed = state.variables.get(name)
            if changed is not None and not fresh:
                old, before = changed, changed.alternatives
        if old is None and not fresh and (node.append or node.index is not None):
            before = _inherited(expander, name, scope)
            if node.index is not None and index != 0:
                before = _or_unset(before)
        if array:
            values = _in_element(expander, values, before, index, node.append, flags, span, name, scope)
        elif node.append:
            if old is not None and not fresh and any(each.fields is None for each in before):
                before = tuple(alternatives(expander.substituter.environment, name, old, scope, span))
            values = _appended(expander, values, before, flags, scope)
        elif flags:
            values = with_attributes(expander, values, flags, scope)
    if local and state.restored is not None:
        state.restored.setdefault(name, old)
    is_exported, flags = export_of(expander, name, old, flags, scope, exported)
    widened = widen(values, name, span, scope.context.phase)
    size = 0
    for alternative in widened:
        if alternative.fields:
            size = max(size, len(alternative.fields if array else alternative.fields[0]))
    if size >= PIECES_OF_A_STATEMENT:
        expander.substituter.spend(size, scope, node)
    state.variables[name] = volatile(name, Variable(widened, array, is_exported, span, flags), scope)
    record_assignment(expander, node, widened, is_exported, span, scope)


def export_of(
    expander: Expander, name: str, old: Variable | None, flags: str, scope: Scope, exported: bool = False
) -> tuple[bool, str]:
    """Whether a variable is exported that gets a value, and its flags: one from the environment stays exported.

    `old`: what it was, or what it hides; `exported`: it is exported by this.
    """
    if exported or scope.state.option("allexport"):
        return True, without_export(flags)
    if old is None:
        return is_inherited(expander, name, scope), flags
    if old.flags:
        for each in (PARTLY_EXPORTED, UNEXPORTED):
            if each in old.flags and each not in flags:
                flags += each
        if PARTLY_EXPORTED in flags and is_inherited(expander, name, scope):
            return True, flags if UNEXPORTED in flags else without_export(flags)
    return old.exported, flags


def without_export(flags: str) -> str:
    """The flags of a variable of which it is known whether it is exported."""
    return flags.replace(PARTLY_EXPORTED, "").replace(UNEXPORTED, "") if flags else flags


def is_inherited(expander: Expander, name: str, scope: Scope) -> bool:
    """Whether the environment certainly has a variable that the script has not touched."""
    if name in ENVIRONMENT_NAMES:
        return True
    if scope.state.lost and name.startswith(tuple(scope.state.lost)):
        return False
    return expander.substituter.environment.lookup(name, scope.context) not in (None, False)


def volatile(name: str, made: Variable, scope: Scope) -> Variable:
    """A variable that was set; its value is unknown where a trap may change it at any time."""
    if VOLATILE not in made.flags:
        return made
    if PARTLY_READONLY in made.flags:
        scope.state.doubtful = True
    unknown = Alternative((scope.unknown(name, made.span, is_open=made.array),))
    return made._replace(alternatives=(unknown,) if made.alternatives else (Alternative(None), unknown))


def is_reference(name: str, values: list[Alternative]) -> bool:
    """Whether a variable of this name may hold these values as a reference: each is another variable's name, or not
    known."""
    texts = [text_of(each.fields[0]) if each.fields else "" for each in values]
    return all(text is None or text != name and NAME.fullmatch(text) for text in texts)


def widen_elements(values: list[Alternative], span: Span, scope: Scope) -> None:
    """Makes the arrays unknown to whose elements a reference leads: what is done to it changes them."""
    variables = scope.state.variables
    for value in values:
        name, bracket, _ = (text_of(value.fields[0]) or "" if value.fields else "").partition("[")
        old = variables.get(scope.state.target(name)) if bracket and NAME.fullmatch(name) else None
        if old is not None:
            field = scope.unknown(name, span, is_open=True)
            variables[scope.state.target(name)] = old._replace(alternatives=(Alternative((field,)),), array=True)


def widen_targets(
    expander: Expander, name: str, span: Span, scope: Scope, is_array: bool = False, is_unset: bool = False
) -> None:
    """What a reference may lead to is unknown after it was written or unset, where it is not known what that is."""
    state = scope.state
    state.doubtful = True
    targets = _targets(state.variables[name], state)
    if targets is None:
        widen_all(expander, span, scope)
    for target in targets or ():
        widen_one(target, span, scope, is_array, is_unset)


def _targets(reference: Variable, state: State) -> list[str] | None:
    """The names of the variables that a reference may lead to; None where that may be any."""
    texts = [text_of(each.fields[0]) if each.fields else "" for each in reference.alternatives]
    if None in texts:
        return None
    return [state.target(match[0]) for text in texts if (match := NAME.match(text or "")) is not None]


def widen_all(expander: Expander, span: Span, scope: Scope) -> None:
    """All variables are unknown where one was set, and it is not known which."""
    scope.state.doubtful = True
    scope.state.facts = {}
    names = [name for name in scope.state.variables if NAME.fullmatch(name)]
    expander.substituter.charge(len(names), span)
    for name in names:
        widen_one(name, span, scope)


def widen_one(name: str, span: Span, scope: Scope, is_array: bool = False, is_unset: bool = False) -> None:
    """A variable is unknown. `is_unset`: and may not be set any more."""
    old = scope.state.variables.get(name)
    if old is None:
        is_exported = name in ENVIRONMENT_NAMES
        old = Variable((), exported=is_exported, span=span, flags="" if is_exported else PARTLY_EXPORTED)
    if "r" in old.flags:
        return
    is_array = is_array or old.array
    unknown = Alternative((scope.unknown(name, span, is_open=is_array),))
    is_set = not is_unset and old.alternatives and all(each.fields is not None for each in old.alternatives)
    alternatives = (unknown,) if is_set else (Alternative(None), unknown)
    scope.state.variables[name] = old._replace(alternatives=alternatives, array=is_array)


def _inherited(expander: Expander, name: str, scope: Scope, several: bool = False) -> tuple[Alternative, ...]:
    """The alternatives of a variable that only the environment may set."""
    span = scope.text.span(0, 0)
    return tuple(alternatives(expander.substituter.environment, name, None, scope, span, several))


def _or_unset(inherited: tuple[Alternative, ...]) -> tuple[Alternative, ...]:
    """The same, and that the environment does not set it, where that is not known."""
    if len(inherited) != 1 or not any(map(expansions, inherited[0].fields or ())):
        return inherited
    return (Alternative(None), *inherited)


def _appended(
    expander: Expander, values: list[Alternative], before: tuple[Alternative, ...], flags: str, scope: Scope
) -> list[Alternative]:
    """The alternatives of `NAME+=value`."""
    _note_several(values, before, flags, scope)
    results = []
    for old in before or (Alternative(None),):
        for value in values:
            merged = merge_guards(old.guards, value.guards)
            if merged is None or merge_guards(merged, scope.context.guards) is None:
                continue
            first = old.fields[0] if old.fields else ()
            new = _concatenated(expander, first, value.fields[0] if value.fields else (), flags, scope)
            results.append(Alternative((new,), merged))
    return results or values


def _concatenated(expander: Expander, first: Pieces, second: Pieces, flags: str, scope: Scope) -> Pieces:
    """Two values concatenated, or added for an integer variable."""
    if "i" not in flags:
        place = (second or first or (Piece("", 0, 0),))[0].span
        whole = expander.substituter.limits.bounded(first + second, MOST_PIECES, place, scope.context.phase)
        return _with_attributes(expander, whole, flags, scope) if set(flags) & {"l", "u"} else whole
    left, right = text_of(first), text_of(second)
    source = (second or first or (Piece("", 0, 0),))[0]
    number = None
    if left is not None and right is not None:
        number, wrong = expander.number_of(f"({left or 0})+({right or 0})", scope, {})
        scope.state.guessed = scope.state.guessed or wrong is None
        if wrong or expander.risky:
            expander.substituter.abandon(scope)
    else:
        scope.state.doubtful = True
    if PARTLY_CHANGING in flags:
        number = None
    expansion = Expansion("declare", source.span, scope.context.phase, flattened(expansions(first + second)))
    return (Piece(None if number is None else str(number), source.start, source.end, expansion),)


def _in_element(
    expander: Expander, values: list[Alternative], before: tuple[Alternative, ...], index: int | str | None,
    append: bool, flags: str, span: Span, name: str, scope: Scope,
) -> list[Alternative]:  # fmt: skip
    """The alternatives of an array after `NAME[i]=value`, or `NAME=value` for element 0."""
    _note_several(values, before, flags, scope)
    unknown = scope.unknown(name, span, is_open=True)
    empty = Alternative((), NO_GUARDS, () if "A" in flags else None)
    results = []
    if isinstance(index, int) and index < 0:
        # an error where there are no elements, but hardly where it is not set
        if not before or any(each.fields is None or is_open(each.fields) for each in before):
            expander.substituter.abandon(scope)
        everything = Alternative((unknown,))
        before = tuple([everything if each.fields is None else each for each in before or (everything,)])
    for array in before or (empty,):
        array = empty._replace(guards=array.guards) if array.fields is None else array
        for value in values:
            merged = merge_guards(array.guards, value.guards)
            if merged is None:
                continue
            new: Pieces | None = value.fields[0] if value.fields else ()
            if append:
                found, old = element(array, index, flags)
                new = (
                    _concatenated(expander, old or (), new or (), flags, scope) if found else scope.unknown(name, span)
                )
            else:
                new = _with_attributes(expander, new or (), flags, scope)
            changed = with_element(array, index, new, flags, unknown)
            if changed is None:
                expander.substituter.abandon(scope)
                changed = array
            results.append(changed._replace(guards=merged))
    return results


def record_assignment(
    expander: Expander, node: Assignment, alternatives: tuple[Alternative, ...], exported: bool, span: Span,
    scope: Scope,
) -> None:  # fmt: skip
    trace = expander.substituter.trace
    if trace.is_kept:
        order = len(trace.invocations)
        trace.assignments.append(
            VariableAssignment(
                node.name, alternatives, exported, span, node.name_start, scope.text, scope.context, order
            )
        )


def set_variable(
    expander: Expander, name: str, value: Pieces, scope: Scope, span: Span, index: int | str | None = None
) -> None:
    """Sets a variable, or an element of it, as `read`, `printf -v` and arithmetic do. `index` "": unknown."""
    set_alternatives(expander, name, [Alternative((value,))], scope, span, index)


def set_alternatives(
    expander: Expander, name: str, values: list[Alternative], scope: Scope, span: Span, index: int | str | None = None
) -> None:
    """Sets a variable, or an element of it, to several alternatives."""
    name = scope.state.target(name)
    old = scope.state.variables.get(name)
    flags = old.flags if old is not None else ""
    if "n" in flags:
        widen_targets(expander, name, span, scope)
        return
    if "r" in flags:
        scope.state.doubtful = True
        return
    array = old is not None and old.array or index is not None
    flags = flags if index is None else flags.replace(PARTLY_ARRAY, "")
    if array:
        wanted = element_index(index, flags)
        before = old.alternatives if old is not None else _inherited(expander, name, scope)
        before = _or_unset(before) if old is None and wanted != 0 else before
        values = _in_element(expander, values, before, wanted, False, flags, span, name, scope)
    else:
        bounded = expander.substituter.limits.bounded
        values = with_attributes(expander, values, flags, scope)
        values = _mapped(values, lambda field: bounded(field, MOST_PIECES, span, scope.context.phase))
    exported, flags = export_of(expander, name, old, flags, scope)
    made = Variable(widen(values, name, span, scope.context.phase), array, exported, span, flags)
    scope.state.variables[name] = volatile(name, made, scope)


def set_fields(scope: Scope, name: str, fields: Fields, span: Span) -> None:
    """Sets a whole indexed array."""
    set_array(scope, name, (Alternative(fields),), span)


def set_array(scope: Scope, name: str, alternatives: tuple[Alternative, ...], span: Span) -> None:
    """Sets a whole indexed array, which may have several values."""
    name = scope.state.target(name)
    old = scope.state.variables.get(name)
    if old is not None and "n" in old.flags:
        scope.state.doubtful = True
        for target in _targets(old, scope.state) or ():
            widen_one(target, span, scope, True)
    if old is not None and set(old.flags) & {"A", "r"}:  # bash refuses to make an indexed array of it
        scope.state.doubtful = True
        return
    flags = "".join([each for each in old.flags if each not in ("n", PARTLY_ARRAY)]) if old is not None else ""
    if set(flags) & {"i", "l", "u"}:
        alternatives = (Alternative((scope.unknown(name, span, is_open=True),)),)
    if old is None:
        flags = UNEXPORTED  # no program gets an array
    made = Variable(widen(alternatives, name, span, scope.context.phase), True, bool(old and old.exported), span, flags)
    scope.state.variables[name] = volatile(name, made, scope)


def unset_element(state: State, name: str, index: int | str | None, span: Span, scope: Scope) -> bool:
    """Runs `unset NAME[i]`. Returns False where bash rejects it."""
    old = state.variables.get(name)
    if old is None or not old.array:
        if old is not None and old.alternatives and index == 0:
            flags = "".join([UNEXPORTED, *(each for each in old.flags if each in STAYING)])
            state.variables[name] = volatile(name, Variable((), span=span, flags=flags), scope)
            return True
        return False
    if PARTLY_ARRAY in old.flags:
        widen_one(name, span, scope, True, True)
        return False
    unknown = scope.unknown(name, span, is_open=True)
    changed = []
    for alternative in old.alternatives:
        if alternative.fields is not None:
            new = with_element(alternative, index, None, old.flags, unknown)
            if new is None:
                return False
            alternative = new
        changed.append(alternative)
    state.variables[name] = volatile(name, old._replace(alternatives=tuple(changed)), scope)
    return True
