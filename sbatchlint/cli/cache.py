"""Keeps the findings of files, so that a file which is linted again unchanged is not evaluated again.

A result holds for the same content and settings, and as long as everything that its evaluation asked of the file
system is answered alike (`source.lookups`). The results of a folder and a set of options are one file in the user's
cache, which is read at once, and replaced in one step: of two runs at the same time, one loses what it added. A file
that cannot be read, or was written by another sbatchlint or Python, is taken for an empty one.
"""

import json
import os
import re
import time
from collections.abc import Iterable
from typing import Any

from sbatchlint.cli.outcome import Outcome
from sbatchlint.diagnostics import Diagnostic, Fix, Related
from sbatchlint.installation import state
from sbatchlint.registry import registry
from sbatchlint.settings import Overrides, Settings
from sbatchlint.source import lookups
from sbatchlint.source.edits import Edit
from sbatchlint.source.files import Uninterrupted
from sbatchlint.source.lookups import Answer, Question, digest
from sbatchlint.source.text import Source, Span

# One file of results, and all of them.
MOST_BYTES = 16 << 20
MOST_BYTES_OF_ALL = 64 << 20
# Files of results that were not used for so long are removed.
MOST_SECONDS = 30 * 24 * 3600
_DAY = 24 * 3600
_NAME = re.compile(r"results-[0-9a-f]{32}\.(?:json|\d+\.new)")

Entry = list[Any]


def cache_folder() -> str | None:
    """Where results are kept; None where there is no such place."""
    own = os.environ.get("SBATCHLINT_CACHE_DIR")
    if own:
        return os.path.abspath(own)
    home = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return os.path.join(home, "sbatchlint") if os.path.isabs(home) else None


