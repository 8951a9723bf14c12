"""Programs of the host that a script calls inside a container, whose image hardly has them: Slurm's, and `module`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from sbatchlint.analysis.containers.pyxis import STARTING
from sbatchlint.bash.trace import Invocation
from sbatchlint.bash.values import Phase, shown_text, text_of
from sbatchlint.job.containers import Container, pyxis_container
from sbatchlint.job.launches import container_of
from sbatchlint.job.steps import directive_value, job_nodes
from sbatchlint.source.edits import Edit
from sbatchlint.source.regex import Regex
from sbatchlint.source.text import Span

if TYPE_CHECKING:
    from sbatchlint.job import Job
    from sbatchlint.slurm.directives import Setting

SLURM = frozenset({"scontrol", "squeue", "srun", "sacct", "sbatch", "sinfo", "scancel", "sbcast", "sstat", "salloc"})
MODULES = frozenset({"module", "ml"})
# What brings Slurm into a container, by its path, its image or its modules.
_BRINGS = Regex(r"slurm|munge|^(?:/host)?(?:/usr)?(?:/(?:local|s?bin))?/?$")
_BINDINGS = Regex(r"bindings|singularity|apptainer|lumi", re.IGNORECASE)
_ASKING = frozenset({"command", "type", "which", "hash"})


class BatchContainer(NamedTuple):
    """The container that the batch script itself runs in.

    `missing`: calls of programs that are hardly in it, the first of each. `nodes`: of the job, where nothing starts
    anything on the others; else 1.
    """

    setting: Setting
    missing: tuple[Invocation, ...]
    nodes: int


class HostTool(NamedTuple):
    """A program of Slurm that a command inside a container calls.

    `fallback`: what its value is instead, where the script says so (`|| echo localhost`).
    """

    command: Invocation
    container: Container
    fallback: str

    @property
    def span(self) -> Span:
        """The command without what starts it."""
        start, end = self.command.name_span.start, self.command.span.end
        return Span(start, end) if self.command.span.start <= start < end else self.command.span


def batch_container(job: Job) -> BatchContainer | None:
    """What the directives put the batch script into."""
    settings = job.directives.settings
    setting = next((each for name in sorted(STARTING) for each in settings if each.name == name), None)
    if setting is None:
        return None
    container = pyxis_container([(each.name, directive_value(each), each.span) for each in settings], job.site)
    missing: dict[str, Invocation] = {}
    if container is not None and not brings_slurm(container, job):
        for each in job.invocations:
            if each.phase is Phase.BATCH and each.name in SLURM | MODULES and not _asked_for(job, each):
                missing.setdefault(str(each.name), each)
    starts = any(each.phase is Phase.TASK or each.name in SLURM for each in job.invocations)
    nodes = job_nodes(job.request)
    alone = nodes is not None and nodes > 1 and not starts and bool(job.invocations) and job.is_shell
    return BatchContainer(setting, tuple(missing.values()), nodes or 1 if alone else 1)


def tools_in_containers(job: Job) -> Iterator[HostTool]:
    """Slurm's programs that commands inside the steps' containers call, each place once."""
    if any(job.request.asked(name) for name in STARTING):
        return  # the batch script itself runs in there
    tools: dict[Span, HostTool] = {}
    doubtful: set[Span] = set()
    for each in job.invocations:
        if each.name not in SLURM or each.phase is Phase.SUBMIT or each.context.parent is None:
            continue
        container = container_of(each)
        if container is None or each.name == "srun" and each.kind == "apptainer":
            continue  # `apptainer exec IMAGE srun …` has its words in the wrong order
        if not container.certain or brings_slurm(container, job) or _asked_for(job, each):
            doubtful.add(each.span)
        elif container.kind != "apptainer" or not site_binds_slurm(job):
            tools.setdefault(each.span, HostTool(each, container, _fallback(job, each)))
    for span, tool in tools.items():
        if span not in doubtful and not (tool.fallback and _launchers_meet_there(job, span)):
            yield tool


def _launchers_meet_there(job: Job, span: Span) -> bool:
    """Whether launchers meet at what the command tells, or else at the fallback: that is their fault."""
    places = (each.place for each in job.unshared_rendezvous() if each.kind == "fallback")
    return any(place.start <= span.start < place.end for place in places)


def brings_slurm(container: Container, job: Job) -> bool:
    """Whether Slurm may be there after all: it is mounted, or the image's name says so."""
    for mount in container.mounts:
        if any(_BRINGS.search(shown_text(path)) for path in (mount.source, mount.target) if path):
            return True
    image = container.image or container.name
    return image is not None and "slurm" in shown_text(image).lower()


