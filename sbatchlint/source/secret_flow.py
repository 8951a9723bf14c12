"""Where variables, arrays, and the parameters of functions and of the script get their values, as a text writes it.

What is told here is what the text says beside each name, without evaluation: it is there for any text, and of any part.
"""

import re
from bisect import bisect, bisect_left
from collections.abc import Iterator
from itertools import accumulate
from typing import NamedTuple

from sbatchlint.source.numbers import parse_integer
from sbatchlint.source.regex import Regex
from sbatchlint.source.secret_words import value_at

# A variable, an element or a parameter, with what its braces say besides.
REFERENCE = Regex(
    r"\\{0,3}\$(?:(?P<bare>[A-Za-z_]\w{0,80}|[1-9@*])"
    r"|\{(?P<indirect>!)?(?P<braced>[A-Za-z_]\w{0,80}|[1-9@*])(?:\[(?P<number>[^\]\n]{1,40})\])?"
    r"(?P<rest>(?:[^{}\n]|\$\{[^{}\n]{0,80}\}){0,200})\}"
    r"|\([ \t]*(?P<function>[A-Za-z_][\w-]{0,80})(?:[ \t][^()\n]{0,200})?\))"
)
# Where variables get their values.
_SET = Regex(r"(?<![\w$.{/-])(?P<name>[A-Za-z_]\w{0,80})(?:\[(?P<number>[\w.-]{1,40})\])?(?P<more>\+)?=(?=[^\s=~])")
_LOOP = Regex(
    r"\b(?:for|select)[ \t]+(?P<name>[A-Za-z_]\w{0,80})(?:[ \t]+in[ \t]+|(?P<every>[ \t]*[;\n]?[ \t]*\bdo\b))"
)
_NAMEREF = Regex(
    r"\b(?:declare|local|typeset)[ \t]+-\w{0,4}n\w{0,4}[ \t]+(?P<name>[A-Za-z_]\w{0,80})=['\"]?"
    r"(?P<target>[A-Za-z_]\w{0,80}|\$\{?[1-9])"
)
_OPTIONS = Regex(r"\bgetopts[ \t]")
_HERE = (
    r"(?:<<<[ \t]*['\"]?|<[ \t]+<\([ \t]*(?:echo|printf)[ \t]+(?:-[neE]{1,3}[ \t]+|['\"]?%s(?:\\n)?['\"]?[ \t]+)?['\"]?"
    r"|<<-?[ \t]*['\"\\]?\w{1,40}['\"]?[ \t]*\r?\n[ \t]*)"
)
_READ = Regex(
    r"(?:\bIFS=(?P<quote>['\"]?)(?P<between>[:,;|/])(?P=quote)[ \t]+)?"
    r"\b(?:read(?:[ \t]+-[rs]{1,2})*(?P<array>[ \t]+-r?a)?|(?P<lines>mapfile|readarray)(?:[ \t]+-t)?)"
    r"(?P<names>(?:[ \t]+[A-Za-z_]\w{0,80}){1,9})[ \t]*"
    rf"(?:[;\n](?:[^<]|<<<){{0,300}}?\bdone[ \t]*)?{_HERE}"
)
_HERE_OF_READ = Regex(r"<<-?[ \t]*['\"\\]?(?P<end>\w{1,40})['\"]?[ \t]*\r?\n[ \t]*\Z")
# A command whose last word is its output.
_PRINTING = Regex(r"(?<![\w|-])(?:echo|printf)[ \t]+(?:-[neE]{1,3}[ \t]+|['\"]?%s(?:\\n)?['\"]?[ \t]+)?(?=\S)")
# A command whose output is a word of its own.
ECHOED = Regex(
    r"['\"]?(?:\$\(|`)[ \t]*(?:(?:echo|printf)[ \t]+(?:-[neE]{1,3}[ \t]+|['\"]?%s(?:\\n)?['\"]?[ \t]+)?"
    r"|(?:cat|base64|rev|tr)\b[^\n<)`]{0,80}<<<[ \t]*|cat[ \t]*<<-?[ \t]*['\"]?\w{1,40}['\"]?[ \t]*\r?\n[ \t]*)(?=\S)"
)
# A name that a variable has, where it is set.
_SET_OF = Regex(
    r"(?:\bprintf[ \t]+-v[ \t]+|(?<=['\" \t]))['\"]?\$\{?(?P<name>[A-Za-z_]\w{0,80})\}?"
    r"(?:['\"]?[ \t]+(?:'%[sbq]'|\"%[sbq]\"|%[sbq])[ \t]+|=)(?=[^\s=~])"
)
# What reads the words that are printed, and a program with its parameters.
_READ_OF_PIPE = Regex(
    r"['\"]?[ \t]*\|[ \t]*(?:while[ \t]+)?[({]?[ \t]*(?:IFS=\S{0,8}[ \t]+)?read(?:[ \t]+-[rs]{1,2})*"
    r"(?P<names>(?:[ \t]+[A-Za-z_]\w{0,80}){1,9})"
)
_PROGRAM = Regex(
    r"\b(?:ba|da|z|k)?sh[ \t]+(?:-s[ \t]+(?:--[ \t]+)?|-\w{0,3}c[ \t]+"
    r"(?:'[^']{0,1000}'|\"(?:\\[\s\S]|[^\"\\]){0,1000}\")[ \t]+[^\s;|&<>]{1,80}[ \t]+)(?=\S)"
)
_PRINTED = Regex(r"\bprintf[ \t]+-v[ \t]+(?P<name>[A-Za-z_]\w{0,80})[ \t]+(?:'%[sbq]'|\"%[sbq]\"|%[sbq])?[ \t]*(?=\S)")
_DEFAULT = Regex(r"\$\{(?P<name>[A-Za-z_]\w{0,80}|[1-9]):?[-=](?=[^\s}])")
_PARAMETERS = Regex(r"(?<![\w-])set[ \t]+--[ \t]+")
# Where a function begins, and what may be its call.
_DEFINITION = Regex(
    r"(?:\bfunction[ \t]+(?P<name>[A-Za-z_][\w-]{0,80})(?:[ \t]*\([ \t]*\))?"
    r"|\b(?P<function>[A-Za-z_][\w-]{0,80})[ \t]*\([ \t]*\))\s{0,80}(?P<opening>[{(])(?!\()"
)
_BRACES = {"{": Regex(r"[{}]"), "(": Regex(r"[()]")}
_BODY = 4000
_CALL = Regex(
    r"(?m)(?:^|[;&|{('\"])[ \t]*(?:(?:if|then|do|else|elif|while|until|time|!"
    r"|[A-Za-z_]\w{0,40}=[^\s'\"(]{0,80})[ \t]+){0,3}"
    r"(?P<function>[A-Za-z_][\w-]{0,80})(?=[ \t])"
)
_SHIFT = Regex(r"\bshift(?:[ \t]+(?P<by>[1-9]))?[ \t]*(?=[;&|})\n])")
_LOOPING = Regex(r"\b(?:while|until|for)\b")
_BLANKS = Regex(r"[ \t]*(?:\\\r?\n[ \t]*)?")
_LINES = Regex(r"(?:\s|\\\r?\n|#[^\n]*\n){0,200}")
# A word of a command, and one that is wholly in quotes.
_WORD = Regex(
    r"(?:[^\s'\"`;|&<>()\\$]|\\[^\n]|\$\{[^}\n]{0,200}\}|\$\([^)\n]{0,200}\)|\$\$|\$[^\s'\"`;|&<>()\\${]"
    r"|`[^`\n]{0,200}`|\$?'[^'\n]{0,1000}'|\$?\"(?:\\[^\n]|[^\"\\\n]){0,1000}\"){1,4000}"
)
_QUOTED = Regex(r"\$?(?:'(?P<single>[^'\n]*)'|\"(?P<double>(?:\\[^\n]|[^\"\\\n])*)\")")
_KEYED = Regex(r"\[['\"]?(?P<key>[\w.-]{1,40})['\"]?\]=(?=[^\s=])")
_IDENTIFIER = Regex(r"[A-Za-z_]\w{0,80}")
_WORDS = 9
_IN_WORDS = 40
_LONGEST = 1000
QUOTES = "'\""


