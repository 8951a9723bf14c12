"""Slurm may kill the job for its memory: a Java heap, Dask workers or buffers may grow beyond it.

`java -Xmx64g` in a job with `--mem=32G` lets the heap grow until Slurm kills the job: OUT_OF_MEMORY, without a word
from Java. The heap is not all that Java needs, either: threads, code and buffers come on top, some hundred megabytes to
a few gigabytes. `--driver-memory` of spark-submit is such a heap. A worker of Dask writes to disk and restarts by its
`--memory-limit`; where the limits of all workers are more than the job has, Slurm kills them before. Others fill what
they are allowed: `samtools sort -@ 8 -m 4G` 4 GB for each thread, `cellranger --localmem=128` and `Trinity --max_memory
100G` all of it, and so do `%mem` in the input of Gaussian and `%maxcore` of each process of ORCA. With `snakemake
--resources mem_mb=200000` rules that run at once may have as much together.

A warning where the heap does not fit; advice where it takes all of the memory (also where the two differ as 32G and
32000M do), and where that is so much for each CPU,
and no directive says how many CPUs there are. Reported once.

## Fix

None: more memory, or a smaller heap. `-Xmx` at about 80 to 90 percent of `--mem` leaves room for the rest.

## References

java(1), -Xmx; sbatch(1), --mem; spark-submit of 3.5; distributed/cli/dask_worker.py (2024.5);
samtools-sort(1), `-m`; the manuals of Cell Ranger, Trinity, PLINK, STAR, SPAdes, Canu, Gaussian, ORCA and Snakemake
"""

import re
from collections.abc import Iterator

from sbatchlint.analysis.script.program_texts import GAUSSIAN, ORCA, chemistry_input
from sbatchlint.analysis.script.threads import counts_elsewhere, thread_options
from sbatchlint.bash.trace import Invocation
from sbatchlint.bash.values import Pieces, span_of, text_of
from sbatchlint.check import Bad, Card, Finding, Good, Job, Span
from sbatchlint.job.argv import program_options
from sbatchlint.job.programs import commands_named, commands_with_option
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
# How much more a number is in binary units than in decimal ones, by its prefix twice.
_BETWEEN_UNITS = 1.024 * 1.024
_MEGABYTES = {"g": 1024, "m": 1, "k": 1 / 1024, "": 1 / 1024 / 1024}


_DRIVER, _LIMIT = "--driver-memory", "--memory-limit"
_SIZE = Regex(r"([0-9]{1,7})(?:\.0)?\s?([gGmMkK])(?:i?[bB])?")
# Programs that fill as much memory as an option allows, with that option and its unit where it has none of its own.
_BUFFERS = {
    "sambamba sort": ("-m", "--memory-limit", ""),
    "bcftools sort": ("-m", "--max-mem", "m"),
    "samtools sort": ("-m", "-m", ""),
    "cellranger": ("--localmem", "--localmem", "g"),
    "spaceranger": ("--localmem", "--localmem", "g"),
    "cellranger-arc": ("--localmem", "--localmem", "g"),
    "cellranger-atac": ("--localmem", "--localmem", "g"),
    "Trinity": ("--max_memory", "--max_memory", ""),
    "plink": ("--memory", "--memory", "m"),
    "plink2": ("--memory", "--memory", "m"),
    "spades.py": ("-m", "--memory", "g"),
    "metaspades.py": ("-m", "--memory", "g"),
    "rnaspades.py": ("-m", "--memory", "g"),
    "megahit": ("-m", "--memory", ""),
    "kmc": ("-m", "-m", "g"),
    "canu": ("maxMemory", "maxMemory", "g"),
    "cd-hit": ("-M", "-M", "m"),
    "cd-hit-est": ("-M", "-M", "m"),
    "sort": ("-S", "--buffer-size", "k"),
    "supernova": ("--localmem", "--localmem", "g"),
    "fmriprep": ("--mem-mb", "--mem_mb", "m"),
    "mriqc": ("--mem_gb", "--mem-gb", "g"),
    "STAR": ("--limitBAMsortRAM", "--limitBAMsortRAM", ""),
}
# What snakemake calls the memory of all rules that run at once, in megabytes.
_OF_RULES = "mem_mb"
_OF_BUFFER = frozenset({_OF_RULES, *(option for short, long, _ in _BUFFERS.values() for option in (short, long))})
_GAUSSIAN_MEMORY = Regex(r"(?mi)^[ \t]*%mem[ \t]*=[ \t]*(\d{1,6})[ \t]*([gm])b")
_MAXCORE = Regex(r"(?mi)^[ \t]*%maxcore[ \t]+(\d{1,7})")
_PROCESSES = Regex(r"(?i)\bPAL(\d{1,3})\b|\bnprocs[ \t]+(\d{1,5})\b")


