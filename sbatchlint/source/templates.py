"""Files that a program fills in: Jinja, Go, Handlebars, Mako, ERB, brew, `str.format`, and slots such as `@NODES@` or
`XXXnodesXXX`.

A shell reads what rendering leaves: nothing of a line with only statements and comments, an unknown text for a value.
Of `if` and `else` only the first branch is kept; of a macro nothing, as it is written where it is called.
"""

import re
from collections.abc import Iterator
from functools import lru_cache

from sbatchlint.source.regex import Regex
from sbatchlint.source.text import SLOT

_WORDS = (
    "if|elif|else|endif|for|endfor|set|endset|macro|endmacro|include|import|from|block|endblock|extends|raw|endraw|call"
    "|endcall|filter|endfilter|do|with|endwith|autoescape|endautoescape"
)
_VALUE = r"\{\{-?[ \t]*[A-Za-z_][^{}\n]*\}\}"  # not `{{.Names}}` (docker), nor the braces of `{{1..3},9}`
_STATEMENTS = rf"\{{%[-+]?\s*(?:{_WORDS})\b.{{0,1000}}?%\}}|<%.{{0,4000}}?%>"
# Those of Go and Handlebars, and the lines of Mako.
_IN_BRACES = (
    r"\{\{-?[ \t]*(?:(?:if|range|with|define|block|template|include)\b[^{}\n]*|(?:end|else)\b[^{}\n]*"
    r"|[#^/>!][^{}\n]*|/\*.{0,1000}?\*/[ \t]*)-?\}\}"
)
_LINES = r"(?m:^[ \t]*%[ \t]*(?:(?:if|elif|for|while)\b[^\n]*:|else:|endif|endfor|endwhile)[ \t]*$)"
_OWN_LINE = rf"(?m:^[ \t]*{_IN_BRACES})"  # not what `docker inspect -f` is told
_SIGN = Regex(rf"{_VALUE}|{_STATEMENTS}|{_OWN_LINE}|{_LINES}", re.DOTALL)
_MARK = Regex(rf"{_VALUE}|{_STATEMENTS}|{_LINES}|(?<!\$)\{{#.{{0,1000}}?#\}}", re.DOTALL)
# Where one of these engines is at work for certain, all in two braces is a value.
_SURE = Regex(rf"{_STATEMENTS}|{_OWN_LINE}|(?m:^#SBATCH[^\n]*\{{\{{)", re.DOTALL)
_ANY_MARK = Regex(
    rf"{_STATEMENTS}|{_IN_BRACES}|{_LINES}|\{{\{{\{{?[^\n]{{0,500}}?\}}\}}+|(?<!\$)\{{#.{{0,1000}}?#\}}", re.DOTALL
)
_STATEMENT = Regex(r"(?:\{%[-+]?|\{\{-?|<%-?|%)\s*(\W?\w*)")
_BLOCK = Regex(r"\bdo\b(?:\s*\|[^|]*\|)?\s*-?%>\Z|\{\s*-?%>\Z")
_OPENING = frozenset({"if", "unless", "for", "while", "case", "range", "with", "define", "macro", "block", "begin"})
_OPENING_GO = frozenset({"if", "range", "with", "define", "block"})
_NO_CLOSE = frozenset({"endset", "endcall", "endfilter", "endraw", "endautoescape"})
_ELSE = Regex(r"<%-?\s*\}\s*else|\{\{\^\s*\}\}")
_BRACE = Regex(r"<%-?\s*\}")
_ALTERNATIVES = frozenset({"else", "elif", "elsif", "when"})
_NEVER_HERE = frozenset({"macro", "define"})

# Slots of simpler engines, which count where a directive has one of the same kind. First those that nothing resembles.
PLAIN_SLOTS = {
    "lines": r"(?<!\w)__[A-Z][A-Z0-9_]*?__(?![A-Z0-9])",
    "line": r"(?<![\w$])_[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)*_(?!\w)",
    "small_lines": r"(?<!\w)__[a-z][a-z0-9_]*?__(?![a-z0-9])",
    "percents": r"%%[A-Za-z][\w-]*%%",
    "percent": r"%[A-Z][A-Z0-9_]{3,}%",
    "printf": r"%\([A-Za-z_]\w*\)[-+0 #]*\d*(?:\.\d+)?[sdifgr]",
    "at_name": r"(?<![\w\\@./:])@[A-Z][A-Z0-9_]*(?![\w@.])",
    "tbg": r"!TBG_[A-Za-z]\w*",  # of PIConGPU
    "crosses": r"XXX(?!X)[A-Za-z]\w*?(?<!X)XXX(?!X)",
    "word": r"(?<![\w$])(?:(?:[A-Z][A-Z0-9]*_)+PLACEHOLDER|PLACEHOLDER(?:_[A-Z0-9]+)+)(?!\w)",
}
HASHES = r"(?<!#)##[A-Z][A-Z0-9_]*##(?!#)"  # alone on a line it is a comment
_SLOTS = {
    "hashes": HASHES,
    "format": r"(?<![$\\{\w])\{(?:[A-Za-z_][\w.]*|\d)(?:\[\w+\])?(?:![rsa])?(?::[^{}\s]*)?\}(?!\})",
    "at": r"(?<![\w\\@])@@?[A-Za-z_]\w*@@?(?!\w)",
    **PLAIN_SLOTS,
}
_SLOT = Regex("|".join(f"(?P<{name}>{pattern})" for name, pattern in _SLOTS.items()))
_DIRECTIVE = Regex(r"(?m)^#SBATCH\b(.*)$")
_BRACES = ("{{", "}}")
_DOUBLED = Regex(r"\$\{\{\w")


