"""Strings that were expanded too early: by the batch shell, before srun starts the tasks.

That is, a string was fixed in an earlier phase than the one in which it varies, and something uses it then. A
`Question` says which expansions are meant (`varying` knows how each varies), and which options and variables tell a
process its rank or its place.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from sbatchlint.analysis.expansion.labels import LABEL_OPTIONS
from sbatchlint.analysis.expansion.nobody_sets import outer_jobs
from sbatchlint.analysis.expansion.reads import TESTS, enclosing_assignment, read_names
from sbatchlint.analysis.expansion.varying import names_own_host, names_rank, of_task, same_in_all_tasks, variation
from sbatchlint.bash.interpreter.programs import read_file
from sbatchlint.bash.syntax.parser import parse
from sbatchlint.bash.syntax.tree import Arithmetic, ArithmeticCommand, ArithmeticFor, Case
from sbatchlint.bash.syntax.walk import nodes
from sbatchlint.bash.trace import Invocation, exported
from sbatchlint.bash.values import (
    UNKNOWN_CHARACTER,
    Expansion,
    Phase,
    Pieces,
    Text,
    cut,
    expansions,
    known_prefix,
    shown_text,
    text_of,
)
from sbatchlint.job import Job
from sbatchlint.job.containers import Container
from sbatchlint.job.environment import TASK_VARIABLES, ZERO_IN_BATCH
from sbatchlint.job.launchers import Launcher
from sbatchlint.job.launches import container_of
from sbatchlint.job.once import once
from sbatchlint.job.steps import Step
from sbatchlint.programs import programs_with
from sbatchlint.source.regex import Regex
from sbatchlint.source.text import Span

# Options and variables that tell a process its rank.
RANK_OPTIONS = frozenset(
    {"node-rank", "machine-rank", "rank", "local-rank", "process-id", "global-rank", "node-id", "task-id", "proc-id"}
    | {"worker-id", "shard-id", "seed"}
)
RANK_VARIABLES = frozenset(
    {"RANK", "NODE_RANK", "LOCAL_RANK", "GLOBAL_RANK", "GROUP_RANK", "MACHINE_RANK", "WORLD_RANK", "PROCESS_ID"}
    | {"JAX_PROCESS_ID", "CUDA_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "PET_NODE_RANK"}
    | {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_LOCAL_RANK", "PMI_RANK", "SEED"}
)
_PRINTING = programs_with("prints") | {"date"}
# The key of a YAML or INI line, up to its value.
_RANK_KEY = Regex(r"(?i:(?:node|machine|local|global|process)?[_-]?rank|process_id)[\"']?\s*[:=]\s*[\"']?\Z")
# Rendezvous backends that assign the ranks of the nodes themselves.
_DYNAMIC = frozenset({"c10d", "etcd", "etcd-v2"})

_ORDER = ("info", "warning", "error")
_SEVERITY_OF = {
    "rank": "error", "test": "error", "file": "error", "text": "warning", "label": "info", "ignored": "info",
    "meeting": "info",
}  # fmt: skip


class Question(NamedTuple):
    """Which expansions are searched for, and the options and variables by which they tell a process its rank or place.

    `may_have`: a quick test whether a job may have such an expansion.
    """

    meant: Callable[[Expansion], bool]
    options: frozenset[str]
    variables: frozenset[str]
    may_have: Callable[[Job], bool] = lambda _: True


def may_be_expanded_early(job: Job, names: frozenset[str]) -> bool:
    """Whether the batch shell may expand one of these variables, whose values are different in tasks."""
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

    `consumer`: `rank` (it tells the process its rank or place), `ignored` (a rank that the launcher does not read),
    `test`, `file` (a file that every task writes), `label` (a name in a log), `meeting` (the name of the first node,
    where that may be wanted), `text` (anything else). `command`: what uses it; `word`: the field. `shells`: the shells
    in the task, outermost first, whose program holds it. `variable`: the variable that passes it to the step, if any.
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
        """The severity, which depends on the consumer."""
        return _SEVERITY_OF[self.consumer]

    @property
    def is_harmful(self) -> bool:
        """Whether the step certainly has several tasks, and the batch shell's value is wrong in some of them."""
        step = self.step
        several = step.tasks is not None or bool(step.geometry.several) or bool(step.several_nodes)
        return several and not same_in_all_tasks(self.expansion, step.tasks, step.nodes, step.tasks_per_node)