class Value(NamedTuple):
    """What something is set to, and where it stands."""

    text: str
    span: tuple[int, int]


class Flow:
    """What the variables of a text are set to, by their keys (see `keys`)."""

    def __init__(self, string: str) -> None:
        self.string = string
        self.scopes = _Functions(string)
        self.values: dict[str, list[Value]] = {}
        # the words of an array, or of a call, together
        self.together: dict[str, list[list[Value]]] = {}
        self.elements: dict[str, list[str]] = {}
        self._of_arrays: dict[str, list[Value]] = {}
        for key, value in self._bindings():
            if key not in self.values and key.endswith("]"):
                self.elements.setdefault(key.partition("[")[0], []).append(key)
            self.values.setdefault(key, []).append(value)
        for name, elements in self.elements.items():
            self.together.setdefault(f"{name}[@]", []).append([self.values[each][0] for each in elements[:_IN_WORDS]])
        for match in _SET_OF.finditer(string) if "$" in string else ():
            given = value_at(string, match.end())
            for each in self.values.get(match["name"], [])[:_WORDS] if given is not None else ():
                if given is not None and _IDENTIFIER.fullmatch(each.text) is not None:
                    self.values.setdefault(each.text, []).append(Value(*given))
        for match in _NAMEREF.finditer(string):
            self._alias(match["name"], match["target"], match.start())

    def _alias(self, name: str, target: str, at: int) -> None:
        """Takes a variable for another name of a second one."""
        given = self.values.get(self.scopes.key(target[-1], at), []) if target[0] == "$" else [Value(target, (at, at))]
        for each in given[:_WORDS]:
            if _IDENTIFIER.fullmatch(each.text) is not None and each.text != name:
                self.values.setdefault(name, []).append(Value(f"${each.text}", (at, at)))
                self.values.setdefault(each.text, []).append(Value(f"${name}", (at, at)))

    def keys(self, reference: re.Match[str], place: int) -> list[str]:
        """What a reference at a place is known by: the parameters of each function are its own."""
        if reference["function"]:
            return [f"{reference['function']}()"]
        name, number = reference["bare"] or reference["braced"], reference["number"]
        if reference["indirect"]:
            named = [each.text for each in self.values.get(name, ())]
            return [each for each in named[:_WORDS] if _IDENTIFIER.fullmatch(each) is not None]
        if name in "@*123456789":
            return [self.scopes.key(name, place)]
        if number is None:
            return [name]
        element = f"{name}[{number.strip(QUOTES)}]"
        return [element if element in self.values else f"{name}[@]"]

    def of_key(self, key: str) -> list[Value]:
        """The values of a key; those of all elements for all of an array."""
        if key.endswith("[@]"):
            if key not in self._of_arrays:
                names = self.elements.get(key[:-3], ())
                self._of_arrays[key] = [each for element in names for each in self.values[element]]
            return self._of_arrays[key]
        if key.endswith(" @"):
            return [each for number in range(1, _WORDS + 1) for each in self.values.get(f"{key[:-1]}{number}", ())]
        return self.values.get(key) or self.values.get(f"{key}[0]", [])

    def is_known(self, key: str) -> bool:
        """Whether something is known of what a key is set to."""
        return (
            key in self.values
            or f"{key}[0]" in self.values
            or key[:-3] in self.elements
            or key[-1:] == "@"
            and f"{key[:-1]}1" in self.values
        )

    def _bindings(self) -> Iterator[tuple[str, Value]]:
        """What variables, elements and parameters are set to, and where."""
        string, scopes = self.string, self.scopes
        for match in _SET.finditer(string):
            name, after = match["name"], match.end()
            if string[after : after + 1] == "(":
                first = len(self.elements.get(name, ())) if match["more"] else 0
                words = list(_words(string, after + 1, _IN_WORDS, _LINES))
                self.together.setdefault(f"{name}[@]", []).append(words)
                for number, word in enumerate(words, first):
                    keyed = _KEYED.match(word.text)
                    if keyed is None:
                        yield f"{name}[{number}]", word
                    else:
                        value = value_at(string, word.span[0] + keyed.end())
                        yield f"{name}[{keyed['key']}]", word if value is None else Value(*value)
                continue
            echoed = ECHOED.match(string, after)
            value = value_at(string, after if echoed is None else echoed.end())
            if value is not None:
                yield f"{name}[{match['number']}]" if match["number"] else name, Value(*value)
        for match in _LOOP.finditer(string):
            if match["every"]:
                yield match["name"], Value("$@", match.span("name"))
                continue
            for word in _words(string, match.end(), _IN_WORDS):
                yield match["name"], word
        for match in _READ.finditer(string) if "<" in string else ():
            names = match["names"].split()
            for words in _parted(string, match):
                for number, word in enumerate(words):
                    array = f"{names[0]}[{number}]"
                    is_array = match["array"] or match["lines"]
                    yield array if is_array else names[min(number, len(names) - 1)], word
        for pattern in (_PRINTED, _DEFAULT):
            for match in pattern.finditer(string):
                printed = value_at(string, match.end())
                if printed is not None:
                    yield scopes.key(match["name"], match.start()), Value(*printed)
        for match in _OPTIONS.finditer(string):
            yield "OPTARG", Value("$@", match.span())
        for match in _PARAMETERS.finditer(string):
            yield from self._parameters(scopes.at(match.start())[1], match.end())
        for match in _CALL.finditer(string) if scopes.names else ():
            if match["function"] in scopes.names:
                yield from self._parameters(match["function"], match.end())
        for match in _PRINTING.finditer(string):
            function = scopes.at(match.start())[1]
            words = list(_words(string, match.end(), _WORDS))
            for word in words[:1] if function else ():
                yield f"{function}()", word
            read = _READ_OF_PIPE.match(string, words[-1].span[1]) if words else None
            for name, word in zip(read["names"].split(), _split(words, " "), strict=False) if read is not None else ():
                yield name, word
        for match in _PROGRAM.finditer(string):
            yield from self._parameters(scopes.at(match.start())[1], match.end())
        for start, function in scopes.shifting():
            for number in range(1, _WORDS):
                yield f"{function} {number}", Value(f"${number + 1}", (start, start))

    def _parameters(self, function: str, at: int) -> Iterator[tuple[str, Value]]:
        """The parameters of a function, or of the script, from the words at a place."""
        words = list(_words(self.string, at, _WORDS))
        self.together.setdefault(f"{function} @", []).append(words)
        for number, word in enumerate(words, 1):
            every = REFERENCE.fullmatch(word.text)
            array = None if every is None else every["number"] or every["bare"] or every["braced"]
            if every is None or array not in ("@", "*"):
                yield f"{function} {number}", word
                continue
            for other in range(_WORDS + 1 - number):
                text = f"${other + 1}" if every["number"] is None else f"${{{every['braced']}[{other}]}}"
                yield f"{function} {number + other}", Value(text, word.span)
            break


