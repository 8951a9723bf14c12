"""The program ends at once, as it refuses the arguments of the script, or never looks at them.

The Python program is a file of the project, and its argparse parser is simple: every option is defined in one file,
and nothing else reads the command line. An unknown option or subcommand, a missing value, or one of the wrong type or
not among the choices ends the program with `error: …` and status 2 before any work is done; the job waited in the queue
for nothing. The same goes for an argument that `sys.argv` does not have or that is no number, and for a value that is
missing in the table or in the chain of comparisons in which the program looks it up. Where neither the program nor its
modules look at the arguments at all, the job computes something else than the script says. A shell script of the
project that ends with an error for its arguments (too few of them, a value that it does not know) is reported where it
is called.

## Fix

None: nothing shows whether the script or the program is wrong.

## References

argparse; Python 3.11 to 3.14
"""

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

from sbatchlint.analysis.launch.late_options import is_late
from sbatchlint.bash.interpreter.programs import SHELLS, shell_arguments
from sbatchlint.bash.trace import Invocation
from sbatchlint.bash.values import UNKNOWN_CHARACTER, Pieces, is_open, known_prefix, shown_text, span_of, text_of
from sbatchlint.check import Bad, Card, Finding, Good, Job, Span, shortened
from sbatchlint.job.argv import variable_name
from sbatchlint.job.launchers import python_of
from sbatchlint.job.programs import by_program
from sbatchlint.job.python.program import PythonProgram, python_programs
from sbatchlint.source.regex import Regex
from sbatchlint.triggers import Commands, Launchers

if TYPE_CHECKING:
    from sbatchlint.job.python.parser import PlainParser

Complaint = tuple[Span, str]

# From how many characters on a message does not list the choices.
_LONGEST = 130
_CHOICE = Regex(r"invalid choice: '([^']+)'")

# Launchers that add no arguments to those of the program.
LAUNCHERS = ("torchrun", "accelerate")

CARD = Card(
    "SB628", "program-refuses-arguments", severity="error", fix="never", since="0.1.0",
    when=Commands("python*", "*.py", "exit") | Launchers(*LAUNCHERS),
)  # fmt: skip


# In a shell script: an assignment, and a variable, of which `$1`, `$#` and `$@` are the arguments.
_ASSIGNMENT = Regex(r"(?m)^[ \t]*(?:local[ \t]+|export[ \t]+|readonly[ \t]+)?([A-Za-z_]\w*)=([^\n]*)")
_VARIABLE = Regex(r"\$\{?[#!]?([A-Za-z_]\w*|[1-9#@*])")
_ARGUMENTS = frozenset("123456789#@*")
_ROWS_BEFORE = 30  # in which the test stands that leads to an `exit`


def check(job: Job) -> Iterator[Finding]:
    yield from _of_scripts(job)
    found: dict[Span, list[Complaint | None]] = {}
    for command, program in python_programs(job):
        words = _words(job, command)
        if words is not None:
            # what `eval` runs stands elsewhere for each of its values
            several = [each.span for each in command.ancestors() if each.alternatives > 1]
            complaint = _complaint(job, program, command, words)
            found.setdefault(several[-1] if several else command.span, []).append(complaint)
    for complaints in found.values():
        if complaints[0] is not None and None not in complaints:  # whichever arguments it gets
            yield Finding(*complaints[0])


def _of_scripts(job: Job) -> Iterator[Finding]:
    """The findings on shell scripts of the project that certainly end with an error for the arguments that they get."""
    seen: set[Span] = set()
    for end in by_program(job).get("exit", ()):
        start = end.context.parent
        if start is None or start.text is None or start.alternatives > 1 or start.span in seen:
            continue
        if end.context.conditional or end.guards != start.guards or end.context.loops != start.context.loops:
            continue
        code = text_of(end.argv[1]) if len(end.argv) > 1 else None
        source, base = job.source.part(end.span.start)
        if code is None or not code.strip("0").isdigit() or source is job.source.part(start.span.start)[0]:
            continue
        inner = end.context.calls[len(start.context.calls) :]
        calls = [each for each in start.children if each.index < end.index and inner and each.name == inner[0]]
        place = (calls[-1] if calls else end).span.start - base
        rows = source.text[:place].split("\n")[-_ROWS_BEFORE:]
        rows.append(source.text[place:].partition("\n")[0])
        if _from_arguments(source.text).isdisjoint(_VARIABLE.findall("\n".join(rows))):
            continue
        seen.add(start.span)
        found = shell_arguments(start.argv) if start.name in SHELLS else ("script", 0)
        if found is None or found[0] != "script":
            continue
        words = start.argv[found[1] + 1 :]
        given = f"the arguments `{shortened(' '.join(map(_written, words)))}`" if words else "to run without arguments"
        script = shown_text(start.argv[found[1]]).rpartition("/")[2]
        yield Finding(
            span_of(words[0]) if words else span_of(start.argv[found[1]]),
            f"{script} refuses {given}: it ends with status {code} (line {job.line(end.span.start)}); correct the call",
            "warning" if start.context.conditional else None,
        )


