"""Runs of verbs with drawn options in a folder of real-shaped files of which one is damaged; dialogues about one.

The command lines are drawn from the parsers of the verbs, so that a new option is tried without being named here. What
is drawn depends on the data alone.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import sys
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import chdir, contextmanager
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory, TemporaryFile
from threading import Thread
from typing import Any

from sbatchlint.agents.folder import Folder
from sbatchlint.agents.tools import Tools
from sbatchlint.cli import audit, config, convert, diagnose, explain, main, plan, site, submit
from sbatchlint.cli.arguments import lint_parser
from sbatchlint.registry import registry
from sbatchlint.source.files import InputError

ROOT = Path(__file__).resolve().parent.parent
DATA = ROOT / "tests" / "data"
JOB = "job.sbatch"
RELEASES = ("22.05", "23.02", "23.11", "24.05", "24.11", "25.05", "25.11", "26.05", "22.05-26.05", "23.11-24.11")

PARSERS: dict[str, Callable[[], argparse.ArgumentParser]] = {
    "": lint_parser,
    "plan": plan.parser,
    "convert": convert.parser,
    "diagnose": diagnose.parser,
    "submit": submit.parser,
    "audit": audit.parser,
    "merge": audit.merge_parser,
    "site": site.parser,
    "config": config.parser,
    "explain": explain.explain_parser,
}
# How often each is run, in parts.
OFTEN = {"": 8, "plan": 3, "convert": 3, "diagnose": 3, "submit": 2, "audit": 2, "site": 2}

# What may stand for an option's or an argument's value, by its name in the options or by its metavar.
VALUES: dict[str, tuple[str, ...]] = {
    "paths": (".", JOB, "page.md", "book.ipynb", "flow.yaml", "run.py", "main.nf", "env.sh", "absent.sh", "-"),
    "script": (JOB, "page.md", "run.py", "env.sh", "-"),
    "logs": ("job.log", ".", "sacct.txt", "-"),
    "files": ("state.jsonl", "empty.jsonl", JOB),
    "outputs": ("scontrol.txt", "sinfo.txt", "assoc.txt", "-", JOB),
    "words": (JOB, "--nodes=4", "-N", "2", "--wrap=srun a", "--test-only", "--array=1-9%2", "--export=ALL,A=1", "-"),
    "path": (JOB, ".", "page.md"),
    "check": ("SB101", "launch", JOB, "cuda-out-of-memory", "SB1", "x"),
    "baseline": ("baseline.json", "absent.json", JOB),
    "write_baseline": ("new.json", "baseline.json"),
    "output_file": ("out.txt", "profile.toml"),
    "output": ("out.sbatch",),
    "state": ("state.jsonl", "fresh.jsonl"),
    "sacct": ("sacct.txt", "-"),
    "site": ("example", "profile.toml", "absent"),
    "config": ("sbatchlint.toml", "site.pyxis=true", 'select=["ALL"]', "max-nodes=1", "=", "x"),
    "stdin_filename": ("a.md", "b/c.sbatch", "d.py"),
    "jobs": ("1", "1", "1", "2"),
    "shard": ("1/2", "2/2", "1/1", "0/1"),
    "job": ("7", "123", "x"),
    "lint_time": ("5", "60", "0"),
    "set": ("time=24:00:00,account=a", "nodes=3", "gres=gpu:8", "x"),
    "image": ("a/b:c", "docker://u/i:1", "x.sqsh"),
    "mounts": ("/a:/b", "/data:/data:ro,.:/w"),
    "add_ignore": ("why", ""),
    "CHECKS": ("ALL", "SB1", "SB223,launch", "SB9", "absent", "cost"),
    "V": RELEASES,
    "V|V-W": RELEASES,
    "OPTIONS": ("--nodes=8", "-n 4 --export=NONE", "--gres=gpu:4 --ntasks-per-node=4", "--bogus", '"'),
    "N": ("1", "2", "4", "64", "0"),
    "G": ("0", "1", "8"),
    "C": ("1", "96"),
}


FLOW = b"""executor: slurm
default-resources:
  - slurm_extra="--gres=gpu:2"
  - runtime: 30
