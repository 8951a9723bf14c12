"""Programs that are told to use no GPU, or devices that are none, which the option block is not to give any."""

from collections.abc import Iterable, Iterator

from sbatchlint.analysis.gpus.gpu_signs import (
    PLATFORM_VARIABLES,
    PROCESSORS,
    STRONG,
    Sign,
    argument_signs,
    environment_sign,
    gpu_signs,
)
from sbatchlint.bash.trace import Invocation, exported
from sbatchlint.bash.values import span_of, text_of
from sbatchlint.job import Job
from sbatchlint.job.argv import program_options
from sbatchlint.job.launchers import Launcher
from sbatchlint.source.regex import Regex

_VARIABLES = (
    "CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "NVIDIA_VISIBLE_DEVICES",
    *PLATFORM_VARIABLES,
)  # fmt: skip

# The starts of the variables of devices that a cluster may not call GPUs.
_OTHERS = {
    "NPUs": ("ASCEND_", "HCCL_", "NPU_", "TORCH_NPU_", "TORCH_HCCL_", "PYTORCH_NPU_"),
    "MLUs": ("MLU_", "CNCL_", "CNRT_", "PYTORCH_MLU_"),
    "HPUs": ("HABANA_", "HLS_MODULE_", "HCL_", "PT_HPU_"),
    "XPUs": ("XPU_", "ZE_AFFINITY_MASK", "ONEAPI_DEVICE_SELECTOR", "BKCL_"),
    "accelerators of Neuron": ("NEURON_",),
    "TPUs": ("TPU_",),
    "MUSA GPUs": ("MUSA_", "MCCL_", "MTHREADS_"),
}
_OTHER_WORDS = {"npu": "NPUs", "hccl": "NPUs", "mlu": "MLUs", "cncl": "MLUs", "hpu": "HPUs", "xpu": "XPUs"}
_SUBJECT = Regex(r"(?i)--?(?:[\w.]*[._-])?(?:device|backend|accelerator|device[_-]type)|--(?:npu|mlu|hpu|xpu)")


def processor_sign(command: Invocation, launcher: Launcher | None) -> Sign | None:
    """The sign that a launcher or a program uses processors only; None if there is none.

    The backend gloo alone is none: programs use it beside GPUs too.
    """
    for name in _VARIABLES:
        value = exported(command, name)
        sign = None if value is None else environment_sign(name, value, span_of(value) if value else command.span)
        if sign is not None and sign.strength == PROCESSORS:
            return sign
    words = () if launcher is None else launcher.program_words
    for sign in (*gpu_signs(command.argv, launcher), *argument_signs(words)):
        if sign.strength == PROCESSORS and not sign.words.startswith("gloo"):
            return sign
    return None


def undecided(job: Job, commands: Iterable[tuple[Invocation, Launcher]]) -> Iterator[str]:
    """To-dos for programs with the backend gloo, where nothing says whether they use GPUs beside it."""
    for _, launcher in commands:
        signs = [*argument_signs(launcher.program_words)]
        gloo = next((each for each in signs if each.words.startswith("gloo")), None)
        if gloo is not None and not any(each.strength == STRONG for each in signs):
            line = job.line(gloo.span.start)
            yield f"line {line}: {gloo.words}: say --gpus-per-node 0 if no GPU is used, or how many"


def other_devices(job: Job, commands: Iterable[Invocation]) -> Iterator[str]:
    """To-dos for programs that use devices which a cluster may not call GPUs."""
    found = dict[str, str]()
    for command in commands:
        for name in command.state.variables:
            value = exported(command, name)
            kind = (
                None if value is None else next((key for key, names in _OTHERS.items() if name.startswith(names)), None)
            )
            if kind is not None:
                found.setdefault(kind, name)
        for option, value, _ in program_options(command.argv, _SUBJECT.fullmatch):
            word = option.lstrip("-") if option.lstrip("-") in _OTHER_WORDS else text_of(value or ()) or ""
            kind = _OTHER_WORDS.get(word.partition(":")[0].lower())
            if kind is not None:
                found.setdefault(kind, option)
    for kind, name in found.items():
        yield f"{name} is for {kind}, which Slurm may not call GPUs: --gpus-per-node 0 --set gres=NAME:N asks for them"


def hidden_gpus(job: Job, commands: Iterable[tuple[Invocation, Launcher | None]]) -> Iterator[str]:
    """To-dos for programs that are told to use no GPU, in a job that has some."""
    found = dict.fromkeys(sign for each in commands if (sign := processor_sign(*each)) is not None)
    for sign in found:
        line = job.line(sign.span.start)
        yield f"line {line}: {sign.words}, and srun may show it those of the job: --gpus-per-node 0 asks for none"
