"""Operators of `${…}` that transform a value: substrings, removal, replacement, case, quoting."""

import re
from collections.abc import Sequence

from sbatchlint.bash.expansion.arithmetic import CHANGING
from sbatchlint.bash.expansion.arrays import indices, is_open
from sbatchlint.bash.expansion.assignment import widen_one
from sbatchlint.bash.expansion.field_splitting import joined
from sbatchlint.bash.expansion.lookup import ValueChoice
from sbatchlint.bash.expansion.patterns import matches, removed_range, replaced
from sbatchlint.bash.expansion.printing import ansi_unquoted, quoted_as_input
from sbatchlint.bash.expansion.protocol import Scope
from sbatchlint.bash.expansion.words import Expander, begins_with_folder
from sbatchlint.bash.limits import MOST_OPERATED, Limits
from sbatchlint.bash.syntax.characters import NOT_KNOWN
from sbatchlint.bash.syntax.tree import Literal, Parameter, Word
from sbatchlint.bash.values import Expansion, Piece, Pieces, cut, expansions, flattened, shown_text, text_of
from sbatchlint.bash.variables import Fields
from sbatchlint.source.regex import Regex
from sbatchlint.source.text import Span

# What makes a pattern match more than one string; a character after a backslash stands for itself.
_SPECIAL = Regex(r"(?:^|[^\\])(?:\\\\)*[*?\[(]|(?:^|[^\\])(?:\\\\)*\\\Z")
# With more replacements than this, a value becomes one piece.
_MOST_REPLACED = 200


def transformed(
    expander: Expander, choices: Sequence[ValueChoice], part: Parameter, scope: Scope, span: Span
) -> list[ValueChoice]:
    """The values to which `#`, `%`, `/`, `^`, `,` or `@` has been applied, field by field."""
    operator = part.operator
    extended = scope.state.options.get("extglob", False)
    words: list[str | None] = []
    if operator == "@":
        words = [scope.written(word) for word in part.arguments]
    elif operator[0] == "/":
        first = part.arguments[0]
        pattern = expander.pattern(first, scope)
        if pattern and pattern[0] in "#%/" and not isinstance(first.parts[0], Literal):
            pattern = None  # bash reads it as the second character of the operator
        if scope.state.option("nocasematch") is not False:
            pattern = None
        replacement = _replacement(expander, part.arguments[1], scope, part.quoted) if len(part.arguments) > 1 else ""
        words = [pattern, replacement]
    else:
        words = [expander.pattern(word, scope) for word in part.arguments]
    limits = expander.substituter.limits
    results: list[ValueChoice] = []
    if operator == "@" and words[0] in ("A", "K", "k"):
        unknown = scope.unknown(part.name, span, is_open=part.index is not None or part.name in ("@", "*"))
        return [(None if fields is None else (unknown,), guards) for fields, guards in choices]
    if operator == "@" and words[0] == "a":  # of all elements of a variable without attributes it is nothing
        unknown = scope.unknown(part.name, span, is_open=part.index is not None or part.name in ("@", "*"))
        return [(fields and (unknown,), guards) for fields, guards in choices]
    for fields, guards in choices:
        if fields is None:
            results.append((None, guards))
            continue
        changed = [_transformed_field(limits, field, operator, words, part, scope, span, extended) for field in fields]
        results.append((tuple(changed), guards))
    return results


def _replacement(expander: Expander, word: Word, scope: Scope, is_quoted: bool) -> str | None:
    """The replacement of `${X/a/b}`; None if unknown, or if it has `&` or backslashes, which releases read differently.

    `is_quoted`: the expansion is in double quotes, which do not protect them.
    """
    if begins_with_folder(word, scope):
        return None
    for part in word.parts:
        if isinstance(part, Literal):
            if "&" in part.text and (is_quoted or len(part.text) == part.end - part.start):
                return None
            if is_quoted and "\\" in part.text:
                return None
        elif is_quoted or not getattr(part, "quoted", True):
            for segments, _ in expander.part(part, scope, split=False):
                if any({"&", "\\"} & set(piece.text or "") for piece in joined(segments)):
                    return None
    values = expander.value(word, scope)
    return text_of(values[0][0]) if len(values) == 1 else None