@lru_cache(maxsize=16)
def _from_arguments(text: str) -> frozenset[str]:
    """The variables of a shell script that get their values from its arguments, directly or not."""
    found = set(_ARGUMENTS)
    for name, value in _ASSIGNMENT.findall(text):
        if not found.isdisjoint(_VARIABLE.findall(value)):
            found.add(name)
    return frozenset(found)


def _words(job: Job, invocation: Invocation) -> Sequence[Pieces] | None:
    """The arguments of the program itself; None where a launcher may add some."""
    launcher = job.launcher_of(invocation)
    if launcher is not None:
        return launcher.program_words[1:] if launcher.kind in LAUNCHERS else None
    python = python_of(invocation)
    return invocation.argv[1 if python is None else python.after :]


def _complaint(job: Job, program: PythonProgram, invocation: Invocation, words: Sequence[Pieces]) -> Complaint | None:
    from sbatchlint.job.python.command_line import CommandLine, ignores_arguments
    from sbatchlint.job.python.parser import imported_parser, plain_parser  # slow to import

    parser = plain_parser(program.main) or imported_parser(program.main, program.files)
    if parser is not None:
        return _of_parser(job, program, parser, invocation, words)
    given = [field for field in words if text_of(field) != "" and (not is_open(field) or _is_meant(field))]
    if given and ignores_arguments(program):
        shown = shortened(" ".join(map(_written, words)))
        return (
            span_of(given[0]),
            f"{_name(program)} never looks at its arguments, so `{shown}` has no effect; read it there, or remove it",
        )
    if any(is_open(field) for field in words):
        return None
    use = CommandLine(program.main).refused([text_of(field) for field in words])
    if use is None:
        return None
    where = f"{program.path}, line {use.row}"
    count = f"{len(words)} argument" + "s" * (len(words) != 1)
    if use.argument == 0:
        return invocation.name_span, f"{_name(program)} refuses {count} and ends at once ({where}); correct the call"
    if use.argument > len(words):
        message = f"{_name(program)} fails: it gets {count} and reads number {use.argument} ({where}); correct the call"
        return invocation.name_span, message
    word = text_of(words[use.argument - 1])
    return (
        span_of(words[use.argument - 1]),
        f"{_name(program)} fails: argument {use.argument} is `{word}`, no number for `{use.kind}()` ({where})",
    )


def _of_parser(
    job: Job, program: PythonProgram, parser: "PlainParser", invocation: Invocation, words: Sequence[Pieces]
) -> Complaint | None:
    from sbatchlint.job.python.dispatch import dispatches
    from sbatchlint.job.python.parser import Refused  # slow to import

    where = f"{_path(program, parser)}, line {parser.row}"
    if any(text_of(each) == "--" for each in words):
        return None
    for field in words:
        option = _option(field)
        if option is not None and not parser.knows(option):
            if is_late(job, field):
                return None  # option-after-program reports it
            message = f"{_name(program)} fails at once: it has no option `{option}` ({where}); correct or remove it"
            return span_of(field), message
    if parser.varies or not _are_values(parser, words):
        return None
    try:
        given = parser.given([shown_text(each) for each in words])
    except Refused as refused:
        if UNKNOWN_CHARACTER in str(refused):
            return None
        message = f"{_name(program)} refuses its arguments ({where}): {refused}; correct the call"
        if len(message) > _LONGEST:
            message = f"{_name(program)} refuses its arguments ({where}): {str(refused).partition(' (')[0]}; correct it"
        return _place(invocation, words, str(refused)), message
    except SystemExit:
        return None  # it only prints its help or version
    for row, name, values in dispatches(program.main):
        value = given.get(name)
        if value is not None and UNKNOWN_CHARACTER not in value and value not in values:
            known = shortened(", ".join(map(str, values[:6])) + ", …" * (len(values) > 6))
            message = f"{_name(program)} fails: it knows no `{value}` ({program.path}, line {row}), only {known}"
            return next((span_of(each) for each in words if shown_text(each) == value), invocation.name_span), message
    return None


