"""A program is slow: it uses more CPUs than Slurm allocates to it.

Most sites bind a job to the CPUs that it requests, and to one if it requests none. `--num_workers 16` or
`OMP_NUM_THREADS=32` does not add any: the threads compete for the few there are, which is slower than one thread per
CPU. Where nothing is bound (TaskPlugin without task/cgroup and ConstrainCores), they take the CPUs of other jobs.

A warning from twice as many on; advice below that, and where the job does not request CPUs at all, as partitions may
add some for each GPU (DefCpuPerGPU) or allocate whole nodes; with a profile of the cluster (docs/site.md) it is known
which do, and how many. Only numbers for one process are compared; the number of
tasks may be meant for all of them.

## Fix

None: either more CPUs or fewer threads would do. `$SLURM_CPUS_PER_TASK` keeps the two equal.

## References

sbatch(1), --cpus-per-task; slurm.conf(5), DefCpuPerGPU and TaskPlugin ("Unset by default"); cgroup.conf(5),
ConstrainCores
"""

from collections.abc import Iterator

from sbatchlint.analysis.script.centres import gets_whole_nodes
from sbatchlint.analysis.script.step_programs import UTILITIES
from sbatchlint.analysis.script.threads import THREAD_VARIABLE, commands_with_threads, counts_elsewhere, thread_options
from sbatchlint.analysis.site.defaults import cpus_without_asking, in_whole_nodes
from sbatchlint.bash.trace import Invocation, exported
from sbatchlint.bash.values import Phase, Pieces, expansions, span_of, text_of
from sbatchlint.check import Bad, Card, Finding, Good, Job, Span
from sbatchlint.job.steps import Step, enclosing_step
from sbatchlint.programs import has_trait
from sbatchlint.slurm.grammar.numbers import whole
from sbatchlint.source.numbers import is_number, parse_integer

CARD = Card(
    "SB616", "threads-mismatch", severity="warning", fix="never", since="0.1.0",
    batch=True, certain=True, homogeneous=True,
)  # fmt: skip

SETTINGS = {"site": {"profile": "example"}}
# Options that affect the CPUs of a job in ways that are not modelled here.
UNCLEAR = (
    "exclusive", "mincpus", "cores-per-socket", "sockets-per-node", "threads-per-core", "extra-node-info",
    "cpus-per-gpu", "ntasks-per-core", "ntasks-per-socket", "ntasks-per-gpu",
    "core-spec", "thread-spec", "tres-per-task", "hint",
)  # fmt: skip


# A few more than there are CPUs cost nothing.
_A_FEW_MORE = 1.1


def check(job: Job) -> Iterator[Finding]:
    request = job.request
    if request.has_any_option(UNCLEAR) or request.foreign_settings():
        return
    # CPUs, or several tasks that one process has for itself; a lone `-n 1` says nothing of threads
    tasks = (request.effective_tasks() or 0) > 1 and not job.steps and not job.launches
    by_variable = (
        tasks or request.has_option("cpus-per-task") or any("cpus-per-task" in step.options for step in job.steps)
    )
    commands = job.invocations if by_variable else commands_with_threads(job)
    for command in commands:
        step = enclosing_step(command.context)
        if command.context.captured or not command.argv or step is None and command.kind == "mpi":
            continue
        inner = {each.name for each in command.descendants()}
        if inner and (not has_trait(command.name, "repeats") or "srun" in inner):
            continue
        requested = request.has_option("cpus-per-task") or step is not None and step.option("cpus-per-task") is not None
        requested = requested or tasks
        for words, span, number, of_job in _thread_setting(job, command, step, requested):
            cpus = _cpus(job, step)
            if cpus is None or number <= max(cpus * _A_FEW_MORE, 2) or counts_elsewhere(command):
                continue
            if number in (request.effective_tasks(), None if step is None else step.tasks):
                continue  # it may count the tasks
            fewer = step.option("cpus-per-task") if of_job and step is not None else None
            if fewer is not None and fewer.span is not None:  # the value follows the job's number, not the step's
                message = (
                    f"`{fewer.as_written}` gives a task {cpus} of the job's {number} CPUs, but `{words}` counts all "
                    f"of them; write `--cpus-per-task={number}`, or lower it"
                )
                severity = "warning" if number >= 2 * cpus else "info"
                yield Finding(fewer.span, message, severity, related=[(span, f"{number} here")])
                continue
            given = None if requested else cpus_without_asking(job)
            available = "a job that requests no CPUs gets one"
            if requested:
                available = f"{'the job' if tasks else 'a task'} has {cpus} here"
            if given is not None:
                available = f"the job gets {given} on a node"
            remedy = f"request {number} with `--cpus-per-task`, or lower it" if not in_whole_nodes(job) else "lower it"
            severity = "warning" if (requested or given is not None) and number >= 2 * cpus else "info"
            yield Finding(span, f"`{words}` exceeds the CPUs available: {available}; {remedy}", severity)


