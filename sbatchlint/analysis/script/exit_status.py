"""What becomes of the exit status of each command: whether the job fails when its work does.

A walk over the script asks of each command: if it fails and all others succeed, with which status does the script end?
`$?` carries a status until another command replaces it. It counts if something looks at it, if the shell exits because
of it (errexit), or if it is the status of the script's last command.
"""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from sbatchlint.analysis.script.leaving import Leaving, is_failure
from sbatchlint.analysis.script.pipeline_runs import work_before_tee
from sbatchlint.analysis.script.status_records import (
    GOOD,
    Arm,
    Choice,
    DeadRead,
    EmptyStatus,
    ExitStatuses,
    LateRead,
    Loss,
    Process,
    Status,
    after_sure,
    joined,
)
from sbatchlint.analysis.script.status_uses import SURE, StatusUses, end_of_script, is_status
from sbatchlint.analysis.script.work import Weight, weight
from sbatchlint.bash.interpreter.builtins import DECLARATIONS
from sbatchlint.bash.syntax.tree import (
    AndOr,
    ArithmeticCommand,
    ArithmeticFor,
    Assignment,
    Background,
    Case,
    CommandSubstitution,
    For,
    Function,
    Group,
    If,
    Parameter,
    Pipeline,
    Program,
    Simple,
    Statement,
    TestCommand,
    While,
    Word,
)
from sbatchlint.bash.syntax.walk import nodes_of
from sbatchlint.bash.trace import Invocation, PipelineRun
from sbatchlint.bash.values import Text, text_of
from sbatchlint.job import Job
from sbatchlint.job.once import once
from sbatchlint.programs import has_trait
from sbatchlint.source.numbers import has_between
from sbatchlint.source.text import Span

_MOST_STATEMENTS, _MOST_CALLS = 20_000, 6


@once
def exit_statuses(job: Job) -> ExitStatuses:
    """What becomes of the exit status of each command of a job's work."""
    return _Walk(job, False).result()


@once
def exit_statuses_with_pipefail(job: Job) -> ExitStatuses:
    """What would become of the exit status of each command of a job's work if `pipefail` were on."""
    return _Walk(job, True).result()


class _TooLong(Exception):
    pass


