"""Dollars in text that another shell expands first: the body of a heredoc without quotes, a string in double quotes."""

import re

from sbatchlint.source.edits import Edit
from sbatchlint.source.regex import Regex
from sbatchlint.source.text import Span

# An expansion that no backslash precedes: its name, or the bracket after the dollar.
_EXPANSION = Regex(r"(?<!\\)\$(?:\w+|\{\w*|\(|[?!@*#])")
_CODE = Regex(r"`[^`]*`")


def escape_dollars(string: str, kept: str, after: str = "") -> str:
    """The string with a backslash before each expansion that `kept`, text of the file, does not have as well.

    What the file has is for the outer shell, or only moves. `after`: the character that the string is written after.
    """
    found = set(_EXPANSION.findall(kept))

    def escaped(match: re.Match[str]) -> str:
        return match.group() if match.group() in found else f"\\{match.group()}"

    first = 1 if after == "\\" and string[:1] == "$" else 0
    return string[:first] + _EXPANSION.sub(escaped, string[first:])


def escape_advice(message: str, line: str) -> str:
    """A message whose advice, which follows the first `; `, escapes the dollars in code that is to be written.

    `line`: the text that the message is about.
    """
    happens, separator, advice = message.partition("; ")
    return happens + separator + _CODE.sub(lambda match: escape_dollars(match.group(), line), advice)


def escape_edits(edits: list[Edit], text: str, inside: Span) -> list[Edit]:
    """The edits, of which those within a range of the text escape the dollars that they bring there."""
    removed = "\n".join(text[each.span.start : each.span.end] for each in edits)
    return [
        Edit(each.span, escape_dollars(each.content, removed, text[each.span.start - 1 : each.span.start]))
        if inside.start <= each.span.start and each.span.end <= inside.end
        else each
        for each in edits
    ]
