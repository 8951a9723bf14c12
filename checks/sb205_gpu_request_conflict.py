"""The GPU options of the job contradict each other: Slurm refuses it, or one of them counts.

`--gres=gpu:4` and `--gpus-per-node=8` both say how many GPUs a node has. Since 26.05 sbatch refuses the two together,
even with equal numbers; before that, the number in `--gres` counted. `--ntasks-per-gpu` excludes `--ntasks-per-node`,
`--gpus-per-task` and `--gpus-per-socket`. `--gpus-per-task` needs a number of tasks or of GPUs, `--gpus-per-socket`
needs `--sockets-per-node`, `--mem-per-gpu` and `--cpus-per-gpu` need GPUs. And the numbers have to match: `--gpus=8`
with `--gpus-per-node=3` is refused, and so are fewer GPUs than nodes.

srun in a job with `--gpus-per-node` inherits that, so its own `--gres=gpu:1` is the second of the two.

A finding names the releases that refuse the request. It is a warning where most releases still accept it as intended
and `slurm-version` is not set, and where the command line of sbatch may well add what is missing; advice where the
script reads the number of tasks or nodes that only the command line can have set.

## Fix

Where `--gres` and `--gpus-per-node` ask for the same GPUs, removes them from `--gres` and keeps a type that it names;
where a step has a `--gres` of its own, which srun refuses beside an inherited `--gpus-per-node`, that option goes.
Safe: the job asks for the same GPUs. None where the script reads what only the other option sets.

## References

sbatch(1); `gres_job_state_validate()` in src/interfaces/gres.c and `validate_options_salloc_sbatch_srun()` in
src/common/slurm_opt.c, Slurm 20.11 to 26.05; seen on 22.05, 23.11, 24.11 and 26.05.
"""

from collections.abc import Iterator

from sbatchlint.analysis.directives.conflicts import Conflict, conflicts, named
from sbatchlint.analysis.expansion.reads import read_names
from sbatchlint.analysis.gpus.gpu_use import gpu_need
from sbatchlint.bash.values import Phase
from sbatchlint.check import Bad, Card, Edit, Finding, Fix, Good, Job
from sbatchlint.job.gpus import refuses_gres
from sbatchlint.job.steps import Step
from sbatchlint.slurm.conflicts.by_task import UnknownValue
from sbatchlint.slurm.conflicts.gpu_arithmetic import gpus_of, resources_of
from sbatchlint.slurm.grammar.resources import Item, ResourceFault, gres_items
from sbatchlint.slurm.model import Setting
from sbatchlint.slurm.rewriting import removal, replacement
from sbatchlint.triggers import Options, StepOptions, Written

CARD = Card(
    "SB205", "gpu-request-conflict", severity="error", fix="sometimes", since="0.1.0",
    when=Options(
        "cpus-per-gpu", "gpus", "gpus-per-socket", "gpus-per-task", "mem-per-gpu", "ntasks-per-gpu", "ntasks-per-tres",
        "tres-per-task",
    ) | Written("foreign", "gpus") | StepOptions("gres"),
)  # fmt: skip

# Kinds of conflicts in which one of the options has to go.
EXCLUSIVE = frozenset(("gres-twice", "tasks-per-gpu", "tres-per-task"))
# For other kinds, why the options conflict, and what to do.
DISAGREE = ("the numbers contradict each other", "correct one of them")
REASONS = {
    "cpus-without-gpus": ("the job requests no GPU", "request GPUs, or write --cpus-per-task"),
    "gpu-nodes": DISAGREE,
    "gpu-sums": DISAGREE,
    "gpu-tasks": DISAGREE,
    "gpu-types": ("there is more than one type", "request one type"),
    "gpus-and-shares": ("whole GPUs and shares of GPUs cannot be mixed", "request one of the two"),
    "gpus-below-nodes": ("there are fewer GPUs than nodes", "request a GPU on each node"),
    "gpus-per-socket": ("the number of sockets is missing", "add --sockets-per-node, or use --gpus-per-node"),
    "gpus-per-task": ("it needs --ntasks or --gpus", "add one of them"),
    "memory-without-gpus": ("the job requests no GPU", "request GPUs, or write --mem"),
    "tasks-below-nodes": DISAGREE,
    "tasks-without-gpus": ("the number of GPUs is missing", "add --gpus, or --ntasks"),
    "typed-and-untyped": ("only some of the GPUs have a type", "name the type everywhere or nowhere"),
    "zero-before-others": ("a count of 0 precedes another count", "write its number, or remove that part"),
}
# Kinds in which the command line of sbatch may add what is missing, unless the script sets one of these options.
MISSING = {
    "gpus-per-task": ("nodes", "nodelist"),
    "tasks-without-gpus": ("nodes", "nodelist"),
    "memory-without-gpus": ("ntasks-per-gpu",),
    "cpus-without-gpus": ("ntasks-per-gpu",),
}
# What the command line of sbatch may do about them, where it is not to request a GPU.
_ADDS = {"gpus-per-task": "has one", "tasks-without-gpus": "has it"}
# Variables with a number of tasks or nodes.
_COUNTS = frozenset({"SLURM_NTASKS", "SLURM_NPROCS", "SLURM_NNODES", "SLURM_JOB_NUM_NODES"})
_SIZES = ("ntasks", "nodes", "ntasks-per-node", "ntasks-per-core", "ntasks-per-socket", "nodelist", "gres", "exclusive")
# Variables that the script, or a prologue of its site, may have of --gres alone.
_GRES = frozenset({"SLURM_JOB_GRES", "SLURM_GRES", "SBATCH_GRES"})
WITHOUT_GPUS = ("tasks-without-gpus", "memory-without-gpus", "cpus-without-gpus")


