"""Variables of the job that a program inside a container reads, and that its container does not get.

docker and podman start with the image's own environment (podman 4.3: PATH, TERM, HOME, HOSTNAME, `container` and the
variables of a proxy); apptainer and singularity do so with --cleanenv or --containall. What the program reads is known
where a shell in the container expands it, or a launcher takes its settings from it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from sbatchlint.analysis.containers.container_starts import runs_script
from sbatchlint.analysis.expansion.uses import DEFAULTS
from sbatchlint.analysis.launch.evidence import rank_sign
from sbatchlint.bash.expansion.assignment import ENVIRONMENT_NAMES
from sbatchlint.bash.values import Phase, shown_text
from sbatchlint.job.launchers import python_command
from sbatchlint.slurm.environment import find
from sbatchlint.source.edits import Edit
from sbatchlint.source.regex import Regex
from sbatchlint.source.text import Span

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sbatchlint.analysis.containers.container_starts import ContainerStart
    from sbatchlint.analysis.expansion.uses import Uses
    from sbatchlint.bash.trace import Invocation, Read
    from sbatchlint.job import Job

# What a variable's name begins with that apptainer hands in under the rest of it.
_HANDED_IN = ("APPTAINERENV_", "SINGULARITYENV_")
# Masks of devices, which Slurm sets for jobs with GPUs.
_DEVICES = frozenset({"CUDA_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES"})
# What programs that take their rank from Slurm look at.
_RANKS = ("SLURM_JOB_ID", "SLURM_JOB_NODELIST", "SLURM_NTASKS", "SLURM_PROCID", "SLURM_LOCALID", "SLURM_NODEID")
# What a distributed program looks for itself, where no launcher is told it.
_OF_PROGRAMS = Regex(
    r"MASTER_(?:ADDR|PORT)|(?:LOCAL_)?RANK|WORLD_SIZE|(?:NCCL|UCX|GLOO|TORCH|PYTORCH|CUDA|NVTE|HF|WANDB|HSA|RCCL|MIOPEN"
    r"|TOKENIZERS|TRITON|OMP)_[A-Z0-9_]+"
)
# Paths of the host, which mean nothing in a container.
_PATHS = Regex(r".*_(?:HOME|PATH|ROOT|DIR|CACHE)|CUDA_VISIBLE_DEVICES")
# Variables of which images have their own: what a program in the container means by them is not the host's.
_OF_IMAGES = Regex(
    r"(?:LD_LIBRARY_|LIBRARY_|PYTHON|MAN|CPATH|CMAKE_PREFIX_|PKG_CONFIG_|GO|NODE_)?PATH|\w+_VERSION|LANG|LC_\w+|TZ|TMPDIR"
    r"|(?:CUDA|ROCM|CONDA|JAVA|VIRTUAL|NVIDIA)_\w+|DEBIAN_FRONTEND"
)
_RENDEZVOUS = frozenset({"MASTER_ADDR", "MASTER_PORT", "RANK", "LOCAL_RANK", "WORLD_SIZE"})


class LostVariables(NamedTuple):
    """What a container does not get of the environment that its program reads.

    `names`: in order of reading. `reads`: where; none for what a program reads itself. `certain`: the program goes
    wrong without them, and does not merely print them. `unexported`: those of them that the script does not export.
    `cleaned`: the option that drops the environment (None for engines that never pass it on). `dropped_by_sudo`: they
    are named, but sudo does not let them through. `from_slurm`: a program takes its rank from them.
    """

    start: ContainerStart
    names: tuple[str, ...]
    reads: tuple[Span, ...]
    certain: bool
    unexported: tuple[str, ...]
    cleaned: str | None
    dropped_by_sudo: bool
    from_slurm: bool
    edits: tuple[Edit, ...]


class _Lost:
    """What one way of a start loses, while it is collected."""

    def __init__(self) -> None:
        self.reads: dict[str, list[Span]] = {}
        self.harmful: set[str] = set()
        self.by_programs: dict[str, None] = {}
        self.ranks = False


def lost_variables(job: Job, starts: list[list[ContainerStart]], uses: Uses) -> Iterator[LostVariables]:
    """The containers that lack variables, each command once."""
    for ways in starts:
        if not all(_drops_environment(each) for each in ways):
            continue
        found = [_lost(job, each, uses) for each in ways]
        start, first = ways[0], found[0]
        names = [name for name in first.reads if all(name in each.reads for each in found)]
        names += [name for name in first.by_programs if name not in names and all(name in o.by_programs for o in found)]
        if not names:
            continue
        variables = start.invocation.state.variables
        unexported = tuple(
            name
            for name in names
            if (held := variables.get(name)) is not None and held.alternatives and not held.exported
        )
        cleaned = _cleaning(start)
        reads = tuple(sorted({span for name in names for span in first.reads.get(name, ())}))
        yield LostVariables(
            start, tuple(names), reads, any(name in first.harmful for name in names), unexported, cleaned,
            start.through_sudo and any(name in start.container.passed for name in names), first.ranks,
            () if cleaned or unexported or start.through_sudo else _passing(start, names),
        )  # fmt: skip


def _drops_environment(start: ContainerStart) -> bool:
    container = start.container
    if container.kind in ("docker", "podman"):
        return start.verb in ("run", "shared-run") and start.is_certain and not container.inherits
    instance = shown_text(container.image or ()).startswith("instance:")
    return container.kind == "apptainer" and _cleaning(start) is not None and start.is_certain and not instance


def _cleaning(start: ContainerStart) -> str | None:
    """How apptainer is told to drop the environment."""
    if start.container.kind != "apptainer" or start.container.inherits:
        return None
    for name in ("cleanenv", "containall", "compat"):
        given = start.flag(name)
        if given is not None:
            return start.job.source.slice(given.span) if given.span.end - given.span.start < 16 else f"--{name}"
    return "APPTAINER_CLEANENV"


def gets(start: ContainerStart, name: str) -> bool | None:
    """Whether the program in the container gets a variable of the host; None where that is not known."""
    container = start.container
    if container.option("env-file") is not None or any(
        each.name in ("env-merge", "env-host") for each in container.options
    ):
        return None
    named = name in container.passed or any(
        each.endswith("*") and name.startswith(each[:-1]) for each in container.passed
    )
    if named:
        return container.passed.get(name) is not None or not start.through_sudo
    variables = start.invocation.state.variables
    if container.kind == "apptainer":
        if any(prefix + name in variables for prefix in _HANDED_IN):
            return True
        # `export SINGULARITYENV_$name=…`
        return None if any(f"{prefix}$" in start.job.source.text for prefix in _HANDED_IN) else False
    return container.passes(name)


def _lost(job: Job, start: ContainerStart, uses: Uses) -> _Lost:
    lost = _Lost()
    inside = [each for each in job.trace.reads if _is_inside(each, start.invocation)]
    prepared = {each.name for each in inside if each.operator in DEFAULTS or uses.use(each).kind == "guard"}
    sourced = [each for each in uses.sources if start.invocation in each.ancestors()]
    for read in inside:
        if read.variable is not None or read.name in prepared or gets(start, read.name) is not False:
            continue
        if not _is_set_outside(job, start, read.name) or sourced and not read.name.startswith("SLURM_"):
            continue
        if any(read.name in each.state.variables for each in _between(read, start.invocation)):
            continue
        lost.reads.setdefault(read.name, []).append(read.span)
        if uses.use(read).kind != "print":
            lost.harmful.add(read.name)
    _of_programs(start, lost)
    return lost


def _is_inside(read: Read, start: Invocation) -> bool:
    each = read.context.parent
    while each is not None and each is not start:
        each = each.context.parent
    return each is start


def _between(read: Read, start: Invocation) -> Iterator[Invocation]:
    """The commands between a read and the start of the container."""
    each = read.context.parent
    while each is not None and each is not start:
        yield each
        each = each.context.parent


def _is_set_outside(job: Job, start: ContainerStart, name: str) -> bool:
    """Whether the command that starts the container has the variable, as far as script and Slurm tell."""
    if name in _DEVICES:
        return job.request.asks_for_gpus is True
    if name in ENVIRONMENT_NAMES or _OF_IMAGES.fullmatch(name):
        return False
    variable = start.invocation.state.variables.get(name)
    if variable is not None:
        return bool(variable.alternatives) and all(way.fields is not None for way in variable.alternatives)
    entry = find(name)
    if entry is None or job.phase is not Phase.BATCH:
        return False
    return bool(entry.batch) or start.step is not None and bool(entry.task)


def _of_programs(start: ContainerStart, lost: _Lost) -> None:
    """What launchers and programs in the container take from the environment, and the script exports for them."""
    variables = start.invocation.state.variables
    own = {name for name, each in variables.items() if each.exported and each.alternatives}
    several = start.step is not None and (start.step.geometry.several or start.step.several_nodes)
    launchers = {id(each.invocation): each.launcher for each in start.launches}
    for command in start.program:
        wanted: list[str] = []
        certain = True
        launcher = launchers.get(id(command))
        if launcher is not None:
            wanted += [name for name in launcher.variables.values() if name in own]
            if launcher.kind == "swift":
                wanted += [name for name in ("NPROC_PER_NODE", "NNODES", "NODE_RANK", "MASTER_ADDR") if name in own]
        elif several and (python := python_command(command.argv)) is not None:
            sign = rank_sign(command.argv)
            if sign is not None and sign.kind in ("slurm-launcher", "lightning"):
                wanted += _RANKS
                lost.ranks = lost.ranks or gets(start, "SLURM_PROCID") is False
            elif python.kind in ("script", "module"):
                wanted += sorted(own & _RENDEZVOUS)
                certain = not _RENDEZVOUS.isdisjoint(start.container.passed)
        elif several and runs_script(command):
            wanted += sorted(own & _RENDEZVOUS)
            certain = not _RENDEZVOUS.isdisjoint(start.container.passed)
        for name in wanted:
            set_inside = name in command.state.variables or name in dict(command.variables)
            if not set_inside and gets(start, name) is False:
                lost.by_programs[name] = None
                if certain:
                    lost.harmful.add(name)


def _passing(start: ContainerStart, names: list[str]) -> tuple[Edit, ...]:
    """Names the variables to docker, which takes their values from its own environment."""
    added = start.added(" ".join(f"-e {name}" for name in names))
    return () if added is None else (added,)


# --- settings of libraries -------------------------------------------------------------------------


class LostSettings(NamedTuple):
    """Settings of libraries that the script exports for programs which all run in containers that do not get them."""

    start: ContainerStart
    names: tuple[str, ...]
    places: tuple[Span, ...]
    edits: tuple[Edit, ...]


def lost_settings(job: Job, starts: list[list[ContainerStart]]) -> Iterator[LostSettings]:
    """Exported names that only programs look for, where every program of the job is in such a container."""
    dropping = [ways for ways in starts if all(_drops_environment(each) for each in ways)]
    if not dropping or len(dropping) != len(starts) or _runs_outside(job, dropping):
        return
    for ways in dropping:
        start = ways[0]
        if start.container.kind == "apptainer" or not _works(start):
            continue
        places: dict[str, Span] = {}
        for each in job.assigned:
            if each.exported and _is_setting(each.name) and each.order <= start.invocation.index:
                if each.context.parent is None and all(gets(way, each.name) is False for way in ways):
                    if not any(each.name in command.state.variables for command in start.program):
                        places[each.name] = each.name_span
        if places:
            edits = () if start.through_sudo else _passing(start, list(places))
            yield LostSettings(start, tuple(places), tuple(places.values()), edits)


def _is_setting(name: str) -> bool:
    return _OF_PROGRAMS.fullmatch(name) is not None and _PATHS.fullmatch(name) is None and name not in _RENDEZVOUS


def _works(start: ContainerStart) -> bool:
    return bool(start.launches) or any(python_command(each.argv) is not None for each in start.program)


def _runs_outside(job: Job, dropping: list[list[ContainerStart]]) -> bool:
    """Whether programs that may want the settings run outside of these containers."""
    inside = {id(each) for ways in dropping for way in ways for each in way.program}
    steps = {id(way.step) for ways in dropping for way in ways}
    if any(id(each.invocation) not in inside for each in job.launches):
        return True
    if any(id(step) not in steps for step in job.steps):
        return True
    return any(id(each) not in inside and python_command(each.argv) is not None for each in job.invocations)
