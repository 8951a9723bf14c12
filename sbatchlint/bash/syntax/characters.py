"""Patterns of the characters in words: runs of ordinary ones in each kind of quotes, names, operators, escapes.

Every pattern stops at `END`, which follows the last character of a text that is read.
"""

import re

from sbatchlint.source.numbers import parse_integer
from sbatchlint.source.regex import Regex
from sbatchlint.source.text import SLOT

END = "\0"

# Characters that end a plain word.
BREAKS = frozenset(" \t\n;&|)" + END)

plain_run = re.compile(r"[^ \t\r\n;&|()<>'\"\\$`\0]+").match
parenthesis_run = re.compile(r"[^()'\"\\$`\0]+").match
regex_run = re.compile(r"[^ \t\r\n;&()<>'\"\\$`\0]+").match
double_run = re.compile(r"[^\"\\$`\0]+").match
heredoc_run = re.compile(r"[^\\$`\0]+").match
brace_run = re.compile(r"[^}'\"\\$`\0]+").match
pattern_run = re.compile(r"[^}/'\"\\$`\0]+").match
offset_run = re.compile(r"[^}:?()'\"\\$`\0]+").match
RUNS = {
    "brace": brace_run,
    "brace quoted": brace_run,
    "offset": offset_run,
    "pattern": pattern_run,
    "slash pattern": pattern_run,
}
ESCAPED = {"double": '$`"\\', "heredoc": "$`\\"}
index_run = re.compile(r"[^'\"\\$`\0]+").match
ansi_run = re.compile(r"[^'\\\0]+").match

parameter = re.compile(r"[A-Za-z_][A-Za-z0-9_]*|[0-9@*#?$!-]").match
# Compiled on first use, as short scripts do without them.
parameter_name = Regex(r"[A-Za-z_][A-Za-z0-9_]*|[0-9]+|[@*#?$!-]")
parameter_operator = Regex(r":[-=?+]|[-=?+:]|##?|%%?|/[/#%]?|\^\^?|,,?|@")
ansi_escape = Regex(
    r"\\(?:[0-7]{1,3}|x[0-9A-Fa-f]{1,2}|x\{[0-9A-Fa-f]*\}|u[0-9A-Fa-f]{1,4}|U[0-9A-Fa-f]{1,8}|c.|[^\0])", re.S
)
backquote_escape = Regex(r"\\[$`\\]")
quoted_backquote_escape = Regex(r"\\[$`\\\"]")
ansi_characters = {
    "a": "\a", "b": "\b", "e": "\x1b", "E": "\x1b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v",
    "\\": "\\", "'": "'", '"': '"', "?": "?",
}  # fmt: skip


# The characters with which each of the next two may begin.
SPACES = " \t\\\r"
GAPS = SPACES + "\n#"
# Atomic groups: a possessive star keeps half of an alternative that does not match, before Python 3.11.5.
space_run = re.compile(r"(?>(?:[ \t]+|\\\r?\n|\r(?=\n))*)").match
gap_run = re.compile(r"(?>(?:[ \t\n]+|\\\r?\n|#[^\n\0]*|\r(?=\n))*)").match
comment = re.compile(r"#[^\n\0]*").match
EDGE = r"(?=[ \t\r\n;&|()<>\0])"
reserved = re.compile(
    r"(?:if|then|elif|else|fi|for|do|done|while|until|case|esac|select|function|time|coproc|\{|\}|!|\[\[)" + EDGE
).match
CLOSERS = frozenset(("then", "elif", "else", "fi", "do", "done", "esac", "}"))
OPENERS = frozenset(("if", "for", "while", "until", "case", "select", "{", "[["))


class ShellSyntaxError(Exception):
    """A syntax error noticed at offset `where`. `kind`: "end" of the text, an unexpected "closer", or ""."""

    __slots__ = ("kind", "where")

    def __init__(self, where: int, kind: str = "") -> None:
        self.where = where
        self.kind = kind


# What stands for a part of a text that is not known, as in `sbatchlint.bash.values`.
NOT_KNOWN = SLOT


def _byte(number: int) -> str:
    """The character of a byte; not known where it may be a part of one of several bytes."""
    return chr(number) if number < 128 else NOT_KNOWN


def unescape(escape: str) -> str:
    """The characters of an escape in `$'…'`."""
    kind = escape[1]
    if kind in ansi_characters:
        return ansi_characters[kind]
    try:
        if kind in "01234567":
            return _byte(parse_integer(escape[1:], 8) & 255)
        if kind in "xuU" and len(escape) > 2:
            number = parse_integer(escape[2:].strip("{}") or "0", 16)
            return _byte(number & 255) if kind == "x" else NOT_KNOWN if 0xD800 <= number < 0xE000 else chr(number)
    except (ValueError, OverflowError):
        return NOT_KNOWN
    if kind == "c" and len(escape) == 3:
        return chr(ord(escape[2]) & 31)
    return escape
