"""Every case of every check: those in the check's own file, and the traps in tests/cases/NAME.md.

A file of traps: a heading is a trap's name, and begins with Bad or Good; below it a fence of bash with the marks «…»,
then for Bad ones a fence `fixed` or `unsafe-fixed` where there is a fix, a fence `toml` where settings matter, and a
fence `file:NAME` for each file beside the script. "(missed)" or "(flagged)" in the heading records a known limit.
"""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Iterator
from contextlib import chdir, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import pytest

from conftest import ROOT
from sbatchlint.check import Bad, Good
from sbatchlint.diagnostics import Diagnostic
from sbatchlint.engine import lint_source
from sbatchlint.fix import Fixed, fix_source
from sbatchlint.registry import Check, Entry, parse_file_name, registry
from sbatchlint.settings import Settings
from sbatchlint.source.text import Source, Span
from sbatchlint.triggers import IgnoreComments

CASES = ROOT / "tests" / "cases"
SEVERITIES = ("info", "warning", "error")
ENTRIES = registry().entries


class BadFile(ValueError):
    """A file of traps is not written as it should be."""


def read_traps(text: str) -> Iterator[tuple[str, Bad | Good]]:
    """The traps of a Markdown file."""
    for part in re.split(r"^#{2,} ", text, flags=re.MULTILINE)[1:]:
        heading, _, body = part.partition("\n")
        fences = {kind: content for _, kind, content in re.findall(r"^(`{3,})(\S+)\n(.*?)^\1$", body, re.M | re.S)}
        files = {kind.removeprefix("file:"): fences.pop(kind) for kind in list(fences) if kind.startswith("file:")}
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
                    files=files,
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
            flagged = "(flagged)" in heading
            yield heading, Good(fences["bash"], files=files, flagged=flagged, settings=settings, title=heading)
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
    with in_its_folder(case, text) as source:
        return [each for each in lint_source(source, settings_of(case)) if each.code == case.check.entry.code]


def fix(case: Case, text: str, unsafe: bool) -> Fixed:
    with in_its_folder(case, text) as source:
        return fix_source(source, settings_of(case), unsafe)


def marked(case: Case) -> list[str]:
    """The marked places of a case, its files included, as `shown` writes those of findings."""
    files = {"job.sh": case.case.example, **case.case.files}
    return sorted(place(path, file.text, span) for path, file in files.items() for span in file.spans)


def shown(diagnostics: list[Diagnostic]) -> list[str]:
    return sorted(place(each.source.path, each.source.text, each.span) for each in diagnostics)


def place(path: str, text: str, span: Span) -> str:
    return f"{path} {span.start}-{span.end} {text[span.start : span.end]!r}"


def complaints(case: Case) -> list[str]:
    """What is not as a case says; nothing where all is."""
    example = case.case.example
    found = findings(case)
    wrong = []
    if shown(found) != marked(case):
        wrong.append(f"reported {shown(found)}, marked {marked(case)}")
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
        assert marked(case), "a bad script marks the place"
    else:
        assert not marked(case), "a good script marks nothing"
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
        assert len(left) <= len(before) - len(repairable), shown(left)
        assert not [each for each in left if each.fix is not None and (each.fix.safe or unsafe)]


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: f"{entry.code}-{entry.name}")
def test_nothing_is_left_to_fill_in(entry: Entry) -> None:
    for path in (ROOT / "checks" / f"{entry.module}.py", CASES / f"{entry.name}.md"):
        lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
        rows = [row for row, line in enumerate(lines, 1) if "FILL IN" in line]
        assert not rows, f"{path.name}: tools/new_check.py left something to be written on lines {rows}"


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: f"{entry.code}-{entry.name}")
def test_what_a_check_says_of_itself(entry: Entry) -> None:
    check = registry().load(entry)
    card = check.card
    assert (card.code, card.name) == (entry.code, entry.name)
    assert entry.module == f"{card.code.lower()}_{card.name.replace('-', '_')}"
    assert card.severity in SEVERITIES
    assert card.fix in ("always", "sometimes", "never")
    assert card.stage in ("stable", "preview", "optional")
    assert re.fullmatch(r"\d+\.\d+\.\d+", card.since)
    assert not card.seen.endswith("."), "`seen` is a phrase"
    documentation = check.module.__doc__ or ""
    summary, _, body = documentation.strip().partition("\n")
    assert summary.endswith("."), "the first line of the docstring is a sentence"
    assert len(summary) <= 120
    assert body.startswith("\n"), "a blank line follows the summary"
    assert re.findall(r"^## (.*)$", body, re.MULTILINE) == ["Fix", "References"]
    assert body.split("## Fix")[0].strip(), "it says why the fault hurts"
    assert all(part.strip() for part in re.split(r"^## .*$", body, flags=re.MULTILINE)[1:])


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: f"{entry.code}-{entry.name}")
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
    assert plain, "no bad script is reported without settings"
    worst = max((each.severity for each in plain), key=SEVERITIES.index)
    assert card.severity == worst


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: f"{entry.code}-{entry.name}")
def test_messages(entry: Entry) -> None:
    for case in cases_of(entry):
        for each in findings(case):
            message = each.message
            assert not re.match(r"(?!Slurm\b)[A-Z][a-z]", message), f"begins with a capital: {message}"
            assert "\n" not in message
            assert not message.endswith((".", "!")), f"ends in a full stop: {message}"
            assert not re.search(r"[a-z)`'\"]\. +[A-Za-z]", re.sub(r"\b(e\.g|i\.e|etc|vs)\.", "", message)), message
            assert all(label and not label.endswith(".") for _, label in each.related)
            if each.fix is not None:
                assert each.fix.title
                assert not each.fix.title.endswith(".")
                assert each.fix.edits


