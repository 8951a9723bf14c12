"""A path does not exist: it is one of the host, and nothing mounts it in the container.

Docker and Podman mount nothing of the host but what `-v` and `--mount` name; pyxis mounts what `--container-mounts`
names and what the site mounts for everybody. Inside, a folder has the path of the mount's target: with
`--container-mounts=/lustre/team/data:/data` the file `/lustre/team/data/train.bin` is `/data/train.bin`, and the first
name gives `No such file or directory`; outside it is the other way round. A file that the script writes under a
relative name is in the folder where the job was submitted, which need not be the one that is the container's working
directory.

Nothing is reported wherever the path may exist after all: an unknown mount, folders that images contain, file systems
that the site may mount (with pyxis: all that the script does not itself mount for another container, as there is no
need to mount what is there already), and Apptainer's own binds.

## Fix

None: the script does not show whether the path or the mount is wrong.

## References

README of pyxis; enroot's conf/mounts; docker run, `--volume`
"""

import posixpath
import re
from collections.abc import Iterator
from functools import cache, cached_property
from typing import NamedTuple

from sbatchlint.analysis.storage.written_paths import names_output
from sbatchlint.bash.interpreter.programs import file_name
from sbatchlint.bash.trace import Invocation
from sbatchlint.bash.values import UNKNOWN_CHARACTER, Phase, Pieces, cut, known_prefix, shown_text, span_of, text_of
from sbatchlint.check import Bad, Card, Finding, Good, Job, Span
from sbatchlint.job.containers import Container, Mount
from sbatchlint.job.launches import container_of, entered
from sbatchlint.job.once import once
from sbatchlint.job.paths import SHARED_VARIABLES, brought_along, classify, key, mount_of, under
from sbatchlint.job.programs import commands_named
from sbatchlint.source.regex import Regex
from sbatchlint.triggers import Containers

CARD = Card(
    "SB507", "container-path-not-mounted", severity="warning", fix="never", since="0.1.0", when=Containers(),
)  # fmt: skip

ADVICE = {"pyxis": "add it to `--container-mounts`", "apptainer": "add it to `--bind`", "docker": "mount it with `-v`"}
MOUNT_NOTHING_ELSE = frozenset({"docker", "podman"})

PATH = Regex(r"/[\w.+@%-][\w.+@%/${}-]*|\$\{\w+\}(?:/[\w.+@%/${}-]*)?")
# Commands that create a path, only print it, or treat it as a pattern.
SKIPPED = frozenset(
    {"mkdir", "touch", "tee", "ln", "rm", "echo", "printf", "export", "declare", "local", "readonly", "test", "[", "[["}
    | {":", "true", "sed", "awk", "grep", "egrep", "perl", "find"}
)
CLEARLY_HOST = Regex(
    r"/(?:lustre|gpfs|fsx|beegfs|weka|ceph|panfs|pscratch|nfs|mnt/(?:lustre|gpfs|fsx|beegfs|weka|nfs))"
)
# Cluster file systems: a script that mounts one of them runs at a site that does not mount them for everybody.
STORAGE = Regex(
    r"/(?:lustre|gpfs|fsx|beegfs|weka|ceph|panfs|pscratch|scratch|projects?|nfs)\w*/"
    r"|/mnt/(?:lustre|gpfs|fsx|beegfs|weka|nfs)\w*/"
)
HOST_FOLDERS = SHARED_VARIABLES | {"PWD", "HOME", "OLDPWD"}
IN_IMAGES = Regex(r"/(?:workspace|opt|app|code)(?:/|$)")
_A_HOME = Regex(r"(?:/\w+)*/(?:homes?|users?|u)\d*/\w")
HOME = Regex(r"\$\{HOME\}/|/home/\w")


def check(job: Job) -> Iterator[Finding]:
    yield from _not_mounted(job)
    yield from _written_elsewhere(job)
    yield from _used_outside(job)


def _shown(path: str) -> str:
    return "`" + re.sub(r"\$\{(\w+)\}(?!\w)", r"$\1", path) + "`"


