"""Uncounted steps: an srun that nobody told how many tasks to start, and that has more CPUs than one task takes.

With --cpus-per-task and no number of tasks srun fills each node: as many tasks as the job's CPUs there hold, divided by
those of a task (live runs on 22.05, 23.11 and 26.05). Its own option does so in all releases; the job's directive since
23.11, where srun inherits it again, also with SLURM_CPUS_PER_TASK unset. In between it was inherited by
SRUN_CPUS_PER_TASK alone. A job has just the CPUs that it asks for, but those of the whole node with --exclusive;
--mem=0 and GPUs change nothing.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from sbatchlint.analysis.launch.evidence import rank_sign
from sbatchlint.analysis.launch.repeatable import is_repeatable_step
from sbatchlint.bash.trace import exported
from sbatchlint.bash.values import shown_text
from sbatchlint.job.environment import COUNTING_OPTIONS, TASK_COUNTS
from sbatchlint.job.launchers import python_command
from sbatchlint.job.steps import Step, held_cpus, written
from sbatchlint.slurm.grammar.numbers import whole
from sbatchlint.source.regex import Regex
from sbatchlint.source.text import Span

if TYPE_CHECKING:
    from sbatchlint.bash.trace import Invocation
    from sbatchlint.job import Job

# Options of a step, or of the job, that count its tasks.
COUNTING = (*COUNTING_OPTIONS, "ntasks-per-socket", "ntasks-per-core", "multi-prog")
# Releases whose srun does not inherit the job's --cpus-per-task.
NOT_INHERITING = ("22.05", "23.02")
# A node that is the job's alone has at least twice so many CPUs: likely, and hardly.
LIKELY, HARDLY = 32, 128
_MPI = Regex(r"(?:^|[^a-z])i?mpi|mpich|mvapich|pmix?\b", re.IGNORECASE)


class Uncounted(NamedTuple):
    """A step that starts several tasks on a node, as nobody counts them.

    `reason`: where the CPUs of a task stand, and how they are written. `inherited`: in a directive, not on the srun.
    `cpus`: of a task. `held`: the job's CPUs on a node, None where it has the whole node. `program`: what is started,
    as written. `single`: it is plainly meant to run once on a node. `versions`: the releases that do so, None for all.
    """

    step: Step
    reason: tuple[Span, str]
    inherited: bool
    cpus: int
    held: int | None
    program: str
    single: bool
    versions: tuple[str, ...] | None

    @property
    def copies(self) -> int | None:
        """Tasks on a node, where that is certain."""
        return None if self.held is None else self.held // self.cpus

    @property
    def likely(self) -> bool:
        """Whether most nodes have CPUs for several tasks."""
        return self.held is not None or self.cpus <= LIKELY


def find_uncounted(job: Job) -> list[Uncounted]:
    """The uncounted steps of a job, each srun once."""
    request = job.request
    if request.heterogeneous or not request.directives.certain or any(request.asked(name) for name in COUNTING):
        return []
    found: dict[Span, Uncounted] = {}
    for step in job.steps:
        each = _of_step(job, step)
        if each is not None:
            found.setdefault(step.span, each)
    return list(found.values())


def _of_step(job: Job, step: Step) -> Uncounted | None:
    if not step.certain or any(name in step.options for name in COUNTING):
        return None
    if any(_is_given(step, name) for name in (*TASK_COUNTS, "SLURM_NTASKS_PER_NODE", "SLURM_TRES_PER_TASK")):
        return None
    versions: tuple[str, ...] | None = None
    option, setting = step.option("cpus-per-task"), job.request.given("cpus-per-task")
    if option is not None:
        cpus, reason = whole(option.text), (option.span, written(option))
    elif setting is not None:
        glue = "=" if setting.written.startswith("--") else " "
        cpus, reason = whole(setting.text), (setting.span, f"{setting.written}{glue}{setting.value or ''}")
        majors = job.versions.majors
        if exported(step.invocation, "SRUN_CPUS_PER_TASK") is None:
            versions = tuple(each for each in majors if each not in NOT_INHERITING)
            if not versions:
                return None
    else:
        return None
    held = held_cpus(step, job.request)
    if not cpus or held == 0 or (cpus >= HARDLY if held is None else held // cpus < 2):
        return None
    told = _program(job, step)
    return None if told is None else Uncounted(step, reason, option is None, cpus, held, *told, versions)


def _is_given(step: Step, name: str) -> bool:
    """Whether the script gives a variable a value for an srun."""
    variable = step.invocation.state.variables.get(name)
    return any(name == each for each, _ in step.invocation.variables) or bool(variable and variable.alternatives)


def _program(job: Job, step: Step) -> tuple[str, bool] | None:
    """What a step starts, as written, and whether that is plainly one program for a node; None where many are meant."""
    if is_repeatable_step(step) or step.command is None or "mpi" in step.options:
        return None
    launches = [each for each in job.launches if each.step is step]
    if any(each.launcher.kind == "mpi" for each in launches):
        return None
    if launches:
        return launches[0].launcher.name, launches[0].launcher.spawns
    if any(_knows_tasks(each) for each in step.program) or _speaks_mpi(job, step):
        return None
    plain = [each for each in step.program if python_command(each.argv) is not None]
    if any(rank_sign(each.argv, lambda name, each=each: exported(each, name)) for each in plain):  # type: ignore[misc]
        return None
    if plain:
        command = python_command(plain[0].argv)
        assert command is not None
        name = shown_text(plain[0].argv[command.at]) if command.kind == "script" else plain[0].name
        return f"python {name}" if command.kind == "script" and "\ue000" not in (name or "") else "python", True
    last = step.program[-1] if step.program else None
    if last is None or last.name is None:
        return None
    return last.name, False


def _knows_tasks(invocation: Invocation) -> bool:
    """Whether a command's words or variables tell the tasks of a node apart."""
    names = [each.expansion.name for field in invocation.argv for each in field if each.expansion is not None]
    set_here = [each.expansion.name for variable in invocation.state.variables.values()
                for alternative in variable.alternatives for field in alternative.fields or ()
                for each in field if each.expansion is not None and each.expansion.phase > 1]  # fmt: skip
    return any("SLURM_LOCALID" in name or "SLURM_PROCID" in name for name in (*names, *set_here))


def _speaks_mpi(job: Job, step: Step) -> bool:
    """Whether the step's program may be one of MPI, of which many are meant to be started."""
    loaded = [shown_text(field) for each in job.invocations if each.name in ("module", "ml") for field in each.argv[1:]]
    own = [shown_text(field) for each in step.program for field in each.argv]
    return any(_MPI.search(word) for word in (*loaded, *own))
