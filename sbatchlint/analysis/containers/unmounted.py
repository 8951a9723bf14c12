"""Paths of the host that commands use inside a container which does not mount them.

Silent wherever the path may be there after all: a mount that is not known, a folder that images bring along, a file
system that the site may mount for everybody. What the site does shows in the script: nobody mounts what is there
already. Docker and podman mount nothing but what they are told.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from sbatchlint.analysis.storage.outputs import names_output
from sbatchlint.bash.interpreter.programs import file_name
from sbatchlint.bash.trace import Invocation
from sbatchlint.bash.values import Phase, Pieces, cut, known_prefix, shown_text, span_of
from sbatchlint.job.containers import Container, Mount
from sbatchlint.job.launches import container_of
from sbatchlint.job.paths import SHARED_VARIABLES, brought_along, classify, key, mount_of, under
from sbatchlint.job.steps import Step
from sbatchlint.source.regex import Regex
from sbatchlint.source.text import Span

if TYPE_CHECKING:
    from sbatchlint.job import Job

_PATH = Regex(r"/[\w.+@%-][\w.+@%/${}-]*|\$\{\w+\}(?:/[\w.+@%/${}-]*)?")
# Commands that make a path, only print it, or take it for a pattern.
_PATTERNS = frozenset({"sed", "awk", "grep", "egrep", "perl", "find"})
_MAKING = frozenset({"mkdir", "touch", "tee", "ln", "rm"})
_PRINTING = frozenset({"echo", "printf", "export", "declare", "local", "readonly", "test", "[", "[["})
_SKIPPED = _PATTERNS | _MAKING | _PRINTING
_CLEARLY_HOST = Regex(
    r"/(?:lustre|gpfs|fsx|beegfs|weka|ceph|panfs|pscratch|nfs|mnt/(?:lustre|gpfs|fsx|beegfs|weka|nfs))"
)
# File systems of clusters: who mounts one of them into a container has a site that mounts none for everybody.
_STORAGE = Regex(
    r"/(?:lustre|gpfs|fsx|beegfs|weka|ceph|panfs|pscratch|scratch|projects?|nfs)\w*/"
    r"|/mnt/(?:lustre|gpfs|fsx|beegfs|weka|nfs)\w*/"
)
_HOST_FOLDERS = SHARED_VARIABLES | {"PWD", "HOME", "OLDPWD"}
_BROUGHT = Regex(r"/(?:workspace|opt|app|code)(?:/|$)")
_HOME = Regex(r"\$\{HOME\}/|/home/\w")
TOLD_EVERYTHING = frozenset({"docker", "podman"})


class Unmounted(NamedTuple):
    """A path of the host in a container that does not see it.

    `kind`: `moved` (it is mounted elsewhere), `other` (another container mounts it), `beside` (only something beside it
    is mounted), `host` (nothing mounts it), `home`, `written` (a file that the script writes where it is submitted),
    `inside` (the other way round: a path of the container that a command of the host uses).
    `mount`: the mount that tells, if one does; `teller`: the container that has it. `instead`: the path to write, ''
    where there is none. `others`: further paths of the same container with the same fault.
    """

    kind: str
    path: str
    span: Span
    command: Invocation
    container: Container
    mount: Mount | None
    teller: Container | None
    instead: str
    others: tuple[Span, ...]


class _Use(NamedTuple):
    """A path in a word of a command. `option`: the name of the option whose value it is."""

    field: Pieces
    option: str
    command: Invocation
    container: Container

    @property
    def span(self) -> Span:
        """Where it stands in the command; where it is assigned, if the command has nothing of it but a variable."""
        within = self.command.span
        own = [piece for piece in self.field if within.start <= piece.start and piece.end <= within.end]
        return Span(own[0].start, own[-1].end) if own and own[0].start <= own[-1].end else span_of(self.field)


def find_unmounted(job: Job) -> Iterator[Unmounted]:
    """One for each container and what it lacks."""
    uses: dict[tuple[Span, Span], list[_Use]] = {}
    for command in job.invocations:
        container = container_of(command)
        if container is not None and command.phase is not Phase.SUBMIT and command.name not in _SKIPPED:
            for use in _paths(command, container):
                uses.setdefault((use.span, container.span), []).append(use)
    for command in job.invocations:
        entered = _entered(command)
        workdir = None if entered is None or command.phase is Phase.SUBMIT else entered.workdir
        if entered is not None and workdir and _is_of_host(workdir, command) and _PATH.fullmatch(key(workdir)):
            use = _Use(workdir, "workdir", command, entered)
            uses.setdefault((use.span, entered.span), []).append(use)
    if not uses:
        return
    host = _Host(job)
    found: dict[tuple[Span, str, str], list[tuple[_Use, str, Mount | None, Container | None]]] = {}
    for alternatives in uses.values():
        verdicts = [host.verdict(each) for each in alternatives]
        kind, mount, teller = verdicts[0]
        if all(verdict[0] for verdict in verdicts):
            root = key(mount.source) if mount is not None else _root(key(alternatives[0].field))
            group = (alternatives[0].container.span, kind, root)
            found.setdefault(group, []).append((alternatives[0], kind, mount, teller))
    for entries in found.values():
        use, kind, mount, teller = entries[0]
        path = key(use.field)
        instead = ""
        if kind == "moved" and mount is not None:
            instead = key(mount.target).rstrip("/") + path[len(key(mount.source).rstrip("/")) :]
        others = tuple(entry[0].span for entry in entries[1:4])
        yield Unmounted(kind, path, use.span, use.command, use.container, mount, teller, instead, others)


def _paths(command: Invocation, container: Container) -> Iterator[_Use]:
    """The absolute paths among the words of a command."""
    option = ""
    for field in command.argv:
        word = shown_text(field)
        value = field
        if word.startswith("-") or "=" in word:
            at = word.find("=")
            option = (word if at < 0 else word[:at]).lstrip("-")
            if at < 0:
                continue
            value = cut(field, at + 1, len(word))
        if value and _is_of_host(value, command) and _PATH.fullmatch(key(value)):
            yield _Use(value, option, command, container)
        if not word.startswith("-"):
            option = ""


def _is_of_host(field: Pieces, command: Invocation) -> bool:
    """Whether a path is literal at its beginning, or a folder that a shell outside of the container put in."""
    first = field[0]
    if first.text is not None:
        return first.text.startswith("/")
    expansion = first.expansion
    if expansion is None or len(field) > 1 and not known_prefix(field[1:]).startswith("/"):
        return False
    if not key(field[:1]).strip("${}").isidentifier():
        return False
    shell = None
    for each in (command, *command.ancestors()):
        if _entered(each) is not None:
            break
        shell = each if each.text is not None else shell
    # The outermost shell inside of the container got it with its text, or found it there itself.
    return shell is None or shell.text is None or any(piece.expansion == expansion for piece in shell.text.field)


def _root(path: str) -> str:
    """The file system that a path lies on, by its first folder, or two of them below /mnt, /n and the like."""
    parts = path.split("/")
    return "/".join(parts[:3] if len(parts) > 1 and parts[1] in ("mnt", "media", "n", "vol", "net") else parts[:2])


class _Host:
    """What the script tells of the host's paths: what its containers mount, and what its own commands use."""

    def __init__(self, job: Job) -> None:
        self.job = job
        self.containers: list[Container] = []
        self.used: set[str] = set()
        for each in job.invocations:
            container = _entered(each)
            if container is not None:
                self.containers.append(container)
            elif container_of(each) is None and each.phase is not Phase.SUBMIT and each.name not in ("echo", "export"):
                fields = [*each.argv[1:], *(redirect.target for redirect in each.redirects if redirect.target)]
                self.used.update(path for field in fields if _PATH.fullmatch(path := key(field)))

    def verdict(self, use: _Use) -> tuple[str, Mount | None, Container | None]:
        """Why a path is not seen, and which mount of which container tells; '' where it may be."""
        container, path = use.container, key(use.field)
        nothing = ("", None, None)
        if not container.certain or container.kind == "pyxis" and container.image is None:
            return nothing  # a container of that name may run already, with other mounts
        if mount_of(use.field, container) is not None or any(_may_hold(each, path) for each in container.mounts):
            return nothing
        if names_output(use.option) and classify(use.field, self.job.site, container).private:
            return nothing  # what is written there is lost, which is another fault
        own = next((each for each in container.mounts if _holds(each, path) and not _same(each)), None)
        if own is not None and not _is_mounted_by_site(container, own):
            return "moved", own, container
        if container.kind not in (*TOLD_EVERYTHING, "pyxis", "enroot") or brought_along(path):
            return nothing
        for other in self.containers:
            if other.kind == container.kind and other is not container:
                mount = next((each for each in other.mounts if _holds(each, path) and _same(each)), None)
                if mount is not None:
                    return "other", mount, other
        if container.kind in TOLD_EVERYTHING:
            return ("host", None, None) if self._is_clearly_host(use, path) else nothing
        if path.startswith("/"):
            storage = _STORAGE.match(path) is not None
            beside = (
                each
                for each in container.mounts
                if _same(each)
                and (_root(key(each.source)) == _root(path) or storage and _STORAGE.match(key(each.source)))
            )
            mount = next(beside, None)
            if mount is not None:
                return "beside", mount, container
        if container.home_mounted is False and _HOME.match(path):
            return "home", None, container
        return nothing

    def _is_clearly_host(self, use: _Use, path: str) -> bool:
        if path.startswith("$"):
            return path[2 : path.index("}")] in _HOST_FOLDERS
        if _CLEARLY_HOST.match(path):
            return True
        return any(under(path, each) and each.count("/") > 1 for each in self.used) or any(
            mount.source and under(path, key(mount.source)) and key(mount.source).count("/") > 1
            for other in self.containers
            for mount in other.mounts
        )


