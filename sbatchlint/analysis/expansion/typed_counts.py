"""Numbers of GPUs that are none: SLURM_GPUS_PER_NODE holds the option's text, `h100:8` for a typed request."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from sbatchlint.analysis.expansion.uses import DEFAULTS, TESTS, Uses
from sbatchlint.bash.values import Pieces, text_of
from sbatchlint.job.shell_environment import JobEnvironment
from sbatchlint.source.text import Span

if TYPE_CHECKING:
    from sbatchlint.job import Job

NAMES = ("SLURM_GPUS_PER_NODE", "SLURM_GPUS", "SLURM_GPUS_PER_SOCKET", "SLURM_GPUS_PER_TASK")
# Options that take a number and nothing else: of launchers, and of srun.
_LAUNCHER_COUNTS = frozenset(
    {
        "nproc_per_node",
        "num_processes",
        "num_gpus",
        "num_gpu",
        "np",
        "n",
        "ntasks",
        "nproc",
        "num_workers",
        "N",
        "npernode",
    }
)
_STEP_COUNTS = ("ntasks", "ntasks-per-node", "ntasks-per-socket", "cpus-per-task", "nodes", "ntasks-per-gpu")
_NUMERIC = frozenset({"-eq", "-ne", "-lt", "-le", "-gt", "-ge"})


class TypedCount(NamedTuple):
    """A typed number of GPUs where a plain one is wanted.

    `value`: what the variable holds. `wanted`: `arithmetic`, `a comparison of numbers`, or the option. `text`: what to
    write in its place, None where the value has several types.
    """

    name: str
    value: str
    span: Span
    wanted: str
    text: str | None


def typed_counts(job: Job, uses: Uses) -> list[TypedCount]:
    """Each place once."""
    found: dict[Span, TypedCount] = {}
    for name, value, span, wanted in (*_in_numbers(job, uses), *_in_options(job)):
        written = job.source.text[span.start : span.end]
        text = None
        if written in (f"${name}", f"${{{name}}}", name) and value.count(":") == 1 and "," not in value:
            text = f"${{{name}##*:}}"
        found.setdefault(span, TypedCount(name, value, span, wanted, text))
    return list(found.values())


def _in_numbers(job: Job, uses: Uses) -> Iterator[tuple[str, str, Span, str]]:
    """Reads in arithmetic, in comparisons of numbers and for `seq`."""
    environment = JobEnvironment(job.request)
    for read in job.trace.reads:
        if read.name not in NAMES or read.variable is not None:
            continue
        if read.operator not in ("", "arithmetic") and read.operator not in DEFAULTS:
            continue
        value = environment.lookup(read.name, read.context)
        if not isinstance(value, str) or ":" not in value:
            continue
        use = uses.use(read)
        if use.kind == "arithmetic":
            yield read.name, value, read.span, "arithmetic"
        elif use.command is not None and use.command.name in TESTS:
            if any(text_of(field) in _NUMERIC for field in use.command.argv):
                yield read.name, value, read.span, "a comparison of numbers"
        elif use.command is not None and use.command.name == "seq":
            yield read.name, value, read.span, "seq"


def _in_options(job: Job) -> Iterator[tuple[str, str, Span, str]]:
    """What the counting options of launchers and steps are given, by whatever way."""
    for launch in job.launches:
        for option in launch.launcher.given:
            if option.value is not None and option.name.replace("-", "_") in _LAUNCHER_COUNTS:
                yield from _typed(option.value, f"{launch.launcher.name}'s {_dashes(option.name)}")
    for step in job.steps:
        for name in _STEP_COUNTS:
            each = step.option(name)
            if each is not None and each.value is not None:
                yield from _typed(each.value, f"srun's --{name}")


def _dashes(name: str) -> str:
    return f"-{name}" if len(name) == 1 else f"--{name}"


def _typed(value: Pieces, wanted: str) -> Iterator[tuple[str, str, Span, str]]:
    for piece in value:
        if piece.expansion is not None and piece.expansion.name in NAMES and piece.text and ":" in piece.text:
            yield piece.expansion.name, piece.text, piece.expansion.span, wanted
