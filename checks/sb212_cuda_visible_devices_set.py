"""Programs see the wrong GPUs, or too few: the script sets what Slurm already sets.

Slurm sets CUDA_VISIBLE_DEVICES to the GPUs of the job. `export CUDA_VISIBLE_DEVICES=2` in a job with one GPU, left over
from a workstation, names one that does not exist: `No CUDA GPUs are available`; where the cluster does not hide the
GPUs of others, it names one that another job is using. A shorter list leaves GPUs idle that the job waited for, and one
that the batch shell exports does not reach the tasks of an srun at all: Slurm overwrites the variable for each. A
script that picks the GPUs which nvidia-smi shows as idle may pick those of another job, and `$SLURM_JOB_GPUS` has the
indices on the node, which mean nothing to programs that see only the job's GPUs.

Not reported: a GPU for each process (in a loop, in the background, by several values), an empty value, and, in jobs
with `--exclusive`, GPUs beyond those requested; nor all GPUs of a node at centres that give whole nodes.

A warning where it changes which GPUs a program sees, or shows that fewer are meant than a step gets; advice where it
repeats what Slurm sets, where only some runs are concerned, or names GPUs that a step, which gets others, never sees;
and where a comment says that fewer are meant, or the job has its nodes to itself, so that nobody else could use the
others.

## Fix

Removes the line. Unsafe: the script may run outside Slurm as well, and at some sites the value counts: where it is not
set, psslurm (Jülich) gives each task of a step one GPU. None where the value names fewer of the job's GPUs: to
ask for fewer may be what is meant.

## References

https://slurm.schedmd.com/gres.html; runs on Slurm 22.05 and 24.11, which set or unset the variable for every task; CUDA
stops reading at the first index without a GPU; https://github.com/thuml/Time-Series-Library/issues/10
"""

import re
from bisect import bisect_right
from collections.abc import Iterator
from typing import NamedTuple

from sbatchlint.analysis.script.centres import gets_whole_nodes, takes_whole_nodes
from sbatchlint.bash.trace import Context, Invocation, is_set
from sbatchlint.bash.values import Phase, Pieces, expansions, span_of, text_of
from sbatchlint.check import Bad, Card, Finding, Fix, Good, Job, Span, remove
from sbatchlint.job.argv import assignment_of
from sbatchlint.job.containers import Container
from sbatchlint.job.gpus import DEVICE_VARIABLES, step_gpus
from sbatchlint.job.launchers import is_python
from sbatchlint.job.once import once
from sbatchlint.job.ranks import QUIET
from sbatchlint.job.steps import enclosing_step
from sbatchlint.job.worlds import find_worlds
from sbatchlint.source.numbers import all_of, counted, parse_integer
from sbatchlint.source.regex import Regex
from sbatchlint.triggers import Variables

CARD = Card(
    "SB212", "cuda-visible-devices-set", severity="warning", fix="sometimes", since="0.1.0",
    when=Variables(*DEVICE_VARIABLES),
)  # fmt: skip

# A comment about the number of GPUs: `# only use one GPU`.
_MEANT = Regex(r"(?i)\b(?:only|just|single|one|first|second|limit|restrict|subset|use[sd]?|using|choose|select)\b")
_HEADER = Regex(r"for[ \t]+(\w+)[ \t]+in[ \t]+(\S[^;\n]{0,200}?)[ \t]*[;\n]")
_BY_VARIABLE = Regex(r"\b(\w+_VISIBLE_DEVICES)=\"?\$\{?(\w+)\}?\"?(?=\s|$)")
_RANGE = Regex(r"\{0\.\.([0-9]{1,3})\}|(?:\$\(|`)\s*seq\s+[0-9]\s+([0-9]{1,3})\s*[)`]")
_INDEX = Regex(r"[0-9]{1,3}")
IDS = re.compile(r"[0-9]+(?:,[0-9]+)*")
# What ends a command between an assignment and the next word: a line, unless it is continued.
_ENDING = Regex(r"[;&|()]|(?<!\\)\n")
_MOST_BETWEEN = 1000  # characters
# The number of commands before an assignment that are looked at: those in substitutions, and the one that it is for.
MOST_NESTED = 8
# Variables that name GPUs by their indices on the node.
_NODE_INDICES = frozenset({"SLURM_JOB_GPUS", "SLURM_STEP_GPUS"})