def _is_mounted_by_site(container: Container, mount: Mount) -> bool:
    """Whether what a mount takes from the host may be seen under its own name too, as sites mount their storage."""
    return container.kind == "shifter" or container.kind == "apptainer" and key(mount.source).startswith(("$", "."))


def _same(mount: Mount) -> bool:
    """Whether a mount has the same path on both sides."""
    return key(mount.source) == key(mount.target)


def _holds(mount: Mount, path: str) -> bool:
    """Whether a path lies in what a mount takes from the host, which is no folder that images have too."""
    source = key(mount.source) if mount.source else ""
    return source.startswith(("/", "$")) and source != "/" and not brought_along(source) and under(path, source)


def _may_hold(mount: Mount, path: str) -> bool:
    """Whether a mount's target may be a folder above a path, for all that is known of both."""
    target = key(mount.target)
    if target.startswith("$") or not target.startswith("/"):
        return target.partition("/")[0] != path.partition("/")[0] or "${" in target[2:]
    if "${" in target:
        return path.startswith(target.partition("${")[0])
    return path.startswith("$") and _same(mount) and not brought_along(target)


def find_left_behind(job: Job) -> Iterator[Unmounted]:
    """Files that the script writes where it is submitted, and a container looks for in another folder of the host."""
    written: dict[str, Invocation] = {}
    for command in job.invocations:
        container = container_of(command)
        if container is None:
            if command.phase is Phase.BATCH and command.name in ("cd", "pushd"):
                return
            for redirect in command.redirects:
                name = file_name(redirect.target) if redirect.target and ">" in redirect.operator else None
                if name is not None and command.stdin is not None and not name.startswith(("/", "\0", "~")):
                    written.setdefault(name, command)
            continue
        if not written or not container.certain or container.workdir is None or command.context.calls:
            continue
        mount = mount_of(container.workdir, container)
        source = "" if mount is None else key(mount[0].source) + mount[1] if mount[0].source else ""
        if mount is None or not source.startswith("/") or "${" in source or job.request.asked("chdir"):
            continue
        for field in command.argv:
            if file_name(field) in written and not any(each.name == "cd" for each in _before(command)):
                name = shown_text(field)
                inside = key(container.workdir)
                yield Unmounted("written", name, span_of(field), command, container, mount[0], None, inside, ())


