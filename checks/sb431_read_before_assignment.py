"""A variable is empty: it is read before the script assigns it.

In `mkdir -p $OUT; OUT=/scratch/run` the lines are in the wrong order: mkdir gets no operand, and under `set -u`, or
`set -e`, the job ends at once. It often happens when a block is moved, or copied from another script.

Nothing is reported where the script tests the variable or has a default for it, where the new value is made from the
old one, in a script that gets many others from the environment, and in a loop that assigns it later, as its next
iteration sees that: only where an option takes the next one for its value in the first iteration (`--seed $SEED --out
$OUT`). A variable that both the submit environment and the script set is possible, so this is a warning, and advice
after a sourced file that cannot be read here, where the value is only printed, never read, or made anew before it is
used, and where it is only read in the test for a file which then makes no folder (`if [ ! -e $OUT ]`). An error in the
body of a loop whose variable differs in its case only.

## Fix

None: the assignment belongs before the line that reads it.

## References

bash(1), "Parameters"; a review of public scripts.
"""

from collections.abc import Iterator

from sbatchlint.analysis.expansion.nobody_sets import is_common_name, unless_exported, unusual_names
from sbatchlint.analysis.expansion.reach import Reach, reach_of
from sbatchlint.analysis.expansion.reads import (
    DEFAULTS,
    assigned_names,
    assignments_by_name,
    enclosing_assignment,
    extends,
    guarded_names,
    reads_of,
    use_of,
)
from sbatchlint.analysis.expansion.sourced import is_unclear_source
from sbatchlint.bash.syntax.tree import For, Function, If, Simple
from sbatchlint.bash.syntax.walk import nodes_of
from sbatchlint.bash.trace import Context, VariableAssignment, VariableRead
from sbatchlint.bash.values import Phase
from sbatchlint.bash.variables import is_loop
from sbatchlint.check import Bad, Card, Finding, Good, Job, Span
from sbatchlint.job.once import once
from sbatchlint.job.programs import commands_named
from sbatchlint.programs import has_trait
from sbatchlint.source.regex import Regex
from sbatchlint.triggers import Variables

CARD = Card(
    "SB431", "read-before-assignment", severity="error", fix="never", since="0.1.0", when=Variables("*"), batch=True,
    seen="a review of public scripts",
)  # fmt: skip

_OPTION = Regex(r"(?:^|[ \t])--?[A-Za-z][\w-]*[ \t]+\Z")
_NAME = Regex(r"\$\{?([A-Za-z_]\w*)")
_GIVEN = Regex(r"(?m)^[ \t]*#[^\n]{0,200}?\bsbatch\b[^\n]{0,300}?--export[= ]([^\s]+)")
# `[ ! -e $NAME ]`
_FILE_TEST = Regex(
    r"(?P<opening>\[\[?)[ \t]+(?P<negated>!?)[ \t]*-[abcdefghkprsuwxGLNOS][ \t]+"
    r"(?P<quote>\"?)\$\{?(?P<name>\w+)\}?(?P=quote)[ \t]+\]\]?"
)
_WORD = Regex(r"[A-Za-z_]\w*")
_INPUTS = 3  # variables that nothing sets; a script that reads more gets them from where it is submitted
_NEXT_OPTION = Regex(r"[ \t]+(?:\\\n[ \t]*)?--?[A-Za-z]")


def check(job: Job) -> Iterator[Finding]:
    if job.program.errors:
        return  # bash ends there, and what it would have read is a guess
    yield from _of_loop_variables(job)
    later: dict[str, VariableAssignment] = {}
    looped: dict[str, VariableAssignment] = {}
    for assignment in job.assignments:
        if _is_plain(assignment) and not is_common_name(assignment.name):
            later.setdefault(assignment.name, assignment)
        elif _is_in_loop(assignment) and not is_common_name(assignment.name):
            looped.setdefault(assignment.name, assignment)
    later.update((name, assignment) for name, assignment in looped.items() if name not in later)
    branched: dict[str, list[VariableAssignment]] = {}
    for assignment in job.assignments:
        if assignment.name not in later and not is_common_name(assignment.name):
            branched.setdefault(assignment.name, []).append(assignment)
    later.update((name, found[0]) for name, found in branched.items() if _is_made_in_all_branches(job, found))
    if later and len(unusual_names(job)) > _INPUTS:
        return  # the script gets its inputs from the environment, and may do so here too
    first: dict[str, VariableRead] = {}  # those that are only printed where there is no other
    for read in job.trace.reads if later else ():
        if read.name in later and _is_unset(read) and _counts(read):
            place, known = later[read.name].span, first.get(read.name)
            if known is not None and (read.span.start > place.start or not _prints(job, known)):
                continue
            # no iteration of a loop around the read comes after the assignment
            if not any(loop.contains(place) for loop in read.context.loops) or _is_option_value(job, read):
                first[read.name] = read
    for name, read in first.items():
        assignment = later[name]
        if assignment.span.start <= read.span.start or assignment.context.calls != read.context.calls:
            continue
        if name in guarded_names(job) or name in _given_to_sbatch(job) or _is_in_default(job, read):
            continue
        kept = enclosing_assignment(job, read.span)
        if extends(job, assignment) or kept is not None and kept.name == name:
            continue
        if assignment.exported and commands_named(job, "sbatch"):
            continue  # the next job of a chain inherits it
        line = job.line(assignment.span.start)
        sourced = any(is_unclear_source(each) for each in job.invocations[: read.order])
        again = _repeated_after(job, read, assignment)
        if again is not None and kept is not None and _is_read_between(job, kept, again):
            again = None  # what the line makes is needed above its repetition
        advice = "move the assignment above this line"
        if _needs_later(job, later, assignment, read):
            advice = f"move this line below line {line}"
        if _depends_on_loop(job, assignment):
            advice = f"move this line into that loop, below line {line}"
        related = [(assignment.span, "assigned here")]
        if again is not None:
            advice = f"delete this line, which line {job.line(again.start)} repeats"
            related.append((again, "the same again"))
        idle = again is not None and use_of(job, read).kind == "test"  # the same test below decides
        idle = idle or _is_unread(job, kept)
        unless = unless_exported(job, name, read.context.phase)
        test = None if idle else _idle_test(job, read, assignment.span)
        if test is not None:
            idle = True
            tests_again = any(
                each.span.start > assignment.span.end and use_of(job, each).kind == "test"
                for each in reads_of(job).get(name, ())
            )
            advice = f"delete this idle `if`{'' if tests_again else f', or move it below line {line}'}"
        quiet = sourced or idle or _prints(job, read) or reach_of(job, read) is Reach.MESSAGE
        yield Finding(
            read.span,
            f"`{name}` is set only on line {line}, so it is empty here {unless}; {advice}",
            "info" if quiet else "warning",
            related=related,
        )


