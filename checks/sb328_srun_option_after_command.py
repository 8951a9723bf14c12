"""An option of srun stands behind the command, and so is the command's, not srun's.

srun reads options up to the first word that is none; all that follows belongs to the program. `bash -c "…" --nodes=2`
gives bash the word as `$0` of its string, which nobody reads: the container, the tasks or the GPUs that were asked for
there are silently left out. `hostname --ntasks=8` and `torchrun --gres=gpu:8 train.py` end with an error about an
unknown option. A program of one's own may do either.

## Fix

Moves the options in front of the command, where srun reads them. Safe where the command cannot have used them: a shell
whose string reads no argument, or a command that refuses them. There is no fix for a program of one's own.

## References

srun(1); `slurm_option_table_create()` in src/common/slurm_opt.c: the optstring begins with `+`.
"""

from __future__ import annotations

from collections.abc import Iterator

from sbatchlint.check import Bad, Card, Finding, Fix, Good, Job
from sbatchlint.triggers import Steps

CARD = Card("SB328", "srun-option-after-command", severity="error", fix="sometimes", since="0.1.0", when=Steps())

WHAT_HAPPENS = {
    "positional": "{taker} gives {it} to its string as $0, $1 …, which nobody reads, and srun never sees {it}",
    "unread": "{taker} gives {it} to the script, which reads no argument, and srun never sees {it}",
    "refused": "{taker} gets {it}, does not know {it} and fails, and srun never sees {it}",
    "program": "{taker} gets {it} as its own, and srun never sees {it}",
}


def check(job: Job) -> Iterator[Finding]:
    for late in job.late_options():
        written, several = late.written, len(late.written) > 1
        names = written[0] if not several else f"{', '.join(written[:-1])} and {written[-1]}"
        happens = WHAT_HAPPENS[late.kind].format(taker=late.taker, it="them" if several else "it")
        yield Finding(
            late.span,
            f"{names} stand{'' if several else 's'} behind the command of srun: {happens}; "
            f"write {'them' if several else 'it'} in front of {late.command}",
            severity="warning" if late.kind == "program" else None,
            fix=None if late.edits is None else Fix("move to the options of srun", late.edits, True),
        )


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        srun --container-image=img.sqsh bash -c "nvidia-smi && python train.py" «--no-container-mount-home»
        """,
        fixed="""\
        #!/bin/bash
        #SBATCH --nodes=2
        srun --container-image=img.sqsh --no-container-mount-home bash -c "nvidia-smi && python train.py"
        """,
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        srun bash -c '
            hostname
            python train.py
        ' «--container-image="$IMAGE" \\
          -N 2 --ntasks-per-node=1» > out.log
        """,
        fixed="""\
        #!/bin/bash
        #SBATCH --nodes=2
        srun --container-image="$IMAGE" -N 2 --ntasks-per-node=1 bash -c '
            hostname
            python train.py
        ' > out.log
        """,
        title="several of them, over lines",
    ),
    Bad(
        "#!/bin/bash\n#SBATCH --nodes=4\nsrun hostname «--ntasks=8»\n",
        fixed="#!/bin/bash\n#SBATCH --nodes=4\nsrun --ntasks=8 hostname\n",
    ),
    Bad(
        "#!/bin/bash\n#SBATCH --nodes=4\nsrun python train.py «--ntasks-per-node=8» --lr 1e-4\n",
        severity="warning",
        title="hardly an option of the program",
    ),
    Good(
        "#!/bin/bash\n#SBATCH --nodes=2\nsrun bash -c 'python launch.py \"$@\"' _ --nodes=2\n",
        title="the string reads its arguments",
    ),
    Good("#!/bin/bash\n#SBATCH --nodes=2\nsrun python train.py --nodes 2 --gpus 8\n", title="the program's own"),
    Good(
        "#!/bin/bash\n#SBATCH --nodes=2 -c 4\nsrun python train.py --cpus-per-task $SLURM_CPUS_PER_TASK\n",
        title="the program is told what the job has",
    ),
]
