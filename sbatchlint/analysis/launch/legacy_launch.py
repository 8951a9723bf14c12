"""`python -m torch.distributed.launch`, and what it takes to write torchrun's module in its place.

Both are the same engine since torch 1.9 (torch/distributed/launch.py); the old one gives the program `--local-rank`
(`--local_rank` before 2.0) unless it has --use_env, which the new one refuses as unknown (torch 2.13).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from sbatchlint.bash.values import span_of
from sbatchlint.job.launches import Launch
from sbatchlint.source.edits import Edit
from sbatchlint.source.text import Span

if TYPE_CHECKING:
    from sbatchlint.job import Job

OLD, NEW = "torch.distributed.launch", "torch.distributed.run"


class Legacy(NamedTuple):
    """A launch by the old module. `by_variable`: the program takes its rank from LOCAL_RANK, as under torchrun.

    `edits`: names the new module; None where the old one does not stand in the file as it is.
    """

    launch: Launch
    by_variable: bool
    edits: tuple[Edit, ...] | None


def find_legacy(job: Job) -> list[Legacy]:
    """The launches by the old module, each place once."""
    found: dict[Span, Legacy] = {}
    for launch in job.launches:
        if launch.launcher.kind == OLD:
            by_variable = "use_env" in launch.launcher.flags
            found.setdefault(launch.launcher.span, Legacy(launch, by_variable, _edits(job, launch, by_variable)))
    return list(found.values())


def _edits(job: Job, launch: Launch, by_variable: bool) -> tuple[Edit, ...] | None:
    launcher, source = launch.launcher, job.source
    module = span_of(launcher.argv[launcher.index])
    if source.slice(module) != OLD:
        return None
    edits = [Edit(module, NEW)]
    if by_variable:
        span = launcher.flags["use_env"].span
        if source.slice(span) not in ("--use_env", "--use-env"):
            return None
        edits.append(Edit(_with_blanks(source.text, span), ""))
    return tuple(edits)


def _with_blanks(text: str, span: Span) -> Span:
    """An option's word with the blanks in front of it; its whole line where it stands alone on a continued one."""
    start = span.start
    while start and text[start - 1] in " \t":
        start -= 1
    behind = text[span.end : span.end + 80].partition("\n")[0]
    if start and text[start - 1] == "\n" and behind.strip() == "\\":
        return Span(start, span.end + len(behind) + 1)
    return Span(start, span.end)
