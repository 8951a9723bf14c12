"""The controller of the whole cluster is slowed down: a loop calls a Slurm command in each iteration.

`squeue` or `sacct` every few seconds, in the scripts of many users, makes the controller slow for everybody, and sites
end such loops. Every half minute is often enough; better, let Slurm wait: `--dependency`, `sbatch --wait`, `srun`.

An `sbatch` in each iteration of a loop submits one job each: an array (`--array=1-100`) is submitted with one request,
is one line in the queue, and can be throttled and cancelled as a whole.

A warning where the pause is shorter than ten seconds; otherwise it is advice. Nothing is reported for loops with few
iterations, with a pause of 30 seconds or of unknown length, and for jobs that depend on the one before.

## Fix

None.

## References

"PERFORMANCE" in sbatch(1), squeue(1) and sacct(1): "do not run (it) from loops in shell scripts";
https://slurm.schedmd.com/job_array.html
"""

from collections.abc import Iterator

from sbatchlint.bash.trace import Invocation
from sbatchlint.bash.values import expansions, text_of
from sbatchlint.check import Bad, Card, Finding, Good, Job, Span
from sbatchlint.job.once import once
from sbatchlint.job.programs import commands_named
from sbatchlint.programs import has_trait, programs_with
from sbatchlint.slurm import getopt
from sbatchlint.source.numbers import parse_integer
from sbatchlint.source.regex import Regex
from sbatchlint.triggers import Commands

CARD = Card(
    "SB810", "clients-in-loop", severity="warning", fix="never", since="0.1.0",
    when=Commands("sbatch", *programs_with("asks-slurm")), seen="public scripts",
)  # fmt: skip

SHORT = 30  # seconds
HASTY = 10
FEW = 3  # iterations
_LEAVING = frozenset({"exit", "break", "return"})
_POLLING = Regex(r"while|until|for\s*\(\(\s*;")
_SECONDS = Regex(r"\d+(?:\.\d+)?s?")
# What an iteration may wait for instead, as for an unknown command.
_WORKS = frozenset({"srun", "mpirun", "mpiexec", "python", "python3", "sbatch"})
# What scontrol shows without asking the controller.
_LOCAL = ("hostnames", "hostname", "hostlist", "hostlistsorted")


def check(job: Job) -> Iterator[Finding]:
    seen: set[Span] = set()
    for command in job.invocations:
        loops = command.context.loops
        asks = command.name == "sbatch" or has_trait(command.name, "asks-slurm")
        if not loops or not asks or not seen.isdisjoint(loops):
            continue
        if command.name == "sbatch":
            what, hasty = _submits(job, command, loops), False
        else:
            what, hasty = _polls(job, command, loops[-1])
        if what:
            seen.update(loops)
            yield Finding(command.name_span, what, None if hasty else "info")


def _polls(job: Job, command: Invocation, loop: Span) -> tuple[str, bool]:
    """The message on a command that queries the controller in each iteration of a polling loop; '' for others.

    And whether the pause is shorter than `HASTY`.
    """
    words = [text_of(field) for field in command.argv[1:3]]
    if command.name == "scontrol" and (words[:1] != ["show"] or words[1:] and words[1] in _LOCAL):
        return "", False
    if not _POLLING.match(job.source.text, loop.start):
        return "", False
    pause = 0
    inside = _by_loop(job)[loop]
    if any(each.name in _LEAVING and each.index > command.index and each.guards == command.guards for each in inside):
        return "", False  # asked once, before it leaves
    own = [each for each in inside if each.context.loops[-1:] == (loop,)]
    for other in own:
        if other.name in ("sleep", "read", "wait", "inotifywait", "timeout"):
            text = text_of(other.argv[1]) if other.name == "sleep" and len(other.argv) == 2 else None
            if text is None or not _SECONDS.fullmatch(text):
                return "", False
            pause += parse_integer(text.rstrip("s").partition(".")[0])
    if any(each.name is None or each.name in _WORKS for each in own) or pause >= SHORT:
        return "", False
    often = f"every {pause} seconds" if pause else "as fast as it can"
    happens = f"this loop queries Slurm {often}, which slows it down for all users"
    message = f"{happens}; sleep 30 seconds or more, or use --dependency"
    return message, pause < HASTY


@once
def _by_loop(job: Job) -> dict[Span, list[Invocation]]:
    """The commands inside each loop."""
    found: dict[Span, list[Invocation]] = {}
    for command in job.invocations:
        for loop in dict.fromkeys(command.context.loops):
            found.setdefault(loop, []).append(command)
    return found


def _submits(job: Job, command: Invocation, loops: tuple[Span, ...]) -> str:
    """The message on an sbatch that submits one script again and again; '' for others."""
    if not job.source.text.startswith("for", loops[-1].start) or 1 < command.alternatives <= FEW:
        return ""
    if any(loops[-1] in each.context.loops for each in commands_named(job, "sleep", "squeue", "wait", "srun")):
        return ""
    words = command.words[1:]
    parsed = getopt.parse(words, "sbatch", job.versions.majors)
    names = {each.name for each in parsed.options}
    if parsed.uncertain or parsed.rest >= len(words) or names & {"dependency", "wait", "array", "wrap", "begin"}:
        return ""
    if names & {"nodes", "ntasks", "time", "mem", "partition", "gres", "cpus-per-task", "gpus", "gpus-per-node"}:
        return ""  # the jobs may differ
    if expansions(command.argv[parsed.rest + 1]):
        return ""
    message = "each iteration submits a separate job; submit one array instead (`--array=…`)"
    chosen = ", and choose the arguments by `$SLURM_ARRAY_TASK_ID`" if parsed.rest + 1 < len(words) else ""
    return f"{message}{chosen}"


CASES = [
    Bad(
        """\
        #!/bin/bash
        sbatch --job-name=prepare prepare.sbatch
        while [ -n "$(«squeue» -h -n prepare)" ]; do
            sleep 5
        done
        sbatch train.sbatch
        """
    ),
    Bad(
        """\
        #!/bin/bash
        for seed in {1..100}; do
            «sbatch» train.sbatch $seed
        done
        """,
        severity="info",
    ),
    Good(
        """\
        #!/bin/bash
        while [ -n "$(squeue -h -n prepare)" ]; do
            sleep 60
        done
        sbatch train.sbatch
        """
    ),
    Good("#!/bin/bash\nfor mode in small large; do\n    sbatch train.sbatch $mode\ndone\n", title="two of them"),
    Good(
        """\
        #!/bin/bash
        for part in {1..9}; do
            job=$(sbatch --parsable --dependency=afterok:$job part.sbatch $part)
        done
        """,
        title="one after the other",
    ),
]
