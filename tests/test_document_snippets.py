"""Shapes that are found in guides to Slurm: each fault is named once the snippet is put into a script, and those that
are right, however odd they look, are left alone. The scripts are our own; only the shape of the snippets is kept.
"""

from __future__ import annotations

from textwrap import dedent
from typing import NamedTuple

import pytest

from sbatchlint.engine import inspect
from sbatchlint.fix import fix_source
from sbatchlint.registry import registry
from sbatchlint.settings import Settings
from sbatchlint.source.text import Source


class Snippet(NamedTuple):
    """`code`: what must be found, on which `line` of the script (from 1)."""

    title: str
    code: str
    line: int
    script: str


FAULTY = [
    Snippet(
        "a node has eight GPUs, and the variable for the launcher says four",
        "SB310",
        6,
        """\
        #!/bin/bash
        #SBATCH --nodes=2 --ntasks-per-node=1
        #SBATCH --gres=gpu:8
        GPUS_PER_NODE=4
        HEAD=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)
        srun bash -c "torchrun --nnodes $SLURM_NNODES --nproc_per_node $GPUS_PER_NODE --rdzv_backend c10d \
            --rdzv_endpoint $HEAD:6000 train.py"
        """,
    ),
    Snippet(
        "a collective step is told to go on when a node fails",
        "SB323",
        4,
        """\
        #!/bin/bash
        #SBATCH --nodes=4
        #SBATCH --ntasks-per-node=8
        srun --no-kill --container-image=/images/train.sqsh python scripts/training/run_recipe.py --recipe small
        """,
    ),
    Snippet(
        "the old name of torchrun",
        "SB319",
        5,
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        #SBATCH --ntasks-per-node=1
        GPUS_PER_NODE=4
        srun bash -c 'python -m torch.distributed.launch --nproc_per_node='$GPUS_PER_NODE' --nnodes=$SLURM_NNODES \
            --node_rank=$SLURM_NODEID --master_addr=n1 --master_port=6000 train.py'
        """,
    ),
    Snippet(
        "an option of srun behind the string of the shell",
        "SB328",
        3,
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        srun --container-image=/images/train.sqsh bash -c "uv run python train.py" --no-container-mount-home
        """,
    ),
    Snippet(
        "eight tasks a node start a launcher that starts eight workers",
        "SB301",
        4,
        """\
        #!/bin/bash
        #SBATCH --nodes=4
        #SBATCH --gpus-per-node=8
        #SBATCH --ntasks-per-node=8
        HEAD=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n1)
        CMD="torchrun --nnodes=$SLURM_NNODES --nproc_per_node=8 --node_rank=\\$SLURM_PROCID"
        srun bash -c "$CMD --master_addr=$HEAD --master_port=29500 finetune.py"
        """,
    ),
    Snippet(
        "the launcher's text is expanded before srun starts the tasks",
        "SB401",
        4,
        """\
        #!/bin/bash
        #SBATCH --nodes=4
        #SBATCH --ntasks-per-node=1
        LAUNCHER="accelerate launch --machine_rank $SLURM_PROCID --num_machines $SLURM_NNODES --num_processes 32"
        srun bash -c "$LAUNCHER finetune.py"
        """,
    ),
    Snippet(
        "a rank is exported by the batch script",
        "SB402",
        4,
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        #SBATCH --ntasks-per-node=1
        export NODE_RANK=$SLURM_PROCID
        srun bash -c 'torchrun --nnodes=2 --node_rank=$NODE_RANK --master_addr=$HEAD finetune.py'
        """,
    ),
    Snippet(
        "the backslashes of an srun are lost",
        "SB411",
        4,
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        #SBATCH --ntasks-per-node=1
        srun --mpi=pmix -N 1 --ntasks=1
        --container-image="$IMAGE"
        --container-mounts="$MOUNTS"
        bash -c "cd $FOLDER && uv sync"
        """,
    ),
    Snippet(
        "quotes and dollars of a line that was copied out of a string",
        "SB407",
        3,
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        echo \\"starting \\$SLURM_JOB_ID\\"
        srun hostname
        """,
    ),
    Snippet(
        "quotes inside of the launcher's quotes",
        "SB412",
        5,
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        #SBATCH --ntasks-per-node=1
        LAUNCHER="accelerate launch \\
            --rdzv_conf "rdzv_backend=c10d,rdzv_endpoint=$HEAD:$PORT" \\
            --config_file settings.yaml --machine_rank \\$SLURM_PROCID \\
            "
        srun bash -c "$LAUNCHER finetune.py"
        """,
    ),
    Snippet(
        "a dollar before the name that is exported",
        "SB413",
        4,
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        #SBATCH --ntasks-per-node=1
        export $GPUS_ON_EACH=8
        LAUNCHER="torchrun --nproc_per_node $GPUS_ON_EACH --nnodes 2 --rdzv_endpoint $HEAD:29500 --rdzv_backend c10d"
        srun bash -c "$LAUNCHER finetune.py"
        """,
    ),
    Snippet(
        "a line of the launcher's string has no backslash",
        "SB411",
        6,
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        #SBATCH --ntasks-per-node=1
        LAUNCHER="python -m torch.distributed.run \\
            --nproc_per_node 8 --nnodes $SLURM_NNODES \\
            --node_rank \\$SLURM_PROCID
            --rdzv_endpoint $HEAD:$PORT \\
            --max_restarts 0 \\
            "
        CMD="$LAUNCHER finetune.py"
        srun --jobid $SLURM_JOBID bash -c "$CMD" 2>&1 | tee -a log.txt
        """,
    ),
    Snippet(
        "backquotes in the launcher's string",
        "SB403",
        5,
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        #SBATCH --ntasks-per-node=1
        LAUNCHER="torchrun --nnodes 2 --nproc_per_node 8 --rdzv_backend c10d --rdzv_endpoint $HEAD:$PORT \\
            --local_addr `hostname -s` \\
            "
        srun bash -c "$LAUNCHER finetune.py"
        """,
    ),
    Snippet(
        "a variable that nobody sets, in the launcher's numbers",
        "SB414",
        4,
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        #SBATCH --ntasks-per-node=1
        LAUNCHER="torchrun --nproc_per_node 8 --nnodes $NNODES --rdzv_backend c10d --rdzv_endpoint $HEAD:29500"
        srun bash -c "$LAUNCHER finetune.py"
        """,
    ),
    Snippet(
        "a test program is added to a file at every run",
        "SB416",
        3,
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        cat << END >> look.py
        import socket
        print(socket.gethostname())
        END
        chmod a+x ./look.py
        srun ./look.py
        """,
    ),
    Snippet(
        "a training script is written into the folder of the submission",
        "SB416",
        4,
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        #SBATCH --ntasks-per-node=1
        cat <<RUN > train_in_docker.sh
        #!/bin/bash
        torchrun --nnodes \\$SLURM_NTASKS --nproc_per_node 8 --node_rank \\$SLURM_PROCID finetune.py
        RUN
        srun bash -c "docker run --rm -v $PWD:/work -w /work image bash train_in_docker.sh"
        """,
    ),
    Snippet(
        "a training script reads Slurm's variables inside docker",
        "SB508",
        10,
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        #SBATCH --ntasks-per-node=1
        #SBATCH --gres=gpu:8
        cat <<RUN > train_in_docker.sh
        COUNT=\\${SLURM_NTASKS}
        torchrun --nnodes \\$COUNT --nproc_per_node 8 --node_rank \\${SLURM_PROCID} finetune.py
        RUN
        srun bash -c "
        docker run --rm \\\\
          --gpus all \\\\
          --network host \\\\
          -v /home/me/data:/data \\\\
          image:1.0 \\\\
          bash train_in_docker.sh
        "
        """,
    ),
    Snippet(
        "the options of the command line, for a launch on several nodes",
        "SB509",
        4,
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        #SBATCH --ntasks-per-node=1
        srun docker run --rm -it --gpus all -p 29500:29500 --shm-size=50G -e NNODES=2 image:1.0 bash /app/node.sh
        """,
    ),
    Snippet(
        "a port for a launch on several nodes",
        "SB510",
        5,
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        #SBATCH --ntasks-per-node=1
        srun bash -c 'docker run --rm --gpus all \\
          -p 29500:29500 --shm-size=50G -e NNODES=2 -e NODE_RANK=$SLURM_NODEID -e MASTER_ADDR=n1 -e NPROC_PER_NODE=8 \\
          image:1.0 bash -c "cd /app && megatron rlhf --load /models/m"'
        """,
    ),
    Snippet(
        "a variable of the steps in the batch script",
        "SB405",
        4,
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        #SBATCH --ntasks-per-node=1
        echo "GPUS=$SLURM_STEP_GPUS" > hostfile
        srun python finetune.py
        """,
    ),
    Snippet(
        "docker's local tag is given to pyxis",
        "SB505",
        3,
        """\
        #!/bin/bash
        #SBATCH --nodes=1 --gpus-per-node=8
        srun --container-image trainer:local --container-mounts $(pwd):/workspace --container-workdir /workspace ./go.sh
        """,
    ),
    Snippet(
        "a generated script asks Slurm in docker's container",
        "SB515",
        6,
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        #SBATCH --ntasks-per-node=1
        inside="/workspace/files"
        cat <<RUN > run.sh
        HEAD=\\$(scontrol show hostname \\$SLURM_NODELIST | head -n 1)
        torchrun --nnodes 2 --nproc_per_node 8 --rdzv_backend c10d --rdzv_endpoint \\$HEAD:6420 pretrain.py
        RUN
        srun docker run --rm --gpus all -v $PWD:${inside} -w ${inside} trainer bash run.sh
        """,
    ),
    Snippet(
        "a generated script lies where sbatch ran, and docker runs it in the mounted folder",
        "SB507",
        8,
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        outside="/home/team/project/"
        inside="/workspace/files"
        cat <<RUN > run.sh
        torchrun --nproc_per_node 8 pretrain.py
        RUN
        srun bash -c "docker run --rm -v ${outside}:${inside} -w ${inside} trainer bash run.sh"
        """,
    ),
    Snippet(
        "torchrun on several nodes gets their number and its node, and no place to meet",
        "SB305",
        6,
        """\
        #!/bin/bash
        #SBATCH --nodes=4
        #SBATCH --ntasks-per-node=1
        #SBATCH --gpus-per-node=8
        CMD="export HF_HOME=/shared/hf && \\
          torchrun --nproc_per_node=8 --nnodes=$SLURM_JOB_NUM_NODES --node_rank=\\$SLURM_NODEID finetune.py"
        srun --container-image=/shared/train.sqsh bash -c "$CMD"
        """,
    ),
    Snippet(
        "a node rank beside c10d",
        "SB320",
        7,
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        #SBATCH --ntasks-per-node=1
        #SBATCH --gres=gpu:8
        HEAD=$(scontrol show hostnames $SLURM_JOB_NODELIST | head -n 1)
        LAUNCHER="torchrun --nproc_per_node 8 --nnodes 2 \\
            --node_rank \\$SLURM_PROCID \\
            --rdzv_endpoint $HEAD:29500 --rdzv_backend c10d"
        srun bash -c "$LAUNCHER finetune.py"
        """,
    ),
    Snippet(
        "an address and a port beside an endpoint",
        "SB320",
        9,
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        #SBATCH --ntasks-per-node=1
        #SBATCH --gres=gpu:8
        export HEAD=$(scontrol show hostnames $SLURM_JOB_NODELIST | head -n 1)
        cat > run.sh <<'EOT'
        torchrun --nproc_per_node=8 \\
            --nnodes=$SLURM_NNODES \\
            --master_addr=$HEAD \\
            --rdzv_backend=c10d \\
            --rdzv_endpoint=$HEAD:6420 \\
            finetune.py
        EOT
        srun bash run.sh
        """,
    ),
    Snippet(
        "eight tasks a node, each of which takes its number for that of its node",
        "SB308",
        7,
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        #SBATCH --ntasks-per-node=8
        #SBATCH --gpus-per-node=8
        CMD="torchrun --nproc_per_node=8"
        CMD="$CMD --nnodes=$SLURM_JOB_NUM_NODES"
        CMD="$CMD --node_rank=\\$SLURM_PROCID"
        CMD="$CMD --master_addr=$(hostname) --master_port=29500"
        srun bash -c "$CMD finetune.py"
        """,
    ),
    Snippet(
        "the number of nodes is changed above, and forgotten below",
        "SB304",
        5,
        """\
        #!/bin/bash
        #SBATCH --nodes=32
        #SBATCH --ntasks-per-node=1
        HEAD=$(scontrol show hostnames $SLURM_JOB_NODELIST | head -n 1)
        LAUNCHER="torchrun --nnodes=64 --nproc_per_node=8 --rdzv_backend=c10d --rdzv_endpoint=$HEAD:29500"
        srun $LAUNCHER finetune.py
        """,
    ),
    Snippet(
        "a launcher on the first node alone",
        "SB312",
        5,
        """\
        #!/bin/bash
        #SBATCH --nodes=4
        #SBATCH --gpus-per-node=8
        HEAD=$(scontrol show hostnames $SLURM_JOB_NODELIST | head -n 1)
        torchrun --nnodes=4 --nproc_per_node=8 --rdzv_backend=c10d --rdzv_endpoint=$HEAD:29500 finetune.py
        """,
    ),
    Snippet(
        "a world that the experts' grid does not divide",
        "SB325",
        6,
        """\
        #!/bin/bash
        #SBATCH --nodes=2 --ntasks-per-node=1 --gpus-per-node=8
        export NNODES=2 NPROC_PER_NODE=8 MASTER_ADDR=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n1)
        srun bash -c 'NODE_RANK=$SLURM_NODEID megatron rlhf --rlhf_type dpo --load ckpt \\
            --pipeline_model_parallel_size 2 --tensor_model_parallel_size 4 \\
            --expert_model_parallel_size 6 --expert_tensor_parallel_size 1 --global_batch_size 16'
        """,
    ),
    Snippet(
        "every node is told that it is the first",
        "SB316",
        4,
        """\
        #!/bin/bash
        #SBATCH --nodes=2 --ntasks-per-node=1 --gpus-per-node=8
        srun docker run --rm --gpus all --shm-size=50G -v $PWD:/app -e NNODES=2 \\
            -e NODE_RANK=0 -e MASTER_ADDR=node1 -e MASTER_PORT=29500 -e NPROC_PER_NODE=8 swift:3.7 \\
            bash -c "cd /app && megatron rlhf --rlhf_type dpo --load ckpt"
        """,
    ),
    Snippet(
        "WORLD_SIZE is exported, and torchrun sets it itself",
        "SB324",
        5,
        """\
        #!/bin/bash
        #SBATCH --nodes=2 --ntasks-per-node=1 --gpus-per-node=8
        export MASTER_ADDR=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n1)
        export NNODES=$SLURM_NNODES GPUS_PER_NODE=8
        export WORLD_SIZE=$((NNODES * GPUS_PER_NODE))
        srun --ntasks=$NNODES --ntasks-per-node=1 bash -c 'uv run python -m torch.distributed.run \\
            --nnodes='"$NNODES"' --nproc-per-node='"$GPUS_PER_NODE"' --node-rank=$SLURM_NODEID \\
            --master-addr='"$MASTER_ADDR"' pretrain_gpt.py --bf16'
        """,
    ),
    Snippet(
        "the number of nodes is called WORLD_SIZE",
        "SB324",
        4,
        """\
        #!/bin/bash
        #SBATCH --nodes=2 --ntasks-per-node=1 --gpus-per-node=4
        cat > run.sh <<EOF
        WORLD_SIZE=\\${SLURM_NTASKS}
        RANK=\\${SLURM_PROCID}
        ARGS=(--nproc_per_node 4 --nnodes \\$WORLD_SIZE --node_rank \\$RANK --master_addr $(hostname))
        torchrun "\\${ARGS[@]}" pretrain_gpt.py --bf16
        EOF
        srun bash run.sh
        """,
    ),
    Snippet(
        "one queue for FSDP",
        "SB327",
        3,
        """\
        #!/bin/bash
        #SBATCH --nodes=1 --gpus-per-node=h100:8
        export CUDA_DEVICE_MAX_CONNECTIONS=1
        torchrun --standalone --nproc_per_node=8 pretrain_gpt.py --use-torch-fsdp2 --num-layers 8 --hidden-size 64
        """,
    ),
    Snippet(
        "tokens are exported once more in the text of a step",
        "SB902",
        5,
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        #SBATCH --ntasks-per-node=8
        COMMAND="export NCCL_NVLS_ENABLE=0 && \\
        export HF_TOKEN=$HF_TOKEN && \\
        export HF_HOME=$HF_HOME && \\
        cd $PROJECT && python finetune.py"
        srun --container-image=train.sqsh bash -c "$COMMAND"
        """,
    ),
    Snippet(
        "every task logs in with a key that the host expands",
        "SB902",
        5,
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        #SBATCH --ntasks-per-node=8
        COMMAND="cd $PROJECT && \\
        wandb login $WANDB_API_KEY &&
        uv run --no-sync python finetune.py"
        srun --container-image=train.sqsh bash -c "$COMMAND"
        """,
    ),
    Snippet(
        "a traced script sets a key",
        "SB902",
        3,
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        set -ex
        export WANDB_API_KEY=$(cat ~/.wandb)
        srun python finetune.py
        """,
    ),
    Snippet(
        "seven of eight tasks sleep while one syncs",
        "SB606",
        4,
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        #SBATCH --ntasks-per-node=8
        COMMAND="if [ \\"\\$SLURM_LOCALID\\" -eq 0 ]; then uv sync; else sleep 10; fi && "
        COMMAND="${COMMAND}uv run --no-sync python finetune.py"
        srun --container-image=train.sqsh bash -c "$COMMAND"
        """,
    ),
    Snippet(
        "a plain uv run in each of eight tasks",
        "SB606",
        4,
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        #SBATCH --ntasks-per-node=8
        srun --container-image=train.sqsh bash -c "cd $PROJECT && uv run python finetune.py"
        """,
    ),
    Snippet(
        "torchrun is not started through uv",
        "SB607",
        5,
        """\
        #!/bin/bash
        #SBATCH --nodes=1 --gpus-per-node=8
        srun --ntasks=1 uv sync
        # the training itself
        srun --ntasks=1 torchrun --nproc_per_node=8 finetune.py
        """,
    ),
    Snippet(
        "Megatron's script runs without its folder on the path",
        "SB608",
        3,
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        COMMAND="cd $PROJECT && torchrun --nproc_per_node=8 3rdparty/Megatron-LM/pretrain_gpt.py --bf16"
        srun bash -c "$COMMAND"
        """,
    ),
    Snippet(
        "old runs are removed by a job that is requeued",
        "SB811",
        4,
        """\
        #!/bin/bash
        #SBATCH --nodes=2 --requeue
        #SBATCH --ntasks-per-node=8
        rm -rf nemo_experiments
        srun python scripts/training/run_recipe.py --recipe llama3_8b_pretrain
        """,
    ),
    Snippet(
        "logs on a path of one node",
        "SB604",
        3,
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        #SBATCH --output=/tmp/logs/%x-%j.out
        srun python finetune.py
        """,
    ),
]

