"""A launcher's option is given a variable that nothing sets.

`--nnodes $NNODES` without an NNODES loses its value, takes the next option for it, or becomes `--nnodes=`: the launcher
stops with an error about another option, or starts fewer processes than asked. It is easily done by copying the launch
line of another script, or by renaming a variable in one place.

Only scripts that set other variables of the same command are looked at. Names that are set, tested or given a default,
that a comment or a directive mentions, that come with modules or a login, or that a sourced file may set are no faults.

## Fix

None: nobody knows the value. `${NNODES:?}` stops the script at once where it is not given.

## References

torch/distributed/run.py: `--nnodes ""` is a ValueError.
"""

import re
from collections.abc import Iterator

from sbatchlint.analysis.expansion.reads import assigned_names, assignment_around, guarded_names
from sbatchlint.analysis.expansion.sourced import unclear_sources
from sbatchlint.bash.values import Expansion, Phase
from sbatchlint.check import Bad, Card, Finding, Good, Job, Launch, Span
from sbatchlint.slurm.environment import find
from sbatchlint.source.regex import Regex
from sbatchlint.triggers import Launchers

CARD = Card(
    "SB414", "undefined-launcher-variable", severity="warning", fix="never", since="0.1.0", when=Launchers(),
    seen="torch/distributed/run.py",
)  # fmt: skip

# What every launcher needs to be told right: how many, which one, and where they meet.
_OPTIONS = frozenset(
    {"nnodes", "nproc_per_node", "node_rank", "master_addr", "master_port", "rdzv_endpoint", "num_processes"}
    | {"num_machines", "machine_rank", "main_process_ip", "main_process_port", "num_gpus", "num_nodes", "np", "n"}
)
# In the environment of a login shell or of a module, or made by bash; nobody sets these in a script.
_USUAL = Regex(
    r"(?:CUDA|ROCM|MPI|OMPI|CONDA|VIRTUAL_ENV|SLURM|SLURMD|PBS|LSB|SGE|LMOD|EB|BASH|EPOCH)\w*|\w*(?:HOME|ROOT|DIR|PATH)"
    r"|S?RANDOM|SECONDS|LINENO|E?UID|PPID|HOST(?:NAME|TYPE)|OSTYPE|MACHTYPE|(?:OLD)?PWD|USER|LOGNAME|SHELL|TERM|LANG"
    r"|OPTARG|OPTIND|REPLY|SHLVL|IFS"
)


def check(job: Job) -> Iterator[Finding]:
    if job.phase is not Phase.BATCH or unclear_sources(job):
        return
    seen: set[Span] = set()
    for launch in job.launches:
        if not _has_own_variables(job, launch):
            continue  # a script that sets nothing is given all it needs
        for option in launch.launcher.given:
            if option.name.replace("-", "_") not in _OPTIONS:
                continue
            unknown = [piece.expansion for piece in option.value or () if piece.text is None and piece.expansion]
            for expansion in unknown:
                name, place = expansion.name, expansion.span
                if place in seen or _may_be_set(job, name) or _is_from_image(launch, expansion):
                    continue
                seen.add(place)
                dashes = "-" if len(option.name) == 1 else "--"
                yield Finding(
                    place,
                    f"nothing in the script sets {name}, so {launch.launcher.name}'s {dashes}{option.name} is empty "
                    f"unless the submit environment has it; set it, or write `${{{name}:?}}`",
                )


def _has_own_variables(job: Job, launch: Launch) -> bool:
    """Whether an option of a launcher has a value from a variable that the script sets."""
    return any(
        piece.expansion is not None and piece.expansion.name in assigned_names(job)
        or assignment_around(job, Span(piece.start, piece.start + 1)) is not None
        for option in launch.launcher.given
        for piece in option.value or ()
    )  # fmt: skip


def _may_be_set(job: Job, name: str) -> bool:
    """Whether the script, Slurm or a login sets a variable, or the script speaks of it otherwise than to expand it: in
    a comment, in `--export`, in its usage."""
    if not name.isidentifier() or name in assigned_names(job) or name in guarded_names(job):
        return True
    if find(name) is not None or _USUAL.fullmatch(name):
        return True
    return re.search(rf"(?<![$\w-])(?<!\$\{{){name}\b|\${name}=", job.source.text) is not None


def _is_from_image(launch: Launch, expansion: Expansion) -> bool:
    """Whether a container's image, or a hook that starts it, may set the variable (MASTER_ADDR by enroot's)."""
    return expansion.phase is Phase.TASK and launch.container is not None


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        GPUS_PER_NODE=8
        srun torchrun --nnodes «$NNODES» --nproc_per_node $GPUS_PER_NODE train.py
        """
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        HEAD_NODE=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n1)
        LAUNCHER="torchrun --nnodes=2 --rdzv_backend=c10d --rdzv_endpoint=$HEAD_NODE:«$PORT»"
        srun bash -c "$LAUNCHER train.py"
        """,
        title="by way of a string",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        # usage: NNODES=2 sbatch job.sh
        GPUS_PER_NODE=8
        srun torchrun --nnodes $NNODES --nproc_per_node $GPUS_PER_NODE train.py
        """,
        title="meant to be given",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        GPUS_PER_NODE=8
        source settings.sh
        srun torchrun --nnodes $NNODES --nproc_per_node $GPUS_PER_NODE train.py
        """,
        title="maybe set by another file",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        srun torchrun --nnodes $NNODES --nproc_per_node $GPUS train.py
        """,
        title="a script that is given everything",
    ),
]
