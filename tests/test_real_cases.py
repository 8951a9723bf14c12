"""Real failures, re-created: each is found on its line, and its corrected twin is clean."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from sbatchlint.engine import inspect
from sbatchlint.fix import fix_source
from sbatchlint.settings import Settings
from sbatchlint.source.text import Source

CASES = Path(__file__).parent / "cases_real"
# Which check finds a class of failures, as far as there is one.
FOUND_BY = {
    "launcher-task-mismatch": {"SB301", "SB311"},
    "rank-expanded-early": {"SB401", "SB402"},
    "node-local-path": {"SB604"},
    "gpu-not-requested": {"SB201"},
    "gpu-binding-vs-launcher": {"SB211"},
    "cuda-visible-devices-hardcoded": {"SB212"},
    "directives-after-command": {"SB101"},
    "variable-in-directive": {"SB115"},
    "unknown-directive-option": {"SB111", "SB112", "SB119"},
    "srun-only-flag-in-directive": {"SB113"},
    "exit-status-lost": {"SB710"},
    "variable-not-exported-to-step": {"SB408"},
    "misspelled-slurm-variable": {"SB409"},
    "line-continuation": {"SB411"},
    "wrap-quoting": {"SB412"},
    "expanded-at-submission": {"SB415"},
    "bad-shebang": {"SB002"},
    "directive-value-whitespace": {"SB104"},
    "module-not-initialised": {"SB006"},
    "repeated-option-last-wins": {"SB116"},
    "time-ambiguous": {"SB122"},
    "launcher-not-under-srun": {"SB312"},
    "nnodes-nproc-mismatch": {"SB304"},
    "wrong-master-addr": {"SB306", "SB515"},
    "container-gpu": {"SB512", "SB513"},
    "srun-task-count-unset": {"SB329"},
    "mpi-launcher": {"SB318"},
    "steps-serialised": {"SB802"},
    "export-drops-environment": {"SB609"},
    "array-logs-clobbered": {"SB702"},
    "array-index-mistake": {"SB422"},
    "conda-not-initialised": {"SB610"},
    "cpus-per-task-not-passed": {"SB804"},
    "log-directory-missing": {"SB701"},
    "memory-conflict": {"SB615"},
    "secret-in-script": {"SB901"},
    "set-u-trap": {"SB611"},
    "signal-not-delivered": {"SB806"},
    "signal-trap": {"SB719"},
    "spool-directory-path": {"SB808"},
    "log-overwritten-on-requeue": {"SB706"},
}
SCRIPTS = sorted(CASES.glob("*/*.sh"))


def source_of(path: Path) -> Source:
    return Source.from_bytes(path.read_bytes(), str(path))


def cases() -> list[tuple[str, dict[str, object]]]:
    found = []
    for path in sorted(CASES.glob("*/case.json")):
        case = json.loads(path.read_text())
        if case["class"] in FOUND_BY:
            found.append((path.parent.name, case))
    return found


@pytest.mark.parametrize(("name", "case"), cases(), ids=[name for name, _ in cases()])
def test_a_failure_is_found_on_its_line(name: str, case: dict[str, object]) -> None:
    source = source_of(CASES / name / "job.sh")
    codes = FOUND_BY[str(case["class"])]
    found = inspect(source, Settings.of_table({})).diagnostics
    rows = {source.row(each.span.start) for each in found if each.code in codes}
    lines = case["line"]
    assert isinstance(lines, list)
    assert rows & set(lines), rows


@pytest.mark.parametrize("path", sorted(CASES.glob("*/fixed.sh")), ids=lambda path: path.parent.name)
def test_a_corrected_script_is_clean(path: Path) -> None:
    found = inspect(source_of(path), Settings.of_table({})).diagnostics
    assert [(each.code, each.message) for each in found if each.severity != "info"] == []


def parses(text: str) -> bool:
    return subprocess.run(["bash", "-n"], input=Source.encode(text), capture_output=True, check=False).returncode == 0


@pytest.mark.parametrize(
    "unsafe", [pytest.param(False, marks=pytest.mark.slow, id="safe"), pytest.param(True, id="unsafe")]
)
@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_fixes_are_stable_and_keep_the_rest(path: Path, unsafe: bool) -> None:
    source = source_of(path)
    fixed = fix_source(source, Settings.of_table({}), unsafe=unsafe)
    again = fix_source(fixed.source, Settings.of_table({}), unsafe=unsafe)
    assert again.source.text == fixed.source.text
    assert parses(fixed.source.text) == parses(source.text)
    # every line that no finding's edit touches is still there, in order
    touched = {
        row
        for diagnostic in fixed.applied
        for edit in (diagnostic.fix.edits if diagnostic.fix else ())
        for row in range(diagnostic.source.row(edit.span.start), diagnostic.source.row(edit.span.end) + 1)
    }
    kept = [line for row, line in enumerate(source.text.splitlines(), 1) if row not in touched]
    rest = iter(fixed.source.text.splitlines())
    assert all(any(line == other for other in rest) for line in kept)
