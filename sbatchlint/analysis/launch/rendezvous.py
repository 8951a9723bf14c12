"""The addresses at which the launchers of several nodes meet.

torchrun reads `--master_addr` or `--rdzv_endpoint` (or PET_MASTER_ADDR, PET_RDZV_ENDPOINT), never MASTER_ADDR; without
them each node meets at its own 127.0.0.1 (static) or localhost (c10d) (torch/distributed/run.py, 2.13). The
consequences are from runs of torch 2.6 on two hosts.
"""

from collections.abc import Iterator
from typing import NamedTuple

from sbatchlint.analysis.editing.options import lines_before
from sbatchlint.analysis.expansion.varying import NODE, variation
from sbatchlint.analysis.launch.rank_signs import rank_sign, spawns_others
from sbatchlint.bash.trace import Invocation, exported, is_set
from sbatchlint.bash.values import Expansion, Phase, Pieces, expansions, span_of, text_of
from sbatchlint.job import Job, Launch
from sbatchlint.job.launchers import Launcher, Setting, is_python
from sbatchlint.job.launches import container_of
from sbatchlint.job.once import once
from sbatchlint.job.worlds import LaunchWorld, World, by_place, find_worlds, from_submission, world_of
from sbatchlint.programs import programs_with
from sbatchlint.source.edits import Edit
from sbatchlint.source.regex import Regex
from sbatchlint.source.text import Span

TORCHRUN = programs_with("torch")
HEAD_NODE = '$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)'
# Differs between jobs, and is below the ephemeral ports.
PORT = "$((20000 + SLURM_JOB_ID % 20000))"
_LOCAL = Regex(r"localhost(?:\.localdomain)?|127(?:\.\d+){3}|0\.0\.0\.0|\[?::1?\]?", 2)
_LOCAL_WORD = Regex(r"(?:localhost|127\.0\.0\.1)")


# Options that torchrun reads only with the static backend, and those that --standalone sets itself.
_STATIC = ("master_addr", "master_port", "node_rank")
_STANDALONE = ("rdzv_backend", "rdzv_endpoint", "rdzv_id", *_STATIC)


def dead_options(launcher: Launcher) -> dict[str, str]:
    """The options of the rendezvous that have no effect, each with the option that overrides it."""
    rendezvous = launcher.rendezvous
    if not launcher.is_a("torch") or not launcher.certain or not launcher.spawns:
        return {}
    names = [name for name in _STANDALONE if name in launcher.options]
    if launcher.standalone:
        return dict.fromkeys(names, "--standalone")
    if rendezvous is None or rendezvous.endpoint is None or rendezvous.backend is None:
        return {}
    if rendezvous.backend != "static":
        return {name: f"--rdzv_backend={rendezvous.backend}" for name in names if name in _STATIC}
    return {name: "--rdzv_endpoint" for name in names if name in _STATIC[:2]}


def lacks_address(launch: Launch) -> bool:
    """Whether a launcher has a rendezvous, but no address for it."""
    rendezvous = launch.launcher.rendezvous
    return rendezvous is not None and rendezvous.address is None


def joins_other_nodes(job: Job, world: LaunchWorld) -> bool | None:
    """Whether a launch starts on several nodes that are to form one world; None where it depends on the run."""
    launcher = world.launcher
    if not launcher.is_a("joins") or not launcher.spawns or launcher.standalone:
        return False
    if world.in_batch_shell or launcher.cpu or launcher.hostfile is not None or job.request.heterogeneous:
        return False
    if world.step is None and world.mpi is None:
        return False
    expected = world.nodes_setting
    if expected.several is False or world.nodes == 1 and (not expected.several or not world.isolation):
        return False  # a launcher alone on its node has another fault
    if expected.several:
        return True
    if _is_elastic(world):
        return world.several_nodes is True and not world.isolation and world.starts_per_node == 1
    if expected.of_job:
        return True if world.several_nodes else None if world.nodes is None else False
    return False


def _is_elastic(world: World) -> bool:
    """Whether a launcher accepts one node as well as several: `--nnodes=1:2`."""
    expected = world.nodes_setting
    return expected.least == 1 and expected.most is not None and expected.most > 1


