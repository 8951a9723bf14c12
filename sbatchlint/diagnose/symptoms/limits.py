"""Limits that the system sets for each process (`ulimit`): locked memory, CPU time, size of files."""

import re

from sbatchlint.diagnose.clues import possible
from sbatchlint.diagnose.symptom import Cause, Event, Symptom


def _on_login_node(event: Event) -> bool | None:
    """Rules the cause out where the message, or a line near it, mentions Slurm."""
    near = " ".join((event.text, *event.above, *event.below))
    return possible(not re.search(r"slurm|srun", near))


# fmt: off
SYMPTOMS = (
    Symptom(
        id="locked-memory",
        title="too little memory can be locked for the network",
        docs="""\
InfiniBand, Omni-Path and RoCE pin the memory that they send from. A job inherits the limit on it from slurmd, whose own
limit systemd sets (`LimitMEMLOCK`); limits.conf is for logins and does not count. `srun bash -c 'ulimit -l'` shows what jobs get.
With PropagateResourceLimits the limit comes from the shell that submits.
""",
        printed_by="UCX, Open MPI (openib), libibverbs, PSM2, MVAPICH",
        literals=("max locked memory", "memlock", "MEMLOCK", "locked memory", "registering part of your physical memory", "mmap of rcvhdrq", "cannot create cq", "Cannot register memory", "ibv_create_cq", "ibv_reg_mr", "ibv_create_qp", "ibv_exp_reg_mr"),
        patterns=(
            r"set max locked memory|\b[Mm]emlock limits?\b.*(?:too low|should be|set to)|allocate some locked memory|RLIMIT_MEMLOCK (?:too small|is \d+ bytes.*(?:fail|abort))",
            r"mmap of rcvhdrq at \S+ failed: Resource temporarily unavailable",
            r"(?<!Call to )ibv_(?:exp_)?(?:create_cq|create_qp|reg_mr)\b.*(?:failed|error).*(?:Cannot allocate memory|errno 12)|\bcannot create cq\b",
        ),
        causes=(
            Cause("slurmd", "cluster", "the job may lock too little memory, so the network cannot register its buffers: it inherits the limit of slurmd", "tell the site: LimitMEMLOCK=infinity in the systemd unit of slurmd; until then `ulimit -l unlimited` in the script where the hard limit allows it"),
        ),
        matches="""\
[n1:4711:0] ib_log.c:246  UCX  ERROR mlx5_0: ibv_create_cq() failed: Cannot allocate memory. Please set max locked memory (ulimit -l) to 'unlimited' (current: 64 kbytes)
allocate some locked memory.  This typically can indicate that the
n3.4711 hfi_userinit: mmap of rcvhdrq at dabbad00040b0000 failed: Resource temporarily unavailable
[n1:mpi_rank_0][rdma_open_hca] cannot create cq
""",
        others="libibverbs: Warning: RLIMIT_MEMLOCK is 65536 bytes.\n",
    ),
    Symptom(
        id="locked-memory-low",
        title="the limit on locked memory for the network is low",
        docs="Programs go on, but fail or slow down once they need to lock more than the limit.\n",
        printed_by="libibverbs, Open MPI (openib)",
        role="warning",
        literals=("RLIMIT_MEMLOCK is", "OpenFabrics subsystem is configured to only", "registering part of your physical memory"),
        patterns=(r"RLIMIT_MEMLOCK is \d+ bytes", r"OpenFabrics subsystem is configured to only|allow registering part of your physical memory"),
        causes=(
            Cause("slurmd", "cluster", "the nodes let a job lock or register only a part of the memory for the network", "tell the site: LimitMEMLOCK=infinity for slurmd, and the parameters of the network driver", unproven="possible"),
        ),
        matches="""\
libibverbs: Warning: RLIMIT_MEMLOCK is 65536 bytes.
WARNING: It appears that your OpenFabrics subsystem is configured to only
  allow registering part of your physical memory.  This can cause MPI jobs to
""",
    ),
    Symptom(
        id="processor-time-limit",
        title="a limit of the shell on processor time or on the size of files ended a process",
        docs="`ulimit -t` counts CPU seconds, not wall-clock time; login nodes have such limits, and sbatch passes the soft limits of the submitting shell on to the job (PropagateResourceLimits). The shell reports the signals as 152 (SIGXCPU) and 153 (SIGXFSZ).\n",
        printed_by="srun, bash",
        literals=("CPU time limit exceeded", "Cputime limit exceeded", "File size limit exceeded", "Filesize limit exceeded", "SIGXCPU", "SIGXFSZ", "Exited with exit code", "exit status"),
        patterns=(r"(?:CPU ?time|Cputime) limit exceeded|SIGXCPU|[Ee]xit(?:ed with exit)? (?:code|status) 152\b", r"File ?size limit exceeded|SIGXFSZ|[Ee]xit(?:ed with exit)? (?:code|status) 153\b"),
        causes=(
            Cause("login-node", "submission", "the program ran on a machine that limits processor time, as login nodes do", "submit it with sbatch, or run it with srun, instead of on the login node", log=_on_login_node),
            Cause("inherited", "submission", "the job inherited a limit of the submitting shell (`ulimit -t`, `ulimit -f`)", "`ulimit -t unlimited` and `ulimit -f unlimited` at the beginning of the script, or sbatch --propagate=NONE"),
        ),
        matches="srun: error: n3: task 0: CPU time limit exceeded\nsrun: error: n3: task 0: Exited with exit code 152\nFile size limit exceeded (core dumped)\n",
        others="srun: error: n3: task 0: Exited with exit code 1\n",
    ),
)
