"""Texts that were expanded too early: by the batch shell, before srun starts the tasks.

The question is one: was a text fixed in an earlier phase than that in which it varies, and what uses it then? A
`Question` says which expansions are meant (`varying` knows what each varies by), and which options and variables tell a
process who or where it is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from sbatchlint.analysis.expansion.varying import (
    OWN_OPTIONS,
    OWN_VARIABLES,
    of_job,
    of_place,
    of_task,
    right_everywhere,
)
from sbatchlint.bash.interpreter.programs import read_file
from sbatchlint.bash.syntax.parser import parse
from sbatchlint.bash.syntax.tree import (
    Arithmetic,
    ArithmeticCommand,
    ArithmeticFor,
    Case,
    CommandSubstitution,
    Node,
    Parameter,
)
from sbatchlint.bash.syntax.walk import nodes
from sbatchlint.bash.trace import Assigned, Invocation, exported
from sbatchlint.bash.values import (
    Expansion,
    Phase,
    Pieces,
    Text,
    cut,
    expansions,
    known_prefix,
    shown_text,
    span_of,
    text_of,
)
from sbatchlint.job.environment import TASK_VARIABLES
from sbatchlint.job.launchers import recognise
from sbatchlint.job.launches import container_of
from sbatchlint.job.steps import Step
from sbatchlint.source.regex import Regex
from sbatchlint.source.text import Span

# Options and variables that tell a process which one it is.
RANK_OPTIONS = frozenset(
    [
        "node-rank",
        "machine-rank",
        "rank",
        "local-rank",
        "process-id",
        "global-rank",
        "node-id",
        "task-id",
        "proc-id",
        "worker-id",
        "shard-id",
        "seed",
    ]
)
RANK_VARIABLES = frozenset(
    [
        "RANK",
        "NODE_RANK",
        "LOCAL_RANK",
        "GLOBAL_RANK",
        "GROUP_RANK",
        "MACHINE_RANK",
        "WORLD_RANK",
        "PROCESS_ID",
        "JAX_PROCESS_ID",
        "CUDA_VISIBLE_DEVICES",
        "ROCR_VISIBLE_DEVICES",
        "HIP_VISIBLE_DEVICES",
        "PET_NODE_RANK",
        "OMPI_COMM_WORLD_RANK",
        "OMPI_COMM_WORLD_LOCAL_RANK",
        "PMI_RANK",
        "SEED",
    ]
)
LABEL_OPTIONS = frozenset({"role", "tee", "run-name", "name", "log-prefix"})
PRINTING = frozenset({"echo", "printf", "logger", "date"})
TESTS = frozenset({"[", "[[", "test"})
# The key of a YAML or INI line, up to its value.
RANK_KEY = Regex(r"(?i:(?:node|machine|local|global|process)?[_-]?rank|process_id)[\"']?\s*[:=]\s*[\"']?\Z")
DYNAMIC = frozenset({"c10d", "etcd", "etcd-v2"})


ORDER = ("info", "warning", "error")
SEVERITY_OF = {
    "rank": "error", "test": "error", "file": "error", "text": "warning", "label": "info", "ignored": "info",
}  # fmt: skip


class Question(NamedTuple):
    """Which expansions are looked for, and where they decide what a process is."""

    meant: Callable[[Expansion], bool]
    options: frozenset[str]
    variables: frozenset[str]


RANKS = Question(of_task, RANK_OPTIONS, RANK_VARIABLES)
PLACES = Question(of_place, OWN_OPTIONS, OWN_VARIABLES)
CONSTANTS = Question(of_job, frozenset(), frozenset())


class EarlyUse(NamedTuple):
    """A use of a value that was fixed too early.

    `consumer`: `rank` (it tells the process who or where it is), `ignored` (a rank that the launcher does not look at),
    `test`, `file` (a file that every task writes), `label` (a name in a log), `text` (anything else). `command`: what
    uses it; `word`: the field. `shells`: the shells in the task, outermost first, in whose program it stands.
    """

    expansion: Expansion
    step: Step
    consumer: str
    command: Invocation
    word: Pieces
    shells: tuple[Invocation, ...]

    @property
    def severity(self) -> str:
        """How bad it is, by the consumer."""
        return SEVERITY_OF[self.consumer]

    @property
    def right_by_chance(self) -> bool:
        """Whether the batch shell's value is that of every task of the step."""
        step = self.step
        return right_everywhere(self.expansion, step.tasks, step.nodes, step.tasks_per_node)

    @property
    def certain(self) -> bool:
        """Whether the step is known to have several tasks."""
        return self.step.tasks is not None or bool(self.step.geometry.several) or bool(self.step.several_nodes)


