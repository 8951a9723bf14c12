"""An option loses its value: there is a space next to its `=`.

`--time = 5` gives `--time` the value `=` and leaves a stray word `5`; `--time= 5` gives it an empty value. Most scripts
are refused at submission for the stray word; `--job-name =train` is accepted, and names the job `=train`: a warning.

## Fix

Closes the gap. Safe: no value is meant to be a lone `=`.

## References

getopt_long(3); seen on Slurm 22.05, 23.11, 24.11 and 26.05.
"""

from collections.abc import Iterator

from sbatchlint.analysis.directives.lost_options import severity_of_loss
from sbatchlint.analysis.directives.placeholders import enclosing_placeholder
from sbatchlint.analysis.directives.typos import gap_at_equals
from sbatchlint.check import Bad, Card, Finding, Fix, Good, Job, Span, replace
from sbatchlint.triggers import Written

CARD = Card(
    "SB108", "space-around-equals", severity="error", fix="sometimes", since="0.1.0", alone=True,
    when=Written("equals"), seen="runs of Slurm 22.05, 23.11, 24.11 and 26.05",
)  # fmt: skip


def check(job: Job) -> Iterator[Finding]:
    text = job.directives.text
    for setting in job.directives.settings:
        gap = gap_at_equals(job.directives, setting)
        if gap is None:
            continue
        value = f"the value `{gap.value}`" if gap.value else "an empty value"
        advice, fix = "write no spaces around the `=`", None
        if gap.end is not None and enclosing_placeholder(text.string, gap.end, gap.end, setting.line.end) is not None:
            advice = "write the value right after it, without a space"
        elif gap.end is not None:
            option = f"--{setting.name}" if setting.written[:2] == "--" else setting.written  # in full
            advice = f"write `{option}{gap.sign or '='}{text.string[gap.end : gap.last]}`"
            fix = Fix("remove the spaces", [replace(text.span(gap.start, gap.end), gap.sign)], safe=True)
        span = Span(setting.option_span.start, text.span(gap.start, gap.last).end)
        # What stands after a value that is taken is a stray word, for which sbatch refuses the script.
        is_accepted = setting.value_token is not None and setting.value_token.end == gap.last
        severity = severity_of_loss(job, [setting]) if is_accepted else None
        yield Finding(span, f"the space ends the option, so --{setting.name} gets {value}; {advice}", severity, fix=fix)


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH «--time = 5»
        srun ./a.out
        """,
        fixed="""\
        #!/bin/bash
        #SBATCH --time=5
        srun ./a.out
        """,
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1 «--ntasks =4»  # tasks
        srun ./a.out
        """,
        fixed="""\
        #!/bin/bash
        #SBATCH --nodes=1 --ntasks=4  # tasks
        srun ./a.out
        """,
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH «--output= "logs/my run.out"»
        srun ./a.out
        """,
        fixed="""\
        #!/bin/bash
        #SBATCH --output="logs/my run.out"
        srun ./a.out
        """,
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH «-t = 5»
        srun ./a.out
        """,
        fixed="""\
        #!/bin/bash
        #SBATCH -t 5
        srun ./a.out
        """,
    ),
    Bad("#!/bin/bash\n#SBATCH «--account= <your» project>\nsrun ./a.out\n", title="a placeholder of two words"),
    Good("#!/bin/bash\n#SBATCH --time=5 -n 4 --nodes 2\nsrun ./a.out\n"),
    Good("#!/bin/bash\n#SBATCH --comment '= 5' --job-name=\nsrun ./a.out\n", title="quoted, and empty on purpose"),
]
