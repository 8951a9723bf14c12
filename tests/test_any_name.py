"""Any verb on a script of any name in any environment: no traceback, no exit code of a fault, and nothing lost.

All runs of one environment take place in one process, as starting Python takes longer than most of them.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import unicodedata
from collections.abc import Sequence
from pathlib import Path

import pytest

from conftest import ALL, ROOT
from dialogues import of_agent, of_editor

NAMES = {
    "spaces": "a b  c.sh",
    "newline": "a\nb.sh",
    "dash": "-a.sh",
    "bytes": os.fsdecode(b"a\xff\xe9.sh"),
    "quotes": "a'b\"c`d.sh",
    "percent": "100%s %(a)d %j.sh",
    "long": "x" * 240 + ".sh",
    "decomposed": unicodedata.normalize("NFD", "été.sh"),
    "braces": "{}{0}{a.b}.sh",
    "pattern": "[a-*]?#!\\.sh",
    "controls": "a\x1b[31m\t\rb\u202e.sh",
}

ASCII = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
# What is set, and what is unset (None), besides PATH.
ENVIRONMENTS: dict[str, dict[str, str | None]] = {
    "C": {"LC_ALL": "C"},
    "ASCII": {**ASCII},
    "no language": {"LC_ALL": None, "LANG": None},
    "no UTF-8 mode": {"PYTHONUTF8": "0", "LC_ALL": "C.UTF-8"},
    "ASCII streams": {"PYTHONIOENCODING": "ascii"},
    "read-only home": {"HOME": "/proc"},
    "no home": {"HOME": None, "XDG_CACHE_HOME": None, "XDG_CONFIG_HOME": None},
    "a home that is a file": {"HOME": "/dev/null", "XDG_CACHE_HOME": "/dev/null/x"},
    "dumb": {"TERM": "dumb", "FORCE_COLOR": "1"},
    "narrow": {"COLUMNS": "1"},
    "future": {"FUTURE": "1"},  # the files are newer than the clock says, as if it went back
    "changing": {"CHANGING": "1"},  # files come and go while folders are walked
}

# `@` is the name of the script, `@.log` that of a log.
VERBS: dict[str, list[str]] = {
    "lint": ["--", "@"],
    "folder": [".", "--select", "ALL", "--min-severity", "info"],
    "folder in processes": [".", "--jobs", "2", "-v"],
    "statistics": ["--statistics", "--", "@"],
    "files": ["--show-files", "."],
    **{
        form: ["--output-format", form, "--", "@"]
        for form in ("concise", "json", "sarif", "github", "gitlab", "junit", "checkstyle", "rdjson", "markdown")
    },
    "report": ["--output-file", "./@.report", "--", "@"],
    "fix": ["--fix", "--show-fixes", "--", "@"],
    "fix a folder": ["--fix", "--unsafe-fixes", "."],
    "diff": ["--diff", "--unsafe-fixes", "--", "@"],
    "ignore": ["--add-ignore=why", "--", "@"],
    "baseline": ["--write-baseline", "./@.json", "."],
    "below a baseline": ["--baseline", "known.json", "--update-baseline", "--", "@"],
    **{f"plan {form}": ["plan", "--output-format", form, "--", "@"] for form in ("text", "json", "svg", "html")},
    "convert": ["convert", "--nodes", "4", "./@"],
    "convert diff": ["convert", "--nodes", "4", "--diff", "./@"],
    "convert json": ["convert", "--nodes", "4", "--output-format", "json", "./@"],
    "convert to a file": ["convert", "--nodes", "4", "-o", "./@.new", "./@"],
    **{
        f"diagnose {form}": ["diagnose", "--script", "./@", "--output-format", form, "./@.log"]
        for form in ("text", "json", "github")
    },
    "diagnose fix": ["diagnose", "--script", "./@", "--fix", "./@.log"],
    "submit": ["submit", "--lint-only", "./@"],
    "submit in brief": ["submit", "--lint-only", "--lint-brief", "--lint-refuse=warning", "./@"],
    "audit": ["audit", "./@"],
    "audit with a state": ["audit", "--state", "./@.state", "--output-format", "json", "./@"],
    "merge": ["merge", "./@.state"],
    "site": ["site", "--from", "./@.out", "-o", "./@.toml"],
    "site of no output": ["site", "--from", "./@"],
    "upgrade": ["--slurm-version", "22.05", "--upgrade-to", "25.11", "--", "@"],
    "explain": ["explain", "./@"],
    "checks": ["checks"],
    "config": ["config", "./@"],
    "server": ["server"],
    "mcp": ["mcp", "--root", "."],
}

SCRIPT = b"""\
#!/bin/bash
#SBATCH --nodes=2 --ntasks-per-node=1 --gpus-per-node=8
#SBATCH -c=4
source env.sh
srun torchrun --nnodes=2 --nproc_per_node=8 --token hf_aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa t\xc3\xa9.py | tee log
"""
STATE = b'{"path": "a.sh", "user": "u\\u00e9", "partition": "", "gpu_hours": 1.0, "findings": {}}\n'
LOG = b"srun: error: node1: task 1: Exited with exit code 1\nRuntimeError: CUDA out of memory.\n\xff\xe9 \xc3\xa9\n"

# Runs all commands, each in a folder of its own: what it wrote goes to `written`, exit codes and faults to `found`.
PROGRAM = """
import json, os, sys, threading, time
from sbatchlint.cli import main

