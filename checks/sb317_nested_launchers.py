"""Processes start several times: one launcher starts another, and each starts those of the whole job.

`srun mpirun -np 8 ./a.out` with eight tasks starts eight MPI jobs of eight processes: mpirun, horovodrun and torchpack
start the processes of all nodes from one place. `mpirun -np 8 torchrun --nproc_per_node=8` and `torchrun --no_python
torchrun` start eight workers in each of eight processes, on the same GPUs and ports. A step takes all of the job's CPUs
and memory on its nodes, so an srun in the tasks of another waits for what the outer one holds, while that waits for it:
the job hangs until its time limit. `--overlap` on the outer one prevents that; `--exact`, `-c` and `--mem` may leave
something for the inner one.

A warning where each node starts one launcher, which may be intended.

## Fix

Removes the srun before mpirun, or adds `--overlap` to the outer of two sruns. Unsafe: it is a guess which of the two
launchers is intended. There is no fix where the author has to choose.

## References

srun(1), --overlap; live runs on 22.05 and 26.05; https://github.com/rcgsheffield/sheffield_hpc/pull/1306
"""

from collections.abc import Iterator
from functools import partial

from sbatchlint.analysis.editing.options import with_step_option
from sbatchlint.analysis.script.conditionals import is_for_some_jobs
from sbatchlint.bash.state import State
from sbatchlint.bash.trace import Invocation
from sbatchlint.bash.values import Phase, span_of
from sbatchlint.check import Bad, Card, Finding, Fix, Good, Job, Launch, Span, remove
from sbatchlint.job.launchers import Launcher, recognise
from sbatchlint.job.steps import Step, enclosing_step
from sbatchlint.job.worlds import World, find_worlds
from sbatchlint.triggers import Launchers, Steps

CARD = Card(
    "SB317", "nested-launchers", severity="error", fix="sometimes", since="0.1.0",
    when=Launchers() | Steps(),
)  # fmt: skip

# Options and variables with which a step leaves part of the job's resources to other steps.
LEAVING = ("overlap", "exact", "exclusive", "cpus-per-task", "cpus-per-gpu", "mem", "mem-per-cpu", "mem-per-gpu",
           "external-launcher", "gres", "gpus", "multi-prog")  # fmt: skip
LEAVING_VARIABLES = ("SLURM_OVERLAP", "SLURM_EXACT", "SLURM_EXCLUSIVE", "SRUN_CPUS_PER_TASK")
# Without these variables srun requests an allocation of its own.
JOB_VARIABLES = ("SLURM_JOB_ID", "SLURM_JOBID")


def check(job: Job) -> Iterator[Finding]:
    yield from filter(None, _all_findings(job))


def _all_findings(job: Job) -> Iterator[Finding | None]:
    for world in find_worlds(job):
        assert world.launch is not None
        yield _mpi_in_step(job, world) or _launcher_in_mpi(job, world) or _launcher_in_launcher(world.launch)
    for invocation in job.invocations:
        if invocation.name == "srun" and invocation.phase is Phase.TASK:
            outer = enclosing_step(invocation.context)
            yield _srun_in_mpi(job, invocation) if outer is None else _srun_in_step(job, invocation, outer)


def _times(number: int | None) -> str:
    return "several times" if number is None else f"{number} times"


# --- mpirun in the tasks of a step -------------------------------------------------------------------


