"""torchrun may be the wrong one: the script takes it from PATH, but its packages are in a uv project.

The environment of a uv project is not on PATH unless it is activated: `uv run` puts it there for its own command only.
A bare `torchrun` then belongs to another environment (the image's, conda's base, a module), whose Python has another
torch and none of the project's packages, or there is none at all: `torchrun: command not found`.

## Fix

Starts it through uv, `uv run python -m torch.distributed.run`, with `--no-sync` where the script has synced before.
Safe: it is the torchrun of the project that the script itself uses.

## References

https://docs.astral.sh/uv/concepts/projects/run/; torch.distributed.run is what torchrun runs
"""

from collections.abc import Iterator

from sbatchlint.analysis.script.installs import image_of, uv_command
from sbatchlint.analysis.script.shell_history import commands_before
from sbatchlint.bash.trace import Invocation, is_set
from sbatchlint.bash.values import span_of, text_of
from sbatchlint.check import Bad, Card, Finding, Fix, Good, Job, replace
from sbatchlint.programs import programs_with
from sbatchlint.triggers import Commands

CARD = Card(
    "SB607", "bare-torchrun", severity="warning", fix="always", since="0.1.0", when=Commands("uv"),
    seen="https://docs.astral.sh/uv/concepts/projects/run/",
)  # fmt: skip

# Options with which uv does not use the environment of the project in the working folder.
OTHER = ("no-project", "isolated", "script", "project", "directory", "package", "help")
# Commands that change PATH in ways that are not followed here.
LOADING = programs_with("software") | {"source", ".", "activate"}


def check(job: Job) -> Iterator[Finding]:
    uses: list[tuple[Invocation, str]] = []
    for invocation in job.invocations:
        uv = uv_command(invocation)
        if uv is not None and uv.verb in ("sync", "run") and not uv.has(*OTHER):
            uses.append((invocation, uv.verb))
    for launch in job.launches if uses else ():
        command, span = launch.invocation, span_of(launch.invocation.argv[0])
        own = [(each, verb) for each, verb in uses if image_of(each) == image_of(command)]
        if text_of(command.argv[0]) != "torchrun" or not own or _is_activated(job, command):
            continue
        use = own[0][0]
        synced = any(verb == "sync" and each.index < command.index for each, verb in own)
        instead = f"uv run{' --no-sync' if synced else ''} python -m torch.distributed.run"
        plain = job.source.slice(span) == "torchrun"
        yield Finding(
            span,
            f"this runs the first `torchrun` on PATH, not the uv project's (line {job.line(use.span.start)}); write "
            f"`{instead}`",
            related=[(use.name_span, "uses the project's environment")],
            fix=Fix("start it through uv", [replace(span, instead)], safe=True) if plain else None,
        )


def _is_activated(job: Job, command: Invocation) -> bool:
    """Whether a wrapper (`uv run`, `conda run`) or an earlier command may have put other tools first on its PATH."""
    if any(each.spawn.kind.endswith(" run") for each in command.ancestors()):
        return True
    if is_set(command, "PATH") or command.state.sourced:
        return True
    return any(
        invocation.name in LOADING or invocation.name == "eval" and not invocation.children
        for invocation in commands_before(job, command)
    )


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        #SBATCH --gpus-per-node=8
        uv sync
        srun «torchrun» --nproc_per_node=8 train.py
        """,
        fixed={"torchrun": "uv run --no-sync python -m torch.distributed.run"},
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        uv run python prepare.py
        srun bash -c "cd $PWD && «torchrun» --nproc_per_node=8 train.py"
        """,
        fixed={"torchrun": "uv run python -m torch.distributed.run"},
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        uv sync
        source .venv/bin/activate
        srun torchrun --nproc_per_node=8 train.py
        """,
        title="activated",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        uv sync
        srun uv run torchrun --nproc_per_node=8 train.py
        srun .venv/bin/torchrun --nproc_per_node=8 train.py
        """
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        uv run python prepare.py
        srun --container-image=train.sqsh torchrun --nproc_per_node=8 train.py
        """,
        title="the image's own torchrun",
    ),
]
