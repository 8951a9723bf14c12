"""Slurm's major releases, and ranges of them."""

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from functools import cache
from typing import NamedTuple, TypeVar

MAJORS = ("20.11", "21.08", "22.05", "23.02", "23.11", "24.05", "24.11", "25.05", "25.11", "26.05")
Answer = TypeVar("Answer")
Item = TypeVar("Item", bound=Hashable)
# Releases for which something holds; None for all of interest.
Releases = tuple[str, ...] | None
_INDEX = {major: index for index, major in enumerate(MAJORS)}


def major(text: str) -> str:
    """The major release of a version such as `23.11.4`. Raises ValueError for one that is not in `MAJORS`."""
    parts = text.strip().lower().removeprefix("slurm").lstrip(" -").replace("-", ".").split(".")
    name = ".".join(parts[:2])
    if name not in _INDEX or not all(part.isdigit() for part in parts):
        raise ValueError(f"{text!r} is not a Slurm release between {MAJORS[0]} and {MAJORS[-1]}")
    return name


class Range(NamedTuple):
    """All major releases from `first` to `last`, both included."""

    first: str
    last: str

    @property
    def majors(self) -> tuple[str, ...]:
        return _majors(self.first, self.last)

    def has(self, version: str) -> bool:
        return _INDEX[self.first] <= _INDEX[version] <= _INDEX[self.last]

    def all_since(self, version: str) -> bool:
        """Whether every release of the range is `version` or newer."""
        return not is_before(self.first, version)

    def all_before(self, version: str) -> bool:
        """Whether every release of the range is older than `version`."""
        return is_before(self.last, version)

    def suffix(self, versions: Iterable[str] | None) -> str:
        """Releases of the range for which something holds, as ` before Slurm 23.02`; '' for None or all of them."""
        told = "" if versions is None else describe(versions, self.majors)
        return f" {told}" if told else ""

    def in_brackets(self, versions: Iterable[str] | None) -> str:
        """The same in parentheses: ` (before Slurm 23.02)`, or ''."""
        told = self.suffix(versions)
        return f" ({told[1:]})" if told else ""

    def slurm(self, versions: Iterable[str] | None) -> str:
        """Slurm with these releases, as the subject of a sentence: `Slurm before 23.02`, `Slurm`."""
        return f"Slurm{self.suffix(versions).replace(' Slurm', '').replace(' in ', ' ')}"

    def __str__(self) -> str:
        return self.first if self.first == self.last else f"{self.first}-{self.last}"


@cache
def _majors(first: str, last: str) -> tuple[str, ...]:
    return MAJORS[_INDEX[first] : _INDEX[last] + 1]


DEFAULT = Range("22.05", "26.05")
# The oldest release of which faults are more than advice where the settings do not name the site's releases.
OLDEST_USUAL = "23.11"


def are_old(versions: Iterable[str]) -> bool:
    """Whether all of these releases are older than those that sites usually run."""
    return all(_INDEX[each] < _INDEX[OLDEST_USUAL] for each in versions)


def parse_range(text: str) -> Range:
    """The range written as `23.11`, `23.11.4` or `22.05-26.05`. Raises ValueError otherwise."""
    first, dash, last = text.partition("-")
    found = Range(major(first), major(last if dash else first))
    if is_before(found.last, found.first):
        raise ValueError(f"{text!r} ends before it begins")
    return found


# The releases that `is_before` was called with: where answers may change. See `answers`.
_asked: set[str] = set()


def is_before(version: str, other: str) -> bool:
    _asked.add(other)
    return _INDEX[version] < _INDEX[other]


def holds_in(versions: tuple[str, ...] | None, version: str) -> bool:
    """Whether something that holds in these releases, None for all, holds in this one."""
    return versions is None or version in versions


def is_release(version: str, other: str) -> bool:
    """Whether a release is exactly this one."""
    _asked.update(MAJORS[_INDEX[other] : _INDEX[other] + 2])
    return version == other


def answers(question: Callable[[str], Answer], versions: Iterable[str]) -> Iterator[tuple[str, Answer]]:
    """Each of these releases with the answer to a question about it.

    The question is asked once for all releases that it cannot distinguish. So it must distinguish them only by
    `is_before` and `is_release`, and must not depend on earlier questions.
    """
    answer: Answer
    first = end = 0  # the releases of the last answer
    for version in versions:
        at = _INDEX[version]
        if not first <= at < end:
            outer = _asked.copy()
            _asked.clear()
            answer = question(version)
            first, end = 0, len(MAJORS)
            for key in _asked:
                change = _INDEX[key]
                if first < change <= at:
                    first = change
                elif at < change < end:
                    end = change
            _asked.update(outer)
        yield version, answer


def with_releases(found: Iterable[tuple[str, Item]], all_of: Sequence[str]) -> list[tuple[Item, Releases]]:
    """Each different item once, with the releases with which it was found; None for `all_of` them."""
    releases: dict[Item, list[str]] = {}
    for version, item in found:
        releases.setdefault(item, []).append(version)
    return [(item, None if len(own) == len(all_of) else tuple(own)) for item, own in releases.items()]


@cache
def expand(text: str) -> frozenset[str]:
    """The releases of a list in the data files: `all`, `23.02-26.05`, `20.11-23.02,24.05-26.05`."""
    if text == "all":
        return frozenset(MAJORS)
    found: set[str] = set()
    for part in text.split(","):
        found.update(parse_range(part).majors)
    return frozenset(found)


def shorten(versions: Iterable[str]) -> str:
    """A list of releases as in the data files; the inverse of `expand`."""
    chosen = sorted({_INDEX[version] for version in versions})
    if len(chosen) == len(MAJORS):
        return "all"
    runs: list[list[int]] = []
    for index in chosen:
        if runs and index == runs[-1][1] + 1:
            runs[-1][1] = index
        else:
            runs.append([index, index])
    return ",".join(str(Range(MAJORS[first], MAJORS[last])) for first, last in runs)


def describe(versions: Iterable[str], within: Iterable[str] = MAJORS) -> str:
    """Releases in words: `before Slurm 23.02`, `in Slurm 24.05 and later`, `in Slurm 22.05 to 23.11`.

    `within`: the releases of interest; '' for all of them.
    """
    chosen = {_INDEX[version] for version in versions}
    domain = sorted(_INDEX[version] for version in within)
    hit = [index for index in domain if index in chosen]
    if not hit or len(hit) == len(domain):
        return ""
    first, last = domain.index(hit[0]), domain.index(hit[-1])
    if last - first + 1 != len(hit):
        end = next(at for at in range(first, last) if domain[at + 1] not in hit)
        parts = ([domain[at] for at in range(first, end + 1)], [index for index in hit if index > domain[end]])
        return " and ".join(describe([MAJORS[index] for index in part], within) for part in parts)
    if first == 0:
        return f"before Slurm {MAJORS[domain[last + 1]]}"
    if last == len(domain) - 1:
        return f"in Slurm {MAJORS[hit[0]]} and later"
    return f"in Slurm {MAJORS[hit[0]]}" if len(hit) == 1 else f"in Slurm {MAJORS[hit[0]]} to {MAJORS[hit[-1]]}"
