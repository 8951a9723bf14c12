"""Secrets: which names hold one, and where one is written out in a text.

`secrets_in` finds what is a secret beyond doubt: tokens that tell by their form what they are, and random values of the
names of secrets. `covered` and `masked` are for reports of scripts and of logs, and redact also what may be one.
"""

import re
from collections.abc import Iterator
from functools import lru_cache
from math import log2
from typing import NamedTuple

from sbatchlint.source.regex import Regex
from sbatchlint.source.text import Source, Span

COVER = "*"
MASK = "***"

# --- names -----------------------------------------------------------------------------------------------

_SERVICES = (
    "WANDB|HF|HUGGING_?FACE|OPENAI|ANTHROPIC|GEMINI|COHERE|MISTRAL|REPLICATE|TOGETHER|COMET|NEPTUNE|NGC|AZURE|AWS|S3"
    "|GITHUB|GITLAB|STORAGE|ACCOUNT|ENCRYPTION|SIGNING|LICENSE"
)
_NAMES = Regex(
    rf"(?:\w*_)?(?:TOKEN|API_?KEY|SECRET(?:_?(?:ACCESS_?)?KEY)?|ACCESS_KEY|AUTH_KEY|(?:{_SERVICES})_KEY|PASSWORD|PASSWD"
    r"|PASSPHRASE|CREDENTIALS?|JWT|(?:GH|GITHUB|GITLAB)_PAT|(?:DB|SQL|MYSQL|PG|POSTGRES|MONGO|REDIS|USER|LDAP)_PASS)"
    r"|SSHPASS|(?:\w+_)?PW",
    re.IGNORECASE,
)
# Tokens of a text, and words that merely end so.
_TEXT_TOKENS = Regex(
    r"(?:\w*_)?(?:EOS|BOS|PAD|MASK|SEP|CLS|UNK|SPECIAL|IMAGE|VIDEO|AUDIO|START|STOP|END|NEW|PER|NUM|N|MAX|MIN|TRAIN|EVAL"
    r"|PROMPT|NEXT|LAST|FIRST|CANCEL|REMOVE|EXTRA|STOPPING|TRIGGER|CHAT|ENTITY|CLASS)_TOKEN",
    re.IGNORECASE,
)

# Given out for one use, or for minutes.
_SHORT_LIVED = Regex(
    r"(?:\w*_)?(?:REGISTRATION|REMOVAL|REMOVE|ENROLL?MENT|JOIN|BOOTSTRAP|SESSION|TEMP(?:ORARY)?|ONE_?TIME|SINGLE_?USE)_\w+",
    re.IGNORECASE,
)


@lru_cache(maxsize=1024)
def is_secret(name: str) -> bool:
    """Whether a variable of this name holds a secret."""
    return _NAMES.fullmatch(name) is not None and _TEXT_TOKENS.fullmatch(name) is None and name != "token"


def is_short_lived(name: str) -> bool:
    """Whether a secret of this name is worth little once it was used."""
    return _SHORT_LIVED.fullmatch(name) is not None


# --- forms -----------------------------------------------------------------------------------------------

