"""Tasks of a job array do no work, or work is left out: the indexes do not fit the list, or are unset.

`${FILES[$SLURM_ARRAY_TASK_ID]}` counts from 0. With `--array=1-10` and a list of ten entries the first one is never
used, and the last task gets an empty one; with more tasks than entries every further task starts with an empty value,
on its own allocation. Lists grow and shrink, and the range of the directive is forgotten.

Lines of a file are counted from 1: with `--array=0-9` the first task gets nothing from `sed -n
"${SLURM_ARRAY_TASK_ID}p" list` (sed ends with an error), from `awk NR==$SLURM_ARRAY_TASK_ID` and from `head -n
$SLURM_ARRAY_TASK_ID list | tail -n 1`. Lines are counted if the file is part of the project.

A warning where the other tasks use all entries, so that only the surplus ones fail. Advice where a range is shorter
than the list, and where the work is divided by SLURM_ARRAY_TASK_COUNT, which changes when only some tasks are submitted
again.

Without `--array` SLURM_ARRAY_TASK_ID is empty: `${FILES[$SLURM_ARRAY_TASK_ID]}` is the first entry, and `sed -n
"${SLURM_ARRAY_TASK_ID}p" list` prints all lines, `[ $SLURM_ARRAY_TASK_ID -eq 3 ]` is an error, and in `$((…))` the
index is 0. As the array may come from the command line, this is advice; it is a warning where a directive for an array
is commented out (`##SBATCH --array=1-9`). Nothing is reported where a comment shows or says that the job is an array.

Lists are not reported whose length the script reads, or whose entry it tests or never uses.

## Fix

Writes the range that fits the list, where it is a single range and no other list has an entry for each task, or stops a
script that was not submitted as an array. Unsafe: the list may be what is wrong.

## References

sbatch(1), "--array"; bash(1), "Arrays".
"""

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

from sbatchlint.analysis.directives.near_misses import is_turned_off
from sbatchlint.analysis.expansion.array_elements import several_elements
from sbatchlint.analysis.expansion.reads import (
    TESTS,
    Use,
    enclosing_assignment,
    guarded_names,
    read_names,
    stopping,
    unprepared_reads,
    use_of,
)
from sbatchlint.analysis.expansion.replaced import is_never_read
from sbatchlint.analysis.expansion.sourced import unclear_sources
from sbatchlint.analysis.script.programs import programs
from sbatchlint.analysis.script.submit_lines import is_array_by_command_line, is_said_to_be_array
from sbatchlint.bash.expansion.arithmetic import NotUnderstood, evaluate
from sbatchlint.bash.syntax.tree import Parameter
from sbatchlint.bash.syntax.walk import nodes_of
from sbatchlint.bash.trace import Invocation, VariableRead
from sbatchlint.bash.values import Phase, Pieces, expansions, shown_text, text_of
from sbatchlint.check import Bad, Card, Finding, Fix, Good, Job, Span, insert, replace
from sbatchlint.slurm.directives import Setting
from sbatchlint.slurm.grammar.arrays import Indexes, indexes
from sbatchlint.source import lookups
from sbatchlint.source.numbers import parse_integer
from sbatchlint.source.regex import Regex
from sbatchlint.source.shortening import MOST
from sbatchlint.triggers import Options, Variables

CARD = Card(
    "SB708", "array-index-without-array", severity="error", fix="sometimes", since="0.1.0",
    when=Variables("SLURM_ARRAY_TASK_ID") | Options("array"), seen="public scripts", batch=True,
)  # fmt: skip

