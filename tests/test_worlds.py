"""Worlds: on how many nodes a launcher is started, how many it is told, and how many processes that makes."""

from __future__ import annotations

import pytest

from sbatchlint.job import Job, Site
from sbatchlint.job.worlds import World, by_place, find_worlds, world_of
from sbatchlint.source.text import Source

HEAD = "#!/bin/bash\n#SBATCH --nodes=4 --ntasks-per-node=1 --gpus-per-node=8\n"


def job(body: str, head: str = HEAD) -> Job:
    return Job.from_source(Source(head + body + "\n", "job.sh"), Site())


def world(body: str, head: str = HEAD) -> World:
    (found,) = find_worlds(job(body, head))
    return found


@pytest.mark.parametrize(
    ("options", "least", "most", "of_job"),
    [
        ("", 1, 1, False),
        ("--nnodes=4", 4, 4, False),
        ("--nnodes=2:4", 2, 4, False),
        ("--nnodes $SLURM_NNODES", 4, 4, True),
        ("--nnodes ${SLURM_JOB_NUM_NODES:-1}", 4, 4, True),
        ("--nnodes $((SLURM_NNODES))", 4, 4, True),
        ("--nnodes $((SLURM_NNODES - 1))", 3, 3, False),
        ("--nnodes ${#NODES[@]}", None, None, True),
        ("--nnodes $(scontrol show hostnames $SLURM_JOB_NODELIST | wc -l)", None, None, True),
        ("--nnodes $(wc -l < hosts.txt)", None, None, False),
        ("--nnodes $1", None, None, False),
        ("$ARGS", None, None, False),
    ],
)
def test_the_nodes_that_a_launcher_is_told(options: str, least: int | None, most: int | None, of_job: bool) -> None:
    nodes = "NODES=($(scontrol show hostnames $SLURM_JOB_NODELIST))\n"
    asked = world(f"{nodes}srun torchrun {options} --nproc_per_node=8 train.py").nodes_setting
    assert (asked.least, asked.most, asked.of_job) == (least, most, of_job)


@pytest.mark.parametrize(
    ("body", "nodes", "starts", "size"),
    [
        ("srun torchrun --nnodes=4 --nproc_per_node=8 t.py", 4, 1, 32),
        ("srun torchrun --nproc_per_node=8 t.py", 4, 1, 8),
        ("srun torchrun --nnodes=4 --nproc_per_node=gpu t.py", 4, 1, 32),
        ("srun torchrun --nnodes=4 --nproc_per_node=cpu t.py", 4, 1, None),
        ("srun -N2 -n2 torchrun --nnodes=2 --nproc_per_node=8 t.py", 2, 1, 16),
        ("torchrun --nnodes=4 --nproc_per_node=8 t.py", 1, 1, 32),
        ("torchrun --standalone --nnodes=4 --nproc_per_node=8 t.py", 1, 1, 8),
        ("srun accelerate launch --num_machines 4 --num_processes 32 t.py", 4, 1, 32),
        ("srun accelerate launch --config_file c.yaml --num_processes 32 t.py", 4, 1, None),
        ("srun --ntasks-per-node=2 torchrun --nnodes=4 --nproc_per_node=8 t.py", None, None, 32),
        ("srun torchrun --nnodes=4 $ARGS t.py", 4, 1, None),
    ],
)
def test_where_it_is_started_and_how_large_it_is(
    body: str, nodes: int | None, starts: int | None, size: int | None
) -> None:
    found = world(body)
    if nodes is not None:
        assert (found.nodes, found.starts_per_node) == (nodes, starts)
    assert found.size == size


def test_mpirun_is_a_start_on_other_nodes() -> None:
    found = find_worlds(job("mpirun -np 4 --map-by ppr:1:node torchrun --nnodes=4 --nproc_per_node=8 t.py"))
    assert [(each.nodes, each.starts_per_node, each.in_batch_shell, each.size) for each in found] == [
        (1, 1, True, 4),
        (4, 1, False, 32),
    ]


def test_the_world_of_plain_programs_is_their_step() -> None:
    picture = job("srun --ntasks-per-node=8 -N4 python pretrain.py\npython one.py\nmpirun -np 8 python many.py")
    found = {each.argv[1][0].text: world_of(picture, each) for each in picture.invocations if each.name == "python"}
    assert {name: each.size for name, each in found.items()} == {"pretrain.py": None, "one.py": 1, "many.py": 8}
    picture = job("srun -n 32 bash -c 'python t.py'\nsrun -n4 -N4 torchrun --nproc_per_node=2 --nnodes=4 t.py")
    assert [world_of(picture, each).size for each in picture.invocations if each.name in ("python", "torchrun")] == [
        32,
        8,
    ]


@pytest.mark.parametrize(
    ("body", "apart"),
    [
        ("srun torchrun t.py", ""),
        ("srun bash -c 'if [ $SLURM_NODEID = 0 ]; then torchrun t.py; fi'", "restricted"),
        ("for h in $(scontrol show hostnames); do srun -N1 -n1 -w $h torchrun t.py; done", "loop"),
        ("for i in 1 2; do srun -N1 -n1 torchrun t.py & done", "loop"),
        ("for seed in 1 2; do srun torchrun t.py --seed $seed; done", ""),
        ("srun bash -c 'torchrun t.py --shard $SLURM_NODEID'", "sharded"),
        ("srun torchrun t.py --shard $SLURM_NODEID", "sharded"),
        ("srun bash -c 'export SHARD=$SLURM_NODEID; torchrun t.py'", "sharded"),
        ("srun bash -c 'export NODE_RANK=$SLURM_NODEID; torchrun t.py'", ""),
        ("srun bash -c 'export MASTER_ADDR=$(hostname) TRITON_CACHE_DIR=/tmp/$SLURM_NODEID; torchrun t.py'", ""),
        ("srun bash -c 'NODE_RANK=$SLURM_NODEID torchrun t.py'", ""),
        ("srun bash -c 'SHARD=$SLURM_NODEID torchrun t.py'", "sharded"),
        ("srun bash -c 'torchrun --node_rank=$SLURM_NODEID t.py'", ""),
        ("srun torchrun t.py --split $SLURM_ARRAY_TASK_ID", "sharded"),
        ("srun -N2 -n2 torchrun t.py", "part"),
    ],
)
def test_what_is_meant_to_be_one_of_several(body: str, apart: str) -> None:
    places = by_place(find_worlds(job(body)))
    assert [{each.isolation for each in place} for place in places] == [{apart}]


def test_a_range_of_nodes_is_more_than_one() -> None:
    head = HEAD.replace("--nodes=4", "--nodes=2-4")
    assert (world("srun torchrun t.py", head).nodes, world("srun torchrun t.py", head).several_nodes) == (None, True)
    assert world("srun torchrun t.py", HEAD.replace("--nodes=4", "--nodes=1-4")).several_nodes is None
