"""Signs of GPUs and of programs that are one rank of many."""

from __future__ import annotations

import pytest

from argv_helper import argv, exported, field, unwrapped
from sbatchlint.analysis.gpus.gpu_signs import Sign, environment_sign, gpu_signs
from sbatchlint.analysis.launch.rank_signs import RankSign, sign_in_command
from sbatchlint.job.argv import Argv, Lookup
from sbatchlint.job.launchers import nothing_exported, python_command, recognise
from sbatchlint.source.text import Span


def signs(line: str) -> list[Sign]:
    words, _, container = unwrapped(line)
    return gpu_signs(words, recognise(words), container)


def _told(words: Argv, lookup: Lookup = nothing_exported) -> RankSign | None:
    return sign_in_command(words, python_command(words), lookup)


def strengths(line: str) -> list[tuple[str, str | None]]:
    return [(each.strength, each.vendor) for each in signs(line)]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("nvidia-smi -L", [("strong", "nvidia")]),
        ("/usr/bin/rocm-smi", [("strong", "amd")]),
        ("torchrun --nproc_per_node 8 x.py", [("strong", None)]),
        ("accelerate launch x.py", [("strong", None)]),
        ("accelerate launch --cpu x.py", [("cpu", None)]),
        ("torchrun --nproc_per_node cpu x.py", [("cpu", None)]),
        ("torchrun x.py --backend gloo", [("strong", None), ("cpu", None)]),
        ("apptainer exec --nv i.sif ./a", [("strong", "nvidia")]),
        ("apptainer exec --rocm i.sif ./a", [("strong", "amd")]),
        ("docker run --gpus all i ./a", [("strong", "nvidia")]),
        ("docker run --device /dev/kfd i ./a", [("strong", "amd")]),
        ("docker run --runtime=nvidia i ./a", [("strong", "nvidia")]),
        ("docker run i ./a", []),
        ("./build/all_reduce_perf -b 8 -e 8G", [("strong", None)]),
        ("python -m vllm.entrypoints.openai.api_server", [("strong", None)]),
        ("vllm serve model", [("strong", None)]),
        ("python train_torch.py", [("weak", None)]),
        ("python x.py --device cuda", [("strong", "nvidia")]),
        ("python x.py --device=cuda:0", [("strong", "nvidia")]),
        ("python x.py --device cpu", [("cpu", None)]),
        ("python x.py --no_cuda", [("cpu", None)]),
        ("python x.py trainer.accelerator=gpu", [("strong", None)]),
        ("python x.py --dist-backend nccl", [("strong", None)]),
        ("python x.py --gpu-kind none", []),
        ("module load cuda/12.1", [("strong", "nvidia")]),
        ("module load gcc/11 nccl/2.18-cuda rocm/5", [("strong", "nvidia"), ("strong", "amd")]),
        ("ml cuDNN", [("strong", "nvidia")]),
        ("module load cuda/$VERSION", [("strong", "nvidia")]),
        ("module avail cuda", []),
        ("module unload cuda", []),
        ("module load barracuda", []),
        ("gmx mdrun -nb gpu -deffnm md", [("strong", None)]),
        ("gmx mdrun -nb cpu", []),
        ("lmp -sf gpu -in x", [("strong", None)]),
        ("mpirun -np 4 ./a", []),
        ("echo nvidia-smi", []),
        ("cp nvidia-smi.log out", []),
        ("hostname", []),
        ("$TOOL", []),
    ],
)
def test_signs_of_commands(line: str, expected: list[tuple[str, str | None]]) -> None:
    assert strengths(line) == expected


def test_signs_have_places() -> None:
    line = "apptainer exec --nv i.sif torchrun x.py --backend gloo"
    found = signs(line)
    assert [line[slice(*each.span)] for each in found] == ["--nv", "torchrun", "--backend"]


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("NCCL_DEBUG", "INFO", ("strong", None)),
        ("CUDA_DEVICE_MAX_CONNECTIONS", "1", ("strong", "nvidia")),
        ("CUDA_VISIBLE_DEVICES", "0,1", ("strong", "nvidia")),
        ("CUDA_VISIBLE_DEVICES", "", ("cpu", None)),
        ("CUDA_VISIBLE_DEVICES", "-1", ("cpu", None)),
        ("ROCR_VISIBLE_DEVICES", "$X", ("strong", "amd")),
        ("CUDA_HOME", "/usr/local/cuda", ("weak", "nvidia")),
        ("MIOPEN_USER_DB_PATH", "/tmp", ("strong", "amd")),
        ("JAX_PLATFORMS", "cpu", ("cpu", None)),
        ("JAX_PLATFORMS", "cuda", ("strong", None)),
    ],
)
def test_signs_of_variables(name: str, value: str, expected: tuple[str, str | None]) -> None:
    found = environment_sign(name, field(value), Span(0, 1))
    assert found is not None and (found.strength, found.vendor) == expected


def test_variables_that_say_nothing() -> None:
    for name in ("PATH", "OMP_NUM_THREADS", "GPUS_PER_NODE", "MASTER_ADDR", "JAX_PLATFORMS"):
        assert environment_sign(name, None, Span(0, 1)) is None


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        ("python scripts/training/run_recipe.py --recipe x", "megatron"),
        ("python $ROOT/pretrain_gpt.py --tensor-model-parallel-size 2", "megatron"),
        ("python examples/conversion/hf_roundtrip.py", "megatron"),
        ("python main.py trainer.devices=8 trainer.num_nodes=2", "lightning"),
        ("python main.py fit --trainer.devices 8 --trainer.num_nodes 2", "lightning"),
        ("python tools/train.py cfg.py --launcher slurm", "slurm-launcher"),
        ("python tools/train.py cfg.py --launcher=slurm", "slurm-launcher"),
        ("python -m MaxText.train conf.yml", "jax"),
        # One process drives all devices, spawns the others itself, or nothing is known.
        ("python main.py trainer.devices=1", None),
        ("python tools/train.py --launcher pytorch", None),
        ("python -m vllm.entrypoints.api_server --tensor-parallel-size 8", None),
        ("python -m levanter.main.train_lm", None),
        ("python pretrain_gpt.py --num_gpus 8", None),
        ("python main.py --multiprocessing-distributed --world-size 2", None),
        ("python train.py --lr 3", None),
        ("python -c pass", None),
        ("python", None),
        ("torchrun pretrain_gpt.py", None),
        ("./pretrain_gpt.py", None),
        ("python -m torch.distributed.run pretrain_gpt.py", None),
        ("python my_pretrain_gpt.py", None),
        ("python ajax.py", None),
    ],
)
def test_programs_that_are_one_rank(line: str, kind: str | None) -> None:
    found = _told(argv(line))
    assert (found.kind if found else None) == kind


def test_what_lightning_is_told() -> None:
    found = _told(argv("python main.py trainer.devices=8 trainer.num_nodes=$N"))
    assert found is not None and (found.devices, found.nodes) == (8, None)
    found = _told(argv("python main.py --trainer.devices 4 --trainer.num_nodes 2"))
    assert found is not None and (found.devices, found.nodes) == (4, 2)


def test_ranks_from_slurm() -> None:
    found = _told(argv("python t.py"), exported(RANK="$SLURM_PROCID", LOCAL_RANK="$SLURM_LOCALID"))
    assert found is not None and found.kind == "rank-variables"
    assert _told(argv("python t.py"), exported(RANK="0")) is None
    assert _told(argv("python t.py"), exported(WORLD_SIZE="$SLURM_NTASKS")) is None