_ID = "SLURM_ARRAY_TASK_ID"
_NAME = Regex(r"\$\{?([A-Za-z_]\w*)\}?")
_SUM = Regex(r"\$(?:\(\((.*)\)\)|\[(.*)\])")
_RANGE = Regex(r"([0-9]{1,7})-([0-9]{1,7})(%[0-9]+)?")
_GLOB = Regex(r"[*?[]")
# First entries that only serve to count from 1.
_FILLER = Regex(r"(?i)|0|[-_.x]|none|null|n/?a|zero|dummy|skip|unused|empty|placeholder")
# What follows the index in a test whether there is one.
_POSITIVE = (("-gt", "0"), ("-ge", "0"), ("-ge", "1"))
_NUMERIC = Regex(r" -(?:eq|ne|lt|le|gt|ge)\b")
_LEAVING = frozenset({"exit", "return", "scancel"})
_MOST_STEPS, _MOST_BYTES = 4, 1 << 20
_MOST_TASKS = 500  # for each of which an index is worked out


class Choice(NamedTuple):
    """A list from which each task selects one entry. `subscript`: the expression for it; `read`: where it is read.

    `first`: the first entry of the list, None where it is unknown. `alone`: whether nothing else reads the list.
    """

    name: str
    length: int
    subscript: str
    read: VariableRead
    first: str | None
    alone: bool


class _Names:
    """The values of variables of an expression in one task of the array."""

    def __init__(self, job: Job, task: int, depth: int = 0) -> None:
        self.job, self.task, self.depth = job, task, depth

    def text(self, name: str, index: int | str | None) -> str | None:
        if name == _ID and index is None:
            return str(self.task)
        found = [each for each in self.job.assignments if each.name == name]
        if len(found) != 1 or index is not None or self.depth > _MOST_STEPS:
            raise NotUnderstood(name)
        written = self.job.source.slice(found[0].span).partition("=")[2].strip("\"'")
        value = _value(self.job, written, self.task, self.depth + 1)
        return None if value is None else str(value)

    def assign(self, name: str, index: int | str | None, value: int | None) -> None:
        raise NotUnderstood(name)

    def may_fail(self) -> None:
        """Nothing else is asked of the task then."""

    def key(self, name: str, subscript: str) -> str | None:
        return None


def _value(job: Job, text: str, task: int, depth: int = 0) -> int | None:
    """The value of an index in one task; None where it is unknown."""
    inner = _SUM.fullmatch(text.strip())
    plain = _NAME.sub(r"\1", text if inner is None else inner[1] or inner[2] or "")
    if "$" in plain or "`" in plain:
        return None
    try:
        return evaluate(plain, _Names(job, task, depth))
    except NotUnderstood:
        return None


class Line(NamedTuple):
    """A command that reads the line of a file with the number of the index."""

    command: Invocation

    @property
    def name(self) -> str:
        return shown_text(self.command.argv[-1])

    def number(self, job: Job, task: int) -> int | None:
        """The number of the line in one task; None where it is unknown."""
        words = [_expanded(job, field, task) for field in self.command.argv[1:]]
        return _LINE_NUMBER[self.command.name or ""](words)

    def length(self, job: Job) -> int | None:
        """The number of lines of the file; None where it is not in the project, or too large."""
        path = job.beside.path(self.command, self.command.argv[-1]) if self.command.name != "head" else None
        data = None if path is None else lookups.read(path, _MOST_BYTES)
        if data is None or len(data) == _MOST_BYTES:
            return None
        return data.count(b"\n") + (data[-1:] not in (b"", b"\n"))


def _expanded(job: Job, field: Pieces, task: int) -> str | None:
    """A word with the values of one task; None where one is unknown."""
    found = ""
    for piece in field:
        value = piece.text if piece.text is not None else _value(job, job.source.slice(piece.span), task)
        if value is None:
            return None
        found += str(value)
    return found


def _of_sed(words: list[str | None]) -> int | None:
    quiet = any(word in ("-n", "-ne", "--quiet", "--silent") for word in words)
    script = next((word for word in words if word is None or word[:1] != "-"), None)
    match = None if script is None else (_PRINTED if quiet else _KEPT).fullmatch(script)
    return None if match is None else parse_integer(match[1] or match[2] if not quiet else match[1])


