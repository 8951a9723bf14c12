"""Patterns of file names as the shell has them."""

import re
from collections.abc import Callable
from fnmatch import translate
from functools import lru_cache

_SIGNS = frozenset("*?[")


def fits(name: str, pattern: str) -> bool:
    """Whether a name fits a pattern. `fnmatchcase()` would keep 32,768 patterns of scripts for the rest of a run."""
    return name == pattern if _SIGNS.isdisjoint(pattern) else _compiled(pattern)(name) is not None


@lru_cache(maxsize=64)
def _compiled(pattern: str) -> "Callable[[str], re.Match[str] | None]":
    return re.compile(translate(pattern)).match
