"""A command is not found: it is a function of the script, which other programs cannot start.

srun, mpirun, timeout, nohup, xargs, env and the like look for a file to run; functions exist only inside the shell.
`srun run_model` ends with "No such file or directory", with 127 or 2 as its status. `bash -c` and GNU parallel start a
shell, which knows the functions that `export -f` exports, and no others.

Not reported for a function that bears the name of a program which it starts itself, as the program is found then.

## Fix

None: what the function needs of the script's variables has to be exported as well.

## References

bash(1), "FUNCTIONS"; srun(1); seen with bash 5.2 and Slurm 22.05: "execve(): run_model: No such file or directory".
"""

from collections.abc import Iterator

from sbatchlint.bash.state import ShellFunction
from sbatchlint.bash.syntax.tree import Simple
from sbatchlint.bash.syntax.walk import nodes_of, unquoted_text
from sbatchlint.bash.values import Phase
from sbatchlint.check import Bad, Card, Finding, Good, Job
from sbatchlint.programs import is_known

CARD = Card(
    "SB442", "function-not-a-program", severity="error", fix="never", since="0.1.0", seen="a run of bash 5.2",
    unseen="`NAME: No such file or directory` or `NAME: command not found`, where NAME is a function of the script.",
)  # fmt: skip


def check(job: Job) -> Iterator[Finding]:
    for command in job.invocations:
        starter = command.parent
        if command.name is None or starter is None or command.phase is Phase.SUBMIT or command.alternatives > 1:
            continue
        function = command.ancestors()[-1].state.functions.get(command.name)
        if function is None or function.uncertain or command.calls_function or is_known(command.name):
            continue
        has_shell = starter.text is not None or starter.name == "parallel"
        if has_shell and function.exported or _starts(function, command.name):
            continue
        instead = "" if has_shell else f", and `bash -c {command.name}` here"
        yield Finding(
            command.name_span,
            f"{starter.name} cannot call `{command.name}`, a function of this script; write "
            f"`export -f {command.name}` above{instead}",
        )


def _starts(function: ShellFunction, name: str) -> bool:
    """Whether a function starts a program of its own name, as `python() { command python -u "$@"; }` does."""
    words = (each.words for each in nodes_of(function.body, Simple))
    return any(unquoted_text(word) == name for each in words for word in each[:3])


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --ntasks=4
        run_model() { ./model --part "$SLURM_PROCID"; }
        srun «run_model»
        """,
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --cpus-per-task=8
        convert_one() {
            ./convert "$1" "${1%.nc}.zarr"
        }
        ls data/*.nc | xargs -n 1 -P 8 «convert_one»
        """,
        title="xargs",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        train() { python train.py "$@"; }
        timeout 50m bash -c "«train» --resume"
        """,
        title="a shell that does not know it",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --ntasks=4
        run_model() { ./model --part "$SLURM_PROCID"; }
        export -f run_model
        srun bash -c run_model
        parallel run_model ::: 1 2 3
        run_model
        python() { command python -u "$@"; }
        srun python train.py
        bash -c "$(declare -f run_model); run_model"
        """,
        title="exported, defined there, or a program of that name",
    ),
]
