"""A program is slow: it uses more CPUs than Slurm allocates to it.

Most sites bind a job to the CPUs that it requests, and to one if it requests none. `--num_workers 16` or
`OMP_NUM_THREADS=32` does not add any: the threads compete for the few there are, which is slower than one thread per
CPU. Where nothing is bound (TaskPlugin without task/cgroup and ConstrainCores), they take the CPUs of other jobs.

Options are multiplied where a program does so: `bismark_genome_preparation --parallel 8` uses 16 CPUs, `gmx mdrun
-ntmpi 4 -ntomp 8` and `dask worker --nworkers 4 --nthreads 8` 32, and so does `parallel -j 4 bwa mem -t 8`. Programs in
the background of the batch shell count together; so do the workers in a program that the script itself holds
(`Pool(16)`, `mc.cores=16`, `parpool(16)`). `OMP_NUM_THREADS=$SLURM_NTASKS` counts the tasks, each of which then has as
many threads. Of a loop over numbers, such as `for t in 1 2 4 8 16`, the largest counts.

A warning from twice as many on; advice below that, and where the job does not set CPUs or tasks, or has GPUs, as
partitions may add some for each GPU (DefCpuPerGPU) or allocate whole nodes; with a profile of the cluster
(docs/site.md) it is known which do, and how many. Only numbers for one process are compared; the number of tasks may be
meant for all of them.

## Fix

None: either more CPUs or fewer threads would do. `$SLURM_CPUS_PER_TASK` keeps the two equal.

## References

sbatch(1), --cpus-per-task; slurm.conf(5), DefCpuPerGPU and TaskPlugin ("Unset by default"); cgroup.conf(5),
ConstrainCores; the manuals of Bismark (0.24), GROMACS, Dask, GNU parallel and xargs
"""

from bisect import bisect_left
from collections.abc import Iterator
from typing import NamedTuple

from sbatchlint.analysis.expansion.array_elements import several_elements, works_by_index
from sbatchlint.analysis.launch.cpu_use import (
    UNCLEAR,
    AtOnce,
    copies,
    cpus_of_each_task,
    cpus_of_process,
    cpus_of_rank,
    processes_of,
    programs_at_once,
)
from sbatchlint.analysis.script.loops import last_numbers
from sbatchlint.analysis.script.program_texts import worker_calls
from sbatchlint.analysis.script.threads import (
    THREAD_VARIABLE,
    commands_with_threads,
    counts_elsewhere,
    cpu_options,
    waits_for_servers,
)
from sbatchlint.analysis.script.work import UTILITIES, Weight, weight
from sbatchlint.analysis.site.defaults import cpus_without_asking, in_whole_nodes
from sbatchlint.bash.trace import Invocation, VariableAssignment, values_of
from sbatchlint.bash.values import Phase, Pieces, expansions, span_of, text_of
from sbatchlint.bash.variables import branches_in, iterations_of, merge_guards
from sbatchlint.check import Bad, Card, Finding, Good, Job, Span, joined_alike
from sbatchlint.job.once import once
from sbatchlint.job.steps import Step, enclosing_step
from sbatchlint.programs import has_trait
from sbatchlint.slurm.grammar.numbers import whole
from sbatchlint.source.numbers import counted, is_number, parse_integer
from sbatchlint.source.regex import Regex
from sbatchlint.source.shortening import MOST

CARD = Card(
    "SB616", "threads-mismatch", severity="warning", fix="never", since="0.1.0",
    batch=True, certain=True, homogeneous=True,
)  # fmt: skip

SETTINGS = {"site": {"profile": "example"}}


# A few more than there are CPUs cost nothing.
_A_FEW_MORE = 1.1
_LARGEST_NODE = 128  # CPUs that most sites have on a node; more are rather not requested
_BUILDERS = frozenset({"scram", "scramv1", "scons", "bazel", "cargo", "spack", "b2", "bjam"})
# Programs whose threads only compress what the main thread writes, and come on top of it (bcftools(1), --threads).
_COMPRESSING = frozenset({"bcftools"})
_FEWER = Regex(r", or lower `[^`]*`$")
_STARTER = Regex(r" processes \(`[^`]*`\)")
# Options that say which of several parts this is.
_NUMBER_OF_PART = Regex(
    r"-{1,2}(?:[^\W_]+[-_])*(?:thread|worker|proc(?:ess)?|shard|part|rank|job|chunk|task)[-_]?(?:id|idx|index|num(?:ber)?|no)"
    r"(?:=.*)?"
)
# What only one process of several does, before the others begin.
_OF_ONE = Regex(r"(?i)preproc|tokeni|download|dataset")


