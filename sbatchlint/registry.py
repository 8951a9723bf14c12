"""The checks, found by the names of their files and loaded on demand.

`sb401_early_task_variable.py` is the check SB401, `early-task-variable`.
"""

import os
import re
import sys
from collections.abc import Callable, Iterable
from functools import partial
from operator import attrgetter
from types import ModuleType
from typing import TYPE_CHECKING

from sbatchlint.source.files import InputError
from sbatchlint.source.records import Record

if TYPE_CHECKING:
    from sbatchlint.check import Card, Cases, Finding, Job

PACKAGE = "sbatchlint.checks"
DOCUMENTATION = "https://github.com/sbatchlint/sbatchlint/blob/main/docs/checks/"


class Group(Record):
    """A group of checks: those whose codes begin with `prefix`."""

    prefix: str
    name: str
    summary: str


GROUPS = (
    Group("SB0", "file", "the file, and the linter itself"),
    Group("SB1", "directives", "what sbatch reads"),
    Group("SB2", "resources", "what is asked for"),
    Group("SB3", "launch", "how many processes, where, with which rank"),
    Group("SB4", "expansion", "when a variable gets its value"),
    Group("SB5", "containers", "what runs in a container, and what it sees"),
    Group("SB6", "environment", "environment, caches, tools"),
    Group("SB7", "logs", "logs, exit status, arrays"),
    Group("SB8", "steps", "steps, and the life of the job"),
    Group("SB9", "security", "security and policy"),
)


class Entry(Record):
    """The code, name and module of a check, as given by its file name."""

    code: str
    name: str
    module: str

    @property
    def url(self) -> str:
        return f"{DOCUMENTATION}{self.name}.md"


class Check(Record):
    """A loaded check. `run` takes the job, and a mapping of options if the card declares any."""

    entry: Entry
    card: "Card"
    run: "Callable[..., Iterable[Finding]]"
    module: ModuleType

    @property
    def summary(self) -> str:
        return (self.module.__doc__ or "").strip().partition("\n")[0]

    @property
    def cases(self) -> "Cases":
        cases: Cases = self.module.CASES
        return cases


_PACKAGE = os.path.dirname(os.path.abspath(__file__))


def is_checkout() -> bool:
    """Whether this is a checkout of the project, where the checks are next to the package instead of in it."""
    return not os.path.isdir(os.path.join(_PACKAGE, "checks"))


def folder() -> str:
    """The folder of the check files."""
    return os.path.join(os.path.dirname(_PACKAGE) if is_checkout() else _PACKAGE, "checks")


def parse_file_name(file_name: str) -> Entry | None:
    """The entry of `sbNNN_some_name.py`; None for other files."""
    stem, extension = os.path.splitext(file_name)
    number, _, words = stem.partition("_")
    if extension != ".py" or not words or len(number) != 5 or number[:2] != "sb" or not number[2:].isdigit():
        return None
    return Entry(number.upper(), words.replace("_", "-"), stem)


def _import(module: str) -> ModuleType:
    from importlib import import_module

    if PACKAGE not in sys.modules:
        # The same for a checkout and an installation: the package is its folder, wherever that is.
        package = ModuleType(PACKAGE)
        package.__path__ = [folder()]
        sys.modules[PACKAGE] = package
    return import_module(f"{PACKAGE}.{module}")


def _run_of(module: ModuleType) -> "Callable[..., Iterable[Finding]]":
    """The `check` of a module, or what calls its `check_command` or the like for each thing that the trigger finds."""
    if hasattr(module, "check"):
        check: Callable[..., Iterable[Finding]] = module.check
        return check
    for trigger in module.CARD.when.parts:
        if hasattr(module, trigger.asks or "check"):
            return partial(_check_each, trigger.found, getattr(module, trigger.asks))
    raise AttributeError(f"{module.__name__} has neither `check` nor a function that its trigger asks")


def _check_each(
    find: "Callable[[Job], Iterable[object]]", check: "Callable[..., Iterable[Finding]]", job: "Job", *options: object
) -> "Iterable[Finding]":
    for found in find(job):
        yield from check(job, found, *options)


