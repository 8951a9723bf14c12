"""The job requests a different amount of memory from what its comment says: per node is not per CPU.

`--mem-per-cpu=24G  # 24 GB of RAM` with `--cpus-per-task=8` requests 192 GB: the job waits longer, is charged more, or
is refused. `--mem=4G  # memory per CPU` with eight CPUs requests 4 GB for all of them, and the job is killed when it
uses more. Which of the two is meant only the author knows, but they differ by the number of CPUs.

`--mem=64000  # 256GB` requests 62.5 GB, whatever the comment says.

Advice where `--mem` requests more than its comment says, which is often left over from a template, where the comment
is a value that was turned off (`--mem=60G #180G`), and where it says "per CPU" of more than 16 GB: few nodes have as
much for each of their CPUs, so it is the comment that is wrong.

## Fix

None: the option or the comment is wrong.

## References

sbatch(1), `--mem`, `--mem-per-cpu`
"""

from collections.abc import Iterator

from sbatchlint.analysis.directives.plain_settings import comment_on, plain_limits, request_of
from sbatchlint.check import Bad, Card, Finding, Good, Job
from sbatchlint.job.request import Request
from sbatchlint.slurm.grammar import sizes
from sbatchlint.source.numbers import is_number, parse_integer
from sbatchlint.source.regex import Regex
from sbatchlint.triggers import Options

CARD = Card(
    "SB215", "memory-comment-contradicts", severity="warning", fix="never", since="0.1.0", alone=True,
    when=Options("mem", "mem-per-cpu"), seen="a review of public scripts",
)  # fmt: skip

_PER_CPU = Regex(
    r"(?i)(?<!-)\bper[ -]+(?:allocated )?(?:cpu|core|processor|thread)|\b(?:each|every) (?:cpu|core)"
    r"|\bmem(?:ory)? ?/ ?(?:cpu|core)\b"
)
# What a site gives or allows, whatever the job requests.
_DEFAULT = Regex(r"(?i)\b(?:default\w*|limit\w*|max\w*|available|up to)\b")
_MOST = 3 * 1024 * 1024  # MB that large nodes have
_MOST_PER_CPU = 16 * 1024  # MB that they have for each CPU
_TOTAL = Regex(r"(?i)\btotal\b|\ball (?:cpus|cores)|\bper[ -]node\b|\b(?:whole|entire) (?:job|node)")
_OTHER = Regex(r"(?i)\b(?:per|each|every|times|x|per-\w+)\b|\*|/")
_TASKS = ("nodes", "ntasks", "ntasks-per-node", "ntasks-per-socket", "ntasks-per-core", "ntasks-per-gpu")
_AMOUNT = Regex(r"(?i)(?<![\w.])([0-9]{1,4})\s*(?:gb|gib|gigabytes?|gigs?|g)\b")


_ANY_AMOUNT = Regex(r"(?i)(?<![\w.])([0-9]{1,7})\s*([mgt])(?:i?b|igabytes?|igs?)?\b")
# Megabytes of a unit, in powers of two and of ten.
_FACTORS = {"m": (1,), "g": (1024, 1000), "t": (1024 * 1024, 1000 * 1000)}
# The memory of GPUs.
_OF_GPU = Regex(
    r"(?i)\b(?:gpus?|vram|hbm|[ahpv]100\w*|[hb]200|[al]40s?|a[13]0|[lt]4|rtx\w*|mi\d{3}\w*)\b"
)
# Comments about the node, or about another job.
_BOUND = Regex(
    r"(?i)\b(?:max\w*|min\w*|up to|at (?:least|most)|limit\w*|default\w*|nodes?|has|have|available|was|were|old"
    r"|before|instead|e\.?g|example|or|if|for|than|recommend\w*|partition|queue|usually|need\w*|needs?|used?|uses|took|peak|should|under|over|about|buffer)\b"
)