def change(folder, going):
    while going:
        for number in range(20):
            name = f"{folder}/z{number}.sh"
            try:
                with open(name, "w") as file:
                    file.write("#!/bin/bash\\n#SBATCH -c=4\\nsrun a\\n")
                os.makedirs(f"{folder}/sub{number}/x", exist_ok=True)
                os.rename(name, f"{folder}/sub{number}/x/y.sh")
            except OSError:
                pass
        for number in range(20):
            try:
                os.remove(f"{folder}/sub{number}/x/y.sh")
                os.removedirs(f"{folder}/sub{number}/x")
            except OSError:
                pass
        time.sleep(0.001)

def feed(written, writing, patience):
    try:
        with open(written, "rb") as file, open(writing, "wb") as pipe:
            pipe.write(file.read())
            pipe.flush()
            time.sleep(patience)  # an agent that leaves gets no answers
    except OSError:
        pass

with open(os.environ["COMMANDS"], encoding="ascii") as file:
    commands = json.load(file)
found = []
for folder, arguments, written in commands:
    os.chdir(folder)
    reading, writing = os.pipe()
    os.dup2(reading, 0)
    os.close(reading)
    sys.stdin = open(0, closefd=False)
    threading.Thread(target=feed, args=(written, writing, 2 * ("mcp" in os.fsdecode(written))), daemon=True).start()
    arguments = [os.fsdecode(bytes.fromhex(word)) for word in arguments]  # as this locale reads its command line
    print("#", ascii(arguments), flush=True)
    print("#", ascii(arguments), file=sys.stderr, flush=True)
    going = [True]
    if "CHANGING" in os.environ:
        thread = threading.Thread(target=change, args=(folder, going), daemon=True)
        thread.start()
    try:
        code = main(arguments)
    except SystemExit as leaving:
        code = leaving.code
    except BaseException as error:
        code = f"{type(error).__name__}: {error}"
    going.clear()
    if "CHANGING" in os.environ:
        thread.join()
    sys.stdout.flush()
    found.append(code)
with open(os.environ["FOUND"], "w", encoding="ascii") as file:
    json.dump(found, file)
