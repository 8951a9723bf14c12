"""Nothing runs: srun, or another program that starts one, is not told what to start.

`apptainer exec` with an image and nothing after it, `srun` with options only, `timeout 2h` alone: each ends at once
with an error. Mostly the backslash before the next line is missing, so that the program runs outside the container or
the step, on the host, or with one task. Sometimes its author believes that `apptainer exec` enters the container for
all that follows: each command needs its own `apptainer exec`. A warning where the program runs just there: a step of
one task on the first node.

## Fix

None: a backslash at the end of the line, or the program on the same line.

## References

src/srun/opt.c of Slurm 22.05 to 26.05 ("No command given to execute"); apptainer(1), `exec` wants two arguments;
RobertsLab/resources#2019.
"""

from collections.abc import Iterator

from sbatchlint.analysis.expansion.reads import assignments_by_name, reads_in
from sbatchlint.bash.trace import Invocation, VariableRead
from sbatchlint.bash.values import Pieces, is_open, text_of
from sbatchlint.check import Bad, Card, Finding, Good, Job
from sbatchlint.job.argv import program_options, variable_name
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
_SIZES = frozenset({"-n", "--ntasks", "-N", "--nodes", "-w", "--nodelist", "--container-image"})
_NODELIST = Regex(r"(?:-w|--nodelist)[ =]?(\S+)")
_VARIABLE = Regex(r"\$\{?([A-Za-z_]\w*)")
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
    if verb == "exec" and (len(words) < 2 or any(_is_empty(each) for each in reads_in(job, command.span))):
        return  # an image that is empty is for setting-left-empty (SB458)
    name = f"{command.name} {verb}" if verb else str(command.name)
    yield Finding(
        command.name_span,
        f"`{name}` fails: it gets no program to run, and the lines below run without it; write the program on "
        "the same line",
        "warning" if _runs_the_same(job, command) else None,
    )


def _is_empty(read: VariableRead) -> bool:
    """Whether a variable is read that certainly holds nothing, so that the words of the command are fewer."""
    found = () if read.variable is None else read.variable.alternatives
    return len(found) == 1 and found[0].fields is not None and all(text_of(each) == "" for each in found[0].fields)


def _runs_the_same(job: Job, command: Invocation) -> bool:
    """Whether a step was for one task on the first node of the job, where the batch shell runs the lines below."""
    if command.name != "srun":
        return False
    options = {name: (value, word) for name, value, word in program_options(command.argv, _SIZES.__contains__)}
    sizes = {name: text_of(value or ()) for name, (value, _) in options.items()}
    tasks = sizes.get("-n", sizes.get("--ntasks", str(job.request.effective_tasks())))
    if tasks != "1" or "--container-image" in options:
        return False
    if job.request.exact_nodes() == 1:
        return True
    nodelist = options.get("-w", options.get("--nodelist"))
    if nodelist is None or sizes.get("-N", sizes.get("--nodes")) != "1":
        return False
    written = job.source.slice(command.span)
    names = [each for word in _NODELIST.findall(written) for each in _VARIABLE.findall(word)]
    values = [job.source.slice(each.span) for name in names for each in assignments_by_name(job).get(name, ())]
    return bool(values) and all("[0]" in value or "head -n" in value for value in values)


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
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        IMAGE=""
        singularity exec $IMAGE ./run.sh
        """,
        title="an empty image, which SB458 reports",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        DEBUG=""
        «srun» $DEBUG --ntasks=2
        ./solver
        """,
        title="options that are empty",
    ),
    Good("#!/bin/bash\n#SBATCH --nodes=2\nsrun $OPTIONS\n", title="an unknown command"),
]
