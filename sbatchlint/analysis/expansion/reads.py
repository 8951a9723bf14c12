"""What the script uses its variables for, and whether it allows for unset ones."""

from bisect import bisect_left, bisect_right
from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

from sbatchlint.analysis.expansion.labels import is_in_label, only_tells
from sbatchlint.bash.interpreter.redirects import redirects_output
from sbatchlint.bash.trace import Invocation, VariableAssignment, VariableRead
from sbatchlint.bash.values import Phase, Pieces, expansions, span_of, text_of
from sbatchlint.job import Job
from sbatchlint.job.once import once
from sbatchlint.job.programs import commands_named
from sbatchlint.programs import has_trait
from sbatchlint.slurm.environment import find
from sbatchlint.source.regex import Regex
from sbatchlint.source.text import Span

TESTS = frozenset({"[", "[[", "test"})
# Commands that take names of variables.
_NAMING = frozenset({"printenv", "declare", "export", "unset"})
_GUARDING = TESTS | _NAMING
_SETTING = frozenset({"read", "mapfile", "readarray", "getopts", "printf", "export", "declare", "unset"})
# The operators of `${NAME:-default}` and the like.
DEFAULTS = frozenset({":-", "-", ":=", "=", ":?", "?", ":+", "+"})
# `SLURM_…`, and how it is misspelled (`SLRUM_JOB_ID`).
_NAME_OF_SLURM = Regex(r"S[A-Z]{2,6}_[A-Z]")
# How many commands after a read are searched for the one that it belongs to.
_AHEAD = 12
_FAR_AHEAD = 200  # for one of the same shell
# How many variables a value is followed through.
_MOST_HANDED_ON = 4
# How many assignments may begin after the one that encloses a place, in substitutions of its value.
_NESTED = 4


def stopping(read: VariableRead) -> str:
    """The advice to stop the script where a variable is not set: `:?` in a shell of its own ends only that shell."""
    check = f"${{{read.name}:?}}"
    apart = read.context.shell.depth > 0 or read.context.background is not None
    return f"put `: {check}` before this command" if apart else f"write `{check}`"


def nounset_at(job: Job, read: VariableRead) -> bool | None:
    """Whether `set -u` holds in the command that reads a variable, so that bash stops there; None where it may."""
    command = use_of(job, read).command
    if command is None:
        later = job.invocations[read.order : read.order + _FAR_AHEAD]
        command = next((each for each in later if each.context.shell is read.context.shell), None)
    return False if command is None else command.state.option("nounset")


@once
def read_names(job: Job) -> frozenset[str]:
    """The variables that the script reads."""
    return frozenset([each.name for each in job.trace.reads])


class Use(NamedTuple):
    """A read of a variable, and its purpose.

    `kind`: `print` (also: tell somebody, or be part of a label), `test` (a comparison), `guard` (a test whether the
    variable is set), `arithmetic`, `argument` (of `command`), `assignment`, or `other`.
    """

    read: VariableRead
    kind: str
    command: Invocation | None = None


def use_of(job: Job, read: VariableRead) -> Use:
    """The purpose of a read; of one whose value only reaches variables that are printed, it is that they are."""
    use = _direct_use(job, read)
    if use.kind != "assignment" and (use.kind != "argument" or not _is_looked_up(use)):
        return use
    return use._replace(kind="print") if _is_only_shown(job, read) else use


def _is_looked_up(use: Use) -> bool:
    """Whether the read is in a command inside `$(…)` that changes nothing."""
    command = use.command
    return command is not None and bool(command.context.captured) and has_trait(command.name, "looks")


def _is_only_shown(job: Job, read: VariableRead, through: tuple[str, ...] = ()) -> bool:
    """Whether a read is in the value of a variable that is read, and only to be printed, or to set such another.

    `through`: the variables that lead to the read.
    """
    use = _direct_use(job, read)
    if through and use.kind == "print":
        return True
    assigned = enclosing_assignment(job, read.span)
    if assigned is None or assigned.exported or use.kind != "assignment" and not _is_looked_up(use):
        return False
    name = assigned.name
    if name in through:
        return True
    if len(through) == _MOST_HANDED_ON:
        return False
    known, key = _known_as_shown(job), (name, len(through))
    if key not in known:
        reads = [other for other in reads_of(job).get(name, ()) if other.span != read.span]
        known[key] = bool(reads) and all(_is_only_shown(job, other, (*through, name)) for other in reads)
    return known[key]


@once
def _known_as_shown(job: Job) -> dict[tuple[str, int], bool]:
    """Whether a variable is only printed, by its name and the number of variables that lead to it, once it is known."""
    return {}


