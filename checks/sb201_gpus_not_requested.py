"""The job finds no GPU: it works on GPUs, but requests none.

Without `--gpus-per-node`, `--gpus`, `--gres=gpu:N` or a similar option most clusters give a job no GPU, even in a
partition that has them: CUDA_VISIBLE_DEVICES is unset, `torch.cuda.is_available()` is False, and the job fails or
trains on the CPUs. Some sites refuse such a job at submission.

Reported where a command or variable of the script clearly uses GPUs and no option says anything of them (0 is an
answer). A warning where a launcher, a program or an option works on GPUs, or two signs agree; `--nv`, a module or the
name of a partition alone may be a habit, and is advice. With `--exclusive` the batch shell has all GPUs of its node, so
nothing is reported there (exclusive-without-gpus reports steps, which get none); `--exclusive=user` brings no GPUs.
Sites that allocate whole nodes need no such option (and some refuse it): a job with all memory of its nodes (`--mem=0`)
gets only advice. In the settings `gpus = "gres"` or `"whole-node"` says which kind of site it is, and `gpu-partitions`
names partitions whose jobs get GPUs without a request. Scripts for a centre without a GRES for GPUs, such as TACC, are
not reported. Advice, too, where the job names its node, where no directive says how large the job is or in which
partition it runs, so that the command line of sbatch does, where the script reads the index of an array that only this
can request (and no fix is offered), where a request for GPUs is commented out (unless the script
still chooses several of them by CUDA_VISIBLE_DEVICES), and where only what docker starts beside
all steps uses them: its daemon is outside the job, and gives it those of the node. An `salloc` with a command is looked
at in the same way.

With a profile of the cluster (docs/site.md): a partition whose nodes have no GPUs is named, and those that have; where
a partition gives whole nodes, the batch shell has all their GPUs.

## Fix

Inserts `#SBATCH --gpus-per-node=N` where the launcher says how many workers it starts, or the settings say how many
GPUs a node has. Unsafe: the workers may share GPUs, and some sites refuse any GPU option.

## References

sbatch(1), --gpus-per-node; runs on Slurm 22.05 to 26.05: CUDA_VISIBLE_DEVICES is unset where no GPU was requested.
"""

from collections.abc import Iterator, Sequence

from sbatchlint.analysis.directives.near_misses import is_turned_off
from sbatchlint.analysis.expansion.array_elements import rests_on_array
from sbatchlint.analysis.gpus.gpu_signs import COMMUNICATION, COMPILES, Sign
from sbatchlint.analysis.gpus.gpu_use import (
    GpuNeed,
    allocation_needs,
    component_needs,
    gpu_need,
    is_told_gpus,
    unseen_gpus,
)
from sbatchlint.analysis.script.centres import gets_whole_nodes
from sbatchlint.analysis.script.submit_lines import is_sized_elsewhere
from sbatchlint.analysis.site.defaults import in_whole_nodes, partitions_with_gpus
from sbatchlint.check import Bad, Card, Finding, Fix, Good, Job, Span
from sbatchlint.job.containers import Container
from sbatchlint.job.request import GPU_OPTIONS
from sbatchlint.slurm.rewriting import insertion
from sbatchlint.source.regex import Regex
from sbatchlint.triggers import Commands, NoGpus

CARD = Card(
    "SB201", "gpus-not-requested", severity="warning", fix="sometimes", since="0.1.0",
    when=NoGpus() | Commands("salloc"), absent=True,
)  # fmt: skip

# A partition that says how many GPUs come with it.
_COUNTING = Regex(r"(?i)(?<![a-z0-9])[1-9]\d?[-_x]{0,2}gpus?(?![a-z])")
# The words of a sign that is a module or a variable.
_PREPARED = Regex(r"(?:the module (\S+)|(\w+)) is for (NVIDIA|AMD) GPUs")


def check(job: Job) -> Iterator[Finding]:
    for allocation in allocation_needs(job):
        line, words = job.line(allocation.sign.span.start), allocation.sign.words
        yield Finding(
            allocation.command.name_span,
            f"the allocation requests no GPU, but line {line} uses one ({words}); write --gpus-per-node=N",
            related=[(allocation.sign.span, words)],
        )
    need = gpu_need(job)
    needs = component_needs(job) if need is None else [need]
    if need is not None and unseen_gpus(job) is not None:
        return  # exclusive-without-gpus reports a step of an exclusive job
    with_gpus = partitions_with_gpus(job) if need is not None else None
    if need is not None and with_gpus is not None:
        yield _in_partition_without(job, need, with_gpus)
        return
    if need is not None and (job.request.exclusive == "" or job.site.gpus == "gres" and in_whole_nodes(job)):
        return  # the batch shell has all GPUs of its nodes
    for need in needs:
        option = f"--gpus-per-node={need.per_node or 'N'}"
        sign = next((each for each in need.signs if _prepared(each) is None), need.signs[0])
        effect = f": at many sites the {'step' if job.request.heterogeneous else 'job'} sees none"
        effect = effect if need.whole_nodes else ""
        does = _prepared(sign) or f"{'may use' if need.alone else 'uses'} one ({sign.words})"
        is_wrapped = job.submission is not None and job.submission.wrapped
        write = f"add `{option}` to sbatch" if is_wrapped else f"add `#SBATCH {option}`"
        write = f"{'if needed, ' if need.alone else ''}{write}"
        whole = "component" if job.request.heterogeneous else "job"
        advice = need.whole_nodes or gets_whole_nodes(job) or not need.certain or need.alone and job.site.gpus is None
        # who names a node of a partition for GPUs knows how it hands them out
        advice = advice or job.site.gpus is None and job.request.has_option("nodelist")
        # a partition that counts GPUs gives them: `4gpu`
        advice = advice or job.site.gpus is None and _COUNTING.search(job.request.partition or "") is not None
        # a partition says what kind of node is meant
        advice = advice or is_sized_elsewhere(job) and not job.request.has_option("partition")
        # options that mean nothing without those of the command line
        chooses = any("VISIBLE_DEVICES" in each.words for each in need.signs)
        advice = advice or is_turned_off(job, *GPU_OPTIONS) and not chooses or job.request.has_option("gres-flags")
        by_command_line = rests_on_array(job) or is_told_gpus(job)  # which may request the GPUs as well
        advice = advice or by_command_line or all(_is_in_docker(job, each.span) for each in need.signs)
        edits = [insertion(job.directives, option, need.place.component)]
        yield Finding(
            need.place.span,
            f"the {whole} requests no GPU, but line {job.line(sign.span.start)} {does}{effect}; {write}",
            "info" if advice else "error" if job.site.gpus_required else "warning",
            related=[(each.span, each.words) for each in need.signs],
            fix=Fix("request GPUs", edits) if need.per_node and not by_command_line else None,
        )


