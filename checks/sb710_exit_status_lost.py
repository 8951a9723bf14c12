"""The job ends COMPLETED although its work failed: another command's exit status is the script's.

The state of a job is the exit status of the last command of its script. `srun … | tee log` ends with that of `tee`, and
`srun …` followed by `tar …` with that of `tar`: Slurm shows COMPLETED 0:0, `--dependency=afterok` starts the next job,
and CI is green. `set -e` alone does not help in a pipeline.

Reported are pipelines that end in a filter (tee, grep, sed, gzip …) and begin with a step, a launcher or a program,
without pipefail or PIPESTATUS; and the last such command of a script where others follow and nothing looks at its
status. That is an advice only where all that follows tells something or tidies up.

## Fix

For a pipeline: `set -o pipefail` behind the directives. Safe where no other pipeline's status matters and the filter
reads to its end (a `grep` that finds nothing, or a `head` that stops early, would fail it too), unsafe otherwise.
For the end of the script: keeps the status and ends with it. Unsafe, as a job that fails may start other things.

## References

bash(1), pipefail and PIPESTATUS; live runs on Slurm 22.05 to 26.05.
https://github.com/NVIDIA/JAX-Toolbox/pull/554, https://github.com/nextflow-io/nextflow/issues/3522
"""

from collections.abc import Iterator
from typing import NamedTuple

from sbatchlint.bash.syntax.tree import Heredoc, Pipeline
from sbatchlint.bash.syntax.walk import nodes_of
from sbatchlint.bash.trace import Invocation, PipelineRun
from sbatchlint.bash.values import Phase, text_of
from sbatchlint.bash.variables import merge_guards
from sbatchlint.check import Bad, Card, Edit, Finding, Fix, Good, Job, Span, insert, replace
from sbatchlint.job.containers import Container
from sbatchlint.job.launchers import is_python, python_command
from sbatchlint.job.once import once
from sbatchlint.slurm.rewriting import insertion

CARD = Card(
    "SB710", "exit-status-lost", severity="warning", fix="sometimes", since="0.1.0", whole_script=True,
)  # fmt: skip

# What looks around rather than computes.
_LOOKING_NAMES = (
    "[ [[ : arch awk basename cat cut date df dirname du echo env export false file find free getent git grep groups"
    " head hostname hwloc-ls id ip ldconfig ldd ls lscpu lsof lspci lstopo module nproc ntpdate nvcc nvidia-smi pip"
    " pip3 printenv printf ps pwd readlink realpath rocm-smi rocminfo sacct scontrol sed seff sinfo sleep sort squeue"
    " sstat stat tail tee test timedatectl top true ulimit umask uname uniq uptime wc which whoami who xargs"
)
_LOOKING = frozenset(_LOOKING_NAMES.split())
# What a script does once the work is done, and whose failure nobody minds.
_CLOSING_NAMES = (
    "cd conda deactivate exit kill mamba micromamba ml popd pushd rm rmdir scancel set unset wait mail mailx sendmail"
    " curl mkdir touch chmod time sync stty trap return break continue shopt source . local eval let read shift"
)
_CLOSING = _LOOKING | frozenset(_CLOSING_NAMES.split())
# What a pipeline ends in without being its work; the status that counts is that of what writes into it.
_FILTER_NAMES = (
    "annotate-output awk bzip2 cat col cut egrep fgrep gawk grep gzip lbzip2 logger lz4 mawk nl pigz pbzip2 pv rg"
    " rotatelogs sed tail tee tr ts unbuffer xz zstd"
)
_FILTERS = frozenset(_FILTER_NAMES.split())
# Of these, the ones that read to the end whatever comes, and fail for no other reason than that they cannot write.
_PATIENT_NAMES = "annotate-output bzip2 cat col cut gzip lbzip2 logger lz4 nl pigz pbzip2 pv tail tee tr ts xz zstd"
_PATIENT = frozenset(_PATIENT_NAMES.split())


class Piped(NamedTuple):
    """A workload whose exit status a pipeline replaces by that of its last command, `filter`."""

    ran: PipelineRun
    workload: Invocation
    filter: Invocation


