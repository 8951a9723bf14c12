"""Every check: its cases (see check_cases.py), its card, its messages, its documentation."""

from __future__ import annotations

import ast
import re

import pytest

from check_cases import (
    CASES,
    ENTRIES,
    SEVERITIES,
    BadFile,
    Case,
    Inspector,
    cases_of,
    in_its_folder,
    marked,
    read_traps,
    shown,
)
from conftest import ROOT
from sbatchlint.check import Bad, Good
from sbatchlint.diagnostics import Diagnostic
from sbatchlint.registry import Check, Entry, parse_file_name, registry
from sbatchlint.triggers import KnownCluster

FIRED = {line for line in (ROOT / "tests" / "data" / "fired.txt").read_text().splitlines() if line[0] != "#"}


def differences(case: Case, inspector: Inspector) -> list[str]:
    """What is not as a case says; nothing where all is."""
    text = case.case.example.text
    found = inspector.findings(text)
    wrong = []
    if shown(found) != marked(case):
        wrong.append(f"reported {shown(found)}, marked {marked(case)}")
    if isinstance(case.case, Good):
        return wrong
    severity = case.case.severity or case.check.card.severity
    wrong.extend(f"severity is {each.severity}, not {severity}" for each in found if each.severity != severity)
    safe = text if case.case.fixed is None else case.case.fixed
    unsafe = safe if case.case.unsafe_fixed is None else case.case.unsafe_fixed
    for name, expected, with_unsafe in (("--fix", safe, False), ("--unsafe-fixes", unsafe, True)):
        fixed = inspector.fix(text, with_unsafe)
        if fixed.source.text != expected:
            refused = [each.reason for each in fixed.refused]
            wrong.append(f"{name} gave:\n{fixed.source.text}\ninstead of:\n{expected}\ntaken back: {refused}")
    return wrong


def unstable(case: Bad, inspector: Inspector) -> list[str]:
    """Where what a fix made of a bad script has the fault still, or is fixed once more."""
    before = inspector.findings(case.example.text)
    wrong = []
    for text, unsafe in ((case.fixed, False), (case.unsafe_fixed, True)):
        if text is None:
            continue
        name = "--unsafe-fixes" if unsafe else "--fix"
        again = inspector.fix(text, unsafe).source.text
        if again != text:
            wrong.append(f"{name} makes of its own result:\n{again}")
        left = inspector.findings(text)
        repairable = [each for each in before if each.fix is not None and (each.fix.safe or unsafe)]
        if len(left) > len(before) - len(repairable):
            wrong.append(f"{name} leaves {shown(left)}")
        fixable = [each for each in left if each.fix is not None and (each.fix.safe or unsafe)]
        if fixable:
            wrong.append(f"{name} leaves what has a fix: {shown(fixable)}")
    return wrong


# Messages may have more than 140 characters for these reasons only; code in backquotes counts as at most 15, as it is
# copied and not read.
LONG = {
    "the release, the options and their lines, which conflict": (
        "SB112 SB120 SB130 SB202 SB204 SB205 SB206 SB208 SB804 SB328 SB329"
    ),
    "what tells that a GPU is needed, and what each task sees": "SB201 SB211 SB310 SB311",
    "a launcher, its nodes and what it waits for": (
        "SB301 SB303 SB304 SB305 SB312 SB316 SB318 SB321 SB324 SB332 SB333 SB401 SB402 SB403"
    ),
    "a calculation": "SB325 SB326 SB327 SB334",
    "two ways out, of which the reader has to choose": "SB104 SB411 SB414 SB806 SB902 SB701",
    "where a folder is, and why": "SB601 SB603",
    "what sees the failure, and the lines that keep it": "SB609 SB710 SB711 SB801 SB802 SB516",
}
MOST = 140


def is_long(message: str) -> bool:
    return len(re.sub(r"`([^`]*)`", lambda code: f"`{code[1][:15]}`", message)) > MOST


