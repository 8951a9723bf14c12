"""A baseline: what was found when sbatchlint was introduced, and is not reported again.

It counts the findings of each check in each file, so that it holds while lines move. It also keeps a short fingerprint
of each finding, by which the new one is told from the old ones when there are more than before, and a renamed file from
a new one. A count only shrinks.
"""

import json
import os
from collections import Counter
from typing import NamedTuple

from sbatchlint.diagnostics import Diagnostic
from sbatchlint.source.files import InputError, content, create, reason, unreadable, write

_NOTE = "what sbatchlint found when it was introduced; written by --write-baseline, shrunk by --update-baseline"
# Of the files that are gone, at most this many with the same line are compared with a new one.
MOST_LIKELY = 20
# file, code -> fingerprints of its findings
Entries = dict[str, dict[str, list[str]]]


class Compared(NamedTuple):
    """The findings that a baseline does not hold, how many it does, and how many of its own are gone."""

    new: list[Diagnostic]
    known: int
    gone: int


class Baseline:
    """The file of a baseline. Paths in it are relative to its folder."""

    def __init__(self, path: str, entries: Entries) -> None:
        self.path = path
        self.entries = entries

    def compare(self, found: list[Diagnostic], looked_at: set[str]) -> Compared:
        """Takes out what the baseline holds. `looked_at`: the files of this run; of others nothing is said."""
        present = self.by_file(found)
        self._follow(present)
        new: list[Diagnostic] = []
        known = gone = 0
        for file in {*present, *(self._key(path) for path in looked_at)}:
            held = self.entries.get(file, {})
            members = present.get(file, {})
            for code in {*held, *members}:
                prints = Counter(held.get(code, ()))
                room = prints.total()
                here = members.get(code, [])
                if len(here) > room:
                    unknown = [each for each, mark in here if not _take(prints, mark)]
                    new += unknown[len(unknown) - (len(here) - room) :]
                known += min(len(here), room)
                gone += max(room - len(here), 0)
        chosen = set(map(id, new))
        return Compared([each for each in found if id(each) in chosen], known, gone)

    def _follow(self, present: dict[str, dict[str, list[tuple[Diagnostic, str]]]]) -> None:
        """Gives files that it does not know what it holds of files that are gone, where most findings are the same."""
        unknown = sorted(file for file in present if file not in self.entries)
        folder = os.path.dirname(os.path.abspath(self.path))
        gone = (
            [file for file in sorted(self.entries) if not os.path.exists(os.path.join(folder, file))] if unknown else []
        )
        marks = {file: Counter((code, each) for code, prints in self.entries[file].items() for each in prints)
                 for file in gone}  # fmt: skip
        having: dict[tuple[str, str], list[str]] = {}
        for file in gone:
            for mark in marks[file]:
                having.setdefault(mark, []).append(file)
        for file in unknown:
            own = Counter((code, mark) for code, members in present[file].items() for _, mark in members)
            rarest = sorted(own, key=lambda mark: (len(having.get(mark, ())), mark))
            likely = {each for mark in rarest for each in having.get(mark, ())[:MOST_LIKELY]}
            same = {each: (marks[each] & own).total() for each in likely if each in self.entries}
            best = max(sorted(same), key=lambda each: (same[each], -marks[each].total()), default="")
            if best and 2 * same[best] >= max(own.total(), marks[best].total()):
                self.entries[file] = self.entries.pop(best)
                for mark in marks[best]:
                    having[mark].remove(best)

    def shrink(self, found: list[Diagnostic], looked_at: set[str]) -> None:
        """Takes out what is gone. Nothing is added: where there are more findings than it holds, it stays."""
        present = self.by_file(found)
        for file in [self._key(path) for path in looked_at]:
            for code, prints in list(self.entries.get(file, {}).items()):
                here = present.get(file, {}).get(code, [])
                if len(here) <= len(prints):
                    prints[:] = [mark for _, mark in here]
                if not prints:
                    del self.entries[file][code]
        folder = os.path.dirname(os.path.abspath(self.path))
        for file in list(self.entries):
            if not self.entries[file] or not os.path.exists(os.path.join(folder, file)):
                del self.entries[file]

    def write(self) -> None:
        """Writes the file. Raises `InputError` where that is not possible."""
        value = {"version": 1, "note": _NOTE, "files": self.entries}
        data = (json.dumps(value, indent=1, sort_keys=True) + "\n").encode()
        try:
            if os.path.exists(self.path):
                write(self.path, data)
            else:
                create(self.path, data)
        except OSError as error:
            raise InputError(f"cannot write the baseline {self.path}: {reason(error)}") from None

    @property
    def count(self) -> int:
        return sum(len(prints) for codes in self.entries.values() for prints in codes.values())

    def _key(self, path: str) -> str:
        folder = os.path.dirname(os.path.abspath(self.path))
        return os.path.relpath(os.path.abspath(path), folder).replace(os.sep, "/")

    def by_file(self, found: list[Diagnostic]) -> dict[str, dict[str, list[tuple[Diagnostic, str]]]]:
        files: dict[str, dict[str, list[tuple[Diagnostic, str]]]] = {}
        for diagnostic in found:
            codes = files.setdefault(self._key(diagnostic.source.path), {})
            codes.setdefault(diagnostic.code, []).append((diagnostic, _fingerprint(diagnostic)))
        return files


def read_baseline(path: str) -> Baseline:
    """The baseline in a file. Raises `InputError` where it cannot be read, or is none."""
    try:
        value = json.loads(content(path))
    except OSError as error:
        raise unreadable(path, error, "baseline") from None
    except UnicodeDecodeError as error:
        raise unreadable(path, error, "baseline") from None
    except (ValueError, RecursionError) as error:
        raise InputError(f"the baseline {path} is not valid: {error}") from None
    files = value.get("files") if isinstance(value, dict) and value.get("version") == 1 else None
    if not isinstance(files, dict) or not all(map(_is_entry, files.values())):
        raise InputError(f"the baseline {path} is not one that sbatchlint wrote: write a new one (--write-baseline)")
    return Baseline(path, files)


def baseline_of(path: str, found: list[Diagnostic]) -> Baseline:
    """One that holds these findings."""
    baseline = Baseline(path, {})
    for file, codes in baseline.by_file(found).items():
        baseline.entries[file] = {code: [mark for _, mark in members] for code, members in codes.items()}
    return baseline


def _fingerprint(diagnostic: Diagnostic) -> str:
    """The text of the line, in eight digits."""
    from zlib import crc32

    source = diagnostic.source
    line = source.slice(source.line_of(diagnostic.span.start)).strip()
    return f"{crc32(source.encode(line)):08x}"


def _take(prints: Counter[str], mark: str) -> bool:
    if not prints[mark]:
        return False
    prints[mark] -= 1
    return True


def _is_entry(value: object) -> bool:
    return isinstance(value, dict) and all(
        isinstance(prints, list) and all(isinstance(each, str) for each in prints) for prints in value.values()
    )
