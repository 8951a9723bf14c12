"""What a job writes, and who finds it there afterwards: logs, results, files for other nodes.

A node's own disk and a container's own files are seen by nobody else. What is written there serves only those on the
same node, and is gone with the job on many clusters; what a task on another node is to read does not exist for it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from sbatchlint.analysis.storage.caches import COPYING, NEUTRAL
from sbatchlint.analysis.tools.tool_environments import before
from sbatchlint.bash.interpreter.protocol import Spawn
from sbatchlint.bash.values import Expansion, Phase, Pieces, cut, expansions, shown_text, span_of
from sbatchlint.job.commands.argv import partition
from sbatchlint.job.containers import Container
from sbatchlint.job.launchers import is_python, recognise
from sbatchlint.job.launches import container_of
from sbatchlint.job.paths import CONTAINER_LOCAL, IMAGE, NODE_LOCAL, Location, classify, key, under
from sbatchlint.job.steps import Step, directive_value, step_around
from sbatchlint.source.regex import Regex
from sbatchlint.source.text import Span

if TYPE_CHECKING:
    from sbatchlint.bash.trace import Invocation
    from sbatchlint.job import Job

# Options and settings of programs that say where results go: `--save DIR`, `exp_manager.exp_dir=DIR`.
_RESULTS = Regex(
    r"-{0,2}(?:[\w.]+\.)?(?:save(?:[_-](?:dir|path|folder|directory))?|out(?:put)?[_-]?(?:dir|path|folder|directory)"
    r"|checkpoints?[_-](?:dir|folder|save[_-]dir|save[_-]path)|ckpt[_-](?:dir|save[_-]dir)|default[_-]root[_-]dir"
    r"|work[_-]?dir|results?[_-](?:dir|path)|exp(?:eriment)?[_-]dir|explicit_log_dir|run\.dir)"
)
_LOGS = Regex(
    r"-{0,2}(?:[\w.]+\.)?(?:log(?:ging)?[_-]?dir|tensorboard(?:[_-](?:log)?[_-]?dir|[_-]path)|tb[_-](?:log)?[_-]?dir)"
)
# Programs for which such a name is a place to read from.
_READERS = Regex(r"litgpt|lit_gpt")
_COPIES = "scp aws gsutil gcloud rclone azcopy s5cmd globus zip 7z pigz gzip zstd sgather mc hf huggingface-cli pdcp"
_TRANSFERS = COPYING | frozenset(_COPIES.split())
# Commands that open every file that they are given.
_OPEN = "bash sh source . tar cat cp mv rsync unzip head tail grep awk sed sort cd pushd sbatch jq Rscript julia perl"
_OPENING = frozenset(_OPEN.split())
_HOSTS = Regex(r"^-{1,2}(?:\w*[_-])?(?:host|node|machine)s?[_-]?(?:file|list)|^--hosts\b")
# Options of commands that name where they write.
_INTO = {"tar": ("-C", "--directory"), "unzip": ("-d",), "wget": ("-O", "-P"), "curl": ("-o",)}
_ELSEWHERE = frozenset({"sbcast", "pdsh", "clush", "ssh", "scp", "pdcp", "parallel-ssh", "mpirun", "mpiexec", "dsh"})
_WRITING = frozenset({">", ">>", ">|", "&>", "&>>"})
# Commands for which a file of their words need not be there.
_HANDLING = frozenset(
    {"rm", "echo", "printf", "export", "[", "[[", "test", "mkdir", "touch", "tee", "ls", "chmod", "true"}
)


class Output(NamedTuple):
    """Something that is written where those who want it do not see it.

    `kind`: `log` (of the job or of a step), `result`, `program log`, `given` (made by the batch shell for tasks on
    other nodes), `submitted` (made on the login node for a job). `name`: the option, or the command that makes it.
    `step`: whose tasks write or read it; None for the job's own log. `user`: who reads it, for the last two kinds.
    """

    kind: str
    name: str
    span: Span
    location: Location
    step: Step | None
    user: Invocation | None = None


def names_output(option: str) -> bool:
    """Whether an option's name, with or without dashes, says that its value is a place to write to."""
    return _RESULTS.fullmatch(option) is not None or _LOGS.fullmatch(option) is not None


