"""Totals over several nodes that Slurm spreads as it likes: GPUs of `--gpus`, tasks of `--ntasks`.

A job of two nodes with `--gpus=8` got seven on one and one on the other, and with `--ntasks=16` fifteen tasks and one,
on Slurm 22.05, 23.11, 24.11 and 26.05. On four nodes of eight GPUs 16 fell as 8, 6, 1 and 1.
`--exclusive` evens the tasks out, and not the GPUs of a step. Where the nodes
are too small for that, the split is even by force, which a script cannot know.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from sbatchlint.analysis.launch.literal_counts import literal_number
from sbatchlint.analysis.launch.repeatable import is_repeatable_step
from sbatchlint.job.request import gpu_count
from sbatchlint.job.worlds import find_worlds
from sbatchlint.slurm.grammar.numbers import whole
from sbatchlint.slurm.rewriting import insertion
from sbatchlint.source.edits import Edit
from sbatchlint.source.regex import Regex
from sbatchlint.source.text import Span

if TYPE_CHECKING:
    from sbatchlint.job import Job
    from sbatchlint.job.steps import Step
    from sbatchlint.slurm.directives import Setting

# Nodes with more GPUs than this are rare: so many for each node is all that they have.
_MOST_ON_A_NODE = 8
# Other ways to say how many there are on each node, or how tasks are dealt to nodes.
_OF_GPUS = ("gpus-per-node", "gpus-per-task", "gpus-per-socket", "gres", "tres-per-task", "ntasks-per-gpu")
_OF_TASKS = ("ntasks-per-node", "ntasks-per-socket", "ntasks-per-core", "ntasks-per-gpu", "distribution", "spread-job",
             "gpus-per-task", "tres-per-task", "overcommit", "mincpus", "exclusive", "use-min-nodes")  # fmt: skip
_TOTAL_GPUS = Regex(r"SLURM_GPUS(?![_A-Z])")


class Uneven(NamedTuple):
    """A total that may fall unevenly on the job's nodes, and what wants it even.

    `setting`: the directive. `what`: `gpus` or `tasks`. `number`: the total; `each`: on each node if it were even, None
    where it does not come out. `step`: what wants it so, of which `place` is the launcher or the srun; `wanted`: how
    many GPUs or tasks on each node. `edits`, `option`: what says it for each node instead; none without `each`.
    """

    setting: Setting
    what: str
    number: int
    nodes: int
    each: int | None
    step: Step
    place: Span
    wanted: int
    option: str
    edits: tuple[Edit, ...]
    safe: bool


def uneven_gpus(job: Job) -> Uneven | None:
    """A total of GPUs that every node should have its equal part of."""
    request = job.request
    total, nodes, setting = request.gpus.total, request.exact_nodes(), request.given("gpus")
    if total is None or setting is None or nodes is None or not 1 < nodes < total or request.heterogeneous:
        return None
    if any(request.asked(name) for name in _OF_GPUS) or not job.directives.certain:
        return None
    each = total // nodes if total % nodes == 0 else None
    if each is not None and each in (_MOST_ON_A_NODE, job.site.gpus_per_node):
        return None
    found = _who_wants_gpus(job, nodes, each)
    if found is None:
        return None
    step, place, wanted = found
    count = gpu_count("gpus", setting.text or "", request.version)
    option, edits = "", list[Edit]()
    if each is not None and count is not None and count.kind is not None:
        option = f"--gpus-per-node={count.kind}{':' if count.kind else ''}{each}"
        if literal_number(job, setting.value_span) is not None or count.kind:
            edits = _in_place(job, setting, option)
    return Uneven(setting, "gpus", total, nodes, each, step, place, wanted, option, tuple(edits),
                  _TOTAL_GPUS.search(job.source.text) is None)  # fmt: skip


def _who_wants_gpus(job: Job, nodes: int, each: int | None) -> tuple[Step, Span, int] | None:
    """The first launcher of a fixed number of processes on each node, or a program of which each task wants a GPU."""
    for world in find_worlds(job):
        step, launcher = world.step, world.launcher
        if step is None or launcher is None or not launcher.spawns or world.nodes != nodes or launcher.cpu:
            continue
        count = launcher.processes_per_task
        if isinstance(count, int) and count > 1 and (each is None or count == each) and world.starts_per_node == 1:
            if _takes_what_the_job_has(step):
                return step, launcher.span, count
    for step in job.steps:
        tasks = step.tasks_per_node
        if step.nodes == nodes and tasks is not None and tasks > 1 and tasks == each and _takes_what_the_job_has(step):
            if not is_repeatable_step(step):
                return step, step.invocation.name_span, tasks
    return None


def _takes_what_the_job_has(step: Step) -> bool:
    return step.certain and not any(name in step.options for name in ("gpus", *_OF_GPUS))


def _in_place(job: Job, setting: Setting, option: str) -> list[Edit]:
    """The option of a directive with another one in its place; nothing where its value stands apart from it."""
    if setting.value_line is not setting.line or job.source.slice(setting.span).count("\n"):
        return []
    return [Edit(setting.span, option)]


def uneven_tasks(job: Job) -> Uneven | None:
    """A total of tasks that is one for each GPU of each node."""
    request = job.request
    tasks, nodes, setting = request.tasks, request.exact_nodes(), request.given("ntasks")
    if tasks is None or setting is None or nodes is None or not 1 < nodes < tasks or tasks % nodes:
        return None
    if any(request.asked(name) for name in _OF_TASKS) or not job.directives.certain or request.heterogeneous:
        return None
    each = tasks // nodes
    if request.gpus_per_node() != each:
        return None
    for step in job.steps:
        if step.geometry.reason is None or step.geometry.reason[0] != setting.span or not step.certain:
            continue
        if step.nodes != nodes or "distribution" in step.options or is_repeatable_step(step):
            continue
        own = any({"ntasks", "nodes", "ntasks-per-node"} & other.options.keys() for other in job.steps)
        option = f"--ntasks-per-node={each}"
        literal = whole(setting.text) is not None and literal_number(job, setting.value_span) is not None
        edits = (insertion(job.directives, option),) if literal else ()
        place = step.invocation.name_span
        return Uneven(setting, "tasks", tasks, nodes, each, step, place, each, option, edits, not own)
    return None
