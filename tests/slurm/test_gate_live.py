"""`sbatchlint submit`, and the filter for all users of a cluster, as these use them on a live one.

The user is not root where there is another one that may run this Python.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from conftest import ROOT

from .local_slurm import CONTROLLER, PATH, LocalSlurm

GOOD = "#!/bin/bash\n#SBATCH --hold --nodes=2 --ntasks=4\nsrun hostname\n"
BAD = "#!/bin/bash\n#SBATCH --hold --nodes=2 --ntasks=4\n\nsrun --ntaks=9 hostname\n"
WARNED = "#!/bin/bash\n#SBATCH --hold --mail-user=ada@example.org\nsrun hostname\n"
LIMIT = 3  # seconds, where the filter is to come to its limit; elsewhere it has PATIENCE
PATIENCE = 100
SLACK = 100  # of a busy machine, and of sbatch itself
SOMEBODY = 1  # Debian: daemon
PACKAGES = Path(msgspec.__file__).parents[1]


class User:
    """A user of the cluster, in a folder with scripts."""

    def __init__(self, slurm: LocalSlurm, folder: Path) -> None:
        self.slurm = slurm
        self.folder = folder
        self.prefix: list[str] = []
        for name, text in (("good.sh", GOOD), ("bad.sh", BAD), ("warned.sh", WARNED)):
            (folder / name).write_text(text)
        programs = folder / "programs"
        programs.mkdir()
        self.program = programs / "sbatchlint"
        self.program.write_text(f'#!/bin/sh\nPYTHONPATH={ROOT}:{PACKAGES} exec {sys.executable} -m sbatchlint "$@"\n')
        self.program.chmod(0o755)
        # Without the folders of this Python, which may have a sbatchlint of its own.
        path = f"{programs}:{Path(slurm.programs['sbatch']).parent}:{PATH}"
        own = {"PATH": path, "HOME": str(folder), "SBATCHLINT_NO_CACHE": "1", "PYTHONDONTWRITEBYTECODE": "1"}
        self.environment = {**slurm._environment(), **own}
        self._become_somebody()

    def _become_somebody(self) -> None:
        """From now on the user is not root, if there is another one that may run this Python."""
        setpriv = shutil.which("setpriv", path=PATH)
        if os.geteuid() or setpriv is None:
            return
        self.prefix = [setpriv, f"--reuid={SOMEBODY}", f"--regid={SOMEBODY}", "--clear-groups"]
        os.chown(self.folder, SOMEBODY, SOMEBODY)
        try:
            able = self.run("sbatchlint", "--version").returncode == 0
        except OSError:
            able = False
        if not able:
            self.prefix = []
            os.chown(self.folder, 0, 0)

    def add_filter(self) -> None:
        """The same cluster, as those see it whose slurm.conf names the filter."""
        given = Path(self.environment["SLURM_CONF"])
        folder = self.folder / "etc"
        folder.mkdir()
        for each in given.parent.iterdir():
            (folder / each.name).write_text(each.read_text())
        with (folder / "slurm.conf").open("a") as file:
            file.write("CliFilterPlugins=cli_filter/lua\n")
        (folder / "cli_filter.lua").write_text(self.run("sbatchlint", "submit", "--lint-lua").stdout)
        self.environment["SLURM_CONF"] = str(folder / "slurm.conf")
        self.limit_filter(PATIENCE)

    def limit_filter(self, seconds: int) -> None:
        path = self.folder / "etc" / "cli_filter.lua"
        text, found = re.subn(r"(?m)^local SECONDS = \d+", f"local SECONDS = {seconds}", path.read_text())
        assert found == 1
        path.write_text(text)

    def run(self, *words: str, text: str | None = None, **more: str) -> subprocess.CompletedProcess[str]:
        argv = [*self.prefix, *words]
        if self.slurm.networks is not None:
            argv = self.slurm.networks.enter(CONTROLLER, *argv)
        return subprocess.run(
            argv, cwd=self.folder, env={**self.environment, **more}, input=text or "", text=True, capture_output=True,
            timeout=300, check=False,
        )  # fmt: skip

    def jobs(self) -> set[str]:
        done = self.run("squeue", "--noheader", f"--name={self.name}", "--format=%i")
        return set(done.stdout.split())

    name = "gate"

    def script_of(self, job: str) -> str:
        return self.slurm.client("scontrol", "write", "batch_script", job, "-").stdout

    def cancel(self) -> None:
        self.slurm.client("scancel", f"--name={self.name}")


@pytest.fixture
def user(slurm: LocalSlurm) -> Iterator[User]:
    folder = Path(tempfile.mkdtemp(prefix="gate-"))  # those of pytest are closed to others
    folder.chmod(0o755)
    found = User(slurm, folder)
    found.environment["SBATCH_JOB_NAME"] = found.name
    yield found
    found.cancel()
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def filtered(user: User) -> User:
    """One whose slurm.conf names the filter; skipped where this Slurm has no Lua."""
    user.add_filter()
    done = user.run("sbatch", "--parsable", "good.sh")
    if re.search(r"cli_filter/lua|cli_filter_lua", done.stderr):
        pytest.skip(f"this Slurm has no cli_filter/lua: {done.stderr.strip()}")
    assert done.returncode == 0, done.stderr
    user.cancel()
    return user


@pytest.fixture
def long_script(user: User) -> Path:
    """2 MB, of which every line is a command."""
    path = user.folder / "long.sh"
    line = 'if [ -n "$DATA_{0}" ]; then python prepare.py --input "$DATA_{0}" --shard {0}; fi\n'
    lines = "".join(map(line.format, range(2_000_000 // len(line))))
    path.write_text(GOOD + lines)
    return path


# --- submit ------------------------------------------------------------------------------------------


def test_submit_is_sbatch(user: User) -> None:
    """The same job, the same words on standard output, the whole script."""
    by_sbatch = user.run("sbatch", "--parsable", "--comment=a b", "good.sh", "one", "two words")
    by_submit = user.run("sbatchlint", "submit", "--parsable", "--comment=a b", "good.sh", "one", "two words")
    assert (by_sbatch.returncode, by_submit.returncode) == (0, 0), by_submit.stderr
    assert by_submit.stderr == by_sbatch.stderr == ""
    jobs = [each.stdout.strip() for each in (by_sbatch, by_submit)]
    first, second = (user.slurm.client("scontrol", "show", "job", job).stdout for job in jobs)
    second = second.replace("SubmitLine=sbatchlint/sbatch ", "SubmitLine=sbatch ")  # by which the filter knows it
    varying = re.compile(r"\b\w*(?:JobId|Time|Eligible|Priority|StdErr|StdOut|Check|TimeMin)=\S*|\d{7,}|\d\d:\d\d:\d\d")
    assert ("UserId=daemon(" in first) == bool(user.prefix)
    assert varying.sub("", first) == varying.sub("", second)
    assert user.script_of(jobs[0]) == user.script_of(jobs[1]) == GOOD


def test_submit_of_standard_input_and_of_a_command(user: User) -> None:
    job = user.run("sbatchlint", "submit", "--parsable", text=GOOD).stdout.strip()
    assert user.script_of(job) == GOOD
    job = user.run("sbatchlint", "submit", "--hold", "--parsable", "--wrap", "srun hostname").stdout.strip()
    assert "srun hostname\n" in user.script_of(job)


def test_submit_refuses_and_is_forced(user: User) -> None:
    refused = user.run("sbatchlint", "submit", "--parsable", "bad.sh")
    assert (refused.returncode, refused.stdout, user.jobs()) == (1, "", set())
    assert "sbatchlint: not submitted for " in refused.stderr
    forced = user.run("sbatchlint", "submit", "--force", "--parsable", "bad.sh")
    assert (forced.returncode, {forced.stdout.strip()}) == (0, user.jobs())


def test_submit_hands_on_what_sbatch_says(user: User) -> None:
    words = ("--partition=nowhere", "good.sh")
    by_sbatch, by_submit = user.run("sbatch", *words), user.run("sbatchlint", "submit", *words)
    assert by_sbatch.returncode == 1
    assert (by_submit.returncode, by_submit.stdout, by_submit.stderr) == (1, by_sbatch.stdout, by_sbatch.stderr)


def test_submit_of_a_long_script_loses_nothing(user: User, long_script: Path) -> None:
    begun = time.monotonic()
    done = user.run("sbatchlint", "submit", f"--lint-time={LIMIT}", "--parsable", "long.sh")
    assert time.monotonic() < begun + LIMIT + SLACK
    assert user.script_of(done.stdout.strip()) == long_script.read_text(), done.stderr


def test_submit_that_is_killed_submits_nothing(user: User, long_script: Path) -> None:
    for seconds in (0.1, 0.5, 1.0):
        killed = user.run("timeout", "-s", "KILL", str(seconds), "sbatchlint", "submit", "--lint-time=60", "long.sh")
        assert (killed.stdout, user.jobs()) == ("", set())


@pytest.mark.slow
def test_submit_judges_a_job_by_the_profile_of_the_cluster(user: User) -> None:
    """Accepted, refused, forced to what sbatch itself says, and killed in the middle."""
    made = user.run("sbatchlint", "site", "-o", "cluster.toml")
    assert made.returncode == 0, made.stderr
    submit = ("sbatchlint", "submit", "--lint-time=100", "--lint-site=cluster.toml")
    accepted = user.run(*submit, "--parsable", "good.sh")
    assert (accepted.returncode, accepted.stderr, {accepted.stdout.strip()}) == (0, "", user.jobs())
    user.cancel()
    for words, code in ((["-p", "nowhere"], "SB910"), (["-w", "zz"], "SB919"), (["-L", "matlab"], "SB912")):
        refused = user.run(*submit, *words, "good.sh")
        assert (refused.returncode, refused.stdout, user.jobs()) == (1, "", set())
        assert f"error[{code}" in refused.stderr and "not submitted for 1 finding" in refused.stderr, refused.stderr
        forced = user.run(*submit, "--force", *words, "good.sh")
        by_sbatch = user.run("sbatch", *words, "good.sh")
        assert (forced.returncode, forced.stdout) == (by_sbatch.returncode, by_sbatch.stdout) == (1, "")
        assert forced.stderr.endswith(by_sbatch.stderr)
    killed = user.run("timeout", "-s", "KILL", "0.3", *submit, "good.sh")
    if killed.stdout:  # it was done by then
        assert {killed.stdout.split()[-1]} == user.jobs()
        user.cancel()
    else:
        assert user.jobs() == set()


# --- the filter --------------------------------------------------------------------------------------


def test_the_filter_accepts_and_refuses(filtered: User) -> None:
    accepted = filtered.run("sbatch", "--parsable", "good.sh")
    assert (accepted.returncode, accepted.stderr) == (0, "")
    assert filtered.script_of(accepted.stdout.strip()) == GOOD
    filtered.cancel()
    refused = filtered.run("sbatch", "--parsable", "bad.sh")
    assert (refused.returncode, refused.stdout) == (1, "")
    own = [line for line in refused.stderr.splitlines() if line.startswith("sbatchlint: ")]
    assert len(own) == 3, refused.stderr
    assert own[0].startswith("sbatchlint: bad.sh:4: error SB")
    assert "sbatchlint" in own[1]
    assert "SBATCHLINT_FORCE=1" in own[2]
    assert filtered.jobs() == set()


def test_the_filter_warns_and_is_forced(filtered: User) -> None:
    warned = filtered.run("sbatch", "--parsable", "warned.sh")
    assert warned.returncode == 0
    assert "sbatchlint: warned.sh:2: warning SB131: " in warned.stderr
    forced = filtered.run("sbatch", "--parsable", "bad.sh", SBATCHLINT_FORCE="1")
    assert forced.returncode == 0
    assert "submitted all the same" in forced.stderr
    assert len(filtered.jobs()) == 2


def test_the_filter_takes_words_and_variables(filtered: User) -> None:
    """Words with spaces and quotes reach the linter; a script on standard input is left alone."""
    done = filtered.run("sbatch", "--parsable", "--comment", "it's `a` $b", "good.sh", "'", "$(touch ran)")
    assert (done.returncode, done.stderr) == (0, "")
    assert not (filtered.folder / "ran").exists()
    piped = filtered.run("sbatch", "--parsable", text=GOOD)
    assert (piped.returncode, filtered.script_of(piped.stdout.strip())) == (0, GOOD)


def test_submit_is_not_linted_again_by_the_filter(filtered: User) -> None:
    done = filtered.run("sbatchlint", "submit", "--force", "--parsable", "bad.sh")
    assert done.returncode == 0
    assert done.stderr.count("[SB") == 1
    assert "sbatchlint: bad.sh" not in done.stderr


@pytest.mark.parametrize(
    "program",
    [
        None,
        "#!/bin/sh\nexit 3\n",
        "#!/bin/sh\necho Traceback; exit 1\n",
        "#!/no/such/interpreter\n",
        "#!/bin/sh\nkill -9 $$\n",
        "#!/bin/sh\nsleep 600\n",
        "#!/bin/sh\ntrap '' TERM INT HUP\nwhile :; do sleep 1; done\n",
        "#!/bin/sh\nexec yes 'not a message'\n",
    ],
    ids=["missing", "fault", "traceback", "broken", "killed", "slow", "stubborn", "endless"],
)
def test_the_filter_never_blocks(filtered: User, program: str | None) -> None:
    """Whatever becomes of sbatchlint, the job is submitted, and not long after the limit."""
    filtered.program.unlink()
    if program is not None:
        filtered.program.write_text(program)
        filtered.program.chmod(0o755)
    filtered.limit_filter(LIMIT)
    begun = time.monotonic()
    done = filtered.run("sbatch", "--parsable", "bad.sh")
    assert (done.returncode, filtered.script_of(done.stdout.strip())) == (0, BAD), done.stderr
    assert "not a message" not in done.stderr
    assert time.monotonic() < begun + LIMIT + SLACK


def test_the_filter_of_a_long_script_loses_nothing(filtered: User, long_script: Path) -> None:
    filtered.limit_filter(LIMIT)
    begun = time.monotonic()
    done = filtered.run("sbatch", "--parsable", "long.sh")
    assert filtered.script_of(done.stdout.strip()) == long_script.read_text(), done.stderr
    assert time.monotonic() < begun + LIMIT + SLACK


def test_sbatch_that_is_killed_in_the_filter_leaves_nothing(filtered: User, long_script: Path) -> None:
    filtered.limit_filter(LIMIT)
    killed = filtered.run("timeout", "-s", "KILL", "1", "sbatch", "long.sh")
    assert (killed.stdout, filtered.jobs()) == ("", set())
    deadline = time.monotonic() + LIMIT + SLACK
    while running(long_script) and time.monotonic() < deadline:
        time.sleep(0.2)
    assert not running(long_script)


def running(folder: Path) -> list[str]:
    """The processes that work in the folder of a file."""
    found = []
    for each in Path("/proc").glob("[0-9]*/cwd"):
        try:
            if os.readlink(each) == str(folder.parent):
                found.append(each.parent.name)
        except OSError:
            pass
    return found


# --- audit -------------------------------------------------------------------------------------------


def test_the_queue_is_audited(user: User) -> None:
    for words in (["good.sh"], ["--comment=x", "bad.sh"], ["--array=1-3", "good.sh"]):
        assert user.run("sbatch", *words).returncode == 0
    done = user.run("sbatchlint", "audit", "--queue", "--output-format", "json")
    found = json.loads(done.stdout)
    own = 3 if user.prefix else 4  # with the job that the cluster itself holds, which is of root
    assert found["partitions"]["batch"]["scripts"] == own
    assert (found["with_errors"], found["checks"]["SB111 unknown-option"]["scripts"]) == (1, 1)
    assert len(found["users"]) == 1


def test_the_array_of_the_example_has_the_sums_of_one_run(user: User) -> None:
    jobs = user.folder / "jobs"
    jobs.mkdir()
    for number in range(20):
        (jobs / f"{number}.sh").write_text(BAD if number % 4 == 0 else GOOD)
    array = ROOT / "examples" / "audit.sbatch"
    done = user.run("sbatch", "--wait", "--parsable", str(array), str(jobs))
    assert done.returncode == 0, done.stderr
    parts = sorted(str(each) for each in user.folder.glob("audit-*.jsonl"))
    assert len(parts) == 4
    merged = user.run("sbatchlint", "merge", "--output-format", "json", *parts)
    whole = user.run("sbatchlint", "audit", "--output-format", "json", str(jobs))
    assert json.loads(merged.stdout) == json.loads(whole.stdout)
    assert json.loads(whole.stdout)["with_errors"] == 5
