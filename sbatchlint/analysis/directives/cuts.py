"""Comments that begin inside of a value, or hold another directive.

To sbatch an unquoted `#` begins a comment wherever it stands (`get_argument()`, src/sbatch/opt.c, 20.11 to 26.05):
`--job-name=run#3` is a job called `run`.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from sbatchlint.analysis.directives.near_misses import read_as_directive
from sbatchlint.analysis.directives.typos import INVISIBLE, swallowed
from sbatchlint.slurm.lines import BLANKS, DirectiveLine, magic_of
from sbatchlint.slurm.rewriting import quote

if TYPE_CHECKING:
    from sbatchlint.slurm.directives import Directives
    from sbatchlint.slurm.model import Setting

# The kinds of `Cut`.
CUT = "cut"
COMMENT = "comment"
SWALLOWED = "swallowed"
DIRECTIVE = "directive"
LOST = "lost"

# Kinds of options whose values never hold a `#`.
_KINDS = (
    "array-spec count[@time] cpu-freq dependency dist enum enum-list flag gpu-freq gpu-spec gres int int>=0 int>=1"
    " mail-type mem node-count rlimit-list S[:C[:T]] signal-spec time timestamp uint16"
)
_WITHOUT_HASH = frozenset(_KINDS.split())


class Cut(NamedTuple):
    """`kind`: `cut` (the `#` belongs to the value), `comment` (it was meant to begin a comment), `swallowed` (`-J #3`:
    the option takes the next line's first word for its value), `lost` (`-J #3` on the last line: it gets none) or
    `directive` (`#SBATCH …` behind other options).

    `setting`: the option, None for `directive` and `lost`; `option`: its name for `lost`. `start`: where the value, or
    the comment, begins in the text; `hash`: the `#`; `end`: the end of the word that is cut. `whole`: the value without
    the cut, quoted; None where it is not plain what belongs to it. `parts`: where directives in the comment begin.
    """

    kind: str
    line: DirectiveLine
    setting: Setting | None
    option: str
    start: int
    hash: int
    end: int
    whole: str | None
    parts: tuple[int, ...] = ()

    @property
    def name(self) -> str:
        return self.setting.name if self.setting is not None else self.option


def cuts(directives: Directives) -> list[Cut]:
    """See `Directives.cuts`."""
    string = directives.text.string
    found: list[Cut] = []
    # Whether an option's value may be on another line, or missing.
    apart = any(each.value_line is not None and each.value_line is not each.line for each in directives.settings)
    apart = apart or any(each.kind == "missing-value" for each in directives.problems)
    for line in directives.lines:
        if line.comment is None:
            continue
        glued = string[line.comment_start - 1] not in BLANKS
        parts = _directives_in(directives, line)
        if parts:
            found.append(Cut(DIRECTIVE, line, None, "", parts[0], parts[0], line.end, None, parts))
            continue
        if not line.tokens or not glued and not apart:
            continue
        found.extend(_lost(directives, line, string))
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
            word_end, whole = _hidden_value(string, line)
            if setting.option is not None and setting.option.kind in _WITHOUT_HASH:
                whole = None
            return Cut(SWALLOWED, line, setting, "", setting.token.start, hash_at, word_end, whole)
        return None
    if string[hash_at - 2 : hash_at] == "${":
        return None  # `${#list[@]}`
    if token.end != hash_at or INVISIBLE.match(string, hash_at - 1):
        return None
    start = token.part(setting.value_start)[0]
    end = _word_end(string, hash_at, line.end)
    rest = string[hash_at + 1 : line.end]
    kind = setting.option.kind if setting.option is not None else ""
    following = string[end : line.end].strip(BLANKS)
    option_follows = not rest[:1].strip() and read_as_directive(directives, end, line.end)[1] and following[:1] == "-"
    if rest[:1].isspace() and not option_follows or kind in _WITHOUT_HASH and setting.value:
        return Cut(COMMENT, line, setting, "", start, hash_at, end, None)
    whole = None
    if kind not in _WITHOUT_HASH and rest[:1] != "#" and string[start:hash_at] == setting.value:
        if following[:1] == "-":
            settings, accepted = read_as_directive(directives, end, line.end)
            accepted = accepted and bool(settings)
        else:
            accepted = following[:1] in ("", "#")
        if accepted and not set(string[start:end]) & set("\"'\\"):
            whole = quote(string[start:end])
    return Cut(CUT, line, setting, "", start, hash_at, end, whole)


def _lost(directives: Directives, line: DirectiveLine, string: str) -> list[Cut]:
    """An option at the end of the block whose value begins with a `#`."""
    token = line.tokens[-1]
    if string[line.comment_start + 1 : line.comment_start + 2] in ("", "#", *BLANKS):
        return []
    end, whole = _hidden_value(string, line)
    return [
        Cut(LOST, line, None, each.candidates[0], token.start, line.comment_start, end, whole)
        for each in directives.problems
        if each.kind == "missing-value" and each.token is token and each.versions is None
    ]


def _hidden_value(string: str, line: DirectiveLine) -> tuple[int, str | None]:
    """The end of the word that begins with the `#`; and it quoted, where it is all there is."""
    end = _word_end(string, line.comment_start, line.end)
    word = string[line.comment_start : end]
    alone = word.strip("#") and end == line.end and not set(word) & set("\"'\\")
    return end, quote(word) if alone else None


def _word_end(string: str, start: int, end: int) -> int:
    while start < end and string[start] not in BLANKS:
        start += 1
    return start


__all__ = ["Cut", "cuts"]
