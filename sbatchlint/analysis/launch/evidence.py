"""Signs that a command works on GPUs, or that its program is one rank of many.

One sign is one place of the script with a few words for a related label. Strong signs are enough for a finding, weak
ones only support it; a sign of processors speaks against GPUs.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

from sbatchlint.bash.values import Pieces, expansions, shown_text, span_of, text_of
from sbatchlint.job.commands.argv import Argv, Lookup, basename
from sbatchlint.job.containers import Container
from sbatchlint.job.launchers import Launcher, python_command
from sbatchlint.source.regex import Regex
from sbatchlint.source.text import Span

STRONG, WEAK, PROCESSORS = "strong", "weak", "cpu"


class Sign(NamedTuple):
    """A sign for or against GPUs.

    `strength`: `strong`, `weak`, or `cpu` (speaks against). `words`: what it is, for a label. `vendor`: `nvidia`, `amd`
    or None where it tells neither.
    """

    strength: str
    words: str
    span: Span
    vendor: str | None = None


class RankSign(NamedTuple):
    """A sign that a program expects to be started once per GPU.

    `kind`: `lightning`, `megatron`, `slurm-launcher`, `rank-variables`, `jax`. `devices`, `nodes`: the ranks per node
    and the nodes that the program is told, where it is.
    """

    kind: str
    words: str
    span: Span
    devices: int | None = None
    nodes: int | None = None


_TOOLS: dict[str, tuple[str, str | None]] = {
    "nvidia-smi": (STRONG, "nvidia"),
    "dcgmi": (STRONG, "nvidia"),
    "nsys": (STRONG, "nvidia"),
    "ncu": (STRONG, "nvidia"),
    "nvprof": (STRONG, "nvidia"),
    "compute-sanitizer": (STRONG, "nvidia"),
    "cuda-gdb": (STRONG, "nvidia"),
    "pmemd.cuda": (STRONG, "nvidia"),
    "pmemd.cuda.MPI": (STRONG, "nvidia"),
    "rocm-smi": (STRONG, "amd"),
    "amd-smi": (STRONG, "amd"),
    "rocminfo": (STRONG, "amd"),
    "rocprof": (STRONG, "amd"),
    "rocprofv3": (STRONG, "amd"),
    "omniperf": (STRONG, "amd"),
    "vllm": (STRONG, None),
    "trtllm-serve": (STRONG, "nvidia"),
    "trtllm-llmapi-launch": (STRONG, "nvidia"),
    "nvcc": (WEAK, "nvidia"),
    "hipcc": (WEAK, "amd"),
}
_COLLECTIVE_TEST = Regex(
    r"(?:all_reduce|all_gather|alltoall|reduce_scatter|sendrecv|broadcast|reduce|gather|scatter|hypercube)_perf(?:_mpi)?"
)
_MODULES = Regex(r"(?:vllm|sglang|tensorrt_llm|lmdeploy|deepspeed)(?:\.|$)")
_SPAWNERS = frozenset(
    {"torchrun", "torch.distributed.launch", "accelerate", "deepspeed", "deepspeed.launch", "swift", "colossalai"}
    | {"composer", "fabric"}
)
# Options whose value names the device.
_DEVICE_OPTIONS = Regex(r"-{0,2}(?:[\w.]+\.)?(?:device|accelerator|device[_-]type|platform)")
_CPU_OPTIONS = Regex(r"--(?:cpu|use[_-]cpu|no[_-]cuda|no[_-]gpu|disable[_-]cuda|force[_-]cpu|cpu[_-]only|on[_-]cpu)")
_BACKENDS = Regex(r"-{0,2}(?:[\w.]+\.)?(?:distributed[_-])?backend|--dist[_-]backend")
_GPU_FLAGS = Regex(r"--(?:use[_-])?(?:cuda|gpu)")
_GPU_COUNTS = Regex(r"--(?:num[_-]|n[_-]?)?gpus?")
_GPU_WORD = Regex(r"(?:cuda|gpu|hip)(?::\d+)?")

_MODULE_COMMANDS = frozenset({"module", "ml", "spack"})
_CUDA_MODULE = Regex(r"(?:.*[/_-])?(cuda|cudatoolkit|cudnn|nccl|nvhpc|cudacore)(?:[/@_.-].*|\d.*)?", re.IGNORECASE)
_ROCM_MODULE = Regex(r"(?:.*[/_-])?(rocm|rccl|amdgpu)(?:[/@_.-].*|\d.*)?", re.IGNORECASE)


def program_options(argv: Argv) -> Iterable[tuple[str, Pieces | None, Pieces]]:
    """Every word that may be an option, its value (after `=` or in the next word), and the word itself."""
    for at, field in enumerate(argv):
        text = text_of(field)
        if text is None:
            prefix = shown_text(field)
            name, equals, _ = prefix.partition("=")
            if equals and "\ue000" not in name:
                yield name, None, field
            continue
        name, equals, value = text.partition("=")
        if equals:
            last = field[-1]
            yield name, (last._replace(text=value),), field
        else:
            yield name, argv[at + 1] if at + 1 < len(argv) else None, field


def gpu_signs(argv: Argv, launcher: Launcher | None = None, container: Container | None = None) -> list[Sign]:
    """The signs that one command gives, by its name, its arguments, its launcher and its container's options."""
    signs: list[Sign] = []
    if container is not None:
        signs.extend(_of_container(container))
    if launcher is not None:
        signs.extend(_of_launcher(launcher))
    if not argv:
        return signs
    name = basename(argv[0])
    span = span_of(argv[0])
    if name is None:
        return signs
    tool = _TOOLS.get(name)
    if tool is not None:
        signs.append(Sign(tool[0], f"{name} works on GPUs", span, tool[1]))
    elif _COLLECTIVE_TEST.fullmatch(name):
        signs.append(Sign(STRONG, f"{name} measures NCCL or RCCL", span))
    elif name in _MODULE_COMMANDS:
        signs.extend(_of_modules(argv))
    elif name in ("gmx", "gmx_mpi", "lmp", "lmp_mpi", "namd2", "namd3"):
        signs.extend(_of_engine(argv, name))
    python = python_command(argv)
    if python is not None:
        module = python.text if python.kind == "module" else None
        if module is not None and _MODULES.match(module):
            signs.append(Sign(STRONG, f"{module} works on GPUs", span_of(argv[python.at])))
        elif python.target is not None and re.search(r"torch|cuda|gpu|jax|tensorflow", shown_text(python.target)):
            signs.append(Sign(WEAK, "the program's name speaks of GPUs", span_of(argv[python.at])))
    if python is not None or launcher is not None:
        words = argv[python.after :] if python is not None else launcher.program_words if launcher is not None else ()
        signs.extend(_of_arguments(words))
    return signs


