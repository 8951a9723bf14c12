"""Calls of the Python interpreter, and the script, module or code that they run."""

from functools import lru_cache

from sbatchlint.bash.trace import UNREAD, Invocation
from sbatchlint.bash.values import Pieces, cut, is_open, known_prefix, shown_text, text_of
from sbatchlint.job.argv import Argv, basename, hides_options
from sbatchlint.source.records import Record
from sbatchlint.source.regex import Regex

_NAME = Regex(r"(?:i?python|pypy)(?:\d+(?:\.\d+)*)?[dtw]?")
_FLAGS = frozenset("bBdEhiIOPqsSuvVx?")


class Python(Record):
    """A call of the interpreter.

    `kind`: `script`, `module`, `code` (`-c`), `stdin`. `target`: the file, the module's name or the code; None where
    it is missing. `at`: index of the word with the target. `after`: index of the first argument.
    """

    kind: str
    target: Pieces | None
    at: int
    after: int

    @property
    def text(self) -> str | None:
        return None if self.target is None else text_of(self.target)


def is_python(field: Pieces) -> bool:
    """Whether a word names the Python interpreter (`python3.11`, `/opt/venv/bin/python`, `$VENV/bin/python`)."""
    name = basename(field)
    return name is not None and is_interpreter(name)


@lru_cache(maxsize=4096)  # scripts call the same programs again and again
def is_interpreter(name: str) -> bool:
    """Whether a program of this name is the Python interpreter."""
    return _NAME.fullmatch(name) is not None


def python_command(argv: Argv, start: int = 0) -> Python | None:
    """The call `python [options] …` at `argv[start]`; None for other commands, and where its target is not known."""
    name = basename(argv[start]) if start < len(argv) else None
    if name is None or not is_interpreter(name):
        return None
    at = start + 1
    while at < len(argv):
        field = argv[at]
        prefix = known_prefix(field)
        if not prefix:
            if hides_options(field) and is_open(field):
                return None
            return Python("script", field, at, at + 1) if field else None
        if prefix == "-":
            return Python("stdin", None, at, at + 1)
        if prefix == "--" and len(shown_text(field)) == 2:
            return Python("script", argv[at + 1], at + 1, at + 2) if at + 1 < len(argv) else None
        if prefix.startswith("--"):
            at += 2 if prefix == "--check-hash-based-pycs" else 1
            continue
        if prefix[0] != "-":
            return Python("script", field, at, at + 1)
        for place, letter in enumerate(prefix[1:], 1):
            if letter in "mcWX":
                size = len(shown_text(field))
                glued = cut(field, place + 1, size) if size > place + 1 else None
                index = at if glued is not None else at + 1
                if letter in "mc":
                    if glued is None and index >= len(argv):
                        return None
                    target = glued if glued is not None else argv[index]
                    return Python("module" if letter == "m" else "code", target, index, index + 1)
                at = index
                break
            if letter not in _FLAGS:
                return None
        at += 1
    return Python("stdin", None, at, at) if at > start + 1 or len(argv) == start + 1 else None


def python_of(command: Invocation) -> Python | None:
    """The call of Python that a command is, which is kept with the command; None for other commands."""
    if command.reading is UNREAD:
        command.reading = python_command(command.argv)
    return command.reading if isinstance(command.reading, Python) else None
