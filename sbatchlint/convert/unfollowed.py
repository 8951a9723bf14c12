"""What the words, variables and files of a program say of one node, where nothing made it follow the job.

Devices, ranks, ports and addresses: whether the program reads them is not known, so each is a to-do.
"""

from collections.abc import Collection, Iterator
from itertools import takewhile
from typing import NamedTuple

from sbatchlint.analysis.launch.rank_signs import LIGHTNING_DEVICES
from sbatchlint.bash.trace import Invocation, exported
from sbatchlint.bash.values import Pieces, expansions, shown_text, span_of, text_of
from sbatchlint.convert.counts import (
    OF_NODES,
    OF_ONE_NODE,
    counts_devices,
    counts_parts,
    counts_replicas,
    lists_devices,
    parts_of,
)
from sbatchlint.convert.dependents import READING_VARIABLES, Key, programs_of, writes
from sbatchlint.convert.in_files import SETTINGS_FILE
from sbatchlint.convert.launcher import NAMES
from sbatchlint.convert.sizes import says_nodes
from sbatchlint.convert.words import names_own_node
from sbatchlint.job import Job
from sbatchlint.job.argv import Argv, integer, program_options
from sbatchlint.source import lookups
from sbatchlint.source.regex import Regex
from sbatchlint.source.yaml_files import MOST_BYTES, Value, read_yaml

_LIST = Regex(r"\[?\d+(?:,\d+)*\]?")
_PORT = Regex(r"(?i)(?:--?|\+{1,2})?(?:\w+\.)*(?:(?:tcp|dist|ddp|master|main|init|rdzv|nccl|comm|sync)[_-])?port")
_SIZE = Regex(r"(?i).*world_?-?size")
# What a launcher sets for each process, whatever the script exports.
_SET = ("RANK", "LOCAL_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE", "GROUP_RANK", "NPROC_PER_NODE")
_RANKS = ("NODE_RANK", "MACHINE_RANK", "NODE_ID", "GLOBAL_RANK")
_WRITTEN = Regex(
    r"(?i)\b(?:localhost|127\.0\.0\.1)\b|\b(?:num_?nodes|nnodes|num_machines|machine_rank|node_rank|world_size"
    r"|num_gpus|n_gpus|ngpus|gpus|num_processes|devices)\"?[ \t]*[:=][ \t]*\"?\d+"
)
_NUMBERS_ALONE, _NUMBER = Regex(r"\$\(\([\d\s*/+()-]+\)\)"), Regex(r"\d+")
# More numbers than a node has GPUs.
_MOST_LISTED = 32
_KEY = Regex(
    r"(?i)num_?nodes|nnodes|num_machines|machine_rank|node_rank|world_size|num_gpus|n_gpus?|ngpus?|gpus|num_processes"
    r"|devices|nproc\w*"
)


class _Program(NamedTuple):
    """What holds for all words of a program: the line that starts it, the names before a `=`, and what follows.

    `number`: of its processes on a node.
    """

    line: int
    assigned: frozenset[str]
    meets: bool
    counts_nodes: bool
    number: int


def unfollowed(job: Job, known: Collection[Key]) -> Iterator[str]:
    """To-dos for what is said of one node; `known`: what counts the processes of one is told already."""
    told = {(each.line, each.name) for each in known}
    read = frozenset(each.name for each in job.trace.reads)
    number = job.request.gpus_per_node() or job.request.tasks_on_each_node() or 0
    for command, words in programs_of(job):
        launcher = job.launcher_of(command)
        own = NAMES["fabric"] if launcher is not None and launcher.kind == "fabric" else ()
        texts = [shown_text(each) for each in words]
        program = _Program(
            job.line(command.span.start),
            frozenset(each.partition("=")[0] for each in texts if "=" in each),
            any(map(_follows, words)),
            any(map(says_nodes, texts)),
            number,
        )
        for name, value, field in program_options(words):
            text = None if value is None else text_of(value)
            if text is None or (program.line, name) in told or expansions(field if value is None else value):
                continue
            if name.lstrip("-").replace("-", "_") not in own:
                yield from _word(program, name, text)
        yield from _lists(words, program.line)
        yield from _sums(job, words, number)
        yield from _variables(job, command, read, told)
        yield from _of_files(job, command, words)
    yield from _written(job)


def _word(program: _Program, name: str, text: str) -> Iterator[str]:
    bare, line = name.lstrip("-+").rpartition(".")[2], program.line
    if name[:1] not in ("-", "+") and name not in program.assigned:
        return
    if OF_ONE_NODE.match(bare) or LIGHTNING_DEVICES.fullmatch(name) or _SIZE.fullmatch(bare):
        return
    is_devices, counts = parts_of(bare) == ["devices"], counts_devices(bare)
    if is_devices and program.counts_nodes or counts and text.strip("0") == "":
        return  # Lightning's, of each node
    if parts_of(bare) == ["rank"] and text == "0":
        yield f"line {line}: {name} says 0 on each node: leave it out, or see what reads it"
    elif text.isdigit() and (counts or is_devices or counts_replicas(bare) or _is_part(program, bare, text)):
        yield f"line {line}: {name} says {text}: see if it is to count the GPUs of all nodes"
    elif lists_devices(bare) and _LIST.fullmatch(text):
        yield f"line {line}: {name} says {text}, on each node: see what reads it, as Slurm says which GPUs a task has"
    elif _PORT.fullmatch(name) and text.isdigit() and not program.meets:
        yield f"line {line}: {name} {text} is a port of the program: see that its processes meet at $MASTER_ADDR"


