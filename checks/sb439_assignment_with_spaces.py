"""A space beside the `=` of an assignment: bash runs a command, and the variable is not set.

`OUT = results` runs a program named `OUT`, `OUT= results` runs one named `results` with an empty OUT, and
`THREADS=-b 32` runs one named `32`; bash finds none of them, and the script goes on without the value. `set
OUT=results`, `set OUT = results` and `setenv OUT results` are csh: bash sets `$1`, or finds no such command.

An error where the script reads the variable, which then is empty or what the login shell has; a warning where it does
not, where only the name of a log or a setting for speed lacks the value, and where a file that cannot be read here is
sourced before, which may have set it; advice where only a message or a label lacks the value, where the same words set
it above, where the value is the variable's own (`setenv OUT "$OUT"`), and where nothing can read it: it would not have
been exported, or is for a program that the job does not start.

## Fix

Takes the spaces away, or writes `NAME=` for `set NAME=`. Unsafe: the variable has a value then. None where the value is
several words, as they may need quotes.

## References

bash(1), "Simple Commands"; seen with bash 5.2: "command not found", exit status 127.
"""

from collections.abc import Iterator

from sbatchlint.analysis.expansion.nobody_sets import is_set_by_site
from sbatchlint.analysis.expansion.program_variables import is_for_programs
from sbatchlint.analysis.expansion.reach import Reach, is_for_absent_program, reach_of_name
from sbatchlint.analysis.expansion.reads import read_names
from sbatchlint.analysis.expansion.sourced import unclear_sources
from sbatchlint.analysis.script.programs import programs
from sbatchlint.bash.syntax.tree import Assignment, Function, Literal, Parameter, Simple, Word
from sbatchlint.bash.syntax.walk import nodes_of, unquoted_text
from sbatchlint.bash.trace import VariableAssignment
from sbatchlint.bash.values import UNKNOWN_CHARACTER, Text
from sbatchlint.check import Bad, Card, Finding, Fix, Good, Job, Span, replace
from sbatchlint.job.once import once
from sbatchlint.source.regex import Regex
from sbatchlint.source.templates import is_templated

CARD = Card(
    "SB439", "assignment-with-spaces", severity="error", fix="sometimes", since="0.1.0", batch=True,
    seen="public scripts, run with bash 5.2",
    unseen="`NAME: command not found` in the log; the variable is empty where it is read.",
)  # fmt: skip

_NAME = Regex(r"[A-Za-z_][A-Za-z0-9_]*")
# What only decides how fast a program is.
_TUNING = Regex(r"\w+_NUM_THREADS\Z|(?:OMP|KMP|GOMP)_")
_SET = Regex(r"([A-Za-z_][A-Za-z0-9_]*)=[^=]*")
# A path, or a value in quotes: no name of a program.
_VALUE = Regex(r"/(?!usr/|bin/|opt/)|\.\./|[\"'$]|-?\d+(?![\w.])")


