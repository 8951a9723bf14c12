"""What to write so that the arguments which Slurm records hold no secret."""

import re

from sbatchlint.analysis.expansion.reads import reads_in
from sbatchlint.bash.trace import Invocation
from sbatchlint.bash.values import span_of
from sbatchlint.job import Job
from sbatchlint.source.text import Span

_FEW_TO_EXPORT = 2  # variables that a message names


def is_in_environment(command: Invocation, name: str) -> bool:
    """Whether a command has the variable in its environment, with the value that its arguments show."""
    variable = command.state.variables.get(name)
    if variable is None:
        # it came with the job's environment, unless a sourced file that cannot be read has set it
        return not command.state.sourced
    return variable.exported and bool(variable.alternatives)


def without_record(job: Job, command: Invocation, taker: Invocation, name: str, span: Span) -> str:
    """What to say where only the arguments of srun can be without a secret."""
    begin = f"`sacct` records `{name}`, an argument of {command.name}; "
    missing = [] if is_in_environment(command, name) else [name]
    if any(each.text is not None for each in taker.ancestors()):
        return f"{begin}{'export it, and ' if missing else ''}write `\\${name}`, so that only {taker.name} gets it"
    # inside '…' the shell of the task expands what the command has besides
    words = Span(span_of(taker.argv[0]).start, taker.span.end)
    others = list(dict.fromkeys(each.name for each in reads_in(job, words) if each.name != name))
    substitutes = any(each in job.source.slice(words) for each in ("$(", "`"))
    plain = all(each.isidentifier() for each in others) and not substitutes
    missing += [each for each in others if not is_in_environment(command, each)]
    start = f"{taker.name} {taker.words[1]}"
    if plain and len(missing) <= _FEW_TO_EXPORT:
        export = "export it, and " if missing == [name] else ""
        if missing and not export:
            export = f"export {' and '.join(f'`{each}`' for each in missing)}, and "
        return f"{begin}{export}write `{command.name} … bash -c '{start} … \"${name}\"'`"
    option = re.search(r"--?[\w-]+[= ](?=\"?$)", job.source.text[max(span.start - 40, 0) : span.start])
    export = "export it, and " if name in missing else ""
    given = f'{option[0] if option else ""}"${name}"'
    return f"{begin}{export}write `{command.name} … bash -c '{start} \"$@\" {given}' - …`"
