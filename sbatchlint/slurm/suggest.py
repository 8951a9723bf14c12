"""What an unknown option probably stands for."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from ..source.records import NamedTuple
from .options import matches, plugin_options, table
from .versions import MAJORS

# Names of the same thing elsewhere: other schedulers, older releases, other tools.
SYNONYMS = {
    "cores-per-task": "cpus-per-task",
    "cpu-per-task": "cpus-per-task",
    "cwd": "chdir",
    "email": "mail-user",
    "env": "export",
    "export-env": "export",
    "gpu-per-node": "gpus-per-node",
    "gpu-per-task": "gpus-per-task",
    "jobname": "job-name",
    "licence": "licenses",
    "licences": "licenses",
    "log": "output",
    "log-file": "output",
    "logfile": "output",
    "mail": "mail-user",
    "max-time": "time",
    "memory": "mem",
    "memory-per-cpu": "mem-per-cpu",
    "memory-per-gpu": "mem-per-gpu",
    "name": "job-name",
    "ncpus": "cpus-per-task",
    "ngpus": "gpus",
    "ngpus-per-node": "gpus-per-node",
    "nnodes": "nodes",
    "nprocs": "ntasks",
    "nprocs-per-node": "ntasks-per-node",
    "nproc-per-node": "ntasks-per-node",
    "num-gpus": "gpus",
    "num-nodes": "nodes",
    "num-tasks": "ntasks",
    "procs-per-node": "ntasks-per-node",
    "project": "account",
    "queue": "partition",
    "rerun": "requeue",
    "stderr": "error",
    "stdin": "input",
    "stdout": "output",
    "time-limit": "time",
    "timelimit": "time",
    "wall-time": "time",
    "walltime": "time",
    "working-dir": "chdir",
    "working-directory": "chdir",
}

# Options of releases before 20.11 that only changed their names.
RENAMED = {"share": "oversubscribe", "workdir": "chdir"}


class Suggestion(NamedTuple):
    """`written`: what to write for the option, dashes included, and the `=` where another sign stands for it.

    `replaced`: how many characters of the word it replaces. `sure`: only the case or `_` for `-` differ, or Slurm
    renamed it. `argument`: none, required or optional.
    """

    written: str
    replaced: int
    sure: bool
    argument: str


@cache
def _names(command: str, versions: tuple[str, ...]) -> tuple[str, ...]:
    """Long names that every one of these releases has."""
    return tuple(
        name
        for name in table(command, versions[-1]).names
        if all(name in table(command, version).names for version in versions)
    )


def takers(written: str) -> Mapping[str, tuple[str, ...]]:
    """Which commands take this option, and in which releases."""
    found: dict[str, tuple[str, ...]] = {}
    for command in ("sbatch", "srun", "salloc"):
        if written.startswith("--"):
            releases = tuple(version for version in MAJORS if len(matches(written[2:], command, version)) == 1)
        else:
            releases = tuple(version for version in MAJORS if written[1:] in table(command, version).letters)
        if releases:
            found[command] = releases
    return found


def suggest(written: str, versions: tuple[str, ...], command: str = "sbatch") -> Suggestion | None:
    """The option that was probably meant; only names that all these releases have."""
    if not written.startswith("--"):
        return None
    name = written[2:]
    names = _names(command, versions)
    newest = versions[-1]

    def given(suggested: str, sure: bool = False, replaced: int = len(written), sign: str = "") -> Suggestion:
        option = table(command, newest).names.get(suggested) or plugin_options()[suggested]
        return Suggestion(f"--{suggested}{sign}", replaced, sure, option.argument(newest))

    folded = name.replace("_", "-").lower()
    if folded != name and (folded in names or folded in plugin_options()):
        return given(folded, sure=True)
    renamed = RENAMED.get(name)
    if renamed in names:
        return given(renamed, sure=True)
    head, colon, _ = name.partition(":")
    if colon and head in names:
        return given(head, replaced=len(head) + 3, sign="=")
    synonym = SYNONYMS.get(folded)
    if synonym in names:
        return given(synonym)
    if folded.startswith("-"):
        return None
    near = _nearest(folded, [*names, *plugin_options()])
    return given(near) if near is not None else None


def _nearest(name: str, names: list[str]) -> str | None:
    """The one name within two edits (one in short names) that is nearer than all others."""
    limit = 2 if len(name) >= 6 else 1
    best: list[str] = []
    for each in names:
        if abs(len(each) - len(name)) > limit or len(each) < 3:
            continue
        distance = edit_distance(name, each)
        if distance > limit:
            continue
        if distance < limit:
            limit, best = distance, []
        best.append(each)
    return best[0] if len(best) == 1 else None


def edit_distance(first: str, second: str) -> int:
    """Insertions, deletions, replacements and swaps of neighbours between two words."""
    before: list[int] = []
    row = list(range(len(second) + 1))
    for i, a in enumerate(first, 1):
        older, before, row = before, row, [i]
        for j, b in enumerate(second, 1):
            cost = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (a != b))
            if i > 1 and j > 1 and a == second[j - 2] and first[i - 2] == b:
                cost = min(cost, older[j - 2] + 1)
            row.append(cost)
    return row[-1]
