"""`read`, `mapfile` and `getopts`: variables set from standard input, or from the arguments."""

from sbatchlint.bash.expansion.assignment import set_fields, set_variable, widen_all, widen_one
from sbatchlint.bash.expansion.field_splitting import WHITESPACE, separators_of
from sbatchlint.bash.expansion.protocol import Scope
from sbatchlint.bash.interpreter.base import Interpreter
from sbatchlint.bash.state import NAME, State
from sbatchlint.bash.trace import Invocation
from sbatchlint.bash.values import UNKNOWN_CHARACTER, Expansion, Piece, Pieces, cut, maybe_empty, shown_text, text_of
from sbatchlint.bash.variables import PARTLY_READONLY
from sbatchlint.source.regex import Regex
from sbatchlint.source.text import Span

WITH_VALUE = "dinNptu"


# What bash expands in the subscript of a name.
_EXPANDED = Regex(r"[$`'\"\\]")


class ReadOptions:
    """The options and names of a `read`. `unclear`: some of them are unknown, or not supported."""

    def __init__(self, invocation: Invocation) -> None:
        self.names: list[str] = []
        self.raw = self.unclear = self.unnamed = False
        self.array: str | None = None
        self.delimiter = "\n"
        self.count: int | None = None
        argv = invocation.argv
        at = 1
        while at < len(argv):
            word = text_of(argv[at])
            at += 1
            if word is None:
                self.unclear = self.unnamed = True
                continue
            if not word.startswith("-") or word == "-" or self.names:
                self.names.append(word)
                continue
            if word == "--":
                self.names += [text_of(field) or "" for field in argv[at:]]
                break
            at = self._option(word, argv, at)
        if self.array is not None:  # all other names are ignored
            self.names = [self.array]

    def _option(self, word: str, argv: tuple[Pieces, ...], at: int) -> int:
        for number, letter in enumerate(word[1:], 2):
            if letter == "r":
                self.raw = True
            elif letter in WITH_VALUE + "a":
                rest: str | None = word[number:]
                if not rest:
                    rest = text_of(argv[at]) if at < len(argv) else None
                    at += 1
                if letter == "d" and rest is not None:
                    self.delimiter = rest[:1]
                elif letter == "a":
                    self.array = rest or ""
                elif letter not in "pt":
                    self.unclear = True
                return at
            elif letter not in "se":
                self.unclear = True
        return at


def read(interpreter: Interpreter, invocation: Invocation, scope: Scope) -> State | None:
    """Runs `read` on a heredoc, a here-string, or the rest of the loop's standard input."""
    state = scope.state
    options = ReadOptions(invocation)
    span = invocation.span
    own = invocation.stdin is not None
    stdin = invocation.stdin.field if invocation.stdin is not None else state.stdin
    if not own and any(each.operator in ("<", "<&", "<>") for each in invocation.redirects):
        stdin, own = None, True
    text = None if stdin is None else text_of(stdin)
    separators = separators_of(state)
    names = options.names or ["REPLY"]
    if options.unnamed:
        widen_all(interpreter.expander, span, scope)
    state.status = None
    if not all(NAME.fullmatch(name.partition("[")[0]) for name in names):
        state.doubtful = True
        return state
    if text is None or stdin is None or options.unclear or separators is None or "\0" in text:
        if not own:
            state.stdin = None
        if (
            stdin is not None
            and options.delimiter == ""
            and len(names) == 1
            and not options.array
            and not options.unclear
        ):
            if not options.raw and "\\" in shown_text(stdin):
                separators = None
            _read_whole(interpreter, names[0], stdin, separators, scope, span)
            return state
        unknown = scope.unknown("$(read)", span, is_open=options.array is not None)
        if options.array:
            set_fields(scope, names[0], (unknown,), span)
        else:
            _set_names(interpreter, names, [unknown] * len(names), scope, span)
        return state
    line, taken, found = _line(text, options)
    if not own:
        state.stdin = cut(stdin, taken, len(text))
    pieces = _unescaped(stdin, line, options.raw, span, scope)
    state.status = 0 if found else 1
    shown = "".join([each for each, _ in line])
    protected = [escaped for _, escaped in line]
    if options.array:
        fields = _split(shown, protected, separators, None)
        set_fields(scope, names[0], tuple([cut(pieces, *each) for each in fields]), span)
        return state
    if not options.names:
        _set_names(interpreter, names, [pieces], scope, span)
        return state
    ranges = _split(shown, protected, separators, len(names))
    values = [cut(pieces, *ranges[number]) if number < len(ranges) else () for number in range(len(names))]
    _set_names(interpreter, names, values, scope, span)
    return state


