"""A requeue empties the job's log: what the job wrote before is lost.

Slurm opens the log again for each start of a job, and truncates it by default: nothing is left of a run that was
preempted or requeued itself, not even the reason why it ended. Sites may set the default to appending
(`JobFileAppend`).

Reported where the script itself requests requeueing: by `--requeue` or, as advice, by `scontrol requeue`. Advice, too,
for a session that somebody works in, such as Jupyter, whose log only holds its address; and for a program that starts
over and writes its whole log again: without GPUs, and without a word of checkpoints or restarts, in a job of a few
minutes, or where a comment says that it does not resume. Not reported where `--open-mode` is set, or where the name of
the log contains the number of restarts (`%r`, from 25.11 on).

## Fix

Adds `--open-mode=append` after the directives. Safe: it only keeps what was written before.

## References

sbatch(1), "--open-mode"; rwth-i6/sisyphus issue 201; live runs of Slurm 22.05.
"""

from collections.abc import Iterator

from sbatchlint.analysis.script.servers import is_session
from sbatchlint.bash.trace import Invocation
from sbatchlint.bash.values import expansions, text_of
from sbatchlint.check import Bad, Card, Finding, Fix, Good, Job
from sbatchlint.job.programs import commands_named
from sbatchlint.slurm.grammar import patterns
from sbatchlint.slurm.grammar.times import minutes
from sbatchlint.slurm.rewriting import insertion
from sbatchlint.source.regex import Regex
from sbatchlint.triggers import Commands, Options

CARD = Card(
    "SB706", "requeue-truncates-log", severity="warning", fix="always", since="0.1.0",
    when=Options("requeue") | Commands("scontrol"), seen="live runs of Slurm 22.05",
    batch=True, certain=True, homogeneous=True,
)  # fmt: skip

# Words of a script whose program goes on where it was; training does so, too.
_CONTINUING = Regex(r"(?i)check[-_]?point|resum|(?<![a-z])(?:ckpt|restart|continue[-_]from)")
# A comment that says what is left of a run that is requeued: nothing.
_STARTING_OVER = Regex(
    r"(?im)^[ \t]*#[^\n]{0,200}?\b(?:restarts? (?:over|from (?:scratch|the (?:start|beginning)))|(?:not|no) resum)"
)
_SHORT = 15  # minutes, after which a run that starts over has lost nothing
_OWN = frozenset({"SLURM_JOB_ID", "SLURM_JOBID"})

# A script that says itself that its log may go, or sends its results by mail.
_REPORTS = Regex(r"(?m)^[ \t]*#+[ \t]*(?:SBATCH[ \t]+)?(?:-o|--output)[ =]/dev/null\b|^[^#\n]*\bmailx?[ \t]+-s\b")


def check(job: Job) -> Iterator[Finding]:
    request = job.request
    if not job.directives.every_setting:
        return
    if request.has_option("open-mode") or request.has_option("no-requeue") or job.directives.unread:
        return
    paths = [request.value(name) or "" for name in ("output", "error") if request.has_option(name)]
    if any(patterns.uses(path, "r") or path.lower() in ("none", "/dev/null") for path in paths):
        return
    setting = request.setting("requeue")
    requeuing = setting or next(filter(_requeues, commands_named(job, "scontrol")), None)
    if requeuing is None:
        return
    # the script chose the moment, when its work was over; the log of a session only tells where it is
    limit = minutes(request.value("time") or "")
    is_short = limit is not None and limit <= _SHORT
    continues = _CONTINUING.search(job.source.own.text) is not None
    goes_on = continues or job.request.asks_for_gpus is not False and not is_short
    goes_on = goes_on and _STARTING_OVER.search(job.source.own.text) is None
    unread = _REPORTS.search(job.source.own.text) is not None
    yield Finding(
        requeuing.span,
        "if Slurm requeues the job, its log is emptied; add --open-mode=append",
        "info" if setting is None or is_session(job) or not goes_on or unread else None,
        fix=Fix("add --open-mode=append", [insertion(job.directives, "--open-mode=append", 0)], safe=True),
    )


def _requeues(command: Invocation) -> bool:
    """Whether a command puts this job back into the queue."""
    if len(command.argv) < 3 or text_of(command.argv[1]) != "requeue":
        return False
    return any(each.name in _OWN for each in expansions(command.argv[2]))


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH «--requeue»
        #SBATCH --output=train-%j.log
        srun python train.py --resume
        """,
        fixed={"srun python train.py --resume": "#SBATCH --open-mode=append\nsrun python train.py --resume"},
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --time=1:00:00
        srun python train.py || «scontrol requeue "$SLURM_JOB_ID"»
        """,
        fixed="""\
        #!/bin/bash
        #SBATCH --time=1:00:00
        #SBATCH --open-mode=append
        srun python train.py || scontrol requeue "$SLURM_JOB_ID"
        """,
        severity="info",
    ),
    Good("#!/bin/bash\n#SBATCH --requeue --open-mode=append\nsrun ./a.out\n"),
    Good("#!/bin/bash\n#SBATCH --requeue --open-mode=truncate\nsrun ./a.out\n", title="on purpose"),
    Good("#!/bin/bash\n#SBATCH --requeue --output=%x-%j-%r.log\nsrun ./a.out\n", title="a log for each start"),
    Good("#!/bin/bash\n#SBATCH --time=1:00:00\nscontrol requeue $1\n", title="another job"),
]
