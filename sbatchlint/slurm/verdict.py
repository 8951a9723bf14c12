"""What sbatch of one release does with a batch script, as far as the script alone decides it.

The order is sbatch's own, so that the message is the one it stops with: the file (src/sbatch/sbatch.c,
`_get_script_buffer()`), then for each component of a heterogeneous job its words, its options one by one, the
directives of other schedulers, and what the options make together (src/sbatch/opt.c, `_opt_verify()`); then what
slurmctld refuses at any site. Read in 20.11 to 26.05, run on 22.05, 23.11, 24.11 and 26.05.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..source.records import NamedTuple
from .combined.conflicts import conflicts
from .script import refusals as file_refusals

if TYPE_CHECKING:
    from .directives import Directives

FILE, OPTION, VERIFY, CONTROLLER = "file", "option", "verify", "controller"
# What sbatch meets before it looks at any option of a component: words that it cannot split.
_WORDS = ("unmatched-quote", "leading-colon")


class Verdict(NamedTuple):
    """`accepted`: None where the script alone does not decide it, because it holds something unknown.

    `message`: what Slurm says where it refuses the script, without `sbatch: error: `; None otherwise. `stage`: who
    refuses it: `file`, `option` and `verify` are sbatch's, `controller` is slurmctld's; None where nobody does.
    """

    accepted: bool | None
    message: str | None = None
    stage: str | None = None


def verdict(directives: Directives, version: str) -> Verdict:
    """What sbatch of this release does with the script.

    What only a site decides is not judged: its plugins, partitions, accounts, limits.
    """
    for message, stage in _refusals(directives, version):
        return Verdict(False, message, stage)
    test_only = directives.last("test-only")
    if test_only is not None and _holds(test_only.versions, version):
        return Verdict(False, "--test-only: nothing is submitted", VERIFY)
    known = directives.certain and all(setting.known for setting in directives.settings)
    return Verdict(True if known else None)


def _refusals(directives: Directives, version: str) -> Iterator[tuple[str, str]]:
    """What is refused, first things first: the message and the stage."""
    for message in file_refusals(directives.text.whole, version):
        yield message, FILE
    late: list[str] = []
    for component in range(directives.components):
        yield from _of_component(directives, component, version, late)
    for message in late:
        yield message, CONTROLLER


def _of_component(directives: Directives, component: int, version: str, late: list[str]) -> Iterator[tuple[str, str]]:
    options = [
        (0 if problem.kind in _WORDS else 1, problem.span.start, problem.message)
        for problem in directives.problems
        if problem.line.component == component and _holds(problem.versions, version)
    ]
    verified: list[tuple[int, str]] = []
    for setting, refusal in directives.refused:
        if setting.component != component or not _holds(refusal.versions, version):
            continue
        if refusal.stage == OPTION:
            options.append((1, setting.option_span.start, refusal.message))
        elif refusal.stage == VERIFY:
            verified.append((0, refusal.message))
        else:
            late.append(refusal.message)
    rejected = directives.foreign.rejection(version) if directives.foreign is not None else None
    if rejected is not None:
        options.append((2, 0, rejected))
    for _, _, message in sorted(options):
        yield message, OPTION
    for each in conflicts(directives, component, (version,)):
        if each.effect == "refused":
            if each.stage == CONTROLLER:
                late.append(each.message)
            else:
                verified.append((each.order, each.message))
    for _, message in sorted(verified):
        yield message, VERIFY


def _holds(versions: tuple[str, ...] | None, version: str) -> bool:
    return versions is None or version in versions
