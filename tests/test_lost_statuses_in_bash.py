"""What SB710 says of its cases, shown by bash: the job ends with 0 though the work fails, and what is advised helps.

Every program is a stub that succeeds, but for the work that a finding names. Only advice that is applied mechanically
is tried; where the work is not reached with these stubs, nothing is shown.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from check_cases import ENTRIES, cases_of, in_its_folder
from sbatchlint.check import Bad
from sbatchlint.diagnostics import Diagnostic
from sbatchlint.engine import lint_source
from sbatchlint.source.text import Source
from test_fix_properties import settings_for

pytestmark = pytest.mark.slow

BASH = shutil.which("bash") or "/bin/bash"
_STUB = f"#!{BASH}\nexit 0\n"
_WORK = ': > "$HOME/ran"; {} "${{FAIL:-0}}"'
_PRELUDE = (
    "cd() { :; }\nsource() { :; }\n.() { :; }\nsleep() { :; }\ncommand_not_found_handle() { :; }\n"
    f"__work() {{ {_WORK.format('return')}; }}\n"
)
_WRAPPER = (
    f"#!{BASH}\nwhile [[ $1 == -* || $1 == *=* ]]; do [[ $1 == -n ]] && shift; shift; done\n"
    'type "$1" > /dev/null 2>&1 || exit 0\n"$@"\n'
)
_RELATIVE = re.compile(r"(?:^|[\s;&|(\"])((?:\./|\.\./)?[\w.-]+(?:/[\w.-]+)+|\./[\w.-]+)")
_OUTSIDE = re.compile(r">>?\s*\"?\$?\{?/|#!.*(?:csh|zsh)")
_END = re.compile(r"(?:and )?end with `(exit [^`]+)`$")
_OPTION = re.compile(r"add `(set [^`]+|trap 'rc=1' ERR)` above(?: line (\d+))?(?:,? and |, )?(.*)$")
_APPEND = re.compile(r"append `([^`]+)` to (?:line (\d+)|each|both)")
_BELOW = re.compile(r"add `((?:status|rc)=\$\?)` below line (\d+)")


def ends(text: str, fails: int, folder: Path) -> tuple[int, bool]:
    """The exit status of a script whose work ends with `fails`, and whether that work ran; -1 where it does not end."""
    shutil.rmtree(folder, ignore_errors=True)
    files = {"bin/__work": f"#!{BASH}\n{_WORK.format('exit')}\n", "bin/env": _WRAPPER, "bin/nice": _WRAPPER}
    root = folder / "work"
    for name in _RELATIVE.findall(text):
        path = os.path.normpath(root / name)
        if path.startswith(f"{root}/"):
            files[os.path.relpath(path, folder)] = _STUB
    for name, content in files.items():
        path_of = folder / name
        if any(parent.is_file() for parent in path_of.parents) or path_of.is_dir():
            continue
        path_of.parent.mkdir(parents=True, exist_ok=True)
        path_of.write_text(content)
        path_of.chmod(0o755)
    root.mkdir(exist_ok=True)
    (folder / "prelude").write_text(_PRELUDE)
    (folder / "job.sh").write_text(text)
    own = {"PATH": folder / "bin", "BASH_ENV": folder / "prelude", "HOME": folder, "TMPDIR": folder, "FAIL": fails}
    slurm = {"SLURM_JOB_ID": 1, "SLURM_ARRAY_TASK_ID": 1, "SLURM_NTASKS": 2, "SLURM_JOB_NODELIST": "n[1-2]"}
    try:
        done = subprocess.run(
            [BASH, str(folder / "job.sh")], cwd=root, env={name: str(value) for name, value in (own | slurm).items()},
            stdin=subprocess.DEVNULL, capture_output=True, timeout=5, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return -1, False
    return done.returncode, (folder / "ran").exists()


def advised(text: str, message: str, rows: list[int]) -> str | None:
    """The script of a reader who does what the message says; None where that is not mechanical."""
    lines = text.rstrip("\n").split("\n")
    at = max(message.rfind("; add "), message.rfind("; append "))
    advice, last, inserted = message[at + 2 :], None, []
    if end := _END.search(advice):
        last, advice = end[1], re.sub(r",?(?: and)?\s*$", "", advice[: end.start()])
    if option := _OPTION.match(advice):
        inserted.append((int(option[2] or rows[0]) - 1, option[1]))
        advice = option[3]
    if append := _APPEND.fullmatch(advice):
        for row in [int(append[2])] if append[2] else rows:
            lines[row - 1] += f" {append[1]}"
    elif below := _BELOW.fullmatch(advice):
        inserted.append((int(below[2]), below[1]))
    elif advice or at < 0:
        return None
    if last is not None:
        if lines[-1].lstrip().startswith("exit"):
            del lines[-1]
        lines.append(last)
    for row, line in sorted(inserted, reverse=True):
        lines.insert(row, line)
    return "\n".join(lines) + "\n"


def works(found: Diagnostic) -> list[tuple[int, int]]:
    """Where the commands stand whose failure is lost."""
    instead = [each.span for each in found.related if each.label == "this status is lost"]
    also = [each.span for each in found.related if each.label == "this status is also lost"]
    return [(each.start, each.end) for each in instead or [found.span, *also]]


def test_bash_ends_as_said_and_as_advised(tmp_path: Path) -> None:
    wrong: list[str] = []
    shown = helped = 0
    entry = next(each for each in ENTRIES if each.code == "SB710")
    for case in cases_of(entry):
        text = case.case.example.text
        if not isinstance(case.case, Bad) or case.case.missed or _OUTSIDE.search(text):
            continue
        with in_its_folder(case):
            everything = lint_source(Source(text, "job.sh"), settings_for(case))
        findings = [each for each in everything if each.code == "SB710"]
        for found in findings:
            says = found.message
            if not says.startswith(("if ", "a failure")) or "branch matches" in says or "in the shell" in says:
                continue
            places = works(found)
            rows = sorted({text.count("\n", 0, start) + 1 for start, _ in places})
            for start, end in places:
                tried = f"{text[:start]}__work{text[end:]}"
                if ends(tried, 0, tmp_path / "job") != (0, True):
                    continue  # with these stubs another thing fails, or the work is not reached
                status, _ = ends(tried, 3, tmp_path / "job")
                shown += status == 0
                if status != 0 and " still ends COMPLETED" in says:
                    wrong.append(f"{case.label}: ends with {status}: {says}")
                followed = advised(tried, says, rows)
                if followed is None:
                    continue
                good, bad = ends(followed, 0, tmp_path / "job")[0], ends(followed, 3, tmp_path / "job")[0]
                helped += good == 0 != bad
                if good != 0 or bad == 0:
                    wrong.append(f"{case.label}: as advised it ends with {good} and, where it fails, {bad}: {says}")
    assert not wrong, "\n".join(wrong)
    assert shown > 90 and helped > 75, (shown, helped)
