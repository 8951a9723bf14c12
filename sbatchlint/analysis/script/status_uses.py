"""Where a program acts on an exit status: `$?`, PIPESTATUS, and the variables that store them.

Printing a status is not acting on it, nor is a test of it after which nothing is done about a failure: the status of
`if [ $? -eq 0 ]; then cp result /data; fi`, and so of the job, is 0 either way.
"""

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence

from sbatchlint.analysis.script.loops import fed_a_line, is_of_one_word
from sbatchlint.bash.interpreter.builtins import DECLARATIONS
from sbatchlint.bash.syntax.tree import (
    AndOr,
    Arithmetic,
    ArithmeticCommand,
    ArithmeticFor,
    Assignment,
    Case,
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
from sbatchlint.bash.trace import Invocation
from sbatchlint.job import Job
from sbatchlint.programs import has_trait
from sbatchlint.source.regex import Regex
from sbatchlint.source.text import Span

STATUS = frozenset({"?", "PIPESTATUS"})
SURE = frozenset({":", "echo", "printf", "true"})  # they always succeed
_LEAVING = frozenset({"break", "continue", "exit", "return"})
_NOTHING = frozenset({"true", ":"})
_SUCCESS = Regex(r"-eq\s+[\"']?0\b|(?<![!<>=])==?\s*[\"']?0\b|-lt\s+1\b|\(\(\s*!")
_FAILURE = Regex(r"-ne\s+[\"']?0\b|!=\s*[\"']?0\b|-g[te]\s|>\s*0|\(\(\s*\$?\w+\s*\)\)")
# Tests of what a failed command may have changed: files, and the output of commands.
_LOOKS_AT_RESULTS = Regex(r"\[\s.*-[efsdrwxL]\s|\$\(|`|\b(?:grep|cmp|diff|test\s+-[efsdrwxL]|python3?)\b")
_PREPARES = Regex(r"\s*(?:!\s*)?(?:cd|pushd|mkdir|module|ml|source|\.|export|command|type|which|hash)\s")
_READ = Regex(r"\$\{?(?:\?|PIPESTATUS)(?:\[[^]\n]*\])?\}?")
_NAMES = Regex(r"[A-Za-z_]\w*|\$\?")
_TESTS = (Simple, TestCommand, ArithmeticCommand)


def last_that_runs(body: Sequence[Statement]) -> Statement | None:
    """The last statement that does more than define a function."""
    return next((each for each in reversed(body) if not isinstance(each, Function)), None)


class StatusUses:
    """The uses of exit statuses in a program. Offsets are into its text."""

    def __init__(self, program: Program, string: str) -> None:
        self.string, self._program = string, program
        self._fed: set[int] | None = None  # loops over one line
        # Most scripts have no functions and read no status: their trees need not be searched.
        has_functions = "(" in string or "function" in string
        self.functions = {node.name: node for node in nodes_of(program, Function)} if has_functions else {}
        self._quiet: set[int] = set()  # reads without consequences
        self._choosing: list[tuple[int, int]] = []
        self._failing: list[tuple[int, int, Sequence[Statement]]] = []  # tests, and what runs where they show a failure
        self._chosen: set[int] = set()  # the reads within these
        self._failed: dict[int, Sequence[Statement]] = {}
        self._reads: list[int] = []
        self._places: dict[str, list[int]] = {}  # also reads without consequences
        self._named: dict[str, list[int]] = {}
        if "?" in string and ("$?" in string or "${?" in string) or "PIPESTATUS" in string:
            self._search(program)

    def _search(self, program: Program) -> None:
        """Finds where statuses and variables are read, and where that has no consequences."""
        found = [(node.start, node.name) for node in nodes_of(program, Parameter)]
        expressions: list[Arithmetic | ArithmeticCommand] = [*nodes_of(program, Arithmetic)]
        for expression in (*expressions, *nodes_of(program, ArithmeticCommand)):
            matches = _NAMES.finditer(self.string, expression.expression_start, expression.expression_end)
            found += [(each.start(), each[0].lstrip("$")) for each in matches if each[0] != "PIPESTATUS"]
        found.sort()
        quiet = [
            (node.start, node.end)
            for node in nodes_of(program, Simple)
            if self._only_reports(node) and not self.assigns(node)  # `local s=$?` stores it
        ]
        quiet += [(test.start, test.end) for test, body, rest in _tests(program) if self._is_idle(test, body, rest)]
        for case in nodes_of(program, Case):
            if "?" in self.string[case.word.start : case.word.end]:
                quiet += self._of_case(case)
        for start, end in quiet:
            self._quiet.update(at for at, _ in found[bisect_left(found, (start,)) : bisect_left(found, (end,))])
        for at, name in found:
            if name in STATUS:
                self._reads.append(at)
                continue
            self._places.setdefault(name, []).append(at)
            if at not in self._quiet:
                self._named.setdefault(name, []).append(at)
        for start, end in self._choosing:
            self._chosen.update(at for at, _ in found[bisect_left(found, (start,)) : bisect_left(found, (end,))])
        for start, end, body in self._failing:
            for at, _ in found[bisect_left(found, (start,)) : bisect_left(found, (end,))]:
                self._failed.setdefault(at, body)

    def _of_case(self, node: Case) -> list[tuple[int, int]]:
        """Records what a `case $?` does about a failure; where its word stands, if that is nothing."""
        arms = [body for patterns, body, _ in node.items if "0" not in [self.string[a.start : a.end] for a in patterns]]
        failing = [each for body in arms for each in body]
        self._failing.append((node.word.start, node.word.end, failing))
        return [(node.word.start, node.word.end)] if self.only_reports(failing) else []

    def is_single(self, node: For | ArithmeticFor | While) -> bool:
        """Whether a loop has one iteration at most."""
        if isinstance(node, For):
            return is_of_one_word(self.string, node)
        if self._fed is None:
            self._fed = set(map(id, fed_a_line(self.string, self._program)))
        return isinstance(node, While) and id(node) in self._fed

    def name(self, node: Simple) -> str | None:
        """The first word of a command as written, without its folder; None if there is none."""
        word = node.words[0] if node.words else None
        if not isinstance(word, Word):
            return None
        return self.string[word.start : word.end].rpartition("/")[2]

    def assigns(self, node: Simple) -> bool:
        """Whether a command is a declaration with a value."""
        return self.name(node) in DECLARATIONS and any(isinstance(each, Assignment) for each in node.words)

    def final(self, body: Sequence[Statement]) -> Statement | None:
        """The statement that ends a body last: the last one in the last loop, group, choice or function called."""
        node = last_that_runs(body)
        met: set[int] = set()
        while node is not None and node.start not in met:
            met.add(node.start)
            inner: Sequence[Statement] = ()
            if isinstance(node, (Group, For, ArithmeticFor, While)):
                inner = node.body
            elif isinstance(node, If) and len(node.branches) == 1 and not node.otherwise:
                inner = node.branches[0][1]
                end = last_that_runs(inner)
                if isinstance(end, Simple) and self.name(end) in _LEAVING:
                    break  # with it nothing comes after the `if`, whose status is otherwise 0
            elif isinstance(node, Simple) and (function := self.functions.get(self.name(node) or "")):
                inner = (function.body,)
            node = last_that_runs(inner) or node
        return node

    def hiding(self, node: If, failing: Sequence[Statement] | None) -> Statement | None:
        """What hides a status that an `if` tests: the end of the branch for a failure, if that cannot fail."""
        if failing is None:
            return None
        last = failing[-1] if failing else node
        if isinstance(last, Simple) and self.name(last) not in SURE or not isinstance(last, (Simple, If)):
            return None
        return last

    def reads(self, node: Statement | Word | Assignment) -> list[int]:
        """Where a statement or a word reads `$?` or PIPESTATUS."""
        return self._reads[bisect_left(self._reads, node.start) : bisect_left(self._reads, node.end)]

    def reads_pipe_status(self, at: int) -> bool:
        return self.string.startswith(("PIPESTATUS", "${PIPESTATUS", "$PIPESTATUS"), at)

    def read_at(self, at: int) -> tuple[int, int]:
        """The range of the expansion that reads a status there: `$?`, `${PIPESTATUS[0]}`."""
        found = _READ.match(self.string, at)
        return found.span() if found is not None else (at, at + 2)

    def is_acted_on(self, at: int) -> bool:
        """Whether something is done about the status that is read there, or it is stored."""
        return at not in self._quiet

    def use(self, at: int) -> str:
        """What the status that is read there does: see `LateRead.use`."""
        if self.is_acted_on(at) or at in self._chosen:
            return "decides"
        return "printed" if self.on_failure(at) is None else "verdict"

    def looked_at(self, name: str, within: tuple[int, int] | None = None) -> bool:
        """Whether something acts on a variable, anywhere or in a range."""
        found = self._named.get(name, [])
        if within is None:
            return bool(found)
        return bisect_left(found, within[0]) < bisect_left(found, within[1])

    def on_failure(self, at: int) -> Sequence[Statement] | None:
        """The statements that run where the test around a place shows a failure; None without such a test."""
        return self._failed.get(at)

    def places(self, name: str) -> list[int]:
        """Where a variable is read, with consequences or without."""
        return self._places.get(name, [])

    def only_gives_up(self, body: Iterable[Statement]) -> bool:
        """Whether statements do nothing but print, look, and end the script or the function."""
        return all(
            isinstance(each, Simple) and self.name(each) in ("exit", "return") or self._only_reports(each)
            for each in body
        )

    # --- what is done about a failure ----------------------------------------------------------------

    def only_reports(self, body: Iterable[Statement], depth: int = 3) -> bool:
        """Whether statements do nothing but print, look and wait."""
        return all(self._only_reports(each, depth) for each in body)

    def does_nothing(self, statement: Statement) -> bool:
        return isinstance(statement, Simple) and self.name(statement) in _NOTHING

    def looks_at_results(self, condition: Statement) -> bool:
        """Whether a test may depend on the results of earlier commands."""
        string = self.string[condition.start : condition.end]
        return bool(_LOOKS_AT_RESULTS.search(string)) and not _PREPARES.match(string)

    def _only_reports(self, node: Statement, depth: int = 3) -> bool:
        if isinstance(node, Simple):
            name = self.name(node)
            if name == "exit":
                return self.ends_well(node)
            function = self.functions.get(name or "") if depth else None
            if function is not None:
                return self._only_reports(function.body, depth - 1)
            if name == "scontrol" and "show" not in self.string[node.start : node.end]:
                return False  # it requeues or changes the job
            # a file that is written may be a marker that something else reads
            return has_trait(name, "tells") and not any(
                redirect.operator in (">", ">>", ">|") and redirect.fd in (None, "1") and redirect.target is not None
                and not self.string.startswith(("/dev/", "&"), redirect.target.start)
                for redirect in node.redirects
            )  # fmt: skip
        if isinstance(node, Group):
            return self.only_reports(node.body, depth)
        if isinstance(node, Pipeline):
            return self.only_reports(node.commands, depth)
        if isinstance(node, If):
            return all(self.only_reports(body, depth) for _, body in node.branches) and self.only_reports(
                node.otherwise or (), depth
            )
        if isinstance(node, AndOr):
            is_test = isinstance(node.left, TestCommand)
            return (is_test or self._only_reports(node.left, depth)) and self._only_reports(node.right, depth)
        return isinstance(node, (TestCommand, ArithmeticCommand))

    def ends_well(self, node: Simple) -> bool:
        """Whether an `exit` or `return` has the literal status 0."""
        return len(node.words) > 1 and self.string[node.words[1].start : node.words[1].end] == "0"

    def fails(self, body: Iterable[Statement], depth: int = 3) -> bool:
        """Whether statements may end the script, or the function, with a status that is not 0."""
        return any(self._fails(each, depth) for each in body)

    def _fails(self, node: Statement, depth: int) -> bool:
        if isinstance(node, Simple):
            name = self.name(node)
            if name in ("exit", "return"):
                return not self.ends_well(node)
            if name == "false":
                return True
            function = self.functions.get(name or "") if depth else None
            return function is not None and self._fails(function.body, depth - 1)
        if isinstance(node, Group):
            return self.fails(node.body, depth)
        if isinstance(node, AndOr):
            return self._fails(node.left, depth) or self._fails(node.right, depth)
        if isinstance(node, If):
            bodies = [body for _, body in node.branches]
            return any(self.fails(body, depth) for body in (*bodies, node.otherwise or ()))
        return False

    def _is_idle(self, test: Statement, body: Sequence[Statement], rest: Sequence[Statement]) -> bool:
        """Whether a condition tests a number, and nothing is done about a failure after it."""
        condition = self.string[test.start : test.end]
        succeeds = _SUCCESS.search(condition) is not None
        if not succeeds and _FAILURE.search(condition) is None:
            return False
        failing = rest if succeeds else body
        self._failing.append((test.start, test.end, failing))
        if not self.only_reports(failing):
            return False
        if not self.only_reports(body if succeeds else rest):
            self._choosing.append((test.start, test.end))
        return True


def end_of_script(job: Job, uses: StatusUses, last: Invocation | None) -> Span | None:
    """Where the status of a script is made, if that is not `last`, the last command that always runs."""
    statements, text = job.program.statements, job.text
    node = last_that_runs(statements)
    if node is None:
        return None
    span = text.span(node.start, node.end)
    if last is not None and last.name == "exit":
        if len(last.argv) > 1 or span != last.span:
            return None
        at = next(at for at, each in enumerate(statements) if each is node)
        before = uses.final(statements[:at])  # a bare `exit` passes on the status before it
        return None if before is None else text.span(before.start, before.end)
    final = uses.final(statements) or node
    end = text.span(final.start, final.end)
    # what stands in the condition of a loop does not set its status
    of_loop = isinstance(node, While) and final is not node
    if isinstance(node, If) and last is not None and not end.contains(last.span) and span.contains(last.span):
        return span  # it is 0 where no branch runs
    if isinstance(node, If) and final is node:
        return span
    return None if last is not None and (end if of_loop else span).contains(last.span) else end


def _tests(program: Program) -> Iterator[tuple[Statement, Sequence[Statement], Sequence[Statement]]]:
    """Each simple test of an `if` or a `[ … ] && …`, with the statements that run if it succeeds, and if it fails."""
    for branch in nodes_of(program, If):
        (condition, body), *others = branch.branches
        if condition and isinstance(condition[-1], _TESTS):
            yield condition[-1], body, [*(each for _, further in others for each in further), *(branch.otherwise or ())]
    for chain in nodes_of(program, AndOr):
        left = chain.left
        if chain.operator == "&&" and isinstance(left, _TESTS):
            yield left, (chain.right,), ()
        elif chain.operator == "||" and isinstance(left, _TESTS):
            yield left, (), (chain.right,)
        elif chain.operator == "||" and isinstance(left, AndOr) and left.operator == "&&":
            if isinstance(left.left, _TESTS):
                yield left.left, (left.right,), (chain.right,)


def is_status(node: Assignment) -> bool:
    """Whether an assignment stores just `$?` or an element of PIPESTATUS, and overwrites the variable."""
    if node.append or node.index is not None or not isinstance(node.value, Word) or len(node.value.parts) != 1:
        return False
    part = node.value.parts[0]
    return isinstance(part, Parameter) and part.name in STATUS
