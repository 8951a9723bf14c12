"""Two options exclude each other: sbatch refuses the script, or drops one of them.

With `--mem` and `--mem-per-cpu` together sbatch stops: "--mem, --mem-per-cpu, and --mem-per-gpu are mutually
exclusive." Other pairs are `--exclusive` with `--oversubscribe`, `--cpus-per-gpu` with `--cpus-per-task`, `--core-spec`
with `--thread-spec`, `--bb` with `--bbf`, `--nodes` with `--distribution=arbitrary`, a `--segment` that does not divide
the nodes, a deadline before the begin time. `--hint` beside `--threads-per-core`, `--ntasks-per-core` or `-B` is
silently dropped, which is only advice where the other option asks for the same threads.

Which pairs are refused depends on the release: a finding names the releases, and is a warning where most releases still
accept the pair and `slurm-version` is not set. gpu-request-conflict reports requests for GPUs. Options that exclude
each other on the command line of sbatch or salloc are reported too, step-options-conflict does so for srun.

## Fix

None: which of the options was meant is not known, nor whether the dropped `--hint` or the other one has to go.

## References

sbatch(1); `validate_options_salloc_sbatch_srun()` in src/common/slurm_opt.c and `_opt_verify()` in src/sbatch/opt.c,
Slurm 20.11 to 26.05; seen on 22.05, 23.11, 24.11 and 26.05.
"""

from collections.abc import Iterator

from sbatchlint.analysis.directives.conflicts import Conflict, conflicts, named
from sbatchlint.check import Bad, Card, Finding, Good, Job
from sbatchlint.job.command_lines import command_lines
from sbatchlint.slurm.conflicts.clash import REFUSED
from sbatchlint.slurm.conflicts.clashing_settings import clashing_settings
from sbatchlint.slurm.directives import Directives
from sbatchlint.slurm.model import ForeignSetting, Setting
from sbatchlint.triggers import Commands, Options

CARD = Card(
    "SB202", "conflicting-options", severity="error", fix="never", since="0.1.0",
    when=Options(
        "array", "batch", "bbf", "cpus-per-gpu", "deadline", "distribution", "external", "extra-node-info", "hint",
        "licenses", "mem-per-cpu", "mem-per-gpu", "nodelist", "ntasks-per-core", "oversubscribe", "resources",
        "segment", "thread-spec", "time-min", "tres-per-task", "wckey",
    ) | Commands("sbatch", "salloc"),
)  # fmt: skip

# Kinds of conflicts in which one of the options has to go.
EXCLUSIVE = frozenset(("memory", "core-spec", "exclusive", "burst-buffer", "cpus-per-gpu", "tres-per-task"))
# For other kinds, why the options conflict, and what to do.
REASONS = {
    "arbitrary": ("this distribution takes its nodes from a list", "use --nodelist"),
    "arbitrary-without-nodes": ("this distribution needs a list of nodes", "name a node for each task with --nodelist"),
    "array-in-het-job": ("a heterogeneous job cannot be an array", "remove --array, or submit jobs of one component"),
    "batch": ("--batch and --constraint name different features", "name those of --constraint"),
    "begin": ("the deadline is before the start", "move one of them"),
    "deadline": ("the job cannot end before the deadline", "lower --time, or move the deadline"),
    "excluded-nodes": ("nodes are both requested and excluded", "remove them from one"),
    "external": ("an external job has no script", "remove the option"),
    "licenses-in-het-job": ("only the first component takes licenses", "request them there"),
    "no-tasks": ("the job would have no tasks", "request a socket or more"),
    "ntasks-per-core": ("a core has fewer threads than tasks", "lower --ntasks-per-core"),
    "plane": ("there are too few tasks for it", "raise --ntasks"),
    "segment": ("the segment does not divide the number of nodes", "request a multiple of it"),
    "time-min": ("the minimum time is longer than the limit", "lower --time-min"),
    "wckey": ("a key does not begin with `*`", "begin the key with another character"),
}


