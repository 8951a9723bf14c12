"""Where a path leads: to storage that all nodes share, to a node's own disk, or into a container.

Many paths are ambiguous: `/scratch` is a parallel file system on one cluster and a local disk on the next. The settings
(`shared-paths`, `local-paths`, `home-is-shared`, `container-home-mounted`) take precedence.
"""

import re
from functools import lru_cache

from sbatchlint.bash.values import Expansion, Pieces, cut, expansions, is_open, shown_text, text_of
from sbatchlint.job.containers import Container, Mount
from sbatchlint.site import Site
from sbatchlint.source.records import Record
from sbatchlint.source.regex import Regex

SHARED, NODE_LOCAL, CONTAINER_LOCAL, IMAGE, UNKNOWN = "shared", "node-local", "container-local", "image", "unknown"

# First components (two where the second matters) that mean the same on nearly all clusters.
_SHARED_ROOTS = Regex(
    r"/(?:home|users|lustre\w*|gpfs\w*|fsx|nfs\w*|beegfs\w*|weka\w*|ceph\w*|panfs\w*|pscratch|cfs|shared\w*|projects?|work\d*"
    r"|global|flash|mnt/(?:lustre|gpfs|nfs|fsx|beegfs|weka|cephfs|efs|shared)\w*)(?:/|$)"
)
_LOCAL_ROOTS = Regex(
    r"/(?:tmp|var/tmp|dev/shm|local\w*|raid\w*|scratch_local|scratch/local|lscratch|nvme\w*|ssd\w*|tmpdir"
    r"|mnt/(?:nvme\w*|localdisk\w*|local_storage\w*|local\w*|ssd\w*|resource_nvme))(?:/|$)"
)
# Folders that images have.
_IMAGE_ROOTS = Regex(r"/(?:opt|workspace|app|code|usr|etc|var|bin|sbin|lib|lib64|srv)(?:/|$)")
# Names of the folder in which a script's shell starts.
HERE = frozenset({".", "${PWD}", "${SLURM_SUBMIT_DIR}"})
_PRINTED_FOLDER = frozenset({"$(pwd)", "$( pwd )", "`pwd`", "$(pwd -P)"})
_HOME_ROOTS = Regex(r"/(?:home|users|root)(?:/|$)")
_SYSTEM = Regex(r"/(?:dev|proc|sys)(?:/|$)")

