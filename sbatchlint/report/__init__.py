"""Output formats: one file each, over the same value."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from sbatchlint.source.records import NamedTuple

if TYPE_CHECKING:
    from sbatchlint.engine import Diagnostic
    from sbatchlint.report.terminal import Terminal

FORMATS = ("full", "concise", "json", "json-lines", "github")


class Report(NamedTuple):
    """What a run found, in the order of its files.

    `diagnostics`: those that are shown. `scripts`: how many were looked at. `fixed`: findings that `--fix` repaired.
    `hidden`: findings of severity info that nobody asked for.
    """

    diagnostics: list[Diagnostic]
    scripts: int
    fixed: int = 0
    hidden: int = 0


Renderer = Callable[[Report, "Terminal"], str]


def renderer(output_format: str) -> Renderer:
    """The function that writes a report in one of `FORMATS`; its text ends in a newline, or is empty."""
    if output_format == "full":
        from sbatchlint.report.full import render
    elif output_format == "concise":
        from sbatchlint.report.concise import render
    elif output_format == "json":
        from sbatchlint.report.json import render
    elif output_format == "json-lines":
        from sbatchlint.report.json_lines import render
    else:
        from sbatchlint.report.github import render
    return render


def shown_path(path: str) -> str:
    """A path as reports show it: relative to the current folder where it lies below."""
    import os.path

    if not os.path.isabs(path):
        return os.path.normpath(path) if path[:1] != "<" else path
    try:
        relative = os.path.relpath(path)
    except ValueError:  # another drive
        return path
    return path if relative.startswith("..") else relative
