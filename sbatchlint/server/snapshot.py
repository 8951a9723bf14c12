"""One version of an open file, with what the engine makes of it."""

from collections.abc import Iterator
from functools import cached_property
from typing import NamedTuple

from sbatchlint.analysis.planning.plan import Plan, plan_of
from sbatchlint.bash.limits import cost_of_script
from sbatchlint.diagnostics import Diagnostic, Fault
from sbatchlint.engine import Inspection, inspect_job
from sbatchlint.job import Job
from sbatchlint.linting import holds_scripts, inspect_file, reported
from sbatchlint.server.positions import ENCODING, Positions
from sbatchlint.settings import Settings
from sbatchlint.source.discover import is_lintable
from sbatchlint.source.documents import Snippet, snippets
from sbatchlint.source.secrets import redacted_plan, values_in
from sbatchlint.source.text import Source, Span, Undecodable


class Part(NamedTuple):
    """A script of the file: the file itself, or a script in a document."""

    source: Source
    job: Job

    def outer(self, span: Span) -> Span:
        """The place in the file of a place in the script."""
        return self.source.span(span) if isinstance(self.source, Snippet) else span


class Snapshot:
    """`findings`: those that are reported; `faults`: checks that failed. All else is worked out when it is asked for.

    `is_released`: another version has taken its place.
    """

    def __init__(
        self, uri: str, path: str, version: int, text: str, settings: Settings, encoding: str = ENCODING
    ) -> None:
        self.is_released = False
        self.uri = uri
        self.version = version
        self.settings = settings
        self.encoding = encoding
        self.positions = Positions(text, encoding)
        self._jobs: list[Job] = []
        data = Source.encode(text)
        try:
            self.source = Source.from_bytes(data, path)
            self.is_linted = is_lintable(path, data)
        except Undecodable:
            self.source = Source("", path)
            self.is_linted = False
        self.is_document = self.is_linted and holds_scripts(self.source)
        inspection = self._inspected() if self.is_linted else Inspection([], 0, [])
        self.findings: list[Diagnostic] = reported(inspection.diagnostics, settings)
        self.faults: list[Fault] = inspection.faults
        self.inspection = inspection

    def _inspected(self) -> Inspection:
        if self.is_document:
            return inspect_file(self.source, self.settings)
        try:
            job = Job.from_source(self.source, self.settings.site_of(self.source.path))
        except Exception:
            return inspect_file(self.source, self.settings)  # which says what failed
        self._jobs.append(job)
        return inspect_job(job, self.source, self.settings)

    @cached_property
    def parts(self) -> list[Part]:
        """The scripts of the file."""
        if not self.is_document:
            return [Part(self.source, job) for job in self._jobs]
        found = []
        spent = 0
        for snippet in snippets(self.source):
            try:
                job = Job.from_source(snippet, self.settings.site_of(snippet.path), spent=spent)
            except Exception:
                continue
            spent += job.work + cost_of_script(snippet.text)
            self._jobs.append(job)
            found.append(Part(snippet, job))
        return found

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
            known = self._plans[id(part.job)] = redacted_plan(plan_of(part.job), values_in(part.job.source.text))
        return known

    @cached_property
    def _plans(self) -> dict[int, Plan]:
        return {}

    def release(self) -> None:
        """Frees what the engine made; the findings stay."""
        self.is_released = True
        for job in self._jobs:
            job.release()
        self._jobs.clear()
        self.__dict__.pop("parts", None)
        self.__dict__.pop("_plans", None)