def _of_awk(words: list[str | None]) -> int | None:
    variables: dict[str, str] = {}
    script = None
    for previous, word in zip(["", *words], words, strict=False):
        if word is None:
            return None
        if previous == "-v" or word[:2] == "-v" and len(word) > 2:
            name, _, value = word.removeprefix("-v").partition("=")
            variables[name] = value
        elif word[:1] != "-" and previous != "-F":
            script = word
            break
    match = None if script is None else _RECORD.match(script)
    number = "" if match is None else variables.get(match[1], match[1])
    return parse_integer(number) if number.isdecimal() else None


def _of_head(words: list[str | None]) -> int | None:
    match = _HEAD.match(" ".join(word or "" for word in words[:-1]))
    return None if match is None else parse_integer(match[1])


_PRINTED = Regex(r"\s*(\d{1,7})\s*(?:p|\{\s*p;?\s*(?:q;?)?\s*\}|p;\s*\1q)\s*")
_KEPT = Regex(r"\s*(?:(\d{1,7})\s*q\s*;\s*d|(\d{1,7})\s*!\s*d)\s*")
_RECORD = Regex(r"\s*F?NR\s*==\s*(\w{1,40})\s*(?:\{|$)")
_HEAD = Regex(r"-(?:n\s*)?(\d{1,7})$")
_LINE_NUMBER = {"sed": _of_sed, "awk": _of_awk, "gawk": _of_awk, "mawk": _of_awk, "head": _of_head}


def check(job: Job) -> Iterator[Finding]:
    setting = job.request.setting("array")
    array = None if setting is None else indexes(setting.text)
    if setting is not None and array is not None:
        choices = [*_choices(job)]
        found = (_unfit_range(job, setting, array, choice, choices) for choice in choices)
        lines = (_no_line(job, setting, array, line) for line in _lines(job))
        finding = next((each for each in (*found, *lines) if each is not None), None)
        if finding is not None:
            yield finding
        yield from _by_count(job)
    elif not job.request.has_option("array") and not job.is_embedded:
        yield from _no_array(job)


def _choices(job: Job) -> Iterator[Choice]:
    """The lists of known length from which each task selects an entry."""
    reads = {(each.name, each.span): each for each in job.trace.reads}
    for text, program in programs(job):
        found = nodes_of(program, Parameter)
        measured = {each.name for each in found if each.operator == "length" and each.index is not None}
        for parameter in found:
            if parameter.index is None or parameter.operator or parameter.name in measured:
                continue
            read = reads.get((parameter.name, text.span(parameter.start, parameter.end)))
            if read is None or read.variable is None or read.context.conditional or read.context.guards:
                continue
            known = read.variable.alternatives
            if len(known) != 1 or not read.variable.array or "A" in read.variable.flags or known[0].keys is not None:
                continue
            fields = known[0].fields
            pieces = [piece for field in fields or () for piece in field]
            if fields is None or any(piece.open or _GLOB.search(piece.text or "") for piece in pieces):
                continue
            assigned = enclosing_assignment(job, read.span)
            if assigned is not None and not assigned.exported and assigned.name not in read_names(job):
                continue  # nothing uses the entry
            if assigned is None or assigned.name not in guarded_names(job):
                alone = sum(other.name == parameter.name for other in found) == 1
                subscript = text.string[parameter.index.start : parameter.index.end]
                first = text_of(fields[0]) if fields else None
                yield Choice(parameter.name, len(fields), subscript, read, first, alone)


def _new_range(setting: Setting, first: int, last: int) -> str:
    """A range of indexes for --array, with the limit of running tasks that the directive has."""
    written = _RANGE.fullmatch(setting.text or "")
    return f"{first}-{last}{written[3] or '' if written is not None else ''}"


def _fix(job: Job, setting: Setting, good: str, title: str) -> Fix | None:
    """The fix that writes another range, where the directive has one, as its value is."""
    span = setting.value_place
    if _RANGE.fullmatch(setting.text or "") is None or job.source.slice(span) != setting.text:
        return None
    return Fix(title, [replace(span, good)], safe=False)


