"""A Slurm variable is empty: Slurm does not set it here.

Many SLURM_ variables exist only if the option of the same name is set: SLURM_NTASKS is unset with just `--nodes`,
SLURM_GPUS_PER_NODE with `--gres=gpu:8`, SLURM_CPUS_PER_TASK without `--cpus-per-task`. Other names are misspelled:
SLURM_JOB_NUMNODES, SLURM_NODE_ID. Bash expands both kinds to nothing, or to 0 in arithmetic: a world of 0 processes,
`--nproc_per_node` without a value, an OMP_NUM_THREADS that is ignored.

An error in arithmetic, in a launcher's arguments, and for a name that Slurm does not know; a warning elsewhere; advice
where no directive says how large the job is, so that the command line of sbatch may, where a comment says that it gives
the option, where a variable is only printed, or only part of a value that nothing is known to read, for the restart
count before the first restart, and for an input variable of sbatch (SBATCH_GPUS_PER_NODE) used as if sbatch set it. One
of srun (SLURM_PARTITION), or the log of the job (SLURM_STDOUT), is a warning. Names that the script sets, tests or
gives a default are not reported. The option may still come from the command line of sbatch. SLURM_GPUS_PER_TASK is gone
since 23.11.

## Fix

The correct name for a misspelled one; `${SLURM_CPUS_PER_TASK:-1}` and `${SLURM_NTASKS_PER_NODE:-1}`, which is what
Slurm does without the option; SLURM_GPUS_ON_NODE in place of SLURM_GPUS_PER_NODE; the number of the job's option as
the default where a release no longer sets the variable. These are safe. The fixes for
SLURM_NTASKS and for the number of a launcher's workers are unsafe: one task per node is only what srun without options
would start. There is none for SLURM_CPUS_PER_TASK with `--cpus-per-gpu` or `--exclusive`: each task then has more CPUs
(live jobs had 8 and 64), and programs take an empty OMP_NUM_THREADS for all of them. With several tasks and no step the
fix is unsafe for the same reason, and there is none for SRUN_CPUS_PER_TASK. SLURM_GPUS_ON_NODE in place of a number of
all GPUs is safe on one node.

## References

setup_env() in src/common/env.c and job_scheduler.c, Slurm 20.11 to 26.05; environments of live jobs on 22.05 to 26.05;
awsome-distributed-training issue 71; gpt-neox pull request 1069; oslo pull request 150.
"""

from collections.abc import Iterator

from sbatchlint.analysis.expansion.program_variables import is_for_programs
from sbatchlint.analysis.expansion.reach import is_told
from sbatchlint.analysis.expansion.reads import enclosing_assignment, read_names, unprepared_reads, use_of
from sbatchlint.analysis.expansion.sourced import unclear_sources
from sbatchlint.analysis.script.submit_lines import is_shown_with
from sbatchlint.bash.trace import VariableRead
from sbatchlint.check import Bad, Card, Finding, Fix, Good, Job, joined, replace
from sbatchlint.job.environment import GPU_OPTIONS
from sbatchlint.job.ranks import OWN_RANKS
from sbatchlint.job.shell_environment import JobEnvironment
from sbatchlint.slurm.environment import (
    CURRENT_NAMES,
    Entry,
    find,
    glued_to,
    is_plain_misspelling,
    misspelling_of,
    set_beside,
)
from sbatchlint.slurm.versions import are_old
from sbatchlint.source.numbers import is_number
from sbatchlint.source.regex import Regex
from sbatchlint.source.shortening import MOST
from sbatchlint.triggers import Variables

CARD = Card(
    "SB409", "slurm-variable-not-set", severity="error", fix="sometimes", since="0.1.0", when=Variables("S*"),
    batch=True,
)  # fmt: skip

# Options that say how large a job is; without them, the command line of sbatch says it.
_SIZES = ("nodes", "nodelist", "ntasks", "ntasks-per-node", *GPU_OPTIONS)
# Names of the job's log.
_LOG = Regex(r"SLURM_(?:JOB_)?STD(?:OUT|ERR)(?:_?(?:FILE|PATH|NAME|DIR))?")
# What launchers and every program read.
_FOR_OTHERS = frozenset({*OWN_RANKS, "PATH", "LD_LIBRARY_PATH", "PYTHONPATH", "HOME", "TMPDIR"})
_RESOURCES = ("nodes", "ntasks", "ntasks-per-node", "cpus-per-task", "exclusive", "mem", "mem-per-cpu", *GPU_OPTIONS)


