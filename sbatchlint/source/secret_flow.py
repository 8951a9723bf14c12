"""Values that reach the name of a secret through variables, arrays, and the parameters of functions and of the script.

A variable whose value is given to the name of a secret is itself such a name: `P=abc; ./stage --password "$P"`.
"""

from bisect import bisect
from collections.abc import Callable, Iterator
from typing import NamedTuple

from sbatchlint.source.numbers import parse_integer
from sbatchlint.source.regex import Regex
from sbatchlint.source.secret_words import value_at

# What a name, an option or a header is given of a variable: `--password "$P"`, `API_KEY=${P:-abc}`, `X-Token: $P`.
_VARIABLE = (
    r"\\?\$\{?(?P<variable>[A-Za-z_]\w{0,80}|[1-9])(?:\[(?P<number>\d{1,2})\])?(?=[}'\"\s;|&),\\%#^]|:?[-=?]|\Z)"
)
_GIVEN = Regex(
    r"(?<![\w$.{-])(?P<written>-{0,2}[A-Za-z_][\w.-]{0,60})"
    rf"(?P<sign>['\"]?\]?(?:=|:[ \t]?)|[ \t]+)(?:(?i:bearer|basic|token)[ \t]+)?\\?['\"]?{_VARIABLE}"
    r"(?![^\s'\"]{0,3}/)"
)
_OF_USER = Regex(rf"://[^\s:/@'\"]{{0,80}}:{_VARIABLE.replace('|:?[', '|@|:?[')}\}}?@")
_OF_PROGRAM = Regex(
    r"\b(?:sshpass[ \t]+-p[ \t]*|mysql\w*[ \t][^\n;|&]{0,80}?-p|wandb[ \t]+login[ \t]+(?:--\w+[ \t]+)?"
    rf"|curl[ \t][^\n;|&]{{0,80}}?(?:-u|--user)[ \t=]*['\"]?[^\s:'\"$]{{1,80}}:)['\"]?{_VARIABLE}"
)
_READING = r"(?:-stdin\b|--with-token\b|\bsudo[ \t]+-\w{0,5}S\b|\bkinit\b|-passphrase-fd\b|[ \t]login\b)"
_TO_INPUT = (
    Regex(
        rf"\b(?:echo|printf)[ \t]+(?:-\w+[ \t]+|['\"]?%s\S{{0,4}}[ \t]+)?['\"]?{_VARIABLE}\}}?['\"]?[ \t]*"
        rf"\|[^\n|]{{0,80}}{_READING}"
    ),
    Regex(rf"{_READING}[^\n;|&<]{{0,80}}<<<[ \t]*['\"]?{_VARIABLE}"),
)
_REFERENCE = Regex(
    r"\$\{?(?P<variable>[A-Za-z_]\w{0,80}|[1-9@*])(?:\[(?P<number>\d{1,2})\])?(?::?[-=](?P<default>[^}\n]{0,200}))?\}?"
)
# Where variables get their values.
_SET = Regex(r"(?<![\w$.{/-])(?P<name>[A-Za-z_]\w{0,80})(?:\[(?P<number>\d{1,2})\])?\+?=(?=[^\s=~])")
_LOOP = Regex(r"\bfor[ \t]+(?P<name>[A-Za-z_]\w{0,80})[ \t]+in[ \t]+")
_HERE = r"(?:<<<[ \t]*['\"]?|<<-?[ \t]*['\"\\]?\w{1,40}['\"]?[ \t]*\r?\n[ \t]*)"
_READ = Regex(
    r"(?:\bIFS=(?P<quote>['\"]?)(?P<between>[:,;|/])(?P=quote)[ \t]+)?"
    r"\b(?:read(?:[ \t]+-[rs]{1,2})*(?P<array>[ \t]+-r?a)?|(?P<lines>mapfile|readarray)(?:[ \t]+-t)?)"
    r"(?P<names>(?:[ \t]+[A-Za-z_]\w{0,80}){1,9})[ \t]*"
    rf"(?:[;\n][^<]{{0,300}}?\bdone[ \t]*)?{_HERE}"
)
# A command whose output is a word of its own.
_ECHOED = Regex(
    r"['\"]?(?:\$\(|`)[ \t]*(?:(?:echo|printf)[ \t]+(?:-[neE]{1,3}[ \t]+|['\"]?%s(?:\\n)?['\"]?[ \t]+)?"
    r"|(?:cat|base64|rev|tr)\b[^\n<)`]{0,80}<<<[ \t]*)(?=\S)"
)
_PRINTED = Regex(r"\bprintf[ \t]+-v[ \t]+(?P<name>[A-Za-z_]\w{0,80})[ \t]+(?:'%[sbq]'|\"%[sbq]\"|%[sbq])?[ \t]*(?=\S)")
_DEFAULT = Regex(r"\$\{(?P<name>[A-Za-z_]\w{0,80}|[1-9]):?[-=](?=[^\s}$])")
_PARAMETERS = Regex(r"(?<![\w-])set[ \t]+--[ \t]+")
# Where a function begins, which may end on its line, and what may be its call.
_DEFINITION = Regex(
    r"(?:\bfunction[ \t]+(?P<name>[A-Za-z_][\w-]{0,80})(?:[ \t]*\([ \t]*\))?"
    r"|\b(?P<function>[A-Za-z_][\w-]{0,80})[ \t]*\([ \t]*\))\s{0,80}(?P<opening>[{(])(?!\()"
)
_LINE = {
    opening: Regex(rf"[^\n]{{0,1000}}\{closing}[ \t]*(?:;[ \t]*)?(?=[^\n}}]{{0,300}}(?:\n|\Z))")
    for opening, closing in ("{}", "()")
}
_BODY = 1000
_CALL = Regex(
    r"(?m)(?:^|[;&|{(])[ \t]*(?:(?:if|then|do|else|elif|while|until|time|!"
    r"|[A-Za-z_]\w{0,40}=[^\s'\"(]{0,80})[ \t]+){0,3}"
    r"(?P<function>[A-Za-z_][\w-]{0,80})(?=[ \t])"
)
_SHIFT = Regex(r"\bshift[ \t]*[;\n]")
_ALL = Regex(r"\$(?:[@*]|\{[@*]\}|\{(?P<array>[A-Za-z_]\w{0,80})\[[@*]\]\})")
_BLANKS = Regex(r"[ \t]*(?:\\\r?\n[ \t]*)?")
_WORDS = 9
_IN_WORDS = 40


