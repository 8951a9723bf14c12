"""Values that were left to be filled in: `<account>`, `your_partition`, `CHANGEME`, `project_XXXXXXX`, `HH:MM:SS`.

Angle brackets around a word are a placeholder in any option. A plain word is one only where a name is expected, and
only if no site names anything so: `test`, `gpu`, `general` and `example` are not placeholders.
"""

import re
from functools import lru_cache
from typing import NamedTuple

from sbatchlint.source.numbers import is_number
from sbatchlint.source.regex import Regex
from sbatchlint.source.templates import PLAIN_SLOTS

# Options by what their values are: names of things at a site, and paths.
_NAMES = frozenset(("account", "partition", "qos", "reservation", "constraint"))
_PATHS = frozenset(("output", "error", "input", "chdir"))
_OTHER_PATHS = frozenset(
    ("container", "container-image", "container-mounts", "container-workdir", "environment", "uenv-file")
)
# Their values are numbers, or begin with one, so they cannot be confused with names of a site.
_COUNTS = "nodes ntasks ntasks-per-node ntasks-per-socket ntasks-per-core ntasks-per-gpu cpus-per-task cpus-per-gpu"
_NUMBERS = frozenset(_COUNTS.split())
_MEMORY = frozenset(("mem", "mem-per-cpu", "mem-per-gpu", "tmp"))
_GPUS = frozenset(("gpus", "gpus-per-node", "gpus-per-task", "gpus-per-socket", "gres"))
_LISTED = frozenset(("array", "dependency", "nodelist", "exclude"))
_MIXED = _NUMBERS | _MEMORY | _GPUS | _LISTED | {"time", "time-min", "begin", "deadline"}
# Their values may hold angle brackets that are meant.
_FREE_TEXT = frozenset(("comment", "wrap", "extra"))

_ANGLED = Regex(r"<[A-Za-z](?:[^<>]*[^<>\s])?>")
# `[account]`; in options that take a list, brackets belong to the list.
_SQUARE = Regex(r"(?<![@\w])\[[A-Za-z][^\[\]<>{}|,*&]*\]")
_SQUARE_WITH_BLANK = Regex(r"(?<![@\w])\[[A-Za-z][^\[\]<>{}|,*&\s]*(?:\s+[^\[\]<>{}|,*&\s]+)+\]")
_SQUARED = frozenset(("account", "partition", "qos", "reservation", "mail-user", "time"))
_BRACED = Regex(
    r"(?<![$\\])\{\s*[A-Za-z_][\w.\[\]\"'() -]*\}|(?<![\w\\])@\[?[A-Za-z_]\w*\]|@[A-Z][A-Z0-9_]*@|%\{[A-Za-z_]\w*\}|"
    + "|".join(PLAIN_SLOTS.values())
)
# Put in place of a value when the script was published.
REDACTED = Regex(r"(?i)anonym|redact|censor|omitted|removed|hidden|blanked")
_SEPARATORS = Regex(r"[/,&|\[\]()\s\"']+")

