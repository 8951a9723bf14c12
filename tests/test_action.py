"""The steps of action.yml, run by bash as GitHub's runner does, in a workspace that means harm."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from conftest import NO_NETWORK, ROOT

pytestmark = pytest.mark.slow

# A module of these names in the workspace would be imported by `python -m venv`, or by pip, in place of the library's.
SHADOWS = (
    "venv",
    "logging",
    "runpy",
    "pip",
    "ensurepip",
    "sitecustomize",
    "usercustomize",
    "json",
    "types",
    "sbatchlint",
)
BAD = "#!/bin/bash\n#SBATCH -N=2\nsrun hostname\n"


def run_step(step: dict[str, Any], workspace: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    """Runs a step's script; raises nothing, whatever it returns."""
    script = workspace.parent / "step.sh"
    script.write_text(step["run"])
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")} | variables
    command = ["bash", "--noprofile", "--norc", "-eo", "pipefail", str(script)]
    return subprocess.run(command, cwd=workspace, env=environment, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def steps() -> dict[str, dict[str, Any]]:
    return {
        step["name"]: step
        for step in yaml.safe_load((ROOT / "action.yml").read_text())["runs"]["steps"]
        if "run" in step
    }


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory, steps: dict[str, dict[str, Any]]) -> Path:
    """A checkout with three folders of scripts and harmful modules, in which the action has installed sbatchlint."""
    base = tmp_path_factory.mktemp("runner")
    folder = base / "workspace"
    for name in ("a", "b", "c"):
        (folder / name).mkdir(parents=True)
        (folder / name / "job.sbatch").write_text(BAD)
    for name in SHADOWS:
        (folder / f"{name}.py").write_text(f"open({str(base / 'harm')!r}, 'a').write({name!r})\n")
    (folder / "harm.pth").write_text(f"import os; open({str(base / 'harm')!r}, 'a').write('pth')\n")
    (folder / "pip.conf").write_text("[global]\nindex-url = http://127.0.0.1:9/\n")
    (folder / "setup.py").write_text(f"open({str(base / 'harm')!r}, 'a').write('setup')\n")
    # Tools before those of the system, should a step look for any in the current folder.
    for name in ("python3", "pip", "git", "bash"):
        (folder / name).write_text(f"#!/bin/sh\necho {name} >>{base / 'harm'}\n")
        (folder / name).chmod(0o755)
    found = run_step(steps["Find a Python"], folder, GITHUB_OUTPUT=str(base / "output"))
    assert found.returncode == 0 and re.fullmatch(r"name=python3?\n", (base / "output").read_text())
    done = run_step(
        steps["Install"], folder, PYTHON=sys.executable, ACTION=str(ROOT), REF="main", RUNNER_TEMP=str(base)
    )
    if any(words in done.stdout + done.stderr for words in NO_NETWORK):
        pytest.skip("pip cannot install the dependencies here")
    assert done.returncode == 0, done.stderr
    return folder


def lint(
    steps: dict[str, dict[str, Any]], workspace: Path, paths: str, args: str = "", sarif: str = "", **more: str
) -> str:
    variables = more | {"PATHS": paths, "ARGS": args, "SARIF": sarif, "RUNNER_TEMP": str(workspace.parent)}
    done = run_step(steps["Lint"], workspace, **variables)
    assert done.returncode == 1 and done.stderr == "", done.stderr
    return done.stdout


def test_nothing_of_the_workspace_is_run(steps: dict[str, dict[str, Any]], workspace: Path) -> None:
    lint(steps, workspace, ".")
    lint(steps, workspace, ".", PYTHONPATH=str(workspace))  # as a workflow may have it
    assert not (workspace.parent / "harm").exists()


@pytest.mark.parametrize("paths", ["a b", "a\nb\n", "\n  a\n\n  b\n", "a/job.sbatch\tb"])
def test_every_path_counts(steps: dict[str, dict[str, Any]], workspace: Path, paths: str) -> None:
    out = lint(steps, workspace, paths, args="--output-format\nconcise")
    assert {line.partition("/")[0] for line in out.splitlines() if ": error " in line} == {"a", "b"}


def test_sarif_is_written_besides(steps: dict[str, dict[str, Any]], workspace: Path) -> None:
    lint(steps, workspace, "a", sarif="found.sarif")
    assert '"ruleId"' in (workspace / "found.sarif").read_text()


@pytest.mark.parametrize(
    ("ref", "is_published", "expected"),
    [
        ("v1.2.3", True, ["sbatchlint[yaml]==1.2.3"]),
        ("v1.2.3", False, ["sbatchlint[yaml]==1.2.3", "/action[yaml]"]),
        ("main", True, ["/action[yaml]"]),
        ("v1", True, ["/action[yaml]"]),
        ("v1.2.3; touch harm", True, ["/action[yaml]"]),
        ("", True, ["/action[yaml]"]),
    ],
)
def test_the_wheel_of_the_release_is_installed_where_there_is_one(
    steps: dict[str, dict[str, Any]], tmp_path: Path, ref: str, is_published: bool, expected: list[str]
) -> None:
    """A python that writes down what it is asked for, in place of that of the virtual environment."""
    (tmp_path / "workspace").mkdir()
    asked = tmp_path / "asked"
    binary = tmp_path / "sbatchlint" / "bin"
    binary.mkdir(parents=True)
    for python in (tmp_path / "python", binary / "python"):
        refused = "" if is_published else 'case "$*" in *==*) exit 1 ;; esac\n'
        python.write_text(f'#!/bin/sh\nfor last; do :; done\necho "$last" >>{asked}\n{refused}')
        python.chmod(0o755)
    variables = {"PYTHON": str(tmp_path / "python"), "ACTION": "/action", "REF": ref, "RUNNER_TEMP": str(tmp_path)}
    done = run_step(steps["Install"], tmp_path / "workspace", **variables)
    assert done.returncode == 0 and done.stderr == ""
    assert asked.read_text().splitlines()[1:] == expected


def test_actions_are_pinned() -> None:
    for path in ("action.yml", *(str(file.relative_to(ROOT)) for file in (ROOT / ".github/workflows").glob("*.yml"))):
        for used in re.findall(r"uses: (\S+)", (ROOT / path).read_text()):
            assert re.search(r"@[0-9a-f]{40}$", used), f"{path}: {used}"
