"""A variable of the script has no effect in the container: a value in the image overrides it.

pyxis passes the environment of the job into the container, except for variables that the image defines: `export
NCCL_SOCKET_IFNAME=eth0` in the batch script has no effect where the image's Dockerfile sets another value. Training
images define many variables of CUDA, NCCL, Triton and uv. `--container-env=NAME` lets the job's value win, and so does
an export inside the container (`bash -c 'export NAME=...; ...'`). From pyxis 0.14 on, LANG, LANGUAGE and LC_ALL are
never passed unless they are named there.

This is advice: the job does not show what an image defines.

## Fix

Names the variables in `--container-env` (pyxis 0.15 or newer). Unsafe: the image's value may be the better one.

## References

README of pyxis; pyxis_slurmstepd.c of pyxis, 0.13 to 0.24; https://github.com/NVIDIA/pyxis/issues/124;
https://github.com/NVIDIA-NeMo/Megatron-Bridge/pull/1464
"""

from collections.abc import Iterator
from functools import partial

from sbatchlint.analysis.containers.pyxis import is_heterogeneous
from sbatchlint.analysis.editing.options import with_step_option
from sbatchlint.analysis.script.work import step_programs
from sbatchlint.bash.variables import Variable
from sbatchlint.check import Bad, Card, Finding, Good, Job
from sbatchlint.job.argv import partition
from sbatchlint.job.containers import PYXIS_OPTIONS, Container
from sbatchlint.job.paths import mount_of
from sbatchlint.source.numbers import listed
from sbatchlint.source.regex import Regex
from sbatchlint.triggers import Containers

CARD = Card(
    "SB506", "container-environment-shadowed", severity="info", fix="sometimes", since="0.1.0",
    when=Containers("pyxis"),
)  # fmt: skip

# Variables that training images define in their Dockerfiles: PyTorch and NeMo of NGC, CUDA and ROCm.
DEFINED = Regex(
    r"NCCL_\w+|CUDA_(?!VISIBLE_DEVICES|LAUNCH_BLOCKING)\w+|NVIDIA_\w+|TORCH_\w+|TRITON_\w+|OMP_\w+|MKL_\w+|UV_\w+|UCX_\w+"
    r"|HF_HOME|NEMO_HOME|PYTHONPATH|PIP_CONSTRAINT|XLA_FLAGS|TF_\w+|OPAL_PREFIX"
)
REMOVED = frozenset({"LANG", "LANGUAGE", "LC_ALL"})
# Search paths that every image sets: only a folder of the container can be meant for it.
FOLDERS = frozenset({"PATH", "LD_LIBRARY_PATH"})


def check(job: Job) -> Iterator[Finding]:
    for step in job.steps:
        container = step.container
        if container is None or not step.certain or is_heterogeneous(step):
            continue
        exported = {
            name: variable
            for name, variable in step.invocation.state.variables.items()
            if _may_be_defined(name, variable)
            and not (step.tasks == 1 and name.startswith("NCCL_"))  # which speaks to no other task
            and name not in container.passed
            and _may_be_shadowed(name, variable, container)
        }
        # those that a program of the step inherits from the batch shell unchanged
        programs = step_programs(step) if exported else []
        names = [
            name
            for name, variable in exported.items()
            if any((own := it.state.variables.get(name)) and own.span == variable.span for it in programs)
        ]
        if not names:
            continue
        if REMOVED.issuperset(names):
            what = f"pyxis does not pass {_shown(names)} into the container"
        else:
            values = "value overrides" if len(names) == 1 else "values override"
            what = f"if the image sets {_shown(names)} too, its {values} yours"
        passable = [name for name in names if name not in FOLDERS]
        option = "--container-env=" + ",".join(passable)
        advice = f"add `{option}` to srun" if passable else f"set {_shown(names)} in the container"
        if len(what) + len(advice) > 138:
            advice = "name them in `--container-env`"
        yield Finding(
            step.place,
            f"{what}; {advice}",
            related=[(exported[name].span, name) for name in names[:4]],
            fix=partial(with_step_option, job, [step], option, "keep the script's values", PYXIS_OPTIONS)
            if passable
            else None,
        )


def _may_be_defined(name: str, variable: Variable) -> bool:
    """Whether a variable is exported, and one that images define or pyxis removes."""
    return variable.exported and (name in FOLDERS or name in REMOVED or DEFINED.fullmatch(name) is not None)


def _may_be_shadowed(name: str, variable: Variable, container: Container) -> bool:
    if name not in FOLDERS:
        return bool(variable.alternatives)
    # the first folder of the list is in a mount of the container
    lists = [each.fields[0] for each in variable.alternatives if each.fields]
    return any((first := partition(each, ":")[0]) and mount_of(first, container) is not None for each in lists)


def _shown(names: list[str]) -> str:
    if len(names) <= 4:
        return listed(names)
    kept = next((each for each in (3, 2) if len(", ".join(names[:each])) < 45), 1)
    return listed([*names[:kept], f"{len(names) - kept} others"])


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        export NCCL_SOCKET_IFNAME=eth0
        export UV_CACHE_DIR=/lustre/team/uv
        «srun» --container-image=/images/train.sqsh --container-mounts=/lustre:/lustre python train.py
        """,
        unsafe_fixed={"python": "--container-env=NCCL_SOCKET_IFNAME,UV_CACHE_DIR python"},
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        export LC_ALL=C.UTF-8
        «srun» --container-image=/images/train.sqsh python train.py
        """,
        unsafe_fixed={"python": "--container-env=LC_ALL python"},
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