def _of_launcher(launcher: Launcher) -> Iterable[Sign]:
    if launcher.kind not in _SPAWNERS:
        return
    setting = launcher.setting("nproc_per_node")
    if launcher.cpu:
        yield Sign(PROCESSORS, f"{launcher.name} is told to use no GPU", launcher.flags["cpu"].span)
    elif setting is not None and setting.text == "cpu":
        yield Sign(PROCESSORS, "one worker for each processor", setting.span)
    else:
        yield Sign(STRONG, f"{launcher.name} starts GPU workers", launcher.span)


def _of_container(container: Container) -> Iterable[Sign]:
    for each in container.options:
        if container.kind == "apptainer" and each.name in ("nv", "nvccli") and each.text != "false":
            yield Sign(STRONG, f"--{each.name} brings NVIDIA GPUs into the container", each.span, "nvidia")
        elif container.kind == "apptainer" and each.name == "rocm" and each.text != "false":
            yield Sign(STRONG, "--rocm brings AMD GPUs into the container", each.span, "amd")
        elif container.kind in ("docker", "podman"):
            text = each.text or ""
            if each.name == "gpus" and text not in ("0", "none"):
                yield Sign(STRONG, "--gpus brings GPUs into the container", each.span, "nvidia")
            elif each.name == "gpu":
                yield Sign(STRONG, "--gpu brings GPUs into the container", each.span, "nvidia")
            elif each.name == "runtime" and text == "nvidia":
                yield Sign(STRONG, "the nvidia runtime brings GPUs into the container", each.span, "nvidia")
            elif each.name == "device" and ("nvidia" in text or text.startswith("/dev/kfd")):
                vendor = "nvidia" if "nvidia" in text else "amd"
                yield Sign(STRONG, f"{text} is a GPU device", each.span, vendor)


