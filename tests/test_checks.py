"""Every case of every check: those in the check's own file, and the traps in tests/cases/NAME.md.

A file of traps: a heading is a trap's name, and begins with Bad or Good; below it a fence of bash with the marks «…»,
then for Bad ones a fence `fixed` or `unsafe-fixed` where there is a fix, and a fence `toml` where settings matter.
"(missed)" or "(flagged)" in the heading records a known limit.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from typing import NamedTuple

import pytest

from conftest import ROOT
from sbatchlint.check import Bad, Good
from sbatchlint.engine import Diagnostic, lint_source
from sbatchlint.fix import Fixed, fix_source
from sbatchlint.registry import Check, Entry, folder, parse_file_name, registry
from sbatchlint.settings import Settings
from sbatchlint.source.text import Source

CASES = ROOT / "tests" / "cases"
SEVERITIES = ("info", "warning", "error")
ENTRIES = registry().entries
MOST_BYTES = 12_000


class BadFile(ValueError):
    """A file of traps is not written as it should be."""


def read_traps(text: str) -> Iterator[tuple[str, Bad | Good]]:
    """The traps of a Markdown file."""
    for part in re.split(r"^#{2,} ", text, flags=re.MULTILINE)[1:]:
        heading, _, body = part.partition("\n")
        fences = {kind: content for _, kind, content in re.findall(r"^(`{3,})(\S+)\n(.*?)^\1$", body, re.M | re.S)}
        unknown = fences.keys() - {"bash", "fixed", "unsafe-fixed", "toml"}
        if unknown or "bash" not in fences:
            raise BadFile(f"{heading}: needs a fence of bash, and knows no {sorted(unknown)}")
        settings = tomllib.loads(fences.get("toml", ""))
        severity = next((each for each in SEVERITIES if f"({each})" in heading), None)
        if heading.startswith("Bad"):
            yield (
                heading,
                Bad(
                    fences["bash"],
                    fixed=fences.get("fixed"),
                    unsafe_fixed=fences.get("unsafe-fixed"),
                    severity=severity,
                    missed="(missed)" in heading,
                    settings=settings,
                    title=heading,
                ),
            )
        elif heading.startswith("Good"):
            if fences.keys() & {"fixed", "unsafe-fixed"}:
                raise BadFile(f"{heading}: a good script needs no fix")
            yield heading, Good(fences["bash"], flagged="(flagged)" in heading, settings=settings, title=heading)
        else:
            raise BadFile(f"{heading}: must begin with Bad or Good")


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


ALL = [case for entry in ENTRIES for case in cases_of(entry)]


def settings_of(case: Case) -> Settings:
    return Settings.of_table(case.case.settings, select=[case.check.entry.name])


def findings(case: Case, text: str | None = None) -> list[Diagnostic]:
    return lint_source(Source(case.case.example.text if text is None else text, "job.sh"), settings_of(case))


def fix(case: Case, text: str, unsafe: bool) -> Fixed:
    return fix_source(Source(text, "job.sh"), settings_of(case), unsafe)


def shown(text: str, diagnostics: list[Diagnostic]) -> list[str]:
    return [f"{each.span.start}-{each.span.end} {text[each.span.start : each.span.end]!r}" for each in diagnostics]


def complaints(case: Case) -> list[str]:
    """What is not as a case says; nothing where all is."""
    example = case.case.example
    found = findings(case)
    wrong = []
    if sorted(each.span for each in found) != sorted(example.spans):
        marked = [f"{span.start}-{span.end} {example.text[span.start : span.end]!r}" for span in example.spans]
        wrong.append(f"reported {shown(example.text, found)}, marked {marked}")
    if isinstance(case.case, Good):
        return wrong
    severity = case.case.severity or case.check.card.severity
    wrong.extend(f"severity is {each.severity}, not {severity}" for each in found if each.severity != severity)
    safe = example.text if case.case.fixed is None else case.case.fixed
    unsafe = safe if case.case.unsafe_fixed is None else case.case.unsafe_fixed
    for name, expected, with_unsafe in (("--fix", safe, False), ("--unsafe-fixes", unsafe, True)):
        fixed = fix(case, example.text, with_unsafe)
        if fixed.source.text != expected:
            refused = [each.reason for each in fixed.refused]
            wrong.append(f"{name} gave:\n{fixed.source.text}\ninstead of:\n{expected}\ntaken back: {refused}")
    return wrong


@pytest.mark.parametrize("case", ALL, ids=lambda case: case.label)
def test_case(case: Case) -> None:
    bad = isinstance(case.case, Bad)
    if bad:
        assert case.case.example.spans, "a bad script marks the place"
    else:
        assert not case.case.example.spans, "a good script marks nothing"
    wrong = complaints(case)
    limit = case.case.missed if isinstance(case.case, Bad) else case.case.flagged
    if limit:
        assert wrong, "this known limit is one no more: take `missed` or `flagged` away"
    else:
        assert not wrong, "\n".join(wrong)


FIXABLE = [
    case
    for case in ALL
    if isinstance(case.case, Bad) and not case.case.missed and (case.case.fixed or case.case.unsafe_fixed)
]


@pytest.mark.parametrize("case", FIXABLE, ids=lambda case: case.label)
def test_fixed_text_is_clean_and_stable(case: Case) -> None:
    assert isinstance(case.case, Bad)
    before = findings(case)
    for text, unsafe in ((case.case.fixed, False), (case.case.unsafe_fixed, True)):
        if text is None:
            continue
        again = fix(case, text, unsafe)
        assert again.source.text == text
        left = findings(case, text)
        repairable = [each for each in before if each.fix is not None and (each.fix.safe or unsafe)]
        assert len(left) <= len(before) - len(repairable), shown(text, left)
        assert not [each for each in left if each.fix is not None and (each.fix.safe or unsafe)]


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.name)
def test_what_a_check_says_of_itself(entry: Entry) -> None:
    check = registry().load(entry)
    card = check.card
    assert (card.code, card.name) == (entry.code, entry.name)
    assert entry.module == f"{card.code.lower()}_{card.name.replace('-', '_')}"
    assert card.severity in SEVERITIES
    assert card.fix in ("always", "sometimes", "never")
    assert card.stage in ("stable", "preview", "optional")
    assert re.fullmatch(r"\d+\.\d+\.\d+", card.since)
    assert not card.seen.endswith("."), "`seen` is a phrase, which a sentence goes on with"
    documentation = check.module.__doc__ or ""
    summary, _, body = documentation.strip().partition("\n")
    assert summary.endswith("."), "the first line of the docstring is a sentence"
    assert len(summary) <= 120
    assert body.startswith("\n"), "a blank line follows the summary"
    assert re.findall(r"^## (.*)$", body, re.MULTILINE) == ["Fix", "References"]
    assert body.split("## Fix")[0].strip(), "it says why the fault hurts"
    assert all(part.strip() for part in re.split(r"^## .*$", body, flags=re.MULTILINE)[1:])


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.name)
def test_a_check_has_examples_of_both_kinds_and_a_true_card(entry: Entry) -> None:
    cases = [case for case in cases_of(entry) if isinstance(case.case, Bad) and not case.case.missed]
    assert cases, "there is no bad script"
    assert any(isinstance(case.case, Good) for case in cases_of(entry)), "there is no good script"
    found = [each for case in cases for each in findings(case)]
    card = registry().load(entry).card
    with_fix = sum(each.fix is not None for each in found)
    inferred = "never" if not with_fix else "always" if with_fix == len(found) else "sometimes"
    assert card.fix == inferred, f"{with_fix} of the {len(found)} findings of the cases have a fix"
    # a setting of the site may raise it
    plain = [each for case in cases if not case.case.settings for each in findings(case)]
    worst = max((each.severity for each in plain), key=SEVERITIES.index)
    assert card.severity == worst


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.name)
def test_messages(entry: Entry) -> None:
    for case in cases_of(entry):
        for each in findings(case):
            message = each.message
            assert not re.match(r"[A-Z][a-z]", message), f"begins with a capital: {message}"
            assert "\n" not in message
            assert not message.endswith((".", "!")), f"ends in a full stop: {message}"
            assert not re.search(r"[a-z)`'\"]\. +[A-Za-z]", re.sub(r"\b(e\.g|i\.e|etc|vs)\.", "", message)), message
            assert all(label and not label.endswith(".") for _, label in each.related)
            if each.fix is not None:
                assert each.fix.title
                assert not each.fix.title.endswith(".")
                assert each.fix.edits


def test_files_of_checks_are_named_and_sized_as_agreed() -> None:
    names = {path.name for path in ROOT.joinpath("checks").glob("*.py")} - {"__init__.py"}
    assert names
    for name in names:
        entry = parse_file_name(name)
        assert entry is not None, f"{name} is not named sbNNN_some_name.py"
        assert (ROOT / "checks" / name).stat().st_size <= MOST_BYTES, f"{name} carries a model that belongs in job/"
    assert len({entry.code for entry in ENTRIES}) == len(ENTRIES) == len({entry.name for entry in ENTRIES})


def test_checks_import_nothing_but_the_agreed_module() -> None:
    for entry in ENTRIES:
        with open(f"{folder()}/{entry.module}.py", encoding="utf-8") as file:
            imported = re.findall(r"^\s*(?:from|import) +(\S+)", file.read(), re.MULTILINE)
        own = {name for name in imported if name.startswith(("sbatchlint", "."))}
        assert own == {"sbatchlint.check"}, entry.module


def test_every_file_of_traps_belongs_to_a_check() -> None:
    for path in CASES.glob("*.md"):
        assert registry().find(path.stem), f"{path.name}: there is no such check"


def test_traps_are_read_as_written() -> None:
    text = (
        "# name\n\n## Bad: one (info)\n\nwhy\n\n```bash\n«a»\n```\n\n```fixed\nb\n```\n\n"
        "## Good: two (flagged)\n\n````bash\n```\n````\n"
    )
    (_, bad), (_, good) = read_traps(text)
    assert isinstance(bad, Bad)
    assert isinstance(good, Good)
    assert (bad.example.text, bad.example.spans, bad.fixed, bad.severity) == ("a\n", ((0, 1),), "b\n", "info")
    assert (good.example.text, good.flagged) == ("```\n", True)
    for wrong in ("## Ugly\n```bash\n```\n", "## Bad\n```sh\n```\n", "## Good\n```bash\n```\n```fixed\n```\n"):
        with pytest.raises(BadFile):
            list(read_traps(wrong))