class _Walk:
    """The walk over the statements.

    Each `on_` method takes the status before a statement and returns the one after it, or None where the shell does not
    go on.
    """

    def __init__(self, job: Job, pipefail: bool) -> None:
        self.job = job
        self.pipefail = pipefail
        self.runs: dict[Span, PipelineRun] = {run.span: run for run in job.pipelines}
        self.places: defaultdict[Span, list[Invocation]] = defaultdict(list)
        for invocation in job.invocations:
            if not invocation.kind:
                self.places[invocation.span].append(invocation)
        self.starts = sorted(span.start for span in self.places)
        # The position of the walk.
        self.text: Text = job.text
        self.uses = StatusUses(job.program, job.text.string)
        self.process = self.own = Process()
        self.leaving = Leaving()
        self.returns_at_end = False  # whether what the function returns is the status of the script
        self.inner: list[Invocation] = []  # commands that decide the statuses of programs which this one starts
        self.returned: list[Invocation] | None = None  # commands whose status the function returns
        self.calls: tuple[str, ...] = ()
        self.loop: tuple[int, int] | None = None
        self.branches = 0
        self.errexit = False
        self.surely_errexit = False
        self.tested = False
        self.reporting = False  # whether what is tested only decides which message is printed
        self.statements = 0
        self.at = -1  # the index of the last command that was met
        # The results for each command, by identity.
        self.weights: dict[int, Weight] = {}
        self.met: list[Invocation] = []
        self.lost: dict[int, Loss] = {}
        self.awaited: dict[int, Loss] = {}
        self.seen: set[int] = set()
        self.kept: dict[str, list[Invocation]] = {}  # variables that hold exit statuses, and whose
        self.stored: dict[str, tuple[int, tuple[Invocation, ...]]] = {}  # those that nothing has read yet, and where
        self.empty: dict[int, EmptyStatus] = {}
        self.late: dict[int, LateRead] = {}
        self.dead: dict[int, DeadRead] = {}
        self.live: set[int] = set()  # where a `$?` is read that may show a failure, or that of a command without work
        self.choices: list[Choice] = []
        self.judged = 0  # how many commands had run when something last looked at results
        self.risky = False
        self.arithmetic: list[Span] = []
        self.last: Invocation | None = None

    def result(self) -> ExitStatuses:
        empty, late, dead = self.empty, self.late, self.dead
        try:
            status = self.body(self.job.program.statements, GOOD)
        except (_TooLong, RecursionError):
            found = [*empty.values()], [*late.values()]
            return ExitStatuses([], [], [], [], None, None, *found, [], True, {}, [], [], [])
        decisive = self.deciding(status)
        # where a job does weightier work, copying and building do not count as work
        least = min(max(self.weights.values(), default=Weight.NONE), Weight.PROGRAM)
        decided = set(map(id, decisive))
        self.seen.update(key for key, loss in self.lost.items() if loss.how == "ignored" and key in decided)
        lost, awaited = [
            [loss for key, loss in losses.items() if key not in self.seen and loss.weight >= least]
            for losses in (self.lost, self.awaited)
        ]
        lost.sort(key=lambda loss: loss.command.index)
        met = [(command, self.weights[id(command)]) for command in self.met]
        return ExitStatuses(
            lost=lost,
            awaited=awaited,
            decisive=[*(each for each in decisive if self.weights[id(each)] >= least), *self.inner],
            work=[command for command, weight in met if weight >= least] if least > Weight.NONE else [],
            last=self.last,
            end=end_of_script(self.job, self.uses, self.last),
            empty=[*empty.values()],
            late=[*late.values()],
            dead=[each for start, each in dead.items() if start not in self.live],
            risky=self.risky
            or any(each.context.captured for each in self.job.invocations if has_trait(each.name, "choosy")),
            kept=self.kept,
            met=met,
            choices=[choice for choice in self.choices if choice.last > self.judged],
            arithmetic=self.arithmetic,
        )

    # --- the position of the walk ---------------------------------------------------------------------

    @contextmanager
    def within(self, **changes: Any) -> Iterator[None]:
        """Sets attributes for the length of a block, and restores their old values after it."""
        before = {name: getattr(self, name) for name in changes}
        vars(self).update(changes)
        yield
        vars(self).update(before)

    def span(self, node: Statement | Word) -> Span:
        return self.text.span(node.start, node.end)

    def written(self, node: Statement | Word | Assignment) -> str:
        return self.text.string[node.start : node.end]

    def command_at(self, span: Span) -> Invocation | None:
        """The next command that is recorded for a place, after those that were met; None for a place without one."""
        found = self.places.get(span)
        if found is None:
            return None
        result = found[-1]
        if result.index > self.at:
            if len(found) > 1:
                result = found[bisect_right(found, self.at, key=lambda each: each.index)]
            self.at = result.index
        return result

    def note_options(self, span: Span) -> PipelineRun | None:
        """Records whether errexit is on at a statement, and returns the run of its pipeline, None if it never runs."""
        run = self.runs.get(span)
        if run is not None:
            self.errexit = run.errexit is not False
            self.surely_errexit = run.errexit is True
        return run

    def weight(self, command: Invocation) -> Weight:
        key = id(command)
        if key not in self.weights:
            found = weight(self.job, command)
            # what a script only looks up is work where it does nothing else
            self.weights[key] = min(found, Weight.STAGING) if command.context.captured else found
            self.met.append(command)
        return self.weights[key]

    # --- what becomes of statuses ---------------------------------------------------------------------

    def lose(self, commands: Iterable[Invocation], how: str, by: Span, last: Invocation | None = None) -> None:
        for command in commands:
            found = self.awaited if how in ("wait", "waits") else self.lost
            old = found.get(id(command))
            if old is None or old.how in ("iterations", "ignored"):
                found[id(command)] = Loss(command, self.weights[id(command)], how, by, self.errexit, last)

    def see(self, commands: Iterable[Invocation]) -> None:
        self.seen.update(map(id, commands))

    def so_far(self, status: Status) -> tuple[list[int], int]:
        """The commands that a look at results would judge here, by identity, and how many commands have run."""
        return [*self.lost, *self.awaited, *map(id, status.carried)], len(self.met)

    def judge(self, before: Iterable[int], ran: int) -> None:
        """Records that something looks at the results of earlier commands, and may fail because of them."""
        self.seen.update(before)
        self.judged = ran

    def read(self, node: Statement | Word | Assignment, status: Status, quiet: bool = False) -> None:
        """Records the statuses that a statement reads. `quiet`: it only stores them."""
        for at in self.uses.reads(node):
            of_pipe = self.uses.reads_pipe_status(at)
            acted_on = self.uses.is_acted_on(at)
            if not status.fatal:
                self.live.add(self.text.offset(at))
            place = self.text.span(*self.uses.read_at(at))
            if status.started is not None and not of_pipe:
                self.empty.setdefault(place.start, EmptyStatus(place, status.started, acted_on))
            if status.by is not None and not of_pipe and not quiet:
                use = self.uses.use(at)
                if use == "decides":
                    self.see(status.hidden)
                self.late.setdefault(place.start, LateRead(place, status.hidden[-1], status.by, use))
            if not (status.by or status.carried or of_pipe or quiet) and self.uses.use(at) == "decides":
                for work in work_before_tee(self.job, status.piped, self.text.string[max(at - 80, 0) : at]):
                    self.see(status.piped)
                    self.late.setdefault(place.start, LateRead(place, work, None, "decides"))
            if status.fatal and not quiet:
                self.note_dead(at, status.fatal[-1], None, [at])
            if acted_on and not quiet:
                self.see(status.carried)
                if of_pipe:
                    self.see(status.piped)

    def note_dead(self, at: int, work: Invocation, name: str | None, tests: Sequence[int]) -> None:
        """Records a `$?` that is always 0. `tests`: where it, or the variable that keeps it, is read."""
        bodies = [body for test in tests if (body := self.uses.on_failure(test))]
        serious = [body for body in bodies if not self.uses.only_gives_up(body)]
        never = (serious or bodies or [()])[0]
        span = Span(self.span(never[0]).start, self.span(never[-1]).end) if never else None
        place = self.text.span(*self.uses.read_at(at))
        self.dead.setdefault(place.start, DeadRead(place, work, name, span, not serious))

    def replace(self, node: Statement, status: Status) -> None:
        """Records that another command's status replaces this one."""
        tests = not isinstance(node, Simple) or self.uses.name(node) in ("[", "test")
        tested = tests and not isinstance(node, (Case, For)) and self.uses.reads(node)
        self.lose(status.carried, "tested" if tested else "replaced", self.span(node))

    def ended(self, commands: Iterable[Invocation]) -> Status:
        """The status after a statement that fails if one of these commands does; errexit may end the shell there."""
        if self.errexit and not self.tested:
            self.process.exits.extend(commands)
            return Status(fatal=tuple(commands)) if self.surely_errexit else GOOD
        return Status(tuple(commands))

    def deciding(self, end: Status | None) -> list[Invocation]:
        """The commands whose failure the process returns if it ends with this status."""
        return [*self.process.exits, *(end.carried if end is not None else ())]

    # --- statements -----------------------------------------------------------------------------------

    def body(self, body: Sequence[Statement], status: Status) -> Status | None:
        """The status after statements that run in order."""
        self.statements += len(body)
        if self.statements > _MOST_STATEMENTS:
            raise _TooLong
        current: Status | None = status
        leaving, at_end, first = self.leaving, self.leaving.at_end, len(self.met)
        for number, statement in enumerate(body, 1):
            leaving.at_end = at_end and number == len(body)
            count = leaving.count
            current = self.statement(statement, current or GOOD)
            if current is None:
                leaving.fails = leaving.fails and isinstance(statement, (Simple, Group))  # not by one branch of several
                self.see(self.met[first:] if leaving.fails else ())  # whatever happened on the way here, the job fails
                break
            if leaving.count > count:
                first = len(self.met)  # what ran before may have ended otherwise
        leaving.at_end = at_end
        return current

    def statement(self, node: Statement, status: Status) -> Status | None:
        method = _METHODS.get(type(node))
        return GOOD if method is None else method(self, node, status)

    def in_subprocess(self, body: Sequence[Statement], status: Status) -> list[Invocation]:
        """The commands whose failure the status of statements shows that run in a process of their own."""
        with self.within(process=Process(), loop=None, errexit=self.errexit):
            return self.deciding(self.body(body, status))

    def on_simple(self, node: Simple, status: Status) -> Status | None:
        words = node.words
        if not words or isinstance(words[0], Assignment):
            return self.on_assignments(node, status)
        command = None if self.uses.assigns(node) else self.command_at(self.text.span(words[0].start, words[-1].end))
        if command is None:  # a declaration, or what never runs
            return self.on_assignments(node, status) if self.uses.name(node) in DECLARATIONS else status
        self.note_options(self.span(node))
        name = command.name
        if name is None and len(command.argv[0]) == 1 and command.argv[0][0].expansion is None:
            return status  # a value that a template fills in: any command, or none
        if name in ("exit", "return"):
            self.on_exit(node, command, status)
            return None
        if name in ("break", "continue"):
            self.leaving.met()
            self.see(status.carried)
            return None
        self.read(node, status)
        if not self.branches and not command.context.conditional:
            self.last = command
        if name is not None and name.startswith("-"):
            self.judge((*self.lost, *map(id, status.carried)), len(self.met))  # the rest of a broken line, which fails
            return GOOD
        if name in self.uses.functions and name not in self.calls and len(self.calls) < _MOST_CALLS:
            return self.on_call(name, status)
        self.replace(node, status)
        if name == "wait":
            return self.on_wait(node, command)
        self.programs_in(command)
        if name == "exec" and len(command.argv) > 1:
            self.weight(command)
            self.leaving.met()
            self.process.exits.append(command)
            return None
        if self.weight(command) is not Weight.NONE:
            return self.ended((command,))
        self.risky = self.risky or not self.tested and (name is None or has_trait(name, "answers"))
        return after_sure(status, self.span(node)) if name in SURE and command.text is None else GOOD

    def on_assignments(self, node: Simple, status: Status) -> Status:
        pairs = [each for each in (*node.assignments, *node.words) if isinstance(each, Assignment)]
        for pair in pairs:
            self.process.note_id(pair)
        keeping = [pair for pair in pairs if self.uses.reads(pair)]
        if keeping:
            self.keep(node, keeping, status)
            return GOOD
        self.replace(node, status)
        if any("$(" in string or "`" in string for string in map(self.written, pairs)):
            return self.ended(self.captured_in(pairs)) if not node.words else GOOD
        return after_sure(status, self.span(node))

    def captured_in(self, pairs: Sequence[Assignment]) -> list[Invocation]:
        """The commands whose failure the last substitution of an assignment returns."""
        found = [each for pair in pairs for each in nodes_of(pair, CommandSubstitution)]
        last = max(found, key=lambda each: each.start, default=None)
        return [] if last is None else self.in_subprocess(last.body, GOOD)

    def keep(self, node: Simple, pairs: Sequence[Assignment], status: Status) -> None:
        """Records that variables hold the status from now on."""
        names = [pair.name for pair in pairs]
        self.leaving.met()  # an `exit` with it tells nothing of what ran before
        for name in names:
            self.kept.setdefault(name, []).extend(status.carried)
        self.read(node, status, quiet=True)  # for commands in the background
        if status.fatal and len(names) == 1:
            at = self.uses.reads(pairs[0])[0]
            self.note_dead(at, status.fatal[-1], names[0], [each for each in self.uses.places(names[0]) if each > at])
            return
        if not any(map(self.uses.looked_at, names)):
            self.lose(status.carried, "tested", self.span(node))
            return
        self.read(node, status)
        loop = self.loop
        alone = all(map(is_status, pairs))
        if loop is not None and alone and not any(self.uses.looked_at(name, loop) for name in names):
            self.seen.difference_update(map(id, status.carried))
            self.lose(status.carried, "overwritten", self.span(node))
        if alone and not self.branches and not any(self.uses.looked_at(name, (0, node.start)) for name in names):
            stored = (self.stored.get(name, (node.start, ())) for name in names)
            unread = [each for at, found in stored if at < node.start for each in found]  # not by a call of a function
            self.seen.difference_update(map(id, unread))
            self.lose(unread, "again", self.span(node))
            self.stored.update(dict.fromkeys(names, (node.start, status.carried)))

    def on_exit(self, node: Simple, command: Invocation, status: Status) -> None:
        certain = command.name == "exit" or self.returns_at_end and not self.tested
        fails = certain and self.process is self.own and is_failure(node, command, self.kept if self.branches else ())
        self.leaving.met(fails)
        ends = self.process.exits if command.name == "exit" or self.returned is None else self.returned
        if len(command.argv) < 2:
            ends.extend(status.carried)
        elif text_of(command.argv[1]) == "0":
            self.lose(status.carried, "zero", self.span(node))
        elif self.uses.reads(node):
            self.read(node, status)
            ends.extend(status.carried)
        else:
            self.see(status.carried)
            names = {parameter.name for parameter in nodes_of(node, Parameter)}
            if not self.branches and not (names and names <= self.kept.keys()):
                self.judge((*self.lost, *self.awaited), len(self.met))
        if not self.branches and command.name == "exit":
            self.last = command

    def on_call(self, name: str, status: Status) -> Status | None:
        returned: list[Invocation] = []
        last = self.leaving.at_end and self.loop is None and (not self.calls or self.returns_at_end)
        with self.within(calls=(*self.calls, name), loop=None, returned=returned, returns_at_end=last):
            end = self.statement(self.uses.functions[name].body, status)
        return self.ended((*returned, *(end.carried if end is not None else ())))

    def on_wait(self, node: Simple, command: Invocation) -> Status:
        waiting = self.process.background
        known = self.process.awaited(node.words[1]) if len(node.words) == 2 else None
        if known is not None:  # bash keeps the status of a process: a second `wait` returns it again
            for invocation in known:
                if id(invocation) in self.lost and self.lost[id(invocation)].how == "replaced":
                    del self.lost[id(invocation)]
            return self.ended(known)
        if not (operands := command.words[1:]):
            self.lose(self.process.wait_for_all(), "wait", self.span(node))
            return GOOD
        several = len([word for word in operands if not word.startswith("-")]) > 1
        if several or any(each in self.written(node) for each in ("[@]", "[*]")):
            waiting = self.process.wait_for_list(node.words[1] if len(node.words) == 2 else None)
            if len(waiting) > 1 or waiting and waiting[0].context.may_repeat:
                self.lose(waiting, "waits", self.span(node))
            return Status(tuple(waiting))
        return self.ended(waiting)

    def on_test(self, node: Statement, status: Status) -> Status:
        self.read(node, status)
        self.replace(node, status)
        if isinstance(node, ArithmeticCommand) and not self.tested:
            self.risky = True
            if self.surely_errexit:
                self.arithmetic.append(self.span(node))
        return GOOD

    def on_pipeline(self, node: Pipeline, status: Status) -> Status | None:
        with self.within(tested=self.tested or node.negated):
            is_one = len(node.commands) == 1
            end = self.statement(node.commands[0], status) if is_one else self.piped(node, status)
        if node.negated and end is not None and not self.reporting:
            self.see(end.carried)
            return GOOD
        return end

    def piped(self, node: Pipeline, status: Status) -> Status:
        """The status after a pipeline of several commands: that of the last one, or with pipefail of all."""
        *others, end = [
            self.in_subprocess((command,), GOOD if number else status) for number, command in enumerate(node.commands)
        ]
        before = tuple(each for commands in others for each in commands)
        run = self.note_options(self.span(node))
        last = run.elements[-1][0] if run is not None and run.elements[-1] else None
        fatal = self.ended(end).fatal
        if run is None or run.pipefail is not False or self.pipefail:
            end = [*before, *end]
            fatal = self.ended(end).fatal if run is not None and run.pipefail is True else fatal
        elif last is None or self.tested and not has_trait(last.name, "patient") or last.name == "head":
            self.see(before)  # a test looks at what the pipeline prints
        else:
            self.lose(before, "pipeline", self.span(node), last)
        return Status(self.ended(end).carried, before, fatal=fatal)

    def on_andor(self, node: AndOr, status: Status) -> Status | None:
        judging = self.uses.fails((node.right,)) and self.uses.looks_at_results(node.left)
        before = self.so_far(status) if judging else None
        with self.within(tested=True):
            left = self.statement(node.left, status)
        if left is None:
            return None
        right = (node.right,)
        if node.operator == "&&":
            if isinstance(node.right, Simple) and self.uses.name(node.right) in ("break", "exit", "return"):
                self.see(left.carried)
            arms: list[Arm] = []
            end = self.arm(arms, self.written(node.left), right)
            self.choose(node, arms)
            end = Status((*left.carried, *(end.carried if end is not None else ())))
        else:
            if self.uses.fails(right) or not self.uses.only_reports(right):
                self.see(left.carried)
            else:
                how = "ignored" if self.uses.does_nothing(node.right) else "tested"
                self.lose(left.carried, how, self.span(node.right))
            end = self.branch(right) or GOOD
        if before is not None:
            self.judge(*before)
        return end

    def on_background(self, node: Background, status: Status) -> Status:
        self.replace(node, status)
        with self.within(tested=False):
            commands = self.in_subprocess((node.statement,), GOOD)
        self.process.started = tuple(commands)
        self.process.background.extend(commands)
        started = self.span(node)
        return Status(started=started if has_between(self.starts, started.start, started.end) else None)

    def on_group(self, node: Group, status: Status) -> Status | None:
        if not node.subshell:
            return self.body(node.body, status)
        commands = self.in_subprocess(node.body, status)
        self.note_options(self.span(node))
        return self.ended(commands)

    def branch(self, body: Sequence[Statement]) -> Status | None:
        """The status after statements that may not run."""
        with self.within(branches=self.branches + 1):
            return self.body(body, GOOD)

    def arm(self, arms: list[Arm], test: str, body: Sequence[Statement]) -> Status | None:
        """The status after statements that run if a test succeeds; appends them to `arms`."""
        first = len(self.met)
        end = self.branch(body)
        messages = [(self.span(each), self.written(each)) for each in body] if self.uses.only_reports(body) else []
        arms.append(Arm(test, first, len(self.met), messages, end is not None))
        return end

    def choose(self, node: Statement, arms: list[Arm]) -> None:
        """Records the arms of a statement, with an empty one for the case that none of its tests succeeds."""
        if all(arm.test for arm in arms):
            arms.append(Arm("", len(self.met), len(self.met), [], True))
        self.choices.append(Choice(type(node).__name__, self.span(node), tuple(arms), arms[0].first, len(self.met)))

    def on_if(self, node: If, status: Status) -> Status | None:
        ends: list[Status | None] = []
        arms: list[Arm] = []
        judging = False
        reads = self.uses.reads(node.branches[0][0][-1]) if node.branches[0][0] and status.carried else ()
        hides = self.uses.hiding(node, self.uses.on_failure(reads[0])) if reads else None
        hiding = None if hides is None else self.span(hides)
        before = self.so_far(status)
        current: Status | None = status
        otherwise = node.otherwise or ()
        reports_failure = otherwise or isinstance(test := node.branches[0][0][-1], Pipeline) and test.negated
        bodies = (*(body for _, body in node.branches), otherwise)
        reporting = bool(reports_failure) and all(map(self.uses.only_reports, bodies))
        for condition, body in node.branches:
            with self.within(tested=True, reporting=reporting):
                current = self.body(condition, current or GOOD)
            if current is None:
                break
            if reporting and condition:
                self.lose(current.carried, "tested", self.span(condition[-1]))
            self.see(() if reporting else current.carried)
            current = GOOD
            if condition and self.uses.looks_at_results(condition[-1]):
                judging = judging or self.uses.fails((*body, *otherwise))
            ends.append(self.arm(arms, " && ".join(map(self.written, condition)), body))
        if current is not None:
            ends.append(self.arm(arms, "", otherwise))
        if arms:
            self.choose(node, arms)
        if judging:
            self.judge(*before)
        end = joined(ends)
        return end._replace(hidden=status.carried, by=hiding) if end and hiding else end

    def on_case(self, node: Case, status: Status) -> Status | None:
        if self.uses.reads(node.word):
            self.read(node.word, status)
        else:
            self.replace(node, status)
        arms: list[Arm] = []
        ends: list[Status | None] = [GOOD]
        for patterns, body, _ in node.items:
            is_default = any(self.written(pattern) == "*" for pattern in patterns)
            ends.append(self.arm(arms, "" if is_default else f"{self.written(node.word)} = ", body))
        if arms:
            self.choose(node, arms)
        return joined(ends)

    def on_loop(self, node: For | ArithmeticFor | While, status: Status) -> Status | None:
        if isinstance(node, While):
            with self.within(tested=True):
                condition = self.body(node.condition, status)
            if condition is not None:
                self.see(condition.carried)
        else:
            self.replace(node, status)
        with self.within(loop=(node.start, node.end)):
            end = self.branch(node.body)
        if end is None:
            return GOOD
        at, single = self.span(node), self.uses.is_single(node)
        self.lose((each for each in end.carried if not single and at in each.context.loops), "iterations", at)
        return Status(end.carried)

    # --- programs within values -----------------------------------------------------------------------

    def programs_in(self, command: Invocation) -> None:
        """Walks the shell programs that a command starts, where they are part of this file."""
        if command.text is not None:
            source = self.job.source
            size = len(source.own.text)
            if not source.has_included_files or all(piece.end <= size for piece in command.text.field):
                self.program(command, command.text, self.job.parsed(command.text.string))
            return
        for child in command.children:
            self.programs_in(child)

    def program(self, shell: Invocation, text: Text, program: Program) -> None:
        with self.within(
            text=text, uses=StatusUses(program, text.string), process=Process(), inner=[], returned=None, calls=(),
            loop=None, tested=False, errexit=self.errexit, last=self.last,
        ):  # fmt: skip
            decisive = self.deciding(self.body(program.statements, GOOD))
        self.inner.extend(decisive)
        if not decisive and any(id(each) in self.lost for each in shell.descendants()):
            # the shell's own status does not show the failure of its work
            self.weights.update((id(each), Weight.NONE) for each in (shell, *shell.ancestors()))


_METHODS: dict[type[Statement], Callable[[_Walk, Any, Status], Status | None]] = {
    AndOr: _Walk.on_andor,
    ArithmeticCommand: _Walk.on_test,
    ArithmeticFor: _Walk.on_loop,
    Background: _Walk.on_background,
    Case: _Walk.on_case,
    For: _Walk.on_loop,
    Function: lambda _walk, _node, status: status,
    Group: _Walk.on_group,
    If: _Walk.on_if,
    Pipeline: _Walk.on_pipeline,
    Simple: _Walk.on_simple,
    TestCommand: _Walk.on_test,
    While: _Walk.on_loop,
}
