"""MPI jobs whose processes do not go with the tasks of the job.

mpirun gets a slot for each task from Slurm (SLURM_TASKS_PER_NODE): one on each node where only nodes and CPUs are asked
for. Open MPI refuses to start more processes than slots ("There are not enough slots available"), Hydra (MPICH, Intel
MPI) shares the CPUs. Under srun it is PMI that tells the tasks of each other: Open MPI 5 speaks PMIx only, and makes a
world of one process of every task that gets another one (https://github.com/open-mpi/ompi/issues/13523).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from sbatchlint.analysis.launch.literal_counts import literal_number, literal_span
from sbatchlint.analysis.launch.repeatable import is_repeatable_step
from sbatchlint.bash.values import expansions, shown_text, text_of
from sbatchlint.job.launchers import Mpi
from sbatchlint.job.launches import Launch
from sbatchlint.source.edits import Edit
from sbatchlint.source.regex import Regex
from sbatchlint.source.text import Span

if TYPE_CHECKING:
    from sbatchlint.job import Job
    from sbatchlint.job.steps import Step

# More processes than slots, fewer of them than tasks, one process on many CPUs, worlds of one.
MANY, FEW, ONE, SINGLE = "many", "few", "one", "single"

# Launchers of one vendor's machines, whose options mean other things.
_OTHERS = frozenset({"jsrun", "aprun", "ibrun", "prun"})
_OVERSUBSCRIBING = frozenset({"oversubscribe", "overcommit", "use-hwthread-cpus", "app", "configfile", "do-not-launch"})
_PLACING = frozenset({"hostfile", "host", "hosts", "rankfile", "default-hostfile", "add-host", "dvm", "dvm-uri",
                      "cpus-per-proc", "cpus-per-rank", "launcher", "bootstrap"})  # fmt: skip
_VARIABLES = ("OMPI_MCA_rmaps_base_oversubscribe", "PRTE_MCA_rmaps_default_mapping_policy", "SLURM_NTASKS",
              "OMPI_MCA_rmaps_default_mapping_policy", "SLURM_TASKS_PER_NODE", "OMPI_MCA_rmaps_base_mapping_policy",
              "PRTE_MCA_ras_slurm_use_all", "OMPI_MCA_ras")  # fmt: skip
_OPEN_MPI_5 = Regex(r"open-?mpi[/@-]?5(?:[._-]|$)|ompi[/@-]5(?:[._-]|$)", re.IGNORECASE)
_NO_PMIX = frozenset({"pmi2", "none", "pmi1", "openmpi", "cray_shasta"})


class Mismatch(NamedTuple):
    """An MPI job that has another size than the job's tasks.

    `span`: of the option that says so, or of the launcher. `name`: of the launcher, as written. `processes`: that it
    starts. `tasks`: of the job, or step. `asked`: what the job asks for that counts, as written, None where it is
    nothing. `per_node`: both numbers are those of a node. `edits`: as a guess.
    """

    fault: str
    span: Span
    name: str
    processes: int
    tasks: int
    asked: tuple[Span, str] | None
    per_node: bool
    edits: tuple[Edit, ...] | None


def find_mismatches(job: Job) -> list[Mismatch]:
    """The mismatches of a job, each once."""
    found: dict[Span, Mismatch] = {}
    for launch in job.launches:
        mismatch = _of_mpirun(job, launch)
        if mismatch is not None:
            found.setdefault(mismatch.span, mismatch)
    for step in job.steps:
        mismatch = _of_step(job, step)
        if mismatch is not None:
            found.setdefault(mismatch.span, mismatch)
    return sorted(found.values(), key=lambda each: each.span)


def _of_mpirun(job: Job, launch: Launch) -> Mismatch | None:
    launcher, request, context = launch.launcher, job.request, launch.invocation.context
    if not isinstance(launcher, Mpi) or launch.step is not None or launcher.program is None or not launcher.certain:
        return None
    if launcher.name.rsplit("/", 1)[-1] in _OTHERS or launch.container is not None or context.shell:
        return None
    if request.heterogeneous or not request.directives.certain or launch.restricted or context.conditional:
        return None
    words = [shown_text(field) for field in launcher.argv[: launcher.program]]
    if ":" in [shown_text(field) for field in launcher.argv] or any("subscribe" in word.lower() for word in words):
        return None
    if launcher.flags.keys() & _OVERSUBSCRIBING or launcher.options.keys() & _PLACING:
        return None
    if any(name in launch.invocation.state.variables for name in _VARIABLES):
        return None
    if request.exclusive is not None and not any(request.asked(name) for name in ("ntasks", "ntasks-per-node")):
        return None  # a slot for each CPU of the nodes
    return _of_total(job, launch, launcher) or _of_node(job, launcher)


def _of_total(job: Job, launch: Launch, launcher: Mpi) -> Mismatch | None:
    tasks, asked = _tasks(job)
    if tasks is None:
        return None
    setting = launcher.total_processes
    if setting is None:
        return _of_none(job, launch, launcher, tasks)
    number = setting.number
    if number is None or number < 1:
        return None
    if number > tasks:
        return Mismatch(MANY, setting.span, launcher.name, number, tasks, asked, False, _counted(job, launcher))
    if asked is not None and 1 < number < tasks and _is_short(job, launch, launcher, number):
        return Mismatch(FEW, setting.span, launcher.name, number, tasks, asked, False, _counted(job, launcher))
    return None


def _of_none(job: Job, launch: Launch, launcher: Mpi, tasks: int) -> Mismatch | None:
    """mpirun without a number, where the job asks for many CPUs of one task."""
    request = job.request
    cpus = request.given("cpus-per-task")
    if tasks != 1 or cpus is None or cpus.text is None or not cpus.text.isdigit() or int(cpus.text) < 4:
        return None
    if request.asked("ntasks") or request.asked("ntasks-per-node") or _has_threads(launch):
        return None
    if launcher.processes_per_node is not None or launcher.options.keys() & {"map-by", "ppn"}:
        return None
    asked = (cpus.span, f"{cpus.written}{'=' if cpus.written[:2] == '--' else ' '}{cpus.value}")
    return Mismatch(ONE, launcher.span, launcher.name, 1, int(cpus.text), asked, False, None)


def _of_node(job: Job, launcher: Mpi) -> Mismatch | None:
    """Processes of a node, where the job's tasks there are known."""
    each, setting = launcher.processes_per_node, launcher.setting("ppn", "map-by")
    limit, given = job.request.tasks_per_node, job.request.given("ntasks-per-node")
    if each is None or setting is None or limit is None or given is None or each <= limit:
        return None
    glue = "=" if given.written[:2] == "--" else " "
    asked = (given.span, f"{given.written}{glue}{given.value or ''}")
    return Mismatch(MANY, setting.span, launcher.name, each, limit, asked, True, None)


