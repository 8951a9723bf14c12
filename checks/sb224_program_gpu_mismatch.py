"""GPUs stay idle, or the program fails: it is told to use a different number of GPUs from what the job has.

`--gres=gpu:4` and `python train.py --gpus 1`: three GPUs are idle for the whole job, are charged, and made it wait.
Often the program's number is a default, or was lowered for a test. With `--num_gpus 8` or `--device cuda:4` the program
looks for GPUs that are not there: `CUDA error: invalid device ordinal`.

Reported where one program after the other runs, each is told the number of its GPUs, and no launcher starts several
(these are for [SB310](nproc-gpu-mismatch.md)). Programs are told by options such as `--num_gpus`, `n_gpus=`,
`trainer.devices=`, `--gpu_ids`, `--device cuda:0`, or by CUDA_VISIBLE_DEVICES before the command. Where `--gpus 2` may
count GPUs or name one, only what holds in both readings is reported.

A warning, as the job does its work; advice where another program of the job may use the other GPUs, and where jobs get
whole nodes.

## Fix

None: the request or the program's number is wrong. `$SLURM_GPUS_ON_NODE` keeps the two equal.

## References

sbatch(1), --gpus; lightning/pytorch/trainer (`devices`); torch/cuda, `set_device`
"""

from collections.abc import Iterator

from sbatchlint.analysis.gpus.told_gpus import ToldGpus, is_told, told_gpus
from sbatchlint.analysis.script.centres import gets_whole_nodes
from sbatchlint.analysis.script.submit_lines import is_run_by_hand, is_submitted_with_gpus
from sbatchlint.analysis.script.threads import threaded_programs
from sbatchlint.analysis.script.work import Weight, weight
from sbatchlint.bash.trace import Invocation
from sbatchlint.bash.values import Phase
from sbatchlint.check import Bad, Card, Finding, Good, Job
from sbatchlint.job.gpus import devices_chosen, step_gpus
from sbatchlint.job.launchers import is_python
from sbatchlint.job.python.program import python_program
from sbatchlint.job.steps import enclosing_step
from sbatchlint.programs import has_trait
from sbatchlint.source.regex import Regex
from sbatchlint.triggers import Options

CARD = Card(
    "SB224", "program-gpu-mismatch", severity="warning", fix="never", since="0.1.0",
    when=Options("gres", "gpus", "gpus-per-node", "gpus-per-task"), batch=True, certain=True, homogeneous=True,
    whole_script=True, seen="a review of public scripts",
    unseen="Nothing: the other GPUs stay idle.",
)  # fmt: skip

# Programs that start others with GPUs, or that share the GPUs out among them.
_STARTING = Regex(
    r"(?i)submitit|\bray\b|\btune\b|\bray[-_]|dask|slurm|wandb|sweep|launch|optuna|multirun|hydra/|agent"
)

# A folder of a Mac's user.
_OF_MAC = Regex(r"(?<![\w/])/Users/[A-Za-z]")

# The variable that is the value of an option: ` $GPUS`.
_VARIABLE = Regex(r"[ =]\$\{?\w{1,20}\}?(?!\S)")


def check(job: Job) -> Iterator[Finding]:
    if job.request.asks_for_gpus is not True or is_submitted_with_gpus(job) or job.request.may_have_all_gpus:
        return
    if any(each.launcher.is_a("per-gpu", "by-variables") for each in job.launches):
        return
    told: list[tuple[Invocation, ToldGpus, int]] = []
    others = False
    for command in job.invocations:
        if command.children or command.calls_function or weight(job, command) < Weight.PROGRAM:
            continue
        if command.phase is Phase.SUBMIT or command.context.captured:
            continue
        if has_trait(command.name, "spreads", "mpi", "repeats", "remote"):
            return
        found, gpus = told_gpus(command), _gpus(job, command)
        if found is None or gpus is None or _STARTING.search(" ".join(command.words)):
            if is_told(command) or gpus is None:
                return  # not known how many
            others |= _may_use_gpus(job, command)
            continue
        told.append((command, found, gpus))
    beyond = next((each for each in told if _is_beyond(each[1], each[2])), None)
    if beyond is not None:
        yield _too_many(job, *beyond[1:])
    elif told and all(found.most < gpus for _, found, gpus in told) and not _at_once(job):
        command, found, gpus = max(told, key=lambda each: each[1].most)
        is_default = command.alternatives > 1  # or the script gives several numbers
        yield _too_few(job, found, gpus, others or is_default)


def _runs_elsewhere(job: Job) -> bool:
    """Whether the script is run by hand, or on a Mac, where the directives say nothing."""
    return is_run_by_hand(job) or any(_OF_MAC.search(word) for each in job.invocations for word in each.words)


