"""Places where a script gives up and still ends with status 0: after a message, or in a branch without any work.

`echo "no input"; exit` is the first; `if [ "$host" = a ]; then …; elif [ "$host" = b ]; then …; fi` does nothing on a
third host.
"""

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from sbatchlint.analysis.script.status_records import Arm, Choice, ExitStatuses
from sbatchlint.analysis.script.work import Weight
from sbatchlint.bash.syntax.tree import AndOr, Case, If
from sbatchlint.bash.syntax.walk import nodes_of
from sbatchlint.bash.trace import Invocation
from sbatchlint.bash.values import text_of
from sbatchlint.bash.variables import branches_in
from sbatchlint.job import Job
from sbatchlint.job.programs import by_program
from sbatchlint.source.regex import Regex
from sbatchlint.source.text import Span

# Messages of a script that gives up, and of one that has nothing to do.
_ERROR = Regex(
    r"(?i)\berr(?:or)?\b|fail|missing|no such|could not|can ?not|unable|invalid|unknown|unsupported|abort|illegal|wrong"
    r"|not? (?:\S+ )*(?:found|exist|set|given|specified|provided|defined|available|installed|supported)|\w+n't"
    r"|^\W*usage\b|\bno (?:\S+ )?(?:input|data|argument|parameter|file|folder|directory|sample|config|checkpoint|model)"
    r"|\b(?:not enough|too (?:few|many)|insufficient)\b"
    r"|\b(?:must|need|require)(?:s|d|ed)?\b|please (?:set|give|provide|specify|supply|load|choose)"
)
_NOTHING_TO_DO = Regex(
    r"(?i)already|skip|nothing|complete|\bdone\b|finish|success|up.to.date|requeue|resubmit|conver"
    r"|\bno (?:\S+ )+(?:to|left|remain\w*)\b|no longer|not? need"
)
# A test of `$NAME` for equality.
_EQUAL = Regex(r"\$\{?(\w+)(?::?-[^{}]*)?\}?[\"']?\s+(?:==?|=~|-eq)\s")
_NAME = Regex(r"\$\{?(\w+)")
# Other tests, and combined ones.
_OTHER = Regex(r"\s-(?!eq\b)[a-zA-Z]+\s|&&|!|[<>]")
_LEAST_ARMS = 2


class DeadEnd(NamedTuple):
    """A branch without work.

    `span`: the message that it prints, or the statement that lacks a default branch. `test`: the word that begins the
    statement; `kind`: If, Case, AndOr. `message`: whether it prints that something is wrong. `chosen`: whether the
    tested value is set by whoever submits the job, not found by a command.
    """

    span: Span
    test: Span
    kind: str
    message: bool
    chosen: bool


def dead_ends(found: ExitStatuses) -> Iterator[DeadEnd]:
    """The first branch in which none of the job's main work runs, though other branches do it, and the job succeeds."""
    if not found.choices:
        return
    top = max([weight for _, weight in found.met], default=Weight.NONE)
    if top < Weight.PROGRAM:
        return
    heavy = [number for number, (_, weight) in enumerate(found.met) if weight is top]
    # a server in the background is not the main work
    heavy = [number for number in heavy if found.met[number][0].context.background is None] or heavy
    job = _Works(found, heavy)
    for number, choice in enumerate(found.choices):
        if job.all_in([choice], number):
            for arm in choice.arms:
                message = _error(arm)
                if message is not None and not any(_NOTHING_TO_DO.search(text) for _, text in arm.messages):
                    subject = _subject(choice)
                    chosen = subject is not None and not job.is_measured([choice], subject)
                    yield DeadEnd(message, _head(choice), choice.kind, True, chosen)
                    return
    for group, number in _dispatches(job):
        subject = _subject(group[0])
        assert subject is not None
        if job.all_in(group, number):
            if group[-1].kind == "AndOr" and group[-1].last == len(found.met):
                continue  # its status is 1
            message = job.message_of(subject)
            test = _head(group[0])
            measured = job.is_measured(group, subject)
            if message is not None or measured:
                yield DeadEnd(message or test, test, group[0].kind, message is not None, not measured)
                return


def _error(arm: Arm) -> Span | None:
    """The message that something is wrong, in an arm after which the shell goes on; None if there is none."""
    return next((span for span, text in arm.messages if arm.goes_on and _ERROR.search(text)), None)


def _head(choice: Choice) -> Span:
    """The keyword that begins a statement with branches; the whole of a `[ … ] && …`."""
    start = choice.span.start
    return choice.span if choice.kind == "AndOr" else Span(start, start + len(choice.kind))


def _subject(choice: Choice) -> str | None:
    """The variable whose value alone decides which arm runs; None where several or other things do."""
    names: set[str] = set()
    for arm in choice.arms:
        if arm.test:
            found = _EQUAL.findall(arm.test)
            if not found or _OTHER.search(arm.test):
                return None
            names.update(found)
    return names.pop() if len(names) == 1 else None


