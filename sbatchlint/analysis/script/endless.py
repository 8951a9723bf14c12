"""Ends that a script does not reach: it sleeps up to the time limit, follows a file forever, or loops without an end.

Such a job ends as TIMEOUT, or somebody cancels it: no command's exit status counts.
"""

import re

from sbatchlint.analysis.script.conditionals import depends_on_test
from sbatchlint.bash.syntax.tree import Simple, Statement, While
from sbatchlint.bash.syntax.walk import literal_text, nodes_of
from sbatchlint.bash.trace import Invocation
from sbatchlint.bash.values import Phase
from sbatchlint.job import Job
from sbatchlint.job.once import once
from sbatchlint.job.programs import commands_named

_UNITS = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86400}
_LENGTH = re.compile(r"([0-9]+(?:\.[0-9]*)?|\.[0-9]+)([smhd]?)")
_FOLLOWING = re.compile(r"-[a-zA-Z]*[fF].*|--follow(?:=.*)?")
_LEAVING = frozenset({"break", "exit", "return", "exec", "kill", "pkill", "scancel", "eval", "source", "."})


@once
def endless_command(job: Job) -> Invocation | None:
    """The first command that the script's shell certainly does not get past within the job's time; None if none."""
    if commands_named(job, "trap"):
        return None  # a signal may end it
    found = [each for each in commands_named(job, "sleep", "tail") if _never_returns(job, each)]
    for statement in job.program.statements:
        if isinstance(statement, While) and _is_endless(job, statement):
            span = job.span(statement.start, statement.end)
            inside = [each for each in job.invocations if span.contains(each.span)]
            if not any(each.calls_function for each in inside):
                found += inside[:1]
    return min((each for each in found if _is_certain(each)), key=lambda each: each.index, default=None)


def _is_certain(command: Invocation) -> bool:
    context = command.context
    in_script = context.parent is None and not context.shell.depth and context.background is None
    return command.phase is Phase.BATCH and in_script and not depends_on_test(command)


def _never_returns(job: Job, command: Invocation) -> bool:
    words = command.words[1:]
    if command.context.loops:
        return False
    if command.name == "tail":
        return any(map(_FOLLOWING.fullmatch, words)) and not any(word.startswith("--pid") for word in words)
    limit = job.request.time
    total = 0.0
    for word in words:
        if word in ("inf", "infinity"):
            return True
        length = _LENGTH.fullmatch(word)
        if length is None:
            return False
        total += float(length[1]) * _UNITS[length[2]]
    return limit is not None and total >= 60 * limit


def _is_endless(job: Job, loop: While) -> bool:
    """Whether a loop has a condition that always holds, and nothing in it leaves it."""
    condition = loop.condition[0] if len(loop.condition) == 1 else None
    if _name(condition) not in (("false",) if loop.negated else ("true", ":")):
        return False
    names = [_name(each) for each in nodes_of(loop, Simple)]
    return None not in names and _LEAVING.isdisjoint(names)


def _name(statement: Statement | None) -> str | None:
    """The name of a plain command, '' for assignments alone; None where it is not known."""
    if not isinstance(statement, Simple):
        return None
    return literal_text(statement.words[0]) if statement.words else ""