def _is_part(program: _Program, name: str, text: str) -> bool:
    return counts_parts(name) and program.number > 1 and text == str(program.number)


def _lists(words: Argv, line: int) -> Iterator[str]:
    """Devices that several words list: `--gpus 0 1 2 3`."""
    texts = [shown_text(each) for each in words]
    for at, name in enumerate(texts[:-2]):
        bare = name.lstrip("-").rpartition(".")[2]
        numbers = [*takewhile(str.isdigit, texts[at + 1 : at + 1 + _MOST_LISTED])] if name[:1] == "-" else []
        if len(numbers) > 1 and not OF_ONE_NODE.match(bare) and (lists_devices(bare) or counts_devices(bare)):
            listed = " ".join(numbers)
            what = f"{name} lists {listed}, on each node"
            yield f"line {line}: {what}: see what reads it, as Slurm says which GPUs a task has"


def _sums(job: Job, words: Argv, number: int) -> Iterator[str]:
    """Words that are worked out from numbers alone, one of them that of the processes of a node."""
    for field in words:
        sums = [each.name for each in expansions(field) if each.name.startswith("$((")]
        found = next((each for each in sums if _NUMBERS_ALONE.fullmatch(each)), None)
        if found is not None and number > 1 and str(number) in _NUMBER.findall(found):
            line = job.line(span_of(field).start)
            yield f"line {line}: {found} counts with {number}, the processes of one node: see if it is to count all"


def _follows(word: Pieces) -> bool:
    return any("scontrol" in each.name or each.name == "MASTER_ADDR" for each in expansions(word))


def _variables(
    job: Job, command: Invocation, read: Collection[str], told: Collection[tuple[int, str]]
) -> Iterator[str]:
    """Variables for a program alone, which the script does not read itself."""
    line = job.line(command.span.start)
    for name in command.state.variables:
        value = None if name in _SET or (line, name) in told or OF_ONE_NODE.match(name) else exported(command, name)
        if value is None:
            continue
        number = None if expansions(value) else integer(value)
        at = job.line(span_of(value).start)
        if name in _RANKS and number is not None:
            yield f"line {at}: {name} says {number} on each node: leave it out, or see what reads it"
        elif (
            counts_devices(name)
            and name not in read
            and not any(OF_NODES.search(each.name) for each in expansions(value))
        ):
            says = "holds the processes of one node" if number is None else f"says {number}"
            yield f"line {at}: {name} {says}: see if it is to count the GPUs of all nodes"


def _written(job: Job) -> Iterator[str]:
    """What commands write into files, apart from those of launchers, which are overruled."""
    overruled = {shown_text(each.launcher.options["config_file"].value or ()) for each in job.launches
                 if "config_file" in each.launcher.options}  # fmt: skip
    for command in job.invocations:
        if not writes(command):
            continue
        names = {*command.words[1:], *(shown_text(each.target) for each in command.redirects if each.target)}
        texts = [*command.words[1:], command.stdin.string if command.stdin is not None else ""]
        if command.name in READING_VARIABLES:
            texts += _templates(job, command)
        found = next((match for each in texts if (match := _WRITTEN.search(each)) is not None), None)
        if found is not None and not names & overruled and not any("hostfile" in each for each in names):
            line = job.line(command.span.start)
            yield f"line {line}: {command.name} writes {found.group()}, which is of one node: see what reads it"


def _templates(job: Job, command: Invocation) -> Iterator[str]:
    """The texts of the templates at hand that a command reads, by its words, its input, or a cat before it."""
    names = [*command.words[1:], *(shown_text(each.target or ()) for each in command.redirects if each.operator == "<")]
    if command.piped_from:
        line = job.line(command.span.start)
        names += [
            word
            for each in job.invocations
            if each.name == "cat" and each.piped_to and job.line(each.span.start) == line
            for word in each.words[1:]
        ]
    yield from (text for name in dict.fromkeys(names) if (text := _text(job, command, name)))


def _text(job: Job, command: Invocation, name: str) -> str:
    """The text of a file that a command names; "" where it is not at hand, or too long to be one of settings."""
    path = job.beside.named(command, name)
    data = None if path is None else lookups.read(path, MOST_BYTES + 1)
    return "" if data is None or len(data) > MOST_BYTES else data.decode("utf-8", "replace")


def _of_files(job: Job, command: Invocation, words: Argv) -> Iterator[str]:
    """What the YAML or JSON files among the words of a program say of devices, nodes and addresses."""
    for name in dict.fromkeys(shown_text(each).rpartition("=")[2] for each in words):
        path = job.beside.named(command, name) if SETTINGS_FILE.fullmatch(name) else None
        values = None if path is None else read_yaml(path)
        line = job.line(command.span.start)
        for key, value in _entries(values or {}):
            shown = key.rpartition(".")[2]
            if "trainer." not in key and _KEY.fullmatch(shown) and value.isdigit() or names_own_node(value):
                yield f"line {line}: {key} is {value} in {name.rpartition('/')[2]}: see if that is to follow the job"


def _entries(values: Value, above: str = "") -> Iterator[tuple[str, str]]:
    items = values.items() if isinstance(values, dict) else ()
    for name, value in items:
        key = f"{above}.{name}" if above else str(name)
        if isinstance(value, str):
            yield key, value
        else:
            yield from _entries(value, key)