def _unfit_range(
    job: Job, setting: Setting, array: Indexes, choice: Choice, choices: list[Choice]
) -> Finding | None:
    """The finding on an array that does not fit a list. `choices`: all lists from which its tasks select."""
    if _ID not in choice.subscript and not any(_ID in job.source.slice(each.span) for each in job.assignments):
        return None
    first, last = (_value(job, choice.subscript, each) for each in (array.minimum, array.maximum))
    if first is None or last is None or first < 0:
        return None
    if last - first != array.maximum - array.minimum:
        return _beyond_parts(job, setting, array, choice)
    shift = array.minimum - first
    if last < choice.length:
        return _too_short(setting, array, choice, first, last)
    missing = array.maximum - max(array.minimum, choice.length + shift) + 1
    many = f"{missing} array tasks get" if missing > 1 else f"array task {array.maximum} gets"
    if _RANGE.fullmatch(setting.text or "") is None:
        many = "the last array tasks get"
    good = _new_range(setting, shift, choice.length - 1 + shift)
    if any(each.length > last and each.subscript == choice.subscript for each in choices):
        good = ""  # another list has an entry for each task
    return _no_entry(job, setting, choice, many, good, all_used=first == 0)


def _no_entry(job: Job, setting: Setting, choice: Choice, many: str, good: str, *, all_used: bool) -> Finding:
    """The finding on tasks without an entry.

    `good`: the range that fits the list, "" where the list is to be completed. `all_used`: whether the other tasks do
    all the work.
    """
    if not choice.length:
        line = job.line(choice.read.span.start)
        message = (
            f"`{choice.name}` is an empty list, so every task gets an empty entry on line {line}; fill in the list"
        )
        return Finding(setting.value_place, message, related=[(choice.read.span, "uses an entry")])
    entries = f"{choice.length} entries (0 to {choice.length - 1})" if choice.length != 1 else "one entry (index 0)"
    return Finding(
        setting.value_place,
        f"`{choice.name}` has {entries}, so {many} an empty one on line {job.line(choice.read.span.start)}; "
        + (f"write `--array={good}`, or complete the list" if good else "complete the list"),
        "warning" if all_used else None,
        related=[(choice.read.span, "uses an entry")],
        fix=_fix(job, setting, good, "match the range to the list") if good else None,
    )


def _beyond_parts(job: Job, setting: Setting, array: Indexes, choice: Choice) -> Finding | None:
    """The finding on entries that are chosen by a part of the index, as in `$((SLURM_ARRAY_TASK_ID / 15))`."""
    if _RANGE.fullmatch(setting.text or "") is None or array.tasks > _MOST_TASKS:
        return None
    if any(each.name in _LEAVING and each.context.conditional for each in job.invocations[: choice.read.order]):
        return None  # a test may have ended the others
    tasks = range(array.minimum, array.maximum + 1)
    values = {task: _value(job, choice.subscript, task) for task in tasks}
    beyond = [task for task, value in values.items() if value is None or value >= choice.length]
    if not beyond or None in values.values() or beyond[0] == array.minimum or beyond != [*tasks][-len(beyond) :]:
        return None
    many = f"array tasks {beyond[0]} to {beyond[-1]} get" if len(beyond) > 1 else f"array task {beyond[0]} gets"
    good = _new_range(setting, array.minimum, beyond[0] - 1)
    all_used = {*values.values()}.issuperset(range(choice.length))
    return _no_entry(job, setting, choice, many, good, all_used=all_used)