class Use(NamedTuple):
    """The CPUs that a command is set to use: the words that say so, their place, and the number.

    `of_job`: whether it is the job's own number. `multiplied`: whether it is more than what the words say; `own`: what
    they say, 0 where that is not known. `times`: how many CPUs the program uses for each that the words say.
    `of_tasks`: whether a variable for threads has the number of tasks, or of all their CPUs, as Slurm counts it.
    """

    shown: str
    span: Span
    number: int
    of_job: bool = False
    multiplied: bool = False
    own: int = 0
    times: int = 1
    of_tasks: bool = False


# A number that is that of the job's CPUs.
_OF_JOB = Regex(r"\$\{?(SLURM_CPUS_\w+)\}?$")


def check(job: Job) -> Iterator[Finding]:
    return joined_alike(_all(job), "the same")  # `prokka` for each of thirty files


def _all(job: Job) -> Iterator[Finding]:
    request = job.request
    if request.has_any_option(UNCLEAR) or request.foreign_settings():
        return
    # CPUs, or several tasks that one process has to itself; a lone `-n 1` does not set threads
    array = several_elements(job)
    tasks = (request.effective_tasks() or 0) > 1 and not any(map(_works, job.steps)) and not job.launches
    with_threads = {each.index for each in commands_with_threads(job)}
    has_variable = "_THREADS" in job.source.text
    for command in job.invocations:
        if not has_variable and command.index not in with_threads and not any(worker_calls(job, command)):
            continue
        step = enclosing_step(command.context)
        if command.context.captured or not command.argv or command.words[0].startswith("-"):
            continue  # the options of a command whose line has no backslash are none
        rank = step is None and command.kind == "mpi"
        inner = {each.name for each in command.descendants()}
        if inner and (not has_trait(command.name, "repeats") or "srun" in inner):
            continue
        requested = tasks or request.has_any_option(("cpus-per-task", "cpus-per-gpu"))
        requested = requested or step is not None and step.option("cpus-per-task") is not None
        alike: set[int] = set()  # options of one command that say the same: `--nthreads 16 --n_cpus 16`
        for use in _uses(job, command, step):
            if use.number in alike:
                continue
            cpus = cpus_of_rank(job, command) if rank else cpus_of_process(job, step)
            words, span, number = use.shown, use.span, use.number
            if use.of_tasks and step is not None and cpus is not None and step.tasks == request.effective_tasks():
                cpus = cpus_of_each_task(job, step) or cpus  # also where the tasks may be on several nodes
            if cpus is None or number <= max(cpus * _A_FEW_MORE, 2) or counts_elsewhere(command):
                continue
            counts = (request.effective_tasks(), None if step is None else step.tasks)
            if number in counts and not rank and not (use.of_tasks and step is not None and (step.tasks or 0) > 1):
                continue  # it may count the tasks
            if array is not None and number == array.tasks and works_by_index(job, command):
                if any(map(_NUMBER_OF_PART.fullmatch, command.words)):
                    continue  # it counts those of the array: `--nthreads 32 --thread_id $SLURM_ARRAY_TASK_ID`
            alike.add(number)
            fewer = step.option("cpus-per-task") if use.of_job and step is not None else None
            if fewer is not None and fewer.span is not None:  # the value follows the job's number, not the step's
                message = (
                    f"`{fewer.as_written}` gives a task {cpus} of the job's {number} CPUs, but `{words}` counts all "
                    f"of them; write `--cpus-per-task={number}`, or use fewer"
                )
                severity = "warning" if number >= 2 * cpus else "info"
                yield Finding(fewer.span, message, severity, related=[(span, f"{number} here")])
                continue
            given = None if requested else cpus_without_asking(job)
            shared = use.multiplied and job.launches and (request.gpus_per_node() or 0) > 1
            if shared and not requested and given is None:
                continue  # cpus-not-requested reports it
            available = "a task gets one CPU by default"
            if "SLURM_CPUS_ON_NODE" in job.source.text:  # the script counts on more
                available = "a task gets one CPU unless the site gives whole nodes"
            if requested or cpus > 1 or rank:
                who = "the job has" if tasks else f"each {'process' if rank else 'task'} has"
                available = f"{'a task has' if requested and not tasks and not rank else who} {cpus} here"
            if given is not None:
                available = f"the job gets {given} on a node"
            extra = command.name in _COMPRESSING
            remedy = _remedy(job, use._replace(number=number + extra), step, cpus, rank=rank)
            alone = _says_one(job) and not rank and (step is None or step.tasks == 1)
            said = requested or use.of_tasks or given is not None or alone
            # loaders of several processes wait for most of their time
            several = 4 if use.multiplied and processes_of(job, command) is not None else 2
            severity = "warning" if said and number >= several * cpus else "info"
            if words.startswith("-j") and not _works_by_itself(job, command) and command.index < _last_work(job):
                severity = "info"  # it only builds what the work of the job needs, which the job waits for
            if extra or has_trait(command.name, "packs") and _does_other_work(job):
                severity = "info"  # it takes longer, beside the job's work
            if use.of_tasks and (rank or step is not None):
                each, has = "process" if rank else "task", counted(cpus, "CPU")
                message = f"`{words}` gives each {each} {number} threads, on {has}; write `${{SLURM_CPUS_PER_TASK:-1}}`"
                yield Finding(span, message, severity)
                continue
            message = f"`{words}` exceeds the CPUs available: {available}; {remedy}"
            if use.multiplied:
                product = f"{use.times} × {number // use.times}" if use.times > 1 else f"{number}"
                own, within, starter = words.partition("` in `")
                what = f"`{words}`"
                if within and use.own and use.times < 2:
                    what = f"`{own}` in {number // use.own} processes (`{starter}`)"
                message = f"{what} uses {product} CPUs, but {available}; {remedy}"
            message = message if len(message) <= MOST else _STARTER.sub(" processes", message)
            yield Finding(span, message if len(message) <= MOST else _FEWER.sub(", or use fewer", message), severity)
    yield from filter(None, (_at_once(job, group) for group in programs_at_once(job)))


