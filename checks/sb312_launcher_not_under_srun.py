"""Nodes stay idle, or training hangs: the batch script starts a launcher on the first node only.

Slurm starts the batch script once, on the first node of the job, and nothing on the others. `torchrun --nnodes=4` there
waits until its timeout for three nodes that nothing starts; without `--nnodes` it trains on the first node, and the
others are idle, but still charged. srun starts a command on every node. Lightning without srun finds only its own
process, and waits for the rest or continues alone; on one node, too, where the job has a task for each of its devices:
it takes these for its ranks (`MEMBER: 1/4`), and they never come.

An error where it waits for the others. A warning where they only stay idle, or where a custom program, called by its
path, is all that the script runs.

Nothing is reported where something else may start processes on the other nodes: ssh and the like, an MPI launcher, a
step with work of its own, a script that cannot be read.

## Fix

Puts srun before a launcher that expects several nodes, with one task on each. Unsafe: one node may be intended.

## References

https://slurm.schedmd.com/sbatch.html; https://github.com/pytorch/examples/issues/1012;
https://github.com/meta-llama/llama-cookbook/issues/491;
https://github.com/Lightning-AI/pytorch-lightning/issues/17389
"""

from collections.abc import Iterator

from sbatchlint.analysis.editing.options import is_proven
from sbatchlint.analysis.expansion.reads import use_of
from sbatchlint.analysis.expansion.sourced import is_unclear_source
from sbatchlint.analysis.launch.first_node import is_custom_program, programs_of_first_node
from sbatchlint.analysis.launch.lone_ranks import CHOOSING, DETECTED_BY, OTHER_WAYS
from sbatchlint.analysis.launch.rank_signs import is_lone_rank, rank_sign
from sbatchlint.analysis.script.conditionals import is_for_some_jobs
from sbatchlint.analysis.script.work import is_repeatable_step
from sbatchlint.bash.trace import Invocation
from sbatchlint.bash.values import Phase, expansions, text_of
from sbatchlint.check import Bad, Card, Finding, Fix, Good, Job, Launch, insert
from sbatchlint.job.argv import basename, program_name
from sbatchlint.job.geometry import job_nodes
from sbatchlint.job.once import once
from sbatchlint.job.steps import Step
from sbatchlint.job.worlds import LaunchWorld, by_place, find_worlds
from sbatchlint.programs import has_trait
from sbatchlint.source.shortening import MOST
from sbatchlint.source.templates import is_templated
from sbatchlint.triggers import Options

CARD = Card(
    "SB312", "launcher-not-under-srun", severity="error", fix="sometimes", since="0.1.0", sized=True,
    when=Options("nodes", "ntasks", "ntasks-per-node"), whole_script=True, batch=True, certain=True, homogeneous=True,
)  # fmt: skip


def check(job: Job) -> Iterator[Finding]:
    nodes = job_nodes(job.request)
    if nodes == 1:
        yield from _lightning_findings(job)
    if nodes is None or nodes < 2:
        return
    idle = [place for place in by_place(find_worlds(job)) if all(map(_is_in_batch_shell, place))]
    found = [each for place in idle if (each := _launcher_finding(job, place, nodes)) is not None]
    yield from found or list(_program_findings(job, nodes)) or _custom_program_finding(job, nodes)


def _other_nodes(nodes: int) -> str:
    return "the other node" if nodes == 2 else f"the other {nodes - 1} nodes"


# --- launchers ---------------------------------------------------------------------------------------

KINDS = ("torchrun", "torch.distributed.launch", "accelerate", "swift", "llamafactory", "fabric")


def _is_in_batch_shell(world: LaunchWorld) -> bool:
    launcher, context = world.launcher, world.invocation.context
    if launcher.kind not in KINDS or not launcher.spawns or launcher.cpu or not world.in_batch_shell:
        return False
    if world.isolation not in ("", "sharded") or context.may_repeat and context.background:
        return False
    return not any(has_trait(program_name(each), "spreads") for each in world.invocation.ancestors())


