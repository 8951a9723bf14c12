"""A variable is empty: it belongs to another batch system, and Slurm does not set it.

`$PBS_O_WORKDIR`, `$OAR_NODEFILE`, `$NSLOTS` and `$JOB_ID` are empty in a job of Slurm. `cd $PBS_O_WORKDIR` goes to
the home folder, `cat $PBS_NODEFILE` reads an empty standard input, and a loop over the number of tasks does not run at
all.

Nothing is reported for a batch system whose variables the script tests somewhere, or sets itself: such a script is
meant for several systems.

A warning for JOB_ID, where only a part of a name is missing (`run_$PBS_JOBID.log`), and where the script has a default
for what is made of it (`N=$NSLOTS; : ${N:=1}`); advice where the variable is only printed, or is part of a label.

## Fix

The Slurm variable with the same content. Safe: the other one is empty. Unsafe for JOB_ID, and for a number of slots
(NSLOTS, PBS_NP), which counts threads as well as tasks: for a program with threads it is SLURM_CPUS_PER_TASK. None for
node files, which Slurm does not provide, and none where the script starts its tasks with a command of the other system
(`jsrun`): such a script is one of that system, and only its directives are Slurm's.

## References

sbatch(1), "OUTPUT ENVIRONMENT VARIABLES"; the manuals of PBS (qsub), LSF (bsub), Grid Engine (qsub) and OAR (oarsub)
"""

from collections.abc import Iterator

from sbatchlint.analysis.expansion.reach import is_told
from sbatchlint.analysis.expansion.reads import (
    assigned_names,
    enclosing_assignment,
    guarded_names,
    reads_of,
    unprepared_reads_of,
    use_of,
)
from sbatchlint.analysis.expansion.sourced import unclear_sources
from sbatchlint.bash.trace import VariableRead
from sbatchlint.check import Bad, Card, Finding, Fix, Good, Job, joined_alike, replace
from sbatchlint.job.environment import FOREIGN_NAMES
from sbatchlint.source.regex import Regex
from sbatchlint.triggers import Variables

CARD = Card(
    "SB613", "foreign-variable", severity="error", fix="sometimes", since="0.1.0",
    when=Variables("PBS_*", "LSB_*", "LS_SUBCWD", "SGE_*", "OAR_*", "COBALT_*", "NSLOTS", "PE_HOSTFILE", "JOB_ID"),
    batch=True,
)  # fmt: skip

NAMES = Regex(r"(?:PBS|LSB|SGE|OAR|COBALT)_\w+|LS_SUBCWD|NSLOTS|PE_HOSTFILE|JOB_ID")
# The Slurm variables with the same content; '' for those without one.
COUNTERPARTS = {
    **FOREIGN_NAMES,
    "SLURM_ARRAY_TASK_ID": "PBS_ARRAYID PBS_ARRAY_INDEX SGE_TASK_ID LSB_JOBINDEX OAR_ARRAY_INDEX",
    "SLURM_NTASKS": "PBS_NP NSLOTS LSB_DJOB_NUMPROC",
    "SLURM_JOB_NUM_NODES": "PBS_NUM_NODES",
    "SLURM_JOB_ID": f"{FOREIGN_NAMES['SLURM_JOB_ID']} JOB_ID",
    "": "PBS_NODEFILE OAR_NODEFILE OAR_NODE_FILE OAR_FILE_NODES PE_HOSTFILE LSB_DJOB_HOSTFILE LSB_HOSTS LSB_MCPU_HOSTS"
    " COBALT_NODEFILE",
}
COUNTERPART_OF = {name: counterpart for counterpart, names in COUNTERPARTS.items() for name in names.split()}
_GRID_ENGINE = dict.fromkeys(("SGE", "NSLOTS", "PE", "JOB"), "Grid Engine")
SYSTEMS = {"LSB": "LSF", "LS": "LSF", **_GRID_ENGINE}


# Commands of the other systems that end a job.
_CANCEL = frozenset({"bkill", "qdel", "oardel", "canceljob"})
# Commands that start tasks, and do so only in a job of their own system.
_STARTERS = {"jsrun": "LSF", "blaunch": "LSF", "pbsdsh": "PBS", "pbs_tmrsh": "PBS", "oarsh": "OAR"}
# How many lines a list of nodes has, and what Slurm has for that: nodes, cores of a node, or tasks.
_COUNTED = Regex(r"\bwc\b|\buniq\s+-c|\bgrep\s+-c")
_NUMBERS = (
    (Regex(r"\buniq\s+-c|\bgrep\s+-c"), "SLURM_CPUS_ON_NODE"),
    (Regex(r"\buniq\b|\bsort\s+-\w*u"), "SLURM_JOB_NUM_NODES"),
    (Regex(r""), "SLURM_NTASKS"),
)
# Two characters of a name beside a variable: `x_$ID`, `$ID.log`.
_IN_NAME = Regex(r"[\w.-]{2}")
# These count slots: with `--ntasks=1 --cpus-per-task=8` a job of Grid Engine had 8, and SLURM_NTASKS is 1.
SLOTS = frozenset({"NSLOTS", "PBS_NP", "LSB_DJOB_NUMPROC"})


def check(job: Job) -> Iterator[Finding]:
    return joined_alike(_of_reads(job), "the same", fixed_apart=True)


