"""Signs that a command uses GPUs, or only processors.

A sign is a place in the script, with a few words for a related label. Strong signs are enough for a finding, weak ones
only support it; a sign of processors contradicts it.
"""

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple

from sbatchlint.bash.values import Pieces, expansions, shown_text, span_of, text_of
from sbatchlint.job.argv import Argv, basename, program_options
from sbatchlint.job.containers import Container
from sbatchlint.job.launchers import Launcher, Setting, is_interpreter, python_command
from sbatchlint.programs import has_trait
from sbatchlint.source.numbers import is_number, parse_integer
from sbatchlint.source.regex import Regex
from sbatchlint.source.text import Span

STRONG, WEAK, PROCESSORS = "strong", "weak", "cpu"

# Variables that say which devices a program uses.
PLATFORM_VARIABLES = ("JAX_PLATFORMS", "JAX_PLATFORM_NAME", "ACCELERATE_USE_CPU", "DS_ACCELERATOR", "PJRT_DEVICE")
# What variables of NCCL do, after their name.
COMMUNICATION = " configures GPU communication"


# Names of programs that suggest GPUs, and what a sign says of such a name.
BY_NAME = "the program's name suggests GPUs"
COMPILES = "compiles for GPUs"
# Of one node, and what the shell knows of processors.
_MOST_GPUS = 16
_PROCESSOR_COUNTS = frozenset({"SLURM_CPUS_PER_TASK", "SLURM_CPUS_ON_NODE", "SLURM_JOB_CPUS_PER_NODE", "$(nproc)"})
_OF_GPUS = Regex(r"(?i)gpu|cuda|(?<![a-z])(?:torch|pytorch|jax|tensorflow)(?![a-z])")


class Sign(NamedTuple):
    """A sign for or against the use of GPUs.

    `strength`: `strong`, `weak`, or `cpu` (a sign against it). `words`: what it is, for a label. `vendor`: `nvidia`,
    `amd`, or None where that is not known.
    """

    strength: str
    words: str
    span: Span
    vendor: str | None = None


# Programs that need GPUs, and compilers for them.
_OF_NVIDIA = (
    "nvidia-smi dcgmi nsys ncu nvprof compute-sanitizer cuda-gdb pmemd.cuda pmemd.cuda.MPI ns-train pbrun trtllm-serve"
    " trtllm-llmapi-launch"
)
_OF_AMD = "rocm-smi amd-smi rocminfo rocprof rocprofv3 omniperf"
_OF_ANY = "vllm lmdeploy sglang text-generation-launcher xtuner"
_TOOLS: dict[str, tuple[str, str | None]] = {
    **dict.fromkeys(_OF_NVIDIA.split(), (STRONG, "nvidia")),
    **dict.fromkeys(_OF_AMD.split(), (STRONG, "amd")),
    **dict.fromkeys(_OF_ANY.split(), (STRONG, None)),
    "nvcc": (WEAK, "nvidia"),
    "hipcc": (WEAK, "amd"),
}
_COLLECTIVE_TEST = Regex(
    r"(?:all_reduce|all_gather|alltoall|reduce_scatter|sendrecv|broadcast|reduce|gather|scatter|hypercube)_perf(?:_mpi)?"
)
_MODULES = Regex(r"(?:vllm|sglang|tensorrt_llm|lmdeploy|deepspeed)(?:\.|$)")
# Options whose value names the device.
_DEVICE = Regex(r"-{0,2}(?:[\w.]+\.)?(?:device|accelerator|device[_-]type|platform)")
_CPU = Regex(r"--(?:cpu|use[_-]cpu|no[_-]cuda|no[_-]gpu|disable[_-]cuda|force[_-]cpu|cpu[_-]only|on[_-]cpu)")
_BACKEND = Regex(r"-{0,2}(?:[\w.]+\.)?(?:distributed[_-])?backend|--dist[_-]backend")
_BACKEND_VARIABLE = Regex(r"(?:\w+_)?BACKEND")
_FLAG = Regex(r"--(?:use[_-])?(?:cuda|gpu)")
_COUNT = Regex(r"--(?:num[_-]|n[_-]?)?gpus?")
# Options whose value is the index of a GPU, or several; -1 for none.
_NUMBERS = Regex(r"--gpu[-_]?(?:ids?|device|index)")
_GPU_NUMBERS = Regex(r"\d(?:,?\d)*")
_GPU_WORD = Regex(r"(?:cuda|gpu|hip)(?::\d+)?")