def _launcher_finding(job: Job, place: list[LaunchWorld], nodes: int) -> Finding | None:
    world = place[0]
    only = f"{world.name} runs only on the first of {nodes} nodes"
    if all(_expects_several_nodes(each) for each in place):
        if _others_may_join(job):
            return None
        waits = f"waits for {_other_nodes(nodes)} until the timeout"
        fix = _under_srun(job, world.launch, nodes)
        message = f"{only}, and {waits}; start it with srun, once on each node"
        return Finding(world.span, message if len(message) <= MOST else message.rpartition(",")[0], fix=fix)
    if not _is_all_that_runs(job, place):
        return None
    stays = f"{_other_nodes(nodes)} stay{'s' * (nodes == 2)} idle"
    advice = "request one node, or start it on all nodes with srun"
    return Finding(world.span, f"{only}, and {stays}; {advice}", "warning")


def _expects_several_nodes(world: LaunchWorld) -> bool:
    return not world.launcher.standalone and (world.nodes_setting.several or world.nodes_setting.of_job)


def _is_all_that_runs(job: Job, place: list[LaunchWorld]) -> bool:
    """Whether a launcher for one node is all that the job runs."""
    for world in place:
        if world.nodes_setting.number != 1 and not world.launcher.standalone:
            return False
        if world.launcher.hostfile is not None or not world.certain:
            return False
    return not is_for_some_jobs(place[0].invocation) and not _others_may_work(job)


def _under_srun(job: Job, launch: Launch, nodes: int) -> Fix | None:
    """The fix that puts `srun` before the command, with one task per node."""
    outer = [each for each in (launch.invocation, *launch.invocation.ancestors()) if each.phase is Phase.BATCH][-1]
    if outer.name in ("source", ".", "eval", "exec", "time", "command") or not outer.argv:
        return None

    def is_step(changed: Launch) -> bool:
        step, rank, rendezvous = changed.step, changed.launcher.node_rank, changed.launcher.rendezvous
        if step is None or step.nodes != nodes or step.tasks_per_node != 1:
            return False
        if rendezvous is not None and rendezvous.backend not in (None, "static"):
            return True
        if rank is None:
            return changed.launcher.kind not in ("torchrun", "torch.distributed.launch")  # each would be the first
        # a rank that the batch shell expands is the same on all nodes
        return any(each.phase is Phase.TASK for each in expansions(rank.value or ()))

    for options in ("", "--ntasks=$SLURM_JOB_NUM_NODES --ntasks-per-node=1 ", f"--ntasks={nodes} --ntasks-per-node=1 "):
        edits = [insert(outer.name_span.start, f"srun {options}")]
        if is_proven(job, launch, edits, is_step):
            return Fix("start it with srun, once on each node", edits)
    return None


# --- programs without a launcher -----------------------------------------------------------------------


def _program_findings(job: Job, nodes: int) -> Iterator[Finding]:
    """Findings on programs that are one rank of many, or train, although the batch shell starts them once."""
    if _others_may_work(job):
        return
    for command in job.invocations:
        if not is_lone_rank(job, command):
            continue
        sign = rank_sign(job, command)
        reason = f"{_other_nodes(nodes)} stay{'s' * (nodes == 2)} idle"
        advice = f"request one node, or {_on_all_nodes(job, nodes)}"
        if sign is not None:
            advice = "start it with srun, or request one node"
            reason = f"{sign.words}, and nothing starts one on {_other_nodes(nodes)}"
        word, program = command.name_span, basename(command.argv[0])
        yield Finding(
            # a word assembled from several places cannot be marked
            command.span if word.start < command.span.start < word.end else word,
            f"{f'`{program}`' if program else 'the program'} runs once, only on the first of {nodes} nodes: {reason}; "
            f"{advice}",
            None if sign is not None and (sign.nodes or 1) > 1 else "warning",
            related=[] if sign is None else [(sign.span, sign.words)],
        )


