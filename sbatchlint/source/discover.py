"""Finds batch scripts.

A file is one by its content: an `#SBATCH` line where sbatch reads directives. Folders are walked as git does, without
what .gitignore excludes.
"""

import errno
import os
import re
import stat
from collections.abc import Callable, Iterator
from itertools import islice
from typing import NamedTuple

from sbatchlint.source.patterns import Patterns
from sbatchlint.source.regex import Regex
from sbatchlint.source.text import begins_as_script, utf_16

BATCH_ENDINGS = (".sbatch", ".slurm", ".slrm", ".job", ".batch")

MARKDOWN_ENDINGS = (".md", ".mdx", ".markdown", ".qmd", ".rmd")
PYTHON_ENDINGS = (".py",)
NOTEBOOK_ENDINGS = (".ipynb",)
DOCUMENT_ENDINGS = (*MARKDOWN_ENDINGS, ".rst", *PYTHON_ENDINGS, *NOTEBOOK_ENDINGS)
# Of these only some are: those with the settings of a workflow engine for Slurm.
YAML_ENDINGS = (".yaml", ".yml")
NEXTFLOW_ENDINGS = (".config", ".nf")

# Folders in which tools keep other people's files.
DEFAULT_EXCLUDE = (
    ".bzr",
    ".direnv",
    ".eggs",
    ".git",
    ".hg",
    ".ipynb_checkpoints",
    ".mypy_cache",
    ".nox",
    ".pytest_cache",
    ".ruff_cache",
    ".svn",
    ".tox",
    ".venv",
    "__pycache__",
    "__pypackages__",
    "node_modules",
    "site-packages",
    "venv",
)

# Lines of .gitignore files that one search heeds without git: each line is compared with each name.
MOST_GITIGNORE_LINES = 5000

# Output of jobs, in which a script may be shown: `train.log`, `job.o1234`, `slurm-1234_5`.
_LOG = Regex(r"(?i).*\.(?:out|log|err|[oe]\d+(?:[-.]\d+)?)(?:\.\d+)?\Z|slurm-\d+(?:_\w+)?(?:[-.]\w+)*\Z")
_DIRECTIVE = Regex(rb"^(?:\xef\xbb\xbf)?[ \t]*#SBATCH\b", re.MULTILINE)
_WRAPPED = Regex(rb"\bsbatch\b.*--wrap\b")
_SNAKEMAKE = Regex(
    rb"^[ ]*(?:-[ ]+)?[\"']?(?:slurm_extra|cluster(?:-sync|-generic-(?:sync-)?submit-cmd)?)[\"']?[ ]*[:=]", re.MULTILINE
)
_SHELL = Regex(rb"#!\s*(?:\S*/)?(?:env\s+(?:-\S+\s+)*)?(?:\S*/)?(?:ba|z|k|da|a|tc|c|fi)?sh\b")
# Scripts of other languages can be submitted, too; their directives are in the comments at the top.
_HEAD = Regex(rb"(?:\xef\xbb\xbf)?(?:[ \t]*(?:#[^\n]*|\r?)\n)*[ \t]*(?:#[^\n]*)?")
_OTHER_LANGUAGES = frozenset(
    (
        *(".c", ".cc", ".cpp", ".cu", ".css", ".go", ".h", ".hpp", ".html", ".ipynb", ".java", ".jl", ".js", ".json"),
        *(".lua", ".m", ".md", ".nf", ".pl", ".py", ".pyi", ".r", ".rb", ".rmd", ".rs", ".rst", ".smk", ".tex"),
        *(".toml", ".ts", ".txt", ".xml", ".yaml", ".yml"),
    )
)


def is_batch_name(path: str) -> bool:
    """Whether the suffix of a path says that it is a batch script."""
    return path.lower().endswith(BATCH_ENDINGS)


