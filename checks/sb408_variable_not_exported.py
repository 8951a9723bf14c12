"""A program does not see a variable: the script does not export it.

`NNODES=4` sets a variable in the batch shell only. The tasks that srun starts, and any other program, get exported
variables only: in `srun bash -c 'echo $NNODES'`, in a quoted heredoc or in a script that a step runs, it is empty. A
comparison with it fails on every rank, an option loses its value, or `rm -r $DIR/*` means another folder. The same goes
for variables that only programs read, such as NCCL_DEBUG: without `export` it never sees them.

An error where a shell in the program reads the variable; a warning for a name that only programs read, and advice where
its value is what they do anyway (`KERAS_BACKEND=tensorflow`, `NCCL_IB_DISABLE=0`). A variable of
the submit environment is exported already, and setting it keeps that; names that Slurm or every login sets are not
reported, and neither are reads with a default.

## Fix

Puts `export` before the assignment, or on a line before it where the value is the output of a command whose exit status
must not get lost. Safe: only the environment of programs changes. Unsafe where they would take more than the job has: a
heap of Java larger than the memory, more threads than CPUs. An array cannot be exported.

## References

prime-rl pull request 3225; `export` in the bash manual.
"""

from collections.abc import Iterator

from sbatchlint.analysis.expansion.nobody_sets import mentions
from sbatchlint.analysis.expansion.program_variables import is_for_programs
from sbatchlint.analysis.expansion.reads import DEFAULTS, enclosing_assignment, is_told_in_place, reads_of, use_of
from sbatchlint.analysis.expansion.sourced import unclear_sources
from sbatchlint.analysis.script.work import Weight, weight
from sbatchlint.bash.trace import Invocation, VariableAssignment, VariableRead
from sbatchlint.bash.values import Phase
from sbatchlint.bash.variables import ENVIRONMENT_NAMES
from sbatchlint.check import Bad, Card, Edit, Finding, Fix, Good, Job, Span, insert
from sbatchlint.job.containers import Container
from sbatchlint.job.programs import commands_named
from sbatchlint.job.steps import enclosing_step
from sbatchlint.slurm.environment import find, is_input
from sbatchlint.slurm.grammar.sizes import megabytes
from sbatchlint.source.numbers import parse_integer
from sbatchlint.source.regex import Regex

CARD = Card("SB408", "variable-not-exported", severity="error", fix="sometimes", since="0.1.0", batch=True)

# Where software is: a module may have exported these before the script sets them.
_PLACE = Regex(r"(?!HF_)\w+_(?:HOME|ROOT|PATH|DIR|ARCH|VERSION)")
# What a comment says of a variable that the job gets from who submits it, which stays exported.
_INHERITED = Regex(r"(?i)\binherit|\bprop?a?gat|\bpassed (?:on|down)\b|\b(?:already|comes?|arrives?|is|are) exported\b")
# What may precede an assignment that is a statement of its own.
_OPENINGS = Regex(r"(?:^|[;{(]|&&|\|\||\bthen|\belse|\bdo)\s*\Z")
# A value that begins with `$1` and goes on: the `$` is a slip.
_GLUED = Regex(r"\A\w+=[\"']?\$[0-9]\w")

# The largest heap of Java, and a number of threads.
_HEAP = Regex(r"-Xmx([0-9]{1,7}[gGmMkKtT])\b")
_THREADS = Regex(r"\w+_NUM_THREADS=[\"']?([0-9]{1,4})[\"']?")

# What stands before a folder for output.
_FOLDER_OPTION = Regex(r"(?:^|[ \t])--?(?:out(?:put)?|work|results?)[-_]?(?:dir|folder|path)?[ =][\"']?\$?\{?$")
# What programs do without the variable, too.
_DEFAULT_VALUES = Regex(
    r"KERAS_BACKEND=tensorflow|WANDB_MODE=online|\w+_(?:DISABLED?|OFFLINE|BLOCKING|DEBUG)=(?:0|false)"
)


