"""What a script leaves to its first node, and programs of other nodes would look for on their own.

An address such as `tcp://127.0.0.1:29501` among their words or in their environment, servers in the background, data on
a disk of the first node, the rank of a node, and what the shell of each node would take anew.
"""

from collections.abc import Iterator
from itertools import pairwise

from sbatchlint.analysis.script.servers import server_name
from sbatchlint.bash.trace import Invocation, exported
from sbatchlint.bash.values import UNKNOWN_CHARACTER, Phase, Pieces, expansions, shown_text, span_of, text_of
from sbatchlint.convert.words import names_own_node
from sbatchlint.job import Job, Launch
from sbatchlint.job.argv import Argv, integer, program_options
from sbatchlint.job.once import once
from sbatchlint.job.paths import LOCAL_VARIABLES
from sbatchlint.job.steps import enclosing_step
from sbatchlint.source.regex import Regex

_TOLD_BY_LAUNCHER = ("MASTER_ADDR", "MASTER_PORT", "PET_MASTER_ADDR")
# Variables that name addresses which are not to be asked by a proxy.
_OF_EXCEPTIONS = Regex(r"(?i)no_proxy")
_NODE_RANK = Regex(r"(?i)(?:--?|\+{1,2})?(?:[\w.]*[._])?(?:node|machine)[_-]?rank")
# A folder on a disk of each node's own, also by its name.
_LOCAL = Regex(
    r"(?:file://)?(/(?:tmp|var/tmp|dev/shm|local(?:_?\w+)?|l_?scratch|raid|nvme\d*|ssd|mnt/(?:nvme|ssd|local)\w*"
    r"|scratch/local|disk/scratch)/[^/\s{*]+)"
)
_LOCAL_ROOT = Regex(r"/(?:tmp|var/tmp|dev/shm)/?")
_READ = Regex(
    r"(?i)data|train|valid|input|corpus|model|ckpt|checkpoint|load|resume|pretrain|image|_path|-path|_dir|-dir|root"
)
_WRITTEN = Regex(r"(?i)out|cache|log|save|tmp|temp|scratch|work|offload|socket|lock|run_dir|store")
_READING = ("cd", "ls", "echo", "du", "df", "export", "rm", "mkdir", "test", "[", "cat", "printf", "chmod")
_CHANGING = Regex(
    r"RANDOM|SRANDOM|\$$|BASHPID|EPOCH|\$\(.*\b(?:date|hostname|mktemp|uuidgen|shuf|python3?|openssl|od)\b"
)
_FOLLOW = Regex(r"-[a-z]*[fF]|--follow|--retry")
# What changes the node on which it runs.
_ON_ITS_NODE = ("mount", "squashfuse", "sshfs", "gcsfuse", "s3fs", "sysctl", "modprobe", "nvidia-cuda-mps-control")
# What serves the people who look at a job.
_FOR_PEOPLE = Regex(r"(?i).*(?:tensorboard|jupyter|notebook|mlflow|streamlit|http\.server).*")


def of_first_node(job: Job, size: int) -> Iterator[str]:
    """To-dos for what programs of `size` processes, on several nodes, are told of the first one alone."""
    told: list[tuple[Invocation, Argv, tuple[str, ...]]] = [
        (each.invocation, each.launcher.program_words[1:], _TOLD_BY_LAUNCHER) for each in job.launches
    ]
    for step in job.steps:
        if step.all_tasks == size:
            told += [(each, each.argv[1:], ()) for each in step.program if not each.children]
    for command, words, known in told:
        yield from _addresses(job, command, words, known)
        yield from _ranks(job, words)
        yield from _data(job, words)
        yield from _data_by_variables(job, command)
        yield from _folder(job, command)
    if told:
        yield from _servers(job)
        yield from _of_its_node(job)
    for launch in job.launches:
        yield from _taken_anew(job, launch)


def _ranks(job: Job, words: Argv) -> Iterator[str]:
    for option, value, _ in program_options(words, _NODE_RANK.fullmatch):
        if value is not None and integer(value) is not None:
            line = job.line(span_of(value).start)
            yield f"line {line}: {option} says {text_of(value)} on each node: leave it out, or see what reads it"


def _data(job: Job, words: Argv) -> Iterator[str]:
    """What programs read on a disk of their node, if nothing brings it there, or something to the first one alone."""
    places = dict[str, tuple[str, int]]()
    for last, field in pairwise([(), *words]):
        text = shown_text(field)
        option, equals, value = text.rpartition("=")
        name = option if equals else shown_text(last)
        own = [each.name for each in expansions(field) if each.name in LOCAL_VARIABLES]
        found = _LOCAL.match(value)
        if found is not None or own:
            place = found.group(1) if found is not None else f"${own[0]}"
            is_read = (
                value.startswith("file://") or name.startswith("-") and _READ.search(name) and not _WRITTEN.search(name)
            )
            if is_read or not _WRITTEN.search(name) and _is_filled(job, place):
                places.setdefault(place, (value if not own else place, job.line(span_of(field).start)))
    for place, (shown, line) in places.items():
        if _is_filled(job, place) or not _is_filled(job, place, in_step=True):
            yield f"line {line}: {shown} is on a disk of each node's own: see that it is there on all of them"


