"""How many nodes and tasks a step has: what the model claims to know must be what srun starts."""

from __future__ import annotations

import re
from collections import Counter
from typing import NamedTuple

import pytest

from sbatchlint.job.geometry import Geometry

from .conftest import job_of, selected
from .local_slurm import LocalSlurm, Outcome

# Every task says who it is, and on which node.
RECORD = "bash -c 'echo @ $(hostname) $SLURM_PROCID $SLURM_LOCALID $SLURM_NODEID'"


class Case(NamedTuple):
    """`options`: the directives. `lines`: the script, in which RECORD stands for the program of the one srun.

    `known`: the fields of the geometry that the model has to know, so that silence does not pass for truth.
    `refused`: srun starts nothing even where it gets whole nodes.
    """

    options: str
    lines: str
    known: str = ""
    refused: bool = False


EIGHT = "--nodes=2 --ntasks-per-node=8 --cpus-per-task=4"
ALL = "nodes tasks tasks_per_node several"

CASES = (
    Case("--nodes=2", "srun RECORD", ALL),
    Case("--nodes=1", "srun RECORD", ALL),
    Case("", "srun RECORD", ALL),
    Case("--nodes=2 --exclusive", "srun RECORD", ALL),
    Case("--ntasks=16", "srun RECORD", "tasks"),
    Case("--ntasks=1", "srun RECORD", ALL),
    Case("--nodes=2 --ntasks=16", "srun RECORD", "nodes tasks several"),
    Case("--nodes=2 --ntasks=2", "srun RECORD", ALL),
    Case("--nodes=2 --ntasks=3", "srun RECORD", "nodes tasks several"),
    Case("--nodes=2 --ntasks=3", "srun -N 1 RECORD"),
    Case("--nodes=2 --ntasks=3", "srun --ntasks-per-node=1 RECORD"),
    Case("--nodes=2 --ntasks=1", "srun RECORD", ALL),
    Case("--nodes=1 --ntasks=4", "srun RECORD", ALL),
    Case("--ntasks-per-node=4", "srun RECORD", ALL),
    Case("--nodes=2 --ntasks=8 --ntasks-per-node=4", "srun RECORD", ALL),
    Case("-N2 -n6 --ntasks-per-node=4", "srun RECORD", "nodes tasks several"),
    Case(EIGHT, "srun RECORD", ALL),
    Case(EIGHT, "srun --ntasks-per-node=1 RECORD", "nodes"),
    Case(EIGHT, "srun --nodes=2 --ntasks-per-node=1 RECORD", "nodes"),
    Case(EIGHT, "srun --ntasks=2 RECORD", ALL),
    Case(EIGHT, "srun --ntasks=$SLURM_NNODES --ntasks-per-node=1 RECORD", ALL),
    Case(EIGHT, "srun --nodes=$SLURM_NNODES --ntasks=$SLURM_NNODES RECORD", ALL),
    Case(EIGHT, 'srun -N "${SLURM_JOB_NUM_NODES}" -n "$SLURM_JOB_NUM_NODES" RECORD', ALL),
    Case(EIGHT, "srun --ntasks=$((SLURM_NNODES * 4)) RECORD"),
    Case(EIGHT, "srun --nodes=1 --ntasks=1 RECORD", ALL),
    Case(EIGHT, "srun -N1 -n1 RECORD", ALL),
    Case(EIGHT, "srun -n1 RECORD", ALL),
    Case(EIGHT, "srun -N1 RECORD"),
    Case(EIGHT, "srun -N2 RECORD", ALL),
    Case(EIGHT, "srun -n 5 RECORD"),
    Case(EIGHT, "srun -N1 -n 5 RECORD", ALL),
    Case(EIGHT, "srun --ntasks=16 RECORD", ALL),
    Case(EIGHT, "srun -n 6 RECORD", ALL),
    Case(EIGHT, "srun -n 12 -m cyclic RECORD", ALL),
    Case(EIGHT, "export SLURM_NTASKS=6; srun RECORD", ALL),
    Case(EIGHT, "export SLURM_NTASKS=6 SLURM_NPROCS=8; srun RECORD", ALL),
    Case(EIGHT, "SLURM_NTASKS=2 srun RECORD", ALL),
    Case(EIGHT, "export SLURM_NTASKS=6; srun -n 2 RECORD", ALL),
    Case("--nodes=2 --exclusive", "srun -n 10 RECORD", ALL),
    Case("--nodes=2 --cpus-per-task=8", "srun -n 6 -c 1 RECORD", ALL),
    Case(EIGHT, "srun --ntasks=32 RECORD"),
    Case(EIGHT, "srun --cpus-per-task=32 RECORD", refused=True),
    Case(EIGHT, "srun -w node2 -N1 -n1 RECORD", ALL),
    Case(EIGHT, "srun -w node2 RECORD"),
    Case(EIGHT, "srun --ntasks-per-node=8 RECORD", ALL),
    Case(EIGHT, "srun --distribution=cyclic RECORD"),
    Case(EIGHT, "unset SLURM_NTASKS SLURM_NPROCS; srun RECORD", ALL),
    Case(EIGHT, "unset SLURM_NTASKS SLURM_NPROCS; srun -N1 RECORD", ALL),
    Case(EIGHT, "unset SLURM_NTASKS; srun RECORD", ALL),
    Case(EIGHT, "unset SLURM_NTASKS_PER_NODE; srun RECORD", ALL),
    Case(EIGHT, "unset SLURM_NTASKS_PER_NODE; srun -N1 RECORD", ALL),
    Case(EIGHT, "unset SLURM_NTASKS SLURM_NPROCS; srun --ntasks-per-node=1 RECORD", ALL),
    Case(EIGHT, "unset SLURM_NTASKS SLURM_NPROCS SLURM_NTASKS_PER_NODE; srun RECORD", "nodes"),
    Case(EIGHT, "env -u SLURM_NTASKS -u SLURM_NPROCS srun --ntasks-per-node=1 RECORD", ALL),
    Case(EIGHT, "export SLURM_NTASKS=2 SLURM_NPROCS=2; srun RECORD", ALL),
    Case(EIGHT, "SLURM_NTASKS_PER_NODE=1 srun RECORD", "nodes"),
    Case(EIGHT, 'OPTIONS=(--nodes=2 --ntasks=2)\nsrun "${OPTIONS[@]}" RECORD', ALL),
    Case(EIGHT, "OPTIONS='-N 1 -n 1'\nsrun $OPTIONS RECORD", ALL),
    Case(EIGHT, 'run() { srun -n2 "$@"; }\nrun RECORD', ALL),
    Case(EIGHT + " --gpus-per-node=8", "srun --gpus-per-task=1 RECORD"),
    Case("--nodes=2 --gpus-per-node=8 --ntasks-per-node=1", "srun RECORD", ALL),
    Case("--nodes=2 --gpus=8 --ntasks-per-node=1", "srun RECORD", ALL),
    Case("--ntasks=4 --nodes=2 --gpus-per-task=1", "srun RECORD", "nodes tasks several"),
    Case("--nodes=1 --gpus-per-node=4 --ntasks-per-gpu=1", "srun RECORD"),
    Case("--nodes=2 --gpus-per-node=2 --ntasks-per-gpu=1", "srun RECORD"),
    Case("--gpus=4 --ntasks-per-gpu=1", "srun RECORD"),
    Case("--nodes=1 --gpus-per-node=4 --ntasks-per-gpu=1", "srun -n1 RECORD"),
    Case("--nodes=2 --gpus-per-node=4 --ntasks-per-gpu=1", "srun -N1 -n2 RECORD"),
    Case("--gpus=4", "srun RECORD"),
    Case("--nodes=1-2 --ntasks=4", "srun RECORD", "tasks"),
    Case("--nodes=1-2", "srun RECORD"),
    Case("--nodelist=node1,node2", "srun RECORD"),
    Case("--nodelist=node1,node2 --ntasks-per-node=2", "srun RECORD"),
    Case("--ntasks=4 --ntasks-per-node=2", "srun RECORD", "nodes tasks"),
    Case("--ntasks=2 --ntasks-per-node=1", "srun RECORD", "nodes tasks"),
    Case("--nodes=2", "srun --ntasks-per-node=4 RECORD", ALL),
    Case("--nodes=2", "srun -n 2 RECORD", ALL),
    Case("--nodes=2", "srun -N 1 RECORD", ALL),
    Case("--nodes=2 --cpus-per-task=16", "srun RECORD", ALL),
    Case("--nodes=2 --cpus-per-task=16", "srun -c 4 RECORD", ALL),
    Case("--nodes=1 --gpus-per-node=8 --cpus-per-gpu=4", "srun -c 8 RECORD", ALL),
    Case("--nodes=2", "srun -n 1 RECORD", ALL),
    Case("--nodes=2", "srun -n 1 -N 2 RECORD"),
    Case("--nodes=2 --ntasks-per-node=2", "srun -N 1 RECORD", ALL),
    Case("--nodes=2 --ntasks-per-node=2", "srun -N 1 --ntasks-per-node=2 RECORD", ALL),
    Case("--nodes=2 --ntasks-per-node=2", "srun -N 1 --ntasks-per-node=4 RECORD", "nodes"),
    Case("--nodes=2 --ntasks-per-node=2", "srun -N 1-2 RECORD"),
    Case("--nodes=2 --ntasks-per-node=2 --exclusive", "srun -N 2 --ntasks-per-node=4 RECORD", "nodes"),
    Case("--nodes=2 --ntasks-per-node=2", "srun -w node1 RECORD"),
    Case("--nodes=2 --ntasks=2", "srun -N 1 RECORD", ALL),
    Case("--nodes=2 --ntasks=4 --exclusive", "srun -N 1 RECORD", ALL),
    Case("--nodes=2 --ntasks=4 --ntasks-per-node=2", "srun -N 1 RECORD", ALL),
    Case("--nodes=2 --ntasks=4 --exclusive", "unset SLURM_NTASKS; srun RECORD", "nodes tasks several"),
    Case("--nodes=2 --ntasks=4 --exclusive", "unset SLURM_NPROCS; srun RECORD", "nodes tasks several"),
    Case("--nodes=2 --ntasks=4 --exclusive", "unset SLURM_NTASKS SLURM_NPROCS; srun RECORD", ALL),
    Case("--nodes=2 --ntasks=4 --exclusive", "env -u SLURM_NTASKS -u SLURM_NPROCS srun RECORD", ALL),
    Case("--nodes=2 --ntasks=4 --exclusive", "SLURM_NTASKS=2 srun RECORD", ALL),
    Case("--nodes=2 --ntasks=4 --exclusive", "SLURM_NNODES=1 srun RECORD", "nodes tasks several"),
    Case("--nodes=2 --ntasks=4 --exclusive", "SLURM_JOB_NUM_NODES=1 srun RECORD", ALL),
    Case("--nodes=2 --ntasks=4 --exclusive", "SLURM_NTASKS_PER_NODE=1 SLURM_JOB_NUM_NODES=1 srun RECORD", "nodes"),
    Case("--nodes=2 --ntasks=4 --exclusive", "SLURM_NTASKS=2 srun -N1 RECORD", ALL),
    Case("--nodes=2 --ntasks=4 --exclusive", "SLURM_NTASKS=6 SLURM_NTASKS_PER_NODE=3 srun RECORD", ALL),
    Case("--nodes=2 --exclusive", "SLURM_NTASKS_PER_NODE=3 srun -N1 RECORD", ALL),
    Case("--nodes=2 --exclusive", "SLURM_JOB_NUM_NODES=1 srun RECORD", ALL),
    Case("--nodes=2 --exclusive", "SLURM_NPROCS=4 srun RECORD", ALL),
    Case("--nodes=2 --exclusive", "SLURM_NTASKS=4 SLURM_DISTRIBUTION=cyclic srun RECORD", ALL),
    Case("--nodes=2 --exclusive", "SLURM_NTASKS=0 srun RECORD", refused=True),
    Case("--nodes=2 --ntasks=4 --exclusive", "export SLURM_JOB_NUM_NODES=1; srun -N2 RECORD", "nodes"),
    Case("--nodes=2 --ntasks=4 --exclusive", "export SLURM_NTASKS_PER_NODE=1; srun RECORD"),
    Case("--nodes=2 --exclusive", "export SLURM_NTASKS_PER_NODE=3; srun RECORD", ALL),
    Case("--nodes=2 --exclusive", "export SLURM_NTASKS=6; srun RECORD", ALL),
    Case("--nodes=2 --exclusive", "export SLURM_NTASKS=6; srun -n 4 RECORD", "nodes tasks several"),
    Case("--nodes=2 --exclusive", "srun --relative=1 RECORD", refused=True),
    Case("--nodes=2 --exclusive", "srun -x node2 RECORD", refused=True),
    Case("--nodes=1 --mem=1000", "srun --mem=2000 RECORD", refused=True),
    Case("--nodes=1 --mem=1000", "srun --mem=0 RECORD", ALL),
    Case("--nodes=2 --ntasks-per-node=2", "srun -n 4 -N 2 RECORD", "nodes tasks several"),
    Case("--nodes=2 --ntasks-per-node=4", "srun -r 1 -N 1 -n 2 RECORD"),
    Case("--nodes=2 --ntasks-per-node=1", "srun --overcommit --ntasks-per-node=4 RECORD"),
    Case("--nodes=2 --ntasks-per-node=1", "srun --ntasks-per-node=2 RECORD"),
    Case("--nodes=2 --ntasks-per-node=1", "srun --nodes=2 --ntasks-per-node=2 RECORD"),
    Case("--nodes=2 --ntasks-per-socket=2", "srun RECORD"),
    Case("--nodes=2 --ntasks=4 --ntasks-per-socket=1", "srun RECORD"),
    Case("--nodes=2 --ntasks=4 --exclusive", "srun RECORD", "nodes tasks several"),
    Case("--nodes=2 --ntasks=4 --spread-job", "srun RECORD", "nodes tasks several"),
    Case("--nodes=2 --overcommit --ntasks=4", "srun RECORD", "nodes tasks several"),
    Case("--ntasks=100", "srun RECORD", "tasks"),
    Case("--ntasks=4 --cpus-per-task=32", "srun RECORD", "tasks"),
    Case("--nodes=2 --cpus-per-task=4", "srun --ntasks=2 --cpus-per-task=4 RECORD", ALL),
    Case("--nodes=2 --ntasks-per-node=2", "srun bash <<'END'\nRECORD\nEND", "nodes"),
)


