"""The interface for programs: the examples of docs/api.md, what is read and what is not, and what is raised."""

from __future__ import annotations

import contextlib
import dataclasses
import io
import json
import os
import re
import shlex
import subprocess
import sys
import threading
from pathlib import Path
from types import ModuleType
from typing import Any, get_args, get_origin, get_type_hints

import pytest

from conftest import ROOT
from sbatchlint import api
from sbatchlint.api import InputError, convert, diagnose, fix, lint, plan
from sbatchlint.report import plan_shape
from sbatchlint.source import lookups

DOCUMENT = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"^```python\n(.*?)^```", DOCUMENT, re.M | re.S)
DIRECTIVES = "#!/bin/bash\n#SBATCH --nodes=1 --ntasks-per-node=4\n#SBATCH --gpus-per-node=4 --time=1:00:00\n"
# One fault, and two.
JOB = DIRECTIVES + "srun --label torchrun --nproc-per-node=4 train.py\n"
ONE_NODE = DIRECTIVES.replace("--ntasks-per-node=4", "--cpus-per-task=8") + "torchrun --nproc-per-node=4 train.py\n"
LATE = JOB.replace("srun", "module load cuda\n#SBATCH --mem=4G\nsrun", 1)
NEXTFLOW = """\
#!/bin/bash
### name: 'TRAIN (1)'
#SBATCH -J nf-TRAIN_(1)
#SBATCH -o /data/work/1f/22ab/.command.log
#SBATCH --no-requeue
#SBATCH --signal B:USR2@30
#SBATCH -c 8
#SBATCH -t 08:00:00
#SBATCH --mem 65536M
#SBATCH --gres=2
trap 'exit 143' TERM INT USR2
bash -ue /data/work/1f/22ab/.command.sh &
wait
"""
SNAKEMAKE = (
    'sbatch call: sbatch --parsable --job-name 3f2a --output "/home/ada/.snakemake/slurm_logs/%j.log" --export=ALL'
    " -A lab -p gpu -t 60 --mem 4096 --ntasks=1 --cpus-per-task=8 --gres=2 -D /home/ada/flow"
    ' --wrap="python -m snakemake --snakefile Snakefile --cores all train"\n'
)


class StandIn:
    """What submitit's executor makes of its parameters."""

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self.parameters: dict[str, object] = {}

    def update_parameters(self, **parameters: object) -> None:
        self.parameters |= parameters

    def _make_submission_file_text(self, command: str, uid: str) -> str:
        logs = f"{self.folder}/%j"
        wanted = self.parameters | {
            "error": f"{logs}_0_log.err", "job_name": "submitit", "open_mode": "append", "output": f"{logs}_0_log.out",
            "signal": "USR2@90",
        }  # fmt: skip
        lines = [
            f"#SBATCH --{name.replace('_', '-')}={shlex.quote(str(value))}" for name, value in sorted(wanted.items())
        ]
        step = f"srun --unbuffered --output {logs}_%t_log.out --error {logs}_%t_log.err {command}"
        return "\n".join(["#!/bin/bash", "", "# Parameters", *lines, "#SBATCH --wckey=submitit", "", step, ""])


def test_there_are_four_examples_and_three_users() -> None:
    for name, example in zip(("lint", "fix", "plan", "diagnose"), EXAMPLES):
        assert f"from sbatchlint.api import {name}\n" in example
    assert len(EXAMPLES) == 7
    assert all(re.search(rf"^`{name}\(", DOCUMENT, re.M) for name in ("lint", "fix", "plan", "convert", "diagnose"))