class Choice(NamedTuple):
    """A literal list of GPUs that the batch shell sets; `command`: the only command that gets it, if any."""

    name: str
    ids: tuple[int, ...]
    span: Span
    context: Context
    command: Invocation | None


def _enumerated(ids: list[int]) -> str:
    """`2 and 3`, `2 to 7`, `2, 5, 7`."""
    if len(ids) == 2:
        return f"{ids[0]} and {ids[1]}"
    return f"{ids[0]} to {ids[-1]}" if ids == list(range(ids[0], ids[0] + len(ids))) else ", ".join(map(str, ids))


def _are_all(ids: tuple[int, ...], available: int) -> bool:
    """Whether these are the GPUs of the node, of which there may be more than can be counted up."""
    return len(set(ids)) == available and max(ids) < available


def check(job: Job) -> Iterator[Finding]:
    if job.phase is Phase.BATCH and not job.request.may_have_all_gpus:
        yield from _computed(job)
    available = job.request.gpus_per_node()
    if not available or job.request.heterogeneous or job.phase is not Phase.BATCH:
        return
    yield from _all_in_tasks(job, available)
    yield from _in_loops(job, available)
    choices = {each.span: each for each in _choices(job)}
    # then each process gets its own
    several = len({each.ids for each in choices.values()}) > 1 or _has_own_in_background(job)
    for choice in choices.values():
        name, ids, context = choice.name, choice.ids, choice.context
        number = "one" if len(ids) == 1 else f"{len(ids)}"
        background = context.background or choice.command is not None and choice.command.context.background
        severity, meant, is_beyond = None, False, max(ids) >= available
        if context.conditional or job.request.may_have_all_gpus and (is_beyond or len(set(ids)) >= available):
            continue
        if _only_steps(job) and not _are_all(ids, available):
            option = f"pass --gpus-per-node={len(ids)} to srun, or " if len(ids) < available else ""
            message = (
                f"Slurm sets {name} again for the tasks that srun starts, so this value is lost; {option}remove it"
            )
            severity = "info" if is_beyond or _is_set_in_tasks(job, name) else None
        elif is_beyond:
            beyond = [each for each in ids if each >= available]
            also = "also " if len(beyond) < len(ids) else ""
            named = f"GPU {beyond[0]}" if len(beyond) == 1 else f"GPUs {_enumerated(beyond)}"
            gpus = "only GPU 0" if available == 1 else f"GPUs 0 {'and' if available == 2 else 'to'} {available - 1}"
            # CUDA stops at the first that does not exist
            at = ids.index(beyond[0])
            visible = "no GPU" if at == 0 else "one GPU" if at == 1 else f"only {at} GPUs"
            message = (
                f"the job has {gpus}, but {name} {also}names {named}: programs find {visible}, or use another job's; "
                "remove this assignment"
            )
        elif several or context.may_repeat or background or name != "CUDA_VISIBLE_DEVICES":
            continue
        elif len(ids) == available and ids == tuple(range(available)):
            if gets_whole_nodes(job):
                continue  # the indices are these, and psslurm gives each task one GPU where the variable is not set
            gpus = "GPU" if available == 1 else f"{available} GPUs"
            nodes = job.request.effective_nodes()
            other = "another index" if available == 1 else "other indices"
            one_node = nodes is None or nodes.maximum == 1
            whose = f"the job's {gpus}" if one_node else f"the {gpus} of each node"
            message = f"Slurm already sets {name} to {whose}, possibly with {other}; remove this assignment"
            severity = "info"
        elif _are_all(ids, available) or choice.command is not None and not _are_for_all_work(job, choice.command):
            continue  # program-gpu-mismatch reports what one command has that is not a launcher
        elif _works_in_batch_shell(job) and not _works_in_steps(job):
            rest = available - len(ids)
            idle = "the other stays idle" if rest == 1 else f"{rest} stay idle"
            fewer = f"request only {counted(len(ids), 'GPU')}"
            advice = f"remove it, or {fewer}"
            if not _are_all(ids, len(ids)):
                advice = f"remove it, and {fewer} if the program needs no more"
            worlds = find_worlds(job)
            if worlds and all(each.processes == len(ids) for each in worlds):  # more GPUs alone change nothing
                advice = f"remove it, and {fewer} or start {available} processes"
            message = f"{name} limits programs to {number} of the job's {available} GPUs, so {idle}; {advice}"
            nobodys = takes_whole_nodes(job)  # a GPU that stays idle keeps nobody waiting
            severity, meant = "info" if nobodys or _is_meant(job, choice.span, len(ids)) else None, True
        else:
            continue
        span = _line_of(job, choice)
        fix = None if span is None or meant else Fix(f"remove the assignment of {name}", [remove(span)])
        yield Finding(choice.span, message, severity, fix=fix)


