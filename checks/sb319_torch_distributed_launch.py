"""torch.distributed.launch is the old name of torchrun, and tells the program its rank in another way.

`python -m torch.distributed.launch` has been deprecated since torch 1.9 and prints a FutureWarning in every run. It is
the same engine as torchrun, but for one thing: without `--use_env` it gives each worker `--local-rank=N` on its command
line (`--local_rank=N` before torch 2.0), on which a program fails that knows the other spelling, or none.

## Fix

Names `torch.distributed.run`, the module of torchrun. With `--use_env` that is the same, and safe; the option itself
has to go, as the new module refuses it. Without it the program must read LOCAL_RANK from the environment: unsafe.

## References

torch/distributed/launch.py (2.13); https://docs.pytorch.org/docs/stable/elastic/run.html
"""

from __future__ import annotations

from collections.abc import Iterator

from sbatchlint.check import Bad, Card, Finding, Fix, Good, Job
from sbatchlint.triggers import Launchers

CARD = Card(
    "SB319", "torch-distributed-launch", severity="info", fix="sometimes", since="0.1.0",
    when=Launchers("torch.distributed.launch"),
)  # fmt: skip


def check(job: Job) -> Iterator[Finding]:
    for each in job.legacy_launches():
        launcher = each.launch.launcher
        if each.by_variable:
            what = "is deprecated since torch 1.9; write torch.distributed.run, without --use_env"
        else:
            what = (
                "is deprecated since torch 1.9 and gives the program --local-rank (--local_rank before torch 2.0); "
                "write torch.distributed.run, and let the program read LOCAL_RANK"
            )
        fix = None if each.edits is None else Fix("write torch.distributed.run", each.edits, each.by_variable)
        yield Finding(launcher.span, f"{launcher.name} {what}", fix=fix)


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1 --gpus-per-node=4
        «python -m torch.distributed.launch» --use_env --nproc_per_node=4 train.py
        """,
        fixed="""\
        #!/bin/bash
        #SBATCH --nodes=1 --gpus-per-node=4
        python -m torch.distributed.run --nproc_per_node=4 train.py
        """,
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1 --gpus-per-node=4
        LAUNCHER="«python -m torch.distributed.launch» --nproc_per_node=4"
        srun $LAUNCHER train.py
        """,
        unsafe_fixed="""\
        #!/bin/bash
        #SBATCH --nodes=1 --gpus-per-node=4
        LAUNCHER="python -m torch.distributed.run --nproc_per_node=4"
        srun $LAUNCHER train.py
        """,
        title="the program may expect --local-rank",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1 --gpus-per-node=4
        «python /opt/lib/torch/distributed/launch.py» --nproc_per_node=4 train.py
        """,
        title="by its file: no fix",
    ),
    Good("#!/bin/bash\n#SBATCH --gpus-per-node=4\npython -m torch.distributed.run --nproc_per_node=4 train.py\n"),
    Good("#!/bin/bash\n#SBATCH --gpus-per-node=4\necho 'python -m torch.distributed.launch is old'\n", title="a text"),
]
