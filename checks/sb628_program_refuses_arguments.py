"""The program ends at once: its own argument parser refuses the arguments of the script.

The Python program is a file of the project, and its argparse parser is simple: every option is defined where the parser
is created, and nothing else reads the command line. An unknown option, a missing value, or one of the wrong type or not
among the choices ends the program with `error: …` and status 2 before any work is done; the job waited in the queue for
nothing.

## Fix

None: nothing shows whether the script or the program is wrong.

## References

argparse; Python 3.11 to 3.14
"""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from sbatchlint.bash.trace import Invocation
from sbatchlint.bash.values import Pieces, known_prefix, shown_text, span_of, text_of
from sbatchlint.check import Bad, Card, Finding, Good, Job, Span
from sbatchlint.job.launchers import python_of
from sbatchlint.job.python.program import PythonProgram, python_programs
from sbatchlint.triggers import Commands, Launchers

if TYPE_CHECKING:
    from sbatchlint.job.python.parser import PlainParser

# Launchers that add no arguments to those of the program.
LAUNCHERS = ("torchrun", "accelerate")

CARD = Card(
    "SB628", "program-refuses-arguments", severity="error", fix="never", since="0.1.0",
    when=Commands("python*", "*.py") | Launchers(*LAUNCHERS),
)  # fmt: skip


def check(job: Job) -> Iterator[Finding]:
    found: dict[Span, list[tuple[Span, str] | None]] = {}
    for command, program in python_programs(job):
        words = _words(job, command)
        if words is not None:
            found.setdefault(command.span, []).append(_complaint(program, command, words))
    for complaints in found.values():
        if complaints[0] is not None and None not in complaints:  # whichever arguments it gets
            yield Finding(*complaints[0])


def _words(job: Job, invocation: Invocation) -> Sequence[Pieces] | None:
    """The arguments of the program itself; None where a launcher may add some."""
    launcher = job.launcher_of(invocation)
    if launcher is not None:
        return launcher.program_words[1:] if launcher.kind in LAUNCHERS else None
    python = python_of(invocation)
    return invocation.argv[1 if python is None else python.after :]


def _complaint(program: PythonProgram, invocation: Invocation, words: Sequence[Pieces]) -> tuple[Span, str] | None:
    from sbatchlint.job.python.parser import Refused, plain_parser  # slow to import

    parser = plain_parser(program.main)
    if parser is None:
        return None
    where = f"{program.path}, line {parser.row}"
    if any(text_of(each) == "--" for each in words):
        return None
    for field in words:
        option = _option(field)
        if option is not None and not _knows(parser, option):
            message = f"{_name(program)} fails at once: it has no option `{option}` ({where}); correct or remove it"
            return span_of(field), message
    # Releases of Python distribute several positional arguments differently.
    if any(text_of(each) is None for each in words) or any(each.nargs in ("?", "*", "+") for each in parser.positional):
        return None
    try:
        parser.parse_args([str(text_of(each)) for each in words])
    except Refused as refused:
        message = f"{_name(program)} refuses its arguments ({where}): {refused}; correct the call"
        return _place(invocation, words, str(refused)), message
    except SystemExit:
        return None  # it only prints its help or version
    return None


def _name(program: PythonProgram) -> str:
    return program.path.rpartition("/")[2]


def _option(field: Pieces) -> str | None:
    """The name of a long option; None where the word is not certainly one."""
    prefix = known_prefix(field)
    name, equals, _ = prefix.partition("=")
    certain = equals or text_of(field) is not None
    return name if certain and name.startswith("--") and len(name) > 2 and " " not in prefix else None


def _knows(parser: "PlainParser", option: str) -> bool:
    known = parser._option_string_actions
    return option in known or parser.allow_abbrev and any(each.startswith(option) for each in known)


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