_THING = (
    "account|allocation|project|proj|partition|queue|qos|reservation|constraint|email|e?mail|group|grant|username|user"
    "|name|id|dir|directory|path|slurm|cluster|time|walltime|address|node|job"
)
# A word in lower case, with `_` for all separators between its parts.
_WORD = Regex(
    rf"your(?:_.*|(?:{_THING})s?(?:_.*)?)?"
    r"|my_?(?:account|allocation|partition|queue|qos|reservation|email|group|project|grant|user)(?:_?(?:name|id))?"
    r"|user_?name"
    r"|(?:account|allocation|project|proj|partition|queue|qos|reservation)_?(?:name|id|code|here|to_charge)"
    r"|(?:node|cluster)_name|name_of_.*"
    r"|change_?(?:me|this)|replace_?(?:me|this)|replace_with_.*|fill_?(?:me|this)?_?in(?:_.*)?|fill_?me"
    r"|edit_?(?:me|this)|set_?me|todo|fixme|tbd|placeholder|.+_(?:goes_)?here|x{3,}|\.{3}|…|\?{2,}|.+_your_.+"
    # In the manuals of the Alliance (Canada), and copied from there.
    r"|(?:def|rrg)_(?:some(?:user|prof|pi|acct|account)|your.*)"
    # Made up, with a number that counts.
    r"|(?:acc(?:oun)?t?|abc|xyz|proj(?:ect)?)_?(?:123(?:4(?:56?)?)?|0{4})"
)
# `/path/to/x`, `/path/x`, `/your/path`, `/add/your/path`.
_EXAMPLE_PATH = Regex(
    r"(?:^|(?<=[\"':,]))(?:/?path/to\b/?|/path/(?=[^/\s])|/(?:(?:add|put|insert|enter|set|write)/)?your/)|/path/to/"
)
# Words that are not names of folders either.
_FOLDER = Regex(r"your_.*|change_?me|replace_?me|replace_with_.*|.+_(?:goes_)?here|x{3,}")
# In capitals, the name of the option stands for its value.
_CAPITALS = Regex(
    r"(?:MY_|SLURM_|(?:REQUESTED|DESIRED|CHOSEN|TARGET)_)?(?:ACCOUNT|ALLOCATION|PARTITION|PROJECT|QUEUE|QOS|RESERVATION|CONSTRAINT|EMAIL|USERNAME|ACCNR)"
    r"(?:_(?:NAME|ID|CODE))?"
)
_CROSSES = Regex(r"X{4,}")
# In place of a number.
_CAPITAL = Regex(r"[A-Z]+(?:_[A-Z]+)*")
# `num_cores`, also in lower case, as no number is written so.
_NUMBER_NAME = Regex(r"[A-Z]+(?:_[A-Z]+)*|[a-z]+(?:_[a-z]+)+|n(?:um)?_?(?:cores|cpus|nodes|procs|tasks)")
_CAPITAL_MEMORY = Regex(r"(?:MEM(?:ORY)?|[A-Z]+_[A-Z_]+|[Xx]{1,4})(?:[KMGT]B?)?")
_CAPITAL_GPUS = Regex(r"N|X{1,4}|(?:N|NUM|NUMBER|NR|NO)_?(?:OF_?)?GPUS?|GPUS|NGPUS?_PER_NODE|GPU_COUNT")
_CAPITAL_JOB = Regex(r"(?i:job_?id)s?[0-9]?|X{3,}|[A-Z]+_[A-Z_]+")
_CAPITAL_TIME = Regex(r"(?!UNLIMITED\b|INFINITE\b)[A-Z]{2,}(?:_[A-Z]+)*")
_CLOCK = Regex(r"(?:(?:[Dd]{1,2}|[0-9]+)-)?(?:(?:[HhMmSsXx]{2}|[0-9]+):){1,2}(?:[HhMmSsXx]{2}|[0-9]+)")
_MOMENT = Regex(r"[Yy]{4}-[Mm]{2}-[Dd]{2}(?:T[Hh]{2}:[Mm]{2}(?::[Ss]{2})?)?")

# RFC 2606, and what stands for a domain in manuals.
_DOMAIN = Regex(
    r"(?:.*\.)?(?:example(?:\.(?:com|org|net|edu))?|test|invalid|localhost)"
    r"|(?:your|my)?[-_]?(?:domain|institution|institute|university)(?:[-_]?name)?"
    r"|(?:.*\.)?(?:your|my)?(?:domain|institution|institute|university|organi[sz]ation|company|host)\.(?:com|org|net|edu|xx|tld)"
)
_PERSON = Regex(
    r"user_?name|uniq_?name|net_?id|user_?id|someone|somebody|(?:first_?)(?:name)?_?last(?:_?name)?|name_surname"
    r"|e?mail(?:_?address)?|name|you|(?:my|user)_?(?:e?mail|name)|your(?:user)?_?(?:name|e?mail(?:_?address)?)_?(?:here)?"
)
_MADE_UP = Regex(r"user@e?mail(?:\.\w+)*")
# In capitals, what a university calls its logins.
_LOGIN = Regex(r"USER|(?:[A-Z]{1,2}|NET|CAMPUS|STUDENT|LOGIN|WIN|ACCESS|UNIQ)_?(?:ID|NAME)")
# Without a domain, too: nobody is called so.
_ADDRESS = Regex(r"(?:your|user|my)?_?e?mail(?:_?address)?(?:_?here)?|mail_user")
_LABEL = Regex(r"your_.*|.+_(?:goes_)?here|x{3,}")


