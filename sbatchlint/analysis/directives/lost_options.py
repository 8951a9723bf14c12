"""How much is lost with options that sbatch does not read as they are meant, though it accepts the script."""

from collections import Counter
from collections.abc import Iterable

from sbatchlint.job import Job
from sbatchlint.job.once import once
from sbatchlint.slurm.conflicts.clash import REFUSED
from sbatchlint.slurm.conflicts.clashes import clashes
from sbatchlint.slurm.conflicts.clashing_settings import values_of
from sbatchlint.slurm.directives import Directives
from sbatchlint.slurm.model import Setting
from sbatchlint.source.regex import Regex

# Options that only affect what is reported about a job, and where: mail, its name, the names of its logs.
_REPORTING = frozenset({
    "admin-comment", "comment", "error", "job-name", "mail-type", "mail-user", "open-mode", "output", "wckey",
})  # fmt: skip
# Options that decide on which nodes a job runs and when, whatever nodes it can run on.
_PLACING = frozenset({
    "begin", "exclude", "hold", "nice", "nodefile", "nodelist", "priority", "switches", "wait-all-nodes",
})  # fmt: skip
# Options that say how many tasks there are, and where: for a job without steps they come to a number of CPUs.
_SIZES = frozenset({"nodes", "ntasks", "ntasks-per-node", "ntasks-per-core", "ntasks-per-socket"})
# Options that matter only in some runs: those that reach the time limit, or run again.
_OF_SOME_RUNS = frozenset({"signal", "requeue", "no-requeue"})
# Options without which a job computes the same, unless the default limit of its partition is too short for it.
_LIMITS = frozenset({"time", "time-min"})
# What a job has without the option.
_DEFAULTS = {
    "nodes": ("1", "1-1"),
    "ntasks": ("1",),
    "ntasks-per-node": ("1",),
    "cpus-per-task": ("1",),
    "export": ("ALL",),
    "mail-type": ("NONE",),
    "open-mode": ("truncate",),
    "gres": ("none", "NONE"),
    "gpus": ("0",),
    "gpus-per-node": ("0",),
}
_NODE = Regex(r"[\w.-]+")
# Variables of the job that an option sets.
_VARIABLES = {
    "ntasks": ("SLURM_NTASKS", "SLURM_NPROCS"),
    "ntasks-per-node": ("SLURM_NTASKS_PER_NODE",),
    "cpus-per-task": ("SLURM_CPUS_PER_TASK",),
    "job-name": ("SLURM_JOB_NAME",),
}


def severity_of_loss(
    job: Job, settings: Iterable[Setting], block: Directives | None = None, *, unread: bool = False
) -> str | None:
    """The severity where these options are not read, or with other values than those that are meant.

    `block`: the options of the command that reads them, by default the directives. `unread`: that they are not read,
    and so get no value for which the job may be refused.

    None, for an error, where the job may compute something else, or none is known; a warning where only reports about
    it are lost, where or when it runs, its time limit, what only some runs need, the number of tasks of a job that is
    sized and starts none, or a directive that is read sets the option to another value; info where the job has the
    value anyway.
    """
    lost, block = list(settings), block or job.directives
    missed = [each for each in lost if not _has_anyway(job, each, block)]
    if lost and not missed:
        return "info"
    names = {each.name for each in missed if not _is_set_elsewhere(block, each)}
    if any(_is_read(job, name) for name in names):
        return None
    if any(each.name == "nodelist" and _words(job)[each.text or ""] > 1 for each in missed):
        return None  # a command names the node as well
    if names and names <= _SIZES and job.request.has_any_option(_SIZES) and not job.steps and not job.launches:
        return "warning"  # the size that is set is enough for the batch shell alone
    if not lost or names - _REPORTING - _OF_SOME_RUNS - (_PLACING | _LIMITS if unread else frozenset()):
        return None
    return "warning"


def rivals(block: Directives, settings: Iterable[Setting]) -> list[Setting]:
    """The settings of a block beside which sbatch would refuse these, if it read them."""
    lost = {each.name: each.value for each in settings if each.component <= 0}
    newest = block.versions.last
    if not lost or not block.certain or block.components > 1:
        return []
    values = {**values_of(block, 0, newest), **lost}
    found = [each for each in clashes(values, (newest,))[newest] if each.effect == REFUSED]
    names = [name for each in found if not lost.keys().isdisjoint(each.names) for name in each.names]
    return [each for name in dict.fromkeys(names) if name not in lost and (each := block.last(name)) is not None]


def are_only_told(names: Iterable[str]) -> bool:
    """Whether options only affect what is reported about a job: mail, its name, the names of its logs."""
    return _REPORTING.issuperset(names)


def is_repeated(block: Directives, setting: Setting) -> bool:
    """Whether a line that is not read sets an option to the value that it has."""
    above = block.last(setting.name)
    return above is not None and above is not setting and above.known and above.value == setting.value


def _is_set_elsewhere(block: Directives, setting: Setting) -> bool:
    """Whether the option of a line that is not read is set by one that is."""
    found = block.all(setting.name)
    return bool(found) and all(each is not setting for each in found)


def _is_read(job: Job, name: str) -> bool:
    """Whether the script reads a variable that an option sets."""
    return any(each.name in _VARIABLES.get(name, ()) for each in job.trace.reads)


@once
def _words(job: Job) -> Counter[str]:
    """How often each word that may be the name of a node is in the script."""
    return Counter(_NODE.findall(job.source.own.text))


def _has_anyway(job: Job, setting: Setting, block: Directives) -> bool:
    """Whether a job has the value of an option without it: by another directive, or by default."""
    request = job.request
    if is_repeated(block, setting):
        return True
    if (
        block is not job.directives
        or request.has_option(setting.name)
        or setting.text not in _DEFAULTS.get(setting.name, ())
        or request.heterogeneous
    ):
        return False
    sizes = ("nodes", "ntasks", "ntasks-per-node")
    if setting.name in sizes and request.has_any_option(sizes) and request.effective_tasks() != 1:
        return False
    return not _is_read(job, setting.name)