"""


def run(folder: Path, environment: str, pairs: Sequence[tuple[str, str]]) -> list[str]:
    """What is wrong with runs of verbs on names, both by their titles, in an environment."""
    wanted = []
    for number, (name, verb) in enumerate(pairs):
        place = folder / str(number)
        (place / ".git").mkdir(parents=True)
        script = NAMES[name]
        (place / script).write_bytes(SCRIPT)
        (place / f"{script}.log").write_bytes(LOG)
        (place / f"{script}.state").write_bytes(STATE)
        (place / f"{script}.out").write_bytes((ROOT / "tests" / "data" / "site" / "22.05.txt").read_bytes())
        (place / "env.sh").write_bytes(b"export RANK=$SLURM_PROCID # \xff\n")
        (place / "known.json").write_text('{"version": 1, "files": {}}')
        if environment == "future":
            for each in place.iterdir():
                os.utime(each, (4_000_000_000, 4_000_000_000))
        written = folder / f"{number}.{verb.split()[0]}"
        shown = SCRIPT.decode()
        if verb == "server":
            written.write_bytes(of_editor(place / script, shown))
        else:
            written.write_bytes(of_agent(script, f"{script}.log", shown) if verb == "mcp" else SCRIPT)
        arguments = [os.fsencode(word.replace("@", script)).hex() for word in VERBS[verb]]
        wanted.append((str(place), arguments, str(written)))
    commands, found = folder / "commands.json", folder / "found.json"
    commands.write_text(json.dumps(wanted))
    changed = {"COLUMNS": "100", "XDG_CACHE_HOME": str(folder / "cache"), **ENVIRONMENTS[environment]}
    kept = {name: value for name, value in {**os.environ, **changed}.items() if value is not None}
    own = {"PYTHONPATH": str(ROOT), "COMMANDS": str(commands), "FOUND": str(found)}
    kept.pop("SBATCHLINT_NO_CACHE", None)
    done = subprocess.run([sys.executable, "-c", PROGRAM], env={**kept, **own}, capture_output=True, check=False)
    output = (done.stdout + done.stderr).decode("utf-8", "backslashreplace")
    if done.returncode or not found.exists():
        return [f"ended with {done.returncode}: {output[-2000:]}"]
    problems = re.findall(r"^(?:Traceback|fault:|sbatchlint: fault)(?:.*\n){,40}", output, re.M)
    for (name, verb), (run_in, *_), code in zip(pairs, wanted, json.loads(found.read_text()), strict=True):
        if code not in (0, 1, 2, 4, None):
            problems.append(f"{verb} of {name}: {code}")
        problems += [f"{verb} of {name}: {each}" for each in lost(Path(run_in), NAMES[name], verb)]
    return problems


def lost(place: Path, script: str, verb: str) -> list[str]:
    """What a run left behind, or took away."""
    found = []
    text = (place / script).read_bytes() if (place / script).exists() else b""
    whole = text.endswith(SCRIPT.rsplit(b"\n", 2)[1] + b"\n") or "fix" in verb
    if not whole or len(text) < 150 or "fix" not in verb and verb != "ignore" and text != SCRIPT:
        found.append(f"the script is {text!r}")
    known = {".git", script, f"{script}.log", "env.sh", "known.json"}
    known |= {f"{script}.state", f"{script}.out", f"{script}.toml"}
    known |= {f"{script}.report", f"{script}.json", f"{script}.new"}
    changing = re.compile(r"z\d+\.sh|sub\d+")
    left = [each.name for each in place.iterdir() if each.name not in known and not changing.fullmatch(each.name)]
    return [*found, *(f"left {each!r}" for each in left)]


def pairs_for(row: int) -> list[tuple[str, str]]:
    """Names and verbs for an environment: all names, and one in four verbs, each with another name than elsewhere."""
    names, verbs, step = list(NAMES), list(VERBS), 1 if ALL else 4
    count = max(len(names), -(-len(verbs) // step))
    return [(names[(number + row) % len(names)], verbs[(step * number + row) % len(verbs)]) for number in range(count)]


@pytest.mark.parametrize(
    "environment", [pytest.param(each, marks=() if each == "ASCII" else pytest.mark.slow) for each in ENVIRONMENTS]
)
def test_any_name_in_any_environment(environment: str, tmp_path: Path) -> None:
    assert run(tmp_path, environment, pairs_for(list(ENVIRONMENTS).index(environment))) == []


def test_all_names_and_verbs_are_tried() -> None:
    tried = [pair for row in range(len(ENVIRONMENTS)) for pair in pairs_for(row)]
    assert {verb for _, verb in tried} == VERBS.keys()
    assert all({name for name, _ in pairs_for(row)} == NAMES.keys() for row in range(len(ENVIRONMENTS)))
