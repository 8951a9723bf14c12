"""What a run does when it is ended, when a process of it dies, and when its output goes nowhere."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from multiprocessing import get_all_start_methods
from pathlib import Path

import pytest

from conftest import part
from dialogues import of_agent, of_editor
from sbatchlint.cli.completions import verbs

ROOT = Path(__file__).parent.parent
SCRIPT = "#!/bin/bash\n#SBATCH --ntaks=2\nsrun ./a.out\n"
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT), "SBATCHLINT_NO_CACHE": "1"}
# Runs `sbatchlint` with a function of its own for each file, which ends where the name says so.
ODD = """\
import itertools, os, resource, sys
from sbatchlint.cli import command, process, workers
workers._LONGEST = float(os.environ.get("LONGEST", "inf"))
def odd(script, *others, usual=process.process, **named):
    name = os.path.basename(script[0])
    if name.startswith("killed"):
        os.kill(os.getpid(), 9)
    if name.startswith("exits"):
        os._exit(7)
    if name.startswith("slow"):
        while True:
            pass
    if name.startswith("stuck"):
        sum(itertools.repeat(1))  # no other thread has a turn, as where there is no memory for an exception
    if name.startswith("limited"):
        with open("/proc/self/statm") as sizes:
            most = int(sizes.read().split()[0]) * resource.getpagesize() + (int(name[8:].partition(".")[0]) << 20)
        resource.setrlimit(resource.RLIMIT_AS, (most, most))
    return usual(script, *others, **named)
process.process = odd
def lacking(script, *others, usual=process._process):
    if script[0].startswith("large"):
        raise MemoryError
    if script[0].startswith("lost"):
        raise SystemError("error return without exception set")
    return usual(script, *others)
