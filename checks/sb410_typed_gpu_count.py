"""A program gets no number of GPUs: the variable also contains the GPU type.

With `--gpus-per-node=h100:8`, SLURM_GPUS_PER_NODE is `h100:8`, just as the option was written, and SLURM_GPUS likewise.
As `--nproc_per_node` or in arithmetic that is not a number: torchrun stops with a ValueError, bash with a syntax error
in the expression. A script that worked with `--gpus-per-node=8` breaks when a type is added.

## Fix

`${SLURM_GPUS_PER_NODE##*:}`, the part after the last colon, which is right with and without a type. It is safe. A
request for several types (`a100:2,v100:1`) has no single number, and therefore no fix.

## References

job_scheduler.c and src/common/env.c, Slurm 20.11 to 26.05; awsome-distributed-training issue 71.
"""

from collections.abc import Iterator

from sbatchlint.analysis.expansion.reads import DEFAULTS, TESTS, use_of
from sbatchlint.bash.trace import VariableRead
from sbatchlint.bash.values import Pieces, text_of
from sbatchlint.check import Bad, Card, Finding, Fix, Good, Job, Span, replace
from sbatchlint.job.shell_environment import JobEnvironment
from sbatchlint.triggers import Options

CARD = Card(
    "SB410", "typed-gpu-count", severity="error", fix="sometimes", since="0.1.0",
    when=Options("gpus", "gpus-per-node", "gpus-per-socket", "gpus-per-task"),
    seen="job_scheduler.c and src/common/env.c of Slurm 20.11 to 26.05",
)  # fmt: skip

_NAMES = ("SLURM_GPUS_PER_NODE", "SLURM_GPUS", "SLURM_GPUS_PER_SOCKET", "SLURM_GPUS_PER_TASK")
# Options of launchers and of srun that accept only a number.
_LAUNCHER_COUNTS = frozenset(
    {"nproc_per_node", "num_processes", "num_gpus", "num_gpu", "np", "n", "ntasks", "nproc", "num_workers", "N"}
    | {"npernode"}
)
_STEP_COUNTS = ("ntasks", "ntasks-per-node", "ntasks-per-socket", "cpus-per-task", "nodes", "ntasks-per-gpu")
_NUMERIC = frozenset({"-eq", "-ne", "-lt", "-le", "-gt", "-ge"})


def check(job: Job) -> Iterator[Finding]:
    for name, value, span, reader in (*_in_numbers(job), *_in_options(job)):
        number, fix = "$SLURM_GPUS_ON_NODE", None
        plain = job.source.slice(span) in (f"${name}", f"${{{name}}}", name)
        if plain and value.count(":") == 1 and "," not in value:
            number = f"${{{name}##*:}}"
            fix = Fix("keep only the number", [replace(span, number)], safe=True)
        yield Finding(span, f"{name} is `{value}` here, but {reader} needs a number; write `{number}`", fix=fix)


def _in_numbers(job: Job) -> Iterator[tuple[str, str, Span, str]]:
    """Reads in arithmetic, in comparisons of numbers and for `seq`: name, value, place, and what needs a number."""
    environment = JobEnvironment(job.request)
    for read in job.trace.reads:
        if read.name not in _NAMES or read.variable is not None:
            continue
        value = environment.lookup(read.name, read.context)
        plainly = read.operator in ("", "arithmetic") or read.operator in DEFAULTS
        if plainly and isinstance(value, str) and ":" in value and (reader := _number_reader(job, read)):
            yield read.name, value, read.span, reader


def _number_reader(job: Job, read: VariableRead) -> str | None:
    use = use_of(job, read)
    if use.kind == "arithmetic":
        return "arithmetic"
    command = use.command
    if command is not None and command.name in TESTS and any(text_of(field) in _NUMERIC for field in command.argv):
        return "a comparison of numbers"
    return "seq" if command is not None and command.name == "seq" else None


def _in_options(job: Job) -> Iterator[tuple[str, str, Span, str]]:
    """Values of options of launchers and steps that count something, directly or through variables."""
    for launch in job.launches:
        for option in launch.launcher.all_options:
            if option.value is not None and option.name.replace("-", "_") in _LAUNCHER_COUNTS:
                dashes = "-" if len(option.name) == 1 else "--"
                yield from _typed(option.value, f"{launch.launcher.name}'s {dashes}{option.name}")
    for step in job.steps:
        for name in _STEP_COUNTS:
            count = step.option(name)
            if count is not None and count.value is not None:
                yield from _typed(count.value, f"srun's --{name}")


def _typed(value: Pieces, reader: str) -> Iterator[tuple[str, str, Span, str]]:
    for piece in value:
        if piece.expansion is not None and piece.expansion.name in _NAMES and piece.text and ":" in piece.text:
            yield piece.expansion.name, piece.text, piece.expansion.span, reader


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        #SBATCH --gpus-per-node=h100:8
        srun torchrun --nnodes=2 --nproc_per_node=«$SLURM_GPUS_PER_NODE» train.py
        """,
        fixed={"--nproc_per_node=$SLURM_GPUS_PER_NODE": "--nproc_per_node=${SLURM_GPUS_PER_NODE##*:}"},
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        #SBATCH --gpus-per-node=a100:4
        WORLD_SIZE=$((SLURM_NNODES * «SLURM_GPUS_PER_NODE»))
        """,
        fixed={"SLURM_GPUS_PER_NODE))": "${SLURM_GPUS_PER_NODE##*:}))"},
        title="in arithmetic",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        #SBATCH --gpus-per-node=a100:2,v100:2
        if [ «$SLURM_GPUS_PER_NODE» -gt 2 ]; then
            ./run_many
        fi
        """,
        title="several types",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        #SBATCH --gpus-per-node=8
        srun torchrun --nnodes=2 --nproc_per_node=$SLURM_GPUS_PER_NODE train.py
        """,
        title="no type",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        #SBATCH --gpus-per-node=h100:8
        srun --gpus-per-node=$SLURM_GPUS_PER_NODE torchrun --nproc_per_node=${SLURM_GPUS_PER_NODE##*:} train.py
        echo "$SLURM_GPUS_PER_NODE on each node, $SLURM_GPUS_ON_NODE of them"
        """,
        title="the number alone, and where a type is welcome",
    ),
]
