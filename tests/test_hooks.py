"""The hooks, run by pre-commit itself on a repository with batch scripts of several endings."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from conftest import NO_NETWORK, ROOT

BAD = "#!/bin/bash\n#SBATCH -N=2\nsrun hostname\n"
SCRIPTS = ("a.sbatch", "b.slurm", "c.sh", "d")


def git(folder: Path, *arguments: str) -> str:
    identity = ["-c", "user.name=test", "-c", "user.email=test@example.org", "-c", "commit.gpgsign=false"]
    done = subprocess.run(["git", *identity, *arguments], cwd=folder, capture_output=True, text=True, env=clean())
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def clean() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if not name.startswith(("GIT_", "PYTHON", "SKIP"))}


pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def hooks(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The project as a repository that pre-commit can clone."""
    pytest.importorskip("pre_commit", reason="pre-commit is not installed")
    repository = tmp_path_factory.mktemp("hooks")
    for name in ("sbatchlint", "checks"):
        shutil.copytree(ROOT / name, repository / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "README.md", "LICENSE", ".pre-commit-hooks.yaml"):
        shutil.copy(ROOT / name, repository / name)
    git(repository, "init", "-q")
    git(repository, "add", "-A")
    git(repository, "commit", "-qm", "all")
    return repository


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where pre-commit keeps the installed hook, once for all tests."""
    return tmp_path_factory.mktemp("store")


@pytest.fixture
def repository(hooks: Path, tmp_path: Path) -> Path:
    for name in SCRIPTS:
        (tmp_path / name).write_text(BAD)
    (tmp_path / "d").chmod(0o755)
    (tmp_path / "README.md").write_text(f"Write `#SBATCH -N=2` not at all.\n\n```bash\n{BAD}```\n")
    (tmp_path / "data.bin").write_bytes(b"\0#SBATCH -N=2\n")
    (tmp_path / "old").mkdir()
    (tmp_path / "old" / "e.sbatch").write_text(BAD)
    (tmp_path / "sbatchlint.toml").write_text('extend-exclude = ["old/"]\nselect = ["short-option-equals"]\n')
    (tmp_path / ".pre-commit-config.yaml").write_text(
        f"repos:\n- repo: {hooks}\n  rev: {git(hooks, 'rev-parse', 'HEAD')}\n"
        "  hooks:\n  - id: sbatchlint\n  - id: sbatchlint-fix\n    stages: [manual]\n"
    )
    git(tmp_path, "init", "-q")
    git(tmp_path, "add", "-A")
    return tmp_path


def run(repository: Path, store: Path, *arguments: str) -> tuple[int, str]:
    environment = {**clean(), "PRE_COMMIT_HOME": str(store), "PRE_COMMIT_COLOR": "never", "COLUMNS": "200"}
    command = [sys.executable, "-m", "pre_commit", "run", "--all-files", "--verbose", *arguments]
    done = subprocess.run(command, cwd=repository, env=environment, capture_output=True, text=True, check=False)
    out = done.stdout + done.stderr
    if any(words in out for words in NO_NETWORK):
        pytest.skip("pip cannot install the hook's dependencies here")
    return done.returncode, out


def test_the_hook_reports_every_batch_script(repository: Path, store: Path) -> None:
    code, out = run(repository, store)
    assert code == 1, out
    assert "exit code: 1" in out
    found = sorted(line.split("--> ")[1] for line in out.splitlines() if "--> " in line)
    assert found == [f"{name}:2:9" for name in SCRIPTS]
    assert "4 findings (4 errors) in 4 of 4 scripts; 4 fixable with --fix" in out


def test_the_fixing_hook_repairs_and_then_passes(repository: Path, store: Path) -> None:
    code, out = run(repository, store, "--hook-stage", "manual", "sbatchlint-fix")
    assert code == 1, out
    assert "files were modified by this hook" in out
    assert all(f"fixed in {name}:\n  1 x SB107 short-option-equals" in out for name in SCRIPTS)
    assert {(repository / name).read_text() for name in SCRIPTS} == {BAD.replace("-N=2", "-N 2")}
    assert (repository / "old" / "e.sbatch").read_text() == BAD
    assert os.access(repository / "d", os.X_OK)
    git(repository, "add", "-A")
    code, out = run(repository, store)
    assert code == 0, out


def test_documents_are_read_where_the_settings_include_them(repository: Path, store: Path) -> None:
    """The hook names every file of the repository; that is no wish to have its documents read."""
    with (repository / "sbatchlint.toml").open("a") as file:
        file.write('include = ["*.md"]\n')
    code, out = run(repository, store)
    assert code == 1 and "--> README.md:5:9" in out, out
    assert "5 findings (5 errors) in 5 of 5 scripts" in out
    code, out = run(repository, store, "--hook-stage", "manual", "sbatchlint-fix")
    assert (repository / "README.md").read_text().endswith("```bash\n#!/bin/bash\n#SBATCH -N 2\nsrun hostname\n```\n")


def test_what_is_left_is_said_by_one_hook(repository: Path, store: Path) -> None:
    (repository / "left.sbatch").write_text("#!/bin/bash\n#SBATCH --nodes=two\n")
    (repository / "sbatchlint.toml").write_text('extend-exclude = ["old/"]\n')
    configuration = repository / ".pre-commit-config.yaml"
    configuration.write_text(configuration.read_text().replace("    stages: [manual]\n", ""))
    git(repository, "add", "-A")
    code, out = run(repository, store)
    assert code == 1, out
    assert out.count("left.sbatch:2") == 1


def test_names_of_files_are_never_options(repository: Path, store: Path) -> None:
    names = ("--isolated", "-a.sbatch", " b,c: %20.sbatch", "é\x1b[31m.sbatch", "line\nfeed\t.sbatch")
    for name in names:
        (repository / name).write_text(BAD)
    git(repository, "add", "-A")
    code, out = run(repository, store, "--hook-stage", "manual", "sbatchlint-fix")
    assert code == 1 and "9 fixed in 9 scripts" in out, out
    assert {(repository / name).read_text() for name in names} == {BAD.replace("-N=2", "-N 2")}
    assert (repository / "old" / "e.sbatch").read_text() == BAD


def test_the_hook_passes_where_there_is_no_batch_script(repository: Path, store: Path) -> None:
    git(repository, "rm", "-q", "--cached", *SCRIPTS, "old/e.sbatch")
    for name in (*SCRIPTS, "old/e.sbatch"):
        (repository / name).unlink()
    code, out = run(repository, store)
    assert code == 0, out
