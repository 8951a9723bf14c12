"""Options with which programs are told how many threads or processes to use."""

from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from sbatchlint.bash.trace import Invocation
from sbatchlint.bash.values import Pieces, expansions, span_of, text_of
from sbatchlint.job import Job
from sbatchlint.job.programs import commands_of, commands_with_option
from sbatchlint.source.numbers import is_number, parse_integer
from sbatchlint.source.regex import Regex
from sbatchlint.source.text import Span

# Options for the number of threads or workers of one process.
_OPTION = Regex(
    r"-{1,2}(?:[a-z]+[-_.])*(?:num[-_]?workers|n[-_]?workers|workers|num[-_]?threads|n[-_]?threads|threads|n[-_]?jobs"
    r"|num[-_]proc|nproc|n[-_]?cpus?|cpus|n[-_]?cores?|cores|ncores)"
)
_JOINED = Regex(r"(-[A-Za-z@])([0-9]{1,5})|\+p([0-9]{1,5})")
# Programs of NAMD, which write `+p16`.
_PLUS = frozenset({"namd2", "namd3", "charmrun"})
# The options with which programs set their number of threads or processes in a way of their own.
_OWN_OPTIONS = {
    "-t": "bwa bwa-mem2 minimap2 kallisto fastqc megahit spades.py metaspades.py rnaspades.py flye hifiasm wtdbg2 racon"
    " medaka_consensus NanoPlot porechop checkm metabat2 sambamba julia orthofinder nanopolish verkko sga quast.py"
    " unicycler ngmlr winnowmap fastANI nucmer jellyfish ragtag.py parallel-fastq-dump gmap gsnap kma vg",
    "-@": "samtools velocyto",
    "-p": "bowtie bowtie2 hisat2 salmon pigz pbzip2 stringtie tophat tophat2 cufflinks cuffdiff julia roary lbzip2"
    " rsem-calculate-expression bamCoverage multiBamSummary computeMatrix sailfish subread-align centrifuge mash",
    "-T": "featureCounts iqtree iqtree2 raxmlHPC-PTHREADS raxmlHPC-PTHREADS-SSE3 raxmlHPC-PTHREADS-AVX cd-hit"
    " cd-hit-est xz zstd mvn clustalo",
    "-e": "fasterq-dump",
    "-j": "cutadapt trim_galore make gmake ninja scons ctest cargo admixture parallel snakemake bazel scram scramv1"
    " pbmm2 seqkit",
    "-P": "xargs",
    "-n": "htseq-count antsRegistrationSyN.sh antsRegistrationSyNQuick.sh",
    "-c": "busco seqclust snakemake umap",
    "-w": "fastp",
    "-nt": "gmx gmx_mpi iqtree iqtree2",
    "-ntomp": "gmx gmx_mpi gmx_d gmx_mpi_d mdrun mdrun_mpi",
    "-pa": "RepeatMasker RepeatModeler",
    "-openmp": "recon-all",
    "--CPU": "Trinity",
    "--runThreadN": "STAR STARsolo",
    "--cpu": "hmmsearch hmmscan jackhmmer phmmer busco emapper.py",
    "-cpu": "interproscan.sh",
    "--cpus": "prokka gtdbtk",
    "--thread": "mafft fastp",
    "--jobs": "parallel snakemake make",
    "--multicore": "bismark",
    "--parallel": "make cmake",
    "--localcores": "cellranger spaceranger",
}  # fmt: skip
# Programs whose workers are jobs, nodes or server processes, and programs that pass CPU counts to others.
_ELSEWHERE = Regex(
    r"ray|dask\S*|nextflow|cromwell|srun|sbatch|salloc|mpirun|mpiexec|prun|gunicorn|uvicorn|docker|podman"
    r"|apptainer|singularity|deepspeed|accelerate|horovodrun|torchpack|parsl\S*|spark\S*|echo|printf|export|numactl"
)
# Options of a workflow engine that has its jobs run elsewhere, so that it counts the CPUs of these.
_SUBMITTING = Regex(r"--(?:cluster(?:-\w+)?|drmaa|executor|profile|jobscript|slurm)(?:=.*)?")
# Of the programs with such options, those that start others.
STARTERS = frozenset(
    {"snakemake", "parallel", "xargs", "make", "gmake", "ninja", "scons", "gmx_mpi", "gmx_mpi_d", "mdrun_mpi", "cmake"}
    | {"bazel", "scram", "scramv1"}
)
# Variables that set a number of threads, in libraries for computing: `OMP_NUM_THREADS`, `POLARS_MAX_THREADS`.
THREAD_VARIABLE = Regex(r"[A-Z][A-Z0-9_]*_(?:NUM|MAX|MAXIMUM|NUMBER_OF)_(?:[A-Z]+_)?THREADS")
_BY_PROGRAM: dict[str, list[str]] = {}
for _option, _names in _OWN_OPTIONS.items():
    for _name in _names.split():
        _BY_PROGRAM.setdefault(_name, []).append(_option)


