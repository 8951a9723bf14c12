"""Secrets: where one is written out in a text.

`secrets_in` finds what is a secret beyond doubt: tokens that tell by their form what they are, and random values of the
names of secrets. `redacted` and `masked` are for reports of scripts and of logs, and redact also what may be one; with
`values_in` of a script, these values as well where nothing tells that they are secrets.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from typing import Any, NamedTuple

from sbatchlint.source.regex import Regex
from sbatchlint.source.secret_addresses import LONG_USER, in_addresses
from sbatchlint.source.secret_commands import reaching
from sbatchlint.source.secret_dialogues import PLACES_OF_DIALOGUES
from sbatchlint.source.secret_drawn import MADE_UP, UUID, entropy, is_drawn, is_mixed, is_no_folder, is_random
from sbatchlint.source.secret_fields import fields
from sbatchlint.source.secret_forms import LOOSE_TOKENS, TOKENS
from sbatchlint.source.secret_hooks import in_drawn_hooks, in_hooks
from sbatchlint.source.secret_keys import private_keys
from sbatchlint.source.secret_lines import PLACES_OF_LINES
from sbatchlint.source.secret_names import (
    KEY_NAMES,
    METHODS,
    MORE_NAMES,
    NAMES,
    TEXT_TOKENS,
    is_secret,
    may_name_secret,
    words_of_name,
)
from sbatchlint.source.secret_placeholders import is_placeholder
from sbatchlint.source.secret_places import PLACES, WORDS_OF_SENTENCES
from sbatchlint.source.secret_programs import in_programs
from sbatchlint.source.secret_restatements import addresses_decoded, readings, restated, unquoted
from sbatchlint.source.secret_values import ENOUGH, SHORT, UNLIKE_WORDS, is_expanded, is_looked_for, known
from sbatchlint.source.secret_words import to_end_of_line, to_end_of_word, value_at
from sbatchlint.source.text import Source, Span

COVER = "*"
MASK = "***"

# --- beyond doubt ------------------------------------------------------------------------------------------

# What each token has whose beginning ends so, and few texts have.
_AFTER_UNDERSCORE = Regex(r"_[\w-]{12}")

# How the names of secrets end, in small letters, and what is in each of these.
_KIND = (
    r"db|prod|dev|staging|read|write|ro|rw|base|value|b64|base64|new|old|live|plain|primary|secondary|github|gitlab|hf|wandb"
    r"|openai|anthropic|aws|gcp|azure|slack|docker|npm|pypi|mysql|postgres|redis|mongo|smtp|ldap"
)
_END_OF_NAME = Regex(
    r"(?:token|keys?|secrets?|pass(?:w(?:or)?ds?|phrase|[_-]?code|wrd|wort)?|credentials?|jwt|pat|pw|p?s?wd|auth|dsn|cookie"
    r"|session[_-]?id|(?<=bw_)session|(?<=op_)session_\w{1,40}|macaroon|hmac|signature|(?<=[_-])s(?:as|ig)|(?:access|auth|recovery|backup|otp|mfa)[_-]?code"
    r"|secret[_-]?id|(?:otp|mfa)[_-]?seed|psk|kennwort|mot[_-]?de[_-]?passe|contrasen?a|senha|wachtwoord|parola)"
    rf"(?:[_-]?[0-9]{{1,2}}|[_.-]?(?:{_KIND}))?(?=['\"\\\s=:+\]\[,<>}}*`|])"
)
_IN_NAMES = (
    *("token", "key", "secret", "pass", "credential", "jwt", "pat", "pw", "wd", "auth", "dsn", "cookie", "session"),
    *("hmac", "signature", "sas", "sig", "code", "seed", "psk", "macaroon"),
    *("kennwort", "contrase", "senha", "wachtwoord", "parola"),
)
# What is set to such a name, or follows such an option.
_VALUE = r"[A-Za-z0-9+/_.=~-]"
# A `$` before it is a slip: `KEY=$17a1…` expands $1, and most of the key is there.
_SET = Regex(rf"(?P<sign>['\"]?\s?(?::[=-]|[=:])\s?|[ \t]+)\$?['\"]?\$?(?P<value>{_VALUE}{{16,400}})")
_NUMBERED = Regex(rf"(?i)(?:_?[0-9]{{1,2}}|_(?:{_KIND}))\Z")
_NAME = Regex(r"(?:--)?[A-Za-z_][\w-]*\Z")
_OTHERS = (
    ("wandb", Regex(r"wandb[ \t]+login(?:[ \t]+--\w+)*[ \t]+['\"]?(?P<value>[a-f0-9]{40})\b")),
    ("earer", Regex(rf"earer[ \t]+(?P<value>{_VALUE}{{16,400}})")),
    ("://", Regex(rf"://[^\s:/@]{{0,100}}:(?P<value>{_VALUE}{{16,200}})@")),
)


class Secret(NamedTuple):
    """Where a secret is, and the variable or option that has it; '' where it is by itself."""

    span: Span
    name: str


@lru_cache(maxsize=8)
def secrets_in(string: str) -> tuple[Secret, ...]:
    """The secrets of a text beyond doubt, by place; none overlaps another."""
    found = {
        each.span.start: Secret(each.span, _owner(string, each.span.start))
        for each in private_keys(string)
        if each.is_whole
    }
    for match in _matches(TOKENS, string):
        body = re.sub(r"^[A-Za-z0-9]{1,10}[_-](?:v1_|pat_|proj-|ant-|or-|live_|test_)?", "", match[0])
        if MADE_UP.search(body) is None and entropy(body) > 3:
            found[match.start()] = Secret(Span(*match.span()), _owner(string, match.start()))
    for start, end in _ends_of_names(string):
        set_to = _SET.match(string, end)
        named = None if set_to is None else _NAME.search(string, max(start - 60, 0), end)
        if set_to is None or named is None or set_to["sign"].isspace() and named[0][:2] != "--":
            continue
        if is_secret(named[0].lstrip("-").replace("-", "_")) and is_random(set_to["value"]):
            found.setdefault(set_to.start("value"), Secret(Span(*set_to.span("value")), named[0]))
    for sign, pattern in _OTHERS:
        for match in pattern.finditer(string) if sign in string else ():
            if is_random(match["value"]):
                found.setdefault(match.start("value"), Secret(Span(*match.span("value")), ""))
    kept: list[Secret] = []
    for _, secret in sorted(found.items()):
        if not kept or secret.span.start >= kept[-1].span.end:
            kept.append(secret)
    return tuple(kept)


def _matches(patterns: Iterable[tuple[str, Regex]], string: str) -> Iterator[re.Match[str]]:
    """What patterns match in a text that has their signs."""
    is_long = _AFTER_UNDERSCORE.search(string) is not None
    for sign, pattern in patterns:
        if (is_long or sign[-1] != "_") and sign in string:
            yield from pattern.finditer(string)


@lru_cache(maxsize=8)
def _ends_of_names(string: str) -> list[tuple[int, int]]:
    """Where the name of a secret may end: the range of its last word."""
    lowered = string.lower()
    if not any(map(lowered.__contains__, _IN_NAMES)):
        return []
    return [match.span() for match in _END_OF_NAME.finditer(lowered if len(lowered) == len(string) else string)]


def _owner(string: str, at: int) -> str:
    """The variable that is set to what is at a place."""
    match = re.search(r"([A-Za-z_]\w*)=['\"]?\Z", string[max(at - 80, 0) : at])
    return "" if match is None else match[1]


# --- what reports and logs do not show ---------------------------------------------------------------------

# What is not a pattern, where a name may mean a personal access token as well.
_DRAWN = Regex(r"(?=.{0,40}[0-9])(?=.{0,40}[A-Za-z])[\w.-]{20,}")
_PASSWORDS = Regex(
    # a variable in capitals for a secret has it; a setting or an option may as well name one, or a file of it
    r"(?i:\w*(?:password|passwd|passphrase|\wpass|pwd?))"
    r"|(?!\w*(?:PULL|TLS|DOCKER|K8S|KUBE|REGISTRY)_SECRET)(?:[A-Z0-9]+_)+SECRET|(?:[A-Z0-9]+_)*SECRET_KEY"
)
_LONG_WORD = Regex(r"[_-][A-Za-z0-9]{20}")
_NUMBER = Regex(r"[0-9]{1,5}|[0-9]*\.[0-9]+(?:e-?[0-9]+)?")
# A word that begins like that of a service, and of which a part is drawn.
_PREFIXED = Regex(
    r"(?:(?<![\w./-])|(?<=\w:-))[A-Za-z][A-Za-z0-9]{1,9}[_-](?:[A-Za-z0-9]{1,12}[_-]){0,3}(?P<drawn>[A-Za-z0-9]{20,200})(?![\w/])"
)
_LOOSE_NAME = Regex(r"-{0,2}[A-Za-z_][\w.-]*\Z")
# The name of a variable, or a number: no value of a secret, where no name beside it tells that it is one.
_NO_NAME = Regex(r"[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+|[0-9]{1,5}|[0-9]*\.[0-9]+|(?=.*:)[0-9:]+")
_SHORT_WORD = Regex(r"[A-Z]?[a-z]{3,6}|[A-Z]{4,7}")
# What is between a name and its value.
_SIGN = Regex(
    # `*` and a backquote: `**name**: value` of Markdown; a type, as in `name: str = value`; what a parser calls wrong
    r"\\?['\"*`]{0,2}(?:\]|\[\w{1,40}\])?[ \t]*"
    r"(?::[ \t]*(?:(?:[A-Za-z_][\w.]{0,40}\.)?(?:Optional\[)?(?:str|String|SecretStr|bytes)\b[\w\[\]| \t]{0,30}="
    r"(?:[ \t]*[Ff]ield\((?:default=)?)?|[ \t]+invalid [\w ]{0,40}(?:value|choice):(?=[ \t]))"
    r"|:[-=]|={1,3}|=>|\+=|:(?![/:?+]))"
    r"[ \t]*(?:\((?:[ \t]*\r?\n[ \t]*)?)?(?:(?:&[\w-]{1,40}|!!?[A-Za-z][\w/:.-]{0,40})[ \t]+)?(?=[^\s=~]|~\w)"
    r"|\\?['\"],[^\n()]{0,200}?\bdefault[ \t]*=[ \t]*(?=\\?['\"])"
    r"|\\?['\"]?,?[ \t]*(?:\r?\n[ \t]*)?\\?['\"]?value\\?['\"]?[ \t]*:[ \t]*(?=\S)"
    r"|\\?['\"],[ \t]*(?=\\?['\"])|[ \t]*<-[ \t]*(?=['\"])|[ \t]*<<<[ \t]*|\\?['\"]>(?=[^\s<>])"
    r"|(?:['\"][ \t]+value[ \t]*=|</\w+>\s*<(?:value|string)>"
    r"|['\"]?[ \t]+--(?:value|secret-string|body)[ \t=])[ \t]*(?=\S)"
    r"|[ \t]+(?:\\\r?\n[ \t]*)?"
)
# An option alone on its line, in an array or a list, and the line of its value.
_BEFORE_OPTION = Regex(r"(?:\A|\n)[ \t]*(?:-[ \t]+)?['\"]?\Z")
_NEXT_LINE = Regex(r"['\"]?,?[ \t]*(?:#[^\n]{0,200})?\r?\n[ \t]*(?:-[ \t]+)?(?=[^\s#)]{1,400}[ \t]*(?:[)#]|,?\r?\n))")
# A row of a table.
_NEXT_CELL = Regex(r"[*`]{0,3}[ \t]*\|[ \t]*(?=\S)")
# The same of `<password>…</password>`, and between `$PASSWORD` and what it is compared with.
_END_OF_TAG = Regex(r">(?=[^\s<>])")
_COMPARISON = Regex(
    r"\}?['\"]?[ \t]+(?:[!=]?=[ \t]+(?=(?P<words>[^\s;]{1,400}))|in[ \t\r\n]+\(?(?=(?P<patterns>[^\n;)]{1,400})))"
)
# The words of a loop of such a name.
_LOOP = Regex(r"\b(?:for|select)[ \t]+\Z")
_WORDS = Regex(r"[ \t]+in(?P<words>[ \t]+[^\n;]{1,400})")
_WORD = Regex(
    r"(?<![^\s'\"|])(?P<value>(?<=')[^'\s|]{1,400}(?=')|(?<=\")[^\"\s|$`]{1,400}(?=\")|[\w.+/=~@%:,#!-]+)(?=['\"\s|)]|\Z)"
)
# A default, and commands that print a value as it is written.
_PRINTED = Regex(
    r"['\"]?\$\{\w+:?[-=](?=[^\s}$])"
    r"|['\"]?(?:\$\(|`)[ \t]*(?:(?:echo|printf)[ \t]+(?:(?:--?[neE]*|['\"]?%[sb](?:\\+n)?['\"]?)[ \t]+)*"
    r"|(?:cat|base64|xxd|rev|tr)\b[^\n<)`]{0,80}<<<[ \t]*)(?=\S)"
)
# A substitution of sed before its replacement; words after which a name and its value follow; a format before a value.
_SUBSTITUTION = Regex(r"\bs/(?:\\.|[^/\\\n])*/\Z")
_BEFORE_VALUE = Regex(
    r"(?:\b(?:setenv|setx|ENV|set[ \t]+-\w{0,3}x\w{0,3}"
    r"|printf[ \t]+['\"][^'\"\n]{0,40}%s=['\"]?%s[^\n]{0,20}?['\"]"
    r"|(?P<format>printf[ \t]+-v))|(?<!\S)(?:--arg(?:json)?|--?g?env))"
    r"[ \t]+['\"]?\Z"
)
# A command that sets names to values, and what ends it, perhaps within quotes; a line that is a text; `NAME is`.
_SETS = Regex(r"(?<![\w-])(?:--?)?(?:set|put|config|modify|nmcli)(?![\w-])[^\n;|&]{0,160}\Z")
_SAYS = Regex(r"[^\n]{0,200}(?:\b(?:echo|printf|print)\b|#)")
_END_OF_COMMAND = Regex(r"['\"]{0,2}[ \t]*(?:[;|&)\r\n]|\Z)")
_IS = Regex(r"[ \t]+(?:(?:is|was)[ \t:]+(?=\S)|(?=['\"]))")
_PASSPHRASE = Regex(r"\w*passphrase", re.IGNORECASE)
_REST_OF_LINE = Regex(r"(?P<value>[^\s'\"$#|>][^\n'\"#$]{0,400}?)(?=[ \t]*(?:['\"#\r\n$]|\Z))")
_AFTER_FORMAT = Regex(r"(?:(?:'[^'\n]*'|\"[^\"\n]*\"|[^\s'\"]*)[ \t]+)?")
# What a value is that is written elsewhere, or is to be filled in.
_ELSEWHERE = Regex(
    r"\\?\$(?:\{[^}\n]{0,200}\}|\([^)\n]{0,200}\)?|[0-9]|(?![0-9])\w+|[@*?#!-])|`[^`\n]{0,200}`?|<[^>\n]{0,200}>|\{\{.{0,200}?\}\}|\{[\w.]{0,80}\}|%\(\w{1,80}\)[a-z]?|%\w{2,80}%(?!\w)"
    r"|%[0-9]{0,3}[A-Za-z_](?![0-9A-Za-z])|%[a-z_]{1,80}(?![0-9A-Za-z])|@\w{1,80}@"
)
_NO_VALUE = Regex(
    r"(?i)~(?:[a-z][\w.-]{0,40})?(?:/.*)?|@.*|-.*|\.{1,3}(?:/.*)?|[|>][+-]?[0-9]?|none|null|false|true|auto|yes|no|empty|(?:.*[\W_])?xxx+(?:[\W_].*)?"
    r"|(?:os|config|args|self|cfg|opts|options|params|settings|env)\.\w.*|\w+(?:\.\w+)*[(\[].*"
)
# What begins like an option, a folder or a file, and has a part that nobody gives one of these as its name.
_LED = Regex(r"[-~@]{1,5}(?:%[0-9A-Fa-f]{2}|[ ])*(?P<rest>[^\s/].*)")
_OPTION = Regex(r"-{1,2}(?:[A-Za-z]|[A-Za-z][a-z-]*[0-9]{0,3}(?:=.*)?|[0-9.]+)|-+")
# `docker build --secret id=npmrc,src=f` names where the secret is.
_OF_BUILD = Regex(r"--secret[ \t=]['\"]?(?:id|type)=[\w.-]+\Z")
_PATH = Regex(r"\.{0,2}/.*|[\w.-]+(?:/[\w.-]+)*/?")
# The name of a file that has a secret, or is written to; `--pwd` is a folder as well, and `--auth` a way to log in.
_FILE = Regex(
    r"(?:[\w-]{1,60}\.){1,3}(?:pem|key|crt|cer|pub|ppk|p12|pfx|jks|asc|gpg|age|json|txt|ya?ml|conf|cfg|ini|toml)"
    r"|id_(?:rsa|dsa|ecdsa|ed25519)"
)
_BARE_NAME = Regex(r"(?i)o?auth|pwd")
_SIGNATURE = Regex(r"(?i)(?:\w+_)?(?:s(?:as|ig)|signature)")
_WIDTH = Regex(r"(?i)pw")  # or the width of a patch
# A token of a known form that was typed, and not drawn.
_TYPED = Regex(r"(?i)(?:x{5}|(?<![a-z0-9])(?:your|example|dummy|placeholder|changeme)(?![a-z0-9]))")
_MIXED_CASE = Regex("[a-z][A-Z].*[a-z]")
# A part of a value that nobody wrote as the name of a file.
_DRAWN_PART = Regex(r"(?=[\w+=-]{0,80}[0-9])(?=[\w+=-]{0,80}[A-Za-z])[\w+=-]{16,400}")
# The name of a user before a password, as chpasswd reads them.
_OF_USER = Regex(r"[a-z_][\w.-]{0,31}:[^/].{7,}")
_LONG = 200
# The name of what takes a secret and has no name of its own.
_PASSWORD = "password"


@lru_cache(maxsize=32)
def _spans(string: str) -> list[tuple[int, int]]:
    """Where a text has a secret, or what may be one, in order; none overlaps another."""
    names = [each.span for each in in_addresses(string) if not each.is_known and not _is_elsewhere(each.value)]
    return _merged((*_found(string), *names))


@lru_cache(maxsize=8)
def _found(string: str) -> list[tuple[int, int]]:
    """The same as each sign tells it."""
    found = _found_as_written(string)
    for other in (restated(string), unquoted(string), addresses_decoded(string)):
        if other is not None:
            found = [*found, *other.original(_found_as_written(other.text))]
    return found


def _found_as_written(string: str) -> list[tuple[int, int]]:
    found: list[tuple[int, int]] = [secret.span for secret in secrets_in(string)]
    found += [line for key in private_keys(string) if not key.is_whole for line in key.lines]
    found += in_drawn_hooks(string)
    tokens = _matches(LOOSE_TOKENS, string)
    found += [match.span() for match in tokens if not _TYPED.search(match[0]) and len(set(match[0])) > 8]
    if _LONG_WORD.search(string) is not None:
        found += [match.span() for match in _PREFIXED.finditer(string) if is_drawn(match["drawn"])]
    if "://" in string:
        given = LONG_USER.finditer(string)
        found += [match.span("value") for match in given if is_random(match["value"]) or UUID.search(match["value"])]
    found += [span for span, _ in _told_by_place(string)]
    found += _reaching_places(string)
    return found


def _told_by_place(string: str) -> Iterator[tuple[tuple[int, int], str]]:
    """What stands where a secret is taken, and the name of what takes it, `password` without one; '' in a sentence."""
    for span in in_hooks(string):
        yield span, _PASSWORD
    for each in in_addresses(string):
        if each.is_known and not _is_elsewhere(each.value):
            yield each.span, _PASSWORD
    lowered = string.lower()
    for sign, pattern in (*PLACES, *PLACES_OF_LINES, *PLACES_OF_DIALOGUES):
        done = 0
        for match in pattern.finditer(string) if sign in lowered else ():
            value = _value_after(match) if match.end() >= done else None
            done = value[1][1] if value is not None and len(value[0]) > _LONG else done
            if value is not None and not _is_elsewhere(value[0]) and not _is_none(value[0]):
                is_named = "value" in match.re.groupindex
                yield (
                    value[1] if is_named else to_end_of_word(string, value[1]),
                    "" if sign in WORDS_OF_SENTENCES else _PASSWORD,
                )
    for text, span in in_programs(string):
        if not _is_elsewhere(text) and not _is_none(text):
            yield span, _PASSWORD
    yield from _named(string)
    for field in fields(string):
        named = _name_of(field.name)
        if field.is_form:
            is_one = named is not None and _may_be_secret(named, field.value, field.span, string)
        else:
            is_one = not _is_elsewhere(field.value) and not _is_none(field.value)
        if is_one:
            yield field.span, named or _PASSWORD


def _named(string: str) -> Iterator[tuple[tuple[int, int], str]]:
    """The values of variables, settings and options that are named like a secret, and the name."""
    done = 0
    for start, end in _ends_of_names(string):
        sign = _SIGN.match(string, end)
        is_read = start >= done and (sign is not None or string[end : end + 1] in ("}", ">", "\n", "'", '"', "`", "*"))
        match = _LOOSE_NAME.search(string, max(start - 60, 0), end) if is_read else None
        if match is None:
            continue
        written = match[0]
        before = string[max(match.start() - 200, 0) : match.start()]
        if before[-1:] == "$" or before[-2:] == "${" and string[end : end + 1] == "}":
            yield from _words_of(written, _COMPARISON.match(string, end))
            continue
        if _LOOP.search(before) is not None:
            yield from _words_of(written, _WORDS.match(string, end))
            continue
        sign = _END_OF_TAG.match(string, end) if before[-1:] == "<" else sign
        if written[:2] == "--" and (sign is None or sign[0].isspace()) and _BEFORE_OPTION.search(before) is not None:
            sign = _NEXT_LINE.match(string, end) or sign
        if (sign is None or sign[0].isspace()) and before[before.rfind("\n") + 1 :].lstrip()[:1] == "|":
            sign = _NEXT_CELL.match(string, end) or sign
        if sign is None:
            continue
        substituted = before[-1:] == "/" and _SUBSTITUTION.search(before) is not None
        at = sign.end()
        if sign[0].isspace() and written[:1] != "-":
            printed = _BEFORE_VALUE.search(before)
            if printed is None:
                yield from _said(string, written, before, end, at)
                continue
            format_given = _AFTER_FORMAT.match(string, at) if printed["format"] else None
            at = at if format_given is None else format_given.end()
        if before[-1:] == "/" and not substituted and "--" not in sign[0]:
            continue
        name = _name_of(written)
        if name is None:
            continue
        printed = _PRINTED.match(string, at)
        at = at if printed is None else printed.end()
        at += string[at : at + 1] == "`" and sign[0].strip(" \t")[:1] in ("*", "`", "|")  # code of Markdown
        given = value_at(string, at, written[:1] != "-" and sign[0][-1:] in " \t" and not sign[0].isspace())
        if sign[0].strip() == ":" and given is not None and _PASSPHRASE.fullmatch(name) is not None:
            words = _REST_OF_LINE.match(string, at)
            given = given if words is None else (words["value"], words.span("value"))
        if given is not None and substituted:
            value = given[0].partition("/")[0]
            given = (value, (given[1][0], given[1][0] + len(value))) if value else None
        whole = (at, at) if given is None else given[1] if substituted else to_end_of_word(string, given[1])
        is_one = given is not None and _may_be_secret(name, *given, string)
        if given is not None and not is_one and given[0].isalnum() and whole != given[1]:
            is_one = _may_be_secret(name, re.sub("['\"]", "", string[slice(*whole)]), given[1], string)
        if is_one:
            line = before[before.rfind("\n") + 1 :].strip(" \t-")
            if not line and sign[0].strip() in (":", "=") and sign[0][-1:] in " \t":
                whole = to_end_of_line(string, whole)
            done = whole[1]
            yield whole, name
        elif given is not None and len(given[0]) > _LONG:
            done = given[1][1]  # no value is read again and again


def _said(string: str, written: str, before: str, end: int, at: int) -> Iterator[tuple[tuple[int, int], str]]:
    """The value after a name and blanks where a command sets it, as in `config set NAME VALUE`, or after `NAME is`."""
    line = before[before.rfind("\n") + 1 :]
    name = _name_of(written)
    is_set = name is not None and _SETS.search(line) is not None and _SAYS.match(line) is None
    said = None if is_set else _IS.match(string, end)
    if name is None or not is_set and said is None:
        return
    given = value_at(string, at if said is None else said.end())
    if given is None or not _may_be_secret(name, *given, string):
        return
    found = _END_OF_COMMAND.match(string, given[1][1]) if is_set else UNLIKE_WORDS.fullmatch(given[0])
    if found is not None:
        yield given[1], name


def _reaching_places(string: str) -> Iterator[tuple[int, int]]:
    """The values that reach what takes a secret in another way than beside it, unless they are as likely none."""
    for name, value, span in reaching(string, lambda text: (each for each in _told_by_place(text) if each[1])):
        if name is None:
            yield span
            continue
        read = re.sub("['\"]", "", value)
        is_short = name == _PASSWORD and _SHORT_WORD.fullmatch(read) is not None  # hidden where it is set only
        is_known = (
            (is_looked_for(read) or is_short) and _NO_NAME.fullmatch(read) is None and _FILE.fullmatch(read) is None
        )
        if is_known and not is_expanded(value, span, string) and _is_likely(name, read):
            if _may_be_secret(name, value, span, string):
                yield to_end_of_word(string, span)


def _name_of(written: str) -> str | None:
    """The part of a name that tells a secret, which is '' where only its end does; `None` if nothing tells one."""
    parts = _NUMBERED.sub("", words_of_name(written)).split(".")
    names = ("_".join(parts[-2:]), parts[-1])  # `fs.s3a.secret.key`
    name = next(filter(is_secret, names), None) or next(filter(MORE_NAMES.fullmatch, names), "")
    name = name if name and may_name_secret(name) else next(filter(may_name_secret, names), "")
    is_none = not name and not written.endswith(".token") or TEXT_TOKENS.fullmatch(name or parts[-1]) is not None
    return None if is_none else name


def _words_of(written: str, words: re.Match[str] | None) -> Iterator[tuple[tuple[int, int], str]]:
    """Words that a variable is compared with, or takes one after the other, where its name and they tell a secret."""
    name = None if words is None else _name_of(written)
    if words is None or not name:
        return
    is_word = name.islower() and name.endswith("token") and not is_secret(name)
    start, end = words.span("words") if words["words"] is not None else words.span("patterns")
    for match in _WORD.finditer(words.string, start, end):
        value = match["value"]
        if is_word and not (len(value) >= 16 and is_random(value)):
            continue
        if _is_likely(name, value) and _may_be_secret(name, value, match.span("value"), words.string):
            yield match.span("value"), name


def _is_likely(name: str, value: str) -> bool:
    """Whether a value is a secret rather than a word that is compared or passed on."""
    is_mixed = re.search(r"\d", value) is not None and re.search("[A-Za-z]", value) is not None
    is_password = _PASSWORDS.fullmatch(name) is not None and (len(value) > 5 or not value.isdigit())
    return is_mixed or len(value) >= 16 or _MIXED_CASE.search(value) is not None or is_password


def _value_after(match: re.Match[str]) -> tuple[str, tuple[int, int]] | None:
    """The value of a place: what the pattern itself names so, or else what follows it."""
    if "value" in match.re.groupindex:
        return match["value"], match.span("value")
    return value_at(match.string, match.end())


def _may_be_secret(name: str, value: str, span: tuple[int, int], string: str) -> bool:
    if _is_elsewhere(value) or _is_none(value) or value.startswith((".*", ".+", "[^")):
        return False
    if name[-4:].lower() == "_pat" and NAMES.fullmatch(name) is None and _DRAWN.fullmatch(value) is None:
        return False
    if _OF_BUILD.search(string, max(span[0] - 12, 0), span[1]) is not None:
        return False
    if name[-4:].lower() == "auth" and METHODS.fullmatch(value) is not None:
        return False
    in_query = string[max(span[0] - len(name) - 2, 0) : span[0] - len(name) - 1] in ("?", "&")
    is_bare = not in_query and _BARE_NAME.fullmatch(name) is not None
    if (is_bare or _PASSWORDS.fullmatch(name) is None) and _FILE.fullmatch(value) is not None:
        return False
    if is_bare and UNLIKE_WORDS.fullmatch(value) is None:
        return False
    if not (NAMES.fullmatch(name) or MORE_NAMES.fullmatch(name)) and KEY_NAMES.fullmatch(name) is not None:
        longest = max(re.split(r"[-_.:%]", value), key=len)
        if _SIGNATURE.fullmatch(name) is not None and re.search(r"%[23][BDFbdf]|.{8}=\Z", value) is not None:
            return True
        parts = [value, longest] if "/" not in value or not is_no_folder(value) else [value, *value.split("/")]
        return UUID.search(value) is not None or any(len(each) >= 16 and is_random(each) for each in parts)
    if not NAMES.fullmatch(name) and name[-5:-4].isalpha() and _NUMBER.fullmatch(value) is not None:
        return False  # `HIGHPASS=0.001`
    is_short = len(value) < 4 and SHORT.fullmatch(value) is None
    if _PASSWORDS.fullmatch(name) is None and (is_short or value.isdigit() and len(value) < 6):
        return False
    if _WIDTH.fullmatch(name) is not None and value.isdigit() and len(value) < 4:
        return False
    if "/" in value and value[0] == "$" and _PATH.fullmatch(_ELSEWHERE.sub("", value)) is not None:
        return False
    if value[0] == "/" and is_no_folder(value):
        return True
    if "/" in value and (value[0] == "/" or _PATH.fullmatch(value) and not is_no_folder(value)):
        return False
    # a sentence of a comment, as in `password: ask ada`
    is_prose = string[span[0] - 1 : span[0]] in (" ", "\t") and re.match(
        r"[ \t]+[A-Za-z]{2}", string[span[1] : span[1] + 9]
    )
    return not (is_prose and value.isalpha() and string[: span[0]].rstrip()[-1:] == ":")


def _is_none(value: str) -> bool:
    """Whether a text says that there is no value or names where it is, and is not a secret that merely begins so."""
    if is_placeholder(value):
        return True
    if _NO_VALUE.fullmatch(value) is None:
        return False
    led = _LED.fullmatch(value)
    if led is None or _OPTION.fullmatch(value) is not None:
        return True
    return value.startswith("--BEGIN") or not is_mixed(led["rest"].rpartition("=")[2] or led["rest"])


def _is_elsewhere(value: str) -> bool:
    """Whether nothing is left of a value without what is expanded or to be filled in."""
    if value[0] not in "$<{`%@\\" and "$" not in value:
        return False
    rest = _ELSEWHERE.sub("", value)
    return re.fullmatch(r"(?i)[\W_]*(?:(?:bearer|basic|token)[\W_]*)?", rest) is not None


@lru_cache(maxsize=8)
def values_in(string: str) -> tuple[str, ...]:
    """The secrets of a script, the longest first, which may stand elsewhere without what tells that they are some."""
    values = {string[start:end] for start, end in _found(string)}
    # lines of a key, and parts of what messages shorten like a path
    values |= {string[start:end] for key in private_keys(string) for start, end in key.lines if end - start >= ENOUGH}
    values |= {part for each in values if "/" in each for part in each.split("/") if _DRAWN_PART.fullmatch(part)}
    values |= {each.partition(":")[2] for each in values if _OF_USER.fullmatch(each) is not None}
    # in the forms in which programs read them, and forms of web pages write blanks
    values |= {reading for each in values for reading in readings(each)}
    values |= {each.replace(" ", "+") for each in values if " " in each}
    values |= {line.strip() for each in values if "\n" in each for line in each.split("\n")}
    return tuple(sorted(filter(is_looked_for, values), key=len, reverse=True))


def secrets_of(source: Source) -> tuple[str, ...]:
    """The secrets of a script, and of the document or the former text that it comes from."""
    return _values_of_all((source.text, *source.others)) if source.others else values_in(source.text)


@lru_cache(maxsize=8)
def _values_of_all(texts: tuple[str, ...]) -> tuple[str, ...]:
    # those of the last text first: many scripts of a document have these alone, and what was made of them is kept
    values = dict.fromkeys(values_in(texts[-1]))
    for text in texts[:-1]:
        values |= dict.fromkeys(values_in(text))
    return tuple(values)


def _merged(spans: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    kept: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        if kept and start < kept[-1][1]:
            kept[-1] = (kept[-1][0], max(end, kept[-1][1]))
        else:
            kept.append((start, end))
    return kept


def redacted(string: str, values: tuple[str, ...] = ()) -> str:
    """A text of the same length in which secrets, what may be one, and these values are redacted."""
    spans = _merged((*_spans(string), *known(string, values))) if values else _spans(string)
    return _replaced(string, spans, lambda secret: re.sub(r"[^\r\n]", COVER, secret))


def masked(string: str, values: tuple[str, ...] = ()) -> str:
    """A text from a log in which every secret, what may be one, and these values are replaced."""
    spans = _merged((*_spans(string), *known(string, values))) if values else _spans(string)
    return _replaced(string, spans, lambda secret: MASK)


def masked_lines(string: str, values: tuple[str, ...] = ()) -> str:
    """A text with as many lines, in which secrets, what may be one, and these values are replaced."""
    spans = _merged((*_spans(string), *known(string, values))) if values else _spans(string)
    return _replaced(string, spans, lambda secret: re.sub(r"[^\r\n]+", MASK, secret))


def without_values(string: str, values: tuple[str, ...]) -> str:
    """A text in which these secrets of a script are replaced."""
    return _replaced(string, _merged(known(string, values)), lambda secret: MASK)


def _replaced(string: str, spans: list[tuple[int, int]], instead: Callable[[str], str]) -> str:
    parts: list[str] = []
    at = 0
    for start, end in spans:
        parts += string[at:start], instead(string[start:end])
        at = end
    return "".join((*parts, string[at:])) if spans else string


def redacted_source(source: Source) -> Source:
    """A source as reports show it."""
    if not source.is_plain and source.redacted is None:
        text = redacted(source.text, secrets_of(source))
        source.is_plain = text == source.text
        source.redacted = None if source.is_plain else source.with_text(text)
    return source.redacted or source


def redacted_plan(plan: Any, values: tuple[str, ...]) -> Any:
    """A plan without secrets. `values`: those of the script; others are told by the word or the key before them."""
    return _Plan(values).redacted(plan)


class _Plan:
    def __init__(self, values: tuple[str, ...]) -> None:
        self.values = values
        self.known: dict[str, str] = {}  # texts redacted before; most stand in a plan often

    def redacted(self, value: Any) -> Any:
        if isinstance(value, str):
            if value not in self.known:
                self.known[value] = redacted(value, self.values)
            return self.known[value]
        if isinstance(value, dict):
            return {key: self._of_key(key, each) for key, each in value.items()}
        if not isinstance(value, list):
            return value
        if not value or not all(isinstance(each, str) for each in value):
            return [self.redacted(each) for each in value]
        together, words = self.redacted(" ".join(value)), []
        for word in value:
            words.append(together[: len(word)])
            together = together[len(word) + 1 :]
        return words

    def _of_key(self, key: str, value: Any) -> Any:
        """The value of a key, which may be the name of a variable."""
        if isinstance(value, str) and is_secret(key):
            return self.redacted(f"{key}={value}")[len(key) + 1 :]
        return self.redacted(value)