def find_used_outside(job: Job) -> Iterator[Unmounted]:
    """Paths that only containers have, for all that the script tells, in commands of the host."""
    containers = [each for each in map(_entered, job.invocations) if each is not None]
    mounts = [(mount, each) for each in containers for mount in each.mounts if mount.source and not _same(mount)]
    if not mounts:
        return
    made = {key(field) for each in job.invocations if each.name in _SKIPPED or each.children for field in each.argv}
    for command in job.invocations:
        if command.phase is not Phase.BATCH or command.name in _SKIPPED or command.children or _entered(command):
            continue
        if container_of(command) is not None or command.context.tested and command.context.conditional:
            continue
        for use in _paths(command, containers[0]):
            path = key(use.field)
            if not _BROUGHT.match(path) or any(
                under(path, each) or under(each, path) for each in made if each[:1] == "/"
            ):
                continue
            if any(under(path, key(mount.source)) for mount, _ in mounts):
                continue
            for mount, container in mounts:
                target = key(mount.target)
                if target.startswith("/") and under(path, target):
                    instead = key(mount.source).rstrip("/") + path[len(target.rstrip("/")) :]
                    yield Unmounted("inside", path, use.span, command, container, mount, container, instead, ())
                    break


def _entered(command: Invocation) -> Container | None:
    """The container that a command starts, or a step that it is."""
    info = getattr(command.spawn, "info", None)
    container = info.container if isinstance(info, Step) else info
    return container if isinstance(container, Container) else None


def _before(command: Invocation) -> list[Invocation]:
    """What the shell of a command ran before it."""
    parent = command.context.parent
    return [] if parent is None else [each for each in parent.children if each.index < command.index]
