"""sbatch drops words of `--mail-type` that it does not know.

`--mail-type=BEGIN,END,REQUE` is accepted, and no mail is ever sent on a requeue. Only where no word is known sbatch
refuses the script: `Invalid --mail-type specification`. The words are BEGIN, END, FAIL, REQUEUE, INVALID_DEPEND,
STAGE_OUT, TIME_LIMIT, TIME_LIMIT_90, TIME_LIMIT_80, TIME_LIMIT_50, ARRAY_TASKS, ALL (which holds no time limits) and
NONE, in any case, separated by commas.

## Fix

Writes the words that were probably meant (`ENDS`: END; `TIMEOUT`: TIME_LIMIT; `END|FAIL`: END,FAIL). A guess, and so
unsafe.

## References

sbatch(1); `parse_mail_type()` in src/common/proc_args.c, Slurm 20.11 to 26.05.
"""

from __future__ import annotations

from collections.abc import Iterator

from sbatchlint.check import Bad, Card, Finding, Fix, Good, Job
from sbatchlint.triggers import Options

CARD = Card(
    "SB127", "unknown-mail-type", severity="error", fix="sometimes", since="0.1.0",
    when=Options("mail-type", "mail-user"),
)  # fmt: skip

EVENTS = "the events are BEGIN, END, FAIL, REQUEUE, INVALID_DEPEND, STAGE_OUT, TIME_LIMIT, ARRAY_TASKS and ALL"


def check(job: Job) -> Iterator[Finding]:
    for wrong in job.directives.wrong_values("mail-type"):
        advice = EVENTS if wrong.instead is None else f"write {wrong.instead}"
        fix = None if wrong.instead is None else Fix(f"write {wrong.instead}", wrong.edits)
        yield Finding(wrong.span, f"{wrong.reason}: sbatch refuses the script, `{wrong.says}`; {advice}", fix=fix)
    for dropped in job.directives.dropped_mail():
        words = " and ".join(f"`{word}`" for word in dropped.words)
        if dropped.after_none:
            yield Finding(dropped.span, f"NONE undoes the rest of the list: no mail is sent on {words}; remove NONE")
            continue
        fix = Fix(f"write {dropped.instead}", dropped.edits) if dropped.instead is not None else None
        advice = EVENTS if dropped.instead is None else f"write {dropped.instead}"
        yield Finding(dropped.span, f"sbatch knows no event {words} and drops it without a word; {advice}", fix=fix)


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --mail-type=BEGIN,END,«REQUE»
        srun ./a.out
        """,
        unsafe_fixed="""\
        #!/bin/bash
        #SBATCH --mail-type=BEGIN,END,REQUEUE
        srun ./a.out
        """,
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --mail-type=«ENDS» --nodes=2
        srun ./a.out
        """,
        unsafe_fixed="""\
        #!/bin/bash
        #SBATCH --mail-type=END --nodes=2
        srun ./a.out
        """,
        title="no word is known: refused",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --mail-type=«END|FAIL»
        srun ./a.out
        """,
        unsafe_fixed="""\
        #!/bin/bash
        #SBATCH --mail-type=END,FAIL
        srun ./a.out
        """,
        title="the separator is a comma",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --mail-type=FAIL,«TIMEOUT»
        srun ./a.out
        """,
        unsafe_fixed="""\
        #!/bin/bash
        #SBATCH --mail-type=FAIL,TIME_LIMIT
        srun ./a.out
        """,
        title="a state of sacct, and no event",
    ),
    Bad("#!/bin/bash\n#SBATCH --mail-type=NONE,«FAIL»\nsrun ./a.out\n", title="behind NONE"),
    Good("#!/bin/bash\n#SBATCH --mail-type=end,Fail,TIME_LIMIT_80\nsrun ./a.out\n", title="any case"),
    Good("#!/bin/bash\n#SBATCH --mail-type=ALL,ARRAY_TASKS,\nsrun ./a.out\n", title="an empty word is none"),
    Good("#!/bin/bash\n#SBATCH --mail-type=NONE\nsrun ./a.out\n"),
]