def _gpus(job: Job, command: Invocation) -> int | None:
    """The GPUs that a command sees; None where that is not known."""
    step = enclosing_step(command.context)
    if step is not None:
        if step.tasks_per_node != 1 or devices_chosen(command, step):
            return None
        return step_gpus(job, step).per_task
    of_variable = any(name == "CUDA_VISIBLE_DEVICES" for name, _ in command.variables)
    if command.phase is not Phase.BATCH or not of_variable and devices_chosen(command, None):
        return None
    if job.request.exact_nodes() not in (None, 1):
        return None  # those of the other nodes are for nodes-not-used
    return job.request.gpus_per_node() or job.request.gpus.total


def _is_beyond(found: ToldGpus, gpus: int) -> bool:
    """Whether a program names a GPU that does not exist, or wants more than there are.

    A variable that names one is for cuda-visible-devices-set.
    """
    return "_DEVICES=" not in found.shown and (found.last >= gpus or found.least > gpus)


def _may_use_gpus(job: Job, command: Invocation) -> bool:
    """Whether a program that gets no number may use GPUs."""
    if command.name in threaded_programs():
        return False
    program = python_program(job, command) if is_python(command.argv[0]) else None
    return program is None or not program.complete or program.mentions("cuda", "gpu", "device", "accelerat")


def _at_once(job: Job) -> bool:
    """Whether something runs in the background, and so perhaps on the other GPUs."""
    return any(each.context.background is not None and weight(job, each) >= Weight.PROGRAM for each in job.invocations)


def _too_many(job: Job, found: ToldGpus, gpus: int) -> Finding:
    settings = job.request.gpu_settings()
    line = job.line(settings[0].span.start)
    nodes = job.request.nodes
    several = settings[0].name != "gpus" and nodes is not None and nodes.maximum > 1
    whole = "each node" if several else "the job"
    if found.last >= gpus:
        only = "GPU 0" if gpus == 1 else f"GPUs 0 to {gpus - 1}"
        message = f"{_written(job, found)} names GPU {found.last}, but {whole} has only {only} (line {line}): "
        message += "the program fails"
        advice = f"count from 0, or request {found.last + 1} GPUs"
    else:
        message = f"{_written(job, found)} wants {found.least} GPUs, but {whole} has {gpus} (line {line}): "
        message += "the program fails, or uses fewer"
        advice = "write `$SLURM_GPUS_ON_NODE`, or request more"
    return Finding(found.span, f"{message}; {advice}", related=[(settings[0].span, f"requests {gpus}")])


def _written(job: Job, found: ToldGpus) -> str:
    """What tells the number, as the script has it, and with the value of a variable."""
    value = _VARIABLE.match(job.source.text, found.span.end)
    shown = f"`{found.shown}`"
    return shown if value is None else f"`{job.source.slice(found.span)}{value[0]}`, here {shown},"


def _too_few(job: Job, found: ToldGpus, gpus: int, others: bool) -> Finding:
    settings = job.request.gpu_settings()
    rest, line = gpus - found.most, job.line(settings[0].span.start)
    idle = "one GPU stays idle" if rest == 1 else f"{rest} GPUs stay idle"
    # with fewer GPUs in the job, the number of one that is not there hides them all
    remove = " and remove this" if "_DEVICES=" in found.shown and found.last >= found.most else ""
    uses = "one" if found.most == 1 else f"{found.most}"
    return Finding(
        found.span,
        f"{_written(job, found)} uses {uses} of the job's {gpus} GPUs (line {line}), and {idle}; "
        f"request {found.most}{remove}, or let the program use all",
        "info" if others or gets_whole_nodes(job) or _runs_elsewhere(job) else None,  # fewer GPUs would cost as much
        related=[(settings[0].span, f"requests {gpus}")],
    )


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1 --gres=gpu:8
        GPUS=1
        python finetune.py --batch_size 4 «--gpus» $GPUS
        """,
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --gres=gpu:2 --cpus-per-task=8
        python run.py model=resnet «n_gpus=1» trainer.seed=3
        """,
        title="of Hydra",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1 --gpus-per-node=4
        python train.py «--device cuda:4»
        """,
        title="counted from 1",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1 --gpus-per-node=4
        CUDA_VISIBLE_DEVICES=«0,1» python train.py
        """,
        title="two of four",
    ),
    Good("#!/bin/bash\n#SBATCH --nodes=1 --gres=gpu:2\npython train.py --gpus 2\n"),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=1 --gres=gpu:2
        CUDA_VISIBLE_DEVICES=0 python train.py --fold 0 &
        CUDA_VISIBLE_DEVICES=1 python train.py --fold 1 &
        wait
        """,
        title="one for each of two programs",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=1 --gres=gpu:4
        python tune.py --num_gpus 1 --trials 8 --backend ray
        """,
        title="for each of its workers",
    ),
]
