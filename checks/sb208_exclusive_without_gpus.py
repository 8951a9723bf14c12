"""An exclusive job without a GPU request has all GPUs of its nodes, but its steps see none.

With `--exclusive` Slurm gives a job everything on its nodes, GPUs too, and the batch shell finds them all in
CUDA_VISIBLE_DEVICES. A step, however, gets only GPUs that were requested, and none were: under srun
CUDA_VISIBLE_DEVICES is unset, and where the cluster constrains devices `torch.cuda.is_available()` is False, though
`nvidia-smi` in the batch script shows eight GPUs.

Signs that a step uses GPUs are its launcher, program or options; and, where these show nothing, exported variables of
NCCL, a variable that counts GPUs, or an image of NVIDIA's registry, unless everything that runs in it prepares data.

Advice, and a warning where the settings say `gpus = "gres"`: clusters that do not manage their GPUs as GRES (`gpus =
"whole-node"`) show them to every step, and some of those refuse a job that requests them. With a profile of the cluster
(docs/site.md), a partition that gives whole nodes (`OverSubscribe=EXCLUSIVE`) is a warning, too.

## Fix

Requests as many GPUs for the job as the launcher starts workers. Unsafe: the number is a guess, and some sites refuse
any GPU option.

## References

sbatch(1), --exclusive; runs on Slurm 22.05, 23.11, 24.11 and 26.05.
"""

from collections.abc import Iterator

from sbatchlint.analysis.gpus.gpu_use import gpus_wanted, unseen_gpus
from sbatchlint.check import Bad, Card, Finding, Fix, Good, Job
from sbatchlint.slurm.rewriting import insertion
from sbatchlint.source.shortening import MOST
from sbatchlint.triggers import KnownCluster, Options

CARD = Card(
    "SB208", "exclusive-without-gpus", severity="info", fix="sometimes", since="0.1.0",
    when=Options("exclusive") | KnownCluster(), absent=True,
)  # fmt: skip


def check(job: Job) -> Iterator[Finding]:
    unseen = unseen_gpus(job)
    place = job.request.setting("exclusive") or job.request.setting("partition")
    if unseen is None or place is None:
        return
    in_partition = f"a job in partition `{job.request.partition}` has whole nodes, but"
    what = "--exclusive" if place.name == "exclusive" else in_partition
    step, sign = unseen
    number = gpus_wanted(job)
    option = f"--gpus-per-node={number or 'N'}"
    needs = f"line {job.line(step.span.start)} may not get the GPUs it needs ({sign.words})"
    message = f"{what} requests no GPUs, so {needs}; add `#SBATCH {option}`"
    yield Finding(
        place.span,
        message if len(message) <= MOST else message.replace(f" ({sign.words})", ""),
        "warning" if job.site.gpus == "gres" or place.name != "exclusive" else None,
        related=[(sign.span, sign.words)],
        fix=Fix("request GPUs", [insertion(job.directives, option)]) if number else None,
    )


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        #SBATCH «--exclusive»
        srun torchrun --nnodes=2 --nproc_per_node=8 --rdzv_backend=c10d --rdzv_endpoint=$HEAD:29500 train.py
        """,
        unsafe_fixed={"#SBATCH --exclusive": "#SBATCH --exclusive\n#SBATCH --gpus-per-node=8"},
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=1 --exclusive
        torchrun --standalone --nproc_per_node=8 train.py
        """,
        title="the batch shell has them",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=2 --exclusive
        srun --gpus-per-node=8 torchrun --nnodes=2 --nproc_per_node=8 --rdzv_backend=c10d \\
            --rdzv_endpoint=$HEAD:29500 train.py
        """,
        title="the step asks for them itself",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=2 --exclusive --gpus-per-node=8
        srun torchrun --nnodes=2 --nproc_per_node=8 --rdzv_backend=c10d --rdzv_endpoint=$HEAD:29500 train.py
        """
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=4 --exclusive --ntasks-per-node=64
        srun ./solver
        """,
        title="nothing uses a GPU",
    ),
]
