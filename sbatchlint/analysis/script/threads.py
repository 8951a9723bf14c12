"""Options with which programs are told how many threads or processes to use."""

from collections.abc import Iterator
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

from sbatchlint.bash.trace import Invocation, exported, is_set
from sbatchlint.bash.values import Pieces, expansions, shown_text, span_of, span_of_words, text_of
from sbatchlint.job import Job, Step
from sbatchlint.job.argv import hides_options
from sbatchlint.job.programs import commands_of, commands_with_option
from sbatchlint.slurm.grammar.numbers import whole
from sbatchlint.source.numbers import is_number, parse_integer
from sbatchlint.source.regex import Regex
from sbatchlint.source.text import Span

_VARIABLES = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS", "JULIA_NUM_THREADS")
# Options for the number of threads or workers of one process; without a dash where they are settings (`threads=8`).
_COUNT = (
    r"(?:num[-_]?workers|n[-_]?workers|workers|num[-_]?threads|n[-_]?threads|threads|n[-_]?jobs"
    r"|num[-_]proc|nproc|n[-_]?cpus?|cpus|n[-_]?cores?|cores|ncores)"
)
_OPTION = Regex(r"-{1,2}(?:[a-z]+[-_.])*" + _COUNT)
_SETTING = Regex(r"\+{0,2}(?:[a-z]+[_.])*(?:num_workers|n_workers|num_threads|nthreads|threads|n_jobs)")
_JOINED = Regex(r"(-[A-Za-z@])([0-9]{1,5})|\+p([0-9]{1,5})")
# Programs whose threads each work on a file of their own, and their options without a value.
_PER_FILE, _MANY = frozenset({"fastqc"}), 1000
_WITHOUT_VALUE = frozenset(
    {"--casava", "--nano", "--nofilter", "--extract", "--noextract", "--nogroup", "-q", "--quiet"}
)
# `spark-submit --master local[16]`
_LOCAL = Regex(r"(?:--master=)?local\[([0-9]{1,5})\]")
_FIRST_WORDS = 4  # of a command, with the program that it starts and what this is to do
# Programs of NAMD, which write `+p16`.
_PLUS = frozenset({"namd2", "namd3", "charmrun"})
_SPARK = frozenset({"spark-submit", "pyspark", "spark-shell", "spark-sql"})
# The options with which programs set their number of threads or processes in a way of their own.
_OWN_OPTIONS = {
    "-t": "bwa bwa-mem2 minimap2 kallisto fastqc megahit spades.py metaspades.py rnaspades.py flye hifiasm wtdbg2 racon"
    " medaka_consensus NanoPlot porechop checkm metabat2 sambamba julia orthofinder nanopolish verkko sga quast.py"
    " unicycler ngmlr winnowmap fastANI nucmer jellyfish ragtag.py parallel-fastq-dump gmap gsnap kma vg metaquast.py"
    " raven chromap minigraph strobealign bwameth.py kmc mosdepth sniffles cuteSV gstacks populations tsv2bam"
    " process_radtags kneaddata run_rcorrector.pl",
    "-@": "samtools velocyto",
    "-p": "bowtie bowtie2 hisat2 salmon pigz pbzip2 stringtie tophat tophat2 cufflinks cuffdiff julia roary lbzip2"
    " rsem-calculate-expression bamCoverage multiBamSummary computeMatrix sailfish subread-align centrifuge mash"
    " diamond bamCompare plotFingerprint multiBigwigSummary bigwigCompare bamPEFragmentSize alignmentSieve plotCoverage"
    " cuffquant cuffnorm findMotifsGenome.pl bcl2fastq rsem-prepare-reference hisat2-build meme g09 g16 ustacks cstacks"
    " sstacks",
    "-T": "featureCounts iqtree iqtree2 iqtree3 raxmlHPC-PTHREADS raxmlHPC-PTHREADS-SSE3 raxmlHPC-PTHREADS-AVX"
    " raxmlHPC-PTHREADS-AVX2 cd-hit cd-hit-est xz zstd mvn clustalo subjunc denovo_map.pl ref_map.pl",
    "-e": "fasterq-dump",
    "-j": "cutadapt trim_galore make gmake ninja scons ctest cargo admixture parallel snakemake bazel scram scramv1"
    " pbmm2 seqkit spack b2 bjam ccs lima isoseq isoseq3 pbsv",
    "-P": "xargs angsd realSFS NGSadmix",
    "-z": "kaiju kaijux kaijup kaiju-multi",
    "-n": "htseq-count antsRegistrationSyN.sh antsRegistrationSyNQuick.sh pytest",
    "-c": "busco seqclust snakemake umap fsc26 fsc27 fsc28 fastsimcoal2",
    "-w": "fastp",
    "-nt": "gmx gmx_mpi iqtree iqtree2",
    "-ntmpi": "gmx gmx_d mdrun",
    "-ntomp": "gmx gmx_mpi gmx_d gmx_mpi_d mdrun mdrun_mpi",
    "-pa": "RepeatMasker RepeatModeler",
    "-openmp": "recon-all",
    "-omp": "sss2 serpent",
    "-np": "comsol",
    "--CPU": "Trinity Trinotate",
    "--thread_count": "align_and_estimate_abundance.pl",
    "--fork": "vep",
    "--j": "relion_refine",
    "--runThreadN": "STAR STARsolo",
    "--cpu": "hmmsearch hmmscan jackhmmer phmmer hmmbuild nhmmer cmscan cmsearch busco emapper.py",
    "-cpu": "interproscan.sh annotatePeaks.pl",
    "-cpus": "maker",
    "--cpus": "prokka gtdbtk",
    "--thread": "mafft fastp shapeit4 shapeit",
    "--thread-num": "gcta64 gcta",
    "--jobs": "parallel snakemake make",
    "--multicore": "bismark bismark_methylation_extractor",
    "--parallel": "make cmake sort bismark bismark_genome_preparation bismark_methylation_extractor",
    "--localcores": "cellranger spaceranger cellranger-atac cellranger-arc",
    "--nprocs": "dask-worker fmriprep mriqc",
    "--nworkers": "dask-worker dask",
    "--num-cpus": "ray",
    "t": "bbduk.sh bbmap.sh bbmerge.sh bbsplit.sh reformat.sh dedupe.sh clumpify.sh tadpole.sh bbnorm.sh",
    "cpus": "abaqus",
    "maxThreads": "canu",
    "processors": "mothur",
}  # fmt: skip
# Programs that use several CPUs for each that an option counts, and how many: the manuals of Bismark ("--parallel 4
# will use 8 threads in total"; "about 3 times"; itself and two of Bowtie 2), and of RepeatMasker (4 of RMBlast each).
_TIMES = {
    ("bismark_genome_preparation", "--parallel"): 2,
    ("bismark_methylation_extractor", "--multicore"): 3,
    ("bismark_methylation_extractor", "--parallel"): 3,
    ("bismark", "--multicore"): 3,
    ("bismark", "--parallel"): 3,
}
# Programs that use several threads unless an option says how many, those, and the options (their manuals and --help).
_DEFAULTS = {
    "prokka": (8, "--cpus"),
    "snippy": (8, "--cpus --cpu"),
    "shovill": (8, "--cpus"),
    "unicycler": (8, "-t --threads"),
    "spades.py": (16, "-t --threads"),
    "metaspades.py": (16, "-t --threads"),
    "rnaspades.py": (16, "-t --threads"),
}
# Programs with one thread unless an option says more, and that option (their manuals and --help).
_ONE_THREAD = {
    **dict.fromkeys(("bwa mem", "bwa aln"), "-t"),
    **{f"samtools {each}": "-@" for each in ("sort", "view", "merge", "fixmate", "markdup", "flagstat", "index")},
    **dict.fromkeys(("bowtie", "bowtie2", "hisat2", "tophat", "tophat2", "cufflinks", "cuffdiff", "stringtie"), "-p"),
    **dict.fromkeys(("hisat2-build", "rsem-calculate-expression"), "-p"),
    "cutadapt": "-j",
    **dict.fromkeys(("bowtie2-build", "bowtie-build", "kraken2"), "--threads"),
    **dict.fromkeys(("blastn", "blastp", "blastx", "tblastn", "tblastx", "psiblast"), "-num_threads"),
    **dict.fromkeys(("cd-hit", "cd-hit-est", "featureCounts"), "-T"),
    **dict.fromkeys(("kallisto quant", "racon", "flye"), "-t"),
    "iqtree-omp": "-nt",
    "STAR": "--runThreadN",
}
# Programs that have one thread in any case.
_SERIAL = frozenset(
    {"bwa index", "samtools faidx", "vcftools", "bedtools", "FastTree", "seqtk"}
    | {"exonerate", "augustus", "clustalw", "clustalw2", "codeml", "baseml", "makeblastdb", "htseq-count"}
)
_OF_ONE_THREAD = frozenset(name.partition(" ")[0] for name in (*_ONE_THREAD, *_SERIAL))
# Pairs of options whose product is the number of threads: processes, and threads of each.
_PRODUCTS = (("-ntmpi", "-ntomp"), ("--nworkers", "--nthreads"), ("--nprocs", "--nthreads"),
             ("--num_callers", "--cpu_threads_per_caller"))  # fmt: skip
