"""`#PBS` and `#BSUB` lines are obeyed too, and win over `#SBATCH` lines.

sbatch translates the directives of two other schedulers after it has read its own, so a `#PBS -l walltime=1:00:00` that
was left behind replaces `#SBATCH --time`, from any place: behind commands, in a heredoc, up to the 101st line that does
not begin with `#`. What it cannot translate (`#PBS -P`, `#BSUB -R`) makes it refuse the whole script. Values keep their
text and change their meaning: `#BSUB -W 1:30` is a minute and a half, `#PBS -l walltime=3600` sixty hours.

A line that only adds an option which no `#SBATCH` line sets is a warning. Nothing is said of one that agrees with the
`#SBATCH` lines, or that sbatch leaves out (`#PBS -V`). Files without an `#SBATCH` line are not looked at.

## Fix

Adds `#SBATCH --ignore-pbs`, after which neither kind of line counts; a script that serves two schedulers wants it too.
Unsafe: the job that was submitted so far had the other values. Lines that only add an option have no fix.

## References

sbatch(1), `--ignore-pbs`; src/sbatch/xlate.c, Slurm 20.11 to 26.05; some 240 scripts on Slurm 22.05, 23.11, 24.11 and
26.05.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from typing import Any

from sbatchlint.check import Bad, Card, Finding, Fix, Good, Job
from sbatchlint.slurm.rewriting import insertion

CARD = Card("SB110", "foreign-directive", severity="error", fix="sometimes", since="0.1.0")


def check(job: Job) -> Iterator[Finding]:
    foreign = job.directives.foreign
    if foreign is None or not job.directives.lines:
        return
    fix = Fix("add --ignore-pbs", [insertion(job.directives, "--ignore-pbs")])
    effects = sorted(job.foreign_effects(), key=lambda effect: (effect.span, effect.kind == "adds"))
    for span, group in groupby(effects, key=lambda effect: effect.span):
        parts = list(group)
        said = ", and ".join(dict.fromkeys(_said(job, part) for part in parts))
        message = f"sbatch obeys #{foreign.dialect} lines too: {said}"
        if parts[0].kind == "adds":
            yield Finding(span, f"{message}; write it as an #SBATCH line, or delete it", "warning")
        else:
            related = [(part.block.span, "set here") for part in parts if part.block is not None]
            yield Finding(span, f"{message}; delete it, or add `#SBATCH --ignore-pbs`", related=related, fix=fix)


def _said(job: Job, effect: Any) -> str:
    when = job.versions.in_brackets(effect.versions)
    option = f"{effect.option} ({effect.unit})" if effect.unit else effect.option
    if effect.kind == "adds":
        return f"this one sets {option}{when}"
    block = effect.block
    line = "" if block is None else f" of line {job.line(block.span.start)}"
    if effect.kind == "replaces":
        return f"{option} replaces {job.source.slice(block.span)}{line}{when}"
    if block is not None:
        return f"it refuses {option} beside {block.written}{line}{when}: `{effect.message}`"
    if effect.unknown:
        return f"it refuses the script for {effect.unknown}, which it cannot translate{when}"
    what = f" for {option}" if option else ""
    return f"it refuses the script with `{effect.message}`{what}{when}"


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --time=2:00:00
        #SBATCH --nodes=2
        #PBS -l «walltime=1:00:00»
        srun ./a.out
        """,
        unsafe_fixed="""\
        #!/bin/bash
        #SBATCH --time=2:00:00
        #SBATCH --nodes=2
        #SBATCH --ignore-pbs
        #PBS -l walltime=1:00:00
        srun ./a.out
        """,
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --time=1:30:00
        #BSUB «-R "span[ptile=4]"»
        srun ./a.out
        """,
        unsafe_fixed="""\
        #!/bin/bash
        #SBATCH --time=1:30:00
        #SBATCH --ignore-pbs
        #BSUB -R "span[ptile=4]"
        srun ./a.out
        """,
        title="what cannot be translated",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --time=1:30:00
        #BSUB «-W 1:30»
        srun ./a.out
        """,
        unsafe_fixed="""\
        #!/bin/bash
        #SBATCH --time=1:30:00
        #SBATCH --ignore-pbs
        #BSUB -W 1:30
        srun ./a.out
        """,
        title="another unit",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --time=60
        #PBS «-q gpu»
        srun ./a.out
        """,
        severity="warning",
        title="an option that no #SBATCH line sets",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --ignore-pbs
        #SBATCH --time=2:00:00
        #PBS -l walltime=1:00:00
        srun ./a.out
        """,
        title="for two schedulers on purpose",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --time=60 --job-name=train
        #PBS -l walltime=01:00:00 -N train
        #PBS -j oe -V
        srun ./a.out
        """,
        title="nothing that changes the job",
    ),
    Good("#!/bin/bash\n#PBS -l nodes=2:ppn=8\nmpirun ./a.out\n", title="a script of PBS"),
]
