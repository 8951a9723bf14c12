"""A variable is empty: it is read before the script assigns it.

In `mkdir -p $OUT; OUT=/scratch/run` the lines are in the wrong order: mkdir gets no operand, and under `set -u`, or
`set -e`, the job ends at once. It often happens when a block is moved, or copied from another script.

Nothing is reported where the script tests the variable or has a default for it, where the new value is made from the
old one, and in loops, whose next iteration sees what the last one has assigned. A variable that both the submit
environment and the script set is possible, so this is a warning, and advice after a sourced file that cannot be read
here, or where the value is only printed.

## Fix

None: the assignment belongs before the line that reads it.

## References

bash(1), "Parameters"; a review of public scripts.
"""

from collections.abc import Iterator

from sbatchlint.analysis.expansion.nobody_sets import is_common_name
from sbatchlint.analysis.expansion.reads import DEFAULTS, enclosing_assignment, guarded_names, use_of
from sbatchlint.analysis.expansion.sourced import is_unclear_source
from sbatchlint.bash.syntax.tree import If
from sbatchlint.bash.syntax.walk import nodes_of
from sbatchlint.bash.trace import VariableAssignment, VariableRead
from sbatchlint.bash.values import Phase
from sbatchlint.check import Bad, Card, Finding, Good, Job, Span
from sbatchlint.job.programs import commands_named
from sbatchlint.triggers import Variables

CARD = Card(
    "SB431", "read-before-assignment", severity="warning", fix="never", since="0.1.0", when=Variables("*"), batch=True,
    seen="a review of public scripts",
)  # fmt: skip


def check(job: Job) -> Iterator[Finding]:
    later: dict[str, VariableAssignment] = {}
    for assignment in job.assignments:
        if _is_plain(assignment) and not is_common_name(assignment.name):
            later.setdefault(assignment.name, assignment)
    branched: dict[str, list[VariableAssignment]] = {}
    for assignment in job.assignments:
        if assignment.name not in later and not is_common_name(assignment.name):
            branched.setdefault(assignment.name, []).append(assignment)
    later.update((name, found[0]) for name, found in branched.items() if _is_made_in_all_branches(job, found))
    first: dict[str, VariableRead] = {}
    for read in job.trace.reads if later else ():
        if read.name in later and read.variable is None and read.name not in first and _counts(read):
            first[read.name] = read
    for name, read in first.items():
        assignment = later[name]
        if assignment.span.start <= read.span.start or assignment.context.calls != read.context.calls:
            continue
        if name in guarded_names(job):
            continue
        if _is_made_from(job, assignment, read) or assignment.exported and commands_named(job, "sbatch"):
            continue  # the next job of a chain inherits it
        kind = use_of(job, read).kind
        line = job.line(assignment.span.start)
        sourced = any(is_unclear_source(each) for each in job.invocations[: read.order])
        again = _repeated_after(job, read, assignment)
        advice = "move the assignment above this line"
        related = [(assignment.span, "assigned here")]
        if again is not None:
            advice = f"delete this line, which line {job.line(again.start)} repeats"
            related.append((again, "the same again"))
        yield Finding(
            read.span,
            f"{name} is empty here because it is assigned only on line {line}; {advice}",
            "info" if sourced or kind == "print" else "warning",
            related=related,
        )


def _repeated_after(job: Job, read: VariableRead, assignment: VariableAssignment) -> Span | None:
    """The line after an assignment that says the same as the line of an early read, which was left there."""
    text, place = job.source.own.text, job.source.own.line_of(read.span.start)
    written = text[place.start : place.end].strip()
    at = assignment.span.end
    while len(written) > len(read.name) + 2 and (at := text.find(written, at)) >= 0:
        line = job.source.own.line_of(at)
        if text[line.start : line.end].strip() == written:
            return Span(at, at + len(written))
        at += len(written)
    return None


def _is_plain(assignment: VariableAssignment) -> bool:
    """Whether the batch shell makes an assignment in any case, once."""
    context = assignment.context
    if context.phase is not Phase.BATCH or context.parent is not None or context.handler:
        return False
    return not context.conditional and not context.guards and not context.loops and context.shell.kind == "script"


def _is_made_in_all_branches(job: Job, assignments: list[VariableAssignment]) -> bool:
    """Whether these are the assignments of both branches of an `if` of the script itself."""
    if len(assignments) != 2 or any(each.text is not job.text for each in assignments):
        return False
    places = [each.name_start for each in assignments]
    for node in nodes_of(job.program, If):
        arms = [body for _, body in node.branches] + [node.otherwise or ()]
        if len(arms) == 2 and all(arms):
            inside = [arm[0].start <= at < arm[-1].end for arm, at in zip(arms, places, strict=True)]
            contexts = [each.context for each in assignments]
            if all(inside):
                return not any(each.loops or each.calls or each.parent or each.handler for each in contexts)
    return False


def _counts(read: VariableRead) -> bool:
    """Whether the batch shell itself reads the variable, in any case, and before anything else could set it."""
    context = read.context
    if context.phase is not Phase.BATCH or context.parent is not None or context.handler or context.loops:
        return False
    return read.operator not in DEFAULTS and read.operator not in ("length", "prefix")


def _is_made_from(job: Job, assignment: VariableAssignment, read: VariableRead) -> bool:
    """Whether the new value is made from the old one, or from what is read with it."""
    inner = enclosing_assignment(job, read.span)
    if job.source.text.startswith("+=", assignment.name_span.end):
        return True
    return any(
        each.name == assignment.name and assignment.span.contains(each.span) for each in job.trace.reads
    ) or inner is not None and inner.name == assignment.name


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        mkdir -p «$OUT»
        OUT=/scratch/run
        srun ./solver --out=$OUT
        """
    ),
    Good("#!/bin/bash\n#SBATCH --nodes=1\nOUT=/scratch/run\nmkdir -p $OUT\nsrun ./solver --out=$OUT\n"),
    Good("#!/bin/bash\n#SBATCH --nodes=1\nmkdir -p ${OUT:-out}\nOUT=/scratch/run\n", title="with a default"),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        echo "binds: $BINDS, options: $OPTIONS"
        ./prepare $LIST $COUNT
        BINDS+=" -B $SLURM_SUBMIT_DIR"
        export OPTIONS+=" --verbose"
        LIST="$LIST last" COUNT=$((COUNT + 1))
        apptainer exec $BINDS solve.sif ./solver $OPTIONS $LIST $COUNT
        """,
        title="something is added to what the submitting environment sets",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        for part in 1 2 3; do
            srun ./solver $part $LAST
            LAST=out.$part
        done
        """,
        title="in a loop",
    ),
]