# Images that are made for GPUs, and what they are also used for without one.
GPU_IMAGE = Regex(r"(?:docker:)?(?://)?(?:[^/@]*@)?nvcr\.io[#/]")
PREPARING = Regex(r"(?i)pre-?proc|prepare|download|tokeni[sz]|convert|dataset|install|import|export|upload|merge")
# Modules of shifter that bring GPUs or their software into a container.
_SHIFTER_MODULE = Regex(r"(?:^|,)(?:gpu|cuda\w*|nccl|rocm)(?:[-,].*)?$")

# Programs whose builds for GPUs have other names: `pmemd.cuda`, `cpptraj.cuda`.
_FOR_PROCESSORS = Regex(
    r"(?:sander|pmemd)(?:\.(?:LES|amoeba))?(?:\.(?:MPI|OMP))?|cpptraj(?:\.(?:MPI|OMP))?|MMPBSA\.py(?:\.MPI)?|tleap"
    r"|(?i:(?:.*[-_.])?cpu(?:[-_.].*)?)"
)
_ENGINES = frozenset({"gmx", "gmx_mpi", "lmp", "lmp_mpi", "namd2", "namd3"})
_CUDA_MODULE = Regex(r"(?:.*[/_-])?(cuda|cudatoolkit|cudnn|nccl|nvhpc|cudacore)(?:[/@_.-].*|\d.*)?", re.IGNORECASE)
_ROCM_MODULE = Regex(r"(?:.*[/_-])?(rocm|rccl|amdgpu)(?:[/@_.-].*|\d.*)?", re.IGNORECASE)


def gpu_signs(argv: Argv, launcher: Launcher | None = None, container: Container | None = None) -> list[Sign]:
    """The signs in one command: in its name, its arguments, its launcher and its container's options."""
    signs: list[Sign] = []
    if container is not None:
        signs.extend(_of_container(container))
        signs.extend(_of_image(container, argv))
    if launcher is not None:
        signs.extend(_of_launcher(launcher))
    name = basename(argv[0]) if argv else None
    if name is None or launcher is None and not may_be_sign(name):
        return signs
    span = span_of(argv[0])
    tool = _TOOLS.get(name)
    if tool is not None:
        does = "needs GPUs" if tool[0] == STRONG else COMPILES
        signs.append(Sign(tool[0], f"{name} {does}", span, tool[1]))
    elif _COLLECTIVE_TEST.fullmatch(name):
        signs.append(Sign(STRONG, f"{name} tests NCCL or RCCL", span))
    elif has_trait(name, "loads"):
        signs.extend(_of_modules(argv))
    elif name in _ENGINES:
        signs.extend(_of_engine(argv, name))
    python = python_command(argv)
    if python is not None:
        module = python.text if python.kind == "module" else None
        if module is not None and _MODULES.match(module):
            signs.append(Sign(STRONG, f"{module} needs GPUs", span_of(argv[python.at])))
        elif (
            python.kind != "command"
            and python.target is not None
            and _OF_GPUS.search(shown_text(python.target)) is not None
        ):
            signs.append(Sign(WEAK, BY_NAME, span_of(argv[python.at])))
    if python is not None or launcher is not None:
        words = argv[python.after :] if python is not None else launcher.program_words if launcher is not None else ()
        signs.extend(argument_signs(words))
    return signs


@lru_cache(maxsize=4096)  # scripts call the same programs again and again
def may_be_sign(name: str) -> bool:
    """Whether a command of this name may be a sign by itself."""
    known = name in _TOOLS or has_trait(name, "loads") or name in _ENGINES or is_interpreter(name)
    return known or _COLLECTIVE_TEST.fullmatch(name) is not None


def is_for_processors(argv: Argv) -> bool:
    """Whether a program says by its name or an option that it works on processors only: `sander.MPI`, `-nb cpu`."""
    name = basename(argv[0]) if argv else None
    if name is None:
        return False
    if name.startswith("gmx"):
        part = text_of(argv[1]) if len(argv) > 1 else None
        if part is not None and part[:1] not in ("", "-"):
            return part != "mdrun" or any(
                option == "-nb" and value is not None and text_of(value) == "cpu"
                for option, value, _ in program_options(argv[2:])
            )
    return _FOR_PROCESSORS.fullmatch(name) is not None