process._process = lacking
sys.exit(command())
"""


def scripts(folder: Path, *names: str) -> None:
    for name in names:
        (folder / name).write_text(SCRIPT)


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_a_worker_that_dies_costs_its_file_alone(tmp_path: Path, jobs: str) -> None:
    good = [f"{number:02}.sbatch" for number in range(20)]
    scripts(tmp_path, *good, "exits.sbatch", "killed-1.sbatch", "killed-2.sbatch", "large.sbatch")
    scripts(tmp_path, "lost.sbatch", "stuck.sbatch")
    command = [sys.executable, "-c", ODD, "--jobs", jobs, "--isolated", "--output-format=concise", "."]
    done = subprocess.run(command, cwd=tmp_path, env=ENVIRONMENT, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert sorted(done.stderr.splitlines()) == [
        "error: cannot lint exits.sbatch: the process that read it ended with exit code 7",
        "error: cannot lint killed-1.sbatch: the process that read it was killed, perhaps for lack of memory",
        "error: cannot lint killed-2.sbatch: the process that read it was killed, perhaps for lack of memory",
        "error: cannot lint large.sbatch: there is not enough memory",
        "error: cannot lint lost.sbatch: there is not enough memory",
        "error: cannot lint stuck.sbatch: the process that read it hung, perhaps for lack of memory",
    ]
    assert {line.partition(":")[0] for line in done.stdout.splitlines() if "SB" in line} == set(good)


def test_a_script_without_an_end_costs_itself_alone(tmp_path: Path) -> None:
    scripts(tmp_path, "a.sbatch", "b.sbatch", "slow.sbatch")
    command = [sys.executable, "-c", ODD, "--jobs", "2", "--isolated", "--output-format=concise", "."]
    environment = {**ENVIRONMENT, "LONGEST": "0.5"}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr == "error: cannot lint slow.sbatch: the process that read it hung, perhaps for lack of memory\n"
    assert {line.partition(":")[0] for line in done.stdout.splitlines() if "SB" in line} == {"a.sbatch", "b.sbatch"}


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="a limit of addresses, by the size in /proc")
@pytest.mark.parametrize("verb", [["--output-format=concise"], ["audit"]], ids=["lint", "audit"])
def test_little_memory_costs_each_script_that_lacks_it(tmp_path: Path, verb: list[str]) -> None:
    """At some limits the interpreter raises MemoryError, at others SystemError, or it ends, or stays for ever."""
    good = [f"{number:02}.sbatch" for number in range(10)]
    scripts(tmp_path, *good)
    limited = [f"limited-{megabytes}.sbatch" for megabytes in (1, 3, 5, 8, 10, 12)]
    for name in limited:
        steps = (f'srun -N 2 ./a{i} "$(date +{i})" {"y" * 200}{i} $V{i} <<E\n{"text " * 30}\nE\n' for i in range(900))
        (tmp_path / name).write_text(SCRIPT + "".join(steps))
    command = [sys.executable, "-c", ODD, *verb, "--jobs", "2", "--isolated", "."]
    done = subprocess.run(command, cwd=tmp_path, env=ENVIRONMENT, capture_output=True, text=True, check=False)
    assert done.returncode == 2, done.stderr
    lost = sorted(re.findall(r"(?m)^error: cannot lint (\S+): the(?:re is| process that read it)", done.stderr))
    assert lost == sorted(limited)
    if verb == ["audit"]:
        assert done.stdout.startswith("10 scripts, ")
    else:
        assert {line.partition(":")[0] for line in done.stdout.splitlines() if "SB" in line} == set(good)


@pytest.mark.parametrize("method", get_all_start_methods())
def test_workers_may_be_started_in_any_way(tmp_path: Path, method: str) -> None:
    names = [f"{number}.sbatch" for number in range(4)]
    scripts(tmp_path, *names)
    started = "import multiprocessing, sys; from sbatchlint.cli import command\n"
    started += "multiprocessing.set_start_method(sys.argv.pop(1)); sys.exit(command())"
    command = [sys.executable, "-c", started, method, "--jobs", "2", "--isolated", "--output-format=concise", "."]
    done = subprocess.run(command, cwd=tmp_path, env=ENVIRONMENT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (1, "")
    assert {line.partition(":")[0] for line in done.stdout.splitlines() if "SB" in line} == set(names)


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_an_audit_names_the_files_that_cost_a_worker(tmp_path: Path, jobs: str) -> None:
    scripts(tmp_path, *[f"{number:02}.sbatch" for number in range(12)], "killed.sbatch", "large.sbatch")
    command = [sys.executable, "-c", ODD, "audit", "--jobs", jobs, "."]
    done = subprocess.run(command, cwd=tmp_path, env=ENVIRONMENT, capture_output=True, text=True, check=False)
    assert done.returncode == 2 and done.stdout.startswith("12 scripts, ") and "2 could not be read" in done.stdout
    assert sorted(done.stderr.splitlines()) == [
        "error: cannot lint killed.sbatch: the process that read it was killed, perhaps for lack of memory",
        "error: cannot lint large.sbatch: there is not enough memory",
    ]


ENDED_AT = [
    pytest.param(number, moment, id=f"{number.name}-{moment}")
    for index, number in enumerate((signal.SIGTERM, signal.SIGHUP, signal.SIGKILL))
    # at the last of these moments only the slow files are left
    for moment in (*part([0.0, 0.1, 0.2, 0.3, 0.4, 0.6], 3, index), 0.9)
]


@pytest.mark.slow
@pytest.mark.parametrize(("number", "moment"), ENDED_AT)
def test_nothing_outlives_a_run(tmp_path: Path, number: signal.Signals, moment: float) -> None:
    """Ended at any moment: whoever reads its output is at the end, and no process is left, not even of endless work."""
    scripts(tmp_path, *(f"{index}.sbatch" for index in range(40)), "slow-1.sbatch", "stuck-2.sbatch")
    process = subprocess.Popen(
        [sys.executable, "-c", ODD, "--jobs", "3", "--isolated", str(tmp_path)],
        env=ENVIRONMENT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True,
    )  # fmt: skip
    time.sleep(moment)
    process.send_signal(number)
    process.communicate(timeout=120)
    assert is_gone(process.pid)
    assert process.returncode == -number


# Takes its time at each step of writing, so that signals come between them.
SLOWLY = """\
import os, sys, time
from sbatchlint.cli import command
def slowly(write):
    def called(*arguments):
        time.sleep(0.005)
        return write(*arguments)
    return called
