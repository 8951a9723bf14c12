"""Nested launchers: something that starts many processes, started many times by something that does so too.

mpirun, horovodrun and torchpack start the processes of all nodes from one place, so that each task of a step makes the
whole of it again. A step takes all of the job's CPUs and memory on its nodes: an srun in its tasks waits until the
outer one ends, which waits for it (live runs on 22.05 and 26.05; with --overlap on the outer one it runs; --exact, -c
and --mem leave something). torchrun and its like start one process for each GPU, so that two of them in each other
start GPUs times GPUs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from sbatchlint.analysis.launch.step_options import add_step_option
from sbatchlint.bash.state import State
from sbatchlint.bash.values import Phase, span_of
from sbatchlint.job.commands.argv import Argv
from sbatchlint.job.launchers import Launcher, recognise
from sbatchlint.job.launches import Launch
from sbatchlint.job.steps import Step, step_around
from sbatchlint.job.worlds import find_worlds
from sbatchlint.source.edits import Edit
from sbatchlint.source.text import Span

if TYPE_CHECKING:
    from sbatchlint.bash.trace import Invocation
    from sbatchlint.job import Job
    from sbatchlint.job.worlds import World

# Where the inner one is: in the tasks of a step (an MPI job, a step), under an mpirun, in another launcher's workers.
MPI_IN_STEP, STEP_IN_STEP, IN_MPI, IN_WORKERS = "mpi in step", "step in step", "in mpi", "in workers"
STEP_IN_MPI = "step in mpi"  # an srun that an mpirun starts

# Launchers that reach the other nodes by themselves.
REACHING = frozenset({"mpi", "horovod", "torchpack"})
# What leaves a part of the job's resources to other steps.
_LEAVING = ("overlap", "exact", "exclusive", "cpus-per-task", "cpus-per-gpu", "mem", "mem-per-cpu", "mem-per-gpu",
            "external-launcher", "gres", "gpus", "multi-prog")  # fmt: skip
_LEAVING_VARIABLES = ("SLURM_OVERLAP", "SLURM_EXACT", "SLURM_EXCLUSIVE", "SRUN_CPUS_PER_TASK")
# Without these srun asks for an allocation of its own.
_JOB = ("SLURM_JOB_ID", "SLURM_JOBID")


class Nested(NamedTuple):
    """One launcher in another.

    `inner`, `outer`: their names, as written. `span`: of the inner one. `outer_span`. `times`: how often the inner one
    is started, None where that is not known but more than once. `per_node`: it is started once on each node.
    `each`: processes that it starts every time, None where that is not known. `edits`: as a guess.
    """

    kind: str
    inner: str
    span: Span
    outer: str
    outer_span: Span
    times: int | None
    per_node: bool
    each: int | None
    edits: tuple[Edit, ...] | None


def find_nested(job: Job) -> list[Nested]:
    """The nested launchers of a job, each place once."""
    found: dict[Span, Nested] = {}
    for world in find_worlds(job):
        assert world.launch is not None
        nested = _in_step(job, world) or _in_mpi(job, world) or _in_workers(world.launch)
        if nested is not None:
            found.setdefault(nested.span, nested)
    for invocation in job.invocations:
        if invocation.name == "srun" and invocation.phase is Phase.TASK:
            nested = _step_in_step(job, invocation)
            if nested is not None:
                found.setdefault(nested.span, nested)
    return sorted(found.values(), key=lambda each: each.span)


def _in_step(job: Job, world: World) -> Nested | None:
    step, launcher = world.step, world.launcher
    if step is None or launcher is None or launcher.kind not in REACHING or launcher.program is None:
        return None
    if world.invocation.context.restricted or any(name in step.options for name in ("external-launcher", "multi-prog")):
        return None
    if launcher.kind != "mpi" and (step.several_nodes is not True or step.geometry.several is not False):
        return None  # several on a node are a crowd
    if _inside_mpi(world.invocation):
        return None
    geometry = step.geometry
    several = geometry.several is True or step.several_nodes is True or (step.tasks or 0) > 1
    if not several or geometry.ignored is not False:
        return None
    per_node = geometry.several is False
    if per_node and (world.apart or _is_local(launcher)):
        return None
    total = launcher.total_processes
    return Nested(
        MPI_IN_STEP, launcher.name, launcher.span, "srun", step.invocation.name_span, step.tasks, per_node,
        None if total is None else total.number, _without_srun(job, step, world.invocation),
    )  # fmt: skip


def _is_local(launcher: Launcher) -> bool:
    """Whether an mpirun is told to stay on its own node."""
    host = launcher.setting("host", "hosts")
    text = None if host is None else host.text
    if text is not None and text.split(":")[0] in ("localhost", "127.0.0.1"):
        return True
    way = launcher.setting("launcher", "bootstrap")
    return way is not None and way.text in ("fork", "isolated")


def _inside_mpi(invocation: Invocation) -> bool:
    return any(getattr(each.spawn, "kind", None) == "mpi" for each in invocation.ancestors())


def _without_srun(job: Job, step: Step, inner: Invocation) -> tuple[Edit, ...] | None:
    """Leaves the inner launcher to the batch shell, where it is the command of the srun itself."""
    outer = step.invocation
    size = len(inner.argv)
    if size >= len(outer.argv) or any(a is not b for a, b in zip(inner.argv, outer.argv[-size:])):
        return None
    if step.command is None or len(outer.argv) - size != step.command or "export" in step.options:
        return None
    start, end = outer.name_span.start, span_of(inner.argv[0]).start
    source = job.source
    if source.slice(outer.name_span) != "srun" or job.in_quoted_text(start) or job.is_embedded or end <= start:
        return None
    return (Edit(Span(start, end), ""),) if not any(mark in source.slice(Span(start, end)) for mark in "#;|&") else None


def _in_mpi(job: Job, world: World) -> Nested | None:
    """A launcher of a node's workers under an mpirun that starts several of them on a node."""
    launcher, outer = world.launcher, world.mpi
    if launcher is None or outer is None or not launcher.spawns or launcher.kind == "ray" or not outer.certain:
        return None
    if world.invocation.context.restricted or world.processes == 1 or world.apart == "sharded":
        return None
    total, per_node, nodes = outer.total_processes, world.starts_per_node, job.request.exact_nodes()
    number = None if total is None else total.number
    many = per_node is not None and per_node > 1
    if not many and (per_node is not None or number is None or nodes is None or number <= nodes):
        return None
    if any(world.invocation.state.variables.get(name) for name in ("CUDA_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES")):
        return None
    return Nested(IN_MPI, launcher.name, launcher.span, outer.name, outer.span, number, False, world.processes, None)


