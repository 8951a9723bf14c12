"""Options that srun refuses together in a job: on its command line, and with what it inherits from the job.

`_opt_verify()` of src/srun/opt.c and `validate_options_salloc_sbatch_srun()` of src/common/slurm_opt.c, 22.05 to 26.05.
Variables count like options, but the command line overrides those of the same kind (`SLURM_MEM_PER_NODE` beside
`--mem-per-cpu`). All rows that hold in 22.05 were seen there in a live run.
"""

from typing import NamedTuple

_EXACT = "--exact and --whole are mutually exclusive."
_OVERLAP = "--exclusive and --overlap are mutually exclusive"
_PTY = "--error/--input/--output are incompatible with --pty"
_RELATIVE = "-r,--relative not allowed with -w,--nodelist or -x,--exclude."
_MEMORY = "--mem, --mem-per-cpu, and --mem-per-gpu are mutually exclusive."
_CORES = "-S/--core-spec and --thred-spec options are mutually exclusive"
_PER_GPU = "--ntasks-per-gpu and SLURM_NTASKS_PER_GPU"


class StepClash(NamedTuple):
    """Options that srun refuses together, from the release `since` to before `until` (None: in all).

    `inherited`: the variable by which srun has the second one, '' where that is an option of its own.
    """

    first: str
    second: str
    message: str
    inherited: str = ""
    since: str | None = None
    until: str | None = None


# Options on the same command line.
PAIRS = (
    StepClash("exact", "whole", _EXACT),
    StepClash("exclusive", "overlap", _OVERLAP, since="21.08"),
    StepClash("pty", "output", _PTY),
    StepClash("pty", "error", _PTY),
    StepClash("pty", "input", _PTY),
    StepClash("relative", "nodelist", _RELATIVE),
    StepClash("relative", "exclude", _RELATIVE),
    StepClash("mem", "mem-per-cpu", _MEMORY),
    StepClash("mem", "mem-per-gpu", _MEMORY),
    StepClash("mem-per-cpu", "mem-per-gpu", _MEMORY),
    StepClash("core-spec", "thread-spec", _CORES, since="21.08"),
    StepClash("ntasks-per-gpu", "ntasks-per-node", f"--ntasks-per-node is mutually exclusive with {_PER_GPU}"),
    StepClash("ntasks-per-gpu", "gpus-per-task", f"--gpus-per-task is mutually exclusive with {_PER_GPU}"),
    StepClash("ntasks-per-gpu", "gpus-per-socket", f"--gpus-per-socket is mutually exclusive with {_PER_GPU}"),
    StepClash(
        "ntasks-per-gpu", "tres-per-task", f"--tres-per-task is mutually exclusive with {_PER_GPU}", since="23.02"
    ),
)
# An option of the step, and one of the job.
WITH_JOB = (
    StepClash(
        "ntasks-per-gpu", "ntasks-per-node", f"SLURM_NTASKS_PER_NODE is mutually exclusive with {_PER_GPU}",
        "SLURM_NTASKS_PER_NODE",
    ),
    *(
        StepClash(each, "ntasks-per-gpu", f"--{each} is mutually exclusive with {_PER_GPU}", "SLURM_NTASKS_PER_GPU")
        for each in ("ntasks-per-node", "gpus-per-task", "gpus-per-socket")
    ),
)  # fmt: skip
# Two options of the job, of which no step starts: sbatch exports SLURM_TRES_PER_TASK=cpu=N for `--cpus-per-task` since
# 23.11, and srun takes only that of GPUs for a clash since a maintenance release of 25.05.
OF_JOB = StepClash(
    "cpus-per-task", "ntasks-per-gpu", f"SLURM_TRES_PER_TASK is mutually exclusive with {_PER_GPU}",
    "SLURM_TRES_PER_TASK", "23.11", "25.05",
)  # fmt: skip
# The variables of memory, of which srun takes one, unless an option says how much.
MEMORY = {"SLURM_MEM_PER_NODE": "mem", "SLURM_MEM_PER_CPU": "mem-per-cpu", "SLURM_MEM_PER_GPU": "mem-per-gpu"}