def check(job: Job) -> Iterator[Finding]:
    found: dict[Span, list[VariableRead]] = {}
    for read in [each for each in job.trace.reads if each.variable is None and each.context.parent is not None]:
        shell = _not_exporting(read)
        if shell is None or use_of(job, read).kind == "guard":
            continue
        if any(each.index < read.order and each.context.parent is read.context.parent for each in unclear_sources(job)):
            continue  # a file that cannot be read here is sourced earlier in the same program, and may set the variable
        assigned = _assignment(job, read.name, shell)
        reads = found.setdefault(read.span if assigned is None else assigned.name_span, [])
        if read.span not in [each.span for each in reads]:
            reads.append(read)
    for span, reads in found.items():
        yield _read_empty(job, span, reads)
    for assigned, starter in _for_programs(job):
        if assigned.name_span not in found and not _is_moot(assigned.name, starter):
            array = starter.state.variables[assigned.name].array
            advice, fix = _repair(job, assigned.name, None if array else assigned, array)
            unset = _unset(job, assigned)
            if fix is not None and (unset is not None or _asks_for_more(job, assigned)):
                fix = fix._replace(safe=False)  # the program would get an empty value, or take more than there is
            if _GLUED.search(job.source.slice(assigned.span)):
                fix = None
            line = job.line(starter.span.start)
            begin = f"{assigned.name} is not exported, so programs from line {line} on do not see it"
            if unset is not None and _is_stray(job, assigned, unset):
                begin = f"nothing sets `{unset.name}`, and the program on line {line} does not see {assigned.name}"
                fix = None
                advice = f"write `export {assigned.name}={unset.name}`, if you meant that"
            severity = "info" if _DEFAULT_VALUES.fullmatch(f"{assigned.name}={assigned.value}") else "warning"
            yield Finding(assigned.name_span, f"{begin}; {advice}", severity, fix=fix)


def _is_moot(name: str, starter: Invocation) -> bool:
    """Whether a program has no use for a variable: Nextflow puts only pipelines that it downloads into NXF_ASSETS."""
    return name == "NXF_ASSETS" and any(each.endswith(".nf") for each in starter.words[1:])


def _asks_for_more(job: Job, assigned: VariableAssignment) -> bool:
    """Whether a value lets Java take all of the job's memory or more, or starts more threads than a task has CPUs."""
    value = job.source.slice(assigned.span)
    heap, threads = _HEAP.search(value), _THREADS.fullmatch(value)
    if heap is not None:
        memory, cpus = job.request.memory, job.request.cpus_per_task or 1
        given = None if memory is None else memory.megabytes * (cpus if memory.per == "cpu" else 1)
        heap_size = megabytes(heap[1])
        return given is None or heap_size is None or heap_size >= given > 0
    return threads is not None and (parse_integer(threads[1]) or 0) > (job.request.cpus_per_task or 1)


def _unset(job: Job, assigned: VariableAssignment) -> VariableRead | None:
    """The first variable that is part of the value and that nothing sets; None if there is none."""
    reads = (each for each in job.trace.reads if assigned.span.contains(each.span))
    return next((each for each in reads if each.variable is None and each.operator not in DEFAULTS), None)


def _is_stray(job: Job, assigned: VariableAssignment, read: VariableRead) -> bool:
    """Whether the value is a word with a `$` before it, which the script has nowhere else: `ENTITY=$kite`."""
    alone = job.source.slice(assigned.span) == f"{assigned.name}=${read.name}"
    return alone and read.name.islower() and mentions(job)[read.name] == 1


def _read_empty(job: Job, span: Span, reads: list[VariableRead]) -> Finding:
    name, place = reads[0].name, job.line(reads[0].span.start)
    starter = _not_exporting(reads[0])
    assert starter is not None
    line = job.line(starter.span.start)
    who, verb = f"the program started on line {line}", "gets"
    if enclosing_step(reads[0].context) is not None:
        who, verb = f"the tasks of the srun on line {line}", "get"
    where = "" if place == line else f" on line {place}"
    array = starter.state.variables[name].array
    advice, fix = _repair(job, name, None if array else _assignment(job, name, starter), array)
    return Finding(
        span,
        f"{name} is not exported, so {who} {verb} an empty value{where}; {advice}",
        "warning" if all(_is_entered(job, each) for each in reads) else None,
        related=[(each.span, "empty here") for each in reads[:3] if each.span != span],
        fix=fix,
    )