def _too_short(setting: Setting, array: Indexes, choice: Choice, first: int, last: int) -> Finding | None:
    """The finding on entries that no task selects, which may be intended."""
    if _RANGE.fullmatch(setting.text or "") is None or array.tasks < 2 or not choice.alone:
        return None
    if first == 0 and last < choice.length - 1:
        unused = f"{last + 1} to {choice.length - 1}" if choice.length - last > 2 else f"{last + 1}"
    elif first == 1 and last == choice.length - 1 and choice.first is not None and not _FILLER.fullmatch(choice.first):
        unused = "0"
    else:
        return None
    good = _new_range(setting, array.minimum - first, array.minimum - first + choice.length - 1)
    return Finding(
        setting.value_place,
        f"`{choice.name}` has {choice.length} entries (0 to {choice.length - 1}), and no task uses {unused}; "
        f"if all are wanted, write `--array={good}`",
        "info",
        related=[(choice.read.span, "uses an entry")],
    )


def _by_count(job: Job) -> Iterator[Finding]:
    """The finding on work divided by the number of tasks, which changes when only some are submitted again."""
    leaving = [str(test) for each in job.invocations if each.name in _LEAVING for test, _ in each.guards]
    tests = [each.span for each in job.invocations if each.name in TESTS]
    for read in unprepared_reads(job):
        if read.name != "SLURM_ARRAY_TASK_COUNT" or read.context.conditional or use_of(job, read).kind in _HARMLESS:
            continue
        held = enclosing_assignment(job, read.span)
        names = {read.name} if held is None else {read.name, held.name}
        if any(name in test for name in names for test in leaving):
            return  # such a part of the array ends at once
        uses = [] if held is None else [each for each in job.trace.reads if each.name == held.name]
        if held is not None and all(use_of(job, each).kind in _HARMLESS for each in uses):
            continue
        if not any(each.start <= read.span.start < each.end for each in tests):
            array = several_elements(job)
            some, number = "7,9", "the number itself"
            if array is not None:
                some = f"{array.minimum},{array.maximum}" if array.tasks > 2 else f"{array.maximum}"
                number = f"{array.tasks}"
            yield Finding(
                read.span,
                f"if only some tasks are resubmitted (`--array={some}`), SLURM_ARRAY_TASK_COUNT changes and the work "
                f"is split differently; write {number} instead",
                "info",
            )
            return


def _lines(job: Job) -> Iterator[Line]:
    """The commands that read a line of a file by the index, unless a test shows that there may be none."""
    commands = [each for each in job.invocations if each.name in _LINE_NUMBER and len(each.argv) > 2]
    if not commands or any(each.name in TESTS and _reads_index(each) for each in job.invocations):
        return
    for command in commands:
        if command.context.conditional or command.phase is not Phase.BATCH or not _reads_index(command):
            continue
        following = job.invocations[command.index + 1 : command.index + 2]
        if command.name == "head" and not (command.piped_to and [other.name for other in following] == ["tail"]):
            continue
        assigned = enclosing_assignment(job, command.span)
        if assigned is None or assigned.name not in guarded_names(job):
            yield Line(command)


def _reads_index(command: Invocation) -> bool:
    return any(each.name == _ID for field in command.argv for each in expansions(field))


def _no_line(job: Job, setting: Setting, array: Indexes, line: Line) -> Finding | None:
    """The finding on an array in which each task reads a line of a file; None where all lines exist."""
    first, last = (line.number(job, each) for each in (array.minimum, array.maximum))
    if first is None or last is None or last - first != array.maximum - array.minimum:
        return None
    shift = array.minimum - first
    row = job.line(line.command.span.start)
    length = line.length(job)
    if first == 0:
        good = _new_range(setting, shift + 1, array.maximum + 1 if length is None else length + shift)
        task = f"task {array.minimum}"
        message = f"{line.command.name} counts lines from 1, so on line {row} {task} of this array gets nothing"
        severity = None
    elif length is not None and 0 < length < last and first <= length:
        good = _new_range(setting, array.minimum, length + shift)
        missing = f"{last - length} tasks get" if last - length > 1 else f"task {array.maximum} gets"
        message = f"`{line.name}` has {length} lines, so {missing} none on line {row}"
        severity = "warning"
    else:
        return None
    is_range = _RANGE.fullmatch(setting.text or "") is not None
    return Finding(
        setting.value_place,
        f"{message}; {f'write `--array={good}`' if is_range else 'match the indexes to the file'}",
        severity,
        related=[(line.command.span, "uses a line")],
        fix=_fix(job, setting, good, "match the range to the file"),
    )


