"""Fields of cookies, forms and headers: several names and values within one pair of quotes."""

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


class Field(NamedTuple):
    """A value of a name. `is_form`: what the name means is to be told by itself; else the value is a secret."""

    name: str
    value: str
    span: Span
    is_form: bool = False


def fields(string: str) -> Iterator[Field]:
    """The fields that a text has in cookies, in forms and in headers that authorize."""
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


def _contents(pattern: Regex, string: str) -> Iterator[tuple[int, int]]:
    """Where the fields of what a pattern matches are; its last group has them."""
    for match in pattern.finditer(string):
        yield match.span(match.lastgroup or 0)
