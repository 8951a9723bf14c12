"""Files that a template engine fills in: Jinja's `{{ value }}`, `{% statement %}`, `{# comment #}`, ERB's `<% %>`.

A shell reads what rendering leaves: nothing of a line with only statements and comments, an unknown text for a value.
Of `{% if %}` and `{% else %}` only the first branch is kept.
"""

import re

from sbatchlint.source.regex import Regex

_WORDS = (
    "if|elif|else|endif|for|endfor|set|endset|macro|endmacro|include|import|from|block|endblock|extends|raw|endraw|call"
    "|endcall|filter|endfilter|do|with|endwith|autoescape|endautoescape"
)
_VALUE = r"\{\{-?[ \t]*[A-Za-z_][^{}\n]*\}\}"  # not `{{.Names}}` (docker), nor the braces of `{{1..3},9}`
_STATEMENTS = rf"\{{%[-+]?\s*(?:{_WORDS})\b.{{0,1000}}?%\}}|<%.{{0,1000}}?%>"
_MARK = Regex(rf"{_VALUE}|{_STATEMENTS}|(?<!\$)\{{#.{{0,1000}}?#\}}", re.DOTALL)
_SIGN = Regex(rf"{_VALUE}|{_STATEMENTS}", re.DOTALL)
_STATEMENT = Regex(r"\{%[-+]?\s*(\w+)")
_ALTERNATIVES = ("else", "elif")


def is_templated(text: str) -> bool:
    """Whether a text has tags of a template engine."""
    return ("{%" in text or "{{" in text or "<%" in text) and _SIGN.search(text) is not None


def rendered(text: str) -> list[tuple[int, int, bool]]:
    """The parts of a templated text that reach a shell, in order: start, end, and whether the part is literal.

    Other parts are values that the template fills in. A text without tags is a single part.
    """
    found: list[tuple[int, int, bool]] = []
    at = 0
    skipped = 0  # nesting depth inside a branch that is left out, else 0
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
