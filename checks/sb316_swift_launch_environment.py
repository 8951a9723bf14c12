"""Each node trains by itself, or GPUs stay idle: ms-swift or LLaMA-Factory gets wrong launch variables.

`swift sft`, `megatron sft` and `llamafactory-cli train` pass NNODES, NPROC_PER_NODE, NODE_RANK, MASTER_ADDR and
MASTER_PORT to torchrun, if they are set; torchrun's defaults are one node, one process, node 0 and 127.0.0.1. Without
NNODES each node trains on its own, and all of them end with exit status 0. Where every node has rank 0, or waits at
127.0.0.1, all hang until the timeout. Without NPROC_PER_NODE swift uses only one GPU of each node, LLaMA-Factory all.

early-rank-export reports a rank that the batch shell expands too early (`export NODE_RANK=$SLURM_NODEID`).

A warning where GPUs stay idle; an error where nodes wait for each other, or train separately.

## Fix

Exports NNODES and MASTER_ADDR before the step, and sets NODE_RANK in the task, where SLURM_NODEID is the node's own:
`srun bash -c 'NODE_RANK=$SLURM_NODEID exec "$@"' _ megatron sft …`. Unsafe, because the environment of the submission
may set them, and nodes that train alone may be intended.

## References

swift/cli/main.py, ms-swift 3.0 to 4.6; src/llamafactory/cli.py, LLaMA-Factory 0.9; torch/distributed/run.py, torch
2.13; runs of torch 2.6 on two hosts; https://github.com/modelscope/ms-swift/issues/4448
"""

from collections.abc import Iterator
from functools import partial

from sbatchlint.analysis.editing.options import is_proven, lines_before
from sbatchlint.analysis.expansion.sourced import may_set_variables
from sbatchlint.analysis.launch.rendezvous import HEAD_NODE
from sbatchlint.bash.trace import exported, is_set
from sbatchlint.bash.values import Phase, expansions
from sbatchlint.check import Bad, Card, Finding, Fix, Good, Job, Launch, Span, insert, replace
from sbatchlint.job.launchers import Setting, Swift, TorchrunByVariables
from sbatchlint.job.launches import container_of, entered
from sbatchlint.job.worlds import World, by_place, find_worlds
from sbatchlint.programs import programs_with
from sbatchlint.source.numbers import counted, is_number
from sbatchlint.source.regex import Regex
from sbatchlint.triggers import Launchers

CARD = Card(
    "SB316", "swift-launch-environment", severity="error", fix="sometimes", since="0.1.0",
    when=Launchers(*programs_with("by-variables")), seen="swift/cli/main.py of 3.0 to 4.6; modelscope/ms-swift#4448",
)  # fmt: skip

