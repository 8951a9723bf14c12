"""`sbatchlint plan`: what a job asks for, as JSON and as text."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from conftest import ROOT, Command
from sbatchlint.report.plan import wrapped

HEAD = "#!/bin/bash\n"
NAMES = (
    "nodes tasks tasks_per_node cpus_per_task time_minutes memory_mb gpus gpu_type job_name partition account output"
    " error array dependency exclusive constraint qos reservation chdir export signal mail_type options"
)
KEYS = NAMES.split()


def planned(command: Command, text: str, *arguments: str) -> dict[str, Any]:
    """The plan of a script, of one release unless the arguments name others."""
    command.write("job.sbatch", HEAD + text)
    version = () if "--slurm-version" in arguments else ("--slurm-version", "24.05")
    result = command("plan", "job.sbatch", "--output-format", "json", *version, *arguments)
    assert (result.code, result.err) == (0, "")
    found: dict[str, Any] = json.loads(result.out)
    return found


def component(command: Command, options: str) -> dict[str, Any]:
    (found,) = planned(command, f"#SBATCH {options}\nsrun ./a.out\n")["request"]["components"]
    assert isinstance(found, dict)
    return found


def shown(command: Command, text: str, *arguments: str) -> list[str]:
    """The lines of the text form, without those of the name."""
    command.write("job.sbatch", HEAD + text)
    result = command("plan", "job.sbatch", *arguments)
    assert (result.code, result.err) == (0, "")
    name, *lines = result.out.splitlines()
    assert name == "job.sbatch"
    return [line.removeprefix("  ") for line in lines]


def cells(line: str) -> list[str]:
    """The cells of a row."""
    return re.split(" {2,}", line)


def test_the_keys_of_a_plan(command: Command) -> None:
    found = planned(command, "#SBATCH --nodes=2\nsrun ./a.out\n")
    assert {"path", "slurm_version", "request"} <= set(found)
    assert (found["path"], found["slurm_version"]) == ("job.sbatch", "24.05")
    assert list(found["request"]) == ["accepted", "message", "components"]
    (only,) = found["request"]["components"]
    assert list(only) == KEYS
    given = {"nodes": {"min": 2, "max": 2}, "tasks": 2, "options": {"nodes": {"value": "2", "line": 2}}}
    assert {key: value for key, value in only.items() if value is not None} == given


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ("-N 2-4 -n 8", {"nodes": {"min": 2, "max": 4}, "tasks": 8}),
        ("-N4 -n1", {"nodes": {"min": 1, "max": 1}, "tasks": 1, "tasks_per_node": 1}),
        ("-N2 --ntasks-per-node=8 -c 4", {"tasks": 16, "tasks_per_node": 8, "cpus_per_task": 4}),
        ("-n 5", {"nodes": None, "tasks": 5, "tasks_per_node": None}),
        ("-n 5 -N {{ nodes }}", {"nodes": None, "tasks": 5}),
        ("-n {{ tasks }} -N 2", {"tasks": None}),
        ("-t 1-12:00:00", {"time_minutes": 2160}),
        ("-t 90", {"time_minutes": 90}),
        ("-t UNLIMITED", {"time_minutes": None}),
        ("-t 2h", {"time_minutes": None}),
        ("--mem=32G", {"memory_mb": {"per_node": 32768}}),
        ("--mem=0", {"memory_mb": {"per_node": 0}}),
        ("--mem-per-cpu=500", {"memory_mb": {"per_cpu": 500}}),
        ("--gpus=1 --mem-per-gpu=16G", {"memory_mb": {"per_gpu": 16384}, "gpus": {"total": 1}}),
        ("--mem=1G --mem-per-cpu=1G", {"memory_mb": None}),
        ("--gpus-per-node=a100:8", {"gpus": {"per_node": 8}, "gpu_type": "a100"}),
        ("--gres=gpu:4,nvme:1", {"gpus": {"per_node": 4}, "gpu_type": None}),
        ("-n4 --gpus-per-task=1", {"gpus": {"per_task": 1}}),
        ("--gpus-per-socket=2 --sockets-per-node=2", {"gpus": {"per_socket": 2}}),
        ("--gres=nvme:1", {"gpus": None}),
        ("-J train -p gpu -A proj", {"job_name": "train", "partition": "gpu", "account": "proj"}),
        ("-q high", {"qos": "high"}),
        ("-o %j.out -e %j.err -D /tmp", {"output": "%j.out", "error": "%j.err", "chdir": "/tmp"}),
        ("-J run-{{ name }}", {"job_name": None}),
        ("-a 1-10%2 -d singleton", {"array": "1-10%2", "dependency": "singleton"}),
        ("--exclusive", {"exclusive": "exclusive"}),
        ("--exclusive=user", {"exclusive": "user"}),
        ("-C 'a|b' --reservation=r", {"constraint": "a|b", "reservation": "r"}),
        ("--export=NONE --signal=B:USR1@60", {"export": "NONE", "signal": "B:USR1@60"}),
        ("--mail-type=fail,end", {"mail_type": "END,FAIL"}),
    ],
)
def test_what_a_component_asks_for(command: Command, options: str, expected: dict[str, Any]) -> None:
    found = component(command, options)
    assert {key: found[key] for key in expected} == expected


def test_the_options_of_a_component(command: Command) -> None:
    found = component(command, "-N 2 --nodes=3 --requeue -A {{ account }}\n#SBATCH -t 5")["options"]
    assert found == {
        "nodes": {"value": "3", "line": 2},
        "requeue": {"value": "", "line": 2},
        "account": {"value": None, "line": 2},
        "time": {"value": "5", "line": 3},
    }


def test_components_of_a_heterogeneous_job(command: Command) -> None:
    text = "#SBATCH -J both -n 4\n#SBATCH hetjob\n#SBATCH -N 2 --ntasks-per-node=8\nsrun ./a.out : ./b.out\n"
    found = planned(command, text)["request"]["components"]
    assert [each["tasks"] for each in found] == [4, 16]
    assert [each["job_name"] for each in found] == ["both", "both"]
    lines = shown(command, text)
    assert lines.index("component 0") < lines.index("component 1")


def test_directives_of_pbs_count(command: Command) -> None:
    (found,) = planned(command, "#PBS -l nodes=2:ppn=8\n#PBS -l walltime=1:00:00\n./a.out\n")["request"]["components"]
    assert (found["nodes"], found["tasks"], found["time_minutes"]) == ({"min": 2, "max": 2}, 16, 60)


@pytest.mark.parametrize(
    ("options", "accepted", "message"),
    [
        ("--nodes=2", True, None),
        ("--nodes={{ nodes }}", None, None),
        ("--nodes=2 -t 2h", False, "Invalid --time specification"),
        ("--workdir=/tmp", False, "unrecognized option '--workdir=/tmp'"),
        ("-t 2h -A {{ account }}", False, "Invalid --time specification"),
    ],
)
def test_the_verdict(command: Command, options: str, accepted: bool | None, message: str | None) -> None:
    request = planned(command, f"#SBATCH {options}\nsrun ./a.out\n")["request"]
    assert (request["accepted"], request["message"]) == (accepted, message)


def test_verdicts_that_differ(command: Command) -> None:
    text = "#SBATCH -N1 --exclusive=topo\nsrun ./a.out\n"
    request = planned(command, text, "--slurm-version", "23.02-24.11")["request"]
    assert (request["accepted"], request["message"]) == (None, "Invalid --exclusive specification")
    verdicts = {version: each["accepted"] for version, each in request["by_version"].items()}
    assert verdicts == {"23.02": False, "23.11": False, "24.05": True, "24.11": True}
    lines = shown(command, text, "--slurm-version", "23.02-24.11")
    assert lines[:2] == [
        "Slurm 23.02 to 23.11: refused: Invalid --exclusive specification",
        "Slurm 24.05 to 24.11: accepted",
    ]


def test_scripts_that_are_submitted(command: Command) -> None:
    text = "sbatch <<'EOF'\n#!/bin/bash\n#SBATCH --nodes=2\nsrun ./a.out\nEOF\n"
    found = planned(command, text)
    (inner,) = found["submits"]
    assert inner["path"] == "job.sbatch"
    (only,) = inner["request"]["components"]
    assert only["options"] == {"nodes": {"value": "2", "line": 4}}
    lines = shown(command, text)
    at = lines.index("submits")
    assert lines[at + 1] == "  Slurm 22.05 to 26.05: accepted"
    assert lines[at + 2].split() == ["nodes", "2", "line", "4"]
    assert "submits" not in planned(command, "#SBATCH -N1\nsrun ./a.out\n")


def test_text(command: Command) -> None:
    text = (
        "#SBATCH -J train -N 2\n#SBATCH --ntasks-per-node=4 --mem=1536M\n#SBATCH --gpus-per-node=h100:4 -t 30:00:00\n"
        "#SBATCH --requeue --mail-type=END -A {{ account }} --mem=0\nsrun ./a.out\n"
    )
    verdict, *lines = shown(command, text, "--slurm-version", "24.05")
    lines = lines[: lines.index("steps")]
    assert verdict == "Slurm 24.05: not known: it depends on what is not in the script"
    assert len({line.index("line") for line in lines}) == 1
    assert [cells(line) for line in lines] == [
        ["nodes", "2", "line 2"],
        ["tasks", "8", "lines 2, 3"],
        ["tasks per node", "4", "line 3"],
        ["GPUs", "4 h100 per node", "line 4"],
        ["memory", "all of each node", "line 5"],
        ["time limit", "1 d 6:00 h", "line 4"],
        ["mail at", "END", "line 5"],
        ["--job-name", "train", "line 2"],
        ["--requeue", "line 5"],
        ["--account", "not known", "line 5"],
    ]


@pytest.mark.parametrize(
    ("text", "row"),
    [
        ("#SBATCH -N4\n#SBATCH -n1\n", ["nodes", "1", "lines 2, 3"]),
        ("#SBATCH -N4\n#SBATCH -n1\n", ["tasks", "1", "line 3"]),
        ("#SBATCH -N1-4\n#SBATCH -n4\n", ["nodes", "1 to 4", "line 2"]),
        ("#SBATCH -N2\n", ["tasks", "2", "line 2"]),
        ("#SBATCH -N2\n#SBATCH --threads-per-core=2\n", ["tasks", "4", "lines 2, 3"]),
        ("#SBATCH -N2\n#SBATCH -n8\n#SBATCH --ntasks-per-node=4\n", ["tasks per node", "4", "line 4"]),
        ("#SBATCH --gpus=8\n#SBATCH --ntasks-per-gpu=2\n", ["tasks", "16", "lines 2, 3"]),
        ("#SBATCH -t 2:00\n", ["time limit", "0:02 h", "line 2"]),
        ("#SBATCH -t UNLIMITED\n", ["time limit", "UNLIMITED", "line 2"]),
        ("#SBATCH --mem-per-cpu=1G\n", ["memory", "1 GB per cpu", "line 2"]),
        ("#SBATCH --gres=nvme:1\n", ["--gres", "nvme:1", "line 2"]),
        ("#SBATCH -N 2,4\n", ["nodes", "2 to 4", "line 2"]),
    ],
)
def test_rows_say_where_they_come_from(command: Command, text: str, row: list[str]) -> None:
    assert row in [cells(line) for line in shown(command, f"{text}./a.out\n", "--slurm-version", "24.05")]


def test_text_of_what_is_refused_or_not_counted(command: Command) -> None:
    text = "#SBATCH -t 2h --mem=1G --mem-per-cpu=2G\n#SBATCH --gres=gpu:2,nvme:1\n./a.out\n"
    lines = shown(command, text, "--slurm-version", "24.05")
    assert lines[0] == "Slurm 24.05: refused: Invalid --time specification"
    rows = [cells(line) for line in lines[1:]]
    assert ["GPUs", "2 per node", "line 3"] in rows
    assert ["memory", "--mem=1G --mem-per-cpu=2G", "line 2"] in rows
    assert ["time limit", "2h", "line 2"] in rows
    assert ["--gres", "gpu:2,nvme:1", "line 3"] in rows


def test_text_of_a_script_without_requests(command: Command) -> None:
    assert shown(command, "./a.out\n") == [
        "Slurm 22.05 to 26.05: accepted",
        "requests nothing: the defaults of the site decide",
        "steps",
        "└─ line 2  batch shell  1 node × 1 task",
        "     program: ./a.out",
    ]


def test_text_fits_into_the_terminal(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    name = "/".join(["folder"] * 30)
    lines = shown(command, f"#SBATCH -N1 --output={name}/%j.out\n#SBATCH --ntasks-per-gpu=1\n#SBATCH -p x\nsrun a\n")
    assert max(len(line) + 2 for line in lines) <= 60
    assert name in "".join(line.replace("line 2", "").removeprefix("--output").strip() for line in lines)


def test_control_characters_are_escaped(command: Command) -> None:
    lines = shown(command, '#SBATCH -J "a\x1b[31mb"\n./a.out\n')
    assert not any("\x1b" in line for line in lines)
    assert any("\\x1b[31m" in line for line in lines)


def test_colour(command: Command) -> None:
    command.write("job.sbatch", f"{HEAD}#SBATCH -t 2h\n./a.out\n")
    assert "\x1b[1;31mrefused\x1b[0m" in command("plan", "--color", "always", "job.sbatch").out
    assert "\x1b" not in command("plan", "job.sbatch").out


def test_several_paths(command: Command) -> None:
    for name in ("one.sbatch", "two.sbatch"):
        command.write(name, f"{HEAD}#SBATCH -J {name}\n./a.out\n")
    found = json.loads(command("plan", "one.sbatch", "two.sbatch", "--output-format", "json").out)
    assert [each["path"] for each in found] == ["one.sbatch", "two.sbatch"]
    first, second = command("plan", "one.sbatch", "two.sbatch").out.split("\n\n")
    assert first.startswith("one.sbatch\n")
    assert second.startswith("two.sbatch\n")


def test_standard_input(command: Command) -> None:
    script = f"{HEAD}#SBATCH -N2\n./a.out\n".encode()
    assert command("plan", "-", stdin=script).out.startswith("<stdin>\n")
    named = command("plan", "-", "--stdin-filename", "jobs/a.sbatch", "--output-format", "json", stdin=script)
    assert json.loads(named.out)["path"] == "jobs/a.sbatch"


def test_the_version_comes_from_the_settings(command: Command) -> None:
    command.write("sbatchlint.toml", 'slurm-version = "23.11"\n')
    command.write("job.sbatch", f"{HEAD}#SBATCH -N1\n./a.out\n")
    assert "Slurm 23.11: accepted" in command("plan", "job.sbatch").out
    assert "Slurm 22.05 to 26.05: accepted" in command("plan", "--isolated", "job.sbatch").out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["missing.sbatch"], "error: there is no file missing.sbatch"),
        (["good.sbatch", "missing.sbatch"], "error: there is no file missing.sbatch"),
        (["."], "error: cannot read .: is a directory"),
        (["zeros.bin"], "error: cannot read zeros.bin: it is not a text file"),
        ([], "error: plan needs a PATH, or -- and a command"),
        (["-", "-"], "error: - (standard input) can be read once"),
        (["good.sbatch", "--slurm-version", "1.2"], "must be a Slurm version"),
        (["good.sbatch", "--output-format", "yaml"], "there is no 'yaml'; it can be text, json"),
        (["good.sbatch", "--as-job", "2"], "error: good.sbatch has #SBATCH lines"),
        (["good.sbatch", "--gpus-per-node", "2"], "error: --as-job says"),
        (["--", "torchrun", "a.py"], "error: --as-job says"),
        (["good.sbatch", "--node"], "error: unknown option '--node'"),
    ],
)
def test_errors_of_users(command: Command, arguments: list[str], message: str) -> None:
    command.write("good.sbatch", f"{HEAD}#SBATCH -N1\n")
    command.write("zeros.bin", "\0" * 4096)
    result = command("plan", *arguments)
    assert (result.code, result.out) == (2, "")
    assert message in result.err


@pytest.mark.parametrize("text", ["", "\n", "hello", "#!/bin/bash", "#SBATCH -N1", "#!/bin/bash\n#SBATCH\n", "if (("])
def test_rubbish_is_read(command: Command, text: str) -> None:
    command.write("job.sbatch", text)
    assert command("plan", "job.sbatch").code == 0
    found = json.loads(command("plan", "job.sbatch", "--output-format", "json").out)
    assert len(found["request"]["components"]) == 1
    assert (found["request"]["accepted"] is True) == text.startswith("#!/bin/bash")


def test_the_guide_explains_every_key_of_a_request(command: Command) -> None:
    guide = (ROOT / "docs" / "plan.md").read_text()
    (found,) = planned(command, "./a.out\n")["request"]["components"]
    assert not [key for key in found if f"`{key}`" not in guide]


def test_wrapping() -> None:
    assert wrapped("one two three", 8) == ["one two", "three"]
    assert wrapped("abcdefgh", 3) == ["abc", "def", "gh"]
    assert wrapped("", 3) == [""]
    assert wrapped("abc de", 3) == ["abc", "de"]


def test_a_command_and_a_launcher_script_as_a_job(command: Command) -> None:
    options = ["--as-job", "2", "--gpus-per-node", "4", "--cpus-per-node", "8", "--output-format", "json"]
    path = command.write("run.sh", "# starts it\nsrun bash -c 'torchrun --nnodes 2 --nproc-per-node=4 "
                         "--node-rank $SLURM_NODEID train.py'\n")  # fmt: skip
    plan = json.loads(command("plan", *options, "run.sh").out)
    (component,), (step,) = plan["request"]["components"], plan["steps"]
    assert plan["request"]["accepted"] and path.read_text().startswith("# starts it")
    assert (component["nodes"], component["cpus_per_task"]) == ({"min": 2, "max": 2}, 8)
    assert (step["line"], step["nodes"], step["processes"], step["gpus_on_node"]) == (2, 2, 8, 4)
    result = command("plan", "--as-job", "2", "--gpus-per-node", "4", "--", "torchrun", "--nnodes=2", "train.py")
    assert "on 1 of the job's 2 nodes" in result.out and "nodes           2" in result.out
