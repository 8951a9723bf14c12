"""Workers on several nodes cannot reach each other: docker gives each container a network of its own.

Without `--network host` a container has a private address behind the node's. `-p 29500:29500` lets others reach one
port: the rendezvous may work, but then NCCL and Gloo connect on ports of their own, which nothing publishes. The job
waits until its timeout. Without `-p` it waits at the rendezvous.

Reported where a launcher set up for several nodes runs in such a container in a step on several nodes, or a program
that gets MASTER_ADDR and its rank or the number of nodes (a warning where it is not known to be Python). Named networks
(an overlay, `container:…`) may span nodes, and are not reported.

## Fix

Adds `--network=host`, and removes the `-p` options, which then have no effect. Unsafe: the program's ports become the
node's, and the firewall has to allow them.

## References

docker run manual, --network and --publish; NCCL_SOCKET_IFNAME in NCCL's manual.
"""

from collections.abc import Iterator

from sbatchlint.analysis.containers.container_starts import ContainerStart, container_starts
from sbatchlint.analysis.editing.options import remove_word
from sbatchlint.bash.values import text_of
from sbatchlint.check import Bad, Card, Edit, Finding, Fix, Good, Job, Launch, Span
from sbatchlint.job.argv import CommandOption
from sbatchlint.job.launchers import python_of
from sbatchlint.triggers import Containers

CARD = Card(
    "SB510", "docker-network", severity="error", fix="sometimes", since="0.1.0", when=Containers("docker", "podman"),
    seen="docker run manual, --network and --publish",
)  # fmt: skip

# Variables that give a program its rank or the number of ranks or nodes, and the address of the first, without a
# launcher.
RANKS_AND_SIZES = frozenset({"RANK", "NODE_RANK", "MACHINE_RANK", "WORLD_SIZE", "NNODES", "NUM_NODES", "PET_NNODES"})
ADDRESSES = frozenset({"MASTER_ADDR", "PET_MASTER_ADDR", "MAIN_PROCESS_IP", "HEAD_NODE", "HEAD_ADDR", "RDZV_ENDPOINT"})


def check(job: Job) -> Iterator[Finding]:
    for ways in container_starts(job):
        networks = [each.container.option("network") for each in ways]
        own = all(each is None or each.text in ("bridge", "default") for each in networks)
        if not own or not all(each.is_isolated for each in ways):
            continue
        start, programs = ways[0], [_distributed_program(each) for each in ways]
        if programs[0] is None or None in programs or start.step is None:
            continue
        name, span, certain = programs[0]
        where = "" if span == start.place else f" (line {job.line(span.start)})"
        what = f"{name}{where} on {start.step.nodes} nodes"
        network = networks[0]
        published = [each for each in start.container.options if each.name in ("publish", "publish-all")]
        if published:
            place = published[0].span
            effect = f"other nodes reach only published ports, not those of NCCL or Gloo: {what} times out"
        else:
            place = start.place if network is None else network.span
            effect = f"other nodes cannot reach this container's own network: {what} times out"
        edits = _host_network(start, published)
        yield Finding(
            place,
            f"{effect}; write `--network=host`",
            None if certain else "warning",
            related=[] if place == start.place else [(start.place, "the container")],
            fix=Fix("use the node's network", edits) if edits else None,
        )


def _distributed_program(start: ContainerStart) -> tuple[str, Span, bool] | None:
    """The program that has to find workers on other nodes: name, place, and whether that is certain; or None."""
    for launch in start.launches:
        if _spans_nodes(launch):
            return launch.launcher.name, launch.launcher.span, True
    if start.launches or start.step is None or start.step.several_nodes is not True:
        return None
    passed = start.container.passed
    if ADDRESSES.isdisjoint(passed) or RANKS_AND_SIZES.isdisjoint(passed) or start.invocation.context.restricted:
        return None  # no address or no rank is passed, or only some tasks get here
    nodes = [text_of(value) for name in ("NNODES", "NUM_NODES", "PET_NNODES") if (value := passed.get(name))]
    if "1" in nodes:
        return None
    program = next((each for each in start.program if python_of(each) is not None), None)
    if program is not None and program.name is not None:
        return program.name, program.name_span, True
    return "the image's program", start.place, False


def _spans_nodes(launch: Launch) -> bool:
    """Whether a launcher's workers on several nodes have to find each other."""
    launcher, step = launch.launcher, launch.step
    if step is None or step.several_nodes is not True or launcher.standalone or not launcher.spawns:
        return False
    if launcher.kind == "ray" or launch.restricted and step.nodes is None:
        return False
    nodes = launcher.nnodes
    if isinstance(nodes, int):
        return nodes > 1
    if isinstance(nodes, tuple) and len(nodes) == 2 and isinstance(nodes[1], int):
        return nodes[1] > 1
    return nodes is not None


def _host_network(start: ContainerStart, published: list[CommandOption]) -> list[Edit]:
    added = start.added("--network=host") if start.container.option("network") is None else None
    words = [start.invocation.argv[at] for each in published for at in sorted({each.at, each.value_at})]
    edits = [added, *(remove_word(start.job, word) for word in words)]
    return [edit for edit in edits if edit is not None] if None not in edits else []


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2 --ntasks-per-node=1 --gres=gpu:8
        HEAD=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n1)
        srun «docker run» --rm --gpus all --shm-size=50G train:1 \\
            torchrun --nnodes=2 --nproc_per_node=8 --rdzv_backend=c10d --rdzv_endpoint=$HEAD:29500 train.py
        """,
        unsafe_fixed={"--rm": "--network=host --rm"},
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2 --ntasks-per-node=1 --gres=gpu:8
        srun bash -c 'docker run --rm --gpus all «-p» 29500:29500 \\
            -e NODE_RANK=$SLURM_NODEID train:1 \\
            bash -c "torchrun --nnodes=2 --node_rank=\\$NODE_RANK --nproc_per_node=8 --master_addr=n1 train.py"'
        """,
        unsafe_fixed={"--rm --gpus all -p 29500:29500": "--network=host --rm --gpus all"},
        title="one port is not enough",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=2 --ntasks-per-node=1 --gres=gpu:8
        srun docker run --rm --net=host --gpus all train:1 torchrun --nnodes=2 --nproc_per_node=8 train.py
        srun docker run --rm --network overlay-7 --gpus all train:1 torchrun --nnodes=2 --nproc_per_node=8 train.py
        srun -N1 -n1 docker run --rm -p 8000:8000 --gpus all train:1 torchrun --nproc_per_node=8 serve.py
        srun docker run --rm $DOCKER_ARGS train:1 torchrun --nnodes=2 --nproc_per_node=8 train.py
        """,
        title="the node's network, another one, one node, or unknown options",
    ),
]
