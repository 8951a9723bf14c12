"""Your other jobs are killed: a command ends all your processes of one name, or all your jobs.

`pkill python`, `killall -9 ray` and `pkill -u $USER` affect every process of the user on the node. Where jobs share
nodes, another job of the same user loses its processes, and fails without a reason in its own log. `scancel -u $USER`
cancels all jobs of the user, including the one that runs it.

Nothing is reported for a signal that only notifies (USR1), for a job with exclusive nodes (`--exclusive`), in a
container with its own processes (docker), for processes selected by parent, session or terminal (`pkill -P $$`), or for
a pattern that is not known, which may name the job.

A warning for names that programs of every kind have (`python`, `ray`), and for all processes; advice for others.

## Fix

None. A job's processes end with it, so there are no leftovers of earlier jobs to clean up. To end processes that the
script itself starts, use their IDs: `server & pid=$!; …; kill $pid`, or `pkill -P $$`.

## References

pgrep(1), killall(1), scancel(1).
"""

from collections.abc import Iterator

from sbatchlint.analysis.script.pipeline_runs import runs_of
from sbatchlint.analysis.script.work import Weight, weight
from sbatchlint.bash.trace import Invocation
from sbatchlint.bash.values import Phase, expansions, span_of, text_of
from sbatchlint.check import Bad, Card, Finding, Good, Job, Span
from sbatchlint.job.argv import read, syntax
from sbatchlint.job.launches import container_of
from sbatchlint.source.regex import Regex
from sbatchlint.triggers import Commands

CARD = Card(
    "SB812", "user-wide-kill", severity="warning", fix="never", since="0.1.0",
    when=Commands("kill", "killall", "pkill", "scancel"), seen="public scripts", batch=True,
)  # fmt: skip

_PKILL = syntax(
    "signal g/pgroup G/group P/parent s/session t/terminal u/euid U/uid F/pidfile O/older r/runstates ns nslist"
    " cgroup q/queue d/delimiter env",
    "e/echo c/count f/full i/ignore-case L/logpidfile n/newest o/oldest v/inverse x/exact H/require-handler h/help"
    " V/version l/list-name a/list-full A/ignore-ancestors w/lightweight",
)  # fmt: skip
_KILLALL = syntax(
    "u/user s/signal Z/context n/ns o/older-than y/younger-than",
    "e/exact I/ignore-case i/interactive g/process-group q/quiet r/regexp v/verbose w/wait l/list V/version",
)  # fmt: skip
# Options that select processes of the job itself, or only one.
_NARROW = frozenset(
    {"pgroup", "parent", "session", "terminal", "pidfile", "ns", "cgroup", "newest", "oldest", "older"}
    | {"older-than", "younger-than"}
)
_SIGNAL = Regex(r"-(?:[0-9]+|[A-Z]{2,}[A-Z0-9]*)")
# Process names that programs of every kind have.
_COMMON = frozenset(
    {"python", "python3", "java", "R", "Rscript", "julia", "node", "perl", "bash", "sh", "ray", "ssh"}
    | {"mpirun", "mpiexec", "orted", "torchrun", "accelerate", "deepspeed", "srun", "jupyter"}
)
# Signals that do not end a process, or not if it handles them, and signal 0, which only tests.
_NOTIFYING = frozenset({"0", "USR1", "USR2", "HUP", "CONT", "STOP", "WINCH"})
_ME = frozenset({"USER", "LOGNAME", "$(whoami)", "$(id -un)"})
# Commands that list processes; quoted text (of awk), which is left out; what limits a list to the job's own processes.
_LISTS = Regex(r"(?:pgrep|pidof|ps)\s")
_QUOTED = Regex(r"'[^']*'")
_OF_JOB = Regex(r"\$|\s-P|--ppid|--parent|\s-[gst]\b|--sid\b|\bps\s+(?:-\w+\s+)*(?:-p|--pid)\b")
_OWN = "kill only this job's PIDs (`$!`)"
# Containers with a process namespace of their own.
_OWN_PROCESSES = frozenset({"docker", "podman", "podman-hpc"})


def check_command(job: Job, command: Invocation) -> Iterator[Finding]:
    if not job.directives.every_setting or job.request.exclusive == "" or command.phase is Phase.SUBMIT:
        return
    span = command.span
    if command.parent is not None:
        span = Span(command.name_span.start, max(span_of(each).end for each in command.argv))
        if not command.name_span.start < span.end <= job.source.line_of(span.start).end:
            span = command.name_span
    container = container_of(command)
    if container is not None and container.kind in _OWN_PROCESSES:
        return
    told = _of_scancel(command) if command.name == "scancel" else _of_user(job, command)
    if told is not None:
        message, severity = told
        if command.name != "scancel" and _is_at_start(job, command):  # no `$!` yet
            message = message.replace(_OWN, "this job has none yet: remove this line")
        elif all(each.context.background is None for each in job.invocations):  # `$!` is empty
            message = message.replace(f"{_OWN}, or add", "add")
        yield Finding(span, message, severity)


