"""Slurm refuses the job: a number is not valid.

`Invalid numeric value "4.0" for --ntasks.`, `"2x" is not a valid node count`: nothing is submitted. Numbers of tasks,
CPUs and nodes are whole, at least 1 and written in digits. `--nodes` takes ranges (`2-4`) and the suffixes k and m, and
from 23.02 on lists (`2,4,8`) and steps (`2-8:2`); lists of hosts need whole brackets (`node[1-4]`).

Before 23.02, `--nodelist` must not name more hosts than `--nodes` allows.

## Fix

None: it is rarely known which number was meant.

## References

sbatch(1); `parse_int()` and `verify_node_count()` in src/common/proc_args.c, `_opt_verify()` in src/sbatch/opt.c, Slurm
20.11 to 26.05; seen on 22.05, 23.11, 24.11 and 26.05.
"""

from collections.abc import Iterator

from sbatchlint.analysis.directives.typos import typo
from sbatchlint.analysis.directives.wrong_values import WrongValue, wrong_values
from sbatchlint.check import Bad, Card, Finding, Good, Job
from sbatchlint.slurm.grammar.hosts import hosts
from sbatchlint.slurm.grammar.numbers import node_count
from sbatchlint.slurm.versions import is_before
from sbatchlint.source.regex import Regex
from sbatchlint.triggers import Options, Refused

CARD = Card(
    "SB125", "invalid-count", severity="error", fix="never", since="0.1.0", alone=True,
    when=Options("nodelist") | Refused("count"), seen="live runs of Slurm 22.05, 23.11, 24.11 and 26.05",
)  # fmt: skip

# An option of mpirun: `-np 4`.
_OF_MPIRUN = Regex(r"-np[ =]+(\"?\$?\{?\w+\}?\"?)(?=\s|$)")


def check(job: Job) -> Iterator[Finding]:
    for wrong in wrong_values(job, "count"):
        message = f"{wrong.fault}{_advice(wrong)}"
        of_mpirun = _OF_MPIRUN.match(job.source.text, wrong.setting.option_span.start)
        if wrong.setting.name == "ntasks" and of_mpirun is not None:
            message = f"{wrong.fault.partition(' ')[0]} reads mpirun's `-np` as `-n p`, and refuses it; write `-n"
            message += f" {of_mpirun[1]}`"
        severity = "warning" if wrong.conditional else None
        yield Finding(wrong.span, message, severity, versions=wrong.versions)
    yield from _too_many_hosts(job)


# What to write, by what is wrong.
_INSTEAD = {
    "takes only a whole number": "write one",
    "takes a number": "write one",
    "is at least 1": "write 1 or more",
    "is at least 0": "write 0 or more",
    "the number is too large": "write a smaller one",
    "the number is out of range": "write a smaller one",
    "cannot be negative": "write 0 or more",
}


def _advice(wrong: WrongValue) -> str:
    """What to write for a value, as the end of a sentence; '' where the reason says it."""
    if wrong.instead is not None:
        return f"; write {wrong.instead}"
    return next((f"; {each}" for end, each in _INSTEAD.items() if wrong.reason.endswith(end)), "")


def _too_many_hosts(job: Job) -> Iterator[Finding]:
    """Findings on a `--nodelist` that names more hosts than the job may have nodes."""
    directives = job.directives
    versions = [version for version in job.versions.majors if is_before(version, "23.02")]
    for component in range(directives.components):
        nodes, listed = directives.last("nodes", component), directives.last("nodelist", component)
        if not versions or nodes is None or listed is None or nodes.text is None or listed.text is None:
            continue
        allowed, named = node_count(nodes.text, versions[-1]), hosts(listed.text, versions[-1])
        if allowed is None or named is None or not 0 < allowed.maximum < len(named):
            continue
        if typo(directives, nodes) is not None or typo(directives, listed) is not None:
            continue
        refuses = job.versions.slurm(versions) if job.versions.suffix(versions) else "sbatch"
        separator = "=" if nodes.written.startswith("--") else " "
        enough = f"{nodes.written}{separator}{len(named)}"
        message = (
            f"{len(named)} nodes are listed, but `{nodes.as_written}` (line {job.line(nodes.span.start)}) allows"
            f" {allowed.maximum}: {refuses} refuses the script; list fewer, or write {enough}"
        )
        span = listed.value_place
        yield Finding(span, message, related=[(nodes.span, "--nodes")], versions=versions)


CASES = [
    Bad("#!/bin/bash\n#SBATCH --ntasks=«4.0» -c «0»\nsrun ./a.out\n"),
    Bad("#!/bin/bash\n#SBATCH -n «4x»\nsrun ./a.out\n"),
    Bad("#!/bin/bash\n#SBATCH --nodes=«4-2»\nsrun ./a.out\n", title="the smaller number comes first"),
    Bad("#!/bin/bash\n#SBATCH -N «2,4,8»\nsrun ./a.out\n", title="lists came with 23.02", severity="info"),
    Bad(
        "#!/bin/bash\n#SBATCH --nodes=2\n#SBATCH --nodelist=«node[01-03]»\nsrun ./a.out\n",
        title="too many hosts",
        severity="info",
    ),
    Bad("#!/bin/bash\n#SBATCH --nodes=2\nsrun -n«p» 4 ./a.out\n", title="an option of mpirun"),
    Bad("#!/bin/bash\n#SBATCH --exclude=«node[1-4»\nsrun ./a.out\n", title="half a bracket"),
    Good("#!/bin/bash\n#SBATCH -N 2-4 --ntasks-per-node=08\nsrun ./a.out\n"),
    Good(
        "#!/bin/bash\n#SBATCH -N 2,4,8\n#SBATCH -w node[1-9]\nsrun ./a.out\n",
        settings={"slurm-version": "23.02-26.05"},
        title="of newer releases",
    ),
    Good("#!/bin/bash\n#SBATCH --nodes=2-3 --nodelist=node[1-3] --exclude=node7\nsrun ./a.out\n"),
]
