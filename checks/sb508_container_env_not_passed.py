"""A program in a container reads variables of the job that the container does not get.

docker and podman start with the image's environment: nothing of the job's goes in but what `-e` names. In
`docker run IMAGE bash -c 'torchrun --node_rank=$SLURM_NODEID …'` the variable is empty, torchrun ends with an error
of its arguments, and a program that takes its rank from Slurm runs as many times as there are tasks, each alone.
apptainer and singularity hand the environment on, unless `--cleanenv` or `--containall` say otherwise.

An error where a shell in the container expands such a variable, or a launcher takes its settings from it. A warning
where it is only printed, where nobody can look into the program that MASTER_ADDR and its kin are exported for, and for
exported settings of libraries (NCCL_DEBUG) where all programs run in such containers.

## Fix

`-e NAME` for each of them: docker takes the value from its own environment. Safe: the container gets what it reads, and
nothing else. None for variables that are not exported, under sudo (which drops them before docker sees them), and for
apptainer, where `--env` wants the value.

## References

docker run manual, --env; runs of podman 4.3: `-e NAME`, `-e 'SLURM_*'` and `--env-host` pass them, nothing else does;
apptainer exec manual, --cleanenv, --containall and --env.
"""

from __future__ import annotations

from collections.abc import Iterator

from sbatchlint.check import Bad, Card, Finding, Fix, Good, Job

CARD = Card("SB508", "container-env-not-passed", severity="error", fix="sometimes", since="0.1.0")


def check(job: Job) -> Iterator[Finding]:
    for lost in job.lost_variables():
        names = _listed(lost.names)
        verb = "is" if len(lost.names) == 1 else "are"
        engine = lost.start.engine
        flags = " ".join(f"-e {name}" for name in lost.names[:3]) + (" …" if len(lost.names) > 3 else "")
        lines = sorted({job.line(span.start) for span in lost.reads})
        where = f", read on line {lines[0]}," if lines and lines[0] != job.line(lost.start.place.start) else ""
        if lost.cleaned is not None:
            cause, advice = f"{lost.cleaned} drops the environment", "leave it out, or hand them in with --env"
        elif lost.dropped_by_sudo:
            cause = f"sudo drops what {engine} is to hand on"
            advice = f"write sudo --preserve-env={','.join(lost.names)}"
        else:
            cause, advice = f"{engine} hands no variable of the job on", f"add {flags}"
        if lost.unexported and lost.cleaned is None:
            name = lost.unexported[0]
            advice = f'write -e {name}="${name}", which is not exported either'
        effect = f"so that the program finds {'it' if verb == 'is' else 'them'} empty"
        if lost.from_slurm:
            effect = "so that each task takes itself for the only one"
        yield Finding(
            lost.start.place,
            f"{names}{where} {verb} not set in the container: {cause}, {effect}; {advice}",
            "error" if lost.certain else "warning",
            related=[(span, "read in the container") for span in lost.reads[:3]],
            fix=Fix("hand them in", lost.edits, safe=True) if lost.edits else None,
        )
    for settings in job.lost_settings():
        flags = " ".join(f"-e {name}" for name in settings.names[:3]) + (" …" if len(settings.names) > 3 else "")
        yield Finding(
            settings.start.place,
            f"{_listed(settings.names)}, exported on line {job.line(settings.places[0].start)}, "
            f"{'does' if len(settings.names) == 1 else 'do'} not reach the program in the container: "
            f"{settings.start.engine} hands no variable on; add {flags}",
            "warning",
            related=[(span, "exported here") for span in settings.places[:3]],
            fix=Fix("hand them in", settings.edits, safe=True) if settings.edits else None,
        )


def _listed(names: tuple[str, ...]) -> str:
    shown = names[:4]
    if len(names) > 4:
        return ", ".join(shown) + f" and {len(names) - 4} more"
    return shown[0] if len(shown) == 1 else ", ".join(shown[:-1]) + f" and {shown[-1]}"


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2 --ntasks-per-node=1 --gres=gpu:8
        cat > train.sh <<'EOF'
        torchrun --nnodes $SLURM_NTASKS --node_rank $SLURM_PROCID --nproc_per_node 8 train.py
        EOF
        srun «docker run» --rm --gpus all -v $PWD:/work -w /work train:1 bash train.sh
        """,
        fixed="""\
        #!/bin/bash
        #SBATCH --nodes=2 --ntasks-per-node=1 --gres=gpu:8
        cat > train.sh <<'EOF'
        torchrun --nnodes $SLURM_NTASKS --node_rank $SLURM_PROCID --nproc_per_node 8 train.py
        EOF
        srun docker run -e SLURM_NTASKS -e SLURM_PROCID --rm --gpus all -v $PWD:/work -w /work train:1 bash train.sh
        """,
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2 --ntasks-per-node=1
        export MASTER_ADDR=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n1)
        srun «podman run» --rm -e SLURM_NODEID train:1 \\
            bash -c 'torchrun --nnodes=2 --node_rank=$SLURM_NODEID --master_addr=$MASTER_ADDR train.py'
        """,
        fixed="""\
        #!/bin/bash
        #SBATCH --nodes=2 --ntasks-per-node=1
        export MASTER_ADDR=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n1)
        srun podman run -e MASTER_ADDR --rm -e SLURM_NODEID train:1 \\
            bash -c 'torchrun --nnodes=2 --node_rank=$SLURM_NODEID --master_addr=$MASTER_ADDR train.py'
        """,
        title="one is handed in, the other is not",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2 --ntasks-per-node=1
        srun «apptainer exec» --nv --cleanenv train.sif bash -c 'torchrun --nnodes=2 --node_rank=$SLURM_NODEID train.py'
        """,
        title="apptainer was told to drop them",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        export NCCL_DEBUG=INFO
        «docker run» --rm --gpus all train:1 torchrun --nproc_per_node=8 train.py
        """,
        fixed="""\
        #!/bin/bash
        #SBATCH --nodes=1
        export NCCL_DEBUG=INFO
        docker run -e NCCL_DEBUG --rm --gpus all train:1 torchrun --nproc_per_node=8 train.py
        """,
        severity="warning",
        title="a setting of a library",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=2 --ntasks-per-node=1
        srun bash -c 'docker run --rm -e NODE_RANK=$SLURM_NODEID train:1 \\
            bash -c "torchrun --nnodes=2 --node_rank=\\$NODE_RANK train.py"'
        srun docker run --rm --env-file job.env train:1 bash -c 'torchrun --node_rank=$SLURM_NODEID train.py'
        srun podman run --rm --env-host train:1 bash -c 'torchrun --node_rank=$SLURM_NODEID train.py'
        srun apptainer exec train.sif bash -c 'torchrun --node_rank=$SLURM_NODEID train.py'
        """,
        title="handed in, expanded by the host's shell, or an engine that hands all on",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=2 --ntasks-per-node=1
        srun docker run --rm $DOCKER_ARGS train:1 bash -c 'torchrun --node_rank=$SLURM_NODEID train.py'
        docker run --rm train:1 bash -c 'echo ${SLURM_JOB_ID:-none}; N=4; python train.py --workers $N --home $HOME'
        """,
        title="options that are not known, a default, and the container's own",
    ),
]
