"""Variables in a launcher's options that nothing in the script sets."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from sbatchlint.analysis.expansion.uses import Uses
from sbatchlint.bash.values import Expansion, Phase
from sbatchlint.job.launches import Launch
from sbatchlint.slurm.environment import find
from sbatchlint.source.regex import Regex
from sbatchlint.source.text import Span

if TYPE_CHECKING:
    from sbatchlint.job import Job

# What every launcher needs to be told right: how many, which one, and where they meet.
_OPTIONS = frozenset(
    {"nnodes", "nproc_per_node", "node_rank", "master_addr", "master_port", "rdzv_endpoint", "num_processes"}
    | {"num_machines", "machine_rank", "main_process_ip", "main_process_port", "num_gpus", "num_nodes", "np", "n"}
)
_NAME = Regex(r"[A-Za-z_]\w*")
# In the environment of a login shell or of a module, or made by bash; nobody sets these in a script.
_USUAL = Regex(
    r"(?:CUDA|ROCM|MPI|OMPI|CONDA|VIRTUAL_ENV|SLURM|SLURMD|PBS|LSB|SGE|LMOD|EB|BASH|EPOCH)\w*|\w*(?:HOME|ROOT|DIR|PATH)"
    r"|S?RANDOM|SECONDS|LINENO|E?UID|PPID|HOST(?:NAME|TYPE)|OSTYPE|MACHTYPE|(?:OLD)?PWD|USER|LOGNAME|SHELL|TERM|LANG"
    r"|OPTARG|OPTIND|REPLY|SHLVL|IFS"
)


class Undefined(NamedTuple):
    """A variable in an option of a launcher: where it is expanded, and the option as it is written."""

    name: str
    span: Span
    launcher: str
    option: str


def undefined_variables(job: Job, uses: Uses) -> list[Undefined]:
    """Each place once. Only of scripts that set others themselves: one that sets nothing is given all it needs."""
    if uses.unclear_sources or job.phase is not Phase.BATCH:
        return []
    found: dict[Span, Undefined] = {}
    for launch in job.launches:
        own = False
        suspects = []
        for option in launch.launcher.given:
            for piece in option.value or ():
                own = own or uses.assignment_around(Span(piece.start, piece.start + 1)) is not None
                if piece.expansion is None:
                    continue
                name = piece.expansion.name
                own = own or name in uses.assigned
                wanted = piece.text is None and option.name.replace("-", "_") in _OPTIONS
                if wanted and _NAME.fullmatch(name) and not _from_image(launch, piece.expansion):
                    suspects.append((name, piece.expansion.span, option.name))
        if not own:
            continue
        for name, span, written in suspects:
            known = name in uses.assigned or name in uses.guarded or find(name) or _USUAL.fullmatch(name)
            if not known and not _is_mentioned(job, name):
                found.setdefault(span, Undefined(name, span, launch.launcher.name, written))
    return list(found.values())


def _from_image(launch: Launch, expansion: Expansion) -> bool:
    """Whether a container's image, or a hook that starts it, may set the variable (MASTER_ADDR by enroot's)."""
    return expansion.phase is Phase.TASK and launch.container is not None


def _is_mentioned(job: Job, name: str) -> bool:
    """Whether the script names the variable otherwise than to expand it: in a comment, in `--export`, in its usage."""
    return re.search(rf"(?<![$\w-])(?<!\$\{{){name}\b|\${name}=", job.source.text) is not None