def is_document(path: str, data: bytes) -> bool:
    """Whether a file may hold scripts among other text: Markdown, Python, a notebook, settings of a workflow engine."""
    ending = path.lower()
    if ending.endswith(YAML_ENDINGS):
        return _SNAKEMAKE.search(data) is not None and not is_batch_script(data, path)
    if ending.endswith(NEXTFLOW_ENDINGS):
        return b"clusterOptions" in data and not is_batch_script(data, path)
    return ending.endswith(DOCUMENT_ENDINGS) and not (ending.endswith(PYTHON_ENDINGS) and is_batch_script(data, path))


def is_batch_script(data: bytes, path: str = "") -> bool:
    """Whether the content is that of a batch script, or of a shell script that submits one inside it; never a log's."""
    if b"\0" in data:
        if not begins_as_script(data):
            return False
        data = (utf_16(data) or "").encode() or data
    marked = b"#SBATCH" in data
    if not marked and b"--wrap" not in data or _LOG.match(os.path.basename(path)):
        return False
    shebang = data[:2] == b"#!" or data[:5] == b"\xef\xbb\xbf#!"
    if shebang:
        shell = _SHELL.match(data.removeprefix(b"\xef\xbb\xbf")) is not None
    else:
        shell = os.path.splitext(path)[1].lower() not in _OTHER_LANGUAGES
    if shell:
        return _DIRECTIVE.search(data) is not None or (shebang and _WRAPPED.search(data) is not None)
    head = _HEAD.match(data)
    return head is not None and _DIRECTIVE.search(head.group()) is not None


def submits_scripts(data: bytes) -> bool:
    """Whether a shell script calls sbatch, salloc or srun, so that it is linted if the command line names it."""
    return _SHELL.match(data.removeprefix(b"\xef\xbb\xbf")) is not None and _SUBMITS.search(data) is not None


_SUBMITS = Regex(rb"^[^#\n]*\b(?:sbatch|salloc|srun)[ \t]+[^\s#]", re.MULTILINE)


def is_lintable(path: str, data: bytes) -> bool:
    """Whether a file that somebody names is linted: a batch script, a script that submits, a document."""
    return is_document(path, data) or is_batch_script(data, path) or is_batch_name(path) or submits_scripts(data)


class Candidate(NamedTuple):
    """A file to look at; `named` on the command line, or found in a folder."""

    path: str
    named: bool


Excluded = Callable[[str, bool], bool]  # path, whether it is a folder
# Types of file systems in which the kernel shows its own state: endless, and never a script.
_OF_KERNEL = frozenset(
    (
        *("proc", "sysfs", "cgroup", "cgroup2", "devpts", "devtmpfs", "debugfs", "tracefs", "securityfs", "configfs"),
        *("pstore", "bpf", "mqueue", "hugetlbfs", "binfmt_misc", "fusectl", "nsfs", "efivarfs", "rpc_pipefs"),
        *("selinuxfs", "smackfs", "resctrl"),
    )
)
Unreadable = Callable[[OSError], None]
LeftOut = Callable[[str, str], None]  # path, and why
_IGNORED = "git ignores it"
# The seconds that git may take, which a pattern with many stars would keep busy for ever: after them, it is not asked.
_PATIENCE = 5.0


def candidates(
    paths: list[str],
    excluded: Excluded,
    force_exclude: bool,
    unreadable: Unreadable,
    left_out: LeftOut | None = None,
) -> Iterator[Candidate]:
    """Every file in or below `paths`, each once. Raises FileNotFoundError for a path that does not exist.

    `unreadable` is told of each folder that cannot be looked into, `left_out` of the folders and batch scripts that git
    ignores, and of file systems of the kernel.
    """
    seen: set[str] = set()
    folders: dict[str, str] = {}
    for path in paths:
        if stat.S_ISDIR(_mode(path)):
            found: Iterator[tuple[str, bool]] = ((each, False) for each in _walk(path, excluded, unreadable, left_out))
        elif force_exclude and excluded(path, False):
            continue
        else:
            found = iter([(path, True)])
        for candidate, named in found:
            key = _real_path(candidate, folders)
            if key not in seen:
                seen.add(key)
                yield Candidate(candidate, named)


