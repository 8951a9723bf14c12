"""Suppresses findings by ignore comments, and writes such comments.

A comment at the end of a line, or on its own line above it, applies to the whole command of that line: its continued
lines, multi-line strings and heredocs, which cannot contain comments. A comment on its own line also applies to the
comments that follow it, such as `# SBATCH --time=1`.

A comment in a heredoc or a string counts as well, since that may be a program, but is never reported itself.
"""

from bisect import bisect_right
from collections.abc import Iterable
from typing import NamedTuple

from sbatchlint import COMMENT_MARK
from sbatchlint.bash.syntax.parser import parse
from sbatchlint.bash.syntax.tree import Heredoc, Literal, Program, Simple, Word
from sbatchlint.bash.syntax.walk import nodes_of
from sbatchlint.diagnostics import Diagnostic
from sbatchlint.registry import nearest, registry
from sbatchlint.source.edits import Edit, apply
from sbatchlint.source.ignores import VERBS, IgnoreComment, Selector, ignore_comments
from sbatchlint.source.regex import Regex
from sbatchlint.source.text import Source, Span

# A code or a hyphenated name; a single word may belong to the reason.
_BARE_NAME = Regex(r"[\s:=,(\[\]]*(?P<name>(?i:SB\d{3}|[a-z]+(?:-\w+)+)(?![\w-]))[\])]?")
_BETWEEN = Regex(r"[\s;]+")
# Of the names in a file's comments, so many are compared with those that there are.
MOST_NEAR = 40

# A comment that applies to more rows than this is not listed by row.
_MANY = 50


class Rows(NamedTuple):
    """The first and the last row of something."""

    first: int
    last: int


class Applied(NamedTuple):
    """The findings that are not suppressed, how many are, the comments of the script, and their unused selectors.

    `comments` and `unused`: without those in heredocs and strings.
    """

    kept: list[Diagnostic]
    ignored: int
    comments: tuple[IgnoreComment, ...]
    unused: tuple[tuple[IgnoreComment, Selector], ...]


def apply_ignores(source: Source, found: list[Diagnostic], ran: frozenset[str]) -> Applied:
    """The findings after applying the comments of this file and of those it includes.

    `ran`: the codes of the checks that ran.
    """
    files: dict[str, _ByRow] = {}
    used: dict[Span, set[str]] = {}  # the codes that a comment switched off
    kept = []
    for diagnostic in found:
        path = diagnostic.source.path if diagnostic.reached else ""
        if path not in files:
            files[path] = _ByRow(ignored_rows(diagnostic.source if diagnostic.reached else source))
        switching = [
            comment
            for comment, rows in files[path].near(diagnostic)
            if diagnostic.code in files[path].codes[comment.span] and _is_within(rows, diagnostic)
        ]
        if not switching:
            kept.append(diagnostic)
        elif not diagnostic.reached:
            for comment in switching:
                used.setdefault(comment.span, set()).add(diagnostic.code)
    own = files[""].comments if "" in files else ignored_rows(source)
    texts = _texts(source) if own else []
    own = [each for each in own if not any(text.start <= each[0].span.start < text.end for text in texts)]
    unused: list[tuple[IgnoreComment, Selector]] = []
    for comment, rows in own:
        if rows.first <= rows.last:
            off = used.get(comment.span, set())
            lists = {selector.codes for selector in comment.selectors or ()}  # few, of however many selectors
            idle = {codes for codes in lists if codes & ran and not codes & off}
            unused += [(comment, selector) for selector in comment.selectors or () if selector.codes in idle]
    return Applied(kept, len(found) - len(kept), tuple(comment for comment, _ in own), tuple(unused))