def worst_by_place(uses: Iterable[EarlyUse]) -> list[EarlyUse]:
    """The worst use of each place where something is expanded; the first of equally bad ones."""
    found: dict[Span, EarlyUse] = {}
    for use in uses:
        old = found.get(use.expansion.span)
        if old is None or _ORDER.index(use.severity) > _ORDER.index(old.severity):
            found[use.expansion.span] = use
    return list(found.values())


@once
def early_uses(job: Job, question: Question) -> list[EarlyUse]:
    """The uses, in the programs of the steps, of what the batch shell expanded before their tasks started."""
    found = []
    for step in job.steps if _may_apply(job, question) else ():
        for command in step.program:
            for expansion, consumer, word in _uses_in(job, command, step, question):
                found.append(EarlyUse(expansion, step, consumer, command, word, _shells(command, step)))
    return found


@once
def early_exports(job: Job, question: Question) -> list[EarlyUse]:
    """Rank and place variables that the batch shell sets, for each program of a step that gets them."""
    if not _may_apply(job, question):
        return []
    names = identity_variables(job, question)
    return [use for step in job.steps for use in _exports_to(job, step, question, names)]


def _may_apply(job: Job, question: Question) -> bool:
    """Whether the script, or an outer one whose variables it has, may have such expansions."""
    return any(map(question.may_have, outer_jobs(job)))


def is_of_rank_variable(job: Job, expansion: Expansion) -> bool:
    """Whether the value was fixed by the batch shell's assignment to a rank variable."""
    return any(each.start <= expansion.span.start < each.end for each in _rank_assignments(job))


@once
def _rank_assignments(job: Job) -> set[Span]:
    """The places at which the batch shell assigns rank variables."""
    own = [each for each in job.assignments if each.name in RANK_VARIABLES or names_rank(each.name)]
    return {each.span for each in own if each.context.phase is not Phase.TASK}


def is_of_own_variable(job: Job, use: EarlyUse) -> bool:
    """Whether it is expanded in an assignment of one word (`TAG=$(hostname)-1`), not in a string that is a program."""
    assigned = enclosing_assignment(job, use.expansion.span)
    if assigned is None or assigned.context.phase is Phase.TASK:
        return False
    values = [each.fields for each in assigned.alternatives if each.fields]
    return not any(" " in shown_text(field) for fields in values for field in fields)


def place_of(job: Job, expansion: Expansion) -> Span:
    """The place where a variable is expanded: `$NAME`, or the bare name in arithmetic."""
    span, name = expansion.span, expansion.name
    if span.start < span.end:
        return span
    start = job.source.text.find(name, span.start, span.start + 1000)
    return span if start < 0 else Span(start, start + len(name))


def value_in_batch(name: str) -> str:
    """The batch shell's value of a task variable, in words for a message."""
    if name == "SLURMD_NODENAME":
        return "the first node's name"
    return "0" if name in ZERO_IN_BATCH else "its own value"


# --- uses of one command -----------------------------------------------------------------------------


