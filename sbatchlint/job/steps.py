"""The job steps of a script: what each srun starts, on how many nodes, with how many tasks.

Geometry as srun derives it (src/srun/opt.c, 22.05 to 26.05; live runs): options on its command line win over what it
inherits through SLURM_NTASKS, SLURM_NTASKS_PER_NODE and SLURM_JOB_NUM_NODES, option by option.
"""

from typing import NamedTuple

from sbatchlint.bash.trace import Context, Invocation, exported
from sbatchlint.bash.values import (
    UNKNOWN_CHARACTER,
    Piece,
    Pieces,
    cut,
    expansions,
    is_open,
    shown_text,
    span_of,
    text_of,
)
from sbatchlint.job.argv import hides_options, is_unknown, names_program
from sbatchlint.job.containers import Container, Triple, is_pyxis_option, pyxis_container
from sbatchlint.job.environment import COUNTING_OPTIONS, NODE_COUNTS, TASK_COUNTS
from sbatchlint.job.request import Nodes, Request, fixed_nodes
from sbatchlint.slurm import getopt
from sbatchlint.slurm.grammar.numbers import whole
from sbatchlint.slurm.model import Setting
from sbatchlint.slurm.site import Site
from sbatchlint.slurm.versions import Range
from sbatchlint.source.text import Span

# Variables that make any srun a container step (pyxis 0.21).
PYXIS_STARTS = ("PYXIS_CONTAINER_IMAGE", "PYXIS_CONTAINER_NAME")


class StepOption:
    """One option of an srun. `value`: None without one. `span`: option and value, where they are written together.

    `word`, `value_word`: their indices in argv.
    """

    __slots__ = ("name", "span", "value", "value_word", "word", "written")

    def __init__(self, name: str, written: str, value: Pieces | None, span: Span, word: int, value_word: int) -> None:
        self.name = name
        self.written = written
        self.value = value
        self.span = span
        self.word = word
        self.value_word = value_word

    @property
    def text(self) -> str | None:
        return None if self.value is None else text_of(self.value)

    @property
    def as_written(self) -> str:
        """Option and value as one would write them: `--ntasks=4`, `-n $COUNT`."""
        value = self.text
        if value is None:
            names = [each.name for each in expansions(self.value or ())]
            value = f"${names[0]}" if names else "…"
        return f"{self.written}{'=' if self.written.startswith('--') else ' '}{value}"


class Geometry(NamedTuple):
    """The numbers of nodes and tasks of a step; None: unknown.

    `tasks_per_node`: on every node. `several`: whether some node runs more than one task. `reason`: the option or
    directive that decides the number of tasks (its span, and as written). `ignored`: srun says that it ignores
    its --ntasks-per-node, in all releases (True) or some (None).
    """

    nodes: int | None
    tasks: int | None
    tasks_per_node: int | None
    several: bool | None
    reason: tuple[Span, str] | None
    ignored: bool | None = False


