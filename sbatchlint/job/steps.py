"""The job steps of a script: what each srun starts, on how many nodes, and with how many tasks."""

from collections.abc import Iterable, Iterator
from functools import partial

from sbatchlint.bash.trace import Context, Invocation, exported
from sbatchlint.bash.values import Piece, Pieces, expansions
from sbatchlint.job.containers import PYXIS_OPTIONS, Container, Triple, pyxis_container
from sbatchlint.job.geometry import UNKNOWN, Geometry, component_geometry, geometry, job_nodes
from sbatchlint.job.request import Request
from sbatchlint.job.srun import MOST_COMPONENTS, SrunWords, component_after
from sbatchlint.site import Site
from sbatchlint.slurm.model import Setting
from sbatchlint.slurm.versions import Range
from sbatchlint.source.text import Span

# Variables that make any srun a container step (pyxis 0.21).
PYXIS_STARTS = ("PYXIS_CONTAINER_IMAGE", "PYXIS_CONTAINER_NAME")


class Step(SrunWords):
    """A step: an srun, what it inherits from the job, and the command that it starts.

    `request`: of the component of the job in which it runs. `parts`: all components of the same step, in order: those
    that `:` separates (`srun a : b`), and one for each component of the job that --het-group names. Each is a `Step`
    with its own invocation; tasks are numbered across all of them (SLURM_PROCID, SLURM_NTASKS, SLURM_NNODES).
    """

    def __init__(self, invocation: Invocation, request: Request, versions: Range, site: Site) -> None:
        super().__init__(invocation, versions, site)
        info = None if invocation.before is None else invocation.before.spawn.info
        before = info if isinstance(info, Step) else None
        self.parts: list[Step] = [] if before is None else before.parts
        self.parts.append(self)
        same = before is not None and len(before._groups) > 1
        # how many `:` precede it; the components of the job in which it and further parts with the same words run
        self._separated: int = 0 if before is None else before._separated + (not same)
        self._groups: tuple[int, ...] = before._groups[1:] if before and same else self.groups(self._separated)
        own = _request_of(request, self._groups)
        self.request = own or request
        self.container = self._container(site)
        self.geometry: Geometry = UNKNOWN
        if request.heterogeneous:
            if own is not None:
                self.geometry = geometry(self, own, versions)
        elif self._separated or self.end is not None:
            self.geometry = component_geometry(self, request)
        elif "het-group" not in self.options:
            self.geometry = geometry(self, request, versions)

    def next_part(self) -> tuple[Pieces, ...] | None:
        """The words of the next component, as a command of its own; None for the last one."""
        argv = self.invocation.argv
        if len(self.parts) >= MOST_COMPONENTS:
            return None
        if len(self._groups) > 1 and self.request.heterogeneous:
            return argv  # the same for the next component of the job
        return None if self.end is None else component_after(argv, self.end)

    @property
    def has_known_component(self) -> bool:
        """Whether it is known in which component of the job it runs."""
        request = self.request
        return not request.heterogeneous or bool(self._groups) and self._groups[0] == request.component

    @property
    def parts_before(self) -> "list[Step]":
        """The components of the step before this one."""
        return self.parts[: next(at for at, each in enumerate(self.parts) if each is self)]

    @property
    def all_tasks(self) -> int | None:
        """The tasks of all components: SLURM_NTASKS."""
        return total(each.tasks for each in self.parts)

    @property
    def all_nodes(self) -> int | None:
        """The nodes of all components: SLURM_NNODES."""
        return total(each.nodes for each in self.parts)

    def _container(self, site: Site) -> Container | None:
        # pyxis options of the option block apply to every step
        triples: list[Triple] = [
            (setting.name, directive_value(setting), setting.span)
            for setting in self.request.directives.every_setting
            if setting.name in PYXIS_OPTIONS
        ]
        if not PYXIS_OPTIONS.isdisjoint(self.options):
            triples += [(each.name, each.value, each.span) for each in self.all_options if each.name in PYXIS_OPTIONS]
        lookup = partial(exported, self.invocation)
        if not triples and not any(map(lookup, PYXIS_STARTS)):
            return None
        container = pyxis_container(triples, site, lookup)
        if container is not None and not any(container.span):
            container.span = self.invocation.name_span
        return container

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
    def in_other_job(self) -> bool:
        """Whether the step runs in a job other than its own, by --jobid."""
        jobid = self.option("jobid")
        names = {each.name for each in expansions((jobid and jobid.value) or ())}
        return jobid is not None and names.isdisjoint(("SLURM_JOB_ID", "SLURM_JOBID"))

    @property
    def span(self) -> Span:
        return self.invocation.span

    @property
    def place(self) -> Span:
        """The place of the word `srun`; that of the whole command if a variable holds the word."""
        name, whole = self.invocation.name_span, self.invocation.span
        return name if whole.contains(name) else whole

    @property
    def program(self) -> list[Invocation]:
        """Every command that runs in the tasks, in order."""
        return self.invocation.descendants()


def total(numbers: Iterable[int | None]) -> int | None:
    """The sum; None where a number is not known."""
    found = list(numbers)
    return None if None in found else sum(each or 0 for each in found)


def missing_nodes(step: Step) -> tuple[int, int] | None:
    """The nodes that the components of a step request in all, and those of the job; None where these are enough.

    Each component has its own nodes: "Allocation failure of 1 nodes: job size of 1, already allocated 1 nodes to
    previous components." (`_handle_het_step_exclude()` of src/srun/srun_job.c, 22.05 to 26.05; live runs of 22.05). In
    a heterogeneous job they run on the nodes of its components.
    """
    request = step.request
    if len(step.parts) == 1 or request.heterogeneous:
        return None
    available = job_nodes(request)
    requested = sum(each.nodes or 1 for each in step.parts)
    if available is None or requested <= available:
        return None
    return None if any(each.in_other_job or not each.certain for each in step.parts) else (requested, available)


def _request_of(request: Request, groups: tuple[int, ...]) -> Request | None:
    """The request of the component of a heterogeneous job in which a step runs; None where unknown."""
    number = groups[0] if groups else None
    if number is None or number >= request.directives.components:
        return None
    return request if number == request.component else Request(request.directives, number, request.version)


def enclosing_step(context: Context) -> Step | None:
    """The step in whose tasks a command runs; None if there is none."""
    parent = context.parent
    while parent is not None:
        info = parent.spawn.info
        if isinstance(info, Step):
            return info
        parent = parent.context.parent
    return None


def enclosing_commands(invocation: Invocation) -> Iterator[Invocation]:
    """The commands that start a command, the innermost first, up to the srun around them, which is left out."""
    for command in invocation.ancestors():
        if isinstance(command.spawn.info, Step):
            return
        yield command


def directive_value(setting: Setting) -> Pieces | None:
    """The value of a directive as a field; None if there is none."""
    if setting.value is None or setting.value_span is None:
        return None
    return (Piece(setting.text, setting.value_span.start, setting.value_span.end),)
