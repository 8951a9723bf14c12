"""Nothing runs: srun, or another program that starts one, is not told what to start.

`apptainer exec` with an image and nothing after it, `srun` with options only, `timeout 2h` alone: each ends at once
with an error. Mostly the backslash before the next line is missing, so that the program runs outside the container or
the step, on the host, or with one task. Sometimes its author believes that `apptainer exec` enters the container for
all that follows: each command needs its own `apptainer exec`.

## Fix

None: a backslash at the end of the line, or the program on the same line.

## References

src/srun/opt.c of Slurm 22.05 to 26.05 ("No command given to execute"); apptainer(1), `exec` wants two arguments;
RobertsLab/resources#2019.
"""

from collections.abc import Iterator

from sbatchlint.bash.trace import Invocation
from sbatchlint.bash.values import Pieces, is_open
from sbatchlint.check import Bad, Card, Finding, Good, Job
from sbatchlint.job.argv import variable_name
from sbatchlint.source.regex import Regex
from sbatchlint.triggers import Commands

CARD = Card(
    "SB337", "nothing-to-run", severity="error", fix="never", since="0.1.0",
    when=Commands("apptainer", "conda", "nohup", "singularity", "srun", "timeout"),
    seen="RobertsLab/resources#2019",
)  # fmt: skip

# Options with which a program only prints something, or with which srun finds its program elsewhere.
_OTHERWISE = frozenset(
    {"--help", "--version", "--usage", "--multi-prog", "--test-only", "--bcast", "--attach"}
    | {"-h", "-V", "-a", "--mpi=list"}
)
_IMAGE = Regex(r"(?i)ima?ge?|sif|container")
_VERBS = {"apptainer": "exec", "singularity": "exec", "conda": "run"}


def check_command(job: Job, command: Invocation) -> Iterator[Finding]:
    spawn = command.spawn
    if not spawn.kind or spawn.command is not None or command.alternatives > 1:
        return
    verb = _VERBS.get(command.name or "")
    words = command.words[1:]
    if verb is not None and verb not in words or any(each in _OTHERWISE for each in words):
        return
    if not all(_is_one_word(field) for field in command.argv):
        return
    if verb == "exec" and len(words) < 2:
        return
    name = f"{command.name} {verb}" if verb else str(command.name)
    yield Finding(
        command.name_span,
        f"`{name}` fails: it gets no program to run, and the lines below run without it; write the program on "
        "the same line",
    )


def _is_one_word(field: Pieces) -> bool:
    """Whether a field is one word; an unknown one is taken for the image by its name."""
    name = variable_name(field)
    return not is_open(field) and name not in ("@", "*") or name is not None and _IMAGE.search(name) is not None


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        «apptainer» exec --bind /data tools.sif
        bismark --genome /data/genome
        """
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        «srun» --ntasks=2 --cpu-bind=cores
            ./solver input.nml
        """,
        title="a missing backslash",
    ),
    Good("#!/bin/bash\n#SBATCH --nodes=1\napptainer exec tools.sif bismark --genome /data/genome\n"),
    Good("#!/bin/bash\n#SBATCH --nodes=1\napptainer run tools.sif\n", title="run has a program of its own"),
    Good("#!/bin/bash\n#SBATCH --nodes=2\nsrun $OPTIONS\n", title="an unknown command"),
]