class Step:
    """A step: an srun, what it inherits from the job, and the command that it starts.

    `invocation`: the srun. `options`: by canonical name, the last of each. `problems`: the words that
    its getopt refuses, with indices from the word after `srun`. `certain`: no unknown word may be an option.
    `command`: the index in argv at which the command begins, None where there is none, or it is unknown.
    """

    __slots__ = ("certain", "command", "container", "geometry", "given", "invocation", "options", "problems", "request")

    def __init__(self, invocation: Invocation, request: Request, versions: Range, site: Site) -> None:
        self.invocation = invocation
        words = [shown_text(field) for field in invocation.argv[1:]]
        parsed = getopt.parse(words, "srun", versions.majors, site.plugin_options)
        if parsed.uncertain:
            program = _unknown_program(invocation, parsed)
            if program is not None:
                parsed = getopt.parse(words[:program], "srun", versions.majors, site.plugin_options)
        self.given = tuple(self._option(each) for each in parsed.options)
        self.options = {each.name: each for each in self.given}
        self.problems = parsed.problems
        self.certain = not parsed.uncertain
        self.command = parsed.rest + 1 if parsed.rest < len(words) else None
        self.request = request
        if request.heterogeneous:
            self.request = component_of(self, request) or request
        self.container = self._container(site)
        self.geometry = geometry(self, self.request, versions)

    def _option(self, given: getopt.ParsedOption) -> StepOption:
        argv = self.invocation.argv
        field = argv[given.word + 1]
        value = None
        value_word = given.word if given.value_word is None else given.value_word
        if given.value_word is not None and given.value_start is not None:
            source = argv[given.value_word + 1]
            value = cut(source, given.value_start, len(shown_text(source)))
        start, end = span_of(field).start, span_of(argv[value_word + 1]).end
        span = Span(start, end) if end >= start else span_of(field)
        return StepOption(given.name, given.written, value, span, given.word + 1, value_word + 1)

    def _container(self, site: Site) -> Container | None:
        # pyxis options of the option block apply to every step
        triples: list[Triple] = [
            (each.name, directive_value(each), each.span)
            for each in self.request.directives.settings
            if is_pyxis_option(each.name)
        ]
        triples += [(each.name, each.value, each.span) for each in self.given if is_pyxis_option(each.name)]
        if not triples and not any(exported(self.invocation, name) for name in PYXIS_STARTS):
            return None
        container = pyxis_container(triples, site, lambda name: exported(self.invocation, name))
        if container is not None and not any(container.span):
            container.span = self.invocation.name_span
        return container

    def option(self, name: str) -> StepOption | None:
        return self.options.get(name)

    @property
    def nodes(self) -> int | None:
        return self.geometry.nodes

    @property
    def tasks(self) -> int | None:
        return self.geometry.tasks

    @property
    def tasks_per_node(self) -> int | None:
        return self.geometry.tasks_per_node

    @property
    def several_nodes(self) -> bool | None:
        """Whether the step runs on more than one node."""
        return None if self.nodes is None else self.nodes > 1

    @property
    def span(self) -> Span:
        return self.invocation.span

    @property
    def place(self) -> Span:
        """The span of the word `srun`; of the whole command where a variable holds that word."""
        name, whole = self.invocation.name_span, self.invocation.span
        return name if whole.start <= name.start and name.end <= whole.end else whole

    @property
    def program(self) -> list[Invocation]:
        """Every command that runs in the tasks, in order."""
        return self.invocation.descendants()


def _unknown_program(invocation: Invocation, parsed: getopt.Parsed) -> int | None:
    """The index (from the word after `srun`) of the first unknown word that must be the command; None without one.

    It is a path, its name says so, or options follow that srun does not have.
    """
    argv = invocation.argv[1:]
    taken = {word for each in parsed.options for word in (each.word, each.value_word)}
    strange = [each.word for each in parsed.problems if each.kind == "unknown-option" and each.versions is None]
    for index, field in enumerate(argv[: parsed.rest]):
        if index in taken:
            continue
        if shown_text(field)[:2] == UNKNOWN_CHARACTER + "/":
            return index  # a path
        if not is_unknown(field) or hides_options(field):
            continue
        if names_program(field) or not is_open(field) and any(word > index for word in strange):
            return index
    return None


def step_around(context: Context) -> Step | None:
    """The step in whose tasks a command runs."""
    each = context.parent
    while each is not None:
        info = each.spawn.info
        if isinstance(info, Step):
            return info
        each = each.context.parent
    return None


def directive_value(setting: Setting) -> Pieces | None:
    """The value of a directive as a field; None without one."""
    if setting.value is None or setting.value_span is None:
        return None
    return (Piece(setting.text, setting.value_span.start, setting.value_span.end),)


# --- geometry ----------------------------------------------------------------------------------


def _nodes_of(option: StepOption, job: int | None) -> Nodes | None:
    if option.value is None:
        return None
    if is_node_count(option.value) and job is not None:
        return Nodes(job, job)
    return fixed_nodes(option.text)


def is_node_count(value: Pieces) -> bool:
    """Whether a value is just `$SLURM_NNODES` or the like, the job's number of nodes."""
    return len(value) == 1 and value[0].expansion is not None and value[0].expansion.name in NODE_COUNTS