# Programs of which a second word sets the kind of what the third counts: `-pk omp 8`, `-k on t 8`.
_PACKAGE = Regex(r"-(?:pk|package) (?:omp|intel) (\d{1,5})|-(?:k|kokkos) on (?:g \d{1,3} )?t (\d{1,5})")
_LAMMPS = Regex(r"lmp(?:_\w+)?|lammps")
# Programs whose workers are jobs, nodes or server processes, and programs that pass CPU counts to others.
_ELSEWHERE = Regex(
    r"ray|dask\S*|nextflow|cromwell|srun|sbatch|salloc|mpirun|mpiexec|prun|gunicorn|uvicorn|docker|podman"
    r"|apptainer|singularity|horovodrun|torchpack|parsl\S*|spark\S*|echo|printf|export|numactl"
)
# Of those, what works on its own node; so does Spark with `local[16]`.
_HERE = Regex(r"(?:ray start|dask(?: |-)worker)(?: .*)?")
# Options of a workflow engine that has its jobs run elsewhere, so that it counts the CPUs of these.
_SUBMITTING = Regex(
    r"--(?:cluster(?:-\w+)?|drmaa|executor|profile|jobscript|slurm)(?:=.*)?|\+?hydra/launcher=(?:submitit_slurm|slurm\w*)"
)
# Of the programs with such options, those that start others.
STARTERS = frozenset(
    {"snakemake", "parallel", "xargs", "make", "gmake", "ninja", "scons", "gmx_mpi", "gmx_mpi_d", "mdrun_mpi", "cmake"}
    | {"bazel", "scram", "scramv1", "ray", "dask", "dask-worker", "maker", "spack", "b2", "bjam", "abaqus", "comsol"}
    | {"pytest", "mothur"}
)
# Variables that set a number of threads, in libraries for computing: `OMP_NUM_THREADS`, `POLARS_MAX_THREADS`.
THREAD_VARIABLE = Regex(r"[A-Z][A-Z0-9_]*_(?:NUM|MAX|MAXIMUM|NUMBER_OF)_(?:[A-Z]+_)?THREADS")
_BY_PROGRAM: dict[str, list[str]] = {}
for _option, _names in _OWN_OPTIONS.items():
    for _name in _names.split():
        _BY_PROGRAM.setdefault(_name, []).append(_option)
