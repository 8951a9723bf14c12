"""How many nodes and tasks a step has.

As srun derives it (src/srun/opt.c, 22.05 to 26.05; live runs): each option on its command line overrides the value that
it inherits by SLURM_NTASKS, SLURM_NTASKS_PER_NODE or SLURM_JOB_NUM_NODES.
"""

from typing import NamedTuple

from sbatchlint.bash.values import Pieces
from sbatchlint.job.environment import COUNTING_OPTIONS, NODE_COUNTS, TASK_COUNTS
from sbatchlint.job.request import Nodes, Request, fixed_nodes
from sbatchlint.job.srun import SrunWords, StepOption, variable_change
from sbatchlint.slurm.grammar.numbers import whole
from sbatchlint.slurm.versions import Range
from sbatchlint.source.text import Span


class Geometry(NamedTuple):
    """The numbers of nodes and tasks of a step; None: unknown.

    `tasks_per_node`: on every node. `several`: whether some node runs more than one task. `reason`: the option or
    directive that decides the number of tasks (its span, and as written). `ignored`: whether srun ignores its
    --ntasks-per-node with a warning, in all releases (True), some (None) or none.
    """

    nodes: int | None = None
    tasks: int | None = None
    tasks_per_node: int | None = None
    several: bool | None = None
    reason: "Reason | None" = None
    ignored: bool | None = False


Reason = tuple[Span, str]


class _Inputs(NamedTuple):
    """What the geometry of a step follows from: its srun, the request of its component, the releases.

    `in_job`: the job's nodes, `option`: what sets the number of nodes for the step, `nodes`: that number or the job's;
    None: unknown, or for `option` nothing.
    """

    step: SrunWords
    request: Request
    versions: Range
    in_job: int | None
    option: StepOption | None
    nodes: int | None

    def filled(self, per_node: int, reason: "Reason | None") -> Geometry:
        """The geometry of this many tasks on each node."""
        tasks = None if self.nodes is None else self.nodes * per_node
        return Geometry(self.nodes, tasks, per_node, per_node > 1, reason)


def _nodes_of(option: StepOption, job: int | None) -> Nodes | None:
    if option.value is None:
        return None
    if is_node_count(option.value) and job is not None:
        return Nodes(job, job)
    return fixed_nodes(option.text)


def is_node_count(value: Pieces) -> bool:
    """Whether a value is just `$SLURM_NNODES` or the like, the job's number of nodes."""
    return len(value) == 1 and value[0].expansion is not None and value[0].expansion.name in NODE_COUNTS


# Options without which a job has one node.
_SPREADING = ("ntasks", "gpus", "nodelist", "nodefile", "gpus-per-task", "ntasks-per-gpu")


