"""Findings as reports, `--fix` and the cache see them; imports nothing of the analysis."""

from collections.abc import Sequence
from typing import NamedTuple

from sbatchlint.source.edits import Edit
from sbatchlint.source.text import Source, Span


class Fix(NamedTuple):
    """A fix: what it does, in a few words; its edits; and whether `--fix` applies it without `--unsafe-fixes`."""

    title: str
    edits: Sequence[Edit]
    safe: bool = False


class Related(NamedTuple):
    """A place related to a finding."""

    span: Span
    label: str


class Diagnostic(NamedTuple):
    """A finding as reports and `--fix` see it; its fix is safe only if the engine agrees.

    `reached`: for a finding in a file that the script reads or starts, the place that does so, as `path:row`; else "".
    `always_shown`: shown whatever `--min-severity` says. `dated`: it is advice only because it holds for old releases,
    and the settings name none. `versions`: the releases for which it holds; empty for all that the site may have.
    """

    code: str
    name: str
    severity: str
    message: str
    span: Span
    related: tuple[Related, ...]
    fix: Fix | None
    source: Source
    url: str
    reached: str = ""
    always_shown: bool = False
    dated: bool = False
    versions: tuple[str, ...] = ()


class Fault(NamedTuple):
    """An exception inside sbatchlint; `where`: the name of a check, or "the reader"."""

    path: str
    where: str
    error: str
    traceback: str