class Given(NamedTuple):
    """A value, and the name of a secret that it reaches."""

    name: str
    value: str
    span: tuple[int, int]


def given_through_variables(string: str, name_of: Callable[[str], str | None]) -> Iterator[Given]:
    """The values that reach names of secrets, which `name_of` tells, through variables and parameters."""
    if "$" not in string:
        return
    scopes = _Functions(string)
    wanted: dict[str, str] = {}
    for match in _GIVEN.finditer(string):
        if match["sign"].isspace() and match["written"][:1] != "-":
            continue
        name = name_of(match["written"])
        name = "password" if match["written"].lower() == "authorization" else name
        if name is not None:
            wanted.setdefault(scopes.key(match["variable"], match["number"], match.start("variable")), name)
    for pattern in (_OF_USER, _OF_PROGRAM, *_TO_INPUT):
        for match in pattern.finditer(string):
            wanted.setdefault(scopes.key(match["variable"], match["number"], match.start("variable")), "password")
    if not wanted:
        return
    given: dict[str, list[tuple[str, tuple[int, int]]]] = {}
    for key, value, span in _bindings(string, scopes):
        given.setdefault(key, []).append((value, span))
    names = list(wanted)
    for key in names:  # grows by what these variables are set to
        for value, span in given.get(key, ()):
            reference = _REFERENCE.fullmatch(value)
            if reference is None:
                yield Given(wanted[key], value, span)
                continue
            other = scopes.key(reference["variable"], reference["number"], span[0])
            if other not in wanted:
                wanted[other] = wanted[key]
                names.append(other)