def check(job: Job) -> Iterator[Finding]:
    environment = JobEnvironment(job.request)
    lines: dict[tuple[str, int], list[Finding]] = {}
    for read in unprepared_reads(job):
        kept = _is_kept_unread(job, read)
        place = read.name, job.source.line_of(read.span.start).start
        lines.setdefault(place, []).extend(
            each._replace(severity="info") if kept else each for each in _findings(job, read, environment)
        )
    for findings in lines.values():
        if findings:
            yield joined(findings, "and here")


def _findings(job: Job, read: VariableRead, environment: JobEnvironment) -> Iterator[Finding]:
    entry = find(read.name)
    if read.name.startswith("SBATCH_"):
        yield from _input_of_sbatch(job, read, environment)
    elif entry is None and (meant := set_beside(read.name)) is not None:
        yield from _input_of_srun(job, read, meant)
    elif entry is None:
        yield from _misspelled(job, read, environment)
    elif entry.when in ("requeue", "array"):
        yield from _not_yet(job, read, entry)
    elif entry.when == "options":
        gone = set(job.versions.majors) - entry.batch
        is_gone = bool(gone) and are_old(entry.batch) and job.request.has_any_option(entry.options)
        if is_gone or environment.lookup(read.name, read.context) is False:
            yield from _without_option(job, read, entry)


def _is_kept_unread(job: Job, read: VariableRead) -> bool:
    """Whether a value only goes into a variable that nothing is known to read: not the script, and no program."""
    kept = enclosing_assignment(job, read.span)
    if kept is None or use_of(job, read).kind not in ("assignment", "arithmetic"):
        return False
    return not (kept.name in read_names(job) or kept.name in _FOR_OTHERS or is_for_programs(kept.name))


def _misspelled(job: Job, read: VariableRead, environment: JobEnvironment) -> Iterator[Finding]:
    """A name that Slurm never sets, but that is close to one it does."""
    misspelling = misspelling_of(read.name)
    if glued_to(read.name) is not None:
        return  # `$SLURM_JOB_ID_$X` is for glued-variable-name (SB419)
    if misspelling is None and _LOG.fullmatch(read.name) is not None:
        yield from _log(job, read)
    if misspelling is None or unclear_sources(job) and not is_plain_misspelling(read.name, misspelling):
        return  # a sourced file that cannot be read may set it
    # no fix if the correct name would not be set either
    meant = CURRENT_NAMES.get(misspelling.meant, misspelling.meant)
    renamed = misspelling.certain and environment.lookup(meant, read.context) is not False
    instead = _renamed(job, read, meant) if renamed else None
    # the GPUs of the job, where it has several nodes, are more than those of the first
    safe = misspelling.certain and (meant != "SLURM_GPUS_ON_NODE" or job.request.exact_nodes() == 1)
    use = use_of(job, read)
    severity = "info" if is_told(job, use) else "error" if misspelling.certain else "warning"
    if meant in ("SLURM_JOB_NODELIST", "SLURM_NODELIST") and use.command is not None:
        # without a list scontrol takes that of the job (a live run of 22.05)
        words = use.command.words
        severity = "info" if words[:2] == ["scontrol", "show"] and len(words) < 5 and not read.operator else severity
    yield Finding(
        read.span,
        f"Slurm never sets {read.name}, so it is {_result(read)} here; "
        + (f"write `{instead}`" if instead else f"did you mean {meant}?"),
        severity,
        fix=_written(read, instead, safe),
    )


def _log(job: Job, read: VariableRead) -> Iterator[Finding]:
    """A name for the job's log, which only the scripts of the site's administrators get (prolog and epilog)."""
    use = use_of(job, read)
    if unclear_sources(job) or use.kind == "guard" or read.operator not in ("", "arithmetic"):
        return
    message = f"Slurm never sets {read.name} in a job, so it is empty here; write the name of the log itself"
    yield Finding(read.span, message, "info" if is_told(job, use) else "warning")


def _input_of_sbatch(job: Job, read: VariableRead, environment: JobEnvironment) -> Iterator[Finding]:
    """An input variable of sbatch, read where the variable that sbatch sets was meant."""
    meant = "SLURM_" + read.name.partition("_")[2]
    meant = CURRENT_NAMES.get(meant, meant)
    if find(meant) is None or environment.lookup(meant, read.context) is False or unclear_sources(job):
        return
    yield Finding(
        read.span,
        f"sbatch reads {read.name} but does not set it, so it is {_result(read)} here unless you export it first; "
        f"write `${meant}`",
        "info",
        fix=_written(read, _renamed(job, read, meant), safe=False),
    )


