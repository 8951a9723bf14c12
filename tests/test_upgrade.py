"""`--upgrade-to`: what changes for a script between two releases."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from conftest import ROOT, Command

CPUS = "#!/bin/bash\n#SBATCH --ntasks=4 --cpus-per-task=4\nsrun ./a.out\n"


def run(*words: str, script: str = CPUS) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "sbatchlint", "--isolated", *words, "-"], input=script, capture_output=True, text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)}, timeout=60, check=False,
    )  # fmt: skip


def changes(old: str, new: str, script: str) -> list[dict[str, object]]:
    done = run("--slurm-version", old, "--upgrade-to", new, "--output-format", "json", script=script)
    found: list[dict[str, object]] = json.loads(done.stdout)["changes"]
    assert done.returncode == (1 if found else 0)
    return found


def test_each_change_names_both_releases() -> None:
    found = changes("22.05", "25.11", CPUS)
    assert [(each["kind"], each["code"]) for each in found] == [("gone", "SB804")]
    assert "with Slurm 22.05, and no longer with 25.11: " in str(found[0]["message"])
    assert changes("24.05", "25.11", CPUS) == []


def test_what_is_wrong_under_both_is_no_change() -> None:
    assert changes("24.05", "25.11", "#!/bin/bash\n#SBATCH --ntaks=4\nsrun ./a.out\n") == []


@pytest.mark.parametrize(
    ("script", "kind", "said"),
    [
        ("#!/bin/bash\n#SBATCH --tres-per-task=cpu=4\nsrun ./a.out\n", "accepted", "Slurm 22.05 refuses the script ("),
        ("#!/bin/bash\n#SBATCH -c 4\nexport SLURM_TRES_PER_TASK=cpu=8\nsrun ./a\n", "refused", "refuses the step ("),
        (
            "#!/bin/bash\n#SBATCH -n 4 --hint=nomultithread --cores-per-socket=4\nsrun ./a\n",
            "dropped",
            "Slurm 25.11 takes `--hint=nomultithread` and `--cores-per-socket=4` and drops one of them",
        ),
    ],
)
def test_what_one_release_refuses(script: str, kind: str, said: str) -> None:
    found = [each for each in changes("22.05", "25.11", script) if each["kind"] == kind]
    assert len(found) == 1
    assert said in str(found[0]["message"])


def test_text_has_a_line_for_each_change() -> None:
    first, last = run("--slurm-version", "22.05", "--upgrade-to", "25.11").stdout.splitlines()
    assert first.startswith("<stdin>:3: gone: SB804: with Slurm 22.05, and no longer with 25.11: ")
    assert last == "Slurm 22.05 to 25.11: 1 change in 1 of 1 script (1 gone)"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--upgrade-to", "25.11"], "needs the release before: --slurm-version V"),
        (["--slurm-version", "23.11-24.05", "--upgrade-to", "25.11"], "needs the release before: --slurm-version V"),
        (["--slurm-version", "25.11", "--upgrade-to", "24.05"], "is not a release after 25.11"),
        (["--slurm-version", "25.11", "--upgrade-to", "25.11"], "is not a release after 25.11"),
        (["--slurm-version", "24.05", "--upgrade-to", "27.99"], "--upgrade-to"),
        (["--slurm-version", "24.05", "--upgrade-to", "25.11", "--fix"], "goes with none of --fix"),
    ],
)
def test_wrong_releases_are_told(options: list[str], said: str) -> None:
    done = run(*options)
    assert done.returncode == 2
    assert said in done.stderr


def test_what_differs_is_told_with_its_line_and_reason(command: Command) -> None:
    script = "#!/bin/bash\n#SBATCH -N2\n#SBATCH --mail-type=END\n#SBATCH --mail-type=FAIL\nsrun ./a\n"
    command.write("job.sbatch", script)
    line, *_ = command("--slurm-version", "24.11", "--upgrade-to", "25.05", "job.sbatch").out.splitlines()
    assert line.startswith("job.sbatch:4: differs: Slurm before 25.05 merges repeated --mail-type")


@pytest.mark.parametrize(
    ("name", "severity", "said"),
    [
        ("SLURM_NODE_ALIASES", "warning", "is set by Slurm 22.05, and not by 25.11"),
        ("SLURM_GPUS_PER_TASK", "warning", "is set by Slurm 22.05, and not by 25.11"),
        ("SLURM_JOB_END_TIME", "info", "is set by Slurm 25.11, and not by 22.05"),
    ],
)
def test_variables_that_go_and_come(name: str, severity: str, said: str) -> None:
    (found,) = changes("22.05", "25.11", f"#!/bin/bash\n#SBATCH -n 2\necho ${name}\nsrun ./a.out\n")
    assert (found["kind"], found["name"], found["severity"], found["line"]) == ("variable", name, severity, 3)
    assert found["message"] == f"{name} {said}"
    assert changes("24.05", "25.05", f"#!/bin/bash\nexport {name}=1\necho ${name}\n") == []
