"""Where the launchers of several nodes are to find each other, and why they do not.

torchrun reads `--master_addr` or `--rdzv_endpoint` (or PET_MASTER_ADDR, PET_RDZV_ENDPOINT), never MASTER_ADDR; without
them it meets at 127.0.0.1 (static) or localhost (c10d), each node at its own (torch/distributed/run.py, 2.13). The
consequences are those of runs of torch 2.6 on two hosts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from sbatchlint.analysis.expansion.varying import NODE, variation
from sbatchlint.analysis.launch.evidence import rank_sign, spawns_others
from sbatchlint.analysis.launch.launcher_options import line_before, replaced, with_options
from sbatchlint.bash.trace import exported, is_set
from sbatchlint.bash.values import Expansion, Phase, Pieces, expansions, shown_text, span_of, text_of
from sbatchlint.job.launchers import is_python
from sbatchlint.job.launches import container_of
from sbatchlint.job.worlds import World, by_place, find_worlds, from_outside, world_of
from sbatchlint.source.edits import Edit
from sbatchlint.source.regex import Regex
from sbatchlint.source.text import Span

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sbatchlint.bash.trace import Invocation
    from sbatchlint.job import Job
    from sbatchlint.job.launchers import Setting
    from sbatchlint.job.launches import Launch

TORCHRUN = ("torchrun", "torch.distributed.launch")
KINDS = (*TORCHRUN, "accelerate")
HEAD_NODE = 'export MASTER_ADDR=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)'
PORT = "$((20000 + SLURM_JOB_ID % 20000))"
_LOCAL = Regex(r"localhost(?:\.localdomain)?|127(?:\.\d+){3}|0\.0\.0\.0|\[?::1?\]?", 2)
_LOCAL_WORD = Regex(r"(?:localhost|127\.0\.0\.1)")


class Repair(NamedTuple):
    """What is done, and the edits of the file."""

    title: str
    edits: tuple[Edit, ...]
    safe: bool


class Meeting(NamedTuple):
    """A launch on several nodes whose launchers do not find each other.

    `place`: what says where they meet, or the launcher's name. `kind`: `none` (no address at all), `local` (each node's
    own address), `task` (each node computes it, and gets its own), `fallback` (each node's own, where the command that
    tells the first node fails), `loopback` (the address may be 127.0.1.1), `port` or `id` (each node computes another).
    `certain`: it has several nodes in every run, and no file may say more. `alone`: a node that finds no other begins
    by itself, and does not wait.
    """

    world: World
    kind: str
    place: Span
    words: str
    certain: bool
    repair: Repair | None
    alone: bool = False


def missing_address(world: World) -> bool:
    """Whether nothing tells a launcher where to meet."""
    launcher = world.launcher
    rendezvous = None if launcher is None else launcher.rendezvous
    return rendezvous is not None and rendezvous.address is None


def meets_others(job: Job, world: World) -> bool | None:
    """Whether a launch is started on several nodes that are to be one world; None: it depends on the run."""
    launcher = world.launcher
    if launcher is None or launcher.kind not in KINDS or not launcher.spawns or launcher.standalone:
        return False
    if world.in_batch_shell or launcher.cpu or launcher.hostfile is not None or job.request.heterogeneous:
        return False
    if world.step is None and world.mpi is None:
        return False
    asked = world.asked
    if asked.several is False or world.nodes == 1 and (not asked.several or not world.apart):
        return False  # alone on its node, it has another fault
    if asked.several:
        return True
    if is_elastic(world):
        return world.several_nodes is True and not world.apart and world.starts_per_node == 1
    if asked.of_job:
        return True if world.several_nodes else None if world.nodes is None else False
    return False


def is_elastic(world: World) -> bool:
    """Whether a launcher is content with one node, and would take several: `--nnodes=1:2`."""
    asked = world.asked
    return asked.least == 1 and asked.most is not None and asked.most > 1


def begins_alone(world: World) -> bool:
    """Whether a node that finds no other trains by itself, after 30 seconds: an elastic launcher with c10d.

    The static backend waits for the largest number of nodes (static_tcp_rendezvous.py; runs of torch 2.13).
    """
    rendezvous = None if world.launcher is None else world.launcher.rendezvous
    return is_elastic(world) and rendezvous is not None and rendezvous.backend == "c10d"


def find_missing(job: Job) -> list[Meeting]:
    """Launchers of several nodes that are not told where to meet."""
    found = []
    for place in by_place(find_worlds(job)):
        meets = {meets_others(job, world) for world in place}
        if False in meets or not all(_lacks_address(world) for world in place):
            continue
        world = place[0]
        assert world.launch is not None
        launcher = world.launch.launcher
        certain = None not in meets and launcher.kind != "accelerate"
        words = "" if world.asked.setting is None else world.asked.setting.name
        repair = _give_address(job, world.launch)
        found.append(Meeting(world, "none", launcher.span, words, certain, repair, begins_alone(world)))
    return found


def _lacks_address(world: World) -> bool:
    launcher = world.launcher
    if launcher is None or not world.certain or not missing_address(world):
        return False
    rendezvous = launcher.rendezvous
    return rendezvous is not None and rendezvous.backend in ("static", "c10d")


def head_variable(launch: Launch, name: str = "MASTER_ADDR") -> bool:
    """Whether the script exports a variable that holds the first node, as Slurm names it."""
    value = exported(launch.invocation, name)
    if value is None or len(value) != 1:
        return False
    expansion = value[0].expansion
    return expansion is not None and expansion.phase is Phase.BATCH and "scontrol show host" in expansion.name


class Address(NamedTuple):
    """Where all nodes of a launch can meet: the host, and a port if the script has one (both as a shell reads them).

    `before`: the line that this needs. `safe`: the script makes it of Slurm's list of nodes. `value`: what the host is
    then; None where the line makes it.
    """

    host: str
    port: str
    before: tuple[Edit, ...]
    safe: bool
    value: Pieces | None

    @property
    def endpoint(self) -> str:
        return f"{self.host}:{self.port or 29500}"

    def is_met(self, launch: Launch) -> bool:
        """Whether a launcher is told this address."""
        rendezvous = launch.launcher.rendezvous
        address = None if rendezvous is None else rendezvous.address
        found = (address.value if address is not None else None) or ()
        if self.value is None:
            return any("scontrol show host" in each.name for each in expansions(found))
        return [(each.text, each.expansion) for each in found] == [(each.text, each.expansion) for each in self.value]


def common_address(job: Job, launch: Launch) -> Address | None:
    """Where all nodes of a launch can meet: at the exported MASTER_ADDR, else at what a further line exports."""
    value = exported(launch.invocation, "MASTER_ADDR")
    if value is not None:
        text = text_of(value)
        late = any(each.phase is Phase.TASK for each in expansions(value))
        if not value or late or text is not None and (not text or _LOCAL.fullmatch(text)):
            return None
        port = "$MASTER_PORT" if exported(launch.invocation, "MASTER_PORT") is not None else ""
        return Address("$MASTER_ADDR", port, (), head_variable(launch), value)
    if "MASTER_ADDR" in launch.invocation.state.variables:
        return None
    line = line_before(job, launch, HEAD_NODE)
    return None if line is None else Address("$MASTER_ADDR", "", (line,), False, None)


def _give_address(job: Job, launch: Launch) -> Repair | None:
    launcher = launch.launcher
    container = container_of(launch.invocation)
    if launcher.kind not in TORCHRUN or container is not None and container.kind in ("docker", "podman"):
        return None
    address, rendezvous = common_address(job, launch), launcher.rendezvous
    if address is None or rendezvous is None:
        return None
    if rendezvous.backend == "c10d":
        options = f"--rdzv_endpoint={address.endpoint}"
    elif launcher.node_rank is None and address.before:
        options = f"--rdzv_backend=c10d --rdzv_id=$SLURM_JOB_ID --rdzv_endpoint={address.endpoint}"
    else:
        options = f"--master_addr={address.host}"
        if launcher.setting("master_port") is None and address.port:
            options += f" --master_port={address.port}"
    edits = with_options(job, launch, options, address.is_met, address.before)
    return None if edits is None else Repair("tell it where the first node is", tuple(edits), address.safe)


# --- addresses that every node takes for its own ---------------------------------------------------


def find_unshared(job: Job) -> list[Meeting]:
    """Launchers of several nodes, and programs under srun, whose address is another host for each of them."""
    found = list(_programs_apart(job))
    for place in by_place(find_worlds(job)):
        if any(meets_others(job, world) is False for world in place):
            continue
        each = [_unshared(world) for world in place]
        kinds = [one for one in each if one is not None]
        others = [world for world, one in zip(place, each, strict=True) if one is None]
        if not kinds or not all(_address_from_outside(world) for world in others):
            continue
        kind, span, words = kinds[0]
        certain = not others and all(meets_others(job, world) for world in place)
        world = place[each.index(kinds[0])]
        repair = None
        if kind in ("local", "task") and world.launch is not None:
            repair = _share(job, world.launch)
        found.append(Meeting(world, kind, span, words, certain, repair, begins_alone(world)))
    return found


def _address_from_outside(world: World) -> bool:
    """Whether the address is what the environment of the submission may have, as in `${MASTER_ADDR:-localhost}`."""
    rendezvous = None if world.launcher is None else world.launcher.rendezvous
    return rendezvous is not None and rendezvous.address is not None and from_outside(rendezvous.address.value)


def _unshared(world: World) -> tuple[str, Span, str] | None:
    launcher = world.launcher
    rendezvous = None if launcher is None else launcher.rendezvous
    address = None if rendezvous is None else rendezvous.address
    if address is None or address.value is None or world.apart == "restricted":
        return None
    return _whose_address(world.invocation, address.value, _place_of(address))


def _whose_address(invocation: Invocation, value: Pieces, place: Span) -> tuple[str, Span, str] | None:
    """How an address is another host for each node (kind, place, words); None where it is the same for all."""
    text = text_of(value)
    if text is not None and _LOCAL.fullmatch(text.strip()):
        return "local", place, text.strip()
    for expansion in expansions(value):
        if expansion.name == "HOSTNAME":
            continue  # Slurm exports the first node's name, and every task's bash keeps it
        if expansion.phase is Phase.TASK:
            if "scontrol" in expansion.name and _LOCAL_WORD.search(expansion.name.partition("||")[2]):
                if container_of(invocation) is not None:
                    return "fallback", expansion.span, expansion.name
            found = variation(expansion)
            if found is not None and found.by == NODE and found.name:
                return "task", expansion.span, _shown(expansion)
        elif _asks_for_own_address(expansion):
            return "loopback", expansion.span, _shown(expansion)
    return None


def _shown(expansion: Expansion) -> str:
    return expansion.name if expansion.name.startswith("$") else f"${expansion.name}"


def _place_of(setting: Setting) -> Span:
    """Where a value is written, else its option."""
    return span_of(setting.value) if setting.value else setting.span


def _asks_for_own_address(expansion: Expansion) -> bool:
    """`hostname -i`, which looks the host's own name up, and finds 127.0.1.1 where /etc/hosts says so."""
    if not expansion.name.startswith("$("):
        return False
    for words in expansion.commands:
        if words and words[0].rpartition("/")[2] == "srun" and "hostname" in words:
            words = words[words.index("hostname") :]
        if words and words[0].rpartition("/")[2] == "hostname" and {"-i", "--ip-address"} & set(words):
            return True
    return False


