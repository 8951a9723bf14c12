"""What is found in a file, as reports, `--fix` and the cache see it. Imports nothing of what finds it."""

from collections.abc import Sequence
from typing import NamedTuple

from sbatchlint.source.edits import Edit
from sbatchlint.source.text import Source, Span


class Fix(NamedTuple):
    """A repair: what it does, in a few words; its edits; `safe` as the design defines it."""

    title: str
    edits: Sequence[Edit]
    safe: bool = False


class Related(NamedTuple):
    """Another place that belongs to a finding."""

    span: Span
    label: str


class Diagnostic(NamedTuple):
    """A finding as reports and `--fix` see it; its fix is safe only where the engine agrees.

    `reached`: for a finding in a file that the script reads or starts, the place that led there, as `path:row`.
    `always_shown`: whatever the settings say of its severity.
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


class Fault(NamedTuple):
    """An exception inside sbatchlint; `where`: a check's name, or "the reader"."""

    path: str
    where: str
    error: str
    traceback: str
