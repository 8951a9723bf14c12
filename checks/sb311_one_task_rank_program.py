"""GPUs stay idle, or the program refuses to start: it has one rank per task, and one task per node.

Lightning, Megatron without torchrun, programs with `--launcher slurm` and JAX start no processes themselves under srun:
each task is a rank, and uses one GPU. With one task per node the other GPUs are idle, or the program waits for ranks
that nothing starts. Lightning refuses to start where SLURM_NTASKS_PER_NODE differs from `devices`, or is missing with
several tasks. With a single task, and no `--ntasks-per-node`, it neither stops nor waits: one process trains on its
part of the data (with `devices=2` on 32 of 64 samples), and ends with 0.

An error where the program is told how many devices to use, as it then trains on a part of the data; a warning where
GPUs stay idle; advice for JAX, and where RANK is set without LOCAL_RANK: one process may use all GPUs of a node.

## Fix

Sets as many tasks per node as the program has devices, or the node GPUs, and divides the CPUs of the one task among
them; `--ntasks` becomes `--ntasks-per-node`. Unsafe: the job does not show what the program does with its tasks. None
where the batch shell expands the rank, which all tasks would have.

## References

https://lightning.ai/docs/pytorch/stable/clouds/cluster_advanced.html;
https://github.com/Lightning-AI/pytorch-lightning/issues/17252; lightning/fabric/plugins/environments/slurm.py (2.6),
and runs of it; jax/_src/clusters/slurm_cluster.py
"""

from collections.abc import Iterator

from sbatchlint.analysis.launch.literal_counts import literal_number, literal_span, task_option_at
from sbatchlint.analysis.launch.lone_ranks import LoneRank, is_spread, lone_ranks, more_tasks, sign_of_rank
from sbatchlint.analysis.launch.rank_signs import RankSign
from sbatchlint.bash.trace import Invocation, is_set
from sbatchlint.check import Bad, Card, Finding, Fix, Good, Job, Span, replace
from sbatchlint.job.gpus import step_gpus
from sbatchlint.job.steps import Step
from sbatchlint.triggers import Commands

CARD = Card(
    "SB311", "one-task-rank-program", severity="error", fix="sometimes", since="0.1.0",
    when=Commands("python*", "ipython*", "pypy*", "litgpt"),
)  # fmt: skip


def check(job: Job) -> Iterator[Finding]:
    places: dict[Span, list[LoneRank]] = {}
    for lone in lone_ranks(job):
        if not lone.awaited:
            places.setdefault(lone.place, []).append(lone)
    for span, ranks in places.items():
        yield Finding(
            span,
            _message(job, ranks[0]),
            _severity(ranks),
            related=[(each.sign.span, each.sign.words) for each in ranks],
            fix=more_tasks(job, ranks[0]),
        )
    reported = {lone.invocation.span for ranks in places.values() for lone in ranks}
    for step in job.steps:
        if step.geometry.ignored is not False or not step.certain or is_spread(job, step):
            continue
        for command in step.program:
            sign = sign_of_rank(job, command, step)
            if sign is None or sign.kind != "lightning" or command.span in reported:
                continue
            found = _refused(job, step, command, sign)
            if found is not None:
                reported.add(command.span)
                yield found


def _severity(ranks: list[LoneRank]) -> str:
    if all(each.sign.kind == "jax" or each.sign.variable == "RANK" for each in ranks):
        return "info"
    told = any(each.sign.kind == "lightning" and each.sign.devices is not None for each in ranks)
    return "error" if told else "warning"


def _message(job: Job, lone: LoneRank) -> str:
    """The message on one task per node, with its consequence."""
    reason, nodes = lone.step.geometry.reason, lone.step.nodes
    starts = "srun" if reason is None else f"`{reason[1]}`"
    one = f"one {lone.invocation.name or 'program'} (line {job.line(lone.invocation.span.start)})"
    alone = lone.step.tasks == 1 and not lone.step.request.has_option("ntasks-per-node")
    alone = alone and "ntasks-per-node" not in lone.step.options
    part = "half" if lone.expected == 2 else f"1/{lone.expected}"
    idle = "the other GPU stays idle" if lone.gpus == 2 else "the other GPUs stay idle"
    if lone.sign.variable == "RANK":
        idle = idle.replace("stays", "stay").replace("stay", "may stay")
    consequence = {
        "lightning": f"it trains on {part} of the data, and exits with 0" if alone else "Lightning refuses to start",
        "jax": "JAX uses one GPU per task",
    }.get(lone.sign.kind, idle)
    write = f"--ntasks-per-node={lone.expected}"
    totals = [each.span for each in (lone.step.option("ntasks"), job.request.setting("ntasks")) if each is not None]
    if lone.place in totals and nodes is not None and lone.sign.kind != "lightning":
        write = f"--ntasks={lone.expected * nodes}"
    where = "" if nodes == 1 else " on each node"
    also = f", and set {lone.sign.variable} in the tasks" if lone.sign.early else ""
    return f"{starts} starts {one} for {lone.gpus} GPUs{where}: {consequence}; write `{write}`{also}"