# Of these programs, those that run a text of the user's, or a project's own targets.
_RUNNING_TEXT = frozenset({"julia", "cargo", "ctest", "mvn", "g09", "g16", "bcl2fastq", "abaqus", "serpent", "sss2"})


def is_tool(name: str | None) -> bool:
    """Whether a program is a published one that only does what its arguments say: no text or target of the user."""
    return name in _BY_PROGRAM and name not in STARTERS and name not in _RUNNING_TEXT and name not in _SPARK


# Words of a command that waits for servers: `download`, `query_api.py`, `--api-key`; its workers are no CPUs.
_WAITING = Regex(
    r"(?i)(?:.*[-_./])?(?:(?:down|up)load|fetch|crawl|scrape|api|openai|anthropic|claude|gemini)"
    r"(?:s|er|ers|ing|r)?(?:[-_.].*)?|--(?:api[-_](?:key|base|url|host)|(?:base|server)[-_]url|endpoint)(?:=.*)?"
)
_WORKERS = Regex(r"(?:max|num|n)?[-_]?(?:workers|threads|jobs)|concurren(?:cy|t)(?:[-_].*)?")


def waits_for_servers(command: Invocation, option: str) -> bool:
    """Whether an option counts workers that wait for a network, and not threads that compute."""
    if is_tool(command.name) or not _WORKERS.fullmatch(option.lstrip("-").replace("=", " ").split()[0]):
        return False
    words = command.words
    first = [each for each in words[:_FIRST_WORDS] if each[:1] != "-"]
    return any(map(_WAITING.fullmatch, (*first, *(each for each in words if each[:2] == "--"))))


