"""`sbatchlint submit` before a stub of sbatch: what it hands on, what it keeps back, and what it leaves behind."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import pytest

from conftest import ROOT

GOOD = "#!/bin/bash\n#SBATCH --nodes=2 --ntasks=4\nsrun ./a.out\n"
BAD = "#!/bin/bash\n#SBATCH --nodes=2 --ntaks=4\nsrun ./a.out\n"
TWO_NODES = """\
#!/bin/bash
#SBATCH --nodes=2 --ntasks-per-node=1 --gpus-per-node=8
head=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)
srun torchrun --nnodes=2 --nproc_per_node=8 --rdzv_id=1 --rdzv_backend=c10d --rdzv_endpoint=$head:29500 train.py
"""
STUB = """\
#!{python}
import json, os, sys
with open({record!r}, "w") as file:
    data = "" if sys.stdin.isatty() else sys.stdin.read()
    json.dump({{"words": sys.argv[1:], "stdin": data, "pid": os.getpid()}}, file)
print("4711")
print("from sbatch", file=sys.stderr)
sys.exit(int(os.environ.get("STUB_EXIT", "0")))
"""


class Stub:
    """A folder to submit in, with a stub of sbatch in PATH."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.record = folder / "record.json"
        (folder / "bin").mkdir()
        program = folder / "bin" / "sbatch"
        program.write_text(STUB.format(python=sys.executable, record=str(self.record)))
        program.chmod(0o755)
        (folder / "good.sh").write_text(GOOD)
        (folder / "bad.sh").write_text(BAD)
        (folder / "two.sh").write_text(TWO_NODES)
        own = {"PATH": f"{folder / 'bin'}:/usr/bin:/bin", "PYTHONPATH": str(ROOT), "SBATCHLINT_NO_CACHE": "1"}
        clean = {k: v for k, v in os.environ.items() if not k.startswith(("SBATCH", "SLURM"))}
        self.environment = {**clean, **own}

    def submit(self, *words: str, text: str = "", **more: str) -> subprocess.CompletedProcess[str]:
        self.record.unlink(missing_ok=True)
        return subprocess.run(
            [sys.executable, "-m", "sbatchlint", "submit", *words], cwd=self.folder, input=text, text=True,
            env={**self.environment, **more}, capture_output=True, timeout=60, check=False,
        )  # fmt: skip

    @property
    def called(self) -> dict[str, object] | None:
        """What sbatch was called with; None if it was not."""
        return json.loads(self.record.read_text()) if self.record.exists() else None

    def words(self) -> object:
        called = self.called
        assert called is not None
        return called["words"]


@pytest.fixture
def stub(tmp_path: Path) -> Stub:
    return Stub(tmp_path)


def test_a_clean_script_is_submitted_and_nothing_is_added(stub: Stub) -> None:
    done = stub.submit("--parsable", "-N", "2", "good.sh", "--force", "-x", "a b", "")
    assert (done.returncode, done.stdout, done.stderr) == (0, "4711\n", "from sbatch\n")
    assert stub.words() == ["--parsable", "-N", "2", "good.sh", "--force", "-x", "a b", ""]


def test_an_error_keeps_a_script_back(stub: Stub) -> None:
    done = stub.submit("--parsable", "bad.sh")
    assert (done.returncode, done.stdout, stub.called) == (1, "", None)
    assert "error[SB111]" in done.stderr
    assert "sbatchlint: not submitted for 1 finding" in done.stderr


@pytest.mark.parametrize(("words", "more"), [(("--force",), {}), ((), {"SBATCHLINT_FORCE": "1"})])
def test_a_forced_one_is_submitted_with_its_findings(stub: Stub, words: tuple[str, ...], more: dict[str, str]) -> None:
    done = stub.submit(*words, "bad.sh", **more)
    assert (done.returncode, done.stdout, stub.words()) == (0, "4711\n", ["bad.sh"])
    assert "error[SB111]" in done.stderr


def test_the_exit_code_is_that_of_sbatch(stub: Stub) -> None:
    assert stub.submit("good.sh", STUB_EXIT="7").returncode == 7


@pytest.mark.parametrize(
    ("words", "refused"),
    [
        (["two.sh"], False),
        (["--nodes=4", "two.sh"], True),  # as --sbatch-options does
        (["-vN", "4", "two.sh"], True),
        (["--comment", "-N 4 # \"x'", "two.sh", "--nodes=4"], False),
        (["--wrap", "srun -n x ./a.out"], True),
        (["--wrap=srun ./a.out"], False),
        (["-N2", "--wrap", "srun ./a.out"], False),
        (["--lint-refuse=never", "bad.sh"], False),
        (["--lint-isolated", "--lint-slurm-version", "23.11", "bad.sh"], True),
        (["--help"], False),
        (["--version"], False),
        (["--no-such-option=3", "good.sh"], False),  # it is sbatch that knows the options of the site
        (["missing.sh"], False),
        ([str(Path("/etc"))], False),
    ],
)
def test_what_sbatch_would_submit_is_linted(stub: Stub, words: list[str], refused: bool) -> None:
    own = words[0] == "--help"
    done = stub.submit(*words)
    assert (stub.called is None) == (refused or own), done.stderr
    assert done.returncode == (1 if refused else 0)


def test_standard_input_reaches_both(stub: Stub) -> None:
    assert stub.submit("-N2", text=BAD).returncode == 1
    assert stub.called is None
    assert stub.submit("-N2", text=GOOD).returncode == 0
    called = stub.called
    assert called is not None
    assert (called["stdin"], called["words"]) == (GOOD, ["-N2"])


