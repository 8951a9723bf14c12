"""What SB710 says of its cases, shown by bash: the job ends with 0 though the work fails, and what is advised helps.

Every program is a stub that succeeds, but for the work that a finding names. Only advice that is applied mechanically
is tried; where the work is not reached with these stubs, nothing is shown.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections import Counter
from pathlib import Path

import pytest

from check_cases import ENTRIES, cases_of, in_its_folder
from sbatchlint.check import Bad
from sbatchlint.diagnostics import Diagnostic
from sbatchlint.engine import lint_source
from sbatchlint.source.text import Source
from test_claims_of_success import INFO
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
_ADVICE = re.compile(r"; (?=(?:add|append|begin|end|on line|put|remove|replace|run|set|write)\b)")
# Each form of advice: what it says, and how a reader changes the lines of the script.
_STEP = re.compile(
    r"add `(?P<option>set [^`]+|\[ -z [^`]+)` above"
    r" line (?P<above>\d+)|begin line (?P<begun>\d+) with `(?P<guard>[^`]+)`"
    r"|(?:append )?`(?P<appended>[^`]+)` to (?:lines? (?P<rows>[\d, and-]*\d)|each(?: that matters)?|both)"
    r"|add `(?P<inserted>[^`]+)` before the (?:comment on|`;` that ends) line (?P<before>\d+)"
    r"|replace the `\\` that ends line (?P<cut>\d+) with `(?P<instead>[^`]+)`"
    r"|add `(?P<inside>[^`]+)` after this command"
    r"|add `(?P<kept>\w+=\$\?)` below line (?P<below>\d+)"
    r"|write `(?P<name>\$(?:\w+|\{\w+:-\$\?\}))` for `\$\?` on line (?P<read>\d+)"
    r"|write `(?P<ignoring>\|\|[^`…]+)` in (?:its place|place of each)"
    r"|write `\{ … (?P<grouped>\|\|[^`]+); \}` for what follows the `&&`|write `\|\| \{ (?P<said>\w+=\$\?); \w+ …; \}`"
    r"|write `[^`]+ && rm …`(?P<joined>)"
    r"|(?:end(?: the script)?|on line (?P<last>\d+)) (?:with|write) `(?P<exit>exit[^`]*)`"
    r"|(?P<removed>remove (?:that line|line (?P<gone>\d+)))"
)


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


def advised(text: str, message: str, rows: list[int]) -> tuple[str, list[str]] | None:
    """The script of a reader who does what the message says, and the kinds of steps; None where one is not mechanical.

    The lines keep their numbers: what is added above or below one goes into its string.
    """
    lines, parts = text.rstrip("\n").split("\n"), _ADVICE.split(message, maxsplit=1)
    at, last, kinds = 0, "", []
    while len(parts) == 2 and at < len(parts[1]):
        step = _STEP.match(parts[1], at)
        if step is None:
            return None
        found = {kind: value for kind, value in step.groupdict().items() if value is not None}
        kinds += found
        if "option" in found:
            lines[int(found["above"]) - 1] = f"{found['option']}\n{lines[int(found['above']) - 1]}"
        elif "guard" in found:
            row = int(found["begun"]) - 1
            lines[row] = f"{found['guard']} {lines[row]}"
        elif "appended" in found:
            for row in _rows(found["rows"]) if "rows" in found else rows:
                while lines[row - 1].endswith("\\") and "rows" not in found:
                    row += 1
                lines[row - 1] += f" {found['appended']}"
        elif "inserted" in found:
            row = int(found["before"]) - 1
            lines[row] = re.sub(r"\s*(?=;|#.*$)", f" {found['inserted']} ", lines[row], count=1)
        elif "inside" in found:
            line, count = re.subn(r"(__work[^;'\")|&]*[^\s;'\")|&])", rf"\1 {found['inside']}", lines[rows[0] - 1])
            if count != 1 or len(rows) > 1:
                return None
            lines[rows[0] - 1] = line
        elif "cut" in found:
            lines[int(found["cut"]) - 1] = f"{lines[int(found['cut']) - 1].rstrip(chr(92))} {found['instead']}"
        elif "kept" in found:
            lines[int(found["below"]) - 1] += f"\n{found['kept']}"
        elif "name" in found:
            lines[int(found["read"]) - 1] = lines[int(found["read"]) - 1].replace("$?", found["name"])
        elif "ignoring" in found:
            for row in rows:
                lines[row - 1] = re.sub(r"\|\|\s*(?:true|:)", found["ignoring"], lines[row - 1])
        elif "grouped" in found:
            lines[rows[0] - 1] = re.sub(r"__work.*", rf"{{ \g<0> {found['grouped']}; }}", lines[rows[0] - 1])
        elif "said" in found:
            row = rows[0] - 1 + ("||" not in lines[rows[0] - 1])
            lines[row] = re.sub(r"\|\|\s*(.*)", rf"|| {{ {found['said']}; \1; }}", lines[row])
        elif "joined" in found:
            lines[rows[0] - 1 : rows[0] + 1] = [" && ".join(lines[rows[0] - 1 : rows[0] + 1])]
        elif "removed" in found:
            gone = found.get("gone") or re.findall(r"on line (\d+) sets", parts[0])[-1]
            lines[int(gone) - 1] = ""
        elif "last" in found:
            lines[int(found["last"]) - 1] = found["exit"]
        else:
            last = found["exit"]
        at = step.end() + len(re.match(r"(?:, | and |, and )?", parts[1][step.end() :])[0])
    return ("\n".join([*lines, last]) + "\n", kinds) if kinds else None


def _rows(written: str) -> list[int]:
    """The numbers of `4`, `4 and 6`, `4, 6-8 and 9`."""
    ranges = [each.split("-") for each in re.split(r", | and ", written)]
    return [row for each in ranges for row in range(int(each[0]), int(each[-1]) + 1)]


def _kind(message: str) -> tuple[str, bool]:
    """What tells a finding on a status that is lost from one on a status that `|| true` hides."""
    return message[0], " hides it" in message


def works(found: Diagnostic) -> list[tuple[int, int]]:
    """Where the commands stand whose failure is lost."""
    instead = [each.span for each in found.related if each.label == "this status is lost"]
    also = [each.span for each in found.related if each.label == "this status is also lost"]
    return [(each.start, each.end) for each in instead or [found.span, *also]]


# Shapes of scripts, after the directives; each command that is not of the system is a stub.
SHAPES = [
    "./solve a\ndate\n",
    "./solve a # the work\ndate\n",
    "./solve a;\ndate\n",
    "./solve \\\n  --a 1 \\\n  --b 2\ndate\n",
    "./solve \\\n  --a 1 \\\n\ndate\n",
    "./solve a\nexit 0\n",
    "./solve a\ndate\nexit 0\n",
    "./solve a\ndate\nexit\n",
    "./solve a\necho status $?\ndate\n",
    "set -u\n./solve a\ndate\n",
    "./solve a\n./more b\nrc=$?\ndate\nexit $rc\n",
    "rc=0\nif [ -d run ]; then rc=2; fi\necho $rc\n./solve a\ndate\n",
    "source slurm/env.sh\n./solve a\ndate\n",
    "[ -d /tmp ] && ./solve a\ndate\n",
    "[ -d /missing ] || ./solve a\ndate\n",
    "./solve a && ./more b\ndate\n",
    "./solve a && echo good\ndate\n",
    "./solve a || true\ndate\n",
    "./solve a || echo it failed\ndate\n",
    "./solve a \\\n  || echo it failed\ndate\n",
    "./solve a\n./more b\n./most c\ndate\n",
    "./solve a \\\n  --b\n./more b\ndate\n",
    "./solve a\n./more b\n",
    "for i in 1 2; do\n    ./solve $i\n    date\ndone\n",
    "for i in 1 2; do\n    ./solve $i\ndone\n./more a\n",
    "for i in 1 2; do ./solve $i; date; done\n",
    "if [ -d /tmp ]; then\n    ./solve a\nfi\ndate\n",
    "run() {\n    ./solve $1\n    date\n}\nrun a\ndate\n",
    "(cd /tmp && ./solve a)\ndate\n",
    "{\n    ./solve a\n    date\n} > log\ndate\n",
    "(\n    ./solve a\n    date\n)\n",
    "(\n    ./solve a\n    date\n)\ndate\n",
    "./solve a | tee log\n",
    "./solve a | tee log\ndate\n",
    "set -e\n./solve a | tee log\ndate\n",
    "./solve a 2>&1 |\n  tee log\n./more a\ndate\n",
    "(\n    (\n        ./solve a\n        date\n    )\n    date\n)\ndate\n",
    "(\n    ./solve a\n    date\n) # all\ndate\n",
    "(./solve a) || true\ndate\n",
    "(\n    ./solve a || true\n    date\n)\ndate\n",
    "(./solve a; date)\ndate\n",
    "run() (\n    ./solve a\n    date\n)\nrun\ndate\n",
    "run() {\n    (\n        ./solve a\n        date\n    )\n}\nrun\ndate\n",
    "for i in 1 2; do\n    (\n        ./solve $i\n        date\n    )\ndone\ndate\n",
    "bash -c './solve a; date'\n",
    "bash -c './solve a; date'\ndate\n",
    "bash -c '\n./solve a\ndate\n'\ndate\n",
    'bash -c "\n./solve a\ndate\n"\ndate\n',
    "bash <<'END'\n./solve a\ndate\nEND\ndate\n",
    "for i in 1 2; do\n    bash -c './solve a; date'\ndone\ndate\n",
    "(./solve a; date) | tee log\n",
    "(\n    ./solve a\n    date\n) | tee log\n",
    "(\n    ./solve a\n    date\n) | tee log\ndate\n",
    "{\n    ./solve a\n    date\n} 2>&1 | tee log\n",
    "{\n    date\n    ./solve a\n} 2>&1 | tee log\n",
    "for i in 1 2; do\n    ./solve $i\n    date\ndone | tee log\ndate\n",
    "x=$(./solve a; date)\ndate\n",
    "x=$(./solve a)\ndate\n",
    "./solve a <<END\ntext\nEND\ndate\n",
    "./solve a\ncp result /tmp/result\nrm -rf work\n",
    "./solve a\nrm -r data\n",
    "./solve a\nsbatch next.sh\n",
    "./solve a\nsbatch next.sh\nmv a b\n",
    "./solve a\n./more a\nsbatch next.sh\n",
    "for i in 1 2; do\n    ./solve $i\n    echo finished successfully\ndone\n",
    "./solve a | tee log\necho Training succeeded\n",
    "time ./solve a\ndate\n",
    "case $1 in\n*) ./solve a ;;\nesac\ndate\n",
    'for i in 1 2; do\n    ./solve $i\ndone\necho "code $? at `date`"\n',
    "./solve a\n./more b\necho code $?\n",
    "./solve a\n./more b\necho Training succeeded\n",
    "./solve a\nfor id in $(jobs -p); do\n    wait $id\ndone\n",
    "cp -r config work\n./solve a\nrm -r work\n",
    "./solve a\nscancel $SLURM_JOB_ID\n",
    "./solve a\n./more b\nscancel $SLURM_JOB_ID\necho end\n",
    "./solve a | tee log\ndate\nscancel $SLURM_JOB_ID\n",
    "./solve a || true\nscancel $SLURM_JOB_ID\n",
    "./solve a\nstatus=$?\necho $status\nscancel $SLURM_JOB_ID\n",
    "./solve a\nstatus=$?\necho $status\nscancel $SLURM_ARRAY_JOB_ID\n",
    "for i in 1 2; do\n    ./solve $i\ndone\nscancel $SLURM_ARRAY_JOB_ID\n",
    "./solve a\ndate\nscancel $SLURM_ARRAY_JOB_ID\n",
]


def tried(text: str, findings: list[Diagnostic], folder: Path) -> tuple[list[str], int, Counter[str]]:
    """What does not hold of the findings, and how many of them bash shows, with the kinds of advice that help."""
    wrong: list[str] = []
    shown, helped = 0, Counter[str]()
    for found in findings:
        says = found.message
        said_of_work = says.startswith(("if ", "whether"))
        if not said_of_work or "branch matches" in says or "in the shell" in says:
            continue
        places = works(found)
        rows = sorted({text.count("\n", 0, start) + 1 for start, _ in places})
        for start, end in places:
            script = f"{text[:start]}__work{text[end:]}"
            if ends(script, 0, folder) != (0, True):
                continue  # with these stubs another thing fails, or the work is not reached
            status, _ = ends(script, 3, folder)
            shown += status == 0
            if status != 0 and " still ends COMPLETED" in says:
                wrong.append(f"ends with {status}: {says}")
            followed = advised(script, says, rows)
            if followed is None:
                continue
            good, bad = ends(followed[0], 0, folder)[0], ends(followed[0], 3, folder)[0]
            if good != 0 or bad == 0:
                wrong.append(f"as advised it ends with {good} and, where it fails, {bad}: {says}\n{followed[0]}")
            again = advised(text, says, rows)
            stays = [] if again is None else lint_source(Source(again[0], "job.sh"), INFO)
            wrong += [
                f"as advised: {each.message}\n{again}"
                for each in stays
                if each.code == "SB710" and _kind(each.message) == _kind(says)
            ]
            helped.update(followed[1])
    return wrong, shown, helped


def test_bash_ends_as_said_and_as_advised(tmp_path: Path) -> None:
    wrong: list[str] = []
    shown, helped = 0, Counter[str]()
    entry = next(each for each in ENTRIES if each.code == "SB710")
    for case in cases_of(entry):
        text = case.case.example.text
        if not isinstance(case.case, Bad) or case.case.missed or _OUTSIDE.search(text):
            continue
        with in_its_folder(case):
            everything = lint_source(Source(text, "job.sh"), settings_for(case))
        faults, number, kinds = tried(text, [each for each in everything if each.code == "SB710"], tmp_path / "job")
        wrong += [f"{case.label}: {each}" for each in faults]
        shown += number
        helped += kinds
    assert not wrong, "\n".join(wrong)
    assert shown > 90 and helped["appended"] > 75, (shown, helped)


def test_each_form_of_advice_helps_in_bash(tmp_path: Path) -> None:
    wrong: list[str] = []
    helped, silent = Counter[str](), []
    for shape in SHAPES:
        text = f"#!/bin/bash\n#SBATCH --ntasks=1\n{shape}"
        findings = [each for each in lint_source(Source(text, "job.sh"), INFO) if each.code == "SB710"]
        faults, _, kinds = tried(text, findings, tmp_path / "job")
        wrong += [f"{shape}: {each}" for each in faults]
        helped += kinds
        if not kinds:
            silent.append((shape, [each.message for each in findings]))
    assert not wrong, "\n".join(wrong)
    forms = {
        "option",
        "guard",
        "appended",
        "inserted",
        "inside",
        "instead",
        "kept",
        "ignoring",
        "grouped",
        "said",
        "joined",
        "exit",
        "removed",
    }
    assert not forms - helped.keys(), (helped, silent)