def _of_reads(job: Job) -> Iterator[Finding]:
    """A finding for each read of such a variable."""
    if not job.directives.every_setting:
        return
    reads = [each for each in unprepared_reads_of(job, COUNTERPART_OF.__contains__) if not each.context.conditional]
    if not reads or unclear_sources(job):
        return
    known = {_system(name) for name in guarded_names(job) | assigned_names(job) if NAMES.fullmatch(name)}
    starters = {_STARTERS[name]: each for each in reversed(job.invocations) if (name := each.name or "") in _STARTERS}
    told: set[str] = set()
    for read in reads:
        system = _system(read.name)
        if system in known or system in told or use_of(job, read).kind in ("guard", "test"):
            continue
        starter = starters.get(system)
        if starter is None:
            yield _finding(job, read)
            continue
        told.add(system)
        line = job.line(starter.span.start)
        message = f"{read.name} is empty in a Slurm job, and `{starter.name}` (line {line}) works only in "
        message += f"a job of {system}; submit it there, or write `srun`"
        yield Finding(read.span, message, related=[(starter.name_span, f"a command of {system}")])


def _system(name: str) -> str:
    first = name.partition("_")[0]
    return SYSTEMS.get(first, first)


def _counterpart(job: Job, name: str) -> str:
    """The Slurm variable with the same content; '' for none."""
    tasks, cpus = job.request.effective_tasks(), job.request.cpus_per_task
    if name in SLOTS and tasks == 1 and cpus is not None and cpus > 1:
        return "SLURM_CPUS_PER_TASK"
    return COUNTERPART_OF[name]


def _finding(job: Job, read: VariableRead) -> Finding:
    counterpart, use = _counterpart(job, read.name), use_of(job, read)
    fix, command = None, use.command
    ends = command is not None and command.name in _CANCEL
    written = job.source.slice(read.span)
    if counterpart and not ends and written in (f"${read.name}", f"${{{read.name}}}"):
        edit = replace(read.span, written.replace(read.name, counterpart))
        fix = Fix(f"write ${counterpart}", [edit], safe=read.name not in SLOTS and read.name != "JOB_ID")
    name = f"${{{counterpart}}}" if written.startswith("${") else f"${counterpart}"
    instead = f"write `{name}`" if counterpart else 'use `scontrol show hostnames "$SLURM_JOB_NODELIST"`'
    line = job.source.slice(job.source.line_of(read.span.start))
    # the submit environment may have something of this name
    soft = use.kind == "print" or read.name == "JOB_ID" or _is_foreseen(job, read)
    soft = soft or _is_part_of_name(job, read, counterpart)
    if not counterpart and _COUNTED.search(line):
        # a line of the file stands for a core or a slot, one of `scontrol show hostnames` for a node
        number = next(number for sign, number in _NUMBERS if sign.search(line))
        instead = f"write `${number}` for what is counted here"
    if ends:
        instead = f"write `scancel {name}`"
    if counterpart == "SLURM_CPUS_PER_TASK":
        instead += " (one task has all of them)"
    return Finding(
        read.span,
        f"{read.name} is a variable of {_system(read.name)}, so it is empty in a Slurm job; {instead}",
        "info" if is_told(job, use) else "warning" if soft else None,
        fix=fix,
    )


def _is_foreseen(job: Job, read: VariableRead) -> bool:
    """Whether a variable only sets another one, for which the script has a default: `N=$NSLOTS; : ${N:=1}`."""
    assigned = enclosing_assignment(job, read.span)
    if assigned is None or assigned.exported or assigned.context.conditional:
        return False
    later = [each for each in reads_of(job).get(assigned.name, ()) if each.span.start >= assigned.span.end]
    return bool(later) and min(later, key=lambda each: each.order).operator in (":-", ":=")


def _is_part_of_name(job: Job, read: VariableRead, counterpart: str) -> bool:
    """Whether a variable that only tells jobs apart is a part of a name that is a name without it, too."""
    text, (start, end) = job.source.text, read.span
    return counterpart in ("SLURM_JOB_ID", "SLURM_JOB_NAME") and (
        start > 1 and _IN_NAME.match(text, start - 2) is not None or _IN_NAME.match(text, end) is not None
    )


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --ntasks=4
        srun ./a.out
        bkill «$LSB_JOBID»
        """,
        title="with the command of that system",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        cd /scratch/runs/«$LSB_JOBID»
        jsrun -n 12 -a 1 ./a.out
        bkill $LSB_JOBID
        """,
        title="a script of that system: no fix",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --ntasks=4
        cd «$PBS_O_WORKDIR»
        srun ./a.out
        """,
        fixed={"$PBS_O_WORKDIR": "$SLURM_SUBMIT_DIR"},
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --ntasks=4
        mpirun -machinefile "«$PBS_NODEFILE»" -np 4 ./a.out
        """,
        title="no counterpart",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --ntasks=4
        #PBS -l nodes=4
        if [ -n "$PBS_O_WORKDIR" ]; then
            cd "$PBS_O_WORKDIR"
            echo "$PBS_JOBID"
        fi
        mpirun ./a.out
        """,
        title="for several batch systems",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --ntasks=4
        NSLOTS=$SLURM_NTASKS
        cd "${PBS_O_WORKDIR:-$SLURM_SUBMIT_DIR}"
        mpirun -np $NSLOTS ./a.out
        """,
        title="set, or with a default",
    ),
]