cluster: sbatch -N 2 --time={resources.time} -o logs/%j.out
"""

WORKFLOW = b"""jobs:
  run:
    steps:
      - run: |
          sbatch --nodes=2 job.sbatch
          srun -n 4 ./a
      - run: >-
          srun --gpus=8 torchrun
          --nnodes=2 train.py
"""

PYTHON = b'''import os, subprocess, submitit
SCRIPT = """%s"""
N = 4
command = f"sbatch --nodes={N} --wrap 'srun -n {N} a'"
os.system(command)
subprocess.run(["srun", "-N", str(N), "a"], check=True)
executor = submitit.AutoExecutor(folder="logs")
executor.update_parameters(timeout_min=4, nodes=2)
'''

NEXTFLOW = b'''process A {
  executor 'slurm'
  clusterOptions '--gres=gpu:2 --time=1-00'
  script:
  """
  srun -n ${task.cpus} ./a
  """
}
'''

SETTINGS = b"""extend-select = ["SB9"]
slurm-version = "24.05"
fail-on = "error"
[site]
partitions = ["a", "b"]
[per-file-ignores]
"*.md" = ["SB2"]
"""

SACCT = b"""JobID|JobName|Partition|State|ExitCode|ReqMem|MaxRSS|Elapsed|Timelimit|NodeList
7_[1-3]|a|gpu|PENDING|0:0|||00:00:00|UNLIMITED|None assigned
7_1.0|x|gpu|OUT_OF_MEMORY|0:125|4G|3999M|1-02:03:04|2-00:00:00|n[1-2]
"""

STATE = b"""{"path": "a.sh", "user": "u", "partition": "p", "gpu_hours": 1.0, "findings": {"SB101": ["x", "error", 2]}}
{"path": "b.sh", "user": "", "partition": "", "problem": "no"}
"""

ASSOCIATIONS = b"""Cluster|Account|User|Partition|Share|Priority|GrpJobs|GrpTRES|MaxJobs|MaxTRES|MaxWall|QOS|Def QOS
local|root||||1||||||||normal|
local|lab|ann|gpu|1||||4|gres/gpu=8,node=2|1-00:00:00|normal,long|normal
"""


@cache
def folder_files() -> dict[str, tuple[bytes, ...]]:
    """The files of a folder, each of which is read by some verb: one of each name's contents is drawn."""
    from damage import CONFIGURATION, LISTING, LOG, SHORT, seeds_of

    scripts = tuple(each for each in seeds_of("script") if b"\0" not in each and len(each) < 4000)
    snippet = SHORT.encode()
    cells = [
        {"cell_type": "markdown", "source": ["# Jobs\n", "```bash\n", *SHORT.splitlines(True), "```"], "metadata": {}},
        {"cell_type": "code", "source": "%%bash\n" + SHORT, "metadata": {}, "outputs": [], "execution_count": 1},
    ]
    book = json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}, indent=1).encode()
    outputs = [path.read_bytes() for path in sorted((DATA / "site").iterdir()) if path.name != "sinfo.txt"]
    return {
        JOB: scripts,
        "env.sh": (b"export NCCL_DEBUG=INFO MASTER_PORT=29500\ncd $SLURM_SUBMIT_DIR\n", *scripts[::40]),
        "page.md": (b"# Jobs\n\n```bash\n" + snippet + b"```\n\n- item\n\n      srun a\n", *seeds_of("document")[::20]),
        "book.ipynb": (book,),
        "flow.yaml": (FLOW, WORKFLOW),
        "run.py": (PYTHON % snippet,),
        "main.nf": (NEXTFLOW,),
        "job.log": (LOG.encode(), *seeds_of("log")),
        ".gitignore": (b"*.tmp\n/build/**/x?[a-c]\n!keep.sh\n", b"**/a/**/b\n\\#x\n[!a-]*.sh\n# c\n\n!/*.sbatch\n"),
        "sbatchlint.toml": (CONFIGURATION.encode(), SETTINGS),
        "baseline.json": (
            b'{"version": 1, "files": {"job.sbatch": {"SB101": ["a1", "b2"], "SB206": ["c3"]}}}',
            b'{\n "version": 1,\n "files": {\n  "old/name.sbatch": {\n   "SB101": [\n    "a1"\n   ]\n  }\n }\n}\n',
        ),
        "sacct.txt": (
            b"JobID|State|ExitCode|Reason\n7|TIMEOUT|0:0|TimeLimit\n7.batch|CANCELLED|0:15|\n",
            SACCT,
        ),
        "state.jsonl": (STATE,),
        "empty.jsonl": (b"",),
        "profile.toml": ((ROOT / "sbatchlint" / "site" / "examples" / "example.toml").read_bytes(),),
        "scontrol.txt": (*outputs, LISTING.encode()),
        "sinfo.txt": ((DATA / "site" / "sinfo.txt").read_bytes(),),
        "assoc.txt": (ASSOCIATIONS,),
        "squeue.txt": (b"7|ann|gpu\n8|bob|\n8|bob|cpu\nx|y|z\n",),
    }


