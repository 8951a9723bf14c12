"""CPUs stay idle: the job requests more than its only program is told to use.

`--cpus-per-task=16` and `bwa mem -t 4`: twelve CPUs are idle for as long as the job runs, count against the project's
hours and the user's priority, and the job waited longer for them. Often one of the two numbers was changed, and the
other forgotten.

The same holds for `--ntasks=16`, or `--ntasks-per-node=16` on one node, and a step `srun -n 4`: a warning if that is
the only step.

A job of several tasks on one node in which a Python, R, Julia or MATLAB program is started once is advice: only its
threads, if it has any, use the CPUs of the others. It is a warning where the program's own text shows that it has none.

Without the option for them, `bwa mem`, `bowtie2`, `samtools sort`, `blastn` and STAR have one thread, and some programs
have one in any case: where the job runs nothing else, and requests four CPUs or more, it is a warning; advice where
more CPUs may bring more memory, as `--mem` is missing.

So does a job that only copies, fetches, packs or removes files, or configures a build with `cmake`: a warning from
eight CPUs on.

With a number of threads, a job without steps is reported only if every program of the job is given one, and that is at
most half the number of CPUs. Where memory is requested for each CPU, more CPUs may have been requested for their
memory.

## Fix

None: either number may be the right one. `$SLURM_CPUS_PER_TASK` keeps the two equal.

## References

sbatch(1), --cpus-per-task
"""

from collections.abc import Iterator

from sbatchlint.analysis.launch.first_node import has_threads, may_know_nodes, programs_of_first_node
from sbatchlint.analysis.launch.rank_signs import is_lone_rank, rank_sign
from sbatchlint.analysis.launch.serial_jobs import small_work
from sbatchlint.analysis.launch.serial_programs import has_one_thread
from sbatchlint.analysis.script.threads import (
    THREAD_VARIABLE,
    ThreadOption,
    commands_with_threads,
    counts_elsewhere,
    one_thread,
    thread_options,
    threaded_programs,
)
from sbatchlint.analysis.script.work import Weight, weight
from sbatchlint.bash.trace import Invocation, exported
from sbatchlint.bash.values import Phase, expansions, text_of
from sbatchlint.check import Bad, Card, Finding, Good, Job
from sbatchlint.job.argv import basename
from sbatchlint.job.launchers import is_python
from sbatchlint.job.python.program import python_program
from sbatchlint.job.srun import StepOption
from sbatchlint.job.steps import Step
from sbatchlint.programs import has_trait
from sbatchlint.slurm.grammar.numbers import whole
from sbatchlint.slurm.model import Setting
from sbatchlint.triggers import Options

CARD = Card(
    "SB222", "cpus-not-used", severity="warning", fix="never", since="0.1.0", sized=True,
    when=Options("cpus-per-task", "ntasks", "ntasks-per-node"),
    batch=True, certain=True, homogeneous=True, whole_script=True, seen="a review of public scripts",
    unseen="Nothing: CPUs stay idle, and count against the project's hours.",
)  # fmt: skip

# Options with which the number of CPUs is not the only thing that a job asks for with them, or is unclear.
_UNCLEAR = (
    "mem-per-cpu", "exclusive", "mincpus", "cores-per-socket", "sockets-per-node", "threads-per-core",
    "extra-node-info", "gpus", "gpus-per-node", "gpus-per-task", "gres", "cpus-per-gpu", "ntasks-per-core", "hint",
)  # fmt: skip
_CPUS_OF_NODE = 128  # more than most nodes have
# Options that decide how tasks or GPUs belong together, so that tasks may be meant.
_TASKS_UNCLEAR = frozenset(
    {"exclusive", "gpus-per-task", "ntasks-per-gpu", "ntasks-per-socket", "ntasks-per-core", "cpus-per-gpu", "nodelist"}
)
_MANY_CPUS = 8
# What a job does beside the work of its programs, with one CPU.
_OTHER_WORK = ("copies", "places", "packs", "installs", "module", "loads", "slurm", "looks", "minor")
# Options of a step with which fewer tasks may be meant.
_PLACING = frozenset({"cpus-per-task", "exclusive", "nodes", "overlap"})


