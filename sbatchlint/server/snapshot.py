"""One version of an open file, with what the engine makes of it."""

from collections.abc import Callable, Iterator
from functools import cached_property
from typing import NamedTuple

from sbatchlint.analysis.planning.plan import Plan
from sbatchlint.diagnostics import Diagnostic, Fault
from sbatchlint.documents import inspect_document
from sbatchlint.engine import Inspection, inspect, inspect_job
from sbatchlint.job import Job
from sbatchlint.linting import holds_scripts, reported
from sbatchlint.planning import plan_without_secrets
from sbatchlint.server.positions import ENCODING, Positions
from sbatchlint.settings import Settings
from sbatchlint.source.discover import is_lintable
from sbatchlint.source.documents import Snippet
from sbatchlint.source.text import Source, Span, Undecodable


class Part(NamedTuple):
    """A script of the file: the file itself, or a script in a document."""

    source: Source
    job: Job

    def outer(self, span: Span) -> Span:
        """The place in the file of a place in the script."""
        return self.source.span(span) if isinstance(self.source, Snippet) else span


class Superseded(BaseException):
    """Another version of the file has come, so that nobody waits for this one."""


class Snapshot:
    """`findings`: those that are reported; `faults`: checks that failed; `parts`: the scripts of the file, whose jobs
    answer for findings, plans and hovers. All else is worked out when it is asked for.

    `is_released`: another version has taken its place. `is_superseded`: asked before each statement and
    each check, it ends the evaluation, which raises `Superseded`.
    """

    def __init__(
        self, uri: str, path: str, version: int, text: str, settings: Settings, encoding: str = ENCODING,
        is_superseded: Callable[[], bool] | None = None,
    ) -> None:  # fmt: skip
        self.is_released = False
        self._is_superseded = is_superseded
        self.uri = uri
        self.version = version
        self.settings = settings
        self.encoding = encoding
        self.positions = Positions(text, encoding)
        self.parts: list[Part] = []
        data = Source.encode(text)
        try:
            self.source = Source.from_bytes(data, path)
            self.is_linted = is_lintable(path, data)
        except Undecodable:
            self.source = Source("", path)
            self.is_linted = False
        self.is_document = self.is_linted and holds_scripts(self.source)
        try:
            inspection = self._inspected() if self.is_linted else Inspection([], 0, [])
        except Superseded:
            self.release()
            raise
        self._is_superseded = None
        self.findings: list[Diagnostic] = reported(inspection.diagnostics, settings)
        self.faults: list[Fault] = inspection.faults
        self.inspection = inspection

    def _proceed(self) -> None:
        if self._is_superseded is not None and self._is_superseded():
            raise Superseded

    def _inspected(self) -> Inspection:
        if self.is_document:
            return inspect_document(self.source, self.settings, self._of_script)
        return self._of_script(self.source, self.settings)

    def _of_script(self, source: Source, settings: Settings, spent: int = 0) -> Inspection:
        """The findings of a script, whose job is kept for what else is asked of it. `spent`: see `inspect`."""
        try:
            job = Job.from_source(source, settings.site_of(source.path), spent=spent, proceed=self._proceed)
        except Exception:
            return inspect(source, settings, spent=spent)  # which says what failed
        self.parts.append(Part(source, job))
        return inspect_job(job, source, settings)

    def at(self, offset: int) -> Iterator[tuple[Part, int]]:
        """The scripts that hold a character of the file, with its place in them."""
        for part in self.parts:
            inner = part.source.offset(offset) if isinstance(part.source, Snippet) else offset
            if inner is not None:
                yield part, inner

    def plan(self, part: Part) -> Plan:
        """The plan of one of the scripts, without secrets."""
        known = self._plans.get(id(part.job))
        if known is None:
            known = self._plans[id(part.job)] = plan_without_secrets(part.job)
        return known

    @cached_property
    def _plans(self) -> dict[int, Plan]:
        return {}

    def release(self) -> None:
        """Frees what the engine made; the findings stay."""
        self.is_released = True
        for part in self.parts:
            part.job.release()
        self.parts.clear()
        self.__dict__.pop("_plans", None)
