"""Where the script reads a variable, what for, and whether it is prepared to find it unset."""

from __future__ import annotations

from bisect import bisect_right
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from sbatchlint.bash.trace import Assigned, Invocation, Read
from sbatchlint.bash.values import expansions, text_of
from sbatchlint.source.text import Span

if TYPE_CHECKING:
    from sbatchlint.job import Job

PRINTING = frozenset({"echo", "printf", "logger"})
TESTS = frozenset({"[", "[[", "test"})
DEFAULTS = frozenset({":-", "-", ":=", "=", ":?", "?", ":+", "+"})
# How many commands after a read may have been recorded before the one that it belongs to.
_AHEAD = 12
# How many assignments may begin behind the one that a place belongs to, in substitutions of its value.
_NESTED = 4
# Files that set up a shell, and define nothing that a job script would use under a name of its own.
_SETUPS = frozenset(
    {"activate", "conda.sh", "mamba.sh", "micromamba.sh", ".bashrc", "bashrc", ".bash_profile", ".profile", "profile"}
    | {"modules.sh", "lmod.sh", "modules", "bash", "sh", "setvars.sh", "bash_completion", "z00_lmod.sh"}
)


class Use(NamedTuple):
    """A read and what it is for.

    `kind`: `print`, `test` (a comparison), `guard` (it asks whether the variable is set), `arithmetic`, `argument` (of
    `command`), `assignment` (of `target`), or `other`.
    """

    read: Read
    kind: str
    command: Invocation | None = None
    target: str | None = None


class Uses:
    """The reads of a job's variables."""

    def __init__(self, job: Job) -> None:
        self.job = job

    @cached_property
    def guarded(self) -> frozenset[str]:
        """Names that the script tests for being set somewhere, or gives a default."""
        found = {read.name for read in self.job.trace.reads if read.operator in DEFAULTS}
        for command in self.job.invocations:
            words = [text_of(field) for field in command.argv]
            if command.name in TESTS:
                names = {word for word in words if word}
                if "-v" in names:
                    found.update(names)
                if names & {"-z", "-n"} or "" in words or len([word for word in words if word != "]"]) < 3:
                    found.update(each.name for field in command.argv for each in expansions(field))
            elif command.name in ("printenv", "declare", "export", "unset"):
                found.update(word for word in words if word)
        for read in self.job.trace.reads:
            test = self.command_of(read)
            if test is not None and test.name in TESTS and self._asks_whether_set(test):
                found.add(read.name)
        return frozenset(found)

    @staticmethod
    def _asks_whether_set(command: Invocation) -> bool:
        words = [text_of(field) for field in command.argv]
        return not {"-z", "-n", ""}.isdisjoint(words) or len([word for word in words if word != "]"]) < 3

    @cached_property
    def assigned(self) -> frozenset[str]:
        """Names that the script sets anywhere, in whatever way."""
        found = {each.name for each in self.job.assigned}
        for command in self.job.invocations:
            if command.name in ("read", "mapfile", "readarray", "getopts", "printf", "export", "declare", "unset"):
                found.update(word for field in command.argv[1:] if (word := text_of(field)))
        return frozenset(found)

    @cached_property
    def unclear_sources(self) -> bool:
        """Whether a file that is not known, and is no usual set-up of a shell, runs in one of the script's shells."""
        return bool(self.sources)

    @cached_property
    def sources(self) -> list[Invocation]:
        """The commands that run such text."""
        followed = {id(each.context.parent) for each in self.job.assigned}
        return [each for each in self.job.invocations if is_unclear_source(each) and id(each) not in followed]

    def command_of(self, read: Read) -> Invocation | None:
        """The command among whose words the variable is read."""
        commands = self.job.invocations
        for command in commands[read.order : read.order + _AHEAD]:
            inside = command.span.start <= read.span.start and read.span.end <= command.span.end
            if inside and command.context.parent is read.context.parent:
                return command
        return None

    def use(self, read: Read) -> Use:
        """What a read is for."""
        if read.operator == "arithmetic":
            return Use(read, "arithmetic", None, self.target_of(read.span))
        command = self.command_of(read)
        if command is not None:
            if command.name in TESTS:
                return Use(read, "guard" if self._asks_whether_set(command) else "test", command)
            if command.name in PRINTING and not command.context.captured:
                return Use(read, "print", command)
            return Use(read, "argument", command)
        assigned = self.assignment_around(read.span)
        if assigned is not None:
            before = self.job.source.text[assigned.span.start : read.span.start]
            inside = before.rfind("$((") > before.rfind("))")
            return Use(read, "arithmetic" if inside else "assignment", None, assigned.name)
        return Use(read, "other")

    def target_of(self, span: Span) -> str | None:
        """The variable to which the text of a place is assigned."""
        found = self.assignment_around(span)
        return None if found is None else found.name

    def assignment_around(self, span: Span) -> Assigned | None:
        """The assignment in which a place stands, the innermost of several."""
        starts, assigned = self._by_start
        end = bisect_right(starts, span.start)
        for each in reversed(assigned[max(end - _NESTED, 0) : end]):
            if span.end <= each.span.end:
                return each
        return None

    @cached_property
    def _by_start(self) -> tuple[list[int], list[Assigned]]:
        assigned = sorted(self.job.assigned, key=lambda each: each.span)
        return [each.span.start for each in assigned], assigned


def is_unclear_source(command: Invocation) -> bool:
    """Whether a command runs text in its own shell that cannot be read here, and may set variables of any name."""
    if command.name not in ("source", ".", "eval") or command.children or len(command.argv) < 2:
        return False
    if command.name == "eval":
        return not _hook(command)
    base = (text_of(command.argv[1][-1:]) or "").rpartition("/")[2]
    return base not in _SETUPS and not base.startswith(("activate", "conda"))


def _hook(command: Invocation) -> bool:
    """`eval "$(conda shell.bash hook)"` and its kin."""
    names = [each.name for field in command.argv[1:] for each in expansions(field)]
    return any(" hook" in name or "shellenv" in name or "ssh-agent" in name or "modulecmd" in name for name in names)
