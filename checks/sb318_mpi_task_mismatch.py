"""CPUs stay idle, or processes do not start: mpirun starts more or fewer processes than the job has tasks.

mpirun takes its slots from the tasks of the job, not from its CPUs. With `--cpus-per-task=32` and no tasks there is one
slot: `mpirun -np 32` of Open MPI reports too few slots and starts nothing, MPICH and Intel MPI put all processes on the
CPUs of one task. With fewer processes than tasks the remaining CPUs stay idle. Under srun, Open MPI 5 finds its other
tasks only through PMIx: with `--mpi=pmi2` each task is alone in a world of one.

With `--oversubscribe` Open MPI starts them on that slot: it binds no process then, and has idle ones yield. Advice
where there are as many as the tasks have CPUs, so that tasks were meant: they have these CPUs all the same.

Of several launches, or the iterations of a loop, the largest counts: if even that leaves nodes idle, it is a warning,
as the job waited for all of them and is charged for them; if it leaves CPUs of one node idle, advice, as measurements
may want a whole node.

An error where the launcher is certainly Open MPI's, which starts nothing. Advice where only nodes are requested, as the
site may give whole nodes, where the job takes whole nodes and idle CPUs cost it nothing (`--exclusive`, a centre that
gives them, a comment that says so), where there are as many processes as tasks on some number of nodes that is not set,
and where only the command line of sbatch says how large the job is.

## Fix

For several processes, but fewer than tasks, takes the number from `$SLURM_NTASKS`; or writes `--mpi=pmix`. Unsafe: the
other number may be the intended one, as where there are too many, for which there is none; nor is there for a single
process, whose program may have no MPI.

## References

https://github.com/open-mpi/ompi/issues/6020, https://github.com/open-mpi/ompi/issues/13523,
https://github.com/hpcflow/matflow/issues/387; mpirun(1) of Open MPI 4.1, `--bind-to` and `--oversubscribe`
"""

import re
from collections.abc import Iterator
from itertools import chain, pairwise
from math import prod

from sbatchlint.analysis.launch.cpu_use import cpus_of_process
from sbatchlint.analysis.launch.literal_counts import literal_span, literal_value
from sbatchlint.analysis.launch.mpi_slots import (
    Slots,
    is_open_mpi,
    mpi_modules,
    takes_slots,
    tasks_of_job,
    too_few_slots,
)
from sbatchlint.analysis.script.centres import takes_whole_nodes
from sbatchlint.analysis.script.work import is_repeatable_step
from sbatchlint.bash.values import expansions, shown_text
from sbatchlint.check import Bad, Card, Finding, Fix, Good, Job, Launch, Span, joined_alike, replace
from sbatchlint.job.launchers import Mpi
from sbatchlint.job.steps import Step
from sbatchlint.programs import has_trait
from sbatchlint.slurm.grammar.numbers import whole
from sbatchlint.slurm.model import Setting
from sbatchlint.source.numbers import counted, is_number, parse_integer
from sbatchlint.source.regex import Regex
from sbatchlint.triggers import Launchers, StepOptions

CARD = Card(
    "SB318", "mpi-task-mismatch", severity="error", fix="sometimes", since="0.1.0", sized=True,
    when=Launchers("mpi") | StepOptions("mpi"),
)  # fmt: skip

THREAD_OPTIONS = frozenset({"nt", "ntomp", "t", "threads", "nthreads", "sf"})
OPEN_MPI_5 = Regex(r"open-?mpi[/@-]?5(?:[._-]|$)|ompi[/@-]5(?:[._-]|$)", re.IGNORECASE)
_GRID, _FACTOR = Regex(r"(?<![\w.])\d{1,6}(?:[,x*]\d{1,6}){1,3}(?![\w.,])"), Regex(r"\d+")
# Options that place processes otherwise than on one node after the other.
_PLACED = frozenset({"map-by", "ppn", "hostfile", "host", "hosts", "rankfile", "rank-by", "bynode", "pernode"})
NO_PMIX = frozenset({"pmi2", "none", "pmi1", "openmpi", "cray_shasta"})