def check(job: Job) -> Iterator[Finding]:
    request = job.request
    lone = _tasks_of_one_process(job)
    if lone is not None:
        yield lone
        return
    if request.has_any_option(_UNCLEAR) or request.foreign_settings() or job.phase is not Phase.BATCH:
        return
    if job.steps and not job.launches:
        yield from _tasks_of_steps(job)
    yield from _of_serial_tools(job)
    if job.steps or job.launches or not commands_with_threads(job):
        return
    name = "cpus-per-task" if request.has_option("cpus-per-task") else "ntasks"
    per_node = request.setting("ntasks-per-node")
    if per_node is not None:
        if name == "ntasks" and request.setting(name) is None and (request.exact_nodes() or 1) == 1:
            yield from _without_threads(job, per_node, request.effective_tasks() or 0)
        return
    setting, cpus = request.setting(name), whole(request.value(name))
    if setting is None or cpus is None or name == "cpus-per-task" and whole(request.value("ntasks") or "1") != 1:
        return
    yield from _without_threads(job, setting, cpus)
    found: list[ThreadOption] = []
    for command in job.invocations:
        if command.children or command.calls_function or weight(job, command) < Weight.PROGRAM:
            continue
        options = [each for each in thread_options(command) if each.number and "omp" not in each.shown]
        alone = command.context.background is None and not command.piped_from and not command.piped_to
        # NAMD may start another program beside its own threads
        alone = alone and command.name not in ("namd2", "namd3")
        if not options or not alone or is_python(command.argv[0]) or counts_elsewhere(command):
            return
        found.append(max(options, key=lambda each: each.number or 0))
    most = max(found, key=lambda each: each.number or 0, default=None)
    if most is None or most.number is None or cpus < 2 * most.number:
        return
    yield Finding(
        most.span,
        f"`{most.shown}` leaves {cpus - most.number} of the {cpus} CPUs of `{setting.as_written}` idle; use {cpus} "
        f"here, or request {most.number}",
        "info",
        related=[(setting.span, f"requests {cpus}")],
    )


def _of_serial_tools(job: Job) -> Iterator[Finding]:
    """The finding on a job that only copies, packs, or configures a build: one process, and one CPU, does that."""
    request = job.request
    tasks = request.effective_tasks() if request.has_any_option(("ntasks", "ntasks-per-node")) else 1
    per_task = whole(request.value("cpus-per-task") or "1")
    setting = max(
        (found for name in ("ntasks", "ntasks-per-node", "cpus-per-task") if (found := request.setting(name))),
        key=lambda found: whole(found.value or "1") or 0,
        default=None,
    )
    cpus = (tasks or 0) * (per_task or 0)
    if setting is None or cpus < _MANY_CPUS or (request.exact_nodes() or 1) != 1:
        return
    works = small_work(job)
    if not works:
        return
    message = f"`{works[0].name}` uses one CPU of the {cpus} that the job requests; write --{setting.name}=1"
    yield Finding(setting.span, message, "warning", related=[(works[0].name_span, "one process")])