def worst_by_place(uses: Iterable[EarlyUse], *, harmless: bool = False) -> list[EarlyUse]:
    """The uses that do harm: of each place where a variable is expanded the worst, the first of equals.

    `harmless`: those instead that are right by chance, in a step of one task on one node.
    """
    found: dict[Span, EarlyUse] = {}
    for use in uses:
        alone = use.step.tasks == 1 and use.step.nodes == 1
        if harmless != use.right_by_chance or not use.certain or harmless and not alone:
            continue
        old = found.get(use.expansion.span)
        if old is None or ORDER.index(use.severity) > ORDER.index(old.severity):
            found[use.expansion.span] = use
    return list(found.values())


def early_uses(step: Step, question: Question = RANKS) -> Iterator[EarlyUse]:
    """Uses of what is asked for, in the programs of a step, that the batch shell has already expanded."""

    def early(field: Pieces) -> list[Expansion]:
        return _early(field, question)

    for command in step.program:
        if command.text is not None:
            shells = (*_shells(command, step), command)
            for expansion, kind in _in_conditions(command.text, question):
                yield EarlyUse(expansion, step, kind, command, command.text.field, shells)
        if command.text is not None or command.children:
            continue
        shells = _shells(command, step)
        for number, field in enumerate(command.argv):
            for expansion in early(field):
                yield EarlyUse(expansion, step, _consumer(command, number, question), command, field, shells)
        for redirect in command.redirects:
            for expansion in early(redirect.target or ()):
                kind = "file" if ">" in redirect.operator else "text"
                yield EarlyUse(expansion, step, kind, command, redirect.target or (), shells)
        for name, field in command.variables:
            for expansion in early(field):
                kind = _variable_consumer(name, command, question)
                yield EarlyUse(expansion, step, kind, command, field, shells)
        for field in command.argv[1:]:
            for expansion, kind in _in_written_file(command, field, question):
                yield EarlyUse(expansion, step, kind, command, (), shells)
        for name in _own_exports(command, step, question):
            value = exported(command, name) or ()
            for expansion in early(value):
                kind = _variable_consumer(name, command, question)
                yield EarlyUse(expansion, step, kind, command, value, shells)


def early_exports(step: Step, question: Question = RANKS) -> Iterator[EarlyUse]:
    """Variables telling a process who it is that the batch shell has set, for every program of the step that gets
    them."""
    before = step.invocation.state.variables
    given = [(name, field) for name, field in step.invocation.variables if name in question.variables]
    for command in step.program:
        if command.text is not None or command.children or command.name in PRINTING or command.name in TESTS:
            continue
        for name, field in given:
            own = command is not step.invocation and any(name == variable for variable, _ in command.variables)
            value = () if own else exported(command, name) or ()
            for expansion in _early(field, question):
                if expansion not in expansions(value):
                    continue  # the task sets it anew
                yield EarlyUse(expansion, step, _variable_consumer(name, command, question), command, field, ())
        for name in question.variables:
            now, old = command.state.variables.get(name), before.get(name)
            if now is None or old is None or now.span != old.span or not now.exported:
                continue
            value = exported(command, name) or ()
            for expansion in _early(value, question):
                if now.span.start <= expansion.span.start < now.span.end:
                    yield EarlyUse(expansion, step, _variable_consumer(name, command, question), command, value, ())


def find_early(steps: list[Step], assigned: list[Assigned]) -> tuple[list[EarlyUse], list[EarlyUse]]:
    """What is made of variables of tasks too early, each by its worst use: in texts, and in variables of a rank."""
    in_text: list[EarlyUse] = []
    ranks = [use for step in steps for use in early_exports(step)]
    for step in steps:
        for use in early_uses(step):
            (ranks if in_rank_variable(use.expansion, assigned) else in_text).append(use)
    return worst_by_place(in_text), worst_by_place(ranks)


def in_rank_variable(expansion: Expansion, assigned: list[Assigned]) -> bool:
    """Whether the value was fixed by the batch shell's assignment to a rank variable."""
    return any(
        each.name in RANK_VARIABLES
        and each.context.phase is not Phase.TASK
        and each.span.start <= expansion.span.start < each.span.end
        for each in assigned
    )