def _share(job: Job, launch: Launch) -> Repair | None:
    """The first node's name in the place of the address."""
    rendezvous = launch.launcher.rendezvous
    address = None if rendezvous is None else rendezvous.address
    container = container_of(launch.invocation)
    if address is None or not address.value or len(address.value) != 1 or container is not None:
        return None
    piece = address.value[0]
    first = '$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)'
    span = piece.span if piece.expansion is None else piece.expansion.span

    def meets(changed: Launch) -> bool:
        other = changed.launcher.rendezvous
        value = () if other is None or other.address is None else other.address.value or ()
        return len(value) == 1 and any("scontrol show host" in each.name for each in expansions(value))

    if job.source.text[span.start - 1] == "\\":
        # in double quotes, which quotes of its own would end
        first = first.replace('"', "").replace("$S", "\\$S")
    edits = replaced(job, launch, span, first, meets)
    return None if edits is None else Repair("meet at the first node", tuple(edits), False)


def _programs_apart(job: Job) -> Iterator[Meeting]:
    """Programs that are the tasks of a step themselves, and find each other at MASTER_ADDR: the env:// of torch."""
    launchers = {id(world.invocation) for world in find_worlds(job)}
    found: dict[Span, list[tuple[Invocation, tuple[str, Span, str] | None]]] = {}
    for step in job.steps:
        for program in step.program if step.several_nodes else ():
            if not is_python(program.argv[0] if program.argv else ()) or program.context.restricted:
                continue
            if any(id(each) in launchers for each in (program, *program.ancestors())) or spawns_others(program.argv):
                continue
            value = exported(program, "MASTER_ADDR")
            verdict = None if value is None else _whose_address(program, value, span_of(value))
            found.setdefault(program.span, []).append((program, verdict))
    for alternatives in found.values():
        program, verdict = alternatives[0]
        if verdict is None or any(each is None for _, each in alternatives):
            continue
        world = world_of(job, program)
        ranked = any(is_set(program, name) for name in ("RANK", "WORLD_SIZE")) or rank_sign(program.argv) is not None
        if world.apart in ("restricted", "loop", "sharded") and not ranked:
            continue
        kind, place, words = verdict
        yield Meeting(world, kind, place, words, ranked, None)