def _data_by_variables(job: Job, command: Invocation) -> Iterator[str]:
    """What variables name on the disk of a node that commands fill on the first one alone."""
    for variable in command.state.variables:
        value = None if _WRITTEN.search(variable) else exported(command, variable)
        places = () if value is None else _places(value)
        if value is not None and any(_is_filled(job, place) for place in places):
            line = job.line(span_of(value).start)
            yield f"line {line}: {variable} is on a disk of each node's own: see that it is there on all of them"


def _folder(job: Job, command: Invocation) -> Iterator[str]:
    """The folder of the first node's own disk in which a command starts."""
    shell, place, line = command.context.shell, "", 0
    shells = set(map(id, shell.enclosing_shells())) if shell is not None else set()
    for number in _moves(job):
        move = job.invocations[number]
        if number > command.index or id(move.context.shell) not in shells or move.phase is not Phase.BATCH:
            continue
        target = shown_text(move.argv[1]) if len(move.argv) == 2 else ""
        found = next(_places(move.argv[1]), "") if len(move.argv) == 2 else ""
        if found or _LOCAL_ROOT.fullmatch(target):
            place, line = found or target, job.line(move.span.start)
        elif target[:1] in ("", "/", "~", "-", UNKNOWN_CHARACTER) or target.startswith(".."):
            place = ""
    if place and not (_is_filled(job, place, in_step=True) and not _is_filled(job, place)):
        yield f"line {line}: the programs start in {place}, on a disk of each node's own: see that it is there on all"


@once
def _moves(job: Job) -> list[int]:
    return [number for number, each in enumerate(job.invocations) if each.name in ("cd", "pushd", "popd")][:300]


def _is_filled(job: Job, place: str, in_step: bool = False) -> bool:
    """Whether a command names a place on the disk of its node, on the first one alone or in a step."""
    return (place, in_step) in _filled(job)


@once
def _filled(job: Job) -> frozenset[tuple[str, bool]]:
    """The places on the disk of a node that commands name, each with whether they do so in a step."""
    launching, found = {id(each.invocation) for each in job.launches}, set[tuple[str, bool]]()
    for command in job.invocations:
        if command.name in _READING or not command.argv or command.context.handler or id(command) in launching:
            continue
        step = enclosing_step(command.context)
        programs = step is not None and step.tasks_per_node != 1
        if not programs and command.spawn.info is None and not command.children:
            found |= {(place, step is not None) for word in command.argv[1:] for place in _places(word)}
    return frozenset(found)


def _places(word: Pieces) -> Iterator[str]:
    yield from (f"${each.name}" for each in expansions(word) if each.name in LOCAL_VARIABLES)
    found = _LOCAL.match(shown_text(word).rpartition("=")[2])
    if found is not None:
        yield found.group(1)


def _taken_anew(job: Job, launch: Launch) -> Iterator[str]:
    """What the shell of each node takes anew: the time, a random number, its name."""
    for field in launch.launcher.program_words[1:] if launch.launcher.spawns else ():
        for expansion in expansions(field):
            if expansion.phase is Phase.TASK and _CHANGING.match(expansion.name):
                name = expansion.name if expansion.name.startswith("$") else f"${expansion.name}"
                line = job.line(span_of(field).start)
                yield f"line {line}: {name} is another on each node: set a variable to it before the srun"


def endless(job: Job) -> Iterator[str]:
    """To-dos for commands that never end, after a launch in the background: the job runs to its time limit."""
    starts = [each.invocation for each in job.launches] + [each.invocation for each in job.steps]
    first = min((each.index for each in starts if each.context.background is not None), default=None)
    for command in job.invocations if first is not None else ():
        words = [*map(shown_text, command.argv[1:])]
        follows = command.name == "tail" and any(_FOLLOW.match(each) for each in words)
        follows = follows and not any(each.startswith("--pid") for each in words)
        sleeps = command.name == "sleep" and words[:1] in (["infinity"], ["inf"])
        if command.context.background is None and (follows or sleeps or command.name == "watch"):
            if command.index > (first or 0):
                line = job.line(command.span.start)
                yield f"line {line}: {command.name} does not end, and the job runs to its time limit: write wait"


def _addresses(job: Job, command: Invocation, words: Argv, known: tuple[str, ...]) -> Iterator[str]:
    found = [(text, word) for word in words if (text := text_of(word)) is not None and names_own_node(text)]
    for name in command.state.variables:
        value = None if name in known or _OF_EXCEPTIONS.fullmatch(name) else exported(command, name)
        text = None if value is None else text_of(value)
        if value is not None and text is not None and names_own_node(text):
            found.append((f"{name}={text}", value))
    for text, field in found:
        line = job.line(span_of(field).start)
        yield f"line {line}: {text} is on each node that node itself: $MASTER_ADDR is the first one"


def _of_its_node(job: Job) -> Iterator[str]:
    for command in job.invocations:
        if command.name in _ON_ITS_NODE and command.phase is Phase.BATCH and enclosing_step(command.context) is None:
            line = job.line(command.span.start)
            yield f"line {line}: {command.name} acts on the first node alone: see if the others need it as well"


def _servers(job: Job) -> Iterator[str]:
    for command in job.invocations:
        if command.phase is not Phase.BATCH or command.context.background is None:
            continue
        name = server_name(command)
        if name is not None and not _FOR_PEOPLE.fullmatch(name):
            line = job.line(command.span.start)
            yield f"{name} on line {line} serves on the first node: see that programs of the others find it there"
