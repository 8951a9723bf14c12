"""Nodes stay idle: everything in the job runs on the first one.

The batch script runs on the first node of the job. Other nodes take part only if something starts work there: srun,
mpirun, a launcher that knows them, ssh. `#SBATCH --nodes=4` above a plain `python train.py` pays for four nodes, waits
for four, and uses one.

`#SBATCH --ntasks=16` alone leaves it to Slurm how many nodes these are. On one with 16 free CPUs the threads of a
program have them all, otherwise some of the CPUs are on nodes where nothing runs. That is advice where the program is
not known to run on one node, and is not told to use several threads.

A job whose steps all run on one node, one after the other, is reported, too, and one that only copies, fetches, packs
or removes files.

Nothing is reported where the script runs a program that may start others itself: one that is not Python, R, Julia or
MATLAB, one that this project contains and that mentions Slurm, MPI or a cluster.

## Fix

None: `--nodes=1`, or srun before the program, if that can use several nodes.

## References

sbatch(1), DESCRIPTION: "runs a single copy of the batch script on the first node"
"""

from collections.abc import Iterator
from functools import partial

from sbatchlint.analysis.gpus.told_gpus import told_gpus
from sbatchlint.analysis.launch.first_node import SINGLE, has_threads, may_know_nodes, programs_of_first_node
from sbatchlint.analysis.launch.rank_signs import is_lone_rank
from sbatchlint.analysis.launch.serial_jobs import small_work
from sbatchlint.analysis.script.threads import one_thread
from sbatchlint.bash.trace import Invocation
from sbatchlint.bash.values import Phase
from sbatchlint.check import Bad, Card, Finding, Good, Job
from sbatchlint.job.argv import basename
from sbatchlint.job.launchers import is_python
from sbatchlint.job.launches import runs_own_program
from sbatchlint.job.steps import enclosing_step
from sbatchlint.slurm.grammar.numbers import whole
from sbatchlint.triggers import Options

CARD = Card(
    "SB221", "nodes-not-used", severity="warning", fix="never", since="0.1.0", sized=True,
    when=Options("nodes", "ntasks"), batch=True, certain=True, homogeneous=True, whole_script=True, seen="sbatch(1)",
)  # fmt: skip

# Options with which all tasks are on one node, or which decide how many nodes there are.
_ONE_NODE = (
    "ntasks-per-node", "nodelist", "exclusive", "gpus", "gpus-per-task", "ntasks-per-gpu",
    "nodefile", "use-min-nodes", "distribution",
)  # fmt: skip
_CPUS_OF_NODE = 128  # more than most nodes have
_IDLE = 4  # CPUs from which on cpus-not-used speaks of a program with one thread
_ONE_LINER = frozenset({"-e", "-c", "-E"})


def check(job: Job) -> Iterator[Finding]:
    nodes, tasks = job.request.exact_nodes(), job.request.setting("ntasks")
    setting = job.request.setting("nodes")
    if setting is None and (needed := _nodes_needed(job)) > 1:
        nodes, setting = needed, tasks
    spread = setting is None and tasks is not None and not job.request.has_any_option(_ONE_NODE)
    if job.phase is not Phase.BATCH or not spread and (nodes is None or nodes < 2 or setting is None):
        return
    if job.program.errors:
        return
    small = small_work(job) if setting is not None and setting is not tasks and nodes is not None else []
    if small and setting is not None and nodes is not None:
        idle = f"{nodes - 1} of {nodes} nodes {'stays' if nodes == 2 else 'stay'} idle"
        line = job.line(small[0].span.start)
        message = f"{idle}, as `{small[0].name}` on line {line} runs on only one; write --nodes=1"
        yield Finding(setting.span, message, related=[(small[0].name_span, "runs on one node")])
        return
    works = programs_of_first_node(job, spread=spread)
    # a program that is one rank of many is for launcher-not-under-srun
    if not works or any(job.launcher_of(each) is not None for each in works):
        return
    if setting is not None and any(is_lone_rank(job, each) for each in works):
        return
    if may_know_nodes(job, works) or any(map(partial(_counts_all_gpus, job), works)):
        return
    count = None if tasks is None or setting is not None else whole(tasks.value)
    first = next((each for each in works if _is_main(each, count)), works[0])
    step = enclosing_step(first.context)
    shown = first
    if first.parent is not None and runs_own_program(first.parent):
        shown = first.parent
    name = basename(shown.argv[0])
    related = [(shown.name_span, "runs on one node" if step is not None else "runs on the first node")]
    line = job.line(shown.span.start)
    if setting is not None and nodes is not None:
        idle = f"{nodes - 1} of {nodes} nodes {'stays' if nodes == 2 else 'stay'} idle"
        if setting is tasks:
            stays = "one of them stays" if nodes == 2 else f"{nodes - 1} of them stay"
            idle = f"these tasks need {nodes} nodes, and {stays} idle"
        many = tasks is not None and (whole(tasks.value) or 2) > nodes
        advice = "--ntasks=1" if setting is tasks else "--nodes=1"
        if many and setting is not tasks:  # all tasks would have to fit one node
            number = whole(tasks.value) if tasks is not None else None
            cpus = f" --cpus-per-task={number // nodes}" if number and number % nodes == 0 and number > nodes else ""
            given = job.request.has_any_option(("cpus-per-task", "ntasks-per-node", "cpus-per-gpu"))
            advice = f"--nodes=1 --ntasks=1{'' if given else cpus}"
        either = f"write {advice}, or use {'both' if nodes == 2 else 'all'} nodes"
        unless = f"unless `{name}` on line {line} starts work there; {either}"
        if step is not None:
            unless = f"as `{name}` on line {line} runs on only one; write {advice}, or let srun use all nodes"
        told = step is None and any(_is_told_tasks(job, each) for each in works)
        told = told or all(each.name == "julia" for each in works)  # `addprocs(SlurmManager())` uses all tasks
        yield Finding(setting.span, f"{idle}, {unless}", "info" if told else None, related=related)
    elif tasks is not None and (number := whole(tasks.value)) is not None and number > 1:
        sure = _is_sure(job, first, number)
        if not sure and number >= _IDLE and one_thread(first) is not None:
            return  # cpus-not-used says that it leaves the others idle wherever they are
        # all CPUs of the tasks, for one
        wanted = number * (whole(job.request.value("cpus-per-task")) or 1)
        cpus = str(wanted) if wanted <= _CPUS_OF_NODE else "N, with N at most the CPUs of one node"
        advice = f"--ntasks=1 --cpus-per-task={cpus}"
        set_already = job.request.setting("cpus-per-task")  # a second one would override it, or be overridden
        if set_already is not None and job.line(set_already.span.start) != job.line(tasks.span.start):
            number_here = cpus if wanted <= _CPUS_OF_NODE else "N (at most the CPUs of one node)"
            advice = f"--ntasks=1 here, and --cpus-per-task={number_here} on line {job.line(set_already.span.start)}"
        yield Finding(
            tasks.span,
            f"`{tasks.as_written}` may get CPUs on several nodes, but `{name}` on line {line} runs only on the first; "
            f"write {advice}",
            None if sure else "info",
            related=related,
        )


