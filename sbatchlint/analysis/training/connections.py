"""CUDA_DEVICE_MAX_CONNECTIONS: how many queues of work the GPU has, and what Megatron demands of it.

Megatron core (megatron/training/arguments.py; 0.4 to 0.20): with TP or CP above 1 it must be 1 on GPUs before
Blackwell, unless PyTorch's FSDP2 or Megatron-FSDP is used, or the experts' communication overlaps (warnings only);
with FSDP it must not be 1 (since 0.12). Until 0.11 what demands 1 is the asynchronous all-reduce, which is on by
default, or sequence parallelism. ms-swift and Megatron Bridge set it to 1 themselves; ms-swift 4.5 does not take that
back for Megatron-FSDP. Megatron-DeepSpeed and releases before 3.0 (2022) do not look at it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from sbatchlint.analysis.expansion.sourced import may_set_variables
from sbatchlint.bash.trace import exported, is_set
from sbatchlint.bash.values import text_of
from sbatchlint.job.launches import container_of
from sbatchlint.source.edits import Edit
from sbatchlint.source.regex import Regex
from sbatchlint.source.text import Span

if TYPE_CHECKING:
    from sbatchlint.analysis.training.layouts import Layout
    from sbatchlint.bash.trace import Assigned, Invocation
    from sbatchlint.job import Job

NAME = "CUDA_DEVICE_MAX_CONNECTIONS"
FSDP = ("use_torch_fsdp2", "use_megatron_fsdp", "use_custom_fsdp")
OVERLAP = "overlap_moe_expert_parallel_comm"
# GPUs by their names in GRES types, constraints and partitions: compute capability below 10, and from 10.
_EARLIER = Regex(r"(?:^|[^a-z0-9])(?:[pv]100|t4|a[134]0|a[18]00|a[456]000|h[128]00|h20|gh200|l40s?|l4|rtx_?[aA]\d+)")
_BLACKWELL = Regex(r"(?:^|[^a-z0-9])(?:gb[123]00|b[123]00|rtx_?pro\w*|[rR]?[tT]?[xX]?_?50[789]0)")
_CAPABILITY = Regex(r"sm_?(\d+)\da?")
# Options of other programs of that family: DeepSpeed's, and Megatron's before 3.0 or when it is told not to.
_OTHERS = Regex(
    r"deepspeed\w*|checkpoint_activations|distribute_checkpointed_activations|activations_checkpoint_\w+"
    r"|no_async_tensor_model_parallel_allreduce|model_parallel_size|zero_stage|\w*npu\w*"
)


class Connections(NamedTuple):
    """What is wrong with the number of connections for one program.

    `kind`: `missing` (or another number than 1), `fsdp`, `overlap`, `needless`, `torchtitan`. `place`: what sets it,
    else the command.
    `value`: as it is set, None where it is not. `related`: the option that demands otherwise, and its words.
    `blackwell`: whether the request names GPUs for which the rule is no more; None where it names none. `in_container`:
    the program's image may set it. `edits`: a repair.
    """

    kind: str
    place: Span
    value: str | None
    layout: Layout | None
    related: tuple[Span, str]
    blackwell: bool | None
    in_container: bool
    edits: tuple[Edit, ...]


def find_connections(job: Job) -> list[Connections]:
    """One finding for each place."""
    found: dict[Span, Connections] = {}
    blackwell = _is_blackwell(job)
    for group in job.layouts:
        each = [_of_layout(job, layout, blackwell) for layout in group]
        first = each[0]
        if first is not None and all(other is not None and other.kind == first.kind for other in each):
            found.setdefault(first.place, first)
    for launch in job.launches:
        titan = _of_torchtitan(job, launch.invocation, launch.launcher.program_name)
        if titan is not None:
            found.setdefault(titan.place, titan._replace(blackwell=blackwell))
    return list(found.values())


def _of_layout(job: Job, layout: Layout, blackwell: bool | None) -> Connections | None:
    invocation = layout.invocation
    field = exported(invocation, NAME)
    value = None if field is None else text_of(field)
    if value is None and (field is not None or is_set(invocation, NAME) or NAME in job.source.text):
        return None
    fsdp = next((name for name in FSDP if layout.has(name)), None)
    place = layout.command
    setting = None if field is None else _setting(job, invocation)
    if setting is not None:
        place = setting.span
    in_container = container_of(invocation) is not None

    def report(kind: str, related: tuple[Span, str], number: str) -> Connections:
        edits = _other_value(job, setting, number) if value is not None else _new_setting(job, invocation, number)
        return Connections(kind, place, value, layout, related, blackwell, in_container, edits)

    if fsdp is not None:
        if value == "1" or value is None and layout.dialect == "swift" and not may_set_variables(job):
            return report("fsdp", (layout.place_of(fsdp), f"--{fsdp.replace('_', '-')}"), "8")
        return None
    if layout.has(OVERLAP):
        if value == "1" and not layout.wrapped:
            return report("overlap", (layout.place_of(OVERLAP), "--" + OVERLAP.replace("_", "-")), "32")
        return None
    if layout.dialect != "megatron" or not layout.certain or layout.wrapped:
        return None
    if any(_OTHERS.fullmatch(name) for name in layout.flags):
        return None
    for name, short in (("tensor", "TP"), ("context", "CP")):
        told = layout.told.get(name)
        if told is not None and told.number is not None and told.number > 1:
            if value == "1" or value is None and may_set_variables(job):
                return None
            return report("missing", (told.span, f"{short} {told.number}"), "1")
    sizes = layout.sizes
    if value == "1" and sizes.tensor == sizes.context == 1 and setting is not None:
        return report("needless", (layout.command, "TP and CP are 1"), "8")
    return None


def _of_torchtitan(job: Job, invocation: Invocation, program: str | None) -> Connections | None:
    """TorchTitan's FSDP2 overlaps its communication with the work, which one queue does not let happen."""
    if program is None or program != "torchtitan.train" and not program.endswith("torchtitan/train.py"):
        return None
    field = exported(invocation, NAME)
    if field is None or text_of(field) != "1":
        return None
    setting = _setting(job, invocation)
    place = invocation.name_span if setting is None else setting.span
    edits = _other_value(job, setting, "8")
    return Connections("torchtitan", place, "1", None, (invocation.name_span, "FSDP2"), None, False, edits)


