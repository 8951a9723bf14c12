"""A step fails or hangs: it needs more GPUs, CPUs, memory or nodes than it has.

srun takes its resources from the job. `srun --gpus-per-node=8` in a job with four GPUs a node starts nothing: `Unable
to create step: Invalid generic resource (gres) specification`; without `set -e` the script continues as if it had run.
The same happens to a step on one node of a job that requested its GPUs in total: it inherits `--gpus=16`, also beside a
`--gpus-per-node` of its own, and wants all sixteen on its one node. And torchrun with `--nnodes=2` in an `srun -N1`
waits for a second node that nothing starts, until its rendezvous times out. `srun -n16` in a job of eight CPUs, and
`srun -N2` in a job of one node, start nothing either, nor does a step of more components (`srun -n1 ./server : -n7
./worker`) than the job has nodes, as each gets nodes of its own; where srun inherits the job's `--cpus-per-task` (not
in 22.05 and 23.02), `srun -n8` in a job of one task with eight CPUs wants 64. `srun --nodelist=node7` does not start
either in a job whose own --nodelist names other nodes, or whose --exclude names this one: `Requested node configuration
is not available`. Nor does a step on a node that the script takes from `sinfo`, which lists all nodes of the cluster,
including nodes that belong to other jobs; a warning where it asks for idle ones, as a script for outside a job would.

A job that requests no GPU at all gets all of them at sites that allocate whole nodes: that is a warning, unless the
setting `gpus` says what the site does, and not reported where the script is for such a centre (TACC, OLCF), where more
CPUs than the job has are not reported either. With a profile of the cluster (docs/site.md) both are errors, or nothing:
it says whether a partition gives whole nodes, and how large they are. Else jobs with `--exclusive` are not reported,
nor jobs that request only nodes and start more on them than one CPU can run; for one node it is advice.

## Fix

None: the script does not show whether the step or the job is wrong.

## References

`_copy_job_tres_to_step()` in src/stepmgr/stepmgr.c and `gres_step_state_validate()` in src/interfaces/gres.c; runs on
Slurm 22.05, 23.11, 24.11 and 26.05; torch/distributed/run.py.
"""

from collections.abc import Iterator

from sbatchlint.analysis.editing.options import place_of
from sbatchlint.analysis.gpus.step_limits import TooManyGpus, too_many_gpus
from sbatchlint.analysis.script.centres import gets_gpus_of_nodes, gets_whole_nodes
from sbatchlint.analysis.script.conditionals import depends_on_test
from sbatchlint.analysis.script.submit_lines import is_run_by_hand
from sbatchlint.analysis.site.defaults import allocated_cpus, in_whole_nodes, partitions_with_gpus, whole_nodes_decided
from sbatchlint.bash.values import Phase, Pieces, expansions
from sbatchlint.check import Bad, Card, Finding, Good, Job, Span
from sbatchlint.job.geometry import job_nodes
from sbatchlint.job.gpus import FORMS
from sbatchlint.job.request import Request, fixed_nodes
from sbatchlint.job.step_cpus import missing_cpus, too_much_memory
from sbatchlint.job.steps import Step, missing_nodes
from sbatchlint.job.worlds import LaunchWorld, by_place, find_worlds
from sbatchlint.slurm.grammar.hosts import hosts
from sbatchlint.slurm.grammar.numbers import whole
from sbatchlint.triggers import Launchers, Options, StepOptions, Variables

CARD = Card(
    "SB206", "step-exceeds-job", severity="error", fix="never", since="0.1.0", sized=True,
    when=StepOptions(*FORMS, "mem", "nodes", "nodelist", "ntasks", "cpus-per-task", "ntasks-per-node") | Options("gpus")
    | Launchers() | Variables("SLURM_NTASKS", "SLURM_CPUS_PER_TASK", "SRUN_CPUS_PER_TASK", "SLURM_TRES_PER_TASK"),
)  # fmt: skip


def check(job: Job) -> Iterator[Finding]:
    for step in job.steps:
        gpus = too_many_gpus(job, step)
        if gpus is not None and (gpus.setting is not None or not (gets_gpus_of_nodes(job) or in_whole_nodes(job))):
            yield _of_step(step, _too_many_gpus(job, gpus))
    yield from _launchers_with_too_many_nodes(job)
    if job.phase is Phase.BATCH:
        for step in job.steps:
            finding = _too_many_nodes(job, step) or _too_many_components(job, step) or _foreign_nodes(job, step)
            finding = finding or _too_many_cpus(job, step) or _too_much_memory(job, step)
            if finding is not None:
                yield _of_step(step, finding)


