"""What a wrong word reaches: how much of a job depends on the value of a variable where it is read.

A value that only a message, a log's name or the name of a folder lacks leaves the work as it is; what a program gets,
what a test compares, and what has to be the name of a file that exists, decides what the job computes.
"""

from enum import IntEnum

from sbatchlint.analysis.expansion.reads import Use, enclosing_assignment, reads_of, use_of
from sbatchlint.analysis.expansion.unread_variables import is_unread
from sbatchlint.analysis.script.pipeline_runs import runs_of
from sbatchlint.bash.trace import Invocation, VariableRead
from sbatchlint.bash.values import shown_text
from sbatchlint.job import Job
from sbatchlint.job.launchers import is_python
from sbatchlint.job.once import once
from sbatchlint.programs import has_trait
from sbatchlint.source.regex import Regex
from sbatchlint.source.text import Span

# How many variables a value is followed through.
_MOST_HANDED_ON = 20
# What comes before a word that names a file for output.
_TO_FILE = Regex(r"(?:>>?|\btee(?:[ \t]+-a)?[ \t])[ \t]*[\"']?[^\s;&|]*$")
_LOG = Regex(r"(?i)logs?(?![a-z])|\.(?:err|out|stdout|stderr)(?![a-z])")
# Options of sbatch and srun, and of programs, that name a log or the job itself.
_TOLD = Regex(r"(?:^|\s)(?:-[oeJ][ =]?|--(?:output|error|job-name|comment)[ =])[\"']?[^\s;&|]*$")
_NAMED = Regex(r"(?:^|\s)--(?:job-name|comment)[ =][^\s;&|]*$")
_STARTERS = frozenset({"sbatch", "srun"})
_PASSING = frozenset({"tee", "cat"})  # commands that show what they get
_BLANKS = " \t\n;&|"
# Variables for compilers and linkers, for debuggers, and for readers of manuals.
_FOR_BUILDS = Regex(
    r"[A-Z_]*(?:FLAGS|LDLIBS)|LIBRARY_PATH|CPATH|INCLUDE|(?:C|CPLUS|OBJC)_INCLUDE_PATH|PKG_CONFIG_PATH|CMAKE_PREFIX_PATH"
)
_FOR_READERS = Regex(r"MANPATH|INFOPATH")
_FOR_DEBUGGERS = Regex(r"TVSEARCHPATH|TVLIB|LM_DEBUG\w*")
# Programs that build, by their names: what else is called may call one of them.
_BUILDS = Regex(
    r"(?i).*(?:make|cc\d*|\+\+|clang|fort(?:ran)?|build|compile|config|install|setup|scons|ninja|cargo|spack|pip3?)"
    r"(?:\W.*)?"
)
_DEBUGGERS = frozenset({"totalview", "tv8", "totalviewcli", "ddt", "map", "forge"})


class Reach(IntEnum):
    """What depends on a value: a message, a log or its name, the name of a folder that the script makes, the work."""

    MESSAGE = 0
    LOG = 1
    FOLDER = 2
    WORK = 3


def reach_of(job: Job, read: VariableRead) -> Reach:
    """What depends on the value of a variable where it is read, including through the variables that it sets."""
    return _reach(job, read, (), {})


def reach_of_name(job: Job, name: str, after: int = 0) -> Reach:
    """What depends on the value of a variable wherever it is read after an offset of the file."""
    reads = [each for each in reads_of(job).get(name, ()) if each.span.start >= after]
    return max((reach_of(job, each) for each in reads), default=Reach.MESSAGE)


def is_told(job: Job, use: Use) -> bool:
    """Whether what is read only appears on the screen, in a log or in a label: not in a file, a pipe or a `$(…)`."""
    if use.kind != "print" or use.read.context.captured:
        return False
    command = use.command
    if command is None or not has_trait(command.name, "prints"):
        return True
    targets = [shown_text(each.target) for each in command.redirects if ">" in each.operator and each.target]
    if not all(each.isdigit() or each.startswith(("/dev/", "&")) or _LOG.search(each) for each in targets):
        return False
    if not command.piped_to:
        return True
    elements = [element for run in runs_of(job, command) for element in run.elements]
    others = [each for element in elements for each in element if each is not command]
    return all(each.name in _PASSING or has_trait(each.name, "prints") for each in others)


