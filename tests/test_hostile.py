"""Input that is meant to hurt: nothing of it runs, nothing outside of the project is read, and the run ends soon."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from conftest import HEAD, ROOT, part
from sbatchlint.api import lint
from sbatchlint.bash.expansion.printing import ansi_quoted
from sbatchlint.source.files import InputError, write

# So many seconds no run takes, on however busy a machine, unless it hangs.
HANGING = 300
PYTHON = [sys.executable, "-m", "sbatchlint"]
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT), "XDG_CACHE_HOME": "/dev/null/none"}


def some_quick(names: Iterable[str], *quick: str) -> list[Any]:
    """The names of inputs, of which all but some are for slow runs: each starts several processes."""
    return [pytest.param(name, marks=[pytest.mark.slow] * (name not in quick)) for name in names]


def run(folder: Path, *arguments: str, stdin: bytes = b"", **environment: str) -> subprocess.CompletedProcess[bytes]:
    """The command in a process of its own, with a bound for its time; a fault of sbatchlint fails the test."""
    done = subprocess.run(
        [*PYTHON, *arguments],
        cwd=folder,
        input=stdin,
        capture_output=True,
        timeout=HANGING,
        env=ENVIRONMENT | environment,
    )
    assert done.returncode in (0, 1, 2), done.stderr.decode("utf-8", "replace")[-2000:]
    assert b"Traceback" not in done.stderr and b"fault:" not in done.stderr
    return done


BYTES = {
    "nul": f"{HEAD}srun a\0b\n".encode(),
    "only-nul": b"\0" * 1000,
    "mark": b"\xef\xbb\xbf" + HEAD.encode(),
    "utf-16-little": f"\ufeff{HEAD}".encode("utf-16-le"),
    "utf-16-big": f"\ufeff{HEAD}".encode("utf-16-be"),
    "utf-16-half": f"\ufeff{HEAD}".encode("utf-16-le")[:-1],
    "no-utf-8": HEAD.encode() + b"#SBATCH --job-name=\xff\xfe\xc3\nsrun \xff --x=\xe9\n",
    "surrogates": HEAD.encode() + b"srun \xed\xa0\x80 \xed\xb2\x80\n",
    "empty": b"",
    "one": b"#",
    "carriage": HEAD.replace("\n", "\r").encode(),
    "last-backslash": HEAD.encode() + b"srun a \\",
}


@pytest.mark.parametrize("name", some_quick(BYTES, "no-utf-8"))
def test_bytes_that_are_no_text(tmp_path: Path, name: str) -> None:
    (tmp_path / "job.sbatch").write_bytes(BYTES[name])
    for output in part(["full", "json", "github"], 3, list(BYTES).index(name)):
        done = run(tmp_path, "--output-format", output, "job.sbatch")
        done.stdout.decode()
    if name not in ("only-nul",):
        run(tmp_path, "plan", "job.sbatch")
    run(tmp_path, "--fix", "--unsafe-fixes", "job.sbatch")


DEEP = {
    "substitutions": "$(" * 3000 + ")" * 3000,
    "unclosed-substitutions": "$(" * 3000,
    "arithmetic": "$((" * 3000 + "1" + "))" * 3000,
    "parameters": "${a:-" * 3000 + "}" * 3000,
    "groups": "{ " * 3000 + "a; " + "} ;" * 3000,
    "subshells": "( " * 3000 + "a" + " )" * 3000,
    "ifs": "if a; then\n" * 3000 + "fi\n" * 3000,
    "quotes": "echo " + '"$(' * 3000 + ')"' * 3000,
    "backquotes": "echo " + "`" * 3000,
    "functions": "".join(f"f{number}() {{ f{number + 1}; }}\n" for number in range(3000)) + "f0\n",
    "itself": "f() { f; f; }\nf\n",
    "eval": 'A=\'eval "$A"\'; eval "$A"\n',
    "expressions": "((" + "(" * 3000 + "1" + ")" * 3000 + "))\n",
    "tests": "[[ " + "( " * 3000 + "a" + " )" * 3000 + " ]]\n",
    "braces": "echo " + "{a," * 3000 + "}" * 3000,
    "many-braces": "echo " + "{a,b}" * 3000,
    "sequences": "echo " + "{1..99}" * 10,
    "shells": "bash -c '" * 300 + "'" * 300,
    "heredocs": "".join(f"cat <<E{number}\n" for number in range(300)),
    "configuration": "A=a; B='$A'; eval eval eval eval echo $B",
}


@pytest.mark.parametrize("name", some_quick(DEEP, "substitutions"))
def test_deep_nesting(tmp_path: Path, name: str) -> None:
    (tmp_path / "job.sbatch").write_text(f"{HEAD}{DEEP[name]}\nsrun a\n")
    run(tmp_path, "job.sbatch")
    run(tmp_path, "plan", "job.sbatch")


PATTERNS = {
    "stars": 'A=$(printf a%.0s {1..60}); case "$A" in *a*a*a*a*a*a*b) srun b;; esac',
    "removed": f"A={'a' * 3000}; echo ${{A##*a*a*a*a*b}} ${{A%%*b*}} ${{A//a*a*b/}}",
    "nested": f"shopt -s extglob; A={'a' * 40}; case $A in +(+(a))b) srun b;; esac; echo ${{A##+(a|aa)b}}",
    "expression": f"A={'a' * 40}; [[ $A =~ ^(a+)+b$ ]] && srun b; [[ $A =~ (a|aa)*b ]] && srun b",
    "count": "[[ a =~ a{99999999999} ]] && srun b; [[ a =~ " + "(" * 3000 + "a" + ")" * 3000 + " ]] && srun b",
    "capitals": f"#SBATCH --time=1 --signal=USR{'R' * 90}1@300\nsrun a\n",
    "options": f"srun tar {'--a ' * 40}\nsrun ./train{'_a' * 40}.p --resume{'_a' * 40}.\ntimeout {'-k ' * 60}$L a\n",
    "names": f"python {'$a' * 40}!/train.py > {'$a' * 40}!\nexport RANK=$SLURM_PROCID {'a=b=c ' * 30}!\n",
    "placeholders": f"{'{%%}' * 200}\n#SBATCH --time=1\nsrun a\n",
    "choices": f"A={'a' * 40}; [[ $A =~ ^{'(a|a)' * 40}b$ ]] && srun b",
}


@pytest.mark.parametrize("name", some_quick(PATTERNS, "nested"))
def test_patterns_that_take_for_ever(tmp_path: Path, name: str) -> None:
    (tmp_path / "job.sbatch").write_text(f"{HEAD}{PATTERNS[name]}\n")
    run(tmp_path, "job.sbatch")


def test_a_tag_with_white_space_of_other_scripts(tmp_path: Path) -> None:
    tag = "<x" + " b=x\u00a0c" * 40
    (tmp_path / "page.md").write_text(f"{tag}\n\n```bash\n{HEAD}srun a\n```\n")
    assert b"1 script" in run(tmp_path, "page.md").stdout


def test_files_that_include_one_another(tmp_path: Path) -> None:
    (tmp_path / "job.sbatch").write_text(
        f"{HEAD}source job.sbatch\nsource a.sh\nbash ./job.sbatch\nsbatch job.sbatch\n"
    )
    (tmp_path / "a.sh").write_text("source b.sh\nsource b.sh\nsource a.sh\n")
    (tmp_path / "b.sh").write_text("source a.sh\nsource a.sh\nsource job.sbatch\n")
    run(tmp_path, "job.sbatch", "a.sh")


@pytest.mark.slow
def test_files_that_are_none(tmp_path: Path) -> None:
    """FIFOs, devices, loops of links and unreadable files are not waited for, and not read."""
    os.mkfifo(tmp_path / "pipe.sh")
    os.mkfifo(tmp_path / "pipe.sbatch")
    (tmp_path / "loop.sbatch").symlink_to("loop.sbatch")
    (tmp_path / "zero.sbatch").symlink_to("/dev/zero")
    (tmp_path / "zero.sh").symlink_to("/dev/zero")
    (tmp_path / "folder.sbatch").mkdir()
    sources = "\n".join(
        f"source {name}"
        for name in ("pipe.sh", "loop.sbatch", "zero.sh", "folder.sbatch", "/dev/zero", "/dev/stdin", "/proc/self/mem")
    )
    (tmp_path / "job.sbatch").write_text(f"{HEAD}{sources}\nsrun a\n")
    assert run(tmp_path, "--output-format", "json", "job.sbatch").returncode in (0, 1)
    assert run(tmp_path, ".").returncode in (0, 1)
    for name in ("pipe.sbatch", "loop.sbatch", "zero.sbatch", "/dev/zero", "no\nfile\x1b[31m.sbatch"):
        done = run(tmp_path, name)
        assert done.returncode == 2 and done.stderr.startswith(b"error: ")
        assert b"\x1b" not in done.stderr and done.stderr.count(b"\n") == 1
    for command in ("plan",):
        assert run(tmp_path, command, "pipe.sbatch").returncode == 2
        assert run(tmp_path, command, "/dev/zero").returncode == 2


STRANGE = (
    "a b,c:d%e;.sbatch",
    "\x1b[31mred\x07.sbatch",
    "new\nline::error::x.sbatch",
    "\u202egnp.sbatch",
    "\udcff.sbatch",
)
CONTROL = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")
LOUD = "\x1b]0;title\x07\x1b[2J\x9b31m\u202e\x08\r"


@pytest.mark.slow
@pytest.mark.parametrize("name", STRANGE)
def test_control_characters_reach_no_report(tmp_path: Path, name: str) -> None:
    """Neither from file names nor from any word of a script."""
    lines = [
        f"#SBATCH --nodes=2{LOUD}",
        f"#SBATCH --{LOUD}=2 --time={LOUD}x --gres={LOUD} --output=/tmp/{LOUD}/%j",
        f"#SBATCH --nodes 2 {LOUD}\n#SBATC --x={LOUD}",
        f"export MASTER_PORT=29500 {LOUD}=1",
        f"srun --{LOUD} --gpus={LOUD} torchrun --nnodes=2 --nproc_per_node=8 {LOUD}.py --token hf_{LOUD}",
        f"docker run -it {LOUD} python {LOUD}.py",
        f"source {LOUD}.sh; srun bash {LOUD}.sh; if",
    ]
    path = tmp_path / name
    path.write_bytes(("#!/bin/bash\n" + "\n".join(lines) + "\n").encode("utf-8", "surrogateescape"))
    is_first = name == STRANGE[0]
    for output in ("full", "concise", "github"):
        for arguments in (
            ((), ("--fix", "--unsafe-fixes", "--diff"), ("-v",)) if output == "full" and is_first else ((),)
        ):
            done = run(tmp_path, "--output-format", output, "--min-severity", "info", *arguments, ".")
            if "--diff" not in arguments:  # a patch holds what is in the file
                assert not CONTROL.search(done.stdout.decode().replace("\n", ""))
            assert not CONTROL.search(done.stderr.decode())
            if output == "github" and not arguments:
                commands = done.stdout.decode().splitlines()
                assert all(re.match(r"::(error|warning|notice) file=[^:,]+,line=\d+", each) for each in commands)
    document = json.loads(run(tmp_path, "--output-format", "json", ".").stdout.decode())
    assert json.dumps(document).isascii()
    for arguments in (("plan", f"./{name}"), ("plan", "--output-format", "html", f"./{name}")):
        assert not CONTROL.search(run(tmp_path, *arguments).stdout.decode().replace("\n", ""))


MARKER = """#!/bin/bash
#SBATCH --nodes=2 --comment=$(touch marker)
A=$(touch marker); B=`touch marker`; C=${D:-$(touch marker)}; echo "$A $B $C" <(touch marker) $((a[$(touch marker)]))
eval "touch marker"; eval 'eval "touch marker"'; trap 'touch marker' EXIT DEBUG ERR; source ./more.sh; . more.sh
bash -c 'touch marker'; bash ./more.sh; srun bash -c "touch marker"; env bash -c 'touch marker'; exec touch marker
cat <<E
$(touch marker)
E
printf -v 'a[$(touch marker)]' x; declare "x[$(touch marker)]=1"
[[ -v a[$(touch marker)] ]]; test -v 'a[$(touch marker)]'
python -c 'open("marker", "w")'; echo 'open("marker", "w")' | python; f() { touch marker; }; f; "$(touch marker)"
sbatch --wrap "touch marker"; sbatch more.sh; xargs touch <<< marker
mapfile -C 'touch marker' -c 1 a <<< x; touch marker
torchrun --nnodes=2 train.py; srun ./more.sh; ./more.sh; python train.py; scontrol show hostnames; if
"""


def test_nothing_is_executed(tmp_path: Path) -> None:
    tools = tmp_path / "bin"
    tools.mkdir()
    for name in ("touch", "srun", "sbatch", "scontrol", "python", "torchrun", "docker", "nvidia-smi"):
        (tools / name).write_text(f"#!/bin/sh\n: > {tmp_path}/marker\n")
        (tools / name).chmod(0o755)
    project = tmp_path / "project"
    project.mkdir()
    for name in ("job.sbatch", "more.sh", "train.py", "bash", "git"):
        (project / name).write_text(MARKER)
        (project / name).chmod(0o755)
    setup = tmp_path / "setup.sh"
    setup.write_text(f": > {tmp_path}/marker\n")
    environment = {
        "BASH_ENV": str(setup),
        "ENV": str(setup),
        "PATH": f"{tools}:{os.environ['PATH']}",
        "BASH_FUNC_touch%%": f"() {{ : > {tmp_path}/marker; }}",
        "PROMPT_COMMAND": f": > {tmp_path}/marker",
        "SHELLOPTS": "xtrace",
        "PS4": f"$(: > {tmp_path}/marker)",
    }
    fixing = ("--fix", "--unsafe-fixes", "job.sbatch")
    for arguments in ((".",), ("job.sbatch", "more.sh"), ("plan", "job.sbatch"), fixing):
        run(project, *arguments, **environment)
        assert not list(tmp_path.rglob("marker"))


WATCH = """
import os, sys
def watch(event, arguments):
    if event == "open" and isinstance(arguments[0], (str, bytes)):
        mode = "w" if arguments[2] & (os.O_WRONLY | os.O_RDWR) else "r"
        log.append(f"{mode} {os.path.realpath(os.fsdecode(arguments[0]))}")
    elif event in ("os.system", "os.exec", "os.posix_spawn", "os.fork", "socket.connect", "subprocess.Popen"):
        log.append(f"{event} {arguments}")
