"""Directive lines, and the words that sbatch reads in them.

Follows `get_argument()` and `_opt_batch_script()` of Slurm's src/sbatch/opt.c; differences between releases are noted
where they matter. Offsets are those of the text that is read; spans are those of the file.
"""

from typing import NamedTuple, Protocol

from sbatchlint.slurm.getopt import UNKNOWN
from sbatchlint.source.records import Record
from sbatchlint.source.regex import Regex
from sbatchlint.source.templates import PLAIN_SLOTS
from sbatchlint.source.text import Span

MAGIC = ("#SBATCH", "#SLURM")
# isspace() of the C locale; it does not count a no-break space.
BLANKS = " \t\v\f\r"

# A placeholder of a template, which stands for something unknown.
TEMPLATED = Regex(r"\{\{.{0,500}?\}\}+|\{%.{0,500}?%\}|\{#.{0,500}?#\}|<%.{0,500}?%>")
# A placeholder on its own line, which may become directives; control lines of Mako.
_ALONE = Regex(
    r"@@?[A-Za-z_]\w*@@?|__[A-Z][A-Z0-9_]*__|%%[\w-]+%%|\{[A-Za-z_]\w*\}|\$\{?[A-Za-z_]\w*\}?"
    r"|%[ \t]*(?:(?:if|elif|for)\b.*:|else:|endif|endfor)|" + "|".join(PLAIN_SLOTS.values())
)
# `{% if x %}#SBATCH --time={{ x }}{% endif %}`
_INLINE = Regex(r"[ \t]*(?:(?>\{%.{0,500}?%\}|<%.{0,500}?%>)[ \t]*)+(?=#SBATCH\b)")
_INLINE_END = Regex(r"[ \t]*(?:(?:\{%[-+]?\s*end\w*\s*[-+]?%\}|<%-?\s*(?:end|\})\s*-?%>)[ \t]*)+\Z")


class Readable(Protocol):
    """A text whose offsets map to the file: a whole file, or a script inside one."""

    @property
    def string(self) -> str: ...

    @property
    def whole(self) -> str: ...

    def span(self, start: int, end: int) -> Span: ...


class Token(NamedTuple):
    """A word as sbatch reads it. `positions`: the offset of each character; None if they are contiguous."""

    text: str
    start: int
    end: int
    positions: tuple[int, ...] | None = None

    def offset(self, index: int) -> int:
        """The offset of character `index`; the end of the word for the index after its last character."""
        if index >= len(self.text):
            return self.end
        return self.start + index if self.positions is None else self.positions[index]

    def part(self, index: int) -> tuple[int, int]:
        """The range of the text from character `index` on, with enclosing quotes."""
        if index == 0 or self.positions is None:
            return self.start + index, self.end
        return self.positions[index - 1] + 1, self.end


class LineFault(Record):
    """Why sbatch rejects a line: `unmatched-quote` or `leading-colon`, with its message."""

    kind: str
    start: int
    end: int
    message: str


class DirectiveLine:
    """A line that begins with the magic word.

    `span`: without its newline, `full`: with it. `words_start`: the offset after the magic word. `comment`: the
    trailing comment from its `#` on, None if there is none. `component`: of a heterogeneous job, from 0; -1 for a line
    that sbatch does not read. `separator`: a `#SBATCH hetjob` line. `dropped`: the text after an empty word, which
    sbatch drops; None if there is none.
    """

    def __init__(self, string: Readable, magic: str, start: int, end: int, full_end: int, component: int) -> None:
        self.text = string
        self.magic = magic
        self.start = start
        self.end = end
        self.full_end = full_end
        self.words_start = start + len(magic)
        self.component = component
        self.tokens: tuple[Token, ...] = ()
        self.comment_start = -1
        self.comment: Span | None = None
        self.dropped: Span | None = None
        self.fault: LineFault | None = None
        self.separator = False

    @property
    def span(self) -> Span:
        return self.text.span(self.start, self.end)

    @property
    def full(self) -> Span:
        return self.text.span(self.start, self.full_end)

    @property
    def offset(self) -> int:
        """The offset of the line in the file."""
        return self.span.start

    def __repr__(self) -> str:
        return f"DirectiveLine({[token.text for token in self.tokens]})"


class Words(Record):
    """The words of a line, the offsets of its comment and of the part that sbatch drops, and why reading failed."""

    tokens: tuple[Token, ...]
    comment: int | None
    dropped: int | None
    fault: LineFault | None


