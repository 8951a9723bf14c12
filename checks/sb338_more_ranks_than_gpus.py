"""Tasks find no GPU: a node runs more tasks than it has GPUs, and each takes the GPU of its own number.

A program that is one rank of many uses the GPU with the number of its SLURM_LOCALID (JAX), of its LOCAL_RANK, or the
one that `CUDA_VISIBLE_DEVICES=$SLURM_LOCALID` shows it. With 8 tasks on 4 GPUs the ranks 4 to 7 ask for devices that do
not exist: `invalid device ordinal`, "no supported devices found", or they compute on the CPU; the others wait for them.

A warning where only a LOCAL_RANK says so, which a program may divide by the number of GPUs.

## Fix

None: fewer tasks, with more CPUs for each, or more GPUs. Several tasks on one GPU need the remainder,
`$((SLURM_LOCALID % 4))`.

## References

jax/_src/clusters/slurm_cluster.py, `get_local_process_id()`; https://github.com/jax-ml/jax/issues/29669
"""

from collections.abc import Iterator

from sbatchlint.analysis.gpus.gpu_signs import PROCESSORS, gpu_signs
from sbatchlint.analysis.launch.lone_ranks import sign_of_rank
from sbatchlint.bash.trace import Invocation, exported
from sbatchlint.bash.values import Phase, Pieces
from sbatchlint.check import Bad, Card, Finding, Good, Job
from sbatchlint.job.environment import LOCAL_RANKS
from sbatchlint.job.gpus import DEVICE_VARIABLES, step_gpus
from sbatchlint.job.steps import Step
from sbatchlint.source.numbers import counted
from sbatchlint.triggers import Steps

CARD = Card(
    "SB338", "more-ranks-than-gpus", severity="error", fix="never", since="0.1.0", sized=True, when=Steps(),
    seen="jax-ml/jax#29669", certain=True, homogeneous=True,
)  # fmt: skip

# The kinds of programs whose ranks each take the GPU with their own number.
_KINDS = {"jax": "error", "lightning": "error", "rank-variables": "warning", "slurm-launcher": "warning"}


def check_step(job: Job, step: Step) -> Iterator[Finding]:
    tasks = step.geometry.tasks_per_node
    if tasks is None or tasks < 2 or not step.certain or step.request.may_have_all_gpus:
        return
    sharing = step_gpus(job, step)
    gpus = sharing.on_node
    if not gpus or tasks <= gpus or sharing.meant is not None:
        return
    for command in step.program:
        found = _takes_own(job, command, step)
        if found is None or any(sign.strength == PROCESSORS for sign in gpu_signs(command.argv)):
            continue
        why, severity = found
        reason = step.geometry.reason
        place = step.place if reason is None else reason[0]
        setting = next((each for each in job.request.gpu_settings() if not each.name.startswith("tres")), None)
        related = [(command.name_span, why)]
        if setting is not None:
            related.append((setting.span, f"{counted(gpus, 'GPU')} on each node"))
        lost = f"tasks {gpus} to {tasks - 1} find" if tasks - gpus > 1 else f"task {gpus} finds"
        yield Finding(
            place,
            f"each of {tasks} tasks on a node uses the GPU with its own number (line {job.line(command.span.start)}), "
            f"but there {'are' if gpus > 1 else 'is'} {gpus}: {lost} no GPU; start {gpus}, or request more",
            severity,
            related=related,
        )
        return


def _takes_own(job: Job, command: Invocation, step: Step) -> tuple[str, str] | None:
    """Why a program in the tasks takes the GPU of its own number, and the severity; None where nothing says so."""
    if command.context.restricted or command.alternatives > 1:
        return None
    for name in DEVICE_VARIABLES:
        value = exported(command, name)
        if value is not None:
            return ("sees the GPU of its number", "error") if _is_local(value) else None
    sign = sign_of_rank(job, command, step)
    if sign is None or sign.kind not in _KINDS:
        return None
    if sign.kind == "lightning":
        given = job.request.has_option("ntasks-per-node") or "ntasks-per-node" in step.options
        if not given or sign.devices not in (None, step.geometry.tasks_per_node):
            return None  # Lightning refuses to start (SB311)
    return sign.words, _KINDS[sign.kind]


def _is_local(value: Pieces) -> bool:
    """Whether a value is just the number of a task on its node, as the task itself expands it."""
    only = value[0].expansion if len(value) == 1 and value[0].text is None else None
    return only is not None and only.name in LOCAL_RANKS and only.phase is Phase.TASK and not only.inputs


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        #SBATCH «--ntasks-per-node=8»
        #SBATCH --gpus-per-node=4
        srun python train_jax.py --multihost
        """,
        files={"train_jax.py": "import jax\njax.distributed.initialize()\nprint(jax.local_devices())\n"},
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        #SBATCH --gpus-per-node=4
        srun «--ntasks=8» bash -c 'CUDA_VISIBLE_DEVICES=$SLURM_LOCALID ./solver'
        """,
        title="shown by the script",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        #SBATCH --gpus-per-node=4
        srun --ntasks=8 bash -c 'CUDA_VISIBLE_DEVICES=$((SLURM_LOCALID % 4)) ./solver'
        """,
        title="two tasks on each GPU",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        #SBATCH --ntasks=48
        #SBATCH --gres=gpu:4
        srun python train.py
        """,
        files={"train.py": "import lightning as L\ntrainer = L.Trainer(devices=4, num_nodes=1)\ntrainer.fit(model)\n"},
        title="Lightning refuses to start",
    ),
    Good("#!/bin/bash\n#SBATCH -N1 --ntasks-per-node=8 --gpus-per-node=4\nsrun ./solver\n", title="MPI programs share"),
]
