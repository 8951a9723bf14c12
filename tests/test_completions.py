"""What `completions` prints, in the shells themselves."""

from __future__ import annotations

import os
import pty
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from sbatchlint.cli import main
from sbatchlint.cli.arguments import VERBS, lint_parser
from sbatchlint.cli.completions import SHELLS
from sbatchlint.registry import registry
from sbatchlint.report import FORMATS

LAUNCH = {entry.name for entry in registry().entries if entry.name.startswith("launch")}
SECURITY = {entry.code for entry in registry().entries if entry.code.startswith("SB9")}
# What is typed, and all that may follow its last word; of a value with commas or behind `=`, only the last part.
CASES = [
    ("sbatchlint expl", {"explain"}),
    ("sbatchlint --sel", {"--select"}),
    ("sbatchlint job.sbatch --sel", {"--select"}),
    ("sbatchlint --output-format sar", {"sarif"}),
    ("sbatchlint --output-format=sar", {"sarif"}),
    ("sbatchlint --output-format ", set(FORMATS)),
    ("sbatchlint --select early-t", {"early-task-variable"}),
    ("sbatchlint --select SB101,early-t", {"early-task-variable"}),
    ("sbatchlint --ignore=SB101,early-t", {"early-task-variable"}),
    ("sbatchlint --extend-select SB1 --ignore launch", {"launch", *LAUNCH}),
    ("sbatchlint --min-severity info --select SB9", {"SB9", *SECURITY}),
    ("sbatchlint explain early-t", {"early-task-variable"}),
    ("sbatchlint explain --output-format m", {"markdown"}),
    ("sbatchlint plan --output-format h", {"html"}),
    ("sbatchlint plan jo", {"job.sbatch"}),
    ("sbatchlint submit jo", {"job.sbatch"}),
    ("sbatchlint submit --lint-refuse n", {"never"}),
    ("sbatchlint jo", {"job.sbatch"}),
    ("sbatchlint -q jo", {"job.sbatch"}),
    ("sbatchlint my", {"my own.sbatch"}),
    ("sbatchlint --baseline jo", {"job.sbatch"}),
    ("sbatchlint --slurm-version 23.", {"23.02", "23.11"}),
    ("sbatchlint config --iso", {"--isolated"}),
    ("sbatchlint completions f", {"fish"}),
    ("sbatchlint completions jo", set()),
    ("sbatchlint schema jo", set()),
    ("sbatchlint plan --sel", set()),
    ("sbatchlint --jobs jo", set()),
]


@pytest.fixture(params=SHELLS)
def shell(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A shell that is here, in a folder with two scripts."""
    name = str(request.param)
    if shutil.which(name) is None:
        pytest.skip(f"{name} is not installed")
    monkeypatch.chdir(tmp_path)
    for script in ("job.sbatch", "my own.sbatch"):
        Path(script).write_text("#!/bin/bash\n#SBATCH -N1\n")
    for variable in ("HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "ZDOTDIR"):
        monkeypatch.setenv(variable, str(tmp_path / "home"))
    (tmp_path / "home").mkdir()
    return name


@pytest.fixture
def script(shell: str, capsys: pytest.CaptureFixture[str]) -> str:
    assert main(["completions", shell]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    Path("home/completions").write_text(out)
    return out


def offered(shell: str, lines: list[str]) -> list[set[str]]:
    found = {"bash": by_bash, "zsh": by_zsh, "fish": by_fish}[shell](lines)
    return [{word.rpartition("=")[2].rpartition(",")[2].replace("\\", "") for word in each} for each in found]


def by_bash(lines: list[str]) -> list[set[str]]:
    """Calls the function as readline does, which takes "=" for a word of its own."""
    found = []
    for line in lines:
        words = line.replace("=", " = ").split(" ")
        program = (
            '. home/completions; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _sbatchlint sbatchlint\n'
            "printf '%s\\n' \"${COMPREPLY[@]}\""
        )
        done = subprocess.run(["bash", "-uc", program, "-", *words], capture_output=True, text=True, check=False)
        assert done.stderr == "", line
        found.append(set(done.stdout.splitlines()) - {""})
    return found


def by_fish(lines: list[str]) -> list[set[str]]:
    found = []
    for line in lines:
        program = 'source home/completions; complete -C "$argv[1]"'
        done = subprocess.run(["fish", "--no-config", "-c", program, line], capture_output=True, text=True, check=False)
        assert done.stderr == "", line
        found.append({each.partition("\t")[0] for each in done.stdout.splitlines()})
    return found


ZSH = r"""
PROMPT= ; unsetopt beep
autoload -Uz compinit; compinit -u -D
source home/completions
compadd() { # writes down what the real one would add
    if [[ ${@[1,(i)(-|--)]} == *-(O|A|D)\ * ]]; then
        builtin compadd "$@"
        return
    fi
    local -a hits
    builtin compadd -A hits "$@"
    print -rl -- $hits >>home/hits
    ((${#hits}))
}
complete_and_tell() { zle complete-word; print -r -- >home/done }
zle -N complete_and_tell
bindkey '^X' complete_and_tell
bindkey '^U' kill-whole-line
print >home/done
"""


def by_zsh(lines: list[str]) -> list[set[str]]:
    """Types into a shell on a terminal of its own."""
    Path("home/setup").write_text(ZSH)
    master, slave = pty.openpty()
    environment = {**os.environ, "TERM": "dumb"}
    process = subprocess.Popen(
        ["zsh", "-f", "-i"], stdin=slave, stdout=slave, stderr=slave, env=environment, start_new_session=True
    )
    os.close(slave)
    said: list[bytes] = []
    reader = threading.Thread(target=lambda: said.extend(_read(master)), daemon=True)
    reader.start()

    def typed(keys: str) -> None:
        os.write(master, keys.encode())
        for _ in range(600):
            if os.path.exists("home/done"):
                os.remove("home/done")
                return
            time.sleep(0.05)
        raise AssertionError(b"".join(said).decode(errors="replace"))

    found = []
    try:
        typed("source home/setup\n")
        for line in lines:
            Path("home/hits").write_text("")
            typed(f"\x15{line}\x18")
            found.append(set(Path("home/hits").read_text().splitlines()) - {""})
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        os.close(master)
    return found


def _read(master: int) -> Iterator[bytes]:
    while True:
        try:
            yield os.read(master, 1 << 16)
        except OSError:
            return


def test_each_shell_offers_what_fits(shell: str, script: str) -> None:
    found = offered(shell, [line for line, _ in CASES])
    wrong = []
    for (line, expected), words in zip(CASES, found, strict=True):
        if words != expected:
            wrong.append((line, expected, words))
    assert not wrong


def test_verbs_and_options_are_complete(shell: str, script: str) -> None:
    first, options = offered(shell, ["sbatchlint ", "sbatchlint --"])
    assert {*VERBS, "job.sbatch", "my own.sbatch"} <= first
    known = {name for action in lint_parser()._actions for name in action.option_strings if name.startswith("--")}
    assert options == known


def test_the_script_is_valid_by_itself(shell: str, script: str) -> None:
    arguments = ["--no-execute"] if shell == "fish" else ["-n"]
    done = subprocess.run([shell, *arguments, "home/completions"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert max(map(len, script.splitlines())) < 12_000
