"""Comments that begin inside of a value, or hold another directive.

To sbatch an unquoted `#` begins a comment wherever it stands (`get_argument()`, src/sbatch/opt.c, 20.11 to 26.05):
`--job-name=run#3` is a job called `run`.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ...source.records import NamedTuple
from ..lines import BLANKS, DirectiveLine, magic_of
from ..rewriting import quote
from .near_misses import read_as_directive
from .slips import INVISIBLE, swallowed

if TYPE_CHECKING:
    from ..directives import Directives
    from ..model import Setting

# The kinds of `Cut`.
CUT = "cut"
COMMENT = "comment"
SWALLOWED = "swallowed"
DIRECTIVE = "directive"

# Kinds of options whose values never hold a `#`.
_KINDS = (
    "array-spec count[@time] cpu-freq dependency dist enum enum-list flag gpu-freq gpu-spec int int>=0 int>=1 mail-type"
    " mem node-count rlimit-list S[:C[:T]] signal-spec time timestamp uint16"
)
_WITHOUT_HASH = frozenset(_KINDS.split())


class Cut(NamedTuple):
    """`kind`: `cut` (the `#` belongs to the value), `comment` (it was meant to begin a comment), `swallowed` (`-J #3`:
    the option takes the next line's first word for its value) or `directive` (`#SBATCH …` behind other options).

    `setting`: the option, None for `directive`. `start`: where the value, or the comment, begins in the text; `hash`:
    the `#`; `end`: the end of the word that is cut. `whole`: the value without the cut, quoted; None where it is not
    plain what belongs to it. `parts`: the beginnings of the directives in the comment.
    """

    kind: str
    line: DirectiveLine
    setting: Setting | None
    start: int
    hash: int
    end: int
    whole: str | None
    parts: tuple[int, ...] = ()


def cuts(directives: Directives) -> list[Cut]:
    """See `Directives.cuts`."""
    string = directives.text.string
    found: list[Cut] = []
    for line in directives.lines:
        if line.comment is None or not line.tokens:
            continue
        parts = _directives_in(directives, line)
        if parts:
            found.append(Cut(DIRECTIVE, line, None, parts[0], parts[0], line.end, None, parts))
            continue
        for setting in directives.settings:
            if setting.line.start == line.start and setting.versions is None:
                cut = _cut(directives, line, setting, string)
                if cut is not None:
                    found.append(cut)
    return found


def _directives_in(directives: Directives, line: DirectiveLine) -> tuple[int, ...]:
    """Where further directives begin in a comment that begins with one."""
    string = directives.text.string
    if magic_of(string, line.comment_start) is None:
        return ()
    starts = [
        found.start() for found in re.finditer("#SBATCH", string[: line.end]) if found.start() >= line.comment_start
    ]
    for start, end in zip(starts, [*starts[1:], line.end], strict=True):
        settings, _ = read_as_directive(directives, start + len("#SBATCH"), end)
        if not settings:
            return ()
    return tuple(starts)


def _cut(directives: Directives, line: DirectiveLine, setting: Setting, string: str) -> Cut | None:
    token = setting.value_token
    if token is None or setting.value is None or not setting.known:
        return None
    hash_at = line.comment_start
    if setting.value_line is not line:
        if swallowed(setting):
            word_end = _word_end(string, hash_at, line.end)
            word = string[hash_at:word_end]
            alone = word.strip("#") and word_end == line.end and not set(word) & set("\"'\\")
            start = setting.token.start
            return Cut(SWALLOWED, line, setting, start, hash_at, word_end, quote(word) if alone else None)
        return None
    if token.end != hash_at or INVISIBLE.match(string, hash_at - 1):
        return None
    start = token.part(setting.value_start)[0]
    end = _word_end(string, hash_at, line.end)
    rest = string[hash_at + 1 : line.end]
    kind = setting.option.kind if setting.option is not None else ""
    following = string[end : line.end].strip(BLANKS)
    option_follows = not rest[:1].strip() and read_as_directive(directives, end, line.end)[1] and following[:1] == "-"
    if rest[:1].isspace() and not option_follows or kind in _WITHOUT_HASH and setting.value:
        return Cut(COMMENT, line, setting, start, hash_at, end, None)
    whole = None
    if kind not in _WITHOUT_HASH and rest[:1] != "#" and string[start:hash_at] == setting.value:
        if following[:1] == "-":
            settings, accepted = read_as_directive(directives, end, line.end)
            accepted = accepted and bool(settings)
        else:
            accepted = following[:1] in ("", "#")
        if accepted and not set(string[start:end]) & set("\"'\\"):
            whole = quote(string[start:end])
    return Cut(CUT, line, setting, start, hash_at, end, whole)


def _word_end(string: str, start: int, end: int) -> int:
    while start < end and string[start] not in BLANKS:
        start += 1
    return start


__all__ = ["Cut", "cuts"]