def _refused(job: Job, step: Step, program: Invocation, sign: RankSign) -> Finding | None:
    """The finding on tasks that Lightning refuses: without SLURM_NTASKS_PER_NODE, or where it differs from devices."""
    geometry, request = step.geometry, job.request
    if geometry.reason is None or is_set(program, "SLURM_NTASKS_PER_NODE"):
        return None
    if not request.directives.certain or request.heterogeneous:
        return None
    (span, option), line, related = geometry.reason, job.line(program.span.start), [(sign.span, sign.words)]
    if request.has_option("ntasks-per-node") or "ntasks-per-node" in step.options:
        per_node = geometry.tasks_per_node
        if per_node is None or per_node < 2 or sign.devices in (None, per_node):
            return None
        message = (
            f"`{option}` starts {per_node} tasks on each node, but the program (line {line}) expects {sign.devices} "
            f"devices: Lightning refuses to start; write `--ntasks-per-node={sign.devices}`"
        )
        return Finding(span, message, related=related)
    tasks, nodes = geometry.tasks, geometry.nodes
    if tasks is None or tasks < 2 or not option.lstrip("-").startswith("n"):
        return None
    expected = sign.devices
    if nodes and (expected is None or expected * nodes != tasks):
        expected = tasks // nodes if tasks % nodes == 0 else None
    gpus = step_gpus(job, step).on_node
    if expected is not None and gpus and expected > gpus and not step.request.may_have_all_gpus:
        expected = gpus  # more ranks would find no GPU
    option_of_step, setting = task_option_at(step, span), request.setting("ntasks")
    if option_of_step is not None:
        literal = literal_span(option_of_step.value)
    else:
        literal = None if setting is None else setting.value_span
    fix = None
    if expected is not None and literal_number(job, literal) is not None and job.source.slice(span)[:1] == "-":
        fix = Fix(f"request {expected} tasks per node", [replace(span, f"--ntasks-per-node={expected}")])
    number = "" if expected is None else f"={expected}"
    message = f"without `--ntasks-per-node`, `{option}` makes Lightning (line {line}) refuse to start"
    return Finding(span, f"{message}; write `--ntasks-per-node{number}`", related=related, fix=fix)


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        #SBATCH «--ntasks-per-node=1»
        #SBATCH --gpus-per-node=4 --cpus-per-task=32
        srun python train.py --trainer.devices=4 --trainer.num_nodes=2
        """,
        unsafe_fixed={"--ntasks-per-node=1": "--ntasks-per-node=4", "--cpus-per-task=32": "--cpus-per-task=8"},
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        #SBATCH --gres=gpu:a100:8
        «srun» python tools/train.py configs/net.py --launcher slurm
        """,
        unsafe_fixed={"#SBATCH --gres=gpu:a100:8": "#SBATCH --gres=gpu:a100:8\n#SBATCH --ntasks-per-node=8"},
        severity="warning",
        title="no number of tasks at all",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=4 «--ntasks-per-node=1» --gpus-per-node=8
        srun ./prepare
        srun bash -c 'RANK=$SLURM_PROCID LOCAL_RANK=$SLURM_LOCALID python pretrain_gpt.py --bf16'
        """,
        severity="warning",
        title="another step runs once a node: no fix",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1 «--ntasks=4» --gpus-per-node=4
        srun python train.py --trainer.devices=4
        """,
        unsafe_fixed={"--ntasks=4": "--ntasks-per-node=4"},
        title="Lightning wants the tasks of a node",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=2 --ntasks-per-node=4 --gpus-per-node=4
        srun python train.py --trainer.devices=4 --trainer.num_nodes=2
        """
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=1 --ntasks-per-node=1 --gpus-per-node=4
        srun python -m vllm.entrypoints.openai.api_server --model m --tensor-parallel-size 4
        srun python finetune.py --config c.yaml
        """,
        title="one process for all GPUs, or an unknown number",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=2 --ntasks-per-node=1 --gpus-per-node=4
        srun torchrun --nnodes=2 --nproc_per_node=4 --rdzv_backend=c10d --rdzv_endpoint=n1:29500 pretrain_gpt.py
        """,
        title="torchrun starts the ranks",
    ),
]
