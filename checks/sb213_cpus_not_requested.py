"""The processes for several GPUs share one CPU: the job requests no CPUs.

`--gres=gpu:4` requests GPUs and nothing else: without a number of tasks, `--cpus-per-task` or `--cpus-per-gpu` the job
has one task of one CPU on each node, and the memory that goes with it. Four training processes and all their data
loaders share that core, and the GPUs wait; so does a program in Python that uses several GPUs itself. Sites may give
CPUs with each GPU (DefCpuPerGPU), or whole nodes, as they often do for jobs of several nodes or of eight GPUs on a
node: for these it is advice, and so where a centre, the partition (`full_node`, or any name with GPUs) or a comment at
the request (`16 cores per GPU`) says so. A profile of the cluster (docs/site.md) decides it: a warning, or nothing.

## Fix

None: how many cores the node has for each GPU is not known here.

## References

sbatch(1), --cpus-per-gpu and --cpus-per-task; slurm.conf(5), DefCpuPerGPU; a live run of 22.05
"""

from collections.abc import Iterator, Sequence

from sbatchlint.analysis.gpus.gpu_use import is_gpu_partition
from sbatchlint.analysis.gpus.told_gpus import told_gpus
from sbatchlint.analysis.script.centres import gets_cpus_with_gpus, gets_gpus_of_nodes
from sbatchlint.analysis.script.work import Weight, weight
from sbatchlint.analysis.site.defaults import gets_more_cpus
from sbatchlint.bash.trace import Invocation
from sbatchlint.check import Bad, Card, Finding, Good, Job
from sbatchlint.job.argv import basename
from sbatchlint.job.launchers import is_python
from sbatchlint.job.request import Request
from sbatchlint.job.steps import Step
from sbatchlint.job.worlds import World, find_worlds
from sbatchlint.source.regex import Regex
from sbatchlint.triggers import Options

CARD = Card(
    "SB213", "cpus-not-requested", severity="warning", fix="never", since="0.1.0", sized=True,
    when=Options("gres", "gpus", "gpus-per-node"), batch=True, certain=True, absent=True,
)  # fmt: skip

# Options that set the number of CPUs, or from which it follows: `mem-per-cpu` at sites with a MaxMemPerCPU.
GRANTING = (
    "cpus-per-task", "cpus-per-gpu", "exclusive", "mincpus", "cores-per-socket", "sockets-per-node", "extra-node-info",
    "threads-per-core", "ntasks-per-gpu", "ntasks-per-tres", "ntasks-per-socket",
    "ntasks-per-core", "gpus-per-task", "tres-per-task", "core-spec", "thread-spec", "mem-per-cpu",
)  # fmt: skip

# Options that count the processes that load data.
_WORKERS = Regex(r"--?(?:[a-z]+[-_.])*(?:n|num)?[-_]?workers(?:=0)?")


def check(job: Job) -> Iterator[Finding]:
    more = gets_more_cpus(job)
    if more:
        return  # CPUs come with each GPU
    worlds = find_worlds(job)
    if not job.request.heterogeneous:
        told = [each.least for each in map(told_gpus, job.invocations) if each is not None]
        alone = any(map(_loads_by_itself, job.invocations))
        if alone:
            told = []
        found = list(_one_cpu(job.request, job.steps, worlds, more, max(told, default=1)))
        given = more is None and (gets_cpus_with_gpus(job) or is_gpu_partition(job.request))
        for finding in found or _one_program(job, more):
            yield finding._replace(severity="info") if given or alone and not found else finding
        return
    by_component: dict[int, list[Step]] = {}
    for step in job.steps:
        if step.has_known_component and step.certain:
            by_component.setdefault(step.request.component, []).append(step)
    for steps in by_component.values():
        yield from _one_cpu(steps[0].request, steps, [world for world in worlds if world.step in steps], more)


def _one_cpu(
    request: Request, steps: list[Step], worlds: Sequence[World], more: bool | None, told: int = 1
) -> Iterator[Finding]:
    """The finding on processes for several GPUs that share a CPU.

    `more`: whether the site gives more, as far as that is known. `told`: for how many GPUs a program is started.
    """
    gpus = request.gpus_per_node()
    if gpus is None or gpus < 2 or _may_grant(request):
        return
    if any("cpus-per-task" in step.options for step in steps):
        return  # the script expects whole nodes
    processes = [world.processes for world in worlds if world.starts_per_node == 1]
    most = max((each for each in processes if each is not None), default=1)
    nodes = request.effective_nodes()
    several = nodes is not None and nodes.maximum > 1
    share = f"{most} processes {'on each node ' if several else ''}share one CPU"
    if most < 2 <= told <= gpus:
        most, share = told, "one CPU feeds them all"  # a process for each GPU, or one that has several
    settings = request.gpu_settings()
    if most < 2 or not settings:
        return
    # A job with several nodes, or as many GPUs as most nodes have, often gets whole nodes with all their CPUs.
    whole = gpus >= 8 or several
    requested, add = f"{gpus} GPUs", "--cpus-per-task or --cpus-per-gpu"
    if several:
        requested, add = f"{gpus} GPUs per node", "--cpus-per-gpu"
    asks = "component requests" if request.heterogeneous else "job requests"
    yield Finding(
        settings[0].span,
        f"the {asks} {requested} but no CPUs: {share}{_unless(more)}; add {add}",
        "info" if whole and more is None else None,
    )


