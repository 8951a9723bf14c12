"""Files of the project that a script reads or starts: `source env.sh`, `srun bash train.sh`, `sbatch job.sh`.

The project is the nearest parent folder with `.git`, `pyproject.toml` or a configuration file of sbatchlint, or else
the script's own folder; no other files are read. A relative path is tried in the script's folder and in the project's;
if both have such a file, it is unknown which is meant.
"""

import os.path
from functools import cached_property

from sbatchlint.bash.values import Text, literal
from sbatchlint.source import lookups
from sbatchlint.source.text import COMMAND_LINE, Source, Span
from sbatchlint.source.workspace import Workspace

# How many files are read for a script, and how many bytes of each at most.
MOST_FILES = 20
MOST_BYTES = 1 << 20
_MARKS = (".git", "pyproject.toml", "sbatchlint.toml", ".sbatchlint.toml")
# The folder in which the job was submitted, which is assumed to be the project's or the script's.
_HERE = ("\0SLURM_SUBMIT_DIR\0/", "\0PWD\0/")


class IncludedFiles:
    """Finds and reads the files of one script; each is attached to its workspace once."""

    def __init__(self, workspace: Workspace) -> None:
        self.workspace = workspace
        self.left_out: Span | None = None  # the first command whose file exceeds the limits
        self._texts: dict[str, Text | None] = {}
        self._paths: dict[str, str | None] = {}

    @cached_property
    def project(self) -> str | None:
        """The nearest folder, from the script's own upwards, that is the root of a project; None if there is none."""
        at = os.path.dirname(os.path.abspath(self.workspace.path))
        while not lookups.has_any(at, *_MARKS):
            above = os.path.dirname(at)
            if above == at:
                return None
            at = above
        return at

    @cached_property
    def _folders(self) -> tuple[str, ...]:
        """The folders in which a relative path is tried, with the project's last."""
        folder = os.path.dirname(os.path.abspath(self.workspace.path))
        root = self.project or folder
        return (folder,) if folder == root else (folder, root)

    @cached_property
    def _is_file(self) -> bool:
        """Whether the script is a file or a command line in this folder, not a text from elsewhere."""
        return self.workspace.path == COMMAND_LINE or lookups.exists(self.workspace.path)

    def read(self, name: str, included_from: Span) -> Text | None:
        """The text of a file, with offsets of the workspace; None where it is unknown.

        `name`: as from `bash.interpreter.programs.file_name`, with unknown variables between NULs. `included_from`:
        the place of the command that uses it.
        """
        path = self.path_of(name)
        if path is None:
            return None
        if path not in self._texts:
            self._texts[path] = self._attached(path, included_from)
        return self._texts[path]

    @property
    def root(self) -> str:
        """The project's folder; without a project, the script's."""
        return self._folders[-1]

    @staticmethod
    def relative(name: str) -> str:
        """A path without the folder in which the job was submitted."""
        for prefix in _HERE:
            name = name.removeprefix(prefix)
        return name

    def path_of(self, name: str) -> str | None:
        """The only file of this name in the project, other than the script itself; None for none or two."""
        if name not in self._paths:
            self._paths[name] = self._found(self.relative(name))
        return self._paths[name]

    def _found(self, name: str) -> str | None:
        if "\0" in name or not name or not self.workspace.own.has_files_beside:
            return None
        if not self._is_file:
            return None
        found = set()
        for folder in self._folders:
            path = os.path.join(folder, name)
            if not lookups.is_file(path):
                continue
            path = lookups.real_path(path)
            inside = path.startswith(lookups.real_path(self._folders[-1]) + os.sep)
            if inside and not lookups.is_same_file(path, self.workspace.path):
                found.add(path)
        return found.pop() if len(found) == 1 else None

    def _attached(self, path: str, included_from: Span) -> Text | None:
        data = None if len(self._texts) >= MOST_FILES else lookups.read(path, MOST_BYTES + 1)
        if len(self._texts) >= MOST_FILES or data is not None and len(data) > MOST_BYTES:
            self.left_out = self.left_out or included_from
            return None
        if data is None or b"\0" in data:
            return None
        shown = os.path.relpath(path) if not os.path.isabs(self.workspace.path) else path
        source = Source.from_bytes(data, shown)
        return Text((literal(source.text, self.workspace.attach(source, included_from)),))