LOCAL_VARIABLES = frozenset(
    {
        "TMPDIR", "TMP", "TEMP", "SLURM_TMPDIR", "SNIC_TMP", "LOCAL_SCRATCH", "LOCALSCRATCH", "SCRATCH_LOCAL",
        "L_SCRATCH", "L_SCRATCH_JOB", "LOCAL_TMPDIR", "TMP_LOCAL", "LOCAL_TMP", "LOCALTMP", "LOCAL_STORAGE",
        "XDG_RUNTIME_DIR",
    }
)  # fmt: skip
SHARED_VARIABLES = frozenset(
    {
        "SCRATCH", "WORK", "PROJECT", "PSCRATCH", "CSCRATCH", "CFS", "STORE", "GROUP_HOME", "GROUP_SCRATCH", "OAK",
        "ALL_CCFRWORK", "ALL_CCFRSCRATCH", "ALL_CCFRSTORE", "SLURM_SUBMIT_DIR", "MEMBERWORK", "PROJWORK", "WORLDWORK",
    }
)  # fmt: skip
# Variables that differ from node to node, or from task to task. HOSTNAME does not: in a job it names the first node.
_NODE_VARIABLES = frozenset({"SLURM_NODEID", "SLURMD_NODENAME", "SLURM_TOPOLOGY_ADDR", "GROUP_RANK", "NODE_RANK"})
_TASK_VARIABLES = frozenset(
    {"SLURM_PROCID", "SLURM_LOCALID", "SLURM_TASK_PID", "SLURM_GTIDS", "RANK", "LOCAL_RANK", "PMI_RANK", "PMIX_RANK"}
    | {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_LOCAL_RANK"}
)
_HOSTNAME = Regex(r"\$\(\s*(?:/bin/)?(?:hostname|uname -n|cat /etc/hostname|cat /proc/sys/kernel/hostname)\b")


class Location(Record):
    """Where a path leads.

    `kind`: `shared`, `node-local`, `container-local` (invisible to others, and lost unless the container is saved),
    `image` (a folder of the image; files written there are container-local too), `unknown`. `reason`: why, in a few
    words.
    """

    kind: str
    reason: str = ""
    path: Pieces = ()

    @property
    def per_node(self) -> tuple[Expansion, ...]:
        """The expansions that make it a different path on each node, if their phase is that of tasks."""
        return per_node(self.path)

    @property
    def per_task(self) -> tuple[Expansion, ...]:
        """The expansions that make it a different path in each task, if their phase is that of tasks."""
        return per_task(self.path)

    @property
    def private(self) -> bool:
        """Whether other nodes certainly cannot see it."""
        return self.kind in (NODE_LOCAL, CONTAINER_LOCAL, IMAGE)


def key(path: Pieces) -> str:
    """A path as a string that can be compared: `${NAME}` for each unknown piece, no double or final slashes.

    `$(pwd)` is `${PWD}`.
    """
    text = text_of(path)
    if text is not None:
        return _tidy(text)
    parts = []
    for piece in path:
        if piece.text is not None:
            parts.append(piece.text)
        else:
            name = piece.expansion.name if piece.expansion is not None else ""
            parts.append("${" + ("PWD" if name in _PRINTED_FOLDER else name) + "}")
    return _tidy("".join(parts))


@lru_cache(maxsize=4096)  # most scripts have the same words
def _tidy(string: str) -> str:
    """A path without double or final slashes, and with `${HOME}` for `~`."""
    if "//" in string or "/./" in string:
        string = re.sub(r"/(?:\./|/)+", "/", string)
    if string[:1] == "~" and (string == "~" or string[1] == "/"):
        string = "${HOME}" + string[1:]
    return string.rstrip("/") or string[:1]


def under(path: str, root: str) -> bool:
    """Whether a path is the folder `root`, or is inside it."""
    root = root.rstrip("/") or "/"
    return path == root or path.startswith(root if root == "/" else root + "/")


def per_node(path: Pieces) -> tuple[Expansion, ...]:
    """The expansions in a path that name the node."""
    return tuple(each for each in expansions(path) if each.name in _NODE_VARIABLES or _HOSTNAME.match(each.name))


def per_task(path: Pieces) -> tuple[Expansion, ...]:
    """The expansions in a path that name the task."""
    return tuple(each for each in expansions(path) if each.name in _TASK_VARIABLES)


@lru_cache(maxsize=1024)
def brought_along(path: str) -> bool:
    """Whether images usually have this folder too, so that a path below it need not be the host's."""
    return bool(
        path in ("", "/")
        or _IMAGE_ROOTS.match(path)
        or _SYSTEM.match(path)
        or any(under(path, root) for root in ("/tmp", "/root", "/run", "/home/ray", "/home/jovyan"))
    )


def mount_of(path: Pieces, container: Container) -> tuple[Mount, str] | None:
    """The mount through which a container sees a path, and the part of the path below its target; None if none."""
    mount, rest = _mounted(_without_dots(key(path)), container)
    return None if mount is None else (mount, rest)


def host_paths(path: Pieces, container: Container) -> list[Pieces]:
    """The paths on the host of a path in a container; empty where no mount leads there.

    Below the folder of the script's shell (`$PWD`), the relative path is among them too.
    """
    found = mount_of(path, container)
    if found is None or found[0].private or "$" in found[1]:
        return []
    mount, rest = found
    size = len(shown_text(path))
    names = [(*mount.source, *cut(path, size - len(rest), size))]
    if rest.startswith("/") and key(mount.source) in HERE:
        names.append(cut(path, size - len(rest) + 1, size))
    return names


def classify(
    path: Pieces, site: Site | None = None, container: Container | None = None, workdir: Pieces | None = None
) -> Location:
    """Where a path leads that a command uses, in `container` if it runs in one.

    `workdir`: the working directory for relative paths, which are unknown without it.
    """
    site = site or Site()
    text = key(path)
    relative = bool(text) and not text.startswith(("/", "${"))
    if not text or is_open(path[:1]) and text.startswith("${@"):
        return Location(UNKNOWN, "", path)
    if relative:
        if workdir is None or key(workdir)[:1] not in ("/", "$"):
            return Location(UNKNOWN, "relative to a folder that is not known", path)
        text = f"{key(workdir).rstrip('/')}/{text.removeprefix('./')}"
    text = _without_dots(text)
    kind, reason = _inside(text, site, container) if container is not None else _on_host(text, site)
    return Location(kind, reason, path)


def _without_dots(string: str) -> str:
    """A path without `.` and `..` (`a/b/../c` is `a/c`); a `..` after an unknown piece stays."""
    if "/.." not in string and "/." not in string:
        return string
    parts: list[str] = []
    for part in string.split("/"):
        if part == "." and parts:
            continue
        if part == ".." and parts and parts[-1] not in ("", "..") and "$" not in parts[-1]:
            parts.pop()
        else:
            parts.append(part)
    return "/".join(parts) or "/"


def _on_host(string: str, site: Site) -> tuple[str, str]:
    configured = _configured(string, site)
    if configured is not None:
        return configured
    if string.startswith("${"):
        return _of_variable(string, site)
    if string.startswith("/root/") or string == "/root":
        return NODE_LOCAL, "root's home folder"
    found = _LOCAL_ROOTS.match(string)
    if found:
        return NODE_LOCAL, f"{found.group(0).rstrip('/')} is local to each node"
    found = _SHARED_ROOTS.match(string)
    if found:
        if _HOME_ROOTS.match(string) and site.home_is_shared is False:
            return NODE_LOCAL, "home folders are not shared here"
        return SHARED, f"{found.group(0).rstrip('/')} is shared storage"
    return UNKNOWN, ""


def _configured(string: str, site: Site) -> tuple[str, str] | None:
    """The kind and reason by the settings, of which the longest folder counts; None where they say nothing."""
    best: tuple[str, str] | None = None
    longest = -1
    for kind, roots in ((SHARED, site.shared_paths), (NODE_LOCAL, site.local_paths)):
        for root in roots:
            name = re.sub(r"\$(\w+)", r"${\1}", root)
            if len(name) > longest and under(string, name):
                longest = len(name)
                best = kind, f"{root} is {kind} by the settings"
    return best


def _of_variable(string: str, site: Site) -> tuple[str, str]:
    """The kind and reason of a path that begins with a variable (or a command) whose value is not known."""
    name = string[2 : string.index("}")] if "}" in string else ""
    if name == "HOME":
        if site.home_is_shared is False:
            return NODE_LOCAL, "home folders are not shared here"
        return SHARED, "home folders are shared"
    if name in LOCAL_VARIABLES:
        return NODE_LOCAL, f"${name} is local to each node"
    if name in SHARED_VARIABLES:
        return SHARED, f"${name} is shared storage"
    made = re.fullmatch(r"\$\(\s*mktemp\b(.*)\)", name, re.DOTALL)
    return _of_mktemp(made.group(1).split(), site) if made else (UNKNOWN, "")


def _of_mktemp(words: list[str], site: Site) -> tuple[str, str]:
    """The kind and reason of what `mktemp` makes: below its folder, TMPDIR or /tmp, or as its template says."""
    own = NODE_LOCAL, "mktemp makes it under /tmp of one node"
    template: str | None = None
    folder: str | None = None
    temporary = False
    for word, following in zip(words, [*words[1:], ""], strict=False):
        if word == "-p" or word == "--tmpdir":
            folder = following
        elif word.startswith("--tmpdir="):
            folder = word.partition("=")[2]
        elif re.fullmatch(r"-[dqut]*t[dqu]*", word):
            temporary = True
        elif not word.startswith("-") and word != folder and not word.startswith((">", "2>", "|")):
            template = word
    place = folder if folder is not None else template if not temporary else None
    if place is None:
        return own
    place = re.sub(r"\$(\w+)", r"${\1}", place.replace('"', "").replace("'", ""))
    if not place.startswith(("/", "${")):
        return UNKNOWN, ""
    # a variable with a default is not just the variable
    return _on_host(place, site) if re.match(r"/|\$\{\w+\}", place) else (UNKNOWN, "")


def _inside(string: str, site: Site, container: Container) -> tuple[str, str]:
    """The kind and reason of a path inside a container, by its mounts."""
    mount, rest = _mounted(string, container)
    if mount is not None:
        if mount.private:
            return CONTAINER_LOCAL, "a volume of this container only"
        kind, reason = _on_host(_without_dots(key(mount.source).rstrip("/") + rest), site)
        source = key(mount.source)
        return kind, f"mounted from {source}" + (f": {reason}" if reason else "")
    if not container.certain:
        # An unknown word may hold mounts.
        return UNKNOWN, ""
    home = string.startswith("${HOME}") or bool(_HOME_ROOTS.match(string))
    if home:
        # A mounted home folder has the same path inside, except root's, which is the image's.
        mounted = container.home_mounted
        if mounted is None and container.kind == "pyxis":
            mounted = site.container_home_mounted
        if mounted and not string.startswith("/root"):
            return _on_host(string, site)
        if mounted is False or (string.startswith("/root") and mounted is not True):
            return CONTAINER_LOCAL, "the home folder is not mounted in the container"
        return UNKNOWN, ""
    if under(string, "/dev/shm") or _SYSTEM.match(string):
        return NODE_LOCAL, "/dev belongs to the node"
    if under(string, "/tmp") or under(string, "/var/tmp"):
        if container.tmp:
            return NODE_LOCAL, "/tmp is the node's own"
        if container.tmp is None and container.kind not in ("pyxis", "enroot"):
            return NODE_LOCAL, "/tmp is seen by one node only"
        return CONTAINER_LOCAL, "/tmp is the container's own"
    if _IMAGE_ROOTS.match(string):
        return IMAGE, "a folder of the container's image"
    host, reason = _on_host(string, site)
    if string.startswith("${"):
        # The host's value of a variable is a place that need not be mounted.
        return (NODE_LOCAL, reason) if host == NODE_LOCAL else (UNKNOWN, "")
    if container.system_mounts and host in (SHARED, NODE_LOCAL):
        # Sites usually mount such folders.
        return (NODE_LOCAL, reason) if host == NODE_LOCAL else (UNKNOWN, "")
    if container.system_mounts and container.kind != "pyxis":
        return UNKNOWN, ""
    return CONTAINER_LOCAL, "no mount of the container covers it"


def _mounted(string: str, container: Container) -> tuple[Mount | None, str]:
    found: Mount | None = None
    rest = ""
    longest = -1
    for mount in container.mounts:
        target = key(mount.target)
        if target.startswith(("/", "${")) and len(target) >= longest and under(string, target):
            longest = len(target)
            found = mount
            rest = string if target == "/" else string[len(target) :]
    return found, rest
