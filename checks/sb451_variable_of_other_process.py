"""A variable is empty, or keeps its old value: it was set in another process, or as a local variable of a function.

`cat list.txt | while read file; do count=$((count + 1)); done` counts in a process of its own, as bash runs each part
of a pipeline in one: after the loop `$count` is what it was before. The same holds for what is set in parentheses, in
the background, in `$(…)`, or by `bash -c` or a script that is run and not sourced. `local OUT=results` ends with its
function.

Advice where the value is only printed.

## Fix

None: `while …; do …; done < list.txt` and `done < <(command)` have no pipeline, `{ …; }` is not a subshell, `source
env.sh` runs a file in the script's own shell.

## References

bash(1), "Pipelines", "COMMAND EXECUTION ENVIRONMENT"
"""

from collections.abc import Iterator

from sbatchlint.analysis.expansion.nobody_sets import is_common_name
from sbatchlint.analysis.expansion.reads import DEFAULTS, assignments_by_name, extends, guarded_names, use_of
from sbatchlint.analysis.expansion.sourced import is_unclear_source
from sbatchlint.bash.trace import VariableAssignment, VariableRead
from sbatchlint.bash.values import Phase
from sbatchlint.check import Bad, Card, Finding, Good, Job
from sbatchlint.slurm.environment import find
from sbatchlint.triggers import Variables

CARD = Card(
    "SB451", "variable-of-other-process", severity="warning", fix="never", since="0.1.0", stage="preview",
    when=Variables("*"),
    batch=True, seen="bash(1), run with bash 5.2",
    unseen="Nothing, or a program that complains of a missing argument.",
)  # fmt: skip

_MOST = 100  # assignments of a variable that are looked at for each of its reads
_WHERE = {
    "subshell": ("in parentheses", "write `{ …; }`"),
    "pipeline": ("in a pipeline", "write `done < <(…)`"),
    "substitution": ("in `$(…)`", "set it outside"),
    "background": ("in the background", "set it before"),
    "program": ("in another process", "source that, or set it here"),
}


def check(job: Job) -> Iterator[Finding]:
    if "lastpipe" in job.text.string or any(is_unclear_source(each) for each in job.invocations):
        return
    seen: set[str] = set()
    for read in job.trace.reads:
        if read.name in seen or not _counts(job, read):
            continue
        lost = _lost(job, read)
        if lost is not None:
            seen.add(read.name)
            where, advice = _where(read, lost)
            line = job.line(lost.span.start)
            old = "is empty here" if read.variable is None else "has its old value here"
            yield Finding(
                read.span,
                f"{read.name} {old}: line {line} sets it {where}, which does not reach this line; {advice}",
                "info" if use_of(job, read).kind == "print" else None,
                related=[(lost.span, "set here")],
            )


def _counts(job: Job, read: VariableRead) -> bool:
    """Whether the batch shell itself reads a variable that only the script sets."""
    context = read.context
    if context.phase is not Phase.BATCH or context.parent is not None or context.handler or context.calls:
        return False
    if read.operator in DEFAULTS or read.name in guarded_names(job) or read.text is not job.text:
        return False
    return not is_common_name(read.name) and find(read.name) is None


def _lost(job: Job, read: VariableRead) -> VariableAssignment | None:
    """The last assignment before a read, where it was made for another process or a function alone."""
    assigned = assignments_by_name(job).get(read.name, [])
    before = [] if len(assigned) > _MOST else [each for each in assigned if each.order <= read.order]
    before = [each for each in before if each.span.end <= read.span.start]
    if not before:
        return None
    last = before[-1]
    enclosing = list(read.context.shell.enclosing_shells())
    if read.variable is None:
        shown = not any(each.context.shell in enclosing and not each.context.calls for each in before)
        return last if shown and last.context.phase is Phase.BATCH and not last.context.handler else None
    outside = last.context.shell not in enclosing and last.context.shell.kind == "pipeline"
    return last if outside and last.context.loops and extends(job, last) else None  # what a loop counts or collects


def _where(read: VariableRead, lost: VariableAssignment) -> tuple[str, str]:
    shell = lost.context.shell
    if shell in read.context.shell.enclosing_shells():
        return f"as a local variable of {lost.context.calls[-1]}", "leave `local` out"
    while shell.parent is not None and shell.parent not in read.context.shell.enclosing_shells():
        shell = shell.parent
    return _WHERE.get(shell.kind, _WHERE["program"])


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --ntasks=1
        count=0
        cat list.txt | while read file; do
            count=$((count + 1))
        done
        srun ./solver --files «$count»
        """,
        title="a loop after a pipe",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --ntasks=1
        (OUT=results; mkdir -p $OUT)
        srun ./solver --out «$OUT» --steps 100
        """,
        title="in parentheses",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --ntasks=1
        prepare() { local out=results; mkdir -p $out; }
        prepare
        srun ./solver --out «$out»
        """,
        title="a local variable",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --ntasks=1
        count=0
        while read file; do
            count=$((count + 1))
        done < list.txt
        (count=1; echo $count)
        ls | while read file; do last=$file; echo $last; done
        prepare() { out=results; mkdir -p $out; }
        prepare
        srun ./solver --out $out --files $count
        """
    ),
]
