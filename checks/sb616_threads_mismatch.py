"""A program is set to use more CPUs than Slurm allocates to it.

Slurm binds a job to the CPUs that it requests, and to one if it requests none. `--num_workers 16` or
`OMP_NUM_THREADS=32` does not add any: the threads compete for the few there are, which is slower than one thread per
CPU.

A warning from twice as many on; advice below that, and where the job does not request CPUs at all, as partitions may
add some for each GPU (DefCpuPerGPU) or allocate whole nodes. Only numbers for one process are compared; the number of
tasks may be meant for all of them.

## Fix

None: either more CPUs or fewer threads would do. `$SLURM_CPUS_PER_TASK` keeps the two equal.

## References

sbatch(1), --cpus-per-task; slurm.conf(5), DefCpuPerGPU and TaskPlugin
"""

from collections.abc import Iterator
from functools import lru_cache

from sbatchlint.analysis.script.step_programs import UTILITIES
from sbatchlint.bash.trace import Invocation, exported
from sbatchlint.bash.values import Phase, Pieces, expansions, span_of, text_of
from sbatchlint.check import Bad, Card, Finding, Good, Job, Span
from sbatchlint.job.programs import commands_of, commands_with_option
from sbatchlint.job.steps import Step, enclosing_step
from sbatchlint.slurm.grammar.numbers import whole
from sbatchlint.source.numbers import is_number, parse_integer
from sbatchlint.source.regex import Regex

CARD = Card(
    "SB616", "threads-mismatch", severity="warning", fix="never", since="0.1.0",
    batch=True, certain=True, homogeneous=True,
)  # fmt: skip

# Options for the number of threads or workers of one process.
OPTION = Regex(
    r"-{1,2}(?:[a-z]+[-_.])*(?:num[-_]?workers|n[-_]?workers|workers|num[-_]?threads|n[-_]?threads|threads|n[-_]?jobs"
    r"|num[-_]proc|nproc|n[-_]?cpus?|cpus|n[-_]?cores?|cores|ncores)"
)
VARIABLES = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMEXPR_NUM_THREADS", "JULIA_NUM_THREADS")
_JOINED = Regex(r"-[A-Za-z@][0-9]{1,5}")
# The options of programs that write their number of threads in a way of their own.
_OWN_OPTIONS = {
    "bwa": "-t", "bwa-mem2": "-t", "minimap2": "-t", "samtools": "-@", "bowtie": "-p", "bowtie2": "-p", "hisat2": "-p",
    "STAR": "--runThreadN", "salmon": "-p", "kallisto": "-t", "featureCounts": "-T", "fastqc": "-t", "fastp": "-w",
    "cutadapt": "-j", "trim_galore": "-j", "megahit": "-t", "spades.py": "-t", "flye": "-t", "hmmsearch": "--cpu",
    "hmmscan": "--cpu", "mafft": "--thread", "iqtree": "-T", "iqtree2": "-T", "raxmlHPC-PTHREADS": "-T", "cd-hit": "-T",
    "make": "-j", "gmake": "-j", "ninja": "-j", "pigz": "-p", "pbzip2": "-p", "xz": "-T",
}  # fmt: skip
# Programs whose workers are jobs, nodes or server processes, and programs that pass CPU counts to others.
ELSEWHERE = Regex(
    r"ray|dask\S*|snakemake|nextflow|cromwell|srun|sbatch|salloc|mpirun|mpiexec|prun|gunicorn|uvicorn|docker|podman"
    r"|apptainer|singularity|deepspeed|accelerate|horovodrun|torchpack|parsl\S*|spark\S*|echo|printf|export|numactl"
)
# Options of a workflow engine that has its jobs run elsewhere, so that it counts the CPUs of these.
_SUBMITTING = Regex(r"--(?:cluster(?:-\w+)?|drmaa|executor|profile|jobscript|slurm)(?:=.*)?")
# Options that affect the CPUs of a job in ways that are not modelled here.
UNCLEAR = (
    "exclusive", "mincpus", "cores-per-socket", "sockets-per-node", "threads-per-core", "extra-node-info",
    "cpus-per-gpu", "ntasks-per-core", "ntasks-per-socket", "ntasks-per-gpu",
    "core-spec", "thread-spec", "tres-per-task", "hint",
)  # fmt: skip


# A few more than there are CPUs cost nothing.
_A_FEW_MORE = 1.1


def check(job: Job) -> Iterator[Finding]:
    request = job.request
    if request.has_any_option(UNCLEAR) or request.foreign_settings():
        return
    by_variable = request.has_option("cpus-per-task") or any("cpus-per-task" in step.options for step in job.steps)
    commands = job.invocations if by_variable else _with_options(job)
    for command in commands:
        step = enclosing_step(command.context)
        if command.children or command.context.captured or not command.argv or step is None and command.kind == "mpi":
            continue
        requested = request.has_option("cpus-per-task") or step is not None and step.option("cpus-per-task") is not None
        for words, span, number, of_job in _thread_setting(job, command, step, requested):
            cpus = _cpus(job, step)
            if cpus is None or number <= max(cpus * _A_FEW_MORE, 2) or _counts_others(command):
                continue
            if number in (request.effective_tasks(), None if step is None else step.tasks):
                continue  # it may count the tasks
            fewer = step.option("cpus-per-task") if of_job and step is not None else None
            if fewer is not None and fewer.span is not None:  # the value follows the job's number, not the step's
                message = (
                    f"`{fewer.as_written}` gives a task {cpus} of the job's {number} CPUs, but `{words}` counts all of "
                    f"them; write `--cpus-per-task={number}`, or a lower number there"
                )
                severity = "warning" if number >= 2 * cpus else "info"
                yield Finding(fewer.span, message, severity, related=[(span, f"{number} here")])
                continue
            available = f"a task has {cpus} here" if requested else "a job that asks for no CPUs gets one"
            remedy = f"ask for {number} with `--cpus-per-task`, or lower it"
            severity = "warning" if requested and number >= 2 * cpus else "info"
            yield Finding(span, f"`{words}` is more than there are CPUs: {available}; {remedy}", severity)


