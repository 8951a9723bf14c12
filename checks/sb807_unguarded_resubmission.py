"""The job submits or requeues itself forever: it does not look at the outcome of its work.

`sbatch "$0"` or `scontrol requeue $SLURM_JOB_ID` at the end of a script, without any test, starts the next run even if
the work is finished, and even if it fails at once: then one job follows another every few seconds until you notice. In
an array each task submits the whole array again. `sbatch "$0"` also submits the copy in Slurm's spool folder, which has
another name than the script.

Nothing is reported where it depends on a test, a status, a loop, the handler of a signal that is sent before the time
limit, or on `--begin`, for jobs that are meant to run once a day.

Only advice: a job submitted with `--dependency=afterok` stays pending forever if the first one fails, unless
`--kill-on-invalid-dep=yes` is set or the site configures it (kill_invalid_depend). A warning where a job that resumes
its work submits the next one with afterok on itself: a run that its time limit ends is TIMEOUT, which afterok does not
take, and the chain stops just where it should go on.

## Fix

None. Make it depend on what is left to do: `[ -e done ] || sbatch job.sh`, or count the runs in an argument; with
requeue, `[ "${SLURM_RESTART_COUNT:-0}" -lt 10 ]`.

## References

sbatch(1), --dependency and --kill-on-invalid-dep; scontrol(1), requeue; bash(1), trap;
https://github.com/desihub/desispec/issues/2658
"""

from collections.abc import Iterator
from itertools import pairwise

from sbatchlint.analysis.script.traps import traps_of
from sbatchlint.bash.trace import Invocation
from sbatchlint.bash.values import Phase, expansions, shown_text, text_of
from sbatchlint.check import Bad, Card, Finding, Good, Job
from sbatchlint.job.programs import commands_named
from sbatchlint.slurm import getopt
from sbatchlint.source.regex import Regex
from sbatchlint.triggers import Commands

CARD = Card(
    "SB807", "unguarded-resubmission", severity="warning", fix="never", since="0.1.0",
    when=Commands("sbatch", "scontrol"), seen="public scripts",
)  # fmt: skip

# Signals of traps that run at the end of every run, or of every failed one.
_ALWAYS = frozenset({"EXIT", "0", "ERR"})
_AFTER_OK = Regex(r"(?:--dep\w*[= ]|-d ?)afterok:")
_RESUMING = Regex(r"-{0,2}(?:[\w.+]+\.)?(?:auto[-_]?resume|resume(?:_\w+)?(?:-\w+)*|restart)(?:=.*)?")
_STARTING = frozenset({"scontrol", "sbatch"})
_PREPARING = frozenset({"cd", "mkdir", "module", "source", ".", "conda"})
_OWN = frozenset({"0", "BASH_SOURCE"})
_JOB_IDS = frozenset({"SLURM_JOB_ID", "SLURM_JOBID", "SLURM_ARRAY_JOB_ID"})


def check(job: Job) -> Iterator[Finding]:
    if job.phase is Phase.BATCH and not job.program.errors:  # bash runs nothing of an `if` without its `fi`
        for command in commands_named(job, *_STARTING):
            what = _resubmission(job, command)
            if what and command.phase is Phase.BATCH and _always_runs(job, command):
                yield _finding(job, command, what)
                break
    yield from _never_satisfied(job)


def _finding(job: Job, command: Invocation, what: str) -> Finding:
    if command.context.handler:
        happens = f"the trap {what} whenever the job ends, even when the work is finished"
    elif job.request.has_option("array") and command.name == "sbatch":
        happens = f"every array element {what} as a whole array, endlessly"
    else:
        happens = f"the job {what} after every run, even when the work is finished"
    return Finding(command.span, f"{happens}; test first whether work is left")


