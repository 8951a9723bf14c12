"""The MPI job has another number of processes than the job has tasks.

mpirun takes its slots from the tasks of the job, not from its CPUs. With `--cpus-per-task=32` and no tasks there is
one slot: `mpirun -np 32` of Open MPI says that there are not enough slots and starts nothing, MPICH and Intel MPI put
all processes on the CPUs of one task. With fewer processes than tasks the rest of the CPUs stays idle. Under srun, Open
MPI 5 knows its other tasks by PMIx only: with `--mpi=pmi2` each task is alone in a world of one.

## Fix

Takes the number from `$SLURM_NTASKS`, or `--mpi=pmix`. Unsafe: the other number may be the one that is meant.

## References

https://github.com/open-mpi/ompi/issues/6020, https://github.com/open-mpi/ompi/issues/13523,
https://github.com/hpcflow/matflow/issues/387
"""

import re
from collections.abc import Iterator

from sbatchlint.analysis.launch.literal_counts import literal_number, literal_span
from sbatchlint.analysis.launch.repeatable import is_repeatable_step
from sbatchlint.bash.values import expansions, shown_text, text_of
from sbatchlint.check import Bad, Card, Finding, Fix, Good, Job, Launch, Span, replace
from sbatchlint.job.launchers import Mpi
from sbatchlint.job.steps import Step
from sbatchlint.slurm.grammar.numbers import whole
from sbatchlint.slurm.model import Setting
from sbatchlint.source.regex import Regex
from sbatchlint.triggers import Launchers, StepOptions

CARD = Card(
    "SB318", "mpi-task-mismatch", severity="warning", fix="sometimes", since="0.1.0",
    when=Launchers("mpi") | StepOptions("mpi"),
)  # fmt: skip

# Launchers of one vendor's machines, whose options mean other things.
VENDORS = frozenset({"jsrun", "aprun", "ibrun", "prun"})
OVERSUBSCRIBING = frozenset({"oversubscribe", "overcommit", "use-hwthread-cpus", "app", "configfile", "do-not-launch"})
PLACING = frozenset({"hostfile", "host", "hosts", "rankfile", "default-hostfile", "add-host", "dvm", "dvm-uri",
                     "cpus-per-proc", "cpus-per-rank", "launcher", "bootstrap"})  # fmt: skip
VARIABLES = ("OMPI_MCA_rmaps_base_oversubscribe", "PRTE_MCA_rmaps_default_mapping_policy", "SLURM_NTASKS",
             "OMPI_MCA_rmaps_default_mapping_policy", "SLURM_TASKS_PER_NODE", "OMPI_MCA_rmaps_base_mapping_policy",
             "PRTE_MCA_ras_slurm_use_all", "OMPI_MCA_ras")  # fmt: skip
# Options by which the number of tasks follows from what the script does not say.
UNCLEAR = ("ntasks-per-gpu", "ntasks-per-socket", "ntasks-per-core", "gpus-per-task", "threads-per-core",
           "ntasks-per-tres", "extra-node-info")  # fmt: skip
THREAD_OPTIONS = frozenset({"nt", "ntomp", "t", "threads", "nthreads", "sf"})
OPEN_MPI_5 = Regex(r"open-?mpi[/@-]?5(?:[._-]|$)|ompi[/@-]5(?:[._-]|$)", re.IGNORECASE)
NO_PMIX = frozenset({"pmi2", "none", "pmi1", "openmpi", "cray_shasta"})


def check(job: Job) -> Iterator[Finding]:
    reported = set()
    for finding in (*(_mpirun(job, launch) for launch in job.launches), *(_step(job, step) for step in job.steps)):
        if finding is not None and finding.span not in reported:
            reported.add(finding.span)
            yield finding