class _ByRow:
    """Comments by the rows they apply to, those of many rows separately."""

    def __init__(self, comments: list[tuple[IgnoreComment, Rows]]) -> None:
        self.comments = comments
        self.codes = {
            comment.span: frozenset[str]().union(*{selector.codes for selector in comment.selectors or ()})
            for comment, _ in comments
        }
        self._wide: dict[str, list[tuple[IgnoreComment, Rows]]] = {}  # by the code they suppress
        self._by_row: dict[int, list[tuple[IgnoreComment, Rows]]] = {}
        for comment in comments:
            first, last = comment[1]
            if last - first >= _MANY:
                for code in self.codes[comment[0].span]:
                    self._wide.setdefault(code, []).append(comment)
            else:
                for row in range(first, last + 1):
                    self._by_row.setdefault(row, []).append(comment)

    def near(self, diagnostic: Diagnostic) -> list[tuple[IgnoreComment, Rows]]:
        """The comments that may apply to the rows of a finding."""
        source, span = diagnostic.source, diagnostic.span
        first, last = source.row(span.start), source.row(max(span.end - 1, span.start))
        if last - first >= _MANY:
            return self.comments
        return [
            *self._wide.get(diagnostic.code, ()),
            *(each for row in range(first, last + 1) for each in self._by_row.get(row, ())),
        ]


def _is_within(rows: Rows, diagnostic: Diagnostic) -> bool:
    """Whether a finding touches the rows that a comment applies to."""
    source, span = diagnostic.source, diagnostic.span
    return source.row(span.start) <= rows.last and source.row(max(span.end - 1, span.start)) >= rows.first


def ignored_rows(source: Source) -> list[tuple[IgnoreComment, Rows]]:
    """The comments of a file with the rows they apply to; rows (1, 0) for none."""
    known: dict[str, Selector] = {}
    comments = [_resolved(source, comment, known) for comment in ignore_comments(source)]
    commands = Commands(source) if comments else None
    following = _next_rows(source) if comments else []
    found = []
    enabled: dict[str, int] = {}  # the row of the next comment that enables something again
    for comment in reversed(comments):
        row = source.row(comment.span.start)
        rows = Rows(1, 0)
        if comment.verb == "ignore":
            assert commands is not None
            rows = commands.rows(following[row] if comment.own_line else row)
            rows = Rows(min(row, rows.first), rows.last)  # comments between may be at fault themselves
        elif comment.verb == "ignore-file" and comment.at_head:
            rows = Rows(1, source.rows)
        elif comment.verb == "disable":
            ends = [enabled[selector.text] for selector in comment.selectors or () if selector.text in enabled]
            rows = Rows(row, min(ends, default=source.rows))
        elif comment.verb == "enable":
            enabled.update((selector.text, row) for selector in comment.selectors or ())
        found.append((comment, rows))
    return found[::-1]


def _texts(source: Source) -> list[Span]:
    """The heredocs and strings with a comment mark, which bash takes for text; without those that are batch scripts."""
    spans = []
    for word in nodes_of(_parsed(source), Word):
        if "#SBATCH" not in source.text[word.start : word.end]:
            spans += [Span(part.start, part.end) for part in word.parts if isinstance(part, Literal)]
    return [span for span in spans if COMMENT_MARK in source.slice(span)]


def _parsed(source: Source) -> Program:
    return parse(source.text.replace("\r\n", " \n"))  # as long as before


def _resolved(source: Source, comment: IgnoreComment, known: dict[str, Selector]) -> IgnoreComment:
    """A comment with the checks that it names; `known`: what was looked up for the comments before it."""
    if comment.verb not in VERBS:
        return comment._replace(selectors=(), near=nearest(comment.verb.lower(), VERBS) if comment.verb else "")
    if not comment.selectors or not comment.closed:
        return comment._replace(selectors=comment.selectors and (), meant=_meant(source, comment))
    for selector in comment.selectors:
        if selector.text not in known:  # each is looked up once
            known[selector.text] = _with_codes(selector, len(known) < MOST_NEAR)
    return comment._replace(selectors=tuple(known[each.text]._replace(span=each.span) for each in comment.selectors))


