r"""A program gets the name of a variable literally: there is one backslash too many.

Each backslash before a `$` keeps one shell that reads the string from expanding the variable. In `srun bash -c 'echo
\$SLURM_JOB_ID'` the single quotes already keep the batch shell from it, and the task's shell, which should expand the
variable, passes `$SLURM_JOB_ID` on literally: all nodes write to a folder of that very name. Advice where it is
only printed in the log, or part of a label such as the name of a step. The same happens in the
body of a heredoc with a quoted delimiter, and to lines of the batch script that were copied from inside a string.

`export PYTHONPATH=/opt/tool:\$PYTHONPATH` is no extension: the value ends in the text `$PYTHONPATH`, and what modules
have put there is lost. So it is with `'/opt/tool:$PYTHONPATH'`, as single quotes keep each dollar. A warning, but an
error for PATH, without which no command is found.

## Fix

Removes the backslash. Safe where exactly one shell reads the string and the program uses it as an argument; an `echo`
line that was copied with all its quotes is not changed. Single quotes are not changed either.

## References

bash(1), "QUOTING"; LUMI-AI-Guide, pull request 115; seen with bash 5.2.
"""

import re
from collections.abc import Iterator

from sbatchlint.analysis.expansion.labels import is_in_label
from sbatchlint.analysis.expansion.literal_dollars import is_only_logged, literal_dollars
from sbatchlint.bash.trace import Invocation, VariableAssignment
from sbatchlint.bash.values import UNKNOWN_CHARACTER, Phase, Pieces
from sbatchlint.check import Bad, Card, Finding, Fix, Good, Job, Span, remove
from sbatchlint.programs import has_trait
from sbatchlint.source.regex import Regex

CARD = Card(
    "SB407", "over-escaped", severity="error", fix="sometimes", since="0.1.0", seen="LUMI-AI-Guide, pull request 115"
)

_SEARCH_PATH = Regex(r"\w*PATH")


def check(job: Job) -> Iterator[Finding]:
    yield from _search_paths(job)
    file = job.source.text
    for dollar in literal_dollars(job):
        # where srun starts the program without a shell, that is the fault: late-variable-without-shell (SB406)
        if not dollar.escaped or dollar.has_no_shell:
            continue
        printed = has_trait(dollar.command.name, "prints")
        if dollar.shell is None and printed and not _is_copied(job, dollar.command):
            continue
        span, fix, advice = dollar.span, None, "remove one level of backslashes"
        end = dollar.dollar.end - 1
        start = len(file[:end].rstrip("\\"))
        if end - start in (1, 3):
            # of three, the first shell turns `\\\\` into one, which the last shell then sees before the dollar
            span = Span(start, span.end)
            extra = Span(start, start + (end - start) // 2 + 1)
            if dollar.shell is not None or not printed:
                fix = Fix("remove the backslash", [remove(extra)], safe=True)
                advice = f"write `{file[extra.end : span.end]}`"
        told = printed and is_only_logged(dollar.command) or is_in_label(job, span)
        shell = "the batch shell" if dollar.step is None else "the shell in the task"
        yield Finding(
            span,
            f"{dollar.command.name} gets `${dollar.name}` literally, because {shell} only removes the backslash; "
            f"{advice}",
            "info" if told else None,
            fix=fix,
        )


def _search_paths(job: Job) -> Iterator[Finding]:
    """Findings on search paths that end in the text of their own name, not in the old value."""
    for assignment in job.assignments:
        if not _SEARCH_PATH.fullmatch(assignment.name) or assignment.context.phase is Phase.SUBMIT:
            continue
        for place, escaped in _own_name(job, assignment):
            fix = Fix("remove the backslash", [remove(Span(place.start, place.start + 1))], safe=True)
            kept = "the backslash keeps" if escaped else "single quotes keep"
            yield Finding(
                place,
                f"{kept} `${assignment.name}` as text, so the old value is lost; "
                f"{f'write `${assignment.name}`' if escaped else 'write double quotes'}",
                None if assignment.name == "PATH" else "warning",
                fix=fix if escaped else None,
            )
            break


def _own_name(job: Job, assignment: VariableAssignment) -> Iterator[tuple[Span, bool]]:
    """Where a folder of a search path is the text of its own name, and whether a backslash makes it one."""
    pattern = re.compile(rf"(?:^|(?<=:))\$\{{?{assignment.name}\b(?:\}}|(?=:|$))")
    for field in (field for each in assignment.alternatives for field in each.fields or ()):
        string = "".join(UNKNOWN_CHARACTER if each.expansion else each.text or UNKNOWN_CHARACTER for each in field)
        match = pattern.search(string)
        dollar = None if match is None else next(_places(field, match.start()), None)
        if match is None or dollar is None:
            continue
        escaped = job.source.text[dollar - 1] == "\\"
        if job.source.text.startswith(match[0], dollar):
            yield Span(dollar - escaped, dollar + len(match[0])), escaped


def _places(field: Pieces, index: int) -> Iterator[int]:
    """The place in the file of a character of a word's literal text."""
    for piece in field:
        length = 1 if piece.expansion or piece.text is None else len(piece.text)
        if 0 <= index < length:
            yield piece.offset(index)
        index -= length


def _is_copied(job: Job, command: Invocation) -> bool:
    """Whether the command is `echo \\"text \\$NAME\\"`, which was written for another shell's double quotes."""
    words = job.source.slice(command.span).split(None, 1)
    return len(words) == 2 and words[1].startswith('\\"') and words[1].endswith('\\"')


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        srun bash -c 'mkdir -p /tmp/job-«\\$SLURM_JOB_ID»; python train.py --rank «\\${SLURM_PROCID}»'
        """,
        fixed="""\
        #!/bin/bash
        #SBATCH --nodes=2
        srun bash -c 'mkdir -p /tmp/job-$SLURM_JOB_ID; python train.py --rank ${SLURM_PROCID}'
        """,
        title="in single quotes",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        cat > run.sh <<'EOF'
        torchrun --nnodes=2 --node_rank=«\\$SLURM_NODEID» train.py
        EOF
        srun bash run.sh
        """,
        fixed={"--node_rank=\\$SLURM_NODEID": "--node_rank=$SLURM_NODEID"},
        title="in a heredoc with a quoted delimiter",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        torchrun --nproc_per_node=8 train.py --run-name run-«\\$SLURM_JOB_ID»
        """,
        fixed={"run-\\$SLURM_JOB_ID": "run-$SLURM_JOB_ID"},
        title="in the batch script itself",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        module load paraview
        export PYTHONPATH=/opt/tool/lib:«\\$PYTHONPATH»
        srun python render.py
        """,
        fixed={"PYTHONPATH=/opt/tool/lib:\\$PYTHONPATH": "PYTHONPATH=/opt/tool/lib:$PYTHONPATH"},
        severity="warning",
        title="a search path",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        srun bash -c "python train.py --rank \\$SLURM_PROCID"
        ssh node1 "bash -c \\"echo \\\\\\$SLURM_JOB_ID\\""
        eval "srun bash -c \\"python train.py --rank \\\\\\$SLURM_PROCID\\""
        """,
        title="as many backslashes as there are shells",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        echo "set \\$SLURM_JOB_ID before you start" > README
        echo "use \\$SLURM_JOB_ID"
        srun bash -c "awk '{print \\$SLURM}' data"
        """,
        title="a message; another program's own dollar",
    ),
]
