"""How many tasks run a launcher, where the way to that is long: unknown words, empty words, options of the srun."""

from __future__ import annotations

import pytest

from sbatchlint.diagnostics import Diagnostic
from sbatchlint.engine import lint_source
from sbatchlint.job import Job, Site
from sbatchlint.settings import Settings
from sbatchlint.source.text import Source

HEAD = "#!/bin/bash\n#SBATCH --nodes=2 --ntasks-per-node=8 --gpus-per-node=8\n"
LAUNCHER = "torchrun --nnodes=2 --nproc_per_node=8 --rdzv_backend=c10d --rdzv_endpoint=n1:1 train.py"


def job(body: str) -> Job:
    return Job.from_source(Source(HEAD + body + "\n", "job.sh"), Site())


@pytest.mark.parametrize(
    ("options", "tasks_per_node"),
    [
        ("", 8),
        ("--jobid $SLURM_JOBID", 8),
        ("-w $first", 8),
        ('--export=ALL,A="$B"', 8),
        ("$OPTIONS", None),
        ('"$@"', None),
        ("--ntasks=$TASKS", None),
        ("-n $SLURM_NNODES", 1),
        ("-n 2 -N 2", 1),
    ],
)
def test_unknown_words_matter_only_where_an_option_may_stand(options: str, tasks_per_node: int | None) -> None:
    (step,) = job(f"srun {options} {LAUNCHER} $ARGUMENTS $*").steps
    assert step.tasks_per_node == tasks_per_node


@pytest.mark.parametrize(
    ("word", "fields"),
    [
        ('"$A"', 1),
        ("$A", 0),
        ('"${A}"', 1),
        ('"$A$A"', 1),
        ('$A""', 1),
        ('"$@"', 0),
        ('"${L[@]}"', 0),
        ('"${L[*]}"', 1),
    ],
)
def test_a_quoted_word_that_is_empty_is_still_a_word(word: str, fields: int) -> None:
    found = job(f'A=""\nL=()\nset --\ncommand-x {word}').invocations
    (invocation,) = [each for each in found if each.name == "command-x"]
    assert len(invocation.argv) == 1 + fields


def findings(body: str) -> list[Diagnostic]:
    source = Source(HEAD + body + "\n", "job.sh")
    return lint_source(source, Settings.of_table({}, select=["launcher-tasks-per-node"]))


def test_one_finding_for_one_reason() -> None:
    found = findings(f"srun {LAUNCHER}\nsrun -n 16 -N 2 {LAUNCHER}\nsrun -n 2 -N 2 {LAUNCHER}\nsrun {LAUNCHER} again")
    reasons = [(each.source.slice(each.span), len(each.related)) for each in found]
    assert reasons == [("--ntasks-per-node=8", 2), ("-n 16", 1)]


@pytest.mark.parametrize(
    ("body", "safe"),
    [
        (f"srun {LAUNCHER}", True),
        (f"srun hostname\nsrun {LAUNCHER}", True),
        (f"srun bash -c 'nvidia-smi && {LAUNCHER}'", True),
        (f"srun bash prepare.sh\nsrun {LAUNCHER}", False),
        (f"srun ./prepare\nsrun {LAUNCHER}", False),
        (f"echo $SLURM_NTASKS\nsrun {LAUNCHER}", False),
        (f"mpirun ./prepare\nsrun {LAUNCHER}", False),
        (f"srun -c 4 hostname\nsrun {LAUNCHER}", False),
    ],
)
def test_the_fix_is_safe_where_nothing_else_needs_the_tasks(body: str, safe: bool) -> None:
    (found,) = findings(body)
    assert found.fix is not None
    assert found.fix.safe is safe


def test_no_fix_takes_the_tasks_of_what_runs_beside_the_launcher() -> None:
    (found,) = findings(f"srun bash -c './prepare; {LAUNCHER}'")
    assert found.fix is None
