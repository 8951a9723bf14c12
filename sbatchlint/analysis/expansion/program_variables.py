"""Variables that only programs read: an environment holds them, and they mean nothing to the script itself."""

from functools import lru_cache

from sbatchlint.slurm.edit_distance import edit_distance
from sbatchlint.source.regex import Regex, matches

_FOR_PROGRAMS = Regex(
    r"(?:NCCL|UCX|TORCH|PYTORCH|CUDA|TRANSFORMERS|WANDB|OMPI_MCA|FI|GLOO|MKL|KMP|MPICH|I_MPI|TOKENIZERS|XLA|TRITON"
    r"|NVTE|VLLM|RAY|MIOPEN|HSA|ROCR|HIP|NVSHMEM|APPTAINERENV|SINGULARITYENV|SLURM|SRUN|PYXIS|ENROOT|GOMP|MV2|PMIX"
    r"|OPENBLAS|NUMEXPR|NUMBA|JULIA|JAX|TF|MALLOC|ROMIO|HDF5|PSM2|ACCELERATE|DEEPSPEED|NEPTUNE|MLFLOW|NXF)_[A-Z0-9_]+"
    r"|HF_(?:HOME|TOKEN|ENDPOINT|DEBUG|(?:HUB|DATASETS|XET)_[A-Z0-9_]+|[A-Z]+_CACHE)"
    r"|OMP_(?:NUM_THREADS|PLACES|PROC_BIND|STACKSIZE|SCHEDULE|DYNAMIC|NESTED|WAIT_POLICY)"
    r"|PYTHON(?:UNBUFFERED|NOUSERSITE|HASHSEED|FAULTHANDLER|DONTWRITEBYTECODE|IOENCODING|WARNINGS|UTF8|STARTUP)"
    r"|(?:APPTAINER|SINGULARITY)_(?:BIND(?:PATH)?|CACHEDIR|TMPDIR|NV|CLEANENV)|R_(?:LIBS(?:_USER|_SITE)?|MAX_VSIZE)"
    r"|KERAS_(?:BACKEND|HOME)|(?:PIP|UV|TFHUB)_CACHE_DIR|CONDA_(?:PKGS_DIRS|ENVS_(?:PATH|DIRS))|XDG_\w+_(?:HOME|DIR)"
    r"|(?:VECLIB_MAXIMUM|BLIS_NUM|GOTO_NUM|RAYON_NUM|POLARS_MAX)_THREADS|ITK_GLOBAL_DEFAULT_NUMBER_OF_THREADS"
    r"|(?:OPENAI|ANTHROPIC|COMET)_API_KEY|NVIDIA_(?:VISIBLE_DEVICES|TF32_OVERRIDE)|ZE_AFFINITY_MASK"
    r"|MPLBACKEND|MPLCONFIGDIR|THEANO_FLAGS|MUJOCO_GL|PYOPENGL_PLATFORM|QT_QPA_PLATFORM|SDL_(?:VIDEO|AUDIO)DRIVER"
    r"|_?JAVA_(?:TOOL_)?OPTIONS|FSLOUTPUTTYPE|SUBJECTS_DIR|FS_LICENSE|GMX_(?:GPU_DD_COMMS|GPU_PME_PP_COMMS|MAXBACKUP)"
)


# Words of a script for a command line: SRUN_ARGS, RAY_OPTS, TORCH_CMD.
_OF_COMMAND_LINE = Regex(r"(?!NXF_OPTS)\w+_(?:ARGS?|ARGUMENTS|OPTS|CMD|COMMAND)")


def is_for_programs(name: str) -> bool:
    """Whether a variable has a meaning for programs alone."""
    return matches(_FOR_PROGRAMS, name) and not matches(_OF_COMMAND_LINE, name)