def _is_blackwell(job: Job) -> bool | None:
    """Whether the settings or the request name GPUs of Blackwell or later (True), or of an earlier one (False)."""
    capability = _CAPABILITY.fullmatch(job.site.gpu_arch or "")
    if capability is not None:
        return int(capability.group(1)) >= 10
    request = job.request
    kinds = (request.gpus.kind, request.constraint, request.partition)
    names = [each.lower() for each in kinds if each]
    if any(_BLACKWELL.search(name) for name in names):
        return True
    return False if any(_EARLIER.search(name) for name in names) else None


# --- repairs -----------------------------------------------------------------------------------------


def _setting(job: Job, invocation: Invocation) -> Assigned | None:
    """The one assignment of the script."""
    found = {each.span: each for each in job.assigned if each.name == NAME}
    return next(iter(found.values())) if len(found) == 1 else None


def _other_value(job: Job, setting: Assigned | None, number: str) -> tuple[Edit, ...]:
    """Another number in the one place that sets it."""
    if setting is None or job.source.slice(setting.span) != f"{NAME}=1":
        return ()
    return (Edit(Span(setting.span.end - 1, setting.span.end), number),)


def _new_setting(job: Job, invocation: Invocation, number: str) -> tuple[Edit, ...]:
    """An `export` on a line before the command of the batch script that comes to run the program."""
    outermost = [invocation, *invocation.ancestors()][-1]
    start = outermost.span.start
    if job.is_embedded or job.in_quoted_text(start) or job.source.way(start) is not None or outermost.context.calls:
        return ()
    container = container_of(invocation)
    if container is not None and not container.inherits:
        return ()
    row = job.source.line_of(start)
    indent = job.source.text[row.start : start]
    if indent.strip() or _CONTINUED.search(job.source.text[: row.start]):
        return ()
    return (Edit(Span(row.start, row.start), f"{indent}export {NAME}={number}\n"),)


_CONTINUED = Regex(r"(?:\\|\||&&|\()[ \t]*\n\Z")