# Programs, or words of them, that start the other processes themselves.
_SPAWNING = Regex(
    r"(?i)(?:^|/)(?:R|Rscript|matlab|julia|octave|sh|bash|env|apptainer|singularity)(?:\s|$)|\.(?:sh|[rR])\b|mpi4py\.futures|spawn"
    r"|dask|manager|master|server|pool|emcee|hostfile|charm|namd|workers"
)
# A comment that says why a job has more CPUs than its program uses.
_FOR_MEMORY = Regex(
    r"(?im)^[ \t]*#(?!SBATCH)[^\n]{0,120}\b(?:cores?|cpus?|tasks?|processors?)\b[^\n]{0,60}"
    r"\b(?:for|because of|due to|get)\b[^\n]{0,30}\b(?:memory|ram)\b"
)
_THREADED = Regex(r"(?i)thread|(?:^|[-_])n?(?:cpus?|cores?|omp|workers?)(?:$|[-_])")
_ASSIGNED = Regex(r"(?:^|[\s;])([A-Za-z_]\w*)=[\"']?$")
# Names of variables that count processes.
_OF_PROCESSES = Regex(r"(?i)proc|task|rank|core|cpu|mpi|(?:^|_)n?np(?:$|_)|^n$|^p$")


def check(job: Job) -> Iterator[Finding]:
    of_launches = [_oversubscribed(job, launch) or _mpirun(job, launch) for launch in job.launches]
    found = [*of_launches, *(_step(job, step) for step in job.steps)]
    yield from joined_alike(filter(None, found if any(found) else [_largest(job)]), "the same")


