"""Options of the script's sruns that some releases of Slurm do not have."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from sbatchlint.analysis.directives.unknown_options import Missing, absent_releases, missing_option
from sbatchlint.bash.values import shown_text, span_of
from sbatchlint.slurm import getopt
from sbatchlint.source.text import Span

if TYPE_CHECKING:
    from sbatchlint.job import Job
    from sbatchlint.job.steps import Step


def missing_step_options(job: Job) -> list[tuple[Step, Span, Missing]]:
    """The options of each srun that not all releases of the range have, with their places."""
    found: list[tuple[Step, Span, Missing]] = []
    for step in job.steps:
        for written, span in _given(job, step):
            absent = absent_releases(written, "srun", job.versions.majors)
            missing = missing_option(written, "srun", absent) if absent else None
            if missing is not None and (step, span, missing) not in found:
                found.append((step, span, missing))
    return found


def _given(job: Job, step: Step) -> Iterator[tuple[str, Span]]:
    """Every option of an srun as written, known or not, and where it stands; without those of the site's plugins."""
    argv = step.invocation.argv[1:]
    names = job.directives.site_names
    words = [shown_text(field) for field in argv]
    for option in step.given:
        if option.name not in names:
            yield option.written, option.span
    parsed = getopt.parse(words, "srun", job.versions.majors, job.site.plugin_options)
    for fault in parsed.problems:
        if fault.kind == "unknown-option" and fault.versions is None:
            yield fault.written, span_of(argv[fault.word])