def job_nodes(request: Request) -> int | None:
    """The job's number of nodes, None where unknown; 1 without --nodes and other options that may need several."""
    if request.has_option("nodes"):
        return request.exact_nodes()
    if not request.directives.certain:
        return None
    tasks = request.tasks
    if request.tasks_per_node is not None and tasks is not None:
        return -(-tasks // request.tasks_per_node)
    if (tasks is None or tasks > 1) and request.has_any_option(_SPREADING):
        return None
    return 1


def _is_set(step: SrunWords, name: str) -> bool | None:
    """Whether srun finds a variable as Slurm set it: False if the script unset it, None if it assigned it."""
    how = variable_change(step.invocation, name).how
    return how == "" if how in ("", "unset") else None


def _inherits_tasks(step: SrunWords) -> bool:
    """Whether srun can read the job's number of tasks from either of its two variables."""
    return any(_is_set(step, name) is not False for name in TASK_COUNTS)


def spread(string: str | None) -> str | None:
    """How --distribution spreads tasks over nodes: `block` or `cyclic`; None for other values, which may be uneven."""
    first = (string or "").lower().replace(",", ":").split(":")[0]
    return {"block": "block", "cyclic": "cyclic", "*": "block"}.get(first)


def _is_complete(step: SrunWords, request: Request, versions: Range) -> bool:
    """Whether the number of tasks is not inherited from the first component.

    srun reads SLURM_NTASKS if there is no SLURM_NTASKS_HET_GROUP_1. --ntasks-per-node sets both (a live run of 22.05),
    since 23.02 neither (of 23.11, 24.11 and 26.05).
    """
    if "ntasks" in step.options or request.has_option("ntasks") or versions.all_before("23.02"):
        return True
    directives = request.directives
    options = {each.name for number in range(directives.components) for each in directives.settings_for(number)}
    return directives.certain and (set(COUNTING_OPTIONS) - {"ntasks-per-node"}).isdisjoint(options)


UNKNOWN = Geometry()
_UNCLEAR = ("ntasks-per-gpu", "ntasks-per-tres", "ntasks-per-socket", "ntasks-per-core", "relative")


def geometry(step: SrunWords, request: Request, versions: Range) -> Geometry:
    """The geometry of a step, from its options and what it inherits.

    `request`: of the component of the job in which the step runs.
    """
    if request.heterogeneous and not _is_complete(step, request, versions):
        return UNKNOWN
    # srun reads this variable, and not SLURM_NNODES.
    in_job = job_nodes(request) if _is_set(step, "SLURM_JOB_NUM_NODES") else None
    options = step.options
    opt_nodes, opt_tasks, opt_per_node = options.get("nodes"), options.get("ntasks"), options.get("ntasks-per-node")
    if opt_nodes is None and in_job is None:
        opt_nodes = _own_node_count(step, request)
    opt_per_node = opt_per_node or step.variable("ntasks-per-node", "SLURM_NTASKS_PER_NODE")
    unclear = not options.keys().isdisjoint(_UNCLEAR) or not is_spread(step)
    # its file counts the tasks where nothing else does, and has to agree otherwise (live runs of 22.05)
    unclear = unclear or "multi-prog" in options and not request.has_option("ntasks")
    nodes = in_job
    if opt_nodes is not None:
        count = _nodes_of(opt_nodes, in_job)
        nodes = count.minimum if count is not None and count.minimum == count.maximum else None
    inputs = _Inputs(step, request, versions, in_job, opt_nodes, nodes)
    # since 23.02, --nodes together with tasks per node makes srun ignore SLURM_NTASKS
    ignores = "nodes" in options and (opt_per_node is not None or request.has_option("ntasks-per-node"))
    if opt_tasks is None and not ignores and not unclear:
        opt_tasks = _own_task_count(step, request)
    if opt_tasks is not None and request.has_option("ntasks-per-gpu"):
        # srun reads SLURM_NTASKS_PER_GPU too: `srun -n1` on a node with 4 GPUs started 4 tasks (22.05 to 24.11).
        return Geometry(nodes)
    if opt_tasks is not None:
        return _with_tasks(opt_tasks, opt_per_node, inputs)
    assigned = any(_is_set(step, name) is None for name in TASK_COUNTS)
    assigned = assigned or opt_per_node is None and _is_set(step, "SLURM_NTASKS_PER_NODE") is None
    if not step.certain or unclear or assigned:
        return Geometry(nodes)
    if opt_per_node is not None:
        return _with_tasks_per_node(opt_per_node, inputs)
    return Geometry(nodes) if {"gpus-per-task", "gpus"} <= options.keys() else _inherited(inputs)


def component_geometry(step: SrunWords, request: Request) -> Geometry:
    """The geometry of one of several components of a step (`srun a : b`) in a job that has only one.

    Each has its own nodes, and does not inherit their number (`local_het_step` of src/srun/opt.c, 22.05 to 26.05; live
    runs of 22.05).
    """
    counting = {"nodes", "ntasks", "ntasks-per-node", "cpus-per-task"}
    strange = step.options.keys() & {
        "ntasks-per-gpu", "ntasks-per-tres", "ntasks-per-socket", "ntasks-per-core", "multi-prog", "relative",
        "nodelist", "het-group", "distribution", "gpus-per-task", "gpus",
    }  # fmt: skip
    inherits = request.has_any_option(COUNTING_OPTIONS) and _inherits_tasks(step)
    if not step.certain or strange or not request.directives.certain:
        return UNKNOWN
    opt_nodes, opt_tasks = step.option("nodes"), step.option("ntasks")
    requested = fixed_nodes(opt_nodes.text) if opt_nodes is not None else None
    nodes = requested.minimum if requested is not None and requested.minimum == requested.maximum else None
    if opt_tasks is None:
        if inherits or "ntasks-per-node" in step.options or opt_nodes is not None and nodes is None:
            return Geometry(nodes)
        alone = not counting & step.options.keys() - {"nodes"}
        return Geometry(nodes or 1, nodes or 1, 1, False) if alone else Geometry(nodes)
    return _spread(whole(opt_tasks.text), nodes, (opt_tasks.span, opt_tasks.as_written))


def _spread(tasks: int | None, nodes: int | None, reason: Reason) -> Geometry:
    """The geometry of a number of tasks on at most this many nodes."""
    if not tasks:
        return Geometry(nodes, reason=reason)
    if tasks == 1:
        return Geometry(1, 1, 1, False, reason)
    if nodes is None:
        return Geometry(None, tasks, reason=reason)
    nodes = min(nodes, tasks)
    return Geometry(nodes, tasks, tasks // nodes if nodes in (1, tasks) else None, tasks > nodes, reason)


def _own_task_count(step: SrunWords, request: Request) -> StepOption | None:
    """The script's own SLURM_NTASKS, which srun reads like -n, or else its SLURM_NPROCS; None without them."""
    slurm_sets_it = not request.directives.certain or request.has_any_option(COUNTING_OPTIONS)
    from_slurm = True if slurm_sets_it and request.directives.certain else None
    for name in ("SLURM_NTASKS", "SLURM_NPROCS"):
        own = variable_change(step.invocation, name, from_slurm)
        if own.how == "unknown" or not own.how and slurm_sets_it or own.how == "set" and not whole(own.text):
            return None
        if own.how == "set":
            return step.variable("ntasks", name, from_slurm) if step.certain else None
    return None


def _own_node_count(step: SrunWords, request: Request) -> StepOption | None:
    """The script's own SLURM_JOB_NUM_NODES, which srun reads like -N; None without it, or if the job has fewer."""
    found, available = step.variable("nodes", "SLURM_JOB_NUM_NODES", True), job_nodes(request)
    number = None if found is None else whole(found.text)
    return found if number and available is not None and number <= available else None


def is_spread(step: SrunWords) -> bool:
    """Whether tasks are spread over nodes by default, or as blocks or cyclically by an option or variable."""
    option = step.option("distribution")
    if option is None:
        own = variable_change(step.invocation, "SLURM_DISTRIBUTION")
        return own.how in ("", "unset") or spread(own.text) is not None
    return spread(option.text) is not None


def _deals_evenly(step: SrunWords, request: Request) -> bool:
    """Whether every node gets the same number of tasks if that is possible.

    srun places one task per node in turn, until the CPUs are used up (`_task_layout_block()` and
    `_task_layout_cyclic()` of src/common/slurm_step_layout.c, 22.05 to 26.05).
    """
    if not is_spread(step) or request.has_option("distribution"):
        return False
    if request.exclusive == "":
        return True
    even = not request.has_option("ntasks") or request.tasks_on_each_node() is not None
    return even and request.exact_nodes() is not None and request.directives.certain


def _with_tasks(option: StepOption, opt_per_node: StepOption | None, inputs: _Inputs) -> Geometry:
    """The geometry of `srun -n TASKS`."""
    tasks, nodes = whole(option.text), inputs.nodes
    reason = (option.span, option.as_written)
    in_job = inputs.option is None or nodes == inputs.in_job
    if option.value is not None and is_node_count(option.value) and in_job:
        return Geometry(nodes, tasks if tasks is not None else nodes, 1, False, reason)
    found = _spread(tasks, nodes, reason)
    if not found.tasks or not found.nodes or found.tasks_per_node is not None or found.tasks % found.nodes:
        return found
    per_node = found.tasks // found.nodes
    is_limit = opt_per_node is not None and whole(opt_per_node.text) == per_node
    is_even = is_limit or _deals_evenly(inputs.step, inputs.request)
    return found._replace(tasks_per_node=per_node) if is_even else found


def _with_tasks_per_node(option: StepOption, inputs: _Inputs) -> Geometry:
    """The geometry of `srun --ntasks-per-node=K` without -n, which SLURM_NTASKS may override."""
    _, request, versions, _, opt_nodes, nodes = inputs
    per_node = whole(option.text)
    reason = (option.span, option.as_written)
    if per_node is None:
        return Geometry(nodes, reason=reason)
    honoured = inputs.filled(per_node, reason)
    if not (request.has_any_option(COUNTING_OPTIONS) and _inherits_tasks(inputs.step)):
        return honoured
    before = _inherited(inputs)
    if before.tasks_per_node == per_node:
        return honoured
    commanded = opt_nodes is not None and bool(opt_nodes.word)  # by the command line
    if commanded and versions.all_since("23.02"):
        return honoured
    if commanded and not versions.all_before("23.02"):
        return _in_common(before, honoured)._replace(ignored=None)
    if before.several is False and per_node > 1:
        return before
    tasks = before.tasks
    uneven = tasks is None or not nodes or tasks // nodes == per_node and tasks != nodes * per_node
    if opt_nodes is None and uneven and not versions.all_before("23.02") and not versions.all_since("24.11"):
        # 23.11 drops the excess tasks where they are fewer than the nodes
        return _in_common(before, honoured)._replace(ignored=None)
    # ignored where SLURM_NTASKS exceeds nodes times K; the step is then as large as the job
    return before._replace(ignored=True if opt_nodes is None else None)


def available_cpus(step: SrunWords, request: Request) -> int | None:
    """The CPUs of the job on each node that limit its steps; None for the whole node, 0 for unknown."""
    if request.exclusive == "":
        return None
    tasks = whole(request.value("cpus-per-task"))
    if tasks is None and request.has_option("cpus-per-task") or request.exclusive not in (None, "user", "mcs"):
        return 0
    by_gpu, gpus = whole(request.value("cpus-per-gpu")), request.gpus_per_node()
    if request.has_option("cpus-per-gpu"):
        return by_gpu * gpus if by_gpu and gpus else 0
    return tasks or 1


def _filling(step: SrunWords, request: Request) -> int:
    """The tasks per node of a step that sets only --cpus-per-task: as many as fit the job's CPUs, 1 by default.

    Live runs on 22.05, 23.11 and 26.05; the CPUs of whole nodes are unknown.
    """
    option = step.options.get("cpus-per-task")
    cpus = None if option is None else whole(option.text)
    available = available_cpus(step, request)
    return available // cpus if cpus and available and available >= 2 * cpus else 1


def _in_common(first: Geometry, second: Geometry) -> Geometry:
    """The geometry with only the numbers on which two geometries agree."""
    nodes, tasks, per_node, several = (a if a == b else None for a, b in zip(first[:4], second[:4]))
    return Geometry(nodes, tasks, per_node, None if several is None else bool(several), first.reason)


def _on_other_nodes(option: StepOption, inputs: _Inputs, reason: Reason) -> Geometry:
    """The geometry of `srun -N` with another number of nodes than the job has, and no number of tasks.

    All tasks of the job start on them, even on one node (22.05: `-N1` in a job of 2 nodes with 2 tasks each runs 4).
    Since 23.02, SLURM_NTASKS is ignored if SLURM_NTASKS_PER_NODE is set too, so that each node gets its tasks.
    """
    step, request, versions, in_job, _, nodes = inputs
    if nodes is None and option.text is not None:
        return Geometry(reason=reason)  # a range: srun uses the nodes that it gets
    per_node = request.tasks_per_node
    total = request.tasks
    if not request.has_option("ntasks"):
        total = None if in_job is None or per_node is None else in_job * per_node
    if total is None or nodes is None:
        # on no more nodes than the job has, so that each gets at least as many
        more = per_node is not None and per_node > 1 and not request.has_option("ntasks")
        together = Geometry(nodes, total, None, True if more else None, reason)
    else:
        nodes = min(nodes, total)
        even = total // nodes if nodes == 1 or nodes == total else None
        together = Geometry(nodes, total, even, total > nodes, reason)
    if not request.has_option("ntasks-per-node") or not _is_set(step, "SLURM_NTASKS_PER_NODE"):
        return together
    if "nodes" not in step.options:
        return together  # SLURM_JOB_NUM_NODES does not have this effect
    if per_node is None:
        return Geometry(nodes, reason=reason)
    apart = inputs._replace(nodes=nodes).filled(per_node, reason)
    if versions.all_since("23.02"):
        return apart
    return together if versions.all_before("23.02") else _in_common(together, apart)


def _inherited(inputs: _Inputs) -> Geometry:
    """The geometry of a bare srun: SLURM_NTASKS tasks, else SLURM_NTASKS_PER_NODE on each node, else one on each."""
    step, request, versions, in_job, opt_nodes, nodes = inputs
    counting = next((setting for name in COUNTING_OPTIONS if (setting := request.setting(name)) is not None), None)
    per_node_setting = request.setting("ntasks-per-node")
    without = not _inherits_tasks(step)
    per_node_left = without and per_node_setting is not None and _is_set(step, "SLURM_NTASKS_PER_NODE") is True
    if counting is None or without and not per_node_left:
        others = without and request.has_any_option(COUNTING_OPTIONS[2:])
        # requested by a #PBS or #BSUB line
        others = others or counting is None and request.has_any_option(COUNTING_OPTIONS)
        # 23.11, 24.11 and 26.05 know the job's tasks per node without the variable, 22.05 does not
        unset = per_node_setting is not None and not versions.all_before("23.02")
        if not request.directives.certain or others or unset:
            return Geometry(nodes)
        return inputs.filled(_filling(step, request), None)
    reason_setting = per_node_setting or counting
    reason = (reason_setting.span, reason_setting.as_written)
    elsewhere = opt_nodes is not None and not is_node_count(opt_nodes.value or ())
    elsewhere = elsewhere and (nodes is None or nodes != in_job)
    if opt_nodes is not None and elsewhere and not per_node_left:
        return _on_other_nodes(opt_nodes, inputs, reason)
    per_node = request.tasks_per_node if per_node_left else request.tasks_on_each_node()
    if per_node is not None:
        return inputs.filled(per_node, reason)
    tasks = None if per_node_left else request.tasks
    if tasks is not None and nodes is not None:
        if nodes == 1:
            return Geometry(1, tasks, tasks, tasks > 1, reason)
        return Geometry(nodes, tasks, 1 if tasks == nodes else None, tasks > nodes, reason)
    return Geometry(nodes, tasks, reason=reason)
