"""A shell builtin does nothing: it is outside a loop or a function, or gets nothing to set.

`break` and `continue` outside a loop print "only meaningful in a loop" and succeed: the script goes on, often without
the input whose absence it has just found. In a subshell, `[ -f $x ] || (echo "no $x"; continue)`, and in an element of
a pipeline they do not reach the loop around it either, which goes on with the same item; nor, since bash 4.4, in a
function. `local OUT=results` outside a function fails, and OUT is not set. After `unset OUT=1` bash still has OUT.
`set -o` and `set -euo` without the name of an option print all options.

An error for a variable that the script reads, which is empty then, or whose loss ends the script under `set -e`;
otherwise a warning.

## Fix

Removes `local`, or the value after `unset`. Unsafe: the variable has a value then, or none. None for the others: write
`exit` where the script should end, and `{ …; }` for parentheses.

## References

bash(1), "SHELL BUILTIN COMMANDS"; bash 4.4, CHANGES ("a function, it can't break or continue a loop"); runs of bash 5.2
"""

from collections.abc import Iterator

from sbatchlint.analysis.expansion.reads import read_names
from sbatchlint.bash.syntax.tree import (
    Assignment,
    Background,
    CommandSubstitution,
    Function,
    Group,
    Pipeline,
    ProcessSubstitution,
    Simple,
)
from sbatchlint.bash.syntax.walk import loops_of, nodes_of, unquoted_text
from sbatchlint.bash.trace import Invocation
from sbatchlint.bash.values import shown_text, span_of
from sbatchlint.check import Bad, Card, Finding, Fix, Good, Job, Span, remove, shortened
from sbatchlint.job.once import once
from sbatchlint.job.programs import commands_named
from sbatchlint.source.text import Nested
from sbatchlint.triggers import Commands, Variables

CARD = Card(
    "SB446", "builtin-out-of-place", severity="error", fix="sometimes", since="0.1.0",
    when=Commands("break", "continue", "set", "unset") | Variables("*"), seen="public scripts, run with bash 5.2",
    batch=True,
    unseen="`only meaningful in a loop` or `can only be used in a function` in the log.",
)  # fmt: skip

# What runs in a process of its own.
_PROCESSES: tuple[type[Background | CommandSubstitution | ProcessSubstitution], ...] = (
    Background, CommandSubstitution, ProcessSubstitution,
)  # fmt: skip
# What may be between a command and a loop around it.
_BETWEEN = {"subshell": "in parentheses", "pipeline": "in a pipeline", "function": "in a function"}


def check(job: Job) -> Iterator[Finding]:
    for command in commands_named(job, "break", "continue"):
        yield from _of_loops(job, command)
    for command in commands_named(job, "unset") if job.interpreter_line[0] == "bash" else ():
        yield from _unset(command)
    for command in commands_named(job, "set") if job.interpreter_line[0] == "bash" else ():
        yield from _set(command)
    if "local" in job.text.string and job.interpreter_line[0] in ("bash", "sh"):
        yield from _local(job)


def _set(command: Invocation) -> Iterator[Finding]:
    """The finding on `set -o` without the name of an option."""
    last = command.words[-1]
    shown = command.piped_to or command.context.captured or bool(command.redirects) or command.kind
    if shown or len(last) < 2 or last[0] != "-" or last[-1] != "o" or not last[1:].isalpha():
        return
    if all(each[:1] == "-" for each in command.words[1:]):
        message = f"`set {last}` names no option after the `o`, so it only prints them; add `pipefail`, or remove it"
        yield Finding(command.span, message, "warning")


def _of_loops(job: Job, command: Invocation) -> Iterator[Finding]:
    """The finding on `break` and `continue` that do not leave a loop."""
    context = command.context
    if command.kind or context.parent is not None or context.handler or command.calls_function:
        return
    around = _around(job, command.span)
    if around is None:
        return
    between, in_loop = around
    if between == "function" and context.loops:
        return  # bash before 4.4 leaves the loop
    if in_loop:
        message = f"`{command.name}` {_BETWEEN[between]} does not reach the loop, which goes on with this item"
        advice = "; write `{ …; }`" if between == "subshell" else ""
        yield Finding(command.span, message + advice, "warning")
    elif not context.captured:
        what = "write `exit`" if context.conditional or command.guards else "remove it"
        message = f"`{command.name}` outside a loop only prints an error, and the script goes on; {what}"
        severity = "warning"
        if command.redirects:  # which empties a file: `break > list.txt`
            message = f"`{command.name}` outside a loop prints an error; {_without(command)}"
            severity = "info"
        yield Finding(command.span, message, severity)


