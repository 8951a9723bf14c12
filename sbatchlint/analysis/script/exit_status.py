"""What becomes of the exit status of each command: whether the job fails when its work does.

The script is walked once more, now with one question: if this command fails and all others succeed, with which status
does the script end? A status is carried by `$?` until that of another command replaces it. It gets further where
something looks at it, where the shell ends by it (errexit), or where it is that of the script's last command.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from typing import Any

from sbatchlint.analysis.script.status_ledger import Ledger
from sbatchlint.analysis.script.status_records import GOOD, Arm, Fates, Process, Status, awaited, carrying, joined
from sbatchlint.analysis.script.status_uses import CHOOSY, PATIENT, RISKY, assigned_status
from sbatchlint.analysis.script.work import Weight
from sbatchlint.bash.syntax.tree import (
    AndOr,
    ArithmeticCommand,
    ArithmeticFor,
    Assignment,
    Background,
    Case,
    For,
    Function,
    Group,
    If,
    Parameter,
    Pipeline,
    Simple,
    Statement,
    TestCommand,
    While,
)
from sbatchlint.bash.syntax.walk import nodes_of
from sbatchlint.bash.trace import Invocation, PipelineRun
from sbatchlint.bash.values import Text, text_of
from sbatchlint.job import Job
from sbatchlint.job.once import once
from sbatchlint.source.text import Span

_MOST_STEPS, _MOST_CALLS = 20_000, 6
_SURE = frozenset({":", "echo", "printf", "true"})  # they succeed whatever happens
_DECLARING = frozenset({"declare", "export", "local", "readonly", "typeset"})


@once
def fates(job: Job) -> Fates:
    """What becomes of the exit status of each command of a job's work."""
    return _Walk(job, False).fates()


@once
def fates_with_pipefail(job: Job) -> Fates:
    """The same, if `pipefail` were on."""
    return _Walk(job, True).fates()


def decisive_around(job: Job, parent: Invocation | None) -> Iterator[Invocation]:
    """The decisive work in the program that a command starts, and in the script itself; the last one first."""
    for at in dict.fromkeys((parent, None)):
        yield from reversed(_decisive(job).get(at, ()))


@once
def _decisive(job: Job) -> dict[Invocation | None, list[Invocation]]:
    found: dict[Invocation | None, list[Invocation]] = {}
    for each in fates(job).decisive:
        found.setdefault(each.context.parent, []).append(each)
    return found


class _TooLong(Exception):
    pass