def _of_step(step: Step, finding: Finding) -> Finding:
    """The finding on a step: a warning at most where only some jobs start it."""
    if finding.severity in (None, "error") and depends_on_test(step.invocation):
        return finding._replace(severity="warning")
    return finding


def _too_many_nodes(job: Job, step: Step) -> Finding | None:
    """The finding on a step with more nodes than the job; where it has fewer tasks than nodes, those count."""
    option, request = step.option("nodes"), step.request
    if option is None:
        return None
    requested, available = fixed_nodes(option.text), job_nodes(request)
    if requested is None or available is None or step.in_other_job or not step.certain or request.heterogeneous:
        return None
    tasks = step.option("ntasks")
    least = requested.minimum
    if tasks is not None or request.has_option("ntasks"):
        number = whole(tasks.text) if tasks is not None else request.tasks
        if number is None:
            return None
        least = min(least, number)
    if least <= available:
        return None
    message = f"srun refuses `{option.as_written}`: {_available_nodes(job, request, available)}"
    return _node_finding(job, option.span, f"{message}; write #SBATCH --nodes={requested.minimum}", request)


def _foreign_nodes(job: Job, step: Step) -> Finding | None:
    """The finding on a step that names nodes which the job certainly does not have (a live run of 22.05)."""
    option, request = step.option("nodelist"), step.request
    source = None if option is None or step.in_other_job else _from_cluster(option.value or ())
    if option is not None and source is not None:
        message = "`sinfo` lists nodes of the whole cluster, and srun refuses those outside the job"
        return Finding(
            source,
            f'{message}; write `scontrol show hostnames "$SLURM_JOB_NODELIST"`',
            # the nodes of the job itself are not idle: who asks for those starts the script outside a job
            "info" if is_run_by_hand(job) else "warning" if _asks_for_idle(option.value or ()) else None,
            related=[(option.span, "the node of a step")],
        )
    named = hosts(None if option is None else option.text)
    if option is None or not named or step.in_other_job or request.heterogeneous or not request.directives.certain:
        return None
    included, excluded = (hosts(request.value(each)) for each in ("nodelist", "exclude"))
    setting = request.setting("exclude")
    foreign = [each for each in named if each in (excluded or ())]
    if not foreign and included and request.exact_nodes() == len(included):
        foreign = [each for each in named if each not in included]
        setting = request.setting("nodelist")
    if not foreign or setting is None:
        return None
    message = f"srun refuses `{option.as_written}`: {foreign[0]} is not a node of the job ({setting.shown})"
    return Finding(option.span, f"{message}; name one of its nodes", related=[(setting.span, "the nodes of the job")])


def _asks_for_idle(value: Pieces) -> bool:
    return any("idle" in word for each in expansions(value) for words in each.commands for word in words)


def _from_cluster(value: Pieces) -> Span | None:
    """The substitution by which nodes come from `sinfo`; None where they come from the job's own list, or others."""
    found = list(expansions(value))
    commands = [words for each in found for words in each.commands if words]
    of_sinfo = [words for words in commands if words[0] == "sinfo"]
    if not of_sinfo or any(words[0] in ("scontrol", "squeue") for words in commands):
        return None
    # `sinfo -n $SLURM_JOB_NODELIST` asks for the nodes of the job alone
    if any(word.startswith(("-n", "--nodes")) for words in of_sinfo for word in words):
        return None
    if any(each.name.startswith("SLURM_") for each in found):
        return None
    return next(each.span for each in found if not set(of_sinfo).isdisjoint(each.commands))


def _too_many_components(job: Job, step: Step) -> Finding | None:
    """The finding on a step whose components (`srun a : b`) together want more nodes than the job has."""
    found = missing_nodes(step)
    if found is None or step is not step.parts[-1]:
        return None
    if not any({"nodes", "ntasks"} & each.options.keys() for each in step.parts):
        return None
    requested, available = found
    has = _available_nodes(job, step.request, available)
    message = (
        f"srun refuses these {len(step.parts)} components: they need {requested} nodes, and {has}; write #SBATCH "
        f"--nodes={requested}, or start each with its own srun"
    )
    return _node_finding(job, step.place, message, step.request)