def _on_all_nodes(job: Job, nodes: int) -> str:
    """How to start a program on all nodes, of which nothing says how many processes it is made for."""
    tasks, gpus = job.request.effective_tasks(), job.request.gpus_per_node()
    if tasks is None or tasks <= nodes:
        return "start it with srun if it is a distributed program"
    if gpus is not None and tasks != gpus * nodes:
        number = f"--ntasks={gpus * nodes} --ntasks-per-node={gpus}"
        return f"start it with `srun {number}` if it is a distributed program"
    return f"start it with srun, as {tasks} processes, if it is a distributed program"


def _lightning_findings(job: Job) -> Iterator[Finding]:
    """Findings on Lightning in the batch shell of one node, where it waits for the other tasks of the job."""
    tasks = job.request.effective_tasks()
    if tasks is None or tasks < 2 or job.steps or job.request.value("job-name") in ("bash", "interactive"):
        return
    for command in job.invocations:
        sign = rank_sign(job, command) if command.phase is Phase.BATCH and not command.children else None
        if sign is None or sign.kind != "lightning" or (sign.devices or 1) < 2 or (sign.nodes or 1) > 1:
            continue
        if any(has_trait(program_name(each), "spreads") for each in command.ancestors()) or job.launches:
            continue
        if any(name in command.state.variables for name in (*DETECTED_BY, *CHOOSING)):
            continue
        if OTHER_WAYS.search(" ".join(command.words)):
            continue
        yield Finding(
            command.name_span,
            f"without srun, Lightning expects a rank for each of the job's {tasks} tasks, and waits for {tasks - 1} "
            "that nothing starts; start the program with srun",
            related=[(sign.span, sign.words)],
        )


# --- custom programs ---------------------------------------------------------------------------------

_COUNTS = frozenset({
    "SLURM_JOB_NODELIST", "SLURM_NODELIST", "SLURM_NNODES", "SLURM_JOB_NUM_NODES", "SLURM_NTASKS", "SLURM_NPROCS",
    "SLURM_NTASKS_PER_NODE", "SLURM_TASKS_PER_NODE", "SLURM_HOSTFILE",
})  # fmt: skip


def _custom_program_finding(job: Job, nodes: int) -> Iterator[Finding]:
    """The finding on a custom program in the batch shell, where nothing in the script involves other nodes."""
    if _others_may_work(job) or any(each.name == "scontrol" for each in job.invocations) or job.steps:
        return
    reads = (each for each in job.trace.reads if each.name in _COUNTS)
    if any(use_of(job, each).kind != "print" for each in reads) or is_templated(job.source.text):
        return
    works = [each for each in job.invocations if is_custom_program(each)]
    if not works or any(map(is_for_some_jobs, works)):
        return
    if programs_of_first_node(job, spread=False):
        return  # nodes-not-used reports them
    yield Finding(
        works[0].span,
        f"nothing in this script runs on {_other_nodes(nodes)}: `{program_name(works[0])}` runs on the first; "
        "request one node, or start it with srun if it is an MPI program",
        "warning",
    )


# --- what may start something on the other nodes ---------------------------------------------------------

# Options of srun that may choose a node other than the first.
PLACING = frozenset({"nodelist", "exclude", "relative", "nodefile"})
_SHELLS = frozenset({"bash", "sh", "zsh", "dash", "ksh", "csh", "tcsh", "source", ".", "eval", "exec"})
_ENDINGS = (".sh", ".bash", ".zsh", ".sbatch", ".slurm", ".csh")
# Words in the names of files that set up a shell.
_SETUP = ("env", "setup", "activate", "module", "conda", "rc", "profile", "config", "init", "load", "secret", "path")


@once
def _others_may_join(job: Job) -> bool:
    """Whether something may start the launchers of the other nodes: by ssh, or in the background."""
    if any(has_trait(program_name(each), "spreads") and each.phase is Phase.BATCH for each in job.invocations):
        return True
    if any(step.invocation.context.background and not is_repeatable_step(step) for step in job.steps):
        return True
    return any(_is_unread(each) and each.context.background for each in job.invocations)