def _of_modules(argv: Argv) -> Iterable[Sign]:
    """`module load cuda/12.1`, `ml cuda`, `spack load cuda`."""
    words = argv[1:]
    if basename(argv[0]) != "ml":
        if not words or text_of(words[0]) not in ("load", "add", "switch", "swap"):
            return
        words = words[1:]
    for field in words:
        text = shown_text(field)
        if text.startswith("-"):
            continue
        if _CUDA_MODULE.fullmatch(text):
            yield Sign(STRONG, f"the module {text.split(chr(0xE000))[0]} is for NVIDIA GPUs", span_of(field), "nvidia")
        elif _ROCM_MODULE.fullmatch(text):
            yield Sign(STRONG, f"the module {text.split(chr(0xE000))[0]} is for AMD GPUs", span_of(field), "amd")


def _of_engine(argv: Argv, name: str) -> Iterable[Sign]:
    """Molecular dynamics engines, which use GPUs when told so."""
    for option, value, field in program_options(argv[1:]):
        text = None if value is None else text_of(value)
        if name.startswith("gmx") and (option == "-gpu_id" or option in ("-nb", "-pme", "-bonded", "-update")):
            if option == "-gpu_id" or text == "gpu":
                yield Sign(STRONG, f"{option} puts work on GPUs", span_of(field))
                return
        elif name.startswith("lmp") and option in ("-sf", "-suffix") and text == "gpu":
            yield Sign(STRONG, f"{option} gpu puts work on GPUs", span_of(field))
            return
        elif name.startswith("namd") and option == "+devices":
            yield Sign(STRONG, "+devices names GPUs", span_of(field))
            return


def _of_arguments(words: Argv) -> Iterable[Sign]:
    """Options of a Python program that name the device."""
    for option, value, field in program_options(words):
        text = None if value is None else (text_of(value) or "").lower()
        if _CPU_OPTIONS.fullmatch(option) and text not in ("false", "0", "no"):
            yield Sign(PROCESSORS, f"{option} says that no GPU is used", span_of(field))
        elif _GPU_FLAGS.fullmatch(option) and (text is None or text[:1] == "-" or text in ("", "true", "1")):
            yield Sign(WEAK, f"{option} asks the program for a GPU", span_of(field))
        elif text is None or option == text:
            continue
        elif _GPU_COUNTS.fullmatch(option) and text.isdigit() and int(text) > 0:
            yield Sign(WEAK, f"{option} asks the program for GPUs", span_of(field))
        elif _DEVICE_OPTIONS.fullmatch(option) and (option.startswith("-") or "=" in shown_text(field)):
            if text == "cpu":
                yield Sign(PROCESSORS, f"{option} says that no GPU is used", span_of(field))
            elif _GPU_WORD.fullmatch(text):
                yield Sign(STRONG, f"{option} names a GPU", span_of(field), "nvidia" if "cuda" in text else None)
        elif _BACKENDS.fullmatch(option) and (option.startswith("-") or "=" in shown_text(field)):
            if text == "gloo":
                yield Sign(PROCESSORS, "gloo is the backend for processors", span_of(field))
            elif text in ("nccl", "rccl"):
                yield Sign(STRONG, f"{text} is the backend for GPUs", span_of(field))


