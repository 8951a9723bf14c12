"""A blank beside the `=` of an option cuts it off from its value.

`--time = 5` gives `--time` the value `=` and leaves a word `5` over; `--time= 5` gives it an empty value. Most scripts
are refused at submission for the word that is left over; `--job-name =train` is accepted, and names the job `=train`.

## Fix

Closes the gap. Safe: no value is meant to be a lone `=`.

## References

getopt_long(3); seen on Slurm 22.05, 23.11, 24.11 and 26.05.
"""

from __future__ import annotations

from collections.abc import Iterator

from sbatchlint.check import Bad, Card, Edit, Finding, Fix, Good, Job, Span

CARD = Card("SB108", "space-around-equals", severity="error", fix="sometimes", since="0.1.0")


def check(job: Job) -> Iterator[Finding]:
    text = job.directives.text
    for setting in job.directives.settings:
        tokens = setting.line.tokens
        at = tokens.index(setting.token)
        after = [text.span(token.start, token.end) for token in tokens[at + 1 : at + 3]]
        shown = [job.source.slice(span) for span in after]
        long = setting.written.startswith("--")
        sign = "=" if long else " "
        head = setting.option_span
        if not shown or setting.start + len(setting.written.lstrip("-")) < len(setting.token.text) and not long:
            continue
        takes_value = setting.option is None or setting.option.argument(job.versions[1]) != "none"
        if shown[0] == "=" and takes_value and (setting.separate or setting.value is None):
            # `--time = 5`
            if len(shown) > 1 and shown[1][:1] != "-":
                gap = Edit(Span(head.end, after[1].start), sign)
                yield _finding(job, setting.name, Span(head.start, after[1].end), gap, "=")
            else:
                yield _finding(job, setting.name, Span(head.start, after[0].end), None, "=")
        elif shown[0][:1] == "=" and takes_value and (setting.separate or setting.value is None):
            # `--time =5`
            gap = Edit(Span(head.end, after[0].start + 1), sign)
            yield _finding(job, setting.name, Span(head.start, after[0].end), gap, shown[0])
        elif setting.value == "" and not setting.separate and shown[0][:1] != "-" and setting.value_span is not None:
            # `--time= 5`
            start, end = setting.value_span
            if start == end and job.source.text[start - 1] == "=":
                gap = Edit(Span(end, after[0].start), "")
                yield _finding(job, setting.name, Span(head.start, after[0].end), gap, "")


def _finding(job: Job, name: str, span: Span, gap: Edit | None, value: str) -> Finding:
    shown = f"the value `{value}`" if value else "an empty value"
    fix = None if gap is None else Fix("close the gap", [gap], safe=True)
    message = f"the blank ends the option, so --{name} gets {shown}; write no blanks around the `=`"
    return Finding(span, message, fix=fix)


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
    Good("#!/bin/bash\n#SBATCH --time=5 -n 4 --nodes 2\nsrun ./a.out\n"),
    Good("#!/bin/bash\n#SBATCH --comment '= 5' --job-name=\nsrun ./a.out\n", title="quoted, and empty on purpose"),
]
