"""An option is misread: a long option begins with two dashes, not with one or three.

`-nodes=2` is `-n odes=2` to sbatch. Usually that is refused, with a message about another option (`-mem=4G`: `Invalid
--distribution specification`); but `-output=run.log` is accepted, and writes a file `utput=run.log`, which is a
warning. `srun -pty` in a job is only advice: srun takes it for a partition, which a step ignores, and a batch job has
no terminal to give to its program. `---gres=gpu:1` is an unknown option.

## Fix

Writes two dashes. Safe: no value is meant to be the rest of an option's name. Removes `-pty`.

## References

getopt_long(3); seen on Slurm 22.05 and 26.05.
"""

from collections.abc import Iterator

from sbatchlint.analysis.directives.lost_options import are_only_told
from sbatchlint.analysis.directives.typos import dashed
from sbatchlint.bash.values import Phase
from sbatchlint.check import Bad, Card, Finding, Fix, Good, Job, Span, remove, replace
from sbatchlint.slurm.directives import Directives
from sbatchlint.slurm.model import Problem, Setting
from sbatchlint.triggers import Written

CARD = Card(
    "SB109", "single-dash-option", severity="error", fix="always", since="0.1.0", alone=True,
    when=Written("dashes"), seen="runs of Slurm 22.05 and 26.05",
)  # fmt: skip


def check_options(job: Job, block: Directives) -> Iterator[Finding]:
    text = block.text
    written: list[Setting | Problem] = [*block.settings, *block.problems]
    for option in written:
        token = option.token
        if token is None or option.written.startswith("--") and not option.written.startswith("---"):
            continue
        name = dashed(token.text, block.command)
        if name is None:
            continue
        dashes = len(token.text) - len(token.text.lstrip("-"))
        span = text.span(token.start, token.offset(dashes + len(name)))
        word = token.text[: dashes + len(name)]
        if job.source.slice(span) != word:
            continue  # it contains quotes or backslashes
        effect, severity = f"{block.command} has no option {word}", None
        if dashes == 1 and isinstance(option, Setting):
            rest = token.text[2:]
            if len(rest) > 30 and "=" in rest:
                rest = rest.partition("=")[0] + "=…"
            effect = f"{block.command} reads {word} as `{token.text[:2]} {rest}`"
            # a step of a job runs in the partition of the job, whatever it says
            in_job = block.command == "srun" and option.name == "partition" and job.phase is Phase.BATCH
            severity = "info" if in_job else "warning" if are_only_told((name, option.name)) else None
            if in_job and name == "pty":
                message = f"{effect}, and a step ignores its partition; remove it, as a batch job has no terminal"
                yield Finding(span, message, severity, fix=_removal(job, span))
                continue
        fix = Fix("write two dashes", [replace(span, f"--{name}")], safe=True)
        yield Finding(span, f"{effect}; write --{name}, with two dashes", severity, fix=fix)


def _removal(job: Job, span: Span) -> Fix | None:
    """The fix that removes a word with the space before it."""
    start = span.start
    if job.source.slice(Span(start - 1, start)) != " ":
        return None
    return Fix("remove it", [remove(Span(start - 1, span.end))], safe=True)


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH «-nodes»=2 «-time» 10  # minutes
        srun ./a.out
        """,
        fixed={"-nodes=2 -time": "--nodes=2 --time"},
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH «---gres»=gpu:1
        srun ./a.out
        """,
        fixed={"---gres=gpu:1": "--gres=gpu:1"},
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH «-output»="my run.log"
        srun ./a.out
        """,
        fixed={'-output="my': '--output="my'},
        severity="warning",
        title="accepted, as a file `utput=my run.log`",
    ),
    Good("#!/bin/bash\n#SBATCH -n4 -t30 -Jtrain -ologs/%j.out -HN2\nsrun ./a.out\n", title="values and clusters"),
    Good("#!/bin/bash\n#SBATCH -J -nodes --comment='-time'\nsrun ./a.out\n", title="values"),
]