def magic_of(string: str, start: int) -> str | None:
    """The magic word at the beginning of the line at `start`; None if there is none."""
    for magic in MAGIC:
        if string.startswith(magic, start):
            return magic
    return None


def separator_at(string: str, at: int, end: int) -> bool:
    """Whether the word `hetjob` or `packjob`, in any case, is at this offset (releases since 21.08)."""
    for word in ("hetjob", "packjob"):
        after = at + len(word)
        if string[at:after].lower() == word and (after >= end or string[after] in BLANKS):
            return True
    return False


def read_words(string: str, start: int, end: int, escaped_space: bool = True, strict_separator: bool = True) -> Words:
    """The words between `start` and `end`.

    `escaped_space`: a backslash makes a space part of the word (since 24.05; before, the word ends there).
    `strict_separator`: a word `hetjob` ends the line (since 21.08).
    """
    tokens: list[Token] = []
    at = start
    while True:
        before = at
        while at < end and string[at] in BLANKS:
            at += 1
        if at >= end:
            return Words(tuple(tokens), None, None, None)
        if strict_separator and string[at] in "hHpP" and separator_at(string, at, end):
            return Words(tuple(tokens), None, at, None)
        if string[at] == ":":
            shown = string[before if tokens else at : end]
            fault = LineFault("leading-colon", at, end, f"Unexpected `:` in [{shown}]")
            return Words(tuple(tokens), None, None, fault)
        token, fault_at = _word(string, at, end, escaped_space)
        if fault_at is not None:
            quote = string[fault_at]
            shown = string[before if tokens else at : end]
            fault = LineFault("unmatched-quote", fault_at, end, f"Unmatched `{quote}` in [{shown}]")
            return Words(tuple(tokens), None, None, fault)
        if not token.text:
            if string[at] == "#":
                return Words(tuple(tokens), at, None, None)
            # An empty word ends the line: get_argument() returns NULL for it as at the end.
            return Words(tuple(tokens), None, token.end, None)
        tokens.append(token)
        at = token.end


def _word(string: str, start: int, end: int, escaped_space: bool) -> tuple[Token, int | None]:
    """One word, and the offset of an unclosed quote, None if there is none."""
    characters: list[str] = []
    positions: list[int] = []
    quote = ""
    quote_at = at = start
    escaped = False
    while at < end and (quote or string[at] not in BLANKS):
        character = string[at]
        if escaped:
            escaped = False
        elif character == "\\":
            at += 1
            if escaped_space and at < end and string[at] == " ":
                characters.append(" ")
                positions.append(at)
                at += 1
            else:
                escaped = True
            continue
        elif quote:
            if character == quote:
                quote = ""
                at += 1
                continue
        elif character in "\"'":
            quote = character
            quote_at = at
            at += 1
            continue
        elif character == "#":
            break
        if character in "{<":
            placeholder = TEMPLATED.match(string, at, end)
            if placeholder is not None:
                characters.append(UNKNOWN)
                positions.append(at)
                at = placeholder.end()
                continue
        characters.append(character)
        positions.append(at)
        at += 1
    at = min(at, end)
    text = "".join(characters)
    side_by_side = len(text) == at - start
    return Token(text, start, at, None if side_by_side else tuple(positions)), (quote_at if quote else None)


def inline_directive(string: str, start: int, end: int) -> tuple[int, int] | None:
    """The start and end of a directive in a line that begins with template statements; None if there is none."""
    if string[start:end].lstrip(BLANKS)[:2] not in ("{%", "<%"):
        return None
    found = _INLINE.match(string, start, end)
    if found is None:
        return None
    closing = _INLINE_END.search(string, found.end(), end)
    return found.end(), end if closing is None else closing.start()


def template_end(string: str, first: int, end: int) -> int | None:
    """Where reading continues after a line of only template statements or unknown text; None for other lines.

    `first`, `end`: the line from its first non-whitespace character. A template comment or statement may span several
    lines.
    """
    stripped = string[first:end].rstrip(BLANKS)
    if string[first] not in "{<@_%$" + UNKNOWN and not stripped.startswith("XXX") and "PLACEHOLDER" not in stripped:
        return None
    if _ALONE.fullmatch(stripped) or not TEMPLATED.sub("", stripped).replace(UNKNOWN, "").strip(BLANKS):
        return end
    for opening, closing in (("{#", "#}"), ("{%", "%}"), ("<%", "%>"), ("{{/*", "*/}}")):
        if stripped.startswith(opening) and closing not in stripped:
            close = string.find(closing, end)
            newline = string.find("\n", close) if close >= 0 else -1
            return newline + 1 if newline >= 0 else len(string)
    return None
