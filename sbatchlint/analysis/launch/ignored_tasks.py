"""Steps whose --ntasks-per-node srun ignores, because the job's own number of tasks counts as `-n`.

`initialize_and_process_args()` in src/srun/opt.c, 22.05 to 26.05, and live runs: SLURM_NTASKS stands for -n, and the
option is then only a limit; where it would be exceeded, srun says that it ignores it. With -N on its command line too
srun drops the inherited number, since 23.02.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from sbatchlint.analysis.launch.step_options import add_step_option
from sbatchlint.job.steps import Step, is_node_count
from sbatchlint.slurm.grammar.numbers import whole
from sbatchlint.source.edits import Edit
from sbatchlint.source.text import Span

if TYPE_CHECKING:
    from sbatchlint.job import Job


class IgnoredTasks(NamedTuple):
    """A step that gets more tasks on a node than it asks for.

    `wanted`: tasks per node that it asks for, `got`: that it gets. `inherited`: the directive that says so (where, and
    how it is written). `always`: in all releases; otherwise before 23.02.
    """

    step: Step
    wanted: int
    got: int
    inherited: tuple[Span, str] | None
    always: bool
    edits: list[Edit] | None


def find_ignored_tasks(job: Job) -> list[IgnoredTasks]:
    found: list[IgnoredTasks] = []
    seen: set[Span] = set()
    for step in job.steps:
        option = step.option("ntasks-per-node")
        if option is None or step.geometry.ignored is False or option.span in seen or not step.certain:
            continue
        wanted, got = whole(option.text), _inherited(job, step)
        if wanted is None or got is None or wanted >= got:
            continue
        seen.add(option.span)
        request = step.request
        setting = request.given("ntasks-per-node") or request.given("ntasks")
        written = None if setting is None else job.source.slice(setting.span)
        reason = None if setting is None or written is None else (setting.span, written)
        edits = _with_tasks(job, step, wanted)
        found.append(IgnoredTasks(step, wanted, got, reason, step.geometry.ignored is True, edits))
    return found


def _inherited(job: Job, step: Step) -> int | None:
    """Tasks on each node of the job, at least."""
    request = step.request
    each = request.tasks_on_each_node()
    if each is not None:
        return each
    nodes = request.exact_nodes()
    if request.tasks is not None and nodes:
        return -(-request.tasks // nodes)
    return None


def _with_tasks(job: Job, step: Step, wanted: int) -> list[Edit] | None:
    nodes = step.option("nodes")
    if nodes is None or is_node_count(nodes.value or ()):
        texts = ["$SLURM_NNODES" if wanted == 1 else f"$((SLURM_NNODES * {wanted}))"]
        own = step.request.exact_nodes()
    else:
        texts, own = [], whole(nodes.text)
    if own is not None:
        texts.append(str(own * wanted))
    for text in texts:
        edits = add_step_option(job, [step], f"--ntasks={text}", ("ntasks-per-node",))
        if edits is not None:
            return edits
    return None