def _cpus(job: Job, step: Step | None) -> int | None:
    """The maximum number of CPUs that one process may use; None where it is unknown."""
    request = job.request
    if step is not None:
        option = step.option("cpus-per-task")
        if not step.certain or any(step.option(name) is not None for name in UNCLEAR):
            return None
        if option is not None:
            return whole(option.text)
    per_task = whole(request.value("cpus-per-task")) if request.has_option("cpus-per-task") else 1
    tasks: int | None = 1
    if request.has_option("ntasks-per-node") or request.has_option("ntasks"):
        tasks = request.tasks_on_each_node() or request.tasks  # at most
    if per_task is None or tasks is None:
        return None
    if step is not None and step.tasks_per_node:
        return max(per_task, per_task * tasks // step.tasks_per_node)
    return per_task * tasks


def _counts_others(command: Invocation) -> bool:
    """Whether the CPUs that a command names are for other processes than its own."""
    words = [command.words[0].rpartition("/")[2], *command.words[1:4]]
    return any(map(ELSEWHERE.fullmatch, words)) or any(map(_SUBMITTING.fullmatch, command.words))


def _with_options(job: Job) -> list[Invocation]:
    """The commands with an option that counts threads."""
    found = {each.index: each for each in commands_with_option(job, _is_option)}
    found.update((each.index, each) for each in commands_of(job, _OWN_OPTIONS.__contains__))
    return [found[index] for index in sorted(found)]


@lru_cache(maxsize=4096)  # the same options occur again and again
def _is_option(word: str) -> bool:
    """Whether a word, with a value or without, is an option that counts threads or workers."""
    return word[:1] == "-" and OPTION.fullmatch(word.partition("=")[0]) is not None


def _thread_setting(
    job: Job, command: Invocation, step: Step | None, by_variable: bool
) -> Iterator[tuple[str, Span, int, bool]]:
    """The CPUs that a command is set to use: the words, their place, the number, and whether it is the job's own."""
    argv, written = command.argv, command.words
    own = _OWN_OPTIONS.get(command.name or "")
    joined = [(at, word) for at, word in enumerate(written) if own and len(own) == 2 and _JOINED.fullmatch(word)]
    for at, word in joined:
        if word.startswith(str(own)) and argv[at][0].expansion is None:
            yield word, span_of(argv[at]), parse_integer(word[2:]), False
    for at in [at for at, word in enumerate(written) if word == own or _is_option(word)]:
        field, (option, equals, _) = argv[at], written[at].partition("=")
        value: Pieces = () if at + 1 >= len(argv) else argv[at + 1]
        if equals:
            value = tuple(piece for piece in field if piece.expansion is not None) or field
            text = (text_of(field) or "").partition("=")[2]
        else:
            text = text_of(value) or ""
        of_job = step is not None and _is_of_job(value)
        number = parse_integer(text) if is_number(text) else _cpus(job, None) if of_job else None
        if number is not None:
            shown = text or "$" + next((each.name for each in expansions(value)), "")
            yield f"{option}{equals or ' '}{shown}", span_of(field if equals else (*field, *value)), number, of_job
    if not by_variable or step is None and job.steps:
        return  # the variable is for the steps, not for what the batch shell itself runs
    if _is_tool(written[0].rpartition("/")[2]):
        return
    for variable in VARIABLES:
        field = exported(command, variable) or ()
        text = text_of(field) or ""
        if is_number(text) and field[0].expansion is None:
            yield f"{variable}={text}", span_of(field), parse_integer(text), False


def _is_of_job(value: Pieces) -> bool:
    """Whether a value is the batch shell's own number of CPUs."""
    names = {(each.name, each.phase) for each in expansions(value)}
    return names in ({("SLURM_CPUS_ON_NODE", Phase.BATCH)}, {("SLURM_CPUS_PER_TASK", Phase.BATCH)})


def _is_tool(name: str) -> bool:
    return name in UTILITIES


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1 --gpus=1 --cpus-per-task=4
        srun python train.py «--num_workers 16»
        """
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --ntasks=1 --cpus-per-task=8
        export OMP_NUM_THREADS=«32»
        ./solver
        """
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1 --gpus=1
        python train.py «--workers=8»
        """,
        severity="info",
        title="a partition may give CPUs for a GPU",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --ntasks=1 --cpus-per-task=8
        export OMP_NUM_THREADS=$SLURM_CPUS_PER_TASK
        ./solver --threads 8
        """,
        title="as many as there are",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=1 --exclusive
        ./solver --threads 64
        """,
        title="a whole node",
    ),
]
