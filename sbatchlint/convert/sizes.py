"""What a program is told of the number of nodes and the size of batches, which have to follow a conversion.

Lightning under torchrun refuses a `num_nodes` that does not fit the number of processes
(lightning/fabric/plugins/environments/torchelastic.py, 2.5).
"""

from collections.abc import Container, Iterator

from sbatchlint.analysis.launch.rank_signs import LIGHTNING_DEVICES
from sbatchlint.bash.trace import Invocation, exported, values_of
from sbatchlint.bash.values import Pieces, span_of, text_of
from sbatchlint.convert.in_files import SAMPLES, STEPS, batch_in_file, stale_in_files
from sbatchlint.convert.words import LOOPBACK
from sbatchlint.job import Job, Launch
from sbatchlint.job.argv import Argv, integer, program_options
from sbatchlint.job.gpus import DEVICE_VARIABLES
from sbatchlint.job.steps import Step
from sbatchlint.source.edits import Edit
from sbatchlint.source.numbers import is_number, parse_integer
from sbatchlint.source.regex import Regex

_NODES = "$SLURM_JOB_NUM_NODES"
# `--num_nodes 1`, `trainer.num_nodes=1`, `++trainer.num_nodes=1`, `--trainer.num-nodes=1`, `--num_machines 1`.
_OF_NODES = Regex(r"(?i)(?:--?|\+{1,2})?(?:[\w.]*[._])?(?:num[_-]nodes|nnodes|n_nodes|num[_-]machines)")
_OF_SIZE = Regex(r"(?i)(?:--?|\+{1,2})?(?:\w+\.)*(?:dist(?:ributed)?[_-])?world[_-]?size")
_VARIABLES = ("NNODES", "NUM_NODES", "N_NODES", "NUM_MACHINES")
# The network interface that NCCL, gloo, tensorpipe and UCX use.
_INTERFACES = ("NCCL_SOCKET_IFNAME", "GLOO_SOCKET_IFNAME", "TP_SOCKET_IFNAME", "HOROVOD_GLOO_IFACE", "UCX_NET_DEVICES")
_NUMBERS = Regex(r"\d+(?:,\d+)*")
# The variables of a rendezvous on one node, and what an edit has that gives the value of each node in their place.
_OF_MEETING = {
    "MASTER_ADDR": ("export MASTER_ADDR=",),
    "MASTER_PORT": ("export MASTER_PORT=",),
    "NODE_RANK": ("export NODE_RANK=", "node_rank=", "node-rank=", "machine_rank="),
}


def says_nodes(word: str) -> bool:
    """Whether a word of a program is an option for the number of nodes, with or without its value."""
    return _OF_NODES.fullmatch(word.partition("=")[0]) is not None


def nodes_of(job: Job) -> frozenset[int]:
    """The numbers of nodes that a job has, or tells its launchers: another one is none, as of a graph."""
    available = job.request.effective_nodes()
    found = {1} if available is None else {1, available.minimum, available.maximum}
    for launch in job.launches:
        told = launch.launcher.nnodes
        numbers = told if isinstance(told, tuple) else (told,)
        found |= {each for each in numbers if isinstance(each, int)}
    return frozenset(found)


def follow_nodes(job: Job, launch: Launch, nodes: int, were: Container[int]) -> Iterator[Edit]:
    """The edits by which what the program is told of nodes comes from Slurm, where it is written plainly.

    `were`: the numbers of nodes before, see `nodes_of`.
    """
    text = job.source.own.text
    for _, value in _told(launch.invocation, launch, launch.launcher.program_words[1:], nodes):
        if integer(value) not in were:
            continue
        span = span_of(value)
        if span.end <= len(text) and text[span.start : span.end] == text_of(value):
            before = text[span.start - 1 : span.start]
            if before == '"':
                yield Edit(span, _NODES)
            elif before in ("=", " ", "\n") and not job.in_quoted_text(span.start):
                yield Edit(span, f'"{_NODES}"')


def _programs(job: Job) -> Iterator[tuple[Invocation, Launch | None, Argv]]:
    """The programs that launchers and steps start, with their words."""
    yield from ((each.invocation, each, each.launcher.program_words[1:]) for each in job.launches)
    yield from ((each, None, each.argv[1:]) for step in job.steps for each in _leaves(step))


def stale_nodes(job: Job, nodes: int, were: Container[int]) -> Iterator[str]:
    """What tells a program another number of nodes, of those that there `were` before, as sentences."""
    yield from stale_in_files(job, nodes, None)
    for command, launch, words in _programs(job):
        for name, value in _told(command, launch, words, nodes):
            if integer(value) not in were:
                continue
            line = job.line(span_of(value).start)
            yield f"line {line}: {name} says {text_of(value)}, where the program has {nodes} nodes"


def stale_counts(job: Job, nodes: int, gpus: int, were: Container[int]) -> Iterator[str]:
    """To-dos for what tells a program another number of nodes, or Lightning another one of devices on each."""
    yield from stale_nodes(job, nodes, were)
    yield from stale_in_files(job, nodes, gpus)
    for _, launch, words in _programs(job):
        for name, field, _ in program_options(words, LIGHTNING_DEVICES.fullmatch):
            if field is not None and launch is not None and _is_other(field, gpus):
                line = job.line(span_of(field).start)
                yield f"line {line}: {name} says {text_of(field)}, where each node has {gpus} processes"
    if nodes > 1:
        yield from _stale_sizes(job, nodes * gpus)