def starts_alone(world: World) -> bool:
    """Whether a node that finds no other trains alone after 30 seconds, as an elastic launcher with c10d does.

    The static backend waits for the largest number of nodes (static_tcp_rendezvous.py; runs of torch 2.13).
    """
    rendezvous = None if world.launcher is None else world.launcher.rendezvous
    return _is_elastic(world) and rendezvous is not None and rendezvous.backend == "c10d"


def passes_node_id(launch: Launch) -> bool:
    """Whether each task of a launch passes SLURM_NODEID to its launcher as the node rank."""
    rank = launch.launcher.node_rank
    found = expansions((rank.value if rank is not None else None) or ())
    return [(each.name, each.phase) for each in found] == [("SLURM_NODEID", Phase.TASK)]


# --- the address that all nodes share ------------------------------------------------------------------


class Address(NamedTuple):
    """An address at which all nodes of a launch can meet: `host` and `port` as shell words, `port` '' for none.

    `before`: the edit that inserts the line which sets it, if it needs one. `safe`: whether the script takes it from
    Slurm's list of nodes. `value`: what the host expands to; None where the inserted line sets it.
    """

    host: str
    port: str
    before: tuple[Edit, ...]
    safe: bool
    value: Pieces | None

    @property
    def endpoint(self) -> str:
        return f"{self.host}:{self.port or PORT}"

    def is_met(self, launch: Launch) -> bool:
        """Whether a launcher already has this address."""
        rendezvous = launch.launcher.rendezvous
        address = None if rendezvous is None else rendezvous.address
        found = (address.value if address is not None else None) or ()
        if self.value is None:
            return any("scontrol show host" in each.name for each in expansions(found))
        return [(each.text, each.expansion) for each in found] == [(each.text, each.expansion) for each in self.value]


def common_address(job: Job, launch: Launch) -> Address | None:
    """The exported MASTER_ADDR, or one that an inserted line exports; None where neither is the same for all nodes."""
    value = exported(launch.invocation, "MASTER_ADDR")
    if value is not None:
        text = text_of(value)
        late = any(each.phase is Phase.TASK for each in expansions(value))
        if not value or late or text is not None and (not text or _LOCAL.fullmatch(text)):
            return None
        port = "$MASTER_PORT" if exported(launch.invocation, "MASTER_PORT") is not None else ""
        return Address("$MASTER_ADDR", port, (), _is_first_node(value), value)
    if "MASTER_ADDR" in launch.invocation.state.variables:
        return None
    line = lines_before(job, launch, [f"export MASTER_ADDR={HEAD_NODE}"])
    return None if line is None else Address("$MASTER_ADDR", "", (line,), False, None)


def _is_first_node(value: Pieces) -> bool:
    """Whether a value is taken from Slurm's list of nodes."""
    expansion = value[0].expansion if len(value) == 1 else None
    return expansion is not None and expansion.phase is Phase.BATCH and "scontrol show host" in expansion.name


# --- addresses that are another host on every node -------------------------------------------------


class UnsharedAddress(NamedTuple):
    """An address that is another host on each node.

    `kind`: `local` (each node's loopback), `task` (each task computes its own node's), `fallback` (each node's own,
    where the command that prints the first node fails), `loopback` (it may be 127.0.1.1). `place`: where it is written,
    and `words`: how. `certain`: whether the program runs on several nodes in every run, and needs the address.
    """

    world: World
    kind: str
    place: Span
    words: str
    certain: bool


@once
def unshared_addresses(job: Job) -> list[UnsharedAddress]:
    """Addresses that are another host on each node, of launchers on several nodes and of programs under srun."""
    found = list(_of_programs(job))
    for place in by_place(find_worlds(job)):
        if any(joins_other_nodes(job, world) is False for world in place):
            continue
        verdicts = [_of_launcher(world) for world in place]
        if not any(verdicts) or not all(verdict or _is_inherited(world) for world, verdict in zip(place, verdicts)):
            continue
        world, (kind, span, words) = next((world, verdict) for world, verdict in zip(place, verdicts) if verdict)
        certain = all(verdicts) and all(joins_other_nodes(job, world) for world in place)
        found.append(UnsharedAddress(world, kind, span, words, certain))
    return found


