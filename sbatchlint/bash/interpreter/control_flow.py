"""How the flow of a script is followed: ways that meet again, subshells, what leaves a function or a loop, output."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence

from sbatchlint.bash.expansion.protocol import Scope
from sbatchlint.bash.interpreter.protocol import Frame, Interpreter, T
from sbatchlint.bash.interpreter.redirects import expand_redirects, goes_away
from sbatchlint.bash.limits import MOST_PARTS, MOST_WORK, PIECES_OF_A_STATEMENT, Limits, WorkBudgetExceeded
from sbatchlint.bash.state import STDOUT, State, join
from sbatchlint.bash.syntax.tree import Assignment, Redirect, Statement
from sbatchlint.bash.trace import Redirection, Trace
from sbatchlint.bash.values import Phase, Pieces
from sbatchlint.bash.variables import Alternative

# A loop is walked without being recorded for so many statements at most, and all loops together for so many.
MOST_SILENT = 600
MOST_SILENT_OF_ALL = 30_000


class LoopBudgetExceeded(Exception):
    """A loop is too large to be walked without being recorded."""


class Flow(Interpreter):
    """The part of the interpreter that does not depend on what a statement is."""

    def __init__(self) -> None:
        self.trace = Trace()
        self.limits = Limits()
        self.exits = 0  # how many `exit` with an error were met
        self.returns: list[list[State]] = []  # by function call, innermost last
        self.leaves: list[State] = []  # where this shell ended
        self.loops: list[Frame] = []
        self.silent = 0  # how many statements may still be walked without being recorded
        self.all_silent = MOST_SILENT_OF_ALL
        self.substituted: int | None = 0  # the status of the last substitution
        self.redirected: Sequence[Redirection] = ()  # the redirects of the last compound command
        self.kept: list[object] = []  # keeps condition keys (identities) alive
        self.keys = 0

    def spend(self, pieces: int, scope: Scope, node: Assignment) -> None:
        cost = pieces // PIECES_OF_A_STATEMENT
        if not cost:
            return
        if not self.silent:
            self.work(cost, scope, node)
        else:
            self.silent = max(self.silent - cost, 0)
            if not self.silent:
                raise LoopBudgetExceeded

    def work(self, cost: int, scope: Scope, node: Statement | Assignment) -> None:
        """So many statements are recorded. Raises WorkBudgetExceeded where there is nothing left."""
        self.limits.work += cost
        if self.limits.work > MOST_WORK:
            self.limits.note("work", scope.text.span(node.start, node.end))
            raise WorkBudgetExceeded

    def new_key(self, kind: str) -> Hashable:
        """A key for guards that is like no other."""
        self.keys += 1
        return (kind, self.keys)

    def merge(self, states: Sequence[State | None], phase: Phase) -> State | None:
        """The state after ways of which just one was taken."""
        live = [each for each in states if each is not None]
        if len(live) < 2:
            return live[0] if live else None
        key = self.new_key("way")
        return join([(each, frozenset(((key, arm),))) for arm, each in enumerate(live)], phase)

    def marks(self) -> list[tuple[list[State], int]]:
        """The lists of states that left the flow, and how long they are now."""
        lists = [*self.returns, self.leaves]
        for frame in self.loops:
            lists += [frame.breaks, frame.continues]
        return [(each, len(each)) for each in lists]

    def reset(self, marks: list[tuple[list[State], int]], escaped: Sequence[list[State]] = ()) -> list[list[State]]:
        """Takes back what left the flow since, in favour of `escaped`, and gives it."""
        found = []
        for number, (each, size) in enumerate(marks):
            found.append(each[size:])
            each[size:] = escaped[number] if escaped else []
        return found

    def silently(self, walk: Callable[[], T]) -> tuple[T, list[list[State]]] | None:
        """Walks without recording; None where that would take too long. Gives also the states that left the flow."""
        if not self.silent and self.all_silent <= 0:
            return None
        trace, outermost, before = self.trace, not self.silent, self.loops
        marks = self.marks()
        allowed = self.silent = self.silent or MOST_SILENT
        self.trace = Trace()
        returns, leaves = self.returns, self.leaves
        try:
            result = walk()
        except LoopBudgetExceeded:
            if not outermost:
                raise
            return None
        finally:
            self.trace, self.returns, self.leaves, self.loops = trace, returns, leaves, before
            escaped = self.reset(marks)
            if outermost:
                self.all_silent -= allowed - self.silent
                self.silent = 0
        return result, escaped

    def subshell(self, walk: Callable[[], State | None], scope: Scope) -> State | None:
        """Walks what runs in a shell of its own, and gives how that ends: `exit` and `return` do not leave it."""
        outer = self.returns, self.leaves, self.loops
        self.returns, self.leaves, self.loops = [[]] if self.returns else [], [], []
        try:
            end = walk()
            ways = [end, *self.leaves, *(each for states in self.returns for each in states)]
        finally:
            self.returns, self.leaves, self.loops = outer
        return self.merge(ways, scope.context.phase)

    def finished(self, end: State | None, scope: Scope) -> State:
        """The state after a subshell: what it printed, and its status."""
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
        """Something is written to standard output; None: what is not known."""
        old = scope.state.variables.get(STDOUT)
        if old is None:
            return
        if pieces is None:
            scope.state.variables[STDOUT] = old._replace(alternatives=(Alternative(None),))
            return
        phase = scope.context.phase
        changed = []
        for each in old.alternatives:
            if each.fields is not None and pieces:
                whole = self.limits.bounded(each.fields[0] + pieces, MOST_PARTS, pieces[0].span, phase)
                each = each._replace(fields=(whole,))
            changed.append(each)
        scope.state.variables[STDOUT] = old._replace(alternatives=tuple(changed))

    def written(self, end: State | None, scope: Scope) -> Pieces | None:
        """What was written to standard output, where there is only one way."""
        alternatives = end.variables[STDOUT].alternatives if end is not None else ()
        if len(alternatives) != 1 or alternatives[0].fields is None or end is None:
            return None
        pieces = alternatives[0].fields[0]
        if any(piece.expansion is not None and piece.expansion.name == STDOUT for piece in pieces):
            return None
        return None if end.doubtful and not scope.state.doubtful else pieces

    def body_of(self, body: Sequence[Statement], redirects: Sequence[Redirect], scope: Scope) -> State | None:
        if not redirects:
            return self.statements(body, scope)
        return self.redirecting(redirects, scope, lambda: self.statements(body, scope))

    def redirecting(
        self, redirects: Sequence[Redirect], scope: Scope, walk: Callable[[], State | None]
    ) -> State | None:
        """Walks a compound command with redirects: its standard input, and where its output goes."""
        if not redirects:
            return walk()
        found, stdin = expand_redirects(self.expander, redirects, scope)
        outer, output = scope.state.stdin, scope.state.variables.get(STDOUT)
        for redirect in found:
            if redirect.operator in ("<", "<&", "<>") and redirect.fd in (None, "0"):
                scope.state.stdin = None
        if stdin is not None:
            scope.state.stdin = stdin.field
        away = output is not None and goes_away(found)
        if away:
            del scope.state.variables[STDOUT]
        marks = self.marks()
        end = walk()
        self.redirected = found
        states = [end, *(each for states, size in marks for each in states[size:])]
        for state in states:
            if state is not None:
                state.stdin = outer
                if away and output is not None:
                    state.variables[STDOUT] = output
        return end
