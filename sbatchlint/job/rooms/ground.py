"""The ground on which a job's rooms stand: what its picture holds."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from collections.abc import Callable

    from ...shell.syntax import Program
    from ...shell.trace import Submission, Trace
    from ...shell.values import Phase, Text
    from ...slurm.directives import Directives
    from ...slurm.versions import Range
    from ...source.workspace import Workspace
    from .. import Job
    from ..request import Request
    from ..site import Site
    from ..steps import Step


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
