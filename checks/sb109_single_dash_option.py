"""A long option with one dash, or with three.

`-nodes=2` is `-n odes=2` to sbatch. Mostly that is refused, with a message about another option (`-mem=4G`: `Invalid
--distribution specification`); but `-output=run.log` is taken, and writes a file `utput=run.log`. `---gres=gpu:1` is an
unknown option.

## Fix

Writes two dashes. Safe: no value is meant to be the rest of an option's name.

## References

getopt_long(3); seen on Slurm 22.05 and 26.05.
"""

from __future__ import annotations

from collections.abc import Iterator

from sbatchlint.check import Bad, Card, Finding, Fix, Good, Job, replace

CARD = Card("SB109", "single-dash-option", severity="error", fix="always", since="0.1.0")


def check(job: Job) -> Iterator[Finding]:
    text = job.directives.text
    for each in job.directives.misdashed():
        span = text.span(each.start, each.end)
        written = job.source.slice(span)
        effect = f"sbatch takes {written} for `{each.read_as}`" if each.read_as else f"sbatch has no option {written}"
        fix = Fix("write two dashes", [replace(span, f"--{each.name}")], safe=True)
        yield Finding(span, f"{effect}; a long option has two dashes: write --{each.name}", fix=fix)


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH «-nodes»=2 «-time» 10  # minutes
        srun ./a.out
        """,
        fixed="""\
        #!/bin/bash
        #SBATCH --nodes=2 --time 10  # minutes
        srun ./a.out
        """,
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH «---gres»=gpu:1
        srun ./a.out
        """,
        fixed="""\
        #!/bin/bash
        #SBATCH --gres=gpu:1
        srun ./a.out
        """,
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH «-output»="my run.log"
        srun ./a.out
        """,
        fixed="""\
        #!/bin/bash
        #SBATCH --output="my run.log"
        srun ./a.out
        """,
        title="taken, as a file `utput=my run.log`",
    ),
    Good("#!/bin/bash\n#SBATCH -n4 -t30 -Jtrain -ologs/%j.out -HN2\nsrun ./a.out\n", title="values and clusters"),
    Good("#!/bin/bash\n#SBATCH -J -nodes --comment='-time'\nsrun ./a.out\n", title="values"),
]
