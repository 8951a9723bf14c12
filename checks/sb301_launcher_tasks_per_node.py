"""Processes compete for the GPUs of a node: several launchers each start the workers of the whole node.

`torchrun`, `accelerate launch` and the like start one worker for each GPU of a node. Under an srun with eight tasks per
node each of the eight tasks starts eight workers: 64 processes compete for eight GPUs. The symptoms depend on the
rendezvous. Static: one copy binds the port, the others fail with EADDRINUSE, and the remaining ones may train in a
smaller world than intended. c10d: arbitrary copies form the world, with two ranks on one GPU, and the rest hang.
`--standalone`: as many identical trainings as tasks, and the job exits with 0; so does torchrun from torch 2.12 on
without `--master_port` and with no `--nnodes` but 1, as it picks a free port.

## Fix

Sets one task per node. Safe where the number of tasks is literal and nothing else in the script needs or reads it; the
CPUs stay the same: `--cpus-per-task` becomes that of all tasks of a node. Unsafe where something reads
SLURM_CPUS_PER_TASK, or GPUs are asked for by task. Where other steps need the tasks, the srun itself gets one task per
node, which is unsafe too.

## References

torch/distributed/run.py of torch 2.11 to 2.13; `initialize_and_process_args()` in src/srun/opt.c, Slurm 22.05 to 26.05;
https://github.com/NVIDIA/Megatron-LM/issues/1371
"""

from collections.abc import Iterator

from sbatchlint.analysis.containers.container_starts import runs_script
from sbatchlint.analysis.launch.duplicate_launchers import PER_TASK_GPUS, counts_tasks, is_duplicated
from sbatchlint.analysis.launch.literal_counts import literal_number, literal_span, task_edits, task_option_at
from sbatchlint.analysis.script.work import Weight, is_repeatable, is_repeatable_step, weight
from sbatchlint.bash.values import Phase, expansions
from sbatchlint.check import Bad, Card, Edit, Finding, Fix, Good, Job, Launch, Span, insert
from sbatchlint.job.gpus import step_gpus
from sbatchlint.job.request import Request
from sbatchlint.job.steps import Step
from sbatchlint.slurm.rewriting import replacement
from sbatchlint.source.numbers import counted
from sbatchlint.source.regex import Regex
from sbatchlint.triggers import Launchers

CARD = Card("SB301", "launcher-tasks-per-node", severity="error", fix="sometimes", since="0.1.0", when=Launchers())


def check(job: Job) -> Iterator[Finding]:
    found: dict[tuple[Span, str], list[tuple[Step, Launch]]] = {}
    for launch in job.launches:
        step = launch.step
        if step is not None and step.geometry.reason is not None and is_duplicated(job, launch):
            found.setdefault(step.geometry.reason, []).append((step, launch))
    for (span, _), launches in found.items():
        step, launch = launches[0]
        line = "" if task_option_at(step, span) else f" (line {job.line(step.span.start)})"
        yield Finding(
            span,
            f"{_load(job, step, launch)}{line}: {_consequence(step, launch)}; "
            f"{_advice(job, step, span)}{_workers(launch)}",
            related=[(each.launcher.span, "started by every task") for _, each in launches],
            fix=_fix(job, launches, span),
        )


def _load(job: Job, step: Step, launch: Launch) -> str:
    """The part of the message that counts launchers, workers and GPUs."""
    name, workers, copies = launch.launcher.name, launch.launcher.processes_per_task, step.tasks_per_node
    where = "on the node" if step.nodes == 1 else "on each node"
    if not copies:
        is_known = step.tasks is not None and step.nodes is not None
        return f"{step.tasks} {name} on {step.nodes} nodes" if is_known else f"several {name} on a node"
    if workers == "auto":
        return f"{copies} {name} {where}, each with a worker for every GPU"
    if not isinstance(workers, int):
        return f"{copies} {name} {where}, each with the workers of a whole node"
    gpus = step_gpus(job, step).on_node
    seen = "" if not gpus else " for one GPU" if gpus == 1 else f" for {gpus} GPUs"
    total = copies * workers
    return f"{copies} {name} × {counted(workers, 'worker')} = {total} processes{seen} {where}"