# --- paths of the host in a container ----------------------------------------------------------------


class Use(NamedTuple):
    """A path in a word of a command. `option`: the name of the option whose value it is."""

    field: Pieces
    option: str
    command: Invocation
    container: Container

    @property
    def span(self) -> Span:
        """The place of the path in the command, or where it is assigned if the command only has a variable."""
        within = self.command.span
        own = [piece for piece in self.field if within.start <= piece.start and piece.end <= within.end]
        return Span(own[0].start, own[-1].end) if own and own[0].start <= own[-1].end else span_of(self.field)


class Reason(NamedTuple):
    """Why a path does not exist in a container, with the mount that shows it, of `container`, if there is one.

    `kind`: `moved` (it is mounted elsewhere), `other` (another container mounts it), `beside` (only a folder next to it
    is mounted), `host` (nothing mounts it), `home` (the home folder is not mounted).
    """

    kind: str
    mount: Mount | None = None
    container: Container | None = None


def _not_mounted(job: Job) -> Iterator[Finding]:
    """One finding for each container and missing file system."""
    uses: dict[tuple[Span, Span], list[Use]] = {}
    for command in job.invocations:
        if command.phase is Phase.SUBMIT:
            continue
        found: list[Use] = []
        if command.context.parent is not None and command.name not in SKIPPED:
            container = container_of(command)
            found.extend(_paths(command, container) if container is not None else ())
        started = entered(command) if command.spawn.info is not None else None
        if started is not None and started.workdir and _is_path_of_host(started.workdir, command):
            found.append(Use(started.workdir, "workdir", command, started))
        for use in found:
            uses.setdefault((use.span, use.container.span), []).append(use)
    if not uses:
        return
    host = _Host(job)
    groups: dict[tuple[Span, str, str], list[tuple[Use, Reason]]] = {}
    for alternatives in uses.values():
        reasons = [reason for each in alternatives if (reason := host.reason(each)) is not None]
        if len(reasons) == len(alternatives):
            use, reason = alternatives[0], reasons[0]
            root = key(reason.mount.source) if reason.mount is not None else _root(key(use.field))
            groups.setdefault((use.container.span, reason.kind, root), []).append((use, reason))
    for (use, reason), *others in groups.values():
        related = [(other.span, "also not mounted") for other, _ in others[:3]]
        if reason.mount is not None:
            related.append((reason.mount.span, "mounted here"))
        yield Finding(use.span, _message(job, use, reason), related=related)


def _message(job: Job, use: Use, reason: Reason) -> str:
    path, line = key(use.field), job.line(use.container.span.start)
    shown = _shown(path)
    advice = ADVICE.get(use.container.kind, "mount it")
    if reason.kind == "home":
        return f"the container on line {line} does not see the home folder, so {shown} is missing there; {advice}"
    if reason.mount is None:
        return f"the container on line {line} does not mount {shown}, a path on the host; {advice}"
    source, target = key(reason.mount.source), key(reason.mount.target)
    if reason.kind == "moved":
        instead = target.rstrip("/") + path[len(source.rstrip("/")) :]
        return f"the container on line {line} sees {_shown(source)} as {_shown(target)}; write {_shown(instead)}"
    if reason.kind == "other" and reason.container is not None:
        there = job.line(reason.container.span.start)
        elsewhere = f"the container on line {there} mounts {_shown(source)}"
        return f"the container on line {line} does not see {shown}, but {elsewhere}; {advice} here too"
    return f"the container on line {line} mounts {_shown(source)}, but not {shown}; {advice}"


def _paths(command: Invocation, container: Container) -> Iterator[Use]:
    """The absolute host paths among the words of a command."""
    argv, words = command.argv, command.words
    for number, word in enumerate(words):
        at = word.find("=") + 1
        if word[at : at + 1] not in ("/", UNKNOWN_CHARACTER):
            continue
        value = cut(argv[number], at, len(word)) if at else argv[number]
        if _is_path_of_host(value, command):
            before = words[number - 1] if number else ""
            owner = word if at else before if before[:1] == "-" else ""
            yield Use(value, owner.partition("=")[0].lstrip("-"), command, container)


