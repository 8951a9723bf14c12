"""What every output format shows, and how it shows a path."""

from __future__ import annotations

import os.path

from sbatchlint.engine import Diagnostic


class Report:
    """What a run found, in the order of its files.

    `diagnostics`: those that are shown. `scripts`: how many were looked at. `fixed`: findings that `--fix` repaired.
    `hidden`: findings of severity info that nobody asked for.
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