# --- ports and names that every task chooses for itself ----------------------------------------------


def find_differing(job: Job) -> list[Meeting]:
    """Ports and run names of a rendezvous that each node computes for itself, each with another result."""
    found = []
    for place in by_place(find_worlds(job)):
        if any(meets_others(job, world) is False for world in place):
            continue
        each = [_differing(world) for world in place]
        kinds = [one for one in each if one is not None]
        if not kinds or len(kinds) < len(place):
            continue
        kind, expansion = kinds[0]
        world = place[0]
        certain = all(meets_others(job, world) for world in place)
        assert world.launch is not None
        repair = _same_for_all(job, world.launch, kind, expansion)
        found.append(Meeting(world, kind, expansion.span, _shown(expansion), certain, repair, begins_alone(world)))
    return found


def _differing(world: World) -> tuple[str, Expansion] | None:
    launcher = world.launcher
    rendezvous = None if launcher is None else launcher.rendezvous
    if launcher is None or rendezvous is None or world.apart == "restricted":
        return None
    if rendezvous.port is not None:
        expansion = _chosen_by_task(rendezvous.port.value)
        if expansion is not None:
            return "port", expansion
    identity = launcher.setting("rdzv_id")
    if identity is not None and rendezvous.backend not in (None, "static"):
        expansion = _chosen_by_task(identity.value)
        if expansion is not None:
            return "id", expansion
    return None


