"""Conversions: what a script is, what becomes of it, and what is needed to run that.

tests/slurm/test_convert_live.py runs each of them with the real launchers.
"""

from __future__ import annotations

from typing import NamedTuple

MEETING = """\
export MASTER_ADDR=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)
export MASTER_PORT=$((20000 + SLURM_JOB_ID % 10000))
"""
CPUS = '--cpus-per-task="$SLURM_CPUS_PER_TASK"'
RANKS = (
    "bash -c 'export RANK=$SLURM_PROCID LOCAL_RANK=$SLURM_LOCALID WORLD_SIZE=$SLURM_NTASKS "
    'LOCAL_WORLD_SIZE=$SLURM_NTASKS_PER_NODE; exec "$@"\' bash'
)


class Case(NamedTuple):
    """`needs`: what has to be installed to run the conversion; `processes`: how many find each other then.

    `code`: 1 where something is left to do. `file`: name and text of one beside the script. `starts`: how often such
    processes start, one group after the other.
    """

    before: str
    options: str
    after: str
    needs: str = ""
    processes: int = 4
    code: int = 0
    file: tuple[str, str] | None = None
    starts: int = 1


CASES = {
    "torchrun": Case(
        "#!/bin/bash\ntorchrun --standalone --nproc_per_node=2 train.py --config base.yaml --tag 'run 1'\n",
        "--nodes 2 --cpus-per-node 4 --set time=5",
        f"""\
#!/bin/bash
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=1
#SBATCH --gpus-per-node=2
#SBATCH --cpus-per-task=4
#SBATCH --time=5
{MEETING}srun --kill-on-bad-exit=1 {CPUS} bash -c 'exec torchrun --node_rank="$SLURM_NODEID" "$@"' \\
    torchrun --nnodes="$SLURM_JOB_NUM_NODES" --master_addr="$MASTER_ADDR" --master_port="$MASTER_PORT" \
--nproc_per_node=2 train.py --config base.yaml --tag 'run 1'
""",
        "torch",
    ),
    "one-after-the-other": Case(
        """\
#!/bin/bash
#SBATCH --gres=gpu:2 -c 4 --time=5
ARGS=(--nproc_per_node=2 --nnodes 1 --master_addr localhost)
torchrun "${ARGS[@]}" train.py --lr 1
for part in 1 2; do
    echo part $part
    torchrun "${ARGS[@]}" train.py --evaluate
done
""",
        "--nodes 2",
        f"""\
#!/bin/bash
#SBATCH --gres=gpu:2 -c 4 --time=5
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=1
{MEETING}ARGS=(--nproc_per_node=2 --nnodes "$SLURM_JOB_NUM_NODES" --master_addr "$MASTER_ADDR")
srun --kill-on-bad-exit=1 {CPUS} bash -c 'exec torchrun --node_rank="$SLURM_NODEID" "$@"' \\
    torchrun --master_port="$MASTER_PORT" "${{ARGS[@]}}" train.py --lr 1
for part in 1 2; do
    echo part $part
    srun --kill-on-bad-exit=1 {CPUS} bash -c 'exec torchrun --node_rank="$SLURM_NODEID" "$@"' \\
        torchrun --master_port="$MASTER_PORT" "${{ARGS[@]}}" train.py --evaluate
done
""",
        "torch",
        starts=3,
    ),
    "c10d": Case(
        """\
#!/bin/bash
#SBATCH --gres=gpu:2 --exclusive --time=5
torchrun --rdzv-backend=c10d --rdzv-endpoint=localhost:0 --nnodes=1:4 --nproc-per-node=gpu train.py
""",
        "--nodes 2 --gpus-per-node 2",
        f"""\
#!/bin/bash
#SBATCH --gres=gpu:2 --exclusive --time=5
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=1
{MEETING}srun --kill-on-bad-exit=1 torchrun --rdzv-backend=c10d --rdzv-endpoint="$MASTER_ADDR:$MASTER_PORT" \
--rdzv-id="$SLURM_JOB_ID" --nnodes="$SLURM_JOB_NUM_NODES" --nproc-per-node=2 train.py
""",
        "torch",
    ),
    "variables": Case(
        """\
#!/bin/bash
#SBATCH --time=5 --cpus-per-task=4 --gpus=2
GPUS_PER_NODE=2
MASTER_ADDR=localhost
MASTER_PORT=6000
NUM_NODES=1
NODE_RANK=0
DISTRIBUTED_ARGS=(--nproc_per_node $GPUS_PER_NODE --nnodes $NUM_NODES --node_rank $NODE_RANK --master_addr \
$MASTER_ADDR --master_port $MASTER_PORT)
MODEL_ARGS=(--num-layers 24 --global-batch-size 256)
torchrun ${DISTRIBUTED_ARGS[@]} train.py ${MODEL_ARGS[@]}
echo trained once
""",
        "--nodes 2",
        f"""\
#!/bin/bash
#SBATCH --time=5 --cpus-per-task=4
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=1
#SBATCH --gpus-per-node=2
GPUS_PER_NODE=2
MASTER_ADDR=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)
MASTER_PORT=6000
NUM_NODES="$SLURM_JOB_NUM_NODES"
NODE_RANK=0
DISTRIBUTED_ARGS=(--nproc_per_node $GPUS_PER_NODE --nnodes $NUM_NODES --master_addr $MASTER_ADDR --master_port \
$MASTER_PORT)
MODEL_ARGS=(--num-layers 24 --global-batch-size 256)
srun --kill-on-bad-exit=1 {CPUS} bash -c 'exec torchrun --node_rank="$SLURM_NODEID" "$@"' \\
    torchrun ${{DISTRIBUTED_ARGS[@]}} train.py ${{MODEL_ARGS[@]}}
echo trained once
""",
        "torch",
    ),
    "accelerate": Case(
        """\
#!/bin/bash
#SBATCH -N 1
#SBATCH --gres=gpu:2
#SBATCH -c 4
#SBATCH --time=5
set -euo pipefail
if [ -n "${RESUME:-}" ]; then EXTRA="--resume"; fi
srun -N1 -n1 accelerate launch \\
    --multi_gpu \\
    --num_processes 2 \\
    --num_machines 1 \\
    train.py --lr 1e-4 ${EXTRA:-}
""",
        "--nodes 2",
        f"""\
#!/bin/bash
#SBATCH -N 2
#SBATCH --gres=gpu:2
#SBATCH -c 4
#SBATCH --time=5
#SBATCH --ntasks-per-node=1
set -euo pipefail
if [ -n "${{RESUME:-}}" ]; then EXTRA="--resume"; fi
{MEETING}srun {CPUS} bash -c 'exec accelerate launch --machine_rank="$SLURM_NODEID" "$@"' \\
    accelerate --main_process_ip="$MASTER_ADDR" --main_process_port="$MASTER_PORT" \\
    --multi_gpu \\
    --num_processes "$((SLURM_JOB_NUM_NODES * 2))" \\
    --num_machines "$SLURM_JOB_NUM_NODES" \\
    train.py --lr 1e-4 ${{EXTRA:-}}
""",
        "accelerate",
    ),
    "to-tasks": Case(
        "#!/bin/bash\n#SBATCH --cpus-per-task=4 --time=5\ntorchrun --nproc_per_node=2 train.py --tag 'run 1'\n",
        "--nodes 2 --to srun",
        f"""\
#!/bin/bash
#SBATCH --cpus-per-task=2 --time=5
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=2
#SBATCH --gpus-per-node=2
{MEETING}srun --kill-on-bad-exit=1 {CPUS} {RANKS} python -u train.py --tag 'run 1'
""",
        "torch",
    ),
    "to-torchrun": Case(
        f"""\
#!/bin/bash
#SBATCH --nodes=2 --ntasks-per-node=2 --gpus-per-node=2 --cpus-per-task=2
#SBATCH --time=5
{MEETING}srun bash -c 'RANK=$SLURM_PROCID LOCAL_RANK=$SLURM_LOCALID WORLD_SIZE=$SLURM_NTASKS python train.py --amp'
""",
        "--nodes 2 --to torchrun",
        f"""\
#!/bin/bash
#SBATCH --nodes=2 --ntasks-per-node=1 --gpus-per-node=2 --cpus-per-task=4
#SBATCH --time=5
{MEETING}srun --kill-on-bad-exit=1 {CPUS} bash -c 'exec torchrun --node_rank="$SLURM_NODEID" "$@"' \
torchrun --nnodes="$SLURM_JOB_NUM_NODES" --master_addr="$MASTER_ADDR" --master_port="$MASTER_PORT" \
--nproc_per_node=2 train.py --amp
""",
        "torch",
    ),
    "deepspeed": Case(
        """\
#!/bin/bash
#SBATCH --gres=gpu:2 -c 4 --time=5
deepspeed --include localhost:0,1 --master_port 29511 train.py --deepspeed ds.json
""",
        "--nodes 2",
        f"""\
#!/bin/bash
#SBATCH --gres=gpu:2 -c 4 --time=5
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=1
{MEETING.replace("$((20000 + SLURM_JOB_ID % 10000))", "29511")}\
srun --kill-on-bad-exit=1 {CPUS} bash -c 'exec torchrun --node_rank="$SLURM_NODEID" "$@"' \\
    torchrun --nnodes="$SLURM_JOB_NUM_NODES" --master_addr="$MASTER_ADDR" --master_port="$MASTER_PORT" \
--nproc_per_node=2 --no_python bash -c 'exec python -u "$0" --local_rank="$LOCAL_RANK" "$@"' \
train.py --deepspeed ds.json
""",
        "torch",
    ),
    "deepspeed-to-tasks": Case(
        "#!/bin/bash\n#SBATCH --gres=gpu:2 -c 4 --time=5\ndeepspeed --num_gpus 2 train.py --deepspeed ds.json\n",
        "--nodes 2 --to srun",
        f"""\
#!/bin/bash
#SBATCH --gres=gpu:2 -c 2 --time=5
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=2
{MEETING}srun --kill-on-bad-exit=1 {CPUS} {RANKS.partition("exec")[0]}exec python -u "$0" \
--local_rank="$LOCAL_RANK" "$@"\' train.py --deepspeed ds.json
""",
    ),
    "to-deepspeed": Case(
        "#!/bin/bash\n#SBATCH -c 4 --time=5\ntorchrun --nproc_per_node=2 train.py --lr 1\n",
        "--nodes 2 --to deepspeed",
        f"""\
#!/bin/bash
#SBATCH -c 4 --time=5
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=1
#SBATCH --gpus-per-node=2
{MEETING}scontrol show hostnames "$SLURM_JOB_NODELIST" | sed 's/$/ slots=2/' > "hostfile.$SLURM_JOB_ID"
srun --kill-on-bad-exit=1 {CPUS} bash -c 'exec deepspeed --node_rank="$SLURM_NODEID" "$@"' \\
    deepspeed --hostfile="hostfile.$SLURM_JOB_ID" --no_ssh --no_local_rank --num_nodes="$SLURM_JOB_NUM_NODES" \
--num_gpus=2 --master_addr="$MASTER_ADDR" --master_port="$MASTER_PORT" train.py --lr 1
""",
        "deepspeed",
        code=1,
    ),
    "to-accelerate": Case(
        "#!/bin/bash\n#SBATCH -c 4 --time=5\npython -m torch.distributed.run --nproc_per_node=2 train.py --lr 1\n",
        "--nodes 2 --to accelerate",
        f"""\
#!/bin/bash
#SBATCH -c 4 --time=5
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=1
#SBATCH --gpus-per-node=2
{MEETING}srun --kill-on-bad-exit=1 {CPUS} bash -c 'exec python -m accelerate.commands.launch \
--machine_rank="$SLURM_NODEID" "$@"' \\
    accelerate --multi_gpu --num_machines="$SLURM_JOB_NUM_NODES" --num_processes="$((SLURM_JOB_NUM_NODES * 2))" \
--main_process_ip="$MASTER_ADDR" --main_process_port="$MASTER_PORT" train.py --lr 1
""",
        "accelerate",
    ),
    "split-string": Case(
        """\
#!/bin/bash
#SBATCH --gres=gpu:2 -c 4 --time=5
LAUNCHER="python -m torch.distributed.run --nproc_per_node=2 --nnodes=1 --node_rank=0"
$LAUNCHER train.py --tag 'run 1'
""",
        "--nodes 2",
        f"""\
#!/bin/bash
#SBATCH --gres=gpu:2 -c 4 --time=5
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=1
{MEETING}LAUNCHER="python -m torch.distributed.run --nproc_per_node=2 --nnodes=$SLURM_JOB_NUM_NODES"
srun --kill-on-bad-exit=1 {CPUS} bash -c 'exec "${{@:1:3}}" --node_rank="$SLURM_NODEID" \
--master_addr="$MASTER_ADDR" --master_port="$MASTER_PORT" "${{@:4}}"' bash $LAUNCHER train.py --tag 'run 1'
""",
        "torch",
    ),
    "evaluated-string": Case(
        """\
#!/bin/bash
#SBATCH --gres=gpu:2 -c 4 --time=5
CMD="torchrun --nproc_per_node=2 train.py --tag \\"run 1\\" --lr 3"
eval "$CMD"
""",
        "--nodes 2",
        """\
#!/bin/bash
#SBATCH --gres=gpu:2 -c 4 --time=5
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=1
"""
        + MEETING
        + r"""CMD="srun --kill-on-bad-exit=1 --cpus-per-task=\"\$SLURM_CPUS_PER_TASK\" bash -c 'exec torchrun \
--node_rank=\"\$SLURM_NODEID\" --nnodes=\"\$SLURM_JOB_NUM_NODES\" --master_addr=\"\$MASTER_ADDR\" \
--master_port=\"\$MASTER_PORT\" \"\$@\"' torchrun --nproc_per_node=2 train.py --tag \"run 1\" --lr 3"
eval "$CMD"
""".replace("\\\n", ""),
        "torch",
    ),
    "defaults-in-a-function": Case(
        """\
#!/bin/bash
#SBATCH --gres=gpu:2 -c 4 --time=5
NNODES=${NNODES:-1}
train() {
    torchrun --nnodes=$NNODES --node_rank=${NODE_RANK:-0} --master_addr=${MASTER_ADDR:-localhost} \\
        --master_port=29500 --nproc_per_node=${GPUS:-2} train.py "$@"
}
train --lr 1
""",
        "--nodes 2",
        f"""\
#!/bin/bash
#SBATCH --gres=gpu:2 -c 4 --time=5
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=1
NNODES=${{NNODES:-"$SLURM_JOB_NUM_NODES"}}
train() {{
    srun --kill-on-bad-exit=1 {CPUS} bash -c 'exec torchrun --node-rank="$SLURM_NODEID" "$@"' \\
        torchrun --nnodes=$NNODES --master_addr=${{MASTER_ADDR:-$(scontrol show hostnames "$SLURM_JOB_NODELIST" \
| head -n 1)}} \\
        --master_port=29500 --nproc_per_node=${{GPUS:-2}} train.py "$@"
}}
train --lr 1
""",
        "torch",
    ),
    "swift": Case(
        """\
#!/bin/bash
#SBATCH --gres=gpu:2 -c 4 --time=5
NPROC_PER_NODE=2 \\
CUDA_VISIBLE_DEVICES=0,1 \\
swift sft --model a
""",
        "--nodes 2",
        f"""\
#!/bin/bash
#SBATCH --gres=gpu:2 -c 4 --time=5
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=1
export NNODES=$SLURM_JOB_NUM_NODES
{MEETING}NPROC_PER_NODE=2 \\
srun --kill-on-bad-exit=1 {CPUS} bash -c 'export NODE_RANK="$SLURM_NODEID"; exec swift sft "$@"' \\
    swift --model a
""",
        "swift",
    ),
    "lightning": Case(
        """\
#!/bin/bash
#SBATCH --gres=gpu:2 -c 4 --time=5
python train_lightning.py --trainer.devices 2 --trainer.num_nodes 1
""",
        "--nodes 2",
        f"""\
#!/bin/bash
#SBATCH --gres=gpu:2 -c 2 --time=5
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=2
srun --kill-on-bad-exit=1 {CPUS} python train_lightning.py --trainer.devices 2 \
--trainer.num_nodes "$SLURM_JOB_NUM_NODES"
""",
        "lightning",
    ),
    "jax": Case(
        """\
#!/bin/bash
#SBATCH --gres=gpu:2 -c 4 --time=5
srun -n1 python train_jax.py
""",
        "--nodes 2",
        f"""\
#!/bin/bash
#SBATCH --gres=gpu:2 -c 2 --time=5
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=2
srun {CPUS} python train_jax.py
""",
        "jax",
        file=("train_jax.py", "import jax\njax.distributed.initialize()\n"),
    ),
    "staging": Case(
        """\
#!/bin/bash
#SBATCH --gres=gpu:2 -c 4 --time=5
mkdir -p /dev/shm/sbatchlint-staged
cp train.py /dev/shm/sbatchlint-staged/words
torchrun --nproc_per_node=2 train.py --data /dev/shm/sbatchlint-staged/words
rm -r /dev/shm/sbatchlint-staged
""",
        "--nodes 2",
        f"""\
#!/bin/bash
#SBATCH --gres=gpu:2 -c 4 --time=5
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=1
srun --ntasks=$SLURM_JOB_NUM_NODES --ntasks-per-node=1 {CPUS} mkdir -p /dev/shm/sbatchlint-staged
srun --ntasks=$SLURM_JOB_NUM_NODES --ntasks-per-node=1 {CPUS} cp train.py /dev/shm/sbatchlint-staged/words
{MEETING}srun --kill-on-bad-exit=1 {CPUS} bash -c 'exec torchrun --node_rank="$SLURM_NODEID" "$@"' \\
    torchrun --nnodes="$SLURM_JOB_NUM_NODES" --master_addr="$MASTER_ADDR" --master_port="$MASTER_PORT" \
--nproc_per_node=2 train.py --data /dev/shm/sbatchlint-staged/words
rm -r /dev/shm/sbatchlint-staged
""",
        "torch",
    ),
    "more-tasks": Case(
        f"""\
#!/bin/bash
#SBATCH --nodes=1
#SBATCH --ntasks=2
#SBATCH --gpus=2
#SBATCH --cpus-per-task=2   # cores
#SBATCH --time=5
{MEETING}srun --ntasks=2 --cpus-per-task=2 python train_slurm.py
""",
        "--nodes 2",
        f"""\
#!/bin/bash
#SBATCH --nodes=2
#SBATCH --cpus-per-task=2   # cores
#SBATCH --time=5
#SBATCH --ntasks-per-node=2
#SBATCH --gpus-per-node=2
{MEETING}srun {CPUS} python train_slurm.py
""",
    ),
}
