"""`declare`, `local`, `export`, `readonly`, `typeset` and `unset`."""

import re
from functools import lru_cache

from sbatchlint.bash.expansion.assignment import (
    assign,
    is_inherited,
    is_reference,
    joined_flags,
    right_side,
    set_variable,
    unset_element,
    volatile,
    widen_all,
    widen_elements,
    widen_one,
    widen_targets,
    with_attributes,
    without_export,
)
from sbatchlint.bash.expansion.brace_expansion import expand_braces, has_braces, has_other_braces
from sbatchlint.bash.expansion.protocol import FieldChoice, Scope
from sbatchlint.bash.interpreter.base import Interpreter
from sbatchlint.bash.state import NAME, State
from sbatchlint.bash.syntax.tree import Assignment, Simple, Word
from sbatchlint.bash.trace import Invocation
from sbatchlint.bash.values import Piece, Pieces, cut, known_prefix, shown_text, text_of
from sbatchlint.bash.variables import (
    PARTLY_ARRAY,
    PARTLY_EXPORTED,
    PARTLY_READONLY,
    STAYING,
    UNEXPORTED,
    VOLATILE,
    Alternative,
    Variable,
)
from sbatchlint.source.regex import Regex
from sbatchlint.source.text import Span

OPTIONS = Regex(r"[-+][aAcfFgiIlnprtuxX]+")
ELEMENT = Regex(r"([A-Za-z_]\w*)\[(.*)\]", re.ASCII | re.DOTALL)
SOME_ELEMENT = Regex(r"([A-Za-z_]\w*)\[", re.ASCII)


class Declared:
    """What the options of a declaration say about its names."""

    def __init__(self, command: str, options: tuple[str, ...], in_function: bool) -> None:
        on = "".join([each[1:] for each in options if each[0] == "-"])
        off = "".join([each[1:] for each in options if each[0] == "+"])
        self.command = command
        self.functions = "f" in on or "F" in on
        self.prints = "p" in on
        self.unexported = command == "export" and "n" in on or "x" in off
        self.exported = (command == "export" or "x" in on) and not self.unexported
        self.local = command in ("local", "declare", "typeset") and "g" not in on and in_function
        self.flags = "".join([each for each in "Ailnru" if each in on and command != "export"])
        if "c" in on and command != "export":  # `Capitals`: what is stored is not known
            self.flags += VOLATILE
        if "l" in on and "u" in on:  # the last of a word counts for neither
            self.flags = self.flags.replace("l", "").replace("u", "")
        if command == "readonly" and not self.functions and "r" not in self.flags:
            self.flags += "r"
        self.removed = "".join([each for each in "ilnu" if each in off])
        self.array = "a" in on or "A" in on
        self.indexed = "a" in on and "A" not in on
        self.inherits = "I" in on
        self.is_global = "g" in on


_declared = lru_cache(maxsize=64)(Declared)  # most declarations have the same options


def declare(interpreter: Interpreter, node: Simple, scope: Scope) -> None:
    first = node.words[0]
    command = scope.written(first)
    state = scope.state
    options: list[str] = []
    for word in node.words[1:]:
        if isinstance(word, Word):
            text = text_of(interpreter.expander.single_value(word, scope))
            if text is None or not OPTIONS.fullmatch(text):
                break
            options.append(text)
    declared = _declared(command, tuple(options), state.restored is not None)
    if command == "local" and state.restored is None:  # bash refuses it outside functions
        state.status = 1
        return
    # all words are expanded before the first of them is assigned
    expander = interpreter.expander
    expanded: list[tuple[Assignment | Word, list[Alternative], list[FieldChoice]]] = []
    seen = 0
    for word in node.words[1:]:
        if isinstance(word, Assignment):
            values = right_side(expander, word, scope, declared.local, declared.flags)
            if _has_braces(word, scope):  # it may be several words, which assign one after the other
                values = [Alternative((scope.unknown(word.name, scope.span(word)),))]
            expanded.append((word, values, []))
        elif seen < len(options):
            seen += 1
        else:
            expanded.append((word, [], expander.fields(word, scope)))
    state.status = None if declared.prints and expanded else 0
    local, flags = declared.local, declared.flags
    # it begins with the value and the attributes of the variable that it hides
    inherits = local and (declared.inherits or state.option("localvar_inherit") is not False)
    for word, values, choices in expanded:
        if isinstance(word, Assignment):
            if declared.is_global and _is_hidden(word.name, state):
                continue
            if _is_converted(declared, word.name, scope):
                interpreter.abandon(scope)
                continue
            _note_outer(declared, word.name, state)
            assign(expander, word, scope, declared.exported, local, flags, declared.array, values)
            if inherits:
                widen_one(word.name, scope.span(word), scope, True)
        elif len(choices) != 1:
            state.status = None
            widen_all(expander, scope.span(word), scope)
        else:
            for field in choices[0][0]:
                _declare_field(interpreter, declared, field, scope.span(word), scope)
                if inherits:
                    widen_one(known_prefix(field).partition("=")[0], scope.span(word), scope, True, True)
    if declared.functions or declared.prints or len(node.words) == 1:
        interpreter.emit(_printed_functions(node, scope), scope)


