"""CUDA and ROCm: GPUs that are not there, not the right ones, or full."""

import re

from sbatchlint.diagnose.clues import matches, possible, says, says_not
from sbatchlint.diagnose.evidence import (
    asks_for_gpus,
    lacks,
    matching,
    names_kind,
    options,
    settings,
    shown,
    spans_of,
    step_options,
)
from sbatchlint.diagnose.installed import module_for_gpu, module_without_gpu
from sbatchlint.diagnose.questions import assigns, not_set, sets
from sbatchlint.diagnose.symptom import RULED_OUT, Below, Cause, Event, Example, Shown, Symptom, Verdict
from sbatchlint.job import Job
from sbatchlint.job.environment import GPU_OPTIONS
from sbatchlint.source.text import Span

# The script says which GPUs are seen.
_SEEN = assigns("CUDA_VISIBLE_DEVICES", "NVIDIA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES")
_EXPERTS = re.compile(r"--(?:num[-_]experts|expert[-_]model[-_]parallel[-_]size|ep)[= ]")


# The GPU dealt with the error itself: Xid 63 and 94.
_contained = matches(r"Xid [^:]*(?:\([^)]*\))?: (?:63|94)\b")


def _bound(job: Job) -> tuple[Span, ...]:
    """Options with which each task sees one GPU, as its first."""
    names = ("gpus-per-task", "ntasks-per-gpu", "gpu-bind", "accel-bind", "tres-per-task", "tres-bind")
    text = job.source.text
    spans = options(job, *names) + step_options(job, *names)
    off = ("none", "n", "verbose,none", "v,none")  # binds nothing
    return tuple(each for each in spans if text[each.start : each.end].split("=")[-1] not in off)


_SIZES = {"GiB": 1.0, "MiB": 1 / 1024, "GB": 1.0, "MB": 1 / 1024}
_NUMBER = r"(\d{1,9}(?:\.\d{1,9})?)"
_SIZE = rf"(?<![\d.]){_NUMBER} ?([GM]i?B)"
_AT_START = re.compile(rf"Free memory on device \S* ?\({_NUMBER}/{_NUMBER} GiB\) on startup")
_TOTAL = re.compile(rf"total capacity of {_SIZE}|{_SIZE} total capacity")
_FREE = re.compile(rf"of which {_SIZE} is free|{_SIZE} free")
_OWN = re.compile(rf"this process has {_SIZE} memory in use|{_SIZE} reserved in total")


def _amount(pattern: re.Pattern[str], text: str) -> float | None:
    """The size of memory, in GiB, that a message gives; None where it gives none."""
    match = pattern.search(text)
    if match is None:
        return None
    number, unit = [each for each in match.groups() if each]
    return float(number) * _SIZES[unit]


def _held_by_others(event: Event) -> bool | None:
    """Whether others hold most of the memory that the message misses: before the program took any, or beside it."""
    started = _AT_START.search(event.text)
    if started:
        return possible(float(started[1]) < 0.9 * float(started[2]))
    total, free, own = (_amount(each, event.text) for each in (_TOTAL, _FREE, _OWN))
    if total is None or free is None or own is None:
        return False
    return possible(total - free - own > max(own, 0.3 * total))


def _experts(job: Job, event: Event) -> Verdict:
    """The commands that split a model with experts over GPUs."""
    return shown(matching(job, (each for each in job.invocations if not each.kind), _EXPERTS))


def _not_asked(job: Job, event: Event) -> Verdict:
    """The directives ask for no GPU, and no step does."""
    if asks_for_gpus(job):
        return RULED_OUT
    return Shown(options(job, "partition")) if lacks(job, *GPU_OPTIONS) else None


def _more_tasks_than_gpus(job: Job, event: Event) -> Verdict:
    """The directives for several tasks, where the message lists several processes on one GPU."""
    if len(re.findall(r"\bProcess \d+ has\b", event.text)) < 2:
        return None
    return shown(options(job, "ntasks", "ntasks-per-node", *GPU_OPTIONS))


def _kind_of_gpu(job: Job, event: Event) -> Verdict:
    """The options that ask for a kind of GPU by its name, or for nodes with it."""
    kinds = [each for each in settings(job, *GPU_OPTIONS) if names_kind(each)]
    return shown((*spans_of(kinds), *options(job, "constraint")))