for name in ("fsync", "replace", "chmod", "fdopen"):
    setattr(os, name, slowly(getattr(os, name)))
sys.exit(command())
"""


# So many milliseconds after the first script is fixed: each of 20 moments with one signal, in one or in two processes.
MOMENTS = [
    pytest.param(number, 7 * moment, jobs, id=f"{number.name}-{moment}-{jobs}")
    for index, number in enumerate((signal.SIGTERM, signal.SIGHUP, signal.SIGINT))
    for row, moment in enumerate(part(range(20), 3, index))
    for jobs in part(["1", "2"], 2, row + index)
]


@pytest.mark.slow
@pytest.mark.parametrize(("number", "moment", "jobs"), MOMENTS)
def test_a_run_that_ends_leaves_scripts_whole(tmp_path: Path, number: signal.Signals, moment: int, jobs: str) -> None:
    """Each script is as before or fixed, also one with several names, and nothing else is left in the folder."""
    names = [f"{index:02}.sbatch" for index in range(20)]
    scripts(tmp_path, *names)
    os.link(tmp_path / names[0], tmp_path / "linked")
    command = [sys.executable, "-c", SLOWLY, "--fix", "--unsafe-fixes", "--isolated", "--jobs", jobs]
    process = subprocess.Popen(
        [*command, str(tmp_path)], env=ENVIRONMENT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        start_new_session=True,
    )  # fmt: skip
    begun = time.monotonic()
    while time.monotonic() < begun + 120 and (tmp_path / names[0]).read_text() == SCRIPT and process.poll() is None:
        time.sleep(0.001)
    time.sleep(moment / 1000)
    process.send_signal(number)
    process.communicate(timeout=120)
    assert is_gone(process.pid)
    assert {each.name for each in tmp_path.iterdir()} == {*names, "linked"}
    fixed = SCRIPT.replace("ntaks", "ntasks")
    assert {each.read_text() for each in tmp_path.iterdir()} <= {SCRIPT, fixed}


def is_gone(session: int) -> bool:
    """Waits until no process of a session lives; false where one does after two minutes."""
    begun = time.monotonic()
    while (left := is_left(session)) and time.monotonic() < begun + 120:
        time.sleep(0.05)
    return not left


def is_left(session: int) -> bool:
    """Whether a process of a session lives."""
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if fields[3] == str(session) and fields[0] != "Z":
            return True
    return False


# --- output that goes nowhere ------------------------------------------------------------------------

LOG = "srun: error: Unable to create step for job 1: More processors requested than permitted\n"
LINT = [
    ["--fix", "."],
    ["--fix-only", "--show-fixes", "."],
    ["--diff", "--unsafe-fixes", "."],
    ["--statistics", "."],
    ["--show-files", "."],
    ["--jobs", "2", "."],
    ["--add-ignore", "."],
    ["--write-baseline", "new.json", "."],
    ["-"],
    ["--fix", "-"],
    ["-v", "none.sbatch", "."],
]
OTHERS = [
    ["diagnose", "-"],
    ["diagnose", "log", "--script", "a.sbatch", "--fix"],
    ["convert", "--nodes", "2", "--diff", "one.sbatch"],
    ["submit", "--lint-only", "--wrap", "srun -n x ./a"],
    ["submit", "--lint-lua"],
    ["--slurm-version", "22.05", "--upgrade-to", "25.11", "."],
    ["explain", "launch"],
    ["--version"],
    ["-q", "--version"],
    ["--help"],
    ["--wrong"],
]
# What a verb is told besides its options; of others, the words that the verb takes, or nothing.
TOLD = {
    "lint": ["."],
    "plan": ["a.sbatch"],
    "diagnose": ["log", "--script", "a.sbatch"],
    "convert": ["--nodes", "2", "one.sbatch"],
    "explain": ["SB101"],
    "submit": ["--lint-only", "a.sbatch"],
    "audit": ["."],
}
# What is written to a verb; to the others, a script.
WRITTEN = {
    "server": of_editor(Path("/nowhere/a.sbatch"), SCRIPT),
    "mcp": of_agent("a.sbatch", LOG, SCRIPT),
}


def lines_of_verbs() -> Iterator[list[str]]:
    """Command lines with each verb: each form of output, each word that it takes, its help, and nothing."""
    for verb in verbs():
        told = TOLD.get(verb.name, [])
        words = verb.positional.words if verb.positional is not None else ()
        yield from ([verb.name, word] for word in words)
        if told or not words:
            yield [verb.name, *told]
        yield [verb.name, "--help"]
        for option in verb.options:
            if "--output-format" in option.names:
                yield from ([verb.name, "--output-format", form, *told] for form in option.words)


# What the shell does with the output, and whether standard output is then lost.
SINKS = {
    ">&-": True,
    "2>&-": False,
    ">&- 2>&-": True,
    "<&- >&- 2>&-": True,
    ">/dev/full": True,
    "2>/dev/full": False,
    ">/dev/full 2>&1": True,
    ">/proc/self/mem": True,  # a write takes nothing, and does not fail
    ">&$CLOSED": True,
    "2>&$CLOSED": False,
    ">&$CLOSED 2>&1": True,
}


def end_badly(folder: Path, arguments: list[str], sinks: Iterable[str]) -> list[str]:
    """Runs a verb as a shell does, and then with its output into each of some sinks; the sinks with which it ends
    badly, each with what is shown. A pipe whose reader is gone stands in $CLOSED."""
    scripts(folder, "a.sbatch")
    (folder / "log").write_text(LOG)
    (folder / "one.sbatch").write_text("#!/bin/bash\n#SBATCH --gpus-per-node=4\ntorchrun --nproc_per_node=4 t.py\n")
    reader, closed = os.pipe()
    os.close(reader)

    def run(redirection: str) -> subprocess.CompletedProcess[str]:
        shell = ["bash", "-c", f'"$@" {redirection}', "-", sys.executable, "-m", "sbatchlint"]
        done = subprocess.run(
            [*shell, *arguments], cwd=folder, env=ENVIRONMENT, pass_fds=[closed], capture_output=True, text=True,
            input=WRITTEN.get(arguments[0], SCRIPT.encode()).decode(), timeout=300, check=False,
        )  # fmt: skip
        scripts(folder, "a.sbatch")
        (folder / "new.json").unlink(missing_ok=True)
        return done

    def ends_well(sink: str, lost: subprocess.CompletedProcess[str]) -> bool:
        shown = lost.stdout + lost.stderr
        if "Traceback" in shown or "Exception ignored" in shown or "fault: " in lost.stderr:
            return False
        if "2>" in sink and "--lint-only" in arguments and usual.stderr:
            return lost.returncode == 2 and (SINKS[sink] or same_length(lost))  # all that it says is lost
        if "<&-" in sink and "-" in arguments or SINKS[sink] and usual.stdout:
            is_told = len(lost.stderr.splitlines()) <= len(usual.stderr.splitlines()) + 1
            expected = 141 if ">&$CLOSED" in sink and "2>&$" not in sink else 2
            return is_told and lost.returncode == expected and (SINKS[sink] or same_length(lost))
        return lost.returncode == usual.returncode and (SINKS[sink] or same_length(lost))

    def same_length(lost: subprocess.CompletedProcess[str]) -> bool:
        # an agent that leaves at once gets few of its answers
        return arguments[0] == "mcp" or lost.stdout.count("\n") == usual.stdout.count("\n")

    usual = run("")
    found = {sink: run(sink.replace("$CLOSED", str(closed))) for sink in sinks}
    os.close(closed)
    return [f"{sink}: {lost}" for sink, lost in found.items() if not ends_well(sink, lost)]


@pytest.mark.parametrize("arguments", [["--version"], pytest.param(["."], marks=pytest.mark.slow)], ids=" ".join)
def test_output_that_goes_nowhere(tmp_path: Path, arguments: list[str]) -> None:
    assert end_badly(tmp_path, arguments, SINKS) == []


def test_findings_of_a_submission_that_nobody_sees(tmp_path: Path) -> None:
    sinks = ["2>/dev/full", ">/dev/full 2>&1", "2>&$CLOSED", ">&- 2>&-"]
    assert end_badly(tmp_path, ["submit", "--lint-only", "a.sbatch"], sinks) == []


@pytest.mark.slow
@pytest.mark.parametrize(("first", "verb"), [(0, "server"), (1, "mcp")])
def test_answers_that_go_nowhere(tmp_path: Path, first: int, verb: str) -> None:
    """With every second sink, as both take long to start."""
    assert end_badly(tmp_path, [verb], part([*SINKS], 2, first)) == []


@pytest.mark.slow
@pytest.mark.parametrize(
    ("first", "arguments"),
    [pytest.param(row, line, id=" ".join(line)) for row, line in enumerate([*LINT, *OTHERS, *lines_of_verbs()])],
)
def test_output_of_every_verb_that_goes_nowhere(tmp_path: Path, first: int, arguments: list[str]) -> None:
    """Each command line with two or three sinks, each sink with every fifth command line."""
    assert end_badly(tmp_path, arguments, part([*SINKS], 5, first)) == []


def test_a_pipe_that_is_full_for_now_is_waited_for(tmp_path: Path) -> None:
    """One that does not block, as other programs leave it behind."""
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    process = subprocess.Popen([sys.executable, "-m", "sbatchlint", "schema"], env=ENVIRONMENT, stdout=writer)
    os.close(writer)
    time.sleep(1.0)
    with open(reader, "rb") as stream:
        assert stream.read().rstrip().endswith(b"}")
    assert process.wait(timeout=30) == 0


@pytest.mark.parametrize(
    "arguments",
    [
        ["--baseline", "fifo", "."],
        ["--baseline", "/dev/zero", "."],
        ["--config", "fifo", "."],
        ["--config", "extends.toml", "."],
        ["fifo"],
        ["plan", "fifo"],
        ["convert", "--nodes", "2", "fifo"],
        ["diagnose", "fifo"],
        ["merge", "fifo"],
        ["audit", "--state", "fifo", "."],
        ["audit", "--state", "/dev/full", "."],
        ["diagnose", "log", "--script", "fifo"],
        ["diagnose", "--sacct", "fifo"],
        ["--output-file", "fifo", "a.sbatch"],
    ],
    ids=" ".join,
)
def test_what_is_no_file_is_refused(tmp_path: Path, arguments: list[str]) -> None:
    scripts(tmp_path, "a.sbatch")
    (tmp_path / "log").write_text(LOG)
    (tmp_path / "extends.toml").write_text('extend = "fifo"\n')
    os.mkfifo(tmp_path / "fifo")
    done = subprocess.run(
        [sys.executable, "-m", "sbatchlint", *arguments],
        cwd=tmp_path, env=ENVIRONMENT, capture_output=True, text=True, timeout=30, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (2, "")
    (line,) = done.stderr.splitlines()
    assert line.startswith("error: ") and ("not a regular file" in line or "there is no file fifo" in line)


# Standard input that nothing can be read from, or that never ends.
UNREADABLE = {"device": ("/dev/full", os.O_RDWR), "written": ("sink", os.O_WRONLY | os.O_CREAT)}


@pytest.mark.parametrize("kind", UNREADABLE)
@pytest.mark.parametrize("verb", ["-", "plan -", "server", "mcp", "site --from -", "diagnose -"])
def test_input_that_cannot_be_read_is_told(tmp_path: Path, verb: str, kind: str) -> None:
    name, flags = UNREADABLE[kind]
    handle = os.open(tmp_path / name, flags)
    try:
        done = subprocess.run(
            [sys.executable, "-m", "sbatchlint", *verb.split()], cwd=tmp_path, env=ENVIRONMENT, stdin=handle,
            capture_output=True, text=True, timeout=60, check=False,
        )  # fmt: skip
    finally:
        os.close(handle)
    assert (done.returncode, done.stdout) == (2, "")
    (line,) = done.stderr.splitlines()
    assert line.startswith("error: cannot read ")


@pytest.mark.parametrize("path", ["/proc/self/fd/0", "/dev/fd/0", "/dev/stdin"])
@pytest.mark.skipif(sys.platform != "linux", reason="other systems have no /proc")
def test_no_script_is_looked_for_among_what_is_open(tmp_path: Path, path: str) -> None:
    other, writer = os.pipe()  # what another argument may be, as in `diagnose <(zcat a.gz) <(zcat b.gz)`
    os.write(writer, b"log\n")
    done = subprocess.run(
        [sys.executable, "-m", "sbatchlint", "diagnose", path], cwd=tmp_path, env=ENVIRONMENT, input=LOG,
        capture_output=True, text=True, timeout=60, check=False, pass_fds=[other],
    )  # fmt: skip
    assert done.returncode == 1 and "too-many-processors" in done.stdout, done
    assert os.read(other, 10) == b"log\n"
    os.close(other)
    os.close(writer)


def test_a_step_summary_that_nobody_reads_holds_nothing_up(tmp_path: Path) -> None:
    scripts(tmp_path, "a.sbatch")
    os.mkfifo(tmp_path / "fifo")
    done = subprocess.run(
        [sys.executable, "-m", "sbatchlint", "a.sbatch"], cwd=tmp_path, timeout=30, check=False, capture_output=True,
        env={**ENVIRONMENT, "GITHUB_ACTIONS": "true", "GITHUB_STEP_SUMMARY": "fifo"}, text=True,
    )  # fmt: skip
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1] == "note: cannot write the step summary: it is not a regular file"


def test_a_state_that_cannot_be_written_ends_an_audit(tmp_path: Path) -> None:
    scripts(tmp_path, "a.sbatch")
    limited = ["bash", "-c", 'ulimit -f 0; "$@" 2>&1 | cat; exit ${PIPESTATUS[0]}', "-"]
    done = subprocess.run(
        [*limited, sys.executable, "-m", "sbatchlint", "audit", "--state", "state", "."],
        cwd=tmp_path, env=ENVIRONMENT, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout.splitlines()) == (2, ["error: cannot write state: file too large"])


@pytest.mark.parametrize("has_git", [True, False])
def test_a_folder_of_any_depth_is_walked(tmp_path: Path, has_git: bool) -> None:
    deep = "a/" * 1200
    if has_git:
        subprocess.run(["git", "init", "--quiet", str(tmp_path)], check=True)
    here = os.getcwd()
    try:
        os.chdir(tmp_path)
        for _ in range(1200):
            os.mkdir("a")
            os.chdir("a")
    finally:
        os.chdir(here)
    try:
        (tmp_path / deep / "job.sbatch").write_text("#!/bin/bash\n#SBATCH --nodes=two\nsrun ./a\n")
        missing = f"/{deep}b.sbatch"
        for expected, arguments in ((1, ["."]), (0, ["audit", "."]), (1, [f"{deep}job.sbatch"]), (2, [missing])):
            done = subprocess.run(
                [sys.executable, "-m", "sbatchlint", *arguments], cwd=tmp_path, env=ENVIRONMENT, timeout=120,
                capture_output=True, text=True, check=False,
            )  # fmt: skip
            assert done.returncode == expected, done.stderr[-300:]
    finally:  # what `shutil.rmtree`, and so pytest, cannot remove
        subprocess.run(["rm", "-rf", str(tmp_path / "a")], check=True)
