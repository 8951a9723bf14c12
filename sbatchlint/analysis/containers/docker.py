"""What a container of docker or podman lacks that a task of the job has: terminal, network, shared memory, an end.

docker's client (20.10, 28.2) refuses `-it` without a terminal before it asks its daemon for anything (container/run.go,
`CheckTty`); podman 4.3 warns and goes on. /dev/shm has 64 MB in either (runs of podman 4.3; docker run manual).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from sbatchlint.analysis.launch.evidence import PROCESSORS, gpu_signs
from sbatchlint.bash.values import shown_text, text_of
from sbatchlint.job.commands.argv import integer
from sbatchlint.job.launchers import python_command
from sbatchlint.job.request import GPU_OPTIONS
from sbatchlint.source.edits import Edit
from sbatchlint.source.regex import Regex
from sbatchlint.source.text import Span

if TYPE_CHECKING:
    from sbatchlint.analysis.containers.container_starts import ContainerStart
    from sbatchlint.job import Job
    from sbatchlint.job.commands.argv import Given
    from sbatchlint.job.launches import Launch

# Engines whose containers have a network and a /dev/shm of their own unless they are told otherwise.
_ISOLATED = frozenset({"docker", "nvidia-docker", "nerdctl", "podman"})
# Options of a Python program that start further processes for loading data.
_LOADERS = Regex(
    r"--?(?:[\w.-]*[._-])?(?:num[_-]?workers|data[_-]?workers|workers|nworkers|dataloader[_-]num[_-]workers)"
)
# Variables that tell a program its place among others, where no launcher does.
_RANKS = frozenset({"RANK", "NODE_RANK", "WORLD_SIZE"})
# Options of scripts that are for sbatch, and not for a terminal with a few directives left in them.
_RESOURCES = (
    *("nodes", "ntasks", "ntasks-per-node", "cpus-per-task", "mem", "mem-per-cpu", "exclusive", *GPU_OPTIONS),
    *("partition", "account", "qos", "constraint", "nodelist", "array"),
)
_LETTERS = Regex(r"-[A-Za-z]+")


class Terminal(NamedTuple):
    """A container that asks for a terminal where there is none.

    `option`: the one that asks. `refused`: whether docker refuses to start; else it runs, with a terminal's line ends.
    `by_hand`: the script asks for no resources, and may be meant for a terminal. `edits`: what takes the request out;
    none where its words stand nowhere in the file.
    """

    start: ContainerStart
    option: Given
    refused: bool
    by_hand: bool
    edits: tuple[Edit, ...]


class Bridged(NamedTuple):
    """A program of several nodes in a container with a network of its own.

    `name`, `place`: what is to join the nodes. `published`: the container's `-p` options.
    """

    start: ContainerStart
    name: str
    place: Span
    published: tuple[Given, ...]
    edits: tuple[Edit, ...]


class SmallMemory(NamedTuple):
    """Processes that share memory in a container whose /dev/shm has 64 MB; `reason`: which, in a few words."""

    start: ContainerStart
    reason: str
    place: Span
    edits: tuple[Edit, ...]


class LockedMemory(NamedTuple):
    """An InfiniBand job in a container whose limit of locked memory is docker's."""

    start: ContainerStart
    sign: Span


def terminals(starts: list[list[ContainerStart]]) -> Iterator[Terminal]:
    """Containers with `-t` in a batch job."""
    for ways in starts:
        start = ways[0]
        if start.container.kind not in ("docker", "podman") or start.engine == "nerdctl":
            continue
        if not all(_asks_for_terminal(each) and each.has_terminal is False for each in ways):
            continue
        option = start.flag("tty")
        assert option is not None
        detached = any(each.flag("detach") for each in ways)
        refused = start.by_daemon and not detached and all(_takes_input(each) for each in ways)
        if refused or not detached:
            by_hand = not any(start.job.request.asked(name) for name in _RESOURCES)
            yield Terminal(start, option, refused, by_hand, _without_terminal(ways) or ())


def _asks_for_terminal(start: ContainerStart) -> bool:
    return start.verb in ("run", "exec") and start.flag("tty") is not None


