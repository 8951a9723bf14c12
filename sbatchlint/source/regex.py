"""Regular expressions that are compiled on first use, as most runs need only a few of them."""

import re
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any


class Regex:
    """A pattern with the methods of `re.Pattern`."""

    search: Callable[..., re.Match[Any] | None]
    match: Callable[..., re.Match[Any] | None]
    fullmatch: Callable[..., re.Match[Any] | None]
    finditer: Callable[..., Iterator[re.Match[Any]]]
    findall: Callable[..., list[Any]]
    split: Callable[..., list[str | Any]]
    sub: Callable[..., str]

    def __init__(self, pattern: str | bytes, flags: int = 0) -> None:
        self.pattern = pattern
        self.flags = flags

    def __getattr__(self, name: str) -> Any:
        # called once; from then on the methods are attributes of the object
        if name.startswith("_"):
            raise AttributeError(name)
        compiled = re.compile(self.pattern, self.flags)
        for method in ("search", "match", "fullmatch", "finditer", "findall", "split", "sub"):
            setattr(self, method, getattr(compiled, method))
        return getattr(compiled, name)


@lru_cache(maxsize=16384)
def matches(pattern: Regex, word: str) -> bool:
    """Whether a pattern matches the whole of a word; kept, as scripts have the same words again and again."""
    return pattern.fullmatch(word) is not None


@lru_cache(maxsize=64)
def occurs(pattern: Regex, text: str) -> bool:
    """Whether a pattern is found in the text of a file; kept for all jobs and commands in it."""
    return pattern.search(text) is not None


@lru_cache(maxsize=64)
def occurrences(pattern: Regex, text: str) -> tuple[Any, ...]:
    """What `findall` finds in the text of a file; kept for all jobs in it."""
    return tuple(pattern.findall(text))