class _Functions:
    """The functions of a text: where each begins and ends."""

    def __init__(self, string: str) -> None:
        self.names: set[str] = set()
        # where another function begins or ends, the one that is there from then on
        self.starts: list[int] = [0]
        self.found: list[tuple[int, str]] = [(0, "")]
        open_ones: list[tuple[int, int, str]] = []
        for match in _DEFINITION.finditer(string):
            name = match["name"] or match["function"]
            self._end(open_ones, match.end())
            end = _end_of_body(string, match.end(), match["opening"])
            open_ones.append((min(end, open_ones[-1][0]) if open_ones else end, match.end(), name))
            self._begin(match.end(), match.end(), name)
            self.names.add(name)
        self._end(open_ones, len(string))
        shifts = [match for match in _SHIFT.finditer(string) if "shift" in string]
        self.shifts = [match.start() for match in shifts]
        self.shifted = [0, *accumulate(parse_integer(match["by"] or "1") for match in shifts)]
        self.sets = [match.end() for match in _PARAMETERS.finditer(string)]
        self.loops = [match.start() for match in _LOOPING.finditer(string)] if shifts else []

    def _begin(self, at: int, start: int, name: str) -> None:
        self.starts.append(at)
        self.found.append((start, name))

    def _end(self, open_ones: list[tuple[int, int, str]], at: int) -> None:
        while open_ones and open_ones[-1][0] <= at:
            end = open_ones.pop()[0]
            self._begin(end, *(open_ones[-1][1:] if open_ones else (0, "")))

    def at(self, place: int) -> tuple[int, str]:
        """Where the function begins that a place is in, and its name; '' outside of all."""
        return self.found[bisect(self.starts, place) - 1]

    def key(self, variable: str, place: int) -> str:
        """What a reference at a place is known by: the parameters of each function are its own."""
        if variable not in "@*123456789":
            return variable
        start, function = self.at(place)
        if not variable.isdigit():
            return f"{function} @"
        if not function and self.sets:  # of the script, those since its parameters were set
            start = self.sets[max(bisect(self.sets, place) - 1, 0)]
        shifted = self.shifted[bisect_left(self.shifts, place)] - self.shifted[bisect_left(self.shifts, start)]
        return f"{function} {parse_integer(variable) + max(shifted, 0)}"

    def shifting(self) -> Iterator[tuple[int, str]]:
        """The functions that take their parameters one after the other: where each begins, and its name."""
        last = {self.at(each): each for each in self.shifts}
        for (start, function), shift in last.items():
            if bisect_left(self.loops, start) < bisect_left(self.loops, shift):
                yield start, function


