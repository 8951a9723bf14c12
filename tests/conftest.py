"""Small checks of the tests' own, so that the engine can be tested whatever the real checks do."""

from __future__ import annotations

import io
import os
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import NamedTuple, TypeVar

import pytest
from hypothesis import settings

from sbatchlint import registry as registry_module
from sbatchlint.card_index import card_index
from sbatchlint.check import Bad, Card, Finding, Fix, Good, Job, Option, Span, insert, replace
from sbatchlint.cli import main
from sbatchlint.registry import Check, Entry, Registry

ROOT = Path(__file__).resolve().parent.parent

# What pip says where it cannot reach anything to install from.
NO_NETWORK = ("Could not find a version", "Failed to establish", "ConnectionError", "Temporary failure", "No matching")

# The tests change checks, and measure, in ways that no run of a user does.
os.environ["SBATCHLINT_NO_CACHE"] = "1"
# Hundreds of tests start the program. Without its bytecode each start would compile it, and take four times as long.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
os.environ["PYTHONPYCACHEPREFIX"] = str(ROOT / ".pytest_cache" / "bytecode")

T = TypeVar("T")

# A plain run draws so many times fewer examples than one with -m "slow or deep".
FEWER = 8
_is_deep = False

# Runs look at a fixed part of what there are very many of, such as pairs of a verb and a sink; with this, at all of it.
ALL = "SBATCHLINT_ALL" in os.environ


def part(members: Sequence[T], every: int, first: int = 0) -> Sequence[T]:
    """One in so many members, from the first one on, or all of them in a run that looks at all."""
    return members if ALL else members[first % every :: every]


def pytest_configure(config: pytest.Config) -> None:
    global _is_deep
    _is_deep = config.option.markexpr != "not slow"
    # How long an example takes says more about the machine than about the code. The examples are the same in each run,
    # so that a failure tells of the change at hand; new ones are what tools/fuzz.py looks for.
    settings.register_profile("sbatchlint", deadline=None, derandomize=True, max_examples=examples(100))
    settings.load_profile("sbatchlint")


