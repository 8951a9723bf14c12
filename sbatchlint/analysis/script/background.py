"""Statements in the background: which may still run when another is started, and for which no `wait` waits.

`disown` takes commands in the background from the table of jobs, of which `wait` waits for each; with `-h` they stay
there (bash, builtins/jobs.def and wait.def, 5.2). Other commands put their own work into the background and return.
"""

from collections.abc import Iterator

from sbatchlint.analysis.script.conditionals import depends_on_test
from sbatchlint.bash.trace import Invocation, Shell
from sbatchlint.bash.values import UNKNOWN_CHARACTER
from sbatchlint.job import Job
from sbatchlint.job.once import once
from sbatchlint.source.regex import Regex
from sbatchlint.source.text import Span


@once
def waits(job: Job) -> list[Invocation]:
    """Every `wait` that runs whatever tests say."""
    return [each for each in job.invocations if each.name == "wait" and not depends_on_test(each)]


def enclosing_loops(command: Invocation, background: Shell) -> list[Span]:
    """The loops that start the background statement `background`, outermost first; `command` is one of its commands."""
    return [each for each in command.context.loops if not background.span.contains(each)]


def is_started_again(job: Job, command: Invocation, background: Shell) -> bool:
    """Whether a loop starts a background statement while that of the previous iteration may still run.

    `command` is a command of the statement `background`.
    """
    loops = enclosing_loops(command, background)
    if not loops:
        return False
    return not any(each.context.shell is background.parent and loops[-1] in each.context.loops for each in waits(job))


_LAST = ("%%", "%+", "%", "$!", "${!}")


def disowned(job: Job) -> Iterator[tuple[Invocation, list[Shell]]]:
    """Each `disown`, with the statements in the background that it gives up; it may be several if it names one."""
    if "disown" not in job.source.text:
        return
    by_home = dict[int, dict[int, Shell]]()
    for command in job.invocations:
        if command.name == "disown":
            before = [*by_home.get(id(command.context.shell), {}).values()]
            options, others = _words(job, command)
            if "h" not in options:
                yield command, before if options or others else before[-1:]
        for shell in command.context.shell.enclosing_shells():
            if shell.kind == "background":
                by_home.setdefault(id(shell.parent), {})[id(shell)] = shell


@once
def certainly_disowned(job: Job) -> dict[int, Invocation]:
    """The `disown` by the id of each statement in the background that it surely gives up."""
    found = dict[int, Invocation]()
    for command, shells in disowned(job):
        if not command.context.conditional and not _words(job, command)[1]:
            found |= {id(shell): command for shell in shells}
    return found


def _words(job: Job, command: Invocation) -> tuple[str, bool]:
    """The options of a `disown`, and whether it names others than the last command in the background."""
    written = job.source.slice(command.span).split()[1:]
    options = "".join(each for each in written if each.startswith("-"))
    return options, any(each.strip("\"'") not in _LAST for each in written if not each.startswith("-"))


_ABAQUS = Regex(r"abaqus|abq\d{4}\w*")
_JOB = Regex(r"(?i)-?j(?:ob)?=.*|-j(?:ob)?")
# With another first word it is no analysis: `abaqus cae`, `abaqus fetch job=…`.
_ANALYSIS = Regex(r"(?i)-?(?:j|job|inp|input|cpus|user|double|memory|scratch|analysis)(?:=.*)?")
_INTERACTIVE = Regex(r"(?i)-?int(?:eractive)?")


def returns_at_once(command: Invocation) -> tuple[str, bool] | None:
    """What to write instead of a command that leaves its work in the background, and whether it certainly does."""
    words = command.words[1:]
    if UNKNOWN_CHARACTER in words:
        return None  # which may be the option that decides
    match command.name:
        case "nextflow":
            return ("remove `-bg`", True) if "-bg" in words else None
        case "screen":
            forks = words[:1] in (["-dm"], ["-dmS"], ["-md"], ["-mdS"]) or words[:2] in (["-d", "-m"], ["-m", "-d"])
            return ("run the program without screen", True) if forks else None
        case "tmux":
            forks = words[:1] in (["new"], ["new-session"]) and "-d" in words
            return ("run the program without tmux", True) if forks else None
        case "setsid":
            return ("remove `-f`", True) if words[:1] in (["-f"], ["--fork"]) else None
        case str() as name if _ABAQUS.fullmatch(name):
            runs = words and _ANALYSIS.fullmatch(words[0]) and any(map(_JOB.fullmatch, words))
            if not runs or any(map(_INTERACTIVE.fullmatch, words)):
                return None
            return "append `interactive`", False  # the site's settings may say so
    return None
