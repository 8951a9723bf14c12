"""What must hold of every fix, with all checks at work: tried on the cases of the checks.

A fix brings no finding about the words that it writes, of its own check or another, and a second run changes nothing.
The cases alone: over thousands of scripts this is done by hand.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from unittest.mock import patch

import pytest

from check_cases import ENTRIES, Case, cases_of, in_its_folder
from sbatchlint import fix as fix_module
from sbatchlint.check import Bad
from sbatchlint.diagnostics import Diagnostic
from sbatchlint.engine import Inspection, inspect
from sbatchlint.fix import OffsetMap, bash_parses, fix_source
from sbatchlint.registry import Entry
from sbatchlint.settings import Settings
from sbatchlint.source.edits import apply
from sbatchlint.source.text import Source

pytestmark = pytest.mark.slow

# What a right fix uncovers: it was wrong before, in words that nobody read, or that the job did not have.
UNCOVERED = {
    ("SB104", "SB117"),
    ("SB104", "SB202"),
    ("SB112", "SB204"),
    ("SB128", "SB806"),
    ("SB129", "SB117"),
    ("SB201", "SB213"),
    ("SB328", "SB206"),
    ("SB422", "SB710"),
    ("SB512", "SB513"),
    ("SB607", "SB305"),
    ("SB607", "SB307"),
    ("SB619", "SB421"),
    ("SB801", "SB711"),  # the steps had no status before that the job could have had
    ("SB910", "SB918"),
}


def settings_for(case: Case) -> Settings:
    chosen = Settings.of_table(case.case.settings)
    chosen.min_severity = "info"
    return chosen


Inspect = Callable[[Source, Settings], Inspection]


@contextmanager
def remembered() -> Iterator[Inspect]:
    """What looks at each text of one case only once, also where fixes ask; so does what asks whether bash reads it."""
    inspections: dict[str, Inspection] = {}
    parses: dict[str, bool] = {}

    def inspect_once(source: Source, settings: Settings) -> Inspection:
        if source.text not in inspections:
            inspections[source.text] = inspect(source, settings)
        return inspections[source.text]

    def parses_once(source: Source) -> bool:
        if source.text not in parses:
            parses[source.text] = bash_parses(source)
        return parses[source.text]

    with patch.multiple(fix_module, inspect=inspect_once, bash_parses=parses_once):
        yield inspect_once


def brought(
    source: Source, found: Diagnostic, before: list[Diagnostic], settings: Settings, inspect: Inspect
) -> list[str]:
    """The findings, at warning or above, about the words that a fix has written."""
    assert found.fix is not None
    edits = sorted(found.fix.edits, key=lambda each: each.span)
    after = source.with_text(apply(source.text, edits))
    offsets = OffsetMap(edits)
    known = {(each.code, offsets.offset(each.span.start)) for each in before if each is not found}
    starts = [offsets.offset(each.span.start, after=False) for each in edits]
    written = [(start, start + len(each.content)) for start, each in zip(starts, edits, strict=True) if each.content]
    return [
        f"{found.code} writes what {each.code} reports: {each.message}"
        for each in inspect(after, settings).diagnostics
        if each.severity != "info" and (each.code, each.span.start) not in known
        if (found.code, each.code) not in UNCOVERED
        if any(each.span.start < end and start < each.span.end for start, end in written)
    ]


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: f"{entry.code}-{entry.name}")
def test_fixes_bring_nothing_and_are_stable(entry: Entry) -> None:
    wrong: list[str] = []
    for case in cases_of(entry):
        if not isinstance(case.case, Bad) or case.case.fixed is None and case.case.unsafe_fixed is None:
            continue
        settings = settings_for(case)
        source = Source(case.case.example.text, "job.sh")
        with in_its_folder(case), remembered() as inspect_once:
            before = inspect_once(source, settings).diagnostics
            own = [each for each in before if each.code == entry.code and each.fix is not None and not each.reached]
            faults = [fault for each in own for fault in brought(source, each, before, settings, inspect_once)]
            fixed = fix_source(source, settings, unsafe=True)
            again = fix_source(fixed.source, settings, unsafe=True)
        if again.source.text != fixed.source.text:
            faults.append(f"a second run gives:\n{again.source.text}\ninstead of:\n{fixed.source.text}")
        wrong += [f"{case.label}: {each}" for each in faults]
    assert not wrong, "\n".join(wrong)
