r"""Double quotes inside of a double-quoted string end it.

`"--rdzv_conf "a=b,c=d" --nnodes 2"` is a string, a bare text and another string, glued together. The program never sees
the inner quotes, which nobody notices as long as the text between them is one plain word: a warning. With a blank in
it, or in the value of a variable in it, the string ends there. In `--wrap="…"` sbatch then refuses the job (`Script
arguments not permitted with --wrap option`), in an assignment the rest of the line is run as a command: an error.

Not reported: a variable alone between the quotes (`"run "$NAME" now"`), and strings that no command of the job gets,
such as those of `echo`.

## Fix

Safe where the text between the quotes is plain: they are left out, and nothing changes. Else a backslash before each,
which is unsafe: quotes of the other kind may have been meant.

## References

bash(1), "QUOTING"; sbatch(1), "--wrap"; seen with bash 5.2 and Slurm 22.05.
"""

from __future__ import annotations

from collections.abc import Iterator

from sbatchlint.check import Bad, Card, Finding, Fix, Good, Job, Span, insert, remove

CARD = Card("SB412", "nested-double-quotes", severity="error", fix="sometimes", since="0.1.0")


def check(job: Job) -> Iterator[Finding]:
    for each in job.inner_quotes():
        first, last = each.quotes
        effect = {
            "lost": "and are lost",
            "split": "which is split at the blank between them",
            "command": "and the rest of the line is run as a command",
            "pattern": "and the shell replaces what is between them by names of files",
        }[each.effect]
        if each.rejected:
            effect += ", so that sbatch refuses it: script arguments are not permitted with --wrap"
        fix = None
        advice = 'write \\" for each'
        if each.bare:
            advice = f"leave them out, or {advice}"
            edits = [remove(Span(first, first + 1)), remove(Span(last, last + 1))]
            fix = Fix("leave the inner quotes out", edits, safe=True)
        elif job.source.text[first - 1] != "\\":
            fix = Fix("escape the inner quotes", [insert(first, "\\"), insert(last, "\\")], safe=False)
        yield Finding(
            each.span,
            f"these quotes end the string around them, {effect}; {advice}",
            "warning" if each.effect == "lost" else "error",
            fix=fix,
        )


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        LAUNCHER="python -m torch.distributed.run \\
            --rdzv_conf «"timeout=60,join_timeout=$WAIT"» \\
            --nnodes 2"
        srun bash -c "$LAUNCHER train.py"
        """,
        fixed="""\
        #!/bin/bash
        #SBATCH --nodes=2
        LAUNCHER="python -m torch.distributed.run \\
            --rdzv_conf timeout=60,join_timeout=$WAIT \\
            --nnodes 2"
        srun bash -c "$LAUNCHER train.py"
        """,
        severity="warning",
        title="the quotes are lost",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        CMD="python train.py --name «"first try"» --lr 0.1"
        srun bash -c "$CMD"
        """,
        unsafe_fixed="""\
        #!/bin/bash
        #SBATCH --nodes=2
        CMD="python train.py --name \\"first try\\" --lr 0.1"
        srun bash -c "$CMD"
        """,
        title="the rest of the line is a command of its own",
    ),
    Bad(
        """\
        #!/bin/bash
        EXTRA="--qos long"
        sbatch --time=50 --wrap="snakemake --default-resources «"slurm_extra=$EXTRA"» --jobs 20"
        """,
        unsafe_fixed="""\
        #!/bin/bash
        EXTRA="--qos long"
        sbatch --time=50 --wrap="snakemake --default-resources \\"slurm_extra=$EXTRA\\" --jobs 20"
        """,
        title="a blank in the value of a variable",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        CMD="python train.py --name \\"first try\\" --data '$DATA/my files' --out "$OUT" --lr 0.1"
        srun bash -c "$CMD"
        """,
        title="escaped, other quotes, a variable alone",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        echo "the file "model.pt" is in "/data/run" now"
        srun python train.py --out="$DIR"/run-"$SLURM_JOB_ID".log
        """,
        title="a message; parts that are glued on purpose",
    ),
]
