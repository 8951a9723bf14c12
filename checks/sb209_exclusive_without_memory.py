"""An exclusive job gets whole nodes, but perhaps only part of their memory.

With `--exclusive` a job has all CPUs and GPUs of its nodes, but only the memory that it requested. Where it requested
none, it gets the site's default (`DefMemPerCPU`, `DefMemPerNode`), which may be far less than the node has: the job
ends with an out-of-memory kill on a node that is otherwise empty. `--mem=0` asks for all memory.

Advice only: a site that sets no default, or does not count memory, gives all of it anyway. Where the settings name the
profile of the cluster (docs/site.md), it says: a warning with the numbers, or nothing. Nor is anything said at centres
whose whole nodes come with all their memory (NERSC, TACC, OLCF, JSC, ARCHER2), or where it goes with the CPUs (IDRIS).

## Fix

Adds `--mem=0` after the directives, but not in a script that `echo` writes. Unsafe: some sites refuse a job that
requests all memory of a node, as the nodes differ or reserve some for themselves.

## References

sbatch(1), "--exclusive" and "--mem"; chapel-lang/chapel pull request 13667; `--exclusive --mem=1G` keeps 1 GB on Slurm
22.05.
"""

from collections.abc import Iterator

from sbatchlint.analysis.directives.typos import typo
from sbatchlint.analysis.script.centres import gets_memory_of_nodes
from sbatchlint.analysis.site.defaults import default_share
from sbatchlint.analysis.site.targets import targets
from sbatchlint.check import Bad, Card, Finding, Fix, Good, Job
from sbatchlint.job.request import MEMORY_OPTIONS
from sbatchlint.slurm.rewriting import insertion
from sbatchlint.triggers import Options

CARD = Card(
    "SB209", "exclusive-without-memory", severity="info", fix="sometimes", since="0.1.0", when=Options("exclusive"),
    seen="chapel-lang/chapel#13667", batch=True, certain=True, homogeneous=True, absent=True,
)  # fmt: skip

# The share of a node's memory that is as good as all of it.
_ENOUGH = 0.9

SETTINGS = {"site": {"profile": "example"}}


def check(job: Job) -> Iterator[Finding]:
    request, setting = job.request, job.request.setting("exclusive")
    if setting is None or request.exclusive != "":
        return
    if job.directives.unread or request.has_any_option(MEMORY_OPTIONS):
        return
    # a typo on its line leaves open what is meant
    faulty = any(problem.line.start == setting.line.start for problem in job.directives.problems)
    if faulty or typo(job.directives, setting) is not None:
        return
    message = "--exclusive gives the job all CPUs of its nodes, but possibly only the site's default memory; "
    message += "add --mem=0 for all of it"
    least = None
    for target in targets(job):
        shares = [default_share(target, name) for name in target.partitions]
        if all(share is not None and share.part >= _ENOUGH * share.whole for share in shares):
            return
        known = [share for share in shares if share is not None]
        least = min(known, key=lambda each: each.part / each.whole, default=None) if len(known) == len(shares) else None
    if least is None and gets_memory_of_nodes(job):
        return
    if least is not None:
        message = (
            f"--exclusive gives the job all CPUs, but by default {least.part}M of {least.whole}M memory; add --mem=0"
        )
    fix = Fix("add --mem=0", [insertion(job.directives, "--mem=0")], safe=False)
    yield Finding(setting.span, message, None if least is None else "warning", fix=fix)


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        #SBATCH «--exclusive»
        srun ./a.out
        """,
        unsafe_fixed={"srun ./a.out": "#SBATCH --mem=0\nsrun ./a.out"},
    ),
    Bad(
        """\
        #!/bin/bash
        echo "#!/bin/bash" > run.sh
        echo "#SBATCH «--exclusive»" >> run.sh
        echo "srun ./a.out" >> run.sh
        sbatch run.sh
        """,
        title="written by echo: no fix within its text",
    ),
    Bad(
        "#!/bin/bash\n#SBATCH -p gpu --gpus=4\n#SBATCH «--exclusive»\nsrun ./train\n",
        unsafe_fixed="#!/bin/bash\n#SBATCH -p gpu --gpus=4\n#SBATCH --exclusive\n#SBATCH --mem=0\nsrun ./train\n",
        settings=SETTINGS, severity="warning", title="according to the profile: 128000M of 512000M",
    ),
    Good(
        "#!/bin/bash\n#SBATCH -p bigmem\n#SBATCH --exclusive\nsrun ./a.out\n",
        settings={"site": {"profile": "wice"}}, title="according to the profile, the default is all",
    ),
    Good("#!/bin/bash\n#SBATCH --exclusive --mem=0\nsrun ./a.out\n"),
    Good("#!/bin/bash\n#SBATCH --exclusive --mem-per-cpu=2G\nsrun ./a.out\n", title="an amount is requested"),
    Good("#!/bin/bash\n#SBATCH --exclusive=user\nsrun ./a.out\n", title="nodes shared with one's own jobs"),
    Good("#!/bin/bash\n#SBATCH --nodes=1\nsrun --exclusive ./a.out\n", title="of a step"),
]  # fmt: skip
