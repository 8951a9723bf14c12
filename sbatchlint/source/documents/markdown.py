"""The blocks of code of a Markdown document.

markdown-it-py follows CommonMark and says in which lines a fence stands; what comes before its text in each of them, in
a list or a quotation, follows from comparing the two. Text that is indented by four blanks is taken for what it is in
MkDocs' tabs and notes, and in MDX: as what is around it.
"""

import re
from collections.abc import Iterator, Sequence

from markdown_it import MarkdownIt
from markdown_it.rules_block import StateBlock, html_block
from markdown_it.rules_block.html_block import HTML_SEQUENCES
from markdown_it.token import Token

from sbatchlint.source.documents.blocks import Block, language_of
from sbatchlint.source.text import Source, Span

# What opens a note or a tab of MkDocs, or a component of MDX; to CommonMark, a paragraph that indented text goes on.
_NOTE = re.compile(r"[ \t]*(?:!!!|\?\?\?\+?|===)[ \t]")
_TAG = re.compile(r"[ \t]*</?[A-Za-z][^`]*>[ \t]*\Z")
# Directives of MyST whose text is Markdown again: `{note}`, `{tab-set}`.
_NESTED = re.compile(r"\{[\w:-]+\}")
_CODE = re.compile(r"\{(?:code|code-block|sourcecode|code-cell|prompt)\}")
_OPTION = re.compile(r"[ \t]*:[\w-]+:|[ \t]*-{3,}[ \t]*$")
# A number that becomes a mark beside the line, and is not copied with it: `--nodes=4  # (1)!`, `--nodes=4 (1)`.
_CALLOUT = re.compile(r"[ \t]+(?:#[ \t]*)?\(\d{1,2}\)!?[ \t]*\Z")
# White space to a regular expression, and a part of a value to CommonMark.
_NO_SPACE = re.compile(r"[^\S\x00-\x20]")
# No document has fences inside fences so deep.
_DEEPEST = 8


def blocks_of_markdown(source: Source, is_mdx: bool) -> list[Block]:
    parser = MarkdownIt("commonmark")
    parser.disable(["code", "html_block"] if is_mdx else ["code"])
    parser.block.ruler.at("html_block", _html_block)
    lines = [source.line(row) for row in range(1, source.rows + 1)]
    return list(_blocks(parser, source, lines, _TAG if is_mdx else _NOTE, 0))


def _html_block(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """The rule of markdown-it-py, but for tags with such white space: to match them takes it exponential time."""
    line = state.src[state.bMarks[start] + state.tShift[start] : state.eMarks[start]]
    if _NO_SPACE.search(line) and not any(opening.search(line) for opening, _, _ in HTML_SEQUENCES[:-1]):
        return False
    return html_block(state, start, end, silent)


def _blocks(
    parser: MarkdownIt, source: Source, lines: Sequence[Span], opening: re.Pattern[str], depth: int
) -> Iterator[Block]:
    text = source.text
    # what it would take for the end of a line, or replace
    parts = [text[line.start : line.end].replace("\r", " ").replace("\0", " ") for line in lines]
    written = "\n".join("" if opening.match(part) else part for part in parts) + "\n"
    tokens: list[Token] = []
    parser.block.parse(written, parser, {}, tokens)
    for token in tokens:
        if token.type != "fence" or token.map is None:
            continue
        inner = _inner(text, lines[token.map[0] + 1 : token.map[1]], token.content)
        if inner is None:
            continue
        label = token.info.strip()
        if _NESTED.match(label) and _CODE.match(label) is None and " " not in label.partition("}")[0]:
            if depth < _DEEPEST:
                yield from _blocks(parser, source, inner, opening, depth + 1)
                continue
        yield Block(language_of(label), _without_options(text, inner) if label.startswith("{") else inner)


def _inner(text: str, lines: Sequence[Span], content: str) -> list[Span] | None:
    """Where the lines of a fence's text stand; None where one of them does not stand there as it is (tabs)."""
    parts = content.split("\n")[:-1] if content.endswith("\n") else content.split("\n")
    if not content or len(parts) > len(lines):
        return None if content else []
    found = []
    for line, part in zip(lines, parts):
        start = line.end - len(part)
        if start < line.start or text[start : line.end].replace("\r", " ").replace("\0", " ") != part:
            return None
        callout = _CALLOUT.search(text, start, line.end)
        found.append(Span(start, line.end if callout is None else callout.start()))
    return found


def _without_options(text: str, lines: list[Span]) -> list[Span]:
    """The lines of a directive after its options."""
    at = 0
    while at < len(lines) and _OPTION.match(text, lines[at].start, lines[at].end):
        at += 1
    return lines[at:]
