"""Slots of an mpirun in the batch shell: Open MPI takes them from the job's tasks, and refuses to start more processes.

`orte_ras_slurm` and `prte_mca_ras_slurm` read SLURM_TASKS_PER_NODE; MPICH and Intel MPI put any number of processes on
the CPUs of the tasks. https://github.com/open-mpi/ompi/issues/6020
"""

from typing import NamedTuple

from sbatchlint.analysis.script.conditionals import is_for_some_jobs
from sbatchlint.bash.trace import Invocation
from sbatchlint.bash.values import shown_text
from sbatchlint.job import Job, Launch
from sbatchlint.job.launchers import Mpi
from sbatchlint.job.launchers import Setting as LauncherSetting
from sbatchlint.job.once import once
from sbatchlint.programs import has_trait
from sbatchlint.slurm.model import Setting
from sbatchlint.source.regex import Regex

# Launchers for the machines of one vendor or site, whose options mean other things.
_VENDORS = frozenset({"jsrun", "aprun", "ibrun", "mpprun", "prun"})
_OVERSUBSCRIBING = frozenset({"oversubscribe", "overcommit", "use-hwthread-cpus", "app", "configfile", "do-not-launch"})
_PLACING = frozenset({"hostfile", "host", "hosts", "rankfile", "default-hostfile", "add-host", "dvm", "dvm-uri",
                      "cpus-per-proc", "cpus-per-rank", "launcher", "bootstrap"})  # fmt: skip
_VARIABLES = ("OMPI_MCA_rmaps_base_oversubscribe", "PRTE_MCA_rmaps_default_mapping_policy", "SLURM_NTASKS",
              "OMPI_MCA_rmaps_default_mapping_policy", "SLURM_TASKS_PER_NODE", "OMPI_MCA_rmaps_base_mapping_policy",
              "PRTE_MCA_ras_slurm_use_all", "OMPI_MCA_ras")  # fmt: skip
# Options with which the number of tasks depends on what the script does not say.
_UNCLEAR = ("ntasks-per-gpu", "ntasks-per-socket", "ntasks-per-core", "gpus-per-task", "threads-per-core",
            "ntasks-per-tres", "extra-node-info")  # fmt: skip
# Names and options that only Open MPI has.
_NAMES = frozenset({"orterun", "prterun", "oshrun", "mpirun.openmpi", "mpiexec.openmpi"})
_OPTIONS = frozenset({"mca", "omca", "pmca", "prtemca", "gmca", "allow-run-as-root", "report-bindings", "tag-output",
                      "display-allocation", "npersocket"})  # fmt: skip
# `foss`, `gompi`, `gomkl` and `iomkl` are toolchains of EasyBuild with Open MPI.
_MPI = Regex(r"(?i)mpi|mvapich|hpc-?x|(?<![a-z])(?:foss|gomkl|iomkl)(?:cuda)?(?![a-z])")
_OPEN_MPI = Regex(r"(?i)open-?mpi|ompi|hpc-?x|(?<![a-z])(?:foss|gomkl|iomkl)")


class Slots(NamedTuple):
    """How many slots an mpirun has, in all or (`per_node`) on each node, and the directive that sets that.

    `processes`: how many processes it is to start there; `process_setting`: what sets that.
    """

    number: int
    setting: Setting | None
    processes: int
    process_setting: LauncherSetting
    per_node: bool


def takes_slots(job: Job, launch: Launch) -> bool:
    """Whether a launch is an mpirun in the batch shell that takes its slots from the job's tasks."""
    launcher, request = launch.launcher, job.request
    if not isinstance(launcher, Mpi) or launch.step is not None or launcher.program is None or not launcher.certain:
        return False
    if launcher.name.rsplit("/", 1)[-1] in _VENDORS or launch.container is not None:
        return False
    if (
        request.heterogeneous
        or not request.directives.certain
        or launch.restricted
        or is_for_some_jobs(launch.invocation)
    ):
        return False
    words = [shown_text(field) for field in launcher.argv]
    if ":" in words or any("subscribe" in word.lower() for word in words[: launcher.program]):
        return False
    if launcher.flags.keys() & _OVERSUBSCRIBING or launcher.options.keys() & _PLACING:
        return False
    if any(name in launch.invocation.state.variables for name in _VARIABLES):
        return False
    # an exclusive job without tasks has a slot for each CPU of its nodes
    return request.exclusive is None or request.has_option("ntasks") or request.has_option("ntasks-per-node")


def too_few_slots(job: Job, launch: Launch) -> Slots | None:
    """The slots of an mpirun that is to start more processes than it has slots; None where they suffice."""
    launcher = launch.launcher
    if not isinstance(launcher, Mpi) or not takes_slots(job, launch):
        return None
    tasks, setting = tasks_of_job(job)
    total = launcher.total_processes
    if tasks is not None and total is not None and total.number is not None and total.number > tasks:
        return Slots(tasks, setting, total.number, total, False)
    per_node, process_setting = launcher.processes_per_node, launcher.setting("ppn", "map-by")
    limit, setting = job.request.tasks_per_node, job.request.setting("ntasks-per-node")
    if per_node is None or process_setting is None or limit is None or setting is None or per_node <= limit:
        return None
    return Slots(limit, setting, per_node, process_setting, True)


def tasks_of_job(job: Job) -> tuple[int | None, Setting | None]:
    """The number of the job's tasks, which are mpirun's slots, and the directive that sets it; None where unknown."""
    request = job.request
    if request.has_option("ntasks"):
        return request.tasks, request.setting("ntasks")
    if request.has_option("ntasks-per-node"):
        nodes, per_node = request.exact_nodes(), request.tasks_per_node
        nodes = 1 if nodes is None and not request.has_option("nodes") else nodes
        tasks = None if nodes is None or per_node is None else nodes * per_node
        return request.tasks or tasks, request.setting("ntasks-per-node")
    if request.has_any_option(_UNCLEAR):
        return None, None
    if not request.has_option("cpus-per-task") and not request.has_option("nodes"):
        return None, None  # the defaults alone, which the command line is likely to change
    return (request.exact_nodes() if request.has_option("nodes") else 1), None


def is_open_mpi(job: Job, launch: Launch) -> bool:
    """Whether an mpirun is certainly Open MPI's: by its name, its options, or the module that is loaded."""
    launcher = launch.launcher
    if launcher.name.rsplit("/", 1)[-1] in _NAMES or _OPTIONS & (launcher.options.keys() | launcher.flags.keys()):
        return True
    before = [word for command, word in mpi_modules(job) if command.index < launch.invocation.index]
    return bool(before) and _OPEN_MPI.search(before[-1]) is not None


@once
def mpi_modules(job: Job) -> list[tuple[Invocation, str]]:
    """The MPI modules that the script loads, in order, each with the command that loads it."""
    return [
        (command, word)
        for command in job.invocations
        if has_trait(command.name, "loads")
        for word in map(shown_text, command.argv[1:])
        if _MPI.search(word)
    ]
