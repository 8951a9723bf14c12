"""srun starts more tasks than its `--ntasks-per-node` says: the job's number of tasks counts as its `-n`.

A job with `--ntasks-per-node=8` on 8 nodes has SLURM_NTASKS=64 in its environment, and each srun reads that as `-n 64`.
An srun with `--ntasks-per-node=1`, meant for a launcher, warns "can't honor --ntasks-per-node set to 1 which doesn't
match the requested tasks 64", and starts 64 tasks all the same. With an additional `-N`, srun drops the inherited
number since 23.02.5, and honours the option. Before that, a step on fewer nodes than the job has, such as one for the
workers of Ray next to its head, starts all tasks of the job on these, or is refused for lack of CPUs.

A warning where the job may have another number of tasks in some runs, only some run the step, or each task of it only
installs software; advice for a step that
only runs utilities such as mkdir, and where only releases before 23.02.5 ignore it.

## Fix

Adds `--ntasks`, the number of nodes times the tasks on each. Safe: it is what the option asks for.

## References

`initialize_and_process_args()` in src/srun/opt.c, Slurm 22.05 to 26.05 (23.02.4 and 23.02.5); live runs of 22.05
"""

from collections.abc import Iterator

from sbatchlint.analysis.editing.options import add_step_option, knows_all_steps
from sbatchlint.analysis.script.conditionals import depends_on_test
from sbatchlint.analysis.script.work import only_prepares, step_programs
from sbatchlint.bash.values import expansions
from sbatchlint.check import Bad, Card, Finding, Fix, Good, Job
from sbatchlint.job.geometry import is_node_count
from sbatchlint.job.steps import Step
from sbatchlint.programs import has_trait
from sbatchlint.slurm.grammar.numbers import whole
from sbatchlint.slurm.versions import is_before
from sbatchlint.source.numbers import all_of
from sbatchlint.triggers import StepOptions

CARD = Card(
    "SB302", "step-tasks-ignored", severity="error", fix="sometimes", since="0.1.0",
    when=StepOptions("ntasks-per-node"),
)  # fmt: skip


def check_step(job: Job, step: Step) -> Iterator[Finding]:
    option = step.option("ntasks-per-node")
    if option is None or step.geometry.ignored is False or not step.certain:
        return
    requested, inherited = whole(option.text), _inherited(step)
    crowded = _crowded(step, requested)
    if requested is None or crowded is None and (inherited is None or requested >= inherited):
        return
    always = step.geometry.ignored is True
    ignores = "srun ignores" if always else "srun before Slurm 23.02.5 ignores"
    setting = step.request.setting("ntasks-per-node") or step.request.setting("ntasks")
    reason, related = "SLURM_NTASKS", []
    if setting is not None:
        reason = f"`{job.source.slice(setting.span)}` (line {job.line(setting.span.start)})"
        related.append((setting.span, "the tasks that srun inherits"))
    totals = _totals(step, requested)
    starts = f"{inherited} tasks per node" if crowded is None else crowded
    if crowded is None and step.request.tasks_on_each_node() is None:
        starts = f"{step.request.tasks} tasks"
    yield Finding(
        option.span,
        f"{ignores} `{option.written}={requested}`: {reason} makes it start {starts}; "
        f"add `--ntasks{f'={totals[0]}' if totals else ''}`",
        _severity(step, always),
        related=related,
        fix=_add_total(job, step, totals),
        versions=None if always else tuple(each for each in job.versions.majors if is_before(each, "23.11")),
    )


def _severity(step: Step, always: bool) -> str | None:
    """A warning, too, where every task installs the same: one does it, and the others find it locked, or done."""
    if only_prepares(step):
        return "info"
    installs = all(has_trait(each.name, "installs") for each in step_programs(step))
    return "warning" if installs or not always or depends_on_test(step.invocation) else None


def _inherited(step: Step) -> int | None:
    """The number of tasks on each node of the job, or on the fullest one; None if unknown."""
    request = step.request
    per_node, nodes = request.tasks_on_each_node(), request.exact_nodes()
    if per_node is not None:
        return per_node
    return -(-request.tasks // nodes) if request.tasks is not None and nodes else None


def _crowded(step: Step, requested: int | None) -> str | None:
    """The message part on all tasks of a job on fewer nodes than it has, where the option asks for fewer tasks."""
    tasks, nodes, in_job = step.request.effective_tasks(), step.nodes, step.request.exact_nodes()
    if not tasks or not nodes or not in_job or nodes >= in_job or requested is None or requested * nodes >= tasks:
        return None
    return f"{all_of(tasks, 'task')} of the job"


def _totals(step: Step, per_node: int) -> list[str]:
    """The possible values of `--ntasks`: an expression of the job's nodes, and a number, as far as known."""
    nodes = step.option("nodes")
    if nodes is not None and not is_node_count(nodes.value or ()):
        # an expression of the job's nodes would also be right for another job, a number is not
        number = None if expansions(nodes.value or ()) else whole(nodes.text)
        return [] if number is None else [str(number * per_node)]
    expression = "$SLURM_JOB_NUM_NODES" if per_node == 1 else f"$((SLURM_JOB_NUM_NODES * {per_node}))"
    number = step.request.exact_nodes()
    return [expression] if number is None else [expression, str(number * per_node)]


def _add_total(job: Job, step: Step, totals: list[str]) -> Fix | None:
    for total in totals:
        edits = add_step_option(job, [step], f"--ntasks={total}", ("ntasks-per-node",))
        if edits is not None:
            return Fix("set the number of tasks", edits, safe=knows_all_steps(job))
    return None


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=8
        #SBATCH --ntasks-per-node=8
        srun «--ntasks-per-node=1» torchrun --nnodes=8 --nproc_per_node=8 --rdzv_backend=c10d \
--rdzv_endpoint=$(hostname):29500 train.py
        """,
        fixed={"torchrun": "--ntasks=$SLURM_JOB_NUM_NODES torchrun"},
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2 --ntasks=16
        srun -N 2 «--ntasks-per-node=2» ./setup.sh
        """,
        fixed={"./setup.sh": "--ntasks=4 ./setup.sh"},
        severity="info",
        title="with -N, before 23.02.5",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2-8 --ntasks-per-node=8
        STEP="srun «--ntasks-per-node=1»"
        $STEP ./once_per_node
        """,
        severity="info",
        title="no fix in a string, where the number of nodes is not known",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=8
        #SBATCH --ntasks-per-node=8
        srun -n $SLURM_NNODES --ntasks-per-node=1 ./once_per_node
        srun --ntasks-per-node=8 ./everywhere
        unset SLURM_NTASKS SLURM_NPROCS
        srun -N 8 --ntasks-per-node=1 ./once_per_node
        """,
        title="with -n; as many as the job has; without the variable",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=8
        srun --ntasks-per-node=4 ./a.out
        """,
        title="a job that asks for no tasks",
    ),
]