def script_of(case: Case) -> str:
    directives = "".join(f"#SBATCH {option}\n" for option in case.options.split())
    return f"#!/bin/bash\n{directives}{case.lines.replace('RECORD', RECORD)}\n"


def started(outcome: Outcome) -> Counter[str]:
    """How many tasks ran on each node."""
    return Counter(line.split()[1] for line in outcome.output.splitlines() if line.startswith("@ "))


def contradictions(geometry: Geometry, tasks: Counter[str]) -> list[str]:
    """Claims of the model that are not what ran."""
    real = {
        "nodes": len(tasks),
        "tasks": tasks.total(),
        "tasks_per_node": next(iter(tasks.values())) if len(set(tasks.values())) == 1 else "uneven",
        "several": max(tasks.values()) > 1,
    }
    claims = {name: getattr(geometry, name) for name in real}
    return [f"{name}: {claim}, but really {real[name]}" for name, claim in claims.items()
            if claim is not None and claim != real[name]]  # fmt: skip


@pytest.fixture(scope="module", autouse=True)
def ahead(request: pytest.FixtureRequest, slurm: LocalSlurm) -> None:
    slurm.run_ahead(script_of(case) for case in selected(request, "case"))


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.options}, {case.lines.replace('RECORD', '…')}")
def test_srun_starts_what_the_model_says(slurm: LocalSlurm, case: Case) -> None:
    script = script_of(case)
    (step,) = job_of(script, slurm.version).steps
    geometry = step.geometry
    outcome = slurm.run(script)
    tasks = started(outcome)
    if not tasks:
        # The nodes are too small for the step, which the model cannot know; larger ones start it, or refuse it too.
        assert re.search("srun: (error|fatal):", outcome.output) and outcome.state == "FAILED", outcome
        larger = script_of(case._replace(options=f"{case.options} --exclusive"))
        assert job_of(larger, slurm.version).steps[0].geometry[:4] == geometry[:4]
        outcome = slurm.run(larger)
        tasks = started(outcome)
    if tasks:
        assert contradictions(geometry, tasks) == [], f"{tasks}\n{geometry}\n{outcome.output}"
    # 23.11 refuses the job's SLURM_TRES_PER_TASK=cpu=4 together with the step's --gpus-per-task
    both = "--cpus-per-task" in case.options and "--gpus-per-task" in case.lines
    assert bool(tasks) is not (case.refused or both and slurm.version == "23.11"), outcome
    unknown = [name for name in case.known.split() if getattr(geometry, name) is None]
    assert unknown == [], f"{tasks}\n{geometry}"