def _has_braces(word: Assignment, scope: Scope) -> bool:
    """Whether brace expansion changes an argument, or makes several words of it."""
    value = word.value
    if not isinstance(value, Word) or scope.state.options.get("braceexpand") is False:
        return False
    if has_other_braces(value, scope):
        return True
    if not has_braces(value.parts):
        return False
    words = expand_braces(value.parts, scope)
    return words is None or len(words) > 1 or any(isinstance(part, Piece) for part in words[0])


def declare_words(interpreter: Interpreter, invocation: Invocation, scope: Scope) -> State | None:
    """A declaration whose words are expanded: `command export X=1`, `\\export X=1`, `$SET X=1`."""
    state = scope.state
    words = list(invocation.argv[1:])
    options: list[str] = []
    while words and OPTIONS.fullmatch(text := text_of(words[0]) or ""):
        options.append(text)
        words.pop(0)
    declared = _declared(str(invocation.name), tuple(options), state.restored is not None)
    state.status = None if declared.prints and words else 0
    if invocation.name == "local" and state.restored is None:
        state.status = 1
        return state
    for field in words:
        _declare_field(interpreter, declared, field, invocation.span, scope)
    if declared.functions or declared.prints or not words:
        interpreter.emit(None, scope)
    return state


def _declare_field(interpreter: Interpreter, declared: Declared, field: Pieces, span: Span, scope: Scope) -> None:
    """Declares a word that is a name, or `NAME=value` with something quoted or expanded in it."""
    state = scope.state
    prefix = known_prefix(field)
    name, equals, _ = prefix.partition("=")
    append = bool(equals) and name.endswith("+")
    name = name[:-1] if append else name
    if not NAME.fullmatch(name) or not equals and text_of(field) is None or append:
        _declare_some(interpreter, declared, field, span, scope)
        return
    if declared.functions:
        function = state.functions.get(name)
        if function is None:
            state.status = None
        elif declared.exported:
            state.set_function(name, function._replace(exported=True))
        return
    if declared.prints:
        state.status = None
        return
    if declared.is_global and _is_hidden(name, state):
        return
    fresh = declared.local and state.restored is not None and name not in state.restored
    if not fresh and "n" not in declared.flags + declared.removed:
        name = state.target(name)
    old = state.variables.get(name)
    if old is not None and declared.command != "readonly" and _is_converted(declared, name, scope):
        state.status = 1 if len(old.alternatives) == 1 else None
        return
    if declared.local and state.restored is not None:
        state.restored.setdefault(name, old)
    if old is not None and "r" in old.flags and (equals or fresh):
        state.doubtful = True
        return
    if old is not None and PARTLY_READONLY in old.flags and (equals or fresh):
        widen_one(name, span, scope)
        state.doubtful = True
        return
    if old is not None and "n" in old.flags and equals and not fresh and "n" not in declared.flags:
        widen_targets(interpreter.expander, name, span, scope)
        return
    _note_outer(declared, name, state)
    base = Variable((), span=span) if old is None or fresh else old
    flags = "".join(sorted(set(joined_flags(base.flags, declared.flags)) - set(declared.removed)))
    was_exported = old.exported if old is not None else is_inherited(interpreter.expander, name, scope)
    exported = (declared.exported or was_exported) and not declared.unexported
    if declared.exported or declared.unexported:
        flags = without_export(flags) + (UNEXPORTED if declared.unexported else "")
    elif fresh and old is not None:
        flags += "".join([each for each in old.flags if each in (PARTLY_EXPORTED, UNEXPORTED)])
    array = base.array or declared.array
    if equals:
        value = cut(field, len(name) + 1, len(shown_text(field)))
        if array:
            state.doubtful = True
            if (text_of(value) or "(")[0] == "(":  # it may be several elements
                value = scope.unknown(name, span, is_open=True)
        pieces = tuple(
            [
                piece if piece.expansion is not None or piece.text is None else scope.expanded(piece.text, name, span)
                for piece in value
            ]
        )
        if base.array and not fresh and pieces and not pieces[0].open:  # its first element
            state.variables[name] = base._replace(exported=exported, flags=flags)
            set_variable(interpreter.expander, name, pieces, scope, span)
            return
        values = with_attributes(interpreter.expander, [Alternative((pieces,))], flags, scope)
        if "n" in flags and not is_reference(name, values):
            widen_elements(values, span, scope)
            flags = flags.replace("n", "")
            values = [Alternative((scope.unknown(name, span),))]
            state.doubtful = True
        state.variables[name] = Variable(tuple(values), array, exported, span, flags)
        return
    if old is None and not fresh and not declared.array and not declared.flags:
        if exported or declared.unexported or declared.command == "readonly":
            # the value from the environment stays
            state.variables[name] = Variable((Alternative(None),), exported=exported, span=span, flags=flags)
        elif declared.local:
            state.variables[name] = Variable((), exported=exported, span=span, flags=flags)
        return
    alternatives = base.alternatives
    if old is None and not fresh:
        alternatives = (Alternative(None),)
    elif declared.local and name in state.mixed:  # where it is local already, it stays; elsewhere it is a new one
        alternatives = (*alternatives, Alternative(None))
    state.variables[name] = Variable(alternatives, array, exported, span, flags)