def _without_threads(job: Job, setting: Setting, cpus: int) -> Iterator[Finding]:
    """The finding on a job whose programs all have one thread, as none is told to use more."""
    works = [each for each in job.invocations if not each.children and weight(job, each) >= Weight.STAGING]
    works = [each for each in works if not each.calls_function and not has_trait(each.name, *_OTHER_WORK)]
    options = [one_thread(each) for each in works]
    threaded = threaded_programs()
    if any(each.name in threaded and one_thread(each) is None for each in job.invocations):
        return
    if not works or None in options or job.program.errors or job.limits.exhausted:
        return
    for command in works:
        if command.context.background is not None or any(
            has_trait(each.name, "repeats") for each in command.ancestors()
        ):
            return  # several at once
    busy = 1 + sum(each.piped_from or each.piped_to for each in works)
    main, option = next(((each, option) for each, option in zip(works, options, strict=True) if option), (works[0], ""))
    if cpus < 4 or cpus < 2 * busy:
        return
    advice = f"add `{option} {cpus}`" if option else f"write {setting.as_written.replace(str(cpus), '1')}"
    without = f" without `{option}`" if option else ""
    name = " ".join([main.name or "", *main.words[1:2]]) if main.name in ("bwa", "samtools") else main.name
    yield Finding(
        main.name_span,
        f"`{name}` has one thread{without}, so most of the {cpus} CPUs of `{setting.as_written}` stay idle; {advice}",
        "warning" if job.request.has_option("mem") else "info",
        related=[(setting.span, f"requests {cpus}")],
    )


def _tasks_of_steps(job: Job) -> Iterator[Finding]:
    """The finding on a job whose steps, one after the other, all leave at least half of its tasks idle."""
    setting, tasks, least = job.request.setting("ntasks"), whole(job.request.value("ntasks")), 1
    if setting is None and job.request.exact_nodes() is not None:
        # one task of several on a node may be for a program with threads
        setting, tasks, least = job.request.setting("ntasks-per-node"), job.request.effective_tasks(), 2
    if setting is None or tasks is None or job.request.has_option("cpus-per-task") or job.request.has_option("array"):
        return
    most: tuple[int, StepOption] | None = None
    working = 0
    for step in job.steps:
        option, context = step.option("ntasks"), step.invocation.context
        leaves = [each for each in step.program if not each.children]
        if all(has_trait(each.name, "looks", "node") for each in leaves):
            continue
        if any(has_trait(each.name, "repeats") for each in step.invocation.ancestors()):
            return  # several at once
        working += 1
        if option is None or option.span is None or not step.certain or step.in_other_job or not step.tasks:
            return
        if not _PLACING.isdisjoint(step.options) and not _has_one_cpu(step) or context.background is not None:
            return
        threads = any(map(THREAD_VARIABLE.fullmatch, step.invocation.state.variables))
        if option.value is None or expansions(option.value) or threads or any(map(any, map(thread_options, leaves))):
            return
        most = max(most or (0, option), (step.tasks, option), key=lambda each: each[0])
    if most is None or not least <= most[0] <= tasks / 2 or job.limits.exhausted:
        return
    number, option = most
    several = "no step starts more than" if working > 1 else "the step starts"
    yield Finding(
        option.span,
        f"{several} {number} of the {tasks} tasks of `{setting.as_written}`, so {tasks - number} CPUs stay idle; "
        f"start {tasks} tasks, or request {number}",
        "warning" if working == 1 else "info",
        related=[(setting.span, f"requests {tasks}")],
    )