class ThreadOption(NamedTuple):
    """An option that sets the number of threads or processes of a program.

    `shown`: how a message names it. `value`: its word. `number`: None where that is not known.
    """

    shown: str
    span: Span
    value: Pieces
    number: int | None


def commands_with_threads(job: Job) -> list[Invocation]:
    """The commands with an option that counts threads, or that may have one."""
    found = {each.index: each for each in commands_with_option(job, _is_option)}
    found.update((each.index, each) for each in commands_of(job, lambda name: name in _BY_PROGRAM or name in _PLUS))
    return [found[index] for index in sorted(found)]


@lru_cache(maxsize=4096)  # the same options occur again and again
def _is_option(word: str) -> bool:
    """Whether a word, with a value or without, is an option that counts threads or workers."""
    return word[:1] == "-" and _OPTION.fullmatch(word.partition("=")[0]) is not None


def thread_options(command: Invocation) -> Iterator[ThreadOption]:
    """The options of a command that set its number of threads."""
    argv, written = command.argv, command.words
    own = _BY_PROGRAM.get(command.name or "", ())
    for at, word in enumerate(written):
        joined = _JOINED.fullmatch(word) if own or command.name in _PLUS else None
        if joined is not None and argv[at][0].expansion is None:
            if joined[1] in own or joined[3] and command.name in _PLUS:
                yield ThreadOption(word, span_of(argv[at]), (), parse_integer(joined[2] or joined[3]))
            continue
        if word not in own and not _is_option(word) and word.partition("=")[0] not in own:
            continue
        field, (option, equals, _) = argv[at], word.partition("=")
        value: Pieces = () if at + 1 >= len(argv) else argv[at + 1]
        if equals:
            value = tuple(piece for piece in field if piece.expansion is not None) or field
            text = (text_of(field) or "").partition("=")[2]
        else:
            text = text_of(value) or ""
        shown = text or "$" + next((each.name for each in expansions(value)), "")
        span = span_of(field if equals else (*field, *value))
        number = parse_integer(text) if is_number(text) else None
        yield ThreadOption(f"{option}{equals or ' '}{shown}", span, value, number)


def threaded_programs() -> frozenset[str]:
    """Programs that have threads, and nothing on other nodes."""
    return frozenset(_BY_PROGRAM) - STARTERS


def counts_elsewhere(command: Invocation) -> bool:
    """Whether the CPUs that a command names are for other processes than its own."""
    words = [command.words[0].rpartition("/")[2], *command.words[1:4]]
    if any(map(_ELSEWHERE.fullmatch, words)) or any(map(_SUBMITTING.fullmatch, command.words)):
        return True
    # a variable may hold the options that say where
    return "snakemake" in words and any(each[0].text is None for each in command.argv[1:] if each)
