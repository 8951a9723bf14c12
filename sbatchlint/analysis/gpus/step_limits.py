"""Steps that request GPUs which the job does not have.

srun refuses them, and starts nothing (seen on Slurm 22.05, 23.11, 24.11 and 26.05): `Invalid generic resource (gres)
specification`, and before 23.11 also `job doesn't have GRES`.
"""

from typing import NamedTuple

from sbatchlint.analysis.script.submit_lines import is_submitted_with_gpus
from sbatchlint.bash.values import Phase
from sbatchlint.job import Job
from sbatchlint.job.gpus import FORMS
from sbatchlint.job.once import once
from sbatchlint.job.request import gpu_count
from sbatchlint.job.srun import StepOption
from sbatchlint.job.steps import Step
from sbatchlint.slurm.model import Setting
from sbatchlint.source.text import Span

# Variables from which srun takes the job's total, or something that replaces it.
_TOTALS = frozenset({"SLURM_GPUS", "SLURM_STEP_GRES", "SLURM_GRES", "SLURM_GPUS_PER_NODE", "SLURM_GPUS_PER_TASK"})


class TooManyGpus(NamedTuple):
    """A step that requests GPUs which the job does not have.

    `place`, `words`: the srun's option; the srun itself where the step inherits the job's request. `requested`,
    `available`: how many the step requests and the job has, in all if `by` is `job`, per node if it is `node`;
    `available` is 0 if the job requests none. `setting`: the directive that requests the job's GPUs. `nodes`: the nodes
    of the step and of the job, where the step inherits a total that is spread over all nodes of the job.
    """

    step: Step
    place: Span
    words: str
    requested: int
    available: int
    by: str
    setting: Setting | None
    nodes: tuple[int, int] | None = None


def too_many_gpus(job: Job, step: Step) -> TooManyGpus | None:
    """The request for GPUs because of which srun refuses a step; None if there is none, or where it is not certain."""
    request = job.request
    if job.phase is not Phase.BATCH or not job.directives.every_setting or not job.directives.certain:
        return None
    if request.heterogeneous or request.may_have_all_gpus or request.has_option("gpus-per-socket"):
        return None  # an exclusive job has all GPUs of its nodes
    if not step.certain or step.in_other_job or "het-group" in step.options:
        return None
    return _too_many(job, step) or _whole_total(job, step)


def _too_many(job: Job, step: Step) -> TooManyGpus | None:
    request = job.request
    if step.options.keys().isdisjoint(FORMS):
        return None
    options = [each for each in map(step.option, FORMS) if each is not None]
    if request.asks_for_gpus is False:
        for option in options:
            number = _count(job, option)
            if number:
                if is_submitted_with_gpus(job) or _counts_on_whole_nodes(job):
                    return None
                by = {"gpus": "job", "gpus-per-task": "task", "tres-per-task": "task"}.get(option.name, "node")
                return TooManyGpus(step, option.span, option.as_written, number, 0, by, None)
        return None
    settings = [each for each in request.gpu_settings() if not each.name.startswith("tres") and each.text is not None]
    available, nodes = request.gpus_per_node(), request.exact_nodes()
    total = request.gpus.total if available is None or nodes is None else available * nodes
    if not settings:
        return None
    for option in options:
        number, tasks = _count(job, option), step.tasks_per_node
        if not number:
            continue
        place, words = option.span, option.as_written
        if option.name in ("gpus-per-node", "gres") and available is not None and number > available:
            return TooManyGpus(step, place, words, number, available, "node", settings[0])
        if option.name in ("gpus-per-task", "tres-per-task") and tasks is not None and available is not None:
            if number * tasks > available and not _inherits_per_node(step):
                return TooManyGpus(step, place, words, number * tasks, available, "node", settings[0])
        if option.name == "gpus" and total is not None and number > total:
            return TooManyGpus(step, place, words, number, total, "job", settings[0])
    return None


@once
def _counts_on_whole_nodes(job: Job) -> bool:
    """Whether the script relies on a site that gives every job whole nodes, with their GPUs.

    It requests nodes and nothing on them, which is one CPU per node elsewhere, and starts several tasks on a node, or
    tasks with several CPUs, or computes how many tasks to start.
    """
    request = job.request
    parts = ("ntasks", "ntasks-per-node", "cpus-per-task", "mem-per-cpu", "mem-per-gpu", "cpus-per-gpu", "mincpus")
    if not request.has_option("nodes") or request.has_any_option(parts):
        return False
    cpus = [each for each in (step.option("cpus-per-task") for step in job.steps) if each is not None]
    if any(each.text != "1" for each in cpus) or any(step.geometry.several for step in job.steps):
        return True
    counts = [step.option("ntasks") or step.option("ntasks-per-node") for step in job.steps]
    return any(each is not None and each.text is None for each in counts)


def _inherits_per_node(step: Step) -> bool:
    """Whether a number of GPUs per node applies together with --gpus-per-task, which then only binds.

    Before 25.11, a task that is alone on its node sees all of them.
    """
    own = "gpus-per-node" in step.options or "gres" in step.options
    return own or step.request.has_option("gpus-per-node") and step.tasks_per_node == 1


def _count(job: Job, option: StepOption) -> int | None:
    if option.text is None:
        return None
    found = gpu_count(option.name, option.text, job.versions.last)
    return None if found is None else found.number


def _whole_total(job: Job, step: Step) -> TooManyGpus | None:
    """A step on some of the job's nodes that inherits `--gpus`, and so requests all GPUs there; None for others.

    `--gpus-per-node` does not replace the total: the greater of both counts (`gres_step_state_validate()`; live runs of
    22.05).
    """
    request = job.request
    setting = request.setting("gpus")
    if setting is None or step.nodes is None:
        return None
    total, nodes = request.gpus.total, request.exact_nodes()
    if total is None or nodes is None or not 0 < step.nodes < nodes <= total:
        return None
    others = ("gpus-per-node", "gpus-per-task", "gres", "tres-per-task", "ntasks-per-gpu")
    own = [name for name in ("gpus", "tres-per-task", "ntasks-per-gpu") if name in step.options]
    per_node = step.option("gpus-per-node")
    if per_node is not None and not _count(job, per_node):
        return None  # none at all, or how many is not known
    gres = step.option("gres")
    if own or request.has_any_option(others) or gres is not None and (gres.text or "none") == "none":
        return None
    invocation = step.invocation
    if any(name in _TOTALS for name, _ in invocation.variables) or any(map(invocation.state.variables.get, _TOTALS)):
        return None
    place = step.invocation.name_span
    return TooManyGpus(step, place, "srun", total, total - (nodes - step.nodes), "job", setting, (step.nodes, nodes))
