"""Batch scripts in the cells of a Jupyter notebook.

A cell is a script of a shell (`%%bash`), a file (`%%writefile job.sh`), a job (`%%sbatch`), or a part of one Python
program, all of whose cells are read together; `!sbatch …` in it is a command. In commands, IPython fills in `{…}` and
`$…`. A finding names cell and line, as the lines of the file are those of JSON.
"""

import json
from bisect import bisect_right
from collections.abc import Iterator
from typing import NamedTuple

from sbatchlint.source.documents.blocks import concerns_slurm, is_piece
from sbatchlint.source.documents.literals import Characters, filled_in, lines_of, string_of
from sbatchlint.source.documents.python import Script, programs_scripts
from sbatchlint.source.documents.snippet import Character, Snippet, Unreadable
from sbatchlint.source.numbers import parse_integer
from sbatchlint.source.regex import Regex
from sbatchlint.source.text import Source, Span

MOST_CHARACTERS = 8_000_000
_TOKEN = Regex(r'"(?:[^"\\]|\\.)*"|[{}\[\],:]|[^\s{}\[\],:"]+')
_ESCAPE = Regex(r"\\(?:u([0-9a-fA-F]{4})|(.))")
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f"}
_SHELL_CELL = Regex(r"\s*%%(?:bash|sh|shell|script\s+(?:\S*/)?(?:ba|z|k)?sh\b|sbash)[^\n]*\n")
_FILE_CELL = Regex(r"\s*%%(?:writefile|file)((?:\s+-\S+)*)\s+[\"']?([^\n\"']*?)[\"']?[ \t]*\n")
_JOB_CELL = Regex(r"\s*%%sbatch\b([^\n]*)\n")
_OTHER_CELL = Regex(r"\s*%%(?!time\b|timeit\b|capture\b|prun\b)\w")
_SCRIPT_NAME = Regex(r"(?i).*\.(?:sbatch|slurm|slrm|job|batch|sh|bash|sub|cmd)\Z|[^.]*\Z")
# A line that IPython reads itself: of a shell, and others. With slurm-magic, `%sbatch` and `srun -n 2` are commands.
_COMMAND_LINE = Regex(
    r"[ \t]*(?:(?:[\w.,\[\] ]+=[ \t]*)?(?:!!?|%(?:sx|system)[ \t]+|%(?=(?:sbatch|srun|salloc)\b))(?=[^\n=])"
    r"|(?=(?:sbatch|srun|salloc)[ \t]+-))"
)
_MAGIC_LINE = Regex(r"[ \t]*(?:[\w.,\[\] ]+=[ \t]*)?%\w|[ \t]*\?|[^\n#'\"]*\w\?{1,2}[ \t]*\n")
_FILLED_IN = Regex(r"\$?\{[^{}\n]*\}|\$\w+")
_SLURM = Regex(r"\b(?:sbatch|srun|salloc)\b")


class _Cell(NamedTuple):
    """A cell of code: its number among all cells, from 1, and its characters."""

    number: int
    characters: Characters


class Cells:
    """Where the lines of cells stand in the file."""

    def __init__(self, cells: list[_Cell]) -> None:
        self._lines: list[tuple[int, str]] = []
        for cell in cells:
            for number, line in enumerate(lines_of(cell.characters), 1):
                if line:
                    self._lines.append((line[0].span.start, f"{number} of cell {cell.number}"))
        self._starts = [start for start, _ in self._lines]

    def row(self, place: int) -> str:
        """The line at a place of the file: `3 of cell 7`."""
        number = bisect_right(self._starts, place) - 1
        return self._lines[number][1] if number >= 0 else ""


def scripts_in_notebook(source: Source) -> list[Snippet]:
    """The scripts and commands in a notebook, in their order. Raises `Unreadable`."""
    if len(source.text) > MOST_CHARACTERS:
        raise Unreadable("it is too large")
    try:
        notebook = json.loads(source.text)
    except (ValueError, RecursionError) as error:
        raise Unreadable(f"it is not JSON: {error}") from None
    if not isinstance(notebook, dict) or not isinstance(notebook.get("cells"), list):
        raise Unreadable("it is not a notebook of format 4")
    cells = list(_cells(source, notebook["cells"]))
    language = _language(notebook)
    found: list[Script] = []
    of_python: list[Characters] = []
    for cell in cells:
        text = string_of(cell.characters)
        shell, file, job = _SHELL_CELL.match(text), _FILE_CELL.match(text), _JOB_CELL.match(text)
        if shell is not None or language == "bash" and not text.lstrip().startswith("%"):
            found += _of_shell(cell.characters[shell.end() if shell is not None else 0 :])
        elif file is not None:
            body = cell.characters[file.end() :]
            if _SCRIPT_NAME.match(file[2]) or string_of(body).startswith("#!"):
                found += _of_shell(body, is_part="-a" in file[1])
            elif file[2].endswith(".py"):
                found += _of_python([body])
        elif job is not None:
            found += _of_shell(cell.characters[job.end() :], is_part=bool(job[1].strip()))
        elif language == "python" and _OTHER_CELL.match(text) is None:
            commands, rest = _without_magic(cell.characters)
            found += commands
            of_python.append(rest)
    found += _of_python(of_python)
    places = Cells(cells)
    found.sort(key=lambda each: each.characters[0].span)
    return [each.in_document(source, places.row) for each in found]


