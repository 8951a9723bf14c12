"""Options that are given several times in one component: sbatch keeps the last (src/common/slurm_opt.c, arg_set_*)."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

from sbatchlint.slurm.versions import is_before
from sbatchlint.source.regex import Regex

if TYPE_CHECKING:
    from sbatchlint.slurm.directives import Directives
    from sbatchlint.slurm.model import Setting

# Each of them counts.
_ADD_UP = frozenset(("verbose", "quiet", "container-mounts", "container-env", "container-unshare"))
# pyxis refuses a second value that is another one (pyxis args.c, 0.11 to 0.24).
_ONCE = frozenset(("container-image", "container-workdir", "container-name", "container-save"))
# Values that are lists, so that a second one looks as if it were added.
_LISTS = (
    "array cluster-constraint clusters constraint dependency exclude export gres licenses mail-user nodelist partition"
    " profile propagate reservation tres-per-task"
)
LISTS = frozenset(_LISTS.split())
MAIL_MERGED_BEFORE = "25.05"
# A comment that says that one of the lines stands in for the other.
_ALTERNATIVE = Regex(
    r"\b(?:or|alternative(?:ly)?|instead|overrid\w*|overwrit\w*|replaces?|either|choose|pick|uncomment"
    r"|comment(?:ed)? out|default|fallback|switch)\b",
    re.IGNORECASE,
)


class Repeat(NamedTuple):
    """An option that is given again.

    `setting`: the one that has no effect (or only in some releases), `last`: the one that counts. `kind`: `same` (the
    values say the same), `differs`, `mail` (both count before 25.05) or `once` (a plugin refuses the second).
    """

    setting: Setting
    last: Setting
    kind: str

    @property
    def is_list(self) -> bool:
        """Whether the values are lists, so that the second looks as if it were added."""
        return self.last.name in LISTS

    def adds_up_in(self, versions: tuple[str, ...]) -> tuple[str, ...]:
        """The releases of these in which several --mail-type add up."""
        return tuple(each for each in versions if is_before(each, MAIL_MERGED_BEFORE))

    def merged_mail_type(self, settings: Iterable[Setting]) -> str | None:
        """One list of the words of all of these; None where one of them is not to be merged."""
        words: dict[str, str] = {}
        for setting in settings:
            for word in (setting.text or "").split(","):
                if not re.fullmatch(r"[A-Za-z0-9_]+", word) or word.upper() == "NONE":
                    return None
                words.setdefault(word.upper(), word)
        return ",".join(words.values())

    def merged_list(self) -> str | None:
        """One list of both values, where they plainly name different things; None elsewhere."""
        name = self.last.name
        if name not in ("exclude", "export", "gres", "licenses"):
            return None
        items = [item for each in (self.setting, self.last) for item in (each.text or "").split(",")]
        names = [re.split(r"[:=*/]", item)[0] if name != "exclude" else item for item in items]
        fits = all(names) and len(set(names)) == len(names) and not any(set(item) & set("[]\"' ") for item in items)
        return ",".join(items) if fits and not {"NONE", "NIL", "none"} & set(names) else None


def repeats(directives: Directives) -> list[Repeat]:
    """Those of all components, in order. What is not known, or said to be an alternative, is none."""
    by_option: dict[tuple[int, str], list[Setting]] = {}
    for setting in directives.settings:
        early = setting.option is not None and setting.option.early
        if early or setting.name in _ADD_UP or setting.plugin not in (None, "pyxis"):
            continue
        given = by_option.setdefault((setting.component, setting.name), [])
        if not given or given[-1].token is not setting.token or given[-1].start != setting.start:
            given.append(setting)
    found: list[Repeat] = []
    for given in by_option.values():
        if len(given) == 1:
            continue
        last = given[-1]
        adds = last.name == "mail-type" and not all(_mail_words(each) <= _mail_words(last) for each in given)
        found.extend(
            Repeat(setting, last, "mail" if adds else _kind(setting, last))
            for setting in given[:-1]
            if setting.token.start != last.token.start  # two readings of one word
            and _is_meant(directives, setting)
            and _is_meant(directives, last)
            and not _are_alternatives(directives, setting, last)
        )
    return sorted(found, key=lambda each: each.setting.span.start)


def _is_meant(directives: Directives, setting: Setting) -> bool:
    """Whether the value is known, and what its author meant to write."""
    return setting.known and directives.slip(setting) is None


def _kind(setting: Setting, last: Setting) -> str:
    if setting.name == "mail-type" or _meaning(setting) == _meaning(last):
        return "same"
    return "once" if setting.name in _ONCE else "differs"


def _mail_words(setting: Setting) -> set[str]:
    words = {word.strip().upper() for word in (setting.text or "").split(",")}
    if "ALL" in words:
        words |= {"BEGIN", "END", "FAIL", "REQUEUE", "INVALID_DEPEND", "STAGE_OUT"}
    return words


def _meaning(setting: Setting) -> object:
    """What a value says, so that `1:00:00` is `60`, and `4G` is `4096`."""
    text = setting.text
    kind = setting.option.kind if setting.option is not None else ""
    if text is None or kind not in ("time", "mem"):
        return text
    from sbatchlint.slurm.grammar.sizes import megabytes

    number = _seconds(text) if kind == "time" else megabytes(text)
    return text if number is None else number


def _seconds(text: str) -> int | None:
    """Seconds of `MM`, `MM:SS`, `HH:MM:SS`, `D-HH`, `D-HH:MM` and `D-HH:MM:SS`."""
    days, dash, rest = text.rpartition("-")
    fields = rest.split(":")
    if len(fields) > 3 or not all(
        field.isascii() and field.isdigit() for field in (*fields, *([days] if dash else []))
    ):
        return None
    numbers = [int(field) for field in fields]
    if dash or len(numbers) == 3:
        hours, minutes, seconds = (*numbers, 0, 0)[:3]
    else:
        hours, (minutes, seconds) = 0, (*numbers, 0)[:2]
    return ((int(days or 0) * 24 + hours) * 60 + minutes) * 60 + seconds


def _are_alternatives(directives: Directives, first: Setting, second: Setting) -> bool:
    """Whether a comment beside one of the lines, or above the second, says that it replaces the other."""
    string = directives.text.string
    for line in (first.line, second.line):
        if line.comment_start >= 0 and _ALTERNATIVE.search(string, line.comment_start, line.end):
            return True
    at = second.line.start
    while at > first.line.end:
        start = string.rfind("\n", 0, at - 1) + 1
        if start <= first.line.start:
            return False
        text = string[start : at - 1]
        if text.startswith("#") and not text.startswith("#SBATCH") and _ALTERNATIVE.search(text):
            return True
        at = start
    return False
