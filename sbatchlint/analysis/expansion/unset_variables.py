"""Variables that are read and not set: Slurm's own, by their phase, their option or their spelling, and a launcher's.

The submit environment and the command line of sbatch may set more than the script shows, so that only names count that
the script neither sets nor tests, and for which it gives no default.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from sbatchlint.analysis.expansion.uses import DEFAULTS, Use, Uses
from sbatchlint.bash.trace import Invocation, Read
from sbatchlint.bash.values import Phase, Text
from sbatchlint.job.environment import GPU_OPTIONS
from sbatchlint.job.shell_environment import JobEnvironment
from sbatchlint.slurm.environment import Entry, find, is_slip_of_fingers, mistaken
from sbatchlint.source.regex import Regex
from sbatchlint.source.text import Span

if TYPE_CHECKING:
    from sbatchlint.job import Job

# Languages of short programs, and how these take a variable from the environment without a default.
_LANGUAGES = frozenset({"perl", "python", "awk", "gawk", "ruby"})
_TAKEN = Regex(r"(?:\bENV\{\s*|\benviron\[\s*|\bENVIRON\[\s*|\bENV\[\s*)[\"']?(SLURM_\w+)[\"']?\s*[\]}]")
# `SLURM_…`, and what a slip of the fingers makes of it (`SLRUM_JOB_ID`).
_name_of_slurm = Regex(r"S[A-Z]{2,6}_[A-Z]").match
_RESOURCES = ("nodes", "ntasks", "ntasks-per-node", "cpus-per-task", "exclusive", "mem", "mem-per-cpu", *GPU_OPTIONS)


class Unset(NamedTuple):
    """A read of a variable that is not set there.

    `entry`: what Slurm knows of it; None for a name that it never sets. `meant`: the name that was probably meant.
    `text`: what to write in its place, and whether that is `safe`; None where nothing is certain.
    """

    use: Use
    entry: Entry | None
    meant: str | None
    text: str | None
    safe: bool
    certain: bool = True

    @property
    def name(self) -> str:
        return self.use.read.name

    @property
    def span(self) -> Span:
        return self.use.read.span


def _reads(job: Job, uses: Uses) -> Iterator[Read]:
    """Reads of Slurm's variables for which the script is not prepared, each place once."""
    seen: set[Span] = set()
    for read in job.trace.reads:
        if not _name_of_slurm(read.name) or read.operator in DEFAULTS or read.span in seen:
            continue
        if read.variable is not None or read.context.phase is Phase.SUBMIT or read.context.handler:
            continue
        if read.name in uses.assigned or read.name in uses.guarded:
            continue
        seen.add(read.span)
        yield read


def step_variables(job: Job, uses: Uses) -> list[Unset]:
    """Variables of a step that the batch shell reads, which does not have them."""
    found = []
    for read in _reads(job, uses):
        entry = find(read.name)
        if entry is None or read.context.phase is not Phase.BATCH or entry.when not in ("always", "gpus"):
            continue
        since = entry.batch - {"26.05"}  # SLURM_STEP_ID is -5 in the batch shell of 26.05
        if since or job.versions.majors[0] not in entry.task:
            continue
        use = uses.use(read)
        if use.kind != "guard":
            found.append(Unset(use, entry, entry.twin, None, False))
    found.extend(_in_other_languages(job))
    return found


def _in_other_languages(job: Job) -> Iterator[Unset]:
    """Step variables that a program of another language, written in the batch script, takes from its environment."""
    for command in job.invocations:
        if (
            command.phase is not Phase.BATCH
            or command.name is None
            or command.name.rstrip("0123456789.") not in _LANGUAGES
        ):
            continue
        texts = [Text(field) for field in command.argv[1:]] + ([command.stdin] if command.stdin is not None else [])
        for text in texts:
            for match in _TAKEN.finditer(text.string):
                entry = find(match[1])
                if entry is None or entry.batch or entry.when not in ("always", "gpus"):
                    continue
                span = text.span(match.start(1), match.end(1))
                read = Read(entry.name, span, "", None, command.context, command.index)
                yield Unset(Use(read, "argument", command), entry, entry.twin, None, False)


def missing_variables(job: Job, uses: Uses) -> list[Unset]:
    """Variables that no option of the script makes, and names that Slurm never sets."""
    environment = JobEnvironment(job.request)
    # directives that sbatch does not read are another fault
    asks = not job.directives.unread and any(job.request.asked(option) for option in _RESOURCES)
    found = []
    for read in _reads(job, uses):
        entry = find(read.name)
        if entry is None:
            slip = mistaken(read.name)
            if slip is None or uses.unclear_sources and not is_slip_of_fingers(read.name, slip):
                continue  # a file that is not known may set it
            meant = find(slip.meant)
            replaceable = (
                slip.certain and meant is not None and environment.lookup(slip.meant, read.context) is not False
            )
            text = _renamed(job, read, slip.meant) if replaceable else None
            found.append(Unset(uses.use(read), None, slip.meant, text, slip.certain))
        elif entry.when == "options" and environment.lookup(read.name, read.context) is False:
            if not asks and (read.name != "SLURM_CPUS_PER_TASK" or job.directives.unread):
                continue  # all that it needs comes from the command line of sbatch
            use = uses.use(read)
            if use.kind == "guard" or read.operator not in ("", "arithmetic"):
                continue
            text, safe = _instead(job, read, entry)
            found.append(Unset(use, entry, None, text, safe))
    return found


def _written(job: Job, read: Read) -> str:
    return job.source.text[read.span.start : read.span.end]


def _renamed(job: Job, read: Read, name: str) -> str | None:
    written = _written(job, read)
    return written.replace(read.name, name) if written.count(read.name) == 1 else None


def _instead(job: Job, read: Read, entry: Entry) -> tuple[str | None, bool]:
    """What to write for a variable that no option makes, and whether that is what was plainly meant."""
    request, name = job.request, entry.name
    if _written(job, read) not in (f"${name}", f"${{{name}}}", name):
        return None, False
    if name == "SLURM_CPUS_PER_TASK":
        return f"${{{name}:-1}}", True
    if name == "SLURM_NTASKS_PER_NODE" and not request.asked("ntasks") and not request.asked("gpus"):
        return f"${{{name}:-1}}", True
    nodes = request.exact_nodes()
    if name in ("SLURM_GPUS_PER_NODE", "SLURM_GPUS") and request.asks_for_gpus:
        if name == "SLURM_GPUS" and nodes != 1 or request.gpus_per_node() is None:
            return None, False
        return _renamed(job, read, "SLURM_GPUS_ON_NODE"), True
    if name in ("SLURM_NTASKS", "SLURM_NPROCS") and not request.asked("gpus"):
        return f"${{{name}:-{1 if nodes == 1 else '$SLURM_JOB_NUM_NODES'}}}", False
    return None, False


def in_launcher(job: Job, use: Use) -> bool:
    """Whether the value becomes part of a launcher's command line."""
    span = use.read.span
    return any(_covers(launch.invocation, span) for launch in job.launches)


def _covers(command: Invocation, span: Span) -> bool:
    return command.span.start <= span.start and span.end <= command.span.end