def job_nodes(request: Request) -> int | None:
    """The job's number of nodes, None where unknown; 1 without --nodes and without tasks that could spread."""
    if request.asked("nodes"):
        return request.exact_nodes()
    if not request.directives.certain:
        return None
    spreading = ("ntasks", "gpus", "nodelist", "nodefile", "gpus-per-task", "ntasks-per-gpu")
    tasks = request.tasks
    if request.tasks_per_node is not None and tasks is not None:
        return -(-tasks // request.tasks_per_node)
    if any(request.asked(name) for name in spreading) and (tasks is None or tasks > 1):
        return None
    return 1


def _is_set(step: Step, name: str) -> bool | None:
    """Whether srun finds a variable as Slurm set it: False where the script unset it, None where it assigned it."""
    if any(name == variable for variable, _ in step.invocation.variables):
        return None
    found = step.invocation.state.variables.get(name)
    return True if found is None else None if found.alternatives else False


def _inherits_tasks(step: Step) -> bool:
    """Whether srun can read the job's number of tasks, under either of its two names."""
    return any(_is_set(step, name) is not False for name in sorted(TASK_COUNTS))


def spread(text: str | None) -> str | None:
    """How --distribution spreads tasks over nodes: `block` or `cyclic`; None for other values, which may be uneven."""
    first = (text or "").lower().replace(",", ":").split(":")[0]
    return {"block": "block", "cyclic": "cyclic", "*": "block"}.get(first)


def component_of(step: Step, request: Request) -> Request | None:
    """The request of the component of a heterogeneous job in which a step runs; None where unknown."""
    option = step.option("het-group")
    number = 0 if option is None else whole(option.text)
    if number is None or number >= request.directives.components:
        return None
    return request if number == request.component else Request(request.directives, number, request.version)


def _is_complete(step: Step, request: Request) -> bool:
    """Whether the number of tasks does not come from the first component.

    srun reads SLURM_NTASKS where there is no SLURM_NTASKS_HET_GROUP_1, which since 23.02 only --ntasks sets.
    """
    return "ntasks" in step.options or request.asked("ntasks")


def geometry(step: Step, request: Request, versions: Range) -> Geometry:
    """The geometry of a step, from its options and what it inherits."""
    several = any(text_of(field) == ":" for field in step.invocation.argv)
    if several or not request.heterogeneous and "het-group" in step.options:
        return Geometry(None, None, None, None, None)
    if request.heterogeneous and (component_of(step, request) is None or not _is_complete(step, request)):
        return Geometry(None, None, None, None, None)
    # srun reads this variable, and not SLURM_NNODES.
    in_job = job_nodes(request) if _is_set(step, "SLURM_JOB_NUM_NODES") else None
    options = step.options
    opt_nodes, opt_tasks, opt_each = (options.get(name) for name in ("nodes", "ntasks", "ntasks-per-node"))
    unclear: list[str] = [name for name in ("ntasks-per-gpu", "ntasks-per-tres", "ntasks-per-socket", "ntasks-per-core",
                                 "multi-prog", "relative") if name in options]  # fmt: skip
    if "distribution" in options and spread(options["distribution"].text) is None:
        unclear.append("distribution")
    nodes = in_job
    if opt_nodes is not None:
        count = _nodes_of(opt_nodes, in_job)
        nodes = count.minimum if count is not None and count.minimum == count.maximum else None
    if opt_tasks is not None and request.asked("ntasks-per-gpu"):
        # srun reads SLURM_NTASKS_PER_GPU, too: `srun -n1` of a node with 4 GPUs started 4 tasks (22.05 to 24.11).
        return Geometry(nodes, None, None, None, None)
    if opt_tasks is not None:
        return _with_tasks(opt_tasks, opt_nodes, opt_each, nodes, in_job, step)
    assigned = any(_is_set(step, name) is None for name in (*TASK_COUNTS, "SLURM_NTASKS_PER_NODE"))
    if not step.certain or unclear or assigned:
        return Geometry(nodes, None, None, None, None)
    if opt_each is not None:
        return _with_tasks_per_node(opt_each, opt_nodes, nodes, in_job, request, versions, step)
    if "gpus-per-task" in options and "gpus" in options:
        return Geometry(nodes, None, None, None, None)
    return _inherited(nodes, opt_nodes, in_job, request, versions, step)


def _with_tasks(
    option: StepOption, opt_nodes: StepOption | None, opt_each: StepOption | None, nodes: int | None,
    in_job: int | None, step: Step,
) -> Geometry:  # fmt: skip
    """The geometry of `srun -n TASKS`."""
    tasks = whole(option.text)
    reason = (option.span, option.as_written)
    if option.value is not None and is_node_count(option.value) and (opt_nodes is None or nodes == in_job):
        return Geometry(nodes, tasks if tasks is not None else nodes, 1, False, reason)
    if tasks is None or tasks == 0:
        return Geometry(nodes, None, None, None, reason)
    if tasks == 1:
        return Geometry(1, 1, 1, False, reason)
    if nodes is None:
        return Geometry(None, tasks, None, None, reason)
    nodes = min(nodes, tasks)
    each = tasks // nodes if nodes and (nodes == 1 or tasks == nodes) else None
    if opt_each is not None and each is None:
        limit = whole(opt_each.text)
        if limit is not None and limit * nodes == tasks:
            each = limit
    return Geometry(nodes, tasks, each, tasks > nodes, reason)


def _with_tasks_per_node(
    option: StepOption, opt_nodes: StepOption | None, nodes: int | None, in_job: int | None, request: Request,
    versions: Range, step: Step,
) -> Geometry:  # fmt: skip
    """The geometry of `srun --ntasks-per-node=K` without -n, which SLURM_NTASKS may overrule."""
    each = whole(option.text)
    reason = (option.span, option.as_written)
    if each is None:
        return Geometry(nodes, None, None, None, reason)
    inherited = any(request.asked(name) for name in COUNTING_OPTIONS) and _inherits_tasks(step)
    honoured = Geometry(nodes, None if nodes is None else nodes * each, each, each > 1, reason)
    if not inherited:
        return honoured
    before = _inherited(nodes, opt_nodes, in_job, request, versions, step)
    if before.tasks_per_node == each:
        return honoured
    if opt_nodes is not None and versions.all_since("23.02"):
        return honoured
    if opt_nodes is not None and not versions.all_before("23.02"):
        return _in_common(before, honoured)._replace(ignored=None)
    if before.several is False and each > 1:
        return before
    tasks = before.tasks
    uneven = tasks is None or not nodes or tasks // nodes == each and tasks != nodes * each
    if opt_nodes is None and uneven and not versions.all_before("23.02") and not versions.all_since("24.11"):
        # 23.11 drops the excess tasks where they are fewer than the nodes
        return _in_common(before, honoured)._replace(ignored=None)
    # ignored where SLURM_NTASKS exceeds nodes times K; the step is then as large as the job
    return before._replace(ignored=True if opt_nodes is None else None)


def held_cpus(step: Step, request: Request) -> int | None:
    """The CPUs of the job on each node, as far as they limit its steps; None: the whole node, 0: unknown."""
    if request.exclusive == "":
        return None
    tasks = whole(request.text("cpus-per-task"))
    if tasks is None and request.asked("cpus-per-task") or request.exclusive not in (None, "user", "mcs"):
        return 0
    by_gpu, gpus = whole(request.text("cpus-per-gpu")), request.gpus_per_node()
    if request.asked("cpus-per-gpu"):
        return by_gpu * gpus if by_gpu and gpus else 0
    return tasks or 1


def _filling(step: Step, request: Request) -> int:
    """Tasks on each node of a step that only gives the CPUs of a task; 1 where nothing says otherwise.

    As many as fit the job's CPUs (live runs on 22.05, 23.11 and 26.05), which of whole nodes are unknown.
    """
    option = step.options.get("cpus-per-task")
    cpus = None if option is None else whole(option.text)
    held = held_cpus(step, request)
    return held // cpus if cpus and held and held >= 2 * cpus else 1


def _in_common(first: Geometry, second: Geometry) -> Geometry:
    """What two geometries agree on."""
    nodes, tasks, each, several = (a if a == b else None for a, b in zip(first[:4], second[:4]))
    return Geometry(nodes, tasks, each, None if several is None else bool(several), first.reason)


def _on_other_nodes(
    nodes: int | None, option: StepOption, in_job: int | None, request: Request, versions: Range, step: Step,
    reason: tuple[Span, str],
) -> Geometry:  # fmt: skip
    """The geometry of `srun -N` with another number of nodes than the job has, and no number of tasks.

    All tasks of the job start on them, even on one node (22.05: `-N1` in a job of 2 nodes with 2 tasks each runs 4).
    Since 23.02 SLURM_NTASKS is dropped where SLURM_NTASKS_PER_NODE is set too, so that each node gets its tasks.
    """
    if nodes is None and option.text is not None:
        return Geometry(None, None, None, None, reason)  # a range: srun takes what it gets
    each = request.tasks_per_node
    total = request.tasks
    if not request.asked("ntasks"):
        total = None if in_job is None or each is None else in_job * each
    if total is None or nodes is None:
        # on no more nodes than the job has, so that each gets at least as many
        more = each is not None and each > 1 and not request.asked("ntasks")
        together = Geometry(nodes, total, None, True if more else None, reason)
    else:
        nodes = min(nodes, total)
        even = total // nodes if nodes == 1 or nodes == total else None
        together = Geometry(nodes, total, even, total > nodes, reason)
    if not request.asked("ntasks-per-node") or not _is_set(step, "SLURM_NTASKS_PER_NODE"):
        return together
    if each is None:
        return Geometry(nodes, None, None, None, reason)
    apart = Geometry(nodes, None if nodes is None else nodes * each, each, each > 1, reason)
    if versions.all_since("23.02"):
        return apart
    return together if versions.all_before("23.02") else _in_common(together, apart)


def _inherited(
    nodes: int | None, opt_nodes: StepOption | None, in_job: int | None, request: Request, versions: Range, step: Step
) -> Geometry:
    """The geometry of a bare srun: SLURM_NTASKS tasks, else SLURM_NTASKS_PER_NODE on each node, else one on each."""
    counting = next((setting for name in COUNTING_OPTIONS if (setting := request.given(name)) is not None), None)
    each_setting = request.given("ntasks-per-node")
    without = not _inherits_tasks(step)
    per_node_left = without and each_setting is not None and _is_set(step, "SLURM_NTASKS_PER_NODE") is True
    if counting is None or without and not per_node_left:
        others = without and any(request.asked(name) for name in COUNTING_OPTIONS[2:])
        # requested by a #PBS or #BSUB line
        others = others or counting is None and any(request.asked(name) for name in COUNTING_OPTIONS)
        # 23.11, 24.11 and 26.05 know the job's tasks per node without the variable, 22.05 does not
        unset = each_setting is not None and not versions.all_before("23.02")
        if not request.directives.certain or others or unset:
            return Geometry(nodes, None, None, None, None)
        filling = _filling(step, request)
        return Geometry(nodes, None if nodes is None else nodes * filling, filling, filling > 1, None)
    reason_setting = each_setting or counting
    reason = (reason_setting.span, reason_setting.as_written)
    elsewhere = opt_nodes is not None and not is_node_count(opt_nodes.value or ())
    elsewhere = elsewhere and (nodes is None or nodes != in_job)
    if opt_nodes is not None and elsewhere and not per_node_left:
        return _on_other_nodes(nodes, opt_nodes, in_job, request, versions, step, reason)
    each = request.tasks_per_node if per_node_left else request.tasks_on_each_node()
    if each is not None:
        return Geometry(nodes, None if nodes is None else nodes * each, each, each > 1, reason)
    tasks = None if per_node_left else request.tasks
    if tasks is not None and nodes is not None:
        if nodes == 1:
            return Geometry(1, tasks, tasks, tasks > 1, reason)
        return Geometry(nodes, tasks, 1 if tasks == nodes else None, tasks > nodes, reason)
    return Geometry(nodes, tasks, None, None, reason)


def written(option: StepOption) -> str:
    """An option as a person would write it."""
    return option.as_written
