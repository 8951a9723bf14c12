"""Python programs beside a script: which file a command starts, and what is read of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from sbatchlint.job import Job, Site
from sbatchlint.job.python.module import module_of
from sbatchlint.job.python.program import PythonProgram, python_program
from sbatchlint.source import lookups
from sbatchlint.source.text import Source

HEAD = "#!/bin/bash\n#SBATCH --ntasks=1\n"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "project" / ".git").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "project")
    return tmp_path / "project"


def write(project: Path, **files: str) -> None:
    for name, content in files.items():
        path = project / (name.replace("___", "/") + ".py")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)


def program(project: Path, command: str) -> PythonProgram | None:
    """The program of the last command."""
    path = project / "jobs" / "a.sbatch"
    path.parent.mkdir(exist_ok=True)
    path.write_text(HEAD + command + "\n")
    job = Job.from_source(Source(path.read_text(), "jobs/a.sbatch"), Site())
    return python_program(job, job.invocations[-1])


@pytest.mark.parametrize("command", [
    "python jobs/train.py", "python train.py", "srun python3 -u train.py --x 1", "python -m jobs.train",
    "torchrun --nproc_per_node 2 train.py", "cd jobs\npython train.py", "cd $SLURM_SUBMIT_DIR/jobs; python train.py",
    "cd /home/u/jobs\npython train.py", "cd $ROOT && python jobs/train.py", "./jobs/train.py",
    "accelerate launch -m jobs.train", "bash -c 'python train.py'",
])  # fmt: skip
def test_the_file_is_found(project: Path, command: str) -> None:
    write(project, jobs___train="import os\n")
    found = program(project, command)
    assert found is not None and found.path == "jobs/train.py"


@pytest.mark.parametrize("command", [
    "python $X.py", "python /train.py", "python ../../train.py", "cd /data/run\npython train.py",
    "python -c 'train.py'",
    "cat train.py", "touch x > train.py\npython train.py", "cd $ROOT\npython train.py", "torchrun --no-python train.py",
])  # fmt: skip
def test_no_file_is_guessed(project: Path, command: str) -> None:
    write(project, jobs___train="import os\n")
    (project.parent / "train.py").write_text("import os\n")
    assert program(project, command) is None


def test_own_modules_are_read_and_foreign_ones_named(project: Path) -> None:
    write(
        project,
        train="import os, torch\nfrom tool.net import Net\nfrom lib import data\n",
        tool___net="from . import part\nfrom .part import Part as P\nimport numpy.linalg\n",
        tool___part="import sys\nx = 'WORD'\n",
        src___lib___data="import yaml\n",
    )
    for folder in ("tool", "src/lib"):
        (project / folder / "__init__.py").touch()
    found = program(project, "python train.py")
    assert found is not None and found.complete
    assert found.foreign == {"torch", "numpy", "yaml"}
    assert "WORD" in found.strings and len(found.modules) == 6


@pytest.mark.parametrize("text", ["from .gone import x\n", "import tool.gone\n", "from tool import broken\n"])
def test_what_is_not_found_is_said(project: Path, text: str) -> None:
    write(project, train=text, tool___other="", tool___broken="print 'old'\n")
    found = program(project, "python train.py")
    assert found is not None and not found.complete


def test_reading_has_bounds(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(project, train="import m0\n", **{f"m{n}": f"import m{n + 1}\n" for n in range(40)}, big="x = 1\n" * 50_000)
    found = program(project, "python train.py")
    assert found is not None and not found.complete and len(found.modules) == 16
    assert program(project, "python big.py") is None


def test_links_lead_to_nothing_outside(project: Path) -> None:
    (project.parent / "secret.py").write_text("import os\n")
    (project / "train.py").symlink_to(project.parent / "secret.py")
    assert program(project, "python train.py") is None


def test_what_is_read_is_recorded(project: Path) -> None:
    write(project, train="import tool\n", tool="")
    record = lookups.begin_record()
    found = program(project, "python train.py")
    assert found is not None and found.complete
    lookups.end_record()
    read = [str(question[1]) for question in record.answers if question[0] == "read"]
    assert [path.rpartition("/")[2] for path in read] == ["train.py", "tool.py"]


@pytest.mark.parametrize("text", [
    "def f(:\n", "print 'x'\n", "x = '\0'\n", "(" * 500, "-" * 20_000 + "1", "a" + ".b" * 20_000, "[" * 90 + "]" * 90,
    "\xff", "x = " + "1+" * 20_000 + "1", "if x:\n" * 50, "f(" * 90 + ")" * 90,
])  # fmt: skip
def test_hostile_text_does_no_harm(text: str) -> None:
    module_of(text.encode("latin-1"))


def test_names_of_calls() -> None:
    module = module_of(
        b"import torch.distributed as dist\nfrom lightning import Trainer as T\nimport os.path\n"
        b"dist.init_process_group()\nT(devices=-1, n=None, **more)\nmodel.cuda()\nos.getenv('X')\nf(1)(2)\n"
    )
    assert module is not None
    assert [call.name for call in module.calls] == [
        "torch.distributed.init_process_group", "lightning.Trainer", ".cuda", "os.getenv", "", "f",
    ]  # fmt: skip
    trainer = module.calls[1]
    assert trainer.keyword("devices") == -1 and not trainer.certain
