"""Secrets that are written out in a text: tokens that tell by their form what they are, and values of their names.

`secrets_in` finds what is a secret beyond doubt. `covered` is for reports, and also covers values that may be one: what
stands behind the name of a secret, if it is not plainly something to be filled in.
"""

import re
from collections.abc import Iterator
from functools import lru_cache
from math import log2
from typing import NamedTuple

from sbatchlint.source.regex import Regex
from sbatchlint.source.secret_names import is_secret
from sbatchlint.source.text import Source, Span

COVER = "*"


class Secret(NamedTuple):
    """Where a secret stands, and the variable or option that has it; '' where it stands by itself."""

    span: Span
    name: str


# A text without any of these has no token; see the forms below. A pattern stands where several begin alike, or where
# ordinary words begin so.
_SIGNS = (*("_pat_", "glpat-", "nvapi-", "xox", "pypi-", "_v1_", "=local-", "eyJ", "PRIVATE KEY", "hooks.slack.com"),)
_MORE_SIGNS = tuple(map(Regex, (r"_[A-Za-z0-9]{30}", r"A(?:KIA|SIA|Iza)", r"""sk-(?<=[="' ]sk-)""")))
_TOKENS = Regex(
    r"(?<![\w-])(?:hf_[A-Za-z0-9]{30,}|gh[opsur]_[A-Za-z0-9]{36,}|github_pat_\w{50,}|glpat-[\w-]{20,}"
    r"|sk-(?:proj|ant|or|svcacct|lf)-[\w-]{20,}|sk-[A-Za-z0-9]{32,}|nvapi-[\w-]{40,}|(?:AKIA|ASIA)[A-Z0-9]{16}"
    r"|xox[abeprs]-[\w-]{20,}|AIza[\w-]{35}|npm_[A-Za-z0-9]{36}|pypi-[\w-]{50,}|dckr_pat_[\w-]{20,}|dop_v1_[a-f0-9]{64}"
    r"|wandb_v1_\w{30,}|local-[a-f0-9]{40}|r8_[A-Za-z0-9]{37}|gsk_[A-Za-z0-9]{40,}"
    r"|eyJ[\w-]{10,}\.eyJ[\w-]{10,}\.[\w-]{10,}|hooks\.slack\.com/services/T\w+/B\w+/\w{16,})(?![\w-])"
    r"|-----BEGIN[ ][A-Z ]{0,20}PRIVATE[ ]KEY-----\s+[A-Za-z0-9+/=\s]{40,}"
)
_VALUE = r"[A-Za-z0-9+/_.=~-]"
# How the names of secrets end: plain letters, which are looked for first, and the rest as a pattern. What stands before
# it counts where a value follows.
_ENDS = (
    *(("token", ""), ("key", ""), ("secret", ""), ("pass", "(?:w(?:or)?d|phrase)"), ("credential", "s?")),
    *(("jwt", ""), ("_pa", "(?:t|ss)"), ("pw", "")),
)
_SIGNS_OF_NAMES = [(begin, Regex(rf"{begin}{rest}['\"\s=:]")) for begin, rest in _ENDS]
_END = f"(?:{'|'.join(map(''.join, _ENDS))})"
_SET = Regex(rf"(?P<name>(?i:{_END}))(?:['\"]?\s?[=:]\s?|[ \t]+)['\"]?(?P<value>{_VALUE}{{16,200}})")
_OTHERS = (
    ("wandb", Regex(r"wandb[ \t]+login(?:[ \t]+--\w+)*[ \t]+['\"]?(?P<value>[a-f0-9]{40})\b")),
    ("earer", Regex(rf"earer[ \t]+(?P<value>{_VALUE}{{16,400}})")),
    ("://", Regex(rf"://[^\s:/@]{{0,100}}:(?P<value>{_VALUE}{{16,200}})@")),
)
# Words that end so, by their beginnings, and others that stand for a secret. One pattern for all of them takes longer.
_WORDS = [
    *((each, Regex(rf"{each}\b")) for each in ("token", "key", "secret", "pw", "jwt", "pat", "login")),
    *(("pass", Regex(r"pass(?:w(?:or)?d|phrase)?\b")), ("credential", Regex(r"credentials?\b"))),
]
# Words that no random text has, and what stands for a value.
_MADE_UP = Regex(
    r"(?i)your|example|dummy|fake|sample|placeholder|replace|change|insert|token|secret|passw|here|todo|fixme|test|xxx|\.\.\."
    r"|12345|01234|abcde|aaaa|0000"
)
# Digits of base 16, as many as keys have: of these nobody makes words, but may count them up.
_HEXADECIMAL = Regex(r"(?=.*[0-9])(?=.*[a-f])(?:[0-9a-f]{32}|[0-9a-f]{40}|[0-9a-f]{64})")
_COUNTED = Regex(r"12345|01234|abcde|(.)\1{7}")
_UUID = Regex(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
# What may be a secret behind such a name, for reports: no expansion, no path, no switch, nothing to be filled in.
_LOOSE = Regex(rf"(?P<name>(?i:{_END}))(?:['\"]?\s?[=:]\s?|[ \t]+)['\"]?(?P<value>[^\s'\"`$<({{\[,;&|)]{{4,400}})")
_NAME = Regex(r"(?:--)?[A-Za-z_][\w-]*\Z")
_NO_VALUE = Regex(
    r"(?i)[/~.@-].*|\d{1,4}|none|null|false|true|auto|yes|empty|[^/]*/.*|.*(?:your|example|changeme|xxx).*"
)


@lru_cache(maxsize=8)
def secrets_in(text: str) -> tuple[Secret, ...]:
    """The secrets of a text, by place; none overlaps another."""
    found: dict[int, Secret] = {}
    if any(map(text.__contains__, _SIGNS)) or any(sign.search(text) is not None for sign in _MORE_SIGNS):
        for match in _TOKENS.finditer(text):
            body = re.sub(r"^[A-Za-z0-9]{1,10}[_-](?:v1_|pat_|proj-|ant-|or-)?", "", match[0])
            if "PRIVATE KEY" in body or _MADE_UP.search(body) is None and _entropy(body) > 3:
                found[match.start()] = Secret(Span(*match.span()), _owner(text, match.start()))
    for name, span in _values(_SET, text):
        if is_random(text[span.start : span.end]):
            found.setdefault(span.start, Secret(span, name))
    for sign, pattern in _OTHERS:
        for match in pattern.finditer(text) if sign in text else ():
            if is_random(match["value"]):
                found.setdefault(match.start("value"), Secret(Span(*match.span("value")), ""))
    kept: list[Secret] = []
    for _, secret in sorted(found.items()):
        if not kept or secret.span.start >= kept[-1].span.end:
            kept.append(secret)
    return tuple(kept)


def _values(pattern: Regex, text: str) -> Iterator[tuple[str, Span]]:
    """What is assigned to names of secrets, or stands behind options of such a name; the names and the places."""
    for match in filter(None, [pattern.match(text, at) for at in _ends_of_names(text)]):
        end = match.start("value")
        name = _NAME.search(text, max(match.start() - 60, 0), match.end("name"))
        if name is None or not re.search("[=:]", text[match.end("name") : end]) and name[0][:2] != "--":
            continue
        if is_secret(name[0].lstrip("-").replace("-", "_")):
            yield name[0], Span(*match.span("value"))


_in_small_letters = lru_cache(maxsize=8)(str.lower)  # that of a script is asked by several


@lru_cache(maxsize=8)
def _beginnings(text: str) -> frozenset[str]:
    """How those words begin that end the names of secrets, as far as a text has such beginnings, in letters of any
    case: token, key, secret, pass, credential, jwt, _pa, pw."""
    small = _in_small_letters(text)
    return frozenset([begin for begin, _ in _ENDS if begin in small])


@lru_cache(maxsize=8)
def _ends_of_names(text: str) -> list[int]:
    """Where something may be the end of the name of a secret, in no order."""
    begun = _beginnings(text)
    if not begun:
        return []
    lowered = _in_small_letters(text)
    lowered = lowered if len(lowered) == len(text) else text
    signs = [sign for begin, sign in _SIGNS_OF_NAMES if begin in begun]
    return [found.start() for sign in signs for found in sign.finditer(lowered)]


def speaks_of_secrets(text: str) -> bool:
    """Whether a text has a word that ends as the name of a secret may, in letters of any case, or speaks of a login."""
    small = text.lower()
    return any(word.search(small) is not None for _, word in _WORDS)


@lru_cache(maxsize=1)  # for all jobs in a file
def script_speaks_of_secrets(text: str) -> bool:
    """The same of a whole script, which is asked for the beginnings of such words anyway."""
    begun, small = _beginnings(text) | {"pat", "login"}, _in_small_letters(text)
    return any(word.search(small) is not None for begin, word in _WORDS if begin in begun)


def _owner(text: str, at: int) -> str:
    """The variable that is set to what stands at a place."""
    match = re.search(r"([A-Za-z_]\w*)=['\"]?\Z", text[max(at - 80, 0) : at])
    return "" if match is None else match[1]


def is_random(value: str) -> bool:
    """Whether a text of 16 characters or more was drawn, and not made up by somebody: no words, no path."""
    if _HEXADECIMAL.fullmatch(value) is not None:
        return _COUNTED.search(value) is None and _entropy(value) > 2.2
    if _MADE_UP.search(value) is not None:
        return False
    if _UUID.fullmatch(value) is not None:
        return _entropy(value) > 2.5
    if "/" in value and (len(value) != 40 or value[0] == "/" or _entropy(value) < 4):
        return False
    longest = max(re.split(r"[-_.~/+=]", value), key=len) if "/" not in value else value
    mixed = re.search(r"\d", longest) is not None and re.search(r"[A-Za-z]", longest) is not None
    if len(longest) < 16 or not mixed:
        return False
    return _entropy(value) > (3 if re.fullmatch(r"[0-9a-f]+", value) else 3.5)


def _entropy(text: str) -> float:
    """How many bits a character of a text has, by how often each occurs."""
    size = len(text)
    return -sum(count / size * log2(count / size) for count in map(text.count, set(text))) if size else 0.0


@lru_cache(maxsize=64)
def covered(text: str) -> str:
    """A text of the same length in which secrets, and what may be one, are covered."""
    spans = [secret.span for secret in secrets_in(text)]
    values = _values(_LOOSE, text)
    spans += [span for _, span in values if _NO_VALUE.fullmatch(text[span.start : span.end]) is None]
    if not spans:
        return text
    parts: list[str] = []
    at = 0
    for start, end in sorted(spans):
        if end > at:
            start = max(start, at)
            parts += text[at:start], re.sub(r"[^\r\n]", COVER, text[start:end])
            at = end
    return "".join((*parts, text[at:]))


def covered_source(source: Source) -> Source:
    """A source as reports show it."""
    if source.is_plain:
        return source
    text = covered(source.text)
    source.is_plain = text == source.text
    return source if source.is_plain else source.with_text(text)