def _tasks_of_one_process(job: Job) -> Finding | None:
    """The finding on the tasks of one node, of which only one process is started; None where more may be."""
    request = job.request
    setting = request.setting("ntasks") or request.setting("ntasks-per-node")
    tasks, nodes = request.effective_tasks(), request.exact_nodes() if request.has_option("nodes") else None
    if setting is None or not tasks or tasks < 2 or request.has_any_option(_TASKS_UNCLEAR):
        return None
    if nodes is None and request.has_option("ntasks") or nodes not in (None, 1) or job.phase is not Phase.BATCH:
        return None  # on several nodes, nodes-not-used reports it
    per_task = whole(request.value("cpus-per-task")) if request.has_option("cpus-per-task") else 1
    if not per_task or job.steps or job.launches or request.foreign_settings() or job.program.errors:
        return None
    works = programs_of_first_node(job, spread=False)
    if not works or any(each.context.background is not None or _may_be_rank(job, each) for each in works):
        return None
    if may_know_nodes(job, works) or any(_is_told_of_cpus(each, tasks) for each in works):
        return None
    variables = [each for each in works[0].state.variables if THREAD_VARIABLE.fullmatch(each)]
    if any(text_of(exported(works[0], each) or ()) != "1" for each in variables):
        return None
    programs = [python_program(job, each) for each in works]
    serial = all(each is not None and has_one_thread(each) for each in programs)
    name, line = basename(works[0].argv[0]), job.line(works[0].span.start)
    serial = serial and not request.has_option("mem-per-cpu")
    cpus = request.setting("cpus-per-task")
    number = tasks * per_task
    threads = f"{number} threads" if number <= _CPUS_OF_NODE else "N threads"
    more = f"add -c {threads.split()[0]}"
    if cpus is not None:
        more = f"{more.removeprefix('add ')} on line {job.line(cpus.span.start)}"
    earlier = next((each for each in job.directives.settings if each.name == setting.name and each.text == "1"), None)
    one = f"write --{setting.name}=1"
    if earlier is not None and earlier.span.start < setting.span.start:  # which this overrides
        one = f"remove `{setting.as_written}` (line {job.line(earlier.span.start)} already requests 1)"
        more = more if more.startswith("add ") else f"write {more}"
    workers = " or workers" if cpus is None and earlier is None else ""  # for which those have no room
    parallel = f"; {one}, and {more} if `{name}` uses {threads}{workers}"
    advice = f", without threads; {one}" if serial else parallel
    return Finding(
        setting.span,
        f"the job has {tasks} tasks, but line {line} starts `{name}` only once{advice}",
        "warning" if serial and request.asks_for_gpus is False else "info",
        related=[(works[0].name_span, "one process")],
    )


def _may_be_rank(job: Job, command: Invocation) -> bool:
    """Whether a program may expect to be started once per task, or per GPU."""
    several = job.request.asks_for_gpus is not False and job.request.gpus_per_node() != 1
    return rank_sign(job, command) is not None or several and is_lone_rank(job, command)


def _is_told_of_cpus(command: Invocation, tasks: int) -> bool:
    """Whether a program gets the number of tasks or CPUs, so that it uses them."""
    names = {each.name for field in command.argv for each in expansions(field)}
    numbers = {str(tasks), str(tasks - 1)} & set(command.words[1:])
    return has_threads(command, tasks) or bool(numbers) or any(each.startswith("SLURM_") for each in names)


def _has_one_cpu(step: Step) -> bool:
    """Whether a step says that each task has one CPU, and nothing else of where its tasks go."""
    cpus = step.option("cpus-per-task")
    alone = _PLACING.isdisjoint(step.options.keys() - {"cpus-per-task"})
    return alone and cpus is not None and cpus.value is not None and text_of(cpus.value) == "1"


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --cpus-per-task=16
        bwa index genome.fa
        bwa mem «-t 4» genome.fa reads.fq > reads.sam
        """,
        missed=True,
        severity="info",
        title="a program without such an option may have threads of its own",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --cpus-per-task=4
        module load snakemake
        snakemake «--cores 1»
        """,
        severity="info",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --ntasks=16
        samtools sort -@ 4 -o reads.bam reads.sam
        hisat2 «-p 8» -x genome -U reads.fq -S reads.sam
        """,
        severity="info",
        title="the largest number counts",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1 --ntasks=16
        srun «-n 4» ./solver
        """,
        title="a step that is smaller than the job",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --cpus-per-task=16
        bwa mem -t 4 genome.fa a.fq > a.sam &
        bwa mem -t 4 genome.fa b.fq > b.sam &
        wait
        """,
        title="several at once",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --cpus-per-task=16 --mem-per-cpu=4G
        bwa mem -t 4 genome.fa reads.fq > reads.sam
        """,
        title="for their memory",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --cpus-per-task=4
        snakemake --cores 1 --profile slurm
        """,
        title="other jobs do the work",
    ),
]