def _mpi_in_step(job: Job, world: World) -> Finding | None:
    step, launcher = world.step, world.launcher
    if step is None or launcher is None or not launcher.is_a("reaches") or launcher.program is None:
        return None
    if world.invocation.context.restricted or any(name in step.options for name in ("external-launcher", "multi-prog")):
        return None
    if launcher.kind != "mpi" and (step.several_nodes is not True or step.geometry.several is not False):
        return None  # launcher-tasks-per-node reports several on a node
    if any(each.spawn.kind == "mpi" for each in world.invocation.ancestors()):
        return None
    geometry = step.geometry
    several = geometry.several is True or step.several_nodes is True or (step.tasks or 0) > 1
    if not several or geometry.ignored is not False:
        return None
    once_per_node = geometry.several is False
    if once_per_node and (world.isolation or _stays_on_its_node(launcher)):
        return None
    total = launcher.total_processes
    size = "" if total is None or total.number is None else f" of {total.number} processes"
    where = "once on each node" if once_per_node else _times(step.tasks)
    return Finding(
        launcher.span,
        f"srun starts `{launcher.name}` {where}, and each starts a separate MPI job{size}; "
        f"use `{launcher.name}` without srun, or srun alone",
        severity="warning" if once_per_node else None,
        related=[(step.invocation.name_span, "srun starts it")],
        fix=_without_srun(job, step, world),
    )


def _stays_on_its_node(launcher: Launcher) -> bool:
    """Whether the options of an mpirun keep it from starting anything on other nodes."""
    host = launcher.setting("host", "hosts")
    text = None if host is None else host.text
    if text is not None and text.split(":")[0] in ("localhost", "127.0.0.1"):
        return True
    agent = launcher.setting("launcher", "bootstrap")
    return agent is not None and agent.text in ("fork", "isolated")


def _without_srun(job: Job, step: Step, world: World) -> Fix | None:
    """The fix that removes the srun, where the inner launcher is its command."""
    inner, outer, source = world.invocation, step.invocation, job.source
    size = len(inner.argv)
    if size >= len(outer.argv) or any(a is not b for a, b in zip(inner.argv, outer.argv[-size:])):
        return None
    if step.command is None or len(outer.argv) - size != step.command or "export" in step.options:
        return None
    start, end = outer.name_span.start, span_of(inner.argv[0]).start
    if source.slice(outer.name_span) != "srun" or job.in_quoted_text(start) or job.is_embedded or end <= start:
        return None
    if any(mark in source.slice(Span(start, end)) for mark in "#;|&"):
        return None
    return Fix(f"remove srun before {world.name}", [remove(Span(start, end))])


# --- launchers in other launchers --------------------------------------------------------------------


def _launcher_in_mpi(job: Job, world: World) -> Finding | None:
    """The finding on a launcher for the workers of a node, of which an mpirun starts several on a node."""
    launcher, outer = world.launcher, world.mpi
    if launcher is None or outer is None or not launcher.spawns or launcher.kind == "ray" or not outer.certain:
        return None
    if world.invocation.context.restricted or world.processes == 1 or world.isolation == "sharded":
        return None
    total, per_node, nodes = outer.total_processes, world.starts_per_node, job.request.exact_nodes()
    number = None if total is None else total.number
    several = per_node is not None and per_node > 1
    if not several and (per_node is not None or number is None or nodes is None or number <= nodes):
        return None
    if any(world.invocation.state.variables.get(name) for name in ("CUDA_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES")):
        return None
    workers = "workers for all GPUs" if world.processes is None else f"{world.processes} workers"
    return Finding(
        launcher.span,
        f"`{outer.name}` starts `{launcher.name}` {_times(number)} with {workers} each, which share GPUs and ports; "
        "start one on each node (`--map-by ppr:1:node`)",
        severity="warning",
        related=[(outer.span, f"{outer.name} starts it")],
    )


def _launcher_in_launcher(launch: Launch) -> Finding | None:
    """The finding on a launcher that is the program of another one."""
    outer = launch.launcher
    if not outer.spawns or outer.is_a("reaches") or outer.kind == "ray" or outer.program is None:
        return None
    workers = outer.processes_per_task
    if workers == 1 or outer.cpu or not outer.program_certain:
        return None
    words = outer.program_words
    if outer.program_kind == "module":
        python = words[0][:1]
        flag = tuple(piece.replace(text="-m", end=piece.start) for piece in python)
        name = tuple(piece.replace(text="python", end=piece.start) for piece in python)
        words = (name, flag, *words) if flag else words
    inner = recognise(words, outer.environment)
    if inner is None or not inner.spawns or inner.processes_per_task == 1:
        return None
    count = f"its {workers} workers" if isinstance(workers, int) else "its workers"
    return Finding(
        span_of(outer.argv[outer.program]),
        f"`{outer.name}` starts `{inner.name}` in each of {count}, and each starts workers for the whole node; "
        "use only one of them",
        related=[(outer.span, f"{outer.name} starts it")],
    )