def check(job: Job) -> Iterator[Finding]:
    hidden = _hidden_by_pipelines(job)
    has_pipefail = job.interpreter_line[0] in ("bash", "ksh", "zsh")
    fix = _pipefail(job, hidden) if hidden and has_pipefail else None
    advice = "write `set -o pipefail` before it" if has_pipefail else "run the script with bash and `set -o pipefail`"
    for each in hidden:
        place = _place(job, each.ran, each.workload)
        taken = "the test looks at" if each.ran.tested else "the pipeline ends with"
        yield Finding(
            place,
            f"{taken} the status of `{each.filter.name}`, so a failure of `{job.source.slice(place)}` goes unseen; "
            f"{advice}",
            related=[(each.filter.name_span, "this exit status counts")],
            fix=fix,
        )
    yield from _replaced_at_the_end(job, {id(each.workload) for each in hidden})


# --- workloads -----------------------------------------------------------------------------------------


@once
def _starters(job: Job) -> frozenset[int]:
    """The commands that start a step or a launcher, by identity."""
    steps = [step.invocation for step in job.steps]
    return frozenset(map(id, [*steps, *(launch.invocation for launch in job.launches)]))


def _is_workload(job: Job, command: Invocation) -> bool:
    """Whether a command does the work of the job: a step, a launcher, a container, a program of Python or a `./x`.

    Commands that only look around (`srun hostname`) do not; what is not known, in a step, does.
    """
    starters = _starters(job)
    below = command.descendants()
    started = [each for each in below if not each.children]
    if id(command) in starters or command.name == "srun":
        return not started or any(map(_works, started))
    if any(id(each) in starters and each.name != "srun" for each in below):
        return any(map(_works, started))
    if isinstance(command.spawn.info, Container):
        return any(map(_works, started))
    if below:
        return any(each.kind and _is_workload(job, each) for each in command.children)
    return _works(command) and _is_program(command)


def _is_program(command: Invocation) -> bool:
    name = text_of(command.argv[0])
    if is_python(command.argv[0]):
        return True
    return name is not None and (command.name in ("Rscript", "julia", "matlab") or name.startswith("./"))


def _works(command: Invocation) -> bool:
    """Whether a command does more than look around; True where it is not known."""
    if command.name is None:
        return True
    if is_python(command.argv[0]):
        python = python_command(command.argv)
        return python is None or python.kind in ("script", "module") and python.text not in ("pip", "venv", "site")
    words = [text_of(field) for field in command.argv[1:3]]
    return command.name not in _LOOKING and not ({"--version", "-V", "--help"} & set(words))


def _place(job: Job, ran: PipelineRun, workload: Invocation) -> Span:
    """The word that names a workload, where it stands in its statement."""
    for each in (*[e for e in workload.descendants() if e.name == "srun"], workload):
        span = each.name_span
        if ran.span.start <= span.start and span.end <= ran.span.end and span.end > span.start:
            return span
    line = job.source.line_of(workload.span.start)
    if workload.span.end <= line.end:
        return workload.span
    shown = job.source.text[workload.span.start : line.end].rstrip(" \t\\")
    return Span(workload.span.start, workload.span.start + len(shown))


# --- pipelines -----------------------------------------------------------------------------------------


def _hidden_by_pipelines(job: Job) -> list[Piped]:
    """The workloads whose status a pipeline hides, each once."""
    found: dict[int, Piped] = {}
    reads = set(job.trace.pipe_status_reads)
    for ran in job.pipelines:
        if len(ran.elements) < 2 or ran.pipefail is not False or ran.context.phase is Phase.SUBMIT:
            continue
        context = ran.context
        if context.captured or context.handler or ran.order + 1 in reads or not ran.elements[-1]:
            continue
        last = ran.elements[-1][0]
        if last.name not in _FILTERS or not ran.elements[0] or (ran.tested and last.name != "tee"):
            continue
        first = ran.elements[0][-1]
        if first.parent is not last.parent and first.parent is not None:
            first = next((e for e in ran.elements[0] if e.parent is last.parent), first)
        if _is_workload(job, first):
            found.setdefault(ran.span.start, Piped(ran, first, last))
    return list(found.values())


def _pipefail(job: Job, hidden: list[Piped]) -> Fix | None:
    """`set -o pipefail` behind the directives."""
    if any(each.ran.context.parent is not None for each in hidden):
        return None  # a shell of its own, whose options are its own
    source = job.source.own
    at = insertion(job.directives, "").span.start
    line = source.line_of(at)
    if at != line.start or at >= len(source.text):
        return None
    if not source.slice(line).strip() and line.end < len(source.text):
        at = source.full_line(source.row(at)).end
    return Fix("set -o pipefail", [insert(at, "set -o pipefail\n")], safe=_is_pipefail_safe(job, hidden))


