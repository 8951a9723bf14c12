"""Files that a template engine fills in: Jinja's `{{ value }}`, `{% statement %}`, `{# comment #}`, ERB's `<% %>`.

What a shell gets to read is what remains when they are rendered: nothing of a line that holds only statements and
comments, and something that is not known for a value. Where an `{% if %}` has an `{% else %}`, the first branch stands
for both.
"""

from __future__ import annotations

import re

from sbatchlint.source.regex import Regex

_WORDS = (
    "if|elif|else|endif|for|endfor|set|endset|macro|endmacro|include|import|from|block|endblock|extends|raw|endraw|call"
    "|endcall|filter|endfilter|do|with|endwith|autoescape|endautoescape"
)
_VALUE = r"\{\{-?[ \t]*[A-Za-z_][^{}\n]*\}\}"  # not `{{.Names}}`, which programs take as a format, and not `{{1..3},9}`
_STATEMENTS = rf"\{{%[-+]?\s*(?:{_WORDS})\b.*?%\}}|<%.*?%>"
_MARK = Regex(rf"{_VALUE}|{_STATEMENTS}|(?<!\$)\{{#.*?#\}}", re.DOTALL)
_SIGN = Regex(rf"{_VALUE}|{_STATEMENTS}", re.DOTALL)
_STATEMENT = Regex(r"\{%[-+]?\s*(\w+)")
_ALTERNATIVES = ("else", "elif")


def is_templated(text: str) -> bool:
    """Whether a text has marks of a template engine."""
    return ("{%" in text or "{{" in text or "<%" in text) and _SIGN.search(text) is not None


def rendered(text: str) -> list[tuple[int, int, bool]]:
    """The parts of a templated text that a shell gets, in order: from, to, and whether what stands there is known.

    Parts with False are values that the template fills in. Without a statement and a value it is one whole part.
    """
    found: list[tuple[int, int, bool]] = []
    at = 0
    skipped = 0  # how many conditions deep the branch that is left out is, 0 outside of it
    for mark in _MARK.finditer(text):
        start, end = mark.span()
        is_value = text[start : start + 2] == "{{"
        if not is_value:
            line_start = text.rfind("\n", 0, start) + 1
            line_end = text.find("\n", end)
            line_end = len(text) if line_end < 0 else line_end + 1
            if not text[max(line_start, min(at, start)) : start].strip() and not text[end:line_end].strip():
                start, end = max(line_start, min(at, start)), line_end
        if not skipped and start > at:
            found.append((at, start, True))
        at = max(end, at)
        if is_value:
            if not skipped:
                found.append((start, end, False))
            continue
        statement = _STATEMENT.match(mark.group())
        word = "" if statement is None else statement.group(1)
        if skipped:
            skipped += (word == "if") - (word == "endif")
        elif word in _ALTERNATIVES:
            skipped = 1
    if at < len(text) and not skipped:
        found.append((at, len(text), True))
    return found