def _is_inherited(world: LaunchWorld) -> bool:
    """Whether the environment of the submission may set the address, as in `${MASTER_ADDR:-localhost}`."""
    rendezvous = world.launcher.rendezvous
    return rendezvous is not None and rendezvous.address is not None and from_submission(rendezvous.address.value)


def _of_launcher(world: LaunchWorld) -> tuple[str, Span, str] | None:
    rendezvous = world.launcher.rendezvous
    address = None if rendezvous is None else rendezvous.address
    if address is None or address.value is None or world.isolation == "restricted":
        return None
    return _whose_address(world.invocation, address.value, span_of(address.value) if address.value else address.span)


def _of_programs(job: Job) -> Iterator[UnsharedAddress]:
    """The unshared addresses of programs that are the tasks of a step and meet at MASTER_ADDR (torch's env://)."""
    launchers = {id(launch.invocation) for launch in job.launches}
    found: dict[Span, list[tuple[Invocation, tuple[str, Span, str] | None]]] = {}
    for step in job.steps:
        for program in step.program if step.several_nodes else ():
            if not is_python(program.argv[0] if program.argv else ()) or program.context.restricted:
                continue
            if any(id(each) in launchers for each in (program, *program.ancestors())) or spawns_others(job, program):
                continue
            value = exported(program, "MASTER_ADDR")
            verdict = None if value is None else _whose_address(program, value, span_of(value))
            found.setdefault(program.span, []).append((program, verdict))
    for alternatives in found.values():
        program, verdict = alternatives[0]
        if verdict is None or any(each is None for _, each in alternatives):
            continue
        world = world_of(job, program)
        sign = rank_sign(job, program)
        ranked = any(is_set(program, name) for name in ("RANK", "WORLD_SIZE")) or sign is not None
        if ranked or world.isolation not in ("restricted", "loop", "sharded"):
            # a program that finds its rank itself (DeepSpeed by MPI) may find the address, too
            certain = is_set(program, "RANK") or sign is not None and sign.kind != "megatron"
            yield UnsharedAddress(world, *verdict, certain)


def is_own_node(address: Setting) -> bool:
    """Whether an address is a node of this job, as far as the script shows: its own name, or what a command prints."""
    if address.text is not None:
        return _LOCAL.fullmatch(address.text.strip()) is not None
    names = [each.name for each in expansions(address.value or ())]
    return any(name[:1] in "$`" or name.startswith(("SLURM", "HOST")) for name in names)


def _whose_address(invocation: Invocation, value: Pieces, place: Span) -> tuple[str, Span, str] | None:
    """The kind, place and words of an address that is another host on each node; None where it is the same on all."""
    text = text_of(value)
    if text is not None and _LOCAL.fullmatch(text.strip()):
        return "local", place, text.strip()
    for expansion in expansions(value):
        if expansion.name == "HOSTNAME":
            continue  # Slurm exports the first node's name, and bash in every task keeps it
        if expansion.phase is Phase.TASK:
            if "scontrol" in expansion.name and _LOCAL_WORD.search(expansion.name.partition("||")[2]):
                if container_of(invocation) is not None:
                    return "fallback", expansion.span, expansion.name
            found = variation(expansion)
            if found is not None and found.by == NODE and found.name:
                return "task", expansion.span, written_expansion(expansion)
        elif _asks_for_own_address(expansion):
            return "loopback", expansion.span, written_expansion(expansion)
    return None


def written_expansion(expansion: Expansion) -> str:
    return expansion.name if expansion.name.startswith("$") else f"${expansion.name}"


def _asks_for_own_address(expansion: Expansion) -> bool:
    """Whether it runs `hostname -i`, which looks up the host's own name: 127.0.1.1 where /etc/hosts says so."""
    if not expansion.name.startswith("$("):
        return False
    for words in expansion.commands:
        if words and words[0].rpartition("/")[2] == "srun" and "hostname" in words:
            words = words[words.index("hostname") :]
        if words and words[0].rpartition("/")[2] == "hostname" and {"-i", "--ip-address"} & set(words):
            return True
    return False
