"""The cases of the checks: those in a check's own file, and the traps in tests/cases/NAME.md.

A file of traps: a heading is a trap's name, and begins with Bad or Good; below it a fence of bash with the marks «…»
(several are traps of their own), then for Bad ones a fence `fixed` or `unsafe-fixed` where there is a fix, a fence
`toml` where settings matter, and a fence `file:NAME` for each file beside the script. "(missed)" or "(flagged)" in the
heading records a known limit.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from contextlib import chdir, contextmanager
from functools import cache
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple
from unittest.mock import patch

from conftest import ROOT
from sbatchlint import engine
from sbatchlint import fix as fix_module
from sbatchlint.card_index import card_index
from sbatchlint.check import Bad, Good
from sbatchlint.diagnostics import Diagnostic
from sbatchlint.engine import Inspection, inspect, lint_source
from sbatchlint.fix import Fixed, bash_parses, fix_source
from sbatchlint.job import Job
from sbatchlint.registry import Check, Entry, registry
from sbatchlint.settings import Settings
from sbatchlint.source.text import Source, Span
from sbatchlint.triggers import IgnoreComments, Index

CASES = ROOT / "tests" / "cases"
SEVERITIES = ("info", "warning", "error")
ENTRIES = registry().entries


class BadFile(ValueError):
    """A file of traps is not written as it should be."""


def read_traps(text: str) -> Iterator[tuple[str, Bad | Good]]:
    """The traps of a Markdown file: one for each fence of bash."""
    for part in re.split(r"^#{2,} ", text, flags=re.MULTILINE)[1:]:
        heading, _, body = part.partition("\n")
        fences = [(kind, content) for _, kind, content in re.findall(r"^(`{3,})(\S+)\n(.*?)^\1$", body, re.M | re.S)]
        scripts = [number for number, (kind, _) in enumerate(fences) if kind == "bash"]
        if not scripts:
            raise BadFile(f"{heading}: needs a fence of bash")
        starts = [0, *scripts[1:], len(fences)]
        for number, (start, end) in enumerate(pairwise(starts), 1):
            title = heading if len(scripts) == 1 else f"{heading} {number}"
            yield title, _trap(title, fences[start:end])


def _trap(title: str, fences: list[tuple[str, str]]) -> Bad | Good:
    kinds = dict(fences)
    if len(kinds) < len(fences):
        raise BadFile(f"{title}: two fences of a kind for one script")
    files = {kind.removeprefix("file:"): kinds.pop(kind) for kind in list(kinds) if kind.startswith("file:")}
    if unknown := kinds.keys() - {"bash", "fixed", "unsafe-fixed", "toml"}:
        raise BadFile(f"{title}: knows no {sorted(unknown)}")
    settings = tomllib.loads(kinds.get("toml", ""))
    if title.startswith("Bad"):
        return Bad(
            kinds["bash"],
            files=files,
            fixed=kinds.get("fixed"),
            unsafe_fixed=kinds.get("unsafe-fixed"),
            severity=next((each for each in SEVERITIES if f"({each})" in title), None),
            missed="(missed)" in title,
            settings=settings,
            title=title,
        )
    if not title.startswith("Good"):
        raise BadFile(f"{title}: must begin with Bad or Good")
    if kinds.keys() & {"fixed", "unsafe-fixed"}:
        raise BadFile(f"{title}: a good script needs no fix")
    return Good(kinds["bash"], files=files, flagged="(flagged)" in title, settings=settings, title=title)


class Case(NamedTuple):
    check: Check
    case: Bad | Good
    label: str


def cases_of(entry: Entry) -> list[Case]:
    check = registry().load(entry)
    found = []
    for number, case in enumerate(check.cases, 1):
        kind = "bad" if isinstance(case, Bad) else "good"
        found.append(Case(check, case, f"{entry.code}-{number}-{kind}"))
    traps = CASES / f"{entry.name}.md"
    if traps.exists():
        for title, case in read_traps(traps.read_text()):
            slug = "-".join(re.findall(r"[a-z0-9]+", title.lower()))
            found.append(Case(check, case, f"{entry.code}-{slug}"))
    return found


@cache
def all_cases() -> list[Case]:
    """Those of all checks: read when a test asks for them, as to read them takes long."""
    return [case for entry in ENTRIES for case in cases_of(entry)]


def settings_of(case: Case) -> Settings:
    # What speaks of ignored findings needs the checks that make these.
    own = "ALL" if isinstance(case.check.card.when, IgnoreComments) else case.check.entry.name
    return Settings.of_table(case.case.settings, select=[own])


@contextmanager
def in_its_folder(case: Case, text: str | None = None) -> Iterator[Source]:
    """The script of a case (or another text in its place), `job.sh`; in a folder with the files beside it, if any."""
    text = case.case.example.text if text is None else text
    files = case.case.files
    if not files:
        yield Source(text, "job.sh")
        return
    with TemporaryDirectory() as folder, chdir(folder):
        Path(".git").mkdir()  # a project of its own: nothing above this folder is read
        for path, content in [("job.sh", text), *((path, file.text) for path, file in files.items())]:
            Path(path).parent.mkdir(parents=True, exist_ok=True)
            Path(path).write_text(content, encoding="utf-8", errors="surrogateescape", newline="")
        yield Source(text, "job.sh")


def findings(case: Case, text: str | None = None) -> list[Diagnostic]:
    """What the check of a case finds in its script, or in another text in its place."""
    with in_its_folder(case, text) as source:
        return of_its_check(case, lint_source(source, settings_of(case)))


def of_its_check(case: Case, diagnostics: list[Diagnostic]) -> list[Diagnostic]:
    return [each for each in diagnostics if each.code == case.check.entry.code]


class AllHold:
    """Triggers that all hold, with what the real ones say: `names` of checks, and those `held`.

    Checks of ignore comments run after all others, and their triggers are asked then.
    """

    def __init__(self, index: Index) -> None:
        self._index = index
        self.names = index.names
        self.held = {module for module, trigger in card_index().triggers.items() if isinstance(trigger, IgnoreComments)}

    def holding(self, job: Job) -> frozenset[str]:
        self.held |= self._index.holding(job)
        return self.names


class Inspector:
    """Lints and fixes the script of a case, and each text that its fixes lead to only once.

    Every check is asked, whatever its trigger says. `faults`: exceptions, and findings that a trigger would silence.
    To be used in the folder of the case.
    """

    def __init__(self, case: Case) -> None:
        self.case = case
        self.settings = settings_of(case)
        self.faults: list[str] = []
        self._inspections: dict[str, Inspection] = {}
        self._parses: dict[str, bool] = {}

    def findings(self, text: str) -> list[Diagnostic]:
        return of_its_check(self.case, self.inspect(Source(text, "job.sh"), self.settings).diagnostics)

    def fix(self, text: str, unsafe: bool) -> Fixed:
        with patch.multiple(fix_module, inspect=self.inspect, bash_parses=self.parses):
            return fix_source(Source(text, "job.sh"), self.settings, unsafe)

    def inspect(self, source: Source, settings: Settings) -> Inspection:
        assert settings is self.settings
        known = self._inspections.get(source.text)
        if known is None:
            index = AllHold(engine.trigger_index())
            with patch.object(engine, "trigger_index", lambda: index):
                known = self._inspections[source.text] = inspect(source, settings)
            self.faults += [f"{each.where} failed:\n{each.traceback}" for each in known.faults]
            silenced = index.names - index.held
            for diagnostic in known.diagnostics:
                entry = registry().find(diagnostic.code)
                if entry is not None and entry.module in silenced:
                    self.faults.append(
                        f"the trigger of {diagnostic.code} silences {shown([diagnostic])} of:\n{source.text}"
                    )
        return known

    def parses(self, source: Source) -> bool:
        if source.text not in self._parses:
            self._parses[source.text] = bash_parses(source)
        return self._parses[source.text]


def marked(case: Case) -> list[str]:
    """The marked places of a case, its files included, as `shown` writes those of findings."""
    files = {"job.sh": case.case.example, **case.case.files}
    return sorted(place(path, file.text, span) for path, file in files.items() for span in file.spans)


def shown(diagnostics: list[Diagnostic]) -> list[str]:
    return sorted(place(each.source.path, each.source.text, each.span) for each in diagnostics)


def place(path: str, text: str, span: Span) -> str:
    return f"{path} {span.start}-{span.end} {text[span.start : span.end]!r}"
