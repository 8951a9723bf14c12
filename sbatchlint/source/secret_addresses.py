"""Secrets in addresses: what is between `://`, or the options of curl for a user, and the host."""

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from sbatchlint.source.regex import Regex
from sbatchlint.source.secret_placeholders import is_filled_in_later
from sbatchlint.source.text import Span

# What is written as the password where the user's name is the token: nothing, or a word of the service.
NO_PASSWORD = r"(?:[xX_-]{0,3}|x(?:-[a-z]{1,12}){1,3}|(?:api[_-]?)?token|oauth2?|unused|ignored|none|blank|anything)"
_PASSWORDS = (
    Regex(r"://[^\s:/@'\"]{0,200}:(?P<value>[^\s'\"`/]+|(?!\d+/)[^\s'\"`]{1,100}?)@(?!sha\d+:)"),
    # a mail address as the user's name
    Regex(r"://[^\s:/@'\"]{1,80}@[^\s:/@'\"]{1,80}:(?P<value>[^\s:/@'\"`]{1,400})@"),
)
_PASSWORD_OF_IMAGE = Regex(r"image[ =]['\"]?[^\s:/@'\"]{1,200}:(?P<value>(?!\d+/|//)[^\s'\"@]{1,2000})@(?!sha\d+:)")
LONG_USER = Regex(r"://(?P<value>[^\s:/@'\"]{20,400})(?=[:@])")
_USER = Regex(rf"://(?P<value>[^\s:/@'\"`?#,;&|()\\]{{1,400}})(?P<password>:{NO_PASSWORD})?@(?=[\w$\[{{<*-])")
# The scheme of what asks for a token where others have a user's name.
_OF_WEB = Regex(r"(?i)(?:https?|\})\Z")
# What may be a user's name, which is no secret elsewhere. pip redacts it as well, as it may be a token.
_NAME = Regex(r"[A-Za-z]{1,20}(?:[._-][A-Za-z]{1,20}){0,2}[0-9]{0,4}")


class InAddress(NamedTuple):
    """What an address has as a secret, and whether it is one elsewhere, too."""

    value: str
    span: Span
    is_known: bool = True


@lru_cache(maxsize=8)
def in_addresses(string: str) -> tuple[InAddress, ...]:
    """Passwords of addresses, and users' names that are tokens or may be one."""
    found: list[InAddress] = []
    if "image" in string and "@" in string:
        found += map(_of, _PASSWORD_OF_IMAGE.finditer(string))
    if "://" in string:
        for pattern in _PASSWORDS:
            found += map(_of, pattern.finditer(string))
        found += _lone_users(string)
    return tuple(found)


def _lone_users(string: str) -> Iterator[InAddress]:
    """The names of users without a password."""
    for match in _USER.finditer(string):
        name, password = match["value"], match["password"]
        scheme = string[max(match.start() - 12, 0) : match.start()]
        if not is_filled_in_later(name) and (password is not None or _OF_WEB.search(scheme) is not None):
            # with a word of a service as its password, the name is surely the token
            is_known = _NAME.fullmatch(name) is None or password is not None and len(password) > 1
            yield _of(match, is_known)


def _of(match: re.Match[str], is_known: bool = True) -> InAddress:
    return InAddress(match["value"], Span(*match.span("value")), is_known)