def _idle_test(job: Job, read: VariableRead, later: Span) -> If | None:
    """The `if` that holds all reads above the assignment, and does nothing where the variable is empty.

    What it would do is to prepare something, such as a folder: what it leaves out is no work.
    """
    string = job.text.string
    for node in nodes_of(job.program, If):
        span = job.span(node.start, node.end)
        if not span.contains(read.span) or len(node.branches) != 1 or node.otherwise or span.end > later.start:
            continue
        condition, body = node.branches[0]
        written = string[condition[0].start : condition[-1].end].rstrip("; \t\n")
        match = _FILE_TEST.fullmatch(written)
        early = (each for each in reads_of(job).get(read.name, ()) if each.span.start < later.start)
        if match is None or match["name"] != read.name or not all(span.contains(each.span) for each in early):
            continue
        # `[ -e ]` is true, as the one word is not empty; `[ -e "" ]` and `[[ -e $NONE ]]` are false
        holds = match["opening"] == "[" and not match["quote"]
        if holds != bool(match["negated"]):
            continue
        commands = nodes_of(body, Simple)
        if all(each.words and has_trait(_name(string, each), "minor", "stages") for each in commands):
            return node
    return None


def _name(string: str, command: Simple) -> str:
    return string[command.words[0].start : command.words[0].end].rpartition("/")[2]


def _is_unread(job: Job, kept: VariableAssignment | None) -> bool:
    """Whether nothing reads what was made of the empty variable, or it is in any case assigned again before."""
    if kept is None or kept.context.calls or kept.context.loops:
        return False
    if kept.exported and kept.name not in _read_in_comments(job):
        return False  # by a program; but a command that was turned off shows what it is for
    start = kept.span.end
    others = (each for each in assignments_by_name(job)[kept.name] if each.span.start > start)
    again = next((each.span.start for each in others if _is_plain(each) and not extends(job, each)), None)
    reads = [each.span.start for each in reads_of(job).get(kept.name, ()) if each.span.start >= start]
    if again is None:
        return not reads and not is_common_name(kept.name)
    return not any(each < again for each in reads)


@once
def _given_to_sbatch(job: Job) -> frozenset[str]:
    """The variables that a comment passes to the job: `# sbatch --export=SEED=3 job.sh`."""
    listed = _GIVEN.findall(job.source.own.text)
    return frozenset(each.partition("=")[0] for words in listed for each in words.strip("\"'").split(","))


@once
def _read_in_comments(job: Job) -> frozenset[str]:
    """The variables that commands which were turned off have, in the script itself: `#srun -n $((N * RANKS)) …`."""
    lines = (each.lstrip() for each in job.source.own.text.split("\n"))
    return frozenset(
        name for line in lines if line[:1] == "#" and line[:2] != "#!" for name in _WORD.findall(line)
    )


def _needs_later(
    job: Job, later: dict[str, VariableAssignment], assignment: VariableAssignment, read: VariableRead
) -> bool:
    """Whether the value is made from others that are assigned after the read, so that it would be wrong above it."""
    others = (later.get(name) for name in _NAME.findall(job.source.slice(assignment.span)))
    return any(each is not None and read.span.end < each.span.start < assignment.span.start for each in others)


