"""The container gets another value: `--container-env` takes names, not `NAME=VALUE`.

pyxis writes each word of the option unchanged into a shell script, as the name of a variable. There `NAME=VALUE` means:
give NAME a default. The program then finds `VALUE=VALUE-` in NAME, or, where the job has the variable already, `VALUE=`
and the job's value. Nothing is printed, and the step runs.

To pass a value, set the variable before srun, and name it: `NAME=VALUE srun --container-env=NAME`. The name is only
needed where the image defines the variable too.

## Fix

Sets the variables before srun, and leaves their names in the option. Unsafe: other steps may be meant to get them too.

## References

README of pyxis; `enroot_create_config()` in pyxis_slurmstepd.c of pyxis 0.20 to 0.24.
"""

from collections.abc import Iterator

from sbatchlint.analysis.containers.pyxis import PyxisOption, pyxis_options
from sbatchlint.bash.values import known_prefix, text_of
from sbatchlint.check import Bad, Card, Edit, Finding, Fix, Good, Job, Span, insert, replace
from sbatchlint.job import Step
from sbatchlint.job.argv import split
from sbatchlint.source.regex import Regex
from sbatchlint.triggers import Options, StepOptions

CARD = Card(
    "SB517", "container-env-with-value", severity="error", fix="sometimes", since="0.1.0",
    when=StepOptions("container-env") | Options("container-env"),
)  # fmt: skip

# An option as written, with one setting that means the same before a command.
SETTING = Regex(r"""(--container-env[= ])(\w+)=((?:"[^"`(]*"|'[^']*'|[\w./:@%+-]|\$\w|\$\{\w+\})*)""")


def check_step(job: Job, step: Step) -> Iterator[Finding]:
    with_values = [(each, found) for each in pyxis_options(step) if (found := _assigned(each))]
    if not with_values:
        return
    options = [each for each, _ in with_values]
    names = list(dict.fromkeys(name for _, found in with_values for name, _ in found))
    name, value = with_values[0][1][0]
    what = f"`{value}={value}-`" if value else "another value"
    more = f", and {len(names) - 1} more too" if len(names) > 1 else ""
    edits = _moved(job, step, options)
    yield Finding(
        options[0].span,
        f"`--container-env` takes only names, so {name} gets {what}{more}; export it before srun, and write "
        f"`--container-env={name}`",
        related=[(each.span, "has a value") for each in options[1:4]],
        fix=None if edits is None else Fix("set the variables before srun", edits),
    )


def _assigned(option: PyxisOption) -> list[tuple[str, str]]:
    """The names with a value, and what is known of the value."""
    if option.name != "container-env" or option.value is None:
        return []
    found: list[tuple[str, str]] = []
    for word in split(option.value, ","):
        name, equals, value = known_prefix(word).partition("=")
        if equals and name.isidentifier():
            found.append((name, "" if text_of(word) is None else value))
    return found


def _moved(job: Job, step: Step, options: list[PyxisOption]) -> list[Edit] | None:
    """Edits that set the variables before the word `srun`, and leave the names after it."""
    place = step.invocation.name_span
    if job.source.slice(place) != "srun" or step.invocation.variables or job.in_quoted_text(place.start):
        return None
    edits, settings = [], []
    for option in options:
        match = SETTING.match(job.source.text, option.span.start)
        if match is None or option.inherited or not 0 <= match.end() - option.span.end <= 1:
            return None
        if not step.invocation.span.start <= match.start() < step.invocation.span.end:
            return None  # in an array that other steps may use too
        settings.append(f"{match[2]}={match[3]} ")
        edits.append(replace(Span(*match.span()), match[1] + match[2]))
    return [insert(place.start, "".join(settings)), *edits]


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        srun --container-image=train.sqsh «--container-env=NCCL_DEBUG=INFO» \\
             --container-env=PYTHONPATH="$PWD/src" python train.py
        """,
        unsafe_fixed="""\
        #!/bin/bash
        #SBATCH --nodes=2
        NCCL_DEBUG=INFO PYTHONPATH="$PWD/src" srun --container-image=train.sqsh --container-env=NCCL_DEBUG \\
             --container-env=PYTHONPATH python train.py
        """,
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        srun --container-image=train.sqsh «--container-env=HF_HOME,NCCL_DEBUG=INFO» python train.py
        """,
        title="one of several",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        export NCCL_DEBUG=INFO
        srun --container-image=train.sqsh --container-env=NCCL_DEBUG,HF_HOME python train.py
        """,
        title="names",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        apptainer exec --env NCCL_DEBUG=INFO train.sif python train.py
        srun --container-image=train.sqsh --container-env=$NAMES python train.py
        """,
        title="apptainer takes values; an unknown list",
    ),
]