LOCAL = Regex(r"localhost|127(?:\.\d+){3}|0\.0\.0\.0|::1")
CHOOSING_GPUS = ("CUDA_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "ASCEND_RT_VISIBLE_DEVICES")


def check(job: Job) -> Iterator[Finding]:
    if may_set_variables(job, personal=False):
        return
    for worlds in by_place(find_worlds(job)):
        # the same words may be several launches: report only what is wrong with all of them
        first, *others = [dict(_faults(job, world)) for world in worlds]
        for kind, finding in first.items():
            if all(kind in other for other in others):
                yield finding


def _faults(job: Job, world: World) -> Iterator[tuple[str, Finding]]:
    """The findings on a launch of swift, each with its kind."""
    launcher, launch = world.launcher, world.launch
    if not isinstance(launcher, TorchrunByVariables) or launch is None or not launcher.trains or not launcher.certain:
        return
    container = container_of(launch.invocation)
    if container is not None and container.hidden_environment:
        return
    if job.request.heterogeneous or world.isolation or world.starts_per_node != 1:
        return
    if world.step is not None:
        yield from _node_faults(job, world, launch, launcher)
    yield from _process_faults(job, world, launch, launcher)


def _stays_outside(launch: Launch, *names: str) -> bool:
    """Whether one of these variables is set outside a container that does not get it.

    container-env-not-passed reports those.
    """
    container = container_of(launch.invocation)
    if container is None or container.inherits:
        return False
    start = next(each for each in launch.invocation.ancestors() if entered(each) is container)
    return any(exported(start, name) is not None for name in names)


def _node_faults(
    job: Job, world: World, launch: Launch, launcher: TorchrunByVariables
) -> Iterator[tuple[str, Finding]]:
    expected, started = world.nodes_setting, world.nodes
    nodes = "several nodes" if started is None else f"{started} nodes"
    if world.several_nodes and (expected.setting is None or expected.number == 1) and not expected.of_job:
        container = container_of(launch.invocation)
        how = "write `export" if container is None or container.inherits else "pass `-e"
        effect = f"so each of {nodes} trains a separate copy; {how} NNODES=$SLURM_JOB_NUM_NODES`"
        if expected.setting is not None:
            yield "alone", _finding(launcher, expected.setting.span, f"`NNODES` is 1, {effect}")
        elif not _stays_outside(launch, "NNODES"):
            message = f"`NNODES` is unset, {effect}, and set `NODE_RANK` and `MASTER_ADDR`"
            yield "alone", _finding(launcher, launcher.span, message, fix=partial(_fix, job, launch, ["NNODES"]))
    elif expected.setting is None or not (expected.several or expected.of_job and world.several_nodes):
        return
    elif expected.number is not None and started is not None and expected.number != started:
        effect = "the others are left out, or hang"
        if expected.number > started:
            effect = "they wait for the missing nodes until the timeout"
        message = f"`NNODES` is {expected.number}, but {nodes} start `{launcher.name}`: {effect}"
        yield "count", _finding(launcher, expected.setting.span, f"{message}; write `$SLURM_JOB_NUM_NODES`")
    else:
        yield from _rendezvous_faults(job, launch, launcher)


def _rendezvous_faults(job: Job, launch: Launch, launcher: TorchrunByVariables) -> Iterator[tuple[str, Finding]]:
    """The finding on nodes that do not find each other: a static rendezvous needs one address, and node ranks."""
    rendezvous = launcher.rendezvous
    if rendezvous.backend != "static" or launcher.standalone:
        return
    rank, address = launcher.node_rank, rendezvous.address
    names, states, wrong = [], [], []
    if rank is None or _is_constant(rank):
        names.append("NODE_RANK")
    if address is None or address.text is not None and LOCAL.fullmatch(address.text):
        names.append("MASTER_ADDR")
    for name in names:
        setting = rank if name == "NODE_RANK" else address
        if setting is None:
            states.append(f"`{name}` is unset")
        else:
            states.append(f"`{name}` is {setting.text or 0} on every node")
            wrong.append(setting.span)
    if not names or len(wrong) < len(names) and _stays_outside(launch, *names):
        return
    instead = {"NODE_RANK": "`NODE_RANK=$SLURM_NODEID` in the task", "MASTER_ADDR": "`MASTER_ADDR` to the first node"}
    message = f"{' and '.join(states)}, so the rendezvous hangs; set {' and '.join(instead[name] for name in names)}"
    place = wrong[0] if wrong else launcher.span
    yield "meeting", _finding(launcher, place, message, fix=partial(_fix, job, launch, names))


def _is_constant(rank: Setting) -> bool:
    """Whether a node rank is a literal number, or SLURM_LOCALID, which is 0 for the only task of each node.

    early-rank-export reports SLURM_NODEID that the batch shell expands.
    """
    found = expansions(rank.value or ())
    if any(each.name == "SLURM_LOCALID" and each.phase is Phase.TASK for each in found):
        return True
    return rank.number is not None and not any(each.name.startswith("SLURM_") for each in found)


def _process_faults(
    job: Job, world: World, launch: Launch, launcher: TorchrunByVariables
) -> Iterator[tuple[str, Finding]]:
    gpus, setting = world.gpus, launcher.setting("nproc_per_node")
    if gpus is None or any(is_set(launch.invocation, name) for name in CHOOSING_GPUS):
        return
    if setting is None:
        # unless it starts torchrun, swift spreads the model over all GPUs of its single process
        alone = isinstance(launcher, Swift) and (launcher.is_megatron or launcher.setting("nnodes") is not None)
        if gpus > 1 and alone and not _stays_outside(launch, "NPROC_PER_NODE"):
            message = f"`NPROC_PER_NODE` is not set, so `{launcher.name}` uses one of {gpus} GPUs on each node; "
            message += f"write `export NPROC_PER_NODE={gpus}`"
            fix = partial(_fix, job, launch, ["NPROC_PER_NODE"], gpus)
            yield "processes", _finding(launcher, launcher.span, message, "warning", fix)
        return
    number = setting.number
    if number is not None and number > gpus:
        message = f"`NPROC_PER_NODE` is {number} and a node has {counted(gpus, 'GPU')}: the other "
        message += f"processes fail with `invalid device ordinal`; write {gpus}, or request {number} GPUs"
        yield "processes", _finding(launcher, setting.span, message)
    elif number is not None and number < gpus and (not isinstance(launcher, Swift) or launcher.is_megatron):
        message = f"`NPROC_PER_NODE` is {number}, so the other GPUs of {gpus} on each node stay idle; write {gpus}"
        yield "processes", _finding(launcher, setting.span, message, "warning")


def _finding(
    launcher: TorchrunByVariables, place: Span, message: str, severity: str | None = None,
    fix: partial[Fix | None] | None = None,
) -> Finding:  # fmt: skip
    related = [] if place == launcher.span else [(launcher.span, "started here")]
    return Finding(place, message, severity, related, fix)


def _fix(job: Job, launch: Launch, names: list[str], processes: int | None = None) -> Fix | None:
    """The fix that sets what is missing: before the step what all nodes share, in the task the rank of the node."""
    launcher, container = launch.launcher, container_of(launch.invocation)
    if container is not None and not container.inherits:
        return None  # SLURM_NODEID does not reach it
    lines = []
    if "NNODES" in names:
        lines.append("export NNODES=$SLURM_JOB_NUM_NODES")
        names = [*names, *(name for name in ("NODE_RANK", "MASTER_ADDR") if launcher.setting(name.lower()) is None)]
    if "MASTER_ADDR" in names:
        if launcher.setting("master_addr") is not None:
            return None
        lines.append(f"export MASTER_ADDR={HEAD_NODE}")
    if "NPROC_PER_NODE" in names:
        lines.append(f"export NPROC_PER_NODE={processes}")
    before = []
    if lines:
        added = lines_before(job, launch, lines)
        if added is None:
            return None
        before = [added]
    candidates = [before]
    if "NODE_RANK" in names:
        start, rank = launcher.span.start, launcher.node_rank
        candidates = []
        for dollar in ("$", "\\$", "\\\\\\$"):
            if rank is not None and is_number(job.source.slice(rank.span)):
                candidates.append([*before, replace(rank.span, f"{dollar}SLURM_NODEID")])
            candidates.append([*before, insert(start, f"NODE_RANK={dollar}SLURM_NODEID ")])
        candidates.append([*before, insert(start, "bash -c 'NODE_RANK=$SLURM_NODEID exec \"$@\"' _ ")])
    for edits in candidates:
        if is_proven(job, launch, edits, partial(_has_all, names, processes)):
            return Fix("set the variables of the launch", edits)
    return None


def _has_all(names: list[str], processes: int | None, changed: Launch) -> bool:
    """Whether a launch has these variables after an edit."""
    launcher = changed.launcher
    if not isinstance(launcher, TorchrunByVariables) or not launcher.spawns:
        return False
    if "NPROC_PER_NODE" in names and launcher.processes_per_task != processes:
        return False
    if "MASTER_ADDR" in names and launcher.setting("master_addr") is None:
        return False
    if "NNODES" in names and launcher.machines is None:
        return False
    rank = launcher.node_rank
    found = [(each.name, each.phase) for each in expansions((rank.value if rank else None) or ())]
    return "NODE_RANK" not in names or found == [("SLURM_NODEID", Phase.TASK)]


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2 --ntasks-per-node=1 --gpus-per-node=8
        export NPROC_PER_NODE=8
        srun «megatron sft» --model Qwen/Qwen3-30B-A3B --expert_model_parallel_size 8
        """,
        unsafe_fixed="""\
        #!/bin/bash
        #SBATCH --nodes=2 --ntasks-per-node=1 --gpus-per-node=8
        export NPROC_PER_NODE=8
        export NNODES=$SLURM_JOB_NUM_NODES
        export MASTER_ADDR=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)
        srun bash -c 'NODE_RANK=$SLURM_NODEID exec "$@"' _ megatron sft --model Qwen/Qwen3-30B-A3B \