def faults_of_message(found: Diagnostic) -> list[str]:
    """What is against the rules for messages, labels and titles."""
    message = found.message
    wrong = []
    if re.match(r"(?!Slurm\b)[A-Z][a-z]", message):
        wrong.append("begins with a capital")
    if "\n" in message:
        wrong.append("has more than one line")
    if is_long(message) and found.code not in " ".join(LONG.values()):
        wrong.append(f"has {len(message)} characters")
    if message.endswith((".", "!")):
        wrong.append("ends in a full stop")
    if re.search(r"[a-z)`'\"]\. +[A-Za-z]", re.sub(r"\b(e\.g|i\.e|etc|vs)\.", "", message)):
        wrong.append("has two sentences with a full stop between them")
    wrong += [f"the label {label!r}" for _, label in found.related if not label or label.endswith(".")]
    if found.fix is not None:
        if not found.fix.title or found.fix.title.endswith("."):
            wrong.append(f"the title of its fix is {found.fix.title!r}")
        if not found.fix.edits:
            wrong.append("its fix changes nothing")
    return [f"{message!r}: {each}" for each in wrong]


def faults_of_card(check: Check, found: list[tuple[Case, Diagnostic]]) -> list[str]:
    """Where the card is not what the findings of the bad scripts say; a setting of the site may raise the severity."""
    card = check.card
    with_fix = sum(each.fix is not None for _, each in found)
    inferred = "never" if not with_fix else "always" if with_fix == len(found) else "sometimes"
    wrong = []
    if card.fix != inferred:
        wrong.append(f"fix={card.fix!r}, and {with_fix} of the {len(found)} findings of the cases have a fix")
    needs_cluster = isinstance(card.when, KnownCluster)
    plain = [each.severity for case, each in found if needs_cluster or not case.case.settings]
    if not plain:
        wrong.append("no bad script is reported without settings")
    elif card.severity != max(plain, key=SEVERITIES.index):
        wrong.append(f"severity={card.severity!r}, and the worst finding is {max(plain, key=SEVERITIES.index)}")
    return wrong


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: f"{entry.code}-{entry.name}")
def test_cases(entry: Entry) -> None:
    """Each script is linted once, and each text that its fixes lead to; with every trigger on and off."""
    cases = cases_of(entry)
    bad = [case for case in cases if isinstance(case.case, Bad) and not case.case.missed]
    assert bad, "there is no bad script"
    assert any(isinstance(case.case, Good) for case in cases), "there is no good script"
    wrong: list[str] = []
    found: list[tuple[Case, Diagnostic]] = []
    for case in cases:
        if isinstance(case.case, Bad) != bool(marked(case)):
            wrong.append(f"{case.label}: a bad script marks the place, and a good one marks nothing")
        inspector = Inspector(case)
        with in_its_folder(case):
            differing = differences(case, inspector)
            if isinstance(case.case, Bad) and not case.case.missed:
                differing += unstable(case.case, inspector)
            own = inspector.findings(case.case.example.text)
        if case.case.missed if isinstance(case.case, Bad) else case.case.flagged:
            differing = [] if differing else ["this known limit is one no more: take `missed` or `flagged` away"]
        differing += inspector.faults
        differing += [fault for each in own for fault in faults_of_message(each)]
        wrong += [f"{case.label}: {each}" for each in differing]
        if case in bad:
            found += [(case, each) for each in own]
    wrong += [f"the card: {each}" for each in faults_of_card(registry().load(entry), found)]
    assert not wrong, "\n".join(wrong)