def _no_array(job: Job) -> Iterator[Finding]:
    directives = job.directives
    if not directives.settings or not directives.certain or directives.unread or directives.overriding:
        return
    severity = "warning" if is_turned_off(job, "array") else "info"
    if unclear_sources(job) or is_array_by_command_line(job) or severity == "info" and is_said_to_be_array(job):
        return
    # from there on bash itself ends the script where the index is not set
    first = next((each for each in job.invocations if each.state.options.get("nounset")), None)
    strict = None if first is None else first.span.start
    if first is not None and first.index and job.invocations[first.index - 1].name == "set":
        strict = job.invocations[first.index - 1].span.end
    for read in unprepared_reads(job):
        if read.name != _ID or read.context.conditional or read.operator not in ("", "arithmetic"):
            continue
        use = use_of(job, read)
        if use.kind in ("print", "guard") or _asks_for_array(use) or _is_unused(job, read):
            continue
        if use.command is not None and any(each.startswith("--wrap") for each in use.command.words):
            continue  # it is meant for the job that this command submits (submit-time-expansion)
        if strict is not None and read.span.end > strict:
            continue
        written = job.source.slice(read.span)
        fix = None
        # a job of its own is the first task, unless the index names data below
        default = use.command is not None and use.command.name in TESTS and not _names_data(job)
        if not default and stopping(read)[:3] == "put":
            fix = _stop_before(job, read.span)
        elif re.fullmatch(r"\$SLURM_ARRAY_TASK_ID|\$\{SLURM_ARRAY_TASK_ID\}", written):
            guarded = f"${{{_ID}:-0}}" if default else f"${{{_ID}:?submit with --array}}"
            title = "use 0 if the job is not an array" if default else "stop if the job is not an array"
            fix = Fix(title, [replace(read.span, guarded)], safe=False)
        instead = f"write `${{{_ID}:-0}}`" if default else stopping(read)
        begin = f"{_ID} {_consequence(use)} without --array; add `#SBATCH --array=FIRST-LAST`, or {instead}"
        end = " to stop if it is unset" if "(" in _consequence(use) else " to stop the job if it is unset"
        message = begin if default else f"{begin}{end}"
        message = message if len(message) <= MOST else message.replace(" before this command", " above")
        yield Finding(
            read.span,
            message,
            severity,
            fix=fix,
        )
        return


def _names_data(job: Job) -> bool:
    """Whether the index is read for more than tests and messages."""
    kinds = {use_of(job, each).kind for each in unprepared_reads(job) if each.name == _ID}
    return not kinds <= {"test", "guard", "print"}


def _asks_for_array(use: Use) -> bool:
    """Whether a test asks if the job is an array: `[[ $SLURM_ARRAY_TASK_ID -gt 0 ]]`."""
    words = () if use.command is None or use.kind != "test" else use.command.words
    return any(pair in _POSITIVE for pair in pairwise(words))


def _stop_before(job: Job, place: Span) -> Fix | None:
    """The fix that stops the script, on a line before the statement with a place, where that begins a line."""
    spans = (job.span(each.start, each.end) for each in job.program.statements)
    statement = next((each for each in spans if each.contains(place)), None)
    if statement is None or statement.end > len(job.source.own.text) or job.is_embedded:
        return None
    line = job.source.own.line_of(statement.start)
    indent = job.source.own.text[line.start : statement.start]
    check = f': "${{{_ID}:?submit with --array}}"'
    title = "stop if the job is not an array"
    return None if indent.strip() else Fix(title, [insert(line.start, f"{indent}{check}\n")], safe=False)