def _takes_input(start: ContainerStart) -> bool:
    """Whether docker would connect its own standard input."""
    attached = [each.text for each in start.container.options if each.name == "attach"]
    return start.flag("interactive") is not None or "stdin" in attached


def _without_terminal(ways: list[ContainerStart]) -> tuple[Edit, ...] | None:
    """Takes `-t` out, and `-i` with it where nothing is fed to the program; None where they stand in other words."""
    start = ways[0]
    unwanted = {"tty"} if any(each.is_fed for each in ways) else {"tty", "interactive"}
    words: dict[int, set[str]] = {}
    for each in start.container.options:
        if each.name in ("tty", "interactive"):
            words.setdefault(each.at, set()).add(each.name)
    edits: list[Edit] = []
    for at, names in sorted(words.items()):
        field = start.invocation.argv[at]
        text = text_of(field)
        if text is None:
            return None
        if names <= unwanted and (text.startswith("--") or set(text[1:]) <= {"i", "t"}):
            edit = start.removed(at)
        elif not names & unwanted:
            continue
        elif _LETTERS.fullmatch(text):
            edit = _shorter(start, at, "it" if "interactive" in unwanted else "t")
        else:
            return None
        if edit is None:
            return None
        edits.append(edit)
    return tuple(edits)


def _shorter(start: ContainerStart, at: int, letters: str) -> Edit | None:
    """A cluster of letters without some of them: `-itd` to `-d`."""
    edit = start.removed(at)
    if edit is None:
        return None
    field = start.invocation.argv[at]
    text = shown_text(field)
    span = Span(field[0].start, field[-1].end)
    return Edit(span, re.sub(f"[{letters}]", "", text))


# --- network -----------------------------------------------------------------------------------


def bridged(starts: list[list[ContainerStart]]) -> Iterator[Bridged]:
    """Launches over several nodes that docker's own network separates."""
    for ways in starts:
        if not all(_is_isolated(each) and _has_own_network(each) for each in ways):
            continue
        start = ways[0]
        joining = [_joining(each) for each in ways]
        if joining[0] is None or None in joining:
            continue
        published = tuple(each for each in start.container.options if each.name in ("publish", "publish-all"))
        yield Bridged(start, *joining[0], published, _host_network(start, published))


def _is_isolated(start: ContainerStart) -> bool:
    return start.engine in _ISOLATED and start.verb == "run" and start.is_certain


def _has_own_network(start: ContainerStart) -> bool:
    option = start.container.option("network")
    return option is None or option.text in ("bridge", "default")


def _joining(start: ContainerStart) -> tuple[str, Span] | None:
    """What in a container is to find workers on other nodes."""
    for launch in start.launches:
        if _spans_nodes(launch):
            return launch.launcher.name, launch.launcher.span
    if start.launches or start.step is None or start.step.several_nodes is not True:
        return None
    handed = start.container.passed
    if "MASTER_ADDR" not in handed or not _RANKS & handed.keys() or start.invocation.context.restricted:
        return None  # no rank of a world is handed in
    program = next((each for each in start.program if python_command(each.argv) is not None), None)
    return None if program is None or program.name is None else (program.name, program.name_span)


def _spans_nodes(launch: Launch) -> bool:
    """Whether workers on several nodes are to find each other."""
    launcher, step = launch.launcher, launch.step
    if step is None or step.several_nodes is not True or launcher.standalone or not launcher.spawns:
        return False
    if launcher.kind in ("mpi", "ray") or launch.restricted and step.nodes is None:
        return False
    nodes = launcher.nnodes
    if isinstance(nodes, int):
        return nodes > 1
    if isinstance(nodes, tuple) and len(nodes) == 2 and isinstance(nodes[1], int):
        return nodes[1] > 1
    return nodes is not None


def _host_network(start: ContainerStart, published: tuple[Given, ...]) -> tuple[Edit, ...]:
    edits: list[Edit] = []
    network = start.container.option("network")
    if network is not None:
        return ()
    added = start.added("--network=host")
    if added is None:
        return ()
    edits.append(added)
    for each in published:
        for at in sorted({each.at, each.value_at}):
            edit = start.removed(at)
            if edit is None:
                return ()
            edits.append(edit)
    return tuple(edits)


