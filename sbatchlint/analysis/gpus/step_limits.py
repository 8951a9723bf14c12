"""Steps that want GPUs which the job does not have.

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

# By these srun has the job's total, or something in its place.
_TOTALS = frozenset({"SLURM_GPUS", "SLURM_STEP_GRES", "SLURM_GRES", "SLURM_GPUS_PER_NODE", "SLURM_GPUS_PER_TASK"})


class TooManyGpus(NamedTuple):
    """A step that asks for GPUs which the job does not have.

    `place`, `words`: the srun's option; the srun itself where the request is the job's own. `requested`, `available`:
    how many the step asks for and the job has, in all for `by` `job`, on each node for `node`; `available` 0: the job
    asks for none. `setting`: the directive that says what the job has. `nodes`: of the step and of the job, where the
    step inherits a total that is spread over all nodes of the job.
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
    """What srun refuses a step for its GPUs, where the script alone decides it."""
    request = job.request
    if job.phase is not Phase.BATCH or not job.directives.settings or not job.directives.certain:
        return None
    if request.heterogeneous or request.has_option("exclusive") or request.has_option("gpus-per-socket"):
        return None  # an exclusive job has all GPUs of its nodes
    if not step.certain or step.in_other_job or "het-group" in step.options:
        return None
    return _too_many(job, step) or _whole_total(job, step)


def _too_many(job: Job, step: Step) -> TooManyGpus | None:
    request = job.request
    if step.options.keys().isdisjoint(FORMS):
        return None
    asked = [each for each in map(step.option, FORMS) if each is not None]
    if request.asks_for_gpus is False:
        for option in asked:
            number = _count(job, option)
            if number:
                if is_submitted_with_gpus(job) or _counts_on_whole_nodes(job):
                    return None
                return TooManyGpus(step, option.span, option.as_written, number, 0, _by(option), None)
        return None
    settings = [each for each in request.gpu_settings() if not each.name.startswith("tres") and each.text is not None]
    held, nodes = request.gpus_per_node(), request.exact_nodes()
    total = request.gpus.total if held is None or nodes is None else held * nodes
    if not settings:
        return None
    for option in asked:
        number = _count(job, option)
        if not number:
            continue
        if option.name in ("gpus-per-node", "gres") and held is not None and number > held:
            return TooManyGpus(step, option.span, option.as_written, number, held, "node", settings[0])
        tasks = step.tasks_per_node
        if option.name in ("gpus-per-task", "tres-per-task") and None not in (tasks, held):
            assert tasks is not None and held is not None
            if number * tasks > held and not _inherits_per_node(step):
                return TooManyGpus(step, option.span, option.as_written, number * tasks, held, "node", settings[0])
        if option.name == "gpus" and total is not None and number > total:
            return TooManyGpus(step, option.span, option.as_written, number, total, "job", settings[0])
    return None


@once
def _counts_on_whole_nodes(job: Job) -> bool:
    """Whether the script relies on a site that gives every job whole nodes, GPUs included.

    It asks for nodes and nothing on them, which is one CPU a node elsewhere, and starts several tasks on a node, or
    tasks of several CPUs, or works out how many tasks to start.
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
    """Whether a number of GPUs per node counts beside --gpus-per-task, which then only binds.

    A task that is alone on its node is given all of them before 25.11.
    """
    own = "gpus-per-node" in step.options or "gres" in step.options
    return own or step.request.has_option("gpus-per-node") and step.tasks_per_node == 1


def _by(option: StepOption) -> str:
    return {"gpus": "job", "gpus-per-task": "task", "tres-per-task": "task"}.get(option.name, "node")


def _count(job: Job, option: StepOption) -> int | None:
    if option.text is None:
        return None
    found = gpu_count(option.name, option.text, job.versions.last)
    return None if found is None else found.number


def _whole_total(job: Job, step: Step) -> TooManyGpus | None:
    """A step on some of the job's nodes that inherits `--gpus`: it asks for all of them there."""
    request = job.request
    setting = request.setting("gpus")
    if setting is None or step.nodes is None:
        return None
    total, nodes = request.gpus.total, request.exact_nodes()
    if total is None or nodes is None or not 0 < step.nodes < nodes <= total:
        return None
    others = ("gpus-per-node", "gpus-per-task", "gres", "tres-per-task", "ntasks-per-gpu")
    own = [name for name in ("gpus", "gpus-per-node", "tres-per-task", "ntasks-per-gpu") if name in step.options]
    gres = step.option("gres")
    if own or request.has_any_option(others) or gres is not None and (gres.text or "none") == "none":
        return None
    invocation = step.invocation
    if any(name in _TOTALS for name, _ in invocation.variables) or any(map(invocation.state.variables.get, _TOTALS)):
        return None
    place = step.invocation.name_span
    return TooManyGpus(step, place, "srun", total, total - (nodes - step.nodes), "job", setting, (step.nodes, nodes))