def _resubmission(job: Job, command: Invocation) -> str:
    """How a command starts its own job again; '' where it does not, or that is unknown."""
    words = [text_of(field) for field in command.argv[1:]]
    if command.name == "scontrol":
        ids = [each.name for field in command.argv[2:] for each in expansions(field)]
        again = words[:1] == ["requeue"] and len(ids) == 1 and ids[0] in _JOB_IDS
        return "requeues itself" if again else ""
    own_name = [len(field) == 1 and field[0].expansion is not None and field[0].expansion.name in _OWN
                for field in command.argv[1:]]  # fmt: skip
    shown = ["self" if own else shown_text(field) for own, field in zip(own_name, command.argv[1:])]
    parsed = getopt.parse(shown, "sbatch", job.versions.majors)
    if parsed.uncertain or parsed.rest >= len(words) or any(each.name in ("begin", "wrap") for each in parsed.options):
        return ""
    script = command.argv[parsed.rest + 1]
    if own_name[parsed.rest]:
        return "submits itself again"
    text, own = text_of(script), job.source.path
    name = own.rpartition("/")[2]
    same = text is not None and text.rpartition("/")[2] == name and own.endswith(text.removeprefix("./"))
    return "submits itself again" if same and not job.is_embedded else ""


def _always_runs(job: Job, command: Invocation) -> bool:
    """Whether a command runs unconditionally."""
    context = command.context
    if context.handler:
        traps = {each.command.index: each.signal for each in traps_of(job) if each.signal in _ALWAYS}
        enclosing = [each.index for each in command.ancestors() if each.name == "trap"]
        if not any(index in traps for index in enclosing):
            return False
    elif context.conditional or any(_may_end(job, each) for each in job.invocations[: command.index]):
        return False
    return not (context.loops or context.restricted or command.guards or context.captured or command.alternatives > 1)


def _may_end(job: Job, command: Invocation) -> bool:
    """Whether the script may end here, other than because its preparations have failed."""
    if command.name != "exit" or command.context.handler or not command.index:
        return False
    return job.invocations[command.index - 1].name not in _PREPARING


def _never_satisfied(job: Job) -> Iterator[Finding]:
    """The finding on the first submission that waits for another job's success, and stays pending if that fails."""
    for command in commands_named(job, "sbatch"):
        shown = command.words[1:]
        waits = any(_AFTER_OK.match(word) for word in (*shown, *map(" ".join, pairwise(shown))))
        own = {each.name for field in command.argv[1:] for each in expansions(field)} & _JOB_IDS
        if waits and own and job.phase is Phase.BATCH and _resumes(job):
            yield Finding(
                command.span,
                "a run that hits its time limit is TIMEOUT, and afterok then waits forever, so the chain stops; "
                "write afterany",
                "warning",
            )
            return
        if waits and not any(word.startswith("--kill-on-inv") for word in shown):
            yield Finding(
                command.span,
                "if the job it waits for fails, the new job stays pending until someone cancels it; "
                "add `--kill-on-invalid-dep=yes`",
                "info",
            )
            return


def _resumes(job: Job) -> bool:
    """Whether the work of the job goes on from where an earlier run has ended."""
    return any(_RESUMING.fullmatch(word) for command in job.invocations for word in command.words[1:])


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --time=4:00:00
        srun ./simulate --restart
        «sbatch "$0"»
        """
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --time=4:00:00
        trap '«scontrol requeue $SLURM_JOB_ID»' EXIT
        srun ./simulate --restart
        """,
        title="a trap that always runs",
    ),
    Bad(
        """\
        #!/bin/bash
        first=$(sbatch --parsable prepare.sbatch)
        «sbatch --dependency=afterok:$first train.sbatch»
        """,
        severity="info",
        title="what fails keeps the next one waiting",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --time=4:00:00
        srun ./simulate --restart
        if [ ! -e finished ]; then
            sbatch job.sbatch
        fi
        """
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --time=4:00:00 --signal=B:USR1@300
        trap 'scontrol requeue $SLURM_JOB_ID' USR1
        srun ./simulate --restart &
        wait
        """,
        title="only where the time is not enough",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --time=4:00:00
        [ "$1" -ge 10 ] && exit
        srun ./simulate --restart
        sbatch "$0" $(($1 + 1))
        """,
        title="an end above",
    ),
]