def _written(field: Pieces) -> str:
    name = variable_name(field)
    return shown_text(field) if name is None else f"${name}"


def _is_meant(field: Pieces) -> bool:
    """Whether an unquoted variable is meant to be one argument: one that Slurm sets, or `$1`."""
    name = variable_name(field) or ""
    return name.startswith("SLURM_") or name.isdigit()


def _are_values(parser: "PlainParser", words: Sequence[Pieces]) -> bool:
    """Whether what is not known of the arguments is the values of options: `--lr $LR`, `--lr=$LR`."""
    for number, field in enumerate(words):
        if text_of(field) is None:
            if is_open(field) and (field[-1].text is not None or sum(each.text is None for each in field) > 1):
                return False  # a command that is put together, more than a value
            name, equals, _ = known_prefix(field).partition("=")
            before = text_of(words[number - 1]) if number else None
            if not (equals and parser.takes_value(name)) and not (before and parser.takes_value(before)):
                return False
    return True


def _path(program: PythonProgram, parser: "PlainParser") -> str:
    return next(path for path, module in program.files.items() if module is parser.module)


def _name(program: PythonProgram) -> str:
    return program.path.rpartition("/")[2]


def _option(field: Pieces) -> str | None:
    """The name of a long option; None where the word is not certainly one."""
    prefix = known_prefix(field)
    name, equals, _ = prefix.partition("=")
    certain = equals or text_of(field) is not None
    return name if certain and name.startswith("--") and len(name) > 2 and " " not in prefix else None


def _place(invocation: Invocation, words: Sequence[Pieces], complaint: str) -> Span:
    """The option or argument that the complaint names, or else the command's name."""
    unrecognized = complaint.removeprefix("unrecognized arguments: ")
    for field in words if unrecognized != complaint else ():
        if unrecognized == text_of(field) or unrecognized.startswith(f"{text_of(field)} "):
            return span_of(field)
    if complaint.startswith("argument "):
        names = complaint.removeprefix("argument ").partition(":")[0].split("/")
        for field in reversed(words):
            if shown_text(field).partition("=")[0] in names:
                return span_of(field)
    chosen = _CHOICE.search(complaint)
    if chosen is not None:  # of a positional argument, or a subcommand
        return next((span_of(field) for field in words if text_of(field) == chosen[1]), invocation.name_span)
    return invocation.name_span


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --gpus-per-node=1
        srun python train.py --epochs 10 «--learning-rate» 0.1
        """,
        files={
            "train.py": """\
            import argparse

            parser = argparse.ArgumentParser()
            parser.add_argument("--epochs", type=int)
            parser.add_argument("--lr", type=float, default=0.1)
            args = parser.parse_args()
            """
        },
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --gpus-per-node=4
        torchrun --nproc_per_node=4 train.py --amp «True»
        """,
        files={
            "train.py": """\
            import argparse


            def main():
                parser = argparse.ArgumentParser()
                parser.add_argument("--amp", action="store_true")
                args = parser.parse_args()


            main()
            """
        },
        title="a switch takes no value",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --gpus-per-node=1
        srun python train.py --epochs 10 --learning-rate 0.1
        """,
        files={
            "train.py": """\
            import argparse

            parser = argparse.ArgumentParser()
            parser.add_argument("--epochs", type=int)
            args, others = parser.parse_known_args()
            """
        },
        title="the rest is for another program",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --gpus-per-node=1
        srun python train.py --epo 10 $MORE
        """,
        files={
            "train.py": """\
            import argparse

            parser = argparse.ArgumentParser()
            parser.add_argument("--epochs", type=int, required=True)
            args = parser.parse_args()
            """
        },
    ),
]
