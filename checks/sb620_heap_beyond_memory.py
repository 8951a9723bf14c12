"""Java gets a heap as large as the memory of the job, or larger.

`java -Xmx64g` in a job with `--mem=32G` lets the heap grow until Slurm kills the job: OUT_OF_MEMORY, without a word
from Java. The heap is not all that Java needs, either: threads, code and buffers come on top, some hundred megabytes to
a few gigabytes.

A warning where the heap does not fit; advice where it takes all of the memory, and where that is so much for each CPU,
and no directive says how many CPUs there are. Reported once.

## Fix

None: more memory, or a smaller heap. `-Xmx` at about 80 to 90 percent of `--mem` leaves room for the rest.

## References

java(1), -Xmx; sbatch(1), --mem
"""

from collections.abc import Iterator

from sbatchlint.bash.trace import Invocation
from sbatchlint.bash.values import span_of
from sbatchlint.check import Bad, Card, Finding, Good, Job, Span
from sbatchlint.job.programs import commands_with_option
from sbatchlint.job.steps import enclosing_step
from sbatchlint.programs import has_trait
from sbatchlint.slurm.grammar.numbers import whole
from sbatchlint.source.numbers import parse_integer
from sbatchlint.source.regex import Regex

CARD = Card(
    "SB620", "heap-beyond-memory", severity="warning", fix="never", since="0.1.0", batch=True, certain=True,
    homogeneous=True, seen="java(1)",
)  # fmt: skip

_HEAP = Regex(r"(?:.*[\s\"'=])?-Xmx([0-9]{1,7})([gGmMkK]?)(?:[\s\"'].*)?")
_MEGABYTES = {"g": 1024, "m": 1, "k": 1 / 1024, "": 1 / 1024 / 1024}


def check(job: Job) -> Iterator[Finding]:
    memory = _memory(job)
    if memory is None:
        return
    seen: list[Span] = []
    for command in commands_with_option(job, _sets_heap):
        if has_trait(command.name, "prints") or command.children or command.alternatives > 1:
            continue
        step = enclosing_step(command.context)
        if step is not None and any(name in step.options for name in ("mem", "mem-per-cpu", "mem-per-gpu")):
            continue
        heap = _heap(command)
        if heap is not None and heap[1] >= memory:
            number, megabytes = heap
            seen.append(span_of(command.argv[number]))
            if len(seen) > 1:
                continue
            setting = next(each for name in ("mem", "mem-per-cpu") if (each := job.request.setting(name)) is not None)
            larger = megabytes > memory
            happens = "is more than" if larger else "takes all of"
            yield Finding(
                span_of(command.argv[number]),
                f"the heap {happens} the job's memory (`{setting.as_written}`): Slurm kills the job where it grows so "
                "large; ask for more, or lower -Xmx",
                "warning" if larger and not _hangs_on_cpus(job) else "info",
                related=[(setting.span, "the memory")],
            )


def _hangs_on_cpus(job: Job) -> bool:
    """Whether the memory follows a number of CPUs that only the command line may say."""
    memory = job.request.memory
    sizes = ("ntasks", "ntasks-per-node", "cpus-per-task", "nodes")
    return memory is not None and memory.per == "cpu" and not job.request.has_any_option(sizes)


def _sets_heap(word: str) -> bool:
    return "-Xmx" in word


def _heap(command: Invocation) -> tuple[int, float] | None:
    """The word that sets the size of the heap, and its megabytes; None without one."""
    for number, word in enumerate(command.words):
        match = _HEAP.fullmatch(word) if "-Xmx" in word else None
        if match is not None:
            return number, parse_integer(match[1]) * _MEGABYTES[match[2].lower()]
    return None


def _memory(job: Job) -> int | None:
    """The megabytes of the job on a node; None where they are not known, or a node's whole memory."""
    request = job.request
    memory = request.memory
    if memory is None or not memory.megabytes or request.foreign_settings():
        return None
    if memory.per == "node":
        return memory.megabytes
    tasks = request.tasks_on_each_node() or request.tasks or (1 if not request.has_option("ntasks") else None)
    cpus = whole(request.value("cpus-per-task")) if request.has_option("cpus-per-task") else 1
    if memory.per != "cpu" or tasks is None or cpus is None or request.has_option("exclusive"):
        return None
    return memory.megabytes * tasks * cpus


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --cpus-per-task=8
        #SBATCH --mem=32G
        java «-Xmx64g» -jar caller.jar input.bam
        """
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --mem=32G
        java «-Xmx32g» -jar caller.jar input.bam
        """,
        severity="info",
        title="all of it",
    ),
    Good("#!/bin/bash\n#SBATCH --mem=32G\njava -Xmx28g -jar caller.jar input.bam\n"),
    Good("#!/bin/bash\n#SBATCH -c8 --mem-per-cpu=4G\njava -Xmx28g -jar caller.jar input.bam\n", title="of eight CPUs"),
]
