"""The job may idle until its time limit: a loop waits without limit for a file or a port.

If the server does not start, or the step that writes the file fails, the loop runs until the job's time limit: nodes
and GPUs idle, perhaps for days, and the error is far up in the log.

Reported are loops that only test, print and sleep, that end with a file or an answer from the network, and that neither
count, check the time, nor check a process or a job. What runs under `timeout` has a limit. A loop that keeps a session
open is meant: until a file that the script itself made is gone, or somebody makes one called `stop`. A loop that waits
for a file to go is reported where the script takes it for a lock, which it makes afterwards: a job that was killed
leaves it.

## Fix

None: only you know how long to wait. `for i in $(seq 60); do … && break; sleep 10; done`, or `timeout 600 bash -c
'until …; do sleep 5; done'`; and `kill -0 $pid || exit 1` in the loop ends it with the server.

## References

bash(1), "Compound Commands"; timeout(1).
"""

from collections.abc import Iterator

from sbatchlint.analysis.script.programs import programs
from sbatchlint.analysis.storage.written_paths import WRITING
from sbatchlint.bash.syntax.tree import (
    Arithmetic,
    ArithmeticCommand,
    Assignment,
    If,
    Parameter,
    Program,
    Simple,
    TestCommand,
    While,
    Word,
)
from sbatchlint.bash.syntax.walk import literal_text, nodes_of
from sbatchlint.bash.trace import Invocation, Shell
from sbatchlint.bash.values import UNKNOWN_CHARACTER, Text, shown_text
from sbatchlint.check import Bad, Card, Finding, Good, Job, Span
from sbatchlint.job.once import once
from sbatchlint.programs import has_trait, programs_with
from sbatchlint.slurm.grammar.times import minutes
from sbatchlint.source.regex import Regex
from sbatchlint.triggers import Commands

CARD = Card(
    "SB816", "unbounded-wait", severity="warning", fix="never", since="0.1.0", seen="public scripts",
    when=Commands("[", "[[", "test", "ls", "curl", "wget", "nc", "ncat"), batch=True,
)  # fmt: skip

_FILE_TESTS = frozenset({"-f", "-e", "-s", "-d", "-r", "-S", "-p", "-L"})
_READERS = frozenset({"cat", "grep", "egrep", "awk", "sed", "head", "tail"})
_FEW_MINUTES = 10
_ENDLESS = frozenset({"true", ":"})
_LIMIT = Regex(r"-(?:gt|ge|lt|le)\b|\bSECONDS\b|\$\(\(|\$\[|\btimeout\b|--retry")


# The variables of other batch systems that tell about a job.
_OTHER_SYSTEM = Regex(r"\$\{?(?:AWS_BATCH|AZ_BATCH|COBALT|LSB|OAR|PBS|SGE)_")
_IS_THERE = Regex(r"(?:\[\[?|test)[ \t]+-[defrs][ \t]")
_FILE = "the file that this loop waits for never appears"
_LOCK = "this loop waits forever for a lock that a killed job leaves behind; use flock, or give up after some tries"
# A file that somebody creates to end a session.
_STOP = Regex(
    r"(?i)(?:.*[._-])?(?:stop|quit|shutdown|terminate)(?:[._-](?:here|job|me|now|server|session))?(?:\.\w+)?"
    r"|(?:end|stop|quit|exit|close|kill)[._-](?!of)\w+(?:\.\w+)?"
)


def check(job: Job) -> Iterator[Finding]:
    for text, program in programs(job):
        for loop in nodes_of(program, While):
            never, span = _never(text, loop), text.span(loop.start, loop.end)
            if never is None or _is_for_another_system(text, program, loop):
                continue
            inside = [each for each in job.invocations if span in each.context.loops]
            if not any(map(_blocks, inside)):
                continue
            message = f"if {never}, the job stays idle until its time limit; give up after a fixed number of tries"
            # whether it goes on as long as a file is there
            if not loop.negated and loop.condition and _IS_THERE.match(text.string, loop.condition[0].start):
                message = _LOCK if _is_lock(job, inside) else ""
            elif _keeps_open(inside) or _is_made_before(job, inside):
                message = ""
            if message:
                yield Finding(_head(job, span), message, "info" if _ends_soon(job) else None)


def _ends_soon(job: Job) -> bool:
    """Whether the time limit of the job ends such a loop after a few minutes."""
    limit = minutes(job.request.value("time"))
    return limit is not None and 0 < limit <= _FEW_MINUTES


def _is_for_another_system(text: Text, program: Program, loop: While) -> bool:
    """Whether a test of another batch system's variable decides if a loop runs."""
    for branch in nodes_of(program, If):
        if branch.start <= loop.start < branch.end:
            conditions = [condition for condition, _ in branch.branches if condition]
            if any(_OTHER_SYSTEM.search(text.string, each[0].start, each[-1].end) for each in conditions):
                return True
    return False


def _keeps_open(inside: list[Invocation]) -> bool:
    """Whether a loop keeps a session open on purpose: until a file says stop."""
    paths = _tested(inside)
    paths += [shown_text(each.argv[3]) for each in inside if each.words[1:2] == ["!"] and len(each.argv) > 3]
    return any(_STOP.fullmatch(path.rpartition("/")[2]) for path in paths)