def test_the_variables_of_sbatch_count(stub: Stub) -> None:
    assert stub.submit("two.sh", SBATCH_GPUS_PER_NODE="4").returncode == 1
    assert stub.submit("--gpus-per-node=8", "two.sh", SBATCH_GPUS_PER_NODE="4").returncode == 0


def test_a_script_of_path_is_linted(stub: Stub) -> None:
    (stub.folder / "good.sh").rename(stub.folder / "bin" / "good.sh")
    (stub.folder / "bad.sh").rename(stub.folder / "bin" / "bad.sh")
    assert stub.submit("bad.sh").returncode == 1
    assert stub.submit("good.sh").returncode == 0


def test_without_sbatch_nothing_is_done(stub: Stub) -> None:
    (stub.folder / "bin" / "sbatch").unlink()
    done = stub.submit("good.sh", PATH=str(stub.folder / "bin"))
    assert (done.returncode, done.stderr) == (2, "error: cannot submit: there is no sbatch in PATH\n")


def test_a_misspelt_word_of_its_own_is_told(stub: Stub) -> None:
    done = stub.submit("--lint-briefly", "good.sh")
    assert done.returncode == 2
    assert "unknown option '--lint-briefly' (did you mean '--lint-brief'?)" in done.stderr
    assert stub.submit("--lint-time=-1", "good.sh").returncode == 2


@pytest.mark.parametrize("broken", ["select = 3\n", "[", 'select = ["SB9999"]\n'])
def test_a_broken_configuration_blocks_nothing(stub: Stub, broken: str) -> None:
    (stub.folder / "sbatchlint.toml").write_text(broken)
    done = stub.submit("bad.sh")
    assert (done.returncode, done.stdout) == (0, "4711\n")
    assert "sbatchlint: not linted: " in done.stderr


@pytest.mark.parametrize("data", [b"", b"\0\1\2", b"\x7fELF\0", b"#!/bin/bash\n\xff\xfe\n"])
def test_what_is_no_script_is_left_to_sbatch(stub: Stub, data: bytes) -> None:
    (stub.folder / "odd").write_bytes(data)
    assert stub.submit("odd").returncode == 0
    assert stub.words() == ["odd"]


def test_what_takes_too_long_is_submitted(stub: Stub) -> None:
    lines = "".join(
        f"if [ $a{number} ]; then x{number}=$((x{number} + 1)); srun ./a $x{number}; fi\n" for number in range(60_000)
    )
    (stub.folder / "long.sh").write_text(GOOD + lines)
    begun = time.monotonic()
    done = stub.submit("--lint-time=0.2", "long.sh")
    assert done.returncode == 0
    assert "sbatchlint: not linted within 0.2 seconds\n" in done.stderr
    assert time.monotonic() < begun + 30
    assert stub.words() == ["long.sh"]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_who_ends_it_submits_nothing(stub: Stub, number: signal.Signals) -> None:
    """Ended while it lints: nothing is submitted, and no process is left."""
    lines = "".join(f"if [ $a{each} ]; then srun ./a $x{each}; fi\n" for each in range(60_000))
    (stub.folder / "long.sh").write_text(GOOD + lines)
    process = subprocess.Popen(
        [sys.executable, "-m", "sbatchlint", "submit", "--lint-time=60", "long.sh"], cwd=stub.folder,
        env=stub.environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        start_new_session=True,
        preexec_fn=partial(signal.signal, number, signal.SIG_DFL),  # tests in the background, or under nohup, ignore it
    )  # fmt: skip
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
    deadline = time.monotonic() + 30
    while not children.read_text() and time.monotonic() < deadline:
        time.sleep(0.02)
    child = children.read_text().strip()
    assert child
    process.send_signal(number)
    process.communicate(timeout=60)
    assert process.returncode in (-number, 130)
    assert stub.called is None
    assert not Path("/proc", child).exists()


def test_an_interrupt_as_the_linting_ends_submits_nothing(stub: Stub) -> None:
    """The process that lints is gone already when the interrupt is handled."""
    late = "import os\nwait = os.waitpid\ndef late(*a):\n    wait(*a)\n    raise KeyboardInterrupt\nos.waitpid = late\n"
    (stub.folder / "sitecustomize.py").write_text(late)
    done = stub.submit("good.sh", PYTHONPATH=f"{stub.folder}:{ROOT}")
    assert (done.returncode, done.stdout, stub.called) == (130, "", None)
    assert "fault" not in done.stderr


def test_it_becomes_sbatch(stub: Stub) -> None:
    """The process is the same, and a signal of the shell that waits reaches sbatch."""
    process = subprocess.Popen(
        [sys.executable, "-m", "sbatchlint", "submit", "good.sh"], cwd=stub.folder, env=stub.environment,
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    assert process.wait(timeout=60) == 0
    called = stub.called
    assert called is not None
    assert called["pid"] == process.pid


def test_the_filter_is_printed(stub: Stub) -> None:
    done = stub.submit("--lint-lua")
    assert done.returncode == 0
    assert done.stdout.startswith("-- cli_filter.lua")
    assert 'name == "sbatchlint/sbatch"' in done.stdout
    compiler = shutil.which("luac")
    if compiler:
        subprocess.run([compiler, "-p", "-"], input=done.stdout, text=True, check=True)


def test_lint_only_says_that_it_found_nothing(stub: Stub) -> None:
    done = stub.submit("--lint-only", "good.sh")
    assert (done.returncode, done.stdout) == (0, "") and "no findings in 1 script" in done.stderr
    assert "no findings" not in stub.submit("good.sh").stderr
