"""A rendezvous option has no effect: the launcher ignores it here.

torchrun reads `--master_addr`, `--master_port` and `--node_rank` only with the static backend. With
`--rdzv_backend=c10d` the endpoint decides where the nodes meet, and they number themselves, so that rank 0 need not be
on the host that `--master_addr` names. Whoever changes the dead option later wonders why nothing happens. An endpoint
overrides the first two with any backend, and `--standalone` sets backend, endpoint and name itself.

## Fix

Removes the option. Safe: torchrun does not read it.

## References

torch/distributed/run.py of torch 2.13; https://github.com/pytorch/pytorch/issues/137402
"""

from collections.abc import Iterator
from functools import partial

from sbatchlint.analysis.editing.options import is_proven, remove_words
from sbatchlint.analysis.editing.words import words_of
from sbatchlint.analysis.launch.rendezvous import TORCHRUN, dead_options
from sbatchlint.check import Bad, Card, Finding, Fix, Good, Job, Launch, Span
from sbatchlint.job.worlds import by_place, find_worlds
from sbatchlint.triggers import Launchers

CARD = Card(
    "SB320", "dead-rendezvous-option", severity="info", fix="sometimes", since="0.1.0", when=Launchers(*TORCHRUN)
)


def check(job: Job) -> Iterator[Finding]:
    for place in by_place(find_worlds(job)):
        dead = [dead_options(world.launcher) for world in place]
        for name, cause in dead[0].items():
            span = place[0].launcher.options[name].span
            if not all(name in others for others in dead):
                continue
            more = ", which numbers the nodes itself" if name == "node_rank" and "c10d" in cause else ""
            yield Finding(
                span,
                f"{place[0].name} ignores `--{name}` with `{cause}`{more}; remove it",
                fix=partial(_removal, job, place[0].launch, name),
            )


def _removal(job: Job, launch: Launch, name: str) -> Fix | None:
    """The fix that removes the option, where evaluating the script again shows that nothing else changes."""
    launcher = launch.launcher
    option = launcher.options[name]
    if [each.name for each in launcher.all_options].count(name) > 1:
        return None
    place = words_of(job).after_option(option.span.start, option.value_at != option.at, launch.invocation.span)
    if place is None or place.offset <= option.span.start:
        return None

    def is_gone(changed: Launch) -> bool:
        other = changed.launcher
        kept = set(other.options) == set(launcher.options) - {name} and other.flags.keys() == launcher.flags.keys()
        return kept and other.program_name == launcher.program_name

    edit = remove_words(job, Span(option.span.start, place.offset))
    if edit is None or not is_proven(job, launch, [edit], is_gone):
        return None
    return Fix(f"remove --{name}", [edit], safe=True)


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2 --ntasks-per-node=1 --gpus-per-node=8
        srun torchrun --nnodes=2 --nproc_per_node=8 \\
            «--node_rank=$SLURM_NODEID» \\
            --rdzv_backend=c10d --rdzv_endpoint=$HEAD:29500 \\
            «--master_addr» $HEAD «--master_port=29500» train.py
        """,
        fixed={
            "    --node_rank=$SLURM_NODEID \\\n": "",
            "--master_addr $HEAD --master_port=29500 train.py": "train.py",
        },
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1 --gpus-per-node=8
        ARGS="--standalone --nproc_per_node=8 «--rdzv_endpoint=localhost:0»"
        torchrun $ARGS train.py
        """,
        fixed={'--nproc_per_node=8 --rdzv_endpoint=localhost:0"': '--nproc_per_node=8"'},
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2 --ntasks-per-node=1 --gpus-per-node=8
        export PET_RDZV_BACKEND=c10d
        srun torchrun --nnodes=2 --rdzv_endpoint=n1:29500 "«--master_addr=$(hostname)»" train.py
        """,
        title="the backend may be named in the environment; no fix for a word with quotes around it",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=2 --ntasks-per-node=1 --gpus-per-node=8
        srun bash -c 'torchrun --nnodes=2 --node_rank=$SLURM_NODEID --master_addr=n1 --master_port=29500 train.py'
        srun torchrun --nnodes=2 --rdzv_backend=$BACKEND --rdzv_endpoint=n1:29500 --node_rank=0 train.py
        """,
        title="the static backend; one that is not known",
    ),
]
