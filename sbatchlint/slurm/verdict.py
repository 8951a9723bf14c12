"""Whether sbatch of one release accepts a batch script, as far as that depends on the script alone.

The order is that of sbatch, so that the message is the one it exits with: the file (src/sbatch/sbatch.c,
`_get_script_buffer()`), then for each component of a heterogeneous job its words, its options one by one, the
directives of other schedulers, the options on its command line, the options together (src/sbatch/opt.c,
`_opt_verify()`) and the description of the job (src/common/slurm_opt.c, `slurm_opt_create_job_desc()`); then, again for
each component, what slurmctld refuses at any site. Read in 20.11 to 26.05, run on 22.05, 23.11, 24.11 and 26.05.
"""

from collections.abc import Iterator
from typing import NamedTuple

from sbatchlint.slurm.conflicts.clashing_settings import clashing_settings, values_of
from sbatchlint.slurm.conflicts.controller import BATCH, GRES, ORDERS
from sbatchlint.slurm.conflicts.counts import INHERITED_HINT, options_overriding_hint
from sbatchlint.slurm.conflicts.gpu_arithmetic import Values
from sbatchlint.slurm.directives import Directives
from sbatchlint.slurm.getopt import UNKNOWN
from sbatchlint.slurm.model import Refused
from sbatchlint.slurm.script_file import refusals as file_refusals
from sbatchlint.slurm.versions import holds_in, is_before

FILE, OPTION, VERIFY, CONTROLLER = "file", "option", "verify", "controller"
# Problems that sbatch finds before it looks at any option of a component: words that it cannot split.
_WORDS = ("unmatched-quote", "leading-colon")


class Verdict(NamedTuple):
    """Whether a script is accepted, None if it contains something unknown.

    `message`: that of Slurm, without `sbatch: error: `, if it refuses the script; else None. `stage`: who refuses it:
    sbatch (`file`, `option`, `verify`) or slurmctld (`controller`); None if nobody does.
    """

    accepted: bool | None
    message: str | None = None
    stage: str | None = None


def verdict(directives: Directives, version: str) -> Verdict:
    """The verdict of this release on the script, which ignores what a site decides: plugins, partitions, limits."""
    for message, stage in _refusals(directives, version):
        return Verdict(False, message, stage)
    test_only = directives.last("test-only")
    if test_only is not None and holds_in(test_only.versions, version):
        return Verdict(False, "--test-only: nothing is submitted", VERIFY)
    known = directives.certain and all(setting.known for setting in directives.settings)
    return Verdict(True if known else None)


def _refusals(directives: Directives, version: str) -> Iterator[tuple[str, str]]:
    """The message and stage of each refusal, in the order of sbatch."""
    for message in file_refusals(directives.text.whole, version):
        yield message, FILE
    late: list[tuple[int, int, str]] = []
    for component in range(directives.components):
        yield from _of_component(directives, component, version, late)
    for _, _, message in sorted(late):
        yield message, CONTROLLER


def _of_component(
    directives: Directives, component: int, version: str, late: list[tuple[int, int, str]]
) -> Iterator[tuple[str, str]]:
    """The refusals of sbatch; those of slurmctld are appended to `late`, with their place in the order."""
    options = [
        (0 if problem.kind in _WORDS else 1, problem.span.start, problem.message)
        for problem in directives.problems
        if problem.line.component == component and holds_in(problem.versions, version)
    ]
    verified: list[tuple[int, str]] = []
    values = values_of(directives, component, version)
    dropped = INHERITED_HINT in values or bool(options_overriding_hint(values, version))
    last = {each.name: each for each in directives.settings_for(component, version)}
    overriding = {each.name: each for each in directives.overriding} if component == 0 else {}
    last |= overriding
    for refused in (*directives.refused, *(directives.overriding_refused if component == 0 else ())):
        setting, refusal = refused
        if setting.component > component or not holds_in(refusal.versions, version):
            continue
        if refusal.stage == OPTION:
            if setting in directives.overriding:
                options.append((3, len(options), refusal.message))  # sbatch reads its command line after the script
            elif setting.component == component:
                options.append((1, setting.option_span.start, refusal.message))
        elif last.get(setting.name) is not setting or dropped and setting.name == "hint":
            # By then only the last of several settings is left, and none that sbatch has dropped.
            continue
        elif setting.name == "nodes" and refusal.stage == CONTROLLER and _has_other_nodes(values, version):
            continue
        elif refusal.stage == VERIFY:
            verified.append((_place(refused, version), refusal.message))
        else:
            order = ORDERS.get(setting.name, GRES)
            if setting.name in ("constraint", "prefer") and is_before(version, "23.02"):
                order = BATCH
            late.append((component, order, refusal.message))
    rejected = directives.foreign.rejection(version) if directives.foreign is not None else None
    if rejected is not None:
        options.append((2, 0, rejected))
    for _, _, message in sorted(options):
        yield message, OPTION
    for settings in clashing_settings(directives, component, (version,), _is_certain(directives, component)):
        if settings.effect == "refused":
            if settings.stage == CONTROLLER:
                late.append((component, settings.order, settings.message))
            else:
                verified.append((settings.order, settings.message))
    for _, message in sorted(verified):
        yield message, VERIFY


def _has_other_nodes(values: Values, version: str) -> bool:
    """Whether a job that requests 0 nodes gets some: before 23.02 those of a list, since 26.05 one for each task."""
    return (
        is_before(version, "23.02") and "nodelist" in values or not is_before(version, "26.05") and "ntasks" in values
    )


def _is_certain(directives: Directives, component: int) -> bool:
    """Whether the options of a component are known; sbatch finishes it before it finds faults of later ones."""
    if directives.certain:
        return True
    faulty = [problem.line.component for problem in directives.problems]
    known = all(UNKNOWN not in token.text for line in directives.lines for token in line.tokens)
    return known and bool(faulty) and component < min(faulty)


# The place of an option's value in the order of `conflicts.clashes`: most are looked at when sbatch verifies the
# options, generic resources when it describes the job.
_PLACES = {"hint": 110, "exclude": 115, "nodelist": 116, "ntasks": 117, "cpus-per-task": 118, "nodes": 119}
_PROPAGATE, _DESCRIPTION = 190, 205
_RESOURCES = ("gpus", "gpus-per-node", "gres", "gpus-per-socket", "gpus-per-task", "tres-per-task")


def _place(refused: Refused, version: str) -> int:
    name, message = refused.setting.name, refused.refusal.message
    if message.startswith("Invalid TRES for --tres-per-task"):
        return 55
    if message.startswith("Invalid --tres-per-task"):
        return 62
    if name == "nodelist" and not is_before(version, "23.02"):
        return 75
    if name == "propagate":
        return _PROPAGATE
    return _DESCRIPTION if name in _RESOURCES else _PLACES.get(name, 0)