def _mpirun(job: Job, launch: Launch) -> Finding | None:
    launcher, request, context = launch.launcher, job.request, launch.invocation.context
    if not isinstance(launcher, Mpi) or launch.step is not None or launcher.program is None or not launcher.certain:
        return None
    if launcher.name.rsplit("/", 1)[-1] in VENDORS or launch.container is not None or context.shell.depth:
        return None
    if request.heterogeneous or not request.directives.certain or launch.restricted or context.conditional:
        return None
    words = [shown_text(field) for field in launcher.argv]
    if ":" in words or any("subscribe" in word.lower() for word in words[: launcher.program]):
        return None
    if launcher.flags.keys() & OVERSUBSCRIBING or launcher.options.keys() & PLACING:
        return None
    if any(name in launch.invocation.state.variables for name in VARIABLES):
        return None
    if request.exclusive is not None and not request.asked("ntasks") and not request.asked("ntasks-per-node"):
        return None  # a slot for each CPU of the nodes
    return _on_all_nodes(job, launch, launcher) or _on_each_node(job, launcher)


def _on_all_nodes(job: Job, launch: Launch, launcher: Mpi) -> Finding | None:
    tasks, setting = _tasks(job)
    total = launcher.total_processes
    if tasks is None:
        return None
    if total is None:
        return _without_a_number(job, launch, launcher, tasks)
    number = total.number
    if number is None or number < 1:
        return None
    slots = f"{tasks} task{'' if tasks == 1 else 's'}{_place(job, setting)}"
    if number > tasks:
        message = f"`{launcher.name}` starts {number} processes in a job of {slots}: Open MPI refuses, others "
        message += f"share the CPUs; write {_as_many_tasks(job, number)}"
    elif setting is not None and 1 < number < tasks and _is_hardly_meant(job, launch, launcher):
        message = f"`{launcher.name}` starts {number} processes in a job of {slots}, and the other CPUs stay idle; "
        message += "write `-np $SLURM_NTASKS`, or request fewer tasks"
    else:
        return None
    related = [] if setting is None else [(setting.span, "what the job requests")]
    return Finding(total.span, message, related=related, fix=_from_slurm(job, launcher))


def _without_a_number(job: Job, launch: Launch, launcher: Mpi, tasks: int) -> Finding | None:
    """mpirun without -np, where the job requests many CPUs for one task."""
    request = job.request
    cpus, number = request.given("cpus-per-task"), whole(request.text("cpus-per-task"))
    if tasks != 1 or cpus is None or number is None or number < 4 or _has_threads(launch):
        return None
    if request.asked("ntasks") or request.asked("ntasks-per-node"):
        return None
    if launcher.processes_per_node is not None or launcher.options.keys() & {"map-by", "ppn"}:
        return None
    return Finding(
        launcher.span,
        f"`{launcher.name}` starts only one process: `{cpus.as_written}` (line {job.line(cpus.span.start)}) makes one "
        f"slot, not {number}; write `--ntasks={number}` instead, or set `OMP_NUM_THREADS`",
        related=[(cpus.span, "what the job requests")],
    )


def _on_each_node(job: Job, launcher: Mpi) -> Finding | None:
    each, told = launcher.processes_per_node, launcher.setting("ppn", "map-by")
    limit, setting = job.request.tasks_per_node, job.request.given("ntasks-per-node")
    if each is None or told is None or limit is None or setting is None or each <= limit:
        return None
    return Finding(
        told.span,
        f"`{launcher.name}` starts {each} processes on each node, which has {limit} tasks{_place(job, setting)}: "
        f"Open MPI refuses, others share the CPUs; write `--ntasks-per-node={each}`",
        related=[(setting.span, "what the job requests")],
    )


def _tasks(job: Job) -> tuple[int | None, Setting | None]:
    """The job's tasks, which are mpirun's slots, and the directive that asks for them."""
    request = job.request
    if request.asked("ntasks"):
        return request.tasks, request.given("ntasks")
    if request.asked("ntasks-per-node"):
        nodes, each = request.exact_nodes(), request.tasks_per_node
        nodes = 1 if nodes is None and not request.asked("nodes") else nodes
        tasks = None if nodes is None or each is None else nodes * each
        return request.tasks or tasks, request.given("ntasks-per-node")
    if any(request.asked(name) for name in UNCLEAR):
        return None, None
    if not request.asked("cpus-per-task") and not request.asked("nodes"):
        return None, None  # a job of defaults, which the command line is likely to change
    return (request.exact_nodes() if request.asked("nodes") else 1), None


def _place(job: Job, setting: Setting | None) -> str:
    return "" if setting is None else f" (line {job.line(setting.span.start)})"