def _in_loops(job: Job, available: int) -> Iterator[Finding]:
    """Findings on a loop that gives each program a GPU of its own, and has more iterations than there are GPUs."""
    if job.request.may_have_all_gpus:
        return
    for command in job.invocations:
        if command.phase is not Phase.BATCH or not command.context.loops or command.name == "srun":
            continue
        if not any(name in DEVICE_VARIABLES for name, _ in command.variables):
            continue
        start = job.source.line_of(command.name_span.start).start
        match = _BY_VARIABLE.search(job.source.slice(Span(start, command.name_span.start)))
        last = None if match is None else _last(job, command, match[2])
        if match is not None and last is not None and last >= available:
            gpus = "only GPU 0" if available == 1 else f"GPUs 0 {'and' if available == 2 else 'to'} {available - 1}"
            message = f"the job has {gpus}, but the last iteration sets {match[1]} to {last} and finds no GPU; request "
            message += f"{last + 1} GPUs, or write `$((… % {available}))`"
            yield Finding(Span(start + match.start(), start + match.end()), message)


def _last(job: Job, command: Invocation, name: str) -> int | None:
    """The greatest number of the loop around a command that has this variable; None where that is not known."""
    for loop in command.context.loops:
        header = _HEADER.match(job.source.slice(loop))
        if header is None or header[1] != name:
            continue
        numbers = _RANGE.fullmatch(header[2].strip())
        if numbers is not None:
            return parse_integer(numbers[1] or numbers[2])
        words = header[2].split()
        return max(map(parse_integer, words)) if all(map(_INDEX.fullmatch, words)) else None
    return None


def _is_meant(job: Job, span: Span, number: int) -> bool:
    """Whether a comment on the line of an assignment or above it says how many GPUs are to be used, or which."""
    line = job.source.line_of(span.start)
    above = job.source.line_of(line.start - 1) if line.start else line
    comments = [each.partition("#")[2] for each in map(job.source.slice, (line, above)) if "#" in each]
    return any(_MEANT.search(each) is not None or str(number) in each.split() for each in comments)


def _computed(job: Job) -> Iterator[Finding]:
    """Findings on GPUs that the batch shell picks itself: by their indices on the node, or because they are idle."""
    if job.request.asks_for_gpus is False or not job.request.gpu_settings():
        return
    daemons = {
        job.line(command.name_span.start)
        for command in job.invocations
        if command.name is not None and command.name.startswith("nvidia-cuda-mps")
    }
    containers = (each.spawn.info for each in job.invocations)
    told = {name for each in containers if isinstance(each, Container) for name, own in each.passed.items() if own}
    for assigned in job.assignments:
        if assigned.name not in DEVICE_VARIABLES or assigned.context.phase is not Phase.BATCH:
            continue
        if assigned.name in told:
            continue  # the container gets a value of its own
        fields = [field for each in assigned.alternatives for field in each.fields or ()]
        sources = [source for field in fields for each in expansions(field) for source in each.all()]
        names = {each.name for each in sources}
        if names & _NODE_INDICES:
            message = f"{min(names & _NODE_INDICES)} numbers all GPUs of the node, programs only those they see"
        elif any(_looks_for_idle_gpus(each.name) for each in sources) or names & _found_with_nvidia_smi(job):
            message = (
                "Slurm has already chosen this job's GPUs: those that nvidia-smi finds idle may belong to another job"
            )
        else:
            continue
        # a daemon that shares GPUs sees all of a node, where numbers of the node are right
        quiet = _only_steps(job) or assigned.context.conditional or job.line(assigned.span.start) in daemons
        severity = "info" if quiet else None
        yield Finding(assigned.span, f"{message}; remove this assignment", severity)