def _without(command: Invocation) -> str:
    """What to write for a command whose redirects are all that it does."""
    redirect = command.redirects[-1]
    if redirect.operator not in (">", ">|") or not redirect.target:
        return "write `:` instead"
    return f"to empty the file, write `: > {shortened(shown_text(redirect.target))}`"


def _unset(command: Invocation) -> Iterator[Finding]:
    """Findings on `unset NAME=value`, which bash passes over (dash removes NAME)."""
    for field, word in zip(command.argv[1:], command.words[1:], strict=True):
        name, equals, value = word.partition("=")
        if equals and name.isidentifier() and len(field) == 1 and field[0].expansion is None:
            end = span_of(field).start + len(name)
            fix = Fix(f"unset {name}", [remove(Span(end, end + 1 + len(value)))], safe=False)
            message = f"`unset` takes a name without a value, so {name} keeps its value; write `unset {name}`"
            yield Finding(span_of(field), message, "warning", fix=fix)


def _local(job: Job) -> Iterator[Finding]:
    """Findings on `local` outside functions."""
    for command in nodes_of(job.program, Simple):
        if not command.words or unquoted_text(command.words[0]) != "local":
            continue
        if job.ended is not None and command.start >= job.ended:
            continue
        assigned = next((each for each in command.words if isinstance(each, Assignment)), None)
        span = job.span(command.start, command.end)
        if assigned is None or "function" in _places(job).around(span):
            continue
        name = assigned.name
        fix = Fix("remove local", [remove(job.span(command.start, assigned.start))], safe=False)
        message = f"`local` outside a function fails, and {name} is not set; write `{name}=…`"
        yield Finding(span, message, None if name in read_names(job) else "warning", fix=fix)


def _around(job: Job, place: Span) -> tuple[str, bool] | None:
    """What is between a place and the loop around it, and whether there is one; None in a loop's own commands."""
    kinds = list(_places(job).around(place))
    if not kinds:
        return "", False
    if kinds[0] not in _BETWEEN:
        return None
    inside = kinds[: kinds.index("function")] if "function" in kinds else kinds
    if inside != kinds and "loop" not in inside:
        return ("function", False) if kinds[0] == "function" else None
    return kinds[0], "loop" in inside


@once
def _places(job: Job) -> Nested[str]:
    """The places of loops, and of what runs in other processes or as a function."""
    found = [(each.start, each.end, "loop") for each in loops_of(job.program)]
    found += [(each.start, each.end, "function") for each in nodes_of(job.program, Function)]
    found += [(each.start, each.end, "process") for kind in _PROCESSES for each in nodes_of(job.program, kind)]
    found += [(each.start, each.end, "subshell") for each in nodes_of(job.program, Group) if each.subshell]
    for pipeline in nodes_of(job.program, Pipeline):
        if len(pipeline.commands) > 1:
            found += [(each.start, each.end, "pipeline") for each in pipeline.commands]
    found.sort(key=lambda each: (each[2] != "loop", each[2]), reverse=True)  # where places are the same
    return Nested((job.span(start, end), kind) for start, end, kind in found)


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --ntasks=1
        if [ ! -f input.dat ]; then
            «break»
        fi
        srun ./solver input.dat
        """,
        severity="warning",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --ntasks=1
        for part in 1 2 3; do
            [ -f in.$part ] || (echo "no part $part"; «continue»)
            srun ./solver in.$part
        done
        """,
        severity="warning",
        title="in a subshell",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --ntasks=1
        «local OUT=results»
        srun ./solver --out "$OUT"
        """,
        unsafe_fixed={"local OUT=results": "OUT=results"},
        title="local",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        «break» > list.txt
        srun ./a.out >> list.txt
        """,
        severity="info",
        title="it empties a file all the same",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --ntasks=1
        run() {
            local part
            for part in "$@"; do
                [ -f in.$part ] || { echo "no part $part"; continue; }
                srun ./solver in.$part || break
            done
        }
        run 1 2 3
        cat list.txt | while read part; do [ -f $part ] || continue; srun ./solver $part < /dev/null; done
        """,
    ),
]
