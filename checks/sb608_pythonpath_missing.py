"""A training script of Megatron-LM is started without Megatron's folder on PYTHONPATH.

Python looks for `megatron` beside the script that it runs, which serves `python 3rdparty/Megatron-LM/pretrain_gpt.py`;
processes that this starts, and a package `megatron` that is installed with import hooks of its own, may find another
one. `python -m pretrain_gpt` and `torchrun -m` look in the working folder instead: started elsewhere they end with
ModuleNotFoundError.

## Fix

Sets PYTHONPATH for the one command, where its path is written out. Safe: the folder is the script's own, which Python
has on its path for this script already.

## References

https://docs.python.org/3/library/sys_path_init.html
"""

from __future__ import annotations

from collections.abc import Iterator

from sbatchlint.check import Bad, Card, Finding, Fix, Good, Job

CARD = Card("SB608", "pythonpath-missing", severity="warning", fix="sometimes", since="0.1.0")


def check(job: Job) -> Iterator[Finding]:
    for each in job.missing_paths():
        if each.module:
            message = (
                f"python looks for the module {each.program} in the working folder, which is not Megatron-LM's, and "
                "PYTHONPATH does not name that: ModuleNotFoundError; put the folder of Megatron-LM on PYTHONPATH"
            )
        else:
            message = (
                f"{each.program} runs without the folder of Megatron-LM on PYTHONPATH, so that what it starts may find "
                "another `megatron` that is installed; set PYTHONPATH to that folder"
            )
        yield Finding(
            each.span,
            message,
            "warning" if each.module else "info",
            fix=Fix("set PYTHONPATH for it", each.edits, safe=True) if each.edits else None,
        )


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        cd /lustre/team/experiment
        srun torchrun --nproc_per_node=8 -m «pretrain_gpt» --bf16
        """,
        title="as a module, from another folder",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        CMD="cd $ROOT && \\
        python «$ROOT/3rdparty/Megatron-LM/pretrain_gpt.py»"
        srun bash -c "$CMD"
        """,
        fixed="""\
        #!/bin/bash
        #SBATCH --nodes=1
        CMD="cd $ROOT && \\
        PYTHONPATH=$ROOT/3rdparty/Megatron-LM:\\${PYTHONPATH:-} python $ROOT/3rdparty/Megatron-LM/pretrain_gpt.py"
        srun bash -c "$CMD"
        """,
        severity="info",
        title="as a file",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        srun python «3rdparty/Megatron-LM/pretrain_bert.py»
        """,
        severity="info",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        export PYTHONPATH=$ROOT/3rdparty/Megatron-LM:$PYTHONPATH
        srun python 3rdparty/Megatron-LM/pretrain_gpt.py
        srun torchrun -m pretrain_gpt
        """
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        cd Megatron-LM
        srun torchrun --nproc_per_node=8 -m pretrain_gpt
        """,
        title="started in Megatron's folder",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        pip install -e 3rdparty/Megatron-LM
        srun python 3rdparty/Megatron-LM/pretrain_gpt.py
        """,
        title="installed in place",
    ),
]