def _meant(source: Source, comment: IgnoreComment) -> tuple[Span, str] | None:
    """The intended list of a comment whose codes or names follow its verb without brackets; None for other comments."""
    start = at = comment.verb_span.end
    names: list[str] = []
    while match := _BARE_NAME.match(source.text, at, comment.span.end):
        if not _with_codes(Selector(match["name"], Span(*match.span("name")))).codes:
            break
        names.append(match["name"])
        at = match.end()
    certain = names and source.text[at : at + 1] != ","
    return (Span(start, at), f"[{', '.join(names)}]") if certain else None


def _with_codes(selector: Selector, with_near: bool = True) -> Selector:
    parts = _BETWEEN.split(selector.text)
    found = [registry().matching(part) for part in parts]
    if None in found:
        near = registry().nearest(selector.text) if with_near and len(parts) == 1 else ""
        return selector._replace(near=near)
    codes = frozenset(entry.code for entry in found[0] or ())
    return selector._replace(codes=codes) if len(parts) == 1 else selector._replace(near=", ".join(parts))


def _next_rows(source: Source) -> list[int]:
    """For each row, the next one that is neither blank nor a comment (a directive is not one); itself without one."""
    found = list(range(source.rows + 1))
    following = 0
    for row in range(source.rows, 0, -1):
        found[row] = following or row
        line = source.slice(source.line(row)).strip()
        if line and (not line.startswith("#") or line.startswith("#SBATCH")):
            following = row
    return found


class Commands:
    """The rows of each command."""

    def __init__(self, source: Source) -> None:
        program = _parsed(source)
        spans = []
        for command in nodes_of(program, Simple):
            end = max((heredoc.body.end for heredoc in nodes_of(command, Heredoc)), default=command.end)
            spans.append((source.row(command.start), source.row(max(end - 1, command.end - 1, command.start))))
        self._rows: list[Rows] = []
        for first, last in sorted(spans):
            if self._rows and first <= self._rows[-1].last:
                self._rows[-1] = Rows(self._rows[-1].first, max(last, self._rows[-1].last))
            else:
                self._rows.append(Rows(first, last))
        self._firsts = [rows.first for rows in self._rows]

    def rows(self, row: int) -> Rows:
        """The rows of the command that a row belongs to; the row alone if it belongs to none."""
        index = bisect_right(self._firsts, row) - 1
        known = self._rows[index] if index >= 0 else Rows(0, 0)
        return known if row <= known.last else Rows(row, row)


def with_ignores(source: Source, found: Iterable[Diagnostic], reason: str) -> Source:
    """The file with comments that suppress these findings, each on its own line above the command it applies to."""
    commands = Commands(source)
    names: dict[int, set[str]] = {}
    for diagnostic in found:
        row = commands.rows(source.row(diagnostic.span.start)).first
        while row > 1 and _is_continued(source, row - 1):
            row -= 1
        names.setdefault(row, set()).add(diagnostic.name)
    following = _next_rows(source)
    present = {
        row: comment
        for comment in ignore_comments(source)
        if comment.own_line and comment.verb == "ignore" and comment.selectors and comment.closed
        for row in (source.row(comment.span.start) + 1, following[source.row(comment.span.start)])
    }
    edits = []
    for row, wanted in sorted(names.items()):
        listed = ", ".join(sorted(wanted))
        comment = present.get(row)
        if comment is not None and comment.selectors:
            at = comment.selectors[-1].span.end
            edits.append(Edit(Span(at, at), f", {listed}"))
            continue
        line = source.line(row)
        text = source.slice(line)
        indentation = text[: len(text) - len(text.lstrip())]
        verb = "ignore"
        at = line.start
        if row == 1 and text.startswith("#!"):  # nothing can be above it
            verb, at = "ignore-file", source.full_line(1).end
        line_added = f"{indentation}# sbatchlint: {verb}[{listed}] {reason}".rstrip()
        edits.append(Edit(Span(at, at), line_added + source.newline))
    return source.with_text(apply(source.text, edits))


def _is_continued(source: Source, row: int) -> bool:
    """Whether a row ends in a backslash that continues the line."""
    line = source.slice(source.line(row)).rstrip("\r")
    return (len(line) - len(line.rstrip("\\"))) % 2 == 1 and not line.lstrip().startswith("#")
