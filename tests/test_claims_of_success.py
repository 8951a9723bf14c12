"""Which texts that a script prints after its work claim that the work succeeded, and what SB710 advises there."""

import pytest

from sbatchlint.analysis.outcome.state_readers import Reader
from sbatchlint.analysis.outcome.success_claims import claimed_success
from sbatchlint.engine import lint_source
from sbatchlint.job import Job, Site
from sbatchlint.settings import Settings
from sbatchlint.source.text import Source

INFO = Settings.of_table({})
INFO.min_severity = "info"
CLAIMS = [
    "Training completed successfully",
    "Job finished successfully at $(date)",
    "All experiments completed successfully!",
    "=== Training complete ===",
    "Success!",
    "SUCCESS",
    "Simulation succeeded",
    "Successfully processed sample $1",
    "Model analysis complete.",
    "Pipeline has completed. See the log.",
    "All retrievals completed.",
    "The evaluation is complete",
    "run $SLURM_ARRAY_TASK_ID completed",
    "Preprocessing and training completed",
    "[$(date)] Alignment completed",
    "Results have been saved to $OUT",
    "FINISHED: output has been written to /data/run",
    "Model saved in $OUT",
    "status: success",
    "careless run complete.",
]
NO_CLAIMS = [
    "done",
    "Done.",
    "All done!",
    "Finished",
    "finished at $(date)",
    "Job completed",
    "Script completed",
    "Run completed at: $(date)",
    "--- COMPLETE ---",
    "[$(date)] COMPLETE",
    "Completed with exit code $?",
    "Simulation finished",
    "Training ended",
    "End: $(date)",
    "Was it successful?",
    "If the run was successful, look at $OUT",
    "unsuccessful",
    "not successful",
    "Environment activated successfully",
    "Files copied successfully",
    "Starting the complete analysis",
    "Logs are in $OUT",
]


def reader(text: str) -> Reader | None:
    script = f'#!/bin/bash\n#SBATCH --time=60\npython train.py\necho "{text}"\n'
    job = Job.from_source(Source(script, "job.sh"), Site())
    return claimed_success(job, next(each for each in job.invocations if each.name == "python"))


@pytest.mark.parametrize("text", CLAIMS)
def test_claims(text: str) -> None:
    assert reader(text) is not None


@pytest.mark.parametrize("text", NO_CLAIMS)
def test_what_holds_after_a_failure_too(text: str) -> None:
    assert reader(text) is None


@pytest.mark.parametrize(
    ("script", "advice"),
    [
        (
            'for s in 1 2; do\n    python train.py $s\ndone\necho "All runs completed"\n',
            'append `|| rc=$?` to line 4 and add `[ -z "$rc" ] || exit` above line 6',
        ),
        (
            'for s in 1 2; do\n    python train.py $s\n    echo "run completed successfully"\ndone\n',
            "append `|| { rc=$?; continue; }` to line 4 and end the script with `exit $rc`",
        ),
        (
            'set -u\nfor s in 1 2; do\n    python train.py $s\ndone\necho "All runs completed"\n',
            'append `|| rc=$?` to line 5 and add `[ -z "${rc-}" ] || exit` above line 7',
        ),
        (
            'python train.py | tee log\necho "Training succeeded"\n',
            "add `set -o pipefail` above line 3 and append `|| exit` to line 3",
        ),
        (
            "for s in 1 2; do\n    srun ./a $s\ndone\nexit 0\n",
            "append `|| rc=$?` to line 4 and on line 6 write `exit $rc`",
        ),
    ],
)
def test_advice_keeps_independent_runs_going(script: str, advice: str) -> None:
    source = Source("#!/bin/bash\n#SBATCH --nodes=2\n" + script, "job.sh")
    messages = [each.message for each in lint_source(source, INFO) if each.code == "SB710"]
    assert len(messages) == 1
    assert messages[0].endswith(f"; {advice}")