def _is_entered(job: Job, read: VariableRead) -> bool:
    """Whether a program gets a variable as its folder for output, which the script has entered.

    Most programs take an empty path for the current folder: `tool --outdir=$OUT` after `cd $OUT`.
    """
    if _FOLDER_OPTION.search(job.source.text[max(read.span.start - 40, 0) : read.span.start]) is None:
        return False
    entered = (each for each in commands_named(job, "cd") if each.index < read.order and len(each.argv) == 2)
    return any(f"${read.name}" in job.source.slice(each.span).replace("{", "") for each in entered)


def _not_exporting(read: VariableRead) -> Invocation | None:
    """The command whose shell has a variable but does not export it; None where it is lost otherwise or not at all.

    A variable that the environment holds when the job is submitted stays exported when the script sets it.
    """
    if read.operator in DEFAULTS:
        return None
    entry = find(read.name)
    if read.name in ENVIRONMENT_NAMES or entry is not None and entry.batch:
        return None
    starter = read.context.parent
    while starter is not None and not _passes_nothing(starter):
        variable = starter.state.variables.get(read.name)
        if variable is not None:
            set_always = bool(variable.alternatives) and all(way.fields is not None for way in variable.alternatives)
            return starter if set_always and not variable.exported else None
        starter = starter.context.parent
    return None


def _passes_nothing(command: Invocation) -> bool:
    """Whether even an exported variable would not reach the program."""
    spawn = command.spawn
    if command.name in ("ssh", "pdsh", "docker", "podman", "sudo", "su", "sbatch") or not spawn.kind:
        return command.text is None
    info = spawn.info
    if isinstance(info, Container) and (info.kind in ("docker", "podman", "charliecloud") or info.option("env-file")):
        return True
    return spawn.cleared or spawn.kind in ("ssh", "sbatch", "sudo")


def _assignment(job: Job, name: str, shell: Invocation) -> VariableAssignment | None:
    """The assignment from which a shell's variable has its value; None for a loop variable, `read` and the like."""
    span = shell.state.variables[name].span
    found = enclosing_assignment(job, span)
    return found if found is not None and (found.name, found.span) == (name, span) else None


def _is_inherited(job: Job, assigned: VariableAssignment) -> bool:
    """Whether a comment beside an assignment says that the variable comes with the environment, and so is exported."""
    line = job.source.line_of(assigned.span.start)
    above = job.source.slice(job.source.line_of(line.start - 1)) if line.start else ""
    beside = job.source.slice(Span(assigned.span.end, max(line.end, assigned.span.end)))
    notes = (above.lstrip() if above.lstrip().startswith("#") else "", beside.partition("#")[2])
    return any(_INHERITED.search(each) for each in notes)


def _for_programs(job: Job) -> Iterator[tuple[VariableAssignment, Invocation]]:
    """Variables that only programs read, set but not exported, and the first program that starts without them."""
    candidates = [
        assignment
        for assignment in job.assignments
        if not assignment.exported and _is_read(assignment.name) and assignment.context.phase is not Phase.SUBMIT
    ]
    if not candidates:
        return
    launched = {step.invocation.index: step.invocation for step in job.steps}
    launched.update((launch.invocation.index, launch.invocation) for launch in job.launches)
    worked = {each.index: each for each in job.invocations if weight(job, each) >= Weight.STAGING}
    for candidate in candidates:
        entry = find(candidate.name)
        if entry is not None and entry.batch:
            continue
        starters = launched if _PLACE.fullmatch(candidate.name) else launched | worked
        for index in sorted(starters):
            enclosing = (starters[index], *starters[index].ancestors())
            starter = next((command for command in enclosing if command.parent is candidate.context.parent), None)
            variable = None if starter is None else starter.state.variables.get(candidate.name)
            if starter is None or variable is None or index < candidate.order or variable.span != candidate.span:
                continue
            if any(candidate.order <= each.index < index for each in unclear_sources(job)):
                break  # a file that cannot be read here may export it
            if not variable.exported and all(way.fields for way in variable.alternatives):
                # in a label it is only printed: a program gets its value
                printed = sum(is_told_in_place(job, read) for read in reads_of(job).get(candidate.name, ()))
                if not _is_inherited(job, candidate) and mentions(job)[candidate.name] == 1 + printed:
                    yield candidate, starter
                break


def _is_read(name: str) -> bool:
    """Whether programs read a variable; `SLURM_OUT` and the like are names that scripts make up."""
    if name.endswith(("_PID", "_PIDS")):
        return False  # the process of that program
    made_up = name.startswith(("SLURM_", "SRUN_")) and find(name) is None and not is_input(name)
    return is_for_programs(name) and not made_up