class _Walk(Ledger):
    def __init__(self, job: Job, pipefail: bool) -> None:
        super().__init__(job)
        self.pipefail = pipefail
        self.steps = 0
        self.risky = False
        self.last: Invocation | None = None
        self.may_leave = bool({each.errexit for each in job.pipelines} - {False})  # by errexit, which few scripts set
        self.process = Process()
        self.returns: list[list[Invocation]] = []
        self.loops: list[tuple[int, int]] = []
        self.calls: tuple[str, ...] = ()
        self.branches = 0
        self.kept: set[str] = set()  # variables that hold exit statuses
        self.tested = False
        self.telling = False  # whether what is tested only decides which message is printed

    def fates(self) -> Fates:
        found = self.enter(self.job.text, self.job.program)
        try:
            status = self.body(found, GOOD)
        except (_TooLong, RecursionError):
            return Fates([], [], [], [], None, list(self.empty.values()), list(self.late.values()), True, [], [])
        decisive = [*self.process.exits, *(status.carried if status is not None else ())]
        # where a job does weightier work, copying and building is none
        least = min(max(self.weights.values(), default=Weight.NONE), Weight.PROGRAM)
        decided = set(map(id, decisive))
        self.seen.update(key for key, each in self.lost.items() if each.how == "ignored" and key in decided)
        lost, awaited = [
            [each for key, each in losses.items() if key not in self.seen and each.weight >= least]
            for losses in (self.lost, self.awaited)
        ]
        decisive = [each for each in decisive if self.weights[id(each)] >= least]
        decisive.extend(self.process.inner)
        if not self.risky:
            self.risky = True in {each.context.captured for each in self.job.invocations if each.name in CHOOSY}
        met = [(each, self.weights[id(each)]) for each in self.met]
        work = [each for each, weight in met if weight >= least] if least > Weight.NONE else []
        lost.sort(key=lambda each: each.command.index)
        choices = [each for each in self.choices if each.last > self.judged]
        empty, late = list(self.empty.values()), list(self.late.values())
        return Fates(lost, awaited, decisive, work, self.last, empty, late, self.risky, met, choices)

    # --- statements ----------------------------------------------------------------------------------

    def body(self, body: Sequence[Statement], status: Status) -> Status | None:
        """Statements in order. Returns the status after them; None where none goes on."""
        self.steps += len(body)
        if self.steps > _MOST_STEPS:
            raise _TooLong
        for each in body:
            if type(each) is Simple and not each.words and self.is_idle(status):
                continue  # nothing but an assignment
            result = self.statement(each, status)
            if result is None:
                return None
            status = result
        return status

    def statement(self, node: Statement, status: Status) -> Status | None:
        method = _METHODS.get(type(node))
        return GOOD if method is None else method(self, node, status)

    def apart(self, node: Statement, status: Status) -> list[Invocation]:
        """A statement in a process of its own: the commands of whose failure its status tells."""
        outer = self.process, self.returns, self.loops, self.errexit
        inner = self.process = Process()
        inner.inner = outer[0].inner
        self.loops = []
        end = self.statement(node, status)
        self.process, self.returns, self.loops, self.errexit = outer
        return [*inner.exits, *(end.carried if end is not None else ())]

    def ended(self, commands: Iterable[Invocation]) -> Status:
        """The status of a statement that fails with these commands, under errexit or not."""
        found = tuple(commands)
        if not found:
            return GOOD
        if self.errexit and not self.tested:
            self.process.exits.extend(found)
            return GOOD
        return carrying(found)

    @cached_property
    def runs(self) -> dict[Span, PipelineRun]:
        return {each.span: each for each in self.job.pipelines}

    def note_options(self, span: Span) -> PipelineRun | None:
        """Takes over the options of the shell as they were at a statement."""
        run = self.runs.get(span)
        if run is not None:
            self.errexit = run.errexit is not False
        return run

    def on_simple(self, node: Simple, status: Status) -> Status | None:
        words = node.words
        if not words or isinstance(words[0], Assignment):
            return self.on_assignments(node, status)
        invocation = self.invocation(self.text.span(words[0].start, words[-1].end))
        if invocation is None:
            # a declaration, which the trace does not hold, or what never runs
            declares = not self.is_idle(status) and self.uses.name(node) in _DECLARING
            return self.on_assignments(node, status) if declares else status
        if self.may_leave:
            self.note_options(self.span(node))
        name = invocation.name
        if name is None and len(invocation.argv[0]) == 1 and invocation.argv[0][0].expansion is None:
            return status  # a template's value: anything, or nothing
        if name in ("exit", "return"):
            self.on_exit(node, invocation, status)
            return None
        if name in ("break", "continue"):
            self.see(status.carried)
            return None
        if self.uses.has_reads:
            self.read(node, status)
        if not self.branches and not invocation.context.conditional:
            self.last = invocation
        if name is not None and name.startswith("-"):
            self.judge((*self.lost, *map(id, status.carried)), len(self.met))  # the rest of a broken line, which fails
            return GOOD
        if name in self.uses.functions and name not in self.calls and len(self.calls) < _MOST_CALLS:
            return self.on_call(name, status)
        if status.carried:
            self.replace(node, status)
        if name == "wait":
            return self.on_wait(node, invocation)
        if invocation.children or invocation.text is not None:
            self.inside(invocation)
        if name == "exec" and len(invocation.argv) > 1:
            self.weight(invocation)
            self.process.exits.append(invocation)
            return None
        if self.weight(invocation) is Weight.NONE:
            self.risky = self.risky or not self.tested and (name is None or name in RISKY)
            return self.behind(node, status) if name in _SURE and invocation.text is None else GOOD
        return self.ended((invocation,))

    def is_idle(self, status: Status) -> bool:
        """Whether assignments change nothing, as mostly: there is no status, and nothing in the background."""
        return status is GOOD and self.process.started is None and not self.uses.has_reads

    def on_assignments(self, node: Simple, status: Status) -> Status:
        pairs = [each for each in (*node.assignments, *node.words) if isinstance(each, Assignment)]
        if self.process.started is not None:
            for each in pairs:
                self.process.note_id(each)
        reading = [each for each in pairs if self.uses.reads(each.start, each.end)] if self.uses.has_reads else []
        if reading:
            names = [each.name for each in reading]
            self.kept.update(names)
            self.read(node, status, quiet=True)  # for what is in the background
            if not any(map(self.uses.looked_at, names)):
                self.lose(status.carried, "told", self.span(node))
                return GOOD
            self.read(node, status)
            if self.loops and all(assigned_status(self.uses, each) for each in reading):
                loop = self.loops[-1]
                if not any(self.uses.looked_at(name, loop) for name in names):
                    self.seen.difference_update(map(id, status.carried))
                    self.lose(status.carried, "kept", self.span(node))
            return GOOD
        if status.carried:
            self.replace(node, status)
        for each in pairs:
            text = self.written(each)
            if "$(" in text or "`" in text:
                return GOOD
        return self.behind(node, status)

    def on_exit(self, node: Simple, invocation: Invocation, status: Status) -> None:
        ends = self.returns[-1] if invocation.name == "return" and self.returns else self.process.exits
        word = text_of(invocation.argv[1]) if len(invocation.argv) > 1 else None
        if len(invocation.argv) < 2:
            ends.extend(status.carried)
        elif word == "0":
            self.lose(status.carried, "zero", self.span(node))
        elif self.uses.reads(node.start, node.end):
            self.read(node, status)
            ends.extend(status.carried)
        else:
            self.see(status.carried)
            if not self.branches:
                names = {each.name for each in nodes_of(node, Parameter)}
                if not (names and names <= self.kept):
                    self.judge((*self.lost, *self.awaited), len(self.met))
        if not self.branches and invocation.name == "exit":
            self.last = invocation

    def on_call(self, name: str, status: Status) -> Status | None:
        calls, loops, tested = self.calls, self.loops, self.tested
        self.calls, self.loops = (*calls, name), []
        self.returns.append([])
        end = self.statement(self.uses.functions[name].body, status)
        returned = self.returns.pop()
        self.calls, self.loops, self.tested = calls, loops, tested
        return self.ended((*returned, *(end.carried if end is not None else ())))

    def on_wait(self, node: Simple, invocation: Invocation) -> Status:
        words = invocation.words[1:]
        waiting = self.process.background
        known = awaited(node, self.process)
        if known is not None:  # bash keeps the status of a process: a second `wait` returns it once more
            for each in known:
                if id(each) in self.lost and self.lost[id(each)].how == "later":
                    del self.lost[id(each)]
            return self.ended(known)
        if not words:
            self.process.background = []
            self.lose(waiting, "wait", self.span(node))
            return GOOD
        several = len([word for word in words if not word.startswith("-")]) > 1
        written = self.text.string[node.start : node.end]
        if several or "[@]" in written or "[*]" in written:
            self.process.background = []
            if len(waiting) > 1 or waiting and waiting[0].context.looped:
                self.lose(waiting, "waits", self.span(node))
            return carrying(waiting)
        return self.ended(waiting)

    def on_test(self, node: Statement, status: Status) -> Status:
        self.read(node, status)
        if status.carried:
            self.replace(node, status)
        self.risky = self.risky or isinstance(node, ArithmeticCommand) and not self.tested
        return GOOD

    def on_pipeline(self, node: Pipeline, status: Status) -> Status | None:
        tested = self.tested
        if len(node.commands) == 1:
            self.tested = tested or node.negated
            end = self.statement(node.commands[0], status)
            self.tested = tested
            if node.negated and end is not None and not self.telling:
                self.see(end.carried)
                return GOOD
            return end
        self.tested = tested or node.negated
        found = [self.apart(each, GOOD if number else status) for number, each in enumerate(node.commands)]
        span = self.span(node)
        run = self.note_options(span)
        before = tuple(each for carried in found[:-1] for each in carried)
        last = run.elements[-1][0] if run is not None and run.elements[-1] else None
        if run is None or run.pipefail is not False or self.pipefail:
            found[-1] = [*before, *found[-1]]
        elif last is None or self.tested and last.name not in PATIENT or last.name == "head":
            self.see(before)  # what it prints is looked at
        else:
            self.lose(before, "pipeline", span, last)
        self.tested = tested
        if node.negated and not self.telling:
            self.see(found[-1])
            return GOOD
        end = self.ended(found[-1])
        return Status(end.carried, before) if before else end

    def on_andor(self, node: AndOr, status: Status) -> Status | None:
        tested, self.tested = self.tested, True
        judging = self.uses.fails((node.right,)) and self.uses.looks_at_results(node.left)
        before = [*self.lost, *self.awaited, *map(id, status.carried)] if judging else []
        ran = len(self.met)
        left = self.statement(node.left, status)
        self.tested = tested
        if left is None:
            return None
        right = (node.right,)
        if node.operator == "&&":
            if isinstance(node.right, Simple) and self.uses.name(node.right) in ("break", "exit", "return"):
                self.see(left.carried)
            arms: list[Arm] = []
            end = self.arm(right, GOOD, self.written(node.left), arms)
            self.choose(node, arms)
            if judging:
                self.judge(before, ran)
            return carrying((*left.carried, *(end.carried if end is not None else ())))
        if self.uses.fails(right) or not self.uses.only_tells(right):
            self.see(left.carried)
        else:
            how = "ignored" if self.uses.does_nothing(node.right) else "told"
            self.lose(left.carried, how, self.span(node.right))
        end = self.arm(right, GOOD)
        if judging:
            self.judge(before, ran)
        return end if end is not None else GOOD

    def arm(
        self, body: Sequence[Statement], status: Status, test: str = "", arms: list[Arm] | None = None
    ) -> Status | None:
        first = len(self.met)
        self.branches += 1
        end = self.body(body, status)
        self.branches -= 1
        if arms is not None:
            told = [(self.span(each), self.written(each)) for each in body] if self.uses.only_tells(body) else []
            arms.append(Arm(test, first, len(self.met), told, end is not None))
        return end

    def on_background(self, node: Background, status: Status) -> Status:
        if status.carried:
            self.replace(node, status)
        tested, self.tested = self.tested, False
        carried = self.apart(node.statement, GOOD)
        self.tested = tested
        self.process.start(carried)
        return Status(started=self.span(node))

    def on_group(self, node: Group, status: Status) -> Status | None:
        if not node.subshell:
            return self.body(node.body, status)
        return self.ended(self.apart(Group(node.body, False, (), node.start, node.end), status))

    def on_if(self, node: If, status: Status) -> Status | None:
        ends: list[Status | None] = []
        arms: list[Arm] = []
        judging = False
        before, ran = [*self.lost, *self.awaited, *map(id, status.carried)], len(self.met)
        current: Status | None = status
        bodies = (*(body for _, body in node.branches), node.otherwise or ())
        says_so = node.otherwise or isinstance(test := node.branches[0][0][-1], Pipeline) and test.negated
        telling = bool(says_so) and self.uses.only_tells([each for body in bodies for each in body])
        for condition, body in node.branches:
            outer = self.tested, self.telling
            self.tested, self.telling = True, telling
            current = self.body(condition, current or GOOD)
            self.tested, self.telling = outer
            if current is None:
                break
            if telling and condition:
                self.lose(current.carried, "told", self.span(condition[-1]))
            self.see(() if telling else current.carried)
            current = GOOD
            if condition and self.uses.looks_at_results(condition[-1]):
                judging = judging or self.uses.fails((*body, *(node.otherwise or ())))
            ends.append(self.arm(body, GOOD, " && ".join(map(self.written, condition)), arms))
        if current is not None:
            ends.append(self.arm(node.otherwise or (), GOOD, "", arms))
        if arms:
            self.choose(node, arms)
        if judging:
            self.judge(before, ran)
        return joined(ends)

    def on_case(self, node: Case, status: Status) -> Status | None:
        if self.uses.reads(node.word.start, node.word.end):
            self.read(node.word, status)
        elif status.carried:
            self.replace(node, status)
        arms: list[Arm] = []
        ends = []
        for patterns, body, _ in node.items:
            is_default = any(self.written(each) == "*" for each in patterns)
            ends.append(self.arm(body, GOOD, "" if is_default else f"{self.written(node.word)} = ", arms))
        if arms:
            self.choose(node, arms)
        return joined([*ends, GOOD])

    def on_for(self, node: For | ArithmeticFor | While, status: Status) -> Status | None:
        if isinstance(node, While):
            tested, self.tested = self.tested, True
            condition = self.body(node.condition, status)
            self.tested = tested
            if condition is not None:
                self.see(condition.carried)
        elif status.carried:
            self.replace(node, status)
        self.loops.append((node.start, node.end))
        end = self.arm(node.body, GOOD)
        self.loops.pop()
        if end is None:
            return GOOD
        if not (isinstance(node, For) and self.is_one(node)):
            self.lose(end.carried, "turns", self.span(node))
        return carrying(end.carried)

    def is_one(self, node: For) -> bool:
        """Whether a loop has one turn."""
        words = node.words or ()
        return len(words) == 1 and not set("$`*?{[") & set(self.text.string[words[0].start : words[0].end])

    def on_function(self, node: Function, status: Status) -> Status:
        return status

    # --- programs inside of values -------------------------------------------------------------------

    def inside(self, invocation: Invocation) -> None:
        """Walks the programs that a command starts in shells, where they stand in this file."""
        if invocation.text is not None:
            source = self.job.source
            size = len(source.own.text)
            if not source.has_included_files or all(piece.end <= size for piece in invocation.text.field):
                self.program(invocation, invocation.text)
            return
        for each in invocation.children:
            self.inside(each)

    def program(self, shell: Invocation, text: Text) -> None:
        outer = self.text, self.uses, self.process, self.returns, self.loops, self.calls, self.branches
        last, tested, errexit = self.last, self.tested, self.errexit
        self.process, self.returns, self.loops, self.calls, self.tested = Process(), [], [], (), False
        end = self.body(self.enter(text, self.job.parsed(text.string)), GOOD)
        carried = [*self.process.exits, *(end.carried if end is not None else ())]
        self.text, self.uses, self.process, self.returns, self.loops, self.calls, self.branches = outer
        self.last, self.tested, self.errexit = last, tested, errexit
        self.process.inner.extend(carried)
        if not carried and any(id(each) in self.lost for each in shell.descendants()):
            # its own status tells nothing of its work
            self.weights.update((id(each), Weight.NONE) for each in (shell, *shell.ancestors()))


_METHODS: dict[type[Statement], Callable[[_Walk, Any, Status], Status | None]] = {
    AndOr: _Walk.on_andor,
    ArithmeticCommand: _Walk.on_test,
    ArithmeticFor: _Walk.on_for,
    Background: _Walk.on_background,
    Case: _Walk.on_case,
    For: _Walk.on_for,
    Function: _Walk.on_function,
    Group: _Walk.on_group,
    If: _Walk.on_if,
    Pipeline: _Walk.on_pipeline,
    Simple: _Walk.on_simple,
    TestCommand: _Walk.on_test,
    While: _Walk.on_for,
}