def check(job: Job) -> Iterator[Finding]:
    for setting, text in plain_limits(job, "mem", "mem-per-cpu"):
        size, comment = sizes.megabytes(text), comment_on(job, setting)
        if setting.name == "mem" and comment and size:
            nodes = request_of(job, setting).exact_nodes() or 1
            meant = "" if nodes > 1 and _TOTAL.search(comment) else _other_amount(comment, size)
            if meant.endswith("GB") and is_number(text) and size < 1024:
                continue  # tiny-memory says that the unit is missing
            if meant:
                more = (sizes.megabytes(meant.replace(" ", "")) or 0) > size
                shown = f"{size} MB" if size < 1024 else f"{size / 1024:.4g} GB"
                yield Finding(
                    setting.value_place,
                    f"--mem={text} is {shown} for each node, but the comment says {meant}; correct one of them",
                    "warning" if more and comment[1:2].isspace() else "info",
                )
                continue
        cpus = _cpus(request_of(job, setting))
        if not comment or not size or cpus is None or cpus < 2:
            continue
        whole = f"{size * cpus // 1024} GB" if size * cpus >= 1024 else f"{size * cpus} MB"
        if _says_both(comment, setting.name, size, cpus):
            continue
        if setting.name == "mem" and _PER_CPU.search(comment) and not _TOTAL.search(comment):
            if _DEFAULT.search(comment) or size * cpus > _MOST:
                continue  # what the site gives without an option, or more than nodes have: a comment of a template
            yield Finding(
                setting.value_place,
                f"the comment says per CPU, but --mem is per node, here for {cpus} CPUs; "
                "write --mem-per-cpu, or correct the comment",
                "info" if size > _MOST_PER_CPU else None,
            )
        elif setting.name == "mem-per-cpu" and not _PER_CPU.search(comment) and _says_total(comment, size):
            yield Finding(
                setting.value_place,
                f"the comment says {text} in total, but with {cpus} CPUs --mem-per-cpu={text} requests {whole}; write "
                "--mem, or correct the comment",
            )


def _other_amount(comment: str, size: int) -> str:
    """The only amount of memory that a comment names, where it differs from this; "" otherwise."""
    found = _ANY_AMOUNT.findall(comment)
    if len(found) != 1 or any(each.search(comment) for each in (_OTHER, _PER_CPU, _BOUND, _OF_GPU)):
        return ""
    number, unit = parse_integer(found[0][0]), found[0][1].upper()
    return "" if not number or _is_about(size, _amounts(comment)[0]) else f"{number} {unit}B"


def _says_total(comment: str, size: int) -> bool:
    """Whether a comment names a total that is no other amount than this, or just this amount."""
    amounts = _amounts(comment)
    if _TOTAL.search(comment):
        return not amounts or any(_is_about(size, each) for each in amounts)
    plain = _AMOUNT.findall(comment)
    return not _OTHER.search(comment) and len(plain) == 1 and parse_integer(plain[0]) * 1024 == size


def _says_both(comment: str, name: str, size: int, cpus: int) -> bool:
    """Whether a comment names what one CPU has and is right: all that the CPUs come to, or their share of `--mem`."""
    other = size * cpus if name == "mem-per-cpu" else size / cpus
    return any(_is_about(other, each) for each in _amounts(comment))


def _amounts(comment: str) -> list[tuple[int, ...]]:
    """The amounts of memory that a comment names, each in megabytes by powers of two, and of ten."""
    found = _ANY_AMOUNT.findall(comment)
    return [tuple(parse_integer(number) * factor for factor in _FACTORS[unit.lower()]) for number, unit in found]


def _is_about(size: float, amount: tuple[int, ...]) -> bool:
    return any(abs(each - size) <= 0.1 * size for each in amount)


def _cpus(request: Request) -> int | None:
    """The CPUs that a node gives the job by its own directives; None where they do not say it."""
    if request.heterogeneous or request.has_any_option(("exclusive", "cpus-per-gpu", "mincpus")):
        return None
    per_task = request.cpus_per_task if request.has_option("cpus-per-task") else 1
    tasks = request.tasks_on_each_node() if request.has_any_option(_TASKS) else 1
    return per_task * tasks if per_task is not None and tasks is not None else None


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1 --ntasks=1 --cpus-per-task=8
        #SBATCH --mem-per-cpu=«24G»    # ask for 24 GB of RAM
        srun ./solver
        """
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1 --ntasks=1 --cpus-per-task=8
        #SBATCH --mem=«4G»   # memory per cpu-core
        srun ./solver
        """
    ),
    Good("#!/bin/bash\n#SBATCH --nodes=1 --ntasks=1 --cpus-per-task=8\n#SBATCH --mem-per-cpu=24G  # 24 GB per CPU\n"),
    Good("#!/bin/bash\n#SBATCH --nodes=1 --ntasks=1\n#SBATCH --mem-per-cpu=24G  # 24 GB\n", title="one CPU"),
    Good("#!/bin/bash\n#SBATCH --nodes=1 --ntasks=1 -c 8\n#SBATCH --mem-per-cpu=24G  # 8 x 24 GB\n"),
]
