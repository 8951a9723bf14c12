"""Branches in which a script does none of its work and ends well all the same.

`if [ "$host" = a ]; then …; elif [ "$host" = b ]; then …; fi` does nothing on a third host, and has the status 0.
"""

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from sbatchlint.analysis.script.status_records import Arm, Choice, Fates
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


def dead_ends(found: Fates) -> Iterator[DeadEnd]:
    """The branches in which nothing of the job's main work runs, though it does in others; the job ends well."""
    top = max((weight for _, weight in found.met), default=Weight.NONE)
    if top < Weight.PROGRAM or not found.choices:
        return
    heavy = [number for number, (_, weight) in enumerate(found.met) if weight is top]
    # a server in the background is not what the script is for
    heavy = [each for each in heavy if found.met[each][0].context.background is None] or heavy
    job = _Works(found, heavy)
    for choice in found.choices:
        if job.all_in([choice]):
            for arm in choice.arms:
                message = _error(arm)
                if message is not None and not any(NOTHING_TO_DO.search(text) for _, text in arm.told):
                    subject = _subject(choice)
                    chosen = subject is not None and not job.is_measured([choice], subject)
                    yield DeadEnd(message, _test(choice), choice.kind, True, chosen)
                    return
    for group in _dispatches(found, heavy):
        subject = _subject(group[0])
        assert subject is not None
        if job.all_in(group):
            if group[-1].kind == "AndOr" and group[-1].last == len(found.met):
                continue  # its status is 1
            told = job.told_of(subject)
            test = _test(group[0])
            measured = job.is_measured(group, subject)
            if told is not None or measured:
                yield DeadEnd(told or test, test, group[0].kind, told is not None, not measured)
                return


def _error(arm: Arm) -> Span | None:
    """The message of an arm that goes on though it says that something is wrong."""
    return next((span for span, text in arm.told if arm.goes_on and ERROR.search(text)), None)


def _test(choice: Choice) -> Span:
    """The word that begins a branch."""
    start = choice.span.start
    return choice.span if choice.kind == "AndOr" else Span(start, start + len(choice.kind))


def _any_in(heavy: Sequence[int], first: int, last: int) -> bool:
    """Whether one of these, which are in order, lies in a range."""
    at = bisect_left(heavy, first)
    return at < len(heavy) and heavy[at] < last


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


def _dispatches(found: Fates, heavy: Sequence[int]) -> Iterator[list[Choice]]:
    """Branches one behind the other that share the work between the values of one variable."""
    group: list[Choice] = []
    for choice in found.choices:
        if not _any_in(heavy, choice.first, choice.last):
            continue
        subject, default = _subject(choice), choice.arms[-1]
        idle = not default.test and default.goes_on and not _any_in(heavy, default.first, default.last)
        if subject is None or not idle:
            group = []
            continue
        if not (group and _subject(group[0]) == subject and group[-1].last <= choice.first):
            group = []
        group.append(choice)
        arms = [arm for each in group for arm in each.arms if _any_in(heavy, arm.first, arm.last)]
        if len(arms) >= _LEAST_ARMS:
            yield list(group)


class _Works:
    """Where the main work of a job stands."""

    def __init__(self, found: Fates, heavy: Sequence[int]) -> None:
        self.found = found
        self.heavy = heavy

    def all_in(self, group: Sequence[Choice]) -> bool:
        """Whether nothing of the work runs where no arm with work of these branches does, and none comes later."""
        met = self.found.met
        first, last = group[0].first, group[-1].last
        here = [each for each in self.heavy if first <= each < last]
        contexts = [met[each][0].context for each in here]
        if not here or any(each.loops or each.handler or not each.conditional for each in contexts):
            return False
        if any(all(each not in range(one.first, one.last) for one in group) for each in here):
            return False
        at = self.found.choices.index(group[-1]) + 1
        while True:
            around = self._around(at, first, last)
            start, end = (0, len(met)) if around is None else (around[1].first, around[1].last)
            if any(start <= each < first or last <= each < end for each in self.heavy):
                return False
            if any(weight >= Weight.PROGRAM for _, weight in met[last:end]):
                return False
            if around is None:
                return True
            first, last = around[0].first, around[0].last
            at = self.found.choices.index(around[0]) + 1

    def _around(self, at: int, first: int, last: int) -> tuple[Choice, Arm] | None:
        """The innermost arm that holds these commands, with its branch."""
        for choice in self.found.choices[at:]:
            for arm in choice.arms:
                if arm.first <= first and last <= arm.last and arm.last > arm.first:
                    return choice, arm
        return None

    def told_of(self, name: str) -> Span | None:
        """The message of a branch that tests a variable and only says that its value is none of those that it knows."""
        for choice in self.found.choices:
            for arm in choice.arms:
                if arm.told and arm.goes_on:
                    if not arm.test and _subject(choice) == name:
                        return _error(arm) or arm.told[0][0]
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
