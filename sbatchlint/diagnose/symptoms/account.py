"""What sacct and scontrol say of a job's end, as `JobState=… Reason=… ExitCode=…`: looked for after all logs.

JOB_STATE_FLAGS and enum job_states, slurm/slurm.h; the names are those of src/common/slurm_protocol_defs.c.
"""

from collections.abc import Callable

from sbatchlint.diagnose.evidence import MEMORY, lacks
from sbatchlint.diagnose.questions import sets, sets_or_lacks
from sbatchlint.diagnose.symptom import RULED_OUT, Cause, Event, Role, Symptom, Verdict
from sbatchlint.job import Job


def _ended_by(codes: tuple[str, ...], signals: tuple[str, ...]) -> Callable[[Event], bool | None]:
    """Rules a cause out where the job ended otherwise. A shell reports a signal as 128 more."""
    return lambda event: None if event.groups.get("code") in codes or event.groups.get("signal") in signals else False


def _at_once(event: Event) -> bool | None:
    """Whether the record says that the job ran for less than a second."""
    limits = {} if event.account is None else event.account.limits
    ran = limits.get("RunTime") or limits.get("Elapsed") or ""
    return None if ran and not ran.strip("0:-") and event.groups.get("code") not in ("126", "127") else False


def _log_folder(job: Job, event: Event) -> Verdict:
    return RULED_OUT if lacks(job, "output", "error") else None


def _ended(
    name: str, title: str, docs: str, state: str, causes: tuple[Cause, ...], matches: str,
    releases: str = "all releases", role: Role = "consequence",
) -> Symptom:  # fmt: skip
    """A state in which a job ended; `state`: an expression for what the record says after `JobState=`."""
    pattern = f"^JobState={state}"
    return Symptom(
        name, title, docs, "sacct, scontrol", ("JobState=",), (pattern,), matches, causes, releases, role
    )  # fmt: skip