# --- srun in the tasks of a step, or of mpirun --------------------------------------------------------


def _srun_in_step(job: Job, invocation: Invocation, outer: Step) -> Finding | None:
    if is_for_some_jobs(invocation) or invocation.context.restricted or not outer.certain:
        return None
    if any(name in outer.options for name in LEAVING) or _is_assigned(outer.invocation.state, LEAVING_VARIABLES):
        return None
    if _is_assigned(invocation.state, (*JOB_VARIABLES, *LEAVING_VARIABLES)):
        return None
    inner = Step(invocation, outer.request, job.versions, job.site)
    if not inner.certain or inner.command is None or {"overlap", "jobid", "het-group"} & inner.options.keys():
        return None
    nodes = job.request.exact_nodes()
    if nodes is None or outer.nodes != nodes or job.request.heterogeneous:
        return None  # other nodes may be free for the inner step
    place = outer.invocation.name_span
    return Finding(
        invocation.name_span,
        f"this srun waits for CPUs and memory that the srun on line {job.line(place.start)} holds, so the job hangs "
        "until its time limit; add `--overlap` to the outer srun",
        related=[(place, "srun starts it")],
        fix=partial(with_step_option, job, [outer], "--overlap", "add --overlap to the outer step"),
    )


def _srun_in_mpi(job: Job, invocation: Invocation) -> Finding | None:
    """The finding on an srun that each process of an mpirun starts."""
    for command in invocation.ancestors():
        outer = command.spawn.info
        if isinstance(outer, Launcher) and outer.kind == "mpi":
            total = outer.total_processes
            times = job.request.tasks if total is None else total.number
            if times is None or times < 2 or invocation.context.restricted:
                return None
            if _is_assigned(invocation.state, JOB_VARIABLES):
                return None
            return Finding(
                invocation.name_span,
                f"`{outer.name}` starts srun {times} times, and each starts a separate step; use only one of them",
                related=[(outer.span, f"{outer.name} starts it")],
            )
    return None


def _is_assigned(state: State, names: tuple[str, ...]) -> bool:
    """Whether the script sets or unsets one of these variables."""
    return any(name in state.variables for name in names)


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --ntasks=8
        srun «mpirun» -np 8 ./solver
        """,
        unsafe_fixed={"srun mpirun": "mpirun"},
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2 --ntasks-per-node=8
        srun bash -c '
        module load solver
        «srun» ./solver'
        """,
        unsafe_fixed={"srun bash": "srun --overlap bash"},
        title="a step in the tasks of a step",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2 --ntasks-per-node=8 --gpus-per-node=8
        mpirun -np 16 «torchrun» --nnodes=2 --nproc_per_node=8 --rdzv_backend=c10d --rdzv_endpoint=n1:29500 train.py
        """,
        severity="warning",
        title="sixteen torchruns on two nodes",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1 --gpus-per-node=4
        torchrun --nproc_per_node=4 --no_python «accelerate» launch --num_processes 4 train.py
        """,
        title="sixteen workers on four GPUs",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=2 --ntasks-per-node=8 --gpus-per-node=8
        srun -N1 -n1 mpirun -np 16 ./solver
        srun --overlap bash -c 'srun --overlap -n1 hostname'
        """,
        title="one mpirun; steps that share",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=2 --ntasks-per-node=8 --gpus-per-node=8
        mpirun -np 2 --map-by ppr:1:node torchrun --nnodes=2 --nproc_per_node=8 --rdzv_backend=c10d \
--rdzv_endpoint=n1:29500 train.py
        """,
        title="one torchrun a node",
    ),
]
