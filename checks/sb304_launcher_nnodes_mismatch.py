"""Training hangs or loses nodes: a launcher expects a different number of nodes from what srun gives it.

A launcher that expects more nodes waits for the missing ones until its timeout. One that expects fewer creates a world
of that many, and the other nodes fail. It happens when `--nodes` is changed, and a number further down is forgotten.
Lightning compares the numbers, and refuses to start.

A warning where the number of nodes is not set in the script, so sbatch may be given a different one.

## Fix

Replaces the literal number with the job's own. Safe where only torchrun gets it, unsafe where something else reads it
too, and in a job with one node. For a program without a launcher, the job gets the nodes that the program expects:
unsafe, as the job then requests more.

## References

torch/distributed/run.py; lightning/fabric/plugins/environments/slurm.py; runs of torch 2.6 on two hosts
"""

from collections.abc import Iterator
from functools import lru_cache

from sbatchlint.analysis.editing.options import replace_words
from sbatchlint.analysis.editing.words import commands_with
from sbatchlint.analysis.launch.duplicate_launchers import (
    WORLD_LAUNCHERS,
    counts_tasks,
    fills_node,
    has_job_node_count,
    is_started_by_whole_step,
)
from sbatchlint.analysis.launch.literal_counts import literal_digits
from sbatchlint.analysis.launch.lone_ranks import sign_of_rank
from sbatchlint.analysis.launch.rank_signs import LIGHTNING_DEVICES, LIGHTNING_NODES
from sbatchlint.analysis.launch.rendezvous import is_own_node
from sbatchlint.analysis.script.conditionals import is_for_some_jobs
from sbatchlint.bash.trace import Invocation
from sbatchlint.bash.values import Phase, shown_text, span_of, text_of
from sbatchlint.check import Bad, Card, Edit, Finding, Fix, Good, Job, Launch, Span
from sbatchlint.job.argv import program_options
from sbatchlint.job.geometry import job_nodes
from sbatchlint.job.launchers import python_of
from sbatchlint.job.steps import Step
from sbatchlint.job.worlds import LaunchWorld, by_place, find_worlds
from sbatchlint.slurm.rewriting import insertion
from sbatchlint.source.numbers import counted, is_number, parse_integer
from sbatchlint.source.regex import Regex
from sbatchlint.triggers import Commands, Launchers

CARD = Card(
    "SB304", "launcher-nnodes-mismatch", severity="error", fix="sometimes", since="0.1.0", sized=True,
    when=Launchers(*WORLD_LAUNCHERS) | Commands("python*", "ipython*", "pypy*"),
)  # fmt: skip


def check(job: Job) -> Iterator[Finding]:
    for worlds in by_place(find_worlds(job)):
        if all(_is_mismatch(job, world) for world in worlds):
            yield _launcher_finding(job, worlds[0])
    yield from _program_findings(job)


# --- launchers ---------------------------------------------------------------------------------------


def _is_mismatch(job: Job, world: LaunchWorld) -> bool:
    """Whether a launcher expects several nodes, but is started on a different number."""
    launcher, expected, nodes = world.launcher, world.nodes_setting, world.nodes
    if not launcher.is_a("joins") or not launcher.spawns or launcher.standalone:
        return False
    if expected.least is None or expected.most is None or expected.most < 2 or nodes is None:
        return False
    if expected.least <= nodes <= expected.most or job.request.heterogeneous:
        return False
    if nodes == 1:
        return _has_one_node(job, world)
    if world.step is None or not is_started_by_whole_step(job, world):
        return False
    if world.isolation == "part" and (expected.least > nodes or world.step.invocation.context.background):
        return False  # the step is smaller than the job, or one of several that may form one world
    if counts_tasks(world.launch, world.step):
        return False  # each task counts as a node
    return fills_node(job, world)


def _has_one_node(job: Job, world: LaunchWorld) -> bool:
    """Whether the whole job has one node, and the launch cannot be part of something larger."""
    if job_nodes(job.request) != 1 or job.request.has_option("array"):
        return False
    if world.isolation or job.phase is not Phase.BATCH:
        return False
    if job.directives.unread:
        return False  # a directive that sbatch does not read may set the number of nodes
    if _may_be_one_of_several(world):
        return False
    if world.step is None:
        return world.in_batch_shell and not is_for_some_jobs(world.invocation)
    return fills_node(job, world)


