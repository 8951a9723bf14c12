"""Texts that were expanded too early: by the batch shell, before srun starts the tasks.

The question is one: was a text fixed in an earlier phase than that in which it varies, and what uses it then? A
`Question` says which expansions are meant (`varying` knows what each varies by), and which options and variables tell a
process who or where it is.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from sbatchlint.analysis.expansion.nobody_sets import outer_jobs
from sbatchlint.analysis.expansion.reads import TESTS, enclosing_assignment, read_names
from sbatchlint.analysis.expansion.varying import names_own_host, names_rank, of_task, same_in_all_tasks, variation
from sbatchlint.bash.interpreter.programs import read_file
from sbatchlint.bash.syntax.parser import parse
from sbatchlint.bash.syntax.tree import Arithmetic, ArithmeticCommand, ArithmeticFor, Case
from sbatchlint.bash.syntax.walk import nodes
from sbatchlint.bash.trace import Invocation, exported
from sbatchlint.bash.values import Expansion, Phase, Pieces, Text, cut, expansions, known_prefix, shown_text, text_of
from sbatchlint.job import Job
from sbatchlint.job.environment import TASK_VARIABLES, ZERO_IN_BATCH
from sbatchlint.job.launchers import Launcher
from sbatchlint.job.once import once
from sbatchlint.job.steps import Step
from sbatchlint.programs import programs_with
from sbatchlint.source.regex import Regex
from sbatchlint.source.text import Span

# Options and variables that tell a process which one it is.
RANK_OPTIONS = frozenset(
    {"node-rank", "machine-rank", "rank", "local-rank", "process-id", "global-rank", "node-id", "task-id", "proc-id"}
    | {"worker-id", "shard-id", "seed"}
)
RANK_VARIABLES = frozenset(
    {"RANK", "NODE_RANK", "LOCAL_RANK", "GLOBAL_RANK", "GROUP_RANK", "MACHINE_RANK", "WORLD_RANK", "PROCESS_ID"}
    | {"JAX_PROCESS_ID", "CUDA_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "PET_NODE_RANK"}
    | {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_LOCAL_RANK", "PMI_RANK", "SEED"}
)
_LABEL_OPTIONS = frozenset({"role", "tee", "run-name", "name", "log-prefix"})
_TELLING = programs_with("prints") | {"date"}
# The key of a YAML or INI line, up to its value.
_RANK_KEY = Regex(r"(?i:(?:node|machine|local|global|process)?[_-]?rank|process_id)[\"']?\s*[:=]\s*[\"']?\Z")
# Rendezvous that give the nodes their ranks themselves.
_DYNAMIC = frozenset({"c10d", "etcd", "etcd-v2"})

_ORDER = ("info", "warning", "error")
_SEVERITY_OF = {
    "rank": "error", "test": "error", "file": "error", "text": "warning", "label": "info", "ignored": "info",
    "meeting": "info",
}  # fmt: skip


class Question(NamedTuple):
    """Which expansions are looked for, and the options and variables by which they decide what a process is.

    `may_have`: whether any such expansion may happen in a job, which is soon seen.
    """

    meant: Callable[[Expansion], bool]
    options: frozenset[str]
    variables: frozenset[str]
    may_have: Callable[[Job], bool] = lambda _: True


def may_be_expanded_early(job: Job, names: frozenset[str]) -> bool:
    """Whether the batch shell may expand one of these variables, which tasks find set otherwise."""
    if names.isdisjoint(read_names(job)):
        return False
    reads = [each for each in job.trace.reads if each.name in names]
    return any(each.context.phase is Phase.BATCH or each.variable is not None for each in reads)


@once
def _reads_of_tasks(job: Job) -> bool:
    return may_be_expanded_early(job, TASK_VARIABLES)


RANKS = Question(of_task, RANK_OPTIONS, RANK_VARIABLES, _reads_of_tasks)


class EarlyUse(NamedTuple):
    """A use of a value that was fixed too early.

    `consumer`: `rank` (it tells the process who or where it is), `ignored` (a rank that the launcher does not look at),
    `test`, `file` (a file that every task writes), `label` (a name in a log), `meeting` (the name of the first node,
    where that may be wanted), `text` (anything else). `command`: what uses it; `word`: the field. `shells`: the shells
    in the task, outermost first, in whose program it stands. `variable`: the one that hands it to the step.
    """

    expansion: Expansion
    step: Step
    consumer: str
    command: Invocation
    word: Pieces
    shells: tuple[Invocation, ...]
    variable: str | None = None

    @property
    def severity(self) -> str:
        """How bad it is, by the consumer."""
        return _SEVERITY_OF[self.consumer]

    @property
    def is_harmful(self) -> bool:
        """Whether the step is known to have several tasks, and the batch shell's value is not that of all of them."""
        step = self.step
        several = step.tasks is not None or bool(step.geometry.several) or bool(step.several_nodes)
        return several and not same_in_all_tasks(self.expansion, step.tasks, step.nodes, step.tasks_per_node)