# Variables of programs that scripts set often, none of which is a letter away from the name of another.
_NAMES = (
    "CUDA_VISIBLE_DEVICES CUDA_DEVICE_ORDER CUDA_LAUNCH_BLOCKING CUDA_DEVICE_MAX_CONNECTIONS HIP_VISIBLE_DEVICES"
    " ROCR_VISIBLE_DEVICES CUBLAS_WORKSPACE_CONFIG OMP_NUM_THREADS OMP_PROC_BIND MKL_NUM_THREADS OPENBLAS_NUM_THREADS"
    " NUMEXPR_NUM_THREADS JULIA_NUM_THREADS GOMP_CPU_AFFINITY PYTHONUNBUFFERED PYTHONNOUSERSITE"
    " PYTHONDONTWRITEBYTECODE PYTHONFAULTHANDLER PYTHONHASHSEED LD_LIBRARY_PATH NCCL_SOCKET_IFNAME NCCL_IB_DISABLE"
    " NCCL_P2P_DISABLE NCCL_SHM_DISABLE NCCL_ASYNC_ERROR_HANDLING NCCL_BLOCKING_WAIT NCCL_DEBUG_SUBSYS"
    " NCCL_NET_GDR_LEVEL HF_DATASETS_CACHE HF_DATASETS_OFFLINE HF_HUB_OFFLINE TRANSFORMERS_CACHE TRANSFORMERS_OFFLINE"
    " HUGGING_FACE_HUB_TOKEN TOKENIZERS_PARALLELISM TORCH_DISTRIBUTED_DEBUG TORCH_CUDA_ARCH_LIST TORCH_EXTENSIONS_DIR"
    " PYTORCH_CUDA_ALLOC_CONF TF_CPP_MIN_LOG_LEVEL TF_FORCE_GPU_ALLOW_GROWTH XLA_PYTHON_CLIENT_PREALLOCATE"
    " XLA_PYTHON_CLIENT_MEM_FRACTION MPICH_GPU_SUPPORT_ENABLED HDF5_USE_FILE_LOCKING I_MPI_PMI_LIBRARY"
)
_WELL_KNOWN = frozenset(_NAMES.split())
_BARE = {name.replace("_", ""): name for name in _NAMES.split()}
# What people write for a name that is more than a letter away.
_MISTAKEN = {
    "PYTHONBUFFERED": "PYTHONUNBUFFERED",
    "PYTHONUNBUFFER": "PYTHONUNBUFFERED",
    "OMPTHREADS": "OMP_NUM_THREADS",
    "PYTORCHCUDAALLOCCONFIG": "PYTORCH_CUDA_ALLOC_CONF",
    "CUBLASWORKSPACE": "CUBLAS_WORKSPACE_CONFIG",
}
_FAMILY = Regex(r"[A-Z0-9_]{10,}")
# Libraries whose variables are called like those of another one: CCL_BLOCKING_WAIT is oneCCL's, not NCCL's.
_OTHER_FAMILIES = frozenset(
    {"CCL", "RCCL", "HCCL", "MCCL", "XCCL", "ICCL", "ECCL", "ONECCL", "ACCL", "UCC", "UCX", "HIP", "ROCR", "CUDA"}
    | {"NCCL", "OMP", "GOMP", "KMP", "MKL", "HF", "TF", "TORCH", "PYTORCH", "XLA", "MPICH", "I", "HDF5", "JULIA"}
)
# Names that exist although they look like others.
_EXISTING = frozenset({"TF_CPP_MIN_VLOG_LEVEL"})


@lru_cache(maxsize=1024)
def meant_for_programs(name: str) -> str | None:
    """The well-known variable that was meant by a name which no program reads; None if there is none."""
    if _FAMILY.fullmatch(name) is None or name in _WELL_KNOWN or name in _EXISTING:
        return None
    bare = name.replace("_", "")
    found = _BARE.get(bare) or _MISTAKEN.get(bare)
    if found is not None:
        return found
    family = name.partition("_")[0]
    return next(
        (
            known
            for word, known in _BARE.items()
            if _may_be_near(bare, word)
            and edit_distance(bare, word) == 1
            and (family not in _OTHER_FAMILIES or known.startswith(f"{family}_"))
        ),
        None,
    )


def _may_be_near(first: str, second: str) -> bool:
    """Whether two names may be one edit apart: it leaves one of their halves as it is."""
    half = min(len(first), len(second)) // 2 - 1
    return abs(len(first) - len(second)) < 2 and (first[:half] == second[:half] or first[-half:] == second[-half:])