def _of_launcher(launcher: Launcher) -> Iterable[Sign]:
    if not launcher.is_a("per-gpu", "by-variables"):
        return
    setting = launcher.setting("nproc_per_node")
    accelerator = launcher.options.get("accelerator")
    if launcher.cpu:
        told = launcher.flags.get("cpu")
        yield Sign(PROCESSORS, f"{launcher.name} is told to use no GPU", launcher.span if told is None else told.span)
    elif accelerator is not None and text_of(accelerator.value or ()) == "cpu":
        yield Sign(PROCESSORS, f"{launcher.name} is told to use no GPU", accelerator.span)
    elif setting is not None and _counts_processors(setting):
        yield Sign(PROCESSORS, "one worker for each processor", setting.span)
    elif setting is None or (setting.number or 0) <= _MOST_GPUS:
        yield Sign(STRONG, f"{launcher.name} starts GPU workers", launcher.span)


def _counts_processors(setting: Setting) -> bool:
    """Whether a number of workers is that of a node's or a task's processors."""
    names = {found.name for piece in expansions(setting.value or ()) for found in piece.all()}
    return setting.text == "cpu" or not names.isdisjoint(_PROCESSOR_COUNTS)


def _of_container(container: Container) -> Iterable[Sign]:
    for option in container.options:
        if container.kind == "apptainer" and option.name in ("nv", "nvccli") and option.text != "false":
            yield Sign(STRONG, f"--{option.name} passes NVIDIA GPUs into the container", option.span, "nvidia")
        elif container.kind == "apptainer" and option.name == "rocm" and option.text != "false":
            yield Sign(STRONG, "--rocm passes AMD GPUs into the container", option.span, "amd")
        elif container.kind == "shifter" and option.name == "module" and _SHIFTER_MODULE.search(option.text or ""):
            yield Sign(STRONG, f"--module={option.text} passes GPUs into the container", option.span)
        elif container.kind in ("docker", "podman"):
            text = option.text or ""
            if option.name == "gpus" and text not in ("0", "none"):
                yield Sign(STRONG, "--gpus passes GPUs into the container", option.span, "nvidia")
            elif option.name == "gpu":
                yield Sign(STRONG, "--gpu passes GPUs into the container", option.span, "nvidia")
            elif option.name == "runtime" and text == "nvidia":
                yield Sign(STRONG, "the nvidia runtime passes GPUs into the container", option.span, "nvidia")
            elif option.name == "device" and ("nvidia" in text or text.startswith("/dev/kfd")):
                vendor = "nvidia" if "nvidia" in text else "amd"
                yield Sign(STRONG, f"{text} is a GPU device", option.span, vendor)


def _of_image(container: Container, argv: Argv) -> Iterable[Sign]:
    """The sign in an image that is made for GPUs, where it runs a Python program that does more than prepare."""
    if container.image is None or not GPU_IMAGE.match(shown_text(container.image)):
        return
    python = python_command(argv)
    if python is None or python.kind not in ("script", "module"):
        return
    if not any(PREPARING.search(shown_text(word)) for word in argv[python.at : python.after + 2]):
        yield Sign(STRONG, "a program in an image from NVIDIA's registry", span_of(container.image), "nvidia")


def _of_modules(argv: Argv) -> Iterable[Sign]:
    """Signs in the modules that a command loads: `module load cuda/12.1`, `ml cuda`, `spack load cuda`."""
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
    """Signs in the options of molecular dynamics engines, which use GPUs only on request."""
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
            yield Sign(STRONG, "+devices selects GPUs", span_of(field))
            return


