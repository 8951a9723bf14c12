"""Results that are kept between runs: they hold exactly as long as a run without them would find the same."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import sbatchlint
from conftest import HEAD, ROOT, Command
from sbatchlint import documents, engine, installation, linting
from sbatchlint.cli import cache
from sbatchlint.source import lookups

FILES = 8  # the fewest for which results are kept


@pytest.fixture
def folder(command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Eight scripts in the current folder, the results beside it."""
    kept = tmp_path / "kept"
    monkeypatch.delenv("SBATCHLINT_NO_CACHE")
    monkeypatch.setenv("SBATCHLINT_CACHE_DIR", str(kept))
    monkeypatch.setattr(installation, "_JUST_NOW", 0)
    work = tmp_path / "work"
    work.mkdir()
    monkeypatch.chdir(work)
    command.folder = work
    command.write("sbatchlint.toml", "")
    for number in range(FILES):
        command.write(f"job{number}.sbatch", f"{HEAD}echo WRONG {number}\n")
    return kept


@pytest.fixture
def evaluated(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the files that were evaluated since the list was emptied."""
    found: list[str] = []
    inspect = engine.inspect

    def noting(source: engine.Source, *arguments: object, **options: object) -> engine.Inspection:
        found.append(Path(source.path).name)
        return inspect(source, *arguments, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(engine, "inspect", noting)
    monkeypatch.setattr(linting, "inspect", noting)
    return found


def test_what_is_unchanged_is_not_evaluated_again(command: Command, folder: Path, evaluated: list[str]) -> None:
    command.write("odd.sbatch", f"{HEAD}echo GUESS \udcff ä\n# HINT\n".encode("utf-8", "surrogateescape"))
    for options in ((), ("--output-format", "json"), ("--min-severity", "info", "-v"), ("--statistics",)):
        first = command(*options)
        assert len(evaluated) == FILES + 1
        evaluated.clear()
        assert command(*options) == first
        assert evaluated == []
        assert command(*options, "--no-cache") == first
        assert len(evaluated) == FILES + 1
        for path in folder.iterdir():
            path.unlink()
        evaluated.clear()
    assert "no findings" not in first.out


def test_a_changed_script_is(command: Command, folder: Path, evaluated: list[str]) -> None:
    command()
    evaluated.clear()
    status = os.stat("job3.sbatch")
    command.write("job3.sbatch", f"{HEAD}echo RIGHT 3\n")
    os.utime("job3.sbatch", ns=(status.st_atime_ns, status.st_mtime_ns))  # time and size tell nothing
    os.rename("job4.sbatch", "job9.sbatch")
    result = command()
    assert evaluated == ["job3.sbatch", "job9.sbatch"]
    assert result == command("--no-cache")
    assert f"in {FILES - 1} of {FILES} scripts" in result.out


def test_documents(
    command: Command, folder: Path, evaluated: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Their scripts are not evaluated again either, unless what reads Markdown is another one."""
    monkeypatch.setattr(documents, "inspect", engine.inspect)  # that which notes
    command.write("sbatchlint.toml", "include = ['*.md', '*.py']")
    command.write("page.md", f"# Page\n\n```bash\n{HEAD}echo WRONG 1\n```\n")
    command.write("run.py", f"open('job.sh', 'w').write('''{HEAD}echo WRONG 2\n''')\n")
    first = command()
    assert {"page.md", "run.py"} < set(evaluated)
    assert all(name in first.out for name in ("page.md:", "run.py:"))
    evaluated.clear()
    assert command() == first
    assert evaluated == []
    reader = tmp_path / "reader" / "markdown_it"
    reader.mkdir(parents=True)
    (reader / "__init__.py").write_text("")
    monkeypatch.syspath_prepend(reader.parent)
    monkeypatch.delitem(sys.modules, "markdown_it", raising=False)
    command("job0.sbatch", *(f"job{number}.sbatch" for number in range(FILES)))
    assert len(evaluated) == FILES


def test_files_beside_the_script(command: Command, folder: Path, evaluated: list[str]) -> None:
    """A file that a script looked for: it appears, changes, is found twice, becomes a link, and goes."""
    command.write("job0.sbatch", f"{HEAD}source lib/env.sh\n")

    def run(expected: list[str]) -> str:
        evaluated.clear()
        found = command("--output-format", "concise")
        assert evaluated == expected
        evaluated.clear()
        assert command("--output-format", "concise") == found
        assert evaluated == []
        assert command("--output-format", "concise", "--no-cache").out == found.out
        return found.out

    everything = [f"job{number}.sbatch" for number in range(FILES)]
    assert "env.sh" not in run(everything)
    env = command.write("lib/env.sh", "echo WRONG\n")
    assert "lib/env.sh:1:6: error SB110 toy-wrong this is wrong; write RIGHT (reached from" in run(["job0.sbatch"])
    env.write_text("# a comment\necho WRONG\n")
    assert "lib/env.sh:2:6: error" in run(["job0.sbatch"])
    env.unlink()
    env.symlink_to(command.write("other/env.sh", "echo WRONG\n"))
    assert "other/env.sh:1:6: error" in run(["job0.sbatch"])
    env.unlink()
    env.mkdir()
    assert "env.sh" not in run(["job0.sbatch"])


def test_a_project_begins_elsewhere(command: Command, folder: Path, evaluated: list[str]) -> None:
    for number in range(FILES):
        command.write(f"jobs/job{number}.sbatch", f"{HEAD}source env.sh\n")
    command.write("env.sh", "echo WRONG\n")
    assert "env.sh" in command("jobs").out
    evaluated.clear()
    command.write("jobs/pyproject.toml", "")
    assert "env.sh" not in command("jobs").out
    assert len(evaluated) == FILES


@pytest.mark.parametrize(
    "text",
    [
        "ignore = ['toy-wrong']",
        "severity = {toy-wrong = 'info'}",
        "fail-on = 'info'",
        "slurm-version = '23.11'",
        "per-file-ignores = {'job1.*' = ['SB1']}",
        "site = {gpus-per-node = 8}",
        "checks = {toy-limit = {most = 1}}",
    ],
)
def test_settings(command: Command, folder: Path, evaluated: list[str], text: str) -> None:
    command()
    evaluated.clear()
    command.write("sbatchlint.toml", text)
    result = command()
    assert len(evaluated) == FILES
    assert result == command("--no-cache")
    command.write("sbatchlint.toml", "extend = 'base.toml'")
    command.write("base.toml", text)
    evaluated.clear()
    assert command().out == result.out
    command.write("base.toml", "")
    assert command() == command("--no-cache")


def test_options_and_folders(
    command: Command, folder: Path, evaluated: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for options in ((), ("--select", "toy-hint"), ("--fail-on", "error"), ("--config", "ignore=['SB110']")):
        evaluated.clear()
        command(*options)
        assert len(evaluated) == FILES
    (command.folder / "inner").mkdir()
    monkeypatch.chdir("inner")
    evaluated.clear()
    assert f"{os.sep}job0.sbatch:" in command("..", "--output-format", "concise").out
    assert len(evaluated) == FILES


def test_another_version(
    command: Command, folder: Path, evaluated: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    command()
    evaluated.clear()
    with monkeypatch.context() as patched:
        patched.setattr(sbatchlint, "__version__", "99.0")
        command()
    assert len(evaluated) == FILES
    checks = tmp_path / "checks"
    checks.mkdir()
    check = checks / "sb001_toy.py"
    check.write_text("")
    monkeypatch.setattr(installation, "folder_of_checks", lambda: str(checks))
    for _ in range(2):
        evaluated.clear()
        command()
    assert evaluated == []
    check.write_text("# of another size")
    command()
    assert len(evaluated) == FILES


def test_nothing_is_kept_while_sbatchlint_is_being_changed(
    command: Command, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(installation, "_JUST_NOW", time.time())
    command()
    assert not folder.exists()


def test_what_is_not_certain_is_not_kept(command: Command, folder: Path, evaluated: list[str]) -> None:
    command.write("job0.sbatch", f"{HEAD}# CRASH\n")
    assert command().code == 3
    evaluated.clear()
    assert command().code == 3
    assert evaluated == ["job0.sbatch"]
    record = lookups.begin_record()
    lookups.mark_uncertain()
    lookups.end_record()
    assert not record.lasting


def test_fixes_and_few_files_do_without(command: Command, folder: Path) -> None:
    command("--diff")
    command("-", stdin=HEAD.encode())
    command("job0.sbatch", "job1.sbatch")
    command("--fix")
    assert not folder.exists()


@pytest.mark.parametrize("value", ["1", "true"])
def test_turned_off_by_the_environment(
    command: Command, folder: Path, monkeypatch: pytest.MonkeyPatch, value: str
) -> None:
    monkeypatch.setenv("SBATCHLINT_NO_CACHE", value)
    command()
    assert not folder.exists()


def test_places(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SBATCHLINT_CACHE_DIR", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", "/somewhere")
    assert cache.cache_folder() == "/somewhere/sbatchlint"
    monkeypatch.setenv("XDG_CACHE_HOME", "")
    monkeypatch.setenv("HOME", "/home/ada")
    assert cache.cache_folder() == "/home/ada/.cache/sbatchlint"
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    assert cache.cache_folder() is None


def damaged(data: bytes) -> Iterator[bytes]:
    head, _, body = data.partition(b"\n")
    yield b""
    yield b"\xff\xfe\0" * 99
    yield data[: len(data) // 2]
    yield data.replace(b"this is wrong", b"this is right")
    yield body
    yield b"\n" + body
    yield head + b"\n" + b"[" * 100_000
    yield b'{"asked": [], "entries": {}}'


def test_damaged_files(command: Command, folder: Path, evaluated: list[str]) -> None:
    expected = command()
    (file,) = folder.iterdir()
    good = file.read_bytes()
    for data in damaged(good):
        file.write_bytes(data)
        evaluated.clear()
        assert command() == expected
        assert len(evaluated) == FILES
        assert file.read_bytes() == good
    file.unlink()
    file.mkdir()
    assert command() == expected


def test_a_folder_that_cannot_be_used(
    command: Command, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = command("--no-cache")
    for place in ("/proc/no/such", str(command.write("file", ""))):
        monkeypatch.setenv("SBATCHLINT_CACHE_DIR", place)
        assert command() == expected
    monkeypatch.setenv("SBATCHLINT_CACHE_DIR", str(folder))
    with monkeypatch.context() as patched:

        def full(*arguments: object) -> None:
            raise OSError(28, "No space left on device")

        patched.setattr(os, "replace", full)
        assert command() == expected
    assert list(folder.iterdir()) == []


@pytest.mark.skipif(os.geteuid() == 0, reason="root writes everywhere")
def test_a_folder_that_is_read_only(command: Command, folder: Path, evaluated: list[str]) -> None:
    expected = command()
    command.write("job0.sbatch", f"{HEAD}echo WRONG 0\n\n")
    folder.chmod(0o500)
    evaluated.clear()
    assert command() == expected
    assert evaluated == ["job0.sbatch"]
    folder.chmod(0o700)


def test_other_files_of_the_folder_stay(command: Command, folder: Path) -> None:
    folder.mkdir()
    mine = folder / "mine.json"
    mine.write_text("{}")
    os.utime(mine, (0, 0))
    old = folder / f"results-{'0' * 32}.json"
    left = folder / f"results-{'1' * 32}.77.new"
    for path in (old, left):
        path.write_text("{}")
        os.utime(path, (0, 0))
    command()
    assert mine.exists()
    assert not old.exists()
    assert not left.exists()


def test_sizes_are_bounded(
    command: Command, folder: Path, evaluated: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    command()
    for number in range(FILES):
        os.rename(f"job{number}.sbatch", f"new{number}.sbatch")
    command()
    (file,) = folder.iterdir()
    entries = json.loads(file.read_bytes().partition(b"\n")[2])["entries"]
    assert set(entries) == {f"new{number}.sbatch" for number in range(FILES)}
    monkeypatch.setattr(cache, "MOST_BYTES", 1000)
    command.write("new1.sbatch", f"{HEAD}echo WRONG once more\n")
    expected = command()
    assert file.stat().st_size < 1200
    evaluated.clear()
    assert command() == expected
    assert 0 < len(evaluated) < FILES
    monkeypatch.setattr(cache, "MOST_BYTES_OF_ALL", 3000)
    for code in ("SB110", "SB120", "SB130", "SB140", "SB150"):
        command("--select", code)
    assert sum(each.stat().st_size for each in folder.iterdir()) <= 3000


def started(folder: Path, kept: Path, *options: str) -> subprocess.Popen[bytes]:
    environment = {name: value for name, value in os.environ.items() if name != "SBATCHLINT_NO_CACHE"}
    environment |= {"PYTHONPATH": str(ROOT), "SBATCHLINT_CACHE_DIR": str(kept)}
    command = [sys.executable, "-P", "-m", "sbatchlint", "--isolated", "--jobs", "1", *options]
    return subprocess.Popen(command, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)


SCRIPT = """\
#!/bin/bash
#SBATCH --nodes=2
#SBATCH --gpus-per-node=4
for number in 1 2 3; do
    export PORT=$((29500 + number))
    srun --ntasks-per-node=1 torchrun --nnodes=2 --nproc-per-node=4 train_{}.py --port "$PORT" || exit 1
done
"""


def wait_until_old() -> None:
    """Until the sources of sbatchlint are old enough for results to be kept."""
    while installation.state() is None:
        time.sleep(0.2)


@pytest.mark.slow
def test_several_runs_at_once(tmp_path: Path) -> None:
    wait_until_old()
    scripts, kept = tmp_path / "scripts", tmp_path / "kept"
    scripts.mkdir()
    for number in range(15):
        (scripts / f"{number}.sbatch").write_text(SCRIPT.format(number))
    expected = started(scripts, kept, "--no-cache").communicate()[0]
    for _ in range(2):
        runs = [started(scripts, kept) for _ in range(3)]
        assert {run.communicate()[0] for run in runs} == {expected}
        assert [path.suffix for path in kept.iterdir()] == [".json"]
    killed = started(scripts, tmp_path / "other")
    killed.kill()
    killed.communicate()
    assert started(scripts, tmp_path / "other").communicate()[0] == expected


@pytest.mark.slow
def test_it_is_much_faster(tmp_path: Path) -> None:
    """By CPU time of runs side by side. For 1,000 real scripts it is 20 times; here are fewer, and small ones."""
    wait_until_old()
    scripts, kept = tmp_path / "scripts", tmp_path / "kept"
    scripts.mkdir()
    for number in range(150):
        (scripts / f"{number}.sbatch").write_text(SCRIPT.format(number))

    def seconds() -> float:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        started(scripts, kept, "--statistics").communicate()
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    first = seconds()
    assert first / min(seconds() for _ in range(3)) >= 4