class _Functions:
    """The functions of a text: where each begins and ends."""

    def __init__(self, string: str) -> None:
        self.string = string
        self.names: set[str] = set()
        self.found: list[tuple[int, int, str]] = []
        for match in _DEFINITION.finditer(string):
            name = match["name"] or match["function"]
            line = _LINE[match["opening"]].match(string, match.end())
            end = (
                string.find("\n}" if match["opening"] == "{" else "\n)", match.end(), match.end() + _BODY)
                if line is None
                else line.end()
            )
            self.found.append((match.end(), match.end() + _BODY if end < 0 else end, name))
            self.names.add(name)

    def at(self, place: int) -> tuple[int, str]:
        """Where the function begins that a place is in, and its name; '' outside of all."""
        number = bisect(self.found, (place, 1 << 60, "")) - 1
        start, end, name = self.found[number] if number >= 0 else (0, 0, "")
        return (start, name) if place < end else (0, "")

    def key(self, variable: str, number: str | None, place: int) -> str:
        """What a reference at a place is known by: the parameters of each function are its own."""
        if variable in "@*123456789":
            start, function = self.at(place)
            if function and variable.isdigit():
                shifted = len(_SHIFT.findall(self.string, start, place))
                return f"{function} {parse_integer(variable) + shifted}"
            return f"{function} {variable}"
        return variable if number is None else f"{variable}[{number}]"


def _bindings(string: str, scopes: _Functions) -> Iterator[tuple[str, str, tuple[int, int]]]:
    """What variables, elements and parameters are set to, and where."""
    for match in _SET.finditer(string):
        if string[match.end() : match.end() + 1] == "(":
            for number, word in enumerate(_words(string, match.end() + 1, _IN_WORDS)):
                yield f"{match['name']}[{number}]", *word
            continue
        echoed = _ECHOED.match(string, match.end())
        value = value_at(string, match.end() if echoed is None else echoed.end())
        if value is not None:
            yield scopes.key(match["name"], match["number"], match.start()), *value
    for match in _LOOP.finditer(string):
        for word in _words(string, match.end(), _IN_WORDS):
            yield match["name"], *word
    for match in _READ.finditer(string) if "<<" in string else ():
        names = match["names"].split()
        words = _parted(_words(string, match.end(), _WORDS), match["between"])
        for number, word in enumerate(words):
            array = f"{names[0]}[{number}]"
            is_array = match["array"] or match["lines"]
            yield array if is_array else names[min(number, len(names) - 1)], *word
    for pattern in (_PRINTED, _DEFAULT):
        for match in pattern.finditer(string):
            printed = value_at(string, match.end())
            if printed is not None:
                yield scopes.key(match["name"], None, match.start()), *printed
    for match in _PARAMETERS.finditer(string):
        yield from _parameters(scopes.at(match.start())[1], string, match.end())
    for match in _CALL.finditer(string) if scopes.names else ():
        if match["function"] in scopes.names:
            yield from _parameters(match["function"], string, match.end())


def _parameters(function: str, string: str, at: int) -> Iterator[tuple[str, str, tuple[int, int]]]:
    """The parameters of a function, or of the script, from the words at a place."""
    for number, (text, span) in enumerate(_words(string, at, _WORDS), 1):
        every = _ALL.fullmatch(text)
        if every is None:
            yield f"{function} {number}", text, span
            continue
        for other in range(_WORDS + 1 - number):
            text = f"${other + 1}" if every["array"] is None else f"${{{every['array']}[{other}]}}"
            yield f"{function} {number + other}", text, span
        break


def _parted(words: Iterator[tuple[str, tuple[int, int]]], between: str | None) -> Iterator[tuple[str, tuple[int, int]]]:
    """Words, each in the parts between these characters."""
    for value, (start, end) in words:
        if between is None:
            yield value, (start, end)
            continue
        for part in value.split(between):
            yield part, (start, start + len(part))
            start += len(part) + 1


def _words(string: str, at: int, most: int) -> Iterator[tuple[str, tuple[int, int]]]:
    """The words that follow a place on its line."""
    for _ in range(most):
        blanks = _BLANKS.match(string, at)
        word = value_at(string, at if blanks is None else blanks.end())
        if word is None:
            return
        yield word
        at = word[1][1] + (string[word[1][1] : word[1][1] + 1] in ("'", '"'))
