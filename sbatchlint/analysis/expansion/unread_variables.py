"""Variables that nothing can read: not the script, a program that it starts, or a file that it sources."""

from sbatchlint.analysis.expansion.nobody_sets import mentions
from sbatchlint.analysis.expansion.program_variables import is_for_programs
from sbatchlint.analysis.expansion.replaced import INDIRECT, READ_ANYWAY
from sbatchlint.analysis.expansion.sourced import unclear_sources
from sbatchlint.bash.trace import VariableAssignment
from sbatchlint.bash.variables import ENVIRONMENT_NAMES
from sbatchlint.job import Job
from sbatchlint.job.launchers import is_python
from sbatchlint.job.once import once
from sbatchlint.programs import is_known
from sbatchlint.slurm.environment import find


def is_unread(job: Job, assigned: VariableAssignment) -> bool:
    """Whether nothing in the script can read a variable."""
    name = assigned.name
    if assigned.exported or find(name) is not None or name in ENVIRONMENT_NAMES or READ_ANYWAY.fullmatch(name):
        return False
    if _reads_names(job) or is_for_programs(name) or any(each.index >= assigned.order for each in unclear_sources(job)):
        return False
    return mentions(job)[name] == 1 and _last_sourced(job) < assigned.order


@once
def _reads_names(job: Job) -> bool:
    """Whether the script may read any variable by a name that it puts together (`${!NAME}`)."""
    return INDIRECT.search(job.source.text) is not None


@once
def _last_sourced(job: Job) -> int:
    """The index of the last command that may be a function of a sourced file, which may read anything; -1 for none."""
    named = [each for each in job.invocations if each.parent is None and each.name] if unclear_sources(job) else []
    named = [each for each in named if "/" not in each.words[0] and not is_known(str(each.name))]
    return max((each.index for each in named if not is_python(each.argv[0])), default=-1)