FIRED = {line for line in (ROOT / "tests" / "data" / "fired.txt").read_text().splitlines() if line[0] != "#"}


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: f"{entry.code}-{entry.name}")
def test_a_check_rests_on_something(entry: Entry) -> None:
    """A real script has set it off (tests/data/fired.txt), its card says what it is known from, or it is preview."""
    card = registry().load(entry).card
    rests = card.code in FIRED or card.seen or card.stage == "preview"
    assert rests, "no real script has set it off: say with seen= what it is known from"


def test_what_has_fired_is_a_check() -> None:
    assert {entry.code for entry in ENTRIES} >= FIRED


def test_files_of_checks_are_named_as_agreed() -> None:
    names = {path.name for path in ROOT.joinpath("checks").glob("*.py")} - {"__init__.py"}
    assert names
    for name in names:
        assert parse_file_name(name) is not None, f"{name} is not named sbNNN_some_name.py"
    assert len({entry.code for entry in ENTRIES}) == len(ENTRIES) == len({entry.name for entry in ENTRIES})


def test_no_file_is_longer_than_500_lines() -> None:
    paths = [path for name in ("sbatchlint", "checks", "tests", "tools") for path in (ROOT / name).rglob("*.py")]
    assert paths
    sizes = {str(path.relative_to(ROOT)): len(path.read_text(encoding="utf-8").splitlines()) for path in paths}
    assert not {path: size for path, size in sizes.items() if size > 500}


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: f"{entry.code}-{entry.name}")
def test_no_check_imports_another(entry: Entry) -> None:
    tree = ast.parse((ROOT / "checks" / f"{entry.module}.py").read_text(encoding="utf-8"))
    imported = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            imported += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, "imports are absolute"
            imported += [f"{node.module}.{alias.name}" for alias in node.names]
    others = [name for name in imported if name.startswith(("sbatchlint.checks", "checks", "sbatchlint.registry"))]
    assert not others, "what two checks want belongs in sbatchlint/analysis"


def test_every_file_of_traps_belongs_to_a_check() -> None:
    for path in CASES.glob("*.md"):
        assert registry().find(path.stem), f"{path.name}: there is no such check"


def test_traps_are_read_as_written() -> None:
    text = (
        "# name\n\n## Bad: one (info)\n\nwhy\n\n```bash\n«a»\n```\n\n```fixed\nb\n```\n\n"
        "## Good: two (flagged)\n\n````bash\n```\n````\n\n```file:lib/env.sh\nX=1\n```\n"
    )
    (_, bad), (_, good) = read_traps(text)
    assert isinstance(bad, Bad)
    assert isinstance(good, Good)
    assert (bad.example.text, bad.example.spans, bad.fixed, bad.severity) == ("a\n", ((0, 1),), "b\n", "info")
    assert (good.example.text, good.flagged) == ("```\n", True)
    assert {path: file.text for path, file in good.files.items()} == {"lib/env.sh": "X=1\n"}
    for wrong in ("## Ugly\n```bash\n```\n", "## Bad\n```sh\n```\n", "## Good\n```bash\n```\n```fixed\n```\n"):
        with pytest.raises(BadFile):
            list(read_traps(wrong))