def _transformed_field(
    limits: Limits, field: Pieces, operator: str, arguments: list[str | None], part: Parameter, scope: Scope,
    span: Span, extended: bool | None,
) -> Pieces:  # fmt: skip
    """A field to which the operator has been applied; `arguments`: what those of the operator expand to."""
    inputs = flattened(expansions(field))
    unknown = scope.unknown(part.name, span, inputs, is_open((field,)))
    if any(piece.open and piece.text for piece in field):  # the names of files that a pattern matches
        return unknown
    text = text_of(field)
    argument = arguments[0] if arguments else ""
    if argument is not None and operator in ("/", "//") and arguments[1] is not None:
        pieces = _replaced_pieces(
            field, operator, argument, arguments[1], Expansion(part.name, span, scope.context.phase)
        )
        if pieces is not None:
            return pieces
    if text is None or argument is None:
        return unknown
    if len(text) > MOST_OPERATED:
        limits.note("value", span)
        return unknown
    new: str | None
    if operator[0] in "#%":
        kept = removed_range(text, operator, argument, extended)
        return unknown if kept is None else cut(field, *kept)
    if operator[0] in "^,":
        new = _case_changed(text, operator, argument or "?", extended)
    elif operator[0] == "/":
        replacement = arguments[1]
        if replacement is None:
            # matters only if the pattern matches
            new = replaced(text, operator, argument, "\0", extended)
            new = None if new is None or "\0" in new else new
        else:
            new = replaced(text, operator, argument, replacement, extended)
    else:
        new = _at_transformed(text, argument)
    if new is None:
        return unknown
    return field if new == text else (scope.expanded(new, part.name, span, inputs),)


def _replaced_pieces(
    field: Pieces, operator: str, pattern: str, replacement: str, expansion: Expansion
) -> Pieces | None:
    """The pieces after a plain string is replaced, so that the others keep their places; None where that is uncertain.

    An unknown piece may contain the string, or, if that is longer than one character, a part of it.
    """
    plain = re.sub(r"\\(.)", r"\1", pattern, flags=re.DOTALL)
    string = shown_text(field)
    known = all(piece.text is not None for piece in field)
    if not plain or _SPECIAL.search(pattern) or not known and (operator == "/" or len(plain) > 1):
        return None
    if len(string) > MOST_OPERATED or not 0 < string.count(plain) <= _MOST_REPLACED:
        return None
    out: list[Piece] = []
    at = 0
    while (match := string.find(plain, at)) >= 0:
        out.extend(cut(field, at, match))
        if replacement:
            out.append(Piece(replacement, *expansion.span, expansion))
        at = match + len(plain)
        if operator == "/":
            break
    out.extend(cut(field, at, len(string)))
    return tuple([piece if piece.text is not None else _changed(piece, expansion) for piece in out])


def _changed(piece: Piece, expansion: Expansion) -> Piece:
    """An unknown piece as the result of an expansion that may have replaced something in it."""
    inputs = () if piece.expansion is None else flattened([piece.expansion])
    return piece.replace(expansion=expansion._replace(inputs=inputs))


def _case_changed(string: str, operator: str, pattern: str, extended: bool | None) -> str | None:
    """The string to which `^`, `^^`, `,` or `,,` has been applied; None if it is unknown."""
    change = str.upper if operator[0] == "^" else str.lower
    if not string.isascii():
        return None
    out: list[str] = []
    for number, character in enumerate(string):
        if number and len(operator) == 1:
            return "".join(out) + string[number:]
        fits = matches(pattern, character, extended)
        if fits is None:
            return None
        out.append(change(character) if fits else character)
    return "".join(out)


def _at_transformed(string: str, name: str) -> str | None:
    """The string to which `@Q`, `@E`, `@U`, `@L` or `@u` has been applied; None if it is unknown."""
    match name:
        case "Q":
            return quoted_as_input(string)
        case "E":
            found = ansi_unquoted(string)
            return None if NOT_KNOWN in found or "\0" in found else found
        case "U" | "L" | "u" if string.isascii():
            return string.upper() if name == "U" else string.lower() if name == "L" else string[:1].upper() + string[1:]
    return None