def worst_by_place(uses: Iterable[EarlyUse]) -> list[EarlyUse]:
    """The worst use of each place at which something is expanded; of equals the first."""
    found: dict[Span, EarlyUse] = {}
    for use in uses:
        old = found.get(use.expansion.span)
        if old is None or _ORDER.index(use.severity) > _ORDER.index(old.severity):
            found[use.expansion.span] = use
    return list(found.values())


@once
def early_uses(job: Job, question: Question) -> list[EarlyUse]:
    """Uses, by the programs of the steps, of what the batch shell expanded before their tasks started."""
    found = []
    for step in job.steps if _may_be_asked(job, question) else ():
        for command in step.program:
            for expansion, consumer, word in _uses_in(job, command, step, question):
                found.append(EarlyUse(expansion, step, consumer, command, word, _shells(command, step)))
    return found


@once
def early_exports(job: Job, question: Question) -> list[EarlyUse]:
    """Variables telling a process who it is that the batch shell has set, by each program of a step that gets them."""
    if not _may_be_asked(job, question):
        return []
    names = identity_variables(job, question)
    return [use for step in job.steps for use in _exports_to(job, step, question, names)]


def _may_be_asked(job: Job, question: Question) -> bool:
    """Whether there may be such expansions: of the script, or of one around it, whose variables it has."""
    return any(map(question.may_have, outer_jobs(job)))


def is_of_rank_variable(job: Job, expansion: Expansion) -> bool:
    """Whether the value was fixed by the batch shell's assignment to a rank variable."""
    return any(each.start <= expansion.span.start < each.end for each in _of_ranks(job))


@once
def _of_ranks(job: Job) -> set[Span]:
    """The assignments to rank variables that the batch shell makes."""
    own = [each for each in job.assignments if each.name in RANK_VARIABLES or names_rank(each.name)]
    return {each.span for each in own if each.context.phase is not Phase.TASK}


def is_of_own_variable(job: Job, use: EarlyUse) -> bool:
    """Whether it stands in a variable of its own (`TAG=$(hostname)-1`), and not in a text that is a program."""
    assigned = enclosing_assignment(job, use.expansion.span)
    if assigned is None or assigned.context.phase is Phase.TASK:
        return False
    values = [each.fields for each in assigned.alternatives if each.fields]
    return not any(" " in shown_text(field) for fields in values for field in fields)


def place_of(job: Job, expansion: Expansion) -> Span:
    """Where a variable is expanded: `$NAME`, or the bare name in arithmetic."""
    span, name = expansion.span, expansion.name
    if span.start < span.end:
        return span
    start = job.source.text.find(name, span.start, span.start + 1000)
    return span if start < 0 else Span(start, start + len(name))


def value_in_batch(name: str) -> str:
    """What the batch shell expands a variable of tasks to, in words."""
    if name == "SLURMD_NODENAME":
        return "the first node's name"
    return "0" if name in ZERO_IN_BATCH else "its own value"


# --- uses of one command -----------------------------------------------------------------------------


def _uses_in(job: Job, command: Invocation, step: Step, question: Question) -> Iterator[tuple[Expansion, str, Pieces]]:
    """What is asked for in a command of a step: the expansion, what consumes it, and the word."""
    if command.text is not None:
        for expansion, kind in _in_conditions(command.text, question):
            yield expansion, kind, command.text.field
        return
    if command.children:
        return
    launcher = job.launcher_of(command)
    for number, field in enumerate(command.argv):
        for expansion in _early(field, question):
            yield expansion, _consumer(command, number, launcher, question, gives_node_name(expansion)), field
    for redirect in command.redirects:
        for expansion in _early(redirect.target or (), question):
            yield expansion, "file" if ">" in redirect.operator else "text", redirect.target or ()
    for name, field in command.variables:
        for expansion in _early(field, question):
            yield expansion, _variable_consumer(name, launcher, question, gives_node_name(expansion)), field
    for text in _files_given(job, command):
        for expansion, kind in _in_written_file(text, question):
            yield expansion, kind, ()
    for name in _own_exports(command, step, question):
        value = exported(command, name) or ()
        for expansion in _early(value, question):
            yield expansion, _variable_consumer(name, launcher, question, gives_node_name(expansion)), value


