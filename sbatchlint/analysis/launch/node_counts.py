"""Launchers that are told of another number of nodes than that on which srun starts them.

What comes of it: runs of torch 2.6 with two agents on two hosts, and accelerate utils/launch.py (1.15).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from sbatchlint.analysis.launch.duplicate_launchers import is_duplicated
from sbatchlint.analysis.launch.evidence import told_nodes
from sbatchlint.analysis.launch.launcher_options import replaced, with_options
from sbatchlint.analysis.launch.rendezvous import common_address, missing_address
from sbatchlint.bash.values import Phase, Pieces, expansions, text_of
from sbatchlint.job.steps import job_nodes
from sbatchlint.job.worlds import World, by_place, find_worlds, from_outside
from sbatchlint.slurm.rewriting import insertion
from sbatchlint.source.edits import Edit
from sbatchlint.source.text import Span

if TYPE_CHECKING:
    from sbatchlint.job import Job
    from sbatchlint.job.launches import Launch
    from sbatchlint.job.steps import Step

KINDS = ("torchrun", "torch.distributed.launch", "accelerate")


class Repair(NamedTuple):
    """What is done, and the edits of the file."""

    title: str
    edits: tuple[Edit, ...]
    safe: bool


class NodeCount(NamedTuple):
    """A launcher and the number of nodes that it is told, which is not that of its step.

    `place`: what says so, the launcher's name where nothing does. `number`: what it is told, `nodes`: on how many it is
    started (None: several). `alone`: nothing makes one world of the nodes, so that each is one of its own. `always`:
    not only where the environment of the submission says nothing else.
    """

    world: World
    place: Span
    number: int
    nodes: int | None
    alone: bool
    repair: Repair | None
    always: bool = True


class ProgramNodes(NamedTuple):
    """A program without a launcher that is told of another number of nodes than its step has.

    `place`: the directive or the argument to change.
    """

    step: Step
    place: Span
    argument: Span
    words: str
    number: int
    nodes: int
    edit: Edit | None


def is_started_once(job: Job, world: World) -> bool:
    """Whether a world is started on the nodes of a step as a whole: not by hand, host by host, nor for some tasks."""
    return world.step is not None and world.apart in ("", "part") and not job.request.heterogeneous


def find_lonely(job: Job) -> list[NodeCount]:
    """Launchers on several nodes that are told of one, so that each node is on its own."""
    found = []
    for place in by_place(find_worlds(job)):
        lonely = [each for each in place if _is_lonely(job, each)]
        if lonely and all(each in lonely or _number_from_outside(each) for each in place):
            world = lonely[0]
            assert world.launch is not None
            setting = world.asked.setting
            span = world.launch.launcher.span if setting is None else setting.span
            alone = world.launch.launcher.kind == "accelerate" or missing_address(world)
            repair = _tell_all(job, world.launch) if len(lonely) == len(place) else None
            found.append(NodeCount(world, span, 1, world.nodes, alone, repair, len(lonely) == len(place)))
    return found


def _number_from_outside(world: World) -> bool:
    """Whether the number is what the environment of the submission may have, as in `${NNODES:-1}`."""
    return world.asked.setting is not None and from_outside(world.asked.setting.value)


def _is_lonely(job: Job, world: World) -> bool:
    launcher = world.launcher
    if launcher is None or launcher.kind not in KINDS or not launcher.spawns or launcher.standalone:
        return False
    if world.several_nodes is not True or world.apart or not world.certain or not is_started_once(job, world):
        return False
    if launcher.cpu or launcher.hostfile is not None or world.asked.number != 1:
        return False
    return _is_for_a_node(job, world)


def _is_for_a_node(job: Job, world: World) -> bool:
    """Whether one start of the launcher is meant to fill its node, though a step may start it more often."""
    step, launch = world.step, world.launch
    if step is None or launch is None:
        return False
    asked = step.option("ntasks-per-node")
    ignored = step.geometry.ignored is not False and asked is not None and asked.text == "1"
    return world.starts_per_node == 1 or ignored or is_duplicated(job, launch)


def _tell_all(job: Job, launch: Launch) -> Repair | None:
    launcher, rendezvous, machines = launch.launcher, launch.launcher.rendezvous, launch.launcher.machines
    if launcher.kind == "accelerate" or rendezvous is None:
        return None  # its total, rank and address have to change too
    options, count, address = "", "$SLURM_JOB_NUM_NODES", None
    if rendezvous.address is None:
        address = common_address(job, launch)
        if address is None or launcher.setting("rdzv_backend", "master_port") is not None:
            return None
        options = f" --rdzv_backend=c10d --rdzv_id=$SLURM_JOB_ID --rdzv_endpoint={address.endpoint}"

    def is_told(changed: Launch) -> bool:
        return _counts_nodes(changed) and (address is None or address.is_met(changed))

    if machines is None:
        before = () if address is None else address.before
        edits = with_options(job, launch, f"--nnodes={count}{options}", is_told, before)
    else:
        place = _literal(machines.value or ())
        if place is None or address is not None:
            return None
        edits = replaced(job, launch, place, count, is_told)
    return None if edits is None else Repair("tell it of all nodes", tuple(edits), False)


def _counts_nodes(launch: Launch) -> bool:
    machines = launch.launcher.machines
    value = () if machines is None or machines.value is None else machines.value
    return [each.name for each in expansions(value)] == ["SLURM_JOB_NUM_NODES"] and text_of(value) != ""


def find_standalone(job: Job) -> list[NodeCount]:
    """Launchers that make a world of their own on each node (`--standalone`), though there are several nodes."""
    found = []
    for place in by_place(find_worlds(job)):
        if all(_is_standalone(job, each) for each in place):
            world = place[0]
            assert world.launch is not None
            flag = world.launch.launcher.setting("standalone")
            span = world.launch.launcher.span if flag is None else flag.span
            repair = _meet_instead(job, world.launch)
            found.append(NodeCount(world, span, world.asked.number or 1, world.nodes, True, repair))
    return found


def _is_standalone(job: Job, world: World) -> bool:
    launcher = world.launcher
    if launcher is None or not launcher.standalone or not launcher.spawns or launcher.kind not in KINDS:
        return False
    if world.asked.several:
        return True
    if world.several_nodes is not True or not is_started_once(job, world):
        return False
    return not world.apart and (world.asked.number == 1 or world.asked.of_job)


def _meet_instead(job: Job, launch: Launch) -> Repair | None:
    """A rendezvous of all nodes in the place of `--standalone`."""
    launcher = launch.launcher
    flag = launcher.flags.get("standalone")
    given = launcher.setting("rdzv_backend", "rdzv_endpoint", "rdzv_id", "master_addr", "master_port")
    address = common_address(job, launch)
    if flag is None or given is not None or address is None or launch.step is None:
        return None
    nodes = "" if launcher.machines is not None else "--nnodes=$SLURM_JOB_NUM_NODES "
    content = f"{nodes}--rdzv_backend=c10d --rdzv_id=$SLURM_JOB_ID --rdzv_endpoint={address.endpoint}"

    def meets(changed: Launch) -> bool:
        return not changed.launcher.standalone and address.is_met(changed)

    edits = replaced(job, launch, flag.span, content, meets, address.before)
    return None if edits is None else Repair("let all nodes meet at the first one", tuple(edits), False)


def find_mismatches(job: Job) -> list[NodeCount]:
    """Launchers that are told of several nodes, but not of so many as they are started on."""
    found = []
    for place in by_place(find_worlds(job)):
        if all(_is_mismatch(job, each) for each in place):
            world = place[0]
            asked, nodes = world.asked, world.nodes
            assert world.launch is not None and asked.setting is not None and nodes is not None
            number = asked.most if asked.most is not None and asked.most < nodes else asked.least
            assert number is not None
            repair = _count_instead(job, world)
            found.append(NodeCount(world, asked.setting.span, number, nodes, False, repair))
    return found


def _is_mismatch(job: Job, world: World) -> bool:
    launcher, asked, nodes = world.launcher, world.asked, world.nodes
    if launcher is None or launcher.kind not in KINDS or not launcher.spawns or launcher.standalone:
        return False
    if asked.least is None or asked.most is None or asked.most < 2 or nodes is None:
        return False
    if asked.least <= nodes <= asked.most or job.request.heterogeneous:
        return False
    if nodes == 1:
        return _has_one_node(job, world)
    if world.step is None or not is_started_once(job, world):
        return False
    if world.apart == "part" and (asked.least > nodes or world.step.invocation.context.background):
        return False  # the step is smaller than the job; or one of several that may be one world
    return _is_for_a_node(job, world)  # else each task may count as a node


def _has_one_node(job: Job, world: World) -> bool:
    """Whether the whole job has one node, and nothing of it may be a part of something larger."""
    if job_nodes(job.request) != 1 or job.request.array is not None or world.apart or job.phase is not Phase.BATCH:
        return False
    if job.directives.unread:
        return False  # the number of nodes may stand where sbatch does not read it
    if world.step is None:
        return world.in_batch_shell and not world.invocation.context.conditional
    return _is_for_a_node(job, world)


def _count_instead(job: Job, world: World) -> Repair | None:
    """The job's own count in the place of the number."""
    setting, launch = world.asked.setting, world.launch
    assert setting is not None and launch is not None and setting.value is not None
    number = _literal(setting.value)
    if number is None or world.apart or launch.launcher.kind == "accelerate":
        return None  # accelerate's total of processes may be wrong too

    edits = replaced(job, launch, number, "$SLURM_JOB_NUM_NODES", _counts_nodes)
    if edits is None:
        return None
    own = launch.invocation.span.start <= number.start and number.end <= launch.invocation.span.end
    safe = world.nodes != 1 and (own or _only_this(job, number, launch))
    return Repair("write the job's number of nodes", tuple(edits), safe)


