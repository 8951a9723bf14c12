"""What two other parsers say: bash itself (`bash -n`) of a script, and bashlex of one simple command at a time."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from typing import Any

import bashlex

from sbatchlint.bash.syntax import tree as syntax
from sbatchlint.bash.syntax.tree import ArrayLiteral, Assignment, Literal, Simple, Word


def bash_accepts(script: str) -> bool:
    """Whether bash reads the script to its end; an error inside `[[ ]]` leaves its exit code at 0."""
    data = script.encode("utf-8", "surrogateescape")
    done = subprocess.run(["bash", "-n"], input=data, capture_output=True, check=False, timeout=300)
    refusals = (b"syntax error", b"unexpected", b"expected")
    return done.returncode == 0 and not any(each in done.stderr for each in refusals)


def nodes(node: object) -> Iterator[Any]:
    """Every node below one, itself first; bodies of heredocs included."""
    if isinstance(node, syntax.Node):
        yield node
    if isinstance(node, syntax.Node | tuple):
        for var in node if isinstance(node, tuple) else vars(node).values():
            yield from nodes(var)


def shown(word: Word | ArrayLiteral | None, text: str) -> str:
    """A word after quote removal, with its expansions as they are written, which is how bashlex gives it."""
    if word is None:
        return ""
    if isinstance(word, ArrayLiteral):
        return text[word.start : word.end]
    return "".join(
        [
            part.text if isinstance(part, Literal) else text[part.start : part.end].replace("\\\n", "")
            for part in word.parts
        ]
    )


def _expansions(word: Word | ArrayLiteral | None, base: int, text: str) -> list[tuple[str, int, int]]:
    """Expansions with their ranges, counted as bashlex does: without the joined lines of the word before them."""
    kinds = {"Parameter": "parameter", "CommandSubstitution": "command", "ProcessSubstitution": "process"}
    if not isinstance(word, Word):
        return []
    found = []
    for part in word.parts:
        kind = kinds.get(type(part).__name__)
        if kind:
            before = 2 * text.count("\\\n", word.start, part.start) + base
            inside = 2 * text.count("\\\n", part.start, part.end)
            found.append((kind, part.start - before, part.end - before - inside))
    return found


class Reading:
    """What a parser found in a simple command, in a form that can be compared."""

    def __init__(self) -> None:
        self.words: list[str] = []
        self.redirects: list[tuple[str, str | None, str]] = []
        self.expansions: list[tuple[str, int, int]] = []

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Reading) and vars(self) == vars(other)

    def __repr__(self) -> str:
        return repr(vars(self))


def agree(ours: Reading, theirs: Reading, command: str) -> bool:
    """Whether both read the same, but for known faults of bashlex 0.18.

    It ends `${A:-${B}}` at the first brace and lists what is inside as expansions of the word; in double quotes that
    hold a backslash its quote removal drops apostrophes and the backslashes that stay.
    """
    if ours == theirs:
        return True
    kept: list[tuple[str, int, int]] = []
    for kind, start, end in theirs.expansions:
        outer = next((each for each in ours.expansions if each[1] <= start < each[2]), None)
        if outer is None:
            kept.append((kind, start, end))
        elif outer[1] == start:
            nested = kind == "parameter" and command.startswith("${", start)
            kept.append((kind, start, outer[2] if nested else end))
    if ours.expansions != kept:
        return False
    if '"' not in command or "\\" not in command:
        return ours.words == theirs.words and ours.redirects == theirs.redirects
    removed = str.maketrans("", "", "\\'")
    return [each.translate(removed) for each in ours.words] == [each.translate(removed) for each in theirs.words] and [
        (kind, fd, target.translate(removed)) for kind, fd, target in ours.redirects
    ] == [(kind, fd, target.translate(removed)) for kind, fd, target in theirs.redirects]


def ours(simple: Simple, text: str) -> Reading:
    reading = Reading()
    for word in sorted((*simple.assignments, *simple.words), key=lambda word: word.start):
        if isinstance(word, Assignment):
            equals = word.value.start if word.value else word.end
            reading.words.append(text[word.start : equals] + shown(word.value, text))
            reading.expansions += _expansions(word.value, simple.start, text)
        else:
            reading.words.append(shown(word, text))
            reading.expansions += _expansions(word, simple.start, text)
    for redirect in simple.redirects:
        if redirect.heredoc:
            reading.redirects.append((redirect.operator, redirect.fd, redirect.heredoc.delimiter))
        else:
            reading.redirects.append((redirect.operator, redirect.fd, shown(redirect.target, text)))
            reading.expansions += _expansions(redirect.target, simple.start, text)
    reading.expansions.sort(key=lambda each: each[1:])
    return reading


def command_text(simple: Simple, text: str) -> str:
    """The text of one command, with its heredocs."""
    lines = [text[simple.start : simple.end]]
    for redirect in simple.redirects:
        if redirect.heredoc:
            body = redirect.heredoc.body
            lines.append(text[body.start : body.end] + redirect.heredoc.delimiter + "\n")
    return lines[0] if len(lines) == 1 else lines[0] + "\n" + "".join(lines[1:])


# Faults of bashlex 0.18: it expands inside the apostrophes of an assignment, it loses count of quotes within `${…"…"}`,
# it takes `$|` for a parameter, and a substitution that ends in a blank for one character shorter.
_misread = re.compile(r"""(?:^|\s)\w+\+?=[^\s"]*'[^']*[$"]|\$\{[^}]*"|\$\||\$\([^()]*\s\)""").search


def theirs(command: str) -> Reading | None:
    """What bashlex reads; None where it cannot parse the command, takes it for another kind, or is known to misread."""
    if _misread(command):
        return None
    try:
        trees = bashlex.parse(command)
    except Exception:
        # It raises AttributeError, AssertionError and others on valid text, not only ParsingError.
        return None
    if len(trees) != 1 or trees[0].kind != "command":
        return None
    reading = Reading()
    for part in trees[0].parts:
        if part.kind in ("word", "assignment"):
            reading.words.append(part.word)
            reading.expansions += _their_expansions(part)
        elif part.kind == "redirect":
            fd = None if part.input is None else str(part.input)
            output = part.output
            if hasattr(output, "word"):
                reading.redirects.append((part.type, fd, output.word))
                if not part.type.startswith("<<") or part.type == "<<<":
                    reading.expansions += _their_expansions(output)
            else:
                reading.redirects.append((part.type, fd, str(output)))
        else:
            return None
    reading.expansions.sort(key=lambda each: each[1:])
    return reading


def _their_expansions(word: Any) -> list[tuple[str, int, int]]:
    kinds = {"parameter": "parameter", "commandsubstitution": "command", "processsubstitution": "process"}
    return [(kinds[part.kind], *part.pos) for part in word.parts if part.kind in kinds]