class ThreadOption(NamedTuple):
    """An option that sets the number of threads or processes of a program.

    `shown`: how a message names it. `value`: its word. `number`: None where that is not known. `multiplied`: whether
    it is more than what the option says. `times`: how many CPUs the program uses for each that the option counts.
    """

    shown: str
    span: Span
    value: Pieces
    number: int | None
    multiplied: bool = False
    times: int = 1


def commands_with_threads(job: Job) -> list[Invocation]:
    """The commands with an option that counts threads, or that may have one."""
    found = {each.index: each for each in commands_with_option(job, _is_option)}
    found.update((each.index, each) for each in commands_of(job, _is_known))
    return [found[index] for index in sorted(found)]


def _is_known(name: str) -> bool:
    return (
        name in _BY_PROGRAM
        or name in _PLUS
        or name in _SPARK
        or name in _DEFAULTS
        or name in _OF_ONE_THREAD
        or _LAMMPS.fullmatch(name) is not None
    )


@lru_cache(maxsize=4096)  # the same options occur again and again
def _is_option(word: str) -> bool:
    """Whether a word, with a value or without, is an option that counts threads or workers."""
    name, equals, _ = word.partition("=")
    if word[:1] != "-":
        return equals == "=" and _SETTING.fullmatch(name) is not None
    return _OPTION.fullmatch(name) is not None


def thread_options(command: Invocation) -> Iterator[ThreadOption]:
    """The options of a command that set its number of threads."""
    argv, written = command.argv, command.words
    if command.name is not None and _LAMMPS.fullmatch(command.name):
        yield from _of_package(command)
    if command.name in _SPARK:
        local = ((field, _LOCAL.fullmatch(word)) for field, word in zip(argv, written, strict=True))
        yield from (ThreadOption(m[0], span_of(field), (), parse_integer(m[1])) for field, m in local if m is not None)
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


def _of_package(command: Invocation) -> Iterator[ThreadOption]:
    """The threads that a package of LAMMPS is told to use."""
    for at in range(1, len(command.words) - 2):
        for after in (3, 5):
            words = command.words[at : at + after]
            match = _PACKAGE.fullmatch(" ".join(words))
            if match is not None:
                span = span_of_words(command.argv[at : at + after])
                yield ThreadOption(" ".join(words), span, (), parse_integer(match[1] or match[2]))