def _dispatches(job: "_Works") -> Iterator[tuple[list[Choice], int]]:
    """Consecutive choices that divide the work among the values of one variable, with the index of the last."""
    group: list[Choice] = []
    shared, arms, inside = "", 0, 0
    for number, choice in enumerate(job.found.choices):
        work = _count(job.heavy, choice.first, choice.last)
        if not work:
            continue
        subject, default = _subject(choice), choice.arms[-1]
        idle = not default.test and default.goes_on and not _count(job.heavy, default.first, default.last)
        if subject is None or not idle:
            group = []
            continue
        if not (group and shared == subject and group[-1].last <= choice.first):
            group, shared, arms, inside = [], subject, 0, 0
        group.append(choice)
        inside += work
        arms += sum(_count(job.heavy, arm.first, arm.last) > 0 for arm in choice.arms)
        if arms >= _LEAST_ARMS and inside == _count(job.heavy, group[0].first, choice.last):
            yield group, number


def _count(commands: Sequence[int], first: int, last: int) -> int:
    """How many of these sorted indices lie in a range."""
    return bisect_left(commands, last) - bisect_left(commands, first)


def _enclosing_arms(choices: Sequence[Choice]) -> list[tuple[int, Arm] | None]:
    """For each choice the index of the one around it and the arm that holds it; inner choices come first."""
    found: list[tuple[int, Arm] | None] = [None] * len(choices)
    holding: list[tuple[int, Arm]] = []
    for number in range(len(choices) - 1, -1, -1):
        choice = choices[number]
        while holding and not (holding[-1][1].first <= choice.first and choice.last <= holding[-1][1].last):
            holding.pop()
        found[number] = holding[-1] if holding else None
        holding.extend((number, arm) for arm in choice.arms if arm.last > arm.first)
    return found


class _Works:
    """The choices of a script, and where its main work is: `heavy` are the indices of those commands."""

    def __init__(self, found: ExitStatuses, heavy: Sequence[int]) -> None:
        self.found = found
        self.heavy = heavy
        self.programs = [number for number, (_, weight) in enumerate(found.met) if weight >= Weight.PROGRAM]
        self.enclosing = _enclosing_arms(found.choices)

    def all_in(self, group: Sequence[Choice], number: int) -> bool:
        """Whether all of the work runs in the arms of these choices, and none before, between or after them.

        `group`: choices with work, in order; `number`: the index of the last.
        """
        met = self.found.met
        first, last = group[0].first, group[-1].last
        inside = bisect_left(self.heavy, first), bisect_left(self.heavy, last)
        if inside[0] == inside[1]:
            return False
        at: int | None = number
        while at is not None:
            at, arm = self._holding(at, first)
            start, end = (0, len(met)) if arm is None else (arm.first, arm.last)
            if _count(self.heavy, start, first) or _count(self.programs, last, end):
                return False
            if at is not None:
                first, last = self.found.choices[at].first, self.found.choices[at].last
        contexts = [met[each][0].context for each in self.heavy[slice(*inside)]]
        return not any(each.loops or each.handler or not each.conditional for each in contexts)

    def _holding(self, number: int, first: int) -> tuple[int | None, Arm | None]:
        """The innermost arm around a choice that begins no later than this command, and the index of its choice."""
        found = self.enclosing[number]
        while found is not None:
            if found[1].first <= first:
                return found
            found = self.enclosing[found[0]]
        return None, None

    def message_of(self, name: str) -> Span | None:
        """The message of an arm that only prints that the variable has none of the known values; None if none."""
        for choice in self.found.choices:
            for arm in choice.arms:
                if arm.messages and arm.goes_on:
                    if not arm.test and _subject(choice) == name:
                        return _error(arm) or arm.messages[0][0]
                    if "!" in arm.test and set(_NAME.findall(arm.test)) == {name} and _error(arm) is not None:
                        return _error(arm)
        return None

    def is_measured(self, group: Sequence[Choice], name: str) -> bool:
        """Whether the variable's value is the output of a command, so whoever submits the job does not choose it."""
        first = next(each for each in self.heavy if group[0].first <= each < group[0].last)
        variable = self.found.met[first][0].state.variables.get(name)
        fields = [] if variable is None else [field for each in variable.alternatives for field in each.fields or ()]
        found = (piece.expansion for field in fields for piece in field if piece.text is None)
        return any(each is not None and each.name.startswith("$(") for each in found)


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
    branches = branches_in(command.guards)
    if len(command.argv) > 2 or len(command.argv) > 1 and text_of(command.argv[1]) != "0" or not branches:
        return None
    messages: list[Invocation] = []
    for each in reversed(job.invocations[: command.index]):
        among = each.name in _BETWEEN or len(command.argv) > 1 and each.name in _TIDYING
        if not among or branches_in(each.guards) != branches or each.context.calls != context.calls:
            break
        if each.name in _MESSAGES:
            messages.append(each)
    before = job.invocations[command.index - 1] if command.index else None
    if not messages or before is None or len(command.argv) == 1 and before.name not in _BETWEEN:
        return None
    texts = [" ".join(each.words[1:]) for each in messages]
    if any(map(_NOTHING_TO_DO.search, texts)):
        return None
    plain = len(command.argv) == 1
    failed = bool(context.calls) and _DYING.fullmatch(context.calls[-1]) is not None
    if not failed:
        test, negated = _test(job, command)
        if any(map(_ERROR.search, texts)):
            failed = _HELP.search(test) is None
        else:  # it must run only where the test found that something is missing or failed
            failed = plain and (_THERE if negated else _MISSING).search(test) is not None
    return messages[-1] if failed else None


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
