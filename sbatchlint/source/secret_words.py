"""Where a value ends: at its quote, with its word as a shell reads it, or with its line in a file of settings."""

from bisect import bisect
from functools import lru_cache

from sbatchlint.source.regex import Regex

_QUOTED = Regex(
    r"(?:\$|[fFrRbBuU]{1,2}(?=\\?['\"]))?(?P<quote>\\?['\"])(?P<value>(?:\\[^'\"\n]|(?!(?P=quote))[^\n\\])+)(?P=quote)"
)
_BARE = Regex(
    r"(?:['\"]{1,2}(?=['\"][^\s'\"()\]},;]))?['\"]?(?P<value>(?:\$\{[^}\n]{0,200}\}|\$\([^)\n]{0,200}\)|[^\s'\"`;&|<>(){},\\]|\\[^nrt\s'\"]|,(?!\s|[A-Z_]+\b|\w+=))+)"
)
_OF_SETTING = Regex(r"(?:'{3}|\"{3})?(?P<value>[^\s'\"`<>{}]+?)(?=[,;]?(?:\s|['\"`<>{}]|\Z))")
# A value in double quotes that has some itself, after a backslash.
_WITH_QUOTES = Regex(
    r"(?:(?:\$|[fFrRbBuU]{1,2})?\"(?P<value>(?:\\[^\n\"]|[^\"\\\n]){0,400}\\\"(?:\\[^\n]|[^\"\\\n]){0,400})\""
    r"|\$'(?P<ansi>(?:\\[^\n']|[^'\\\n]){0,400}\\'(?:\\[^\n]|[^'\\\n]){0,400})')(?=['\s,;:&|)}\]<>]|\Z)"
)
# What a shell adds to a word after the end of its quotes, or within them with a backslash; a quote that is doubled.
_MORE_OF_WORD = Regex(
    r"(?:'(?=[^'\n]{0,200}[A-Za-z0-9])[^'\s;|&()<>,][^'\s;|&()<>]{0,200}'|\"(?=[^\"\n]{0,200}[A-Za-z0-9])[^\"\s;|&()<>,][^\"\s;|&()<>]{0,200}\""
    r"|\\[ \t](?=[^\s\\'\"])|[A-Za-z0-9_+@%^!#=/.-])+"
)
_ESCAPED_WORD = Regex(r"(?=(?:\\['\"]|[\w+@%^!#=/.-]){0,200}\\[^\w\r\n'\"])(?:\\[^\r\n]|[\w+@%^!#=/.-]){1,400}")
_DOUBLED = Regex(r"(?:'(?:\"'\"|\\')?'[^'\n]{1,400})+(?=')")
# What goes on after a sign that ends a word of a shell, but none in quotes or in a heredoc: no tag, no end of one, no
# field of a form, and nothing that a command within quotes does.
_MORE_AFTER_SIGN = Regex(
    r"(?:<(?![/!<&]|\w{1,20}(?:/|>(?!\w)))|>(?![<>/$&|])|&(?![&>]|[\w.-]{1,80}=)|;(?![;&|]|[\w.-]{1,80}=))[^\s'\"$`\\<>]"
    r"(?:[^\s'\"<`\\]|<(?![/!])){0,400}"
)
_OPENING = Regex(r"(?:^|(?<=[\s=(,\[{:+]))[$frbuFRBU]?(?P<quote>['\"])(?=\S)")
_BEFORE = 300
# The rest of a line of settings, without a comment.
_MORE_OF_LINE = Regex(r"(?:[ \t]+(?!#)|(?=[<>&](?!/)))[^\s=:][^\n#]{0,400}?(?=[ \t]*(?:#|\r?\n|\Z))")
_HEREDOC = Regex(r"<<-?[ \t]*['\"\\]?(?P<end>\w{1,40})")
_END_OF_HEREDOC = Regex(r"(?m)^[ \t]*(?P<end>\w{1,40})[ \t]*\r?$")


def value_at(string: str, at: int, of_setting: bool = False) -> tuple[str, tuple[int, int]] | None:
    """The value that begins at a place, without its quotes, and where it is."""
    match = _WITH_QUOTES.match(string, at) if string.find("\\", at, at + 400) >= 0 else None
    if match is not None:
        group = match.lastgroup or "value"
        return match[group], match.span(group)
    match = _QUOTED.match(string, at) or (_OF_SETTING if of_setting else _BARE).match(string, at)
    return None if match is None else (match["value"], match.span("value"))


def to_end_of_word(string: str, span: tuple[int, int]) -> tuple[int, int]:
    """A value with what a shell reads as the rest of its word, as in `'a'"b"c`, or what a doubled quote continues."""
    start, end = span
    quote = string[end : end + 1]
    if quote and quote in ("<>&" if string[start - 1 : start] == "=" else "<>&;"):
        more = _MORE_AFTER_SIGN.match(string, end)
        return span if more is None or not _is_within(string, start, more.end()) else (start, more.end())
    is_quoted = quote in ("'", '"') and string[start - 1 : start] == quote
    is_inner = string[max(start - 2, 0) : start - 1] in ("\\", "'", '"')  # of quotes within quotes
    more = _DOUBLED.match(string, end) if is_quoted and quote == "'" and not is_inner else None
    more = more or (_ESCAPED_WORD.match(string, end) if quote == "\\" else None)
    more = more or _MORE_OF_WORD.match(string, end + is_quoted)
    return span if more is None else (start, more.end())


@lru_cache(maxsize=8)
def _heredocs(string: str) -> list[tuple[int, int]]:
    """Where the heredocs of a text begin and end, in order; what is within another is left out."""
    ends: dict[str, list[int]] = {}
    for match in _END_OF_HEREDOC.finditer(string) if "<<" in string else ():
        ends.setdefault(match["end"], []).append(match.start())
    found: list[tuple[int, int]] = []
    for match in _HEREDOC.finditer(string) if ends else ():
        places = ends.get(match["end"], [])
        at = bisect(places, match.end())
        if at < len(places) and (not found or match.start() >= found[-1][1]):
            found.append((match.end(), places[at]))
    return found


def _is_in_heredoc(string: str, at: int) -> bool:
    found = _heredocs(string)
    number = bisect(found, (at, len(string))) - 1
    return number >= 0 and at < found[number][1]


def _is_within(string: str, start: int, end: int) -> bool:
    """Whether a range is in quotes that are opened before it on its line, or in a heredoc."""
    line = string[max(string.rfind("\n", max(start - _BEFORE, 0), start) + 1, start - _BEFORE, 0) : start]
    quotes = [match for match in _OPENING.finditer(line) if line.find(match["quote"], match.end()) < 0]
    closing = string.find(quotes[0]["quote"], end, end + _BEFORE) if quotes else -1
    return closing >= 0 and "\n" not in string[end:closing] or _is_in_heredoc(string, start)


def to_end_of_line(string: str, span: tuple[int, int]) -> tuple[int, int]:
    """A value in a heredoc with the rest of its line, without a comment."""
    more = _MORE_OF_LINE.match(string, span[1]) if _is_in_heredoc(string, span[0]) else None
    return span if more is None else (span[0], more.end())