def _is_at_start(job: Job, command: Invocation) -> bool:
    """Whether nothing runs before a command that it could be meant for, so that it clears away what others started."""
    if command.context.handler or command.context.calls or command.context.loops:
        return False
    before = [each for each in job.invocations[: command.index] if not each.context.captured]
    return not any(each.context.background is not None or weight(job, each) >= Weight.PROGRAM for each in before)


def _of_user(job: Job, command: Invocation) -> tuple[str, str | None] | None:
    """The message on what a command does to other jobs on its node, with its severity; None if nothing."""
    rest = [text_of(field) for field in command.argv[1:]]
    if command.name == "kill":
        is_everything = "-1" in rest[1:] and rest[0] is not None and rest[0].startswith("-")
        if not is_everything and not any(map(_lists_processes, _sources(job, command))):
            return None
        if not {(word or "").removeprefix("-").removeprefix("SIG") for word in rest[:1]}.isdisjoint(_NOTIFYING):
            return None
        return _message("all your processes" if is_everything else "all your matching processes"), None
    if any((text_of(field) or "").removeprefix("-").removeprefix("SIG") in _NOTIFYING for field in command.argv[1:2]):
        return None
    words = [field for field in command.argv if not _SIGNAL.fullmatch(text_of(field) or "")]
    reading = read(words, 1, _PKILL if command.name == "pkill" else _KILLALL)
    if any(each.name in _NARROW for each in reading.options) or not reading.certain:
        return None
    users = any(each.name in ("u", "U", "euid", "uid", "user") for each in reading.options)
    if reading.operand is None:
        return (_message("all your processes"), None) if users else None
    pattern = text_of(words[reading.operand])
    if pattern is None or not pattern:
        return None  # it may name the job
    common = pattern in _COMMON and not any(each.name == "x" for each in reading.options)
    return _message(f"all your `{pattern}` processes"), None if common else "info"


def _sources(job: Job, command: Invocation) -> Iterator[str]:
    """The commands whose output `kill` gets as its process IDs: in substitutions, and before xargs in its pipeline."""
    for field in command.argv[1:]:
        yield from (each.name for each in expansions(field))
    starter = command.parent
    if starter is not None and starter.name == "xargs":
        for run in runs_of(job, starter):
            if any(starter in element for element in run.elements[1:]):
                yield job.source.slice(run.span)


def _lists_processes(text: str) -> bool:
    """Whether a command lists processes of the whole node, by their names."""
    command = _QUOTED.sub("", text.lstrip("$(` "))
    return _LISTS.match(command) is not None and _OF_JOB.search(command) is None


def _message(what: str) -> str:
    return f"this kills {what} on the node, in your other jobs too; {_OWN}, or add --exclusive"


def _of_scancel(command: Invocation) -> tuple[str, str | None] | None:
    """The message on an scancel of all jobs of the user, with its severity; None for any other."""
    words, fields = [text_of(field) for field in command.argv[1:]], command.argv[1:]
    users = any(word == "--user" or (word or "").startswith(("-u", "--user=")) for word in words)
    rest = len(words) - (2 if words[:1] in (["-u"], ["--user"]) else 1)
    is_own_user = any(each.name in _ME for field in fields for each in expansions(field))
    if rest or words != ["--me"] and not (users and is_own_user):
        return None
    return "this cancels all your jobs, including this one; name the jobs to cancel (`scancel $JOB_ID`)", None


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=2 --ntasks-per-node=1
        # clean up what earlier runs left behind
        srun «pkill -9 python»
        «killall python3»
        srun python train.py
        """
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --ntasks=4
        trap '«pkill -u $USER»' EXIT
        srun ./a.out
        """
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --ntasks=4
        ps aux | grep chainlit | awk '{print $2}' | xargs «kill -9»
        «kill $(ps -ef | grep vllm | grep -v grep | awk '{print $2}')»
        for pid in $(pgrep -f train.py); do «kill $pid»; done
        srun ./a.out
        """,
        title="by a list of processes",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --ntasks=4
        ./server & server=$!
        srun ./a.out
        ps --ppid $server -o pid= | xargs kill
        ps -o pid= --ppid $$ | xargs kill
        ps aux | grep "port=$PORT" | awk '{print $2}' | xargs kill
        ps -p 17 -o pid= | xargs kill
        """,
        title="by a list of the job's own processes",
    ),
    Bad("#!/bin/bash\n#SBATCH --ntasks=4\n./server &\nsrun ./a.out\n«pkill my_server»\n", severity="info"),
    Bad("#!/bin/bash\n#SBATCH --ntasks=4\nsrun ./a.out\n«scancel -u $USER»\n"),
    Good("#!/bin/bash\n#SBATCH --exclusive\nsrun pkill python\nsrun ./a.out\n", title="no other job on the node"),
    Good("#!/bin/bash\n#SBATCH --ntasks=4\n./server & pid=$!\nsrun ./a.out\nkill $pid; pkill -P $$\n"),
    Good('#!/bin/bash\n#SBATCH --ntasks=4\nsrun ./a.out\npkill -f "server_$SLURM_JOB_ID"\n', title="of this job"),
    Good("#!/bin/bash\n#SBATCH --ntasks=4\nsrun ./a.out\nscancel -u $USER --name=monitor\n", title="some of them"),
]