def environment_sign(name: str, value: Pieces | None, span: Span) -> Sign | None:
    """What an exported variable says; `value` None where it is not known."""
    text = None if value is None else text_of(value)
    if name in ("CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES"):
        if text in ("", "-1", "none", "None", "NoDevFiles"):
            return Sign(PROCESSORS, f"{name} hides all GPUs", span)
        return Sign(STRONG, f"{name} names GPUs", span, "nvidia" if name[0] == "C" else "amd")
    if name in ("CUDA_HOME", "CUDA_PATH", "CUDA_ROOT", "ROCM_PATH", "ROCM_HOME", "HIP_PATH"):
        return Sign(WEAK, f"{name} says where the GPU software lies", span, "nvidia" if name[0] == "C" else "amd")
    if name.startswith(("NCCL_", "TORCH_NCCL_")):
        return Sign(STRONG, f"{name} is for communication of GPUs", span)
    if name.startswith(("CUDA_", "NVIDIA_", "NVTE_", "CUDNN_", "CUBLAS_")):
        return Sign(STRONG, f"{name} is for NVIDIA GPUs", span, "nvidia")
    if name.startswith(("RCCL_", "HSA_", "MIOPEN_", "HIP_", "AMD_")):
        return Sign(STRONG, f"{name} is for AMD GPUs", span, "amd")
    if name.startswith(("TORCH_CUDA_", "PYTORCH_CUDA_")):
        return Sign(WEAK, f"{name} is for NVIDIA GPUs", span, "nvidia")
    if name == "PYTORCH_HIP_ALLOC_CONF":
        return Sign(WEAK, f"{name} is for AMD GPUs", span, "amd")
    if name in ("JAX_PLATFORMS", "JAX_PLATFORM_NAME", "ACCELERATE_USE_CPU") and text is not None:
        if text == "cpu" or (name == "ACCELERATE_USE_CPU" and text.lower() in ("1", "true")):
            return Sign(PROCESSORS, f"{name} says that no GPU is used", span)
        if text in ("cuda", "gpu", "rocm"):
            return Sign(STRONG, f"{name} names GPUs", span)
    return None


# Programs of NVIDIA's Megatron Bridge and Megatron-LM that take their rank from Slurm or from RANK.
_MEGATRON = Regex(
    r"(?:^|/)(?:run_recipe\.py|examples/conversion/[\w-]+\.py|pretrain_(?:gpt|bert|t5|vlm|mamba|hybrid|retro)\.py)$"
)
# Not levanter, which shares the GPUs of a node among its tasks, however many (levanter/distributed.py).
_JAX = Regex(r"(?:^|[/._-])(?:maxtext|maxdiffusion|easylm|t5x|paxml|jax)(?:[/._-]|$)", re.IGNORECASE)
_LEVANTER = Regex(r"(?:^|[/._-])levanter(?:[/._-]|$)")
_JAX_VARIABLES = (
    "JAX_COORDINATOR_ADDRESS", "JAX_COMPILATION_CACHE_DIR", "JAX_ENABLE_X64", "XLA_FLAGS",
    "XLA_PYTHON_CLIENT_ALLOCATOR", "XLA_PYTHON_CLIENT_MEM_FRACTION", "XLA_PYTHON_CLIENT_PREALLOCATE",
)  # fmt: skip
LIGHTNING_DEVICES = Regex(
    r"(?:--|\+|\+\+)?(?:trainer|train|cfg\.trainer|pl_trainer)\.(?:devices|gpus)|--trainer[._]devices"
)
# What a parser of Lightning's arguments calls them without a prefix; only together they are its.
_PLAIN_DEVICES, _PLAIN_NODES = ("--devices", "-devices"), ("--num_nodes", "--num-nodes")
_STRATEGY = Regex(r"(?:ddp|fsdp|deepspeed)(?:_\w+)?")
LIGHTNING_NODES = Regex(r"(?:--|\+|\+\+)?(?:trainer|train|cfg\.trainer|pl_trainer)\.num_nodes|--trainer[._]num_nodes")
# Methods of litgpt that train, with Lightning Fabric (litgpt/__main__.py, 0.5).
_LITGPT = ("pretrain", "finetune", "finetune_full", "finetune_lora", "finetune_adapter", "finetune_adapter_v2")
# Options of programs that start their other processes themselves.
_SPAWNING = Regex(
    r"--(?:num[_-]?gpus|ngpus?|n[_-]gpus?|gpus|world[_-]size|multiprocessing[_-]distributed|tensor[_-]parallel[_-]size"
    r"|device[_-]map|nproc[_-]per[_-]node|nprocs|num[_-]proc(?:s|esses)?|spawn)"
)
_SPAWNING_MODULES = Regex(r"(?:vllm|sglang|lmdeploy|submitit|ray|dask|torch\.distributed|accelerate|deepspeed)(?:\.|$)")
_RANK_VARIABLES = {"RANK": "SLURM_PROCID", "LOCAL_RANK": "SLURM_LOCALID", "WORLD_SIZE": "SLURM_NTASKS"}


