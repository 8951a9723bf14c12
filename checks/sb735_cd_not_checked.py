"""Results are overwritten: the script goes on in the wrong folder if `cd` fails.

In `for n in 1 2 3; do cd /data/run_$n; ./model > out.txt; done` a folder that is missing leaves the shell in that of
the iteration before, and the program overwrites its results. A `cd ..` at the end then goes up from there, so that all
later iterations work in wrong folders. The tasks of an array all fall back on the folder of submission, where they
overwrite each other's files.

Reported for a folder that differs between iterations or tasks, and that the script neither makes nor tests, where the
commands after it change files by relative names or go up again. What only removes files is SB903's.

## Fix

Appends `|| continue` in a loop, and `|| exit 1` in an array. Unsafe: perhaps no other iteration is to run then.

## References

cd in bash(1); https://www.shellcheck.net/wiki/SC2164
"""

from bisect import bisect_right
from collections.abc import Iterator

from sbatchlint.analysis.expansion.array_elements import differs, several_elements
from sbatchlint.analysis.expansion.reads import reads_of
from sbatchlint.analysis.script.pipeline_runs import begun_by
from sbatchlint.analysis.script.work import Weight, weight
from sbatchlint.analysis.storage.made_folders import named_folders
from sbatchlint.analysis.storage.written_paths import operands
from sbatchlint.bash.syntax.tree import ArithmeticFor, For, While
from sbatchlint.bash.syntax.walk import loops_of
from sbatchlint.bash.trace import Invocation
from sbatchlint.bash.values import Phase, shown_text
from sbatchlint.check import Bad, Card, Finding, Fix, Good, Job, Span, insert, shortened
from sbatchlint.job.once import once
from sbatchlint.job.paths import key
from sbatchlint.job.programs import commands_named
from sbatchlint.source.numbers import has_between
from sbatchlint.source.regex import Regex
from sbatchlint.source.text import Nested
from sbatchlint.triggers import Commands

CARD = Card(
    "SB735", "cd-not-checked", severity="warning", fix="sometimes", since="0.1.0", when=Commands("cd"), batch=True,
    seen="ShellCheck's SC2164", unseen="`cd: …: No such file or directory`, and programs that work elsewhere.",
)  # fmt: skip

_CHANGING = frozenset({"mv", "cp", "tee", "sed", "touch"})
_TESTS = frozenset({"[", "[[", "test", "mkdir", "pushd"})
# A loop over what is there: a pattern, or the output of a command that lists folders.
_EXISTING = Regex(r"[*?]|\b(?:ls|find|cat|dirname)\b|`|\$\(")
_ENDS = Regex(r"[ \t]*(?:;(?!;)|#|\n|$)")


def check(job: Job) -> Iterator[Finding]:
    array = several_elements(job)
    for command in commands_named(job, "cd"):
        if len(command.argv) != 2 or command.phase is Phase.SUBMIT:
            continue
        if not _is_unchecked(job, command) or key(command.argv[1]) in named_folders(job):
            continue
        loop = _loop(job, command)
        if loop is None and (array is None or command.context.loops or not differs(job, command.argv[1])):
            continue
        if loop is not None and not _differs_in(job, command, loop):
            continue
        harm = None if _is_tested(job, command, loop) else _harm(job, command, loop)
        if harm is None:
            continue
        where = "another folder" if loop is not None else "the submission folder"
        ends = _ENDS.match(job.source.text, command.span.end)
        advice = "|| continue" if loop is not None else "|| exit 1"
        fix = Fix(f"append {advice}", [insert(command.span.end, f" {advice}")], safe=False) if ends else None
        yield Finding(
            command.span,
            f"if `{shortened(job.source.slice(command.span), 30)}` fails, {harm[0]} in {where}; "
            f"write `{advice}` after that `cd`",
            fix=fix,
            related=[(harm[1].span, "goes on there")],
        )


def _is_unchecked(job: Job, command: Invocation) -> bool:
    """Whether the script certainly goes on if a command fails."""
    run = begun_by(job, command)
    if run is None or run.tested or run.errexit is not False or command.context.tested or command.context.handler:
        return False
    return not command.context.conditional


def _is_tested(job: Job, command: Invocation, loop: For | None) -> bool:
    """Whether something before a command, in its loop if it is in one, tests or makes a folder."""
    start = 0 if loop is None else job.span(loop.start, loop.end).start
    return has_between(_tests(job), start, command.span.start)


