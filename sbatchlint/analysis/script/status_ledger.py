"""The books of `sbatchlint.analysis.script.exit_status`: what has become of each command's status so far."""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any

from sbatchlint.analysis.script.status_records import Arm, Choice, EmptyStatus, LateRead, Loss, Status
from sbatchlint.analysis.script.status_uses import StatusUses
from sbatchlint.analysis.script.work import Weight, weight
from sbatchlint.bash.syntax.tree import Assignment, Case, For, Program, Simple, Statement, Word
from sbatchlint.bash.trace import Invocation
from sbatchlint.bash.values import Text
from sbatchlint.job import Job
from sbatchlint.source.text import Span


class Ledger:
    """What is noted while a script is walked."""

    def __init__(self, job: Job) -> None:
        self.job = job
        self.lost: dict[int, Loss] = {}
        self.awaited: dict[int, Loss] = {}
        self.seen: set[int] = set()
        self.empty: dict[int, EmptyStatus] = {}
        self.late: dict[int, LateRead] = {}
        self.errexit = False
        self.weights: dict[int, Weight] = {}
        self.met: list[Invocation] = []
        self.choices: list[Choice] = []
        self.judged = 0  # how many commands ran when something looked at results last
        self.at = -1  # the index of the command that was met last
        self.places: defaultdict[Span, list[Invocation]] = defaultdict(list)
        for each in job.invocations:
            if not each.kind:
                self.places[each.span].append(each)

    def enter(self, text: Text, program: Program) -> Sequence[Statement]:
        self.text, self.uses = text, StatusUses(program, text.string)
        return program.statements

    def invocation(self, span: Span) -> Invocation | None:
        """The command that is recorded for a place, behind those that were met."""
        found = self.places.get(span)
        if found is None:
            return None
        result = found[-1]
        if result.index > self.at:
            if len(found) > 1:
                result = found[bisect_right(found, self.at, key=lambda each: each.index)]
            self.at = result.index
        return result

    def lose(self, commands: Iterable[Invocation], how: str, by: Span, last: Invocation | None = None) -> None:
        for each in commands:
            found = self.awaited if how in ("wait", "waits") else self.lost
            old = found.get(id(each))
            if old is None or old.how in ("turns", "ignored"):
                found[id(each)] = Loss(each, self.weights[id(each)], how, by, self.errexit, last)

    def see(self, commands: Iterable[Invocation]) -> None:
        self.seen.update(map(id, commands))

    def judge(self, before: Iterable[int], ran: int) -> None:
        """Something looks at the results of what ran before, and may end the script with a status of its own.

        `ran`: how many commands that were.
        """
        self.seen.update(before)
        self.judged = ran

    def span(self, node: Statement | Word) -> Span:
        return self.text.span(node.start, node.end)

    def written(self, node: Statement | Word | Assignment) -> str:
        return self.text.string[node.start : node.end]

    def read(self, node: Any, status: Status, quiet: bool = False) -> bool:
        """Notes the statuses that a statement reads. Returns whether it does so in earnest."""
        found = False
        for at in self.uses.reads(node.start, node.end):
            of_pipe = self.uses.reads_pipe_status(at)
            if status.started is not None and not of_pipe:
                place = self.text.span(at, at + 2)
                earnest = self.uses.in_earnest(at)
                self.empty.setdefault(place.start, EmptyStatus(place, status.started, earnest))
            if status.by is not None and not of_pipe and not quiet and self.uses.decides(at):
                self.see(status.hidden)
                place = self.text.span(at, at + 2)
                self.late.setdefault(place.start, LateRead(place, status.hidden[-1], status.by))
            if self.uses.in_earnest(at):
                found = True
                if not quiet:
                    self.see(status.carried)
                    if of_pipe:
                        self.see(status.piped)
        return found

    def replace(self, node: Statement, status: Status) -> None:
        """Another command's status takes the place of this one."""
        tests = not isinstance(node, Simple) or self.uses.name(node) in ("[", "test")
        told = tests and not isinstance(node, (Case, For)) and self.uses.reads(node.start, node.end)
        self.lose(status.carried, "told" if told else "later", self.span(node))

    def behind(self, node: Statement, status: Status) -> Status:
        """The status after a command that cannot fail."""
        carried = status.carried
        if not carried and not status.piped:
            return status
        return Status((), (), status.started, carried or status.hidden, self.span(node) if carried else status.by)

    def weight(self, command: Invocation) -> Weight:
        key = id(command)
        if key not in self.weights:
            self.weights[key] = weight(self.job, command)
            self.met.append(command)
        return self.weights[key]

    def choose(self, node: Statement, arms: list[Arm]) -> None:
        """Notes the arms of a branch, with one for what none of its tests lets through."""
        if all(each.test for each in arms):
            arms.append(Arm("", len(self.met), len(self.met), [], True))
        first = arms[0].first
        self.choices.append(Choice(type(node).__name__, self.span(node), tuple(arms), first, len(self.met)))
