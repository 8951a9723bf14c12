"""Builds the argv of a command from a line, as the evaluator would give it."""

from __future__ import annotations

import re

from sbatchlint.bash.trace import Spawn
from sbatchlint.bash.values import Expansion, Phase, Piece, Pieces, literal
from sbatchlint.job.commands.wrappers import unwrap
from sbatchlint.job.containers import Container
from sbatchlint.source.text import Span

_WORD = re.compile(r'(?:"[^"]*"|\$\([^)]*\)|\S)+')
_UNKNOWN = re.compile(r"\$\{?(\w+|@)(?:\[@\])?\}?|\$\(([^)]*)\)")


def field(text: str, start: int = 0, *, quoted: bool = False) -> Pieces:
    """One word: `$NAME`, `${NAME[@]}`, `$@` and `$(…)` are unknown pieces, open where they are not `quoted`.

    `$@` and arrays are open even in quotes, as they are for a shell.
    """
    pieces: list[Piece] = []
    at = 0
    for found in _UNKNOWN.finditer(text):
        if found.start() > at:
            pieces.append(literal(text[at : found.start()], start + at))
        name = found.group(1) or f"$({found.group(2)})"
        span = Span(start + found.start(), start + found.end())
        several = name == "@" or "[@]" in found.group(0)
        pieces.append(Piece(None, *span, Expansion(name, span, Phase.BATCH), several or not quoted))
        at = found.end()
    if at < len(text) or not pieces:
        pieces.append(literal(text[at:], start + at))
    return tuple(pieces)


def argv(line: str) -> list[Pieces]:
    """The fields of a line; double quotes keep a word together, and an unknown in them is one word."""
    fields: list[Pieces] = []
    for found in _WORD.finditer(line):
        word = found.group(0)
        if '"' not in word:
            fields.append(field(word, found.start()))
            continue
        pieces: list[Piece] = []
        at = found.start()
        for number, part in enumerate(word.split('"')):
            if part:
                pieces.extend(field(part, at, quoted=number % 2 == 1))
            at += len(part) + 1
        fields.append(tuple(pieces))
    return fields


def exported(**values: str):  # type: ignore[no-untyped-def]
    """A lookup of exported variables."""
    return lambda name: field(values[name]) if name in values else None


def started(words: list[Pieces], spawn: Spawn) -> list[Pieces]:
    """The argv of the command that another one starts; empty where there is none."""
    return [] if spawn.command is None else [*spawn.prefix, *words[spawn.command :]]


def unwrapped(line: str) -> tuple[list[Pieces], list[Spawn], Container | None]:
    """A command without any of its wrappers, these from the outermost inwards, and the innermost container."""
    words = argv(line)
    wrappers: list[Spawn] = []
    while words and (found := unwrap(words, exported())) is not None:
        wrappers.append(found)
        words = started(words, found)
    containers = [each.info for each in wrappers if isinstance(each.info, Container)]
    return words, wrappers, containers[-1] if containers else None