def _may_be_one_of_several(world: LaunchWorld) -> bool:
    """Whether the launch may be one node of several that other jobs start, judging by its rank or address."""
    rank, meeting = world.launcher.node_rank, world.launcher.rendezvous
    address = None if meeting is None else meeting.address
    if rank is None:
        return False
    return bool(rank.number) or address is not None and not is_own_node(address)


def _launcher_finding(job: Job, world: LaunchWorld) -> Finding:
    expected, nodes, step = world.nodes_setting, world.nodes, world.step
    assert expected.setting is not None and nodes is not None
    assert expected.least is not None and expected.most is not None
    number = expected.most if expected.most < nodes else expected.least
    started = "the job has one" if nodes == 1 else f"srun starts it on {nodes}"
    if number > nodes:
        consequence = f"it waits for {number - nodes} more until it times out"
    else:
        consequence = f"{number} of them train, and the others fail or hang"
    request = f"request `--nodes={number}`, or " if nodes == 1 else ""
    # the command line of sbatch may ask for more where the script does not set the number
    unset = nodes == 1 and not job.request.has_option("nodes")
    return Finding(
        expected.setting.span,
        f"{world.name} expects {number} nodes, but {started}: {consequence}; {request}write `$SLURM_JOB_NUM_NODES`",
        "warning" if unset else None,
        related=[] if step is None else [(step.invocation.name_span, f"started on {nodes} here")],
        fix=_count_nodes(job, world),
    )


def _count_nodes(job: Job, world: LaunchWorld) -> Fix | None:
    """The fix that replaces the number with the job's own."""
    setting, launch = world.nodes_setting.setting, world.launch
    number = None if setting is None else literal_digits(setting.value)
    if number is None or world.isolation or world.launcher.kind == "accelerate":
        return None  # accelerate's total of processes may be wrong too
    title = "write the job's number of nodes"
    fix = replace_words(job, launch, number, "$SLURM_JOB_NUM_NODES", title, has_job_node_count)
    if fix is None or world.nodes == 1:
        return fix
    return fix._replace(safe=launch.invocation.span.contains(number) or _goes_only_to(job, number, launch))


def _goes_only_to(job: Job, number: Span, launch: Launch) -> bool:
    """Whether no other command gets the number."""
    commands = dict.fromkeys(each for at in range(number.start, number.end) for each in commands_with(job, at))
    return not any(
        piece.start < number.end and number.start < piece.end and piece.expansion is None
        for command in commands
        if command is not launch.invocation and command not in launch.invocation.ancestors() and command.name != "echo"
        for field in command.argv
        for piece in field
    )


# --- programs without a launcher -----------------------------------------------------------------------

_NODES = Regex(r"--(?:num[_-]?nodes|n[_-]?nodes|nodes)")
_DEVICES = Regex(r"--(?:num[_-]?|n[_-]?)?(?:gpus|devices)(?:[_-]per[_-]node)?|--(?:gpu|device)s?[_-]per[_-]node")


def _program_findings(job: Job) -> Iterator[Finding]:
    """Findings on programs with several tasks that expect a different number of nodes from what their step has."""
    spawning = {id(each.step) for each in job.launches if each.launcher.starts_several}
    for step in job.steps:
        nodes, context = step.nodes, step.invocation.context
        if nodes is None or id(step) in spawning or step.geometry.ignored is not False or job.request.heterogeneous:
            continue
        if nodes == 1 and job.directives.unread or context.may_repeat and context.background:
            continue
        if job.request.exact_nodes() not in (None, nodes):
            continue
        for command in step.program:
            expected = _node_setting(job, step, command)
            if expected is None or expected[0] in (0, nodes) or command.context.restricted:
                continue
            number, argument, written = expected
            place, edit = _change(job, step, argument, number)
            where = "" if place == argument else f" (line {job.line(argument.start)})"
            is_waiting = number > nodes
            consequence = "it waits for missing ranks" if is_waiting else "it gets more ranks than it expects"
            yield Finding(
                place,
                f"the program gets `{written}`{where}, but srun starts it on {counted(nodes, 'node')}: {consequence}, "
                f"or stops; request `--nodes={number}`, or pass {nodes}",
                related=[(argument, "what the program expects")],
                fix=None if edit is None else Fix(f"request {number} nodes", [edit]),
            )


@lru_cache(maxsize=1024)  # programs get the same options again and again
def _what_is_counted(option: str) -> str:
    """What an option of a program counts: `nodes`, `devices`, or "" for anything else."""
    if LIGHTNING_NODES.fullmatch(option) or _NODES.fullmatch(option):
        return "nodes"
    return "devices" if _DEVICES.fullmatch(option) or LIGHTNING_DEVICES.fullmatch(option) else ""