def _uses_in(job: Job, command: Invocation, step: Step, question: Question) -> Iterator[tuple[Expansion, str, Pieces]]:
    """The early expansions in a command of a step, each with its consumer and its word."""
    if command.text is not None:
        for expansion, kind in _in_conditions(command.text, question):
            yield expansion, kind, command.text.field
        return
    if command.children:
        return
    launcher = job.launcher_of(command)
    words = [(number, found) for number, field in enumerate(command.argv) if (found := _early(field, question))]
    last = _last_of_options(command) if words else {}
    for number, found in words:
        field = command.argv[number]
        if _is_given_again(command, number, last):
            continue  # the last one counts
        for expansion in found:
            consumer = _consumer(command, number, launcher, question, gives_node_name(expansion))
            tells_rank = consumer == "text" and _follows_rank_key(field, expansion)
            yield expansion, "rank" if tells_rank else consumer, field
    for redirect in command.redirects:
        for expansion in _early(redirect.target or (), question):
            yield expansion, "file" if ">" in redirect.operator else "text", redirect.target or ()
    for name, field in command.variables:
        for expansion in _early(field, question):
            yield expansion, _variable_consumer(name, launcher, question, gives_node_name(expansion)), field
    for text in _written_files(job, command):
        for expansion, kind in _in_written_file(text, question):
            yield expansion, kind, ()
    for name in _own_exports(command, step, question):
        value = exported(command, name) or ()
        for expansion in _early(value, question):
            yield expansion, _variable_consumer(name, launcher, question, gives_node_name(expansion)), value


# What pyxis sets for each task, whatever the job has in it, where the image has PYTORCH_VERSION, as NVIDIA's have
# (`pytorch_setup()` in pyxis_slurmstepd.c).
_SET_BY_PYXIS = frozenset({"RANK", "LOCAL_RANK"})


def _may_number_tasks(container: Container) -> bool:
    """Whether pyxis may set the ranks of the tasks: in an image of NVIDIA, or in a file, which may be made of one."""
    image = None if container.image is None else text_of(container.image)
    is_file = image is None or image.startswith(("/", ".", "~")) or image.endswith(".sqsh")
    return container.kind == "pyxis" and (is_file or image is not None and "nvidia" in image)


def _exports_to(job: Job, step: Step, question: Question, names: frozenset[str]) -> Iterator[EarlyUse]:
    before = step.invocation.state.variables
    set_for_srun = [(name, field) for name, field in step.invocation.variables if name in names]
    inherited = before.among(names)
    for command in step.program:
        if command.text is not None or command.children or command.name in _PRINTING or command.name in TESTS:
            continue
        launcher = job.launcher_of(command)
        container = container_of(command)
        unsure = _SET_BY_PYXIS if container is not None and _may_number_tasks(container) else frozenset()
        for name, field in set_for_srun:
            if name in unsure:
                continue
            own = command is not step.invocation and any(name == variable for variable, _ in command.variables)
            value = () if own else exported(command, name) or ()
            for expansion in _early(field, question):
                if expansion not in expansions(value):
                    continue  # the task sets it again
                consumer = _variable_consumer(name, launcher, question, gives_node_name(expansion))
                yield EarlyUse(expansion, step, consumer, command, field, (), name)
        for name, old in inherited:
            if name in unsure:
                continue
            now = command.state.variables.get(name)
            if now is None or not now.exported or now.span != old.span:
                continue
            value = exported(command, name) or ()
            for expansion in _early(value, question):
                consumer = _variable_consumer(name, launcher, question, gives_node_name(expansion))
                yield EarlyUse(expansion, step, consumer, command, value, (), name)


def _in_conditions(program: Text, question: Question) -> Iterator[tuple[Expansion, str]]:
    """Early expansions in what a task's shell computes or tests itself: `((…))`, `$((…))`, `case … in`."""
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
def _written_files(job: Job, command: Invocation) -> list[Text]:
    """The files among a command's words that the batch script wrote."""
    found = []
    # the ends of their names, after the last unknown part
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
    """Early expansions in a file that the batch script wrote, each with its consumer."""
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
    """Whether an expansion gives the name or an address of the node on which it happens."""
    found = variation(expansion)
    return found is not None and found.name