def _in_conditions(program: Text, question: Question) -> Iterator[tuple[Expansion, str]]:
    """What is asked for where a task's shell computes or decides something itself: `((…))`, `$((…))`, `case … in`."""
    if not _early(program.field, question):
        return
    ranges: list[tuple[int, int, str]] = []
    for node in nodes(parse(program.string)):
        if isinstance(node, ArithmeticCommand):
            ranges.append((node.expression_start, node.expression_end, "test"))
        elif isinstance(node, Case):
            ranges.append((node.word.start, node.word.end, "test"))
        elif isinstance(node, ArithmeticFor):
            ranges.append((node.header_start, node.header_end, "text"))
        elif isinstance(node, Arithmetic):
            ranges.append((node.expression_start, node.expression_end, "text"))
    at = 0
    for piece in program.field:
        kind = next((kind for start, end, kind in ranges if start <= at < end), None)
        at += 1 if piece.text is None else len(piece.text)
        if kind is not None:
            yield from ((each, kind) for each in _early((piece,), question))


def _in_written_file(command: Invocation, field: Pieces, question: Question) -> list[tuple[Expansion, str]]:
    """What is asked for in a file that the batch script wrote and the command is given."""
    word = shown_text(field)
    at = word.find("=") + 1 if word.startswith("-") else 0
    text = read_file(command.state, cut(field, at, len(word))) if len(word) > at else None
    if text is None:
        return []
    found: list[tuple[Expansion, str]] = []
    size = 0
    for piece in text.field:
        if piece.expansion is not None and (early := _early((piece,), question)):
            key = RANK_KEY.search(text.string[max(size - 60, 0) : size])
            found.extend((each, "rank" if key else "text") for each in early)
        size += 1 if piece.text is None else len(piece.text)
    return found


def _early(field: Pieces, question: Question) -> list[Expansion]:
    return [each for each in expansions(field) if each.phase is not Phase.TASK and question.meant(each)]


def _shells(command: Invocation, step: Step) -> tuple[Invocation, ...]:
    found = []
    for each in command.ancestors():
        if each is step.invocation:
            break
        if each.text is not None:
            found.append(each)
    return tuple(reversed(found))


def _own_exports(command: Invocation, step: Step, question: Question) -> list[str]:
    """Variables of the question that the program in the task exports itself before this command."""
    before = step.invocation.state.variables
    found = []
    for name in question.variables:
        now, old = command.state.variables.get(name), before.get(name)
        own = now is not None and now.alternatives and (old is None or now.span != old.span)
        if own and not any(name == variable for variable, _ in command.variables):
            found.append(name)
    return found


def _option_of(command: Invocation, number: int) -> str | None:
    """The option whose value a word is: `--node_rank=X`, `--node_rank X`; in its spelling with dashes."""
    word = known_prefix(command.argv[number])
    if word.startswith("-") and "=" in word:
        return word.partition("=")[0].lstrip("-").replace("_", "-").lower()
    if not word.startswith("-") and number > 0:
        before = text_of(command.argv[number - 1]) or ""
        if before.startswith("--") and "=" not in before:
            return before.lstrip("-").replace("_", "-").lower()
    if "=" in word:
        # Hydra-style overrides: trainer.node_rank=X
        return word.partition("=")[0].rpartition(".")[2].replace("_", "-").lower()
    return None


def _consumer(command: Invocation, number: int, question: Question) -> str:
    name = command.name
    if name in TESTS:
        return "test"
    if name in PRINTING:
        return "label"
    if name == "tee":
        return "file"
    option = _option_of(command, number)
    if option in LABEL_OPTIONS:
        return "label"
    if option in question.options:
        launcher = recognise(command.argv, lambda variable: exported(command, variable))
        if launcher is not None and option in ("node-rank", "machine-rank"):
            rendezvous = launcher.rendezvous
            if rendezvous is not None and rendezvous.backend in DYNAMIC:
                return "ignored"
        return "rank"
    return "text"


def _variable_consumer(name: str, command: Invocation, question: Question) -> str:
    if name not in question.variables:
        return "text"
    if name not in RANK_VARIABLES:
        return "rank"
    launcher = recognise(command.argv)
    if launcher is not None and launcher.spawns and launcher.kind not in ("swift",) and not name.endswith("DEVICES"):
        return "rank" if name == "PET_NODE_RANK" else "ignored"
    return "rank"


# --- how it can be repaired ------------------------------------------------------------------------


def _is_plain(expansion: Expansion, text: str) -> bool:
    """Whether the place holds `$NAME` or `${NAME…}` itself, so that a backslash before it postpones it."""
    written = text[expansion.span.start : expansion.span.end]
    return written.startswith("$") and not written.startswith(("$(", "$[")) and expansion.name in written


