"""Slurm does not take the number.

`Invalid numeric value "4.0" for --ntasks.`, `"2x" is not a valid node count`: nothing is submitted. Numbers of tasks,
CPUs and nodes are whole, at least 1 and in digits. `--nodes` takes ranges (`2-4`) and the suffixes k and m, and from
23.02 on lists (`2,4,8`) and steps (`2-8:2`); lists of hosts need whole brackets (`node[1-4]`).

Before 23.02, `--nodelist` must not name more hosts than `--nodes` allows.

## Fix

None: which number is meant is rarely known.

## References

sbatch(1); `parse_int()` and `verify_node_count()` in src/common/proc_args.c, `_opt_verify()` in src/sbatch/opt.c, Slurm
20.11 to 26.05; seen on 22.05, 23.11, 24.11 and 26.05.
"""

from __future__ import annotations

from collections.abc import Iterator

from sbatchlint.check import Bad, Card, Finding, Good, Job
from sbatchlint.triggers import Options, Refused

CARD = Card(
    "SB125", "invalid-count", severity="error", fix="never", since="0.1.0",
    when=Options("nodelist") | Refused(),
)  # fmt: skip


def check(job: Job) -> Iterator[Finding]:
    for wrong in job.directives.wrong_values("count"):
        when = job.versions.in_brackets(wrong.versions)
        advice = "" if wrong.instead is None else f"; write {wrong.instead}"
        # What the controller says is passed on behind a colon.
        refuser = "slurmctld" if wrong.says.startswith("Batch job") else "sbatch"
        says = wrong.says.removeprefix("Batch job submission failed: ")
        yield Finding(wrong.span, f"{refuser} refuses the script{when}, `{says}`: {wrong.reason}{advice}")
    for many in job.too_many_hosts():
        when = job.versions.in_brackets(many.versions)
        message = (
            f"the list names {many.hosts} hosts, and --nodes on line {job.line(many.nodes.span.start)} allows "
            f"{many.maximum}: sbatch refuses the script{when}, `{many.says}`; write --nodes={many.hosts}"
        )
        yield Finding(many.setting.value_span or many.setting.span, message, related=[(many.nodes.span, "--nodes")])


CASES = [
    Bad("#!/bin/bash\n#SBATCH --ntasks=«4.0» -c «0»\nsrun ./a.out\n"),
    Bad("#!/bin/bash\n#SBATCH -n «4x»\nsrun ./a.out\n"),
    Bad("#!/bin/bash\n#SBATCH --nodes=«4-2»\nsrun ./a.out\n", title="the smaller number comes first"),
    Bad("#!/bin/bash\n#SBATCH -N «2,4,8»\nsrun ./a.out\n", title="lists came with 23.02"),
    Bad("#!/bin/bash\n#SBATCH --nodes=2\n#SBATCH --nodelist=«node[01-03]»\nsrun ./a.out\n", title="too many hosts"),
    Bad("#!/bin/bash\n#SBATCH --exclude=«node[1-4»\nsrun ./a.out\n", title="half a bracket"),
    Good("#!/bin/bash\n#SBATCH -N 2-4 --ntasks-per-node=08\nsrun ./a.out\n"),
    Good(
        "#!/bin/bash\n#SBATCH -N 2,4,8\n#SBATCH -w node[1-9]\nsrun ./a.out\n",
        settings={"slurm-version": "23.02-26.05"},
        title="of newer releases",
    ),
    Good("#!/bin/bash\n#SBATCH --nodes=2-3 --nodelist=node[1-3] --exclude=node7\nsrun ./a.out\n"),
]
