"""The GPU options of the job contradict each other.

`--gres=gpu:4` and `--gpus-per-node=8` both say how many GPUs a node has. Since 26.05 sbatch refuses the two together,
even with equal numbers; before, the number in `--gres` counted. `--ntasks-per-gpu` excludes `--ntasks-per-node`,
`--gpus-per-task` and `--gpus-per-socket`. `--gpus-per-task` needs a number of tasks or of GPUs, `--gpus-per-socket`
needs `--sockets-per-node`, `--mem-per-gpu` and `--cpus-per-gpu` need GPUs. And the numbers have to come out: `--gpus=8`
with `--gpus-per-node=3` is refused, and so are fewer GPUs than nodes.

A finding names the releases that refuse the request. It is a warning where most of the range still take it as it is
meant, and where the command line of sbatch may well add what is missing.

## Fix

Where `--gres` and `--gpus-per-node` ask for the same, drops the GPUs from `--gres` and keeps a type that it names.
Safe: the job asks for the same GPUs.

## References

sbatch(1); `gres_job_state_validate()` in src/interfaces/gres.c and `validate_options_salloc_sbatch_srun()` in
src/common/slurm_opt.c, Slurm 20.11 to 26.05; seen on 22.05, 23.11, 24.11 and 26.05.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from sbatchlint.check import Bad, Card, Cause, Finding, Fix, Good, Job

CARD = Card("SB205", "gpu-request-conflict", severity="error", fix="sometimes", since="0.1.0")

ADVICE = {
    "gres-twice": "keep one of them",
    "tasks-per-gpu": "keep one of them",
    "tres-per-task": "keep one of them",
    "gpus-and-shares": "ask either for whole GPUs or for shares of them",
    "typed-and-untyped": "name the type everywhere or nowhere",
    "gpus-per-socket": "add --sockets-per-node, or ask with --gpus-per-node",
    "gpus-per-task": "add --ntasks, or --gpus",
    "tasks-without-gpus": "add --gpus, or --ntasks",
    "memory-without-gpus": "ask for GPUs too, or write --mem",
    "cpus-without-gpus": "ask for GPUs too, or write --cpus-per-task",
    "gpus-below-nodes": "ask for at least one GPU for each node",
    "gpu-sums": "make the numbers agree",
    "gpu-nodes": "make the numbers agree",
    "gpu-tasks": "make the numbers agree",
    "tasks-below-nodes": "make the numbers agree",
    "gpu-types": "ask for one type",
    "zero-before-others": "leave the part with 0 out",
}
# What is missing in these may come from the command line of sbatch, unless the script goes into it itself.
MISSING = {
    "gpus-per-task": ("nodes", "nodelist"),
    "tasks-without-gpus": ("nodes", "nodelist"),
    "memory-without-gpus": ("ntasks-per-gpu",),
    "cpus-without-gpus": ("ntasks-per-gpu",),
}
# What says nothing in Slurm's messages.
PREFIX = re.compile(r"^(?:Failed to validate job spec[.,] |gres_job_state_validate: )")
WITHOUT_GPUS = ("tasks-without-gpus", "memory-without-gpus", "cpus-without-gpus")


def check(job: Job) -> Iterator[Finding]:
    for cause in job.conflicts():
        if cause.kind not in ADVICE or cause.kind == "tres-per-task" and not cause.setting("gpus-per-task"):
            continue
        # Where the commands show what is missing, it is GPUs: another check.
        if not (cause.kind in WITHOUT_GPUS and job.gpu_need() is not None):
            yield _finding(job, cause)


def _finding(job: Job, cause: Cause) -> Finding:
    majors = job.versions.majors
    twice = job.twice_asked_gpus(cause)
    at = cause.settings[-1] if twice is None else twice.gres
    related = [(each.span, "with this") for each in cause.settings if each is not at]
    rows = [(each.name, job.line(each.span.start)) for each in cause.settings]
    here = job.line(at.span.start)
    names = [f"--{name}" + ("" if row == here else f" (line {row})") for name, row in rows]
    shown = " and ".join((", ".join(names[:-1]), names[-1])) if len(names) > 1 else names[0]
    when = job.versions.said(cause.refused)
    severity = "error" if 2 * len(cause.refused) > len(majors) else "warning"
    unless = ""
    missing = MISSING.get(cause.kind)
    if missing is not None and not any(job.directives.last(name, at.line.component) for name in missing):
        severity, unless = "warning", ", unless its command line adds what is missing"
    fix = None
    if twice is not None and twice.edits is not None:
        fix = Fix("drop the GPUs from --gres", twice.edits, safe=True)
    if twice is not None and twice.equal is False:
        severity = "error"
        message = f"{shown} do not ask for the same GPUs on a node{_unequal(cause, when)}"
    elif not cause.refused:
        message = f"{shown} both say how many GPUs a node has, and --gres counts"
    else:
        said = PREFIX.sub("", cause.message.strip())
        together = " together" if len(names) > 1 else ""
        message = f"sbatch refuses {shown}{together}{when}{unless}: `{said}`"
    return Finding(at.span, f"{message}; {ADVICE[cause.kind]}", severity, related, fix)


def _unequal(cause: Cause, when: str) -> str:
    if not cause.refused:
        return ", and --gres counts"
    return f": sbatch refuses them{when}, and --gres counts before" if when else ": sbatch refuses them"


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2 --gpus-per-node=8
        #SBATCH «--gres=gpu:8»
        srun ./a.out
        """,
        severity="warning",
        fixed="""\
        #!/bin/bash
        #SBATCH --nodes=2 --gpus-per-node=8
        srun ./a.out
        """,
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH «--gres=gpu:4»
        #SBATCH --gpus-per-node=8
        srun ./a.out
        """,
        title="different numbers",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2 --ntasks-per-node=4
        #SBATCH --gpus=8 «--ntasks-per-gpu=1»
        srun ./a.out
        """,
    ),
    Bad("#!/bin/bash\n#SBATCH «--gpus-per-task=1» --nodes=1-2\nsrun ./a.out\n", title="how many tasks is not said"),
    Bad("#!/bin/bash\n#SBATCH --gpus=8 «--gpus-per-node=3»\nsrun ./a.out\n"),
    Bad("#!/bin/bash\n#SBATCH --nodes=4 «--gpus=2»\nsrun ./a.out\n"),
    Bad(
        "#!/bin/bash\n#SBATCH --ntasks-per-node=4 «--gpus-per-task=1»\nsrun ./a.out\n",
        severity="warning",
        title="for `sbatch --nodes=8`",
    ),
    Good("#!/bin/bash\n#SBATCH --nodes=2 --gpus=16 --gpus-per-node=8\nsrun ./a.out\n"),
    Good("#!/bin/bash\n#SBATCH --nodes=2 --gpus-per-task=1\nsrun ./a.out\n", title="two nodes, so two tasks"),
    Good("#!/bin/bash\n#SBATCH --gpus-per-node=4 --gres=nvme:1\nsrun ./a.out\n", title="no GPUs in --gres"),
]