def _looks_for_idle_gpus(text: str) -> bool:
    return "nvidia-smi" in text and ("query" in text or "utilization" in text or "pids" in text)


@once
def _found_with_nvidia_smi(job: Job) -> set[str]:
    """Names of variables that are set under a condition on the output of nvidia-smi."""
    branches = ((each.name, branch) for each in job.assignments for branch, _ in each.context.guards)
    conditions = ((name, branch) for name, branch in branches if isinstance(branch, tuple) and branch[0] == "if")
    return {name for name, branch in conditions if _looks_for_idle_gpus(str(branch[1]))}


def _all_in_tasks(job: Job, available: int) -> Iterator[Finding]:
    """Findings on tasks that set all GPUs, which they see anyway where no option gives each its own."""
    options = ("gpus-per-task", "gpu-bind", "ntasks-per-gpu", "tres-bind", "gpus", "gpus-per-node", "gres")
    if job.request.has_any_option(options[:4]):
        return
    for command in job.invocations:
        step = enclosing_step(command.context) if command.phase is Phase.TASK else None
        if step is None or any(name in step.options for name in options):
            continue
        for name, field in command.variables:
            span = span_of(field)
            ids = _ids(field) if name in DEVICE_VARIABLES else None
            if ids is not None and len(ids) == available and ids == tuple(range(available)):
                gpus = all_of(available, "GPU")
                who = "the task sees" if step.tasks == 1 else "each task sees"
                yield Finding(span, f"{who} {gpus} of the job on its node anyway; remove {name}", "info")


@once
def _is_set_in_tasks(job: Job, name: str) -> bool:
    """Whether the tasks set the variable themselves, so the value of the batch shell does not matter."""
    if any(each.name == name and each.context.phase is Phase.TASK for each in job.assignments):
        return True
    return any(name == own for each in job.invocations if each.phase is Phase.TASK for own, _ in each.variables)


def _choices(job: Job) -> Iterator[Choice]:
    """The assignments of literal GPU lists in the batch shell, including those before a command."""
    first = {_start(each): each for each in reversed(job.invocations) if each.variables}
    prefixed = [first[at] for at in sorted(first)]
    for assigned in job.assignments:
        if assigned.name in DEVICE_VARIABLES and assigned.context.phase is Phase.BATCH:
            if len(assigned.alternatives) == 1 and assigned.alternatives[0].fields is not None:
                fields = assigned.alternatives[0].fields
                ids = _ids(fields[0]) if len(fields) == 1 else None
                if ids:
                    command = _command(job, prefixed, assigned.span)
                    yield Choice(assigned.name, ids, assigned.span, assigned.context, command)
    for invocation in job.invocations:
        if invocation.name == "env" and invocation.phase is Phase.BATCH:
            for name, field in filter(None, map(assignment_of, invocation.argv[1:])):
                ids = _ids(field) if name in DEVICE_VARIABLES else None
                if ids:
                    yield Choice(name, ids, span_of(field), invocation.context, invocation)


def _has_own_in_background(job: Job) -> bool:
    """Whether a process in the background gets GPUs of its own: `run 0 config.yaml &`, a function that sets them."""
    return any(each.name in DEVICE_VARIABLES and each.context.background for each in job.assignments)


def _are_for_all_work(job: Job, command: Invocation) -> bool:
    """Whether only one command, with the GPUs before its name, starts processes for them."""
    launches = [each for each in job.launches if each.launcher.is_a("per-gpu", "by-variables")]
    own = {id(each) for each in (command, *command.descendants())}
    return bool(launches) and all(id(each.invocation) in own for each in launches)


def _start(command: Invocation) -> int:
    return command.span.start


def _command(job: Job, prefixed: list[Invocation], span: Span) -> Invocation | None:
    """The command with this assignment before its name. `prefixed`: those with any, sorted by their places."""
    at = bisect_right(prefixed, span.start, key=_start)
    after = prefixed[at] if at < len(prefixed) else None  # its place is that of its name
    if after is not None and after.span.start - span.end < _MOST_BETWEEN:
        if not _ENDING.search(job.source.slice(Span(span.end, after.span.start))):
            return after
    nearest = [each for each in prefixed[max(at - MOST_NESTED, 0) : at] if span.start < each.name_span.start]
    return nearest[-1] if nearest else None