# Nothing of SB3 and SB4 is said of these.
RIGHT = {
    "TP 4, PP 2 and EP 8 on 16 processes: EP is no factor of the world": """\
        #!/bin/bash
        #SBATCH --nodes=2 --ntasks-per-node=1 --gpus-per-node=8
        export NNODES=2 NPROC_PER_NODE=8 MASTER_ADDR=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n1)
        srun bash -c 'NODE_RANK=$SLURM_NODEID megatron rlhf --rlhf_type dpo --load ckpt \\
            --pipeline_model_parallel_size 2 --tensor_model_parallel_size 4 --expert_tensor_parallel_size 1 \\
            --expert_model_parallel_size 8 --global_batch_size 16 --micro_batch_size 1'
        """,
    "single quotes with splices of double-quoted variables": """\
        #!/bin/bash
        #SBATCH --nodes=4
        #SBATCH --ntasks-per-node=1
        #SBATCH --gpus-per-node=8
        set -euo pipefail
        export HEAD=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n1)
        export PORT=${PORT:-29500}
        export NNODES=${SLURM_NNODES}
        export GPUS=8
        srun --ntasks=${NNODES} --ntasks-per-node=1 bash -c '
        # one launcher on each node
        RANK_OF_NODE=${SLURM_NODEID}
        uv run python -m torch.distributed.run \\
        --nnodes='"${NNODES}"' \\
        --nproc-per-node='"${GPUS}"' \\
        --node-rank=${RANK_OF_NODE} \\
        --master-addr='"${HEAD}"' \\
        --master-port='"${PORT}"' \\
        finetune.py
        '
        """,
    "the launcher in an exported variable, the rank in single quotes": """\
        #!/bin/bash
        #SBATCH --nodes=2
        #SBATCH --ntasks-per-node=1
        #SBATCH --gres=gpu:8
        NODES=2
        HEAD=$(scontrol show hostnames $SLURM_JOB_NODELIST | head -n 1)
        export LAUNCHER="python -u -m torch.distributed.run \\
            --nproc_per_node 8 \\
            --nnodes $NODES \\
            --master_addr $HEAD \\
            --master_port 6000 \\
            "
        export SCRIPT=finetune.py
        echo $LAUNCHER --node_rank $SLURM_PROCID $SCRIPT
        srun --jobid $SLURM_JOBID bash -c '$LAUNCHER --node_rank $SLURM_PROCID $SCRIPT'
        """,
    "doubled backslashes at the ends of the lines of a double-quoted program": """\
        #!/bin/bash
        #SBATCH --nodes=2
        #SBATCH --ntasks-per-node=1
        srun bash -c "
        docker run --rm \\\\
          --gpus all \\\\
          --network host \\\\
          -v $HOME/data:/data \\\\
          image:1.0 \\\\
          bash /data/run.sh
        "
        """,
    "lines of a double-quoted program that end in &&, with and without a backslash": """\
        #!/bin/bash
        #SBATCH --nodes=2
        #SBATCH --ntasks-per-node=1
        WORK="
        export NCCL_NVLS_ENABLE=0 && \\
        export UV_CACHE_DIR=$UV_CACHE_DIR &&
        cd $FOLDER && \\
        hostname
        "
        srun bash -c "$WORK"
        """,
    "single quotes with backquotes and awk inside": """\
        #!/bin/bash
        #SBATCH --nodes=4
        srun --gres=gpu:0 --tasks-per-node=1 --output=trace-%N.out sh -c \\
            'ps aux | grep python | grep `whoami` | awk "{print \\$2}" | xargs -I {} py-spy dump --pid {}'
        """,
}

