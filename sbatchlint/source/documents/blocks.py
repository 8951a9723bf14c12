"""What of a document's block of code is a script, and what a piece of one.

A block that begins with `#!` and has commands is a script. Anything else with a directive or a command of Slurm is a
piece: what is not in it may stand elsewhere. So is one in which something is left out (`...`).
"""

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from sbatchlint.source.documents.snippet import Snippet
from sbatchlint.source.regex import Regex
from sbatchlint.source.text import SLOT, Source, Span


class Block(NamedTuple):
    """A block of code: its language as the document names it, and where the text of each of its lines is."""

    language: str
    lines: Sequence[Span]


SHELLS = frozenset(("bash", "sh", "shell", "zsh", "slurm", "sbatch", "shellscript", "batch"))
_CONSOLES = frozenset(("console", "shell-session", "shellsession", "sh-session", "bash-session", "terminal"))
_TEXTS = frozenset(("", "text", "txt", "plain", "plaintext", "none", "default", "output"))

_LANGUAGE = re.compile(r"(?:^|[\s{.])([A-Za-z][\w+-]*)(?![\w+-]|\s*=)")
_QUOTED = re.compile(r"\"[^\"]*\"|'[^']*'")
_DIRECTIVE = re.compile(r"^#SBATCH\b", re.MULTILINE)
_COMMAND = re.compile(r"\b(?:sbatch|srun|salloc)\b")
_HEAD = re.compile(r"(?:[ \t]*(?:#[^\n]*)?\n)*")
# Something is left out: `...`, `# ...`, `[...]`, `<...>`, also with a word after it.
_ELISION = re.compile(r"^[ \t]*(?:#+[ \t]*|#SBATCH[ \t]+)?[\[(<{]*[ \t]*(?:\.{3,}|…|\. \. \.)", re.MULTILINE)
# What a shell prints before a command: `$ `, `[ada@login ~]$ `, `(base) ada@login:~> `.
_PROMPT = re.compile(
    r"[ \t]*(?:\([\w.-]+\)[ ]?)?(?:(?:\[[^\]\n]{1,60}\]|[\w.-]+@[\w.-]+(?:[: ][^\s$#%>]*)?)[ ]?[$#%>]|\$)[ \t]+"
)
_CONTINUED = re.compile(r"[ \t]*>[ \t]")
_HEREDOC = re.compile(r"<<-?[ \t]*[\\'\"]?(\w+)")

# Where a command begins.
_UNKNOWN_COMMAND = Regex(rf"(?:^|[;&|(`]|\b(?:then|do|else)\s)[ \t]*{SLOT}", re.MULTILINE)
_DIRECTIVE_LINE = Regex(r"^[ \t]*#SBATCH\b(.*)", re.MULTILINE)


def language_of(label: str) -> str:
    """The language that a label names, however it is written: `bash`, `{.bash .copy}`, `{code-block} bash`."""
    words = [word.lower() for word in _LANGUAGE.findall(_QUOTED.sub("", label))]
    return next((word for word in words if word not in ("code-block", "code", "sourcecode", "code-cell")), "")


def snippets_of(source: Source, block: Block) -> Iterator[Snippet]:
    """The scripts and the pieces of scripts in a block."""
    lines = _without_blank_ends(block.lines)
    if not lines:
        return
    text = source.text
    first = text[lines[0].start : lines[0].end]
    language = block.language
    if first.startswith("#!"):
        yield from _script(source, lines)
    elif language in _CONSOLES or any(
        _PROMPT.match(text, line.start, line.end) and language in SHELLS | _TEXTS for line in lines
    ):
        yield from _session(source, lines)
    elif language in SHELLS or language in _TEXTS and any(text.startswith("#SBATCH", line.start) for line in lines):
        yield from _script(source, lines)


def _without_blank_ends(lines: Sequence[Span]) -> Sequence[Span]:
    low, high = 0, len(lines)
    while low < high and lines[low].start == lines[low].end:
        low += 1
    while low < high and lines[high - 1].start == lines[high - 1].end:
        high -= 1
    return lines[low:high]


def concerns_slurm(text: str) -> bool:
    """Whether a text has a directive, or a command of Slurm."""
    return _DIRECTIVE.search(text) is not None or _COMMAND.search(text) is not None


def is_piece(text: str) -> bool:
    """Whether a text is only a part of a script: without its first line or any command, or something is left out."""
    head = _HEAD.match(text if text.endswith("\n") else text + "\n")
    only_head = head is not None and head.end() >= len(text)
    return only_head or not text.startswith("#!") or _ELISION.search(text) is not None


def may_hold_lines(text: str) -> bool:
    """Whether what is filled in may be commands or directives, and not only words of some."""
    return SLOT in text and (_UNKNOWN_COMMAND.search(text) is not None or _has_unknown_options(text))


def _has_unknown_options(text: str) -> bool:
    for line in _DIRECTIVE_LINE.findall(text):
        before = "="
        for word in line.split():
            if word.startswith(SLOT) and (before[0] != "-" or "=" in before):
                return True
            before = word
    return False


def _script(source: Source, lines: Sequence[Span]) -> Iterator[Snippet]:
    text = "\n".join(source.text[line.start : line.end] for line in lines)
    if concerns_slurm(text):
        yield Snippet(source, lines, is_fragment=is_piece(text))


def _session(source: Source, lines: Sequence[Span]) -> Iterator[Snippet]:
    """The commands that somebody typed, as one piece, and scripts that a command printed."""
    text = source.text
    typed: list[Span] = []
    printed: list[Span] = []
    continued, delimiter = False, ""
    for line in lines:
        prompt = None if continued or delimiter else _PROMPT.match(text, line.start, line.end)
        if continued or delimiter:
            secondary = _CONTINUED.match(text, line.start, line.end)
            line = Span(secondary.end() if secondary is not None else line.start, line.end)
        elif prompt is not None:
            yield from _printed(source, printed)
            printed = []
            line = Span(prompt.end(), line.end)
        else:
            printed.append(line)
            continue
        typed.append(line)
        written = text[line.start : line.end]
        if delimiter:
            delimiter = "" if written.strip() == delimiter else delimiter
            continue
        continued = written.endswith("\\")
        heredoc = _HEREDOC.search(written)
        delimiter = heredoc[1] if heredoc is not None else ""
    yield from _printed(source, printed)
    if typed and _COMMAND.search("\n".join(text[line.start : line.end] for line in typed)) is not None:
        yield Snippet(source, typed, is_fragment=True)


def _printed(source: Source, lines: Sequence[Span]) -> Iterator[Snippet]:
    lines = _without_blank_ends(lines)
    if lines and source.text.startswith("#!", lines[0].start):
        yield from _script(source, lines)
