"""The program stops, or loses time: CUDA_DEVICE_MAX_CONNECTIONS does not suit its parallelism.

The variable sets from how many queues a GPU takes its work. With one queue, kernels run in the order in which they are
launched, and tensor and context parallelism of Megatron rely on that on GPUs before Blackwell: with TP or CP above 1
every rank stops with an assertion unless it is 1. For FSDP it is the opposite: its communication is to overlap with the
computation, and Megatron stops if it is 1. Overlapping the communication of the experts needs more than one queue, too.

Megatron Bridge, NeMo and ms-swift set it to 1 themselves; ms-swift 4.5 does not undo that for Megatron-FSDP.
Megatron-DeepSpeed, and Megatron-LM before 3.0 (2022), ignore it. Where the request names Blackwell GPUs, a missing 1 is
advice; in a container the image may set it.

## Fix

Writes the number that the program needs: 1 for TP and CP, 8 (CUDA's own default) for FSDP, 32 for experts. Unsafe,
because the environment from which the job is submitted may set it, and other programs of the script see it as well.

## References

`validate_args()` in megatron/training/arguments.py, core 0.4 to 0.20; Mixture of Experts README of Megatron core;
swift/megatron/arguments/megatron_args.py, ms-swift 4.6; https://github.com/pytorch/torchtitan/issues/1147
"""

from collections.abc import Iterator

from sbatchlint.analysis.editing.options import lines_above
from sbatchlint.analysis.expansion.sourced import may_set_variables
from sbatchlint.analysis.training.layouts import Layout, parallel_layouts
from sbatchlint.bash.trace import Invocation, VariableAssignment, exported, is_set
from sbatchlint.bash.values import text_of
from sbatchlint.check import Bad, Card, Finding, Fix, Good, Job, Launch, Span, replace
from sbatchlint.job.launches import container_of
from sbatchlint.source.numbers import parse_integer
from sbatchlint.source.regex import Regex
from sbatchlint.triggers import Launchers, Steps

CARD = Card(
    "SB327", "cuda-connections", severity="error", fix="sometimes", since="0.1.0",
    when=Launchers() | Steps(), seen="megatron/training/arguments.py of core 0.4 to 0.20; pytorch/torchtitan#1147",
)  # fmt: skip

NAME = "CUDA_DEVICE_MAX_CONNECTIONS"
FSDP = ("use_torch_fsdp2", "use_megatron_fsdp", "use_custom_fsdp")
OVERLAP = "overlap_moe_expert_parallel_comm"
# Names of GPUs in GRES types, constraints and partitions: compute capability below 10, and 10 or higher.
EARLIER = Regex(r"(?:^|[^a-z0-9])(?:[pv]100|t4|a[134]0|a[18]00|a[456]000|h[128]00|h20|gh200|l40s?|l4|rtx_?[aA]\d+)")
BLACKWELL = Regex(r"(?:^|[^a-z0-9])(?:gb[123]00|b[123]00|rtx_?pro\w*|[rR]?[tT]?[xX]?_?50[789]0)")
CAPABILITY = Regex(r"sm_?(\d+)\da?")
# Options of related programs that ignore the variable: DeepSpeed's, and Megatron's before 3.0 or with async off.
OTHERS = Regex(
    r"deepspeed\w*|checkpoint_activations|distribute_checkpointed_activations|activations_checkpoint_\w+"
    r"|no_async_tensor_model_parallel_allreduce|model_parallel_size|zero_stage|(?>\w*?npu)\w*"
)
LESS_SEVERE = {"error": "warning", "warning": "info", "info": "info"}
CONTINUED = Regex(r"(?:\\|\||&&|\()[ \t]*\n\Z")


def check(job: Job) -> Iterator[Finding]:
    for group in parallel_layouts(job):
        # the same words may be several commands: report only what is wrong with all of them
        (kind, finding), *others = [_layout_finding(job, layout) for layout in group]
        if finding is not None and all(other == kind for other, _ in others):
            yield finding
    yield from filter(None, (_torchtitan_finding(job, launch) for launch in job.launches))