def _chosen_by_task(value: Pieces | None) -> Expansion | None:
    """What makes a value another one in each task."""
    for piece in value or ():
        expansion = piece.expansion
        if expansion is None or expansion.phase is not Phase.TASK or piece.text is not None:
            continue
        for each in expansion.all():
            found = variation(each)
            if each.phase is Phase.TASK and found is not None and not found.name:
                return expansion
        if _finds_free_port(expansion):
            return expansion
    return None


def _finds_free_port(expansion: Expansion) -> bool:
    """`$(python -c 'import socket; … bind(("", 0)) …')`, `$(comm … ss -tan … | shuf)`."""
    name = expansion.name
    return name.startswith("$(") and ("socket" in name and "bind" in name or "shuf" in name or "RANDOM" in name)


def _same_for_all(job: Job, launch: Launch, kind: str, expansion: Expansion) -> Repair | None:
    content = "$SLURM_JOB_ID" if kind == "id" else PORT
    name = "SLURM_JOB_ID"

    def is_same(changed: Launch) -> bool:
        rendezvous = changed.launcher.rendezvous
        setting = changed.launcher.setting("rdzv_id") if kind == "id" else rendezvous.port if rendezvous else None
        value = () if setting is None else setting.value or ()
        shown = shown_text(value)
        return any(each.name == name for each in expansions(value)) and not any(sign in shown for sign in "\\( ")

    edits = replaced(job, launch, expansion.span, content, is_same)
    title = "make it of the job's number"
    return None if edits is None else Repair(title, tuple(edits), kind == "id")