def check(job: Job) -> Iterator[Finding]:
    refused: set[str] = set()
    for conflict in conflicts(job):
        if conflict.kind == "tres-per-task" and not conflict.setting("gpus-per-task"):
            continue
        # Where the commands of the script use GPUs, gpus-not-requested reports that they are missing.
        if conflict.kind in WITHOUT_GPUS and gpu_need(job) is not None:
            continue
        if conflict.kind in EXCLUSIVE or conflict.kind in REASONS:
            yield _finding(job, conflict)
            refused.update(conflict.refused or ())
    if job.phase is Phase.BATCH:
        yield from _steps(job, refused)


def _steps(job: Job, gone: set[str]) -> Iterator[Finding]:
    """Findings on steps whose own --gres conflicts with the GPUs per node that they inherit.

    `gone`: the releases that refuse the job itself, and start no step.
    """
    for step in job.steps:
        gres, setting = step.option("gres"), step.request.setting("gpus-per-node")
        if gres is None or setting is None or not step.certain or step.in_other_job:
            continue
        refused = tuple(each for each in job.versions.majors if each not in gone and refuses_gres(step, each))
        text = gres.text or ""
        if not refused or "gpus-per-node" in step.options or text.lower() == "none":
            continue
        items = gres_items(text, job.versions.last)
        if isinstance(items, ResourceFault):
            continue  # no release accepts it, with or without the other option
        gpus = [each for each in items if each.name == "gpu"]
        counts = ",".join(f"{each.type}:{each.count}" if each.type else str(each.count) for each in gpus)
        yield Finding(
            gres.span,
            f"srun refuses `{gres.as_written}`{job.versions.suffix(refused)} because it inherits {setting.shown} (line "
            f"{job.line(setting.span.start)}); write --gpus-per-node={counts}",
            related=[(setting.span, "conflicts with this")],
            versions=refused,
        )


def _finding(job: Job, conflict: Conflict) -> Finding:
    gres, per_node = conflict.setting("gres"), conflict.setting("gpus-per-node")
    at, fix, equal, keep = conflict.settings[-1], None, None, "keep one of them"
    if conflict.kind == "gres-twice" and isinstance(gres, Setting) and not _names_gpus(job, gres):
        return _of_another_resource(job, conflict, gres)
    if len(conflict.settings) == 2 and isinstance(gres, Setting) and isinstance(per_node, Setting):
        at, equal = gres, _ask_for_the_same(job, gres, per_node)
        step = _step_with_gres(job)
        if equal and step is not None:
            at, keep = per_node, f"remove --gpus-per-node, as line {job.line(step.span.start)} uses --gres"
            fix = _without_per_node(job, gres, per_node)
        elif equal:
            fix = _without_gres(job, gres, per_node)
    shown, when = named(job, conflict.settings, at), job.versions.suffix(conflict.refused)
    related = [(each.span, "conflicts with this") for each in conflict.settings if each is not at]
    severity = "error" if conflict.refused else "warning"
    reason, advice = REASONS.get(conflict.kind, ("", keep))
    if equal is False:
        severity = "error"
        message = f"{shown} request different GPUs{_effect_of_difference(conflict, when)}"
    elif not conflict.refused:
        message = f"{shown} both set the GPUs of a node, and only --gres takes effect"
    elif conflict.kind in EXCLUSIVE:
        message = f"sbatch refuses {shown} together{when}"
    else:
        message = f"{conflict.refuser} refuses {shown}{when}: {reason}"
        missing = MISSING.get(conflict.kind)
        if missing is not None and not any(job.directives.last(name, at.line.component) for name in missing):
            severity, message = "warning", f"{message}, unless the command line {_ADDS.get(conflict.kind, 'does')}"
            if conflict.kind == "gpus-per-task" and (
                not read_names(job).isdisjoint(_COUNTS) or not job.request.has_any_option(_SIZES)
            ):
                severity = "info"  # what counts on the number, or the whole size, gets it from there
    versions = None if equal is False else conflict.refused or None
    return Finding(at.span, f"{message}; {advice}", severity, related, fix, versions=versions)


def _names_gpus(job: Job, gres: Setting) -> bool:
    try:
        return bool(_gpus_in(job, gres))
    except UnknownValue:
        return True