def _end_of_body(string: str, at: int, opening: str) -> int:
    """Where the body of a function ends that begins after a brace."""
    depth = 1
    for match in _BRACES[opening].finditer(string, at, at + _BODY):
        depth += 1 if match[0] == opening else -1
        if depth == 0:
            return match.start()
    end = string.find("\n}" if opening == "{" else "\n)", at, at + _BODY)
    return min(at + _BODY, len(string)) if end < 0 else end


def _parted(string: str, match: re.Match[str]) -> Iterator[list[Value]]:
    """The words that a `read` gets of each line, by what is between them."""
    start, quote = match.end(), string[match.end() - 1]
    between = match["between"] or " "
    heredoc = _HERE_OF_READ.search(match[0])
    if heredoc is not None:
        for _ in range(_IN_WORDS):
            end = string.find("\n", start, start + _LONGEST)
            line = string[start:end].strip()
            if end < 0 or line == heredoc["end"]:
                return
            yield list(_split([Value(string[start:end], (start, end))], between))
            start = end + 1
        return
    if quote in QUOTES:
        end = string.find(quote, start, start + _LONGEST)
        words = [Value(string[start:end], (start, end))] if end >= 0 else []
    else:
        words = list(_words(string, start, _WORDS))
    yield list(_split(words, between))


def _split(words: list[Value], between: str) -> Iterator[Value]:
    """The parts of words."""
    for text, (at, _) in words:
        for part in text.split(between):
            if part:
                yield Value(part, (at, at + len(part)))
            at += len(part) + 1


def words_of_format(string: str, at: int) -> list[Value]:
    """The words that a format is given."""
    return list(_words(string, at, _WORDS))


def _words(string: str, at: int, most: int, between: Regex = _BLANKS) -> Iterator[Value]:
    """The words that follow a place on its line."""
    for _ in range(most):
        blanks = between.match(string, at)
        word = _WORD.match(string, at if blanks is None else blanks.end())
        if word is None:
            return
        quoted = _QUOTED.fullmatch(word[0])
        group = "single" if quoted is not None and quoted["single"] is not None else "double"
        start = word.start() + (0 if quoted is None else quoted.start(group))
        text = word[0] if quoted is None else quoted[group]
        yield Value(text, (start, start + len(text)))
        at = word.end()