def _is_pipefail_safe(job: Job, hidden: list[Piped]) -> bool:
    """Whether `set -o pipefail` at the top changes the status of these pipelines alone, as far as anyone looks."""
    if any(each.filter.name not in _PATIENT for each in hidden):
        return False
    starts = {each.ran.span.start for each in hidden}
    reads = set(job.trace.status_reads)
    end = max((ran.order for ran in job.pipelines), default=0)
    pipelines = [ran for ran in job.pipelines if len(ran.elements) > 1]
    for ran in pipelines:
        looked_at = ran.tested or ran.errexit is not False or ran.order + 1 in reads or ran.order == end
        if ran.span.start not in starts and (looked_at or ran.context.calls):
            return False
    written = {
        job.span(node.start, node.end).start
        for node in nodes_of(job.program, Pipeline)
        if len(node.commands) > 1
    }
    return written <= {ran.span.start for ran in pipelines}


# --- the end of the script -----------------------------------------------------------------------------


def _replaced_at_the_end(job: Job, hidden: set[int]) -> Iterator[Finding]:
    """The last workload, where its status is lost because the script goes on and ends with another's."""
    if job.phase is not Phase.BATCH or job.program.errors or _has_handler(job):
        return
    own = [
        ran
        for ran in job.pipelines
        if ran.context.parent is None and not ran.context.captured and not ran.context.handler
    ]  # fmt: skip
    candidates = [(ran, each) for ran in own if (each := _workload_of(job, ran)) is not None]
    if not candidates:
        return
    ran, workload = candidates[-1]
    if ran.tested or workload.context.background or ran.context.shell.depth or ran.errexit is not False:
        return
    following = _following(own, ran, workload)
    if not following or any(ran.order < read <= following[0].order for read in job.trace.status_reads):
        return
    commands = [element for each in following for element in each.elements[-1]]
    if any(each.context.background or _is_own_status(each) for each in commands):
        return
    certain = [each for each in following if not each.context.conditional or ran.context.conditional]
    if not certain or not certain[-1].elements[-1]:
        return
    last = certain[-1].elements[-1][0]
    if (last.name or "").startswith("-"):
        return  # the rest of a broken line, which fails
    place = _place(job, ran, workload)
    ends = "`exit 0`" if last.name == "exit" else f"the status of `{last.name or 'a command'}`"
    minor = id(workload) in hidden or all(map(_closes, commands))
    yield Finding(
        place,
        f"the job ends with {ends} on line {job.line(last.span.start)}, so it is COMPLETED even if "
        f"`{job.source.slice(place)}` fails; keep `status=$?` and end with `exit $status`",
        severity="info" if minor else "warning",
        related=[(last.span, "the job's exit status")],
        fix=_keep(job, ran, workload, last),
    )


def _following(own: list[PipelineRun], ran: PipelineRun, workload: Invocation) -> list[PipelineRun]:
    """The statements of the script's shell that may run behind a workload's; not a bare `exit`, which keeps the status
    of what stands before it."""
    commands = [each for element in ran.elements for each in element]
    index = max(child.index for each in commands for child in (each, *each.descendants()))
    found = []
    for each in own:
        if each.order <= ran.order or not each.elements[0] or each.elements[0][0].index <= index:
            continue
        last = each.elements[-1][:1]
        if last and (last[0].name != "exit" or len(last[0].argv) > 1):
            if merge_guards(workload.guards, each.elements[0][0].guards) is not None:
                found.append(each)
    return found


def _workload_of(job: Job, ran: PipelineRun) -> Invocation | None:
    """The workload in a statement, in whichever element of a pipeline."""
    found = [each for element in ran.elements for each in element if _is_workload(job, each)]
    # of a group, the last one; one in the background counts as soon as there is one
    return next((each for each in found if each.context.background), found[-1] if found else None)


def _has_handler(job: Job) -> bool:
    """Whether a trap looks at failures, or ends the script with a status of its own."""
    return any(
        each.name == "trap" and "ERR" in [text_of(field) for field in each.argv[2:]]
        or each.name == "exit" and each.context.handler
        for each in job.invocations
    )  # fmt: skip


def _is_own_status(command: Invocation) -> bool:
    """Whether the script ends with a status of its own choice."""
    return command.name in ("exit", "return") and len(command.argv) > 1 and text_of(command.argv[1]) != "0"