def _input_of_srun(job: Job, read: VariableRead, meant: str) -> Iterator[Finding]:
    """A variable that srun takes an option from, read where the one that Slurm sets was meant."""
    kind = use_of(job, read).kind
    if kind == "guard" or unclear_sources(job):
        return
    happens = f"srun reads {read.name}, but nothing sets it: it is {_result(read)} here unless you export it first"
    message = f"{happens}; write `${meant}`"
    fix = _written(read, _renamed(job, read, meant), safe=False)
    yield Finding(read.span, message, "info" if kind == "print" else "warning", fix=fix)


def _not_yet(job: Job, read: VariableRead, entry: Entry) -> Iterator[Finding]:
    """A variable that only requeued jobs have, or only array jobs where the visible sbatch does not submit an array."""
    name, written = entry.name, job.source.slice(read.span)
    if read.operator or use_of(job, read).kind == "guard" or read.context.conditional:
        return
    if entry.when == "requeue":
        instead = f"${{{name}:-0}}" if written in (f"${name}", f"${{{name}}}") else None
        message = f"{name} is empty until the job is first requeued; write `${{{name}:-0}}`"
        yield Finding(read.span, message, "info", fix=_written(read, instead, safe=True))
    elif job.submission is not None and job.submission.command is not None and not job.request.has_option("array"):
        if job.directives.certain and not job.directives.unread:
            kind = use_of(job, read).kind
            yield Finding(
                read.span,
                f"{name} is empty here: the sbatch on line {job.line(job.submission.command.span.start)} submits "
                "no array; pass --array to it, or give a default: `${%s:-N}`" % name,
                "info" if kind == "print" else "error",
            )


def _without_option(job: Job, read: VariableRead, entry: Entry) -> Iterator[Finding]:
    """A variable whose option the script does not set."""
    # directives that sbatch does not read are for another check
    requests = not job.directives.unread and job.request.has_any_option(_RESOURCES)
    if not requests and (read.name != "SLURM_CPUS_PER_TASK" or job.directives.unread):
        return  # the command line of sbatch says what the job has
    is_sized = requests if read.name == "SLURM_CPUS_PER_TASK" else job.request.has_any_option(_SIZES)
    is_sized = is_sized and not is_shown_with(job, entry.options)
    kind = use_of(job, read).kind
    if kind == "guard" or read.operator not in ("", "arithmetic"):
        return
    options = [f"--{name}" for name in entry.options[:2]]
    advice, message = f"add {options[0]}, or write `${{{read.name}:-DEFAULT}}`", f"{read.name} is {_result(read)} here"
    if job.site.submit_options is None:
        message += f" unless sbatch is called with {' or '.join(options)}"
    gone: list[str] = []
    if job.request.has_any_option(entry.options[:2]):
        gone = sorted(set(job.versions.majors) - entry.batch)
        message = f"Slurm {gone[0]} no longer sets {read.name}, so it is {_result(read)} here"
        advice = f"write `${{{read.name}:-DEFAULT}}`"
    if len(f"{message}; {advice}") > MOST and ", or write " in advice:
        advice = advice.partition(", or write ")[0] + ", or set a default"
    instead, safe = _instead(job, read, entry)
    vital = kind == "arithmetic" or _is_in_launcher(job, read)
    yield Finding(
        read.span,
        f"{message}; {f'write `{instead}`' if instead else advice}",
        "info" if kind == "print" or not is_sized else "error" if vital else "warning",
        fix=_written(read, instead, safe),
        versions=gone or None,
    )


def _written(read: VariableRead, instead: str | None, safe: bool) -> Fix | None:
    return None if instead is None else Fix(f"write {instead}", [replace(read.span, instead)], safe)


def _result(read: VariableRead) -> str:
    return "0" if read.operator == "arithmetic" else "empty"


def _is_in_launcher(job: Job, read: VariableRead) -> bool:
    """Whether a read is in a launcher's command line."""
    return any(launch.invocation.span.contains(read.span) for launch in job.launches)


def _renamed(job: Job, read: VariableRead, name: str) -> str | None:
    written = job.source.slice(read.span)
    return written.replace(read.name, name) if written.count(read.name) == 1 else None