def is_told_in_place(job: Job, read: VariableRead) -> bool:
    """Whether a read only tells somebody the value where it stands: no program gets it, by an argument or in a file."""
    command = _reading_command(job, read)
    if command is None or read.operator == "arithmetic":
        return False
    if _is_shown_heredoc(command, read):
        return True
    kept = any(
        redirects_output([each]) and (each.target is None or text_of(each.target) not in ("1", "2"))
        for each in command.redirects
    )
    return not (kept or command.context.captured or command.piped_to) and only_tells(job, command)


@once
def reads_of(job: Job) -> dict[str, list[VariableRead]]:
    """The reads of each variable, once per place."""
    found: dict[str, dict[Span, VariableRead]] = {}
    for read in job.trace.reads:
        found.setdefault(read.name, {}).setdefault(read.span, read)
    return {name: list(reads.values()) for name, reads in found.items()}


@once
def first_uses(job: Job) -> dict[str, VariableRead]:
    """The first read of each variable that is more than printed."""
    found = {}
    for name, reads in reads_of(job).items():
        used = next((each for each in reads if use_of(job, each).kind != "print"), None)
        if used is not None:
            found[name] = used
    return found


@once
def assignments_by_name(job: Job) -> dict[str, list[VariableAssignment]]:
    """The assignments of the job itself to each variable."""
    found: dict[str, list[VariableAssignment]] = {}
    for assignment in job.assignments:
        found.setdefault(assignment.name, []).append(assignment)
    return found


def extends(job: Job, assignment: VariableAssignment) -> bool:
    """Whether the new value is made from the old one: `X+=…`, `X="$X …"`."""
    if job.source.text.startswith("+=", assignment.name_span.end):
        return True
    inside = (each for each in reads_in(job, assignment.span) if assignment.span.contains(each.span))
    return any(each.name == assignment.name for each in inside)


def _direct_use(job: Job, read: VariableRead) -> Use:
    """The purpose of a read where it is."""
    if read.operator == "arithmetic":
        return Use(read, "arithmetic")
    command = _reading_command(job, read)
    if command is not None:
        if command.name in TESTS:
            return Use(read, "guard" if command.index in _guards(job) else "test", command)
        if not command.context.captured and (only_tells(job, command) or is_in_label(job, read.span, empty=True)):
            return Use(read, "print", command)
        if _is_shown_heredoc(command, read):
            return Use(read, "print", command)
        return Use(read, "argument", command)
    assigned = enclosing_assignment(job, read.span)
    if assigned is None:
        return Use(read, "other")
    if is_in_label(job, read.span, empty=True):
        return Use(read, "print")
    before = job.source.text[assigned.span.start : read.span.start]
    is_sum = before.rfind("$((") > before.rfind("))") or before.rfind("$[") > before.rfind("]")
    return Use(read, "arithmetic" if is_sum else "assignment")


def _reading_command(job: Job, read: VariableRead) -> Invocation | None:
    """The command whose words hold a read; None if there is none."""
    for command in job.invocations[read.order : read.order + _AHEAD]:
        if command.context.parent is read.context.parent:
            if command.span.contains(read.span) or _is_in_heredoc(job, command, read):
                return command
    return None


def _is_in_heredoc(job: Job, command: Invocation, read: VariableRead) -> bool:
    if command.stdin is None:
        return False
    # what is empty leaves no trace in the text
    return read.span in _heredocs(job)[command.index] or span_of(command.stdin.field).contains(read.span)


@once
def _heredocs(job: Job) -> dict[int, frozenset[Span]]:
    """What is expanded in the heredoc of a command, by the command's index."""
    return {
        command.index: frozenset(each.span for each in expansions(command.stdin.field))
        for command in job.invocations
        if command.stdin is not None
    }


def _is_shown_heredoc(command: Invocation, read: VariableRead) -> bool:
    """Whether `cat` prints the heredoc that a read is in."""
    plain = command.name == "cat" and len(command.argv) == 1 and not command.children
    return plain and not redirects_output(command.redirects) and not command.context.captured


@once
def _guards(job: Job) -> frozenset[int]:
    """The tests that ask whether a variable is set, by their index."""
    return frozenset(command.index for command in commands_named(job, *TESTS) if _asks_whether_set(command))


def _asks_whether_set(test: Invocation) -> bool:
    """Whether `[ … ]` tests if a variable is set: by `-z`, `-n`, by one word with or without `!`, or against "".

    `[ "x$NAME" = x ]` is such a comparison: the other word is what is beside the variable.
    """
    words = test.words
    if not {"-z", "-n", ""}.isdisjoint(words) or sum(word not in ("!", "]", "]]") for word in words) < 3:
        return True
    compared = (at for at, word in enumerate(words) if word in ("=", "==", "!="))
    return any(_differ_by_a_variable(*test.argv[at - 1 : at + 2 : 2]) for at in compared if 1 < at < len(words) - 1)


