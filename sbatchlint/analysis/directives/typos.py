"""Typos in a directive, because of which a value is not what was meant.

Where there is one, it is what to report: an objection to the resulting value would only repeat it.
"""

from typing import NamedTuple

from sbatchlint.analysis.directives.placeholders import (
    enclosing_placeholder,
    may_be_words,
    may_open_placeholder,
    placeholder,
)
from sbatchlint.slurm.directives import UNKNOWN, Directives
from sbatchlint.slurm.lines import Token
from sbatchlint.slurm.model import Setting
from sbatchlint.slurm.options import find
from sbatchlint.source.regex import Regex

# A shell expansion, in a directive that no shell ever sees.
EXPANSION = Regex(
    r"(?<!\\)(?:\\\\)*(\$\{[^}]{0,500}\}|\$\(\([^)]{0,500}\)\)|\$\([^)]{0,500}\)?|\$\[[^]]{0,500}\]"
    r"|\$(?:[A-Za-z_]\w*|[1-9@*$](?!\d))|`[^`]*`?)"
)

# Spaces that sbatch does not split at, invisible characters, and the dashes and quotes of word processors.
INVISIBLE = Regex(
    "[\u00a0\u2007\u202f\u2009\u200a\u200b\u200c\u200d\u2060\ufeff\u00ad\u2010-\u2015\u2212\u2018\u2019\u201c\u201d]"
)

CURLY = Regex("[\u2018\u2019\u201c\u201d]")

# The kinds of typo.
INVISIBLE_CHARACTER = "invisible"
SHORT_EQUALS = "short-equals"
BLANK_AT_EQUALS = "blank-at-equals"
SINGLE_DASH = "single-dash"
SHELL_EXPANSION = "expansion"
PLACEHOLDER = "placeholder"
HASH = "hash"


def raw_value(directives: Directives, setting: Setting) -> str:
    """The value as written, with its quotes; '' if there is none."""
    if setting.value_token is None:
        return ""
    start, end = setting.value_token.part(setting.value_start)
    return setting.line.text.string[start:end]


def dashed(word: str, command: str = "sbatch") -> str | None:
    """The name of a long option with one dash or three instead of two (`-nodes=2`, `---gres`); None for other words."""
    bare = word.lstrip("-")
    dashes = len(word) - len(bare)
    name = bare.partition("=")[0]
    if dashes == 2 or not dashes or len(name) < 3:
        return None
    return name if find(name, command) is not None else None


class Gap(NamedTuple):
    """Whitespace around the `=` of an option. All offsets are into the text.

    `start`: where the option ends, `end`: where its value begins, None if there is none; `sign`: what belongs between
    them. `last`: the end of the value. `value`: what sbatch takes as the value.
    """

    start: int
    end: int | None
    last: int
    sign: str
    value: str


def gap_at_equals(directives: Directives, setting: Setting) -> Gap | None:
    """The gap in `--time = 5`, `--time =5`, `--time= 5`, `-t = 5` and `-t= 5`; None where there is none."""
    string, token = setting.line.text.string, setting.token
    long = setting.written.startswith("--")
    if setting.value is not None and not setting.separate:
        if setting.value != ("" if long else "=") or string[token.end - 1] != "=":
            return None
        following = _following(setting, 1)
        if not following or following[0].text[:1] == "-":
            return None
        start, sign = (token.end, "") if long else (token.end - 1, " ")
        return Gap(start, following[0].start, following[0].end, sign, setting.value)
    option = setting.option
    if setting.value is not None:
        if setting.value[:1] != "=" or setting.value_line is not setting.line:
            return None
    else:
        takes_value = option is not None and option.argument(directives.versions.last) != "none"
        if not takes_value or not long and setting.start + 1 < len(token.text):
            return None
    following = _following(setting, 2)
    if not following or string[following[0].start] != "=":
        return None
    sign, first = "=" if long else " ", following[0]
    if first.text != "=":
        taken = first.text if UNKNOWN not in first.text else string[first.start : first.end]  # without its quotes
        return Gap(token.end, first.start + 1, first.end, sign, taken)
    if len(following) < 2 or following[1].text[:1] == "-":
        return Gap(token.end, None, first.end, sign, "=")
    return Gap(token.end, following[1].start, following[1].end, sign, "=")


def _following(setting: Setting, count: int) -> list[Token]:
    """The next words of the line after an option's own."""
    return [each for each in setting.line.tokens if each.start >= setting.token.end][:count]


def typo(directives: Directives, setting: Setting) -> str | None:
    """The kind of typo because of which a setting's value is not what was meant; None if there is none."""
    token, value = setting.value_token, setting.value
    string = setting.line.text.string
    if not setting.written.startswith("--"):
        if dashed(setting.token.text, directives.command) is not None:
            return SINGLE_DASH
    if gap_at_equals(directives, setting) is not None:
        return BLANK_AT_EQUALS
    if value is not None and value[:1] == "=" and setting.written[:2] != "--" and not setting.separate:
        if raw_value(directives, setting)[0] == "=":
            return SHORT_EQUALS
    if token is None or value is None:
        return None
    if setting.value_line is not setting.line and swallowed(setting):
        return HASH
    if (
        token.positions is None
        and value.isascii()
        and _SUSPICIOUS.isdisjoint(value)
        and "XXX" not in value
        and "PLACEHOLDER" not in value
        and not may_be_words(setting.name, value)
    ):
        return HASH if string[token.end : token.end + 1] == "#" else None
    raw = raw_value(directives, setting)
    if INVISIBLE.search(raw):
        return INVISIBLE_CHARACTER
    if EXPANSION.search(raw):
        return SHELL_EXPANSION
    if placeholder(setting.name, raw) is not None or _opens_placeholder(setting, string, raw):
        return PLACEHOLDER
    return HASH if string[token.end : token.end + 1] == "#" else None


_SUSPICIOUS = frozenset("$`<>{@")


def _opens_placeholder(setting: Setting, string: str, raw: str) -> bool:
    """Whether the value is the first word of a placeholder such as `<project id>`."""
    token, line = setting.value_token, setting.value_line
    if token is None or line is None or not may_open_placeholder(setting.name, raw):
        return False
    return enclosing_placeholder(string, token.end - 1, line.words_start, line.end) is not None


def swallowed(setting: Setting) -> bool:
    """Whether a `#` where the value belongs makes an option of a later line the value: `-J #3`."""
    return (
        setting.line.comment is not None
        and setting.value is not None
        and setting.value[:1] == "-"
        and setting.line.tokens[-1] is setting.token
    )


def swallowed_option(setting: Setting) -> bool:
    """Whether an option without a value takes an option of a later line as its value: `-J` above `-N 2`."""
    value = setting.text
    if value is None or setting.value_line is setting.line or not setting.separate or swallowed(setting):
        return False
    if setting.line.fault is not None:
        return False  # which hides the value
    is_long = value[:2] == "--" and find(value[2:].partition("=")[0]) is not None
    return is_long or value[:1] == "-" and value[1:2].isalpha()
