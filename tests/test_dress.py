"""The same mistake in other dress: what a check finds it also finds in a function, a pipeline, a subshell.

The first bad scripts of each check are rewritten so that the job does what it did before. Where a check then has
another answer for a good reason, `OTHERWISE` says it.
"""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from check_cases import ENTRIES, Case, cases_of, findings
from sbatchlint.bash.interpreter.builtins import BUILTINS
from sbatchlint.bash.trace import Invocation
from sbatchlint.check import Bad
from sbatchlint.job import Job, Site
from sbatchlint.source.text import Source

# Of each check: so many of its bad scripts.
SCRIPTS = 3
# Beside bash's own: what changes the shell, so that it means another thing in a pipeline.
OF_THE_SHELL = BUILTINS.keys() | {"cd", "conda", "ml", "module", "popd", "pushd", "ulimit", "umask", "wait"}
OTHERWISE = {
    ("SB103", "*"): "a directive that is misspelled ends the head of the script, and is dressed with the rest",
    ("SB222", "pipeline"): "the other commands of the pipeline need CPUs as well",
    ("SB407", "pipeline"): "not seen yet: an escaped dollar in the words of a launcher whose output is piped",
    ("SB443", "timeout"): "not seen yet: a job that a wrapper's sbatch submits",
    ("SB411", "*"): "the command is broken in two, and each half is dressed",
    ("SB421", "timeout"): "a pattern is looked for behind names of commands only",
    ("SB422", "timeout"): "prose is looked for at the beginning of a command only",
    ("SB431", "function"): "not seen yet: loops of a function",
    ("SB433", "function"): "a function splits its own arguments, not the script's",
    ("SB435", "function"): "not seen yet: a folder that a function enters",
    ("SB437", "function"): "not seen yet: arguments and options that a function reads for the script",
    ("SB439", "timeout"): "timeout is what looks for a program of the variable's name",
    ("SB444", "timeout"): "not seen yet: a misspelt name that another program looks for",
    ("SB446", "function"): "a local variable is right there",
    ("SB448", "timeout"): "timeout is what looks for a program of the assignment's name (SB444)",
    ("SB451", "function"): "not seen yet: a process that a function starts, and what is read after it there",
    ("SB720", "pipeline"): "the status is that of tee, as SB710 says",
    ("SB721", "pipeline"): "the status is that of tee, which is not dead",
    ("SB721", "subshell"): "not seen yet: that errexit ends the script after a subshell",
    ("SB722", "function"): "not seen yet: that a function which ends the script gives it its status",
    ("SB725", "function"): "not seen yet: a test in a function that leaves it",
    ("SB738", "*"): "not seen yet: a removal behind timeout, in a pipeline or in a subshell",
    ("SB739", "pipeline"): "tee keeps what the log would have",
    ("SB802", "timeout"): "the step that others wait for ends",
    ("SB809", "*"): "nobody is asked where the output is a pipe, nor for ever behind timeout",
    ("SB815", "timeout"): "the server ends",
    ("SB905", "*"): "the output of a function may go elsewhere, and that of the pipeline does",
}


def in_a_function(text: str) -> str | None:
    head, body = parts(text)
    return None if re.search(r"^#SBATCH", body, re.MULTILINE) else f'{head}main() {{\n{body}}}\nmain "$@"\n'


def parts(text: str) -> tuple[str, str]:
    """The lines up to the first command, and the others."""
    lines = text.splitlines(keepends=True)
    first = next((at for at, line in enumerate(lines) if line.strip() and not line.startswith("#")), len(lines))
    return "".join(lines[:first]), "".join(lines[first:]).rstrip("\n") + "\n"


def each_command(dress: str) -> Callable[[str], str | None]:
    """Rewrites the commands that begin and end lines of the script's own shell; None where there are none."""

    def rewritten(text: str) -> str | None:
        job = Job.from_source(Source(text, "job.sh"), Site())
        spans = {each.span.start: each.span.end for each in job.invocations if is_plain(text, each)}
        for start, end in sorted(spans.items(), reverse=True):
            text = text[:start] + dress.format(text[start:end]) + text[end:]
        return text if spans else None

    return rewritten


def is_plain(text: str, command: Invocation) -> bool:
    context, span = command.context, command.span
    if context.shell.kind != "script" or context.loops or context.calls or context.conditional or context.parent:
        return False
    if not command.name or command.name in OF_THE_SHELL or command.calls_function or command.stdin is not None:
        return False
    before, after = text[: span.start].rpartition("\n")[2], text[span.end :].partition("\n")[0]
    return not before.strip() and not after.strip() and not text[: span.start].endswith("\\\n" + before)


DRESSES: dict[str, Callable[[str], str | None]] = {
    "function": in_a_function,
    "pipeline": each_command("{} 2>&1 | tee out.txt"),
    "subshell": each_command("({})"),
    "time": each_command("time {}"),
    "timeout": each_command("timeout 3h {}"),
}


def bad_scripts(code: str) -> list[Case]:
    """The first bad scripts of a check."""
    cases = cases_of(next(entry for entry in ENTRIES if entry.code == code))
    return [case for case in cases if isinstance(case.case, Bad) and not case.case.missed][:SCRIPTS]


def missed_in(case: Case) -> dict[str, str]:
    """The dresses in which a check does not see its mistake, each with the script."""
    dressed = {name: dress(case.case.example.text) for name, dress in DRESSES.items()}
    return {name: text for name, text in dressed.items() if text is not None and not findings(case, text)}


def unseen(cases: list[Case]) -> list[str]:
    """Where a check does not see its mistake in other dress, and should."""
    wrong = []
    for case in cases:
        if any(each.source is not None and each.source.path != "job.sh" for each in findings(case)):
            continue  # it stands in a file beside the script
        code = case.check.entry.code
        for name, text in missed_in(case).items():
            if not {(code, name), (code, "*")} & OTHERWISE.keys():
                wrong.append(f"{case.label}, {name}:\n{text}")
    return wrong


@pytest.mark.parametrize("code", [entry.code for entry in ENTRIES])
def test_the_first_script_is_found_in_other_dress(code: str) -> None:
    wrong = unseen(bad_scripts(code)[:1])
    assert not wrong, "\n".join(wrong)


@pytest.mark.slow
@pytest.mark.parametrize("code", [entry.code for entry in ENTRIES])
def test_other_scripts_are_found_in_other_dress(code: str) -> None:
    wrong = unseen(bad_scripts(code)[1:])
    assert not wrong, "\n".join(wrong)


@pytest.mark.slow
def test_every_exception_is_one() -> None:
    codes = {code for code, _ in OTHERWISE}
    cases = [case for code in sorted(codes) for case in bad_scripts(code)]
    missed = {(case.check.entry.code, name) for case in cases for name in missed_in(case)}
    assert OTHERWISE.keys() <= missed | {(code, "*") for code, _ in missed}
