"""The ground on which a job's rooms stand: what its picture holds."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from collections.abc import Callable

    from sbatchlint.bash.syntax.tree import Program
    from sbatchlint.bash.trace import Submission, Trace
    from sbatchlint.bash.values import Phase, Text
    from sbatchlint.job import Job
    from sbatchlint.job.request import Request
    from sbatchlint.job.site import Site
    from sbatchlint.job.steps import Step
    from sbatchlint.slurm.directives import Directives
    from sbatchlint.slurm.versions import Range
    from sbatchlint.source.workspace import Workspace


class Ground:
    """What `Job` holds, for the questions of the rooms."""

    source: Workspace
    text: Text
    site: Site
    versions: Range
    directives: Directives
    request: Request
    program: Program
    phase: Phase
    steps: list[Step]
    trace: Trace
    is_embedded: bool
    is_wrapped: bool
    submission: Submission | None
    interpreter_line: tuple[str, str]
    parsed: Callable[[str], Program]

    @property
    def job(self) -> Job:
        return cast("Job", self)