def _layout_finding(job: Job, layout: Layout) -> tuple[str, Finding | None]:
    """The kind of fault of the variable for a Megatron-like program ('' for none), and the finding."""
    invocation = layout.invocation
    field = exported(invocation, NAME)
    value = None if field is None else text_of(field)
    if value is None and (field is not None or is_set(invocation, NAME)):
        return "", None
    if value is None and NAME in job.source.text:
        return "", None  # it may be passed on in a way that is not evaluated
    setting = None if field is None else _only_setting(job)
    place = layout.command if setting is None else setting.span
    fsdp = next((name for name in FSDP if layout.has(name)), None)
    tokens = {name: f"--{name.replace('_', '-')}" for name in (*FSDP, OVERLAP)}
    if fsdp is not None:
        related = [(layout.place_of(fsdp), tokens[fsdp])]
        if value == "1":
            message = f"with `{tokens[fsdp]}` the program stops with an error if `{NAME}` is 1; unset it, or write 8"
            return "fsdp", Finding(place, message, "error", related, _change_value(job, setting, 8))
        if value is None and layout.dialect == "swift" and not may_set_variables(job):
            message = f"ms-swift sets `{NAME}` to 1, with which `{tokens[fsdp]}` stops; write `export {NAME}=8`"
            return "fsdp", Finding(place, message, "error", related, _add_export(job, invocation, 8))
        return "", None
    if layout.has(OVERLAP):
        if value != "1" or layout.wrapped:
            return "", None
        message = f"`{NAME}` is 1, so the communication of `{tokens[OVERLAP]}` waits for the computation; write 32"
        related = [(layout.place_of(OVERLAP), tokens[OVERLAP])]
        return "overlap", Finding(place, message, "warning", related, _change_value(job, setting, 32))
    if layout.dialect != "megatron" or not layout.certain or layout.wrapped:
        return "", None
    if any(OTHERS.fullmatch(name) for name in layout.flags):
        return "", None
    for name, short in (("tensor", "TP"), ("context", "CP")):
        setting_of_size = layout.settings.get(name)
        if setting_of_size is not None and (setting_of_size.number or 0) > 1:
            if value == "1" or value is None and may_set_variables(job):
                return "", None
            size = f"{short} {setting_of_size.number}"
            blackwell = _is_blackwell(job)
            exception = "" if blackwell is False else " (except on Blackwell GPUs)"
            message = f"with {size} Megatron stops unless `{NAME}` is 1{exception}; write `export {NAME}=1`"
            severity = {None: "warning", True: "info", False: "error"}[blackwell]
            if container_of(invocation) is not None:
                severity = LESS_SEVERE[severity]
            fix = _add_export(job, invocation, 1) if value is None else _change_value(job, setting, 1)
            return "missing", Finding(place, message, severity, [(setting_of_size.span, size)], fix)
    if value == "1" and layout.sizes.tensor == layout.sizes.context == 1 and setting is not None:
        message = f"`{NAME}` is 1, which keeps communication from overlapping with computation; Megatron core "
        message += "0.12 needs it only with TP or CP; remove it"
        related = [(layout.command, "TP and CP are 1")]
        return "needless", Finding(place, message, "info", related, _change_value(job, setting, 8))
    return "", None


def _torchtitan_finding(job: Job, launch: Launch) -> Finding | None:
    """The finding on TorchTitan, whose FSDP2 cannot overlap communication with computation in one queue."""
    program, invocation = launch.launcher.program_name, launch.invocation
    if program is None or program != "torchtitan.train" and not program.endswith("torchtitan/train.py"):
        return None
    field = exported(invocation, NAME)
    if field is None or text_of(field) != "1":
        return None
    setting = _only_setting(job)
    return Finding(
        invocation.name_span if setting is None else setting.span,
        f"`{NAME}` is 1, so the communication of FSDP2 cannot overlap with the computation; unset it, or write 8",
        "warning",
        [(invocation.name_span, "FSDP2")],
        _change_value(job, setting, 8),
    )


def _is_blackwell(job: Job) -> bool | None:
    """Whether the settings or the request name GPUs from Blackwell on (True), or earlier ones (False)."""
    capability = CAPABILITY.fullmatch(job.site.gpu_arch or "")
    if capability is not None:
        return parse_integer(capability.group(1)) >= 10
    request = job.request
    names = [each.lower() for each in (request.gpus.kind, request.constraint, request.partition) if each]
    if any(BLACKWELL.search(name) for name in names):
        return True
    return False if any(EARLIER.search(name) for name in names) else None