def examples(number: int) -> int:
    """How many examples this run draws where a deep one draws this number."""
    return number if _is_deep else max(number // FEWER, 1)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if getattr(getattr(item, "obj", None), "is_hypothesis_test", False):
            item.add_marker(pytest.mark.deep)


Run = Callable[[Job], Iterator[Finding]]


def _words(job: Job, word: str) -> Iterator[Span]:
    return (Span(*match.span()) for match in re.finditer(rf"\b{word}\b", job.source.text))


def wrong(job: Job) -> Iterator[Finding]:
    for span in _words(job, "WRONG"):
        yield Finding(span, "this is wrong; write RIGHT", fix=Fix("write RIGHT", [replace(span, "RIGHT")], safe=True))


def guess(job: Job) -> Iterator[Finding]:
    for span in _words(job, "GUESS"):
        related = [(Span(0, 11), "the first line")]
        yield Finding(span, "this is a guess", related=related, fix=Fix("decide", [replace(span, "KNOWN")]))


def hint(job: Job) -> Iterator[Finding]:
    for span in _words(job, "HINT"):
        yield Finding(span, "a hint")


def stubborn(job: Job) -> Iterator[Finding]:
    for span in _words(job, "STAY"):
        yield Finding(span, "it stays", fix=Fix("try", [insert(span.end, "!")], safe=True))


def breaker(job: Job) -> Iterator[Finding]:
    for span in _words(job, "BREAK"):
        yield Finding(span, "it breaks", fix=Fix("break it", [replace(span, "x; fi")], safe=True))


def trouble(job: Job) -> Iterator[Finding]:
    for span in _words(job, "TROUBLE"):
        yield Finding(span, "it brings trouble", fix=Fix("bring it", [replace(span, "FATAL")], safe=True))


def fatal(job: Job) -> Iterator[Finding]:
    for span in _words(job, "FATAL"):
        yield Finding(span, "this is fatal")


def maybe(job: Job) -> Iterator[Finding]:
    for span in _words(job, "MAYBE"):
        yield Finding(span, "maybe")


def crash(job: Job) -> Iterator[Finding]:
    if "CRASH" in job.source.text:
        raise RuntimeError("the check\ncannot go on")
    for span in _words(job, "OVERLAP"):
        yield Finding(span, "its fix overlaps itself", fix=Fix("end it", [replace(span, "x"), replace(span, "y")]))


def limit(job: Job, options: Mapping[str, object]) -> Iterator[Finding]:
    found = list(_words(job, "MANY"))
    most = options["most"]
    assert isinstance(most, int)
    for span in found[most:]:
        yield Finding(span, f"more than {most}")


def lines(job: Job) -> Iterator[Finding]:
    for match in re.finditer(r"^NEWLINE(?=\r?$)", job.source.text, re.MULTILINE):
        span = Span(*match.span())
        yield Finding(span, "two lines", fix=Fix("make it two", [replace(span, "one\ntwo")], safe=True))


def comment(job: Job) -> Iterator[Finding]:
    for match in re.finditer(r"^.*\bCOMMENTED\b.*$", job.source.text, re.MULTILINE):
        span = Span(*match.span())
        yield Finding(span, "it has a comment", fix=Fix("drop it", [replace(span, "true")], safe=True))


def old(job: Job) -> Iterator[Finding]:
    for span in _words(job, "OLD"):
        yield Finding(span, "Slurm before 23.02 refuses it", versions=("22.05",))


class Toy(NamedTuple):
    number: int
    run: Callable[..., Iterator[Finding]]
    severity: str
    fix: str
    stage: str = "stable"
    options: tuple[Option, ...] = ()
    seen: str = ""


TOYS = (
    Toy(110, wrong, "error", "always"),
    Toy(120, guess, "warning", "always"),
    Toy(130, hint, "info", "never"),
    Toy(140, stubborn, "warning", "always"),
    Toy(150, breaker, "warning", "always"),
    Toy(160, trouble, "warning", "always"),
    Toy(161, fatal, "error", "never"),
    Toy(170, maybe, "warning", "never", "optional", seen="a live run of Slurm 26.05"),
    Toy(180, crash, "warning", "never"),
    Toy(190, limit, "warning", "never", options=(Option("most", 2, "how many are allowed"),)),
    Toy(210, lines, "warning", "always"),
    Toy(220, comment, "warning", "always"),
    Toy(230, old, "error", "never"),
)


def toy_registry() -> Registry:
    entries = []
    loaded = {}
    for toy in TOYS:
        name = f"toy-{toy.run.__name__}"
        entry = Entry(f"SB{toy.number}", name, f"sb{toy.number}_toy_{toy.run.__name__}")
        module = ModuleType(
            entry.module, f"Summary of {name}.\n\nWhy it is there.\n\n## Fix\n\nBy hand.\n\n## References\n\nNone.\n"
        )
        module.CASES = [  # type: ignore[attr-defined]
            Bad("a «WRONG» b\n", fixed="a RIGHT b\n"),
            Good("fine\n", files={"lib/more.sh": "fine too\n"}),
        ]
        card = Card(entry.code, name, toy.severity, toy.fix, "0.1.0", toy.stage, toy.options, seen=toy.seen)
        loaded[entry.module] = Check(entry, card, toy.run, module)
        entries.append(entry)
    registry = Registry(entries)
    registry._loaded.update(loaded)
    return registry


@pytest.fixture
def toys(monkeypatch: pytest.MonkeyPatch) -> Registry:
    """The small checks instead of the real ones."""
    registry = toy_registry()
    monkeypatch.setattr(registry_module, "_registry", registry)
    optional = {entry.module for toy, entry in zip(TOYS, registry.entries) if toy.stage != "stable"}
    monkeypatch.setattr(card_index(), "optional", optional)
    return registry


class Result(NamedTuple):
    code: int
    out: str
    err: str


class Command:
    """Runs the command in this process, in a folder of its own."""

    def __init__(self, folder: Path, capture: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder = folder
        self._capture = capture
        self._monkeypatch = monkeypatch

    def __call__(self, *arguments: str, stdin: bytes = b"") -> Result:
        self._monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        self._capture.readouterr()
        try:
            code = main(list(arguments))
        except SystemExit as leaving:
            code = int(leaving.code or 0)
        out, err = self._capture.readouterr()
        assert "Traceback" not in out + err or "-v" in arguments
        return Result(code, out, err)

    def write(self, name: str, text: str | bytes) -> Path:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path


@pytest.fixture
def command(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, toys: Registry
) -> Command:
    """The command line over the small checks, with an empty folder as the current one."""
    monkeypatch.chdir(tmp_path)
    for name in ("GITHUB_ACTIONS", "GITHUB_WORKSPACE", "NO_COLOR", "FORCE_COLOR", "COLUMNS"):
        monkeypatch.delenv(name, raising=False)
    return Command(tmp_path, capsys, monkeypatch)


HEAD = "#!/bin/bash\n#SBATCH --nodes=2\n"
