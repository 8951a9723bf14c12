"""Nodes stay idle: everything in the job runs on the first one.

The batch script runs on the first node of the job. Other nodes take part only if something starts work there: srun,
mpirun, a launcher that knows them, ssh. `#SBATCH --nodes=4` above a plain `python train.py` pays for four nodes, waits
for four, and uses one.

`#SBATCH --ntasks=16` alone leaves it to Slurm how many nodes these are. On one with 16 free CPUs the threads of a
program have them all, otherwise some of the CPUs are on nodes where nothing runs. A warning where the program is told
to use several threads, and otherwise advice.

Nothing is reported where the script runs a program that may start others itself: one that is not Python, R, Julia or
MATLAB, one that this project has and that speaks of Slurm, MPI or a cluster.

## Fix

None: `--nodes=1`, or srun before the program, if that can use several nodes.

## References

sbatch(1), DESCRIPTION: "runs a single copy of the batch script on the first node"
"""

from collections.abc import Iterator

from sbatchlint.analysis.launch.rank_signs import is_lone_rank
from sbatchlint.analysis.script.threads import ThreadOption, thread_options, threaded_programs
from sbatchlint.analysis.script.work import Weight, weight
from sbatchlint.bash.trace import Invocation
from sbatchlint.bash.values import Phase, expansions
from sbatchlint.check import Bad, Card, Finding, Good, Job
from sbatchlint.job.argv import basename
from sbatchlint.job.launchers import is_python, python_of
from sbatchlint.job.python.program import python_program
from sbatchlint.programs import has_trait
from sbatchlint.slurm.grammar.numbers import whole
from sbatchlint.source.regex import Regex
from sbatchlint.triggers import Options

CARD = Card(
    "SB221", "nodes-not-used", severity="warning", fix="never", since="0.1.0", when=Options("nodes", "ntasks"),
    batch=True, certain=True, homogeneous=True, whole_script=True, seen="sbatch(1)",
)  # fmt: skip

# Options with which all tasks are on one node, or which decide how many nodes there are.
_ONE_NODE = (
    "ntasks-per-node", "nodelist", "exclusive", "gpus", "gpus-per-task", "ntasks-per-gpu",
    "nodefile", "use-min-nodes", "distribution",
)  # fmt: skip
_SINGLE = frozenset({"Rscript", "R", "matlab", "julia", "octave"})
# Words with which a program may be told of other nodes, and names of programs that start work there.
_SPREADING = Regex(
    r"(?i)mpi|slurm|submitit|dask|\bray\b|spark|horovod|cluster|distributed|deepspeed|hosts?file|nodes?\b|nnodes|machines?"
    r"|(?<!num)(?<!num[-_])workers|addprocs|parallel|joblib|snakemake|nextflow|parsl|torchrun|accelerate|executor|launcher|num[-_]nodes|master"
)


def check(job: Job) -> Iterator[Finding]:
    nodes, tasks = job.request.exact_nodes(), job.request.setting("ntasks")
    setting = job.request.setting("nodes")
    if setting is None and (needed := _nodes_needed(job)) > 1:
        nodes, setting = needed, tasks
    spread = setting is None and tasks is not None and not job.request.has_any_option(_ONE_NODE)
    if job.steps or job.phase is not Phase.BATCH or not spread and (nodes is None or nodes < 2 or setting is None):
        return
    if job.program.errors or _SPREADING.search(_words(job)):
        return
    works = _works(job)
    # a program that is one rank of many is for launcher-not-under-srun
    if not works or any(job.launcher_of(each) is not None for each in works):
        return
    if setting is not None and any(is_lone_rank(job, each) for each in works):
        return
    first = works[0]
    name = basename(first.argv[0])
    related = [(first.name_span, "runs on the first node")]
    line = job.line(first.span.start)
    if setting is not None and nodes is not None:
        idle = f"{nodes - 1} of {nodes} nodes {'stays' if nodes == 2 else 'stay'} idle"
        if setting is tasks:
            idle = f"these tasks need {nodes} nodes, and only one works"
        advice = "--ntasks=1" if setting is tasks else "--nodes=1"
        yield Finding(
            setting.span,
            f"{idle}, unless `{name}` on line {line} starts work there; write {advice}, or start it with srun",
            related=related,
        )
    elif tasks is not None and (number := whole(tasks.value)) is not None and number > 1:
        threads = any(_counts_threads(option) for each in works for option in thread_options(each))
        yield Finding(
            tasks.span,
            f"these {number} tasks may be on several nodes, but `{name}` on line {line} runs only on the first; "
            f"write --ntasks=1 --cpus-per-task={number}",
            "warning" if threads else "info",
            related=related,
        )


