"""A script during its conversion."""

from collections.abc import Iterable

from sbatchlint.job import Job, has_directives
from sbatchlint.settings import Settings
from sbatchlint.source.edits import Edit, edited
from sbatchlint.source.text import Source


class Draft:
    """`job`: the script as edited so far. `decisions`: what was chosen, and why; `todos`: what only the user can do."""

    def __init__(self, job: Job, settings: Settings) -> None:
        self.job = job
        self.settings = settings
        self.decisions: list[str] = []
        self.todos: list[str] = []

    @property
    def source(self) -> Source:
        return self.job.source.own

    def edit(self, edits: Iterable[Edit]) -> None:
        self.job = as_job(edited(self.source, edits), self.settings)


def as_job(source: Source, settings: Settings) -> Job:
    """The script as a batch job, even without directives."""
    return Job.from_source(source, settings.site, "" if has_directives(source, settings.site) else "--nodes=1")