class Placeholder(NamedTuple):
    """A part of a value that is to be filled in.

    `text`: as written. `start`, `end`: its place in the value. `kind`: `blank` (somebody fills it in), `template`
    (a program fills it in before Slurm sees it) or `path` (the `/path/to` of an explanation).
    """

    text: str
    start: int
    end: int
    kind: str


def placeholder(option: str, raw: str) -> str | None:
    """The part of a directive's value that is to be filled in (`<account>`), but for `/path/to`; None if there is none.

    `option`: its canonical name; `raw`: the value as written.
    """
    found = find_placeholder(option, raw)
    return None if found is None or found.kind == "path" else found.text


def may_be_words(option: str, value: str) -> bool:
    """Whether plain words may be placeholders in this value of an option."""
    if option in _NAMES or option in _PATHS or option == "mail-user":
        return True
    return option in _MIXED and not is_number(value[:-1]) and (value.upper() != value.lower() or value[:1] in "?.[")


@lru_cache(maxsize=1024)  # several checks ask, and most scripts have the same values
def find_placeholder(option: str, raw: str) -> Placeholder | None:
    """The first placeholder in a value of an option; None if there is none."""
    if option in _FREE_TEXT:
        return None
    signs = raw[:1] == "_" or "__" in raw or "XXX" in raw or "PLACEHOLDER" in raw or not set(raw).isdisjoint("<>{}[]@%")
    if not signs and option not in _OTHER_PATHS and not may_be_words(option, raw):
        return None  # most values end here, before any pattern is compiled
    found = _ANGLED.search(raw)
    if found is not None and option == "mail-user" and "@" in found.group():
        return _mail(raw)  # `<ada@uni.edu>` is an address
    if found is None and option in _SQUARED:
        found = _SQUARE.search(raw)
    if found is not None:
        return Placeholder(found.group(), found.start(), found.end(), "blank")
    found = _BRACED.search(raw)
    if found is not None:
        return Placeholder(found.group(), found.start(), found.end(), "template")
    if option in _NAMES:
        return _words(raw, _WORD, capitals=True)
    if option == "mail-user":
        return _mail(raw)
    if option in _MIXED:
        return _in_place_of_a_number(option, raw)
    if option in _PATHS:
        return _words(raw, _FOLDER) or _path(raw)
    return _path(raw) if option in _OTHER_PATHS else None


def _in_place_of_a_number(option: str, raw: str) -> Placeholder | None:
    bare = raw.strip("\"'")
    start = raw.find(bare)
    plain = _plain(bare)
    if option in ("time", "time-min"):
        clock = _CLOCK.fullmatch(bare) is not None and not set(bare) <= set("0123456789:-")
        whole = clock or _CAPITAL_TIME.fullmatch(bare) is not None
    elif option in ("begin", "deadline"):
        whole = _MOMENT.fullmatch(bare) is not None
    elif option in _NUMBERS:
        whole = _NUMBER_NAME.fullmatch(bare) is not None
    elif option in _MEMORY:
        whole = _CAPITAL_MEMORY.fullmatch(bare) is not None
    else:
        whole = False
    if whole or _WORD.fullmatch(plain):
        return Placeholder(bare, start, start + len(bare), "blank") if bare else None
    if option == "array":
        return _among(bare, start, r"[-,%:\[\]]", _CAPITAL)
    if option == "dependency":
        # The first word of a term is its type.
        return _among(bare, start, r"[,?]|(?:^|(?<=[,?]))[a-z]+:|:|\+", _CAPITAL_JOB)
    if option in _GPUS:
        return _among(bare, start, r"(?:^|(?<=,))[a-z]+[:=]|[,:=]", _CAPITAL_GPUS)
    return _among(bare, start, r",", None) if option in _LISTED else None


