"""Two options exclude each other.

With `--mem` and `--mem-per-cpu` together sbatch stops: "--mem, --mem-per-cpu, and --mem-per-gpu are mutually
exclusive." Other pairs are `--exclusive` with `--oversubscribe`, `--cpus-per-gpu` with `--cpus-per-task`, `--core-spec`
with `--thread-spec`, `--bb` with `--bbf`, `--nodes` with `--distribution=arbitrary`, a `--segment` that does not divide
the nodes, a deadline before the begin. `--hint` beside `--threads-per-core`, `--ntasks-per-core` or `-B` is dropped
without a word.

Which pairs are refused depends on the release: a finding names the releases, and is a warning where most releases of
the range still take the pair. Requests for GPUs are gpu-request-conflict's.

## Fix

Removes a `--hint` that sbatch drops. Safe: nothing changes. Which one of two other options was meant is not known.

## References

sbatch(1); `validate_options_salloc_sbatch_srun()` in src/common/slurm_opt.c and `_opt_verify()` in src/sbatch/opt.c,
Slurm 20.11 to 26.05; seen on 22.05, 23.11, 24.11 and 26.05.
"""

from __future__ import annotations

from collections.abc import Iterator

from sbatchlint.analysis.directives.conflicts import Conflict, conflicts, named
from sbatchlint.analysis.directives.wrong_values import SUBMISSION_FAILED
from sbatchlint.check import Bad, Card, Finding, Fix, Good, Job
from sbatchlint.slurm.rewriting import removal
from sbatchlint.triggers import Options

CARD = Card(
    "SB202", "conflicting-options", severity="error", fix="sometimes", since="0.1.0",
    when=Options(
        "array", "batch", "bbf", "cpus-per-gpu", "deadline", "distribution", "external", "extra-node-info", "hint",
        "licenses", "mem-per-cpu", "mem-per-gpu", "nodelist", "ntasks-per-core", "oversubscribe", "resources",
        "segment", "thread-spec", "time-min", "tres-per-task", "wckey",
    ),
)  # fmt: skip

# What to do, where it is not to keep one of the two.
ADVICE = {
    "array-in-het-job": "drop --array, or submit jobs of one component",
    "batch": "name features of --constraint alone",
    "deadline": "let the deadline leave room for the job",
    "excluded-nodes": "take these nodes out of one of the two",
    "external": "remove it, as an external job has no script",
    "licenses-in-het-job": "ask for the licenses in the first component",
    "no-tasks": "ask for a socket or more",
    "time-min": "let --time-min be no longer than --time",
    "wckey": "begin the key with another character",
    "arbitrary": "give the nodes with --nodelist, or drop the distribution",
    "arbitrary-without-nodes": "name the nodes with --nodelist, one for each task",
    "begin": "let the deadline be later than the begin",
    "ntasks-per-core": "lower --ntasks-per-core, or raise --threads-per-core",
    "plane": "ask for more tasks with --ntasks, or for smaller planes",
    "segment": "ask for a multiple of the segment",
}
KINDS = frozenset(
    ("memory", "core-spec", "exclusive", "burst-buffer", "hint", "cpus-per-gpu", "tres-per-task", *ADVICE)
)  # fmt: skip


def check(job: Job) -> Iterator[Finding]:
    kinds = {conflict.kind for conflict in conflicts(job)}
    for conflict in conflicts(job):
        if conflict.kind == "arbitrary-without-nodes" and "arbitrary" in kinds:
            continue
        if conflict.kind == "hint":
            yield _dropped_hint(job, conflict)
        elif conflict.kind in KINDS and not (conflict.kind == "tres-per-task" and conflict.setting("gpus-per-task")):
            yield _finding(job, conflict)


def _finding(job: Job, conflict: Conflict) -> Finding:
    *others, last = conflict.settings
    shown = named(job, conflict.settings, last)
    related = [(each.span, "with this") for each in others]
    if not conflict.refused:
        return Finding(last.span, f"only the last of {shown} counts; remove the other", "warning", related)
    when = job.versions.said(conflict.refused)
    if conflict.kind in ADVICE:
        refuser = "slurmctld" if conflict.message.startswith(SUBMISSION_FAILED) else "sbatch"
        message = f"{refuser} refuses {shown}{' together' if others else ''}{when}"
        message = f"{message}: `{conflict.message.removeprefix(SUBMISSION_FAILED).strip()}`"
    else:
        message = f"{shown} exclude each other, so sbatch refuses the script{when}"
    severity = "error" if 2 * len(conflict.refused) > len(job.versions.majors) else "warning"
    return Finding(last.span, f"{message}; {ADVICE.get(conflict.kind, 'keep one of them')}", severity, related)


def _dropped_hint(job: Job, conflict: Conflict) -> Finding:
    hint = next(each for each in conflict.settings if each.name == "hint")
    rivals = [each for each in conflict.settings if each is not hint]
    when = job.versions.said(conflict.ignored)
    message = f"sbatch drops --hint beside {named(job, rivals, hint)}{when} without an error; remove one of them"
    fix = None
    if conflict.ignored == job.versions.majors:
        settings = job.directives.all("hint", hint.line.component)
        fix = Fix("remove --hint", removal(job.directives, settings), safe=True)
    return Finding(hint.span, message, "warning", [(each.span, "this counts") for each in rivals], fix)


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --mem=64G
        #SBATCH --ntasks=4 «--mem-per-cpu=2G»
        srun ./a.out
        """,
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --exclusive
        #SBATCH «--oversubscribe»
        srun ./a.out
        """,
        title="refused since 23.02; before, the last one counts",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --gpus=4 --ntasks=4
        #SBATCH --cpus-per-task=8
        #SBATCH «--cpus-per-gpu=8»
        srun ./a.out
        """,
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2 --ntasks-per-node=32 --threads-per-core=1
        #SBATCH «--hint=nomultithread»
        srun ./a.out
        """,
        severity="warning",
        fixed="""\
        #!/bin/bash
        #SBATCH --nodes=2 --ntasks-per-node=32 --threads-per-core=1
        srun ./a.out
        """,
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --begin=2030-01-02T08:00
        #SBATCH «--deadline=2030-01-01»
        srun ./a.out
        """,
    ),
    Bad("#!/bin/bash\n#SBATCH --nodes=18 «--segment=8»\nsrun ./a.out\n", severity="warning", title="in 26.05"),
    Good("#!/bin/bash\n#SBATCH --mem=64G\n#SBATCH --mem=32G\nsrun ./a.out\n", title="the last one counts"),
    Good("#!/bin/bash\n#SBATCH --hint=nomultithread --cpus-per-task=4\nsrun ./a.out\n"),
    Good("#!/bin/bash\n#SBATCH --nodes=16 --segment=8 --exclusive\nsrun ./a.out\n"),
]
