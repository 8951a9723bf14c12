"""Placeholders in a script's commands that the shell takes for something else: `HF_HOME=<SHARED_FS>/cache`.

`<SHARED_FS` opens a file for reading and `>/cache` one for writing. Written after `=`, `/` or `:` no redirection is
meant; behind a blank none is where nothing to write to follows (`cd <folder>`), or an option does (`<DIR> --lr 3`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sbatchlint.bash.syntax.tree import Redirect
from sbatchlint.bash.syntax.walk import nodes
from sbatchlint.source.regex import Regex
from sbatchlint.source.text import Span

if TYPE_CHECKING:
    from sbatchlint.job import Job

_BLANK = Regex(
    # The sign comes first, so that the rest of a text is passed by quickly.
    r"<(?:(?<=[=/:]<)[A-Za-z](?:[\w .-]*\w)?>"
    r"|(?<=[ \t]<)[A-Za-z](?:[\w .-]*\w)?>(?=[ \t]*(?:[;&|)\n]|\\\n|\Z|[ \t]--?[A-Za-z]|[ \t]#|[ \t]<))"
    r"|(?<=[ \t]<)[Yy][Oo][Uu][Rr][\w .-]*\w>)"
)
_QUOTE_OR_COMMENT = Regex(r"[\"'`]|(?:^|\s)#")


def shell_placeholders(job: Job) -> list[tuple[Span, str]]:
    """Each place where bash would read a placeholder as redirections, and its text; only where that is certain."""
    string = job.text.string
    is_script = string.startswith("#!") or job.is_embedded or bool(job.directives.lines)
    if not job.is_shell or not is_script or _BLANK.search(string) is None:
        return []
    opened = {node.start for node in nodes(job.program) if isinstance(node, Redirect) and node.operator == "<"}
    return [
        (job.span(*match.span()), match.group())
        for match in _BLANK.finditer(string)
        if match.start() in opened or _in_error(job, match.start())
    ]


def _in_error(job: Job, at: int) -> bool:
    """Whether the place is one that the parser could not read, outside of quotes and comments as far as one can see."""
    if not any(start <= at < end for start, end in job.program.errors):
        return False
    line = job.text.string.rfind("\n", 0, at) + 1
    return _QUOTE_OR_COMMENT.search(job.text.string[line:at]) is None
