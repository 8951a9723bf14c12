"""The environment of which ms-swift makes its launch: NNODES, NPROC_PER_NODE, NODE_RANK, MASTER_ADDR.

swift/cli/main.py (3.0 to 4.6) hands each variable that is set to torchrun as the option of its name, and leaves the
others to torchrun's defaults: one node, one process, node 0, 127.0.0.1 (torch/distributed/run.py, 2.13). What comes of
these is that of torchrun with the static rendezvous: runs of torch 2.6 on two hosts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from sbatchlint.analysis.expansion.sourced import may_set_variables
from sbatchlint.analysis.launch.launcher_options import line_before, proven
from sbatchlint.bash.trace import is_set
from sbatchlint.bash.values import Phase, expansions
from sbatchlint.job.launchers.swift import Swift
from sbatchlint.job.launches import container_of
from sbatchlint.job.worlds import by_place, find_worlds
from sbatchlint.source.edits import Edit
from sbatchlint.source.regex import Regex
from sbatchlint.source.text import Span

if TYPE_CHECKING:
    from sbatchlint.job import Job
    from sbatchlint.job.launchers import Setting
    from sbatchlint.job.launches import Launch
    from sbatchlint.job.worlds import World

HEAD_NODE = 'MASTER_ADDR=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)'
TRAINING = frozenset({"pt", "sft", "rlhf", "dpo", "orpo", "simpo"})
_LOCAL = Regex(r"localhost|127(?:\.\d+){3}|0\.0\.0\.0|::1")
# Variables by which a process is told which GPUs are its own.
_CHOOSING = ("CUDA_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "ASCEND_RT_VISIBLE_DEVICES")


class SwiftFault(NamedTuple):
    """What a launch of swift lacks, or is told wrongly.

    `kind`: `alone` (each node on its own), `count` (another number of nodes than there are), `meeting` (the nodes do
    not find each other), `processes` (fewer of them than the node has GPUs, or more). `missing`: variables that are not
    set; `wrong`: those that say the same on every node, by name. `number`: nodes or processes as told, `there`: as
    there are.
    """

    kind: str
    world: World
    place: Span
    missing: tuple[str, ...]
    wrong: tuple[tuple[str, str], ...]
    number: int | None
    there: int | None
    edits: tuple[Edit, ...]


def find_swift_faults(job: Job) -> list[SwiftFault]:
    """The faults of each launch as it is written: what all that it may stand for have in common."""
    found: list[SwiftFault] = []
    unknown: bool | None = None
    for place in by_place(find_worlds(job)):
        if not isinstance(place[0].launcher, Swift):
            continue
        if unknown is None:
            unknown = may_set_variables(job, personal=False)
        if unknown:
            break
        each = [_faults(job, world) for world in place]
        found.extend(fault for fault in each[0] if all(any(o.kind == fault.kind for o in other) for other in each))
    return found


def _faults(job: Job, world: World) -> list[SwiftFault]:
    launcher, launch = world.launcher, world.launch
    if not isinstance(launcher, Swift) or launch is None or launcher.method not in TRAINING or not launcher.certain:
        return []
    container = container_of(launch.invocation)
    if container is not None and container.hidden_environment:
        return []
    if job.request.heterogeneous or world.apart or world.starts_per_node != 1:
        return []
    found = _of_nodes(job, world, launch, launcher) if world.step is not None else None
    processes = _of_processes(job, world, launch, launcher)
    closed = container is not None and not container.inherits
    # what such a container is not given may be there outside, and is another finding
    return [each for each in (found, processes) if each is not None and not (closed and each.missing)]


def _of_nodes(job: Job, world: World, launch: Launch, launcher: Swift) -> SwiftFault | None:
    asked, nodes = world.asked, world.nodes
    if world.several_nodes is True and (asked.setting is None or asked.number == 1) and not asked.of_job:
        place = launcher.span if asked.setting is None else asked.setting.span
        missing: tuple[str, ...] = ("NNODES",) if asked.setting is None else ()
        edits = _repair(job, launch, launcher, missing) if missing else ()
        return SwiftFault("alone", world, place, missing, (), 1, nodes, edits)
    if asked.setting is None or not (asked.several or asked.of_job and world.several_nodes):
        return None
    if asked.number is not None and nodes is not None and asked.number != nodes:
        return SwiftFault("count", world, asked.setting.span, (), (), asked.number, nodes, ())
    rendezvous = launcher.rendezvous
    if rendezvous.backend != "static" or launcher.standalone:
        return None
    rank, address = launcher.node_rank, rendezvous.address
    missing = tuple(name for name, given in (("NODE_RANK", rank), ("MASTER_ADDR", address)) if given is None)
    wrong = []
    if rank is not None and _is_constant(rank):
        wrong.append(("NODE_RANK", rank))
    if address is not None and address.text is not None and _LOCAL.fullmatch(address.text):
        wrong.append(("MASTER_ADDR", address))
    if not missing and not wrong:
        return None
    place = wrong[0][1].span if wrong else launcher.span
    edits = _repair(job, launch, launcher, (*missing, *(name for name, _ in wrong)))
    told = tuple((name, each.text or "0") for name, each in wrong)
    return SwiftFault("meeting", world, place, missing, told, asked.number, nodes, edits)


def _is_constant(rank: Setting) -> bool:
    """Whether a node's rank is written down, or is SLURM_LOCALID, which is 0 for the one task of each node.

    What the batch shell makes of SLURM_NODEID is the fault of another finding.
    """
    found = expansions(rank.value or ())
    if any(each.name == "SLURM_LOCALID" and each.phase is Phase.TASK for each in found):
        return True
    return rank.number is not None and not any(each.name.startswith("SLURM_") for each in found)


def _of_processes(job: Job, world: World, launch: Launch, launcher: Swift) -> SwiftFault | None:
    gpus = world.gpus
    if gpus is None or any(is_set(launch.invocation, name) for name in _CHOOSING):
        return None
    setting = launcher.setting("nproc_per_node")
    megatron = launcher.name.startswith("megatron") or "_megatron" in launcher.name
    if setting is None:
        # swift itself spreads a model over all GPUs of its one process, where nothing makes it a torchrun
        if gpus < 2 or not megatron and launcher.setting("nnodes") is None:
            return None
        edits = _repair(job, launch, launcher, ("NPROC_PER_NODE",), gpus)
        return SwiftFault("processes", world, launcher.span, ("NPROC_PER_NODE",), (), 1, gpus, edits)
    number = setting.number
    if number is None or number == gpus or number < gpus and not megatron:
        return None
    return SwiftFault("processes", world, setting.span, (), (), number, gpus, ())


# --- repairs -----------------------------------------------------------------------------------------


def _repair(
    job: Job, launch: Launch, launcher: Swift, names: tuple[str, ...], processes: int | None = None
) -> tuple[Edit, ...]:
    """Sets what is missing: lines before the step for what all nodes share, and in the task for the node's own rank."""
    container = container_of(launch.invocation)
    if container is not None and not container.inherits:
        return ()  # SLURM_NODEID does not get there
    lines = []
    if "NNODES" in names:
        lines.append("export NNODES=$SLURM_JOB_NUM_NODES")
        names = (*names, *(name for name in ("NODE_RANK", "MASTER_ADDR") if _lacks(launcher, name)))
    if "MASTER_ADDR" in names:
        lines.append(f"export {HEAD_NODE}")
    if "NPROC_PER_NODE" in names:
        lines.append(f"export NPROC_PER_NODE={processes}")
    before: list[Edit] = []
    if lines:
        line = line_before(job, launch, "\n".join(lines))
        if line is None or "MASTER_ADDR" in names and not _lacks(launcher, "MASTER_ADDR"):
            return ()
        blanks = job.source.text[job.source.line_of(line.span.start).start :]
        indent = blanks[: len(blanks) - len(blanks.lstrip(" \t"))]
        before = [line._replace(content="".join(f"{indent}{each}\n" for each in lines))]

    def is_right(changed: Launch) -> bool:
        other = changed.launcher
        if not isinstance(other, Swift) or not other.spawns:
            return False
        if "NPROC_PER_NODE" in names and other.processes_per_task != processes:
            return False
        if "MASTER_ADDR" in names and other.setting("master_addr") is None:
            return False
        if "NNODES" in names and other.machines is None:
            return False
        rank = other.node_rank
        found = [(each.name, each.phase) for each in expansions((rank.value if rank else None) or ())]
        return "NODE_RANK" not in names or found == [("SLURM_NODEID", Phase.TASK)]

    if "NODE_RANK" not in names:
        return tuple(before) if before and proven(job, launch, before, is_right) else ()
    span = launcher.span
    rank = launcher.node_rank
    for dollar in ("$", "\\$", "\\\\\\$"):
        places = [(Span(span.start, span.start), f"NODE_RANK={dollar}SLURM_NODEID ")]
        if rank is not None and job.source.slice(rank.span).isdigit():
            places.insert(0, (rank.span, f"{dollar}SLURM_NODEID"))
        for place, content in places:
            edits = [*before, Edit(place, content)]
            if proven(job, launch, edits, is_right):
                return tuple(edits)
    wrapper = "bash -c 'NODE_RANK=$SLURM_NODEID exec \"$@\"' _ "
    edits = [*before, Edit(Span(span.start, span.start), wrapper)]
    return tuple(edits) if proven(job, launch, edits, is_right) else ()


def _lacks(launcher: Swift, name: str) -> bool:
    return launcher.setting(name.lower()) is None
