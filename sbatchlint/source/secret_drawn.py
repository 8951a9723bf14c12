"""Whether a text was drawn, or made up by somebody: of words, as a path."""

import re
from itertools import pairwise
from math import log2

from sbatchlint.source.regex import Regex

# Words that no random text has, and what stands for a value.
_TYPED_WORDS = (
    "your example dummy fake sample placeholder replace change insert token secret passw here todo fixme test"
)
_WORDS_MADE_UP = "|".join((*_TYPED_WORDS.split(), "xxx", "abcde", "aaaa"))
# In letters of changing case they are there by chance.
MADE_UP = Regex(
    rf"{_WORDS_MADE_UP}|{_WORDS_MADE_UP.upper()}|{'|'.join(map(str.capitalize, _WORDS_MADE_UP.split('|')))}"
    r"|\.\.\.|12345|01234|0000"
)
# Digits of base 16, as many as keys have: of these nobody makes words, but may count them up.
_HEXADECIMAL = Regex(r"(?=.*[0-9])(?=.*[a-f])(?:[0-9a-f]{32}|[0-9a-f]{40}|[0-9a-f]{64})")
_COUNTED = Regex(r"12345|01234|abcde|(.)\1{7}")
UUID = Regex(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_KEY_OF_AWS = Regex(r"(?=.*[0-9])(?=.*[a-z])(?=.*[A-Z])[A-Za-z0-9+/]{40}")
# A folder at the root, as everybody names them; the name of a file, in words, numbers and what services add to these;
# what no such name has.
_FOLDER = Regex(r"[a-z]{2,}[0-9_-]{0,4}(?:[a-z]{2,})?|[A-Z][a-z]+|[a-z]|[A-Z]{3,}[0-9]?")
_BETWEEN_WORDS = Regex(r"[\s._,:@+=%~*?{}\[\]-]")
_WORD_OF_FILE = Regex(
    r"(?:[A-Z]?[a-z]*|[A-Z]+|(?:[A-Z][a-z]+){2,9})[0-9]{0,4}|[0-9]+[a-z]*|[a-z]{1,3}[0-9]{1,8}[a-z]{0,3}|[0-9a-f]{7,64}"
)
_NO_FILE_NAME = Regex(r"[^\w\s.,:@+=%~*?{}\[\]-]|=\Z")


def is_random(value: str) -> bool:
    """Whether a text of 16 characters or more was drawn, and not made up by somebody: no words, no path."""
    if _HEXADECIMAL.fullmatch(value) is not None:
        return _COUNTED.search(value) is None and entropy(value) > 2.2
    if MADE_UP.search(value) is not None:
        return False
    if UUID.fullmatch(value) is not None:
        return entropy(value) > 2.5
    if "/" in value and (len(value) != 40 or value[0] == "/" or entropy(value) < 4):
        return False
    longest = max(re.split(r"[-_.~/+=]", value), key=len) if "/" not in value else value
    mixed = re.search(r"\d", longest) is not None and re.search(r"[A-Za-z]", longest) is not None
    if len(longest) < 16 or not mixed:
        return False
    return entropy(value) > (3 if re.fullmatch(r"[0-9a-f]+", value) else 3.5)


def entropy(string: str) -> float:
    """How many bits a character of a text has, by how often each occurs."""
    size = len(string)
    return -sum(count / size * log2(count / size) for count in map(string.count, set(string))) if size else 0.0


def is_drawn(string: str) -> bool:
    """Whether letters and digits follow each other as nobody writes them: small, large, digits by turns."""
    kinds = [character.isdigit() + 2 * character.isupper() for character in string]
    turns = sum([kind != other for kind, other in pairwise(kinds)])
    return len(set(kinds)) == 3 and turns > 0.4 * len(string) and MADE_UP.search(string) is None


def is_no_folder(value: str) -> bool:
    """Whether a value with a slash was drawn: it has what no path has, or parts that nobody names so.

    A path begins with a folder that is a word, or has names only.
    """
    if value[0] == "/" and "/" not in value[1:] and "." not in value:
        return is_mixed(value)
    if _KEY_OF_AWS.fullmatch(value) is not None and entropy(value) > 4.2:
        return True
    names = [part for part in value.split("/") if part]
    if "$" in value or not names:
        return False
    unlike = [part for part in names if not _is_file_name(part)]
    if value[0] != "/" or value[1] == "/" or _FOLDER.fullmatch(names[0]) is None:
        return bool(unlike)
    return any(
        _NO_FILE_NAME.search(part) or len(part) > 9 and ("+" in part or is_drawn(part) or is_random(part))
        for part in unlike
    )


def _is_file_name(part: str) -> bool:
    """Whether a part of a path is made of words and numbers."""
    return _NO_FILE_NAME.search(part) is None and all(map(_WORD_OF_FILE.fullmatch, _BETWEEN_WORDS.split(part)))


def is_mixed(value: str) -> bool:
    """Whether a text has large and small letters and digits in one part, as paths seldom have."""
    return any(
        len(part) > 9 and all(re.search(kind, part) for kind in ("[a-z]", "[A-Z]", "[0-9]"))
        for part in value.split("/")
    )