def _is_path_of_host(field: Pieces, command: Invocation) -> bool:
    """Whether a path begins literally, or with a variable that a shell outside the container expanded."""
    first = field[0]
    if first.text is not None and not first.text.startswith("/") or not PATH.fullmatch(key(field)):
        return False
    if first.text is not None:
        return True
    expansion = first.expansion
    if expansion is None or len(field) > 1 and not known_prefix(field[1:]).startswith("/"):
        return False
    if not key(field[:1]).strip("${}").isidentifier():
        return False
    shell = None
    for ancestor in (command, *command.ancestors()):
        if entered(ancestor) is not None:
            break
        shell = ancestor if ancestor.text is not None else shell
    # The outermost shell in the container got the value in its program, or expanded the variable itself.
    return shell is None or shell.text is None or any(piece.expansion == expansion for piece in shell.text.field)


def _root(path: str) -> str:
    """The file system of a path: its first folder, or the first two below /mnt, /n and the like."""
    parts = path.split("/")
    return "/".join(parts[:3] if len(parts) > 1 and parts[1] in ("mnt", "media", "n", "vol", "net") else parts[:2])


class _Sides:
    """A mount, with its source on the host and its target in the container as strings that can be compared.

    `host_source`: the source on the host; None for a folder that images have too.
    """

    def __init__(self, mount: Mount) -> None:
        self.mount = mount
        self.source = key(mount.source)
        self.target = key(mount.target)
        self.are_same = self.source == self.target
        of_host = self.source.startswith(("/", "$")) and not brought_along(self.source)
        self.host_source = self.source if of_host else None


class _Host:
    """What the script shows about paths of the host: those that containers mount, and those that its commands use."""

    def __init__(self, job: Job) -> None:
        self.job = job
        self.containers = [each for each in map(entered, job.invocations) if each is not None]
        self.sides = cache(lambda container: [_Sides(each) for each in container.mounts])

    @cached_property
    def mounted(self) -> list[tuple[Container, Mount, str]]:
        """The mounts of all containers with the same path on both sides, and that path."""
        sides = [(each, one) for each in self.containers for one in self.sides(each) if one.are_same]
        return [(each, one.mount, one.host_source) for each, one in sides if one.host_source is not None]

    @cached_property
    def paths(self) -> set[str]:
        """The paths that commands outside containers use, and those that containers mount."""
        found = {key(mount.source) for each in self.containers for mount in each.mounts if mount.source}
        for command in self.job.invocations:
            if entered(command) is not None or container_of(command) is not None:
                continue
            if command.phase is not Phase.SUBMIT and command.name not in ("echo", "export"):
                fields = [*command.argv[1:], *(redirect.target for redirect in command.redirects if redirect.target)]
                found.update(path for field in fields if PATH.fullmatch(path := key(field)))
        return found

    def reason(self, use: Use) -> Reason | None:
        """Why a path does not exist in its container; None where it may exist."""
        container, path = use.container, key(use.field)
        if not container.certain or container.kind == "pyxis" and container.image is None:
            return None  # a container of that name may run already, with other mounts
        sides = self.sides(container)
        if mount_of(use.field, container) is not None or any(_may_hold(each, path) for each in sides):
            return None
        if names_output(use.option) and classify(use.field, self.job.site, container).private:
            return None  # output written there is lost, which is another check's fault to report
        if container.kind == "apptainer" and _is_in_working_folder(self.job, use, path):
            return None
        moved = (each for each in sides if not each.are_same and each.host_source is not None)
        own = next((each for each in moved if under(path, each.source)), None)
        if own is not None and not _is_mounted_by_site(container, own):
            return Reason("moved", own.mount, container)
        if container.kind not in (*MOUNT_NOTHING_ELSE, "pyxis", "enroot") or brought_along(path):
            return None
        for other, mount, source in self.mounted:
            if other.kind == container.kind and other is not container and under(path, source):
                return Reason("other", mount, other)
        if container.kind in MOUNT_NOTHING_ELSE:
            return Reason("host") if self._is_clearly_host(path) else None
        if path.startswith("/"):
            storage = STORAGE.match(path) is not None
            for side in sides:
                if side.are_same and (_root(side.source) == _root(path) or storage and STORAGE.match(side.source)):
                    return Reason("beside", side.mount, container)
        return Reason("home") if container.home_mounted is False and HOME.match(path) else None

    def _is_clearly_host(self, path: str) -> bool:
        if path.startswith("$"):
            return path[2 : path.index("}")] in HOST_FOLDERS
        if CLEARLY_HOST.match(path):
            return True
        return any(under(path, each) and each.count("/") > 1 for each in self.paths)