def _closes(command: Invocation) -> bool:
    """Whether a command tells something or tidies up; True for one that is not known."""
    if command.name in ("docker", "podman", "apptainer", "singularity", "enroot"):
        words = {text_of(field) for field in command.argv[1:3]}
        return bool(words & {"rm", "rmi", "stop", "kill", "logs", "remove", "prune"})
    return command.name is None or command.name in _CLOSING


def _keep(job: Job, ran: PipelineRun, workload: Invocation, last: Invocation) -> Fix | None:
    """Keeps the status behind the workload's lines, and ends the script with it."""
    source = job.source.own
    if ran.span.end > len(source.text):
        return None  # in a file that the script reads
    name = next((each for each in ("status", "rc", "srun_status") if each not in source.text), None)
    if name is None or not _is_alone(job, ran, workload, last):
        return None
    start = source.line_of(ran.span.start).start
    indent = source.text[start : ran.span.start]
    line = source.line_of(ran.span.end)
    edits: list[Edit] = [insert(line.end, f"\n{indent}{name}=$?")]
    if last.name == "exit":
        if source.slice(last.span) != "exit 0":
            return None
        edits.append(replace(last.span, f'exit "${name}"'))
    else:
        newline = "" if source.text.endswith("\n") else "\n"
        edits.append(insert(len(source.text), f'{newline}exit "${name}"\n'))
    return Fix("keep the status, and end with it", edits)


def _is_alone(job: Job, ran: PipelineRun, workload: Invocation, last: Invocation) -> bool:
    """Whether the workload stands in lines of its own and always runs, once: its status can be kept behind it."""
    context, source = ran.context, job.source
    if context.conditional or context.looped or context.calls or context.shell.depth or job.is_embedded:
        return False
    if any(each.stdin is not None for each in ran.elements[0]):
        return False  # a heredoc's body stands behind the line
    exits = [each for each in job.invocations if each.name == "exit" and each.index > workload.index]
    if any(each is not last for each in exits):
        return False
    if any(not node.closed for node in nodes_of(job.program, Heredoc)):
        return False
    before = source.text[source.line_of(ran.span.start).start : ran.span.start]
    behind = source.text[ran.span.end : source.line_of(ran.span.end).end].strip()
    return not before.strip() and (not behind or behind.startswith("#"))


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2

        «srun» python train.py 2>&1 | tee train.log
        """,
        fixed="""\
        #!/bin/bash
        #SBATCH --nodes=2

        set -o pipefail
        srun python train.py 2>&1 | tee train.log
        """,
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        set -e
        «torchrun» --nproc_per_node=8 train.py | grep -v Warning
        tar -czf out.tgz out
        """,
        unsafe_fixed="""\
        #!/bin/bash
        #SBATCH --nodes=1
        set -o pipefail
        set -e
        torchrun --nproc_per_node=8 train.py | grep -v Warning
        tar -czf out.tgz out
        """,
        title="errexit does not see into a pipeline",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        «srun» --label \\
            python train.py
        tar -czf out.tgz out
        echo done
        """,
        unsafe_fixed="""\
        #!/bin/bash
        #SBATCH --nodes=2
        srun --label \\
            python train.py
        status=$?
        tar -czf out.tgz out
        echo done
        exit "$status"
        """,
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2
        «srun» ./solver > solver.log 2>&1
        echo "finished at $(date)"
        exit 0
        """,
        unsafe_fixed="""\
        #!/bin/bash
        #SBATCH --nodes=2
        srun ./solver > solver.log 2>&1
        status=$?
        echo "finished at $(date)"
        exit "$status"
        """,
        severity="info",
        title="nothing but messages follow",
    ),
    Good("#!/bin/bash\n#SBATCH -N2\nset -o pipefail\nsrun ./solver | tee log\n"),
    Good("#!/bin/bash\n#SBATCH -N2\nsrun ./solver | tee log\nexit ${PIPESTATUS[0]}\n"),
    Good("#!/bin/bash\n#SBATCH -N2\nset -e\nsrun ./solver\ntar -czf out.tgz out\n"),
    Good("#!/bin/bash\n#SBATCH -N2\nsrun ./solver || exit 1\ncp result /data\n"),
    Good(
        "#!/bin/bash\n#SBATCH -N2\nsrun hostname | sort | tee hosts\nN=$(python count.py | tail -n1)\nsrun ./solver\n"
    ),
]