def _node_setting(job: Job, step: Step, program: Invocation) -> tuple[int, Span, str] | None:
    """The number of nodes that a Python program with a rank per task expects, its place, how it is written; or None.

    A program has one rank per task where it has options of Lightning, or as many devices as its node has tasks; or if
    its source sets the number, and Lightning gets its ranks from Slurm.
    """
    argv = program.argv
    python = python_of(program)
    if python is None or python.kind not in ("script", "module"):
        return None
    sign = sign_of_rank(job, program, step)
    if sign is not None and sign.kind == "lightning" and sign.nodes is not None and sign.source:
        return sign.nodes, sign.span, f"num_nodes={sign.nodes}` in `{sign.source}"
    setting, is_rank = None, False
    for option, value, field in program_options(argv[python.after :], _what_is_counted):
        text = None if value is None else text_of(value)
        if text is None or not is_number(text):
            continue
        if _what_is_counted(option) == "nodes":
            lightning = bool(LIGHTNING_NODES.fullmatch(option))
            glue = "=" if "=" in shown_text(field) else " "
            setting = parse_integer(text), span_of(field), f"{option}{glue}{text}"
            is_rank = is_rank or lightning
        else:
            is_rank = is_rank or parse_integer(text) == step.tasks_per_node and parse_integer(text) > 1
    return setting if is_rank else None


def _change(job: Job, step: Step, argument: Span, number: int) -> tuple[Span, Edit | None]:
    """The place to report, and an edit: the directive that counts tasks where nothing sets nodes, else the argument."""
    request, directives = job.request, job.directives
    tasks = request.setting("ntasks-per-node")
    names = ("nodes", "ntasks")
    sets_count = not step.options.keys().isdisjoint(names) or request.has_any_option(names)
    if sets_count or tasks is None or step.nodes != 1:
        return argument, None
    if not directives.certain or job.is_embedded and job.directives_expand:
        return tasks.span, None
    return tasks.span, insertion(directives, f"--nodes={number}")


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2 --ntasks-per-node=1 --gpus-per-node=8
        head=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)
        srun torchrun «--nnodes=4» --nproc_per_node=8 --rdzv_backend=c10d --rdzv_endpoint=$head:29500 train.py
        """,
        fixed={"--nnodes=4": "--nnodes=$SLURM_JOB_NUM_NODES"},
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH -N 4 --ntasks-per-node=1 --gpus-per-node=8
        NNODES=64
        srun bash -c "torchrun «--nnodes» $NNODES --node_rank \\$SLURM_NODEID --master_addr $HEAD train.py"
        """,
        fixed={"NNODES=64": "NNODES=$SLURM_JOB_NUM_NODES"},
        title="a variable that was forgotten",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1 --gpus-per-node=8
        torchrun «--nnodes=2» --nproc_per_node=8 --rdzv_backend=c10d --rdzv_endpoint=$(hostname):29500 train.py
        """,
        unsafe_fixed={"--nnodes=2": "--nnodes=$SLURM_JOB_NUM_NODES"},
        title="a job of one node",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH «--ntasks-per-node=4» --gpus-per-node=4
        srun python fit.py --trainer.devices=4 --trainer.num_nodes=2
        """,
        unsafe_fixed="""\
        #!/bin/bash
        #SBATCH --ntasks-per-node=4 --gpus-per-node=4
        #SBATCH --nodes=2
        srun python fit.py --trainer.devices=4 --trainer.num_nodes=2
        """,
        title="nobody asked for the second node",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=4 --ntasks-per-node=8 --gpus-per-node=8
        srun python fit.py --gpus 8 «--num_nodes» 2
        """,
        title="a program with one rank for each task: no fix",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=4 --ntasks-per-node=1 --gpus-per-node=8
        TRAINERS=$((SLURM_NNODES - 1))
        srun -N $TRAINERS -n $TRAINERS torchrun --nnodes=$TRAINERS --nproc_per_node=8 --rdzv_backend=c10d \
--rdzv_endpoint=$(hostname):29500 train.py &
        srun -N 1 -n 1 -r $TRAINERS vllm serve model &
        wait
        """,
        title="a part of the nodes",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=4 --ntasks-per-node=1 --gpus-per-node=8
        srun torchrun --nnodes=2:4 --nproc_per_node=8 --rdzv_backend=c10d --rdzv_endpoint=n1:29500 train.py
        """,
        title="as many as there are, from two to four",
    ),
]