def lost_outputs(job: Job) -> Iterator[Output]:
    """Each once, by its place."""
    seen: set[int] = set()
    for find in (_logs, _results, _given, _submitted):
        for each in find(job):
            if each.span.start not in seen:
                seen.add(each.span.start)
                yield each


# --- logs ------------------------------------------------------------------------------------------


def _logs(job: Job) -> Iterator[Output]:
    for name in ("output", "error"):
        setting = job.request.given(name)
        value = None if setting is None else directive_value(setting)
        if setting is not None and value and setting.known:
            yield from _log(job, f"--{name}", value, None)
    for step in job.steps:
        for name in ("output", "error"):
            option = step.option(name)
            if option is not None and option.value:
                yield from _log(job, f"--{name}", option.value, step)


def _log(job: Job, name: str, value: Pieces, step: Step | None) -> Iterator[Output]:
    location = classify(value, job.site)
    index = -1 if step is None else step.invocation.index
    if location.kind == NODE_LOCAL and not _is_fetched(job, value, index):
        yield Output("log", name, span_of(value), location, step)


def _is_fetched(job: Job, path: Pieces, index: int) -> bool:
    """Whether something uses a path, or copies its folder, after the command of this index."""
    wanted = key(path)
    folder, _, name = wanted.rpartition("/")
    for each in job.invocations:
        if each.index <= index or each.name in _HANDLING:
            continue
        if any(under(target, wanted) for target in named_paths(each)):
            return True
        if each.name in _TRANSFERS:
            for source in _sources(each):
                if under(wanted, source) or "%" in name and under(source, folder) and _may_be(source, wanted):
                    return True
    return False


def _may_be(path: str, pattern: str) -> bool:
    """Whether a path can be a log's, whose name has Slurm's patterns (`%j`)."""
    ending = re.split(r"%\w?", pattern)[-1]
    return path.startswith(pattern.partition("%")[0]) and (path.endswith(ending) or "*" in path)


def named_paths(command: Invocation) -> list[str]:
    """The paths among a command's words, those in options too."""
    return [key(each) for field in command.argv[1:] if field for each in _paths(field)]


def _operands(command: Invocation) -> list[str]:
    return [key(field) for field in command.argv[1:] if field and not shown_text(field).startswith("-")]


def _sources(command: Invocation) -> list[str]:
    """What a command that copies takes, a whole folder for `FOLDER/*`."""
    operands = _operands(command)
    if command.name == "tar" and any(re.match(r"-?\w*x|--(?:extract|get)", each) for each in _words(command)[:2]):
        return []
    packing = command.name in ("tar", "zip", "7z", "gzip", "pigz", "zstd")
    return [re.sub(r"/[*?]+$", "", each) for each in (operands if packing else operands[:-1])]


def made_paths(command: Invocation) -> list[str]:
    """The paths that a command makes."""
    found = _redirected(command)
    words, operands = _words(command), _operands(command)
    if command.name in ("mkdir", "touch", "tee", "virtualenv"):
        return found + operands
    if command.name in ("cp", "mv", "rsync", "ln", "install", "scp", "sbcast", "dcp"):
        return found + operands[-1:]
    if command.name == "git" and operands[:1] == ["clone"]:
        return found + operands[2:]
    options = _INTO.get(command.name or "", ())
    return found + [words[number + 1] for number, word in enumerate(words[:-1]) if word in options]


def _redirected(command: Invocation) -> list[str]:
    """The files into which its output goes."""
    return [key(each.target) for each in command.redirects if each.operator in _WRITING and each.target]


def _words(command: Invocation) -> list[str]:
    return [key(field) for field in command.argv[1:] if field]


# --- results of programs ---------------------------------------------------------------------------


def _results(job: Job) -> Iterator[Output]:
    """Those that are lost in every way in which their command may run."""
    found: dict[tuple[Span, Span], list[Output | None]] = {}
    for command in job.invocations:
        step = step_around(command.context)
        if command.children or command.text is not None or command.name in NEUTRAL or command.phase is Phase.SUBMIT:
            continue
        if any(_READERS.search(shown_text(field)) for field in command.argv[:3]) or command.context.restricted:
            continue
        for name, value in _places(command):
            found.setdefault((command.span, span_of(value)), []).append(_result(job, command, step, name, value))
    yield from (first for first, *others in found.values() if first is not None and None not in others)


