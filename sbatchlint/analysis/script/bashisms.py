"""What dash does not understand, in scripts that ask for `sh`.

`/bin/sh` is dash on Debian and Ubuntu, and bash in its POSIX mode on Red Hat, SUSE and most others; dash is what such a
script must be ready for. Every construct here was run under dash 0.5.12 and under `bash --posix` 5.2.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from sbatchlint.bash.syntax.tree import (
    Arithmetic,
    ArithmeticCommand,
    ArithmeticFor,
    ArrayLiteral,
    Assignment,
    Background,
    Case,
    For,
    Function,
    Literal,
    Node,
    Parameter,
    Pipeline,
    ProcessSubstitution,
    Redirect,
    Simple,
    TestCommand,
    Word,
)
from sbatchlint.bash.syntax.walk import nodes
from sbatchlint.source.regex import Regex

if TYPE_CHECKING:
    from sbatchlint.job import Job

# dash stops at it; or it goes on, and does something else.
FATAL, WRONG = "error", "warning"


class Bashism(NamedTuple):
    """One place: what stands there (`[[ … ]]`), what dash makes of it, and whether that ends or bends the script.

    `start`, `end`: in the script's text. `severity`: `error` for what ends the script, and for a command that is missed
    where it asks for dash itself; `warning` for the rest.
    """

    start: int
    end: int
    what: str
    effect: str
    severity: str


NOT_FOUND = "not found"
SYNTAX = "a syntax error"
BAD_SUBSTITUTION = "a bad substitution, which ends the script"

_OPERATORS = {
    "^": "${X^}", "^^": "${X^^}", ",": "${X,}", ",,": "${X,,}", "/": "${X/…/…}", "//": "${X//…/…}", "/#": "${X/#…/…}",
    "/%": "${X/%…/…}", ":": "${X:…}", "@": "${X@…}", "indirect": "${!X}", "prefix": "${!X*}",
}  # fmt: skip
_UNKNOWN = (
    "builtin caller compgen complete coproc declare dirs disown enable let mapfile popd pushd readarray shopt suspend"
    " typeset"
)
_COMMANDS = frozenset(_UNKNOWN.split())
# Options that dash's own commands of these names refuse; whether the script ends by it.
_OPTIONS = {
    "export": (frozenset("fn"), True),
    "read": (frozenset("adeiNnstu"), False),
    "printf": (frozenset("v"), False),
    "wait": (frozenset("nfp"), False),
    "local": (frozenset("aAgiIlnrtux"), True),
    "exec": (frozenset("acl"), True),
    "jobs": (frozenset("nrsx"), False),
}
_REFUSED = "braceexpand errtrace functrace hashall histexpand history keyword onecmd physical posix"
_SET_NAMES = frozenset(_REFUSED.split())
_IDENTIFIER = Regex(r"[A-Za-z_]\w*")
_BRACES = Regex(r"\{(?:[^{}\x02\s,]*(?:,[^{}\x02\s,]*)+|-?\d+\.\.-?\d+(?:\.\.-?\d+)?|[A-Za-z]\.\.[A-Za-z])\}")
_ARITHMETIC = Regex(r"\+\+|--\s*[A-Za-z_]|\w\s*--|\*\*|(?<![\w{$#])\d+#\w")
# The ways to have bash after all.
_GUARDS = frozenset(("BASH", "BASH_VERSION", "BASH_VERSINFO"))


def find_bashisms(job: Job) -> list[Bashism]:
    """Every such place, in the order of the text; none where the script itself looks which shell it runs in."""
    return _Search(job).found


class _Search:
    def __init__(self, job: Job) -> None:
        self.string = job.text.string
        # `sh` is bash on many clusters, where all commands of bash are there; what ends a script is no risk to run.
        self.absent = FATAL if job.interpreter_line[0] == "dash" else WRONG
        self.found: list[Bashism] = []
        tree = list(nodes(job.program))
        functions = {node.name for node in tree if isinstance(node, Function)}
        commands = sorted((node for node in tree if isinstance(node, Simple)), key=lambda node: node.start)
        if any(isinstance(node, Parameter) and node.name in _GUARDS for node in tree):
            return
        if any(_names(command)[:2] in (["exec", "bash"], ["exec", "/bin/bash"]) for command in commands):
            return
        # What a file defines that is read, or the start files of a login shell.
        login = re.search(r"\s-\w*l|\s--login", self.string.partition("\n")[0]) is not None
        defined = login
        for command in commands:
            names = _names(command)
            if not names or names[0] in functions:
                continue
            self._command(command, names, defined)
            defined = defined or names[0] in (".", "source", "eval")
        for node in tree:
            for what, effect, severity in self._node(node):
                self._add(node, what, effect, severity)
        self.found.sort()

    def _add(self, node: Node, what: str, effect: str, severity: str) -> None:
        start, end = node.start, node.end  # type: ignore[attr-defined]
        newline = self.string.find("\n", start, end)
        self.found.append(Bashism(start, newline if newline > start else end, what, effect, severity))

    # --- commands ----------------------------------------------------------------------------

    def _command(self, command: Simple, names: list[str], defined: bool) -> None:
        first = command.words[0]
        name, words = names[0], names[1:]
        if name == "source":
            self._add(first, "source", NOT_FOUND, self.absent)
        elif name in ("module", "ml") and not defined:
            self._add(command, name, f"{NOT_FOUND}, as it is a function of bash", self.absent)
        elif name == "conda" and words[:1] in (["activate"], ["deactivate"]) and not defined:
            self._add(command, f"conda {words[0]}", "not set up, as it needs a function of bash", self.absent)
        elif name in _COMMANDS:
            self._add(first, name, NOT_FOUND, WRONG)
        elif name in ("[", "test"):
            for word, text in zip(command.words, names, strict=True):
                if text in ("==", "-v"):
                    self._add(word, f"{text} in a test", "an unexpected operator, so that the test fails", WRONG)
        elif name == "set":
            self._set(command, names)
        elif name == "trap":
            for word, text in list(zip(command.words, names, strict=True))[2:]:
                if text in ("ERR", "DEBUG", "RETURN") or text.startswith("SIG"):
                    self._add(word, f"trap … {text}", "a bad trap, which is not set", WRONG)
        elif name == "kill" and words and words[0].startswith("-SIG"):
            self._add(command.words[1], f"kill {words[0]}", "an illegal option", WRONG)
        elif name in _OPTIONS:
            letters, ends = _OPTIONS[name]
            for word, text in zip(command.words[1:], words, strict=True):
                if text[:1] != "-" or len(text) < 2:
                    break
                if letters & set(text[1:]):
                    self._add(word, f"{name} {text}", "an illegal option", FATAL if ends else WRONG)
                    break
                if name == "read" and text == "-p":
                    break
            for directive in ("%q", "%("):
                if name == "printf" and words and directive in words[0].replace("%%", ""):
                    self._add(command.words[1], f"printf {directive}", "an invalid directive", WRONG)
        for word in command.words:
            if isinstance(word, Word):
                self._braces(word)

    def _set(self, command: Simple, names: list[str]) -> None:
        for index, text in enumerate(names[1:-1], 1):
            if not re.fullmatch(r"[-+]\w*o", text):
                continue
            option, word = names[index + 1], command.words[index + 1]
            if option == "pipefail" and not self._tried(command):
                self._add(word, "set -o pipefail", "an illegal option, which ends the script", WRONG)
            elif option in _SET_NAMES:
                self._add(word, f"set -o {option}", "an illegal option, which ends the script", FATAL)

    def _tried(self, command: Simple) -> bool:
        """Whether a subshell tries the option first: `(set -o pipefail) 2>/dev/null && set -o pipefail`."""
        return re.search(r"\(\s*set\s+-\w*o\s+pipefail\b[^()]*\)", self.string) is not None

    def _braces(self, word: Word) -> None:
        shape = "".join(_shape(part, self.string) for part in word.parts)
        if "{" in shape and _BRACES.search(shape):
            self._add(word, "braces", "left as they stand", WRONG)

    # --- everything else ---------------------------------------------------------------------

    def _node(self, node: Node) -> Iterator[tuple[str, str, str]]:
        string = self.string
        if isinstance(node, TestCommand):
            yield "[[ … ]]", NOT_FOUND, self.absent
        elif isinstance(node, ArrayLiteral):
            yield "an array", SYNTAX, FATAL
        elif isinstance(node, Assignment):
            if node.index is not None:
                yield "an array", NOT_FOUND, self.absent
            elif node.append and not isinstance(node.value, ArrayLiteral):
                yield f"{node.name}+=", NOT_FOUND, WRONG
        elif isinstance(node, Parameter):
            if node.index is not None:
                yield "an array", BAD_SUBSTITUTION, FATAL
            elif node.operator in _OPERATORS:
                yield _OPERATORS[node.operator], BAD_SUBSTITUTION, FATAL
        elif isinstance(node, ProcessSubstitution):
            yield f"{node.direction}( … )" if node.direction in "<>" else "<( … )", SYNTAX, FATAL
        elif isinstance(node, Function):
            if re.match(r"function\s", string[node.start : node.start + 9]):
                yield "function", SYNTAX, FATAL
            elif not _IDENTIFIER.fullmatch(node.name):
                yield f"the name {node.name} of a function", SYNTAX, FATAL
        elif isinstance(node, Redirect):
            yield from _redirect(node)
        elif isinstance(node, Pipeline):
            for left, right in zip(node.commands, node.commands[1:], strict=False):
                if string[left.end : right.start].lstrip(" \t").startswith("|&"):
                    yield "|&", SYNTAX, FATAL
        elif isinstance(node, ArithmeticCommand):
            yield "(( … ))", "two subshells", WRONG
        elif isinstance(node, ArithmeticFor):
            yield "for (( … ))", SYNTAX, FATAL
        elif isinstance(node, For):
            if string.startswith("select", node.start):
                yield "select", SYNTAX, FATAL
            for word in node.words or ():
                self._braces(word)
        elif isinstance(node, Case):
            if any(terminator in (";&", ";;&") for _, _, terminator in node.items):
                yield ";&", SYNTAX, FATAL
        elif isinstance(node, Background):
            if string.startswith("coproc", node.start):
                yield "coproc", NOT_FOUND, WRONG
        elif isinstance(node, Arithmetic):
            if string.startswith("$[", node.start):
                yield "$[ … ]", "left as it stands", WRONG
            else:
                operator = _ARITHMETIC.search(string[node.expression_start : node.expression_end])
                if operator is not None:
                    yield f"{operator.group()} in arithmetic", "no arithmetic, which ends the script", FATAL
        elif isinstance(node, Literal) and node.quoted and string[max(node.start - 2, 0) : node.start] == "$'":
            yield "$'…'", "a text that begins with $", WRONG


def _redirect(node: Redirect) -> Iterator[tuple[str, str, str]]:
    if node.operator in ("&>", "&>>"):
        yield node.operator, "read as `&`: the command runs in the background", FATAL
    elif node.operator == "<<<":
        yield "<<<", SYNTAX, FATAL
    elif node.fd is not None and node.fd.startswith("{"):
        yield f"{node.fd}{node.operator}", "a word of the command", FATAL
    elif node.operator == ">&" and node.fd is None and node.target is not None:
        name = _plain(node.target)
        if name and name != "-" and not name.isdigit():
            yield ">& FILE", SYNTAX, FATAL


def _plain(word: Word | Assignment) -> str:
    """The text of a word without expansions; a mark that is no text where it has some."""
    if isinstance(word, Assignment):
        return "\0"
    return "".join(part.text if isinstance(part, Literal) else "\0" for part in word.parts)


def _names(command: Simple) -> list[str]:
    return [_plain(word) for word in command.words]


def _shape(part: object, string: str) -> str:
    """Unquoted text as it is, what is quoted or escaped as \\x02, what is expanded as \\x01."""
    if not isinstance(part, Literal):
        return "\x01"
    if part.quoted or len(part.text) != part.end - part.start:
        return "\x02"
    return part.text
