"""What an unknown option probably stands for."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache, lru_cache
from typing import NamedTuple

from sbatchlint.slurm.options import matches, plugin_options, table
from sbatchlint.slurm.versions import MAJORS

# Names of the same thing elsewhere: PBS, Grid Engine, LSF, Torque's and Slurm's own other commands, launchers.
SYNONYMS = {
    "account-name": "account",
    "allocation": "account",
    "array-spec": "array",
    "cores-per-task": "cpus-per-task",
    "cpu-per-gpu": "cpus-per-gpu",
    "cpu-per-task": "cpus-per-task",
    "cpus-task": "cpus-per-task",
    "cwd": "chdir",
    "depend": "dependency",
    "dependencies": "dependency",
    "duration": "time",
    "email": "mail-user",
    "email-type": "mail-type",
    "email-user": "mail-user",
    "env": "export",
    "err-file": "error",
    "errfile": "error",
    "error-file": "error",
    "exclude-nodes": "exclude",
    "export-env": "export",
    "feature": "constraint",
    "features": "constraint",
    "gpu-per-node": "gpus-per-node",
    "gpu-per-task": "gpus-per-task",
    "hosts": "nodelist",
    "jobname": "job-name",
    "licence": "licenses",
    "licences": "licenses",
    "log": "output",
    "log-file": "output",
    "logfile": "output",
    "mail": "mail-user",
    "mail-address": "mail-user",
    "mail-events": "mail-type",
    "max-time": "time",
    "mem-cpu": "mem-per-cpu",
    "mem-gpu": "mem-per-gpu",
    "mem-node": "mem",
    "mem-per-core": "mem-per-cpu",
    "mem-per-node": "mem",
    "memory": "mem",
    "memory-per-cpu": "mem-per-cpu",
    "memory-per-gpu": "mem-per-gpu",
    "memory-per-node": "mem",
    "name": "job-name",
    "ncpus": "cpus-per-task",
    "ncpus-per-task": "cpus-per-task",
    "ngpus": "gpus",
    "ngpus-per-node": "gpus-per-node",
    "nnodes": "nodes",
    "node-list": "nodelist",
    "nodes-list": "nodelist",
    "nproc": "ntasks",
    "nproc-per-node": "ntasks-per-node",
    "nprocs": "ntasks",
    "nprocs-per-node": "ntasks-per-node",
    "num-gpus": "gpus",
    "num-nodes": "nodes",
    "num-tasks": "ntasks",
    "out-file": "output",
    "outfile": "output",
    "output-file": "output",
    "processes": "ntasks",
    "procs-per-node": "ntasks-per-node",
    "project": "account",
    "qos-name": "qos",
    "qosname": "qos",
    "queue": "partition",
    "ram": "mem",
    "rerun": "requeue",
    "reserve": "reservation",
    "runtime": "time",
    "std-err": "error",
    "std-out": "output",
    "stderr": "error",
    "stdin": "input",
    "stdout": "output",
    "time-limit": "time",
    "timelimit": "time",
    "wall-time": "time",
    "walltime": "time",
    "work-dir": "chdir",
    "working-dir": "chdir",
    "working-directory": "chdir",
}


class Gone(NamedTuple):
    """An option of releases before 20.11: where it was removed or renamed, and its name since (None: none)."""

    since: str
    name: str | None


# Read off the option tables of sbatch in 14.11 to 20.11.
GONE = {
    "blrts-image": Gone("18.08", None),
    "checkpoint": Gone("20.02", None),
    "checkpoint-dir": Gone("19.05", None),
    "cnload-image": Gone("18.08", None),
    "conn-type": Gone("18.08", None),
    "geometry": Gone("18.08", None),
    "ioload-image": Gone("18.08", None),
    "linux-image": Gone("18.08", None),
    "mem_bind": Gone("19.05", "mem-bind"),
    "mincores": Gone("19.05", "cores-per-socket"),
    "minsockets": Gone("19.05", "sockets-per-node"),
    "minthreads": Gone("19.05", "threads-per-core"),
    "mloader-image": Gone("18.08", None),
    "no-rotate": Gone("18.08", None),
    "ramdisk-image": Gone("18.08", None),
    "share": Gone("19.05", "oversubscribe"),
    "workdir": Gone("19.05", "chdir"),
}


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


@lru_cache(maxsize=1024)
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
    gone = GONE.get(name)
    if gone is not None and gone.name in names:
        return given(gone.name, sure=True)
    head, colon, _ = name.partition(":")
    if colon and head in names:
        return given(head, replaced=len(head) + 3, sign="=")
    letter = table(command, newest).letters.get(name)
    if letter is not None and letter.name in names:
        return given(letter.name)
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