def _consequence(step: Step, launch: Launch) -> str:
    launcher, rendezvous = launch.launcher, launch.launcher.rendezvous
    if launcher.kind == "ray":
        if "head" in launcher.flags:
            return "each starts its own cluster, or clashes on a port"
        return "each claims all CPUs and GPUs of the node"
    if launcher.standalone:
        return f"{step.tasks or 'several'} identical trainings share the GPUs, and exit with 0"
    if launcher.kind == "accelerate" and launcher.nnodes in (None, 1):
        # it takes another port where its own is in use; two that check at the same time clash
        return "they train copies, or clash on a port"
    if launcher.takes_free_port:
        return "they train copies (before torch 2.12 the port clashes)"
    if rendezvous is None or rendezvous.backend is None:
        return "they compete for the same GPUs and ports"
    if counts_tasks(launch, step):
        return "ranks share a GPU, and NCCL fails"
    if rendezvous.backend != "static":
        return "ranks share GPUs, or the surplus launchers hang"
    node_rank = [] if launcher.node_rank is None else expansions(launcher.node_rank.value or ())
    if [(each.name, each.phase) for each in node_rank] == [("SLURM_PROCID", Phase.TASK)]:
        return "the first nodes take all ranks, and the others hang"
    return "they clash on the rendezvous port"


def _advice(job: Job, step: Step, reason: Span) -> str:
    option = task_option_at(step, reason)
    settings = [each for each in map(step.request.setting, ("ntasks-per-node", "ntasks")) if each is not None]
    names = [option.name] if option else [each.name for each in settings]
    if not option and reason not in [each.span for each in settings] or "ntasks" in names and step.nodes is None:
        nodes = step.nodes if job.request.heterogeneous else "$SLURM_JOB_NUM_NODES"
        return f"pass `--ntasks={nodes} --ntasks-per-node=1` to srun"
    options = {"ntasks-per-node": "`--ntasks-per-node=1`", "ntasks": f"`--ntasks={step.nodes}`"}
    return "set " + " and ".join(options[name] for name in names)


def _workers(launch: Launch) -> str:
    """What to write for the workers, which are counted by the number of tasks that the advice lowers; else ""."""
    launcher = launch.launcher
    setting = launcher.setting("nproc_per_node") or launcher.setting("num_processes")
    if setting is None or setting.at is None or not isinstance(launcher.processes_per_task, int):
        return ""
    if not any(READS_TASKS.fullmatch(each.name) for each in expansions(setting.value or ())):
        return ""
    return f", and `--{setting.name}={launcher.processes_per_task}`"


# --- the fix -----------------------------------------------------------------------------------------

# Directives that count tasks in other ways, which the fix does not rewrite.
OTHER_COUNTS = ("ntasks-per-socket", "ntasks-per-core", "ntasks-per-gpu", "ntasks-per-tres", "tres-per-task",
                "distribution", "mincpus")  # fmt: skip
READS_CPUS = Regex(r"S(?:LURM|RUN)_(?:CPUS_PER_TASK|TRES_PER_TASK)")
READS_TASKS = Regex(r"SLURM_(?:STEP_)?(?:NTASKS|NPROCS|NUM_TASKS|TASKS_PER_NODE)")


def _fix(job: Job, launches: list[tuple[Step, Launch]], reason: Span) -> Fix | None:
    if any(launch.launcher.processes_per_task == 1 for _, launch in launches):
        return None  # one worker in each task may be intended, or a launcher for all GPUs
    if not all(_runs_only_launchers(job, step) for step, _ in launches):
        return None  # something else in the step may need its tasks
    places = {step.invocation.name_span for step, _ in launches}
    if not all(_runs_only_launchers(job, step) for step in job.steps if step.invocation.name_span in places):
        return None  # in another branch, or call, the same srun starts something else
    by_place: dict[Span, Step] = {}
    for step, _ in launches:
        by_place.setdefault(step.invocation.name_span, step)
    steps = list(by_place.values())
    if any(task_option_at(step, reason) is not None for step in steps):
        fix = _change_option(job, steps[0]) if len(steps) == 1 else None
    else:
        fix = _change_directive(job, steps[0].request, reason) or _add_options(job, steps)
    if fix is not None and any((step.nodes or 2) > 1 and launch.launcher.takes_free_port for step, launch in launches):
        return fix._replace(safe=False)  # one launcher for each node still trains a copy there
    return fix