def _is_main(command: Invocation, tasks: int | None) -> bool:
    """Whether a program is likely the one for which the job requests so much. `tasks`: the threads it may be told."""
    if tasks is not None:
        return has_threads(command, tasks)
    return not command.context.conditional and _ONE_LINER.isdisjoint(command.words[1:3])


def _is_sure(job: Job, command: Invocation, tasks: int) -> bool:
    """Whether a program certainly does not use the tasks on other nodes, and the job may have some.

    Julia's `addprocs(SlurmManager())` starts a worker for each task, with an srun of its own. At UPPMAX a job in the
    partition `core` has the CPUs of its tasks on one node.
    """
    if job.request.partition == "core":
        return False
    single = is_python(command.argv[0]) or command.name in SINGLE - {"julia"}
    return single or has_threads(command, tasks)


def _nodes_needed(job: Job) -> int:
    """The nodes on which the tasks have room, at least; 1 where that is not known."""
    tasks, per_node = (whole(job.request.value(name)) for name in ("ntasks", "ntasks-per-node"))
    return 1 if tasks is None or not per_node else -(-tasks // per_node)


def _is_told_tasks(job: Job, command: Invocation) -> bool:
    """Whether a program is given the number of all tasks, not as that of its threads: it may start them itself."""
    tasks = job.request.effective_tasks()
    if tasks is None or tasks <= (job.request.exact_nodes() or 1) or has_threads(command, tasks):
        return False
    return any(each == str(tasks) for each in command.words[1:])


def _counts_all_gpus(job: Job, command: Invocation) -> bool:
    """Whether a program is given more GPUs than one node has."""
    told, gpus = told_gpus(command), job.request.gpus_per_node()
    return told is not None and gpus is not None and told.most > gpus


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
    Bad("#!/bin/bash\n#SBATCH «-n 8»\njulia model.jl\n", severity="info", title="Julia may start a worker for each"),
    Bad("#!/bin/bash\n#SBATCH -p core «-n 8»\npython fit.py\n", severity="info", title="CPUs of one node, at UPPMAX"),
    Bad("#!/bin/bash\n#SBATCH «-n 8»\npython train.py\n", title="tasks for one process"),
    Bad(
        "#!/bin/bash\n#SBATCH «--nodes=3» --ntasks-per-node=20\nsnakemake -j 60 --use-conda\n",
        title="rules that all run on the first node",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH «--nodes=2» --gres=gpu:4
        srun --nodes=1 --ntasks=1 python fit.py
        """,
        title="no step uses the second node",
    ),
    Good("#!/bin/bash\n#SBATCH --nodes=4\nsrun python train.py\n"),
    Good("#!/bin/bash\n#SBATCH --ntasks=16 --nodes=1\npython train.py\n", title="all on one node"),
    Good("#!/bin/bash\n#SBATCH --nodes=4\npython train.py --num_nodes 4\n", title="it gets the names of the nodes"),
    Good("#!/bin/bash\n#SBATCH --nodes=4\n./run.sh train.py\n", title="a script that may start steps"),
]