def _language(notebook: dict[str, object]) -> str:
    """The language of the kernel, in lower case; Python where none is named."""
    metadata = notebook.get("metadata")
    for name, key in (("kernelspec", "language"), ("language_info", "name"), ("kernelspec", "name")):
        value = metadata.get(name) if isinstance(metadata, dict) else None
        language = value.get(key) if isinstance(value, dict) else None
        if isinstance(language, str) and language:
            return "python" if "python" in language.lower() else language.lower()
    return "python"


def _cells(source: Source, cells: list[object]) -> Iterator[_Cell]:
    """The cells of code that have anything of Slurm, or Python, with the places of their characters."""
    written = _sources(source.text)
    for number, cell in enumerate(cells, 1):
        spans = written.get(number - 1, [])
        if isinstance(cell, dict) and cell.get("cell_type") == "code":
            characters = [each for span in spans for each in _characters(source.text, span)]
            expected = cell.get("source", "")
            if string_of(characters) == (expected if isinstance(expected, str) else "".join(map(str, expected))):
                yield _Cell(number, characters)


def _sources(text: str) -> dict[int, list[Span]]:
    """Where the strings of the source of each cell stand, with their quotes."""
    found: dict[int, list[Span]] = {}
    path: list[str | int] = []  # of the value that comes next: keys, and numbers of list items
    opened: list[str] = []
    is_key = False
    for token in _TOKEN.finditer(text):
        kind = token.group()
        if kind in "{[":
            opened.append(kind)
            path.append("" if kind == "{" else 0)
            is_key = kind == "{"
        elif kind in "}]":
            opened.pop()
            path.pop()
            is_key = False
        elif kind == ",":
            last = path[-1]
            if isinstance(last, int):
                path[-1] = last + 1
            is_key = opened[-1] == "{"
        elif kind == ":":
            is_key = False
        elif is_key:
            path[-1] = kind[1:-1]
        elif kind[0] == '"' and len(path) in (3, 4) and path[0] == "cells" and path[2] == "source":
            cell = path[1]
            if isinstance(cell, int):
                found.setdefault(cell, []).append(Span(*token.span()))
    return found


def _characters(text: str, span: Span) -> Characters:
    """The characters of a string of JSON."""
    found: Characters = []
    at, end = span.start + 1, span.end - 1
    while at < end:
        if text[at] != "\\":
            found.append(Character(text[at], Span(at, at + 1)))
            at += 1
            continue
        escape = _ESCAPE.match(text, at, end)
        assert escape is not None  # the file is JSON
        after = escape.end()
        if escape[1] is None:
            character = _ESCAPES.get(escape[2], escape[2])
        else:
            character = chr(parse_integer(escape[1], 16))
            second = _ESCAPE.match(text, after, end)
            if "\ud800" <= character < "\udc00" and second is not None and second[1] is not None:
                pair = character + chr(parse_integer(second[1], 16))
                character = pair.encode("utf-16", "surrogatepass").decode("utf-16")
                after = second.end()
        found.append(Character(character, Span(at, after)))
        at = after
    return found


def _of_shell(characters: Characters, is_part: bool = False) -> Iterator[Script]:
    text = string_of(characters)
    if characters and concerns_slurm(text):
        yield Script(characters, is_part or is_piece(text), '"\\')


def _of_python(cells: list[Characters]) -> list[Script]:
    """The scripts of a program, whose cells are read as one, or each by itself where that cannot be parsed."""
    together: Characters = []
    for cell in cells:
        together += cell
        if cell:
            together.append(Character("\n", cell[-1].span, False))
    if _SLURM.search(string_of(together)) is None and "#SBATCH" not in string_of(together):
        return []
    try:
        scripts = programs_scripts(Source(string_of(together), "cells.py"))
    except Unreadable:
        if len(cells) == 1:
            return []
        return [script for cell in cells for script in _of_python([cell])]
    return [Script([_placed(each, together) for each in script.characters], *script[1:]) for script in scripts]


def _placed(character: Character, cells: Characters) -> Character:
    """A character of the program, with its place in the file."""
    start, end = character.span
    if not cells:
        return character
    first = cells[min(start, len(cells) - 1)].span.start
    last = cells[max(end - 1, start, 0)].span.end if end > start else first
    is_written = character.is_written and all(cells[at].is_written for at in range(start, end))
    return Character(character.string, Span(first, max(first, last)), is_written)


def _without_magic(characters: Characters) -> tuple[list[Script], Characters]:
    """The commands of a cell, and its Python, in which they are expressions without meaning."""
    commands: list[Script] = []
    rest: Characters = []
    lines = iter(lines_of(characters))
    for line in lines:
        text = string_of(line)
        command = _COMMAND_LINE.match(text)
        if command is None and _MAGIC_LINE.match(text) is None:
            rest += line
            continue
        whole = line
        while string_of(whole).rstrip("\n").endswith("\\"):
            whole = whole + next(lines, [])
            if not string_of(whole).endswith("\n"):
                break
        indentation = len(text) - len(text.lstrip(" \t"))
        rest += whole[:indentation]
        for number, each in enumerate(whole[indentation:]):
            rest.append(
                each if each.string == "\n" and each is whole[-1] else each._replace(string="#" if number else "0")
            )
        if command is not None and _SLURM.search(string_of(whole)) is not None:
            filled = filled_in(whole[command.end() :], _FILLED_IN, lambda _: None)
            commands.append(Script(filled, True, '"\\{}$'))
    return commands, rest
