"""Workers on several nodes run in containers with a network of docker's own, and cannot reach each other.

Without `--network host` a container has a private address behind the node's. `-p 29500:29500` lets others reach one
port: the rendezvous may work, and then NCCL and Gloo connect on ports of their own, which nothing publishes. The job
waits until its time-out. Without `-p` it waits at the rendezvous.

Reported where a launcher that is told of several nodes runs in such a container in a step on several nodes, or a Python
program that is handed MASTER_ADDR and its rank. Networks with a name (an overlay, `container:…`) may reach over nodes,
and are left alone.

## Fix

`--network=host`, without the `-p` options, which mean nothing then. Unsafe: the program's ports become the node's, and
the firewall has to allow them.

## References

docker run manual, --network and --publish; NCCL_SOCKET_IFNAME in NCCL's manual.
"""

from __future__ import annotations

from collections.abc import Iterator

from sbatchlint.check import Bad, Card, Finding, Fix, Good, Job
from sbatchlint.triggers import Commands

CARD = Card(
    "SB510", "docker-network", severity="error", fix="sometimes", since="0.1.0",
    when=Commands("docker", "podman", "podman-hpc", "nerdctl"),
)  # fmt: skip


def check(job: Job) -> Iterator[Finding]:
    for each in job.bridged_launches():
        start = each.start
        line = job.line(each.place.start)
        nodes = start.step.nodes if start.step is not None else None
        network = start.container.option("network")
        place = start.place if network is None else network.span
        if each.published:
            place = each.published[0].span
            effect = "only the published ports are reached from other nodes, and NCCL and Gloo use others"
        else:
            effect = "no other node reaches it"
        yield Finding(
            place,
            f"{each.name} (line {line}) is to join {nodes} nodes from a container with a network of its own: "
            f"{effect}, so that the workers wait until they time out; write --network=host",
            related=[] if place == start.place else [(start.place, "the container")],
            fix=Fix("use the node's network", each.edits, safe=False) if each.edits else None,
        )


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2 --ntasks-per-node=1 --gres=gpu:8
        HEAD=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n1)
        srun «docker run» --rm --gpus all --shm-size=50G train:1 \\
            torchrun --nnodes=2 --nproc_per_node=8 --rdzv_backend=c10d --rdzv_endpoint=$HEAD:29500 train.py
        """,
        unsafe_fixed="""\
        #!/bin/bash
        #SBATCH --nodes=2 --ntasks-per-node=1 --gres=gpu:8
        HEAD=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n1)
        srun docker run --network=host --rm --gpus all --shm-size=50G train:1 \\
            torchrun --nnodes=2 --nproc_per_node=8 --rdzv_backend=c10d --rdzv_endpoint=$HEAD:29500 train.py
        """,
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2 --ntasks-per-node=1 --gres=gpu:8
        srun bash -c 'docker run --rm --gpus all «-p» 29500:29500 \\
            -e NODE_RANK=$SLURM_NODEID train:1 \\
            bash -c "torchrun --nnodes=2 --node_rank=\\$NODE_RANK --nproc_per_node=8 --master_addr=n1 train.py"'
        """,
        unsafe_fixed="""\
        #!/bin/bash
        #SBATCH --nodes=2 --ntasks-per-node=1 --gres=gpu:8
        srun bash -c 'docker run --network=host --rm --gpus all \\
            -e NODE_RANK=$SLURM_NODEID train:1 \\
            bash -c "torchrun --nnodes=2 --node_rank=\\$NODE_RANK --nproc_per_node=8 --master_addr=n1 train.py"'
        """,
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
        title="the node's network, another one, one node, or nobody knows",
    ),
]