def _is_lock(job: Job, inside: list[Invocation]) -> bool:
    """Whether the script makes the file that a loop waits for to go only after the loop."""
    last = max(each.index for each in inside)
    made, later = set(_made(job.invocations[: inside[0].index])), set(_made(job.invocations[last + 1 :]))
    tested = {path for path in _tested(inside) if path.strip(UNKNOWN_CHARACTER)}
    return bool(tested & later) and not tested & made


def _is_made_before(job: Job, inside: list[Invocation]) -> bool:
    """Whether the shell of a loop has surely written the file that the loop waits for, before it begins."""
    first, made = inside[0], _surely_written(job)
    tests = [job.source.slice(each.span).split() for each in inside if each.name in ("[", "[[", "test")]
    return bool(tests) and all(
        any(made.get((word, first.context.shell), first.index) < first.index for word in words) for words in tests
    )


@once
def _surely_written(job: Job) -> dict[tuple[str, Shell], int]:
    """The files that commands surely write, as written there, in each shell: the index of the first such command."""
    found: dict[tuple[str, Shell], int] = {}
    for command in job.invocations:
        context = command.context
        if command.redirects and not (context.conditional or context.background or context.loops):
            for each in command.redirects:
                if each.operator in WRITING:
                    word = job.source.slice(each.span).lstrip("0123456789>|& \t")
                    found.setdefault((word, context.shell), command.index)
    return found


def _tested(inside: list[Invocation]) -> list[str]:
    """The files that tests of one operand look at."""
    return [shown_text(each.argv[2]) for each in inside if each.name in ("[", "[[", "test") and len(each.argv) > 2]


def _made(commands: list[Invocation]) -> Iterator[str]:
    """The files and folders that commands make."""
    for command in commands:
        written = [each.target for each in command.redirects if each.operator in WRITING and each.target]
        for target in (*written, *(command.argv[1:] if command.name in ("touch", "mkdir") else ())):
            yield shown_text(target)


def _head(job: Job, span: Span) -> Span:
    """The first line of a loop."""
    end = job.source.text.find("\n", span.start, span.end)
    return Span(span.start, span.end if end < 0 else span.start + len(job.source.text[span.start : end].rstrip()))


def _blocks(command: Invocation) -> bool:
    """Whether the script waits for the loop that contains a command, and no `timeout` ends it."""
    return command.context.background is None and not any(each.name == "timeout" for each in command.ancestors())


def _never(text: Text, loop: While) -> str | None:
    """When a loop waits without end, in words; None for one that does not wait, or gives up."""
    if bool(nodes_of(loop, ArithmeticCommand)) or bool(nodes_of(loop, Arithmetic)):
        return None
    if _LIMIT.search(text.string, loop.start, loop.end):
        return None
    names = {_name(each) for each in nodes_of(loop, Simple) if each.words}
    if not names <= programs_with("looks"):
        return None
    endless = not loop.negated and all(_name(each) in _ENDLESS for each in _simple(loop.condition))
    if not endless:
        return _polled(loop.condition, text) or _read_variable(loop)
    tests = [test for each in nodes_of(loop, If) for test, _ in each.branches] if "break" in names else []
    return next(filter(None, (_polled(test, text) for test in tests)), None)


def _polled(condition: tuple[object, ...], text: Text) -> str | None:
    """When a test outside the shell fails for ever, in words; None where it is neither of a file nor of the network."""
    for test in nodes_of(condition, TestCommand):
        if any(literal_text(word) in _FILE_TESTS for word in test.words):
            return _FILE
    for command in _simple(condition):
        name = _name(command)
        if has_trait(name, "connects") or "/dev/tcp/" in text.string[command.start : command.end]:
            return "no answer comes"
        words = [literal_text(each) for each in command.words if isinstance(each, Word)]
        if name == "ls" or name in ("[", "test") and not _FILE_TESTS.isdisjoint(words):
            return _FILE
    return None


def _read_variable(loop: While) -> str | None:
    """When `while [ -z "$X" ]` has no end, in words, where X is read from a file; None for other loops."""
    tested = {each.name for each in nodes_of(loop.condition, Parameter)}
    empty = any(literal_text(each) == "-z" for each in nodes_of(loop.condition, Word))
    for node in nodes_of(loop.body, Assignment):
        if empty and not loop.negated and node.name in tested:
            names = {_name(command) for command in _simple(node.value)}
            if not names.isdisjoint(_READERS):
                return "this line never appears in the file"
    return None


def _simple(tree: object) -> list[Simple]:
    return [each for each in nodes_of(tree, Simple) if each.words]


def _name(command: Simple) -> str | None:
    return literal_text(command.words[0])


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        vllm serve my/model --port 8000 &
        «until curl -sf http://localhost:8000/health; do»
            sleep 10
        done
        srun python generate.py
        """
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        srun -N1 -n1 ./coordinator --port-file port.txt &
        «while true; do»
            if [ -f port.txt ]; then
                break
            fi
        done
        srun ./worker --port $(cat port.txt)
        """
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        vllm serve my/model --port 8000 &
        server=$!
        until curl -sf http://localhost:8000/health; do
            kill -0 $server || exit 1
            sleep 10
        done
        srun python generate.py
        """
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        vllm serve my/model --port 8000 &
        timeout 600 bash -c 'until curl -sf http://localhost:8000/health; do sleep 5; done'
        srun python generate.py
        """
    ),
]