def _repair(job: Job, name: str, assigned: VariableAssignment | None, array: bool) -> tuple[str, Fix | None]:
    if array:
        return "an array cannot be exported, so set it there", None
    edit = None if assigned is None else _exporting(job, assigned)
    if edit is None:
        return f"write `export {name}` before it starts", None
    return f"write `export {name}=…`", Fix(f"export {name}", [edit], safe=True)


def _exporting(job: Job, assigned: VariableAssignment) -> Edit | None:
    """The edit that exports a variable at its assignment; None where the assignment is part of something else.

    `export X=$(command)` would hide the command's exit status, so the name is exported on a line before it.
    """
    text = job.source.text
    start, end = assigned.span
    line = text.rfind("\n", 0, start) + 1
    before = text[line:start]
    if not text.startswith(assigned.name, start) or _OPENINGS.search(before) is None:
        return None
    after = text[end:].partition("\n")[0].strip()
    if after and not after.startswith((";", "#", "&&", "||", "}", ")")):
        return None  # NAME=value before a command, or several assignments
    value = text[start:end]
    if "$(" not in value.replace("$((", "") and "`" not in value:
        return insert(start, "export ")
    above = text[: max(line - 1, 0)].rpartition("\n")[2].rstrip()
    if before.strip() or above.endswith(("&&", "||", "|", "\\")):
        return None
    return insert(start, f"export {assigned.name}\n{before}")


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=4
        #SBATCH --ntasks-per-node=1
        «LEADER»=3
        srun bash <<'STEP'
        if [ "$SLURM_PROCID" -eq "$LEADER" ]; then
            ./orchestrate &
        fi
        ./train
        STEP
        """,
        fixed={"LEADER=3": "export LEADER=3"},
        title="in a quoted heredoc",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        «MASTER»=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n1)
        srun bash -c 'torchrun --nnodes=2 --node_rank=$SLURM_NODEID --master_addr=$MASTER train.py'
        """,
        fixed={"MASTER=$(scontrol": "export MASTER\nMASTER=$(scontrol"},
        title="a command gives the value, and its exit status stays",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        «NCCL_SOCKET_IFNAME»=ib0
        srun python train.py
        """,
        fixed={"NCCL_SOCKET_IFNAME=ib0": "export NCCL_SOCKET_IFNAME=ib0"},
        severity="warning",
        title="only a program would look for it",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --cpus-per-task=8
        «OMP_NUM_THREADS»=8
        ./solver input.dat
        """,
        fixed={"OMP_NUM_THREADS=8": "export OMP_NUM_THREADS=8"},
        severity="warning",
        title="in a job of one program",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        PORT=29500
        export MASTER=$SLURMD_NODENAME
        srun bash -c 'torchrun --master_addr=$MASTER --master_port='"$PORT"' train.py'
        """,
        title="spliced in by the batch shell",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        PORT=29500
        PORT=$PORT srun bash -c './serve --port=$PORT'
        srun --export=ALL,PORT=$PORT bash -c './serve --port=$PORT'
        srun bash -c 'PORT=1; ./serve --port=$PORT; ./serve --port=${OTHER:-2}'
        """,
        title="handed over, or set in the task",
    ),
    Good(
        "#!/bin/bash\n#SBATCH --nodes=2\nSLURM_LOG=run_$SLURM_JOB_ID.log\nsrun ./solve\n",
        title="a name that nothing reads",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        OUT=/scratch/run LOGS=/scratch/logs CASE=7 STEPS=100
        if [[ $(singularity --version) == apptainer* ]]; then
            export APPTAINERENV_OUT=$OUT
        else
            export SINGULARITYENV_OUT=$OUT
        fi
        singularity exec solve.sif bash -c './solve --out=$OUT'
        SINGULARITYENV_LOGS=$LOGS singularity exec --cleanenv solve.sif bash -c './solve --logs=$LOGS'
        apptainer exec --env CASE=$CASE,STEPS=$STEPS solve.sif bash -c './solve $CASE $STEPS'
        apptainer exec --env-file=case.env solve.sif bash -c './solve $CASE'
        """,
        title="set in the container",
    ),
]
