"""Finding the project's file that a command names, from the folder in which the command runs."""

import os.path
from bisect import bisect_left
from collections.abc import Callable, Sequence
from functools import cached_property

from sbatchlint.bash.interpreter.programs import file_name
from sbatchlint.bash.trace import Invocation
from sbatchlint.bash.values import Phase, Pieces
from sbatchlint.job.included_files import IncludedFiles

# How many earlier commands are searched for a `cd`.
_FAR = 300


class FilesBeside:
    """The files of a project, by the names that the commands of a job use.

    `host_paths`: maps a path inside a container to paths on the host.
    """

    def __init__(
        self, files: IncludedFiles, invocations: Sequence[Invocation],
        host_paths: Callable[[Pieces, Invocation], list[Pieces]],
    ) -> None:  # fmt: skip
        self.files = files
        self.invocations = invocations
        self.host_paths = host_paths

    def path(self, invocation: Invocation, field: Pieces) -> str | None:
        """The file that a word of a command names; None if none, and for a file that the script itself writes."""
        name = file_name(field)
        if name is None or name in invocation.state.files:
            return None
        for candidate in (name, *(found for one in self.host_paths(field, invocation) if (found := file_name(one)))):
            path = self.named(invocation, candidate)
            if path is not None:
                return path
        return None

    def named(self, invocation: Invocation, name: str) -> str | None:
        """The file of this name, from the folder in which the command runs; None if there is none.

        Where that folder is not known, the file is looked up in the script's folder and the project's; it counts if the
        name includes a folder, or if the unknown folder has the same last component as the file's.
        """
        if name[:1] in ("/", "\0"):
            return self.files.path_of(name)
        folder = self._folder(invocation)
        if folder is None:
            return self.files.path_of(name)
        if folder[:1] != "/" and "\0" not in self.files.relative(folder):
            return self.files.path_of(f"{self.files.relative(folder)}/{name}")
        path = self.files.path_of(name)
        if path is None or "/" in name:
            return path
        return path if os.path.basename(os.path.dirname(path)) == os.path.basename(folder.rstrip("/")) else None

    def _folder(self, invocation: Invocation) -> str | None:
        """The folder of the last `cd` before a command; None if there is none."""
        moves = self._moves
        first, after = bisect_left(moves, invocation.index - _FAR), bisect_left(moves, invocation.index)
        shells = set(map(id, invocation.context.shell.enclosing_shells())) if first < after else ()
        for number in reversed(moves[first:after]):
            move = self.invocations[number]
            if id(move.context.shell) in shells and move.phase is not Phase.SUBMIT:
                return "\0" if len(move.argv) != 2 else file_name(move.argv[1]) or "\0"
        return None

    @cached_property
    def _moves(self) -> list[int]:
        """The indexes of the commands that change the folder."""
        return [number for number, each in enumerate(self.invocations) if each.name in ("cd", "pushd")]
