"""Names and values of options, in `#SBATCH` lines and after srun, sbatch and salloc; names of Slurm's variables."""

import re
from collections.abc import Iterator
from typing import NamedTuple

from lsprotocol import types

from sbatchlint.report.json import clean
from sbatchlint.server.positions import Positions
from sbatchlint.site import Site
from sbatchlint.slurm.environment import variables
from sbatchlint.slurm.notes import notes, options_of, text_of, words_of
from sbatchlint.slurm.options import Option
from sbatchlint.slurm.versions import MAJORS, Range
from sbatchlint.source.text import Span

TRIGGERS = ("-", "=", "$", "{", ",")
_DIRECTIVE = re.compile(r"[ \t]*#SBATCH[ \t]+(?P<words>.*)\Z")
_COMMAND = re.compile(r"(?:^|[\s;&|(`])(?P<command>srun|sbatch|salloc)[ \t]+(?P<words>[^;&|()`]*)\Z")
_VARIABLE = re.compile(r"\$\{?(?P<name>S?(?:L?(?:U?(?:R?(?:M\w*)?)?)?)?)\Z")
_LISTS = ("mail-type", "enum-list", "bind-list", "env-list", "rlimit-list")


class _Typed(NamedTuple):
    """What is being typed: the options of a command, and the words before the cursor."""

    command: str
    words: str


def completions(text: str, offset: int, positions: Positions, site: Site) -> list[types.CompletionItem]:
    """The items for a place. Of the script it looks at no more than the line and those that it continues."""
    before = _before(text, offset)
    variable = _VARIABLE.search(before)
    if variable is not None:
        return list(_variables(variable["name"], offset, positions))
    typed = _typed(before)
    if typed is None:
        return []
    word = re.split(r"[ \t\n]", typed.words)[-1]
    known = options_of(typed.command, Range(*site.slurm_versions).majors)
    name, equals, value = word.partition("=")
    if word.startswith("-") and not equals:
        return list(_names(word, known, typed, offset, positions))
    if equals and name.startswith("--"):
        option = known.get(name[2:])
        return [] if option is None else list(_values(option, value, offset, positions, site))
    return []


def _before(text: str, offset: int) -> str:
    """The text of the line up to the cursor, with the lines that it continues."""
    start = text.rfind("\n", 0, offset) + 1
    while start > 1 and text[:start].rstrip("\r\n").endswith("\\") and offset - start < 4000:
        start = text.rfind("\n", 0, start - 1) + 1
    return text[start:offset].replace("\\\r\n", "  ").replace("\\\n", "  ")


def _typed(before: str) -> _Typed | None:
    directive = _DIRECTIVE.match(before)
    if directive is not None:
        return None if re.search(r"(?:^|\s)#", directive["words"]) else _Typed("sbatch", directive["words"])
    if before.lstrip().startswith("#"):
        return None
    command = _COMMAND.search(before)
    if command is None:
        return None
    *words, _ = re.split(r"[ \t\n]+", command["words"])
    takes_value = False
    for word in filter(None, words):
        if not word.startswith("-") and not takes_value:
            return None  # the program begins
        takes_value = word.startswith("-") and "=" not in word
    return _Typed(command["command"], command["words"])


def _names(
    word: str, known: dict[str, Option], typed: _Typed, offset: int, positions: Positions
) -> Iterator[types.CompletionItem]:
    begin = word.lstrip("-")
    if word.startswith("-") and not word.startswith("--") and begin:
        return
    place = positions.range(Span(offset - len(word), offset))
    for name, option in known.items():
        if option.alias_of is not None or not name.startswith(begin):
            continue
        argument = option.argument(option_release(option, typed.command))
        note = notes(typed.command).get(name)
        yield types.CompletionItem(
            f"--{name}",
            kind=types.CompletionItemKind.Property,
            detail=option.plugin or (note.meaning if note is not None else None),
            documentation=types.MarkupContent(types.MarkupKind.Markdown, text_of(option, typed.command)),
            sort_text=("0" if note is not None else "1") + name,
            filter_text=f"--{name}",
            text_edit=types.TextEdit(place, f"--{name}" + ("=" if argument == "required" else "")),
        )


def option_release(option: Option, command: str) -> str:
    """The newest release in which a command has an option."""
    return max(option.commands.get(command, frozenset()), default=MAJORS[-1])


def _values(
    option: Option, value: str, offset: int, positions: Positions, site: Site
) -> Iterator[types.CompletionItem]:
    typed = value.rpartition(",")[2] if option.kind in _LISTS else value
    words = words_of(option)
    if option.canonical == "partition":
        words = list(site.gpu_partitions)
    place = positions.range(Span(offset - len(typed), offset))
    for word in words:
        if word.lower().startswith(typed.lower()):
            yield types.CompletionItem(
                clean(word), kind=types.CompletionItemKind.EnumMember, filter_text=word,
                text_edit=types.TextEdit(place, word),
            )  # fmt: skip


def _variables(typed: str, offset: int, positions: Positions) -> Iterator[types.CompletionItem]:
    place = positions.range(Span(offset - len(typed), offset))
    for name, entry in variables().items():
        if name.startswith("SLURM") and name.startswith(typed):
            varies = f"another value for each {entry.varies}" if entry.varies else None
            yield types.CompletionItem(
                name, kind=types.CompletionItemKind.Variable, detail=varies, text_edit=types.TextEdit(place, name)
            )
