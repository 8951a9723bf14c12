"""Places where a script gives up with a message, and ends with status 0: `echo "no input"; exit`."""

from collections.abc import Iterator

from sbatchlint.analysis.script.dead_ends import ERROR, NOTHING_TO_DO
from sbatchlint.bash.syntax.tree import AndOr, Case, If
from sbatchlint.bash.syntax.walk import nodes_of
from sbatchlint.bash.trace import Invocation
from sbatchlint.bash.values import text_of
from sbatchlint.job import Job
from sbatchlint.job.programs import by_program
from sbatchlint.source.regex import Regex

_MESSAGES = frozenset({"echo", "printf", "cat"})
# What may stand between a message and the end.
_BETWEEN = frozenset({*_MESSAGES, "date", "sleep", "hostname"})
# What also may, as the `exit 0` then gives the status.
_TIDYING = frozenset({"rm", "touch", "cd", "popd"})
# Functions that end the script because of an error.
_DYING = Regex(r"(?i)(?:\w*_)?(?:die|fail|failed|abort|bail|error|err|fatal|usage|panic)(?:_\w+)?")
# Tests that succeed where something is missing or went wrong, and those that succeed where it is there.
_MISSING = Regex(
    r"!\s*(?:-[defrsx]\s|command\s+-v|which|type|hash)|(?:!\s*\[\[?|test\s+!)\s+-[defrsx]\s|-z\s"
    r"|\[\[?\s+!\s+[\"']?\$\{?\w+\}?[\"']?\s+\]"
    r"|\$\{?#\}?[\"']?\s*(?:-lt|-le|-ne|<|!=|(?:-eq|==?)\s*[\"']?0)|\$\?[\"']?\s*(?:-ne|-gt|!=)\s*[\"']?0"
)
_THERE = Regex(
    r"^\s*(?:test|\[\[?)\s+(?:-[defrsxn]\s|\$\{?#\}?[\"']?\s*(?:-eq|-ge|-gt|==?)|\$\?[\"']?\s*(?:-eq|==?)\s*0)"
)
# A message that says of itself that it is about an error.
_SAYS_ERROR = Regex(r"\W*(?:ERROR|FATAL|FAILED)\b|\W*(?i:error|fatal|failed):")
# An argument that asks for help.
_HELP = Regex(r"(?<![\w-])--?h(?:elp)?\b")


def giving_up(job: Job) -> Iterator[tuple[Invocation, Invocation]]:
    """Each `exit` with 0 that follows a message about an error, in a branch, after that message."""
    for command in by_program(job).get("exit", ()):
        message = _message(job, command)
        if message is not None:
            yield message, command


def contradicts_itself(message: Invocation, end: Invocation) -> bool:
    """Whether a script says ERROR, and that nothing failed: `echo "ERROR: no input"; exit 0`."""
    return len(end.argv) > 1 and any(_SAYS_ERROR.match(word) for word in message.words[1:2])


def _message(job: Job, command: Invocation) -> Invocation | None:
    """The message after which an `exit` gives up; None where the script succeeds or fails there."""
    context = command.context
    if context.handler or context.captured or context.parent is not None or context.shell.depth:
        return None
    branches = _branches(command)
    if len(command.argv) > 2 or len(command.argv) > 1 and text_of(command.argv[1]) != "0" or not branches:
        return None
    messages: list[Invocation] = []
    for each in reversed(job.invocations[: command.index]):
        among = each.name in _BETWEEN or len(command.argv) > 1 and each.name in _TIDYING
        if not among or _branches(each) != branches or each.context.calls != context.calls:
            break
        if each.name in _MESSAGES:
            messages.append(each)
    before = job.invocations[command.index - 1] if command.index else None
    if not messages or before is None or len(command.argv) == 1 and before.name not in _BETWEEN:
        return None
    texts = [" ".join(each.words[1:]) for each in messages]
    if any(map(NOTHING_TO_DO.search, texts)):
        return None
    plain = len(command.argv) == 1
    failed = bool(context.calls) and _DYING.fullmatch(context.calls[-1]) is not None
    if not failed and not any(map(ERROR.search, texts)):
        failed = plain and _follows_failure(job, command)
    elif not failed:
        failed = _HELP.search(_test(job, command)[0]) is None
    return messages[-1] if failed else None


def _branches(command: Invocation) -> frozenset[object]:
    """The branches that contain a command; its other guards are about alternatives for its words."""
    return frozenset(guard for guard in command.guards if isinstance(guard[0], tuple) and guard[0][0] in ("if", "case"))


def _follows_failure(job: Job, command: Invocation) -> bool:
    """Whether a command runs only where a test found that something is missing or failed."""
    test, negated = _test(job, command)
    return (_THERE if negated else _MISSING).search(test) is not None


def _test(job: Job, command: Invocation) -> tuple[str, bool]:
    """The test that decides whether a command runs, and whether it runs where that fails; empty without one."""
    string, found, width = job.text.string, ("", False), len(job.text.string) + 1
    for node in nodes_of(job.program, If):
        inside = job.span(node.start, node.end).contains(command.span)
        if inside and node.end - node.start < width:
            for condition, body in node.branches:
                if body and job.span(body[0].start, body[-1].end).contains(command.span):
                    found, width = (string[condition[0].start : condition[-1].end], False), node.end - node.start
            last = node.otherwise
            if last and job.span(last[0].start, last[-1].end).contains(command.span):
                condition = node.branches[-1][0]
                found, width = (string[condition[0].start : condition[-1].end], True), node.end - node.start
    for choice in nodes_of(job.program, Case):
        for patterns, body, _ in choice.items:
            size = choice.end - choice.start
            if body and size < width and job.span(body[0].start, body[-1].end).contains(command.span):
                written = "|".join(string[each.start : each.end] for each in patterns)  # `-h|--help)`
                found, width = (written, False), size
    for chain in nodes_of(job.program, AndOr):
        if chain.end - chain.start < width and job.span(chain.right.start, chain.right.end).contains(command.span):
            found, width = (string[chain.left.start : chain.left.end], chain.operator == "||"), chain.end - chain.start
    return found
