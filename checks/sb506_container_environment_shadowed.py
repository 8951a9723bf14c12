"""A variable is exported for a container, but the image's own value wins.

pyxis hands the environment of the job into the container, except for what the image defines: `export
NCCL_SOCKET_IFNAME=eth0` in the batch script does nothing where the image's Dockerfile says something else. Images for
training define many of CUDA's, NCCL's, Triton's and uv's variables. `--container-env=NAME` lets the job's value win,
and so does an export inside the container (`bash -c 'export NAME=...; ...'`). LANG, LANGUAGE and LC_ALL never arrive
unless they are named.

This is advice: what an image defines is not written in the job.

## Fix

Names the variables in `--container-env` (pyxis 0.15 or newer). Unsafe: the image's value may be the better one.

## References

README of pyxis; https://github.com/NVIDIA/pyxis/issues/124; https://github.com/NVIDIA-NeMo/Megatron-Bridge/pull/1464
"""

from __future__ import annotations

from collections.abc import Iterator

from sbatchlint.analysis.launch.step_options import add_step_option
from sbatchlint.check import PYXIS_OPTIONS, Bad, Card, Finding, Fix, Good, Job
from sbatchlint.triggers import Steps

CARD = Card("SB506", "container-environment-shadowed", severity="info", fix="sometimes", since="0.1.0", when=Steps())


def check(job: Job) -> Iterator[Finding]:
    for found in job.shadowed_variables():
        names = list(found.variables)
        if set(names) == set(found.removed):
            what = f"pyxis does not hand {_listed(names)} into the container"
        else:
            what = f"where the image defines {_listed(names)}, its value wins over the script's"
        edits = None
        option = "--container-env=" + ",".join(found.passable)
        if found.passable:
            edits = add_step_option(job, [found.step], option, PYXIS_OPTIONS)
        advice = f"add {option}" if len(found.passable) in (1, 2, 3) else "name them in --container-env"
        yield Finding(
            found.step.place,
            f"{what}; {advice}, or export inside the container" if found.passable else f"{what}; set it inside",
            related=[(each.span, name) for name, each in list(found.variables.items())[:4]],
            fix=None if edits is None else Fix("let the script's values win", edits),
        )


def _listed(names: list[str]) -> str:
    if len(names) > 4:
        return ", ".join(names[:3]) + f" and {len(names) - 3} others"
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        export NCCL_SOCKET_IFNAME=eth0
        export UV_CACHE_DIR=/lustre/team/uv
        «srun» --container-image=/images/train.sqsh --container-mounts=/lustre:/lustre python train.py
        """,
        unsafe_fixed="""\
        #!/bin/bash
        #SBATCH --nodes=2
        export NCCL_SOCKET_IFNAME=eth0
        export UV_CACHE_DIR=/lustre/team/uv
        srun --container-image=/images/train.sqsh --container-mounts=/lustre:/lustre \
--container-env=NCCL_SOCKET_IFNAME,UV_CACHE_DIR python train.py
        """,
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        export LC_ALL=C.UTF-8
        «srun» --container-image=/images/train.sqsh python train.py
        """,
        unsafe_fixed="""\
        #!/bin/bash
        #SBATCH --nodes=2
        export LC_ALL=C.UTF-8
        srun --container-image=/images/train.sqsh --container-env=LC_ALL python train.py
        """,
        title="the locale never arrives",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        export PATH=/work/bin:$PATH
        «srun» --container-image=/images/train.sqsh --container-mounts=$PWD:/work train
        """,
        title="a folder of the container, and an image always has a PATH",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        export NCCL_DEBUG=INFO
        srun --container-image=/images/train.sqsh --container-env=NCCL_DEBUG python train.py
        """,
        title="named",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        export NCCL_DEBUG=INFO
        srun --container-image=/images/train.sqsh bash -c 'export NCCL_DEBUG=WARN; python train.py'
        """,
        title="the container's own shell sets it",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        export NCCL_DEBUG=INFO PATH=$HOME/bin:$PATH
        srun python train.py
        srun --container-image=/images/train.sqsh hostname
        """,
        title="no container, or no program that reads it",
    ),
]
