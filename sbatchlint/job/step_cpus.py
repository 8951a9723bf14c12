"""The CPUs and the memory that a step requests, and those that the job has.

srun refuses a step that requests more: "More processors requested than permitted" (live runs of 22.05, 23.11, 24.11 and
26.05). It takes the CPUs per task from its option or from SLURM_CPUS_PER_TASK, which sbatch sets for --cpus-per-task;
in 22.05 and 23.02 from SRUN_CPUS_PER_TASK instead, which only the script sets (src/srun/opt.c, 20.11 to 26.05). From
23.11 on sbatch sets SLURM_TRES_PER_TASK=cpu=N as well, and srun fails if the two differ
(`_set_tres_per_task_from_sibling_opt()` of src/common/slurm_opt.c).
"""

import re
from typing import NamedTuple

from sbatchlint.bash.trace import is_set
from sbatchlint.bash.values import span_of
from sbatchlint.job.request import Request
from sbatchlint.job.srun import StepOption, VariableChange, variable_change
from sbatchlint.job.steps import Step
from sbatchlint.slurm.grammar.hosts import hosts
from sbatchlint.slurm.grammar.numbers import whole
from sbatchlint.slurm.grammar.sizes import megabytes
from sbatchlint.slurm.model import Setting
from sbatchlint.slurm.versions import Range, is_before

# Releases whose srun does not inherit the job's --cpus-per-task, but only reads SRUN_CPUS_PER_TASK.
NOT_INHERITING = ("22.05", "23.02")
# Options with which a job's CPUs are not just its tasks times the CPUs per task.
_OTHERWISE = (
    "exclusive", "overcommit", "cpus-per-gpu", "threads-per-core", "hint", "mincpus", "cores-per-socket",
    "sockets-per-node", "extra-node-info", "core-spec", "thread-spec", "ntasks-per-core", "ntasks-per-socket",
    "ntasks-per-gpu", "ntasks-per-tres", "tres-per-task", "mem-per-cpu", "mem-per-gpu",
)  # fmt: skip
_GPUS = ("gpus", "gpus-per-node", "gpus-per-task", "gpus-per-socket", "gres")
# Variables from which srun takes the CPUs per task.
_VARIABLES = ("SLURM_CPUS_PER_TASK", "SRUN_CPUS_PER_TASK", "SLURM_TRES_PER_TASK")


class CpusOfTask(NamedTuple):
    """The CPUs that srun requests for each task of a step, in one release.

    `number`: None where it is not known, 0 where nothing sets it. `variable`: the script's variable that sets it, None
    for srun's own option and the job's. `conflict`: a contradicting variable, with which srun fails: `…=cpu=4`.
    """

    number: int | None
    variable: StepOption | None = None
    conflict: str = ""


class MissingCpus(NamedTuple):
    """A step that requests more CPUs than the job has.

    `requested`, `available`: in all. `tasks`, `per_task`: the factors of `requested`. `inherited`: whether `per_task`
    is the job's number. `versions`: the releases that refuse it, None for all. `setting`: the directive that determines
    the job's CPUs. `variable`: the script's variable that sets `per_task`, None if an option does.
    """

    step: Step
    requested: int
    available: int
    tasks: int
    per_task: int
    inherited: bool
    versions: tuple[str, ...] | None
    setting: Setting
    variable: StepOption | None = None


def cpus_per_task(step: Step, version: str) -> CpusOfTask:
    """The CPUs that srun requests for each task of a step, in one release."""
    option, request = step.option("cpus-per-task"), step.request
    if option is not None:
        return CpusOfTask(whole(option.text))
    if "tres-per-task" in step.options or request.has_option("tres-per-task"):
        return CpusOfTask(None)
    is_requested = request.has_option("cpus-per-task")
    of_job = whole(request.value("cpus-per-task")) if is_requested else 0 if request.directives.certain else None
    name = "SRUN_CPUS_PER_TASK" if version in NOT_INHERITING else "SLURM_CPUS_PER_TASK"
    own = variable_change(step.invocation, name, is_requested and version not in NOT_INHERITING)
    tres = VariableChange("unset")
    if not is_before(version, "23.02"):
        tres = variable_change(step.invocation, "SLURM_TRES_PER_TASK", is_requested)
    if "unknown" in (own.how, tres.how) or version == "23.02" and tres.how == "set":
        return CpusOfTask(None)
    number = 0 if own.how == "unset" else whole(own.text) or None if own.how == "set" else of_job
    if version in NOT_INHERITING and not own.how:
        number = 0
    variable = None if own.value is None else StepOption("cpus-per-task", name, own.value, span_of(own.value), 0, 0)
    if is_before(version, "23.11") or number is None:
        return CpusOfTask(number, variable)
    if tres.how == "set":
        # 23.11 reads `cpu:4`, later releases `cpu=4` as well (live runs)
        found = re.search(r"(?i)cpu:(\d+)" if version == "23.11" else r"(?i)cpu[=:](\d+)", tres.text or "")
        if tres.value is None or tres.text is None or found is None and "cpu" in tres.text.lower():
            return CpusOfTask(None)
        other: int | None = whole(found.group(1)) if found is not None else 0
        by_tres = StepOption("cpus-per-task", "SLURM_TRES_PER_TASK", tres.value, span_of(tres.value), 0, 0)
    else:
        other, by_tres = (0 if tres.how == "unset" else of_job), None
    if other is None:
        return CpusOfTask(None)
    if number and other and number != other:
        conflict = f"SLURM_TRES_PER_TASK=cpu={other}" if variable is not None else f"SLURM_CPUS_PER_TASK={number}"
        return CpusOfTask(number, variable or by_tres, conflict)
    return CpusOfTask(number or other, variable if number else by_tres)


