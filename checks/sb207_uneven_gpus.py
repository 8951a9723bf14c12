"""Nodes may get unequal numbers of GPUs or tasks: the job requests only a total.

`--gpus=8` on two nodes does not say how many each node has: Slurm gave seven to one and one to the other. torchrun with
`--nproc_per_node=4` then finds one GPU on the second node, and fails with `invalid device ordinal`. `--ntasks=16` on
two nodes of eight GPUs likewise put fifteen tasks on one node and one on the other, two ranks to a GPU.

This works by luck only if the nodes are so small that no uneven split exists. Eight GPUs for each node are assumed to
be such a case, and so are tasks with so many CPUs (`--cpus-per-task`) that one more would need over 64 on a node;
where there is a profile of the cluster (docs/site.md), it says how many a node has.

Only advice where the total cannot be divided by the number of nodes, and nothing shows what each needs. Nothing is said
of tasks that start a launcher of several workers (torchrun, mpirun) or several programs, nor of steps in the
background, which share the GPUs: those tasks are no ranks with a GPU each.

## Fix

Asks for the same number per node: `--gpus-per-node=4` in place of `--gpus=8`, `--ntasks-per-node=8` in addition to
`--ntasks=16`. For GPUs safe where the total divides evenly: the job asks for as many. Unsafe where the script reads
SLURM_GPUS. For tasks safe only where the script shows that each takes a GPU of its own (`--gpu-bind`, SLURM_LOCALID),
and no step sets its own number of tasks.

## References

Runs on Slurm 22.05, 23.11, 24.11 and 26.05 with two to four nodes of 8 GPUs and 64 CPUs (16 GPUs on four: 8, 6, 1, 1);
sbatch(1), --gpus.
"""

import re
from collections.abc import Iterator

from sbatchlint.analysis.launch.literal_counts import literal_number
from sbatchlint.analysis.script.work import is_repeatable_step
from sbatchlint.analysis.site.defaults import largest_node_cpus
from sbatchlint.check import Bad, Card, Edit, Finding, Fix, Good, Job, Span
from sbatchlint.job.environment import LOCAL_RANKS
from sbatchlint.job.launches import by_step
from sbatchlint.job.request import gpu_count
from sbatchlint.job.steps import Step
from sbatchlint.job.worlds import find_worlds
from sbatchlint.programs import has_trait
from sbatchlint.slurm.grammar.numbers import whole
from sbatchlint.slurm.rewriting import insertion
from sbatchlint.triggers import Options

CARD = Card(
    "SB207", "uneven-gpus", severity="warning", fix="sometimes", since="0.1.0", when=Options("gpus", "ntasks")
)  # fmt: skip

# Nodes with more GPUs than this are rare: a job with so many on each node has all of them.
MOST_ON_A_NODE = 8
# Nodes of 64 CPUs are common: tasks that need no more than that may share one.
COMMON_CPUS = 64
# Other options that set how many GPUs each node has, or how tasks are distributed over nodes.
OF_GPUS = ("gpus-per-node", "gpus-per-task", "gpus-per-socket", "gres", "tres-per-task", "ntasks-per-gpu")
OF_TASKS = ("ntasks-per-node", "ntasks-per-socket", "ntasks-per-core", "ntasks-per-gpu", "distribution", "spread-job",
             "gpus-per-task", "tres-per-task", "overcommit", "mincpus", "exclusive", "use-min-nodes")  # fmt: skip
TOTAL_GPUS = re.compile(r"SLURM_GPUS(?![_A-Z])")


def check(job: Job) -> Iterator[Finding]:
    if job.directives.certain and not job.request.heterogeneous:
        yield from _uneven_gpus(job)
        yield from _uneven_tasks(job)


def _uneven_gpus(job: Job) -> Iterator[Finding]:
    """The finding on a total of GPUs that should be split evenly over the nodes."""
    request = job.request
    total, nodes, setting = request.gpus.total, request.exact_nodes(), request.setting("gpus")
    if total is None or setting is None or nodes is None or not 1 < nodes < total:
        return
    if request.has_any_option(OF_GPUS):
        return
    per_node = total // nodes if total % nodes == 0 else None
    if per_node is not None and per_node == (job.site.gpus_per_node or MOST_ON_A_NODE):
        return
    found = _gpus_needed_per_node(job, nodes, per_node)
    if found is None:
        if per_node is None and any(step.nodes == nodes and _inherits_gpus(step) for step in job.steps):
            message = f"{total} GPUs do not divide evenly by {nodes} nodes, so some nodes get more than others"
            yield Finding(setting.span, f"{message}; request the same number on each with --gpus-per-node", "info")
        return
    place, wanted = found
    advice, fix = "request them with --gpus-per-node", None
    count = gpu_count("gpus", setting.text or "", request.version)
    if per_node is not None and count is not None and count.kind is not None:
        option = f"--gpus-per-node={count.kind}{':' if count.kind else ''}{per_node}"
        advice = f"write {option}"
        literal = literal_number(job, setting.value_span) is not None or count.kind
        if literal and setting.value_line is setting.line and "\n" not in job.source.slice(setting.span):
            safe = TOTAL_GPUS.search(job.source.text) is None
            fix = Fix("request GPUs per node", [Edit(setting.span, option)], safe)
    most = min(total - nodes + 1, job.site.gpus_per_node or total)
    split = f"{most} of these {total} GPUs to one node" if most <= 8 else f"these {total} GPUs unevenly to the nodes"
    yield Finding(
        setting.span,
        f"Slurm may give {split}, but line {job.line(place.start)} needs {wanted} on each of {nodes} nodes; {advice}",
        related=[(place, f"needs {wanted} on each node")],
        fix=fix,
    )


