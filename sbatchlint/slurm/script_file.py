"""What sbatch says of a batch script as a whole, before it reads any option.

Follows `_get_script_buffer()` of src/sbatch/sbatch.c, which reads the same in 20.11 to 26.05 but for the limit of the
size; run on 22.05 and 26.05, from a file and from standard input.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from sbatchlint.slurm.getopt import UNKNOWN
from sbatchlint.slurm.versions import is_before
from sbatchlint.source.discover import is_batch_name
from sbatchlint.source.regex import Regex
from sbatchlint.source.text import Source

if TYPE_CHECKING:
    from sbatchlint.slurm.directives import Directives

EMPTY = "Batch script is empty!"
ONLY_BLANK = "Batch script contains only whitespace!"
NO_INTERPRETER = (
    "This does not look like a batch script.  The first\n"
    "line must start with #! followed by the path to an interpreter.\n"
    "For instance: #!/bin/sh"
)
NULL_CHARACTER = "The Slurm controller does not allow scripts that\ncontain a NULL character '\\0'."
DOS_LINE_BREAK = "Batch script contains DOS line breaks (\\r\\n)\ninstead of expected UNIX line breaks (\\n)."
TOO_LARGE = "Script file {} is too large"

# MAX_BATCH_SCRIPT_SIZE, src/common/read_config.h; slurmctld's own limit is the site's (max_script_size, 4 MiB by
# default), and shows only when all options are read.
MOST_BYTES = 512 << 20
MOST_BYTES_SINCE = "23.02"

# isspace() of the C locale.
_BLANK = " \t\n\v\f\r"
# What a template begins with where its first line is not written yet: `{{ header }}`, `<%`, `${HEADER}`, `@SHEBANG@`.
_TEMPLATE = Regex(r"\s*(?:\{[{%#]|\{\w+\}[ \t]*(?:\n|$)|<%|\$\{?\w+\}?[ \t]*(?:\n|$)|@\w+@|%\(\w+\)s|!TBG_)")


def refusals(text: str, version: str, name: str = "job.sh") -> tuple[str, ...]:
    """The messages with which sbatch of this release refuses a file; it stops at the first of them.

    `text`: all of the file, its bytes that are no UTF-8 as lone surrogates. `name`: the file's, for the message that
    has it. Lines of one message are joined by newlines. Empty where the file is taken, or where its beginning is not
    known.
    """
    found: list[str] = []
    if len(text) > MOST_BYTES // 4 and not is_before(version, MOST_BYTES_SINCE):
        if len(Source.encode(text)) > MOST_BYTES:
            found.append(TOO_LARGE.format(name))
    if not text:
        return (*found, EMPTY)
    # It is read as a string of C, so a NUL byte ends it here.
    if not text.partition("\0")[0].strip(_BLANK):
        found.append(ONLY_BLANK)
    if lacks_interpreter(text):
        found.append(NO_INTERPRETER)
    if "\0" in text:
        found.append(NULL_CHARACTER)
    if "\r\n" in text:
        found.append(DOS_LINE_BREAK)
    return tuple(found)


def lacks_interpreter(text: str) -> bool:
    """Whether a script does not begin with `#!`; False where its beginning is not known."""
    head = text[:2]
    return head != "#!" and UNKNOWN not in head and _TEMPLATE.match(text) is None


class InterpreterFault(NamedTuple):
    """Why a script does not begin with `#!`.

    `kind`: `empty` (nothing but blanks), `misplaced` (the line stands further down), `mistyped` (`!/bin/bash`), or
    `missing`. `start`, `end`: the line at fault, in the script's text. `edits`: ranges of that text and what belongs
    there. `line`: the first line as it must be.
    """

    kind: str
    start: int
    end: int
    edits: tuple[tuple[int, int, str], ...]
    line: str


_SHEBANG = Regex(r"#![ \t]*/\S")
_MISTYPED = Regex(
    r"(?:!#|!|#{2,}!|#[ \t]+!|#1|#|\\#!|\"#!|#\\!|)[ \t]*"
    r"(/(?:\S+/)?(?:env(?:[ \t]+-\S+)*[ \t]+\S+"
    r"|(?:ba|z|k|da|c|tc)?sh|python[\d.]*|Rscript|perl|julia)(?:[ \t]+-\S+)*)[ \t\"]*\r?$",
    re.MULTILINE,
)
_INTERPRETERS = {".py": "python3", ".r": "Rscript", ".jl": "julia", ".pl": "perl", ".rb": "ruby", ".lua": "lua"}
# Files that something else puts together with others, or fills in, before sbatch sees them.
_PART = Regex(
    r"(?:^|[^a-z])(?:head(?:er)?s?|preambles?|prologue?s?|footers?|snippets?|fragments?|partials?|templates?|tpl|tmpl"
    r"|includes?|common)(?:[^a-z]|$)|\.(?:j2|jinja2?|envsubst|in|mustache|erb|mako|ejs|hbs|inc|txt|md|rst|html?|xml"
    r"|ya?ml|json|toml|tex|org|cfg|conf|def|el|vim)(?:[._-]|$)"
)
_STATEMENT = Regex(r"\{[{%#]|<%|%\(\w+\)s")


def interpreter_fault(directives: Directives, path: str, embedded: bool) -> InterpreterFault | None:
    """How a batch script lacks its first line; None where it has it, or is no whole batch script.

    A file without an option block is one by its name alone. `embedded`: a script inside another one.
    """
    string = directives.text.string
    named = embedded or is_batch_name(path)
    if not lacks_interpreter(string) or not (named or directives.lines or directives.unread):
        return None
    if not string and directives.text.whole:  # bytes of which nothing can be read
        return None
    first = len(string) - len(string.lstrip(_BLANK))
    if first == len(string):
        return InterpreterFault("empty", 0, 0, ((0, 0, "#!/bin/bash\n"),), "#!/bin/bash")
    end = _end_of_line(string, first)
    mistyped = _MISTYPED.match(string, first)
    if mistyped is not None:
        line = "#!" + mistyped.group(1)
        return InterpreterFault("mistyped", first, end, ((0, first, ""), (first, mistyped.start(1), "#!")), line)
    block = string[: _end_of_block(string)]
    if not named and not directives.lines or _STATEMENT.search(block):
        return None
    found = _shebang_below(string)
    if found is not None:
        start, end = found
        line = string[start:end]
        if not string[:start].strip(_BLANK):
            return InterpreterFault("misplaced", start, end, ((0, start, ""),), line)
        begin = string.rfind("\n", 0, start) + 1
        edits = ((0, 0, line + "\n"), (begin, min(string.find("\n", end) + 1 or len(string), len(string)), ""))
        return InterpreterFault("misplaced", start, end, edits, line)
    name = path.rpartition("/")[2].lower()
    if not named and (directives.stop is None or _PART.search(name)):
        return None
    interpreter = _INTERPRETERS.get("." + name.rpartition(".")[2]) if not embedded else None
    line = f"#!/usr/bin/env {interpreter}" if interpreter else "#!/bin/bash"
    return InterpreterFault("missing", first, end, ((0, 0, line + "\n"),), line)


def _lines(string: str) -> Iterator[tuple[int, int]]:
    """The lines of the option block, from their first character that is no blank to their end."""
    at = 0
    while at < len(string):
        end = _end_of_line(string, at)
        body = string[at:end].lstrip(_BLANK)
        if body and body[0] != "#":
            return
        if body:
            yield end - len(body), end
        newline = string.find("\n", end)
        at = newline + 1 if newline >= 0 else len(string)


def _shebang_below(string: str) -> tuple[int, int] | None:
    """A line `#!…` below comments and blank lines alone."""
    for start, end in _lines(string):
        if _SHEBANG.match(string, start, end):
            return start, end
    return None


def _end_of_block(string: str) -> int:
    return max((end for _, end in _lines(string)), default=0)


def _end_of_line(string: str, at: int) -> int:
    """Behind the last character of a line that is no blank."""
    newline = string.find("\n", at)
    end = newline if newline >= 0 else len(string)
    return at + len(string[at:end].rstrip(_BLANK))