def _exports_to(job: Job, step: Step, question: Question, names: frozenset[str]) -> Iterator[EarlyUse]:
    before = step.invocation.state.variables
    given = [(name, field) for name, field in step.invocation.variables if name in names]
    held = before.among(names)
    for command in step.program:
        if command.text is not None or command.children or command.name in _TELLING or command.name in TESTS:
            continue
        launcher = job.launcher_of(command)
        for name, field in given:
            own = command is not step.invocation and any(name == variable for variable, _ in command.variables)
            value = () if own else exported(command, name) or ()
            for expansion in _early(field, question):
                if expansion not in expansions(value):
                    continue  # the task sets it anew
                consumer = _variable_consumer(name, launcher, question, gives_node_name(expansion))
                yield EarlyUse(expansion, step, consumer, command, field, (), name)
        for name, old in held:
            now = command.state.variables.get(name)
            if now is None or not now.exported or now.span != old.span:
                continue
            value = exported(command, name) or ()
            for expansion in _early(value, question):
                consumer = _variable_consumer(name, launcher, question, gives_node_name(expansion))
                yield EarlyUse(expansion, step, consumer, command, value, (), name)


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


@once
def _files_given(job: Job, command: Invocation) -> list[Text]:
    """The files that the batch script wrote and a command is given."""
    found = []
    # how their names end, behind the last unknown part
    ends = tuple([name.rpartition("\0")[2] for name in command.state.files])
    for field, word in zip(command.argv[1:], command.words[1:]):
        if not word.endswith(ends):
            continue
        at = word.find("=") + 1 if word[:1] == "-" else 0
        text = read_file(command.state, cut(field, at, len(word)) if at else field) if len(word) > at else None
        if text is not None:
            found.append(text)
    return found


def _in_written_file(text: Text, question: Question) -> list[tuple[Expansion, str]]:
    """What is asked for in a file that the batch script wrote and the command is given."""
    found: list[tuple[Expansion, str]] = []
    size = 0
    for piece in text.field:
        if piece.expansion is not None and (early := _early((piece,), question)):
            key = _RANK_KEY.search(text.string[max(size - 60, 0) : size])
            found.extend((each, "rank" if key else "text") for each in early)
        size += 1 if piece.text is None else len(piece.text)
    return found


def _early(field: Pieces, question: Question) -> Sequence[Expansion]:
    return [each for each in expansions(field) if each.phase is Phase.BATCH and question.meant(each)]


def gives_node_name(expansion: Expansion) -> bool:
    """Whether it gives the name or an address of the node on which it is expanded."""
    found = variation(expansion)
    return found is not None and found.name


def identity_variables(job: Job, question: Question) -> frozenset[str]:
    """The variables that tell a process who or where it is: known ones, and those of the script that are called so.

    What the batch shell reads itself may be meant for it alone, if its name is not known to mean more.
    """
    named = names_rank if question.meant is of_task else names_own_host
    own = {each.name for each in job.assignments if each.context.phase is Phase.BATCH and named(each.name)}
    if not own:
        return question.variables
    return question.variables | (own - {each.name for each in job.trace.reads if each.context.phase is Phase.BATCH})


def _shells(command: Invocation, step: Step) -> tuple[Invocation, ...]:
    """The shells in the task that read a program in which the command stands, and itself where it is one."""
    found = []
    for ancestor in (command, *command.ancestors()):
        if ancestor is step.invocation:
            break
        if ancestor.text is not None:
            found.append(ancestor)
    return tuple(reversed(found))


def _own_exports(command: Invocation, step: Step, question: Question) -> list[str]:
    """Variables of the question that the program in the task exports itself before this command."""
    before = step.invocation.state.variables
    found = []
    for name, now in command.state.variables.among(question.variables):
        if not now.alternatives:
            continue
        old = before.get(name)
        if (old is None or now.span != old.span) and not any(name == variable for variable, _ in command.variables):
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


def _consumer(
    command: Invocation, number: int, launcher: Launcher | None, question: Question, of_place: bool
) -> str:  # fmt: skip
    """What uses a word of a command. `of_place`: the word holds the name or an address of a node."""
    if command.name in TESTS:
        return "test"
    if command.name in _TELLING:
        return "label"
    if command.name == "tee":
        return "file"
    option = _option_of(command, number)
    if option in _LABEL_OPTIONS:
        return "label"
    if option is None or option not in question.options:
        told = option is not None and (names_own_host if of_place else names_rank)(option)
        if not told:
            return "meeting" if of_place else "text"
    rendezvous = None if launcher is None else launcher.rendezvous
    if option in ("node-rank", "machine-rank") and rendezvous is not None and rendezvous.backend in _DYNAMIC:
        return "ignored"
    return "rank"


def _variable_consumer(name: str, launcher: Launcher | None, question: Question, of_place: bool) -> str:
    """What uses a variable in the environment of a command."""
    if of_place and name not in question.variables:
        return "rank" if names_own_host(name) else "meeting"
    if name not in question.variables:
        return "text"
    if name not in RANK_VARIABLES:
        return "rank"
    if launcher is not None and launcher.spawns and launcher.kind not in ("swift",) and not name.endswith("DEVICES"):
        return "rank" if name == "PET_NODE_RANK" else "ignored"
    return "rank"