def _set_names(interpreter: Interpreter, names: list[str], values: list[Pieces], scope: Scope, span: Span) -> None:
    """Sets the variables of `read`, which fails at the first one that is read-only, and leaves those behind it."""
    state = scope.state
    may_have_failed = False
    for name, value in zip(names, values, strict=True):
        variable = state.target(name.partition("[")[0])
        found = state.variables.get(variable)
        flags = "" if found is None else found.flags
        if "r" in flags:
            state.status = None if may_have_failed else 1
            return
        if may_have_failed:
            widen_one(variable, span, scope, is_unset=True)
            continue
        set_named(interpreter, name, value, scope, span)
        if PARTLY_READONLY in flags:
            may_have_failed, state.status = True, None


def _line(text: str, options: ReadOptions) -> tuple[list[tuple[str, bool]], int, bool]:
    """The characters of a line, each with whether it was escaped; the index after it; whether a delimiter ended it."""
    out: list[tuple[str, bool]] = []
    at = 0
    while at < len(text):
        character = text[at]
        if character == "\\" and not options.raw:
            if at + 1 < len(text) and text[at + 1] != "\n":
                out.append((text[at + 1], True))
            at += 2
            continue
        at += 1
        if options.delimiter and character == options.delimiter:
            return out, at, True
        out.append((character, False))
    return out, min(at, len(text)), False


def _unescaped(stdin: Pieces, line: list[tuple[str, bool]], raw: bool, span: Span, scope: Scope) -> Pieces:
    text = "".join([each for each, _ in line])
    if raw or not any(escaped for _, escaped in line) and text_of(cut(stdin, 0, len(text))) == text:
        return cut(stdin, 0, len(text))
    return (scope.expanded(text, "$(read)", span),)


def _split(text: str, protected: list[bool], separators: str, most: int | None) -> list[tuple[int, int]]:
    """The ranges of the words of a line; the last of `most` takes the rest."""
    whitespace = [each for each in separators if each in WHITESPACE]
    size = len(text)

    def is_whitespace(at: int) -> bool:
        return text[at] in whitespace and not protected[at]

    def separates(at: int) -> bool:
        return text[at] in separators and not protected[at]

    def after_delimiter(at: int) -> int:
        """The index after one delimiter: whitespace, at most one other separator, whitespace."""
        while at < size and is_whitespace(at):
            at += 1
        if at < size and separates(at):
            at += 1
            while at < size and is_whitespace(at):
                at += 1
        return at

    out: list[tuple[int, int]] = []
    at = 0
    while at < size and is_whitespace(at):
        at += 1
    while at < size:
        start = at
        if most is not None and len(out) == most - 1:
            end = size
            while end > start and is_whitespace(end - 1):
                end -= 1
            # one word and one delimiter: the delimiter is dropped
            stop = start
            while stop < size and not separates(stop):
                stop += 1
            if stop < size and after_delimiter(stop) == size:
                end = stop
            out.append((start, end))
            break
        while at < size and not separates(at):
            at += 1
        out.append((start, at))
        at = after_delimiter(at)
    return out