SYMPTOMS = (
    _ended(
        name="job-timeout",
        title="the job reached its time limit",
        docs="""\
The state that accounting keeps. What the job did in its last minutes is in the log: a long silence before the end
is a hang, not a long run.
""",
        state=r"TIMEOUT",
        causes=(
            Cause(
                "time-limit",
                "script",
                "the job needed more time than it asked for, or it hung",
                "look at the end of the log: where it was silent for long, find what the job waited for; else ask for more",
                script=sets_or_lacks("time", confidence="certain"),
            ),
        ),
        matches="JobState=TIMEOUT Reason=TimeLimit ExitCode=0:15",
    ),
    _ended(
        name="job-out-of-memory",
        title="the job passed its memory limit",
        docs="""\
The state that accounting keeps where the kernel ended a process of the job for its memory.
""",
        releases="17.11 on (OUT_OF_MEMORY); before that FAILED with signal 9",
        state=r"OUT_OF_ME",
        causes=(
            Cause(
                "memory",
                "script",
                "the processes of the job needed more memory than it has",
                "ask for more with --mem or --mem-per-cpu, or look whether every rank loads what one could",
                script=sets_or_lacks(*MEMORY, confidence="certain"),
            ),
        ),
        matches="JobState=OUT_OF_MEMORY Reason=OutOfMemory ExitCode=0:125",
    ),
    _ended(
        name="job-preempted",
        title="the job was preempted",
        docs="""\
A job of a higher priority took its nodes.
""",
        state=r"PREEMPTED",
        causes=(
            Cause(
                "preempted",
                "cluster",
                "a job of a higher priority took its nodes",
                "let the program write checkpoints, and submit with --requeue",
                unproven="certain",
            ),
        ),
        matches="JobState=PREEMPTED Reason=None ExitCode=0:15",
    ),
    _ended(
        name="job-deadline",
        title="the job did not end before its deadline",
        docs="""\
Slurm ends a job at the time that `--deadline` names, or when it can no longer end before it.
""",
        state=r"DEADLINE",
        causes=(
            Cause(
                "deadline",
                "submission",
                "the deadline of the job passed before it could end",
                "submit it earlier, with a shorter --time, or with a later --deadline",
                script=sets("deadline", confidence="certain"),
            ),
        ),
        matches="JobState=DEADLINE Reason=DeadLine ExitCode=0:0",
    ),
    _ended(
        name="job-revoked",
        title="another cluster of the federation started the job",
        docs="""\
A job of a federation waits in several clusters; when one starts it, its siblings in the others are revoked. Its log and
its state are with the cluster that started it: `sacct --federation`.
""",
        releases="17.11 and later",
        state=r"REVOKED",
        causes=(
            Cause(
                "sibling",
                "cluster",
                "another cluster of the federation started the job",
                "look there: `sacct --federation` shows its state",
                unproven="certain",
            ),
        ),
        matches="JobState=REVOKED Reason=None ExitCode=0:0",
    ),
    _ended(
        name="job-cancelled",
        title="the job was cancelled",
        docs="""\
By its user, an administrator, or a program of theirs (scancel); or because a job that it depends on failed.
""",
        role="teardown",
        state=r"CANCELLED(?: by (?P<uid>\d+))?",
        causes=(
            Cause(
                "cancelled",
                "submission",
                "somebody cancelled the job, or a program did (scancel)",
                "sacct -o State%30 shows by whom (CANCELLED by UID)",
            ),
        ),
        matches="JobState=CANCELLED by 1000 Reason=None ExitCode=0:0",
    ),
    _ended(
        name="job-node-fail",
        title="a node of the job failed",
        docs="""\
A node stopped answering, or could not be started. Slurm starts the job again if it may be requeued.
""",
        state=r"(?:NODE_FAIL|BOOT_FAIL|LAUNCH_FAILED)",
        causes=(
            Cause(
                "node",
                "cluster",
                "a node of the job failed",
                "submit it again, without that node (--exclude); tell the administrators",
                unproven="certain",
            ),
        ),
        matches="JobState=NODE_FAIL Reason=None ExitCode=1:0",
    ),
    _ended(
        name="job-log-not-writable",
        title="slurmstepd could not open the job's log",
        docs="""\
The job ends before its first command, with exit code 0:53, and there is no log: the folder of `--output` or `--error` does
not exist, or may not be written by the user on that node.
""",
        releases="all: ESLURMD_IO_ERROR 4021 & 127 = 53",
        role="cause",
        state=r"FAILED .*(?:RaisedSignal:53|ExitCode=0:53)",
        causes=(
            Cause(
                "no-folder",
                "script",
                "the folder of the log does not exist when the job starts",
                "make the folder before submitting: a mkdir in the script comes too late",
                codes=("SB701",),
                script=_log_folder,
            ),
            Cause(
                "not-writable",
                "submission",
                "the log cannot be written where the job was submitted",
                "submit from a folder that the nodes see and the user may write, or name one with --output",
            ),
        ),
        matches="JobState=FAILED Reason=RaisedSignal:53(Real-time_signal_19) ExitCode=0:53\n",
    ),
    _ended(
        name="job-failed",
        title="the job ended with an error",
        docs="""\
The exit code is that of the script's last command, or of `exit`. What failed is in the log.
""",
        role="teardown",
        state=r"FAILED Reason=\S* ExitCode=(?P<code>\d+):(?P<signal>\d+)",
        causes=(
            Cause(
                "not-found",
                "submission",
                "the job ended with exit code {code}: a command was not found, or may not be executed",
                "load what provides it inside the job, or give its full path; chmod +x",
                log=_ended_by(("126", "127"), ()),
            ),
            Cause(
                "killed-for-memory",
                "script",
                "a program of the job was killed, as where the memory that the script asks for ran out",
                "look at `sacct -j JOB --format=JobID,State,ExitCode,MaxRSS,ReqMem`",
                script=sets_or_lacks(*MEMORY, confidence="certain"),
                log=_ended_by(("137",), ("9",)),
                unproven="possible",
            ),
            Cause(
                "killed",
                "submission",
                "a program of the job was killed, usually because memory ran out",
                "look at `sacct -j JOB --format=JobID,State,ExitCode,MaxRSS,ReqMem`",
                log=_ended_by(("137",), ("9",)),
                unproven="possible",
            ),
            Cause(
                "crashed",
                "code",
                "a program of the job crashed (exit code {code}, signal {signal})",
                "look at what it printed last; a core file and `ulimit -c unlimited` tell where",
                log=_ended_by(("132", "134", "135", "136", "139"), ("4", "6", "7", "8", "11")),
            ),
            Cause(
                "at-once",
                "submission",
                "the job ended with exit code {code} in its first second: it could not begin, as where the folder of the job, or that of its log, is not there on the node for this user",
                "submit from a folder that the nodes see and the user may write (root's home is not one); the log of slurmd on the node says what went wrong",
                log=_at_once,
            ),
            Cause(
                "last-command",
                "script",
                "the status of the job is that of its script's last command, and that failed although the work did not",
                "end the script with the status of the work, or with `exit 0`",
                codes=("SB722", "SB720"),
            ),
            Cause(
                "unknown",
                "code",
                "the job ended with exit code {code} (signal {signal}), and its log does not say why",
                "let the script say what it does (set -x), and look at the logs of its programs",
                unproven="possible",
            ),
        ),
        matches="JobState=FAILED Reason=NonZeroExitCode ExitCode=1:0",
    ),
)
