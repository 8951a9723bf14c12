"""Branches in which a script does none of its work, and still ends with status 0.

`if [ "$host" = a ]; then …; elif [ "$host" = b ]; then …; fi` does nothing on a third host, and its status is 0.
"""

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from sbatchlint.analysis.script.status_records import Arm, Choice, ExitStatuses
from sbatchlint.analysis.script.work import Weight
from sbatchlint.source.regex import Regex
from sbatchlint.source.text import Span

# Messages of a script that gives up, and of one that has nothing to do.
ERROR = Regex(
    r"(?i)\berr(?:or)?\b|fail|missing|no such|could not|can ?not|unable|invalid|unknown|unsupported|abort|illegal|wrong"
    r"|not? (?:\S+ )*(?:found|exist|set|given|specified|provided|defined|available|installed|supported)|\w+n't"
    r"|^\W*usage\b|\bno (?:\S+ )?(?:input|data|argument|parameter|file|folder|directory|sample|config|checkpoint|model)"
    r"|\b(?:not enough|too (?:few|many)|insufficient)\b"
    r"|\b(?:must|need|require)(?:s|d|ed)?\b|please (?:set|give|provide|specify|supply|load|choose)"
)
NOTHING_TO_DO = Regex(
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
                if message is not None and not any(NOTHING_TO_DO.search(text) for _, text in arm.messages):
                    subject = _subject(choice)
                    chosen = subject is not None and not job.is_measured([choice], subject)
                    yield DeadEnd(message, _test(choice), choice.kind, True, chosen)
                    return
    for group, number in _dispatches(job):
        subject = _subject(group[0])
        assert subject is not None
        if job.all_in(group, number):
            if group[-1].kind == "AndOr" and group[-1].last == len(found.met):
                continue  # its status is 1
            message = job.message_of(subject)
            test = _test(group[0])
            measured = job.is_measured(group, subject)
            if message is not None or measured:
                yield DeadEnd(message or test, test, group[0].kind, message is not None, not measured)
                return


def _error(arm: Arm) -> Span | None:
    """The message that something is wrong, in an arm after which the shell goes on; None if there is none."""
    return next((span for span, text in arm.messages if arm.goes_on and ERROR.search(text)), None)


def _test(choice: Choice) -> Span:
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
