"""A quote in a directive that is not closed.

sbatch reads quotes as a shell does, within one line: ``fatal: job.sh: line 2: Unmatched `'` in [--comment=don't]``, and
nothing is submitted. An apostrophe is a quote as well.

## Fix

Puts the value with the apostrophe between quotes of the other kind, closes the quote at the end of the value, or
removes one that was never opened. Unsafe: where the value should end is a guess.

## References

`get_argument()` in src/sbatch/opt.c, Slurm 20.11 to 26.05; seen on 22.05 and 26.05.
"""

from __future__ import annotations

from collections.abc import Iterator

from sbatchlint.check import Bad, Card, Finding, Fix, Good, Job
from sbatchlint.triggers import Problems

CARD = Card("SB106", "unmatched-quote", severity="error", fix="sometimes", since="0.1.0", when=Problems())


def check(job: Job) -> Iterator[Finding]:
    text = job.directives.text
    for each in job.directives.open_quotes():
        fix = Fix("mend the quotes", [each.edit]) if each.edit is not None else None
        advice = "close the quote on the same line"
        if each.instead is not None:
            advice = f"write `{_option(text.string, each.start)}{each.instead}`"
        message = f"this quote is not closed on its line, and sbatch refuses the script; {advice}"
        yield Finding(text.span(each.quote, each.end), message, fix=fix)


def _option(string: str, value: int) -> str:
    """What stands in front of a value in its word: `--comment=`."""
    start = value
    while start > 0 and string[start - 1] not in " \t\n":
        start -= 1
    return string[start:value]


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --comment=don«'t»
        srun ./a.out
        """,
        unsafe_fixed="""\
        #!/bin/bash
        #SBATCH --comment="don't"
        srun ./a.out
        """,
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH -J «"my job» --nodes=2  # two
        srun ./a.out
        """,
        unsafe_fixed="""\
        #!/bin/bash
        #SBATCH -J "my job" --nodes=2  # two
        srun ./a.out
        """,
        title="never closed",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --partition=gpu«"»
        srun ./a.out
        """,
        unsafe_fixed="""\
        #!/bin/bash
        #SBATCH --partition=gpu
        srun ./a.out
        """,
        title="never opened",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --job-name=«"train'»
        srun ./a.out
        """,
        unsafe_fixed="""\
        #!/bin/bash
        #SBATCH --job-name="train"
        srun ./a.out
        """,
        title="two kinds of quotes",
    ),
    Bad("#!/bin/bash\n#SBATCH --comment=say=«\"it's\\n»\nsrun ./a.out\n", title="no plain repair"),
    Good("#!/bin/bash\n#SBATCH --comment=\"don't\" -J 'a \"b\"' --account=\"a\"'b'  # it's\nsrun ./a.out\n"),
    Good("#!/bin/bash\n#SBATCH --comment=don\\'t\nsrun ./a.out\n#SBATCH --comment=can't\n", title="escaped; not read"),
]