def _prepared(sign: Sign) -> str | None:
    """What a line does that uses no GPU itself: it compiles, loads a module, sets a variable; else None."""
    if sign.words.endswith(COMPILES):
        return sign.words
    if sign.words.endswith(COMMUNICATION):
        return f"configures communication between GPUs ({sign.words.removesuffix(COMMUNICATION)})"
    prepared = _PREPARED.fullmatch(sign.words)
    if prepared is None:
        return None
    module, variable, vendor = prepared.groups()
    return f"loads {module}, a module for {vendor} GPUs" if module else f"sets {variable}, which is for {vendor} GPUs"


def _in_partition_without(job: Job, need: GpuNeed, with_gpus: Sequence[str]) -> Finding:
    """The finding on a job whose partition has no GPUs; `with_gpus`: those that have some."""
    sign = need.signs[0]
    option = f", with --gpus-per-node={need.per_node or 'N'}" if job.site.gpus == "gres" else ""
    choose = f"; choose {' or '.join(f'`{each}`' for each in with_gpus[:2])}{option}" if with_gpus else ""
    advice = not need.certain or need.alone  # --nv may be a habit
    return Finding(
        need.place.span,
        f"partition `{job.request.partition}` has no GPUs, but line {job.line(sign.span.start)} uses one "
        f"({sign.words}){choose}",
        "info" if advice else "error" if job.site.gpus_required else "warning",
        related=[(each.span, each.words) for each in need.signs],
    )


def _is_in_docker(job: Job, span: Span) -> bool:
    """Whether a place belongs to what docker starts: its daemon, outside the job and its steps, has all GPUs."""
    for command in job.invocations:
        container = command.spawn.info
        if isinstance(container, Container) and container.kind == "docker" and command.span.contains(span):
            return True
    return False


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        #SBATCH «--ntasks-per-node=1»
        srun torchrun --nnodes=2 --nproc_per_node=8 --rdzv_backend=c10d --rdzv_endpoint=$HEAD:29500 train.py
        """,
        unsafe_fixed={"#SBATCH --ntasks-per-node=1": "#SBATCH --ntasks-per-node=1\n#SBATCH --gpus-per-node=8"},
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH «--partition=gpu»
        #SBATCH --mem=64G
        nvidia-smi
        python predict.py --gpus 1
        """,
        title="in a GPU partition, which is not enough",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH -J train
        #SBATCH «-t 60»
        CMD="accelerate launch --multi_gpu --num_processes 4"
        CMD="$CMD train.py"
        srun bash -c "$CMD"
        """,
        unsafe_fixed={"#SBATCH -t 60": "#SBATCH -t 60\n#SBATCH --gpus-per-node=4"},
        severity="info",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH -N 1
        #SBATCH «--cpus-per-task=8»
        ARGS=(exec --nv image.sif)
        apptainer "${ARGS[@]}" python train.py
        """,
        severity="info",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH -N 1
        #SBATCH «--cpus-per-task=8»
        module load CUDA/12.1
        singularity exec --nv tools.sif python parse_tables.py
        """,
        severity="info",
        title="a module and --nv are both often written out of habit",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH «--nodes=1»
        run() { srun bash <<'EOF'
        deepspeed --num_gpus 4 train.py
        EOF
        }
        run
        """,
        unsafe_fixed={"#SBATCH --nodes=1": "#SBATCH --nodes=1\n#SBATCH --gpus-per-node=4"},
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        #SBATCH «--exclusive=user»
        torchrun --nproc_per_node=8 train.py
        """,
        unsafe_fixed={"#SBATCH --exclusive=user": "#SBATCH --exclusive=user\n#SBATCH --gpus-per-node=8"},
        title="a node shared with the user's own jobs, without its GPUs",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        #SBATCH --exclusive
        torchrun --nproc_per_node=8 train.py
        """,
        title="a whole node, whose batch shell has all GPUs",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH -N1
        module load cuda
        nvidia-smi
        ./cpu_tests
        """,
        title="looking is not using",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --gres=gpu:a100:4
        srun torchrun --nproc_per_node=4 train.py
        """
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH -N1 -G 4
        srun torchrun --nproc_per_node=4 train.py
        """
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH -N1
        srun --gpus=4 torchrun --nproc_per_node=4 train.py
        """,
        title="asked for by the step",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH -N2 --ntasks-per-node=4
        srun python train.py --backend gloo --device cpu
        accelerate launch --cpu train.py
        """,
        title="on the processors",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --partition=gh --nodes=2
        srun torchrun --nproc_per_node=1 train.py
        """,
        settings={"site": {"gpu-partitions": ["gh"]}},
        title="a partition that gives GPUs to all",
    ),
]
