"""Values that are replaced before anything reads them."""

import re

from sbatchlint.analysis.expansion.reads import assignments_by_name
from sbatchlint.analysis.script.work import Weight, weight
from sbatchlint.bash.trace import VariableAssignment
from sbatchlint.bash.variables import ENVIRONMENT_NAMES
from sbatchlint.job import Job
from sbatchlint.source.regex import Regex

_FAR = 10_000  # characters of the script between two assignments, where nobody compares them
# Variables that bash or every program reads itself.
READ_ANYWAY = Regex(
    r"IFS|PS\d|OPT(?:IND|ERR)|SECONDS|RANDOM|TIMEFORMAT|HIST\w+|LC_\w+|LANG(?:UAGE)?|TZ|PATH|\w+PATH|\w*PROXY|\w*proxy"
    r"|COLUMNS|LINES|SHELL|POSIXLY_CORRECT|GLOBIGNORE|FIGNORE|_\w*|TERM|DISPLAY|CC|CXX|F?C|F\d\d|\w*FLAGS|LD\w*|EDITOR"
    r"|(?:XDG|JUPYTER|MASTER|SINGULARITY|APPTAINER|DOCKER|ENROOT|SBATCH|SALLOC|SQUEUE|WORLD|CONDA|PIP|R|JAVA|UV)_\w+"
)
# Ways to read a variable whose name is not written.
INDIRECT = Regex(r"\$\{!|\beval\b|\bdeclare\s+-n|\blocal\s+-n|\benvsubst\b|\bset\s+-\w*a|\ballexport\b|\bcompgen\b")
# An argument of the script.
ARGUMENT = Regex(r"=[\"']?\$(?:\{?(?:[1-9@*]|OPTARG)\}?)[\"']?$")
# A value with which a variable only begins.
_INITIAL = Regex(r"=(?:\"\"|''|0|1|false|true|no|yes|None|\(\))?$")


def is_never_read(job: Job, assigned: VariableAssignment) -> bool:
    """Whether a later assignment certainly replaces a value before anything reads it."""
    following = iter(assignments_by_name(job)[assigned.name])
    later = next(following, None) if any(each is assigned for each in following) else None
    return later is not None and later.span.start < assigned.span.end + _FAR and is_replaced(job, assigned, later)


def is_replaced(job: Job, earlier: VariableAssignment, later: VariableAssignment) -> bool:
    """Whether the later of two assignments certainly replaces the value of the earlier before anything reads it."""
    text, source = job.source.text, job.source
    context = later.context
    if context.guards or context.loops or context.calls or earlier.context.calls or context.shell.depth:
        return False
    if earlier.span.end >= later.span.start or READ_ANYWAY.fullmatch(later.name) or later.name in ENVIRONMENT_NAMES:
        return False
    one, other = source.slice(earlier.span), source.slice(later.span)
    if not all(each.startswith(f"{later.name}=") for each in (one, other)) or one == other or _INITIAL.search(one):
        return False
    repeated = bool(earlier.context.loops) and not ARGUMENT.search(one)
    if repeated or earlier.context.shell is not context.shell or "\n" in one:
        return False
    between = text[earlier.span.end : later.span.end]
    if re.search(rf"(?<![A-Za-z0-9_]){later.name}(?![A-Za-z0-9_=])", between) or INDIRECT.search(between):
        return False
    started = job.invocations[earlier.order : later.order]
    if any(each.name in ("source", ".") or each.calls_function for each in started):
        return False
    passed = earlier.exported or later.exported
    return not passed or all(weight(job, each) is Weight.NONE for each in started)