# Programs of Slurm that print a file of the folder.
PROGRAMS = {"scontrol": "scontrol.txt", "sinfo": "sinfo.txt", "sacctmgr": "assoc.txt", "squeue": "squeue.txt"}
PROGRAMS |= {"sacct": "sacct.txt", "sbatch": "sinfo.txt"}


def seeds() -> list[bytes]:
    """What is damaged: each file of the folder, behind its name."""
    return [name.encode() + b"\0" + content for name, contents in folder_files().items() for content in contents]


def _drawn_from(data: bytes) -> random.Random:
    return random.Random(zlib.crc32(data))


@contextmanager
def _folder(data: bytes, draw: random.Random) -> Iterator[Path]:
    """The folder as the current one, its file damaged whose name stands before the first NUL of the data."""
    name, _, content = data.partition(b"\0")
    files = folder_files()
    changed = name.decode("ascii", "replace")
    if changed not in files:
        changed, content = JOB, data
    with TemporaryDirectory() as temporary:
        folder = Path(temporary, "a", "b", "project")  # so that ../.. is within
        (folder / ".git").mkdir(parents=True)
        for each, usual in files.items():
            (folder / each).write_bytes(content if each == changed else draw.choice(usual))
        programs = Path(temporary, "bin")
        programs.mkdir()
        for each, printed in PROGRAMS.items():
            program = programs / each
            program.write_text(f"#!/bin/sh\nexec /bin/cat {folder / printed}\n")
            program.chmod(0o755)
        path = os.environ["PATH"]
        os.environ["PATH"] = str(programs)
        try:
            with chdir(folder):
                yield folder
        finally:
            os.environ["PATH"] = path


@contextmanager
def _streams(fed: bytes) -> Iterator[list[str]]:
    """Standard input with these bytes; what is written to the standard streams, by children too, ends in the list."""
    shown: list[str] = []
    saved = [os.dup(handle) for handle in range(3)]
    streams = sys.stdin, sys.stdout, sys.stderr
    with TemporaryFile() as reading, TemporaryFile() as writing:
        reading.write(fed)
        reading.seek(0)
        for stream in streams[1:]:
            stream.flush()
        for handle, file in enumerate((reading, writing, writing)):
            os.dup2(file.fileno(), handle)
        sys.stdin = open(0, closefd=False, encoding="utf-8", errors="surrogateescape")  # noqa: SIM115
        sys.stdout = open(1, "w", closefd=False, encoding="utf-8")  # noqa: SIM115
        sys.stderr = open(2, "w", closefd=False, encoding="utf-8", errors="backslashreplace")  # noqa: SIM115
        try:
            yield shown
        finally:
            for stream in (sys.stdout, sys.stderr):
                stream.flush()
            sys.stdin, sys.stdout, sys.stderr = streams
            for handle, each in enumerate(saved):
                os.dup2(each, handle)
                os.close(each)
            writing.seek(0)
            shown.append(writing.read().decode("utf-8", "replace"))


def run_verbs(data: bytes) -> None:
    """Runs a few drawn command lines."""
    draw = _drawn_from(data)
    with _folder(data, draw):
        for _ in range(4):
            line = drawn_line(draw)
            with _streams(draw.choice(folder_files()[JOB])) as shown:
                code = _code_of_child(line) if line[:1] == ["submit"] else _code(line)
            wrong = FAULT.search(shown[0])
            said = wrong[0] if wrong else f"exit code {code}"
            assert code in (0, 1, 2, 4) and wrong is None, f"{said} of {line}\n{shown[0][-2000:]}"


