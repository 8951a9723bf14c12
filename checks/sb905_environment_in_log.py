"""Tokens and keys are in the log: the job prints its whole environment.

`env` and `printenv` show every variable, including `HF_TOKEN` and `WANDB_API_KEY` that the script exports, or that come
from the submitting shell, whose environment sbatch passes on. Logs are often readable by others, kept for long, and
pasted into questions.

A warning where the script exports a variable whose name says that it holds a secret; otherwise advice.

## Fix

None: print only what you need, for instance `env | grep '^SLURM_'`.

## References

env(1), printenv(1); sbatch(1), `--export`.
"""

from collections.abc import Iterator

from sbatchlint.analysis.script.pipeline_runs import begun_by
from sbatchlint.bash.trace import Invocation
from sbatchlint.bash.values import Phase, text_of
from sbatchlint.check import Bad, Card, Finding, Good, Job
from sbatchlint.source.secret_names import is_secret
from sbatchlint.triggers import Commands

CARD = Card(
    "SB905", "environment-in-log", severity="warning", fix="never", since="0.1.0",
    when=Commands("env", "printenv", "export", "declare", "set"), seen="env(1)",
    unseen="The log itself holds the secret.",
)  # fmt: skip

# Command lines that print all variables.
DUMPS = frozenset(
    [("env",), ("printenv",), ("export",), ("export", "-p"), ("declare", "-x"), ("declare", "-p"), ("set",)]
)
_PASS_ALL_ON = frozenset({"sort", "cat", "tee", "nl", "column", "less", "more"})


def check_command(job: Job, command: Invocation) -> Iterator[Finding]:
    if tuple(text_of(word) for word in command.argv) not in DUMPS or command.phase is Phase.SUBMIT:
        return
    if command.context.captured or command.redirects or command.context.calls:
        return  # the output goes, or may go, elsewhere
    if command.piped_to and not _reaches_log(job, command):
        return
    exported = (name for name, each in command.state.variables.items() if each.exported and each.alternatives)
    name = next(filter(is_secret, exported), None)
    shown = f"including the value of `{name}`" if name else "including any tokens"
    message = f"`{command.name}` writes the whole environment into the job's log, {shown}; print only what you need"
    yield Finding(command.span, f"{message}: `env | grep '^SLURM_'`", None if name else "info")


def _reaches_log(job: Job, command: Invocation) -> bool:
    """Whether a pipeline passes everything on to the log: `env | sort`."""
    run = begun_by(job, command)
    if run is None or any(len(element) != 1 for element in run.elements[1:]):
        return False
    filters = [each for (each,) in run.elements[1:]]
    return all(each.name in _PASS_ALL_ON and not each.redirects and not each.context.captured for each in filters)


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        export HF_TOKEN=$(cat ~/.hf_token)
        «env»
        srun python train.py
        """
    ),
    Bad(
        "#!/bin/bash\n#SBATCH --nodes=1\n«printenv»\nsrun ./a.out\n",
        severity="info",
        title="variables of the submitting shell",
    ),
    Bad(
        "#!/bin/bash\n#SBATCH --nodes=1\n«env» | sort\n«export»\n«declare -x»\nsrun ./a.out\n",
        severity="info",
        title="other commands that print everything",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        export HF_TOKEN=$(cat ~/.hf_token)
        env | grep '^SLURM_'
        env > settings.txt
        env LANG=C srun ./a.out
        printenv HOME
        export PATH
        """,
        title="a part of it, or another file",
    ),
]