def _result(job: Job, command: Invocation, step: Step | None, name: str, value: Pieces) -> Output | None:
    container = container_of(command)
    if container is None and (step is None or not step.several_nodes):
        return None
    location = classify(value, job.site, container, _workdir(job, command, container))
    if location.per_node or location.per_task or shown_text(value).startswith("/dev/null"):
        return None
    if not _is_lost(location, step, container) or _is_prepared(job, value, command):
        return None
    if _is_fetched(job, value, command.index):
        return None
    return Output("program log" if _LOGS.fullmatch(name) else "result", name, span_of(value), location, step)


def _places(command: Invocation) -> Iterator[tuple[str, Pieces]]:
    """The options that say where a program writes, with their values."""
    argv = command.argv
    for number, field in enumerate(argv[1:], 1):
        written = shown_text(field)
        if written[:1] != "-" and "=" not in written or not names_output(written.partition("=")[0]):
            continue
        name, value = partition(field, "=")
        text = shown_text(name)
        if value is None and text.startswith("-") and number + 1 < len(argv):
            value = argv[number + 1]
        if value and (value is not argv[number] or "=" in shown_text(field)) and "/" in key(value):
            yield text, value


def _workdir(job: Job, command: Invocation, container: Container | None) -> Pieces | None:
    """The folder in which a command runs, where the script says it."""
    for each in before(job, command):
        if (
            each.name in ("cd", "pushd")
            and len(each.argv) == 2
            and (container_of(each) is not None) == (container is not None)
        ):
            return each.argv[1]
    return None if container is None else container.workdir


def _is_lost(location: Location, step: Step | None, container: Container | None) -> bool:
    several = step is not None and bool(step.several_nodes)
    if location.kind in (CONTAINER_LOCAL, IMAGE):
        if container is None or container.kind not in ("pyxis", "docker", "podman", "enroot"):
            return False
        kept = container.name is not None or container.option("container-save", "name") is not None
        if container.image is not None and not shown_text(container.image):
            return False  # to be filled in, the mounts too
        removed = container.kind in ("pyxis", "enroot") or container.option("rm") is not None
        return removed and not kept
    return location.kind == NODE_LOCAL and several


def _is_prepared(job: Job, path: Pieces, command: Invocation) -> bool:
    """Whether the path is where the script put something on the nodes, to be read."""
    wanted = key(path)
    copying = [each for each in job.invocations if each.index < command.index and each.name in _TRANSFERS | _ELSEWHERE]
    return any(under(wanted, target) and target.count("/") > 1 for each in copying for target in made_paths(each))


# --- files for others ------------------------------------------------------------------------------


class _Made(NamedTuple):
    """A file or folder that a shell makes for itself. `folder`: it is one, which a program may make for itself too."""

    path: str
    name: str
    span: Span
    location: Location
    order: int
    folder: bool


def _made(job: Job, phase: Phase) -> list[_Made]:
    """What a script's own shell makes on the disk of its node, in this phase."""
    found: list[_Made] = []

    def add(name: str, value: Pieces, index: int, *, folder: bool = False) -> None:
        location = classify(value, job.site)
        if location.kind == NODE_LOCAL and not location.per_node and not _by_mktemp(value):
            found.append(_Made(key(value), name, span_of(value), location, index, folder))

    for each in job.invocations:
        if each.phase is not phase or step_around(each.context) is not None or each.name == "srun":
            continue
        for redirect in each.redirects:
            if redirect.operator in _WRITING and redirect.target:
                add("a redirection", redirect.target, each.index)
        words = [field for field in each.argv[1:] if field and not shown_text(field).startswith("-")]
        if each.name in ("mkdir", "tee"):
            for field in words:
                add(each.name, field, each.index, folder=each.name == "mkdir")
        elif each.name in ("cp", "mv") and len(words) > 1:
            add(each.name, words[-1], each.index)
        elif each.name == "git" and len(words) > 2 and shown_text(words[0]) == "clone":
            add("git clone", words[-1], each.index)
    return found


def _by_mktemp(value: Pieces) -> Expansion | None:
    """The `$(mktemp …)` with which a path begins."""
    first = value[0].expansion if value else None
    return first if first is not None and any(words[:1] == ("mktemp",) for words in first.commands) else None


