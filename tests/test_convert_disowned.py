"""`convert` of what a script gives up by `disown`, in real bash: no `wait` would wait for it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from conftest import Command
from stubbed import run


@pytest.fixture
def command(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Command:
    """The command line over the real checks: they repair what is not waited for."""
    monkeypatch.chdir(tmp_path)
    return Command(tmp_path, capsys, monkeypatch)


HEADER = "#!/bin/bash\n#SBATCH --gres=gpu:2 -c 4 --time=5\n"
TRAIN = "torchrun --nproc_per_node=2 train.py > log 2>&1"
KEPT = {
    "at-its-end": f"nohup {TRAIN} & disown\nwait\n",
    "without-wait": f"{TRAIN} & disown\n",
    "own-line": f"{TRAIN} &\ndisown\n",
    "own-line-before-others": f"{TRAIN} &\ndisown  # let it run\necho started\nwait\n",
    "named": f"{TRAIN} &\ndisown $!\nwait\n",
    "of-percent": f"{TRAIN} &\ndisown %%\nwait\n",
    "all": f"{TRAIN} &\ndisown -a\nwait\n",
    "only-command": f"{TRAIN} &\nif true; then\n    disown\nfi\nwait\n",
    "or-nothing": f"{TRAIN} &\ndisown 2>/dev/null || true\nwait\n",
    "followed": f"{TRAIN} & disown; echo started\nwait\n",
    "after-a-monitor": f"sleep 0.1 &\ndisown\n{TRAIN} & disown\nwait\n",
}


@pytest.mark.parametrize("name", KEPT)
def test_disown_is_left_out(command: Command, tmp_path: Path, name: str) -> None:
    command.write("job.sh", HEADER + KEPT[name])
    result = command("convert", "--nodes", "2", "--output-format", "json", "job.sh")
    made = json.loads(result.out)
    script = made["script"]
    assert result.code == 0, script
    assert script.count("disown") == (name == "after-a-monitor") and "\nwait" in script
    assert "disown is left out: no wait waits for what it gives up, and the job would end" in made["decisions"]
    if name != "after-a-monitor":  # which may have ended before its disown
        assert len(run(script, tmp_path, made["after"])) == 2


def test_disown_of_others_stays(command: Command) -> None:
    script = f"{HEADER}sleep 0.1 & disown\n{TRAIN}\n"
    command.write("job.sh", script)
    result = command("convert", "--nodes", "2", "job.sh")
    assert result.code == 0 and "sleep 0.1 & disown\n" in result.out and "disown is" not in result.err
    command.write("job.sh", f"{HEADER}{TRAIN} &\ndisown -h\nwait\n")
    result = command("convert", "--nodes", "2", "job.sh")
    assert result.code == 0 and "disown -h" in result.out


def test_disown_of_all_beside_a_monitor_is_left_to_the_user(command: Command) -> None:
    command.write("job.sh", f"{HEADER}sleep 100 &\n{TRAIN} &\ndisown -a\nwait\n")
    result = command("convert", "--nodes", "2", "job.sh")
    assert result.code == 1 and "disown lets no wait wait for what is started: leave it out" in result.err