def _available_nodes(job: Job, request: Request, available: int) -> str:
    nodes, setting = "one node" if available == 1 else f"{available} nodes", request.setting("nodes")
    source = ", unless sbatch is given --nodes" if setting is None else f" (line {job.line(setting.span.start)})"
    return f"the job has {nodes}{source}"


def _node_finding(job: Job, span: Span, message: str, request: Request) -> Finding:
    """The finding on too many nodes: a warning where the command line of sbatch may ask for more, and advice where a
    shell runs the script, in an allocation that it does not show."""
    setting = request.setting("nodes")
    if setting is None:
        return Finding(span, message, "warning")
    severity = "info" if is_run_by_hand(job) else None
    return Finding(span, message, severity, related=[(setting.span, "what the job has")])


def _too_many_cpus(job: Job, step: Step) -> Finding | None:
    of_site, gives_whole = allocated_cpus(job), whole_nodes_decided(job)
    found = missing_cpus(step, job.versions, of_site)
    if found is None:
        return None
    option = step.option("cpus-per-task")
    if option is None or found.per_task == 1:
        option = step.option("ntasks") or option
    option = found.variable or option
    words = "srun" if option is None else option.as_written
    wants = f"{found.requested} CPUs"
    if found.per_task > 1:
        wants = f"{found.tasks} × {found.per_task} = {wants}" if found.tasks > 1 else f"{found.per_task} CPUs"
    line = job.line(found.setting.span.start)
    refuses = f"srun{job.versions.suffix(found.versions)} refuses {'this step' if option is None else f'`{words}`'}"
    written = (step.request.effective_tasks() or 0) * (whole(step.request.value("cpus-per-task")) or 1)
    has = f"has {found.available} (line {line})"
    if of_site is not None:
        has = f"gets {found.available} (line {line}) in partition `{job.request.partition}`"
    elif written < found.available:
        has = f"gets {found.available} (line {line} requests {written}, rounded up to whole cores)"
    if found.inherited:
        wants += " by --cpus-per-task"
        advice = f"write srun --cpus-per-task={max(1, found.available // found.tasks)}"
    else:
        advice = "request more in the job"
    if found.variable is not None:
        refuses = f"srun reads `{words}`, and{job.versions.suffix(found.versions)} refuses it"
    # who asks for nodes alone, and for tasks only here, has whole nodes
    if gets_whole_nodes(job) and gives_whole is None and of_site is None:
        return None  # the centre gives all CPUs of the nodes
    is_of_nodes = step.request.has_option("nodes") and not step.request.has_any_option(("ntasks", "ntasks-per-node"))
    unless = ", unless it gets whole nodes" if gives_whole is None else ""
    advice_only = is_of_nodes and gives_whole is not False and of_site is None
    return Finding(
        step.place if option is None else option.span,
        f"{refuses}: the step needs {wants}, but the job {has}{unless}; {advice}",
        "info" if advice_only else "warning" if gives_whole is None else None,
        related=[(found.setting.span, "what the job has")],
        versions=found.versions,
    )


def _too_much_memory(job: Job, step: Step) -> Finding | None:
    """The finding on a step that needs more memory on a node than its job has there."""
    found = too_much_memory(step)
    if found is None:
        return None
    option, setting = found
    return Finding(
        option.span,
        f"srun refuses `{option.as_written}` because the job has {setting.shown} (line "
        f"{job.line(setting.span.start)}); request more in the job",
        related=[(setting.span, "what the job has")],
    )


def _too_many_gpus(job: Job, found: TooManyGpus) -> Finding:
    requested, available, setting = found.requested, found.available, found.setting
    if setting is None:
        option = {"job": "gpus=", "task": "gpus-per-task="}.get(found.by, "gpus-per-node=")
        if found.words.startswith("--gres"):
            option = "gres=gpu:"  # from 26.05 on srun refuses it beside --gpus-per-node
        message = f"the job requests no GPU, so srun refuses `{found.words}`"
        message += "" if job.site.gpus == "gres" else ", unless the site allocates whole nodes"
        severity = "error" if job.site.gpus == "gres" else "info" if gets_whole_nodes(job) else "warning"
        others = partitions_with_gpus(job)  # none of the job's own has any
        write = f"#SBATCH --{option}{requested}" + (f" and choose {' or '.join(others[:2])}" if others else "")
        return Finding(found.place, f"{message}; write {write}", severity)
    line = job.line(setting.span.start)
    if found.nodes is not None:
        here, total = found.nodes
        return Finding(
            found.place,
            f"srun fails: on {here} of the job's {total} nodes it inherits --gpus={requested} (line {line}), all "
            "GPUs of the job; write --gpus-per-node in the job",
            related=[(setting.span, "the total of all nodes")],
        )
    unit = " per node" if found.by == "node" else ""
    return Finding(
        found.place,
        f"srun refuses `{found.words}` because it requests {requested} GPUs{unit} and the job has {available} "
        f"(line {line}); request at most {available} here, or {requested} in the job",
        related=[(setting.span, "what the job has")],
    )