def spawns_others(argv: Argv) -> bool:
    """Whether a Python program is told, by an option or by its name, to start its other processes itself."""
    python = python_command(argv)
    if python is None or python.target is None:
        return False
    if python.kind == "module" and _SPAWNING_MODULES.match(shown_text(python.target)):
        return True
    return any(_SPAWNING.fullmatch(option) for option, _, _ in program_options(argv[python.after :]))


def rank_sign(argv: Argv, environment: Lookup | None = None) -> RankSign | None:
    """Why a plain `python X` is likely to be one rank of many; None where nothing says so, or it spawns by itself.

    `litgpt X` is such a program too. `environment` gives the variables that the command sees.
    """
    python = python_command(argv)
    if python is None and len(argv) > 1 and basename(argv[0]) == "litgpt" and text_of(argv[1]) in _LITGPT:
        return RankSign("lightning", "Lightning expects one task for each device", span_of(argv[0]))
    if python is None or python.target is None or python.kind not in ("script", "module"):
        return None
    program = shown_text(python.target)
    if spawns_others(argv):
        return None
    devices: int | None = None
    nodes: int | None = None
    place: Span | None = None
    launcher: Span | None = None
    plain: dict[str, int | None] = {}
    lightning: Span | None = None
    for option, value, field in program_options(argv[python.after :]):
        text = None if value is None else text_of(value)
        number = int(text) if text is not None and text.isdigit() else None
        if LIGHTNING_DEVICES.fullmatch(option):
            devices, place = number, span_of(field)
        elif LIGHTNING_NODES.fullmatch(option):
            nodes, place = number, place or span_of(field)
        elif option in ("--launcher", "launcher") and text == "slurm":
            launcher = span_of(field)
        elif option in _PLAIN_DEVICES and number is not None:
            plain["devices"], lightning = number, span_of(field)
        elif option in _PLAIN_NODES and number is not None:
            plain["nodes"] = number
        elif option == "--strategy" and text is not None and _STRATEGY.fullmatch(text):
            plain["strategy"] = None
    if place is None and lightning is not None and len(plain) > 1:
        devices, nodes, place = plain["devices"], plain.get("nodes"), lightning
    target = span_of(argv[python.at])
    if launcher is not None:
        return RankSign("slurm-launcher", "the program takes its rank from Slurm", launcher, devices, nodes)
    if place is not None and (devices is None or devices > 1 or nodes is not None):
        return RankSign("lightning", "Lightning expects one task for each device", place, devices, nodes)
    if _MEGATRON.search(program):
        return RankSign("megatron", "Megatron expects one task for each GPU", target)
    lookup: Lookup = environment or (lambda name: None)
    for name, source in _RANK_VARIABLES.items():
        found = lookup(name)
        if name != "WORLD_SIZE" and found is not None and any(e.name == source for e in expansions(found)):
            return RankSign("rank-variables", f"{name} is made from ${source}", span_of(found))
    if _LEVANTER.search(program):
        return None
    if _JAX.search(program) or any(lookup(name) is not None for name in _JAX_VARIABLES):
        return RankSign("jax", "JAX expects one task for each GPU", target)
    return None
