"""The abstract interpreter: walks a program in order and records every command that it would run.

Nothing is ever executed. Branches whose condition the script decides are taken or left; of the others both ways are
walked and joined (see state.py). Loops are walked once. Cost is bounded: at most `MOST_STATEMENTS` statements are
walked for one file, and programs inside values are followed `DEEPEST` levels down.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Protocol

from ..source.records import NamedTuple
from ..source.text import Span
from . import branching, commands, programs
from .conditions import either, negate
from .expand import Environment, Expander, Scope, text_matches
from .parse import parse
from .state import (
    NO_GUARDS,
    Alternative,
    Guards,
    ShellFunction,
    State,
    Variable,
    join,
    merge_guards,
)
from .syntax import (
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
    Pipeline,
    Program,
    Redirect,
    Simple,
    Statement,
    TestCommand,
    Unparsed,
    While,
)
from .trace import Context, Invocation, Ran, Trace
from .values import Expansion, Phase, Piece, Pieces, Text, expansions, flattened, text_of

MOST_STATEMENTS = 20_000
DEEPEST = 6


class Spawn(NamedTuple):
    """What the job layer says of a command that starts another.

    `command`: where in argv the started command begins (None: there is none). `kind`: `srun`, `env`, `apptainer` …
    `phase`: in which phase the started command runs. `variables`, `dropped`, `cleared` (all but `kept`): what happens
    to the environment on the way. `prefix`: words put before the started command's own. `info`: the job
    layer's own record.
    """

    kind: str
    command: int | None
    phase: Phase
    variables: tuple[tuple[str, Pieces], ...] = ()
    dropped: frozenset[str] = frozenset()
    cleared: bool = False
    info: object = None
    prefix: tuple[Pieces, ...] = ()
    kept: tuple[str, ...] = ()


class Hooks(Protocol):
    """What the evaluator asks the job layer."""

    @property
    def environment(self) -> Environment: ...

    def spawn(self, invocation: Invocation) -> Spawn | None:
        """What the command starts, if it is one that starts others (shells are the evaluator's own)."""

    def file(self, name: str, way: Span) -> Text | None:
        """A file beside the script, by its `programs.file_name`; `way`: the command that reads or starts it."""


class Exhausted(Exception):
    """The script is too large to be walked further."""


class Interpreter:
    """Evaluates one script. `trace` is the result; `complete` is False where the bounds were reached."""

    def __init__(self, hooks: Hooks) -> None:
        self.hooks = hooks
        self.environment = hooks.environment
        self.trace = Trace()
        self.expander = Expander(self)
        self.complete = True
        self.steps = 0
        self.exits = 0  # how many `exit` with an error were met
        self.returns: list[list[State]] = []
        self.breaks: list[list[State]] = []
        self._parsed: dict[str, Program] = {}
        self.kept: list[Variable | None] = []  # keeps condition keys (identities) alive

    # --- whole programs ----------------------------------------------------------------------

    def run(self, text: Text, program: Program, phase: Phase, state: State | None = None) -> None:
        """Walks a script from its first statement."""
        scope = Scope(state or State(), text, Context(phase))
        try:
            self.statements(program.statements, scope)
        except Exhausted:
            self.complete = False

    def parsed(self, string: str) -> Program:
        program = self._parsed.get(string)
        if program is None:
            program = self._parsed[string] = parse(string)
        return program

    def program(self, text: Text, scope: Scope) -> State | None:
        """Walks a program that stands in a value."""
        if scope.context.depth >= DEEPEST:
            return scope.state
        inner = scope.context.replace(depth=scope.context.depth + 1)
        return self.statements(self.parsed(text.string).statements, Scope(scope.state, text, inner))

    def statements(self, body: Sequence[Statement], scope: Scope) -> State | None:
        state: State | None = scope.state
        for statement in body:
            if state is None:
                return None
            state = self.statement(statement, Scope(state, scope.text, scope.context))
        return state

    def statement(self, statement: Statement, scope: Scope) -> State | None:
        self.steps += 1
        if self.steps > MOST_STATEMENTS:
            raise Exhausted
        method = getattr(self, "on_" + type(statement).__name__.lower())
        result: State | None = method(statement, scope)
        return result

    # --- simple commands and lists ---------------------------------------------------------------

    def on_simple(self, node: Simple, scope: Scope) -> State | None:
        return self.record((self.simple(node, scope),), node.start, node.end, scope)

    def record(
        self,
        results: Sequence[tuple[list[Invocation], State | None]],
        start: int,
        end: int,
        scope: Scope,
    ) -> State | None:
        """Notes what ran, and gives the state after its last element."""
        state = results[-1][1]
        if any(invocations for invocations, _ in results):
            self.trace.ran.append(
                Ran(
                    tuple(tuple(invocations) for invocations, _ in results),
                    scope.text.span(start, end),
                    scope.context,
                    scope.state.option("errexit"),
                    scope.state.option("pipefail"),
                    scope.context.tested,
                    len(self.trace.ran),
                )
            )
        return state

    def simple(self, node: Simple, scope: Scope, stdin: Text | None = None) -> tuple[list[Invocation], State | None]:
        return commands.run_simple(self, node, scope, stdin)

    def on_pipeline(self, node: Pipeline, scope: Scope) -> State | None:
        context = scope.context.replace(tested=True) if node.negated else scope.context
        if len(node.commands) == 1:
            return self.statement(node.commands[0], Scope(scope.state, scope.text, context))
        context = context.replace(shell=context.shell + 1)
        elements: list[tuple[list[Invocation], State | None]] = []
        stdin: Text | None = None
        for number, element in enumerate(node.commands):
            inner = Scope(scope.state.copy(), scope.text, context)
            first = len(self.trace.invocations)
            if isinstance(element, Simple):
                invocations, _ = self.simple(element, inner, stdin)
            else:
                self.statement(element, inner)
                invocations = [
                    each for each in self.trace.invocations[first:] if each.context.parent is scope.context.parent
                ]
            for each in invocations:
                each.piped_from = each.piped_from or number > 0
                each.piped_to = each.piped_to or number < len(node.commands) - 1
            elements.append((invocations, scope.state))
            stdin = programs.printed_text(invocations, isinstance(element, Simple))
        self.record(
            elements, node.start, node.end, Scope(scope.state, scope.text, context.replace(shell=context.shell - 1))
        )
        return scope.state

    def on_andor(self, node: AndOr, scope: Scope) -> State | None:
        truth = branching.truth(self, node.left, scope)
        tested = scope.context.replace(tested=True)
        restricted = branching.restricting(self, node.left, scope)
        left = self.statement(node.left, Scope(scope.state, scope.text, tested))
        if left is None:
            return None
        runs = truth if node.operator == "&&" else negate(truth)
        if runs is False:
            return left
        if runs is True:
            exits = self.exits
            right = self.statement(node.right, Scope(left.copy(), scope.text, scope.context))
            return left if right is None and self.exits > exits else right
        guard = branching.condition_key(self, node.left, scope)
        arm = 0 if node.operator == "&&" else 1
        guards = merge_guards(scope.context.guards, frozenset(((guard, arm),)))
        if guards is None:
            return left
        # `workload && next` and `workload || exit`: what follows runs on the usual way
        usual = node.operator == "&&" and restricted == scope.context.restricted
        context = scope.context.replace(
            conditional=scope.context.conditional or not usual, guards=guards, restricted=restricted
        )
        right = self.statement(node.right, Scope(left.copy(), scope.text, context))
        return join([(left, frozenset(((guard, 1 - arm),))), (right, frozenset(((guard, arm),)))], scope.context.phase)

    def on_background(self, node: Background, scope: Scope) -> State | None:
        context = scope.context.replace(background=True, shell=scope.context.shell + 1)
        self.statement(node.statement, Scope(scope.state.copy(), scope.text, context))
        return scope.state

    def on_group(self, node: Group, scope: Scope) -> State | None:
        return commands.run_group(self, node, scope)

    def on_function(self, node: Function, scope: Scope) -> State | None:
        scope.state.functions[node.name] = ShellFunction(node.body, scope.text, scope.text.pieces(node.start, node.end))
        return scope.state

    def on_testcommand(self, node: TestCommand, scope: Scope) -> State | None:
        commands.record_test(self, node, scope)
        return scope.state

    def on_arithmeticcommand(self, node: ArithmeticCommand, scope: Scope) -> State | None:
        self.expander.number(node.expression_start, node.expression_end, scope)
        self.expander.note_names(node.expression_start, node.expression_end, scope)
        return scope.state

    def on_unparsed(self, node: Unparsed, scope: Scope) -> State | None:
        scope.state.sourced = True
        return scope.state

    def _redirects(self, redirects: Sequence[Redirect], scope: Scope) -> None:
        commands.expand_redirects(self, redirects, scope)

    # --- branches ----------------------------------------------------------------------------

    def on_if(self, node: If, scope: Scope) -> State | None:
        self._redirects(node.redirects, scope)
        ways: list[tuple[State | None, Guards]] = []
        state: State | None = scope.state
        context = scope.context
        passed: Guards = NO_GUARDS
        for condition, body in node.branches:
            if state is None:
                break
            tested = context.replace(tested=True)
            for statement in condition[:-1]:
                state = self.statement(statement, Scope(state, scope.text, context)) if state is not None else None
            if state is None or not condition:
                break
            here = Scope(state, scope.text, tested)
            truth = branching.truth(self, condition[-1], here)
            key = branching.condition_key(self, condition[-1], here)
            restricted = branching.restricting(self, condition[-1], here)
            state = self.statement(condition[-1], here)
            if state is None:
                break
            if truth is not False:
                own = passed | frozenset(((key, 0),))
                guards = merge_guards(context.guards, own)
                if guards is not None:
                    arm = context.replace(
                        guards=guards, conditional=context.conditional or truth is None, restricted=restricted
                    )
                    if truth is True:
                        arm = context
                    exits = self.exits
                    way = self.statements(body, Scope(state.copy(), scope.text, arm))
                    if truth is True and way is None and self.exits > exits:
                        # `X=""`, then `[ -z "$X" ] && exit`: a place to be filled in before anybody submits this
                        continue
                    ways.append((way, own))
            if truth is True:
                state = None
                break
            if truth is None:
                passed = passed | frozenset(((key, 1),))
                context = context.replace(conditional=True)
                if restricted != context.restricted:
                    context = context.replace(restricted=restricted)
        if state is not None:
            guards = merge_guards(scope.context.guards, passed)
            if guards is not None:
                if node.otherwise is not None:
                    arm = context.replace(guards=guards)
                    state = self.statements(node.otherwise, Scope(state, scope.text, arm))
                ways.append((state, passed))
        return join(ways, scope.context.phase)

    def on_case(self, node: Case, scope: Scope) -> State | None:
        self._redirects(node.redirects, scope)
        subjects = self.expander.value(node.word, scope)
        subject = subjects[0][0] if len(subjects) == 1 else None
        source = scope.text.string[node.word.start : node.word.end]
        found = [scope.state.variables.get(name) for name in branching.REFERENCE.findall(source)]
        self.kept.extend(found)
        key = ("case", source, *(id(each) for each in found))
        restricted = scope.context.restricted
        if scope.context.phase is Phase.TASK:
            restricted |= {
                e.name for pieces, _ in subjects for e in expansions(pieces) if self.environment.differs(e.name)
            }
        ways: list[tuple[State | None, Guards]] = []
        certain = False
        for patterns, body, _ in node.items:
            truth: bool | None = False
            for pattern in patterns:
                value = self.expander.single(pattern, scope)
                truth = either(
                    truth,
                    text_matches(value, subject) if subject is not None else (True if text_of(value) == "*" else None),
                )
            if truth is False:
                continue
            labels = tuple(scope.text.string[pattern.start : pattern.end] for pattern in patterns)
            own: Guards = frozenset(((key, hash(labels)),))
            guards = merge_guards(scope.context.guards, own)
            certain = truth is True
            if guards is not None:
                alone = certain and not ways
                context = scope.context.replace(
                    guards=scope.context.guards if alone else guards,
                    conditional=scope.context.conditional or not alone,
                    restricted=restricted,
                )
                ways.append((self.statements(body, Scope(scope.state.copy(), scope.text, context)), own))
            if certain:
                break
        if not certain:
            ways.append((scope.state, frozenset(((key, -1),))))
        return join(ways, scope.context.phase)

    # --- loops -------------------------------------------------------------------------------

    def on_for(self, node: For, scope: Scope) -> State | None:
        self._redirects(node.redirects, scope)
        span = scope.text.span(node.start, node.end)
        items: list[Pieces] = []
        known = True
        if node.words is None:
            known = scope.state.positional is not None
            items = list(scope.state.positional or ())
        else:
            choices = self.expander.argv(node.words, scope)
            known = len(choices) == 1
            items = list(choices[0][0]) if choices else []
        known = known and not any(piece.open for field in items for piece in field)
        if known and not items:
            return scope.state
        key = ("loop", span)
        if known and len(items) <= 6:
            alternatives = tuple(
                Alternative((item,), frozenset(((key, number),)) if len(items) > 1 else NO_GUARDS)
                for number, item in enumerate(items)
            )
        else:
            inputs = flattened(each for field in items for each in expansions(field))
            unknown = Piece(None, *span, Expansion(node.name, span, scope.context.phase, inputs))
            alternatives = (Alternative(((unknown,),)),)
        old = scope.state.variables.get(node.name)
        variable = Variable(alternatives, exported=bool(old and old.exported), span=span)
        return self._loop(node.body, scope, node.name, variable, certain=known, several=not known or len(items) > 1)

    def on_arithmeticfor(self, node: ArithmeticFor, scope: Scope) -> State | None:
        self._redirects(node.redirects, scope)
        header = scope.text.string[node.header_start : node.header_end]
        start = header.split(";")[0]
        self.expander.number(node.header_start, node.header_start + len(start), scope)
        name = re.match(r"\s*(\w+)\s*=", start)
        variable = None
        if name:
            span = scope.text.span(node.header_start, node.header_end)
            unknown = Piece(None, *span, Expansion(name[1], span, scope.context.phase))
            variable = Variable((Alternative(((unknown,),)),), span=span)
        return self._loop(node.body, scope, name[1] if name else "", variable, certain=False)

    def on_while(self, node: While, scope: Scope) -> State | None:
        self._redirects(node.redirects, scope)
        state = self.statements(node.condition[:-1], scope)
        if state is None:
            return None
        here = Scope(state, scope.text, scope.context.replace(tested=True))
        truth = branching.truth(self, node.condition[-1], here) if node.condition else None
        truth = negate(truth) if node.negated else truth
        self._forget(node, here)
        state = self.statement(node.condition[-1], here) if node.condition else state
        if state is None or truth is False:
            return state
        return self._loop(node.body, Scope(state, scope.text, scope.context), "", None, certain=truth is True)

    def _forget(self, node: Statement, scope: Scope) -> None:
        """Makes unknown, besides its value, what a loop's body changes from its own earlier value."""
        for name in commands.changed_in_loop(node, scope.text.string):
            old = scope.state.variables.get(name)
            if old is None or old.array:
                if old is not None:
                    unknown = Piece(None, *old.span, Expansion(name, old.span, scope.context.phase), open=True)
                    grown = tuple(
                        Alternative((*(each.fields or ()), (unknown,)), each.guards) for each in old.alternatives
                    )
                    scope.state.variables[name] = old._replace(alternatives=grown)
                continue
            unknown = Piece(None, *old.span, Expansion(name, old.span, scope.context.phase))
            scope.state.variables[name] = old._replace(alternatives=(*old.alternatives[:4], Alternative(((unknown,),))))

    def _loop(
        self, body: Sequence[Statement], scope: Scope, name: str, variable: Variable | None, certain: bool,
        several: bool = True,
    ) -> State | None:  # fmt: skip
        """Walks a body once. `certain`: it runs at least once."""
        before = scope.state
        inside = before.copy()
        here = Scope(inside, scope.text, scope.context)
        if several:
            for statement in body:
                self._forget(statement, here)
        if variable is not None:
            inside.variables[name] = variable
        context = scope.context.replace(
            looped=several or scope.context.looped, conditional=scope.context.conditional or not certain
        )
        self.breaks.append([])
        after = self.statements(body, Scope(inside, scope.text, context))
        ways: list[tuple[State | None, Guards]] = [(after, NO_GUARDS)]
        ways.extend((state, NO_GUARDS) for state in self.breaks.pop())
        if not certain:
            ways.append((before, NO_GUARDS))
        return join(ways, scope.context.phase) or (before if not certain else None)

    # --- substitutions -----------------------------------------------------------------------

    def output(
        self, body: Sequence[Statement], scope: Scope, inputs: list[Expansion], names: list[tuple[str, ...]]
    ) -> list[tuple[Pieces, Guards]] | None:
        """See `Substituter.output`."""
        first = len(self.trace.invocations)
        context = scope.context.replace(captured=True, shell=scope.context.shell + 1, tested=False)
        self.statements(body, Scope(scope.state.copy(), scope.text, context))
        ran = self.trace.invocations[first:]
        for each in ran:
            words = tuple(word for field in each.argv if (word := text_of(field)) is not None)
            names.append(words)
            for field in each.argv:
                inputs.extend(expansions(field))
            if each.stdin is not None:
                inputs.extend(expansions(each.stdin.field))
        if len(body) != 1 or not isinstance(body[0], Simple):
            return None
        definitions = commands.printed_functions(self, body[0], scope)
        if definitions is not None:
            return [(programs.without_final_newlines(definitions), NO_GUARDS)]
        own = [each for each in ran if each.context.parent is scope.context.parent and not each.kind]
        results = []
        for each in own:
            printed = programs.printed(each)
            if printed is None:
                return None
            results.append((programs.without_final_newlines(printed), each.guards))
        return results or None

    def read_status(self, name: str) -> None:
        self.trace.status_reads.append(len(self.trace.ran))
        if name == "PIPESTATUS":
            self.trace.pipe_status_reads.append(len(self.trace.ran))

    def assign(self, node: Assignment, scope: Scope, exported: bool = False, local: bool = False) -> None:
        commands.assign(self, node, scope, exported, local)
