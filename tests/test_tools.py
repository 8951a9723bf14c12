"""The programs for contributors."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from conftest import ROOT

sys.path.insert(0, str(ROOT / "tools"))

import corpus_diff
import new_check
import show_job


def environment() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "PYTEST"))}


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A copy of what a check consists of and is tested with."""
    copy = tmp_path / "tree"
    copy.mkdir()
    for name in ("sbatchlint", "checks", "tools"):
        shutil.copytree(ROOT / name, copy / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("cases", "data"):
        (copy / "tests" / name).mkdir(parents=True)
    of_tests = ("tests/conftest.py", "tests/check_cases.py", "tests/test_checks.py", "tests/data/fired.txt")
    for name in ("pyproject.toml", *of_tests):
        shutil.copy(ROOT / name, copy / name)
    return copy


# --- new_check ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("code", "name", "wrong"),
    [
        ("SB301", "another-name", "there is SB301"),
        ("SB999", "early-task-variable", "there is SB401"),
        ("SB99", "new-name", "is no code"),
        ("sb999", "new-name", "is no code"),
        ("SC999", "new-name", "is no code"),
        ("SB999", "New_Name", "is no name"),
        ("SB999", "sb999", "is no name"),
        ("SB999", "launch", "is the name of a group"),
        ("SB999", "new-name", ""),
    ],
)
def test_codes_and_names_that_cannot_be(code: str, name: str, wrong: str) -> None:
    said = new_check.objection(code, name)
    assert wrong in said and bool(wrong) == bool(said)


def test_the_next_number_of_a_group(capsys: pytest.CaptureFixture[str]) -> None:
    code = new_check.numbered("SB6xx")
    assert code.startswith("SB6") and not new_check.objection(code, "new-name")
    assert new_check.numbered("SB717") == "SB717"
    assert new_check.main(["--list", "Commands", "curl"]) == 0
    assert 'SB818 health-check-without-fail: Commands("curl")' in capsys.readouterr().out
    assert new_check.main(["--list", "Commands", "parallel"]) == 0
    assert "\n  SB616 threads-mismatch\n" in capsys.readouterr().out  # only its page names it
    assert new_check.main(["--list", "Command", "curl"]) == 2


def run_tests(tree: Path) -> str:
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/test_checks.py", "-k", "SB999"]
    return subprocess.run(
        command, cwd=tree, env=environment() | {"PYTHONPATH": str(tree)}, capture_output=True, text=True, check=False
    ).stdout


@pytest.mark.slow
def test_a_begun_check_fails_until_it_is_filled_in(tree: Path) -> None:
    begin = [sys.executable, str(tree / "tools" / "new_check.py"), "SB999", "new-name"]
    assert subprocess.run(begin, env=environment(), capture_output=True, check=False).returncode == 0
    again = subprocess.run(begin, env=environment(), capture_output=True, text=True, check=False)
    assert (again.returncode, again.stderr) == (2, "there is SB999 new-name already\n")
    said = run_tests(tree)
    assert "left something to be written on lines" in said
    check, traps = tree / "checks" / "sb999_new_name.py", tree / "tests" / "cases" / "new-name.md"
    text = check.read_text()
    text = text.replace("«FILL IN»", "«srun» a").replace("FILL IN\\n", "./a\\n")
    check.write_text(text.replace("FILL IN: o", "O").replace("FILL IN", "words"))
    assert "left something to be written" in run_tests(tree)
    text = traps.read_text()
    traps.write_text(
        text.replace("«FILL IN»", "«srun» b").replace("\nFILL IN\n", "\n./b\n").replace("FILL IN", "words")
    )
    said = run_tests(tree)
    assert " passed" in said and "failed" not in said, said


