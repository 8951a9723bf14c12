"""What must hold of the advice in messages, with all checks at work: tried on the cases of the checks.

Whoever follows a message that says what to write gets no finding at warning or above in return, and the advice of two
findings on one line can be followed by both. Only what can be applied mechanically is tried (advice.py says what that
is): the advice of some 1,500 of the 5,700 findings in the cases, more than a third of those that say what to write.
For the second property the options that two messages write or remove are compared.
"""

from __future__ import annotations

from collections import Counter
from itertools import combinations

import pytest

from advice import Followed, followed
from check_cases import ENTRIES, cases_of, in_its_folder
from sbatchlint.check import Bad
from sbatchlint.diagnostics import Diagnostic
from sbatchlint.engine import lint_source
from sbatchlint.registry import Entry
from sbatchlint.source.edits import apply
from sbatchlint.source.text import Source
from test_fix_properties import UNCOVERED, settings_for

pytestmark = pytest.mark.slow

# What right advice uncovers, beside what right fixes do: a comment that has no counterpart, further missing options, a
# wait that no task reached; and the `export -f` that the same sentence asks for before what is written in place.
UNCOVERED_BY_ADVICE = UNCOVERED | {
    ("SB010", "SB011"),
    ("SB401", "SB816"),
    ("SB303", "SB305"),
    ("SB303", "SB307"),
    ("SB403", "SB442"),
    ("SB212", "SB905"),  # of `export NAME=…` only the assignment is removed here
}


def earned(source: Source, found: Diagnostic, before: list[Diagnostic], after: list[Diagnostic]) -> list[str]:
    """The findings that come, or stay, where a message was followed."""
    known = Counter(each.code for each in before)
    counts = Counter(each.code for each in after if each.severity != "info")
    new = {code for code in counts if counts[code] > known[code] and (found.code, code) not in UNCOVERED_BY_ADVICE}
    return [f"{each.code}: {each.message}" for each in after if each.code in new]


def conflict(one: Followed, other: Followed) -> bool:
    """Whether two messages give an option different values, or one removes it, or they write over each other."""
    if one.option and one.option == other.option and one.value != other.value and "" not in (one.value, other.value):
        return True
    return any(
        first.span.start < second.span.end and second.span.start < first.span.end
        and not first.content.startswith(second.content) and not second.content.startswith(first.content)
        for first in one.edits
        for second in other.edits
    )  # fmt: skip


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: f"{entry.code}-{entry.name}")
def test_advice_earns_no_finding_and_agrees(entry: Entry) -> None:
    wrong: list[str] = []
    for case in cases_of(entry):
        if not isinstance(case.case, Bad) or case.case.missed:
            continue
        settings, source = settings_for(case), Source(case.case.example.text, "job.sh")
        with in_its_folder(case):
            before = lint_source(source, settings)
            advice = [(each, followed(source, each)) for each in before]
            for found, follow in advice:
                if follow is None or found.code != entry.code:
                    continue
                after = lint_source(source.with_text(apply(source.text, follow.edits)), settings)
                faults = earned(source, found, before, after)
                place = follow.edits[0].span.start
                stays = any(each.message == found.message and each.span.start == place for each in after)
                if stays and found.severity != "info" and follow.edits[0].content:
                    faults.append("the finding stays")
                wrong += [f"{case.label}: `{found.message}` earns {each}" for each in faults]
        told = [(each, follow) for each, follow in advice if follow is not None]
        for (one, first), (other, second) in combinations(told, 2):
            line = source.text.count("\n", 0, one.span.start)
            if line == source.text.count("\n", 0, other.span.start) and conflict(first, second):
                wrong.append(f"{case.label}: `{one.message}` and `{other.message}`")
    assert not wrong, "\n".join(wrong)
