"""Options of sbatch that an srun of no release takes."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from sbatchlint.bash.values import shown_text, span_of
from sbatchlint.job.steps import Step
from sbatchlint.slurm.getopt import UNKNOWN
from sbatchlint.slurm.options import matches, table
from sbatchlint.slurm.versions import MAJORS, Range
from sbatchlint.source.text import Span


class SubmissionOption(NamedTuple):
    """An option of sbatch on an srun.

    `written`: as written, without its value. `name`: its long name. `message`: what srun says. `swallowed`: the word
    that srun takes for its own --wait's seconds, '' for all others. `useful`: whether a directive could hold it.
    `versions`: the releases that refuse it, None for all.
    """

    span: Span
    written: str
    name: str
    message: str
    swallowed: str
    useful: bool
    versions: tuple[str, ...] | None


# What means something on sbatch's command line only.
_COMMAND_LINE = frozenset(("wrap",))


def submission_options(step: Step, versions: Range) -> list[SubmissionOption]:
    """Those of one step, in order."""
    argv = step.invocation.argv
    known = _known(step)
    found: list[SubmissionOption] = []
    for problem in step.problems:
        if problem.kind != "unknown-option" or problem.word + 1 > known:
            continue
        majors = problem.versions or versions.majors
        names = {_name(problem.written, "sbatch", version) for version in majors}
        name = names.pop() if len(names) == 1 else None
        if name is None or any(_name(problem.written, "srun", version) for version in MAJORS):
            # An option that some srun has is a matter of releases.
            continue
        span = span_of(argv[problem.word + 1])
        message = f"srun: {problem.message}"
        useful = name not in _COMMAND_LINE
        found.append(SubmissionOption(span, problem.written, name, message, "", useful, problem.versions))
    wait = step.option("wait")
    if wait is not None and wait.word != wait.value_word and wait.text is not None and not _is_number(wait.text):
        message = f'Invalid numeric value "{wait.text}" for --wait.'
        span = span_of(argv[wait.word])
        found.append(SubmissionOption(span, wait.written, "wait", message, wait.text, True, None))
    return found


def _known(step: Step) -> int:
    """The index of the first word that may be the program, as it is not known and no option's value; else the last."""
    argv = step.invocation.argv
    if step.certain:
        return len(argv)
    values = {each.value_word for each in step.given}
    unknown = (at for at, field in enumerate(argv) if at and at not in values and shown_text(field)[:1] == UNKNOWN)
    return next(unknown, len(argv))


@lru_cache(maxsize=256)
def _name(written: str, command: str, version: str) -> str | None:
    """The long name of a command's own option that is written so."""
    if written.startswith("--"):
        options = matches(written[2:], command, version)
        return options[0].name if len(options) == 1 and options[0].plugin is None else None
    option = table(command, version).letters.get(written[1:])
    return None if option is None else option.name


def _is_number(text: str) -> bool:
    digits = text.strip().removeprefix("+").removeprefix("-")
    return digits.isascii() and digits.isdigit()
