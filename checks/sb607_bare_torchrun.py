"""torchrun is looked for on PATH, though the script keeps its packages in a uv project.

The environment of a uv project is not on PATH unless it is activated: `uv run` puts it there for its own command only.
A bare `torchrun` is then that of another environment (the image's, conda's base, a module), whose Python has another
torch and none of the project's packages, or there is none at all: `torchrun: command not found`.

## Fix

Starts it through uv, `uv run python -m torch.distributed.run`, with `--no-sync` where the script has synced before.
Safe: it is the torchrun of the project that the script itself uses.

## References

https://docs.astral.sh/uv/concepts/projects/run/; torch.distributed.run is what torchrun runs
"""

from __future__ import annotations

from collections.abc import Iterator

from sbatchlint.check import Bad, Card, Finding, Fix, Good, Job

CARD = Card("SB607", "bare-torchrun", severity="warning", fix="always", since="0.1.0")


def check(job: Job) -> Iterator[Finding]:
    for each in job.bare_torchruns():
        yield Finding(
            each.span,
            f"this torchrun is the first one on PATH, not that of the uv project which line "
            f"{job.line(each.sign.span.start)} uses: it runs another Python without the project's packages, or is not "
            "found; write `uv run python -m torch.distributed.run`, or activate the environment before",
            related=[(each.sign.name_span, "uses the project's environment")],
            fix=Fix("start it through uv", each.edits, safe=True) if each.edits else None,
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
        fixed="""\
        #!/bin/bash
        #SBATCH --nodes=1
        #SBATCH --gpus-per-node=8
        uv sync
        srun uv run --no-sync python -m torch.distributed.run --nproc_per_node=8 train.py
        """,
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        uv run python prepare.py
        srun bash -c "cd $PWD && «torchrun» --nproc_per_node=8 train.py"
        """,
        fixed="""\
        #!/bin/bash
        #SBATCH --nodes=1
        uv run python prepare.py
        srun bash -c "cd $PWD && uv run python -m torch.distributed.run --nproc_per_node=8 train.py"
        """,
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