def imports_of(tree: ast.Module) -> list[str]:
    """The modules that a file imports, relative ones with a dot before them."""
    imported = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            imported += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            imported += [f"{'.' * node.level}{node.module}.{alias.name}" for alias in node.names]
    return imported


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: f"{entry.code}-{entry.name}")
def test_file_and_card(entry: Entry) -> None:
    for path in (ROOT / "checks" / f"{entry.module}.py", CASES / f"{entry.name}.md"):
        lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
        rows = [row for row, line in enumerate(lines, 1) if "FILL IN" in line]
        assert not rows, f"{path.name}: tools/new_check.py left something to be written on lines {rows}"
    imported = imports_of(ast.parse((ROOT / "checks" / f"{entry.module}.py").read_text(encoding="utf-8")))
    assert not [name for name in imported if name.startswith(".")], "imports are absolute"
    others = [name for name in imported if name.startswith(("sbatchlint.checks", "checks", "sbatchlint.registry"))]
    assert not others, "what two checks want belongs in sbatchlint/analysis"
    check = registry().load(entry)
    card = check.card
    assert (card.code, card.name) == (entry.code, entry.name)
    assert entry.module == f"{card.code.lower()}_{card.name.replace('-', '_')}"
    assert card.severity in SEVERITIES
    assert card.fix in ("always", "sometimes", "never")
    assert card.stage in ("stable", "preview", "optional")
    assert re.fullmatch(r"\d+\.\d+\.\d+", card.since)
    assert not card.seen.endswith("."), "`seen` is a phrase"
    # a real script has set it off, or its card says what it is known from
    rests = card.code in FIRED or card.seen or card.stage == "preview"
    assert rests, "no real script has set it off: say with seen= what it is known from"
    documentation = check.module.__doc__ or ""
    summary, _, body = documentation.strip().partition("\n")
    assert summary.endswith("."), "the first line of the docstring is a sentence"
    assert len(summary) <= 120
    assert body.startswith("\n"), "a blank line follows the summary"
    assert re.findall(r"^## (.*)$", body, re.MULTILINE) == ["Fix", "References"]
    assert body.split("## Fix")[0].strip(), "it says why the fault hurts"
    assert all(part.strip() for part in re.split(r"^## .*$", body, flags=re.MULTILINE)[1:])


def test_what_has_fired_is_a_check() -> None:
    assert {entry.code for entry in ENTRIES} >= FIRED


def test_files_of_checks_are_named_as_agreed() -> None:
    names = {path.name for path in ROOT.joinpath("checks").glob("*.py")} - {"__init__.py"}
    assert names
    for name in names:
        assert parse_file_name(name) is not None, f"{name} is not named sbNNN_some_name.py"
    assert len({entry.code for entry in ENTRIES}) == len(ENTRIES) == len({entry.name for entry in ENTRIES})


def test_no_file_is_longer_than_650_lines() -> None:
    paths = [path for name in ("sbatchlint", "checks", "tests", "tools") for path in (ROOT / name).rglob("*.py")]
    assert paths
    sizes = {str(path.relative_to(ROOT)): len(path.read_text(encoding="utf-8").splitlines()) for path in paths}
    assert not {path: size for path, size in sizes.items() if size > 650}


def test_every_file_of_traps_belongs_to_a_check() -> None:
    for path in CASES.glob("*.md"):
        assert registry().find(path.stem), f"{path.name}: there is no such check"


def test_a_fix_may_be_written_as_what_it_changes() -> None:
    bad = Bad("a «b» c\nd\n", fixed={"b": "x", "d\n": ""}, unsafe_fixed="z\n")
    assert (bad.fixed, bad.unsafe_fixed) == ("a x c\n", "z\n")
    for old in ("e", "a"):
        with pytest.raises(ValueError, match="times"):
            _ = Bad("«a» a\n", fixed={old: "x"}).fixed


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
    several = read_traps("## Good: some\n```bash\na\n```\n```bash\nb\n```\n```toml\nline-length = 9\n```\n")
    assert [(title, case.example.text, case.settings) for title, case in several] == [
        ("Good: some 1", "a\n", {}),
        ("Good: some 2", "b\n", {"line-length": 9}),
    ]
    for wrong in (
        "## Ugly\n```bash\n```\n",
        "## Bad\n```bash\n```\n```fixed\n```\n```fixed\n```\n",
        "## Bad\n```sh\n```\n",
        "## Good\n```bash\n```\n```fixed\n```\n",
    ):
        with pytest.raises(BadFile):
            list(read_traps(wrong))