def _of_another_resource(job: Job, conflict: Conflict, gres: Setting) -> Finding:
    """The finding on a site's own resource whose name only begins with `gpu`, such as memory of GPUs."""
    shown = named(job, conflict.settings, gres)
    return Finding(
        gres.span,
        f"sbatch refuses {shown} together{job.versions.suffix(conflict.refused)}, as any gres named gpu… means GPUs; "
        "write --gpus",
        "info",
        [(each.span, "conflicts with this") for each in conflict.settings if each is not gres],
        versions=conflict.refused or None,
    )


def _effect_of_difference(conflict: Conflict, when: str) -> str:
    if not conflict.refused:
        return ", and --gres takes effect"
    return f": sbatch refuses both{when}, and older ones use --gres" if when else ", so sbatch refuses the script"


def _ask_for_the_same(job: Job, gres: Setting, per_node: Setting) -> bool | None:
    """Whether both ask for the same GPUs, where a type that only one names holds for both; None if unknown."""
    try:
        first, second = _gpus_in(job, gres), list(gpus_of(per_node.text, job.versions.last))
    except UnknownValue:
        return None
    if len(first) == len(second) == 1 and not (first[0].type and second[0].type):
        return first[0].count == second[0].count
    return sorted((each.type, each.count) for each in first) == sorted((each.type, each.count) for each in second)


def _gpus_in(job: Job, gres: Setting) -> list[Item]:
    return [item for item in resources_of(gres.text, job.versions.last) if item.name == "gpu"]


def _step_with_gres(job: Job) -> Step | None:
    """The first step that asks for GPUs with --gres, which srun refuses beside an inherited --gpus-per-node."""
    newest = job.versions.majors[-1]
    return next((each for each in job.steps if not each.in_other_job and refuses_gres(each, newest)), None)


def _without_per_node(job: Job, gres: Setting, per_node: Setting) -> Fix | None:
    """The fix that removes --gpus-per-node, and keeps a type that only it names; None if its variable is read."""
    if len(job.directives.all("gpus-per-node", per_node.component)) > 1 or "SLURM_GPUS_PER_NODE" in read_names(job):
        return None
    edits: list[Edit] = removal(job.directives, [per_node])
    gpus, named_gpus = _gpus_in(job, gres), list(gpus_of(per_node.text, job.versions.last))
    if len(gpus) == len(named_gpus) == 1 and named_gpus[0].type and not gpus[0].type:
        parts = [
            f"gpu:{named_gpus[0].type}:{gpus[0].count}" if part.removeprefix("gres/") == gpus[0].text else part
            for part in (gres.text or "").split(",")
        ]
        edits = [*edits, replacement(job.directives, gres, ",".join(parts))]
    return Fix("remove --gpus-per-node", edits, safe=True)


def _without_gres(job: Job, gres: Setting, per_node: Setting) -> Fix | None:
    """The fix that removes the GPUs from the only --gres, and keeps a type that only it names."""
    if len(job.directives.all("gres", gres.component)) > 1 or not _GRES.isdisjoint(read_names(job)):
        return None
    gpus = _gpus_in(job, gres)
    gpu_items = {gpu.text for gpu in gpus}
    rest = [part for part in (gres.text or "").split(",") if part and part.removeprefix("gres/") not in gpu_items]
    edits: list[Edit] = [replacement(job.directives, gres, ",".join(rest))] if rest else removal(job.directives, [gres])
    if len(gpus) == 1 and gpus[0].type and gpus[0].type not in (per_node.text or ""):
        edits = [*edits, replacement(job.directives, per_node, f"{gpus[0].type}:{gpus[0].count}")]
    return Fix("remove the GPUs from --gres", edits, safe=True)


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2 --gpus-per-node=8
        #SBATCH «--gres=gpu:8»
        srun ./a.out
        """,
        fixed={"#SBATCH --gres=gpu:8\n": ""},
        severity="warning",
        title="refused from 26.05 on",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2 --gpus-per-node=8
        #SBATCH «--gres=gpu:8»
        srun ./a.out
        """,
        fixed={"#SBATCH --gres=gpu:8\n": ""},
        settings={"slurm-version": "24.11-26.05"},
        title="and the site has such a release",
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
    Bad(
        "#!/bin/bash\n#SBATCH --nodes=2 --gpus-per-node=8\nsrun --nodes=1 --ntasks=1 «--gres=gpu:1» ./a.out\n",
        severity="warning",
        title="of the job and of a step",
    ),
    Good("#!/bin/bash\n#SBATCH --nodes=2 --gpus=16 --gpus-per-node=8\nsrun ./a.out\n"),
    Good("#!/bin/bash\n#SBATCH --nodes=2 --gpus-per-task=1\nsrun ./a.out\n", title="two nodes, so two tasks"),
    Good("#!/bin/bash\n#SBATCH --gpus-per-node=4 --gres=nvme:1\nsrun ./a.out\n", title="no GPUs in --gres"),
    Bad(
        "#!/bin/bash\n#SBATCH --gpus-per-node=8 «--gres=gpumem:32G»\nsrun ./a.out\n",
        severity="info",
        title="memory of GPUs, which only the newest release takes for GPUs",
    ),
]
