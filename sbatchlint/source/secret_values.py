"""Where values stand that are known to be secrets, without what told that they are some."""

import re
from bisect import bisect
from collections.abc import Iterator
from functools import lru_cache

from sbatchlint.source.regex import Regex
from sbatchlint.source.secret_restatements import decoded

# So many characters each value of a script has that is looked for elsewhere, unless it is a short one of these: any
# other stands in texts by chance.
LEAST = 4
SHORT = Regex(r"(?=.?.?[0-9])(?=.?.?[A-Za-z])\S{2,3}|(?=.?.?[A-Za-z0-9])(?=.?.?[!@#%^&*+?~])\S{2,3}")
# Values that may be words, and short ones that are none.
WORDLIKE = Regex(r"[A-Z]?[a-z]{1,15}|[A-Z]{1,15}")
UNLIKE_WORDS = Regex(r"(?=.*[0-9])(?=.*[A-Za-z])[^\s]{6,}|.*[^\w\s./-].*|.*[a-z][A-Z].*")
# The names of several files.
_PATTERN = Regex(r"[\w./-]*[*?][\w./*?-]*")
# No value has more characters that are compared.
_LONGEST = 10_000
# Of a value, as many characters as nothing else begins with by chance.
ENOUGH = 8


def is_looked_for(value: str) -> bool:
    """Whether a value stands in few texts by chance, so that it is redacted wherever it stands."""
    least = ENOUGH if WORDLIKE.fullmatch(value) is not None else LEAST
    return "\n" not in value and (len(value) >= least or SHORT.fullmatch(value) is not None)


def is_expanded(value: str, span: tuple[int, int], string: str) -> bool:
    """Whether a shell makes something else of a value where it stands."""
    beside = string[span[0] - 1 : span[0]] + string[span[1] : span[1] + 1]
    if "$" in value:
        return "'" not in beside
    # nor of a default, `"${X:-…}"`
    return not any(sign in beside for sign in "'\"}") and _PATTERN.fullmatch(value) is not None


@lru_cache(maxsize=8)
def _by_beginning(values: tuple[str, ...]) -> dict[str, dict[int, dict[str, list[str]]]]:
    """Values by their first characters, then by the size and the text of what is enough to know them by, sorted."""
    found: dict[str, dict[int, dict[str, list[str]]]] = {}
    for value in sorted(each for each in values if len(each) >= LEAST):
        enough = value if len(value) < ENOUGH else value[: max(ENOUGH, len(value) // 2)]
        found.setdefault(value[:LEAST], {}).setdefault(len(enough), {}).setdefault(enough, []).append(value)
    return found


def known(string: str, values: tuple[str, ...]) -> Iterator[tuple[int, int]]:
    """Where a text has one of these values, as it is or as an address, HTML, JSON or a shell spells it."""
    yield from _as_written(string, values)
    other = decoded(string) if values else None
    if other is not None:
        yield from other.original(_as_written(other.text, values))
        again = decoded(other.text)
        if again is not None:
            yield from other.original(again.original(_as_written(again.text, values)))


def _as_written(string: str, values: tuple[str, ...]) -> Iterator[tuple[int, int]]:
    """Where a text has one of these values as it is, or what is left of it where it was cut short."""
    yield from _short(string, _short_ones(values))
    beginnings = _by_beginning(values)
    starts = range(len(string) - LEAST + 1)
    there = {string[at : at + LEAST] for at in starts}.intersection(beginnings)
    for at in [at for at in starts if string[at : at + LEAST] in there] if there else ():
        for size, found in beginnings[string[at : at + LEAST]].items():
            alike = found.get(string[at : at + size], [])
            # of several, more is there of one that sorts next to the text than of any other
            place = bisect(alike, string[at : at + _LONGEST]) if len(alike) > 2 else 1
            for value in alike[max(place - 1, 0) : place + 1]:
                end = at + size
                while end - at < len(value) and string[end : end + 1] == value[end - at]:
                    end += 1
                inside = _inside(value)
                if inside is None or not inside.search(string[max(at - 1, 0) : at] + _after(string, end)):
                    yield at, end


@lru_cache(maxsize=8)
def _short_ones(values: tuple[str, ...]) -> frozenset[str]:
    return frozenset(each for each in values if len(each) < LEAST)


def _short(string: str, values: frozenset[str]) -> Iterator[tuple[int, int]]:
    """Where a text has one of these values by itself."""
    for size in {*map(len, values)}:
        for at in range(len(string) - size + 1):
            if string[at : at + size] in values:
                if not _INSIDE_PART.search(string[max(at - 1, 0) : at] + string[at + size : at + size + 1]):
                    yield at, at + size


def _after(string: str, end: int) -> str:
    """The character after a value; none for a point that ends a sentence."""
    return "" if string[end : end + 1] == "." and not string[end + 1 : end + 2].isalnum() else string[end : end + 1]


# What such a value has beside it where it is a part of something else.
_INSIDE_WORD = Regex(r"[\w/.-]")
_INSIDE_PART = Regex("[A-Za-z0-9]")


@lru_cache(maxsize=512)
def _inside(value: str) -> Regex | None:
    """What a value does not have beside it elsewhere: a part of its word, a letter or digit, or `None` for anything."""
    if WORDLIKE.fullmatch(value) is not None:
        return _INSIDE_PART
    if len(value) >= ENOUGH:
        return None
    is_mixed = not value.isdigit() and re.search(r"\d", value) is not None
    return _INSIDE_PART if is_mixed or UNLIKE_WORDS.fullmatch(value) is not None else _INSIDE_WORD