def _declare_some(interpreter: Interpreter, declared: Declared, field: Pieces, span: Span, scope: Scope) -> None:
    """What is left after a declaration of an element (`"A[1]=x"`), of `"NAME+=x"`, or of an unknown name."""
    scope.state.doubtful = True
    match = NAME.match(known_prefix(field))
    scope.state.status = 1 if text_of(field) is not None and match is None else None
    if match is not None and known_prefix(field)[match.end() :][:1] in ("[", "+"):
        name = scope.state.target(match[0])
        widen_one(name, span, scope, "[" in known_prefix(field), True)
        found = scope.state.variables.get(name)
        if found is not None and declared.flags:  # what is assigned later is changed, too
            scope.state.variables[name] = found._replace(flags=found.flags + VOLATILE)
    elif text_of(field) is None and "=" not in known_prefix(field):
        widen_all(interpreter.expander, span, scope)


def _is_hidden(name: str, state: State) -> bool:
    """Whether a local variable hides the one that `declare -g` changes, which is then not known once it is gone."""
    if name not in state.outer and name not in (state.restored or ()):
        return False
    state.revealed |= {name}
    return True


def _note_outer(declared: Declared, name: str, state: State) -> None:
    """Notes that `export` or `readonly` changes a caller's variable: of `X=1 f`, the change stays after `f`.

    There it also gives the attributes of a local variable to the one that both hide.
    """
    reaches = declared.exported or declared.unexported or "r" in declared.flags
    if name in state.outer and (reaches or not declared.local and name not in (state.restored or ())):
        state.revealed |= {name}


def _is_converted(declared: Declared, name: str, scope: Scope) -> bool:
    """Whether a declaration would make an associative array of an indexed one or the reverse, which bash refuses.

    The variable stays as it is; where it may be none of these, it is not known any more.
    """
    state = scope.state
    if not declared.array or declared.local and state.restored is not None and name not in state.restored:
        return False
    name = state.target(name)
    old = state.variables.get(name)
    if old is None or not old.array or ("A" in old.flags) != declared.indexed:
        return False
    if len(old.alternatives) > 1:
        state.doubtful = True
        field = scope.unknown(name, old.span, is_open=True)
        state.variables[name] = old._replace(alternatives=(Alternative((field,)),))
    return True


def _printed_functions(node: Simple, scope: Scope) -> Pieces | None:
    """What `declare -f NAME…` prints: the functions as they are written; None where one is unknown."""
    words = [scope.written(word) for word in node.words]
    if len(words) < 3 or words[0] not in ("declare", "typeset") or words[1] not in ("-f", "-pf"):
        return None
    out: list[Piece] = []
    for name in words[2:]:
        function = scope.state.functions.get(name)
        if function is None:
            return None
        pieces = function.source
        out.extend(pieces)
        out.append(Piece("\n", pieces[-1].end, pieces[-1].end + 1))
    return tuple(out)