def identity_variables(job: Job, question: Question) -> frozenset[str]:
    """The variables that tell a process its rank or place: known ones, and the script's own with such a name.

    A variable that the batch shell reads itself may be meant for it alone, unless it is a known one.
    """
    named = names_rank if question.meant is of_task else names_own_host
    own = {each.name for each in job.assignments if each.context.phase is Phase.BATCH and named(each.name)}
    if not own:
        return question.variables
    return question.variables | (own - {each.name for each in job.trace.reads if each.context.phase is Phase.BATCH})


def _shells(command: Invocation, step: Step) -> tuple[Invocation, ...]:
    """The shells in the task that parse a program with this command, outermost first, and itself if it is one."""
    found = []
    for ancestor in (command, *command.ancestors()):
        if ancestor is step.invocation:
            break
        if ancestor.text is not None:
            found.append(ancestor)
    return tuple(reversed(found))


def _own_exports(command: Invocation, step: Step, question: Question) -> list[str]:
    """The question's variables that the program in the task exports itself before this command."""
    before = step.invocation.state.variables
    found = []
    for name, now in command.state.variables.among(question.variables):
        if not now.alternatives:
            continue
        old = before.get(name)
        if (old is None or now.span != old.span) and not any(name == variable for variable, _ in command.variables):
            found.append(name)
    return found


def _follows_rank_key(field: Pieces, expansion: Expansion) -> bool:
    """Whether a word of several (`docker run -e NODE_RANK=$SLURM_PROCID image`) has it as the value of a rank."""
    before = ""
    for piece in field:
        if piece.expansion is expansion:
            return " " in before and _RANK_KEY.search(before) is not None
        before += piece.text or UNKNOWN_CHARACTER
    return False


def _option_of(command: Invocation, number: int) -> str | None:
    """The option whose value a word is (`--node_rank=X`, `--node_rank X`), with dashes; None for other words."""
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


def _is_given_again(command: Invocation, number: int, last: Mapping[str, int]) -> bool:
    """Whether a word is or has the value of a long option that the command has once more further on.

    `last`: the last word of each option, see `_last_of_options`.
    """
    word, before = known_prefix(command.argv[number]), known_prefix(command.argv[number - 1]) if number else ""
    option = word if word[:2] == "--" else before
    if option[:2] != "--" or len(option) < 3 or word[:2] == "--" and "=" not in word:
        return False
    return last.get(option.partition("=")[0], 0) > number


def _last_of_options(command: Invocation) -> dict[str, int]:
    """For the beginning of each word up to `=`, the number of the last word that begins so."""
    return {known_prefix(field).partition("=")[0]: number for number, field in enumerate(command.argv)}


def is_label(command: Invocation, number: int) -> bool:
    """Whether a word of a command is the value of an option that only names the run."""
    return _option_of(command, number) in LABEL_OPTIONS


def _consumer(
    command: Invocation, number: int, launcher: Launcher | None, question: Question, of_place: bool
) -> str:  # fmt: skip
    """The consumer of a word of a command. `of_place`: whether the word holds the name or an address of a node."""
    if command.name in TESTS:
        return "test"
    if command.name in _PRINTING:
        return "label"
    if command.name == "tee":
        return "file"
    option = _option_of(command, number)
    if is_label(command, number):
        return "label"
    if option not in question.options:
        if option is None or not (names_own_host if of_place else names_rank)(option):
            return "meeting" if of_place else "text"
    rendezvous = None if launcher is None else launcher.rendezvous
    if option in ("node-rank", "machine-rank") and rendezvous is not None and rendezvous.backend in _DYNAMIC:
        return "ignored"
    return "rank"


def _variable_consumer(name: str, launcher: Launcher | None, question: Question, of_place: bool) -> str:
    """The consumer of a variable in the environment of a command."""
    if of_place and name not in question.variables:
        return "rank" if names_own_host(name) else "meeting"
    if name not in question.variables:
        return "text"
    if name not in RANK_VARIABLES:
        return "rank"
    if launcher is not None and launcher.spawns and not launcher.is_a("by-variables") and not name.endswith("DEVICES"):
        return "rank" if name == "PET_NODE_RANK" else "ignored"
    return "rank"