class Cache:
    """The results for the current folder and these options."""

    def __init__(self, folder: str, overrides: Overrides, state: str) -> None:
        self._folder = folder
        self._state = state
        run = digest(repr((os.getcwd(), overrides)).encode("utf-8", "surrogateescape"))
        self._path = os.path.join(folder, f"results-{run}.json")
        self._settings: dict[int, tuple[Settings, bytes]] = {}  # with their digest
        self._answers: dict[Question, Answer] = {}  # of this run
        self._data: dict[str, bytes] = {}  # files beside scripts
        self._holding: set[int] = set()  # the questions that are answered as they were
        self._asked: list[tuple[Question, Answer]] = []
        self._entries: dict[str, Entry] = {}
        self._used: set[str] = set()
        self._added: dict[str, tuple[Entry, dict[Question, Answer]]] = {}
        self._load()

    @classmethod
    def of_run(cls, overrides: Overrides) -> "Cache | None":
        """None where nothing can be kept."""
        try:
            folder, current = cache_folder(), state()
            if folder is None or current is None:
                return None
            return cls(folder, overrides, digest(current.encode("utf-8", "surrogateescape")))
        except OSError:
            return None

    # --- from the file -----------------------------------------------------------------------

    def _load(self) -> None:
        try:
            with open(self._path, "rb") as file:
                head, _, body = file.read(2 * MOST_BYTES).partition(b"\n")
            if head.decode() == self._head(body):
                found = json.loads(body)
                self._asked = [(tuple(question), answer) for question, answer in found["asked"]]
                self._entries = found["entries"]
        except (OSError, ValueError):
            pass

    def _head(self, body: bytes) -> str:
        return f"sbatchlint results {self._state} {digest(body)}"

    def find(self, path: str, data: bytes, settings: Settings) -> Outcome | None:
        """The result of a file; None where none is kept that holds."""
        entry = self._entries.get(path)
        if entry is None or entry[0] != self._key(data, settings):
            return None
        if not all(map(self._holds, set(entry[1]) - self._holding)):
            return None
        outcome = self._outcome(path, data, settings, entry)
        if outcome is not None:
            self._used.add(path)
        return outcome

    def _key(self, data: bytes, settings: Settings) -> str:
        known = self._settings.get(id(settings))
        if known is None:
            mark = digest(settings.fingerprint.encode("utf-8", "surrogateescape"))
            known = self._settings[id(settings)] = (settings, mark.encode())
        return digest(known[1] + data)

    def _holds(self, number: int) -> bool:
        """Whether a question is answered as it was; each is asked once in a run."""
        question, answer = self._asked[number]
        if question not in self._answers:
            self._answers[question] = lookups.ask_again(question)
        if self._answers[question] != answer:
            return False
        self._holding.add(number)
        return True

    def _outcome(self, path: str, data: bytes, settings: Settings, entry: Entry) -> Outcome | None:
        _, asked, hidden, failing, ignored, dated, found, plain = entry
        sources: dict[str | None, Source] = {}
        diagnostics = []
        for code, severity, message, start, end, related, fix, reached, shown, versions in found:
            if shown not in sources:
                content = data if shown is None else self._beside(shown, asked)
                if content is None:
                    return None
                sources[shown] = Source.from_bytes(content, path if shown is None else shown)
                sources[shown].is_plain = shown is None and plain
            check = registry().find(code)
            assert check is not None
            diagnostics.append(
                Diagnostic(
                    code,
                    check.name,
                    severity,
                    message,
                    Span(start, end),
                    tuple(Related(Span(first, last), label) for first, last, label in related),
                    fix and Fix(fix[0], [Edit(Span(first, last), text) for first, last, text in fix[2]], fix[1]),
                    sources[shown],
                    check.url,
                    reached,
                    versions=tuple(versions),
                )
            )
        origin = settings.origin or ""
        return Outcome(path, diagnostics, hidden, failing, origin=origin, ignored=ignored, dated=dated)

    def _beside(self, shown: str, asked: Iterable[int]) -> bytes | None:
        """The content of a file beside the script; None where it changed since it was compared."""
        path = os.path.abspath(shown)
        if path not in self._data:
            for question, answer in map(self._asked.__getitem__, asked):
                if question[:2] == ("read", path):
                    most = question[2]
                    assert isinstance(most, int)
                    data = lookups.read(path, most)
                    if data is None or digest(data) != answer:
                        return None
                    self._data[path] = data
        return self._data.get(path)

    # --- into the file -----------------------------------------------------------------------

    def add(self, data: bytes, settings: Settings, outcome: Outcome) -> None:
        """Keeps a result; not one with errors, or which rests on what may not be repeated."""
        if outcome.error or outcome.faults or outcome.asked is None:
            return
        found = [
            [
                diagnostic.code,
                diagnostic.severity,
                diagnostic.message,
                *diagnostic.span,
                [[*span, label] for span, label in diagnostic.related],
                diagnostic.fix
                and [
                    diagnostic.fix.title,
                    diagnostic.fix.safe,
                    [[*edit.span, edit.content] for edit in diagnostic.fix.edits],
                ],
                diagnostic.reached,
                diagnostic.source.path if diagnostic.reached else None,
                diagnostic.versions,
            ]
            for diagnostic in outcome.diagnostics
        ]
        plain = any(each.source.is_plain and not each.reached for each in outcome.diagnostics)
        counts = (outcome.hidden, outcome.failing, outcome.ignored, outcome.dated)
        entry = [self._key(data, settings), [], *counts, found, plain]
        self._added[outcome.path] = (entry, outcome.asked)

    def write(self) -> None:
        """Writes what was added, and removes what was not used for long; where that is not possible, nothing."""
        try:
            if self._added:
                os.makedirs(self._folder, 0o700, exist_ok=True)
                self._replace(self._body())
                _clean(self._folder)
            elif self._used and time.time() - os.stat(self._path).st_mtime > _DAY:
                os.utime(self._path)
        except OSError:
            pass

    def _body(self) -> bytes:
        """Results of this run first, then others of files that still exist, as many as there is room for."""
        numbers: dict[tuple[Question, Answer], int] = {}
        asked_rows: list[str] = []
        rows: list[str] = []
        room = MOST_BYTES
        kept = [path for path in self._entries if path not in self._added]
        kept.sort(key=lambda path: path not in self._used)
        for path in (*self._added, *kept):
            if path in self._added:
                entry, asked = self._added[path]
                questions = list(asked.items())
            elif path in self._used or os.path.exists(path):
                entry = self._entries[path]
                questions = [self._asked[number] for number in entry[1]]
            else:
                continue
            new = [each for each in questions if each not in numbers]
            numbers |= {each: number for number, each in enumerate(new, len(numbers))}
            asked_rows += map(_json, new)
            rows.append(f"{_json(path)}:{_json([entry[0], [numbers[each] for each in questions], *entry[2:]])}")
            room -= len(rows[-1]) + sum(map(len, asked_rows[len(asked_rows) - len(new) :]))
            if room < 0:
                rows.pop()
                break
        return f'{{"asked":[{",".join(asked_rows)}],"entries":{{{",".join(rows)}}}}}'.encode()

    def _replace(self, body: bytes) -> None:
        new = f"{self._path.removesuffix('json')}{os.getpid()}.new"
        with Uninterrupted():
            handle = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            try:
                with os.fdopen(handle, "wb") as file:
                    file.write(self._head(body).encode() + b"\n" + body)
                os.replace(new, self._path)
            except BaseException:
                os.unlink(new)
                raise


def _json(value: object) -> str:
    return json.dumps(value, separators=(",", ":"))


def _clean(folder: str) -> None:
    """Removes the files of results that were not used for longest, until the others are few enough."""
    found = []
    with os.scandir(folder) as listed:
        for entry in listed:
            if _NAME.fullmatch(entry.name):
                status = entry.stat(follow_symlinks=False)
                found.append((status.st_mtime, status.st_size, entry.path))
    size = 0
    now = time.time()
    for used, bytes_of_file, path in sorted(found, reverse=True):
        size += bytes_of_file
        kept_for = _DAY if path.endswith(".new") else MOST_SECONDS
        if size > MOST_BYTES_OF_ALL or now - used > kept_for:
            os.unlink(path)