@lru_cache(maxsize=2)  # several checks ask, and each job in a file
def is_templated(text: str) -> bool:
    """Whether a text has tags of a template engine, or slots."""
    if SLOT in text:
        return True
    return ("{%" in text or "{{" in text or "<%" in text or "\n%" in text) and _SIGN.search(text) is not None


def _kinds_of_slots(text: str) -> frozenset[str | None]:
    return frozenset(each.lastgroup for each in _SLOT.finditer(" ".join(_DIRECTIVE.findall(text))))


def _is_format(text: str) -> bool:
    """Whether doubled braces stand for one: `${{HOME}}`."""
    return _DOUBLED.search(text) is not None and "format" in _kinds_of_slots(text)


@lru_cache(maxsize=2)
def _slots(text: str) -> Regex | None:
    """The slots that a program other than an engine of templates fills in; None if there is none in a directive."""
    if "#SBATCH" not in text:
        return None
    found = _kinds_of_slots(text)
    kinds = [pattern for name, pattern in _SLOTS.items() if name in found]
    if kinds and _is_format(text):
        kinds += [r"\{\{", r"\}\}"]  # each stands for one
    return Regex("|".join(kinds)) if kinds else None


@lru_cache(maxsize=2)
def slots(text: str) -> tuple[tuple[int, int], ...]:
    """Where a program fills something in, or looks what it is to do, in order: no fix may write there."""
    found: list[tuple[int, int]] = []
    if is_templated(text) and not _is_format(text):
        found = [each.span() for each in (_ANY_MARK if _SURE.search(text) else _MARK).finditer(text)]
    simple = _slots(text)
    if simple is not None:
        found += [each.span() for each in simple.finditer(text) if each.group() not in _BRACES]
    if SLOT in text:
        found += [(at, at + 1) for at, character in enumerate(text) if character == SLOT]
    return tuple(sorted(found))


def rendered(text: str) -> list[tuple[int, int, bool]]:
    """The parts of a templated text that reach a shell, in order: start, end, and whether the part is literal.

    Other parts are values that the template fills in. A text without tags is a single part.
    """
    parts = _rendered(text) if is_templated(text) and not _is_format(text) else [(0, len(text), True)]
    simple = _slots(text)
    return parts if simple is None else list(_split(text, parts, simple))


def _rendered(text: str) -> list[tuple[int, int, bool]]:
    found: list[tuple[int, int, bool]] = []
    at = content = 0  # `content`: up to where something of the template's text is kept
    opened: list[str] = []
    skipped = -1  # how many statements are open around the branch that is left out
    sure = _SURE.search(text) is not None
    for mark in (_ANY_MARK if sure else _MARK).finditer(text):
        start, end = mark.span()
        kind = _kind(mark.group()) if sure or mark.group()[:2] != "{{" else "value"
        if kind != "value":
            line_start = text.rfind("\n", 0, start) + 1
            line_end = text.find("\n", end)
            line_end = len(text) if line_end < 0 else line_end + 1
            alone = content <= line_start and not text[max(line_start, min(at, start)) : start].strip()
            if alone and not text[end:line_end].strip():
                start, end = max(line_start, min(at, start)), line_end
        if skipped < 0 and start > at:
            found.append((at, start, True))
            content = start if text[at:start].rpartition("\n")[2].strip() else content
        at = max(end, at)
        if kind == "value":
            if skipped < 0:
                found.append((start, end, False))
                content = end
        elif kind == "close":
            if opened:
                opened.pop()
            skipped = -1 if len(opened) < skipped else skipped
        elif kind == "alternative":
            skipped = len(opened) if skipped < 0 and opened else skipped
        elif kind:
            opened.append(kind)
            skipped = len(opened) if skipped < 0 and kind in _NEVER_HERE else skipped
    if at < len(text) and skipped < 0:
        found.append((at, len(text), True))
    return found


def _kind(tag: str) -> str:
    """`value`, `close`, `alternative`, the word of a statement that opens something, or '' for what gives nothing."""
    found = _STATEMENT.match(tag)
    word = "" if found is None else found.group(1)
    if tag[:2] == "{#" or tag[:3] == "<%#" or tag[:3] == "{{!" or "/*" in tag[:6]:
        return ""
    if tag[:3] == "<%=":
        return "value"
    if word in _ALTERNATIVES or _ELSE.match(tag):
        return "alternative"
    if tag[:2] == "{{" and word[:1] in ("#", "^"):
        return "if"
    if word.startswith("end") or tag[:2] == "{{" and word[:1] == "/" or _BRACE.match(tag):
        return "close" if word not in _NO_CLOSE else ""
    if word in (_OPENING_GO if tag[:2] == "{{" else _OPENING):
        return word
    if tag[:2] == "<%":
        return "block" if _BLOCK.search(tag) else ""
    if tag[:2] == "{{":
        return "" if ":=" in tag else "value"
    return ""


def _split(text: str, parts: list[tuple[int, int, bool]], simple: Regex) -> Iterator[tuple[int, int, bool]]:
    for at, stop, known in parts:
        for mark in simple.finditer(text, at, stop) if known else ():
            start, end = mark.span()
            doubled = mark.group() in _BRACES
            if start + doubled > at:
                yield at, start + doubled, True
            if not doubled:
                yield start, end, False
            at = end
        if at < stop:
            yield at, stop, known