def check(job: Job) -> Iterator[Finding]:
    memory = _memory(job)
    if memory is None:
        return
    seen: list[Span] = []
    commands = {each.index: each for each in commands_with_option(job, _sets_heap)}
    commands.update((each.index, each) for each in commands_named(job, *GAUSSIAN, *ORCA))
    for _, command in sorted(commands.items()):
        if has_trait(command.name, "prints") or command.children or command.alternatives > 1:
            continue
        step = enclosing_step(command.context)
        if step is not None and any(name in step.options for name in ("mem", "mem-per-cpu", "mem-per-gpu")):
            continue
        if _is_dask(command) and step is not None and step.tasks_per_node != 1:
            continue
        heap = _of_input(job, command) or _heap(command)
        if heap is not None and heap[1] >= memory:
            field, megabytes = heap
            seen.append(span_of(field))
            if len(seen) > 1:
                continue
            setting = next(each for name in ("mem", "mem-per-cpu") if (each := job.request.setting(name)) is not None)
            happens = "more than" if megabytes > memory else "all of"
            larger = megabytes > memory * _BETWEEN_UNITS  # 32 GiB are not meant to be more than 32000M
            what, option = _named(command)
            yield Finding(
                seen[0],
                f"{what} {_size(megabytes)}, {happens} the job's {_size(memory)} (`{setting.as_written}`), so Slurm "
                f"may kill the job; lower {option}",
                "warning" if larger and not _hangs_on_cpus(job) else "info",
                related=[(setting.span, "the memory")],
            )


def _size(megabytes: float) -> str:
    return f"{megabytes / 1024:.4g} GB" if megabytes >= 1024 else f"{megabytes:.4g} MB"


def _hangs_on_cpus(job: Job) -> bool:
    """Whether the memory follows a number of CPUs that only the command line may say."""
    memory = job.request.memory
    sizes = ("ntasks", "ntasks-per-node", "cpus-per-task", "nodes")
    return memory is not None and memory.per == "cpu" and not job.request.has_any_option(sizes)


def _sets_heap(word: str) -> bool:
    return "-Xmx" in word or word.startswith((_DRIVER, _LIMIT)) or _option(word) in _OF_BUFFER


def _option(word: str) -> str:
    """The option of a word: `-m` of `-m4G`, `--localmem` of `--localmem=64`."""
    return word[:2] if word[:2] in ("-m", "-S") and word[2:3].isdecimal() else word.partition("=")[0]


def _buffer(command: Invocation) -> tuple[str, str, str] | None:
    """The entry of `_BUFFERS` for a command."""
    return _BUFFERS.get(command.name or "") or _BUFFERS.get(" ".join((command.name or "", *command.words[1:2])))


def _is_dask(command: Invocation) -> bool:
    return command.name == "dask-worker" or command.name == "dask" and command.words[1:2] == ["worker"]


def _named(command: Invocation) -> tuple[str, str]:
    """What may grow, with its verb, and the option that limits it."""
    if _is_dask(command):
        return "the limits of all workers add up to", _LIMIT
    if any(each.startswith(_DRIVER) for each in command.words):
        return "the driver's heap may grow to", _DRIVER
    if command.name in ORCA:
        return "the memory of all processes adds up to", "%maxcore"
    if command.name in GAUSSIAN:
        return "the memory limit is", "%mem"
    if command.name == "snakemake":
        return "the memory of all rules adds up to", _OF_RULES
    buffer = _buffer(command)
    if buffer is not None:
        what = "the buffers of all threads add up to" if command.name == "samtools" else f"`{buffer[0]}` allows"
        return what, buffer[0]
    return "the Java heap may grow to", "-Xmx"


def _heap(command: Invocation) -> tuple[Pieces, float] | None:
    """The word that sets the size of the heap, or of all workers, and its megabytes; None if there is none."""
    if _is_dask(command):
        return _of_option(command, _LIMIT, _workers(command))
    if command.name in ("spark-submit", "pyspark", "spark-shell", "spark-sql"):
        return None if "cluster" in command.words else _of_option(command, _DRIVER, 1)
    if command.name == "snakemake":
        return _of_rules(command)
    if (buffer := _buffer(command)) is not None:
        return _of_buffer(command, *buffer)
    for field, word in zip(command.argv, command.words, strict=True):
        match = _HEAP.fullmatch(word) if "-Xmx" in word else None
        if match is not None:
            return field, _megabytes(match)
    return None