def site_binds_slurm(job: Job) -> bool:
    """Whether a module may bind Slurm into the containers of apptainer (LUMI's singularity-bindings do)."""
    loaded = (shown_text(field) for each in job.invocations if each.name in MODULES for field in each.argv[1:])
    return any(_BINDINGS.search(word) for word in loaded)


def _fallback(job: Job, command: Invocation) -> str:
    """What an `echo` behind `||` says instead of a command that fails."""
    for each in job.invocations[command.index :]:
        if each.context.parent is command.context.parent and each.name == "echo" and len(each.argv) == 2:
            if any(f"{command.name} " in str(branch) and way for branch, way in each.context.guards):
                return text_of(each.argv[1]) or ""
    return ""


def _asked_for(job: Job, command: Invocation) -> bool:
    """Whether the script looks first whether the program is there."""
    return any(
        each.name in _ASKING and any(shown_text(field) == command.name for field in each.argv[1:])
        for each in job.invocations
    )


class MovedOut(NamedTuple):
    """The edits that let the batch shell ask for the first node; `safe` as the design has it."""

    name: str
    edits: tuple[Edit, ...]
    safe: bool


def moved_out(job: Job, tool: HostTool) -> MovedOut | None:
    """`NAME=$(scontrol show hostnames … | head -n1)` of a container, computed before the step and handed in."""
    command, container = tool.command, tool.container
    found = [
        each
        for each in job.assigned
        if each.span.start <= command.span.start < each.span.end and each.context.parent is command.context.parent
    ]
    names = {each.name for each in found}
    if not found or not container.inherits or job.is_embedded or job.phase is not Phase.BATCH:
        return None
    assigned = found[0]
    if len(names) > 1 or any(each.name == assigned.name and each.span != assigned.span for each in job.assigned):
        return None
    match = _FIRST_NODE.fullmatch(job.source.slice(assigned.span).replace("\\", ""))
    outermost = ([command, *command.ancestors()])[-1]
    row = job.source.line_of(outermost.span.start)
    indent = job.source.text[row.start : outermost.span.start]
    before = job.source.text[: row.start].rstrip("\n")
    if match is None or indent.strip() or before.endswith("\\") or outermost.context.looped or outermost.context.calls:
        return None
    gone = _line_of(job, assigned.span)
    if gone is None:
        return None
    new = f'{indent}export {assigned.name}=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)\n'
    safe = match.group(2) == "SLURM_JOB_NODELIST" and match.group(3) is None and match.group(4) is None
    return MovedOut(assigned.name, (Edit(Span(row.start, row.start), new), Edit(gone, "")), safe)


# NAME=$(scontrol show hostnames "$LIST" | head -n1), with a default for the list, or for all of it.
_FIRST_NODE = Regex(
    r"(\w+)=\"?\$\(\s*scontrol show hostnames? \"?\$(?:\{(?=.*\}))?(SLURM_(?:JOB_|STEP_)?NODELIST)(:-\w*)?\}?\"?"
    r"\s*\|\s*(?:head -n ?1|head -1|sed -n 1p|sed -n '1p')\s*(\|\| echo \w+\s*)?\)\"?"
)


def _line_of(job: Job, span: Span) -> Span | None:
    """An assignment with its `export` and what separates it from the next command; its line where it is alone there."""
    text = job.source.text
    row = job.source.line_of(span.start)
    before = re.search(r"(^|['\";&]|&& )[ \t]*(?:export[ \t]+)?$", text[row.start : span.start])
    after = re.match(r"[ \t]*(?:;|&&)?[ \t]*", text[span.end :])
    if before is None or after is None:
        return None
    end = span.end + after.end()
    if before.start() == before.end(1) == 0 and text[end : end + 2].lstrip("\\")[:1] == "\n":
        return Span(row.start, text.index("\n", end) + 1)
    if not re.search(r";|&&", after.group()):
        return None
    return Span(row.start + before.end(1), end)
