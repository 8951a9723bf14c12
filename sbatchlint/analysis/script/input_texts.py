"""The texts of input files that a script writes itself for its programs."""

from sbatchlint.bash.trace import Invocation
from sbatchlint.bash.values import Text, shown_text
from sbatchlint.job import Job
from sbatchlint.job.once import once

# Programs of quantum chemistry that read processors and memory from their input.
GAUSSIAN, ORCA = frozenset({"g03", "g09", "g16"}), frozenset({"orca"})


def written_text(job: Job, command: Invocation, name: str) -> Text | None:
    """What the script writes into a file of this name before a command, if it does so once, and whatever tests say."""
    texts = _writers(job).get(name, [])[:2]
    if not texts or texts[0].index >= command.index or len(texts) > 1 and texts[1].index < command.index:
        return None
    if texts[0].name != "cat" or texts[0].context.conditional or texts[0].context.loops:
        return None
    return texts[0].stdin


@once
def _writers(job: Job) -> dict[str, list[Invocation]]:
    """The commands that redirect into or from a file of each name, in order."""
    found: dict[str, list[Invocation]] = {}
    for command in job.invocations:
        for redirect in command.redirects:
            if redirect.target:
                found.setdefault(shown_text(redirect.target).rpartition("/")[2], []).append(command)
    return found


def chemistry_input(job: Job, command: Invocation) -> Text | None:
    """The input of Gaussian or ORCA, if the script writes it; None for other programs."""
    if command.name not in GAUSSIAN and command.name not in ORCA:
        return None
    if command.stdin is not None:
        return command.stdin
    name = next((word for word in command.words[1:] if word[:1] != "-"), None)
    if name is None:
        sources = [shown_text(each.target) for each in command.redirects if each.operator == "<" and each.target]
        name = sources[0] if len(sources) == 1 else None
    return None if name is None else written_text(job, command, name.rpartition("/")[2])
