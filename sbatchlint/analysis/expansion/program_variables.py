"""Variables that only programs read: an environment holds them, and they mean nothing to the script itself."""

from functools import lru_cache

from sbatchlint.source.regex import Regex

_FOR_PROGRAMS = Regex(
    r"(?:NCCL|UCX|TORCH|PYTORCH|CUDA|TRANSFORMERS|WANDB|OMPI_MCA|FI|GLOO|MKL|KMP|MPICH|I_MPI|TOKENIZERS|XLA|TRITON"
    r"|NVTE|VLLM|RAY|MIOPEN|HSA|ROCR|HIP|NVSHMEM|APPTAINERENV|SINGULARITYENV|SLURM|SRUN|PYXIS|ENROOT|GOMP|MV2|PMIX"
    r"|OPENBLAS|NUMEXPR|NUMBA|JULIA|JAX|TF|MALLOC|ROMIO|HDF5|PSM2|ACCELERATE|DEEPSPEED|NEPTUNE|MLFLOW|NXF)_[A-Z0-9_]+"
    r"|HF_(?:HOME|TOKEN|ENDPOINT|DEBUG|(?:HUB|DATASETS|XET)_[A-Z0-9_]+|[A-Z]+_CACHE)"
    r"|OMP_(?:NUM_THREADS|PLACES|PROC_BIND|STACKSIZE|SCHEDULE|DYNAMIC|NESTED|WAIT_POLICY)"
    r"|PYTHON(?:UNBUFFERED|NOUSERSITE|HASHSEED|FAULTHANDLER|DONTWRITEBYTECODE)"
)


@lru_cache(maxsize=1024)  # most scripts set the same variables
def is_for_programs(name: str) -> bool:
    """Whether a variable has a meaning for programs alone."""
    return _FOR_PROGRAMS.fullmatch(name) is not None