def _code(line: list[str]) -> object:
    try:
        return main(line)
    except SystemExit as leaving:
        return leaving.code or 0


def _code_of_child(line: list[str]) -> int:
    """The same of a verb that becomes another program."""
    child = os.fork()
    if child == 0:
        code: object = 99
        try:
            code = _code(line)
            sys.stdout.flush()
            sys.stderr.flush()
        finally:
            os._exit(code if isinstance(code, int) else 99)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def drawn_line(draw: random.Random) -> list[str]:
    """A command line: a verb, a few of its options, and its arguments."""
    verbs = list(PARSERS)
    verb = draw.choices(verbs, [OFTEN.get(each, 1) for each in verbs])[0]
    actions = [each for each in PARSERS[verb]()._actions if each.dest not in ("help", "version")]
    options = [each for each in actions if each.option_strings]
    line = [verb] if verb else []
    many = draw.choice((0, 1, 2, 2, 3, 5))
    chosen = draw.sample(options, min(many, len(options)))
    for action in [*[each for each in options if each.required], *chosen]:
        name = draw.choice(action.option_strings)
        if action.nargs == 0:
            line.append(name)
        elif action.nargs in ("?", "+"):
            values = [value_of(action, draw) for _ in range(draw.choice((1, 2)))]
            line += [f"{name}={values[0]}"] if action.nargs == "?" else [name, *values]
        else:
            line += [name, value_of(action, draw)]
    if verb == "submit" and draw.random() < 0.7:
        line.append("--lint-only")
    if not verb and draw.random() < 0.8:
        line.append("--no-cache")
    if verb == "site" and "--from" not in line and draw.random() < 0.7:
        line += ["--from", *(draw.choice(VALUES["outputs"]) for _ in range(draw.choice((1, 2, 3))))]
        return line
    for action in actions:
        if not action.option_strings:
            many = draw.choice((1, 1, 2, 3)) if action.nargs in ("*", "+") else 1
            line += [value_of(action, draw) for _ in range(many)]
    return line


def value_of(action: argparse.Action, draw: random.Random) -> str:
    if action.choices is not None:
        return str(draw.choice(list(action.choices)))
    known = VALUES.get(action.dest) or VALUES.get(str(action.metavar)) or ("x",)
    return draw.choice(known)


# What the program, or a server, says of itself where it failed.
FAULT = re.compile(r"^(?:fault: |(?:sbatchlint|error): .*itself failed).*", re.MULTILINE)
ERROR = re.compile(r'"error": \{"code": (?!-32800)[^}]*\}')  # but for what is cancelled


# --- dialogues -------------------------------------------------------------------------------------------


def speak_as_editor(data: bytes) -> None:
    """Opens a damaged file in the server, asks at drawn places, changes it, and asks again."""
    draw = _drawn_from(data)
    with _folder(data, draw) as folder:
        name, _, content = data.partition(b"\0")
        name = name if name.decode("ascii", "replace") in folder_files() else JOB.encode()
        path = folder / name.decode()
        text = (content or data).decode("utf-8", "replace")
        with _streams(_framed(_asked(draw, path, text))) as shown:
            main(["server"])
        wrong = ERROR.search(shown[0])
        assert wrong is None, f"server: {wrong and wrong[0]}\n{shown[0][-4000:]}"


def _asked(draw: random.Random, path: Path, text: str) -> Iterator[tuple[str, object]]:
    document = {"uri": path.as_uri()}
    lines = text.split("\n")

    def place() -> dict[str, int]:
        line = draw.randrange(len(lines) + 1)
        length = len(lines[line]) if line < len(lines) else 0
        return {"line": line, "character": draw.randrange(length + 2)}

    def questions() -> Iterator[tuple[str, object]]:
        for _ in range(4):
            at = {"textDocument": document, "position": place()}
            for what in ("hover", "completion", "definition"):
                yield f"textDocument/{what}", at
        first, last = sorted((place(), place()), key=lambda each: (each["line"], each["character"]))
        around = {"start": first, "end": last}
        yield "textDocument/codeLens", {"textDocument": document}
        yield "textDocument/codeAction", {"textDocument": document, "range": around, "context": {"diagnostics": []}}
        asked = [document["uri"], draw.choice(("svg", "html", "text"))]
        yield "workspace/executeCommand", {"command": "sbatchlint.plan", "arguments": asked}

    opened = {**document, "languageId": "shellscript", "version": 1, "text": text}
    yield "initialize", {"processId": None, "rootUri": path.parent.as_uri(), "capabilities": {}}
    yield "!initialized", {}
    yield "!textDocument/didOpen", {"textDocument": opened}
    yield from questions()
    first, last = sorted((place(), place()), key=lambda each: (each["line"], each["character"]))
    written = draw.choice(("", "é\U0001f600", "\n#SBATCH -N 2\n", text[:99]))
    change = {"range": {"start": first, "end": last}, "text": written}
    yield "!textDocument/didChange", {"textDocument": {**document, "version": 2}, "contentChanges": [change]}
    yield from questions()
    yield "!textDocument/didClose", {"textDocument": document}
    yield "shutdown", None
    yield "!exit", None


