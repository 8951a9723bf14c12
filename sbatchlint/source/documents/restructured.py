"""The blocks of code of a document in reStructuredText: `.. code-block:: bash`, and those after `::`.

Both are indented text, so that reading lines is enough to know every character's place.
"""

import re
from collections.abc import Sequence

from sbatchlint.source.documents.blocks import Block
from sbatchlint.source.text import Source, Span

_DIRECTIVE = re.compile(r"([ \t]*)(?:[-*][ \t]+)?\.\.[ \t]+(code-block|code|sourcecode|prompt|highlight)::[ \t]*(\S*)")
_COMMENT = re.compile(r"[ \t]*\.\.(?:[ \t]|$)")
_OPTION = re.compile(r"[ \t]*:[\w-]+:")


def blocks_of_restructured_text(source: Source) -> list[Block]:
    text = source.text
    lines = [source.line(row) for row in range(1, source.rows + 1)]
    found: list[Block] = []
    default = ""
    at = 0
    while at < len(lines):
        line = lines[at]
        at += 1
        directive = _DIRECTIVE.match(text, line.start, line.end)
        if directive is not None:
            language = directive[3].lower()
            if directive[2] == "highlight":
                default = language
                continue
            while at < len(lines) and _OPTION.match(text, lines[at].start, lines[at].end):
                at += 1
            indent = len(directive[1])
        elif text[line.start : line.end].rstrip().endswith("::") and not _COMMENT.match(text, line.start, line.end):
            language = default
            indent = len(text[line.start : line.end]) - len(text[line.start : line.end].lstrip())
        else:
            continue
        end = _end_of_block(text, lines, at, indent)
        body = _dedented(text, lines[at:end])
        if body:
            found.append(Block("" if language in ("none", "text") else language, body))
        at = end if body is not None else at
    return found


def _end_of_block(text: str, lines: Sequence[Span], at: int, indent: int) -> int:
    """The index of the first line that is neither blank nor indented further."""
    end = at
    for number in range(at, len(lines)):
        written = text[lines[number].start : lines[number].end]
        if written.strip():
            if len(written) - len(written.lstrip()) <= indent:
                break
            end = number + 1
    return end


def _dedented(text: str, lines: Sequence[Span]) -> list[Span] | None:
    """The lines without what all of them begin with; None where tabs and blanks are mixed there."""
    written = [text[line.start : line.end] for line in lines]
    margins = [each[: len(each) - len(each.lstrip())] for each in written if each.strip()]
    if not margins:
        return []
    margin = min(margins, key=len)
    if not all(each.startswith(margin) for each in margins):
        return None
    return [Span(min(line.start + len(margin), line.end), line.end) for line in lines]