# Tokens that tell by their form what they are: how they begin, which characters follow, how many of these a token has,
# and how many are enough for a log not to show them.
_FORMS = (
    ("hf_", "[A-Za-z0-9]", "{30,}", "{16,}"),
    ("gh[opsur]_", "[A-Za-z0-9]", "{36,}", "{16,}"),
    ("github_pat_", r"\w", "{50,}", "{16,}"),
    ("glpat-", r"[\w-]", "{20,}", "{16,}"),
    ("nvapi-", r"[\w-]", "{40,}", "{16,}"),
    ("(?:AKIA|ASIA)", "[A-Z0-9]", "{16}", "{16}"),
    ("xox[abeprs]-", r"[\w-]", "{20,}", "{10,}"),
    ("AIza", r"[\w-]", "{35}", "{30,}"),
    ("npm_", "[A-Za-z0-9]", "{36}", "{30,}"),
    ("pypi-", r"[\w-]", "{50,}", "{30,}"),
    ("dop_v1_", "[a-f0-9]", "{64}", "{30,}"),
    ("wandb_v1_", r"\w", "{30,}", "{16,}"),
    ("local-", "[a-f0-9]", "{40}", "{40}"),
)
_WHOLE = "|".join(begin + characters + size for begin, characters, size, _ in _FORMS)
_TOKENS = Regex(
    rf"(?<![\w-])(?:{_WHOLE}|sk-(?:proj|ant|or|svcacct|lf)-[\w-]{{20,}}|sk-[A-Za-z0-9]{{32,}}|dckr_pat_[\w-]{{20,}}"
    r"|r8_[A-Za-z0-9]{37}|gsk_[A-Za-z0-9]{40,}|eyJ[\w-]{10,}\.eyJ[\w-]{10,}\.[\w-]{10,}"
    r"|hooks\.slack\.com/services/T\w+/B\w+/\w{16,})(?![\w-])"
    r"|-----BEGIN[ ][A-Z ]{0,20}PRIVATE[ ]KEY-----\s+[A-Za-z0-9+/=\s]{40,}"
)
_PARTS = "|".join(begin + characters + size for begin, characters, _, size in _FORMS)
_TOKENS_OF_LOGS = Regex(rf"\b(?:{_PARTS}|(?:sk|pk|rk)-[\w-]{{16,}}|eyJ[\w-]{{8,}}\.[\w-]{{8,}}\.[\w-]{{8,}})")
# How the names of secrets end, in small letters.
_END_OF_NAME = Regex(r"(?:token|key|secret|pass(?:w(?:or)?d|phrase)|credentials?|jwt|_pa(?:t|ss)|pw)(?=['\"\s=:])")
# What is set to such a name, or follows such an option: a whole secret, and for reports what may be one, which is no
# expansion, path or switch, and nothing to be filled in.
_SIGN = r"(?P<sign>['\"]?\s?[=:]\s?|[ \t]+)['\"]?"
_VALUE = r"[A-Za-z0-9+/_.=~-]"
_SET = Regex(rf"{_SIGN}(?P<value>{_VALUE}{{16,200}})")
_LOOSE = Regex(rf"{_SIGN}(?P<value>[^\s'\"`$<({{\[,;&|)]{{4,400}})")
_NO_VALUE = Regex(
    r"(?i)[/~.@-].*|\d{1,4}|none|null|false|true|auto|yes|empty|[^/]*/.*|.*(?:your|example|changeme|xxx).*"
)
_NAME = Regex(r"(?:--)?[A-Za-z_][\w-]*\Z")
_OTHERS = (
    Regex(r"wandb[ \t]+login(?:[ \t]+--\w+)*[ \t]+['\"]?(?P<value>[a-f0-9]{40})\b"),
    Regex(rf"earer[ \t]+(?P<value>{_VALUE}{{16,400}})"),
    Regex(rf"://[^\s:/@]{{0,100}}:(?P<value>{_VALUE}{{16,200}})@"),
)
# Words that no random text has, and what stands for a value.
_MADE_UP = Regex(
    r"(?i)your|example|dummy|fake|sample|placeholder|replace|change|insert|token|secret|passw|here|todo|fixme|test|xxx|\.\.\."
    r"|12345|01234|abcde|aaaa|0000"
)
# Digits of base 16, as many as keys have: of these nobody makes words, but may count them up.
_HEXADECIMAL = Regex(r"(?=.*[0-9])(?=.*[a-f])(?:[0-9a-f]{32}|[0-9a-f]{40}|[0-9a-f]{64})")
_COUNTED = Regex(r"12345|01234|abcde|(.)\1{7}")
_UUID = Regex(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")


class Secret(NamedTuple):
    """Where a secret stands, and the variable or option that has it; '' where it stands by itself."""

    span: Span
    name: str


@lru_cache(maxsize=8)
def secrets_in(string: str) -> tuple[Secret, ...]:
    """The secrets of a text beyond doubt, by place; none overlaps another."""
    found: dict[int, Secret] = {}
    for match in _TOKENS.finditer(string):
        body = re.sub(r"^[A-Za-z0-9]{1,10}[_-](?:v1_|pat_|proj-|ant-|or-)?", "", match[0])
        if "PRIVATE KEY" in body or _MADE_UP.search(body) is None and _entropy(body) > 3:
            found[match.start()] = Secret(Span(*match.span()), _owner(string, match.start()))
    for name, span in _values(_SET, string):
        if _is_random(string[span.start : span.end]):
            found.setdefault(span.start, Secret(span, name))
    for pattern in _OTHERS:
        for match in pattern.finditer(string):
            if _is_random(match["value"]):
                found.setdefault(match.start("value"), Secret(Span(*match.span("value")), ""))
    kept: list[Secret] = []
    for _, secret in sorted(found.items()):
        if not kept or secret.span.start >= kept[-1].span.end:
            kept.append(secret)
    return tuple(kept)


def _values(pattern: Regex, string: str) -> Iterator[tuple[str, Span]]:
    """What is assigned to names of secrets, or follows options of such a name; the names and the places."""
    for start, end in _ends_of_names(string):
        match = pattern.match(string, end)
        name = None if match is None else _NAME.search(string, max(start - 60, 0), end)
        if match is None or name is None or match["sign"].isspace() and name[0][:2] != "--":
            continue
        if is_secret(name[0].lstrip("-").replace("-", "_")):
            yield name[0], Span(*match.span("value"))


@lru_cache(maxsize=8)
def _ends_of_names(string: str) -> list[tuple[int, int]]:
    """Where the name of a secret may end: the range of its last word."""
    lowered = string.lower()
    return [match.span() for match in _END_OF_NAME.finditer(lowered if len(lowered) == len(string) else string)]


def _owner(string: str, at: int) -> str:
    """The variable that is set to what stands at a place."""
    match = re.search(r"([A-Za-z_]\w*)=['\"]?\Z", string[max(at - 80, 0) : at])
    return "" if match is None else match[1]


def _is_random(value: str) -> bool:
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


def _entropy(string: str) -> float:
    """How many bits a character of a text has, by how often each occurs."""
    size = len(string)
    return -sum(count / size * log2(count / size) for count in map(string.count, set(string))) if size else 0.0


@lru_cache(maxsize=64)
def redacted(string: str) -> str:
    """A text of the same length in which secrets, and what may be one, are redacted."""
    spans = [secret.span for secret in secrets_in(string)]
    values = _values(_LOOSE, string)
    spans += [span for _, span in values if _NO_VALUE.fullmatch(string[span.start : span.end]) is None]
    if not spans:
        return string
    parts: list[str] = []
    at = 0
    for start, end in sorted(spans):
        if end > at:
            start = max(start, at)
            parts += string[at:start], re.sub(r"[^\r\n]", COVER, string[start:end])
            at = end
    return "".join((*parts, string[at:]))


def redacted_source(source: Source) -> Source:
    """A source as reports show it."""
    if source.is_plain:
        return source
    text = redacted(source.text)
    source.is_plain = text == source.text
    return source if source.is_plain else source.with_text(text)


# --- logs ------------------------------------------------------------------------------------------------

_ADDRESS = Regex(r"(\b[a-z][a-z0-9+.-]{1,20}://[^\s:/@]{0,200}:)[^\s/@]{1,200}(?=@)")
_BEARER = Regex(r"(\b(?:bearer|basic|token)[ :]+)(?=[\w.~+/=-]*\d)[\w.~+/=-]{12,}", re.IGNORECASE)
_NAMED = (
    Regex(r"(['\"]?)(?P<name>[A-Za-z_][\w-]{1,80})\1\s?[=:]\s?['\"]?(?P<value>[^\s'\",;&]{4,400})"),
    Regex(r"(?<!\S)--(?P<name>[A-Za-z][\w-]{1,60})[= ]['\"]?(?P<value>[^\s'\"-][^\s'\"]{3,400})"),
)
_KEY = Regex(r"(-----BEGIN [A-Z ]*PRIVATE KEY-----).*")


def masked(string: str) -> str:
    """A text from a log with every secret in it replaced."""
    string = _KEY.sub(rf"\1{MASK}", _TOKENS_OF_LOGS.sub(MASK, string))
    string = _BEARER.sub(rf"\1{MASK}", _ADDRESS.sub(rf"\1{MASK}", string))
    for pattern in _NAMED:
        string = pattern.sub(_without_value, string)
    return string


def _without_value(match: re.Match[str]) -> str:
    if not is_secret(match["name"].replace("-", "_")) or match["value"].startswith(("$", MASK)):
        return match[0]
    return match[0].removesuffix(match["value"]) + MASK