# --- shared memory -----------------------------------------------------------------------------


def small_memory(starts: list[list[ContainerStart]]) -> Iterator[SmallMemory]:
    """Several processes in a container with the /dev/shm that docker gives."""
    for ways in starts:
        if not all(_is_isolated(each) and _has_small_memory(each) for each in ways):
            continue
        reasons = [_sharing(each) for each in ways]
        if reasons[0] is None or None in reasons:
            continue
        added = ways[0].added("--ipc=host")
        yield SmallMemory(ways[0], *reasons[0], () if added is None else (added,))


def _has_small_memory(start: ContainerStart) -> bool:
    container = start.container
    ipc = container.option("ipc")
    if container.option("shm-size") is not None or ipc is not None and ipc.text not in ("private", "shareable"):
        return False
    return not any((mount.target_text or "/dev/shm").rstrip("/") in ("/dev/shm", "/dev") for mount in container.mounts)


def _sharing(start: ContainerStart) -> tuple[str, Span] | None:
    """Which processes in the container share memory, and where they are started."""
    for launch in start.launches:
        launcher = launch.launcher
        each = launcher.processes_per_task
        if launcher.kind == "mpi" or not launcher.spawns or launcher.cpu or each == "cpu":
            continue
        if isinstance(each, int) and each > 1:
            return f"the {each} workers of {launcher.name}", launcher.span
        if each == "auto":
            return f"the workers of {launcher.name}", launcher.span
    for command in start.program:
        python = python_command(command.argv)
        if python is None:
            continue
        words = command.argv[python.after :]
        for at, field in enumerate(words):
            name, equals, value = shown_text(field).partition("=")
            if not _LOADERS.fullmatch(name):
                continue
            number = (
                int(value) if equals and value.isdigit() else integer(words[at + 1]) if at + 1 < len(words) else None
            )
            if number is not None and number > 0:
                return f"the {number} loaders of {name}", Span(field[0].start, field[-1].end)
    return None


def locked_memory(starts: list[list[ContainerStart]]) -> Iterator[LockedMemory]:
    """Containers that get InfiniBand devices and docker's limit of locked memory."""
    for ways in starts:
        if not all(_is_isolated(each) and not _lifts_limit(each) for each in ways):
            continue
        sign = _infiniband(ways[0])
        if sign is not None and all(_infiniband(each) is not None for each in ways):
            yield LockedMemory(ways[0], sign)


def _lifts_limit(start: ContainerStart) -> bool:
    limits = [each.text or "memlock" for each in start.container.options if each.name == "ulimit"]
    return any("memlock" in text or text == "host" for text in limits)


def _infiniband(start: ContainerStart) -> Span | None:
    for each in start.container.options:
        if each.name in ("device", "volume") and "/dev/infiniband" in (each.text or ""):
            return each.span
    return None


# --- life --------------------------------------------------------------------------------------


def orphans(job: Job, starts: list[list[ContainerStart]]) -> Iterator[ContainerStart]:
    """Containers of docker's daemon that nobody ends when the job is ended before its time."""
    ends = any(
        each.context.handler and any(text_of(field) in ("stop", "kill", "rm") for field in each.argv[1:4])
        for each in job.invocations
        if each.name in ("docker", "nvidia-docker", "sudo", "xargs", "srun")
    )
    if ends:
        return
    for ways in starts:
        start = ways[0]
        if start.by_daemon and start.verb == "run" and start.is_certain and not any(
            each.flag("init") and not each.flag("detach") or each.container.option("cgroup-parent") for each in ways
        ):  # fmt: skip
            yield start


def on_processors(start: ContainerStart) -> bool:
    """Whether something in the container says that it uses no GPU."""
    inside = {id(launch.invocation): launch.launcher for launch in start.launches}
    return any(
        sign.strength == PROCESSORS for each in start.program for sign in gpu_signs(each.argv, inside.get(id(each)))
    )