@pytest.mark.slow
def test_what_a_check_looks_at_decides_how_it_is_asked(tree: Path) -> None:
    begin = [sys.executable, str(tree / "tools" / "new_check.py"), "SB998", "newer-name", "Commands", "curl"]
    done = subprocess.run(begin, env=environment(), capture_output=True, text=True, check=False)
    assert 'SB818 health-check-without-fail: Commands("curl")' in done.stdout and "SB813" not in done.stdout
    text = (tree / "checks" / "sb998_newer_name.py").read_text()
    assert "def check_command(job: Job, command: Invocation)" in text and 'when=Commands("curl"),' in text
    begin[2:] = ["SB997", "newest-name", "Command", "curl"]
    done = subprocess.run(begin, env=environment(), capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (2, "'Command' is not a trigger: docs/job.md lists them\n")


# --- corpus_diff --------------------------------------------------------------------------------


def finding(code: str, row: int, message: str, **changes: Any) -> dict[str, Any]:
    return {
        "code": code,
        "name": code.lower(),
        "severity": "error",
        "message": message,
        "url": "",
        "filename": "a.sh",
        "location": {"row": row, "column": 1},
        "end_location": {"row": row, "column": 5},
        "related": [],
        "fix": None,
        **changes,
    }


def fix(content: str) -> dict[str, Any]:
    place = {"location": {"row": 1, "column": 1}, "end_location": {"row": 1, "column": 2}}
    return {"applicability": "safe", "message": "write it", "edits": [{"content": content, **place}]}


def test_differences_are_told_by_check() -> None:
    before = [
        finding("SB001", 1, "same"),
        finding("SB001", 1, "same"),
        finding("SB001", 2, "gone"),
        finding("SB002", 3, "old words"),
        finding("SB002", 4, "fixed", fix=fix("a")),
        finding("SB003", 5, "same", name="old-name"),
    ]
    after = [
        finding("SB001", 1, "same"),
        finding("SB001", 9, "new"),
        finding("SB002", 3, "new words", severity="warning"),
        finding("SB002", 4, "fixed", fix=fix("b")),
        finding("SB003", 5, "same"),
    ]
    changes = corpus_diff.compare(before, after)
    assert {code: tuple(map(len, each)) for code, each in changes.items()} == {"SB001": (2, 1, 0), "SB002": (0, 0, 2)}
    lines = list(corpus_diff.report(changes, {"SB001": "one", "SB002": "two"}))
    assert lines == [
        "SB001 one",
        "  - a.sh:1:1  error: same",
        "  - a.sh:2:1  error: gone",
        "  + a.sh:9:1  error: new",
        "",
        "SB002 two",
        "  ~ a.sh:3:1  new words",
        "      severity - error",
        "               + warning",
        "      message - old words",
        "              + new words",
        "  ~ a.sh:4:1  fixed",
        "      fix - safe, write it: 1:1-1:2 'a'",
        "          + safe, write it: 1:1-1:2 'b'",
        "",
    ]
    states = (corpus_diff.Run(before, []), corpus_diff.Run(after, []))
    table = list(corpus_diff.summary(changes, *states))
    assert [line.split() for line in table] == [
        ["check", "before", "after", "new", "gone", "changed"],
        ["SB001", "3", "2", "1", "2", "0"],
        ["SB002", "2", "2", "0", "0", "2"],
        ["all", "6", "5", "1", "2", "2"],
    ]
    assert not corpus_diff.compare([finding("SB001", 1, "old")], [finding("SB001", 1, "new")], words=False)


def test_a_finding_that_moved_on_its_line_is_a_changed_one() -> None:
    moved = finding("SB001", 1, "same", location={"row": 1, "column": 3})
    changes = corpus_diff.compare([finding("SB001", 1, "same")], [moved])
    assert list(corpus_diff.report(changes, {"SB001": "one"}))[1] == "  ~ a.sh:1:3 (was at a.sh:1:1)  same"


@pytest.mark.slow
def test_two_trees_are_compared(tree: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    scripts = tmp_path / "scripts"
    scripts.mkdir()
    (scripts / "a.sbatch").write_text("#!/bin/bash\n#SBATCH -N=2\nsrun ./a\n")
    same = [str(scripts), "--before", str(tree)]
    assert corpus_diff.main(same) == 0
    assert capsys.readouterr().out.splitlines()[-1].split() == ["all", "1", "1", "0", "0", "0"]
    (tree / "checks" / "sb107_short_option_equals.py").unlink()
    assert corpus_diff.main(same) == 1
    assert "  + " in capsys.readouterr().out
    fired = tmp_path / "fired.txt"
    assert corpus_diff.main([str(scripts), "--fired", str(fired)]) == 0
    (scripts / "a.sbatch").write_text("#!/bin/bash\n#SBATCH -N 2\nsrun ./a\n#SBATCH -t 5\n")
    assert corpus_diff.main([str(scripts), "--fired", str(fired)]) == 0
    assert [line for line in fired.read_text().splitlines() if line[0] != "#"] == ["SB101", "SB107"]
    assert "SB101 for the first time" in capsys.readouterr().out


def test_a_revision_is_unpacked() -> None:
    if not (ROOT / ".git").exists() or shutil.which("git") is None:
        pytest.skip("this is no checkout")
    with corpus_diff.tree_of("HEAD") as folder:
        assert (folder / "sbatchlint" / "__init__.py").is_file()
    assert not folder.exists()
    with (
        pytest.raises(corpus_diff.CannotRun, match="neither a checkout nor a revision"),
        corpus_diff.tree_of("nonsense"),
    ):
        pass


# --- show_job -----------------------------------------------------------------------------------

SCRIPT = """\
#!/bin/bash
#SBATCH --nodes=2 --ntasks-per-node=1
if [ -n "$DEBUG" ]; then N=1; else N=2; fi
(
  ./prepare $N "$UNSET"
) &
srun bash -c 'torchrun --nnodes=2 --nproc_per_node=8 --node_rank=$SLURM_NODEID --master_addr=n1 t.py'
sbatch <<'EOF'
#!/bin/bash
#SBATCH --nodes=4
srun ./inner
EOF
"""


@pytest.fixture
def script(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    monkeypatch.chdir(tmp_path)
    Path("job.sbatch").write_text(SCRIPT)
    yield "job.sbatch"


def test_a_job_is_shown(script: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert show_job.main(["--json", script]) == 0
    value = json.loads(capsys.readouterr().out)
    torchrun = next(each for each in value["commands"] if each["argv"][0]["text"] == "torchrun")
    assert (torchrun["line"], torchrun["phase"], torchrun["depth"]) == (7, "task", 2)
    rank = next(word for word in torchrun["argv"] if word["text"].startswith("--node_rank"))
    assert rank == {"text": "--node_rank=‹SLURM_NODEID*›", "known": False, "from": ["SLURM_NODEID (line 7, task)"]}
    prepare = [each for each in value["commands"] if each["argv"][0]["text"] == "./prepare"]
    assert [each["argv"][1]["text"] for each in prepare] == ["1", "2"]
    assert [each["guards"] for each in prepare] == [['if [ -n "$DEBUG" ]: yes'], ['if [ -n "$DEBUG" ]: no']]
    assert all(each["context"]["background"] for each in prepare)
    assert [(each["name"], each["value"]) for each in value["directives"]] == [("nodes", "2"), ("ntasks-per-node", "1")]
    assert [(each["name"], each["line"]) for each in value["variables"]] == [("N", 3), ("N", 3)]
    (step,) = value["steps"]
    assert (step["nodes"], step["tasks"], step["decided_by"]) == (2, 2, "--ntasks-per-node=1 (line 2)")
    (launch,) = value["launches"]
    assert (launch["launcher"], launch["step"], launch["world"]["processes"]) == ("torchrun", 7, 16)
    assert launch["world"]["rendezvous"]["address"]["text"] == "n1"
    assert [each["steps"][0]["nodes"] for each in value["submits"]] == [4]


def test_a_job_is_shown_as_text(script: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert show_job.main([script]) == 0
    out = capsys.readouterr().out
    assert "\ndirectives\n     2  --nodes=2\n" in out
    assert "     5  batch   ./prepare 1 ‹UNSET›" in out
    assert "from: UNSET (line 5, batch)" in out
    assert "     7  nodes 2, tasks 2, on each node 1, decided by --ntasks-per-node=1 (line 2)" in out
    assert "node rank: ‹SLURM_NODEID*› (node_rank, line 7; SLURM_NODEID (line 7, task))" in out
    assert show_job.main(["missing.sbatch"]) == 2


# --- bench --------------------------------------------------------------------------------------


def count_instructions(path: str) -> subprocess.CompletedProcess[str]:
    script = str(ROOT / "examples" / "ranks.sbatch")
    command = [sys.executable, str(ROOT / "tools" / "bench.py"), "--instructions", script]
    return subprocess.run(command, env=environment() | {"PATH": path}, capture_output=True, text=True, check=False)


@pytest.mark.slow
def test_instructions_are_counted_in_all_and_without_those_of_the_start(tmp_path: Path) -> None:
    valgrind = tmp_path / "valgrind"
    valgrind.write_text(
        "#!/bin/sh\n"
        'case "$*" in *one.sbatch) count=400,000,000 ;; *--jobs*1*ranks.sbatch) count=1,700,000,000 ;; esac\n'
        '[ "$PYTHONHASHSEED" = 0 ] && echo "==1== I   refs:      $count" >&2\n'
    )
    valgrind.chmod(0o755)
    run = count_instructions(f"{tmp_path}:{os.environ['PATH']}")
    assert (run.returncode, run.stderr) == (0, "")
    assert run.stdout == "1 scripts: 1,700 million instructions; 1,300 without start\n"


def test_counting_instructions_says_that_it_needs_valgrind() -> None:
    run = count_instructions("/nonexistent")
    assert (run.returncode, run.stdout) == (2, "")
    assert run.stderr == "--instructions needs valgrind, which is not installed here (apt install valgrind)\n"