def missing_cpus(step: Step, versions: Range, of_site: tuple[int, Setting] | None = None) -> MissingCpus | None:
    """The CPUs that a step lacks; None where the job has enough, or where the script alone does not decide it.

    `of_site`: the CPUs that the site gives the job, where that is known, and the directive that gets it them.
    """
    tasks, own = step.tasks, step.option("cpus-per-task")
    if tasks is None and own is None or not step.certain or step.request.heterogeneous or step.in_other_job:
        return None
    available = of_site or cpus_in_all(step.request) or cpus_of_lone_node(step.request)
    if available is None or "overcommit" in step.options or is_set(step.invocation, "SLURM_OVERCOMMIT"):
        return None
    if not step.options.keys().isdisjoint(_OTHERWISE[2:]):
        return None
    number, setting = available
    tasks = tasks or 1
    if own is None and tasks > number:
        return MissingCpus(step, tasks, number, tasks, 1, False, None, setting)
    if own is None and tasks * (whole(step.request.value("cpus-per-task")) or 0) <= number:
        if not any(map(step.invocation.state.variables.get, _VARIABLES)):
            return None  # at most the job's number
    requested = {version: cpus_per_task(step, version) for version in versions.majors}
    refusing = [each for each, cpus in requested.items() if not cpus.conflict and tasks * (cpus.number or 0) > number]
    if not refusing:
        return None
    last = requested[refusing[-1]]
    per_task = last.number or 1
    inherited = own is None and last.variable is None
    same = None if own is not None else tuple(each for each in refusing if requested[each].number == last.number)
    return MissingCpus(step, tasks * per_task, number, tasks, per_task, inherited, same, setting, last.variable)


def cpus_in_all(request: Request) -> tuple[int, Setting] | None:
    """The CPUs of a job in all, and the directive that determines them; None where they are not known.

    Slurm allocates whole cores, so an odd number of CPUs on a node is increased by one.
    """
    if not request.directives.certain or request.has_any_option(_OTHERWISE):
        return None
    per_task = whole(request.value("cpus-per-task")) if request.has_option("cpus-per-task") else 1
    if per_task is None or request.has_any_option(_GPUS) and not request.has_option("cpus-per-task"):
        return None  # a site may allocate CPUs with each GPU
    named = hosts(request.value("nodelist")) if request.has_option("nodelist") else ()
    if named is None or len(named) > (request.exact_nodes() or 1):
        return None  # the job may get all of them, with a CPU on each
    names = ("ntasks", "ntasks-per-node", "cpus-per-task")
    setting = next((found for name in names if (found := request.setting(name))), None)
    tasks = None if setting is None else request.effective_tasks()
    if setting is None or not tasks:
        return None
    nodes, number = request.exact_nodes() or 1, tasks * per_task
    return number + (min(nodes, tasks) if number % (2 * nodes) else 0), setting


def cpus_of_lone_node(request: Request) -> tuple[int, Setting] | None:
    """The CPUs of a job that requests one node and nothing else that counts: one core, where nodes are shared."""
    setting = request.setting("nodes")
    if setting is None or request.exact_nodes() != 1 or not request.directives.certain:
        return None
    others = (*_OTHERWISE, *_GPUS, "ntasks", "ntasks-per-node", "cpus-per-task", "nodelist")
    return None if request.has_any_option(others) else (2, setting)


def too_much_memory(step: Step) -> tuple[StepOption, Setting] | None:
    """An srun's --mem and the job's, if it exceeds that; None where it does not.

    srun says "Memory required by task is not available" (a live run of 22.05). 0 is all memory of the node or the job.
    """
    option, setting = step.option("mem"), step.request.setting("mem")
    if option is None or setting is None:
        return None
    available, requested = step.request.memory, megabytes(option.text)
    if available is None or available.per != "node" or not available.megabytes or not step.certain:
        return None
    if requested is None or requested <= available.megabytes or step.in_other_job or step.request.heterogeneous:
        return None
    return option, setting
