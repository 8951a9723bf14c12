"""Files beside a script: what it reads and starts is followed inside the project, and nowhere else."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sbatchlint.bash.values import text_of
from sbatchlint.cli import main
from sbatchlint.job import Job, Site
from sbatchlint.source.text import Source, Span
from sbatchlint.source.workspace import Workspace

HEAD = "#!/bin/bash\n#SBATCH --nodes=2 --ntasks-per-node=1 --gpus-per-node=8\n"
EARLY = "torchrun --nnodes=2 --node_rank=$SLURM_NODEID --nproc_per_node=8 --master_addr=x train.py\n"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "project" / ".git").mkdir(parents=True)
    (tmp_path / "project" / "jobs").mkdir()
    monkeypatch.chdir(tmp_path / "project")
    return tmp_path / "project"


def write(project: Path, **files: str) -> None:
    for name, content in files.items():
        path = project / name.replace("__", "/").replace("_sh", ".sh").replace("_sbatch", ".sbatch")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)


def job_of(path: str) -> Job:
    return Job.from_source(Source(Path(path).read_text(), path), Site())


def words(job: Job, name: str) -> list[str | None]:
    """The words of the last command of this name."""
    return [text_of(field) for field in [each for each in job.invocations if each.name == name][-1].argv]


def found(capsys: pytest.CaptureFixture[str], *arguments: str) -> list[tuple[str, str, int, str]]:
    main(["--isolated", "--output-format", "json", *arguments])
    return [
        (load["code"], load["filename"], load["location"]["row"], load["message"])
        for load in json.loads(capsys.readouterr().out)
    ]


@pytest.mark.parametrize(
    "command", ["source env.sh", ". ./env.sh", 'source "$SLURM_SUBMIT_DIR/env.sh"', ". jobs/env.sh"]
)
def test_what_a_read_file_sets_is_known(project: Path, command: str) -> None:
    write(
        project, jobs__env_sh="PORT=29500\nexport ADDRESS=a:$PORT\n", jobs__a_sbatch=f"{HEAD}{command}\necho $ADDRESS\n"
    )
    assert words(job_of("jobs/a.sbatch"), "echo") == ["echo", "a:29500"]


@pytest.mark.parametrize("command", ["srun bash run.sh 8", "srun ./run.sh 8", "srun jobs/run.sh 8", "bash run.sh 8"])
def test_what_a_started_file_runs_is_known(project: Path, command: str) -> None:
    write(project, jobs__run_sh="#!/bin/bash\ntorchrun --nproc_per_node=$1 t.py\n", jobs__a_sbatch=f"{HEAD}{command}\n")
    job = job_of("jobs/a.sbatch")
    assert words(job, "torchrun") == ["torchrun", "--nproc_per_node=8", "t.py"]
    assert len(job.launches) == 1 and (job.launches[0].step is not None) == command.startswith("srun")


def test_a_finding_stands_in_the_file_where_the_fault_is(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(project, jobs__run_sh=f"srun {EARLY}", jobs__a_sbatch=f"{HEAD}\nbash run.sh\n")
    ((code, path, row, message),) = found(capsys, "jobs")
    assert (code, path, row) == ("SB401", "jobs/run.sh", 1)
    assert message.endswith("(reached from jobs/a.sbatch:4)") and " of jobs/run.sh" not in message


def test_the_same_finding_is_told_once(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(
        project,
        inner_sbatch=f"{HEAD}srun {EARLY}",
        submit_sh="#!/bin/bash\nsbatch inner.sbatch\nsbatch -t 5 inner.sbatch\n",
    )
    told = found(capsys, "submit.sh", "inner.sbatch")
    assert [(code, path, row) for code, path, row, _ in told] == [("SB401", "inner.sbatch", 3)]
    assert "reached" not in told[0][3]


def test_a_wrapper_s_options_count_for_the_script_that_it_submits(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(
        project,
        inner_sbatch="#!/bin/bash\n#SBATCH --gpus-per-node=8\nsrun torchrun --nnodes=$SLURM_NNODES --nproc_per_node=8 "
        "--rdzv_backend=c10d --rdzv_endpoint=$HEAD:29500 t.py\n",
        submit_sh="#!/bin/bash\nsbatch --ntasks-per-node=4 -N4 inner.sbatch\n",
    )
    assert found(capsys, "inner.sbatch") == []
    ((code, path, row, message),) = found(capsys, "submit.sh")
    assert (code, path, row) == ("SB301", "submit.sh", 2) and "line 3 of inner.sbatch" in message


def test_only_the_project_s_own_files_are_read(project: Path) -> None:
    (project.parent / "env.sh").write_text("X=1\n")
    write(project, jobs__a_sbatch=f"{HEAD}X=0\nsource ../../env.sh\necho $X\n")
    (project / "jobs" / "link.sh").symlink_to(project.parent / "env.sh")
    assert words(job_of("jobs/a.sbatch"), "echo") != ["echo", "1"]
    write(project, jobs__a_sbatch=f"{HEAD}X=0\nsource link.sh\necho $X\n")
    assert words(job_of("jobs/a.sbatch"), "echo") != ["echo", "1"]


def test_two_files_that_may_be_meant_are_unknown(project: Path) -> None:
    write(project, env_sh="X=1\n", jobs__env_sh="X=2\n", jobs__a_sbatch=f"{HEAD}source env.sh\necho x$X\n")
    assert words(job_of("jobs/a.sbatch"), "echo") == ["echo", None]


def test_circles_and_rubbish_end(project: Path) -> None:
    write(
        project,
        a_sbatch=f"{HEAD}source b.sh\nsource a.sbatch\nsrun bash c.sh\n",
        b_sh="source c.sh\n",
        c_sh="source b.sh\n",
    )
    assert not job_of("a.sbatch").limits.exhausted
    (project / "c.sh").write_bytes(b"\0\1\xff" * 100)
    (project / "b.sh").write_bytes(b"if then (( \xff\n")
    assert job_of("a.sbatch").steps


def test_a_file_that_the_script_writes_itself_is_not_the_one_on_disk(project: Path) -> None:
    write(project, run_sh="torchrun old.py\n", a_sbatch=f"{HEAD}generate > run.sh\nsrun bash run.sh\n")
    assert job_of("a.sbatch").launches == []


def test_fixes_change_the_script_alone(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(
        project,
        jobs__run_sh="torchrun --nnodes=2 --nproc_per_node=8 train.py\n",
        jobs__a_sbatch=f"{HEAD.replace('node=1 ', 'node=8 ')}srun bash run.sh\n",
    )
    before = (project / "jobs" / "run.sh").read_text()
    main(["--isolated", "--fix", "jobs"])
    assert (project / "jobs" / "run.sh").read_text() == before
    assert "--ntasks-per-node=1" in (project / "jobs" / "a.sbatch").read_text()
    capsys.readouterr()


def test_a_script_that_is_no_file_reads_none(project: Path) -> None:
    write(project, env_sh="X=1\n")
    job = Job.from_source(Source(f"{HEAD}source env.sh\necho x$X\n", "<stdin>"), Site())
    assert words(job, "echo") == ["echo", None]


@pytest.mark.parametrize(
    "configuration", ['exclude = ["jobs/run.sh"]', '[per-file-ignores]\n"jobs/run.sh" = ["SB409"]'], ids=["out", "one"]
)
def test_the_configuration_counts_for_the_file_in_which_a_fault_is(
    project: Path, capsys: pytest.CaptureFixture[str], configuration: str
) -> None:
    write(project, jobs__run_sh="./a $SLURM_NODE_ID\n", jobs__a_sbatch=f"{HEAD}./b $SLURM_PROC_ID\nsrun bash run.sh\n")
    arguments = ("--select", "SB409", "--output-format", "concise", "jobs")
    main([*arguments])
    assert [line.partition(":")[0] for line in capsys.readouterr().out.splitlines()][:2] == [
        "jobs/a.sbatch",
        "jobs/run.sh",
    ]
    (project / "sbatchlint.toml").write_text(f"{configuration}\n")
    main([*arguments])
    assert "jobs/run.sh" not in capsys.readouterr().out


def test_more_files_than_are_read_are_told(project: Path) -> None:
    names = [f"part{number}.sh" for number in range(25)]
    for name in names:
        (project / name).write_text("export X=1\n")
    (project / "a.sbatch").write_text(HEAD + "".join(f"source {name}\n" for name in names))
    limit = job_of("a.sbatch").limits.met["files"]
    assert limit.span.start == len(HEAD) + sum(len(f"source {name}\n") for name in names[:20])


def test_what_a_workspace_mentions_counts_attached_files() -> None:
    workspace = Workspace(Source("echo one\n", "job.sh"))
    assert "one" in workspace.text and "two" not in workspace.text
    workspace.attach(Source("echo two\n", "env.sh"), Span(0, 0))
    assert "one" in workspace.text and "two" in workspace.text and "three" not in workspace.text
