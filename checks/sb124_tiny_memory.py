"""Memory without a unit is megabytes.

`--mem=4` asks for 4 MB, in which not even an interpreter starts: the job is killed at once. Reported are numbers below
65, and numbers below 1024 where something says that gigabytes were meant: a comment, GPUs, or many CPUs. Tests of a few
minutes are let off.

## Fix

Adds a `G`. A guess, and so unsafe.

## References

sbatch(1), `--mem`; `str_to_mbytes()` in src/common/proc_args.c, Slurm 20.11 to 26.05.
"""

from __future__ import annotations

from collections.abc import Iterator

from sbatchlint.check import Bad, Card, Finding, Fix, Good, Job
from sbatchlint.triggers import Options

CARD = Card(
    "SB124", "tiny-memory", severity="warning", fix="sometimes", since="0.1.0",
    when=Options("mem", "mem-per-cpu", "mem-per-gpu"),
)  # fmt: skip


def check(job: Job) -> Iterator[Finding]:
    for tiny in job.tiny_memory():
        setting = tiny.setting
        if setting.value_span is None:
            continue
        but = f", but {tiny.evidence}" if tiny.evidence else ""
        advice = "write the unit, G or M" if tiny.instead is None else f"write {tiny.instead}"
        message = f"memory without a unit is megabytes, so this is {tiny.megabytes} MB{but}; {advice}"
        fix = None
        if tiny.instead is not None:
            fix = Fix(f"write {tiny.instead}", [job.directives.replacement(setting, tiny.instead)])
        yield Finding(setting.value_span, message, fix=fix)


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --mem=«4» --time=1:00:00
        srun ./a.out
        """,
        unsafe_fixed="""\
        #!/bin/bash
        #SBATCH --mem=4G --time=1:00:00
        srun ./a.out
        """,
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --mem-per-cpu=«8»  # memory
        srun ./a.out
        """,
        unsafe_fixed="""\
        #!/bin/bash
        #SBATCH --mem-per-cpu=8G  # memory
        srun ./a.out
        """,
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --gpus=1
        #SBATCH --mem «128»
        srun python3 train.py
        """,
        unsafe_fixed="""\
        #!/bin/bash
        #SBATCH --gpus=1
        #SBATCH --mem 128G
        srun python3 train.py
        """,
        title="for a program on a GPU",
    ),
    Bad("#!/bin/bash\n#SBATCH --mem=«750»  # in GB\nsrun ./a.out\n", title="the comment says so"),
    Good("#!/bin/bash\n#SBATCH --mem=4G\nsrun ./a.out\n"),
    Good("#!/bin/bash\n#SBATCH --mem=0\nsrun ./a.out\n", title="all memory of the node"),
    Good("#!/bin/bash\n#SBATCH --mem-per-cpu=100\nsrun ./a.out\n", title="a small program"),
    Good("#!/bin/bash\n#SBATCH --mem=50  # MB\nsrun ./a.out\n", title="the comment says so"),
]