def _read_whole(
    interpreter: Interpreter, name: str, stdin: Pieces, separators: str | None, scope: Scope, span: Span
) -> None:
    """Sets the variable of `read -d ''` to a text with unknown parts, without the whitespace around it."""
    if separators is None:
        pieces = scope.unknown("$(read)", span)
    else:
        whitespace = "".join([each for each in separators if each in WHITESPACE])
        string = shown_text(stdin)
        known = [at for at, character in enumerate(string) if character not in (*whitespace, UNKNOWN_CHARACTER)]
        first, last = (known[0], known[-1] + 1) if known else (0, 0)
        # What is unknown at an edge may be empty, so that `read` removes the whitespace beside it, too.
        before, after = cut(stdin, 0, first), cut(stdin, last, len(string))
        unknown = [[piece for piece in edge if piece.text is None] for edge in (before, after)]
        pieces = maybe_empty((*unknown[0], *cut(stdin, first, last), *unknown[1]))
    set_named(interpreter, name, pieces, scope, span)


def set_named(interpreter: Interpreter, name: str, value: Pieces | None, scope: Scope, span: Span) -> None:
    """Sets `NAME` or `NAME[i]`; None: to an unknown value."""
    variable, bracket, rest = name.partition("[")
    if not NAME.fullmatch(variable):
        scope.state.doubtful = True
        return
    index: int | str | None = None
    old = scope.state.variables.get(scope.state.target(variable))
    if bracket:
        index = "" if _EXPANDED.search(rest) else rest[:-1]  # `read 'M[$X]'`
        if old is None or "A" not in old.flags:
            number = interpreter.expander.integer_of(rest[:-1], scope)
            index = "" if number is None else number
    value = scope.unknown(variable, span) if value is None else value
    set_variable(interpreter.expander, variable, value, scope, span, index)


def mapfile(interpreter: Interpreter, invocation: Invocation, scope: Scope) -> State | None:
    """Runs `mapfile -t A` on a heredoc or here-string; other input is an unknown number of unknown fields."""
    words = [text_of(field) for field in invocation.argv[1:]]
    at = 0
    while at < len(words) and (words[at] or "").startswith("-") and words[at] != "--":
        at += 2 if (words[at] or "")[-1] in "dnOsuCc" else 1
    at += words[at : at + 1] == ["--"]
    name = (words[at] or "MAPFILE") if at < len(words) else "MAPFILE"
    span = invocation.span
    stdin = invocation.stdin.field if invocation.stdin is not None else None
    text = None if stdin is None else text_of(stdin)
    scope.state.status = None
    if not NAME.fullmatch(name):
        scope.state.doubtful = True
        return scope.state
    if at < len(words) and words[at] is None:
        widen_all(interpreter.expander, span, scope)
    if text is not None and stdin is not None and words[:at] in ([], ["-t"]):
        keep = "-t" not in words
        fields: list[Pieces] = []
        at = 0
        while at < len(text):
            end = text.find("\n", at)
            end = len(text) if end < 0 else end
            fields.append(cut(stdin, at, min(end + keep, len(text))))
            at = end + 1
        set_fields(scope, name, tuple(fields), span)
        scope.state.status = 0
        return scope.state
    expansion = Expansion("$(mapfile)", span, scope.context.phase)
    for redirect in invocation.redirects:
        for piece in redirect.target or ():
            if piece.expansion is not None and piece.expansion.name.startswith("<("):
                inside = " ".join(piece.expansion.name[2:-1].split())
                expansion = piece.expansion._replace(name=f"$({inside})")
    if invocation.stdin is None:
        scope.state.stdin = None
    piece = Piece(None, *span, expansion, open=True)
    set_fields(scope, name, ((piece,),), span)
    return scope.state


def getopts(interpreter: Interpreter, invocation: Invocation, scope: Scope) -> State | None:
    """Runs `getopts`, which sets its variable, OPTARG and OPTIND to unknown values."""
    scope.state.status = None
    if len(invocation.argv) > 2:
        for name in (text_of(invocation.argv[2]), "OPTARG", "OPTIND"):
            if name is None:
                widen_all(interpreter.expander, invocation.span, scope)
            elif name:
                set_named(interpreter, name, None, scope, invocation.span)
    return scope.state