def _mode(path: str) -> int:
    try:
        return os.stat(path).st_mode
    except (OSError, ValueError):
        raise FileNotFoundError(path) from None


def _real_path(path: str, folders: dict[str, str]) -> str:
    """The path of a file with all links followed. `folders`: those of folders, as most files stand beside others."""
    folder, name = os.path.split(path)
    if name in ("", ".", "..") or os.path.islink(path):
        return os.path.realpath(path)
    if folder not in folders:
        folders[folder] = os.path.realpath(folder)
    return os.path.join(folders[folder], name)


def _walk(folder: str, excluded: Excluded, unreadable: Unreadable, left_out: LeftOut | None) -> Iterator[str]:
    listed = _listed_by_git(folder, "--cached", "--others")
    if listed:
        for name in _listed_by_git(folder, "--others", "--ignored", "--directory") if left_out is not None else ():
            _tell_if_wanted(name if folder == "." else os.path.join(folder, name), _IGNORED, left_out)
        cache: dict[str, bool] = {"": False}
        for name in listed:
            path = name if folder == "." else os.path.join(folder, name)
            if _folder_excluded(os.path.dirname(name), folder, excluded, cache) or excluded(path, False):
                continue
            if os.path.isdir(path):  # a repository inside the repository
                if not os.path.islink(path) and os.path.realpath(path) != os.path.realpath(folder):
                    yield from _walk(path, excluded, unreadable, left_out)
            elif os.path.isfile(path):
                yield path
            else:
                _tell_if_locked(path, unreadable)
        return
    yield from _walk_without_git(folder, excluded, unreadable, left_out)


def _tell_if_wanted(path: str, why: str, left_out: LeftOut | None) -> None:
    """Reports a folder that is left out, or of a file that may be a batch script by its name."""
    if left_out is not None and (path.endswith("/") or is_batch_name(path)):
        left_out(path.rstrip("/"), why)


def _tell_if_locked(path: str, unreadable: Unreadable) -> None:
    """Reports a file that git tracks in a folder that cannot be looked into; one that is deleted is not a fault."""
    try:
        os.stat(path)
    except PermissionError as error:
        unreadable(error)
    except OSError:
        pass


def _folder_excluded(name: str, root: str, excluded: Excluded, cache: dict[str, bool]) -> bool:
    left: list[str] = []
    while name not in cache:
        left.append(name)
        name = os.path.dirname(name)
    known = cache[name]
    for name in reversed(left):
        known = cache[name] = known or excluded(name if root == "." else os.path.join(root, name), True)
    return known


def git_environment() -> dict[str, str]:
    """The environment without the variables of a git hook, which would point git to another repository."""
    return {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}


def _listed_by_git(folder: str, *kinds: str) -> list[str]:
    """The files of a folder of these kinds (of `git ls-files`), sorted; empty where git fails or takes too long."""
    if not any(os.path.exists(os.path.join(each, ".git")) for each in _and_above(folder)):
        return []
    from subprocess import DEVNULL, TimeoutExpired, run  # slow to import, and used for folders only

    # fsmonitor may be a program of the repository, none of which is ever run
    command = ["git", "-c", "core.fsmonitor=false", "ls-files", "-z", *kinds, "--exclude-standard"]
    try:
        environment = git_environment()
        done = run(command, cwd=folder, stdin=DEVNULL, capture_output=True, env=environment, timeout=_PATIENCE)
    except (OSError, TimeoutExpired):
        return []
    if done.returncode != 0:
        return []
    return sorted({os.fsdecode(name) for name in done.stdout.split(b"\0") if name})


def _and_above(folder: str) -> Iterator[str]:
    """The absolute path of a folder, and of each one above it."""
    at, below = os.path.abspath(folder), None
    while at != below:
        yield at
        at, below = os.path.dirname(at), at