def _remedy(job: Job, use: Use, step: Step | None, cpus: int, *, rank: bool) -> str:
    """What to write: as many CPUs for each task as make the number, whatever tasks the job has, or fewer threads."""
    grows = _OF_JOB.search(use.shown) if use.multiplied else None
    if grows is not None and use.number > cpus and use.number % cpus == 0:  # more CPUs would make it more as well
        return f"write `$(({grows[1]} / {use.number // cpus}))`"
    fewer = cpus * use.own // use.number if use.multiplied and use.own else 0
    lower = _lower(use, fewer or (cpus // use.times if use.times > 1 else 0), cpus)
    if in_whole_nodes(job) or use.number > _LARGEST_NODE:
        return lower
    if fewer:
        return f"{lower}, or request {use.number} CPUs"
    if step is not None or rank:
        return f"request {use.number} with `--cpus-per-task`, or {lower}"
    return f"{_request(job, use.number)}, or {lower}"


def _lower(use: Use, number: int, cpus: int) -> str:
    """What to lower, to a number if that is not 0; `cpus`: those that there are."""
    words = use.shown.partition("` in `")[0]
    _, without, option = words.partition("` without `")
    if without:
        return f"add `{option} {cpus}`"
    if sum(word[0] == "-" for word in words.split()) > 1:
        return "lower one of them"
    return f"lower `{words.split()[0].partition('=')[0]}`{f' to {number}' if number else ''}"


def _request(job: Job, number: int) -> str:
    """What to write for a number of CPUs for what the batch shell starts, whatever tasks the job has."""
    request = job.request
    tasks = request.tasks_on_each_node() or (request.effective_tasks() or 1) // (request.exact_nodes() or 1)
    if tasks <= 1:
        return f"request {number} with `--cpus-per-task`"
    if any(map(_works, job.steps)) or job.launches:
        return f"write `--cpus-per-task={-(-number // tasks)}`, as the job has {tasks} tasks"
    single = " ".join(f"--{name}=1" for name in ("ntasks", "ntasks-per-node") if request.has_option(name))
    if not single:  # a task for each node
        return f"request {number} with `--cpus-per-task`"
    return f"write `{single} --cpus-per-task={number}`"


@once
def _does_other_work(job: Job) -> bool:
    """Whether the job does more than to pack and compress files."""
    return any(weight(job, each) >= Weight.PROGRAM and not has_trait(each.name, "packs") for each in job.invocations)


@once
def _last_work(job: Job) -> int:
    """The index of the last command that works and does not only build; -1 if there is none."""
    return next((each.index for each in reversed(job.invocations) if _works_by_itself(job, each)), -1)


def _works_by_itself(job: Job, command: Invocation) -> bool:
    return weight(job, command) >= Weight.PROGRAM and command.name not in _BUILDERS


def _says_one(job: Job) -> bool:
    """Whether the job asks for one task by itself, and so one CPU, and for no GPUs, with which a site may give more."""
    request = job.request
    are_set = request.has_option("ntasks") or request.has_option("ntasks-per-node")
    return are_set and request.effective_tasks() == 1 and request.asks_for_gpus is False


def _works(step: Step) -> bool:
    """Whether a step does more than prepare, print or copy."""
    return any(not each.children and each.name not in UTILITIES for each in step.program)


def _at_once(job: Job, group: AtOnce) -> Finding | None:
    """The finding on programs in the background that use more CPUs together than the job has."""
    total = 0
    for command, number in group.starts:
        uses = [each.number for each in _uses(job, command, None) if not counts_elsewhere(command)]
        total += number * max(uses, default=1)
    request, cpus = job.request, cpus_of_process(job, None)
    if cpus is None or group.number < 2 or total <= max(cpus * _A_FEW_MORE, 2):
        return None
    are_set = any(map(request.has_option, ("cpus-per-task", "ntasks", "ntasks-per-node")))
    each = f", {total} threads in all," if total > group.number else ""
    has = counted(cpus, "CPU")
    # a site may give a job that asks for none more of them, or whole nodes
    remedy = "start fewer" if total > _LARGEST_NODE else f"{_request(job, total)}, or start fewer"
    on = f" but the job requests only {has}" if are_set else f" but the job gets only {has} unless the site gives more"
    return Finding(
        group.first.name_span,
        f"{group.number} programs run here at once{each or ','}{on}; {remedy}",
        "warning" if are_set and total >= 2 * cpus else "info",
    )


def _uses(job: Job, command: Invocation, step: Step | None) -> Iterator[Use]:
    """The CPUs that a command is set to use, with those of all that run at once beside it."""
    around = copies(command) or (processes_of(job, command) if command.kind != "mpi" else None)
    for use in _own_uses(job, command, step):
        if around is None or _OF_ONE.search(use.shown):
            yield use
        else:
            yield use._replace(
                shown=f"{use.shown}` in `{around[1]}",
                number=use.number * around[0],
                of_job=False,
                multiplied=True,
                own=use.number,
            )


def _own_uses(job: Job, command: Invocation, step: Step | None) -> Iterator[Use]:
    for setting in (*cpu_options(command), *worker_calls(job, command)):
        if waits_for_servers(command, setting.shown):
            continue
        of_job = step is not None and _is_of_job(setting.value)
        number = cpus_of_process(job, None) if of_job and setting.number is None else setting.number
        if number is None and setting.times > 1 and _is_of_job(setting.value):
            own = cpus_of_process(job, step)
            number = None if own is None else own * setting.times
        last = None
        if number is None and setting.times == 1 and not setting.multiplied:
            last = _last_of_loop(job, command, setting.value)
        if last is not None:
            option = setting.shown.replace("=", " ").split()[0]
            yield Use(f"{option} {last[0]}", setting.span, last[0])
        elif number is not None:
            yield Use(setting.shown, setting.span, number, of_job, setting.multiplied, times=setting.times)
    if step is None and command.kind != "mpi" and any(map(_works, job.steps)):
        return  # the variable is for the steps, not for what the batch shell itself runs
    are_set = job.request.has_option("cpus-per-task") or step is not None and "cpus-per-task" in step.options
    if not are_set and any("cpus-per-task" in each.options for each in job.steps):
        return  # the variable is for those steps
    if command.words[0].rpartition("/")[2] in UTILITIES:
        return
    for name in filter(THREAD_VARIABLE.fullmatch, command.state.variables):
        found = _least(job, command, name)
        if found is not None and command.kind == "mpi" and _is_left_over(job, command, name):
            continue
        if found is not None:
            yield Use(f"{name}={found[0]}", found[1], found[0])
            continue
        counted_by_slurm = _of_slurm(job, command, name)
        if counted_by_slurm is not None:
            field, number, of_tasks = counted_by_slurm
            shown = f"{name}=${next(each.name for each in expansions(field))}"
            yield Use(shown, span_of(field), number, of_tasks=of_tasks)


def _is_left_over(job: Job, command: Invocation, name: str) -> bool:
    """Whether a number is the last of a loop above, over threads, of which the ranks that start here have none."""
    assigned = _in_order(job).get(name, [])
    at = bisect_left(assigned, command.name_span.start, key=lambda each: each.span.start)
    return at > 0 and not set(command.context.loops).issuperset(assigned[at - 1].context.loops)


@once
def _in_order(job: Job) -> dict[str, list[VariableAssignment]]:
    """The assignments of each thread count, sorted by their places."""
    found: dict[str, list[VariableAssignment]] = {}
    for each in sorted(job.assignments, key=lambda each: each.span.start):
        if THREAD_VARIABLE.fullmatch(each.name):
            found.setdefault(each.name, []).append(each)
    return found


def _least(job: Job, command: Invocation, name: str) -> tuple[int, Span] | None:
    """The least of the numbers that an exported variable may hold, the largest of those that it gets in a loop.

    None where one is not known, or is Slurm's.
    """
    variable = command.state.variables.get(name)
    if variable is None or not variable.exported:
        return None
    alternatives = variable.alternatives
    if name in dict(command.variables):  # of several values before its name, the command has none
        span, assigned = span_of(dict(command.variables)[name]), _in_order(job).get(name, [])
        at = bisect_left(assigned, span.start, key=lambda each: each.span.start)
        alternatives = next((each.alternatives for each in assigned[at : at + 1] if each.span == span), alternatives)
    values = [each for each in alternatives if merge_guards(command.guards, each.guards) is not None]
    fields = [each.fields[0] if each.fields else () for each in values]
    if not fields or any(each.name.startswith("SLURM") for field in fields for each in expansions(field)):
        return None
    if len(fields) == 1:
        last = _last_of_loop(job, command, fields[0])
        if last is not None:
            return last
    if not all(each.fields is not None and is_number(text_of(field) or "") for each, field in zip(values, fields)):
        return None
    in_turn = all(iterations_of(each.guards) and not branches_in(each.guards - command.guards) for each in values)
    field = (max if in_turn else min)(fields, key=lambda each: parse_integer(text_of(each) or ""))
    return parse_integer(text_of(field) or ""), span_of(field)


def _last_of_loop(job: Job, command: Invocation, field: Pieces) -> tuple[int, Span] | None:
    """The largest number that a word gets in a loop around a command, whose variable it is, and where it is written.

    None where it is not known.
    """
    names = [each.name for each in expansions(field)]
    if len(field) != 1 or field[0].text is not None or not names or branches_in(command.guards):
        return None
    for loop in command.context.loops:
        numbers = last_numbers(job).get(loop)
        if numbers is not None and numbers[0] == names[0]:
            return numbers[1:]
    return None


def _of_slurm(job: Job, command: Invocation, name: str) -> tuple[Pieces, int, bool] | None:
    """What Slurm counts and an exported variable holds: its value, the number, and whether that counts all tasks."""
    variable = command.state.variables.get(name)
    values = [] if variable is None or not variable.exported else values_of(command, variable)
    field = values[0][0] if len(values) == 1 and values[0] else None
    read = () if field is None or len(field) != 1 else expansions(field)
    if field is None or len(read) != 1 or read[0].phase is not Phase.BATCH or field[0].expansion is None:
        return None
    request = job.request
    if read[0].name == "SLURM_CPUS_PER_TASK":
        number = whole(request.value("cpus-per-task")) if request.has_option("cpus-per-task") else None
        return None if number is None else (field, number, False)
    if read[0].name in ("SLURM_NTASKS", "SLURM_NPROCS"):
        number = request.effective_tasks() if request.has_any_option(("ntasks", "ntasks-per-node")) else None
    elif read[0].name in ("SLURM_NTASKS_PER_NODE", "SLURM_TASKS_PER_NODE"):
        number = request.tasks_on_each_node() if request.has_option("ntasks-per-node") else None
    else:
        number = cpus_of_process(job, None) if read[0].name == "SLURM_CPUS_ON_NODE" else None
    return None if number is None else (field, number, True)


def _is_of_job(value: Pieces) -> bool:
    """Whether a value is the batch shell's own number of CPUs."""
    names = {(each.name, each.phase) for each in expansions(value)}
    return names in ({("SLURM_CPUS_ON_NODE", Phase.BATCH)}, {("SLURM_CPUS_PER_TASK", Phase.BATCH)})


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
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1 --cpus-per-task=8
        for i in $(seq 1 32); do
            «./solver» $i &
        done
        wait
        """,
        title="programs that run at once",
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
