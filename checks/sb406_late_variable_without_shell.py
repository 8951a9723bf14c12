r"""A program gets the name of a variable literally: it is left for a later shell, and none follows.

`\$SLURM_NODEID`, or the same in single quotes, is literal text until a shell reads it again. srun does not start a
shell: with `srun $CMD` torchrun gets the words of CMD unchanged, and `$SLURM_NODEID` for its node rank. A shell in the
task does not help where the text comes from a variable (`srun bash -c '$LAUNCHER'`), as a shell never reads the value
of a variable again, or where it is in single quotes there too.

Reported for launchers, Python and simple commands; others (awk, make, scripts) may expand the text themselves. A
warning where the text is only printed, or names the run.

## Fix

`srun $CMD` becomes `srun bash -c "$CMD"`. Safe where CMD is the whole command and contains nothing else that is special
to a shell; unsafe otherwise. Other forms have to be rewritten by hand.

## References

srun(1); bash(1), "EXPANSION"; seen with Slurm 22.05 and 26.05.
"""

from collections.abc import Iterator

from sbatchlint.analysis.expansion.early import is_label
from sbatchlint.analysis.expansion.literal_dollars import LiteralDollar, is_only_logged, literal_dollars
from sbatchlint.bash.syntax.tree import Assignment, Parameter, Simple, Word
from sbatchlint.bash.syntax.walk import nodes_of
from sbatchlint.bash.values import UNKNOWN_CHARACTER, shown_text, span_of
from sbatchlint.check import Bad, Card, Finding, Fix, Good, Job, Span, replace
from sbatchlint.job import Step
from sbatchlint.job.environment import TASK_VARIABLES
from sbatchlint.job.once import once
from sbatchlint.programs import has_trait
from sbatchlint.source.regex import Regex

CARD = Card(
    "SB406", "late-variable-without-shell", severity="error", fix="sometimes", since="0.1.0",
    seen="live runs of Slurm 22.05 and 26.05",
)  # fmt: skip

# Variables, and characters that are not special to a shell.
_HARMLESS = Regex(rf"[\w \t./:=,@%+\-${{}}{UNKNOWN_CHARACTER}]+")


def check(job: Job) -> Iterator[Finding]:
    for dollar in literal_dollars(job):
        step, program, fix = dollar.step, dollar.command.name, None
        message = f"{program} gets `${dollar.name}` literally"
        if step is not None and dollar.has_no_shell:
            message += f", because the srun on line {job.line(step.span.start)} starts it without a shell; "
            if dollar.of_slurm and dollar.name not in TASK_VARIABLES and not dollar.escaped and _is_written_in(dollar):
                message += "put it in double quotes"
            else:
                fix = _shell_around(job, step)
                message += 'run it with `bash -c "…"`'
        elif dollar.escaped:
            continue  # a backslash too many is for over-escaped (SB407)
        elif step is not None and not _is_written_in(dollar):
            message += " because variable values are not expanded again; write it in the task's "
            message += "shell, or use `eval` there"
        elif dollar.of_slurm and not has_trait(program, "prints"):
            message += ", because single quotes keep the shell from expanding it; use double quotes"
        else:
            continue
        related = [] if step is None else [(step.invocation.name_span, "the tasks start here")]
        yield Finding(dollar.span, message, "warning" if _is_only_told(dollar) else None, related, fix)


def _is_only_told(dollar: LiteralDollar) -> bool:
    """Whether the text is only printed to the log, or names the run."""
    argv = dollar.command.argv
    places = [span_of(field) for field in argv]
    at = next((number for number, place in enumerate(places) if place.start <= dollar.dollar.start < place.end), None)
    return is_only_logged(dollar.command) or at is not None and is_label(dollar.command, at)


def _is_written_in(dollar: LiteralDollar) -> bool:
    """Whether the dollar is written in the command itself, and not in the value of a variable."""
    return dollar.command.span.start <= dollar.dollar.start < dollar.command.span.end


@once
def _words_by_place(job: Job) -> dict[Span, tuple[Word | Assignment, ...]]:
    """The words of the script's own commands, by the span of the command."""
    found = [node.words for node in nodes_of(job.program, Simple) if node.words]
    return {job.span(words[0].start, words[-1].end): words for words in reversed(found)}


def _shell_around(job: Job, step: Step) -> Fix | None:
    """`srun $CMD` to `srun bash -c "$CMD"`, where the whole command is one variable; safe where nothing in it
    is special to a shell."""
    invocation = step.invocation
    if step.command is None or invocation.kind or invocation.ancestors():
        return None
    words = _words_by_place(job).get(invocation.span)
    last = None if words is None else words[-1]
    parameter = last.parts[0] if isinstance(last, Word) and len(last.parts) == 1 else None
    if last is None or not isinstance(parameter, Parameter):
        return None
    known = invocation.state.variables.get(parameter.name)
    if parameter.quoted or parameter.operator or parameter.index or known is None or known.array:
        return None
    if len(known.alternatives) != 1 or not known.alternatives[0].fields:
        return None
    value = shown_text(known.alternatives[0].fields[0])
    if len(value.split()) != len(invocation.argv) - step.command or "\n" in value.strip():
        return None
    span = job.span(last.start, last.end)
    safe = _HARMLESS.fullmatch(value) is not None
    return Fix("start it with a shell in the task", [replace(span, f'bash -c "{job.source.slice(span)}"')], safe)


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        CMD="torchrun --nnodes=2 --node_rank=«\\$SLURM_NODEID» --master_addr=$MASTER_ADDR train.py"
        srun --kill-on-bad-exit=1 $CMD
        """,
        fixed={"$CMD": 'bash -c "$CMD"'},
        title="the whole command in a variable",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        ARGS=(--nnodes=2 --node_rank '«$SLURM_NODEID»')
        srun torchrun "${ARGS[@]}" train.py
        """,
        title="an array",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        export LAUNCHER="torchrun --nnodes 2 --node_rank «\\$SLURM_NODEID»"
        srun bash -c '$LAUNCHER train.py'
        """,
        title="in the value of a variable that the task's shell expands",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        CMD="torchrun --nnodes=2 --node_rank=\\$SLURM_NODEID train.py"
        srun bash -c "$CMD"
        export LAUNCHER="torchrun --nnodes 2"
        srun bash -c '$LAUNCHER --node_rank $SLURM_NODEID train.py'
        """,
        title="a shell in the task reads it",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        srun ./run.sh 'torchrun --node_rank=$SLURM_NODEID train.py'
        srun awk -v n=2 '{print $SLURM_NODEID}' data
        """,
        title="a program that may expand it",
    ),
]