log = []
path = sys.argv.pop(1)
from sbatchlint.cli import main
from sbatchlint.registry import registry
registry().load_all()
sys.addaudithook(watch)
main(sys.argv[1:])
open(path, "w").write("\\n".join(log[:]))
"""


def test_only_the_project_is_read_and_only_the_named_file_is_written(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret.sh").write_text("export SECRET=1\n")
    project = tmp_path / "project"
    (project / "lib").mkdir(parents=True)
    (project / "sbatchlint.toml").write_text("")
    (project / "lib" / "link.sh").symlink_to(outside / "secret.sh")
    (project / "lib" / "links").symlink_to(outside)
    (project / "lib" / "env.sh").write_text("#SBATCH --nodes 2\nsource ../../outside/secret.sh\n")
    script = project / "job.sbatch"
    sources = ["lib/env.sh", "lib/link.sh", "lib/links/secret.sh", "../outside/secret.sh", f"{outside}/secret.sh"]
    sources += ["~/.bashrc", "/etc/profile", "/etc/passwd", "$HOME/.profile", "lib/../../outside/secret.sh"]
    body = "".join(f"source {each}\nbash {each}\nsrun bash {each}\nsbatch {each}\n" for each in sources)
    script.write_text(f"#!/bin/bash\n#SBATCH --nodes 2 --time = 5\n{body}python /etc/passwd @{outside}/secret.sh\n")
    log = tmp_path / "log"
    for arguments in (("--fix", "--unsafe-fixes", "job.sbatch"), ("plan", "job.sbatch")):
        command = [sys.executable, "-c", WATCH, str(log), *arguments]
        done = subprocess.run(command, cwd=project, env=ENVIRONMENT, capture_output=True, timeout=HANGING)
        assert b"Traceback" not in done.stderr
        events = [line.partition(" ") for line in log.read_text().splitlines()]
        read = {name for event, _, name in events if event == "r"}
        allowed = {str(script), str(project / "lib" / "env.sh"), str(project / "sbatchlint.toml"), str(project)}
        assert {name for name in read if name.startswith(str(tmp_path))} <= allowed
        assert not {name for name in read if name.startswith("/etc/p") or name.endswith((".bashrc", ".profile"))}
        written = {name for event, _, name in events if event == "w"} - {"/dev/null", str(log)}
        assert {os.path.dirname(name) for name in written} <= {str(project)}
        assert all(os.path.basename(name).startswith(".sbatchlint-") for name in written)
        started = [each for event, _, each in events if event not in ("r", "w")]
        assert all("bash" in each and "'-n'" in each for each in started)
    assert sorted(os.listdir(project)) == ["job.sbatch", "lib", "sbatchlint.toml"]


def script_of(folder: Path) -> Path:
    path = folder / "job.sbatch"
    path.write_text(f"#!/bin/bash\n#SBATCH --time = 5\n#SBATCH --nodes=2\n{'# text' * 100_000}\nsrun a\n")
    return path


def test_killed_while_fixing_the_file_is_old_or_new(tmp_path: Path) -> None:
    path = script_of(tmp_path)
    old = path.read_bytes()
    assert run(tmp_path, "--fix", "--unsafe-fixes", "job.sbatch").returncode in (0, 1)
    new = path.read_bytes()
    assert new != old
    for delay in (0.05, 0.1, 0.2, 0.3, 0.4):
        path.write_bytes(old)
        process = subprocess.Popen(
            [*PYTHON, "--fix", "--unsafe-fixes", "job.sbatch"],
            cwd=tmp_path, env=ENVIRONMENT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        time.sleep(delay)
        process.kill()
        process.wait()
        assert path.read_bytes() in (old, new)


@pytest.mark.slow
def test_two_runs_at_once(tmp_path: Path) -> None:
    path = script_of(tmp_path)
    command = [*PYTHON, "--fix", "--unsafe-fixes", "job.sbatch"]
    both = [subprocess.Popen(command, cwd=tmp_path, env=ENVIRONMENT, stderr=subprocess.PIPE) for _ in range(2)]
    for popen in both:
        _, said = popen.communicate(timeout=HANGING)
        assert popen.returncode in (0, 1) or b"changed meanwhile" in said
    assert path.read_text().startswith("#!/bin/bash\n#SBATCH --time=5\n")
    assert os.listdir(tmp_path) == ["job.sbatch"]


def test_a_full_disk_leaves_the_file_as_it_was(tmp_path: Path) -> None:
    path = script_of(tmp_path)
    old = path.read_bytes()
    full = "import resource, signal, sys; resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000)); "
    full += (
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN); from sbatchlint.cli import main; sys.exit(main(sys.argv[1:]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", full, "--fix", "--unsafe-fixes", "job.sbatch"],
        cwd=tmp_path, env=ENVIRONMENT, capture_output=True, timeout=HANGING,
    )  # fmt: skip
    assert done.returncode == 2 and b"cannot write job.sbatch: file too large" in done.stderr
    assert path.read_bytes() == old and os.listdir(tmp_path) == ["job.sbatch"]


def test_what_changed_meanwhile_is_not_lost(tmp_path: Path) -> None:
    path = tmp_path / "job.sbatch"
    path.write_text("theirs")
    with pytest.raises(InputError, match=r"cannot write .*: it was changed meanwhile; run again"):
        write(str(path), b"ours", b"before")
    assert path.read_text() == "theirs" and os.listdir(tmp_path) == ["job.sbatch"]
    write(str(path), b"ours", b"theirs")
    assert path.read_text() == "ours"


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everything")
def test_what_may_not_be_written_stays(tmp_path: Path) -> None:
    path = script_of(tmp_path)
    old = path.read_bytes()
    for target, mode in ((path, 0o444), (tmp_path, 0o555), (path, 0o000)):
        before = target.stat().st_mode
        target.chmod(mode)
        assert run(tmp_path, "--fix", "--unsafe-fixes", "job.sbatch").returncode == 2
        target.chmod(before)
        assert path.read_bytes() == old


@pytest.mark.slow
@pytest.mark.parametrize("line", ["-", "#SBATCH ", "'", "$((", "\\\n", "{{", "{a,b}", "((", "%0", "<%", " ", "[1-"])
def test_half_a_megabyte_on_one_line(tmp_path: Path, line: str) -> None:
    """Two megabytes take four times as long: the time grows with the length."""
    (tmp_path / "job.sbatch").write_text(f"{HEAD}#SBATCH -w {line * (250_000 // len(line))}\n{line * 10_000}\n")
    run(tmp_path, "job.sbatch")


def test_a_test_of_an_empty_word_alone_is_read() -> None:
    assert not lint('[ echo ""', path="job.sh", isolated=True).faults


def test_any_character_is_quoted() -> None:
    assert ansi_quoted("a\udc9e\ud800") == "$'a\\236\\355\\240\\200'"