def _postponed(expansion: Expansion, text: str) -> tuple[str, str] | None:
    """What the task's shell is to read, and how that is written in double quotes or a heredoc; None where moving the
    place of expansion could change more than the place."""
    written = text[expansion.span.start : expansion.span.end]
    if expansion.name == "HOSTNAME" and written in ("$HOSTNAME", "${HOSTNAME}"):
        written = "${SLURMD_NODENAME}" if "{" in written else "$SLURMD_NODENAME"  # HOSTNAME is the same everywhere
        return written, "\\" + written
    if _is_plain(expansion, text):
        return written, "\\" + written
    if written.startswith("`") and written.endswith("`"):
        written = f"$({written[1:-1]})"
    inside = written[2:-1]
    if not written.startswith("$(") or any(letter in inside for letter in '"\\`\n'):
        return None
    # what is quoted inside stays as it is; a variable of the batch shell may be unknown in the task
    expanded = (Parameter, CommandSubstitution, Arithmetic)
    if any(isinstance(node, expanded) for node in nodes(parse(inside).statements)):
        return None
    return written, "\\$(" + inside.replace("$", "\\$") + ")"


def _expands_again(use: EarlyUse, written: str) -> bool:
    """Whether `$NAME` or `$(…)`, were it still unexpanded, would be expanded just once more: by the one shell in the
    task."""
    if len(use.shells) != 1:
        return False
    program = use.shells[0].text
    assert program is not None
    at = 0
    for piece in program.field:
        size = 1 if piece.text is None else len(piece.text)
        if piece.expansion == use.expansion:
            string = program.string[:at] + written + program.string[at + size :]
            return any(_is_expansion(node, at, at + len(written)) for node in nodes(parse(string)))
        at += size
    return False


def _is_expansion(node: Node, start: int, end: int) -> bool:
    if isinstance(node, (Arithmetic, ArithmeticCommand)):
        return node.expression_start <= start and end <= node.expression_end
    if isinstance(node, ArithmeticFor):
        return node.header_start <= start and end <= node.header_end
    return isinstance(node, (Parameter, CommandSubstitution)) and (node.start, node.end) == (start, end)


def _is_spliced(expansion: Expansion, text: str) -> bool:
    """Whether it stands in `'…'"$NAME"'…'`, quotes within quotes."""
    at = expansion.span.start
    return text[at - 1 : at] == '"' and text[at - 2 : at - 1] == "'" or text[at - 1 : at] == "'"


def used_by_batch_shell(commands: Iterable[Invocation]) -> frozenset[Expansion]:
    """What commands of the batch shell itself use, other than to print it or hand it to a step."""
    found: set[Expansion] = set()
    for command in commands:
        if command.phase is not Phase.BATCH or command.name in PRINTING or command.name in ("srun", "cat", "tee"):
            continue
        for field in command.argv:
            found.update(expansions(field))
    return frozenset(found)


class Repair(NamedTuple):
    """How a use can be put right.

    `kind` `escape`: `text` in place of what stands from `start` to `end`, which the task's shell then expands. `wrap`:
    the command's words from `start` to `end` become the program of a shell in the task. `safe`: whether nothing else
    uses the text.
    """

    kind: str
    start: int
    end: int
    safe: bool
    text: str = ""


def repair(use: EarlyUse, text: str, used: frozenset[Expansion]) -> Repair | None:
    """What makes each task expand the text itself; None where the script does not decide that.

    `text`: of the file. `used`: what the batch shell itself uses (`used_by_batch_shell`).
    """
    postponed = _postponed(use.expansion, text)
    container = container_of(use.command)
    if postponed is None or container is not None and container.kind in ("docker", "podman"):
        return None  # such a container gets none of the job's variables
    if use.shells:
        if not _expands_again(use, postponed[0]):
            return None
        safe = not _is_spliced(use.expansion, text) and use.expansion not in used
        return Repair("escape", *use.expansion.span, safe, postponed[1])
    if not of_task(use.expansion):
        return None
    words = _words_before(use)
    if words is None or "'" in text[words[0] : words[1]]:
        return None
    if not words[0] <= use.expansion.span.start < words[1]:
        return None
    return Repair("wrap", *words, False)


def _words_before(use: EarlyUse) -> tuple[int, int] | None:
    """For a direct argument of srun: where the command's first word begins, and where the word of the use ends; None
    unless all between stands literally in one place, or is a variable that tasks have too."""
    command = use.command
    if command.kind != "srun":
        return None
    index = next((number for number, field in enumerate(command.argv) if field is use.word), None)
    if index is None:
        return None
    end = 0
    for field in command.argv[: index + 1]:
        span = span_of(field)
        if span.start < end or not shown_text(field):
            return None
        end = span.end
        for piece in field:
            if piece.expansion is None or piece.expansion.name in TASK_VARIABLES:
                continue
            known = piece.expansion.name.startswith("SLURM_")
            if not known and exported(command, piece.expansion.name) is None:
                return None
    return span_of(command.argv[0]).start, end
