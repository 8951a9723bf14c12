"""Options of sbatch that srun does not take in any release."""

from functools import lru_cache

from sbatchlint.bash.values import shown_text
from sbatchlint.job.steps import Step
from sbatchlint.slurm.getopt import UNKNOWN, OptionFault
from sbatchlint.slurm.options import matches, table
from sbatchlint.slurm.versions import MAJORS, Range


def submission_options(step: Step, versions: Range) -> list[tuple[OptionFault, str]]:
    """The words that srun refuses because only sbatch has these options, with the options' long names."""
    last = _program(step)
    found: list[tuple[OptionFault, str]] = []
    for problem in step.problems:
        if problem.kind != "unknown-option" or problem.word + 1 > last:
            continue
        names = {_name(problem.written, "sbatch", version) for version in problem.versions or versions.majors}
        name = names.pop() if len(names) == 1 else None
        # Where srun has the option in some release, the release is the fault.
        if name is not None and not any(_name(problem.written, "srun", version) for version in MAJORS):
            found.append((problem, name))
    return found


def _program(step: Step) -> int:
    """The index of the first unknown word that may be the program, as it is not an option's value; else the end."""
    argv = step.invocation.argv
    if step.certain:
        return len(argv)
    values = {each.value_word for each in step.all_options}
    unknown = (at for at, field in enumerate(argv) if at and at not in values and shown_text(field)[:1] == UNKNOWN)
    return next(unknown, len(argv))


@lru_cache(maxsize=256)
def _name(written: str, command: str, version: str) -> str | None:
    """The long name of the command's own option that is written so; None where there is none, or several."""
    if written.startswith("--"):
        options = matches(written[2:], command, version)
        return options[0].name if len(options) == 1 and options[0].plugin is None else None
    option = table(command, version).letters.get(written[1:])
    return None if option is None else option.name