def _unless(more: bool | None) -> str:
    return ", unless the site gives more" if more is None else ""


def _loads_by_itself(command: Invocation) -> bool:
    """Whether a program is told to start no processes that load its data, so that more CPUs would do nothing."""
    words = command.words
    return any(
        _WORKERS.fullmatch(word) is not None and (word[-2:] == "=0" or following == "0")
        for word, following in zip(words, (*words[1:], ""))
    )


def _may_grant(request: Request) -> bool:
    """Whether CPUs are requested, or may follow from what is: all memory of a node is for a job that has it alone, and
    each of several tasks on a node has a CPU."""
    if request.has_any_option(("ntasks", "ntasks-per-node")):
        if request.tasks_on_each_node() != 1 and request.effective_tasks() != 1:
            return True
    return request.has_any_option(GRANTING) or request.memory is not None and not request.memory.megabytes


def _one_program(job: Job, more: bool | None) -> Iterator[Finding]:
    """The finding on a program in Python that has several GPUs and one CPU: nothing says how many of them it uses."""
    request = job.request
    gpus, settings, nodes = request.gpus_per_node(), request.gpu_settings(), request.effective_nodes()
    if gpus is None or gpus < 2 or gpus >= 8 or not settings or _may_grant(request):
        return
    if job.launches or nodes is not None and nodes.maximum > 1 or gets_gpus_of_nodes(job):
        return
    if any({"cpus-per-task", "ntasks", "ntasks-per-node", "gpus", "gres"} & step.options.keys() for step in job.steps):
        return
    programs = [each for each in job.invocations if not each.children and weight(job, each) >= Weight.PROGRAM]
    pythons = [each for each in programs if each.argv and is_python(each.argv[0]) and not each.context.captured]
    if not pythons or any(each.context.background is not None for each in pythons):
        return
    told = [told_gpus(each) for each in pythons]
    if any(each is not None and each.most < 2 for each in told):
        return
    name = basename(pythons[0].argv[0]) or "python"
    yield Finding(
        settings[0].span,
        f"the job requests {gpus} GPUs but no CPUs: `{name}` gets one CPU{_unless(more)}; add "
        "--cpus-per-task or --cpus-per-gpu",
        related=[(pythons[0].name_span, "gets one CPU")],
    )


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH «--gres=gpu:4»
        #SBATCH --time=24:00:00
        torchrun --standalone --nproc_per_node=4 train.py
        """
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1 --ntasks=1
        #SBATCH «--gpus=8»
        srun accelerate launch --num_processes 8 train.py
        """,
        severity="info",
        title="one task with all GPUs of a node",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        #SBATCH «--gpus-per-node=4»
        srun torchrun --nnodes=2 --nproc-per-node=4 --rdzv-backend=c10d --rdzv-endpoint=$HOST:29500 train.py
        """,
        severity="info",
        title="several nodes",
    ),
    Bad(
        "#!/bin/bash\n#SBATCH «--gpus-per-node=2»\npython finetune.py --n_gpus 2 --batch_size 128\n",
        title="a program that gets the number of its GPUs",
    ),
    Bad(
        "#!/bin/bash\n#SBATCH «--gres=gpu:2» --ntasks=1 --mem=32G\npython train.py\n",
        title="a program in Python",
    ),
    Good(
        "#!/bin/bash\n#SBATCH --gres=gpu:4 --cpus-per-task=32\ntorchrun --standalone --nproc_per_node=4 train.py\n",
    ),
    Good(
        "#!/bin/bash\n#SBATCH --gres=gpu:4 --exclusive\ntorchrun --standalone --nproc_per_node=4 train.py\n",
        title="the whole node",
    ),
    Good(
        "#!/bin/bash\n#SBATCH --gpus-per-node=4 --ntasks-per-node=4\nsrun python train.py\n",
        title="a CPU for each GPU",
    ),
    Good("#!/bin/bash\n#SBATCH --gres=gpu:4\n./benchmark --devices 4\n", title="one process, whose needs are unknown"),
]