--expert_model_parallel_size 8
        """,
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2 --ntasks-per-node=1 --gpus-per-node=8
        export MASTER_ADDR=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)
        srun bash -c "NNODES=2 NODE_RANK=«0» NPROC_PER_NODE=8 swift sft --model Qwen/Qwen3-8B"
        """,
        unsafe_fixed={"NODE_RANK=0": "NODE_RANK=\\$SLURM_NODEID"},
        title="the same rank on every node",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2 --ntasks-per-node=1 --gpus-per-node=8
        export NNODES=$SLURM_NNODES MASTER_ADDR=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)
        srun bash -c 'NODE_RANK=$SLURM_NODEID «megatron pt» --model Qwen/Qwen3-8B'
        """,
        unsafe_fixed="""\
        #!/bin/bash
        #SBATCH --nodes=2 --ntasks-per-node=1 --gpus-per-node=8
        export NNODES=$SLURM_NNODES MASTER_ADDR=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)
        export NPROC_PER_NODE=8
        srun bash -c 'NODE_RANK=$SLURM_NODEID megatron pt --model Qwen/Qwen3-8B'
        """,
        severity="warning",
        title="one process on each node",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1 --gpus-per-node=4
        NPROC_PER_NODE=«8» swift sft --model Qwen/Qwen3-8B
        """,
        title="more processes than GPUs: which of the two is right is not known",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=2 --ntasks-per-node=1 --gpus-per-node=8
        export NNODES=$SLURM_NNODES NPROC_PER_NODE=8 MASTER_PORT=29500
        export MASTER_ADDR=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)
        srun bash -c 'NODE_RANK=$SLURM_NODEID exec megatron sft --model Qwen/Qwen3-8B'
        """
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=1 --gpus-per-node=4
        swift sft --model Qwen/Qwen3-8B
        """,
        title="on one node swift spreads the model over all GPUs",
    ),
]