def _instead(job: Job, read: VariableRead, entry: Entry) -> tuple[str | None, bool]:
    """The replacement for a variable whose option is not set, and whether it is certainly what was meant."""
    request, name = job.request, entry.name
    if job.source.slice(read.span) not in (f"${name}", f"${{{name}}}", name):
        return None, False
    given = request.value(entry.options[0]) if entry.options else None
    if given is not None and is_number(given):
        return f"${{{name}:-{given}}}", True  # a release that no longer sets it
    if name == "SLURM_CPUS_PER_TASK":
        kept = enclosing_assignment(job, read.span)
        if request.has_any_option(("cpus-per-gpu", "exclusive")) or kept is not None and kept.name.startswith("SRUN_"):
            return None, False  # srun without the variable gives a step more than one CPU
        # a program that is started once has the CPUs of all tasks of its node
        alone = request.effective_tasks() in (None, 1, request.exact_nodes())
        return f"${{{name}:-1}}", alone or bool(job.steps)
    if name == "SLURM_NTASKS_PER_NODE":
        of_launcher = _is_in_launcher(job, read)
        if of_launcher and request.gpus_per_node() is not None:
            return _renamed(job, read, "SLURM_GPUS_ON_NODE"), False
        return (None, False) if request.has_any_option(("ntasks", "gpus")) else (f"${{{name}:-1}}", not of_launcher)
    nodes, name = request.exact_nodes(), CURRENT_NAMES.get(name, name)
    if name in ("SLURM_GPUS_PER_NODE", "SLURM_GPUS") and request.asks_for_gpus:
        if name == "SLURM_GPUS" and nodes != 1 or request.gpus_per_node() is None:
            return None, False
        return _renamed(job, read, "SLURM_GPUS_ON_NODE"), True
    if name == "SLURM_NTASKS" and not request.has_option("gpus"):
        return f"${{{name}:-{1 if nodes == 1 else '$SLURM_JOB_NUM_NODES'}}}", False
    return None, False


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        #SBATCH --gres=gpu:8
        srun torchrun --nnodes=2 --nproc_per_node=«$SLURM_GPUS_PER_NODE» train.py
        """,
        fixed={"--nproc_per_node=$SLURM_GPUS_PER_NODE": "--nproc_per_node=$SLURM_GPUS_ON_NODE"},
        title="GPUs asked for in another form",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        #SBATCH --ntasks-per-node=4
        export WORLD_SIZE=$((«SLURM_JOB_NUMNODES» * SLURM_NTASKS_PER_NODE))
        srun python train.py
        """,
        fixed={"WORLD_SIZE=$((SLURM_JOB_NUMNODES": "WORLD_SIZE=$((SLURM_JOB_NUM_NODES"},
        title="misspelled",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1 --gpus-per-node=4
        export GPUS=«$SLURM_JOB_NUMNODES»
        srun python train.py
        """,
        fixed={"GPUS=$SLURM_JOB_NUMNODES": "GPUS=$SLURM_JOB_NUM_NODES"},
        severity="info",
        title="kept in a variable that nothing is known to read",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --ntasks=1
        export OMP_NUM_THREADS=«$SLURM_CPUS_PER_TASK»
        srun ./solve
        """,
        fixed={"OMP_NUM_THREADS=$SLURM_CPUS_PER_TASK": "OMP_NUM_THREADS=${SLURM_CPUS_PER_TASK:-1}"},
        severity="warning",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=4
        export WORLD_SIZE=$((«$SLURM_NTASKS» * 8))
        """,
        unsafe_fixed={"WORLD_SIZE=$(($SLURM_NTASKS": "WORLD_SIZE=$((${SLURM_NTASKS:-$SLURM_JOB_NUM_NODES}"},
        title="tasks that nobody asked for",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        #SBATCH --gpus-per-node=8
        #SBATCH --cpus-per-task=16
        export OMP_NUM_THREADS=$SLURM_CPUS_PER_TASK
        srun torchrun --nnodes=$SLURM_NNODES --nproc_per_node=$SLURM_GPUS_PER_NODE train.py
        """
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        if [ -z "$SLURM_NTASKS" ]; then
            SLURM_NTASKS=2
        fi
        ./run -n "$SLURM_NTASKS" -t "${SLURM_CPUS_PER_TASK:-4}"
        """,
        title="tested, set, or with a default",
    ),
    Good(
        "#!/bin/bash\n#SBATCH --nodes=8 --threads-per-core=2\nmpirun -np $SLURM_NTASKS ./solve\n",
        title="sbatch turns it into two tasks per node",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --mem-per-cpu=4G
        srun -n «$SLURM_NPROCS» ./solve --profile --check=3
        """,
        unsafe_fixed={"$SLURM_NPROCS": "${SLURM_NTASKS:-$SLURM_JOB_NUM_NODES}"},
        severity="info",
        title="the command line may give them, and what follows is not an option of srun",
    ),
    Good("#!/bin/bash\n#SBATCH -N 2 -B 2:4\nmpirun -np $SLURM_NPROCS ./solve\n", title="and here eight"),
]
