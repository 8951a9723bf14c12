"""What a terminal shows of many findings."""

from __future__ import annotations

import shlex

import pytest

from conftest import HEAD, Command
from sbatchlint.cli.arguments import lint_options
from sbatchlint.diagnostics import Diagnostic
from sbatchlint.report import overview
from sbatchlint.report.model import Report
from sbatchlint.report.terminal import Terminal
from sbatchlint.source.text import Source, Span

SIZES = [(80, 24), (100, 50), (140, 50)]


@pytest.fixture
def many(command: Command) -> Command:
    """A folder with 60 findings of three checks in 30 files."""
    for number in range(30):
        command.write(f"jobs/{number:02}.sbatch", f"{HEAD}echo WRONG {'GUESS' if number % 3 else 'STAY'}\n")
    return command


def on_terminal(monkeypatch: pytest.MonkeyPatch, width: int, height: int) -> None:
    monkeypatch.setattr(Terminal, "of_stream", classmethod(lambda cls, *_: cls(width, height=height)))


@pytest.mark.parametrize(("width", "height"), SIZES)
def test_many_findings_fit_on_two_screens(
    many: Command, monkeypatch: pytest.MonkeyPatch, width: int, height: int
) -> None:
    complete = many("jobs")
    on_terminal(monkeypatch, width, height)
    shown = many("jobs")
    assert shown.code == complete.code == 1
    lines = shown.out.splitlines()
    assert max(map(len, lines)) <= width
    assert len(lines) <= 2 * max(height, 40)
    table = [line.split()[:4] for line in lines if " SB" in line and not line.startswith("  sbatchlint")]
    assert ["30", "30", "error", "SB110"] in table and ["20", "20", "warning", "SB120"] in table
    assert shown.out.count("--> ") >= 3 and "error[SB110]" in lines[0]
    assert "60 findings (30 errors, 30 warnings) in 30 of 30 scripts" in " ".join(shown.out.split())


@pytest.mark.parametrize("width", [60, 80])
def test_each_check_without_room_has_a_line(many: Command, monkeypatch: pytest.MonkeyPatch, width: int) -> None:
    monkeypatch.setattr(overview, "LEAST_IN_FULL", 1)
    on_terminal(monkeypatch, width, 22)
    lines = many("jobs").out.splitlines()
    (brief,) = [line for line in lines if line.startswith("warning[SB120]")]
    assert brief.startswith("warning[SB120] jobs/01.sbatch:3: ") and len(brief) <= width


@pytest.mark.parametrize(("width", "height"), SIZES)
def test_what_it_proposes_can_be_run(many: Command, monkeypatch: pytest.MonkeyPatch, width: int, height: int) -> None:
    on_terminal(monkeypatch, width, height)
    lines = many("jobs").out.partition("what to do next")[2].splitlines()
    commands = [line.partition("sbatchlint ")[2] for line in lines if "sbatchlint " in line]
    assert len(commands) == 5
    for command in commands:
        if not command.startswith("explain "):
            assert lint_options(shlex.split(command)).paths == ["jobs"]
        assert many(*shlex.split(command)).code < 2, command


@pytest.mark.parametrize("options", [("--output-format", "full"), ("-q",), ("--output-format", "concise")])
def test_it_stays_complete_where_asked_to(
    many: Command, monkeypatch: pytest.MonkeyPatch, options: tuple[str, ...]
) -> None:
    complete = many("jobs", *options).out
    on_terminal(monkeypatch, 100, 24)
    assert many("jobs", *options).out == complete
    assert complete.count(".sbatch:") == 60 and "what to do next" not in complete


def test_few_findings_are_shown_in_full(many: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    on_terminal(monkeypatch, 100, 24)
    few = many("jobs", "--select", "SB110").out
    assert few.count("--> ") == 30 and "why: `sbatchlint explain SB110`" in " ".join(few.split())


@pytest.mark.parametrize(
    ("versions", "named", "told"),
    [
        (("22.05", "23.02"), False, "(hides 1 finding)"),
        (("25.05", "25.11", "26.05"), False, ""),
        ((), False, ""),
        (("22.05", "23.02"), True, ""),
    ],
)
def test_a_release_is_proposed_where_it_changes_findings(versions: tuple[str, ...], named: bool, told: str) -> None:
    text = "#!/bin/bash\nsrun ./a.out\n"
    found = Diagnostic("SB101", "some-name", "error", "wrong", Span(12, 16), (), None, Source(text, "a.sh"), "")
    report = Report([found._replace(versions=versions), found._replace(code="SB102")], 1)
    shown = "".join(overview.render(report, Terminal(140, height=50), ["jobs"], named))
    assert ("--slurm-version 25.11 jobs" in shown) == bool(told) and told in shown


def test_long_places_are_cut_where_the_screens_are_full(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    """What cannot be shown on the screens is counted, with the command that lists it."""
    folder = "a/very/long/way/to/the/jobs/of/a/project/that/began/years/ago/and/has/many/folders"
    for number in range(30):
        command.write(f"{folder}/{number:02}.sbatch", f"{HEAD}echo WRONG {'GUESS' if number % 3 else 'STAY'}\n")
    on_terminal(monkeypatch, 80, 60)
    whole = command(".").out
    assert f"{folder}/00.sbatch:3\n" in whole
    on_terminal(monkeypatch, 80, 24)
    lines = command(".").out.splitlines()
    (row,) = [line for line in lines if line.split()[:4] == ["30", "30", "error", "SB110"]]
    assert row.endswith("/folders/00.sbatch:3") and "  ..." in row and len(row) <= 80
    monkeypatch.setattr(overview, "SCREENS", 0)
    monkeypatch.setattr(overview, "LEAST_IN_FULL", 1)
    assert any(
        "more check" in line and line.endswith("sbatchlint --statistics") for line in command(".").out.splitlines()
    )
