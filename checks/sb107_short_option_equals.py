"""An option gets a wrong value: a short option takes no `=`, so `-N=2` asks for `=2` nodes.

getopt reads everything after the letter as the value. Numbers and times are then refused at submission (`"=2" is not a
valid node count`), but names are not: `-J=train` is a job called `=train`, `-o=run.log` writes a file `=run.log`, and
`-p=gpu` asks for a partition `=gpu`; where only the job's name or its logs are misnamed, it is a warning. After a flag
(`-s=1`) getopt reads the `=` as another letter, and refuses it.

## Fix

Replaces the `=` with a space. Nobody means a value that begins with `=`, so this is safe; unsafe after a flag.

## References

getopt(3); seen on Slurm 22.05, 23.11, 24.11 and 26.05.
"""

from collections.abc import Iterator

from sbatchlint.analysis.directives.lost_options import severity_of_loss
from sbatchlint.analysis.directives.typos import SHORT_EQUALS, typo
from sbatchlint.check import Bad, Card, Finding, Fix, Good, Job, Span, remove, replace
from sbatchlint.slurm.directives import UNKNOWN, Directives
from sbatchlint.slurm.rewriting import replacement
from sbatchlint.triggers import Written

CARD = Card(
    "SB107", "short-option-equals", severity="error", fix="sometimes", since="0.1.0", alone=True,
    when=Written("equals"), seen="runs of Slurm 22.05, 23.11, 24.11 and 26.05",
)  # fmt: skip


def check_options(job: Job, block: Directives) -> Iterator[Finding]:
    for setting in block.settings:
        value = setting.value_span
        if value is None or setting.value is None or typo(block, setting) != SHORT_EQUALS:
            continue
        intended = setting.value[1:]
        shown = job.source.slice(value)[1:]
        if block is not job.directives and shown != intended:
            shown = intended if UNKNOWN not in intended else "VALUE"
        optional = setting.option is not None and setting.option.argument(job.versions.last) == "optional"
        space = "" if optional else " "
        fix = None
        if intended:
            edit = replace(Span(value.start, value.start + 1), space)
            plain = job.source.text[value.start] == "="
            if not plain:  # quoted together with its option
                edit, shown = replacement(block, setting, intended), intended
            if plain or block is job.directives:
                fix = Fix("remove the `=`", [edit], safe=True)
        taken = shown if UNKNOWN in intended else intended  # without its quotes
        advice = f"`{setting.written}{space}{shown}`" if intended else f"`--{setting.name}=VALUE`"
        yield Finding(
            Span(setting.option_span.start, value.end),
            f"a short option takes no `=`, so --{setting.name} gets the value `={taken}`; write {advice}",
            severity_of_loss(job, [setting], block),
            fix=fix,
        )
    for problem in block.problems:
        token = problem.token
        if problem.written == "-=" and token is not None and problem.start > 1:
            span = block.text.span(token.offset(problem.start - 1), token.end)
            letter = token.text[problem.start - 1]
            edit = remove(Span(span.start + 1, span.end))
            fix = Fix("remove the `=`", [edit]) if job.source.slice(span)[:2] == f"{letter}=" else None
            message = f"{block.command} refuses -{letter} with `=`: the option takes no value; write -{letter} alone"
            yield Finding(span, message, fix=fix)


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH «-N=2» -n 4
        srun ./a.out
        """,
        fixed={"-N=2": "-N 2"},
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH «-J="my job"»  # its name
        srun ./a.out
        """,
        fixed={'-J="my': '-J "my'},
        title="accepted, as the name `=my job`",
        severity="warning",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH «-o=logs/%j.out»
        #SBATCH «-e=logs/%j.err»
        srun ./a.out
        """,
        fixed={"-o=logs/%j.out": "-o logs/%j.out", "-e=logs/%j.err": "-e logs/%j.err"},
        severity="warning",
    ),
    Good("#!/bin/bash\n#SBATCH -N2 -n 4 -J train --time=10\nsrun ./a.out\n"),
    Good("#!/bin/bash\n#SBATCH -J'=odd'\nsrun ./a.out\n", title="quoted on purpose"),
]