def _largest(job: Job) -> Finding | None:
    """The finding on launches, or the iterations of a loop, of which even the largest leaves much of the job idle."""
    request, launches = job.request, [each for each in job.launches if isinstance(each.launcher, Mpi)]
    tasks, setting = tasks_of_job(job)
    if not launches or tasks is None or tasks < 2 or setting is None or len(launches) != len(job.launches):
        return None
    if request.has_option("array") or any(map(_works, job.steps)) or job.limits.exhausted:
        return None
    totals = [each.launcher.setting("np") for each in launches]
    numbers = [None if total is None else total.number for total in totals]
    known = [each for each in numbers if each is not None]
    if len(known) < len(numbers) or min(known) < 1 or not all(_may_be_largest(job, each) for each in launches):
        return None
    if max(known) == 1 and any(_may_spawn(job, each.launcher) for each in launches if isinstance(each.launcher, Mpi)):
        return None
    most, per_node, nodes = max(known), request.tasks_per_node, request.exact_nodes()
    span = launches[0].launcher.span if totals[0] is None else totals[0].span
    several = len(set(known)) > 1
    runs = "runs" if most == 1 else "run"
    starts = f"at most {most} processes run at once" if several else f"only {counted(most, 'process')} {runs}"
    needed = most if per_node is None else -(-most // per_node)
    placed = any(map(_is_placed, launches))
    if nodes is not None and nodes > 1 and (needed if not placed else most) < nodes:
        idle = f"{counted(nodes - needed, 'node')} {'stays' if nodes - needed == 1 else 'stay'} idle"
        message = f"{starts} in a job of {_tasks(job, tasks, setting)} on {nodes} nodes: {idle}; request "
        threads = max(map(_threads, launches))
        if threads > 1 and most * threads <= tasks and most % nodes == 0:
            message += f"`--ntasks-per-node={most // nodes} --cpus-per-task={threads}` for {threads} threads each"
        else:
            message += f"`--nodes={needed}`, or start more"
        return Finding(span, message, "warning", related=[(setting.span, "what the job requests")])
    if 2 * most > tasks or any(map(_has_threads, launches)) or request.has_option("cpus-per-task") or placed:
        return None
    if not several and not job.launches[0].launcher.name.endswith("aprun") or most == 1 or request.gpu_settings():
        return None
    message = f"{starts} in a job of {_tasks(job, tasks, setting)}, so {tasks - most} CPUs stay idle; start more, or "
    message += f"request `--ntasks={most}`"
    # a series of measurements may want a whole node, and where aprun is, jobs get whole nodes
    return Finding(span, message, "info", related=[(setting.span, "what the job requests")])


def _threads(launch: Launch) -> int:
    """How many threads an option of the program asks for; 1 without one."""
    words = [shown_text(word) for word in launch.launcher.program_words]
    for word, value in pairwise([*words, ""]):
        name, _, joined = word.lstrip("-").partition("=")
        if word[:1] == "-" and name in THREAD_OPTIONS and is_number(joined or value):
            return parse_integer(joined or value)
    return 1


def _works(step: Step) -> bool:
    return not all(has_trait(each.name, "looks", "node") for each in step.program if not each.children)


def _is_placed(launch: Launch) -> bool:
    """Whether something says on which nodes processes go, so that they do not fill one after the other."""
    launcher, names = launch.launcher, launch.invocation.state.variables
    words = launcher.options.keys() | launcher.flags.keys()
    return not _PLACED.isdisjoint(words) or any(each.startswith(("I_MPI_", "OMPI_MCA_", "MV2_")) for each in names)


def _may_be_largest(job: Job, launch: Launch) -> bool:
    """Whether a launch starts in the foreground of the batch shell, whatever the job is."""
    context, launcher = launch.invocation.context, launch.launcher
    if context.background is not None or context.captured or launch.step is not None or not launcher.certain:
        return False
    return takes_slots(job, launch) or launcher.name.endswith("aprun") and not context.conditional


def _oversubscribed(job: Job, launch: Launch) -> Finding | None:
    """The finding on ranks that share the slot of a task, as many as the tasks have CPUs: tasks were meant."""
    launcher, request = launch.launcher, job.request
    if not isinstance(launcher, Mpi) or launch.step is not None or launch.container is not None or launch.restricted:
        return None
    if not launcher.certain or "oversubscribe" not in launcher.flags or request.heterogeneous:
        return None
    total, setting, tasks = launcher.total_processes, request.setting("cpus-per-task"), request.effective_tasks()
    cpus = whole(request.value("cpus-per-task"))
    tasks = tasks if request.has_any_option(("nodes", "ntasks", "ntasks-per-node")) else 1
    number = None if total is None else total.number
    if total is None or not number or setting is None or not cpus or cpus < 2 or not tasks or number != tasks * cpus:
        return None
    on_one = "--nodes=1 " if tasks == 1 and not request.has_option("nodes") else ""  # tasks may spread over nodes
    return Finding(
        total.span,
        f"`{launcher.name}` starts {number} processes for {counted(tasks, 'task')}, and Open MPI leaves them unbound; "
        f"write `{on_one}--ntasks={number}` instead of `{setting.as_written}`",
        "info",
        related=[(setting.span, "CPUs, and not slots")],
    )


def _mpirun(job: Job, launch: Launch) -> Finding | None:
    launcher = launch.launcher
    if not isinstance(launcher, Mpi) or not takes_slots(job, launch):
        return None
    found = too_few_slots(job, launch)
    if found is not None:
        fits = _fits_by_ppn(job, launch, launcher) or _fits_other_mpi(job, launch, found)
        return None if fits else _too_many(job, launch, launcher, found)
    tasks, setting = tasks_of_job(job)
    total = launcher.total_processes
    if tasks is None:
        return None
    if total is None:
        return _without_process_count(job, launch, launcher, tasks)
    number = total.number
    if number is None or setting is None or not 1 <= number < tasks or not _is_unlikely_intended(job, launch, launcher):
        return None
    if number == 1 and _may_spawn(job, launcher):
        return None
    whole = takes_whole_nodes(job) and number >= (job.request.exact_nodes() or number + 1)
    advice = "write `-np $SLURM_NTASKS`, or request fewer tasks"
    if number == 1:  # more copies of a program without MPI would write to the same files
        advice = "request one task, or write `-np $SLURM_NTASKS` if the program uses MPI"
    return Finding(
        total.span,
        f"`{launcher.name}` starts {counted(number, 'process')} in a job of {_tasks(job, tasks, setting)}, so "
        f"CPUs stay idle; {advice}",
        "info" if whole or _has_other_reason(job, number, tasks) else "warning",
        related=[(setting.span, "what the job requests")],
        fix=_from_slurm(job, launcher) if number > 1 else None,
    )


def _has_other_reason(job: Job, number: int, tasks: int) -> bool:
    """Whether the tasks may be for something else: CPUs beside a process for each GPU, one that leads the others, or
    memory, as a comment says."""
    gpus, nodes = job.request.gpus_per_node(), job.request.exact_nodes() or 1
    of_gpus = gpus is not None and gpus > 0 and number == gpus * nodes
    return of_gpus or number > 1 and tasks - number == 1 or _FOR_MEMORY.search(job.source.own.text) is not None


def _may_spawn(job: Job, launcher: Mpi) -> bool:
    """Whether a single process may start the others itself (MPI_Comm_spawn), as Rmpi and mpi4py do."""
    words = " ".join(map(shown_text, launcher.program_words))
    return not words or _SPAWNING.search(words) is not None or "mpi4py" in job.source.text


def _fits_by_ppn(job: Job, launch: Launch, launcher: Mpi) -> bool:
    """Whether an MPI with `-ppn`, which counts no slots, starts no more processes on a node than it has CPUs there."""
    words = {each.lstrip("-") for each in launch.invocation.words}
    per_node, cpus = launcher.processes_per_node, cpus_of_process(job, None)
    if words.isdisjoint({"ppn", "perhost"}) or is_open_mpi(job, launch) or per_node is None or cpus is None:
        return False
    total, nodes = launcher.total_processes, job.request.exact_nodes()
    number = None if total is None else total.number
    return per_node <= cpus and (number is None or nodes is not None and number <= per_node * nodes)


def _fits_other_mpi(job: Job, launch: Launch, found: Slots) -> bool:
    """Whether the script loads an MPI that counts no slots, and each process has a CPU."""
    return bool(mpi_modules(job)) and not is_open_mpi(job, launch) and _has_cpu_for_each(job, found)


def _has_cpu_for_each(job: Job, found: Slots) -> bool:
    return found.processes <= found.number * (whole(job.request.value("cpus-per-task")) or 1)


def _too_many(job: Job, launch: Launch, launcher: Mpi, found: Slots) -> Finding:
    number, setting = found.processes, found.setting
    refused = is_open_mpi(job, launch)
    effect = ", so Open MPI refuses to start any" if refused else ": Open MPI refuses, other MPIs overload CPUs"
    severity = None if refused else "warning"
    if not refused and not found.per_node and found.number > 1 and _has_cpu_for_each(job, found):
        effect, severity = ", which Open MPI refuses to start", "info"
    related = [] if setting is None else [(setting.span, "what the job requests")]
    if found.per_node:
        message = f"`{launcher.name}` wants {number} processes on each node, which has {found.number} tasks"
        message += f"{_place(job, setting)}{effect}; write `--ntasks-per-node={number}`"
        return Finding(found.process_setting.span, message, severity, related)
    message = f"`{launcher.name}` wants {number} processes in a job of {_tasks(job, found.number, setting)}{effect}"
    # a job that requests only nodes expects a site that allocates whole nodes
    only_nodes = setting is None and job.request.has_option("nodes") and not job.request.has_option("cpus-per-task")
    per_node = job.request.tasks_per_node
    told = setting is not None and setting.name == "ntasks-per-node" and not job.request.has_option("nodes")
    from_outside = told and per_node is not None and number % per_node == 0
    message += f"{' (unless the job gets whole nodes)' if only_nodes else ''}"
    message += f", unless sbatch is called with --nodes={number // (per_node or 1)}" if from_outside else ""
    message += "; write "
    in_grid = _is_grid_of(launcher, number)
    message += _advice(job, number, in_grid)
    severity = "info" if only_nodes or from_outside else severity
    return Finding(found.process_setting.span, message, severity, related)  # no fix: either number may be meant


def _is_grid_of(launcher: Mpi, number: int) -> bool:
    """Whether an argument of the program is a grid of a number of ranks: `--np=128,2,1` of 256."""
    grids = chain.from_iterable(_GRID.findall(shown_text(word)) for word in launcher.program_words)
    return any(prod(map(parse_integer, _FACTOR.findall(grid))) == number for grid in grids)


def _tasks(job: Job, tasks: int, setting: Setting | None) -> str:
    return f"{counted(tasks, 'task')}{_place(job, setting)}"


def _without_process_count(job: Job, launch: Launch, launcher: Mpi, tasks: int) -> Finding | None:
    """The finding on mpirun without -np, where the job requests many CPUs for one task."""
    request = job.request
    cpus, number = request.setting("cpus-per-task"), whole(request.value("cpus-per-task"))
    if tasks != 1 or cpus is None or number is None or number < 4 or _has_threads(launch):
        return None
    if request.has_any_option(("ntasks", "ntasks-per-node")):
        return None
    if launcher.processes_per_node is not None or launcher.options.keys() & {"map-by", "ppn"}:
        return None
    return Finding(
        launcher.span,
        f"`{launcher.name}` starts only one process: `{cpus.as_written}` (line {job.line(cpus.span.start)}) makes "
        f"one slot, not {number}; write `--ntasks={number}`, or set `OMP_NUM_THREADS`",
        "warning",
        related=[(cpus.span, "what the job requests")],
    )


def _place(job: Job, setting: Setting | None) -> str:
    return "" if setting is None else f" (line {job.line(setting.span.start)})"


def _advice(job: Job, number: int, in_grid: bool) -> str:
    """What to write for as many tasks in the job, or as many processes as it has tasks.

    `in_grid`: the program counts on this number.
    """
    request, nodes = job.request, job.request.exact_nodes()
    fewer = [] if in_grid else ["`-np $SLURM_NTASKS`"]
    cpus = request.setting("cpus-per-task")
    if request.has_option("ntasks"):
        return ", or ".join([f"`--ntasks={number}`", *fewer])
    if request.has_option("ntasks-per-node"):
        per_node, more = request.tasks_per_node, []
        if nodes is not None and not number % nodes and not in_grid:
            more = [f"`--ntasks-per-node={number // nodes}`"]
        elif per_node and not number % per_node:
            more = [f"`--nodes={number // per_node}`"]
        return ", or ".join([*more, *fewer]) or "numbers that agree"
    instead_of = "" if cpus is None or cpus.value == "1" else f" instead of `{cpus.as_written}`"
    return f"`--ntasks={number}`{instead_of}"


def _has_threads(launch: Launch) -> bool:
    """Whether the script sets a number of threads for its processes."""
    names = launch.invocation.state.variables
    return any(name.startswith(("OMP_", "KMP_", "MKL_NUM", "OPENBLAS_", "GOTO_")) for name in names)


def _is_unlikely_intended(job: Job, launch: Launch, launcher: Mpi) -> bool:
    """Whether fewer processes than tasks are unlikely to be intended: in the only MPI job, without threads."""
    total, context = launcher.total_processes, launch.invocation.context
    if total is None or total.value is None or expansions(total.value) or launch.invocation.alternatives > 1:
        return False
    if context.may_repeat or context.background or job.steps or _has_threads(launch):
        return False
    if job.request.has_option("array") or job.request.has_option("cpus-per-task"):
        return False
    if launcher.processes_per_node is not None or launcher.options.keys() & {"map-by", "d", "depth"}:
        return False
    if any(isinstance(each.launcher, Mpi) and each.launcher.span != launcher.span for each in job.launches):
        return False
    words = map(shown_text, launcher.program_words)
    return not any(word[:1] == "-" and _of_threads(word.lstrip("-").partition("=")[0]) for word in words)


def _of_threads(name: str) -> bool:
    """Whether an option of this name says how many CPUs each process uses."""
    return name in THREAD_OPTIONS or _THREADED.search(name) is not None


def _from_slurm(job: Job, launcher: Mpi) -> Fix | None:
    """The fix that takes the number from Slurm, where the command has a literal one and the job sets tasks."""
    total = launcher.total_processes
    if total is None or not job.request.has_any_option(("ntasks", "ntasks-per-node")):
        return None
    span = literal_value(job, total)
    if "np" not in launcher.options or span is None or job.is_embedded:
        return None
    line = job.source.slice(Span(job.source.line_of(span.start).start, span.start))
    name = _ASSIGNED.search(line)
    if name is not None and _OF_PROCESSES.search(name[1]) is None:
        return None  # a number of something else, as which other commands may need it
    number = "$SLURM_NTASKS" if job.in_quoted_text(span.start) else '"$SLURM_NTASKS"'
    return Fix("take the number of tasks from Slurm", [replace(span, number)])


def _step(job: Job, step: Step) -> Finding | None:
    """The finding on tasks of Open MPI 5 that do not find each other without PMIx."""
    option = step.option("mpi")
    if option is None or (option.text or "").lower() not in NO_PMIX or step.command is None:
        return None
    tasks = step.tasks
    if tasks is None or tasks < 2 or is_repeatable_step(step) or not _loads_open_mpi_5(job, step):
        return None
    span = literal_span(option.value)
    literal = span is not None and job.source.slice(span) == option.text
    return Finding(
        option.span,
        f"`--mpi={option.text}` is not for Open MPI 5: each of {tasks} tasks becomes an MPI job of one process; "
        "write `--mpi=pmix`",
        "warning",
        fix=Fix("write --mpi=pmix", [replace(span, "pmix")]) if span is not None and literal else None,
    )


def _loads_open_mpi_5(job: Job, step: Step) -> bool:
    """Whether the last MPI module that is loaded before the step is Open MPI 5."""
    end = step.invocation.index
    before = [word for command, word in mpi_modules(job) if command.index < end and not command.context.conditional]
    return bool(before) and OPEN_MPI_5.search(before[-1]) is not None


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        #SBATCH --cpus-per-task=32
        mpirun «-np» 32 ./solver
        """,
        severity="warning",
        title="CPUs are not slots",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2 --ntasks-per-node=18
        mpirun «-np» 12 ./solver
        """,
        unsafe_fixed={"12": '"$SLURM_NTASKS"'},
        severity="warning",
        title="a third of the job",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --ntasks=4
        module load GCC/13.3.0 OpenMPI/5.0.3
        srun «--mpi=pmi2» ./hello
        """,
        unsafe_fixed={"--mpi=pmi2": "--mpi=pmix"},
        severity="warning",
        title="four worlds of one process",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1 --cpus-per-task=32
        module load NAMD/2.14-foss-2023a
        mpirun «-np» 32 namd2 run.conf
        """,
        title="for certain Open MPI",
    ),
    Bad(
        "#!/bin/bash\n#SBATCH -N 1 --ntasks-per-node=20\nmpirun «-np» 1 python3 main.py\n",
        severity="warning",
        title="a single process",
    ),
    Bad(
        "#!/bin/bash\n#SBATCH --ntasks=1 --cpus-per-task=64\nmpirun --oversubscribe «-np» 64 ./solver\n",
        severity="info",
        title="tasks were meant",
    ),
    Good("#!/bin/bash\n#SBATCH --ntasks=16\nmpirun -np 16 ./solver\nmpirun ./solver\n"),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=1 --ntasks=32
        export OMP_NUM_THREADS=4
        mpirun -np 8 ./solver
        """,
        title="processes and threads",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --ntasks=16
        for n in 1 2 4 8 16; do
            mpirun -np $n ./solver
        done
        """,
        title="measured with several numbers",
    ),
    Good("#!/bin/bash\n#SBATCH --nodes=1 -c 40\nmpirun --oversubscribe -n 3 ./solver\n", title="told to share"),
]
