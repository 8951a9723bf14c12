"""Fields of cookies, forms and headers: several names and values within one pair of quotes."""

import re
from collections.abc import Iterator
from typing import NamedTuple

from sbatchlint.source.regex import Regex
from sbatchlint.source.text import Span

_QUOTED = r"(?:'(?P<single>[^'\n]{1,4000})'|\\?\"(?P<double>[^\"\n]{1,4000})\")"
_FORM = Regex(
    rf"(?:(?<!\S)-[dF]|--(?:post-|body-)?data(?:-raw|-ascii|-binary|-urlencode)?|--form(?:-string)?)[ \t=]*{_QUOTED}"
)
_OF_FORM = Regex(r"(?:(?<![^'\"])|(?<=&))(?P<name>[\w.\[\]-]{1,80})=(?P<value>[^&<@\s\\][^&\\]{0,4000})")
# The header with all of its cookies, and the option of curl for them.
_COOKIES = Regex(
    r"(?i:\b(?:set-)?cookie:)[ \t]*(?P<header>[^\n'\"]{1,4000})"
    rf"|\bcurl\b(?:[^\n;|&\\]|\\\r?\n){{0,300}}?[ \t](?:-b|--cookie)[ \t=]*{_QUOTED}"
)
_OF_COOKIE = Regex(r"(?:(?<=;)[ \t]*|(?<=: )|(?<=:)|(?<=['\"]))(?P<name>[\w.-]{1,80})=(?P<value>[^\s;'\"]{1,4000})")
_ATTRIBUTES = frozenset({"path", "domain", "expires", "max-age", "samesite", "version"})
# `Digest username="ada", response="…"`, `AWS4-HMAC-SHA256 Credential=…, Signature=…`
_CREDENTIALS = Regex(
    r"(?i)\bauthorization\\?['\"]?\]?[ \t]*[:=,][ \t]*['\"]?[a-z][\w-]{2,40}[ \t]+(?P<rest>[^\n]{1,4000})"
)
_OF_CREDENTIALS = Regex(
    r"(?i)\b(?P<name>response|credential|auth|c?nonce|opaque|key|mac|(?:oauth_)?(?:token|signature|nonce|consumer_key))="
    r"\\?['\"]?(?P<value>[^\s'\",;\\]{1,4000})"
)


# A password has a short name beside that of a user: in the query of an address, in a form, in several options of curl,
# in words that another program makes a form of, and in a dictionary.
_USERS = r"(?:u|usr|usern?|user_?name|user_?id|login|uid|account|email)"
_SHORT = r"(?:p|pw|pass|psw|pwd|passw|passwd)"
_FILLED = r"[^\s&'\"`<>]"
_PAIRS = Regex(
    rf"(?:[?'\"]|(?<=[?'\"\s&]))[\w.-]{{1,40}}={_FILLED}{{0,400}}(?:&[\w.-]{{1,40}}={_FILLED}{{0,400}}){{1,12}}"
)
_PAIR = Regex(r"(?:\A|(?<=[?&'\"]))(?P<name>[\w.-]{1,40})=(?P<value>[^&]{0,400})")
_OPTION = r"(?:(?<!\S)-[dF]|--(?:post-|body-)?data(?:-raw|-ascii|-binary|-urlencode)?|--form(?:-string)?)[ \t=]*['\"]?"
_SEVERAL = Regex(rf"{_OPTION}(?P<name>[\w.-]{{1,40}})=(?P<value>[^\s&'\"]{{1,400}})")
_CLOSE, _MOST = 200, 12
_OF_WORDS = (
    rf"\b(?:https?|xhs?)[ \t][^\n;|]{{0,300}}?[ \t]{_USERS}==?[^\s'\"]{{1,80}}['\"]?[ \t]+['\"]?{_SHORT}==?"
    r"(?P<value>[^\s'\"]{1,400})"
)
_OF_DICTIONARY = (
    rf"['\"]{_USERS}['\"][ \t]*[:,=][ \t]*['\"][^'\"\n]{{0,80}}['\"][ \t]*[,)(]{{1,4}}[ \t]*"
    rf"['\"]{_SHORT}['\"][ \t]*[:,=][ \t]*['\"](?P<value>[^'\"\n]{{1,400}})['\"]"
)
_WORDS = (
    (("http ", "https ", "xh ", "xhs "), Regex(f"(?i){_OF_WORDS}")),
    (("'p", '"p'), Regex(f"(?i){_OF_DICTIONARY}")),
)
_IS_USER, _IS_SHORT = Regex(rf"(?i){_USERS}"), Regex(rf"(?i){_SHORT}")
_PAGE = Regex(r"[0-9]{1,3}|")


class Field(NamedTuple):
    """A value of a name. `is_form`: what the name means is to be told by itself; else the value is a secret."""

    name: str
    value: str
    span: Span
    is_form: bool = False


def fields(string: str) -> Iterator[Field]:
    """The fields that a text has in cookies, in forms and in headers that authorize."""
    yield from _beside_users(string)
    if "=" not in string:
        return
    lowered = string.lower()
    if "-d" in string or "-F" in string or "--form" in string:
        for start, end in _contents(_FORM, string):
            for match in _OF_FORM.finditer(string, start, end):
                yield Field(match["name"].strip("[]"), match["value"], Span(*match.span("value")), True)
    if "cookie" in lowered or "curl" in string:
        for start, end in _contents(_COOKIES, string):
            for match in _OF_COOKIE.finditer(string, start, end):
                if match["name"].lower() not in _ATTRIBUTES:
                    yield Field(match["name"], match["value"], Span(*match.span("value")))
    if "authorization" in lowered:
        for start, end in _contents(_CREDENTIALS, string):
            for match in _OF_CREDENTIALS.finditer(string, start, end):
                yield Field(match["name"], match["value"], Span(*match.span("value")))


def _beside_users(string: str) -> Iterator[Field]:
    """Values of names such as `p`, which are passwords where a field beside them names a user."""
    for match in _PAIRS.finditer(string) if "&" in string else ():
        yield from _passwords(list(_PAIR.finditer(string, match.start() + (match[0][0] in "?'\""), match.end())))
    close: list[re.Match[str]] = []
    for match in _SEVERAL.finditer(string) if "-d" in string or "-F" in string or "--form" in string else ():
        if close and (match.start() - close[-1].end() > _CLOSE or len(close) > _MOST):
            yield from _passwords(close)
            close = []
        close.append(match)
    yield from _passwords(close)
    lowered = string.lower()
    for signs, pattern in _WORDS:
        for match in pattern.finditer(string) if any(map(lowered.__contains__, signs)) else ():
            yield from _password(match)


def _passwords(found: list[re.Match[str]]) -> Iterator[Field]:
    if any(_IS_USER.fullmatch(each["name"]) for each in found):
        for match in found:
            if _IS_SHORT.fullmatch(match["name"]) is not None:
                yield from _password(match)


def _password(match: re.Match[str]) -> Iterator[Field]:
    if _PAGE.fullmatch(match["value"]) is None:
        yield Field("password", match["value"], Span(*match.span("value")))


def _contents(pattern: Regex, string: str) -> Iterator[tuple[int, int]]:
    """Where the fields of what a pattern matches are; its last group has them."""
    for match in pattern.finditer(string):
        yield match.span(match.lastgroup or 0)
