"""The result of a run, which every output format renders."""

import os.path

from sbatchlint.diagnostics import Diagnostic


class Report:
    """The result of a run, in the order of its files.

    `diagnostics`: those to show. `scripts`: how many were linted. `fixed`: how many findings `--fix` repaired.
    `hidden`: how many findings of severity info are not shown.
    """

    __slots__ = ("diagnostics", "fixed", "hidden", "scripts")

    def __init__(self, diagnostics: list[Diagnostic], scripts: int, fixed: int = 0, hidden: int = 0) -> None:
        self.diagnostics = diagnostics
        self.scripts = scripts
        self.fixed = fixed
        self.hidden = hidden


def shown_path(path: str) -> str:
    """A path as reports show it: relative to the current folder where it lies below."""
    if not os.path.isabs(path):
        return os.path.normpath(path) if path[:1] != "<" else path
    try:
        relative = os.path.relpath(path)
    except ValueError:  # another drive
        return path
    return path if relative.startswith("..") else relative