def _cpus(job: Job, step: Step | None) -> int | None:
    """The maximum number of CPUs that one process may use; None where it is unknown."""
    request = job.request
    if not request.has_option("cpus-per-task"):
        given = cpus_without_asking(job)
        if given is not None and (step is None or step.option("cpus-per-task") is None):
            return given
        if gets_whole_nodes(job):
            return None
    if step is not None:
        option = step.option("cpus-per-task")
        if not step.certain or any(step.option(name) is not None for name in UNCLEAR):
            return None
        if option is not None:
            return whole(option.text)
    per_task = whole(request.value("cpus-per-task")) if request.has_option("cpus-per-task") else 1
    tasks: int | None = 1
    if request.has_option("ntasks-per-node") or request.has_option("ntasks"):
        tasks = request.tasks_on_each_node() or request.tasks  # at most
    if per_task is None or tasks is None:
        return None
    if step is not None and step.tasks_per_node:
        return max(per_task, per_task * tasks // step.tasks_per_node)
    return per_task * tasks


def _thread_setting(
    job: Job, command: Invocation, step: Step | None, by_variable: bool
) -> Iterator[tuple[str, Span, int, bool]]:
    """The CPUs that a command is set to use: the words, their place, the number, and whether it is the job's own."""
    for setting in thread_options(command):
        of_job = step is not None and _is_of_job(setting.value)
        number = _cpus(job, None) if of_job and setting.number is None else setting.number
        if number is not None:
            yield setting.shown, setting.span, number, of_job
    if not by_variable or step is None and job.steps:
        return  # the variable is for the steps, not for what the batch shell itself runs
    if _is_tool(command.words[0].rpartition("/")[2]):
        return
    for variable in filter(THREAD_VARIABLE.fullmatch, command.state.variables):
        field = exported(command, variable) or ()
        text = text_of(field) or ""
        if is_number(text) and field[0].expansion is None:
            yield f"{variable}={text}", span_of(field), parse_integer(text), False


def _is_of_job(value: Pieces) -> bool:
    """Whether a value is the batch shell's own number of CPUs."""
    names = {(each.name, each.phase) for each in expansions(value)}
    return names in ({("SLURM_CPUS_ON_NODE", Phase.BATCH)}, {("SLURM_CPUS_PER_TASK", Phase.BATCH)})


def _is_tool(name: str) -> bool:
    return name in UTILITIES


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1 --gpus=1 --cpus-per-task=4
        srun python train.py «--num_workers 16»
        """
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --ntasks=1 --cpus-per-task=8
        export OMP_NUM_THREADS=«32»
        ./solver
        """
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1 --gpus=1
        python train.py «--workers=8»
        """,
        severity="info",
        title="a partition may give CPUs for a GPU",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --ntasks=1 --cpus-per-task=8
        export OMP_NUM_THREADS=$SLURM_CPUS_PER_TASK
        ./solver --threads 8
        """,
        title="as many as there are",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=1 --exclusive
        ./solver --threads 64
        """,
        title="a whole node",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH -p gpu --gpus=1
        python train.py «--workers=64»
        """,
        settings=SETTINGS,
        title="the partition gives 16 CPUs for a GPU",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH -p whole --nodes=1
        ./solver «--threads 256»
        """,
        settings=SETTINGS,
        title="more than a whole node has",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH -p gpu --gpus=1
        python train.py --workers=16
        """,
        settings=SETTINGS,
        title="as many as the partition gives for a GPU",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH -p whole --nodes=1
        srun ./solver --threads 128
        """,
        settings=SETTINGS,
        title="a partition of whole nodes",
    ),
]
