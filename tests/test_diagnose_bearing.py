"""Where a script has to do with a failure: what is not read of it, and what a message names or comes from."""

from __future__ import annotations

from pathlib import Path

import pytest

from sbatchlint.diagnose.answers import Answer, rows_of
from sbatchlint.diagnose.run import judged
from sbatchlint.source.text import Source

HEAD = "#!/bin/bash\n#SBATCH --ntasks=4\n"

# name: the log, the script with » before the lines that have to do with it, and where the cause lies
CASES = {
    "a file of the traceback names the command": (
        (
            'Traceback (most recent call last):\n  File "/work/ada/fit.py", line 3, in <module>\n    x = y\n'
            "NameError: name 'y' is not defined\n"
        ),
        HEAD + "python prepare.py\n»srun python /work/ada/fit.py --steps 3\npython report.py\n",
        "code",
    ),
    "the only program of the job": (
        "ERROR: the residual grows without bound\n",
        HEAD + "module purge\ncd run\n»./relax input.nml\necho done\n",
        "code",
    ),
    "the module that the message speaks of": (
        "ERROR: the licence of Fluxor does not allow this solver\n",
        HEAD + "module load gcc/12\n»module load fluxor/3.1\n»./go model.fx\n",
        "code",
    ),
    "which of several programs is not told": (
        "ERROR: the residual grows without bound\n",
        HEAD + "./mesh a\n./relax b\n./report c\n",
        "code",
    ),
    "a fault of the cluster has no place in the script": (
        "srun: error: Unable to confirm allocation for job 7: Unable to contact slurm controller\n",
        HEAD + "srun ./relax\n",
        "cluster",
    ),
}


def answer(tmp_path: Path, log: str, script: str) -> tuple[Answer, list[int]]:
    (tmp_path / "job.log").write_text(log)
    (tmp_path / "job.sh").write_text(script)
    best = judged([str(tmp_path / "job.log")], str(tmp_path / "job.sh")).diagnosis.answers[0]
    return best, rows_of(best, Source(script))


@pytest.mark.parametrize("name", CASES)
def test_what_has_to_do_with_a_message(name: str, tmp_path: Path) -> None:
    log, marked, where = CASES[name]
    rows = [row for row, line in enumerate(marked.split("\n"), 1) if line.startswith("»")]
    best, found = answer(tmp_path, log, marked.replace("»", ""))
    assert (best.where, found) == (where, rows)
    assert not best.spans, "nothing in the script is to blame"


def test_a_directive_that_is_not_read_explains_a_refusal(tmp_path: Path) -> None:
    log = (
        "sbatch: error: QOSMaxNodePerUserLimit\n"
        "sbatch: error: Batch job submission failed: Job violates accounting/QOS policy\n"
    )
    script = HEAD + " #SBATCH --partition=gpu\nsrun ./relax\n"
    best, rows = answer(tmp_path, log, script)
    assert (best.cause.key, best.where, rows) == ("directive-not-read", "script", [3])
    assert [each.code for each in best.findings] == ["SB103"]
    best, _ = answer(tmp_path, log, script.replace(" #SBATCH", "#SBATCH"))
    assert best.cause.key != "directive-not-read"


def test_a_directive_that_has_nothing_to_do_with_it_is_no_reason(tmp_path: Path) -> None:
    log = "slurmstepd: error: *** JOB 7 ON n1 CANCELLED AT 2025-01-01T00:00:00 DUE TO TIME LIMIT ***\n"
    best, _ = answer(tmp_path, log, HEAD + "srun ./relax\n#SBATCH --mail-type=END\n")
    assert best.cause.key != "directive-not-read"
    best, _ = answer(tmp_path, log, HEAD + "srun ./relax\n#SBATCH --time=10:00:00\n")
    assert best.where == "script"


def test_a_sentence_that_begins_a_line_above(tmp_path: Path) -> None:
    log = (
        '\nThe application appears to have been direct launched using "srun",\n'
        "but OMPI was not built with SLURM's PMI support and therefore cannot\nexecute.\n"
    )
    best, _ = answer(tmp_path, log, HEAD + "srun ./relax\n")
    assert best.event.rows == (2, 3)


def test_what_ends_the_shell_comes_before_what_it_went_on_after(tmp_path: Path) -> None:
    at = "/var/spool/slurmd/job7/slurm_script: line"
    log = f"{at} 3: frobnicate: command not found\n{at} 4: syntax error near unexpected token `('\n"
    best, _ = answer(tmp_path, log, HEAD + "frobnicate\nexport X=max(1, 2)\n")
    assert best.event.symptom.id == "shell-syntax"


def test_what_a_shell_goes_on_after_is_no_reason_of_another_failure(tmp_path: Path) -> None:
    at = "/var/spool/slurmd/job7/slurm_script: line 3:"
    log = f'{at} frobnicate: command not found\nTraceback (most recent call last):\n  File "fit.py", line 1\n'
    best, _ = answer(tmp_path, f"{log}ValueError: no root in the interval\n", HEAD + "frobnicate\npython fit.py\n")
    assert best.event.symptom.id == "python-exception"
    best, _ = answer(tmp_path, f"{log}OSError: frobnicate did not answer\n", HEAD + "frobnicate\npython fit.py\n")
    assert best.event.symptom.id == "command-not-found"
    best, _ = answer(tmp_path, f"{log}ModuleNotFoundError: No module named 'x'\n", HEAD + "frobnicate\npython fit.py\n")
    assert best.event.symptom.id == "command-not-found"


def test_a_module_with_a_number_is_no_node(tmp_path: Path) -> None:
    log = 'Traceback (most recent call last):\n  File "fit.py", line 1\nsqlite3.OperationalError: no such column: x\n'
    best, _ = answer(tmp_path, log, HEAD + "python fit.py\n")
    assert best.event.row == 3