def _stale_sizes(job: Job, size: int) -> Iterator[str]:
    """What tells the programs another number of processes; a launcher sets WORLD_SIZE itself."""
    told: list[tuple[Argv, Invocation | None]] = [(each.launcher.program_words[1:], None) for each in job.launches]
    sized = [each for step in job.steps if step.all_tasks == size for each in _leaves(step)]
    # fairseq starts the processes of its node itself, so that its tasks are fewer
    told += [(each.argv[1:], each) for each in sized if not (each.name or "").startswith("fairseq")]
    for words, command in told:
        found: list[tuple[str, Pieces | None]] = [
            (each[0], each[1]) for each in program_options(words, _OF_SIZE.fullmatch)
        ]
        if command is not None:
            found.append(("WORLD_SIZE", exported(command, "WORLD_SIZE")))
        for name, field in found:
            if field is not None and _is_other(field, size):
                line = job.line(span_of(field).start)
                yield f"line {line}: {name} says {text_of(field)}, where {size} processes find each other"


def _leaves(step: Step) -> list[Invocation]:
    return [each for each in step.program if not each.children]


def devices_of_node(command: Invocation) -> list[tuple[str, Pieces]]:
    """The CUDA_VISIBLE_DEVICES and the like of one node, with each value: Slurm says which GPUs a task sees."""
    values = [(name, value) for name in DEVICE_VARIABLES for value in _alternatives(command, name)]
    return [(name, value) for name, value in values if _NUMBERS.fullmatch(text_of(value) or "")]


def stale_devices(job: Job) -> Iterator[str]:
    """To-dos for such variables that still name GPUs which the job does not have: it counts its own from 0."""
    gpus = job.request.gpus_per_node()
    for command, _, _ in _programs(job) if gpus else ():
        for name, value in devices_of_node(command):
            if any(parse_integer(each) >= (gpus or 0) for each in (text_of(value) or "").split(",")):
                line, numbers = job.line(span_of(value).start), text_of(value)
                yield f"line {line}: {name} says {numbers}, where Slurm counts the GPUs of the job from 0: leave it out"


def _alternatives(command: Invocation, name: str) -> list[Pieces]:
    """The values that a variable may have in a command's environment, where several are possible."""
    variable = command.state.variables.get(name)
    if variable is None or not variable.exported:
        return []
    return [fields[0] for fields in values_of(command, variable) if fields]


def stale_meeting(job: Job, command: Invocation, edits: list[Edit]) -> Iterator[tuple[str, Pieces]]:
    """The variables of a rendezvous on one node that nothing reads once the edits export others, with their values."""
    text = job.source.own.text
    for name, signs in _OF_MEETING.items():
        value = exported(command, name)
        known = None if value is None else text_of(value)
        if value is None or known is None or not (known in LOOPBACK or is_number(known)):
            continue
        span = span_of(value)
        taken = any(each.span.start <= span.start <= each.span.end for each in edits)
        is_given = any(sign in each.content for sign in signs for each in edits)
        if text.count(name) == 1 and not taken and is_given:
            yield name, value


def stale_interfaces(job: Job) -> Iterator[str]:
    """To-dos for such variables that are still set."""
    for command in [each.invocation for each in job.launches] + [p for each in job.steps for p in each.program]:
        for name, value in loopbacks(command):
            yield f"line {job.line(span_of(value).start)}: {name} is the loopback interface, by which nodes do not meet"


def loopbacks(command: Invocation) -> Iterator[tuple[str, Pieces]]:
    """The variables of a command by which processes would meet on the loopback interface, with their values."""
    for name in _INTERFACES:
        for value in _alternatives(command, name):
            if text_of(value) in ("lo", "=lo", "lo0"):
                yield name, value


def _told(command: Invocation, launch: Launch | None, words: Argv, nodes: int) -> Iterator[tuple[str, Pieces]]:
    """The options and variables of a program with a number of nodes other than `nodes`, and their values."""
    for option, value, _ in program_options(words, says_nodes):
        if value is not None and _is_other(value, nodes):
            yield option, value
    settings = () if launch is None else (launch.launcher.setting("nnodes", "num_machines"),)
    own = {each.name for each in settings if each is not None}
    for name in _VARIABLES:
        of_variable = None if name in own else exported(command, name)
        if of_variable is not None and _is_other(of_variable, nodes):
            yield name, of_variable


def _is_other(value: Pieces, nodes: int) -> bool:
    text = text_of(value)
    return text is not None and is_number(text) and parse_integer(text) != nodes


def grown_batch(job: Job, command: Invocation, words: Argv, before: int | None, after: int) -> str:
    """How the batch of a step grows, as a clause, where the program's words or its file say it; "" elsewhere."""
    found: dict[str, int] = {}
    for option, value, _ in program_options(words, _is_batch):
        text = None if value is None else text_of(value)
        if text is None or not is_number(text):
            return ""
        found[option.lstrip("-")] = parse_integer(text)
    file = batch_in_file(job, command, words)
    size = found.get(SAMPLES, 0 if file is None else file.samples)
    steps = found.get(STEPS, 1 if file is None else file.steps)
    if not size or not before or before == after:
        return ""
    kept, rest = divmod(steps * before, after)
    advice = f"--{STEPS} {kept}" if STEPS in found or file is None else f"{STEPS}: {kept} in {file.name}"
    advice = f"; {advice} keeps it" if kept and not rest else ""
    return f", so that the batch of a step grows from {size * steps * before} to {size * steps * after}{advice}"


def _is_batch(option: str) -> bool:
    return option in (f"--{SAMPLES}", f"--{STEPS}")