@once
def _others_may_work(job: Job) -> bool:
    """Whether something else may use the other nodes, at any time."""
    for command in job.invocations:
        if command.phase is not Phase.BATCH or command.context.captured:
            continue
        if has_trait(program_name(command), "spreads") or command.spawn.kind == "mpi" or _is_unread(command):
            return True
    return any(_works_elsewhere(step) for step in job.steps)


def _works_elsewhere(step: Step) -> bool:
    """Whether a step may do real work on several nodes, or on a node other than the first."""
    context = step.invocation.context
    if is_repeatable_step(step) or context.captured:
        return False
    return step.nodes != 1 or context.background is not None or not PLACING.isdisjoint(step.options)


def _is_unread(invocation: Invocation) -> bool:
    """Whether a command runs a script that cannot be read here, or something unknown."""
    if invocation.children or invocation.text is not None or invocation.phase is not Phase.BATCH:
        return False
    if not invocation.argv:
        return False
    name = program_name(invocation)
    if name is None:
        return True
    if name in ("source", ".", "eval"):
        words = [word.lower() for word in invocation.words[1:2]]
        setting_up = any(word in base for base in words for word in _SETUP)
        return is_unclear_source(invocation) and not setting_up
    if name in _SHELLS:
        return len(invocation.argv) > 1 and text_of(invocation.argv[1]) not in ("-l", "--login", "--version")
    return name.endswith(_ENDINGS)


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=4 --ntasks-per-node=1 --gpus-per-node=8
        head=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)
        «torchrun» --nnodes=4 --nproc_per_node=8 --rdzv_backend=c10d --rdzv_endpoint="$head:29500" train.py
        """,
        unsafe_fixed={"torchrun": "srun torchrun"},
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2 --ntasks-per-node=4 --gres=gpu:4
        ARGS=(--nproc_per_node=4 --rdzv_backend=c10d --rdzv_endpoint=$(hostname):29500)
        OMP_NUM_THREADS=8 apptainer exec --nv image.sif «torchrun» --nnodes=$SLURM_NNODES "${ARGS[@]}" train.py
        """,
        unsafe_fixed={"apptainer": "srun --ntasks=$SLURM_JOB_NUM_NODES --ntasks-per-node=1 apptainer"},
        title="in a container",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2 --gpus-per-node=4
        «accelerate» launch --multi_gpu --num_machines 1 --num_processes 4 train.py
        """,
        severity="warning",
        title="the second node is idle",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2 --ntasks-per-node=4 --gpus-per-node=4
        «python» fit.py --trainer.devices=4 --trainer.num_nodes=2
        """,
        title="a program that is one rank for each task",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2 --ntasks-per-node=4 --gpus-per-node=4
        «python» -u train.py --epochs 10
        """,
        severity="warning",
        title="nothing uses the second node",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=2 --ntasks-per-node=1 --gpus-per-node=4
        torchrun --standalone --nproc_per_node=1 convert.py
        srun torchrun --nnodes=2 --nproc_per_node=4 --rdzv_backend=c10d --rdzv_endpoint=$(hostname):29500 train.py
        """,
        title="one node prepares what all of them use",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=2 --ntasks-per-node=1 --gpus-per-node=4
        nodes=($(scontrol show hostnames "$SLURM_JOB_NODELIST"))
        ssh "${nodes[1]}" torchrun --nnodes=2 --node_rank=1 --master_addr="${nodes[0]}" train.py &
        torchrun --nnodes=2 --node_rank=0 --master_addr="${nodes[0]}" train.py
        """,
        title="the others are started by ssh",
    ),
    Good(
        "#!/bin/bash\n#SBATCH --nodes=3\nmodule load openmpi\n./run-case v1 $HOME/flow/build/flow\n",
        title="a script that runs another program, perhaps by mpirun",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=2 --gpus-per-node=4
        bash train_all.sh
        python report.py --trainer.num_nodes=2
        """,
        title="a script that cannot be read",
    ),
]