def _of_rules(command: Invocation) -> tuple[Pieces, float] | None:
    """The word of snakemake's `--resources` with the memory of the rules that it runs at once, and its megabytes."""
    if counts_elsewhere(command):
        return None
    option = ""
    for field, word in zip(command.argv, command.words, strict=True):
        name, _, value = word.partition("=")
        option = word if word[:1] == "-" else option
        if option in ("--resources", "--res") and name == _OF_RULES and 0 < len(value) < 9 and value.isdecimal():
            return field, float(parse_integer(value))
    return None


def _of_input(job: Job, command: Invocation) -> tuple[Pieces, float] | None:
    """The memory in the input of Gaussian, or that of all processes of ORCA, and its megabytes."""
    text = chemistry_input(job, command)
    if text is None:
        return None
    if command.name in GAUSSIAN:
        match = _GAUSSIAN_MEMORY.search(text.string)
        return None if match is None else (text.pieces(match.start(), match.end()), _megabytes(match))
    match, processes = _MAXCORE.search(text.string), _PROCESSES.search(text.string)
    if match is None or processes is None:
        return None
    number = parse_integer(processes[1] or processes[2])
    return text.pieces(match.start(), match.end()), float(number * parse_integer(match[1]))


def _of_option(command: Invocation, option: str, times: int | None) -> tuple[Pieces, float] | None:
    for _, value, field in program_options(command.argv, option.__eq__):
        match = _SIZE.fullmatch(text_of(value or ()) or "")
        return None if match is None or not times else (field, times * _megabytes(match))
    return None


def _of_buffer(command: Invocation, short: str, long: str, unit: str) -> tuple[Pieces, float] | None:
    """The word with the limit of a program's buffers, and their megabytes: of samtools sort, those of each thread."""
    threads = 1
    if command.name == "samtools":
        options = list(thread_options(command))
        if any(each.number is None for each in options):
            return None
        threads = max([1, *(each.number or 1 for each in options)])
    for field, word, after in zip(command.argv, command.words, (*command.argv[1:], ()), strict=True):
        name, equals, value = word.partition("=")
        if len(short) == 2 and word[:2] == short and word[2:3].isdecimal():
            value = word[2:]
        elif name not in (short, long):
            continue
        elif not equals:
            value = text_of(after) or ""
        if value.isdecimal() and not unit and len(value) < 16:
            return field, threads * parse_integer(value) / 2**20
        match = _SIZE.fullmatch(value) or _SIZE.fullmatch(f"{value}{unit}")
        return None if match is None else (field, threads * _megabytes(match))
    return None


def _megabytes(size: re.Match[str]) -> float:
    return parse_integer(size[1]) * _MEGABYTES[size[2].lower()]


def _workers(command: Invocation) -> int | None:
    """The workers that one dask-worker starts; None where the number is not known."""
    options = program_options(command.argv, ("--nworkers", "--nprocs").__contains__)
    return next((whole(text_of(value or ()) or "") for _, value, _ in options), 1)


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
        #SBATCH --mem=8G
        samtools sort -@ 8 «-m» 4G -o sorted.bam input.bam
        """,
        title="buffers of each thread",
    ),
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
    Bad(
        """\
        #!/bin/bash
        #SBATCH --mem=64G
        spark-submit --master local[16] «--driver-memory» 80G count.py
        """,
        title="the heap of Spark's driver",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2 --ntasks-per-node=1 --mem=64G
        srun dask worker --nworkers 4 --nthreads 4 «--memory-limit=32GB» tcp://node:8786
        """,
        title="the limits of Dask's workers together",
    ),
    Good(
        "#!/bin/bash\n#SBATCH --mem=64G\nspark-submit --master yarn --deploy-mode cluster --driver-memory 80G a.py\n",
        title="the driver runs elsewhere",
    ),
    Good(
        "#!/bin/bash\n#SBATCH -n1 --mem=64G\ndask worker --nworkers 4 --memory-limit 15GB tcp://node:8786\n",
        title="limits that fit",
    ),
    Good(
        "#!/bin/bash\n#SBATCH -n1 --mem=64G\ndask worker --nworkers auto --memory-limit 0.9 tcp://node:8786\n",
        title="a part of the memory",
    ),
    Good("#!/bin/bash\n#SBATCH --mem=32G\njava -Xmx28g -jar caller.jar input.bam\n"),
    Good("#!/bin/bash\n#SBATCH -c8 --mem-per-cpu=4G\njava -Xmx28g -jar caller.jar input.bam\n", title="of eight CPUs"),
]