def unset(interpreter: Interpreter, invocation: Invocation, scope: Scope) -> State | None:
    """`unset NAME`, `unset 'NAME[i]'`, `unset -f NAME`."""
    state = scope.state
    state.status = 0
    functions = variables = references = False
    for field in invocation.argv[1:]:
        name = text_of(field)
        if name is None:
            _unset_some(field, invocation.span, scope)
            continue
        if name.startswith("-"):
            if name.strip("-fvn"):
                state.status = 2
                return state
            functions, variables, references = "f" in name, "v" in name, "n" in name
            continue
        match = ELEMENT.fullmatch(name)
        if match is not None:
            _unset_one(interpreter, match[1], match[2], invocation.span, scope)
            continue
        if not functions and not NAME.fullmatch(name):  # which bash passes over
            continue
        if not functions and (variables or name not in state.functions or _is_variable(state, name)):
            name = name if references else state.target(name)
            old = state.variables.get(name)
            if old is not None and "n" in old.flags and not references:
                widen_targets(interpreter.expander, name, invocation.span, scope, is_unset=True)
                continue
            if old is not None and "r" in old.flags:
                state.doubtful, state.status = True, 1
                continue
            if (
                name in state.outer
                and name not in (state.restored or ())
                and state.option("localvar_unset") is not True
            ):
                state.revealed |= {name}
                state.variables[name] = revealed(name, old, scope)
                continue
            flags = old.flags if old is not None and state.restored is not None and name in state.restored else ""
            flags += "".join([each for each in old.flags if each in STAYING]) if old is not None else ""
            if state.restored is not None and name in state.restored:
                flags += PARTLY_EXPORTED
            flags = "".join(sorted({*flags, UNEXPORTED} - {"A", "n", PARTLY_ARRAY}))
            made = Variable((), span=invocation.span, flags=flags)
            state.variables[name] = volatile(name, made, scope)
        else:
            state.set_function(name, None)
    return state


def _unset_some(field: Pieces, span: Span, scope: Scope) -> None:
    """What is left after `unset` of an unknown name, or of an unknown element of an array."""
    state = scope.state
    state.doubtful = True
    match = SOME_ELEMENT.match(known_prefix(field))
    if match is None:
        names = [name for name in state.variables if NAME.fullmatch(name) and name.startswith(known_prefix(field))]
        for name in names:
            widen_one(name, span, scope, is_unset=True)
        state.lost |= {_beginning(field)}
        state.facts = {}
    name = state.target(match[1]) if match is not None else ""
    old = state.variables.get(name)
    if old is not None and old.array:
        unknown = scope.unknown(name, span, is_open=True)
        state.variables[name] = old._replace(alternatives=(Alternative((unknown,)),))


def _beginning(field: Pieces) -> str:
    """How the names that an unknown field may hold begin, as `${!SLURM_*}`."""
    prefix, expansion = known_prefix(field), field[0].expansion
    is_list = not prefix and expansion is not None and expansion.name[:1] == "!" and expansion.name[-1] == "*"
    return expansion.name[1:-1] if is_list and expansion is not None else prefix


def revealed(name: str, old: Variable | None, scope: Scope) -> Variable:
    """A variable after a function has unset it that was local in a caller: what that one hid counts again, or none."""
    is_array = old is not None and old.array
    span = Span(0, 0) if old is None else old.span
    unknown = scope.unknown(name, span, is_open=is_array)
    values = (Alternative(None), Alternative((unknown,)))
    return Variable(
        values,
        is_array,
        old is not None and old.exported,
        span,
        PARTLY_EXPORTED + UNEXPORTED + PARTLY_READONLY + VOLATILE,
    )


def _is_variable(state: State, name: str) -> bool:
    found = state.variables.get(name)
    return found is not None and bool(found.alternatives)


def _unset_one(interpreter: Interpreter, name: str, subscript: str, span: Span, scope: Scope) -> None:
    state = scope.state
    name = state.target(name)
    old = state.variables.get(name)
    index: int | str | None = subscript
    if old is None or "A" not in old.flags:
        if subscript in ("@", "*"):
            state.variables[name] = Variable((), span=span, flags=UNEXPORTED)
            return
        index = interpreter.expander.integer_of(subscript, scope)
    elif any(each in subscript for each in "$`'\"\\"):  # which bash expands
        index = None
    elif subscript in ("@", "*"):  # the element of this key, or all
        widen_one(name, span, scope, True, True)
        state.doubtful = True
        return
    if old is not None and old.alternatives and not unset_element(state, name, index, span, scope):
        state.status = None
        state.doubtful = True
