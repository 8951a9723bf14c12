"""The job hangs after a failure: when one task fails, srun leaves the others waiting for it.

A distributed program hangs in its next collective operation when a rank is gone. srun waits until the other tasks end
too, at the timeout of NCCL (ten minutes, or never) or the job's time limit. With `--kill-on-bad-exit=1` the first task
that fails ends the step at once, and the nodes are free. `--no-kill` keeps the step where a whole node fails; what
`--kill-on-bad-exit` and `--wait` do about tasks stays the same.

## Fix

Adds `--kill-on-bad-exit=1`. Safe: it changes nothing unless a task fails. There is no fix for `--no-kill`.

## References

srun(1), --kill-on-bad-exit and --no-kill; src/srun/launch.c of 26.05; live runs on 22.05 to 26.05;
https://github.com/PrimeIntellect-ai/prime-rl/pull/2577
"""

from collections.abc import Iterator
from functools import partial

from sbatchlint.analysis.editing.options import with_step_option
from sbatchlint.analysis.launch.rank_signs import rank_sign, spawns_others
from sbatchlint.bash.trace import Invocation, is_set
from sbatchlint.check import Bad, Card, Finding, Good, Job
from sbatchlint.job.launchers import python_of
from sbatchlint.job.once import once
from sbatchlint.job.steps import Step
from sbatchlint.job.worlds import LaunchWorld, find_worlds
from sbatchlint.source.regex import Regex
from sbatchlint.triggers import Steps

CARD = Card("SB323", "step-survives-failure", severity="info", fix="sometimes", since="0.1.0", when=Steps())

# Variables with which programs on several nodes find each other, or set up their communication.
MEETING = Regex(r"(?:MASTER_ADDR|NCCL_\w+|RCCL_\w+)$")
OPTION = "--kill-on-bad-exit=1"
TITLE = f"end the step at the first failure: {OPTION}"
_AFTER = ("nodes", "ntasks", "ntasks-per-node", "cpu-bind")


def check_step(job: Job, step: Step) -> Iterator[Finding]:
    if step.several_nodes is not True or not step.certain:
        return
    no_kill = step.option("no-kill")
    if no_kill is not None and no_kill.text in ("off", "no"):
        no_kill = None
    if no_kill is None and _sets_failure_handling(step):
        return
    program = _distributed_program(job, step)
    if program is None:
        return
    if no_kill is not None:
        yield Finding(
            no_kill.span,
            f"`{no_kill.written}` keeps the step alive when a node fails, so the other processes of `{program}` hang "
            f"until a timeout; remove `{no_kill.written}`",
        )
    else:
        of = f"of the {step.nodes} nodes" if step.nodes else "node"
        others = "the other hangs" if step.nodes == 2 else "the others hang"
        yield Finding(
            step.invocation.name_span,
            f"if `{program}` fails on one {of}, {others} until a timeout; add `{OPTION}` to srun",
            fix=partial(with_step_option, job, [step], OPTION, TITLE, _AFTER, safe=True),
        )


def _sets_failure_handling(step: Step) -> bool:
    """Whether an option or a variable sets what happens to the step when a task ends."""
    if "kill-on-bad-exit" in step.options or "wait" in step.options:
        return True
    return any(is_set(step.invocation, name) for name in ("SLURM_KILL_BAD_EXIT", "SLURM_WAIT"))


def _distributed_program(job: Job, step: Step) -> str | None:
    """The program of the step, as written, where its nodes depend on each other."""
    world = _first_worlds(job).get(id(step))
    if world is not None:
        launcher = world.launcher
        if not launcher.is_a("collective") or not launcher.spawns:
            return None
        restarts = launcher.setting("max_restarts")
        if world.isolation or world.nodes_setting.several is False or restarts is not None and restarts.number != 0:
            return None
        return launcher.name
    for command in step.program:
        if _is_hidden(job, command):
            continue
        if rank_sign(job, command) is not None or _is_one_of_many(job, step, command):
            return command.name
    return None


def _is_hidden(job: Job, command: Invocation) -> bool:
    """Whether the shell of a task goes on after a command, so that srun does not see its failure (SB710)."""
    started = command
    while (starter := started.context.parent) is not None:
        after = started.index + len(started.descendants()) + 1
        later = job.invocations[after] if after < len(job.invocations) else None
        if starter.text is not None and later is not None and later.context.parent is starter:
            return not later.context.conditional and not started.state.options.get("errexit")
        started = starter
    return False


@once
def _first_worlds(job: Job) -> dict[int, LaunchWorld]:
    """The first world that each step starts, by the step's identity."""
    return {id(world.step): world for world in reversed(find_worlds(job)) if world.step is not None}


def _is_one_of_many(job: Job, step: Step, command: Invocation) -> bool:
    """Whether a Python program of a step communicates with other nodes: the script sets where they meet, or how.

    A single task on each node may just clean up or monitor its node.
    """
    python = python_of(command)
    if (step.tasks_per_node or 1) < 2 or python is None or python.kind not in ("script", "module"):
        return False
    if spawns_others(job, command):
        return False
    variables = command.state.variables.items()
    return any(each.exported and each.alternatives and MEETING.match(name) for name, each in variables)


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2 --ntasks-per-node=1 --gpus-per-node=8
        «srun» torchrun --nnodes=2 --nproc_per_node=8 --rdzv_backend=c10d --rdzv_endpoint=n1:29500 train.py
        """,
        fixed={"torchrun": "--kill-on-bad-exit=1 torchrun"},
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2 --ntasks-per-node=8 --gpus-per-node=8
        «srun» --cpu-bind=none python train.py --trainer.devices=8 --trainer.num_nodes=2
        """,
        fixed={"python": "--kill-on-bad-exit=1 python"},
        title="one task for each rank",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2 --ntasks-per-node=1 --gpus-per-node=8
        srun «--no-kill» --kill-on-bad-exit=1 torchrun --nnodes=2 --nproc_per_node=8 --master_addr=n1 train.py
        """,
        title="deliberately kept running",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=2 --ntasks-per-node=1 --gpus-per-node=8
        srun -K1 torchrun --nnodes=2 --nproc_per_node=8 --rdzv_backend=c10d --rdzv_endpoint=n1:29500 train.py
        export SLURM_KILL_BAD_EXIT=1
        srun torchrun --nnodes=2 --nproc_per_node=8 --rdzv_backend=c10d --rdzv_endpoint=n1:29500 train.py
        """
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=2 --ntasks-per-node=1 --gpus-per-node=8
        srun torchrun --nnodes=1:2 --max_restarts=3 --nproc_per_node=8 --rdzv_backend=c10d --rdzv_endpoint=n1:1 train.py
        srun ./simulate
        """,
        title="torchrun starts the workers again; and what is not distributed training",
    ),
]