def _launchers_with_too_many_nodes(job: Job) -> Iterator[Finding]:
    """Findings on launchers that wait for more nodes than their step has, where nothing else starts the others."""
    nodes = job.request.exact_nodes()
    if job.phase is not Phase.BATCH or not job.launches or nodes is None:
        return
    worlds = find_worlds(job)
    for group in by_place(worlds):
        world = group[0]
        step, launcher = world.step, world.launcher
        if len(group) > 1 or step is None or world.mpi is not None or world.nodes is None or world.nodes >= nodes:
            continue  # the step has all nodes of the job
        if not launcher.spawns or not world.certain:
            continue
        awaited = world.nodes_setting
        if awaited.least is None or awaited.least <= world.nodes or launcher.standalone or world.starts_per_node != 1:
            continue
        if world.isolation not in ("", "part") or _has_companions(world, worlds):
            continue
        place = launcher.span if awaited.setting is None else place_of(launcher, awaited.setting)
        option = step.option("ntasks") or step.option("nodes")
        line = job.line(step.span.start)
        here = "one node" if world.nodes == 1 else f"{world.nodes} nodes"
        yield Finding(
            place,
            f"{launcher.name} waits for {awaited.least} nodes, but the srun on line {line} runs on {here}: the "
            f"rendezvous times out; run the step on {awaited.least} nodes, or set {launcher.name} to {world.nodes}",
            related=[] if option is None else [(option.span, f"makes it {here}")],
        )


def _has_companions(world: LaunchWorld, worlds: list[LaunchWorld]) -> bool:
    """Whether other steps may start the launcher on the other nodes: at the same time, or in a loop or a function."""
    step = world.step
    if step is None or step.invocation.context.background or step.invocation.context.may_repeat:
        return True
    others = [each for each in worlds if each is not world and each.launcher.kind == world.launcher.kind]
    return any(each.step is None or each.step.invocation.context.background for each in others)


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2 --ntasks-per-node=1
        #SBATCH --gpus-per-node=4
        srun «--gpus-per-node=8» torchrun --nnodes=2 --nproc_per_node=8 --rdzv_backend=c10d \\
            --rdzv_endpoint=$HEAD:29500 train.py
        """,
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1 --ntasks=4
        srun «--gres=gpu:4» python train.py
        """,
        severity="warning",
        title="the job asks for no GPU",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2 --gpus=16 --ntasks-per-node=8
        «srun» -N1 -n1 python prepare.py
        """,
        title="one node cannot have the GPUs of both",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2 --ntasks-per-node=1 --gpus-per-node=8
        srun -N1 -n1 torchrun «--nnodes=2» --nproc_per_node=8 --rdzv_backend=c10d --rdzv_endpoint=$HEAD:29500 train.py
        """,
        title="a launcher in a step that is too small",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=1 --gpus-per-node=4
        srun --gpus-per-node=2 python train.py
        srun --gpus-per-task=1 -n4 python evaluate.py
        """
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=2 --exclusive
        srun --gpus-per-node=8 --ntasks-per-node=8 python train.py
        """,
        title="an exclusive job has all GPUs of its nodes",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=16
        srun -N $SLURM_NNODES -n $((SLURM_NNODES * 8)) -c 7 --gpus-per-task=1 --gpu-bind=closest ./simulate
        """,
        title="the site hands out whole nodes: a job of one CPU a node could not run this",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=2 --ntasks-per-node=1 --gpus-per-node=8
        nodes=($(scontrol show hostnames "$SLURM_JOB_NODELIST"))
        for i in 0 1; do
            srun -N1 -n1 -w "${nodes[$i]}" torchrun --nnodes=2 --node_rank=$i --nproc_per_node=8 \\
                --master_addr="${nodes[0]}" train.py &
        done
        wait
        """,
        title="a step for each node, all at the same time",
    ),
]