def _given(job: Job) -> Iterator[Output]:
    """What the batch shell makes on the first node, and tasks on other nodes are to find."""
    steps = [step for step in job.steps if step.several_nodes]
    if not steps:
        return
    made = _made(job, Phase.BATCH)
    for step in steps:
        earlier = [each for each in made if each.order < step.invocation.index]
        for command in step.program:
            if command.context.restricted:
                continue
            for each in _used(job, command, earlier, Phase.BATCH):
                if not _is_made_there(job, each, command):
                    yield Output("given", each.name, each.span, each.location, step, command)


def _submitted(job: Job) -> Iterator[Output]:
    """What a script of the login node makes on that, and a job that it submits is to find."""
    sbatches = [each for each in job.invocations if each.name == "sbatch" and each.phase is Phase.SUBMIT]
    if not sbatches:
        return
    made = _made(job, Phase.SUBMIT)
    for command in (*sbatches, *(each for inner in job.submits for each in inner.invocations)):
        # of an sbatch itself only the words for its script count, which stand behind that
        start = len(command.argv) if command.name == "sbatch" else 0
        if command.name == "sbatch" and isinstance(command.spawn, Spawn) and command.spawn.command is not None:
            start = command.spawn.command + 1
        for each in _used(job, command, made, Phase.SUBMIT, start):
            yield Output("submitted", each.name, each.span, each.location, None, command)


def _used(job: Job, command: Invocation, made: list[_Made], phase: Phase, start: int = 0) -> Iterator[_Made]:
    """What of it a command is to find."""
    if command.name in _HANDLING:
        return
    if not made and not any("mktemp" in each.name for field in command.argv for each in expansions(field)):
        if not any("mktemp" in each.name for to in command.redirects for each in expansions(to.target or ())):
            return
    fields = [(each, False) for field in _told(command)[start:] for each in _paths(field)]
    fields += [(each.target, True) for each in command.redirects if each.operator in _WRITING and each.target]
    for field, written in fields:
        location = classify(field, job.site)
        if location.kind != NODE_LOCAL or location.per_node:
            continue
        temporary = _by_mktemp(field)
        if temporary is not None:
            if temporary.phase is phase and (not written or len(field) > 1):
                yield _Made(key(field[:1]), "mktemp", temporary.span, location, -1, True)
            continue
        path = key(field)
        for each in made:
            if each.folder:
                # a program makes the folders of its options itself, but the shell does not
                found = under(path, each.path) and (written and path != each.path or command.name in ("cd", "pushd"))
            else:
                found = path == each.path and not written
            if found:
                yield each


def _told(command: Invocation) -> tuple[Pieces, ...]:
    """The words that a command opens in every task: of an unknown program, maybe of MPI, only the first rank does.

    Lists of hosts are read by one process.
    """
    argv = command.argv
    if not argv or not (command.name in _OPENING or is_python(argv[0]) or recognise(argv) is not None):
        return argv[:1]
    hosts = [_HOSTS.search(shown_text(field)) is not None for field in argv]
    return tuple(() if hosts[at] or at and hosts[at - 1] else field for at, field in enumerate(argv))


def _paths(field: Pieces) -> Iterator[Pieces]:
    """A word, and the value of an option in it."""
    name, value = partition(field, "=")
    if value:
        yield value
    elif name:
        yield field
    text = shown_text(field)
    if text.startswith("@"):
        yield cut(field, 1, len(text))


def _is_made_there(job: Job, made: _Made, user: Invocation) -> bool:
    """Whether something makes it on the other nodes too: a task, sbcast, ssh, a program that was told of it before."""
    path = made.path
    for each in job.invocations:
        if each.name in _ELSEWHERE and any(path in word for word in _words(each)):
            return True
        if each.phase is not Phase.TASK:
            continue
        # a redirection makes a file, and not its folder
        targets = made_paths(each)[len(_redirected(each)) if made.folder else 0 :]
        if any(under(target, path) or under(path, target) and target.count("/") > 1 for target in targets):
            return True
        if made.folder and each.index < user.index and each.name not in NEUTRAL and each.text is None:
            if any(under(name, path) for name in named_paths(each)):
                return True
    return False
