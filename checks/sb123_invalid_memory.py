"""sbatch refuses the script: the amount of memory is not valid.

`Invalid --mem specification`: nothing is submitted. An amount (`--mem`, `--mem-per-cpu`, `--mem-per-gpu`, `--tmp`) is a
whole number and one of K, M, G and T, which a B may follow; without a letter it is megabytes. Fractions, `GiB`, spaces
and petabytes are refused.

## Fix

Writes the amount that was probably meant: `1.5G` becomes `1536M`, `4GiB` becomes `4G`. A guess, and so unsafe.

## References

sbatch(1); `str_to_mbytes()` in src/common/proc_args.c, Slurm 20.11 to 26.05; seen on 22.05, 23.11, 24.11 and 26.05.
"""

from collections.abc import Iterator

from sbatchlint.analysis.directives.wrong_values import wrong_values
from sbatchlint.check import Bad, Card, Finding, Fix, Good, Job
from sbatchlint.triggers import Refused

CARD = Card(
    "SB123", "invalid-memory", severity="error", fix="sometimes", since="0.1.0", alone=True,
    when=Refused("memory"), seen="live runs of Slurm 22.05, 23.11, 24.11 and 26.05",
)  # fmt: skip


def check(job: Job) -> Iterator[Finding]:
    for wrong in wrong_values(job, "memory"):
        message, fix = wrong.fault, None
        # with 0 the variable is not set
        as_number = wrong.instead == "0" and "SLURM_MEM_PER_NODE" in job.source.text
        if wrong.instead is not None and not as_number:
            message += f"; write {wrong.instead}" + (" for all memory of a node" if wrong.instead == "0" else "")
            fix = Fix(f"write {wrong.instead}", wrong.edits) if wrong.edits else None
        elif "such as" not in message:
            message += "; write one such as 4G"
        yield Finding(wrong.span, message, fix=fix, versions=wrong.versions)


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --mem=«1.5G» --nodes=2
        srun ./a.out
        """,
        unsafe_fixed={"--mem=1.5G": "--mem=1536M"},
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --mem-per-cpu=«4GiB»
        srun ./a.out
        """,
        unsafe_fixed={"--mem-per-cpu=4GiB": "--mem-per-cpu=4G"},
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --mem «"32 GB"»
        srun ./a.out
        """,
        unsafe_fixed={'"32 GB"': "32G"},
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --mem=«MaxMemPerNode»
        srun ./a.out
        """,
        unsafe_fixed={"--mem=MaxMemPerNode": "--mem=0"},
        title="0 is all memory of the node",
    ),
    Bad(
        "#!/bin/bash\n#SBATCH --mem=«MaxMemPerNode»\nsrun ./a.out --mem=$SLURM_MEM_PER_NODE\n",
        title="with 0 the variable would not be set",
    ),
    Bad(
        "#!/bin/bash\n#SBATCH --mem=«4G\\\\» # of memory\nsrun ./a.out\n",
        unsafe_fixed="#!/bin/bash\n#SBATCH --mem=4G # of memory\nsrun ./a.out\n",
        title="a backslash in it",
    ),
    Bad("#!/bin/bash\n#SBATCH --mem=«4G-8G»\nsrun ./a.out\n", title="which of them is meant is not known"),
    Good("#!/bin/bash\n#SBATCH --mem=0 --tmp=10g\nsrun ./a.out\n", title="0 is all memory of the node"),
    Good("#!/bin/bash\n#SBATCH --mem=32GB\nsrun ./a.out\n"),
    Good("#!/bin/bash\n#SBATCH --mem-per-gpu=64000 --gpus=1\nsrun ./a.out\n"),
]