KNOWN = {entry.code for entry in registry().entries}
FOUND = [each for each in FAULTY if each.code in KNOWN]


def source_of(script: str) -> Source:
    return Source(dedent(script), "job.sh")


@pytest.mark.parametrize("snippet", FOUND, ids=[f"{each.code} {each.title}" for each in FOUND])
def test_a_faulty_snippet_is_found_on_its_line(snippet: Snippet) -> None:
    source = source_of(snippet.script)
    found = inspect(source, Settings.of_table({})).diagnostics
    lines = {source.row(each.span.start) for each in found if each.code == snippet.code}
    assert lines == {snippet.line}


@pytest.mark.parametrize("title", RIGHT)
def test_a_right_snippet_is_left_alone(title: str) -> None:
    source = source_of(RIGHT[title])
    found = inspect(source, Settings.of_table({})).diagnostics
    of_interest = [each for each in found if each.code.startswith(("SB3", "SB4")) and each.severity != "info"]
    assert [each.message for each in of_interest] == []


@pytest.mark.parametrize("snippet", FOUND, ids=[f"{each.code} {each.title}" for each in FOUND])
def test_what_the_fixes_of_a_snippet_leave_is_no_worse(snippet: Snippet) -> None:
    """What --fix makes of it is stable, and has no finding that was not there before."""
    source = source_of(snippet.script)
    before = inspect(source, Settings.of_table({})).diagnostics
    fixed = fix_source(source, Settings.of_table({}), unsafe=True).source
    after = inspect(fixed, Settings.of_table({})).diagnostics
    assert {each.code for each in after if each.severity == "error"} <= {each.code for each in before}
    assert fix_source(fixed, Settings.of_table({}), unsafe=True).source.text == fixed.text