def _in_workers(launch: Launch) -> Nested | None:
    """A launcher that is the program of another one."""
    outer = launch.launcher
    if not outer.spawns or outer.kind in (*REACHING, "ray") or outer.program is None or not outer.program_certain:
        return None
    times = outer.processes_per_task
    if times == 1 or outer.cpu:
        return None
    inner = _as_program(outer)
    if inner is None or not inner.spawns or inner.processes_per_task == 1:
        return None
    each = inner.processes_per_task
    number = times if isinstance(times, int) else None
    return Nested(
        IN_WORKERS, inner.name, span_of(outer.argv[outer.program]), outer.name, outer.span, number, False,
        each if isinstance(each, int) else None, None,
    )  # fmt: skip


def _as_program(outer: Launcher) -> Launcher | None:
    """The launcher that another one starts as its program."""
    words: Argv = outer.program_words
    if outer.program_kind == "module":
        assert outer.program is not None
        python = outer.argv[outer.program]
        flag = tuple(piece._replace(text="-m", end=piece.start) for piece in python[:1])
        name = tuple(piece._replace(text="python", end=piece.start) for piece in python[:1])
        words = (name, flag, *words) if flag else words
    return recognise(words, outer.environment)


def _step_in_step(job: Job, invocation: Invocation) -> Nested | None:
    outer = step_around(invocation.context)
    if outer is None:
        return _step_in_mpi(job, invocation)
    if invocation.context.conditional or invocation.context.restricted or not outer.certain:
        return None
    if any(name in outer.options for name in _LEAVING) or _is_told(outer.invocation.state, _LEAVING_VARIABLES):
        return None
    if _is_told(invocation.state, (*_JOB, *_LEAVING_VARIABLES)):
        return None
    inner = Step(invocation, outer.request, job.versions, job.site)
    if not inner.certain or inner.command is None or {"overlap", "jobid", "het-group"} & inner.options.keys():
        return None
    nodes = job.request.exact_nodes()
    if nodes is None or outer.nodes != nodes or job.request.heterogeneous:
        return None  # nodes may be left on which the inner one runs
    edits = add_step_option(job, [outer], "--overlap")
    return Nested(
        STEP_IN_STEP, "srun", invocation.name_span, "srun", outer.invocation.name_span, outer.tasks, False, None,
        None if edits is None else tuple(edits),
    )  # fmt: skip


def _step_in_mpi(job: Job, invocation: Invocation) -> Nested | None:
    """An srun that each process of an mpirun starts."""
    for each in invocation.ancestors():
        outer = getattr(each.spawn, "info", None)
        if isinstance(outer, Launcher) and outer.kind == "mpi":
            total = outer.total_processes
            times = job.request.tasks if total is None else total.number
            if times is None or times < 2 or invocation.context.restricted or _is_told(invocation.state, _JOB):
                return None
            span = invocation.name_span
            return Nested(STEP_IN_MPI, "srun", span, outer.name, outer.span, times, False, None, None)
    return None


def _is_told(state: State, names: tuple[str, ...]) -> bool:
    """Whether the script sets or unsets one of these variables."""
    return any(name in state.variables for name in names)