@pytest.mark.parametrize("number", range(len(EXAMPLES)))
def test_examples(number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each example prints what stands behind `# ->`."""
    (tmp_path / "job.sbatch").write_text(JOB)
    (tmp_path / "port.log").write_bytes((ROOT / "examples" / "logs" / "port.log").read_bytes())
    (tmp_path / "work" / "1f" / "22ab").mkdir(parents=True)
    (tmp_path / "work" / "1f" / "22ab" / ".command.run").write_text(NEXTFLOW)
    (tmp_path / "snakemake.log").write_text("Building DAG of jobs...\n" + SNAKEMAKE)
    monkeypatch.chdir(tmp_path)
    module = ModuleType("submitit")
    module.SlurmExecutor = StandIn  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "submitit", module)
    with contextlib.redirect_stdout(io.StringIO()) as out:
        exec(compile(EXAMPLES[number], f"example {number}", "exec"), {"__name__": "example"})
    assert out.getvalue().splitlines() == re.findall(r"^# -> (.*)$", EXAMPLES[number], re.M)


def attributes() -> set[str]:
    """The names that docs/api.md promises."""
    return set(re.findall(r"`(\w+)(?:\(\w*\))?`", DOCUMENT))


def test_what_is_promised_is_there() -> None:
    known = {
        field.name for each in (api.Finding, api.Position, api.Fix, api.Related) for field in dataclasses.fields(each)
    }
    table = DOCUMENT.partition("| a `Finding` has")[2].partition("\n\n")[0]
    assert set(re.findall(r"`(\w+)`", table)) - {"error", "warning", "info", "certain", "possible"} <= known
    assert {field.name for field in dataclasses.fields(api.Finding)} <= attributes()
    for made, names in (
        (lint(JOB), ("findings", "hidden", "ignored", "faults")),
        (fix(JOB), ("text", "data", "edits", "applied", "refused", "findings")),
        (plan(JOB), ("data", "accepted", "steps", "text", "svg", "html")),
        (convert(ONE_NODE, nodes=2), ("text", "data", "reason", "decisions", "todos", "before", "after")),
        (diagnose("boom\n"), ("answers", "data", "text")),
    ):
        assert set(names) <= attributes() and all(hasattr(made, name) for name in names)


# --- findings, fixes and plans ---------------------------------------------------------------------


def test_the_command_line_finds_the_same(tmp_path: Path) -> None:
    path = tmp_path / "job.sbatch"
    path.write_text(LATE)
    command = [sys.executable, "-m", "sbatchlint", "--output-format", "json", str(path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    told = json.loads(done.stdout)
    found = lint(path)
    assert [(each.code, each.message, each.severity, each.start.row, each.start.column) for each in found] == [
        (each["code"], each["message"], each["severity"], each["location"]["row"], each["location"]["column"])
        for each in told
    ]
    assert len(found) == len(told) > 1


def test_what_a_finding_rests_on() -> None:
    (found,) = lint("#!/bin/bash\n#SBATCH --exclusive=topo\nsrun ./a.out\n", settings={"slurm-version": "23.11-24.05"})
    assert found.releases == ("23.11",) and found.source and found.summary and found.url.endswith(f"{found.name}.md")
    assert not lint(f"#!/bin/bash\n{found.silence}\n#SBATCH --exclusive=topo\nsrun ./a.out\n").findings
    assert {each.certainty for each in lint(JOB, min_severity="info")} <= {"certain", "possible"}
    json.dumps(dataclasses.asdict(found))


def test_severities_and_comments_are_counted() -> None:
    script = LATE.replace("#SBATCH --mem", "# sbatchlint: ignore[SB101]\n#SBATCH --mem")
    found = lint(script)
    assert found.ignored == 1
    every = lint(script, min_severity="info")
    assert len(every) == len(found) + found.hidden


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_edits_make_the_text(newline: str) -> None:
    script = (LATE + "# \udcff\n").replace("\n", newline)
    fixed = fix(script, unsafe=True, settings={"ignore": ["SB003"]})
    text = script
    for edit in reversed(fixed.edits):
        text = text[: edit.start.offset] + edit.content + text[edit.end.offset :]
    assert text == fixed.text != script and fixed.data.count(b"\xff") == 1
    assert fix(fixed.text, unsafe=True, settings={"ignore": ["SB003"]}).edits == ()


def test_only_chosen_checks_repair() -> None:
    names = {each.code for each in fix(LATE, unsafe=True).applied}
    assert "SB301" in names and "SB101" in names
    one = fix(LATE, unsafe=True, checks=["launcher-tasks-per-node"])
    assert {each.code for each in one.applied} == {"SB301"} and "SB101" in {each.code for each in one.findings}


@pytest.mark.slow
def test_plans_have_the_documented_shape() -> None:
    scripts = [*(ROOT / "examples").glob("*.sbatch"), *(ROOT / "examples" / "fixed").glob("*.sbatch")]
    texts = [path.read_text(encoding="utf-8") for path in scripts]
    head = "#!/bin/bash\n#SBATCH --nodes=2 --ntasks=3 --gres=gpu:2\n"
    texts += [
        head + "srun -n1 a : -n2 b &\nfor i in 1 2; do mpirun -n 4 ./c $i; done\nwait\n",
        head + "sbatch <<'END'\n#!/bin/bash\n#SBATCH -N2\nsrun --export=A apptainer exec a.sif ./d\nEND\n",
        head + "srun --ntasks=900 torchrun --no-such-option x.py\nif test -e x; then torchrun y.py; fi\n",
    ]
    for text in texts:
        wrong = list(_wrong(plan(text).data, plan_shape.PlanShape, "plan"))
        assert not wrong, wrong


def _wrong(value: Any, kind: Any, where: str) -> Any:
    """Where a value is not of a type."""
    if get_origin(kind) is list:
        if not isinstance(value, list):
            yield where
        else:
            for each in value:
                yield from _wrong(each, get_args(kind)[0], where)
    elif get_origin(kind) is dict:
        if not isinstance(value, dict):
            yield where
            return
        for name, each in value.items():
            yield from _wrong(each, get_args(kind)[1], f"{where}.{name}")
    elif get_args(kind):
        if all(list(_wrong(value, each, where)) for each in get_args(kind)):
            yield f"{where}: {value!r}"
    elif hasattr(kind, "__required_keys__"):
        if not isinstance(value, dict):
            yield where
            return
        hints = get_type_hints(kind)
        if not kind.__required_keys__ <= value.keys() or not value.keys() <= hints.keys():
            yield f"{where}: {sorted(value.keys() ^ hints.keys())}"
            return
        for name, each in value.items():
            yield from _wrong(each, hints[name], f"{where}.{name}")
    elif not isinstance(value, kind):
        yield f"{where}: {value!r}"


def test_a_script_as_job() -> None:
    planned = plan("#!/bin/bash\ntorchrun --nproc-per-node=8 train.py\n", nodes=2, gpus_per_node=8)
    assert planned.data["request"]["components"][0]["nodes"] == {"min": 2, "max": 2}
    none = plan("#!/bin/bash\nmpirun ./a\n", nodes=2, gpus_per_node=0)
    assert none.data["request"] == plan("#!/bin/bash\nmpirun ./a\n", nodes=2).data["request"]
    with pytest.raises(InputError, match="as-job"):
        plan(JOB, nodes=2)


@pytest.mark.slow
def test_a_conversion_is_told_with_its_proof() -> None:
    made = convert(ONE_NODE, nodes=2, options={"account": "lab"})
    assert made.text is not None and "#SBATCH --nodes=2" in made.text and "--account=lab" in made.text
    assert made.decisions and not made.reason and made.data == made.text.encode()
    assert made.before is not None and made.before["steps"][0]["nodes"] == 1
    assert made.after is not None and made.after["steps"][0]["nodes"] == 2
    processors = convert("#!/bin/bash\nmpirun -n 8 ./a\n", nodes=2, gpus_per_node=0)
    assert processors.text is not None and "gpu" not in processors.text
    refused = convert("#!/bin/bash\n#SBATCH --nodes=1\necho done\n", nodes=2)
    assert refused.text is None and refused.reason and not refused.data


def test_forms_of_a_plan() -> None:
    planned = plan(JOB)
    assert "torchrun starts 4 processes" in planned.text(70) and "SB301" in planned.text()
    assert planned.svg().startswith("<svg") and "<html" in planned.html()
    assert [each.code for each in planned.findings] == ["SB301"]


def test_a_diagnosis_tells_no_secret_of_the_script() -> None:
    key = "0123456789abcdef0123456789abcdef01234567"
    script = f"#!/bin/bash\n#SBATCH -N1\nexport WANDB_API_KEY={key}\nsrun python t.py\n"
    log = f"Traceback (most recent call last):\nValueError: bad {key}\n"
    found = diagnose([log, "a second log\n"], script=script)
    assert found.answers and key[:16] not in found.text() + json.dumps(found.data)
    assert found.data["logs"] == ["<log 1>", "<log 2>"]
    state = diagnose([], sacct="JobID|State|ExitCode\n1|TIMEOUT|0:0\n").answers
    assert state and state[0].certainty in ("certain", "likely", "possible")


# --- what is read ------------------------------------------------------------------------------------


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A script that includes a file with a fault, in a folder with settings; outside, other settings."""
    inside = tmp_path / "project"
    inside.mkdir()
    (tmp_path / "sbatchlint.toml").write_text('ignore = ["ALL"]\n')
    (inside / "env.sh").write_text("cd /scratch/$SLURM_JOB_NAMEE\n")
    (inside / "job.sbatch").write_text("#!/bin/bash\n#SBATCH --nodes=1\nsource env.sh\nsrun ./a.out\n")
    monkeypatch.chdir(inside)
    return inside


def test_a_text_is_judged_by_itself(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = (project / "job.sbatch").read_text().replace("srun", "#SBATCH --time=1\nsrun")
    (project / "sbatchlint.toml").write_text("no = such key")
    asked: list[str] = []

    def watch(name: str) -> None:
        known = getattr(os.path, name)

        def watched(path: str) -> bool:
            asked.append(os.fspath(path))
            return bool(known(path))

        monkeypatch.setattr(os.path, name, watched)

    for name in ("exists", "isfile", "isdir"):
        watch(name)
    assert [each.code for each in lint(text)] == ["SB101"]
    assert not [path for path in asked if str(project) in os.path.abspath(path)]
    with pytest.raises(InputError, match=r"sbatchlint\.toml"):
        lint(text, path="job.sbatch")
    assert lint(text, path="job.sbatch", isolated=True).findings


def test_files_beside_and_settings(project: Path) -> None:
    text = (project / "job.sbatch").read_text()
    assert not lint(text, path="job.sbatch").findings, "the settings of the folder above ignore everything"
    (found,) = lint(text, path="job.sbatch", isolated=True)
    assert found.path == "env.sh" and found.reached
    assert [each.code for each in lint(project / "job.sbatch", root=project)] == [found.code]
    assert not lint(text, path="job.sbatch", settings={"ignore": [found.code]}, isolated=True).findings


def test_nothing_outside_of_the_root_is_read(project: Path) -> None:
    outside = project.parent / "outside.sh"
    outside.write_text("cd /scratch/$SLURM_JOB_NAMEE\n")
    (project / "env.sh").unlink()
    (project / "env.sh").symlink_to(outside)
    assert not lint(project / "job.sbatch", root=project).findings
    (project / "link.sbatch").symlink_to(outside)
    for script in (outside, project / "link.sbatch", project / ".." / "outside.sh"):
        with pytest.raises(InputError, match="is not below"):
            lint(script, root=project)
    with pytest.raises(InputError, match="is not below"):
        lint("#!/bin/bash\n", path=outside, root=project)
    with pytest.raises(InputError, match="is not below"):
        diagnose(outside, root=project)
    for table in ('extend = "../../outside.toml"', f'plugin-options-from = "{outside}"'):
        (project / "sbatchlint.toml").write_text(table)
        with pytest.raises(InputError, match="outside of what may be read"):
            lint(project / "job.sbatch", root=project)
    (project / "sbatchlint.toml").unlink()
    with pytest.raises(InputError, match="outside of what may be read"):
        lint("#!/bin/bash\n", root=project, settings={"plugin-options-from": str(outside)})
    assert lookups.exists(str(outside)), "the bounds end with the call"


def test_documents() -> None:
    text = f"# Run\n\n```bash\n{LATE}```\n"
    assert [(each.code, each.start.row) for each in lint(text, path="notes.md", isolated=True)] == [
        ("SB301", 5),
        ("SB101", 8),
    ]
    assert fix(text, path="notes.md", isolated=True).text.splitlines()[4].endswith(" --cpus-per-task=4")


# --- what is raised ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "call",
    [
        lambda: lint(Path("no-such.sbatch")),
        lambda: lint(Path(".")),
        lambda: lint(b"\x7fELF\0\0"),
        lambda: lint("\ud800"),
        lambda: lint("a\0b"),
        lambda: lint(None),  # type: ignore[arg-type]
        lambda: lint(3),  # type: ignore[arg-type]
        lambda: lint("x", path="a\0b"),
        lambda: lint("x", path=b"job.sbatch"),  # type: ignore[arg-type]
        lambda: lint("x", settings={"no-such-key": 1}),
        lambda: lint("x", settings={"select": ["SB999"]}),
        lambda: lint("x", settings={"slurm-version": "19.05"}),
        lambda: lint("x", min_severity="loud"),  # type: ignore[arg-type]
        lambda: lint("x", sbatch_options="--no-such-option"),
        lambda: fix("x", checks=["no-such-check"]),
        lambda: plan("x", nodes=0),
        lambda: plan("x", nodes="2"),  # type: ignore[arg-type]
        lambda: plan("x", gpus_per_node=2),
        lambda: convert("x", nodes=0),
        lambda: convert("x", nodes=2, gpus_per_node=-1),
        lambda: convert("x", nodes=2, to="pbsdsh"),
        lambda: convert("x", nodes=2, options={"no-such-option": "1"}),
        lambda: diagnose([]),
        lambda: diagnose(Path("no-such.log")),
        lambda: diagnose("x", sacct="no table"),
    ],
)
def test_one_exception_for_bad_input(call: Any) -> None:
    with pytest.raises(InputError) as raised:
        call()
    assert "\n" not in str(raised.value)


@pytest.mark.slow
def test_several_threads() -> None:
    scripts = [JOB, *(path.read_text(encoding="utf-8") for path in (ROOT / "examples").glob("*.sbatch"))] * 3
    expected = [[each.code for each in lint(script)] for script in scripts]
    found: list[list[str]] = [[] for _ in scripts]

    def work(number: int) -> None:
        found[number] = [each.code for each in lint(scripts[number])]

    threads = [threading.Thread(target=work, args=(number,)) for number in range(len(scripts))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == expected


@pytest.mark.parametrize(
    ("directive", "options", "message"),
    [
        ("--nodes=2", "--time=x", "Invalid --time specification"),
        ("--nodes=2", "--nodes=2-1", "Maximum node count 1 is less than minimum node count 2"),
        ("--mem=x", "--time=x", "Invalid --mem specification"),  # sbatch reads the script first
        ("--nodes=2", "--nodes=4 --time=60", None),
    ],
)
def test_what_if_sbatch_refuses_its_own_options(directive: str, options: str, message: str | None) -> None:
    planned = plan(f"#!/bin/bash\n#SBATCH {directive}\nsrun ./a\n", sbatch_options=options)
    assert planned.accepted is (message is None) and planned.data["request"]["message"] == message