def _ids(field: Pieces) -> tuple[int, ...] | None:
    text = text_of(field)
    if text is None or any(piece.expansion is not None for piece in field):
        return None
    text = re.sub(r",\s*$|\s", "", text)
    return tuple(map(parse_integer, text.split(","))) if IDS.fullmatch(text) else None


# --- which programs see it -------------------------------------------------------------------------------


@once
def _only_steps(job: Job) -> bool:
    """Whether every program of the script runs in a step, and each step has GPUs from Slurm."""
    if not job.steps or _works_in_batch_shell(job):
        return False
    return all(step_gpus(job, step).on_node for step in job.steps)


@once
def _works_in_batch_shell(job: Job) -> bool:
    """Whether the batch shell itself starts a program that is more than preparation."""
    if any(launch.step is None and launch.invocation.phase is Phase.BATCH for launch in job.launches):
        return True
    of_steps = {id(each.invocation) for each in job.steps}
    for command in job.invocations:
        if not command.argv or command.children or command.text is not None or command.name in QUIET:
            continue
        if command.phase is Phase.BATCH and id(command) not in of_steps and command.name != "srun":
            if is_python(command.argv[0]) or is_set(command, "CUDA_VISIBLE_DEVICES"):
                return True
    return False


@once
def _works_in_steps(job: Job) -> bool:
    """Whether a step starts a program that is more than preparation: Slurm gives it GPUs of its own."""
    return any(
        not each.children and each.name is not None and each.name not in QUIET and each.phase is Phase.TASK
        for each in job.invocations
    )


def _line_of(job: Job, choice: Choice) -> Span | None:
    """The line of an assignment, where it is alone on it."""
    if choice.command is not None:
        return None
    line = job.source.line_of(choice.span.start)
    before = job.source.slice(Span(line.start, choice.span.start)).strip()
    after = job.source.slice(Span(choice.span.end, line.end)).strip()
    if before not in ("", "export") or after not in ("", ";", '"', "'"):
        return None
    newline = job.source.slice(Span(line.end, line.end + 1)) == "\n"
    return Span(line.start, line.end + newline)


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --gres=gpu:1
        export «CUDA_VISIBLE_DEVICES=2»
        python train.py
        """,
        unsafe_fixed={"export CUDA_VISIBLE_DEVICES=2\n": ""},
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1 --gpus-per-node=4
        export «CUDA_VISIBLE_DEVICES=0,1»
        srun python train.py
        """,
        unsafe_fixed={"export CUDA_VISIBLE_DEVICES=0,1\n": ""},
        title="it does not reach the step",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1 --gpus-per-node=4
        export «CUDA_VISIBLE_DEVICES=0,1,2,3»
        srun python train.py
        """,
        unsafe_fixed={"export CUDA_VISIBLE_DEVICES=0,1,2,3\n": ""},
        severity="info",
        title="what Slurm says itself",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1 --gpus=4
        «CUDA_VISIBLE_DEVICES=4,5,6,7» torchrun --nproc_per_node=4 train.py
        """,
        title="numbers of another machine: no fix",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=2 --gpus-per-node=8
        export CUDA_VISIBLE_DEVICES=0,1,2,3
        srun ray start --head --block &
        python tune.py
        """,
        title="what the steps start sees all of them",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=1 --gpus-per-node=4
        for i in 0 1 2 3; do
            CUDA_VISIBLE_DEVICES=$i python train.py --fold $i &
        done
        wait
        """,
        title="each process gets its own",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=1 --gres=gpu:2
        CUDA_VISIBLE_DEVICES=0 python train.py &
        CUDA_VISIBLE_DEVICES=1 python serve.py &
        wait
        CUDA_VISIBLE_DEVICES="" python plot.py
        """
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=2 --ntasks-per-node=4 --gpus-per-node=4
        srun bash -c 'export CUDA_VISIBLE_DEVICES=$SLURM_LOCALID; python train.py'
        """,
        title="each task chooses",
    ),
]