def check(job: Job) -> Iterator[Finding]:
    if job.interpreter_line[0] not in ("bash", "sh", "zsh", "ksh") or is_templated(job.source.text):
        return
    for text, program in programs(job):
        if text is not job.text or "=" not in text.string and "setenv" not in text.string:
            continue
        functions = {each.name for each in nodes_of(program, Function)}
        for command in nodes_of(program, Simple):
            written = text.string[command.start : command.end]
            if job.ended is not None and command.start >= job.ended:
                continue
            if not command.words or "\n" in written or UNKNOWN_CHARACTER in written:
                continue
            found = _apart(text, command, functions) or _set(text, command, functions) or _run(job, text, command)
            if found is None:
                continue
            name, runs, instead = found
            exports = runs in (_BY_SET, _BY_SETENV) or written.startswith("export")
            span = text.span(command.start, command.end)
            value = text.string[command.words[-1].start : command.words[-1].end].strip('"')
            itself = runs == _BY_SETENV and value in (f"${name}", f"${{{name}}}")  # `setenv SCRATCH "$SCRATCH"`
            same = _same_before(job, name, span, instead)
            kept = itself or same
            # a file that is sourced above may have set it
            sourced = any(each.span.end <= span.start for each in unclear_sources(job))
            again = _set_again(job, name, span)
            idle = same or itself or again is not None
            severity = "info" if idle else _severity(job, name, kept or sourced, exports)
            if severity == "info" and not idle and name in read_names(job) and "/" in (instead or ""):
                severity = "warning"  # a path is for more than the message that shows it
            fix = None if instead is None else Fix(f"write {instead}", [replace(span, instead)], safe=False)
            if runs == _BY_SET:
                words = [text.string[each.start : each.end] for each in command.words[1:]]
                export = "" if name in read_names(job) else "export "  # for a program
                value = words[2] if len(words) == 3 else words[0].partition("=")[2]
                sets = "`$1`" if len(words) == 1 else "`$1`, `$2` and `$3`"
                yield Finding(span, f"in bash this sets {sets}, not {name}; write `{export}{name}={value}`", severity)
                continue
            if itself or again is not None:
                instead, fix = None, None
            advice = f"write `{instead}`" if instead is not None else f"write `{name}=…`, in quotes if it has spaces"
            advice = "remove this line" if itself else advice
            if again is not None:
                advice = f"remove this line, as line {job.line(again.span.start)} sets it"
            effect = f"{name} keeps its value" if kept else f"{name} is not set"
            effect = f"this does not set {name}" if sourced and not kept else effect
            yield Finding(span, f"{runs}, and {effect}; {advice}", severity, fix=fix)


def _severity(job: Job, name: str, kept: bool, exports: bool) -> str:
    """An error where more than a message or a log's name depends on the value, or a program may read it.

    `exports`: the command was to pass it on to programs.
    """
    if kept:
        return "warning"
    if name in read_names(job):
        reach = reach_of_name(job, name)
        return "error" if reach > Reach.LOG else "warning" if reach is Reach.LOG else "info"
    if is_for_absent_program(job, name) or not exports and not is_for_programs(name):
        return "info"
    # with another number of threads, or bound elsewhere, a program computes the same
    return "error" if is_for_programs(name) and _TUNING.match(name) is None else "warning"


def _same_before(job: Job, name: str, place: Span, instead: str | None) -> bool:
    """Whether the variable has this value already: it was assigned in the same words above."""
    above = [each for each in job.assignments if each.name == name and each.span.end <= place.start]
    if not above or instead is None or job.source.slice(above[-1].span) != instead:
        return False
    between = Span(above[-1].span.end, place.start)
    changed = {each.name for each in job.assignments if between.contains(each.span)}
    return changed.isdisjoint(_NAME.findall(instead))


def _set_again(job: Job, name: str, place: Span) -> VariableAssignment | None:
    """The assignment below with which the script in any case sets the variable before it reads it."""
    below = (each for each in job.assignments if each.name == name and each.span.start >= place.end)
    first = next(below, None)
    if first is None or first.context.conditional or first.context.loops or first.context.calls:
        return None
    read = any(each.name == name and place.end <= each.span.start < first.span.end for each in job.trace.reads)
    return None if read else first


def _apart(text: Text, command: Simple, functions: set[str]) -> tuple[str, str, str | None] | None:
    """`NAME = value`, `export NAME = value`."""
    words = [text.string[each.start : each.end] for each in command.words]
    exports = words[0] == "export" and len(words) > 2
    at = 1 if exports else 0
    if command.assignments or len(words) < at + 2 or not _NAME.fullmatch(words[at]) or words[at] in functions:
        return None
    equals = words[at + 1]
    if equals[:1] != "=" or equals[:2] in ("==", "=~") or words[at] in ("echo", "test", "expr", "printf", "let"):
        return None
    value = [equals[1:], *words[at + 2 :]] if len(equals) > 1 else words[at + 2 :]
    instead = f"{'export ' if exports else ''}{words[at]}={value[0]}" if len(value) == 1 else None
    what = "`export` refuses `=`" if exports else f"the space before `=` makes bash run a command `{words[at]}`"
    return words[at], what, instead