def _change_option(job: Job, step: Step) -> Fix | None:
    """The fix in the srun: `--ntasks-per-node=8` becomes 1, `-n 8` becomes the number of nodes."""
    if not step.certain or any(name in step.options for name in PER_TASK_GPUS):
        return None
    edits = task_edits(job, step, 1)
    if edits is None:
        return None
    title, cpus = "run one task per node in this step", step.option("cpus-per-task")
    if cpus is None:
        within = all(step.span.contains(each.span) for each in edits)
        return Fix(title, edits, within and _runs_only_launchers(job, step) and not READS_TASKS.search(job.source.text))
    span = literal_span(cpus.value)
    number = literal_number(job, span)
    if span is None or number is None or step.tasks_per_node is None:
        return None
    return Fix(f"{title}, with the CPUs of all of them", [*edits, Edit(span, str(number * step.tasks_per_node))])


def _runs_only_launchers(job: Job, step: Step) -> bool:
    """Whether the tasks of a step run only duplicated launchers, and commands that prepare the node for them."""
    launchers = [each.invocation for each in job.launches_of(step) if is_duplicated(job, each)]
    related = [each for launcher in launchers for each in (launcher, *launcher.ancestors(), *launcher.descendants())]
    others = [each for each in step.program if each not in related and not is_repeatable(each)]
    return bool(launchers) and all(weight(job, each) <= Weight.STAGING for each in others)


def _change_directive(job: Job, request: Request, reason: Span) -> Fix | None:
    """The fix in the directives: `--ntasks-per-node=8` becomes 1, where nothing else in the component needs 8."""
    if not request.directives.certain or request.has_any_option(OTHER_COUNTS):
        return None
    if READS_TASKS.search(job.source.text) or any(each.launcher.kind == "mpi" for each in job.launches):
        return None
    if any(each.phase is Phase.BATCH and runs_script(each) for each in job.invocations):
        return None  # it may start steps of its own
    for step in job.steps:
        if step.geometry.several is False or step.has_known_component and step.request.component != request.component:
            continue
        if step.geometry.several is None or not (_runs_only_launchers(job, step) or is_repeatable_step(step)):
            return None
        if any(name in step.options for name in (*PER_TASK_GPUS, "ntasks", "ntasks-per-node", "cpus-per-task")):
            return None
    settings = [each for each in map(request.setting, ("ntasks", "ntasks-per-node")) if each is not None]
    if reason not in [each.span for each in settings]:
        return None
    nodes = request.exact_nodes()
    edits = []
    for setting in settings:
        target = 1 if setting.name == "ntasks-per-node" else nodes
        if target is None or literal_number(job, setting.value_span) is None:
            return None
        edits.append(replacement(request.directives, setting, str(target)))
    per_node = request.tasks_on_each_node()
    if per_node is None and request.tasks is not None and nodes and request.tasks % nodes == 0:
        per_node = request.tasks // nodes
    title, scaled = "request one task per node", []
    for name, what in (("cpus-per-task", "CPUs"), ("gpus-per-task", "GPUs")):
        of_task = request.setting(name)
        if of_task is None:
            continue
        number = literal_number(job, of_task.value_span)
        if number is None or per_node is None:
            return None
        edits.append(replacement(request.directives, of_task, str(number * per_node)))
        scaled.append(what)
    if scaled:
        safe = scaled == ["CPUs"] and not READS_CPUS.search(job.source.text)
        return Fix(f"{title}, with the {' and '.join(scaled)} of {per_node}", edits, safe)
    if request.exclusive == "" or request.has_option("cpus-per-gpu"):
        return Fix(title, edits, safe=True)  # the CPUs do not depend on the number of tasks
    if per_node is None:
        return None
    edits.append(insert(settings[-1].span.end, f" --cpus-per-task={per_node}"))
    return Fix(f"{title}, with the CPUs of {per_node}", edits, safe=True)