def _as_many_tasks(job: Job, number: int) -> str:
    """What to write for a job of so many tasks, or for as many processes as it has."""
    request, nodes = job.request, job.request.exact_nodes()
    cpus = request.given("cpus-per-task")
    if request.asked("ntasks-per-node"):
        if nodes is None or number % nodes or request.asked("ntasks"):
            return "`-np $SLURM_NTASKS`"
        return f"`--ntasks-per-node={number // nodes}`, or `-np $SLURM_NTASKS`"
    if request.asked("ntasks"):
        return f"`--ntasks={number}`, or `-np $SLURM_NTASKS`"
    return f"`--ntasks={number}`" if cpus is None else f"`--ntasks={number}` instead of `{cpus.as_written}`"


def _has_threads(launch: Launch) -> bool:
    """Whether the script speaks of threads for its processes."""
    names = launch.invocation.state.variables
    return any(name.startswith(("OMP_", "KMP_", "MKL_NUM", "OPENBLAS_", "GOTO_")) for name in names)


def _is_hardly_meant(job: Job, launch: Launch, launcher: Mpi) -> bool:
    """Whether fewer processes than tasks are hardly meant: the only MPI job of the script, of processes alone."""
    total, context = launcher.total_processes, launch.invocation.context
    if total is None or total.value is None or expansions(total.value) or launch.invocation.alternatives > 1:
        return False
    if context.looped or context.background or job.steps or _has_threads(launch):
        return False
    if job.request.asked("array") or job.request.asked("cpus-per-task"):
        return False
    if launcher.processes_per_node is not None or launcher.options.keys() & {"map-by", "d", "depth"}:
        return False
    if any(isinstance(each.launcher, Mpi) and each.launcher.span != launcher.span for each in job.launches):
        return False
    words = map(shown_text, launcher.program_words)
    return not any(word.startswith("-") and word.lstrip("-") in THREAD_OPTIONS for word in words)


def _from_slurm(job: Job, launcher: Mpi) -> Fix | None:
    """Takes the number from Slurm, where it stands in the command and the job has it."""
    total = launcher.total_processes
    if total is None or not job.request.asked("ntasks") and not job.request.asked("ntasks-per-node"):
        return None
    value = total.value
    if "np" not in launcher.options or value is None or len(value) != 1 or value[0].expansion is not None:
        return None
    span = value[0].span
    between = job.source.slice(Span(min(total.span.end, span.start), span.start)).strip()
    if text_of(value) is None or literal_number(job, span) is None or between not in ("", "=") or job.is_embedded:
        return None
    number = "$SLURM_NTASKS" if job.in_quoted_text(span.start) else '"$SLURM_NTASKS"'
    return Fix("take the number of tasks from Slurm", [replace(span, number)])


def _step(job: Job, step: Step) -> Finding | None:
    """Tasks of Open MPI 5 that no PMIx tells of each other."""
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
        fix=Fix("write --mpi=pmix", [replace(span, "pmix")]) if span is not None and literal else None,
    )


def _loads_open_mpi_5(job: Job, step: Step) -> bool:
    """Whether the last MPI that is loaded before the step is Open MPI 5."""
    found = False
    for each in job.invocations:
        if each is step.invocation:
            break
        if each.name not in ("module", "ml", "spack") or each.context.conditional:
            continue
        for word in map(shown_text, each.argv[1:]):
            if "mpi" in word.lower():
                found = OPEN_MPI_5.search(word) is not None
    return found


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        #SBATCH --cpus-per-task=32
        mpirun «-np» 32 ./solver
        """,
        title="CPUs are no slots",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2 --ntasks-per-node=18
        mpirun «-np» 12 ./solver
        """,
        unsafe_fixed="""\
        #!/bin/bash
        #SBATCH --nodes=2 --ntasks-per-node=18
        mpirun -np "$SLURM_NTASKS" ./solver
        """,
        title="a third of the job",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --ntasks=4
        module load GCC/13.3.0 OpenMPI/5.0.3
        srun «--mpi=pmi2» ./hello
        """,
        unsafe_fixed="""\
        #!/bin/bash
        #SBATCH --ntasks=4
        module load GCC/13.3.0 OpenMPI/5.0.3
        srun --mpi=pmix ./hello
        """,
        title="four worlds of one process",
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
