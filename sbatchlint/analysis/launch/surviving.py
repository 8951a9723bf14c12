"""Surviving steps: steps of a distributed program whose other tasks go on when one has failed.

Without --kill-on-bad-exit srun waits for the tasks that are left (live runs on 22.05 to 26.05), and these wait in a
collective operation for the one that is gone. --no-kill takes the effect of --kill-on-bad-exit and --wait away
(srun(1)).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from sbatchlint.analysis.launch.evidence import rank_sign
from sbatchlint.bash.trace import exported, is_set
from sbatchlint.job.steps import Step, StepOption
from sbatchlint.job.worlds import World
from sbatchlint.source.text import Span

if TYPE_CHECKING:
    from sbatchlint.job import Job

# Launchers whose other nodes cannot go on when one is lost.
COLLECTIVE = frozenset({"torchrun", "ft_launcher", "torch.distributed.launch", "accelerate", "swift", "composer",
                        "colossalai"})  # fmt: skip


class Surviving(NamedTuple):
    """`program`: what the step runs, as written. `kept`: the --no-kill that keeps the step, None without one."""

    step: Step
    program: str
    kept: StepOption | None


def find_surviving(job: Job) -> list[Surviving]:
    """The surviving steps of a job, each srun once."""
    found: dict[Span, Surviving] = {}
    for step in job.steps:
        if step.several_nodes is not True or not step.certain or step.span in found:
            continue
        kept = step.option("no-kill")
        if kept is not None and kept.text in ("off", "no"):
            kept = None
        if kept is None and _is_told(step):
            continue
        program = _program(job, step)
        if program is not None:
            found[step.span] = Surviving(step, program, kept)
    return list(found.values())


def _is_told(step: Step) -> bool:
    """Whether something says what happens to the step when a task ends."""
    if "kill-on-bad-exit" in step.options or "wait" in step.options:
        return True
    names = ("SLURM_KILL_BAD_EXIT", "SLURM_WAIT")
    own = {name for name, _ in step.invocation.variables}
    return any(name in own or is_set(step.invocation, name) for name in names)


def _program(job: Job, step: Step) -> str | None:
    """The distributed program of a step, whose nodes depend on each other."""
    for launch in job.launches:
        if launch.step is not step:
            continue
        launcher = launch.launcher
        if launcher.kind not in COLLECTIVE or not launcher.spawns:
            return None
        world = World(job, launch.invocation, launch, step)
        restarts = launcher.setting("max_restarts")
        if world.apart or world.asked.several is False or restarts is not None and restarts.number != 0:
            return None
        return launcher.name
    for each in step.program:
        if rank_sign(each.argv, lambda name, each=each: exported(each, name)) is not None:  # type: ignore[misc]
            return each.name
    return None
