"""Linting and fixing of a file, which is a batch script or a document with scripts in it."""

from typing import TYPE_CHECKING

from sbatchlint.diagnostics import Diagnostic
from sbatchlint.engine import Inspection, Question, inspect
from sbatchlint.settings import Settings
from sbatchlint.source.discover import is_document
from sbatchlint.source.text import Source

if TYPE_CHECKING:
    from sbatchlint.fix import Fixed


def holds_scripts(source: Source) -> bool:
    """Whether a file is a document with scripts, and not a script itself."""
    return is_document(source.path, Source.encode(source.text))


def inspect_file(source: Source, settings: Settings, ask: Question | None = None) -> Inspection:
    """The findings in a file. `ask`: what else to ask of the job, where the file is not a document."""
    if holds_scripts(source):
        from sbatchlint.documents import inspect_document  # few files are documents

        return inspect_document(source, settings)
    return inspect(source, settings, ask=ask)


def fix_file(source: Source, settings: Settings, unsafe: bool = False, first: Inspection | None = None) -> "Fixed":
    """The file after the fixes of all reported findings; see `fix_source`."""
    if holds_scripts(source):
        from sbatchlint.documents import fix_document as fix_source
    else:
        from sbatchlint.fix import fix_source
    return fix_source(source, settings, unsafe, first)


def with_comments(source: Source, settings: Settings, found: list[Diagnostic], reason: str) -> Source:
    """The file with comments that ignore these findings; see `with_ignores`."""
    if holds_scripts(source):
        from sbatchlint.documents import document_with_ignores

        return document_with_ignores(source, settings, found, reason)
    from sbatchlint.ignores import with_ignores

    return with_ignores(source, found, reason)


def reported(found: list[Diagnostic], settings: Settings) -> list[Diagnostic]:
    """The findings that are reported under these settings."""
    return [each for each in found if each.always_shown or settings.shows(each.code, each.severity)]