def _is_in_working_folder(job: Job, use: Use, path: str) -> bool:
    """Whether Apptainer, which mounts the folder in which it starts, is started in a folder that holds the path."""
    if use.container.option("contain", "containall", "c", "C", "no-mount") is not None:
        return False
    before = (each for each in commands_named(job, "cd", "pushd") if each.index < use.command.index)
    folders = [each for each in before if each.context.parent is None]
    entered_last = key(folders[-1].argv[1]) if folders and len(folders[-1].argv) == 2 else ""
    return entered_last[:1] in ("/", "$") and under(path, entered_last)


def _is_mounted_by_site(container: Container, sides: _Sides) -> bool:
    """Whether the site may also mount the source of a mount under its own name."""
    if container.kind == "apptainer" and container.home_mounted is not False and _A_HOME.match(sides.source):
        return True  # apptainer mounts the home folder itself
    return container.kind == "shifter" or container.kind == "apptainer" and sides.source.startswith(("$", "."))


def _may_hold(sides: _Sides, path: str) -> bool:
    """Whether the target of a mount may be a parent of a path, as far as both are known."""
    target = sides.target
    if target.startswith("$") or not target.startswith("/"):
        return target.partition("/")[0] != path.partition("/")[0] or "${" in target[2:]
    if "${" in target:
        return path.startswith(target.partition("${")[0])
    return path.startswith("$") and sides.are_same and not brought_along(target)


# --- files of the folder of submission, and paths of a container on the host ---------------------------


def _written_elsewhere(job: Job) -> Iterator[Finding]:
    """Files that the script writes in its folder, and a container reads in another folder of the host."""
    written: dict[str, str] = {}
    folder = ""
    for command in job.invocations:
        container = container_of(command)
        if container is None:
            if command.phase is Phase.BATCH and command.name in ("cd", "pushd") and not command.context.shell.depth:
                folder = text_of(command.argv[1]) or "" if len(command.argv) == 2 else ""
                if folder[:1] != "/" or command.alternatives > 1 or command.context.conditional:
                    return
            for redirect in command.redirects:
                name = file_name(redirect.target) if redirect.target and ">" in redirect.operator else None
                if name is not None and command.stdin is not None and not name.startswith(("/", "\0", "~")):
                    written[name] = f"in {posixpath.normpath(folder)}" if folder else "where sbatch runs"
            continue
        if not written or not container.certain or container.workdir is None or command.context.calls:
            continue
        mount, rest = mount_of(container.workdir, container) or (None, "")
        source = "" if mount is None or not mount.source else key(mount.source) + rest
        if mount is None or not source.startswith("/") or "${" in source or job.request.has_option("chdir"):
            continue
        parent = command.context.parent
        if parent is not None and any(each.name == "cd" and each.index < command.index for each in parent.children):
            continue
        for field in command.argv:
            place = written.get(file_name(field) or "")
            if place is not None and place != f"in {posixpath.normpath(source)}":
                name = shown_text(field).removeprefix("./")
                yield Finding(
                    span_of(field),
                    f"`{name}` is written {place}, but the container on line {job.line(container.span.start)} sees "
                    f"{_shown(source)} as {_shown(key(container.workdir))}; write {_shown(f'{source}/{name}')}",
                    related=[(mount.span, "mounted here")],
                )


