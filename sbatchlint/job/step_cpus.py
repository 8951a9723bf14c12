"""The CPUs and the memory that a step wants, and those that the job has.

srun refuses a step that wants more: "More processors requested than permitted" (live runs of 22.05, 23.11, 24.11 and
26.05). How many CPUs each task gets it reads of its options, and of the environment: of SLURM_CPUS_PER_TASK, which
sbatch sets for --cpus-per-task; in 22.05 and 23.02 of SRUN_CPUS_PER_TASK instead, which nobody sets but the script
(src/srun/opt.c, 20.11 to 26.05). From 23.11 on sbatch sets SLURM_TRES_PER_TASK=cpu=N as well, and srun ends where the
two differ (`_set_tres_per_task_from_sibling_opt()` of src/common/slurm_opt.c).
"""

import re
from typing import NamedTuple

from sbatchlint.bash.trace import is_set
from sbatchlint.bash.values import span_of
from sbatchlint.job.request import Request
from sbatchlint.job.srun import OwnVariable, StepOption, own_variable
from sbatchlint.job.steps import Step
from sbatchlint.slurm.grammar.numbers import whole
from sbatchlint.slurm.grammar.sizes import megabytes
from sbatchlint.slurm.model import Setting
from sbatchlint.slurm.versions import Range, is_before

# Releases whose srun inherits the job's --cpus-per-task by SRUN_CPUS_PER_TASK alone.
NOT_INHERITING = ("22.05", "23.02")
# Options of a job by which it has other CPUs than its tasks say.
_OTHERWISE = (
    "exclusive", "overcommit", "cpus-per-gpu", "threads-per-core", "hint", "mincpus", "cores-per-socket",
    "sockets-per-node", "extra-node-info", "core-spec", "thread-spec", "ntasks-per-core", "ntasks-per-socket",
    "ntasks-per-gpu", "ntasks-per-tres", "tres-per-task", "mem-per-cpu", "mem-per-gpu",
)  # fmt: skip
_GPUS = ("gpus", "gpus-per-node", "gpus-per-task", "gpus-per-socket", "gres")
# By these srun is told of the CPUs of a task.
_VARIABLES = ("SLURM_CPUS_PER_TASK", "SRUN_CPUS_PER_TASK", "SLURM_TRES_PER_TASK")


class CpusOfTask(NamedTuple):
    """The CPUs that srun asks for each task of a step, in one release.

    `number`: None where it is not known, 0 where nothing says it. `variable`: what of the script says it, None for
    srun's own option and for the job's. `conflict`: what the environment says otherwise, so that srun ends: `cpu=4`.
    """

    number: int | None
    variable: StepOption | None = None
    conflict: str = ""


class MissingCpus(NamedTuple):
    """A step that wants more CPUs than the job has.

    `requested`, `available`: in all. `tasks`, `per_task`: what makes them that many. `inherited`: `per_task` is the
    job's number. `versions`: the releases that refuse it, None for all. `setting`: what says how many CPUs the job has.
    `variable`: what of the script says `per_task`, None where an option does.
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
    """How many CPUs srun asks for each task of a step."""
    option, request = step.option("cpus-per-task"), step.request
    if option is not None:
        return CpusOfTask(whole(option.text))
    if "tres-per-task" in step.options or request.has_option("tres-per-task"):
        return CpusOfTask(None)
    asked = request.has_option("cpus-per-task")
    of_job = whole(request.value("cpus-per-task")) if asked else 0 if request.directives.certain else None
    name = "SRUN_CPUS_PER_TASK" if version in NOT_INHERITING else "SLURM_CPUS_PER_TASK"
    own = own_variable(step.invocation, name, asked and version not in NOT_INHERITING)
    tres = (
        OwnVariable("unset")
        if is_before(version, "23.02")
        else own_variable(step.invocation, "SLURM_TRES_PER_TASK", asked)
    )
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
        told = StepOption("cpus-per-task", "SLURM_TRES_PER_TASK", tres.value, span_of(tres.value), 0, 0)
    else:
        other, told = (0 if tres.how == "unset" else of_job), None
    if other is None:
        return CpusOfTask(None)
    if number and other and number != other:
        conflict = f"SLURM_TRES_PER_TASK=cpu={other}" if variable is not None else f"SLURM_CPUS_PER_TASK={number}"
        return CpusOfTask(number, variable or told, conflict)
    return CpusOfTask(number or other, variable if number else told)


def missing_cpus(step: Step, versions: Range) -> MissingCpus | None:
    """The CPUs that a step lacks; None where it has enough, or where the script alone does not decide it."""
    tasks, own = step.tasks, step.option("cpus-per-task")
    if tasks is None and own is None or not step.certain or step.request.heterogeneous or step.in_other_job:
        return None
    held = cpus_in_all(step.request)
    if held is None or "overcommit" in step.options or is_set(step.invocation, "SLURM_OVERCOMMIT"):
        return None
    if not step.options.keys().isdisjoint(_OTHERWISE[2:]):
        return None
    number, setting = held
    tasks = tasks or 1
    if own is None and tasks > number:
        return MissingCpus(step, tasks, number, tasks, 1, False, None, setting)
    if own is None and tasks * (whole(step.request.value("cpus-per-task")) or 0) <= number:
        if not any(map(step.invocation.state.variables.get, _VARIABLES)):
            return None  # it has the job's number at most
    wanted = {version: cpus_per_task(step, version) for version in versions.majors}
    refusing = [each for each, cpus in wanted.items() if not cpus.conflict and tasks * (cpus.number or 0) > number]
    if not refusing:
        return None
    last = wanted[refusing[-1]]
    each = last.number or 1
    inherited = own is None and last.variable is None
    same = None if own is not None else tuple(each for each in refusing if wanted[each].number == last.number)
    return MissingCpus(step, tasks * each, number, tasks, each, inherited, same, setting, last.variable)


def cpus_in_all(request: Request) -> tuple[int, Setting] | None:
    """The CPUs of a job in all, and what says so; whole cores are given, so that an odd number is one more."""
    if not request.directives.certain or request.has_any_option(_OTHERWISE):
        return None
    each = whole(request.value("cpus-per-task")) if request.has_option("cpus-per-task") else 1
    if each is None or request.has_any_option(_GPUS) and not request.has_option("cpus-per-task"):
        return None  # a site may give CPUs with each GPU
    names = ("ntasks", "ntasks-per-node", "cpus-per-task")
    setting = next((found for name in names if (found := request.setting(name))), None)
    tasks = None if setting is None else request.effective_tasks()
    if setting is None or not tasks:
        return None
    nodes, number = request.exact_nodes() or 1, tasks * each
    return number + (min(nodes, tasks) if number % (2 * nodes) else 0), setting


def too_much_memory(step: Step) -> tuple[StepOption, Setting] | None:
    """An srun's --mem that is more than the job's, and that: "Memory required by task is not available" (22.05, live).

    0 is all memory of the node, or of the job.
    """
    option, setting = step.option("mem"), step.request.setting("mem")
    if option is None or setting is None:
        return None
    held = step.request.memory
    if held is None or held.per != "node" or not held.megabytes:
        return None
    asked = megabytes(option.text)
    if asked is None or asked <= held.megabytes or not step.certain or step.in_other_job or step.request.heterogeneous:
        return None
    return option, setting