def _tasks(job: Job) -> tuple[int | None, tuple[Span, str] | None]:
    """The job's tasks, which are mpirun's slots, and what asks for them."""
    request = job.request
    for name in ("ntasks", "ntasks-per-node"):
        setting = request.given(name)
        if setting is not None:
            glue = "=" if setting.written.startswith("--") else " "
            asked = (setting.span, f"{setting.written}{glue}{setting.value or ''}")
            tasks = request.tasks
            if tasks is None and name == "ntasks-per-node":
                nodes, each = request.exact_nodes(), request.tasks_per_node
                nodes = 1 if nodes is None and not request.asked("nodes") else nodes
                tasks = None if nodes is None or each is None else nodes * each
            return tasks, asked
    if any(request.asked(name) for name in ("ntasks-per-gpu", "ntasks-per-socket", "ntasks-per-core", "gpus-per-task",
                                            "threads-per-core", "ntasks-per-tres", "extra-node-info")):  # fmt: skip
        return None, None
    if not request.asked("cpus-per-task") and not request.asked("nodes"):
        return None, None  # a job of defaults, which the command line is likely to change
    return (request.exact_nodes() if request.asked("nodes") else 1), None


def _has_threads(launch: Launch) -> bool:
    """Whether the script speaks of threads for its processes."""
    names = launch.invocation.state.variables
    return any(name.startswith(("OMP_", "KMP_", "MKL_NUM", "OPENBLAS_", "GOTO_")) for name in names)


def _is_short(job: Job, launch: Launch, launcher: Mpi, number: int) -> bool:
    """Whether fewer processes than tasks are hardly meant: the only MPI job of the script, of processes alone."""
    setting = launcher.total_processes
    context = launch.invocation.context
    if (
        setting is None
        or context.looped
        or context.background
        or _has_threads(launch)
        or launch.invocation.alternatives > 1
    ):
        return False
    if (
        setting.value is None
        or _has_threads(launch)
        or expansions(setting.value)
        or job.steps
        or job.request.asked("array")
    ):
        return False
    if launcher.processes_per_node is not None or launcher.options.keys() & {"map-by", "d", "depth"}:
        return False
    others = [each.launcher for each in job.launches if each.launcher.span != launcher.span]
    if any(isinstance(each, Mpi) for each in others) or job.request.asked("cpus-per-task"):
        return False
    return not any(each.startswith("-") and each.lstrip("-") in ("nt", "ntomp", "t", "threads", "nthreads", "sf")
                   for each in map(shown_text, launcher.program_words))  # fmt: skip


def _counted(job: Job, launcher: Mpi) -> tuple[Edit, ...] | None:
    """Takes the number from Slurm, where it stands in the command and the job has it."""
    setting = launcher.total_processes
    if setting is None or not any(job.request.asked(name) for name in ("ntasks", "ntasks-per-node")):
        return None
    given = launcher.options.get("np")
    value = setting.value
    if given is None or value is None or len(value) != 1 or value[0].expansion is not None or text_of(value) is None:
        return None
    span = value[0].span
    between = job.source.slice(Span(min(setting.span.end, span.start), span.start)).strip()
    if literal_number(job, span) is None or between not in ("", "=") or job.is_embedded:
        return None
    return (Edit(span, '"$SLURM_NTASKS"' if not job.in_quoted_text(span.start) else "$SLURM_NTASKS"),)


# --- under srun ------------------------------------------------------------------------------------


def _of_step(job: Job, step: Step) -> Mismatch | None:
    """Tasks of Open MPI 5 that no PMIx tells of each other."""
    option = step.option("mpi")
    if option is None or (option.text or "").lower() not in _NO_PMIX or step.command is None:
        return None
    tasks = step.tasks
    if tasks is None or tasks < 2 or is_repeatable_step(step) or not _loads_open_mpi_5(job, step):
        return None
    span = literal_span(option)
    edits = None if span is None or job.source.slice(span) != option.text else (Edit(span, "pmix"),)
    return Mismatch(SINGLE, option.span, f"--mpi={option.text}", 1, tasks, None, False, edits)


def _loads_open_mpi_5(job: Job, step: Step) -> bool:
    """Whether the last MPI that is loaded before the step is Open MPI 5."""
    found = False
    for each in job.invocations:
        if each is step.invocation:
            break
        if each.name not in ("module", "ml", "spack") or each.context.conditional:
            continue
        for word in map(shown_text, each.argv[1:]):
            if re.search(r"mpi", word, re.IGNORECASE):
                found = _OPEN_MPI_5.search(word) is not None
    return found