def is_for_absent_program(job: Job, name: str) -> bool:
    """Whether a variable is only for compilers, debuggers, Charm++ or readers of manuals, and the job runs none."""
    if name == "CONV_RSH":
        return not any("charmrun" in word for each in job.invocations for word in each.words[:3])
    if _FOR_READERS.fullmatch(name):
        return True
    if _FOR_DEBUGGERS.fullmatch(name):
        return not any(each.name in _DEBUGGERS for each in job.invocations)
    return _FOR_BUILDS.fullmatch(name) is not None and not _builds(job)


@once
def _builds(job: Job) -> bool:
    """Whether the job may build something: a script that cannot be read may, too, if its name says so."""
    return any(_BUILDS.fullmatch(word.rpartition("/")[2]) for each in job.invocations for word in _first_words(each))


def _first_words(command: Invocation) -> list[str]:
    """The name of a command, with those of the script and the module that a shell or Python gets."""
    starts = command.words[:1] and (has_trait(command.name, "shell") or is_python(command.argv[0]))
    return command.words[: 3 if starts else 1]


def _reach(job: Job, read: VariableRead, through: tuple[str, ...], known: dict[str, Reach]) -> Reach:
    """What depends on a read; `known`: on the variables that were followed, as their ways are as many as products."""
    use = use_of(job, read)
    if use.kind == "print":
        return Reach.MESSAGE
    if use.kind in ("test", "guard", "arithmetic"):
        return Reach.WORK
    if _names_log(job, read, use.command):
        return Reach.LOG
    if _makes_folder(job, read):
        return Reach.FOLDER
    assigned = enclosing_assignment(job, read.span)
    if assigned is not None and _NAMED.search(word_around(job, read.span)[0]) is not None:
        return Reach.MESSAGE  # the name of a step, in words that are put together
    if assigned is not None and use.kind == "assignment" and is_for_absent_program(job, assigned.name):
        return Reach.MESSAGE
    if assigned is not None and use.kind == "assignment" and is_unread(job, assigned):
        return Reach.MESSAGE
    if assigned is None or use.kind != "assignment" or assigned.exported or assigned.name in through:
        return Reach.WORK
    reached = _of_others(job, read, (*through, assigned.name), known)
    return Reach.FOLDER if reached is Reach.WORK and assigned.span.start < _last_made(job, assigned.name) else reached


def _of_others(job: Job, read: VariableRead, through: tuple[str, ...], known: dict[str, Reach]) -> Reach:
    """What depends on the last of the variables that a value is followed through, but for a read of itself."""
    name = through[-1]
    if len(through) > _MOST_HANDED_ON:
        return Reach.WORK
    if read.name != name and name in known:
        return known[name]
    others = [each for each in reads_of(job).get(name, ()) if each.span != read.span]
    reached = max((_reach(job, each, through, known) for each in others), default=Reach.WORK)
    if read.name != name:
        known[name] = reached
    return reached


def _names_log(job: Job, read: VariableRead, command: Invocation | None) -> bool:
    """Whether a variable is part of a log's name: of a redirection, an option of sbatch, or a file that is put away."""
    before, word = word_around(job, read.span)
    if _TO_FILE.search(before) is not None and _LOG.search(word) is not None:
        return True
    if command is None:
        return False
    if command.name in _STARTERS and _TOLD.search(before) is not None:
        return True
    puts_away = has_trait(command.name, "places") or command.name in ("rm", "gzip", "tail", "cat")
    return puts_away and _LOG.search(word) is not None


def word_around(job: Job, span: Span) -> tuple[str, str]:
    """The line before a place, and the word of the script that it is in, with its quotes."""
    text, line = job.source.text, job.source.line_of(span.start)
    start, end = span.start, span.end
    while start > line.start and text[start - 1] not in _BLANKS:
        start -= 1
    while end < line.end and text[end] not in _BLANKS:
        end += 1
    return text[line.start : span.start], text[start:end]


@once
def _last_made(job: Job, name: str) -> int:
    """Where the script last makes the folder that a variable names; -1 where it does not. From its assignment on, all
    commands mean the same folder."""
    made = [each.span.start for each in reads_of(job).get(name, ()) if _makes_folder(job, each)]
    return max(made, default=-1)


def _makes_folder(job: Job, read: VariableRead) -> bool:
    command = use_of(job, read).command
    return command is not None and command.name == "mkdir"