def _literal(value: Pieces) -> Span | None:
    """Where a number stands, if it is written as it is in one place."""
    text = text_of(value)
    if len(value) != 1 or value[0].expansion is not None or text is None or not text.strip().isdigit():
        return None
    return value[0].span


def _only_this(job: Job, number: Span, launch: Launch) -> bool:
    """Whether no other command gets the value."""
    return not any(
        piece.start < number.end and number.start < piece.end and piece.expansion is None
        for each in job.invocations
        if each is not launch.invocation and each not in launch.invocation.ancestors() and each.name != "echo"
        for field in each.argv
        for piece in field
    )


def find_programs(job: Job) -> list[ProgramNodes]:
    """Programs of several tasks that are told of another number of nodes than their step has."""
    found: dict[Span, ProgramNodes] = {}
    spawning = {id(each.step) for each in job.launches if each.launcher.spawns or each.launcher.kind == "mpi"}
    for step in job.steps:
        nodes = step.nodes
        if nodes is None or id(step) in spawning or step.geometry.ignored is not False or job.request.heterogeneous:
            continue
        if nodes == 1 and job.directives.unread:
            continue
        part = job.request.exact_nodes()
        if part is not None and part != nodes or step.invocation.context.looped and step.invocation.context.background:
            continue
        for each in step.program:
            told = told_nodes(each.argv, step.tasks_per_node)
            if told is None or told.number == nodes or each.context.restricted:
                continue
            place, edit = _change(job, step, told.span, told.number, nodes)
            found.setdefault(place, ProgramNodes(step, place, told.span, told.words, told.number, nodes, edit))
    return list(found.values())


def _change(job: Job, step: Step, argument: Span, number: int, nodes: int) -> tuple[Span, Edit | None]:
    """What to change: the directive that counts nodes or tasks, else the argument."""
    request, directives = job.request, job.directives
    if "nodes" in step.options or "ntasks" in step.options:
        return argument, None
    setting = request.given("nodes")
    if setting is not None:
        return argument, None
    tasks = request.given("ntasks-per-node")
    if tasks is None or request.asked("ntasks") or nodes != 1:
        return argument, None
    if not directives.certain or job.is_embedded and job.directives_expand:
        return tasks.span, None
    return tasks.span, insertion(directives, f"--nodes={number}")