@once
def _named(job: Job) -> frozenset[str]:
    """The absolute paths in words of commands that may create files or folders."""
    making = (each for each in job.invocations if each.name in SKIPPED or each.children)
    return frozenset(path for each in making for field in each.argv if (path := key(field))[:1] == "/")


def _used_outside(job: Job) -> Iterator[Finding]:
    """Paths that exist only in containers, as far as the script shows, in commands that run on the host."""
    containers = [each for each in map(entered, job.invocations) if each is not None]
    moved = [(_Sides(mount), each) for each in containers for mount in each.mounts if mount.source]
    moved = [(sides, each) for sides, each in moved if not sides.are_same]
    # folders that images contain, or a parent of these
    mounts = [(sides, each) for sides, each in moved if sides.target == "/" or IN_IMAGES.match(sides.target)]
    if not mounts:
        return
    known = {sides.source for sides, _ in moved}
    for command in job.invocations:
        if command.phase is not Phase.BATCH or command.name in SKIPPED or command.children or entered(command):
            continue
        if command.name is not None and command.name[:1] == "-":  # the line before lacks its backslash
            continue
        if container_of(command) is not None or command.context.tested and command.context.conditional:
            continue
        for use in _paths(command, containers[0]):
            path = key(use.field)
            if not IN_IMAGES.match(path) or any(under(path, each) for each in known):
                continue
            if any(under(path, each) or under(each, path) for each in _named(job)):
                continue
            for sides, container in mounts:
                if under(path, sides.target):
                    instead = sides.source.rstrip("/") + path[len(sides.target.rstrip("/")) :]
                    yield Finding(
                        use.span,
                        f"{_shown(path)} is a path inside the container on line {job.line(container.span.start)}, but "
                        f"this command runs on the host; write {_shown(instead)}",
                        related=[(sides.mount.span, "mounted here")],
                    )
                    break


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        srun --container-image=/images/train.sqsh --container-mounts=/lustre/team/data:/data \\
            python train.py --data-path «/lustre/team/data/train.bin»
        """,
        title="mounted under another name",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        srun docker run --rm -v /lustre/team/code:/workspace trainer python train.py --data=«/lustre/team/data»
        """,
        title="docker mounts nothing else",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        srun --container-image=/images/a.sqsh --container-mounts=/fsx/team:/fsx/team python prepare.py /fsx/team/data
        srun --container-image=/images/a.sqsh python train.py «/fsx/team/data»
        """,
        title="only the other step mounts it",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        host_workspace=/data/projects/llm
        docker_workspace=/workspace
        cat > run.sh <<'EOF'
        python train.py
        EOF
        srun docker run --rm -v $host_workspace:$docker_workspace -w $docker_workspace trainer bash «run.sh»
        """,
        title="the script lies in the folder of submission",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        srun --container-image=/images/train.sqsh --container-mounts=/lustre/team/code:/work \\
            python /work/train.py --data-path /lustre/team/data/train.bin
        """,
        title="the site may mount /lustre for everybody",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        srun docker run --rm -v /lustre/team:/lustre/team trainer python /opt/app/train.py --data=/lustre/team/data
        srun docker run --rm $MOUNTS trainer python train.py --data=/lustre/team/data
        """,
        title="mounted, in the image, or not known",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        apptainer exec --bind /home/ada:/home/studio studio.sif serve --key=/home/ada/studio/key
        apptainer exec --bind /nfs/users/ada:/data studio.sif serve --key=/nfs/users/ada/studio/key
        """,
        title="a home folder, which apptainer mounts by itself",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        apptainer exec --no-home --bind /home/ada:/home/studio studio.sif serve --key=«/home/ada/studio/key»
        """,
        title="but not here",
    ),
]
