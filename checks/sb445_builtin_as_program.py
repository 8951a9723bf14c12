"""A shell builtin is started as a program: it is not found, or it changes nothing.

`apptainer exec image.sif cd /data && python run.py` does not run Python in /data, nor in the container: apptainer
starts a program, and `cd`, `source`, `export` and `module` are part of the shell. Where the system has a file of that
name (`/usr/bin/cd` on some), it changes the folder of a process that ends at once. What comes after `&&` or `;` is read
by the batch shell, and runs outside, with the host's Python. The same holds for srun, mpirun, `docker run`, timeout,
nohup, xargs, env and sudo.

A warning for `apptainer run`, as the image's own script gets the words (`eval` and `set` may be its own commands),
where only some jobs meet it, and where nothing but a message was to follow (`… cd /data && pwd`).

## Fix

None: `bash -c 'cd /data && python run.py'` runs all of it inside; apptainer has `--pwd`, srun `--chdir`, docker `-w`.

## References

bash(1), "SHELL BUILTIN COMMANDS"; apptainer-exec(1); runs of bash 5.2 and Slurm 22.05: "execve(): source: No such file
or directory"
"""

from collections.abc import Iterator

from sbatchlint.analysis.script.conditionals import depends_on_test
from sbatchlint.bash.trace import Invocation
from sbatchlint.bash.values import Phase
from sbatchlint.check import Bad, Card, Finding, Good, Job
from sbatchlint.job.launches import runs_own_program
from sbatchlint.programs import has_trait
from sbatchlint.triggers import Commands

# What changes the shell itself, and functions of the login shell.
_FUNCTIONS = frozenset({"module", "ml"})
_NAMES = _FUNCTIONS | frozenset(
    {"cd", "pushd", "popd", "source", ".", "export", "unset", "alias", "eval", "exec", "shopt", "declare", "set"}
)

CARD = Card(
    "SB445", "builtin-as-program", severity="error", fix="never", since="0.1.0", when=Commands(*sorted(_NAMES)),
    seen="runs of bash 5.2 and Slurm 22.05",
    unseen="`execve(): cd: No such file or directory`, `executable file not found`, or nothing.",
)  # fmt: skip

# What is no command of the program in an image, which gets the words of `apptainer run`; `eval` and `set` may be.
_OF_SHELLS_ALONE = frozenset({"cd", "pushd", "popd", "source", ".", "module", "ml"})
# Starters whose words a shell reads.
_SHELLS = frozenset({"parallel", "ssh", "su", "watch", "eval", "command", "builtin", "exec", "time", "trap"})


def check_command(job: Job, command: Invocation) -> Iterator[Finding]:
    starter = command.parent
    if starter is None or command.phase is Phase.SUBMIT or command.name not in _NAMES or command.children:
        return
    if not command.kind or command.context.shell.kind != "program" or starter.text is not None:
        return
    name = starter.name or ""
    if name in _SHELLS or command.calls_function or command.alternatives > 1 or command.words[0] != command.name:
        return
    if any(each.startswith("--entrypoint") for each in starter.words):
        return
    by_image = runs_own_program(starter)
    if by_image and command.name not in _OF_SHELLS_ALONE:
        return
    what = "function" if command.name in _FUNCTIONS else "builtin"
    mild = by_image or depends_on_test(command) or command.context.tested and not _goes_on(job, starter)
    yield Finding(
        command.name_span,
        f"{name} can only start programs, and `{command.name}` is a shell {what}: this fails or has no effect; "
        f"write `{name} … bash -c '{command.name} … && …'`",
        "warning" if mild else None,
        related=[(starter.name_span, "starts programs only")] if starter.name_span != command.name_span else [],
    )


def _goes_on(job: Job, starter: Invocation) -> bool:
    """Whether more than a message depends on the starter's success: `srun cd run && ./solver`."""
    after = job.invocations[starter.index + 1 :]
    guarded = (each for each in after[:3] if each.parent is starter.parent and each.guards != starter.guards)
    return not all(has_trait(each.name, "prints", "tells", "looks") for each in guarded)


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --ntasks=1
        apptainer exec --bind /scratch image.sif «cd» /data && python run.py
        """,
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --ntasks=1
        singularity exec tools.sif «module» load samtools; samtools index reads.bam
        """,
        title="the rest of the line is not in the container",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        srun «source» venv/bin/activate
        srun python train.py
        """,
        title="no step changes another",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --ntasks=1
        singularity run image.sif «cd» /data
        """,
        severity="warning",
        title="the image decides",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --ntasks=1
        apptainer exec image.sif bash -c 'cd /data && python run.py'
        cd /data && apptainer exec image.sif python run.py
        """
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --ntasks=4
        parallel cd {} '&&' ./fit ::: run1 run2
        command cd /data
        time cd ..
        ssh node1 cd run1
        """,
        title="a shell reads it",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --ntasks=1
        apptainer run metrics.sif eval --pred bins.tsv --gt truth.tsv
        """,
        title="a command of the image's own program",
    ),
]
