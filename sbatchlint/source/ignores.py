"""Comments that switch checks off: `# sbatchlint: ignore[SB107] reason`, and what is written in them."""

import re
from typing import NamedTuple

from sbatchlint import COMMENT_MARK
from sbatchlint.source.regex import Regex
from sbatchlint.source.text import Source, Span

# `ignore`: the line, or the next one; `ignore-file`: the file; `disable` up to `enable`: a range.
VERBS = ("ignore", "ignore-file", "disable", "enable")

_COMMENT = Regex(r"(?:^|(?<=[\s;&|()]))#+[ \t]*sbatchlint:[^\n]*", re.MULTILINE)
_BODY = Regex(
    r"#+[ \t]*sbatchlint:[ \t]*(?P<verb>[\w-]*)[ \t]*(?P<list>\[(?P<names>[^\]]*)(?P<closing>\]?))?(?P<reason>.*)"
)
_NAME = Regex(r"[^\s,](?:[^,]*[^\s,])?")


class Selector(NamedTuple):
    """A code, a name, a prefix of codes or a group, as written in a comment.

    `codes`: the checks that it stands for; none where nothing is called so, and then `near` is a name like it, if any.
    """

    text: str
    span: Span
    codes: frozenset[str] = frozenset()
    near: str = ""


class IgnoreComment(NamedTuple):
    """One such comment. `span` reaches from its `#` to its last character.

    `verb`: as written, and `near` the known one that is like it where it is unknown; `selectors` is None where no list
    is given; `closed`: whether its bracket is. `own_line`: nothing else is on its line; `at_head`: it is before the
    first command. `meant`: where the names are not in brackets, or the bracket is not closed, what to write after the
    verb, and in place of what.
    """

    span: Span
    verb: str
    verb_span: Span
    selectors: tuple[Selector, ...] | None
    closed: bool
    own_line: bool
    at_head: bool
    near: str = ""
    meant: tuple[Span, str] | None = None


def ignore_comments(source: Source) -> list[IgnoreComment]:
    """The comments of a file, in their order. Also those in strings and heredocs: they may be scripts themselves."""
    if COMMENT_MARK not in source.text:
        return []
    text = source.text
    head = _end_of_head(text)
    found = []
    for match in _COMMENT.finditer(text):
        start = match.start()
        written = match[0].rstrip()
        body = _BODY.match(written)
        assert body is not None  # it begins as the other expression does
        selectors = None
        if body["list"] is not None:
            at = start + body.start("names")
            names = list(_NAME.finditer(body["names"]))
            selectors = tuple(Selector(each[0], Span(at + each.start(), at + each.end())) for each in names)
        found.append(
            IgnoreComment(
                Span(start, start + len(written)),
                body["verb"],
                Span(start + body.start("verb"), start + body.end("verb")),
                selectors,
                body["closing"] != "",
                not text[source.line_of(start).start : start].strip(),
                start < head,
            )
        )
    return found


def _end_of_head(text: str) -> int:
    """Where the first line begins that is neither blank nor a comment."""
    at = 0
    for line in text.split("\n"):
        if line.strip() and not line.lstrip("\ufeff \t").startswith("#"):
            return at
        at += len(line) + 1
    return at
