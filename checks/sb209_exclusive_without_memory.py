"""An exclusive job gets whole nodes, but perhaps only part of their memory.

With `--exclusive` a job has all CPUs and GPUs of its nodes, but only the memory that it requested. Where it requested
none, it gets the site's default (`DefMemPerCPU`, `DefMemPerNode`), which may be far less than the node has: the job
ends with an out-of-memory kill on a node that is otherwise empty. `--mem=0` asks for all memory.

Advice only: a site that sets no default, or does not count memory, gives all of it anyway.

## Fix

Adds `--mem=0` after the directives. Unsafe: some sites refuse a job that requests all memory of a node, as the nodes
differ or reserve some for themselves.

## References

sbatch(1), "--exclusive" and "--mem"; chapel-lang/chapel pull request 13667; `--exclusive --mem=1G` keeps 1 GB on Slurm
22.05.
"""

from collections.abc import Iterator

from sbatchlint.analysis.directives.typos import typo
from sbatchlint.check import Bad, Card, Finding, Fix, Good, Job
from sbatchlint.slurm.rewriting import insertion
from sbatchlint.triggers import Options

CARD = Card(
    "SB209", "exclusive-without-memory", severity="info", fix="always", since="0.1.0", when=Options("exclusive"),
    seen="chapel-lang/chapel#13667", batch=True, certain=True, homogeneous=True, absent=True,
)  # fmt: skip

_MEMORY = ("mem", "mem-per-cpu", "mem-per-gpu")


def check(job: Job) -> Iterator[Finding]:
    request, setting = job.request, job.request.setting("exclusive")
    if setting is None or request.exclusive != "":
        return
    if job.directives.unread or request.has_any_option(_MEMORY):
        return
    # a typo on its line leaves open what is meant
    faulty = any(problem.line.start == setting.line.start for problem in job.directives.problems)
    if faulty or typo(job.directives, setting) is not None:
        return
    message = "--exclusive gives all CPUs, but of memory only what the site's default says, if any; add --mem=0"
    yield Finding(setting.span, message, fix=Fix("add --mem=0", [insertion(job.directives, "--mem=0")], safe=False))


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        #SBATCH «--exclusive»
        srun ./a.out
        """,
        unsafe_fixed="""\
        #!/bin/bash
        #SBATCH --nodes=2
        #SBATCH --exclusive
        #SBATCH --mem=0
        srun ./a.out
        """,
    ),
    Good("#!/bin/bash\n#SBATCH --exclusive --mem=0\nsrun ./a.out\n"),
    Good("#!/bin/bash\n#SBATCH --exclusive --mem-per-cpu=2G\nsrun ./a.out\n", title="so much is asked for"),
    Good("#!/bin/bash\n#SBATCH --exclusive=user\nsrun ./a.out\n", title="nodes shared with one's own jobs"),
    Good("#!/bin/bash\n#SBATCH --nodes=1\nsrun --exclusive ./a.out\n", title="of a step"),
]