def _add_options(job: Job, steps: list[Step]) -> Fix | None:
    """The fix that gives only these steps one task per node."""
    if job.request.heterogeneous or any(map(job.request.has_option, ("gpus-per-task", "tres-per-task"))):
        return None
    edits = []
    for step in steps:
        options = _options_for(job, step)
        if options is None:
            return None
        edits.append(insert(step.invocation.name_span.end, options))
    return Fix("run one task per node in this step", edits)


def _options_for(job: Job, step: Step) -> str | None:
    word = step.invocation.name_span
    if job.source.slice(word).rpartition("/")[2] != "srun" or not step.certain:
        return None
    if any(name in step.options for name in ("ntasks", "ntasks-per-node", "cpus-per-task", *PER_TASK_GPUS)):
        return None
    if step.nodes == 1:
        options = " --ntasks=1"
    elif "nodes" in step.options or job.is_embedded or job.in_quoted_text(word.start):
        if step.nodes is None:
            return None
        options = f" --ntasks={step.nodes} --ntasks-per-node=1"
    else:
        options = " --ntasks=$SLURM_JOB_NUM_NODES --ntasks-per-node=1"
    cpus = job.request.cpus_per_task
    if cpus is not None and step.tasks_per_node is not None:
        options += f" --cpus-per-task={cpus * step.tasks_per_node}"
    return options


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=4
        #SBATCH «--ntasks-per-node=8»
        #SBATCH --gpus-per-node=8 --exclusive
        head=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)
        srun torchrun --nnodes=4 --nproc_per_node=8 --rdzv_backend=c10d --rdzv_endpoint="$head:29500" train.py
        """,
        fixed={"--ntasks-per-node=8": "--ntasks-per-node=1"},
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH -N 2 «--ntasks-per-node=4» --gres=gpu:4 --cpus-per-task=8
        srun bash -c 'accelerate launch --num_machines 2 --num_processes 8 --machine_rank $SLURM_NODEID train.py'
        """,
        fixed="""\
        #!/bin/bash
        #SBATCH -N 2 --ntasks-per-node=1 --gres=gpu:4 --cpus-per-task=32
        srun bash -c 'accelerate launch --num_machines 2 --num_processes 8 --machine_rank $SLURM_NODEID train.py'
        """,
        title="the CPUs move with the tasks",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2 «--ntasks-per-node=8» --gpus-per-node=8
        srun ./preprocess
        srun torchrun --nnodes=2 --nproc_per_node=8 --rdzv_backend=c10d --rdzv_endpoint=n1:29500 train.py
        """,
        unsafe_fixed={"torchrun": "--ntasks=$SLURM_JOB_NUM_NODES --ntasks-per-node=1 torchrun"},
        title="another step needs the tasks",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1 --gpus-per-node=4
        srun «--ntasks=4» --gpus-per-task=1 torchrun --standalone --nproc_per_node=4 train.py
        """,
        title="one GPU per task, and four workers in each: no fix",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=2 --ntasks-per-node=8 --gpus-per-node=8
        srun --ntasks=$SLURM_JOB_NUM_NODES --ntasks-per-node=1 torchrun --nnodes=2 --nproc_per_node=8 \
--rdzv_backend=c10d --rdzv_endpoint=n1:29500 train.py
        """,
        title="the srun itself asks for one task per node",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=2 --ntasks-per-node=4 --gpus-per-task=1
        srun bash -c 'torchrun --nnodes=$SLURM_NTASKS --node_rank=$SLURM_PROCID --nproc_per_node=1 \
--master_addr=n1 train.py'
        """,
        title="every task is a node of one GPU, by design",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=1 --ntasks-per-node=8 --gpus-per-node=8
        torchrun --standalone --nproc_per_node=8 train.py
        """,
        title="no srun: the batch shell starts it once",
    ),
]