def _depends_on_loop(job: Job, assignment: VariableAssignment) -> bool:
    """Whether a value is made from the variable of the `for` around it, so that it would be wrong above the loop."""
    names = set(_WORD.findall(job.source.slice(assignment.span).partition("=")[2]))
    headers = (job.source.slice(each).split(maxsplit=2) for each in assignment.context.loops)
    return any(words[:1] == ["for"] and words[1] in names for words in headers)


def _of_loop_variables(job: Job) -> Iterator[Finding]:
    """Findings on variables that only a later loop sets: `for order in 1 2`."""
    functions = [job.span(each.start, each.end) for each in nodes_of(job.program, Function)]
    loops: dict[str, Span] = {}
    every = [(each.name, job.span(each.start, each.end)) for each in nodes_of(job.program, For)]
    for node in sorted(nodes_of(job.program, For), key=lambda each: each.start):
        span = job.span(node.start, node.end)
        if any(each.contains(span) for each in functions) or node.name in loops:
            continue
        loops[node.name] = span
    for name in loops.keys() - assigned_names(job) - guarded_names(job):
        reads = [each for each in job.trace.reads if each.name == name and each.span.start < loops[name].start]
        unset = [each for each in reads if each.variable is None and _counts(each)]
        read = next((each for each in unset if not _prints(job, each)), unset[0] if unset else None)
        if read is None or is_common_name(name) or read.context.calls or len(name) == 1:
            continue
        if any(loop.contains(loops[name]) for loop in read.context.loops) and not _is_option_value(job, read):
            continue
        sourced = any(is_unclear_source(each) for each in job.invocations[: read.order])
        mild = sourced or _prints(job, read) or reach_of(job, read) is Reach.MESSAGE
        around = (each for each in every if each[1].contains(read.span) and each[0].lower() == name.lower())
        meant = next(around, None)
        advice = "assign it above this line"
        if meant is not None:
            advice = f"write `${meant[0]}`, the variable of the loop on line {job.line(meant[1].start)}"
        yield Finding(
            read.span,
            f"`{name}` is empty here because only the loop on line {job.line(loops[name].start)} sets it; {advice}",
            "info" if mild else "warning" if meant is None else "error",
            related=[(Span(loops[name].start, loops[name].start + len(f"for {name}")), "set here")],
        )


def _is_in_default(job: Job, read: VariableRead) -> bool:
    """Whether a variable is read in the default of another, which may be set: `${BRANCH:-$CURRENT}`."""
    around = (each for each in job.trace.reads if each.operator in DEFAULTS and each.span != read.span)
    return any(each.span.contains(read.span) for each in around)


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


def _is_read_between(job: Job, kept: VariableAssignment, again: Span) -> bool:
    reads = reads_of(job).get(kept.name, ())
    return any(kept.span.end <= each.span.start < again.start for each in reads)


def _is_plain(assignment: VariableAssignment) -> bool:
    """Whether the batch shell makes an assignment in any case, once."""
    context = assignment.context
    return _is_of_batch_shell(context) and not (context.conditional or context.guards or context.loops)


def _is_in_loop(assignment: VariableAssignment) -> bool:
    """Whether the batch shell makes an assignment in each iteration of a loop."""
    context = assignment.context
    if not _is_of_batch_shell(context) or context.calls or not context.loops:
        return False
    return all(is_loop(key) for key, _ in context.guards)


def _is_of_batch_shell(context: Context) -> bool:
    """Whether the batch shell itself does something, and not in a subshell or a trap."""
    own = context.phase is Phase.BATCH and context.parent is None and not context.handler
    return own and context.shell.kind == "script"


def _is_unset(read: VariableRead) -> bool:
    """Whether the shell has not set a variable, in the first iteration of a loop in any case."""
    if read.variable is None:
        return True
    return any(each.fields is None and each.guards and all(is_loop(key) for key, _ in each.guards)
               for each in read.variable.alternatives)  # fmt: skip


def _prints(job: Job, read: VariableRead) -> bool:
    return use_of(job, read).kind == "print"


def _is_option_value(job: Job, read: VariableRead) -> bool:
    """Whether an option takes the next one as its value where the variable is empty: `--seed $SEED --out results`."""
    command, text = use_of(job, read).command, job.source.text
    before, after = text[max(read.span.start - 80, 0) : read.span.start], text[read.span.end : read.span.end + 80]
    return command is not None and _OPTION.search(before) is not None and _NEXT_OPTION.match(after) is not None


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
    if context.phase is not Phase.BATCH or context.parent is not None or context.handler:
        return False
    return read.operator not in DEFAULTS and read.operator not in ("length", "prefix")


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        mkdir -p "«$INPUT»"
        DATA=/scratch/data
        INPUT=$DATA/run1
        srun ./a.out "$INPUT"
        """,
        title="a value that is made from a later one",
        severity="warning",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        mkdir -p «$OUT»
        OUT=/scratch/run
        srun ./solver --out=$OUT
        """,
        severity="warning",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        for mesh in coarse fine; do
            srun ./solver --order «$order» --steps 10 $mesh
        done
        for order in 1 2; do
            srun ./solver --order $order --steps 300 fine
        done
        """,
        title="in the text of an earlier loop",
        severity="warning",
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