def _among(bare: str, offset: int, separators: str, capitals: Regex | None) -> Placeholder | None:
    """The first placeholder among the parts of a list; None if there is none."""
    at = 0
    for separator in [*re.finditer(separators, bare), None]:
        end = len(bare) if separator is None else separator.start()
        part = bare[at:end]
        if part and (_WORD.fullmatch(_plain(part)) or capitals is not None and capitals.fullmatch(part)):
            return Placeholder(part, offset + at, offset + end, "blank")
        at = end if separator is None else separator.end()
    return None


def enclosing_placeholder(string: str, start: int, line_start: int, line_end: int) -> tuple[int, int] | None:
    """The range of the placeholder with spaces in it (`<project id>`, `{ partition }`) that holds the offset `start`.

    None if there is none. sbatch takes its first word as the value, and refuses the script because of the next.
    """
    for pattern in (_ANGLED, _BRACED, _SQUARE_WITH_BLANK):
        for found in pattern.finditer(string, line_start, line_end):
            if found.start() <= start < found.end():
                return found.span()
    return None


def may_open_placeholder(option: str, raw: str) -> bool:
    """Whether a value may be the first word of a placeholder with spaces in it: `<project id>`, `[your account]`."""
    if option in _FREE_TEXT:
        return False
    pairs = [("<", ">"), ("{", "}"), *([("[", "]")] if option in _SQUARED else [])]
    return any(raw.rfind(opening) > raw.rfind(closing) for opening, closing in pairs)


def _parts(raw: str) -> list[tuple[int, int]]:
    found: list[tuple[int, int]] = []
    at = 0
    for separator in _SEPARATORS.finditer(raw):
        if separator.start() > at:
            found.append((at, separator.start()))
        at = separator.end()
    if at < len(raw):
        found.append((at, len(raw)))
    return found


def _words(raw: str, pattern: Regex, capitals: bool = False) -> Placeholder | None:
    """The first placeholder among the words of a name or a path; None if there is none."""
    for start, end in _parts(raw):
        part = raw[start:end]
        if pattern.fullmatch(_plain(part)) or capitals and (_CAPITALS.fullmatch(part) or _CROSSES.search(part)):
            return Placeholder(part, start, end, "blank")
    return None


def _plain(part: str) -> str:
    return re.sub(r"(?<=\w)[-_.]+(?=\w)", "_", part).lower()


def _path(raw: str) -> Placeholder | None:
    found = _EXAMPLE_PATH.search(raw)
    return None if found is None else Placeholder(found.group(), found.start(), found.end(), "path")


def _mail(raw: str) -> Placeholder | None:
    for start, end in _parts(raw):
        part = raw[start:end]
        name, at, domain = part.strip("<>").partition("@")
        plain = _plain(name)
        if at and (_DOMAIN.fullmatch(domain.lower()) or _PERSON.fullmatch(plain) or _MADE_UP.fullmatch(part.lower())):
            return Placeholder(part, start, end, "blank")
        if at and (_LOGIN.fullmatch(name) or any(_LABEL.fullmatch(_plain(each)) for each in domain.split("."))):
            return Placeholder(part, start, end, "blank")
        if not at and _ADDRESS.fullmatch(plain):
            return Placeholder(part, start, end, "blank")
        if _WORD.fullmatch(plain) or not part.strip("*") or not at and _CAPITALS.fullmatch(part):
            return Placeholder(part, start, end, "blank")
    return None
