"""Branches in which a script does none of its work and ends well all the same.

`if [ "$host" = a ]; then …; elif [ "$host" = b ]; then …; fi` does nothing on a third host, and has the status 0.
"""

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from sbatchlint.analysis.script.status_records import Arm, Choice, ExitStatuses
from sbatchlint.analysis.script.work import Weight
from sbatchlint.source.regex import Regex
from sbatchlint.source.text import Span

# What a script says when it gives up, and what it says when there is nothing to do.
ERROR = Regex(
    r"(?i)\berr(?:or)?\b|fail|missing|no such|could not|can ?not|unable|invalid|unknown|unsupported|abort|illegal|wrong"
    r"|not? (?:\S+ )*(?:found|exist|set|given|specified|provided|defined|available|installed|supported)|\w+n't"
)
NOTHING_TO_DO = Regex(r"(?i)already|skip|nothing|complete|\bdone\b|finish|success|up.to.date|requeue|resubmit|conver")
# `$NAME` compared with something for equality.
_EQUAL = Regex(r"\$\{?(\w+)(?::?-[^{}]*)?\}?[\"']?\s+(?:==?|=~|-eq)\s")
_NAME = Regex(r"\$\{?(\w+)")
# Other tests, and those of two things at once.
_OTHER = Regex(r"\s-(?!eq\b)[a-zA-Z]+\s|&&|!|[<>]")
_LEAST_ARMS = 2


class DeadEnd(NamedTuple):
    """A branch without work. `span`: the message that it prints, or the statement that has no such branch.

    `test`: where it is tested; `kind`: If, Case, AndOr. `message`: whether it says that something is wrong.
    `chosen`: what is tested is what somebody wrote who submits the job, and not what a command finds.
    """

    span: Span
    test: Span
    kind: str
    message: bool
    chosen: bool


def dead_ends(found: ExitStatuses) -> Iterator[DeadEnd]:
    """The branches in which nothing of the job's main work runs, though it does in others; the job ends well."""
    if not found.choices:
        return
    top = max([weight for _, weight in found.met], default=Weight.NONE)
    if top < Weight.PROGRAM:
        return
    heavy = [number for number, (_, weight) in enumerate(found.met) if weight is top]
    # a server in the background is not what the script is for
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
            told = job.message_of(subject)
            test = _test(group[0])
            measured = job.is_measured(group, subject)
            if told is not None or measured:
                yield DeadEnd(told or test, test, group[0].kind, told is not None, not measured)
                return


def _error(arm: Arm) -> Span | None:
    """The message of an arm that goes on though it says that something is wrong."""
    return next((span for span, text in arm.messages if arm.goes_on and ERROR.search(text)), None)


def _test(choice: Choice) -> Span:
    """The word that begins a branch."""
    start = choice.span.start
    return choice.span if choice.kind == "AndOr" else Span(start, start + len(choice.kind))


def _subject(choice: Choice) -> str | None:
    """The variable whose value alone decides which arm runs."""
    names: set[str] = set()
    for arm in choice.arms:
        if arm.test:
            found = _EQUAL.findall(arm.test)
            if not found or _OTHER.search(arm.test):
                return None
            names.update(found)
    return names.pop() if len(names) == 1 else None


def _dispatches(job: "_Works") -> Iterator[tuple[list[Choice], int]]:
    """Branches one behind the other that share the work between the values of one variable, and the last's number."""
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
    """How many of these, which are in order, lie in a range."""
    return bisect_left(commands, last) - bisect_left(commands, first)


def _around(choices: Sequence[Choice]) -> list[tuple[int, Arm] | None]:
    """For each branch the arm that holds it, and the number of that arm's branch; inner branches come first."""
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
    """Where the main work of a job stands."""

    def __init__(self, found: ExitStatuses, heavy: Sequence[int]) -> None:
        self.found = found
        self.heavy = heavy
        self.programs = [number for number, (_, weight) in enumerate(found.met) if weight >= Weight.PROGRAM]
        self.around = _around(found.choices)

    def all_in(self, group: Sequence[Choice], number: int) -> bool:
        """Whether nothing of the work runs where no arm with work of these branches does, and none comes later.

        `group`: branches with work, and none between them; `number`: that of the last.
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
        """The innermost arm around a branch that begins with this command or before, and the number of its branch."""
        found = self.around[number]
        while found is not None:
            if found[1].first <= first:
                return found
            found = self.around[found[0]]
        return None, None

    def message_of(self, name: str) -> Span | None:
        """The message of a branch that tests a variable and only says that its value is none of those that it knows."""
        for choice in self.found.choices:
            for arm in choice.arms:
                if arm.messages and arm.goes_on:
                    if not arm.test and _subject(choice) == name:
                        return _error(arm) or arm.messages[0][0]
                    if "!" in arm.test and set(_NAME.findall(arm.test)) == {name} and _error(arm) is not None:
                        return _error(arm)
        return None

    def is_measured(self, group: Sequence[Choice], name: str) -> bool:
        """Whether a command finds the value of the variable, so that nobody who submits the job chooses it."""
        first = next(each for each in self.heavy if group[0].first <= each < group[0].last)
        variable = self.found.met[first][0].state.variables.get(name)
        fields = [] if variable is None else [field for each in variable.alternatives for field in each.fields or ()]
        found = (piece.expansion for field in fields for piece in field if piece.text is None)
        return any(each is not None and each.name.startswith("$(") for each in found)