def _differ_by_a_variable(left: Pieces, right: Pieces) -> bool:
    """Whether two words are the same but for what a variable may add to one of them."""
    written = ["".join(piece.text or "" for piece in word if piece.expansion is None) for word in (left, right)]
    return written[0] == written[1] != "" and not (expansions(left) and expansions(right))


@once
def guarded_names(job: Job) -> frozenset[str]:
    """The variables that the script tests for being set, or has a default for, anywhere."""
    found = {read.name for read in job.trace.reads if read.operator in DEFAULTS}
    reads = job.trace.reads
    orders = [read.order for read in reads]
    for command in commands_named(job, *_GUARDING):
        if command.name in TESTS:
            if "-v" in command.words:
                found.update(command.words)
            if command.index in _guards(job):
                found.update(each.name for field in command.argv for each in expansions(field))
                first, end = bisect_right(orders, command.index - _AHEAD), bisect_right(orders, command.index)
                found.update(read.name for read in reads[first:end] if _reading_command(job, read) is command)
        elif command.name in _NAMING:
            found.update(word for field in command.argv if (word := text_of(field)))
    return frozenset(found)


@once
def assigned_names(job: Job) -> frozenset[str]:
    """The variables that the script sets anywhere, in any way."""
    found = {each.name for each in job.assignments}
    for command in commands_named(job, *_SETTING):
        found.update(word for field in command.argv[1:] if (word := text_of(field)))
    return frozenset(found)


@once
def unprepared_reads(job: Job) -> list[VariableRead]:
    """Reads of variables with a name like Slurm's that the script neither sets nor tests, once per place.

    Variables that every batch script has are left out. The submit environment and sbatch's command line may set more
    than the script shows.
    """
    return unprepared_reads_of(job, _may_be_unset)


@lru_cache(maxsize=1024)  # most scripts read the same names
def _may_be_unset(name: str) -> bool:
    """Whether a name looks like Slurm's, and no release before 26.05 sets it in every batch script."""
    if _NAME_OF_SLURM.match(name) is None:
        return False
    entry = find(name)
    return entry is None or entry.when != "always" or entry.batch <= {"26.05"}


def unprepared_reads_of(job: Job, is_meant: Callable[[str], bool]) -> list[VariableRead]:
    """Reads of unset variables whose names `is_meant` accepts and the script neither sets nor tests, once per place."""
    meant = frozenset(filter(is_meant, read_names(job)))
    found: dict[Span, VariableRead] = {}
    for read in job.trace.reads if meant else ():
        if read.variable is not None or read.name not in meant or read.operator in DEFAULTS:
            continue
        if read.name in assigned_names(job) or read.name in guarded_names(job):
            continue
        if read.context.phase is not Phase.SUBMIT and not read.context.handler:
            found.setdefault(read.span, read)
    return list(found.values())


def enclosing_assignment(job: Job, span: Span) -> VariableAssignment | None:
    """The innermost assignment around a place; None if there is none."""
    starts, assigned = _assignments(job)
    end = bisect_right(starts, span.start)
    for assignment in reversed(assigned[max(end - _NESTED, 0) : end]):
        if span.end <= assignment.span.end:
            return assignment
    return None


@once
def _assignments(job: Job) -> tuple[list[int], list[VariableAssignment]]:
    """All assignments in order of place: their starts, and the assignments themselves."""
    assigned = sorted(job.assignments, key=lambda each: each.span)
    return [each.span.start for each in assigned], assigned


def holder_of(job: Job, command: Invocation, word: Pieces) -> VariableRead | None:
    """The read in a command by which it gets a word, or a part of it; None where it is there itself."""
    places = {(piece.start, piece.end) for piece in word}
    for read in reads_in(job, command.span):
        if command.span.contains(read.span) and read.variable is not None:
            values = (piece for each in read.variable.alternatives for field in each.fields or () for piece in field)
            if any((piece.start, piece.end) in places for piece in values):
                return read
    return None


def reads_in(job: Job, span: Span) -> list[VariableRead]:
    """The reads that begin in a place, in the order in which they run."""
    starts, rows = _reads_by_place(job)
    found = sorted(rows[bisect_left(starts, span.start) : bisect_right(starts, span.end)])
    return [job.trace.reads[row] for row in found]


@once
def _reads_by_place(job: Job) -> tuple[list[int], list[int]]:
    """Where each read begins, in order, and which one in the trace it is."""
    found = sorted((read.span.start, row) for row, read in enumerate(job.trace.reads))
    return [start for start, _ in found], [row for _, row in found]
