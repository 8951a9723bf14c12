"""The value of a variable, from the script or from the environment."""

from collections.abc import Sequence

from sbatchlint.bash.expansion.arrays import element, element_index
from sbatchlint.bash.expansion.protocol import Environment, Scope
from sbatchlint.bash.state import NAME, State
from sbatchlint.bash.values import expansions, flattened, not_empty, text_of
from sbatchlint.bash.variables import (
    ANYTHING,
    EMPTY,
    FILLED,
    NO_GUARDS,
    NOT_EMPTY,
    NOT_SET,
    PARTLY_ARRAY,
    UNSET,
    VOLATILE,
    Alternative,
    Fields,
    Guards,
    Variable,
    merge_guards,
)
from sbatchlint.source.text import Span

ValueChoice = tuple[Fields | None, Guards]

# Whatever is assigned to these, bash computes their values.
CHANGING_NAMES = frozenset(
    {"BASHPID", "EPOCHREALTIME", "EPOCHSECONDS", "FUNCNAME", "LINENO", "PIPESTATUS", "RANDOM", "SECONDS", "SRANDOM"}
)

# Arrays that bash itself fills.
ARRAYS = frozenset(
    {"BASH_ARGC", "BASH_ARGV", "BASH_LINENO", "BASH_REMATCH", "BASH_SOURCE", "BASH_VERSINFO", "DIRSTACK", "FUNCNAME"}
    | {"GROUPS", "PIPESTATUS"}
)


def may_be_told(name: str, state: State) -> bool:
    """Whether what a test tells of a variable, or of an argument, holds until it is set again."""
    if name.isdigit():
        return name != "0"
    found = state.variables.get(name)
    is_fixed = found is None or not found.array and not set(found.flags) & {"n", VOLATILE, PARTLY_ARRAY}
    return is_fixed and NAME.fullmatch(name) is not None and name not in CHANGING_NAMES and name not in ARRAYS


def note_unset(scope: Scope) -> None:
    """Notes that an unset parameter was expanded, at which a shell with `set -u` exits."""
    if scope.state.option("nounset") is not False:
        scope.state.doubtful = True


def alternatives(
    environment: Environment, name: str, found: Variable | None, scope: Scope, span: Span, several: bool = False
) -> Sequence[Alternative]:
    """The alternatives of a variable, as the shell holds it; `fields` None: not set.

    `several`: of all its elements, of which a variable that only the environment may set has one or none.
    """
    if found is None:
        return (Alternative(inherited(environment, name, scope, span, several)),)
    if name in CHANGING_NAMES:
        return (Alternative((scope.unknown(name, span, is_open=found.array),)),)
    if not found.alternatives:
        return (Alternative(None),)
    if found.flags and "n" in found.flags:  # a reference to a variable that is not known
        return (Alternative((scope.unknown(name, span, is_open=several),)),)
    if len(found.alternatives) == 1 and found.alternatives[0].fields is not None:
        return found.alternatives
    results: list[Alternative] = []
    for alternative in found.alternatives:
        if merge_guards(scope.context.guards, alternative.guards) is None:
            continue
        if alternative.fields is None and alternative.keys == NOT_SET:
            alternative = alternative._replace(keys=None)
        elif alternative.fields is None:
            fields = inherited(environment, name, scope, span, several)
            if alternative.keys == NOT_EMPTY and fields:
                fields = tuple(map(not_empty, fields))
            alternative = alternative._replace(fields=fields, keys=None)
        results.append(alternative)
    return results or [Alternative((scope.unknown(name, span),))]


def elements(
    environment: Environment, name: str, index: int | str | None, scope: Scope, span: Span
) -> list[ValueChoice]:
    """The alternatives of a scalar, or of an element; at most one field each. `index` "": unknown."""
    name = scope.state.target(name)
    found = scope.state.variables.get(name)
    flags = found.flags if found is not None else ""
    if "n" in flags:  # a reference to a variable that is not known
        return [((scope.unknown(name, span),), NO_GUARDS)]
    array = found is not None and found.array
    results: list[ValueChoice] = []
    for alternative in alternatives(environment, name, found, scope, span):
        fields = alternative.fields
        if fields is None or index is None and not array:
            if isinstance(index, int) and index < 0:
                scope.state.doubtful = True
            results.append((fields, alternative.guards))
            continue
        wanted = element_index(index, flags)
        known, field = element(alternative, wanted, flags)
        if isinstance(index, int) and index < 0 and (not array or PARTLY_ARRAY in flags):
            known, field = not array, None  # only arrays count from their end
        if known:
            if field is None and isinstance(wanted, int) and wanted < 0:
                scope.state.doubtful = True  # a wrong subscript
            results.append((None if field is None else (field,), alternative.guards))
            continue
        inputs = flattened(each for field in fields for each in expansions(field))
        origin = inputs[0].name if len(fields) == 1 and inputs else name
        results.append(((scope.unknown(origin, span, inputs),), alternative.guards))
    return results if array or index is not None else told(results, scope.state.may_be(name))


def told(choices: list[ValueChoice], kinds: int) -> list[ValueChoice]:
    """The values of a variable or an argument that may be some of `UNSET`, `EMPTY` and `FILLED` only."""
    if kinds == ANYTHING:
        return choices
    found: list[ValueChoice] = []
    for fields, guards in choices:
        text = text_of(fields[0]) if fields else None
        kind = UNSET if not fields else ANYTHING if text is None else FILLED if text else EMPTY
        if kind & kinds:
            found.append((_of_kinds(fields, kind & kinds), guards))
    return found or choices


def _of_kinds(fields: Fields | None, kinds: int) -> Fields | None:
    if not fields or text_of(fields[0]) is not None or kinds == UNSET:
        return None if kinds == UNSET else fields
    if kinds == FILLED:
        return tuple(map(not_empty, fields))
    return (tuple([piece.replace(text="") for piece in fields[0]]),) if kinds == EMPTY else fields


def inherited(environment: Environment, name: str, scope: Scope, span: Span, several: bool = False) -> Fields | None:
    """The value from the environment; None where the variable is certainly not set. `several`: see `alternatives`."""
    value = environment.lookup(name, scope.context)
    if value is False:
        return None
    if value is not None and scope.state.lost and name.startswith(tuple(scope.state.lost)):
        value = None
    if value is True:
        return ((scope.expanded(None, name, span).replace(filled=True),),)
    if value is None:
        note_unset(scope)  # it may be unset
    return ((scope.expanded(value, name, span, is_open=several and value is None),),)