def cpu_options(command: Invocation) -> list[ThreadOption]:
    """The options of a command that decide how many CPUs it uses, each with that number.

    Of programs that use several CPUs for each that an option counts, and of options that multiply each other, that is
    the product.
    """
    options = list(thread_options(command))
    if command.name in _PER_FILE:
        files = _files(command)
        return [each._replace(number=min(each.number, files)) for each in options if each.number is not None]
    times = _TIMES.get((command.name or "", options[0].shown.replace("=", " ").split()[0])) if options else None
    if times is not None:
        option = options[0]
        if command.name == "bismark" and "-p" in command.words[:-1]:
            own = command.words[command.words.index("-p") + 1]  # the threads of each Bowtie 2
            times = 1 + 2 * parse_integer(own) if is_number(own) else times
        number = None if option.number is None else times * option.number
        return [option._replace(number=number, multiplied=True, times=times)]
    if command.name in _DEFAULTS and not options and _sets_no_threads(command):
        default, names = _DEFAULTS[command.name]
        shown = f"{command.name}` without `{names.split()[0]}"
        return [ThreadOption(shown, command.name_span, (), default, True)]
    by_name = {each.shown.replace("=", " ").split()[0]: each for each in options}
    for first, second in _PRODUCTS:
        if first not in by_name or second not in by_name:
            continue
        one, other = by_name[first], by_name[second]
        product = one.number * other.number if one.number is not None and other.number is not None else None
        return [ThreadOption(f"{one.shown} {other.shown}", one.span, (), product, True)]
    return options


def one_thread(command: Invocation) -> str | None:
    """The option that would give threads to a program that certainly has only one; "" where none does.

    None where it may have more, or the program is another.
    """
    name, words = command.name or "", command.words[1:]
    key = next((each for each in (name, " ".join([name, *words[:1]])) if each in _ONE_THREAD or each in _SERIAL), None)
    if key is None or any(map(hides_options, command.argv)) or any(thread_options(command)):
        return None
    # BLAST compares with the sequences of a file in one thread, whatever is asked for
    option = "" if "-subject" in words else _ONE_THREAD.get(key, "")
    return None if option and any(word.startswith(option) for word in words) else option


def _files(command: Invocation) -> int:
    """How many files a command is given: a pattern stands for many, what is not known for one."""
    words = [shown_text(each) for each in command.argv]
    files = [
        word for before, word in pairwise(words) if word[:1] != "-" and (before[:1] != "-" or before in _WITHOUT_VALUE)
    ]
    return sum(_MANY if any(sign in word for sign in "*?[{") else 1 for word in files) or _MANY


def _sets_no_threads(command: Invocation) -> bool:
    """Whether a program certainly has no option for threads, and is not just asked for its version."""
    _, options = _DEFAULTS[command.name or ""]
    words = command.words[1:]
    if len(words) < 2 or any(map(hides_options, command.argv)):
        return False
    return not any(word.partition("=")[0].startswith(each) for word in words for each in options.split())


def threaded_programs() -> frozenset[str]:
    """Programs that have threads, and nothing on other nodes."""
    return frozenset(_BY_PROGRAM) - STARTERS


def counts_elsewhere(command: Invocation) -> bool:
    """Whether the CPUs that a command names are for other processes than its own."""
    words = [command.words[0].rpartition("/")[2], *command.words[1:4]]
    if _HERE.fullmatch(" ".join(words)) or words[0] in _SPARK and any(map(_LOCAL.fullmatch, command.words)):
        return False
    if any(map(_ELSEWHERE.fullmatch, words)) or any(map(_SUBMITTING.fullmatch, command.words)):
        return True
    # a variable may hold the options that say where
    return "snakemake" in words and any(each[0].text is None for each in command.argv[1:] if each)


def threads_of(job: Job, step: Step) -> int | None:
    """How many threads each task of a step has, as a variable or an option says: 1 without one, None if not known."""
    most = 1
    for command in (each for each in step.program if not each.children):
        numbers = [each.number for each in cpu_options(command) if not counts_elsewhere(command)]
        for name in _VARIABLES:
            if not is_set(command, name):
                continue
            value = exported(command, name) or ()
            text = text_of(value)
            follows = "SLURM_CPUS_PER_TASK" in {each.name for each in expansions(value)}
            numbers.append(whole(job.request.value("cpus-per-task")) or 1 if follows else whole(text))
        if None in numbers:
            return None
        most = max([most, *(each for each in numbers if each is not None)])
    return most