# The threads of each core that a hint asks for.
THREADS = {"multithread": "2", "nomultithread": "1"}


def check(job: Job) -> Iterator[Finding]:
    for block in command_lines(job):
        if block.command != "srun":
            yield from _on_command_line(job, block)
    kinds = {conflict.kind for conflict in conflicts(job)}
    for conflict in conflicts(job):
        if conflict.kind == "arbitrary-without-nodes" and "arbitrary" in kinds:
            continue
        if conflict.kind == "hint":
            if any(each.setting in conflict.settings for each in job.directives.refused):
                continue  # sbatch gives up at it
            yield _dropped_hint(job, conflict)
        elif conflict.kind in EXCLUSIVE or conflict.kind in REASONS:
            if conflict.kind != "tres-per-task" or not conflict.setting("gpus-per-task"):
                yield _finding(job, conflict)


def _finding(job: Job, conflict: Conflict) -> Finding:
    *others, last = conflict.settings
    shown, when = named(job, conflict.settings, last), job.versions.suffix(conflict.refused)
    related = [(each.span, "conflicts with this") for each in others]
    if not conflict.refused:
        return Finding(last.span, f"only the last of {shown} takes effect; remove the other", "warning", related)
    if conflict.kind in EXCLUSIVE:
        message = f"{shown} exclude each other, so sbatch refuses the script{when}; keep one of them"
    else:
        reason, advice = REASONS[conflict.kind]
        message = f"{conflict.refuser} refuses {shown}{when}: {reason}; {advice}"
    return Finding(last.span, message, related=related, versions=conflict.refused)


def _on_command_line(job: Job, block: Directives) -> Iterator[Finding]:
    """The findings on options of one command line that exclude each other, whatever the script says."""
    for clash in clashing_settings(block):
        if clash.kind in EXCLUSIVE and clash.effect == REFUSED and len(clash.settings) > 1:
            *others, last = clash.settings
            shown, when = named(job, clash.settings, last), job.versions.suffix(clash.versions)
            message = f"{shown} exclude each other, so {block.command} submits nothing{when}; keep one of them"
            related = [(each.span, "conflicts with this") for each in others]
            yield Finding(last.span, message, related=related, versions=clash.versions)


def _dropped_hint(job: Job, conflict: Conflict) -> Finding:
    hint = next(each for each in conflict.settings if each.name == "hint")
    others = [each for each in conflict.settings if each is not hint]
    when = job.versions.suffix(conflict.ignored)
    which = "one of them" if len(others) == 1 else "--hint, or all of these"
    message = f"sbatch silently drops --hint because of {named(job, others, hint)}{when}; remove {which}"
    related = [(each.span, "this one takes effect") for each in others]
    severity = "info" if _does_the_same(job, hint, others) else "warning"
    return Finding(hint.span, message, severity, related, versions=conflict.ignored)


def _does_the_same(job: Job, hint: Setting | ForeignSetting, others: list[Setting | ForeignSetting]) -> bool:
    """Whether the options for which sbatch drops a hint request the same as the hint: threads of each core."""
    threads = THREADS.get((hint.text or "").lower())
    small = threads == "1" and _has_small_tasks(job)
    both = small or threads == "2" and not job.steps  # for mpirun, a core has both of its threads
    same = ("threads-per-core", "ntasks-per-core") if both else ("threads-per-core",)
    return all(each.name in same and each.text == threads for each in others)


def _has_small_tasks(job: Job) -> bool:
    """Whether each task of the job and of its steps has one CPU: alone on a core, it uses one thread of it."""
    cpus = job.request.value("cpus-per-task")
    if cpus != "1" and (cpus is not None or job.steps or not job.request.has_option("ntasks-per-core")):
        return False  # a task of a step may use all threads of its core
    options = [step.option("cpus-per-task") for step in job.steps]
    return all(each is None or each.text == "1" for each in options)


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
        severity="info",
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
