"""What all parts of the interpreter share: its state, joined branches, subshells, silent walks and captured output."""

from collections.abc import Callable, Hashable, Sequence
from itertools import chain
from operator import attrgetter
from typing import NamedTuple, NoReturn, Protocol, TypeVar

from sbatchlint.bash.case_arms import Patterns
from sbatchlint.bash.expansion.expander import ScriptExpander
from sbatchlint.bash.expansion.protocol import Environment, Scope, Substituter
from sbatchlint.bash.interpreter.decisions import Decisions, place_in, places_in
from sbatchlint.bash.interpreter.redirects import ONLY_OUTPUT, captured_by, expand_redirects, note_opened
from sbatchlint.bash.limits import (
    MOST_PARTS,
    MOST_WORK,
    PIECES_OF_A_STATEMENT,
    WORDS_OF_A_STATEMENT,
    WORK_OF,
    Limits,
    WorkBudgetExceeded,
)
from sbatchlint.bash.state import STDOUT, UNKNOWN_OUTPUT, State, join
from sbatchlint.bash.syntax.parser import parse
from sbatchlint.bash.syntax.tree import Assignment, Program, Redirect, Statement
from sbatchlint.bash.trace import Invocation, Redirection, Spawn, Trace
from sbatchlint.bash.values import Phase, Pieces, Text
from sbatchlint.bash.variables import Alternative, Guards, Variable, changed_names
from sbatchlint.source.text import Span

T = TypeVar("T")

# Programs inside values are followed this many levels down.
DEEPEST = 6
# At most this many statements of a loop, and of all loops together, are walked without being recorded.
MOST_UNRECORDED = 150
MOST_UNRECORDED_OF_ALL = 3_000


class LoopBudgetExceeded(Exception):
    """A loop is too large to be walked without being recorded.

    `in_iterations`: whether only several iterations of a loop inside are, whose body may be short.
    """

    in_iterations = False


class Hooks(Protocol):
    """What the interpreter asks the job layer."""

    @property
    def environment(self) -> Environment: ...

    def spawn(self, invocation: Invocation) -> Spawn | None:
        """What a command starts, if it starts another one. Not asked of shells, which the interpreter follows."""

    def file(self, name: str, included_from: Span) -> Text | None:
        """A file beside the script by its `programs.file_name`. `included_from`: the command that uses it."""

    def host_paths(self, path: Pieces, command: Invocation) -> list[Pieces]:
        """The paths on the host of a file that the command sees through a mount of its container."""


class Marks(NamedTuple):
    """Lists of states, and how long each of them was."""

    lists: list[list[State]]
    sizes: list[int]

    @property
    def has_grown(self) -> bool:
        return list(map(len, self.lists)) != self.sizes


class LoopFrame:
    """The states in which an iteration is left by `break` and by `continue`."""

    __slots__ = ("breaks", "continues")

    def __init__(self) -> None:
        self.breaks: list[State] = []
        self.continues: list[State] = []


_LEFT = attrgetter("breaks", "continues")


def is_widened(output: Pieces) -> bool:
    """Whether captured output had too many alternatives, so that a part of it is unknown."""
    return any(piece.expansion is not None and piece.expansion.name == STDOUT for piece in output)


