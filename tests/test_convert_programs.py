"""`convert` of programs that find each other without a launcher of PyTorch, or by a file of options.

tests/slurm/test_convert_live.py runs them.
"""

from __future__ import annotations

import pytest

import in_bash
from convert_cases import CPUS, MEETING, RANKS, Case
from in_bash import Converting

command = in_bash.command

NODES = "#SBATCH --nodes=2\n#SBATCH --ntasks-per-node={}\n"
HEADER = "#!/bin/bash\n#SBATCH --gres=gpu:2 -c 4 --time=5\n"
ONE = "export CUDA_DEVICE_MAX_CONNECTIONS=1\n"
# The devices of a node belong to the one process that it has.
OF_NODE = """\
import jax
from jax._src.distributed import global_state
from train import name, write

jax.distributed.initialize(local_device_ids=[0, 1], initialization_timeout=20)
client = global_state.client
client.key_value_set(f"name/{global_state.process_id}", name())
names = [client.blocking_key_value_get(f"name/{rank}", 10_000) for rank in range(global_state.num_processes)]
write(global_state.process_id, global_state.num_processes, None, names)
jax.distributed.shutdown()
"""
OPTIONS = """\
compute_environment: LOCAL_MACHINE
distributed_type: MULTI_GPU
num_machines: 1
num_processes: 2
machine_rank: 0
mixed_precision: 'no'
use_cpu: false
"""
CASES = {
    "jax-of-node": Case(
        f"{HEADER}python train_of_node.py --tag 'run 1'\n",
        "--nodes 2",
        f"{HEADER}{NODES.format(1)}srun --kill-on-bad-exit=1 {CPUS} python train_of_node.py --tag 'run 1'\n",
        "jax",
        processes=2,
        file=("train_of_node.py", OF_NODE),
    ),
    "megatron": Case(
        f"{HEADER}{ONE}python pretrain_gpt.py --tensor-model-parallel-size 2 --tag 'run 1'\n",
        "--nodes 2",
        f"{HEADER.replace('-c 4', '-c 2')}{NODES.format(2)}{ONE}{MEETING}srun --kill-on-bad-exit=1 {CPUS} {RANKS} "
        "python pretrain_gpt.py --tensor-model-parallel-size 2 --tag 'run 1'\n",
        file=("pretrain_gpt.py", "import runpy\n\nrunpy.run_path('train.py', run_name='__main__')\n"),
    ),
    "accelerate-file": Case(
        f"{HEADER}accelerate launch --config_file options.yaml train.py --tag 'run 1'\n",
        "--nodes 2",
        f"{HEADER}{NODES.format(1)}{MEETING}srun --kill-on-bad-exit=1 {CPUS} bash -c 'exec accelerate launch "
        '--machine_rank="$SLURM_NODEID" "$@"\' \\\n    accelerate --num_machines="$SLURM_JOB_NUM_NODES" '
        '--num_processes="$((SLURM_JOB_NUM_NODES * 2))" --deepspeed_multinode_launcher=standard --rdzv_backend=static '
        '--main_process_ip="$MASTER_ADDR" --main_process_port="$MASTER_PORT" --config_file options.yaml '
        "train.py --tag 'run 1'\n",
        "accelerate",
        file=("options.yaml", OPTIONS),
    ),
    "mpi": Case(
        "#!/bin/bash\n#SBATCH -N1 -n2 --time=5\nmpirun -np 2 python train_mpi4py.py --tag 'run 1'\n",
        "--nodes 2",
        "#!/bin/bash\n#SBATCH -N2 --time=5\n#SBATCH --ntasks-per-node=2\n"
        "srun --kill-on-bad-exit=1 --mpi=pmix python train_mpi4py.py --tag 'run 1'\n",
        "mpi4py libpmix.so",
        code=1,
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_conversion(command: Converting, name: str) -> None:
    case = CASES[name]
    if case.file is not None:
        command.write(*case.file)
    command.write("job.sh", case.before)
    result = command("convert", *case.options.split(), "job.sh")
    assert (result.out, result.code) == (case.after, case.code), result.err
    command.write("done.sh", result.out)
    again = command("convert", *case.options.split(), "done.sh")
    assert again.out == case.after and again.code in (0, case.code), again.err
