"""Finds the checks by the names of their files, and loads only those that are asked for.

`sb401_early_task_variable.py` is the check SB401, `early-task-variable`. Nothing is imported to know that.
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

if TYPE_CHECKING:
    from sbatchlint.check import Card, Cases, Finding, Job

PACKAGE = "sbatchlint.checks"
DOCUMENTATION = "https://github.com/sbatchlint/sbatchlint/blob/main/docs/checks/"


class Group:
    """A family of checks: those whose codes begin with `prefix`."""

    __slots__ = ("name", "prefix", "summary")

    def __init__(self, prefix: str, name: str, summary: str) -> None:
        self.prefix = prefix
        self.name = name
        self.summary = summary


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


class Entry:
    """A check as its file name tells it."""

    __slots__ = ("code", "module", "name")

    def __init__(self, code: str, name: str, module: str) -> None:
        self.code = code
        self.name = name
        self.module = module

    @property
    def url(self) -> str:
        return f"{DOCUMENTATION}{self.name}.md"


class Check:
    """A loaded check. `run` takes the job, and the options as a mapping where the card declares any."""

    __slots__ = ("card", "entry", "module", "run")

    def __init__(self, entry: Entry, card: "Card", run: "Callable[..., Iterable[Finding]]", module: ModuleType) -> None:
        self.entry = entry
        self.card = card
        self.run = run
        self.module = module

    @property
    def summary(self) -> str:
        return (self.module.__doc__ or "").strip().partition("\n")[0]

    @property
    def cases(self) -> "Cases":
        cases: Cases = self.module.CASES
        return cases


_PACKAGE = os.path.dirname(os.path.abspath(__file__))


def is_checkout() -> bool:
    """Whether this is the project's own tree, where the checks lie beside the package, and not in it."""
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
        # One way for a checkout and an installation: the package is its folder, wherever that is.
        package = ModuleType(PACKAGE)
        package.__path__ = [folder()]
        sys.modules[PACKAGE] = package
    return import_module(f"{PACKAGE}.{module}")


def _asking(module: ModuleType) -> "Callable[..., Iterable[Finding]]":
    """The `check` of a module, or what asks its `check_command` or the like for each that the trigger finds."""
    if hasattr(module, "check"):
        check: Callable[..., Iterable[Finding]] = module.check
        return check
    for trigger in module.CARD.when.parts:
        if hasattr(module, trigger.asks or "check"):
            return partial(_ask_for_each, trigger.found, getattr(module, trigger.asks))
    raise AttributeError(f"{module.__name__} has neither `check` nor a function that its trigger asks")


def _ask_for_each(
    find: "Callable[[Job], Iterable[object]]", ask: "Callable[..., Iterable[Finding]]", job: "Job", *options: object
) -> "Iterable[Finding]":
    for found in find(job):
        yield from ask(job, found, *options)


class Registry:
    """The checks there are, sorted by code."""

    def __init__(self, entries: Iterable[Entry]) -> None:
        self.entries = tuple(sorted(entries, key=attrgetter("code")))
        self._by_key = {key: entry for entry in self.entries for key in (entry.code.lower(), entry.name)}
        self._loaded: dict[str, Check] = {}

    def find(self, key: str) -> Entry | None:
        """The check with this code or name, in any case of letters."""
        return self._by_key.get(key.strip().lower().replace("_", "-"))

    def select(self, selector: str) -> tuple[Entry, ...]:
        """The checks of a code, a name, a prefix of codes, a group or `ALL`. Raises `InputError` for anything else."""
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
        if prefix.startswith("SB") and (found or known):
            return found
        raise InputError(f"unknown check '{selector}'{self.suggestion(key)}")

    def specificity(self, selector: str) -> int:
        """0 for `ALL`, then the length of the prefix, 9 for one check: a closer selector wins over a wider one."""
        key = selector.strip()
        if key.upper() == "ALL":
            return 0
        if self.find(key) is not None:
            return 9
        return 3 if any(key.lower() == group.name for group in GROUPS) else len(key)

    def suggestion(self, key: str) -> str:
        """` (did you mean …?)`, or nothing."""
        near = self.nearest(key)
        return f" (did you mean '{near}'?)" if near else ""

    def nearest(self, key: str) -> str:
        """The code, name or group that is most like a word; empty where none is.

        Codes that differ by a digit mean different things: only letters are read as the digits that they look like.
        """
        if re.fullmatch(r"(?i)sb[\doil]{3}", key.strip()):
            code = "SB" + key.strip()[2:].lower().translate(str.maketrans("oil", "011"))
            return code if self.find(code) is not None else ""
        near = nearest(key.lower(), [*self._by_key, *(group.name for group in GROUPS)])
        return near.upper() if near.startswith("sb") else near

    def load(self, entry: Entry) -> Check:
        """Imports a check. Whatever its file raises comes through."""
        check = self._loaded.get(entry.module)
        if check is None:
            module = _import(entry.module)
            check = self._loaded[entry.module] = Check(entry, module.CARD, _asking(module), module)
        return check

    def load_all(self) -> tuple[Check, ...]:
        return tuple(self.load(entry) for entry in self.entries)


def nearest(word: str, known: Iterable[str]) -> str:
    """The known word that is most like another one; empty where none is."""
    from difflib import get_close_matches

    return next(iter(get_close_matches(word, list(known), n=1, cutoff=0.6)), "")


def did_you_mean(word: str, known: Iterable[str], shown: Callable[[str], str] = str) -> str:
    """` (did you mean 'select'?)` for the nearest known word, or nothing."""
    near = nearest(word, known)
    return f" (did you mean '{shown(near)}'?)" if near else ""


def entries() -> list[Entry]:
    """The checks whose files lie in the folder, in no order."""
    found = map(parse_file_name, os.listdir(folder()))
    return [entry for entry in found if entry is not None]


_registry: Registry | None = None


def registry() -> Registry:
    """The registry of this installation."""
    global _registry
    if _registry is None:
        _registry = Registry(entries())
    return _registry