def substring(
    expander: Expander, fields: Fields | None, several: bool, part: Parameter, scope: Scope, span: Span,
    is_scalar: bool = False,
) -> Fields | None:  # fmt: skip
    """The fields of `${X:a:b}`, `${A[@]:a:b}` or `${@:a:b}`; None where X is not set.

    `several`: X may have any number of fields; `is_scalar`: but is no array, so that it is cut like a text.
    """
    if fields is None or is_scalar and not fields:  # then the shell does not look at the numbers
        return fields
    bounds: list[int | None] = []
    for word in part.arguments:
        whole = text_of(fields[0]) if fields and not several else None
        if bounds and whole is not None and not -len(whole) <= (bounds[0] or 0) <= len(whole):
            break
        bounds.append(expander.number(word.start, word.end, scope)[0])
        written = scope.written(word) if whole is None else ""
        for name in re.findall(r"[A-Za-z_]\w*", written) if CHANGING.search(written) else ():
            widen_one(scope.state.target(name), span, scope)  # the shell may not have read it
    inputs = flattened(each for field in fields for each in expansions(field))
    unknown = scope.expanded(None, part.name, span, inputs, is_open=several)
    if any(bound is None for bound in bounds) or not bounds:
        return ((unknown,),)
    start, length = bounds[0] or 0, bounds[1] if len(bounds) > 1 else None
    if several and not is_scalar:
        if is_open(fields):
            return _open_slice(fields, part.name, start, length) or ((unknown,),)
        if length is not None and length < 0:
            expander.substituter.abandon(scope)
            return ((unknown,),)
        return _slice(fields, part.name, scope, start, length, (unknown.replace(open=False),))
    field = fields[0] if fields else ()
    text = text_of(field)
    if text is None or not text.isascii():
        if length is not None and length < 0:
            expander.substituter.abandon(scope)  # an error if the value is too short
        return ((unknown,),)
    low = start if start >= 0 else len(text) + start
    if low < 0 or low > len(text):
        return () if several else ((),)
    high = len(text) if length is None else (low + length if length >= 0 else len(text) + length)
    if high < low:
        expander.substituter.abandon(scope)
        return ((unknown,),)
    return (cut(field, low, min(high, len(text))),)


def _open_slice(fields: Fields, name: str, start: int, length: int | None) -> Fields | None:
    """A slice of fields with open ones among them; None if it reaches one of those."""
    known = 0
    while known < len(fields) and not is_open((fields[known],)):
        known += 1
    at = start - 1 if name in ("@", "*") else start
    if at < 0 or at > known:
        return None
    if length is None:
        return fields[at:]
    return fields[at : at + length] if length >= 0 and at + length <= known else None


def _slice(fields: Fields, name: str, scope: Scope, start: int, length: int | None, unknown: Pieces) -> Fields:
    """A slice of known fields; `unknown` stands for `$0`, or for the whole."""
    if name in ("@", "*"):
        # "$@" counts from 1; 0 is the name of the script
        everything = (unknown, *fields)
        at = start if start >= 0 else len(everything) + start
        if at < 0:
            return ()
        return everything[at:] if length is None else everything[at : at + length]
    found = scope.state.variables.get(name)
    keys = None
    if found is not None and len(found.alternatives) == 1:
        keys = found.alternatives[0].keys
    elif found is not None and any(each.keys is not None for each in found.alternatives):
        return ((unknown[0].replace(open=True),),)
    if found is not None and "A" in found.flags:
        return ((unknown[0].replace(open=True),),)
    subscripts = indices(fields, keys)
    at = start if start >= 0 else (subscripts[-1] if subscripts else -1) + 1 + start
    if at < 0:
        return ()
    chosen = tuple([field for subscript, field in zip(subscripts, fields, strict=True) if subscript >= at])
    return chosen if length is None else chosen[:length]