class Registry:
    """All checks, sorted by code."""

    def __init__(self, entries: Iterable[Entry]) -> None:
        self.entries = tuple(sorted(entries, key=attrgetter("code")))
        self._by_key = {key: entry for entry in self.entries for key in (entry.code.lower(), entry.name)}
        self._loaded: dict[str, Check] = {}

    def find(self, key: str) -> Entry | None:
        """The check with this code or name, case-insensitively; None if there is none."""
        return self._by_key.get(key.strip().lower().replace("_", "-"))

    def select(self, selector: str) -> tuple[Entry, ...]:
        """The checks of `matching`. Raises `InputError` where nothing is called so."""
        found = self.matching(selector)
        if found is None:
            wrong = InputError(f"unknown check '{selector}'{self.suggestion(selector.strip())}")
            wrong.add_note("hint: `sbatchlint checks` lists all")
            raise wrong
        return found

    def matching(self, selector: str) -> tuple[Entry, ...] | None:
        """The checks selected by a code, name, prefix of codes, group or `ALL`; None where nothing is called so."""
        key = selector.strip()
        if key.upper() == "ALL":
            return self.entries
        entry = self.find(key)
        if entry is not None:
            return (entry,)
        prefix = key.upper()
        for group in GROUPS:
            if key.lower() == group.name:
                prefix = group.prefix
        known = any(group.prefix.startswith(prefix) for group in GROUPS) or prefix in [each.prefix for each in GROUPS]
        found = tuple(entry for entry in self.entries if entry.code.startswith(prefix))
        return found if prefix.startswith("SB") and (found or known) else None

    def specificity(self, selector: str) -> int:
        """0 for `ALL`, the length of a prefix, 9 for one check: the more specific selector wins."""
        key = selector.strip()
        if key.upper() == "ALL":
            return 0
        if self.find(key) is not None:
            return 9
        return 3 if any(key.lower() == group.name for group in GROUPS) else len(key)

    def suggestion(self, key: str) -> str:
        """` (did you mean …?)` for the nearest code, name or group; "" if there is none."""
        near = self.nearest(key)
        return f" (did you mean '{near}'?)" if near else ""

    def nearest(self, key: str) -> str:
        """The code, name or group most similar to a word; "" if there is none.

        Codes that differ in a digit are unrelated, so only letters that look like digits are replaced.
        """
        if re.fullmatch(r"(?i)sb[\doil]{3}", key.strip()):
            code = "SB" + key.strip()[2:].lower().translate(str.maketrans("oil", "011"))
            return code if self.find(code) is not None else ""
        if re.fullmatch(r"(?i)sb\d+", key.strip()):
            return ""  # of another length
        near = nearest(key.lower(), [*self._by_key, *(group.name for group in GROUPS)])
        return near.upper() if near.startswith("sb") else near

    def load(self, entry: Entry) -> Check:
        """The loaded check. Exceptions of its module propagate."""
        check = self._loaded.get(entry.module)
        if check is None:
            module = _import(entry.module)
            check = self._loaded[entry.module] = Check(entry, module.CARD, _run_of(module), module)
        return check

    def load_all(self) -> tuple[Check, ...]:
        return tuple(self.load(entry) for entry in self.entries)


def nearest(word: str, known: Iterable[str]) -> str:
    """The known word most similar to another one; "" if there is none."""
    from difflib import get_close_matches

    return next(iter(get_close_matches(word, list(known), n=1, cutoff=0.6)), "")


def did_you_mean(word: str, known: Iterable[str], shown: Callable[[str], str] = str) -> str:
    """` (did you mean 'select'?)` for the nearest known word; "" if there is none."""
    near = nearest(word, known)
    return f" (did you mean '{shown(near)}'?)" if near else ""


def entries() -> list[Entry]:
    """The checks in the folder, in no particular order."""
    found = map(parse_file_name, os.listdir(folder()))
    return [entry for entry in found if entry is not None]


_registry: Registry | None = None


def registry() -> Registry:
    """The registry of this installation."""
    global _registry
    if _registry is None:
        _registry = Registry(entries())
    return _registry