def _only_setting(job: Job) -> VariableAssignment | None:
    """The only assignment of the variable in the script; None if there are several or none."""
    found = {each.span: each for each in job.assignments if each.name == NAME}
    return next(iter(found.values())) if len(found) == 1 else None


def _change_value(job: Job, setting: VariableAssignment | None, number: int) -> Fix | None:
    """The fix that writes another number in the only place that sets the variable."""
    if setting is None or job.source.slice(setting.span) != f"{NAME}=1":
        return None
    return Fix(f"set {NAME} to {number}", [replace(Span(setting.span.end - 1, setting.span.end), str(number))])


def _add_export(job: Job, invocation: Invocation, number: int) -> Fix | None:
    """The fix that adds an `export` on a line before the command of the batch script that runs the program."""
    outermost = [invocation, *invocation.ancestors()][-1]
    start, container = outermost.span.start, container_of(invocation)
    if job.is_embedded or job.in_quoted_text(start) or job.source.included_from(start) is not None:
        return None
    if outermost.context.calls or container is not None and not container.inherits:
        return None
    added = lines_above(job, start, [f"export {NAME}={number}"])
    if added is None or CONTINUED.search(job.source.text[: added.span.start]):
        return None
    return Fix(f"set {NAME} to {number}", [added])


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2 --ntasks-per-node=1 --gpus-per-node=h100:8
        srun «torchrun» --nnodes=2 --nproc_per_node=8 --rdzv_backend=c10d --rdzv_endpoint=n1:1 pretrain_gpt.py \\
            --tensor-model-parallel-size 4 --sequence-parallel --micro-batch-size 1 --num-layers 32
        """,
        unsafe_fixed="""\
        #!/bin/bash
        #SBATCH --nodes=2 --ntasks-per-node=1 --gpus-per-node=h100:8
        export CUDA_DEVICE_MAX_CONNECTIONS=1
        srun torchrun --nnodes=2 --nproc_per_node=8 --rdzv_backend=c10d --rdzv_endpoint=n1:1 pretrain_gpt.py \\
            --tensor-model-parallel-size 4 --sequence-parallel --micro-batch-size 1 --num-layers 32
        """,
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1 --gpus-per-node=8
        export «CUDA_DEVICE_MAX_CONNECTIONS=1»
        torchrun --standalone --nproc_per_node=8 pretrain_gpt.py --use-megatron-fsdp --num-layers 32 --hidden-size 64 \\
            --micro-batch-size 1
        """,
        unsafe_fixed={"CUDA_DEVICE_MAX_CONNECTIONS=1": "CUDA_DEVICE_MAX_CONNECTIONS=8"},
        title="FSDP wants more than one",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1 --gpus-per-node=8
        export «CUDA_DEVICE_MAX_CONNECTIONS=1»
        torchrun --standalone --nproc_per_node=8 pretrain_gpt.py --overlap-moe-expert-parallel-comm --num-experts 64 \\
            --expert-model-parallel-size 8 --micro-batch-size 1
        """,
        unsafe_fixed={"CUDA_DEVICE_MAX_CONNECTIONS=1": "CUDA_DEVICE_MAX_CONNECTIONS=32"},
        severity="warning",
        title="the experts' communication is to overlap",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1 --gpus-per-node=8 --constraint=b200
        cd $WORK && «torchrun» --standalone --nproc_per_node=8 pretrain_gpt.py --context-parallel-size 8 --num-layers 8
        """,
        severity="info",
        title="on Blackwell it is advice; no fix in the middle of a line",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=2 --ntasks-per-node=8 --gpus-per-node=h100:8
        srun python scripts/training/run_recipe.py --recipe llama3_8b_pretrain_config model.tensor_model_parallel_size=4
        """,
        title="Megatron Bridge sets it itself",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=1 --gpus-per-node=h100:8
        srun --export=ALL,CUDA_DEVICE_MAX_CONNECTIONS=1 torchrun --standalone --nproc_per_node=8 pretrain_gpt.py \\
            --tensor-model-parallel-size 8 --micro-batch-size 1
        """,
        title="set for the step alone",
    ),
]