_BY_SET, _BY_SETENV = "set", "bash has no `setenv`"


def _set(text: Text, command: Simple, functions: set[str]) -> tuple[str, str, str | None] | None:
    """`set NAME=value`, `set NAME = value` and `setenv NAME value`, as csh has them."""
    name, words = unquoted_text(command.words[0]), [text.string[each.start : each.end] for each in command.words[1:]]
    if name == "setenv" and len(words) == 2 and _NAME.fullmatch(words[0]) and name not in functions:
        return words[0], _BY_SETENV, f"export {words[0]}={words[1]}"
    word = command.words[1] if len(words) in (1, 3) else None
    if name != "set" or not isinstance(word, Word) or not word.parts:
        return None
    first, happens = word.parts[0], _BY_SET
    if len(words) == 3:
        return (words[0], happens, None) if _NAME.fullmatch(words[0]) and words[1] == "=" else None
    match = _SET.match(first.text) if isinstance(first, Literal) and not first.quoted else None
    return None if match is None else (match[1], happens, None)


def _run(job: Job, text: Text, command: Simple) -> tuple[str, str, str | None] | None:
    """`NAME= value`, and `NAME=-x 32`."""
    if len(command.assignments) != 1 or command.redirects or not _is_value(text, command):
        return None
    variable, word = command.assignments[0], command.words[0]
    written = text.string[word.start : command.words[-1].end]
    if not _VALUE.match(written) or not isinstance(word, Word) or variable.index is not None:
        return None
    number = written.split()[0].isdigit()
    if variable.value is not None and not (number and _first(variable)[:1] == "-"):
        return None
    if is_set_by_site(variable.name) or _last_reads(job).get(variable.name, 0) <= command.end:
        return None
    if isinstance(word.parts[0], Parameter) and len(word.parts) == 1:
        return None  # a command in a variable, with another one empty
    given = text.string[variable.start : variable.end]
    value = f"{given.partition('=')[2]} {written}".strip()
    instead = f'{variable.name}="{value}"' if " " in value else f"{variable.name}={value}"
    return variable.name, f"bash runs `{written}` as a command here", instead if '"' not in value[1:-1] else None


@once
def _last_reads(job: Job) -> dict[str, int]:
    """Where each variable is read last."""
    return {read.name: read.start for read in sorted(nodes_of(job.program, Parameter), key=lambda read: read.start)}


def _is_value(text: Text, command: Simple) -> bool:
    """Whether the words are one value, or options with theirs after `NAME=-x`: `32 -n 48`."""
    words = [text.string[each.start : each.end] for each in command.words]
    options = _first(command.assignments[0])[:1] == "-"
    return len(words) == 1 or options and all(each[:1] == "-" or each.isdigit() for each in words)


def _first(assigned: Assignment) -> str:
    part = assigned.value.parts[0] if isinstance(assigned.value, Word) and assigned.value.parts else None
    return part.text if isinstance(part, Literal) else ""


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        «OUT = results»
        srun python train.py --out "$OUT"
        """,
        unsafe_fixed={"OUT = results": "OUT=results"},
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        «OUT= ../results»
        srun python train.py --out "$OUT"
        """,
        unsafe_fixed={"OUT= ../results": "OUT=../results"},
        title="after the sign",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        «SIZE=-n 48»
        srun ./solver $SIZE
        """,
        unsafe_fixed={"SIZE=-n 48": 'SIZE="-n 48"'},
        title="a value of two words",
    ),
    Bad(
        "#!/bin/bash\n#SBATCH --nodes=1\n«set OMP_NUM_THREADS=8»\nsrun ./solver\n",
        severity="warning",
        title="as csh writes it",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        export OUT=results
        LANG= ./solver
        CC= make OUT="$OUT"
        echo = $OUT $LANG
        [ "$OUT" = results ] && set -- "$OUT"
        srun python train.py --out "$OUT"
        """
    ),
]