def _kernel_folders() -> dict[str, str]:
    """Where the file systems of the kernel are mounted, with their types; none where Linux does not tell."""
    found = dict[str, str]()
    try:
        with open("/proc/self/mounts", encoding="utf-8", errors="surrogateescape") as file:
            for line in file:
                _, folder, kind, *_ = line.split(" ")
                if kind in _OF_KERNEL:
                    found[folder] = kind
    except (OSError, ValueError):
        pass
    return found


def _walk_without_git(
    folder: str, excluded: Excluded, unreadable: Unreadable, left_out: LeftOut | None
) -> Iterator[str]:
    kernel = _kernel_folders()
    at = os.path.realpath(folder)
    kind = next((kernel[each] for each in kernel if os.path.join(at, "").startswith(os.path.join(each, ""))), None)
    if kind is not None:
        unreadable(OSError(errno.EINVAL, f"it lies in a file system of the kernel ({kind})", folder))
        return
    ignores = _Ignores(folder)

    def is_ignored(path: str, is_folder: bool) -> bool:
        kind = kernel.get(os.path.abspath(path)) if is_folder and kernel else None
        if kind is None and not ignores.match(path, is_folder):
            return False
        why = _IGNORED if kind is None else f"it lies in a file system of the kernel ({kind})"
        _tell_if_wanted(path + "/" * is_folder, why, left_out)
        return True

    for root, folders, files in _folders(folder, unreadable):
        if root == "." or root.startswith("./") and folder == ".":
            root = root[2:]
        ignores.enter(root or ".")
        folders[:] = sorted(
            name
            for name in folders
            if not excluded(os.path.join(root, name), True) and not is_ignored(os.path.join(root, name), True)
        )
        for name in sorted(files):
            path = os.path.join(root, name)
            if not excluded(path, False) and not is_ignored(path, False) and os.path.isfile(path):
                yield path


def _folders(top: str, unreadable: Unreadable) -> Iterator[tuple[str, list[str], list[str]]]:
    """What `os.walk` gives, which before Python 3.12 calls itself for each level, of which a path has up to 2,000."""
    left = [top]
    while left:
        for root, folders, files in os.walk(left.pop(), onerror=unreadable):
            yield root, folders, files
            below = [os.path.join(root, each) for each in reversed(folders)]
            left += [each for each in below if not os.path.islink(each)]
            break


class _Ignores:
    """The .gitignore files from the repository's root (or the first folder) downwards; the innermost decides."""

    def __init__(self, folder: str) -> None:
        self._specs: dict[str, Patterns] = {}
        self._left = MOST_GITIGNORE_LINES
        above = list(_and_above(folder))
        top = next((at for at, each in enumerate(above) if os.path.exists(os.path.join(each, ".git"))), 0)
        for outer in above[: top + 1]:
            self.enter(outer)
        if any(self.match(each, True) for each in above[:top]):  # an ignored folder that was named on the command line
            self._specs.clear()

    def enter(self, folder: str) -> None:
        path = os.path.join(folder, ".gitignore")
        if os.path.abspath(folder) in self._specs or not os.path.isfile(path):
            return
        try:
            with open(path, encoding="utf-8", errors="surrogateescape") as file:
                lines = [line.rstrip("\n") for line in islice(file, self._left)]
        except OSError:
            lines = []
        self._left -= len(lines)
        self._specs[os.path.abspath(folder)] = Patterns(lines)

    def match(self, path: str, is_folder: bool) -> bool:
        if not self._specs:
            return False
        full = os.path.abspath(path)
        for at in _and_above(os.path.dirname(full)):
            spec = self._specs.get(at)
            if spec is not None:
                relative = os.path.relpath(full, at).replace(os.sep, "/") + ("/" if is_folder else "")
                decided = spec.decide(relative)
                if decided is not None:
                    return decided
        return False
