"""`plan --nodes N`: what does not follow the number of nodes."""

from __future__ import annotations

import json

import pytest

from conftest import Command

HEAD = "#!/bin/bash\n#SBATCH -N2 --ntasks-per-node=4 --gpus-per-node=4 -c 8 --time=10\n"
MEGATRON = """\
#!/bin/bash
#SBATCH -N2 --ntasks-per-node=1 --gpus-per-node=4 -c 8 --time=10
export MASTER_ADDR=$(scontrol show hostnames $SLURM_JOB_NODELIST | head -n1)
srun torchrun --nnodes=$SLURM_NNODES --nproc-per-node=4 --rdzv-backend=c10d --rdzv-endpoint=$MASTER_ADDR:29500 \\
    pretrain_gpt.py --tensor-model-parallel-size 2 --pipeline-model-parallel-size 4 \\
    --global-batch-size 100 --micro-batch-size 5
"""


@pytest.mark.parametrize(
    ("script", "nodes", "misfits"),
    [
        (f"{HEAD}srun python a.py\n", 8, []),
        (f"{HEAD}srun python a.py --num_nodes 2\n", 8, ["line 3: --num_nodes says 2, where the program has 8 nodes"]),
        (f"{HEAD}srun -N2 -n2 ./a\n", 8, ["line 3: srun stays on 2 of the 8 nodes"]),
        (f"{HEAD}srun --ntasks=8 ./a\n", 8, ["line 3: srun still starts 8 tasks"]),
        (f"{HEAD}srun -N1 -n1 ./a\n", 8, []),
        (
            f"{HEAD}export WORLD_SIZE=8\nsrun ./a\n",
            4,
            ["line 3: WORLD_SIZE stays 8, and there are 16 tasks"],
        ),
        (f"{HEAD}export WORLD_SIZE=$SLURM_NTASKS\nsrun ./a\n", 4, []),
        (f"{HEAD}#SBATCH --array=0-3\nsrun ./a\n", 4, ["each element of --array=0-3 takes 4 nodes"]),
        (MEGATRON, 8, []),
        (MEGATRON, 3, ["line 5: 12 processes do not divide into parts of 8, as the model is divided"]),
        (MEGATRON, 12, ["line 6: a global batch of 100 is not a multiple of 5 × 6 replicas of the model"]),
    ],
)
def test_misfits(command: Command, script: str, nodes: int, misfits: list[str]) -> None:
    command.write("job.sbatch", script)
    found = json.loads(command("plan", "--nodes", str(nodes), "--output-format", "json", "job.sbatch").out)
    assert found["misfits"] == misfits
    assert found["request"]["components"][0]["nodes"]["min"] == nodes


def test_tasks_keep_a_job_to_fewer_nodes(command: Command) -> None:
    """The line is told that has to change, and once; not each step that has no more nodes than its job."""
    command.write("job.sbatch", "#!/bin/bash\n#SBATCH -N2\n#SBATCH --ntasks=2\nsrun ./a\nsrun ./b\n")
    found = json.loads(command("plan", "--nodes", "3", "--output-format", "json", "job.sbatch").out)
    assert found["misfits"] == ["line 3: --ntasks=2 keeps the job to 2 nodes"]


def test_misfits_as_text(command: Command) -> None:
    command.write("job.sbatch", f"{HEAD}srun --ntasks=8 ./a\n")
    text = command("plan", "--nodes", "8", "job.sbatch").out
    assert text.endswith("  on 8 nodes:\n    line 3: srun still starts 8 tasks\n")
    assert "on 8 nodes:" not in command("plan", "job.sbatch").out


def test_restarts(command: Command) -> None:
    command.write("job.sbatch", MEGATRON.replace("--nproc", "--max-restarts=3 --nproc"))
    assert "restarts: 3 at most, of all its workers" in command("plan", "job.sbatch").out