def _consequence(use: Use) -> str:
    """What holds of an index that is not set, and what becomes of it."""
    words = [] if use.command is None or use.kind != "test" else use.command.words
    numeric = _NUMERIC.search(" ".join(words)) is not None
    if use.kind == "arithmetic" or numeric and words[0] == "[[":
        return "counts as 0"
    return "is empty (an error here)" if numeric else "is empty"


_HARMLESS = frozenset({"print", "guard", "test"})


def _is_unused(job: Job, read: VariableRead) -> bool:
    """Whether a read only assigns a variable that nothing reads or exports, or that is replaced first."""
    assigned = enclosing_assignment(job, read.span)
    if assigned is None or assigned.exported:
        return False
    return assigned.name not in read_names(job) or is_never_read(job, assigned)


CASES = [
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        set -eu
        module load fsl
        srun ./a.out $SLURM_ARRAY_TASK_ID
        """,
        title="set -u ends the script without an array",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --array=«1-3»
        FILES=(a.fa b.fa c.fa)
        srun ./a.out ${FILES[$SLURM_ARRAY_TASK_ID]}
        """,
        unsafe_fixed={"--array=1-3": "--array=0-2"},
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --array=«1-9%2»
        RATES=(0.1 0.01 0.001)
        number=$((SLURM_ARRAY_TASK_ID - 1))
        srun python train.py --lr "${RATES[$number]}"
        """,
        unsafe_fixed={"--array=1-9%2": "--array=1-3%2"},
        severity="warning",
        title="more tasks than entries",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --ntasks=1
        srun ./a.out "part_«$SLURM_ARRAY_TASK_ID».fa"
        """,
        severity="info",
        unsafe_fixed={'"part_$SLURM_ARRAY_TASK_ID.fa"': '"part_${SLURM_ARRAY_TASK_ID:?submit with --array}.fa"'},
        title="no array here",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --ntasks=1
        sample=$(head -n «$SLURM_ARRAY_TASK_ID» samples.txt | tail -n 1)
        srun ./a.out "$sample"
        """,
        severity="info",
        unsafe_fixed="""\
        #!/bin/bash
        #SBATCH --ntasks=1
        : "${SLURM_ARRAY_TASK_ID:?submit with --array}"
        sample=$(head -n $SLURM_ARRAY_TASK_ID samples.txt | tail -n 1)
        srun ./a.out "$sample"
        """,
        title="`:?` would end only the shell of the substitution",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --array=«0-9»
        sample=$(sed -n "${SLURM_ARRAY_TASK_ID}p" samples.txt)
        srun ./a.out "$sample"
        """,
        unsafe_fixed={"--array=0-9": "--array=1-10"},
        title="there is no line 0",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --array=0-2
        FILES=(a.fa b.fa c.fa)
        srun ./a.out ${FILES[$SLURM_ARRAY_TASK_ID]}
        """
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --array=0-11
        FILES=(a.fa b.fa c.fa)
        RATES=(1 2 3 4)
        srun ./a.out ${FILES[$((SLURM_ARRAY_TASK_ID / 4))]} ${RATES[SLURM_ARRAY_TASK_ID % 4]}
        """,
        title="every pair of two lists",
    ),
    Good(
        """\
        #!/bin/bash
        # sbatch --array=1-9 job.sh
        #SBATCH --ntasks=1
        srun ./a.out "part_$SLURM_ARRAY_TASK_ID.fa"
        """,
        title="a comment says how it is submitted",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --array=0-19
        if [[ $((SLURM_ARRAY_TASK_MAX + 1)) != $SLURM_ARRAY_TASK_COUNT ]]; then
            echo "all of the array, please"
            exit 1
        fi
        srun ./a.out $SLURM_ARRAY_TASK_ID $SLURM_ARRAY_TASK_COUNT
        """,
        title="a part of the array ends at once",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --array=0-19
        parts=$SLURM_ARRAY_TASK_COUNT
        ((parts == 20)) || exit 1
        srun ./a.out $SLURM_ARRAY_TASK_ID $parts
        """,
        title="so it does where a variable holds the number",
    ),
]