def _framed(calls: Iterator[tuple[str, object]]) -> bytes:
    out = []
    for number, (method, parameters) in enumerate(calls):
        message: dict[str, object] = {"jsonrpc": "2.0", "method": method.removeprefix("!"), "params": parameters}
        message |= {} if method.startswith("!") else {"id": number}
        encoded = json.dumps(message).encode()
        out.append(b"Content-Length: %d\r\n\r\n%s" % (len(encoded), encoded))
    return b"".join(out)


def call_tools(data: bytes) -> None:
    """Calls the tools of a coding agent with drawn arguments, about a damaged file and its text."""
    draw = _drawn_from(data)
    content = data.partition(b"\0")[2]
    with _folder(data, draw) as folder:
        tools = Tools(Folder(str(folder)))
        for _ in range(5):
            tool, arguments = draw.choice(("check", "plan", "fix", "convert", "diagnose", "explain")), {}
            arguments = _arguments(tool, draw, (content or data).decode("utf-8", "replace"))
            try:
                tools.call(tool, arguments)
            except InputError:
                continue


def _arguments(tool: str, draw: random.Random, text: str) -> dict[str, Any]:
    if tool == "explain":
        return {"name": draw.choice((text[:30], draw.choice(registry().entries).code, "launch"))}
    found: dict[str, Any] = draw.choice(({"script": text}, {"path": JOB}, {"path": "page.md"}, {"path": "run.py"}))
    maybe: dict[str, Sequence[Any]] = {
        "detail": ("brief", "full"),
        "start": (0, 1, 1000),
        "slurm_version": RELEASES,
        "settings": ({}, {"select": ["ALL"]}, {"site": {"pyxis": True}}, {text[:9]: text}),
    }
    if tool in ("check", "plan", "fix"):
        maybe |= {"sbatch_options": VALUES["OPTIONS"], "nodes": (1, 4)}
    if tool == "fix":
        maybe |= {"unsafe": (True, False)}
    if tool == "convert":
        found |= {"nodes": draw.choice((2, 4))}
        maybe |= {"to": ("torchrun", "accelerate", "deepspeed", "srun"), "container": ("pyxis", "apptainer")}
    if tool == "diagnose":
        maybe |= {"log_paths": (["job.log"], ["."], ["absent"]), "logs": ([text], [text, ""]), "sacct": (text,)}
    for key in draw.sample(sorted(maybe), draw.randrange(4)):
        found[key] = draw.choice(maybe[key])
    return found


MOST_MESSAGES = 60  # of one dialogue: repeated without end they would only take long


def speak_as_agent(data: bytes) -> None:
    """The same over the protocol: what is damaged are the messages."""
    fed = b"".join((data.partition(b"\0")[2] or data).splitlines(True)[:MOST_MESSAGES])
    with _folder(JOB.encode() + b"\0", _drawn_from(data)):
        handle, writing = os.pipe()
        feeding = Thread(target=_feed, args=(writing, fed), daemon=True)
        with _streams(b"") as shown:
            os.dup2(handle, 0)
            os.close(handle)
            feeding.start()
            main(["mcp", "--root", "."])
        feeding.join()
        assert FAULT.search(shown[0]) is None, f"mcp: a fault\n{shown[0][-2000:]}"


def _feed(writing: int, fed: bytes) -> None:
    with open(writing, "wb") as pipe:
        try:
            pipe.write(fed)
        except OSError:
            pass
