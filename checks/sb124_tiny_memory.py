"""The job gets a few megabytes: memory without a unit is megabytes.

`--mem=4` asks for 4 MB. Where the site limits memory (ConstrainRAMSpace), the limit is 30 MB all the same
(MinRAMSpace): bash and its small commands run, and the job is killed when its real program passes that, with whatever
has been written before. Reported are numbers below 65, and numbers below 1024 where something suggests that gigabytes
were meant: a comment, GPUs, or many CPUs. Tests of a few minutes are not reported. An error where a comment
has the number itself in gigabytes (`--mem=80  # 80G`), and no program with libraries runs in so many megabytes; advice
where docker runs the work.

## Fix

Adds a `G`. A guess, and so unsafe. None where docker runs the work, whose memory is not that of the job.

## References

sbatch(1), `--mem`; `str_to_mbytes()` in src/common/proc_args.c, Slurm 20.11 to 26.05; cgroup.conf(5), MinRAMSpace;
src/plugins/task/cgroup/task_cgroup_memory.c, 22.05 to 26.05
"""

from collections.abc import Iterator

from sbatchlint.analysis.directives.plain_settings import comment_on, plain_limits, request_of
from sbatchlint.check import Bad, Card, Finding, Fix, Good, Job
from sbatchlint.job.containers import Container
from sbatchlint.job.request import Request
from sbatchlint.slurm.grammar import sizes, times
from sbatchlint.slurm.model import Setting
from sbatchlint.slurm.rewriting import replacement
from sbatchlint.source.numbers import is_number
from sbatchlint.source.regex import Regex
from sbatchlint.triggers import Options

CARD = Card(
    "SB124", "tiny-memory", severity="error", fix="sometimes", since="0.1.0", alone=True,
    when=Options("mem", "mem-per-cpu", "mem-per-gpu"),
)  # fmt: skip

IN_MEGABYTES = Regex(r"(?i)\b[0-9]*\s*(?:mb|mib|megabytes?|megs?|mbytes?)\b|(?-i:\b[0-9]+\s*M\b)")
IN_GIGABYTES = Regex(r"(?i)\b[0-9]*\s*(?:gb|gib|gigabytes?|gigs?|gbytes?)\b|(?-i:\b[0-9]+\s*G\b)")

_AMOUNT = Regex(r"(?i)(?<![\w.])([0-9]{0,4}\.?[0-9]{1,4})\s*(?:gb|gib|gigabytes?|gigs?|gbytes?|g)\b")

# Megabytes in which hardly a program with libraries starts, and minutes of a test that is not reported.
TOO_LITTLE = 64
TEST_MINUTES = 10


def check(job: Job) -> Iterator[Finding]:
    for setting, text in plain_limits(job, "mem", "mem-per-cpu", "mem-per-gpu"):
        size = sizes.megabytes(text) if is_number(text) else None
        comment = comment_on(job, setting)
        if size is None or not 0 < size < 1024 or IN_MEGABYTES.search(comment):
            continue
        request = request_of(job, setting)
        evidence = _gigabytes_meant(setting, size, comment, request)
        if not evidence and (size > TOO_LITTLE or _is_test(request)):
            continue
        message = f"memory without a unit is in megabytes, so `{text}` is only {size} MB"
        message = f"{message}, but {evidence}" if evidence else message
        # what docker runs, its daemon starts outside the job
        containers = [each.spawn.info for each in job.invocations if isinstance(each.spawn.info, Container)]
        outside = any(each.kind == "docker" for each in containers)
        severity = "info" if outside else "error" if _names(size, comment) and size <= TOO_LITTLE * 2 else "warning"
        if size > 512:
            named = _AMOUNT.search(comment) if "comment" in evidence else None
            instead = f"write {named[1]}G, or correct the comment" if named is not None else "write the unit, G or M"
            yield Finding(setting.value_place, f"{message}; {instead}", severity)
        else:
            fix = Fix(f"write {size}G", [replacement(job.directives, setting, f"{size}G")])
            message = f"{message}; for gigabytes write {size}G"
            yield Finding(setting.value_place, message, severity, fix=None if outside else fix)


def _gigabytes_meant(setting: Setting, size: int, comment: str, request: Request) -> str:
    """The end of a sentence that says why gigabytes were meant; '' where only the number suggests it."""
    if IN_GIGABYTES.search(comment):
        named = _AMOUNT.search(comment)
        says = "the comment says GB" if named is None else f"the comment says {named.group().strip()}"
        return "" if _is_that_many(size, comment, request) else says
    if request.asks_for_gpus and setting.name != "mem-per-cpu":
        return "the job requests GPUs"
    if setting.name == "mem" and request.cpus_per_task is not None and size < 16 * request.cpus_per_task:
        return f"the job requests {request.cpus_per_task} CPUs"
    return ""


def _is_that_many(size: int, comment: str, request: Request) -> bool:
    """Whether a comment names just this amount in GB, that of a CPU or that of all CPUs of a task."""
    named = [float(each[1]) for each in _AMOUNT.finditer(comment)]
    each_cpu = request.cpus_per_task or 1
    amounts = (size, size * each_cpu, size / each_cpu)
    return any(0.9 < amount / (1024 * each) < 1.1 for each in named if each for amount in amounts)


def _names(size: int, comment: str) -> bool:
    """Whether a comment has the number itself, in gigabytes."""
    return any(float(each[1]) == size for each in _AMOUNT.finditer(comment))


def _is_test(request: Request) -> bool:
    limit = times.minutes(request.value("time"))
    return limit is not None and 0 < limit <= TEST_MINUTES


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --mem=«4» --time=1:00:00
        srun ./a.out
        """,
        unsafe_fixed={"--mem=4": "--mem=4G"},
        severity="warning",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --mem-per-cpu=«8»  # memory
        srun ./a.out
        """,
        unsafe_fixed={"--mem-per-cpu=8": "--mem-per-cpu=8G"},
        severity="warning",
    ),
    Bad(
        "#!/bin/bash\n#SBATCH --mem=«8»  # 8G\nsrun ./a.out\n",
        unsafe_fixed="#!/bin/bash\n#SBATCH --mem=8G  # 8G\nsrun ./a.out\n",
        title="the comment has the number",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --gpus=1
        #SBATCH --mem «128»
        srun python3 train.py
        """,
        unsafe_fixed={"128": "128G"},
        severity="warning",
        title="for a program on a GPU",
    ),
    Bad("#!/bin/bash\n#SBATCH --mem=«750»  # in GB\nsrun ./a.out\n", severity="warning", title="the comment says so"),
    Good("#!/bin/bash\n#SBATCH --mem=4G\nsrun ./a.out\n"),
    Good("#!/bin/bash\n#SBATCH --mem=0\nsrun ./a.out\n", title="all memory of the node"),
    Good("#!/bin/bash\n#SBATCH --mem-per-cpu=100\nsrun ./a.out\n", title="a small program"),
    Good("#!/bin/bash\n#SBATCH --mem=50  # MB\nsrun ./a.out\n", title="the comment says so"),
    Good("#!/bin/bash\n#SBATCH --mem 1000  # for all cores (1GB)\nsrun ./a.out\n", title="in other units"),
    Good("#!/bin/bash\n#SBATCH --mem=512  # 0.5 GB will do\nsrun ./a.out\n", title="a part of one fits too"),
    Good("#!/bin/bash\n#SBATCH -c 4\n#SBATCH --mem-per-cpu=500  # 2 GB in all\nsrun ./a.out\n", title="for all CPUs"),
]
