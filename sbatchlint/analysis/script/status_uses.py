"""Where a program looks at an exit status in earnest: `$?`, PIPESTATUS, and the variables that keep them.

Printing a status is no look in earnest, nor is a test of it after which nothing is done about a failure:
`if [ $? -eq 0 ]; then cp result /data; fi` leaves the script, and so the job, as successful as before.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence

from sbatchlint.bash.syntax.tree import (
    AndOr,
    Arithmetic,
    ArithmeticCommand,
    Assignment,
    Function,
    Group,
    If,
    Parameter,
    Pipeline,
    Program,
    Simple,
    Statement,
    TestCommand,
    Word,
)
from sbatchlint.bash.syntax.walk import nodes_of
from sbatchlint.source.regex import Regex

STATUS = frozenset({"?", "PIPESTATUS"})
# Filters whose status says nothing of what they read; a test of others is one of what was printed.
_PATIENT_NAMES = (
    "annotate-output bzip2 cat col cut gzip lbzip2 logger lz4 nl pigz pbzip2 pv rotatelogs sed sort tail tee tr ts"
    " unbuffer uniq xz zstd"
)
PATIENT = frozenset(_PATIENT_NAMES.split())
# Commands that answer or prepare: under errexit the job could end by them, though nothing is wrong.
_RISKY_NAMES = (
    ". [ [[ ack activate bc cmp comm conda deactivate diff egrep expr fgrep fuser grep kill killall let ls lsof mamba"
    " micromamba ml module mountpoint nvidia-smi pgrep pidof pkill read rg source spack test type umount wait which"
)
RISKY = frozenset(_RISKY_NAMES.split())
# Filters that fail, or stop what writes into them, though nothing is wrong.
CHOOSY = frozenset({"head", "grep", "egrep", "fgrep", "rg"})
# Commands that tell something, or do nothing.
_TELLING_NAMES = (
    ": cat date echo free local logger mail mailx mpack printf sacct scontrol sendmail set sleep squeue sstat true"
)
_TELLING = frozenset(_TELLING_NAMES.split())
_NOTHING = frozenset({"true", ":"})
_SUCCESS = Regex(r"-eq\s+[\"']?0\b|==?\s*[\"']?0\b|-lt\s+1\b|\(\(\s*!")
_FAILURE = Regex(r"-ne\s+[\"']?0\b|!=\s*[\"']?0\b|-g[te]\s|>\s*0|\(\(\s*\$?\w+\s*\)\)")
# What a test looks at that a failed command may have changed: files, and what commands print.
_LOOKS_AT_RESULTS = Regex(r"\[\s.*-[efsdrwxL]\s|\$\(|`|\b(?:grep|cmp|diff|test\s+-[efsdrwxL]|python3?)\b")
_PREPARES = Regex(r"\s*(?:!\s*)?(?:cd|pushd|mkdir|module|ml|source|\.|export|command|type|which|hash)\s")
_NAMES = Regex(r"[A-Za-z_]\w*|\$\?")


class StatusUses:
    """The uses of exit statuses in a program. Ranges are those of its text.

    `has_reads`: whether it reads `$?` or PIPESTATUS at all.
    """

    def __init__(self, program: Program, string: str) -> None:
        self.string = string
        # Most scripts have neither functions nor a look at a status: their trees need not be searched.
        has_functions = "(" in string or "function" in string
        self.functions = {node.name: node for node in nodes_of(program, Function)} if has_functions else {}
        self._quiet = _NOWHERE
        self._choosing: list[tuple[int, int]] = []
        self._reads: list[int] = []
        self._named: dict[str, list[int]] = {}
        self.has_reads = False
        if "?" in string and ("$?" in string or "${?" in string) or "PIPESTATUS" in string:
            self._search(program)

    def _search(self, program: Program) -> None:
        """Finds where statuses and variables are read, and where that has no consequence."""
        string = self.string
        quiet = [(node.start, node.end) for node in nodes_of(program, Simple) if self._tells(node)]
        for branch in nodes_of(program, If):
            quiet.extend(self._idle_branch(branch))
        for chain in nodes_of(program, AndOr):
            quiet.extend(self._idle_list(chain))
        self._quiet = _Ranges(quiet)
        reads: list[int] = []
        named: dict[str, list[int]] = {}
        for parameter in nodes_of(program, Parameter):
            (reads if parameter.name in STATUS else named.setdefault(parameter.name, [])).append(parameter.start)
        ranges = [(node.expression_start, node.expression_end) for node in nodes_of(program, Arithmetic)]
        ranges += [(node.expression_start, node.expression_end) for node in nodes_of(program, ArithmeticCommand)]
        for start, end in ranges:
            for match in _NAMES.finditer(string, start, end):
                word = match.group()
                (reads if word == "$?" else named.setdefault(word, [])).append(match.start())
        self._reads = sorted(reads)
        self.has_reads = bool(reads)
        self._named = {name: sorted(at for at in found if at not in self._quiet) for name, found in named.items()}

    def name(self, node: Simple) -> str | None:
        """The name of a command where it is written as it is."""
        word = node.words[0] if node.words else None
        if not isinstance(word, Word):
            return None
        return self.string[word.start : word.end].rpartition("/")[2]

    def reads(self, start: int, end: int) -> list[int]:
        """Where a range reads `$?` or PIPESTATUS."""
        if not self.has_reads:
            return []
        return self._reads[bisect_left(self._reads, start) : bisect_left(self._reads, end)]

    def reads_pipe_status(self, at: int) -> bool:
        return self.string.startswith(("PIPESTATUS", "${PIPESTATUS", "$PIPESTATUS"), at)

    def in_earnest(self, at: int) -> bool:
        """Whether something is done about what is read there, or it is kept."""
        return at not in self._quiet

    def decides(self, at: int) -> bool:
        """Whether it depends on what is read there which commands run: more than messages."""
        return self.in_earnest(at) or any(start <= at < end for start, end in self._choosing)

    def looked_at(self, name: str, within: tuple[int, int] | None = None) -> bool:
        """Whether a variable is read in earnest, anywhere or in a range."""
        found = self._named.get(name, [])
        if within is None:
            return bool(found)
        return bisect_left(found, within[0]) < bisect_left(found, within[1])

    # --- what is done about a failure ----------------------------------------------------------------

    def only_tells(self, body: Iterable[Statement], depth: int = 3) -> bool:
        """Whether statements do nothing but print, look and wait."""
        return all(self._tells(each, depth) for each in body)

    def does_nothing(self, statement: Statement) -> bool:
        return isinstance(statement, Simple) and self.name(statement) in _NOTHING

    def looks_at_results(self, condition: Statement) -> bool:
        """Whether a test may be one of what earlier commands have left behind."""
        string = self.string[condition.start : condition.end]
        return bool(_LOOKS_AT_RESULTS.search(string)) and not _PREPARES.match(string)

    def _tells(self, node: Statement, depth: int = 3) -> bool:
        if isinstance(node, Simple):
            name = self.name(node)
            if name == "exit":
                return self.ends_well(node)
            function = self.functions.get(name or "") if depth else None
            if function is not None:
                return self._tells(function.body, depth - 1)
            if name == "scontrol" and "show" not in self.string[node.start : node.end]:
                return False  # the job is tried again
            # a file that is written may be a marker that something else looks at
            return name in _TELLING and not any(
                each.operator in (">", ">>", ">|") and each.fd in (None, "1") and each.target is not None
                and not self.string.startswith(("/dev/", "&"), each.target.start)
                for each in node.redirects
            )  # fmt: skip
        if isinstance(node, Group):
            return self.only_tells(node.body, depth)
        if isinstance(node, Pipeline):
            return self.only_tells(node.commands, depth)
        if isinstance(node, If):
            return all(self.only_tells(body, depth) for _, body in node.branches) and self.only_tells(
                node.otherwise or (), depth
            )
        if isinstance(node, AndOr):
            return (isinstance(node.left, TestCommand) or self._tells(node.left, depth)) and self._tells(
                node.right, depth
            )
        return isinstance(node, (TestCommand, ArithmeticCommand))

    def ends_well(self, node: Simple) -> bool:
        """Whether an `exit` gives 0."""
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

    def _idle_branch(self, node: If) -> list[tuple[int, int]]:
        """The conditions of an `if` on a number after which nothing is done about a failure."""
        condition, body = node.branches[0]
        if not condition or not isinstance(condition[-1], (Simple, TestCommand, ArithmeticCommand)):
            return []
        rest: tuple[Statement, ...] | None = node.otherwise
        if len(node.branches) > 1:
            rest = tuple(each for _, further in node.branches[1:] for each in further) + (node.otherwise or ())
        start, end = condition[-1].start, condition[-1].end
        return [(start, end)] if self._is_idle(start, end, body, rest or ()) else []

    def _idle_list(self, node: AndOr) -> list[tuple[int, int]]:
        """The same of `[ … ] && …`."""
        left = node.left
        body: tuple[Statement, ...] = (node.right,)
        rest: tuple[Statement, ...] = ()
        if node.operator == "||":
            body, rest = (), body
            if isinstance(left, AndOr) and left.operator == "&&":
                body = (left.right,)
                left = left.left
        if not isinstance(left, (Simple, TestCommand, ArithmeticCommand)):
            return []
        return [(left.start, left.end)] if self._is_idle(left.start, left.end, body, rest) else []

    def _is_idle(self, start: int, end: int, body: Sequence[Statement], rest: Sequence[Statement]) -> bool:
        condition = self.string[start:end]
        succeeds = _SUCCESS.search(condition) is not None
        if not succeeds and _FAILURE.search(condition) is None or not self.only_tells(rest if succeeds else body):
            return False
        if not self.only_tells(body if succeeds else rest):
            self._choosing.append((start, end))
        return True


class _Ranges:
    """Ranges that are asked whether they hold a place; those inside of others do not count."""

    def __init__(self, ranges: list[tuple[int, int]]) -> None:
        outer: list[tuple[int, int]] = []
        for start, end in sorted(ranges, key=lambda each: (each[0], -each[1])):
            if not outer or start >= outer[-1][1]:
                outer.append((start, end))
        self._starts = [start for start, _ in outer]
        self._ends = [end for _, end in outer]

    def __contains__(self, at: int) -> bool:
        index = bisect_right(self._starts, at) - 1
        return index >= 0 and at < self._ends[index]


_NOWHERE = _Ranges([])


def assigned_status(uses: StatusUses, node: Assignment) -> bool:
    """Whether an assignment keeps just `$?` or one of PIPESTATUS, whatever the variable held before."""
    if node.append or node.index is not None or not isinstance(node.value, Word) or len(node.value.parts) != 1:
        return False
    part = node.value.parts[0]
    return isinstance(part, Parameter) and part.name in STATUS
