"""The result of a run, which all output formats render."""

import os.path
from functools import lru_cache
from typing import NamedTuple

from sbatchlint.diagnostics import Diagnostic


class Report(NamedTuple):
    """The result of a run, in the order of its files.

    `diagnostics`: the findings to show. `scripts`: how many were linted. `fixed`: how many findings `--fix` repaired.
    `hidden`: how many findings are below `least`, the severity of --min-severity; `ignored`: how many are suppressed by
    comments; `known`: how many are in the baseline; `dated`: how many are advice as they hold for old releases only.
    `repaired`: the codes of the findings that were repaired.
    """

    diagnostics: list[Diagnostic]
    scripts: int
    fixed: int = 0
    hidden: int = 0
    ignored: int = 0
    known: int = 0
    least: str = "warning"
    dated: int = 0
    repaired: tuple[str, ...] = ()


def shown_path(path: str) -> str:
    """A path as shown in reports: relative to the current folder if it is below it."""
    if not os.path.isabs(path):
        return os.path.normpath(path) if path[:1] != "<" else path
    return _below(path, os.getcwd())


@lru_cache(maxsize=64)  # called for each finding
def _below(path: str, folder: str) -> str:
    try:
        relative = os.path.relpath(path, folder)
    except ValueError:  # another drive
        return path
    return path if relative.startswith("..") else relative


def by_file(found: list[Diagnostic]) -> dict[str, list[Diagnostic]]:
    """The findings of each file, by its path."""
    files: dict[str, list[Diagnostic]] = {}
    for diagnostic in found:
        files.setdefault(diagnostic.source.path, []).append(diagnostic)
    return files