def argument_signs(words: Argv) -> Iterable[Sign]:
    """Signs in the options of a Python program that name the device."""
    for option, value, field in program_options(words, _subjects):
        subjects = _subjects(option)
        text = None if value is None else (text_of(value) or "").lower()
        if _CPU in subjects and text not in ("false", "0", "no") or _denies(subjects, option, text):
            yield Sign(PROCESSORS, f"{option} says that no GPU is used", span_of(field))
        elif _FLAG in subjects and (text is None or text[:1] == "-" or text in ("", "true", "1")):
            yield Sign(WEAK, f"{option} tells the program to use a GPU", span_of(field))
        elif text is None or option == text:
            continue
        elif _COUNT in subjects and is_number(text) and parse_integer(text) > 0:
            yield Sign(WEAK, f"{option} tells the program to use GPUs", span_of(field))
        elif _NUMBERS in subjects and text == "-1":
            yield Sign(PROCESSORS, f"{option} says that no GPU is used", span_of(field))
        elif _NUMBERS in subjects and _GPU_NUMBERS.fullmatch(text):
            yield Sign(WEAK, f"{option} selects a GPU", span_of(field))
        elif _DEVICE in subjects and (option.startswith("-") or "=" in shown_text(field)):
            if text in ("cpu", "cpu:0"):
                yield Sign(PROCESSORS, f"{option} says that no GPU is used", span_of(field))
            elif _GPU_WORD.fullmatch(text):
                yield Sign(STRONG, f"{option} selects a GPU", span_of(field), "nvidia" if "cuda" in text else None)
        elif _BACKEND in subjects and (option.startswith("-") or "=" in shown_text(field)):
            if text == "gloo":
                yield Sign(PROCESSORS, "gloo is the backend for processors", span_of(field))
            elif text in ("nccl", "rccl"):
                yield Sign(STRONG, f"{text} is the backend for GPUs", span_of(field))


def _denies(subjects: tuple[Regex, ...], option: str, text: str | None) -> bool:
    """Whether an option asks for no GPU: `--use_cuda false`, `--num_gpus 0`; that of `--gpu 0` is its number."""
    if _FLAG in subjects and text in ("false", "no"):
        return True
    return text == "0" and (_COUNT in subjects or _FLAG in subjects) and not option.startswith(("--gpu", "--cuda"))


@lru_cache(maxsize=4096)  # programs have the same options again and again
def _subjects(option: str) -> tuple[Regex, ...]:
    """The patterns that match the name of an option."""
    return tuple(each for each in (_CPU, _FLAG, _COUNT, _NUMBERS, _DEVICE, _BACKEND) if each.fullmatch(option))


def environment_sign(name: str, value: Pieces | None, span: Span) -> Sign | None:
    """The sign in an exported variable; None if there is none. `value`: None where it is not known."""
    text = None if value is None else text_of(value)
    if name in ("CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES"):
        if text in ("", "-1", "none", "None", "NoDevFiles"):
            return Sign(PROCESSORS, f"{name} hides all GPUs", span)
        return Sign(STRONG, f"{name} selects GPUs", span, "nvidia" if name[0] == "C" else "amd")
    if name == "NVIDIA_VISIBLE_DEVICES" and text in ("", "-1", "none", "void"):
        return Sign(PROCESSORS, f"{name} hides all GPUs", span)
    if name in ("CUDA_HOME", "CUDA_PATH", "CUDA_ROOT", "ROCM_PATH", "ROCM_HOME", "HIP_PATH"):
        return Sign(WEAK, f"{name} says where the GPU software is", span, "nvidia" if name[0] == "C" else "amd")
    if name.startswith(("NCCL_", "TORCH_NCCL_")):
        return Sign(STRONG, f"{name}{COMMUNICATION}", span)
    if name.startswith(("CUDA_", "NVIDIA_", "NVTE_", "CUDNN_", "CUBLAS_")):
        return Sign(STRONG, f"{name} is for NVIDIA GPUs", span, "nvidia")
    if name.startswith(("RCCL_", "HSA_", "MIOPEN_", "HIP_", "AMD_")):
        return Sign(STRONG, f"{name} is for AMD GPUs", span, "amd")
    if name.startswith(("TORCH_CUDA_", "PYTORCH_CUDA_")):
        return Sign(WEAK, f"{name} is for NVIDIA GPUs", span, "nvidia")
    if name == "PYTORCH_HIP_ALLOC_CONF":
        return Sign(WEAK, f"{name} is for AMD GPUs", span, "amd")
    if name in PLATFORM_VARIABLES and text is not None:
        if text in ("cpu", "CPU") or (name == "ACCELERATE_USE_CPU" and text.lower() in ("1", "true")):
            return Sign(PROCESSORS, f"{name} says that no GPU is used", span)
        if text in ("cuda", "gpu", "rocm", "CUDA"):
            return Sign(STRONG, f"{name} selects GPUs", span)
    if text == "gloo" and _BACKEND_VARIABLE.fullmatch(name):
        return Sign(PROCESSORS, "gloo is the backend for processors", span)
    return None