# fmt: off
SYMPTOMS = (
    Symptom(
        id="gpu-out-of-memory",
        title="a GPU ran out of memory",
        docs="The memory of the GPU, which no option of Slurm changes (`--mem` is the host's): the model, the batch, or another process on the same GPU. The message says how much other processes hold.\n",
        printed_by="torch, CUDA, JAX, TensorFlow, vLLM",
        releases="`torch.cuda.OutOfMemoryError` 1.13 to 2.4, `torch.OutOfMemoryError` from 2.5 on, `RuntimeError: CUDA out of memory` before",
        literals=("out of memory", "CUDA_ERROR_OUT_OF_MEMORY", "RESOURCE_EXHAUSTED", "OutOfMemoryError", "OOM when allocating", "No available memory for the cache blocks", "Free memory on device"),
        patterns=(
            r"(?:CUDA|HIP|XPU|NPU) (?:error: )?out of memory",
            r"(?:torch\.|torch\.cuda\.)OutOfMemoryError",
            r"CUDA_ERROR_OUT_OF_MEMORY|RESOURCE_EXHAUSTED: (?:Out of memory|Failed to allocate)|OOM when allocating tensor",
            r"No available memory for the cache blocks|Free memory on device .* is less than desired GPU memory utilization",
        ),
        causes=(
            Cause("ranks-share-gpu", "script", "several ranks use one GPU", "give each rank its own: as many GPUs (--gpus-per-task=1 or --gpus-per-node) as tasks", codes=("SB301", "SB310", "SB317", "SB338", "SB513", "SB212", "SB211"), script=_more_tasks_than_gpus),
            Cause("experts", "script", "the experts of the model do not fit: --expert-model-parallel-size alone splits them over GPUs, tensor parallelism does not", "a higher --expert-model-parallel-size, with more nodes where the ranks do not suffice", script=_experts),
            Cause("held-by-others", "cluster", "other processes hold memory of this GPU, as of a job or a container that was cancelled and still runs on the node", "see which ones (nvidia-smi, rocm-smi), and stop them, or submit with --exclude of that node and tell the site; a container goes with its job where it is started by srun, or removed in a trap", log=_held_by_others),
            Cause("model", "code", "model, batch and activations do not fit into the GPU's memory", "a smaller batch, gradient checkpointing, sharding over more GPUs; where other processes hold memory, see which ones (nvidia-smi, rocm-smi)"),
        ),
        matches="""\
torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 79.15 GiB
torch.cuda.OutOfMemoryError: HIP out of memory.
OutOfMemoryError: CUDA out of memory
RuntimeError: CUDA error: out of memory
torch.OutOfMemoryError: allocation failed
jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to allocate 1 bytes.
ValueError: No available memory for the cache blocks. Try increasing `gpu_memory_utilization` when initializing the engine.
ValueError: Free memory on device cuda:0 (12.5/79.1 GiB) on startup is less than desired GPU memory utilization (0.9, 71.2 GiB).
""",
    ),
    Symptom(
        id="invalid-device",
        title="the program takes a GPU by a number that is not there",
        docs="""\
A program that takes `cuda:LOCAL_RANK` needs to see all GPUs of the node; with `--gpus-per-task=1`, `--ntasks-per-gpu` or
`--gpu-bind` each task sees one, as number 0. A global rank as the number fails from the second node on.
""",
        printed_by="CUDA, torch",
        literals=("invalid device ordinal", "_cuda_setDevice", "torch.cuda.set_device", "hipErrorInvalidDevice", "Invalid device id", "Device index must", "CUDA_ERROR_INVALID_DEVICE"),
        patterns=(r"invalid device ordinal|hipErrorInvalidDevice|CUDA_ERROR_INVALID_DEVICE", r"Error: Invalid device id", r"^ *torch\._C\._cuda_setDevice\(", r"^ *torch\.cuda\.set_device\("),
        causes=(
            Cause("bound", "script", "each task sees one GPU, as number 0, and the program takes the number of its local rank", "leave the option out (--gres=gpu:N gives every task all GPUs), or let the program take device 0", codes=("SB211",), script=lambda job, event: shown(_bound(job), "certain")),
            Cause("too-many-ranks", "script", "more ranks are started on a node than it has GPUs", "start as many as there are GPUs", codes=("SB310", "SB301", "SB317", "SB201", "SB205", "SB206", "SB338", "SB339", "SB207")),
            Cause("rank-early", "script", "the local rank is not that of the task", "see the finding", codes=("SB401", "SB402", "SB324", "SB405")),
            Cause("visible", "script", "the script says which GPUs are seen, by numbers of the node", "leave CUDA_VISIBLE_DEVICES to Slurm", codes=("SB212",), script=_SEEN),
            Cause("global-rank", "code", "the program takes a number of a GPU that it does not have: its global rank, or a fixed one", "take LOCAL_RANK, or rank % torch.cuda.device_count()"),
        ),
        matches="""\
RuntimeError: CUDA error: invalid device ordinal
AssertionError: Invalid device id
    torch._C._cuda_setDevice(device)
    torch.cuda.set_device(local_rank)
""",
        others="  File \"train.py\", line 3, in set_device\n",
        below=Below(r"invalid device ordinal|Invalid device id|hipErrorInvalidDevice|CUDA_ERROR_INVALID_DEVICE|^\w+Error: ", after=r"set_device\(|_cuda_setDevice", instead=True),
    ),
    Symptom(
        id="gpu-peer-hidden",
        title="a rank cannot open the memory of another rank's GPU",
        docs="""\
GPU-aware MPI, NCCL and UCX copy between the GPUs of a node through handles (CUDA IPC, HIP IPC), which a process can only
open of GPUs that it sees; without them Open MPI reads the memory as if it were the host's (`Read -1, …, errno = 14`). With `--gpus-per-task`, `--ntasks-per-gpu` or `--gpu-bind` each task sees one.
""",
        printed_by="CUDA, HIP, Cray MPICH (GTL), UCX, Open MPI",
        literals=("IpcOpenMemHandle", "IpcGetMemHandle", "IpcOpenMemoryHandle", "errno = "),
        patterns=(
            r"(?i)\b(?:cuda|cu|hip|ze)?(?:Mem)?Ipc(?:Open|Get)Mem(?:ory)?Handle\w*\b.{0,60}(?:invalid|fail|error|not|resource|denied)",
            r"(?i)\b(?:call to|error in|failed:?) (?:cuda|cu|hip)Ipc(?:Open|Get)MemHandle",
            r"\bRead -\d+, expected \d+, errno = 14\b",
        ),
        causes=(
            Cause("bound", "script", "each task sees only its own GPU, so it cannot open the memory of the others on its node", "ask for the GPUs of the node as a whole (--gpus-per-node=N, --gres=gpu:N) without --gpus-per-task and --gpu-bind, and let each rank take the device of its SLURM_LOCALID", script=lambda job, event: shown(_bound(job))),
            Cause("visible", "script", "the script lets each rank see some GPUs only, so it cannot open the memory of the others on its node", "let each rank see all GPUs of the node, and take one by its number", script=_SEEN),
            Cause("not-reachable", "cluster", "the GPUs of these ranks cannot read each other's memory: they are hidden from each other (a container, a cgroup, a binding of the site), or the driver does not allow it", "ask for the GPUs of a node as a whole, without a binding; else let MPI copy through the host (MPICH_GPU_IPC_ENABLED=0, UCX_TLS=^cuda_ipc, NCCL_P2P_DISABLE=1)"),
        ),
        matches="""\
(GTL DEBUG: 1) cuIpcOpenMemHandle: invalid argument, CUDA_ERROR_INVALID_VALUE, line no 280
cuda_ipc_cache.c:150 UCX  ERROR cuIpcOpenMemHandle() failed: invalid device context
The call to cuIpcOpenMemHandle failed. This is an unrecoverable error
[n1:1033] Read -1, expected 549888, errno = 14
""",
        others="cuIpcOpenMemHandle: 12 handles\n",
    ),
    Symptom(
        id="gpu-busy",
        title="another process holds the GPU",
        docs="A GPU in exclusive mode takes one process; or an earlier process of a dead job still holds it.\n",
        printed_by="CUDA",
        literals=("busy or unavailable", "CUDA_ERROR_DEVICE_UNAVAILABLE", "exclusive (thread or process) mode"),
        patterns=(r"CUDA-capable device\(s\) is/are busy or unavailable|all CUDA-capable devices are busy|CUDA_ERROR_DEVICE_UNAVAILABLE",),
        causes=(
            Cause("shared", "script", "several processes take one GPU, which takes one only", "give each rank its own GPU", codes=("SB301", "SB310", "SB211", "SB212", "SB513")),
            Cause("held", "cluster", "the GPU is held by another process, or is in exclusive mode", "submit again with --exclude of that node, and tell the site"),
        ),
        matches="RuntimeError: CUDA error: CUDA-capable device(s) is/are busy or unavailable\ntorch.AcceleratorError: CUDA error: all CUDA-capable devices are busy or unavailable\n",
    ),
    Symptom(
        id="gpu-not-initialised",
        title="CUDA does not start on the GPU",
        docs="The driver of the node, or the GPU, is in a state in which no program can use it; the next node may work. A program that forks after its first use of CUDA sees the same.\n",
        printed_by="CUDA",
        releases="cudaErrorInitializationError (3), all releases",
        literals=("nitialization error", "InitializationError", "driver initialization failed", "initialize NVML"),
        patterns=(r"CUDA .*\binitialization error|cudaErrorInitializationError|CUDA driver initialization failed|Failed to initialize NVML: (?!Driver/library)",),
        causes=(
            Cause("forked", "code", "the program uses CUDA in a process that was forked after CUDA's start", "start workers by `spawn`", log=lambda event: any("forked subprocess" in each or "multiprocessing" in each for each in (event.text, *event.above[-8:])) or False),
            Cause("node", "cluster", "CUDA does not start on a GPU of the node", "submit again with --exclude of that node, and tell the site"),
        ),
        matches="""\
abort: CUDA error 3 in file device.cpp line 7: initialization error !!!
RuntimeError: CUDA error: initialization error
Failed to initialize NVML: Unknown Error
""",
        others="Failed to initialize NVML: Driver/library version mismatch\n",
    ),
    Symptom(
        id="no-gpu",
        title="the program sees no GPU",
        docs="""\
No GPU was asked for (then Slurm hides them), CUDA_VISIBLE_DEVICES names what the job does not have, the container was started
without GPUs, or the node's driver does not run.
""",
        printed_by="torch, CUDA, JAX, TensorFlow, vLLM, nvidia-smi",
        literals=("No CUDA GPUs are available", "no CUDA-capable device", "No HIP GPUs are available", "No devices were found", "NoDevFiles", "CUDA is not available", "Cuda is not available", "CUDA_ERROR_NO_DEVICE", "no GPU resources available", "Found no NVIDIA driver", "Torch not compiled with CUDA", "cuda.is_available() is False", "No visible GPU devices", "Failed to infer device type", "no GPU is", "no GPUs were", "Num GPUs Available", "no ROCm-capable device", "no supported gpu backend found", "requires a GPU", "no GPUs found", "not detect any GPU", "No supported gpu backend found", "No GPU found", "Unable to initialize backend", "no supported devices found for platform"),
        patterns=(
            r"No (?:CUDA|HIP) GPUs are available|no (?:CUDA|ROCm)-capable device is detected|CUDA_ERROR_NO_DEVICE",
            r"^No devices were found|invalid literal for int\(\) .*NoDevFiles",
            r"(?:Error|Exception): (?!ProcessGroupNCCL).*(?:CUDA is not available|Cuda is not available|cuda\.is_available\(\) is False|no GPU resources available|No GPU found|no GPUs found|Failed to infer device type)",
            r"\b[Nn]o GPUs? (?:is|are|was|were)(?: (?:detected|found|available|visible)|$)|^Num GPUs Available: +[0]\b",
            r"Found no NVIDIA driver on your system|Torch not compiled with CUDA enabled",
            r"No (?:visible|supported) [Gg][Pp][Uu] (?:devices|backend found)|MisconfigurationException: No supported gpu backend found",
            r"Error: Unable to initialize backend '(?:cuda|gpu|rocm)'|no supported devices found for platform (?:CUDA|ROCM)",
        ),
        causes=(
            Cause("not-asked", "script", "the job, or the step, asks for no GPU", "ask for GPUs with --gres or --gpus-per-node", codes=("SB201", "SB208", "SB206"), script=_not_asked),
            Cause("hidden", "script", "the script says which GPUs are seen, and the job does not have them", "leave CUDA_VISIBLE_DEVICES to Slurm, which numbers the job's GPUs from 0", codes=("SB212", "SB211", "SB410"), script=_SEEN),
            Cause("container", "script", "the container was started without GPUs", "apptainer: --nv (or --rocm); docker: --gpus", codes=("SB512",)),
            Cause("none-asked", "submission", "nvidia-smi finds no GPU, as where none was asked for", "ask for GPUs with --gres=gpu:N or --gpus-per-node; where that was done, tell the site which node it is", script=not_set(*GPU_OPTIONS), log=says("No devices were found")),
            Cause("broken-gpu", "cluster", "nvidia-smi finds none of the GPUs that the job asks for: one of the node is broken, or the node's driver", "submit again with --exclude of that node, and tell the site", script=sets(*GPU_OPTIONS), log=says("No devices were found")),
            Cause("module-without-gpu", "script", "the module of the program is, by its name, a build without GPUs", "load a build of it whose name mentions CUDA or GPUs (`module spider NAME` lists them), with what that needs loaded before", script=module_without_gpu, log=says_not("No devices were found")),
            Cause("hidden-in-code", "code", "the program hides the GPUs of the job from itself, or its build has no CUDA", "look for CUDA_VISIBLE_DEVICES in it (os.environ), and at torch.version.cuda", log=says_not("No devices were found")),
            Cause("module-for-gpu", "cluster", "the module's build of the program finds no GPU that it can use", "ask the site for which kinds of GPU that module is built; take one of these (--gres=gpu:TYPE:N, --constraint), or another release of the module", script=module_for_gpu, log=says_not("No devices were found"), unproven="possible"),
        ),
        matches="""\
RuntimeError: No CUDA GPUs are available
RuntimeError: CUDA error: no CUDA-capable device is detected
No devices were found
Cannot run short-ranged nonbonded interactions on a GPU because no GPU is
Num GPUs Available:  0
ValueError: Cuda is not available.
RuntimeError: Unable to proceed, no GPU resources available
AssertionError: Torch not compiled with CUDA enabled
lightning_fabric.utilities.exceptions.MisconfigurationException: No supported gpu backend found!
RuntimeError: Unable to initialize backend 'cuda': FAILED_PRECONDITION: No visible GPU devices.
RuntimeError: Failed to infer device type
""",
        others="INFO: Unable to initialize backend 'rocm'\nUserWarning: CUDA is not available, falling back\nNum GPUs Available:  4\n",
    ),
    Symptom(
        id="cpu-instead-of-gpu",
        title="the program works without a GPU",
        docs="JAX, TensorFlow and torch say so and continue on the CPUs, many times slower.\n",
        printed_by="JAX, TensorFlow, torch",
        role="warning",
        literals=("falling back to CPU", "GPU will not be used", "CUDA-enabled jaxlib is not installed", "Skipping registering GPU devices", "CUDA is not available", "Falling back to cpu"),
        patterns=(r"No GPU/TPU found, falling back to CPU|GPU will not be used|CUDA-enabled jaxlib is not installed|[Ff]alling back to (?:CPU|cpu)|Skipping registering GPU devices|Warning: .*CUDA is not available",),
        causes=(Cause("not-asked", "script", "the job, or the step, has no GPU that the program could use", "ask for GPUs, and pass them to the container", codes=("SB201", "SB208", "SB206", "SB512", "SB212")),),
        matches="WARNING:jax._src.xla_bridge:No GPU/TPU found, falling back to CPU.\nCould not find cuda drivers on your machine, GPU will not be used.\n",
    ),
    Symptom(
        id="gpu-driver",
        title="driver, CUDA and GPU do not match",
        docs="The driver of the node is older than the program's CUDA wants, driver and library are of different releases (a node that was updated and not rebooted), or the build has no code for this type of GPU.\n",
        printed_by="CUDA, torch, nvidia-smi",
        literals=("driver version is insufficient", "Driver/library version mismatch", "no kernel image is available", "CUDA_ERROR_INVALID_IMAGE", "CUDA_ERROR_NO_BINARY", "driver on your system is too old", "is not compatible with the current PyTorch", "Failed to initialize NVML", "couldn't communicate with the NVIDIA driver", "PTX was compiled with an unsupported toolchain", "provided PTX was compiled", "forward compatibility was attempted", "CUDA unknown error", "unknown error", "libcuda.so"),
        patterns=(
            r"driver version is insufficient for CUDA runtime|driver on your system is too old",
            r"Driver/library version mismatch|Failed to initialize NVML|couldn't communicate with the NVIDIA driver|forward compatibility was attempted",
            r"no kernel image is available for execution|compiled with an unsupported toolchain|CUDA_ERROR_(?:INVALID_IMAGE|NO_BINARY_FOR_GPU)",
            r"with CUDA capability (?P<capability>sm_\d+) is not compatible with the current PyTorch",
            r"CUDA unknown error|CUDA error: unknown error|CUDA driver initialization failed",
        ),
        causes=(
            Cause("kind-of-script", "script", "the script asks for a kind of GPU for which the installed PyTorch has no code ({capability})", "ask for a newer kind (--gres=gpu:TYPE:N, --constraint), or install an older release of PyTorch, which has it", script=_kind_of_gpu, log=lambda event: possible("capability" in event.groups)),
            Cause("image", "code", "the program's build of CUDA does not fit this GPU or driver", "install the build for the driver and GPU of that partition", log=says("too old", "kernel image", "toolchain", "not compatible with", "CUDA_ERROR")),
            Cause("driver-old", "cluster", "the node's driver is older than what the program's CUDA wants", "install a build for an older CUDA (`nvidia-smi` shows the newest that the driver runs), take nodes with a newer driver, or ask the site to update it", log=says("too old", "insufficient")),
            Cause("node", "cluster", "the GPU driver of the node is not right", "submit again with --exclude of that node, and tell the site"),
        ),
        matches="""\
RuntimeError: The NVIDIA driver on your system is too old (found version 11040).
Failed to initialize NVML: Driver/library version mismatch
RuntimeError: CUDA error: no kernel image is available for execution on the device
Tesla P100-PCIE-16GB with CUDA capability sm_60 is not compatible with the current PyTorch installation.
RuntimeError: CUDA unknown error - this may be due to an incorrectly set up environment
NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.
""",
    ),
    Symptom(
        id="gpu-fault",
        title="the GPU reported a hardware error",
        docs="Xid 48, 64, 79, 95 in the kernel's log: memory (ECC) or the bus. After 63 (a row of memory was replaced) and 94 (an error that only one program met) the GPU may go on.\n",
        printed_by="CUDA, the kernel, DCGM",
        literals=("uncorrectable ECC error", "NVRM: Xid", "has fallen off the bus", "uncorrectable NVLink", "CUDA_ERROR_ECC", "GPU is lost", "determine the device handle", "hardware error"),
        patterns=(r"uncorrectable (?:ECC|NVLink) error|CUDA_ERROR_ECC_UNCORRECTABLE|fallen off the bus|GPU is lost|Unable to determine the device handle for [Gg][Pp][Uu]|NVRM: Xid \(PCI:[^)]*\): (?:48|63|64|74|79|94|95|119|120)\b",),
        causes=(
            Cause("memory-error", "cluster", "a GPU of the node may be broken: it has replaced or contained a part of its memory", "submit again; if it comes back, with --exclude of that node, and tell the site", log=_contained, unproven="possible"),
            Cause("gpu", "cluster", "a GPU of the node is broken", "submit again with --exclude of that node, and tell the site", log=lambda event: possible(_contained(event) is False), unproven="certain"),
        ),
        matches="RuntimeError: CUDA error: uncorrectable ECC error encountered\nNVRM: Xid (PCI:0000:3b:00): 79, pid=4711, GPU has fallen off the bus.\n",
        examples=(
            Example("NVRM: Xid (PCI:0000:3b:00): 63, pid=4711, Row Remapper: New row marked for remapping\n", None, "memory-error", "possible"),
            Example("NVRM: Xid (PCI:0000:3b:00): 95, pid=4711, Uncontained error\n", None, "gpu"),
        ),
    ),
    Symptom(
        id="gpu-kernel-fault",
        title="the program made a mistake on the GPU",
        docs="An index out of range, memory that is not its own. The traceback points to a place after the fault: CUDA_LAUNCH_BLOCKING=1 shows the right one.\n",
        printed_by="CUDA, torch",
        role="consequence",
        literals=("device-side assert", "illegal memory access", "unspecified launch failure", "misaligned address", "Memory access fault by GPU", "CUBLAS_STATUS_", "CUDNN_STATUS_", "illegal instruction was encountered"),
        patterns=(r"device-side assert triggered|illegal memory access was encountered|unspecified launch failure|misaligned address|illegal instruction was encountered|Memory access fault by GPU", r"(?:CUBLAS|CUDNN|CUFFT|CUSPARSE)_STATUS_(?:NOT_INITIALIZED|ALLOC_FAILED|EXECUTION_FAILED|INTERNAL_ERROR|MAPPING_ERROR|INVALID_VALUE)"),
        causes=(
            Cause("memory", "code", "a CUDA library could not get GPU memory", "a smaller batch; another process may hold the memory", log=says("ALLOC_FAILED", "NOT_INITIALIZED")),
            Cause("program", "code", "the program made a mistake on the GPU: an index out of range, or wrong sizes", "run it with CUDA_LAUNCH_BLOCKING=1"),
        ),
        matches="""\
RuntimeError: CUDA error: device-side assert triggered
torch.AcceleratorError: CUDA error: an illegal memory access was encountered
RuntimeError: CUDA error: CUBLAS_STATUS_NOT_INITIALIZED when calling `cublasCreate(handle)`
""",
    ),
)