class Interpreter(Substituter):
    """Walks statements and records what they would run; `ScriptInterpreter` knows what each of them does.

    `trace` is the result, `limits` what it cost. `programs`: what was parsed of the texts of programs, which another
    interpreter of the same script may share.
    """

    expander: ScriptExpander

    def __init__(self, hooks: Hooks, programs: dict[str, Program] | None = None) -> None:
        self.hooks = hooks
        self.environment = hooks.environment
        self.proceed: Callable[[], None] | None = None  # called before each statement; may raise what ends the walk
        self.programs: dict[str, Program] = {} if programs is None else programs
        self.trace = Trace()
        self.limits = Limits()
        self.failed_exits = 0  # how many `exit` with a non-zero status were met
        self.return_states: list[list[State]] = []  # where functions were left, a list for each call, innermost last
        self.exit_states: list[State] = []  # where this shell exited
        self.abandoned: list[State] = []  # where it may have given up what it had read
        self.loops: list[LoopFrame] = []
        self.walked: list[Decisions] = []  # of the loops whose iterations are walked one by one, innermost last
        self.recorded: list[Decisions] = []  # of those whose iterations are recorded together
        self.silent_budget = 0  # how many statements may still be walked without being recorded
        self.silent_budget_of_all = MOST_UNRECORDED_OF_ALL
        self.too_long: dict[Span, int] = {}  # loops of which an iteration took more than that many of them
        self.called: dict[int, tuple[Statement, frozenset[str]]] = {}  # the commands in functions, by identity
        # loops of the current nest that were stopped after so many: all iterations (True), or the first (False)
        self.stopped: dict[tuple[Span, bool], int] = {}
        self.substituted: int | None = 0  # the status of the last substitution
        self.prints_later = False  # whether a trap in this subshell may print, and change the status at its end
        self.handlers: dict[str, set[str | None]] = {}  # the signals on which a trap runs a command, by its name
        self.captured = ONLY_OUTPUT  # the descriptors that lead to what the innermost substitution captures
        self.copied: frozenset[str] = frozenset()  # those that standard output was made a copy of
        self.is_mixed = False  # something is captured beside the standard output
        self.redirected: Sequence[Redirection] = ()  # the redirects of the last compound command
        self.case_patterns: dict[Hashable, Patterns] = {}
        self.kept_alive: list[object] = []  # objects whose id() is part of a guard's key
        self.keys = 0
        # of the last test whose words have several values: its exit status for each, and the guards of the value
        self.outcomes: Sequence[tuple[int | None, Guards]] = ()
        # of each list of tests, by its identity and whether it succeeds: the guards of values for which it cannot
        self.ruled_out: dict[tuple[int, bool], list[Guards]] = {}
        # of each `condition && X=1`, by its identity: the guard of the condition, which holds where all of it does
        self.implied: dict[int, Hashable] = {}

    def statement(self, statement: Statement, scope: Scope) -> State | None:
        """Walks a statement. Returns the state after it, None where the flow ends there."""
        raise NotImplementedError

    def command(self, invocation: Invocation, scope: Scope) -> State | None:
        """Runs a command whose words are expanded."""
        raise NotImplementedError

    def parsed(self, string: str) -> Program:
        program = self.programs.get(string)
        if program is None:
            program = self.programs[string] = parse(string)
        return program

    def program(self, text: Text, scope: Scope) -> State | None:
        """Walks a program that is the value of a word."""
        if scope.context.depth >= DEEPEST:
            self.limits.note("depth", text.span(0, len(text.string)))
            return scope.state
        self.charge(WORK_OF["program"], text.span(0, len(text.string)))
        inner = scope.context.replace(depth=scope.context.depth + 1)
        program = self.parsed(text.string)
        end = self.statements(program.statements, Scope(scope.state, text, inner))
        if program.cut is not None:
            self.limits.note("work", text.span(program.cut, len(text.string)))
            raise WorkBudgetExceeded
        return end

    def statements(self, body: Sequence[Statement], scope: Scope) -> State | None:
        """Walks statements in order."""
        state: State | None = scope.state
        for statement in body:
            if state is None:
                return None
            if state is not scope.state:
                scope = Scope(state, scope.text, scope.context)
            state = self.statement(statement, scope)
        return state

    def iteration(self, body: Sequence[Statement], scope: Scope) -> tuple[State | None, LoopFrame]:
        """Walks the body of a loop once. Returns the state at its end, and the states in which it was left."""
        frame = LoopFrame()
        self.loops.append(frame)
        end = self.statements(body, scope)
        self.loops.pop()
        return end, frame

    def read_status(self, name: str) -> None:
        self.trace.status_reads.append(len(self.trace.pipelines))
        if name == "PIPESTATUS":
            self.trace.pipe_status_reads.append(len(self.trace.pipelines))

    def abandon(self, scope: Scope) -> None:
        """See `Substituter.abandon`. The walk goes on; `after_line` makes unknown what that may be wrong about."""
        scope.state.doubtful = scope.state.escaped = True
        if not self.abandoned:  # one is enough to know that there are some
            self.abandoned.append(scope.state.copy())
            self.abandoned[0].status = 1

    def after_line(self, state: State | None, before: State, exits: int, scope: Scope) -> State | None:
        """The state after all commands of a line, which may have been given up halfway: nothing is known of what they
        change. `before`: the state at its beginning; `exits`: how many `exit_states` there were by then."""
        left, self.abandoned = self.abandoned, []
        if not left:
            return state
        is_alone = state is None
        state = left[0] if state is None else state
        for name in changed_names(before.variables, [state.variables, left[0].variables]):
            known = state.variables.get(name) or before.variables.get(name) or left[0].variables[name]
            unknown = Alternative((scope.unknown(name, known.span, is_open=known.array),))
            state.variables[name] = known._replace(alternatives=(Alternative(None), unknown))
        state.join_shell([state, before, left[0]])
        state.restored, state.mixed, state.outer = before.restored, before.mixed, before.outer
        state.escaped = before.escaped or is_alone or len(self.exit_states) > exits
        state.doubtful, state.status = True, None
        return state

    def spend(self, pieces: int, scope: Scope, node: Assignment) -> None:
        cost = pieces // PIECES_OF_A_STATEMENT
        if cost:
            self.charge(8 * cost if self.silent_budget else cost, scope.span(node))

    def spend_words(self, words: int, scope: Scope, node: Assignment) -> None:
        if not self.silent_budget:  # there the size of the array is dear enough
            self.charge(words // WORDS_OF_A_STATEMENT, scope.span(node))

    def exhaust(self, span: Span) -> NoReturn:
        """Ends the evaluation, as the budget is spent."""
        self.limits.note("work", span)
        raise WorkBudgetExceeded

    def charge(self, cost: int, span: Span) -> None:
        """Charges work besides that of a statement itself: `cost` statements, an eighth of that in a silent walk."""
        if not self.silent_budget:
            self.limits.work += cost
            if self.limits.work > MOST_WORK:
                self.exhaust(span)
        elif cost >= 8:
            self.silent_budget = max(self.silent_budget - cost // 8, 0)
            if not self.silent_budget:
                raise LoopBudgetExceeded

    def new_key(self, kind: str) -> Hashable:
        """A unique key for guards."""
        self.keys += 1
        return (kind, self.keys)

    def merge(self, states: Sequence[State | None], phase: Phase) -> State | None:
        """The joined state of branches of which exactly one runs."""
        live = [each for each in states if each is not None]
        if len(live) < 2:
            return live[0] if live else None
        key = self.new_key("join")
        return join([(each, frozenset(((key, arm),))) for arm, each in enumerate(live)], phase)

    # --- what being in a job decides ------------------------------------------------------------

    def outside_of_job(self, statement: Statement, state: State, scope: Scope) -> None:
        """Walks a branching statement as a shell of the login node does, which takes a different branch from the job.

        Its commands go to `trace.outside`; the job goes on as if they were not there.
        """
        if self.silent_budget or scope.context.phase is not Phase.BATCH:
            return
        trace, marks, failed = self.trace, self.marks(), self.failed_exits
        walked, recorded, self.walked, self.recorded = self.walked, self.recorded, [], []
        self.trace = Trace()
        self.trace.submissions = trace.submissions
        self.environment.is_outside = True
        try:
            self.statement(statement, Scope(state.copy(), scope.text, scope.context.replace(phase=Phase.SUBMIT)))
        finally:
            trace.outside.extend(self.trace.invocations)
            self.trace, self.failed_exits, self.walked, self.recorded = trace, failed, walked, recorded
            self.environment.is_outside = False
            self.reset(marks)

    # --- what iterations decide ----------------------------------------------------------------

    def decided(self, place: Hashable, truth: bool | None, scope: Scope) -> bool | None:
        """Whether a condition holds, also by what the iterations of the loops around it decided; `place`: its own."""
        if truth is None:
            here = place_in(place, self.walked)
            outcomes = [decisions.outcome(here, scope) for decisions in self.recorded]
            truth = next((outcome for outcome in outcomes if outcome is not None), None)
        for number, decisions in enumerate(self.walked, 1):
            for each in places_in(place, self.walked[number:]):
                decisions.note(each, truth)
        return truth

    def varies(self, place: Hashable, truth: bool) -> bool:
        """Whether another iteration decided a condition the other way."""
        return any(decisions.arm(place_in(place, ()), not truth) for decisions in self.walked)

    def arm(self, place: Hashable, truth: bool, state: State, scope: Scope) -> State | None:
        """The state in which an undecided condition holds, or does not: that of the iterations that decide it so."""
        around = [decisions for decisions in self.recorded if decisions.parent is scope.context.parent]
        place = place_in(place, self.walked)
        for decisions in around:
            if not decisions.keep(place, truth, state):
                return None
        if len(around) > 1 and place in around[-1].undecided and any(each.is_mixed(place) for each in around[:-1]):
            around[-1].widen(state, scope)
        return state

    def marks(self) -> Marks:
        """The lists of states that left by `exit`, `return`, `break` or `continue`, with their current lengths."""
        lists = [*self.return_states, self.exit_states, self.abandoned, *chain.from_iterable(map(_LEFT, self.loops))]
        return Marks(lists, list(map(len, lists)))

    def reset(self, marks: Marks, escaped: Sequence[Sequence[State]] = ()) -> Sequence[Sequence[State]]:
        """Replaces the states that left since `marks` by `escaped`. Returns the states that it removes."""
        found: list[Sequence[State]] = [()] * len(marks.lists)
        if marks.has_grown or any(escaped):
            for number, (states, size) in enumerate(zip(*marks, strict=True)):
                found[number] = states[size:]
                states[size:] = escaped[number] if escaped else []
        return found

    def silently(self, walk: Callable[[], T]) -> tuple[T, Sequence[Sequence[State]]] | None:
        """Walks without recording. Returns the result and the states that left; None where that would take too long."""
        if not self.silent_budget and self.silent_budget_of_all <= 0:
            return None
        trace, outermost, before = self.trace, not self.silent_budget, self.loops
        marks, depths = self.marks(), (len(before), len(self.return_states))
        allowed = self.silent_budget = self.silent_budget or MOST_UNRECORDED
        self.trace = Trace(is_kept=False)
        returns, leaves, abandoned = self.return_states, self.exit_states, self.abandoned
        walked, recorded = self.walked, self.recorded
        try:
            result = walk()
        except LoopBudgetExceeded:
            if not outermost:
                raise
            return None
        finally:
            self.trace, self.return_states, self.exit_states, self.loops = trace, returns, leaves, before
            self.abandoned = abandoned
            self.walked, self.recorded = walked, recorded
            del before[depths[0] :], returns[depths[1] :]  # loops and functions in which the walk was stopped
            escaped = self.reset(marks)
            if outermost:
                self.silent_budget_of_all -= allowed - self.silent_budget
                self.silent_budget = 0
        return result, escaped

    def returning(self, scope: Scope, walk: Callable[[], State | None]) -> State | None:
        """Walks what `return` leaves, a function or a sourced file, and returns the state after it."""
        escaped, exits, abandoned = scope.state.escaped, len(self.exit_states), len(self.abandoned)
        self.return_states.append([])
        end = walk()
        returned = self.return_states.pop()
        result = self.merge([end, *returned], scope.context.phase)
        if result is not None and len(self.abandoned) == abandoned:
            # a branch that returned does not know that another one exited after it
            result.escaped = escaped or len(self.exit_states) > exits
        return result

    def subshell(self, walk: Callable[[], State | None], scope: Scope) -> State | None:
        """Walks commands in a subshell, which `exit` and `return` leave, and returns the state at its end."""
        outer = self.return_states, self.exit_states, self.loops
        abandoned, self.abandoned = self.abandoned, []
        self.return_states, self.exit_states, self.loops = [[]] if self.return_states else [], [], []
        prints_later, self.prints_later = self.prints_later, False
        try:
            end = walk()
            ends = [end, *self.exit_states, *self.abandoned]
            for states in self.return_states:
                ends += states
            for state in ends if self.prints_later else ():
                if state is not None:
                    state.status = None
                    if STDOUT in state.variables:
                        state.variables[STDOUT] = UNKNOWN_OUTPUT
        finally:
            self.return_states, self.exit_states, self.loops = outer
            self.abandoned, self.prints_later = abandoned, prints_later
        return self.merge(ends, scope.context.phase)

    def after_subshell(self, end: State | None, scope: Scope) -> State:
        """The state after a subshell: only its output and exit status reach the outer shell."""
        state = scope.state
        if end is None:
            state.status = None
            return state
        state.status = None if end.doubtful else end.status
        if STDOUT in state.variables:
            state.variables[STDOUT] = end.variables[STDOUT]
            if end.doubtful and not state.doubtful:
                self.emit(None, scope)
        return state

    def emit(self, pieces: Pieces | None, scope: Scope) -> None:
        """Appends to the standard output that a substitution collects; None: unknown output."""
        old = scope.state.variables.get(STDOUT)
        if old is None:
            return
        if pieces is None:
            scope.state.variables[STDOUT] = UNKNOWN_OUTPUT
            return
        phase = scope.context.phase
        changed = []
        for alternative in old.alternatives:
            if alternative.fields is not None and pieces:
                whole = self.limits.bounded(alternative.fields[0] + pieces, MOST_PARTS, pieces[0].span, phase)
                alternative = Alternative((whole,), alternative.guards)
            changed.append(alternative)
        scope.state.variables[STDOUT] = Variable(tuple(changed))

    def captured_output(self, end: State | None, scope: Scope) -> Pieces | None:
        """What was written to standard output; None where it is unknown, or differs between branches."""
        alternatives = end.variables[STDOUT].alternatives if end is not None else ()
        if len(alternatives) != 1 or alternatives[0].fields is None or end is None:
            return None
        pieces = alternatives[0].fields[0]
        return None if is_widened(pieces) or end.doubtful and not scope.state.doubtful else pieces

    def body_of(self, body: Sequence[Statement], redirects: Sequence[Redirect], scope: Scope) -> State | None:
        if not redirects:
            return self.statements(body, scope)
        return self.redirecting(redirects, scope, lambda: self.statements(body, scope))

    def redirecting(
        self, redirects: Sequence[Redirect], scope: Scope, walk: Callable[[], State | None]
    ) -> State | None:
        """Walks a compound command with redirects: its standard input, and where its output goes."""
        found, stdin = expand_redirects(self.expander, redirects, scope)
        outer = scope.state.stdin
        for redirect in found:
            if redirect.operator in ("<", "<&", "<>") and redirect.fd in (None, "0"):
                scope.state.stdin = None
        if stdin is not None:
            scope.state.stdin = stdin.field
        marks = self.marks()
        end = self.with_output_to(found, scope, walk)
        note_opened(found, end)
        self.redirected = found
        for state in self._ends(end, marks):
            state.stdin = outer
        return end

    def with_output_to(
        self, redirects: Sequence[Redirection], scope: Scope, walk: Callable[[], State | None]
    ) -> State | None:
        """Walks commands whose output a substitution may collect, unless the redirects send it elsewhere."""
        output = scope.state.variables.get(STDOUT)
        before = self.captured
        if not redirects or output is None and before == ONLY_OUTPUT:
            return walk()
        now, copied = captured_by(redirects, before)
        if copied:
            self.copied |= {copied}
        if now is not None and "1" in now:
            self.is_mixed = self.is_mixed or output is None
        self.captured = ONLY_OUTPUT if now is None else now
        mixed, self.is_mixed = self.is_mixed, False
        marks = self.marks()
        if output is not None and "1" not in self.captured:
            del scope.state.variables[STDOUT]
        try:
            end = walk()
        finally:
            is_unknown = now is None or self.is_mixed
            self.captured, self.is_mixed = before, mixed or self.is_mixed and output is None
        if output is not None:
            for state in self._ends(end, marks):
                if is_unknown:
                    state.variables[STDOUT] = UNKNOWN_OUTPUT
                elif "1" not in (now or ()) and STDOUT not in state.variables:
                    state.variables[STDOUT] = output
        return end

    def apart(self, walk: Callable[[], T], scope: Scope) -> T:
        """Walks what has a standard output of its own. What it writes to a copy of the outer one is not known."""
        captured, copied = self.captured, self.copied
        self.captured, self.copied = ONLY_OUTPUT, frozenset()
        try:
            result = walk()
        finally:
            found, self.captured, self.copied = self.copied, captured, copied | self.copied
        if found & (captured - ONLY_OUTPUT):
            self.emit(None, scope)
        return result

    @staticmethod
    def _ends(end: State | None, marks: Marks) -> list[State]:
        """The states in which commands ended or were left since `marks`."""
        left = [state for states, size in zip(*marks, strict=True) for state in states[size:]]
        return left if end is None else [end, *left]