def _nodes_needed(job: Job) -> int:
    """The nodes on which the tasks have room, at least; 1 where that is not known."""
    tasks, each = (whole(job.request.value(name)) for name in ("ntasks", "ntasks-per-node"))
    return 1 if tasks is None or not each else -(-tasks // each)


def _counts_threads(option: ThreadOption) -> bool:
    """Whether an option asks for more than one thread: with a number, or the number of tasks."""
    names = {each.name for each in expansions(option.value)}
    return (option.number or 0) > 1 or bool(names & {"SLURM_NTASKS", "SLURM_NPROCS", "SLURM_CPUS_ON_NODE"})


def _works(job: Job) -> list[Invocation]:
    """The programs that the script runs; none where one of them may start work on other nodes."""
    works: list[Invocation] = []
    for command in job.invocations:
        if has_trait(command.name, "spreads", "mpi", "remote", "slurm") and command.name not in ("scontrol", "sbatch"):
            return []
        if command.children or command.calls_function or weight(job, command) is Weight.NONE:
            continue
        threads = any(thread_options(command)) and command.name in threaded_programs()
        if weight(job, command) is Weight.STAGING and not is_python(command.argv[0]) or threads:
            works += [command] if threads else []
            continue
        if not is_python(command.argv[0]) and command.name not in _SINGLE:
            return []
        program = python_program(job, command) if is_python(command.argv[0]) else None
        python = python_of(command) if is_python(command.argv[0]) else None
        if python is not None and python.kind not in ("script", "module"):
            return []
        if program is not None and program.mentions("mpi4py", "slurm", "SLURM", "dask", "ray", "submitit", "horovod"):
            return []
        works.append(command)
    return works


def _words(job: Job) -> str:
    """The words of the commands that work, and the variables that the script sets."""
    names = [f"{each.name} {job.source.slice(each.span)}" for each in job.assignments]
    return "\n".join([*names, *(" ".join(each.words) for each in job.invocations if each.name != "echo")])


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH «--nodes=4»
        #SBATCH --ntasks-per-node=1
        module load python
        python train.py --epochs 10
        """
    ),
    Bad("#!/bin/bash\n#SBATCH «-N 2»\n#SBATCH --time=10:00\nRscript model.R data.csv\n", title="R"),
    Bad(
        """\
        #!/bin/bash
        #SBATCH «--ntasks=16»
        #SBATCH --mem=32G
        hisat2 -p 16 -x genome -U reads.fq -S reads.sam
        """,
        title="tasks for the threads of one program",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --array=1-7 --ntasks-per-node=4
        #SBATCH «--ntasks=7»
        python clean.py --part $SLURM_ARRAY_TASK_ID
        """,
        title="more tasks than a node may have",
    ),
    Bad("#!/bin/bash\n#SBATCH «-n 8»\npython train.py\n", severity="info", title="tasks for one process"),
    Good("#!/bin/bash\n#SBATCH --nodes=4\nsrun python train.py\n"),
    Good("#!/bin/bash\n#SBATCH --ntasks=16 --nodes=1\npython train.py\n", title="all on one node"),
    Good("#!/bin/bash\n#SBATCH --nodes=4\npython train.py --num_nodes 4\n", title="it is told of the nodes"),
    Good("#!/bin/bash\n#SBATCH --nodes=4\n./run.sh train.py\n", title="a script that may start steps"),
]