@once
def _tests(job: Job) -> list[int]:
    """Where the commands stand that test or make something, sorted."""
    return sorted(each.span.start for each in job.invocations if each.name in _TESTS)


def _loop(job: Job, command: Invocation) -> For | None:
    """The innermost loop around a command, where it is one over a list; None otherwise."""
    at = command.span.start
    innermost = next(_loops(job).around(Span(at, at + 1)), None)
    return innermost if isinstance(innermost, For) and command.context.loops else None


@once
def _loops(job: Job) -> Nested[For | ArithmeticFor | While]:
    """The loops of the script itself, by their places."""
    return Nested((job.span(loop.start, loop.end), loop) for loop in loops_of(job.program))


def _differs_in(job: Job, command: Invocation, loop: For) -> bool:
    """Whether the folder has another name in each iteration, and the loop is not over folders that are there."""
    string = job.text.string
    words = " ".join(string[each.start : each.end] for each in loop.words or ())
    written = job.source.slice(command.span)
    reads = has_between(_reads(job, loop.name), command.span.start, command.span.end)
    return bool(words) and not _EXISTING.search(words) and reads and written.count("$") == 1


@once
def _reads(job: Job, name: str) -> list[int]:
    """Where a variable is read, sorted."""
    return sorted(each.span.start for each in reads_of(job).get(name, ()))


def _harm(job: Job, command: Invocation, loop: For | None) -> tuple[str, Invocation] | None:
    """What happens in the wrong folder, in words, and the command that does it."""
    around = job.span(0, len(job.text.string)) if loop is None else job.span(loop.start, loop.end)
    repeated = around in command.context.loops
    worked = None
    own = _of_shells(job)[id(command.context.shell)]
    for at in range(bisect_right(own, command.index, key=lambda each: each.index), len(own)):
        later = own[at]
        if repeated and around not in later.context.loops:
            break
        if later.kind or not command.span.end <= later.span.start < around.end:
            continue
        if later.name in ("cd", "popd"):
            up = later.name == "cd" and len(later.argv) == 2 and shown_text(later.argv[1]).startswith("..")
            if up and loop is not None:
                return f"`{job.source.slice(later.span)}` goes up, and later iterations work", later
            break
        if weight(job, later) >= Weight.PROGRAM:
            worked = worked or later
        if _changes_here(later) and (worked is not None or later.name in _CHANGING):
            return "the commands after it overwrite files", later
    return None if loop is None or worked is None else (f"`{worked.name}` runs again", worked)


@once
def _of_shells(job: Job) -> dict[int, list[Invocation]]:
    """The commands of each process that runs the script or a part of it, by its identity."""
    found: dict[int, list[Invocation]] = {}
    for command in job.invocations:
        found.setdefault(id(command.context.shell), []).append(command)
    return found


def _changes_here(command: Invocation) -> bool:
    """Whether a command writes to a file with a fixed name in its working folder."""
    overwrites = [each for each in command.redirects if each.operator == ">" and each.fd in (None, "1")]
    names = [key(each.target) for each in overwrites if each.target]
    if command.name in _CHANGING and command.name != "sed":
        names += [each for each in operands(command)[-1:] if not each.startswith("..")]
    return any(name and name[0] not in "/&~" and "$" not in name for name in names)


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        for n in 1 2 3; do
            «cd /data/run_$n»
            srun ./model > out.txt
        done
        """,
        unsafe_fixed={"cd /data/run_$n": "cd /data/run_$n || continue"},
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        for name in alpha beta gamma; do
            «cd $name»
            ./model input.yaml
            cd ..
        done
        """,
        unsafe_fixed={"cd $name": "cd $name || continue"},
        title="and up again",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --array=1-150
        «cd run_$SLURM_ARRAY_TASK_ID»
        ./model < input.txt > out.txt
        """,
        unsafe_fixed={"cd run_$SLURM_ARRAY_TASK_ID": "cd run_$SLURM_ARRAY_TASK_ID || exit 1"},
        title="the tasks of an array",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        for n in 1 2 3; do
            cd /data/run_$n || continue
            srun ./model > out.txt
        done
        """
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        for folder in run_*/; do
            cd $folder
            ./model > out.txt
            cd ..
        done
        """,
        title="folders that are there",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --array=1-150
        mkdir -p run_$SLURM_ARRAY_TASK_ID
        cd run_$SLURM_ARRAY_TASK_ID
        ./model > out.txt
        """,
        title="the script makes it",
    ),
]