def _gpus_needed_per_node(job: Job, nodes: int, per_node: int | None) -> tuple[Span, int] | None:
    """The first command that needs the same number of GPUs on each node: its place, and that number.

    It is a launcher of a fixed number of processes on each node, or a step with a task for each GPU.
    """
    for world in find_worlds(job):
        step, launcher = world.step, world.launcher
        if step is None or not launcher.spawns or world.nodes != nodes or launcher.cpu:
            continue
        count = launcher.processes_per_task
        if isinstance(count, int) and count > 1 and (per_node is None or count == per_node):
            if world.starts_per_node == 1 and _inherits_gpus(step):
                return launcher.span, count
    for step in job.steps:
        tasks = step.tasks_per_node
        if step.nodes == nodes and tasks is not None and tasks > 1 and tasks == per_node and _inherits_gpus(step):
            if not is_repeatable_step(step) and _are_ranks(job, step):
                return step.invocation.name_span, tasks
    return None


def _are_ranks(job: Job, step: Step) -> bool:
    """Whether the tasks of a step may be ranks with a GPU each: each starts one program, which starts no others."""
    if step.invocation.context.background is not None or id(step) in by_step(job.launches):
        return False
    leaves = [each for each in step.program if not each.children and not has_trait(each.name, "minor")]
    if any(each.context.background not in (None, step.invocation.context.background) for each in leaves):
        return False
    if any((each.name or "").endswith((".sh", ".bash")) for each in leaves):
        return False  # what that file starts is not known
    return not any(has_trait(each.name, "spreads", "repeats", "serves") for each in step.program)


def _take_one_each(job: Job, step: Step) -> bool:
    """Whether the script shows that each task of a step takes a GPU of its own."""
    bound = step.option("gpu-bind")
    if bound is not None and (bound.text or "").startswith(("single:1", "per_task:1", "map_gpu", "mask_gpu")):
        return True
    return any(name in job.source.text for name in LOCAL_RANKS)


def _inherits_gpus(step: Step) -> bool:
    return step.certain and not any(name in step.options for name in ("gpus", *OF_GPUS))


def _uneven_tasks(job: Job) -> Iterator[Finding]:
    """The finding on a total of tasks that gives one task for each GPU."""
    request = job.request
    tasks, nodes, setting = request.tasks, request.exact_nodes(), request.setting("ntasks")
    if tasks is None or setting is None or nodes is None or not 1 < nodes < tasks or tasks % nodes:
        return
    per_node = tasks // nodes
    if request.has_any_option(OF_TASKS) or request.gpus_per_node() != per_node:
        return
    fitting = (largest_node_cpus(job) or COMMON_CPUS) // (request.cpus_per_task or 1)
    if fitting <= per_node:
        return
    for step in job.steps:
        if step.geometry.reason is None or step.geometry.reason[0] != setting.span or not step.certain:
            continue
        if step.nodes != nodes or "distribution" in step.options or is_repeatable_step(step):
            continue
        if not _are_ranks(job, step):
            continue
        option, place = f"--ntasks-per-node={per_node}", step.invocation.name_span
        steps_set_tasks = any({"ntasks", "nodes", "ntasks-per-node"} & other.options.keys() for other in job.steps)
        fix, safe = None, not steps_set_tasks and _take_one_each(job, step)
        if whole(setting.text) is not None and literal_number(job, setting.value_span) is not None:
            fix = Fix("request tasks per node", [insertion(job.directives, option)], safe=safe)
        yield Finding(
            setting.span,
            f"Slurm may put {min(tasks - nodes + 1, fitting)} of these {tasks} tasks on one node, where ranks on line "
            f"{job.line(place.start)} then share {per_node} GPUs; write {option} too",
            related=[(place, "starts a task for each GPU")],
            fix=fix,
        )
        return


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2 --ntasks-per-node=1
        #SBATCH «--gpus=8»
        srun torchrun --nnodes=2 --nproc_per_node=4 --rdzv_backend=c10d --rdzv_endpoint=$HEAD:29500 train.py
        """,
        fixed={"--gpus=8": "--gpus-per-node=4"},
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH -N 2 --ntasks-per-node=4 «-G a100:8»
        srun python train.py
        """,
        fixed={"-G a100:8": "--gpus-per-node=a100:4"},
        title="a task for each GPU",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2 --gpus-per-node=8
        #SBATCH «--ntasks=16»
        srun python train.py
        """,
        unsafe_fixed={"#SBATCH --ntasks=16": "#SBATCH --ntasks=16\n#SBATCH --ntasks-per-node=8"},
        title="fifteen tasks and one",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=2 --ntasks-per-node=1 --gpus=16
        srun torchrun --nnodes=2 --nproc_per_node=8 --rdzv_backend=c10d --rdzv_endpoint=$HEAD:29500 train.py
        """,
        title="eight on each is all that nodes have",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=2 --ntasks-per-node=4 --gpus=8 --gpus-per-task=1
        srun python train.py
        """,
        title="the GPUs go with the tasks",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=2 --ntasks=8 --gpus-per-node=4 --exclusive
        srun python train.py
        """,
        title="tasks of an exclusive job are split evenly",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=2 --ntasks=8 --gpus-per-node=4 --cpus-per-task=24
        srun python train.py
        """,
        title="few nodes have CPUs for a fifth task",
    ),
]
