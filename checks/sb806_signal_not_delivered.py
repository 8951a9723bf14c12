"""The signal of `--signal` does not reach what waits for it.

With `B:` it goes only to the batch shell, without `B:` only to the steps. A shell without a trap for it dies: the job
ends that many seconds early, FAILED. The programs of the steps that should save their state never get the signal: they
get TERM as the job ends, and KILL after KillWait (30 seconds by default). With `B:TERM` that is the signal that they
wait for, but they have only KillWait of the time that was meant for them. Conversely, a trap in the script never runs
without `B:`, and where the script starts no step (a program started without srun is not one) the signal goes nowhere.

An error where a trap of the script waits for the signal and work is lost; a warning where nothing gets it, steps
handle it, or steps get TERM with less time. Advice where nothing gets it, and nothing in the script is known to handle
it (a trap, Lightning, submitit, Hydra, --requeue).

## Fix

Adds `B:` where a trap of the batch shell waits for the signal and no step could need it; safe, since nothing gets it so
far. Otherwise none, as the script does not show what programs do with a signal.

## References

sbatch(1), "--signal"; signal(7); live runs of Slurm 22.05 (a shell without a trap: FAILED, signal 10; with
`B:TERM`, a step with a handler gets TERM as the shell dies); `_rpc_terminate_job()` in src/slurmd/slurmd/req.c, 26.05
"""

from collections.abc import Iterator

from sbatchlint.analysis.expansion.sourced import is_unclear_source
from sbatchlint.analysis.script.traps import Trap, traps_of
from sbatchlint.analysis.script.work import Weight, weight
from sbatchlint.bash.values import text_of
from sbatchlint.check import Bad, Card, Finding, Fix, Good, Job, insert
from sbatchlint.job.launchers import is_python
from sbatchlint.job.launches import container_of
from sbatchlint.job.programs import commands_named
from sbatchlint.slurm.directives import Setting
from sbatchlint.slurm.grammar.signals import EarlySignal, early_signal
from sbatchlint.slurm.grammar.times import duration
from sbatchlint.source.regex import Regex
from sbatchlint.triggers import Options

CARD = Card(
    "SB806", "signal-not-delivered", severity="error", fix="sometimes", since="0.1.0", whole_script=True,
    when=Options("signal"), seen="live runs of Slurm 22.05", batch=True, homogeneous=True,
)  # fmt: skip

# Signals that a process without a handler ignores; see signal(7).
_HARMLESS = frozenset({"CHLD", "URG", "CONT", "WINCH", "28"})
# Signals that the batch shell gets too when the time is over.
_AT_THE_END = frozenset({"TERM", "CONT"})


# What handles signals, or speaks of them.
_HANDLING = Regex(r"(?i)lightning|submitit|hydra|requeue|preempt|auto_?resume|\bsig(?:nal|usr|term)")
_OVERRIDE = Regex(r"\+{0,2}[a-z_]\w*(?:\.[a-z_]\w*)+=.*")


def check(job: Job) -> Iterator[Finding]:
    setting = job.request.setting("signal")
    signal = None if setting is None else early_signal(setting.text)
    if not job.is_shell or setting is None or signal is None:
        return
    if any(is_unclear_source(each, personal=True) for each in job.invocations):
        return
    waiting = [each for each in traps_of(job) if each.signal == signal.name]
    if signal.batch:
        if signal.name not in _HARMLESS and not waiting and not _replaces_shell(job):
            yield _kills_shell(job, setting, signal)
    elif _starts_no_step(job):
        yield _goes_nowhere(job, setting, signal, waiting)
    elif job.steps and signal.name not in _AT_THE_END:
        handling = [each for each in waiting if text_of(each.command.argv[1]) not in ("", "-")]
        yield from _misses_trap(setting, signal, handling)


def _kills_shell(job: Job, setting: Setting, signal: EarlySignal) -> Finding:
    dies = f"{signal.name} goes only to the batch shell, which has no trap for it: the job fails "
    dies += f"{duration(signal.seconds, 60)} before its end"
    if job.steps and signal.name in _AT_THE_END:
        return Finding(setting.span, f"{dies}; remove `B:`", "warning")
    return Finding(setting.span, f"{dies}; add a `trap … {signal.name}`{' or remove `B:`' if job.steps else ''}")


def _replaces_shell(job: Job) -> bool:
    """Whether a program replaces the shell, or a trap is set for an unknown signal."""
    replaced = any(len(each.argv) > 1 for each in commands_named(job, "exec"))
    return replaced or any(text_of(field) is None for each in commands_named(job, "trap") for field in each.argv[2:])


def _starts_no_step(job: Job) -> bool:
    """Whether certainly no step runs: all started programs are known, and none is, or starts, an srun."""
    if job.steps or not job.invocations:
        return False
    for command in job.invocations:
        if command.context.handler or command.children or command.calls_function:
            continue
        if container_of(command) is not None or command.name in ("exec", "eval", "salloc"):
            return False
        if weight(job, command) >= Weight.PROGRAM and not is_python(command.argv[0]):
            return False
    return True


def _goes_nowhere(job: Job, setting: Setting, signal: EarlySignal, waiting: list[Trap]) -> Finding:
    message = f"{signal.name} is lost: without `B:` it goes only to steps, and the script has no srun"
    if not waiting:
        srun = "srun" if job.request.effective_tasks() == 1 else "srun --ntasks=1"
        advice = f"start the program with `{srun}`, or remove --signal"
        # a launcher ends at the signal, and with one task its processes would share the CPUs of one
        if job.launches or not _is_wanted(job):
            advice = "remove --signal"
        severity = "warning" if "@" in (setting.text or "") and _is_wanted(job) else "info"
        return Finding(setting.span, f"{message}; {advice}", severity)
    trap = waiting[0].command
    value = setting.value_place
    written = job.source.slice(value)
    exact = written == setting.text and written[:1] not in "rR"
    return Finding(
        setting.span,
        f"{message}: the trap on line {job.line(trap.span.start)} never runs; write `B:{signal.name}@{signal.seconds}`",
        related=[(trap.span, "waits for the signal")],
        fix=Fix("send it to the batch shell", [insert(value.start, "B:")], safe=True) if exact else None,
    )


def _is_wanted(job: Job) -> bool:
    """Whether something shows that a program handles the signal: it saves its state, or starts the job again.

    Overrides of settings (`trainer.devices=2`) are those of Hydra, whose programs often are Lightning's. Without a
    handler, the signal is left over from another script, and would only end the program.
    """
    if job.request.has_option("requeue"):
        return True
    lines = (line for line in job.source.own.text.split("\n") if not line.lstrip().startswith("#SBATCH"))
    if any(map(_HANDLING.search, lines)):
        return True
    programs = [each for each in job.invocations if each.argv and is_python(each.argv[0])]
    return any(_OVERRIDE.fullmatch(word) for each in programs for word in each.words[1:])


def _misses_trap(setting: Setting, signal: EarlySignal, waiting: list[Trap]) -> Iterator[Finding]:
    """The finding on a trap of the batch shell, where only the programs of the steps get the signal."""
    if waiting:
        trap = waiting[0].command
        yield Finding(
            setting.span,
            f"without `B:` {signal.name} goes to the steps (and ends programs that do not handle it), not to this "
            f"trap; write `B:{signal.name}@{signal.seconds}`",
            "warning",
            related=[(trap.span, "waits for the signal")],
        )


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --time=1:00:00
        #SBATCH «--signal=B:USR1@300»
        srun python train.py
        """
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --time=1:00:00
        #SBATCH «--signal=B:TERM@300»
        srun python train.py
        """,
        severity="warning",
        title="30 seconds in place of 300",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --time=1:00:00
        #SBATCH «--signal=USR1@120»
        trap 'touch stop' USR1
        python train.py &
        wait
        """,
        fixed={"--signal=USR1@120": "--signal=B:USR1@120"},
        title="a trap without B:",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --time=1:00:00
        #SBATCH «--signal=USR1@120»
        python train.py trainer.devices=2
        """,
        severity="warning",
        title="no step gets it",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --time=1:00:00
        #SBATCH --signal=B:USR1@300
        handler() { scontrol requeue $SLURM_JOB_ID; }
        trap handler SIGUSR1
        srun python train.py &
        wait
        """
    ),
    Good("#!/bin/bash\n#SBATCH --time=1:00:00\n#SBATCH --signal=USR1@120\nsrun python train.py\n"),
    Good("#!/bin/bash\n#SBATCH --signal=B:USR1@120\nexec python train.py\n", title="python is the batch shell then"),
    Good("#!/bin/bash\n#SBATCH --signal=B:CONT@120\nsrun python train.py\n", title="a signal that does no harm"),
    Good("#!/bin/bash\n#SBATCH --signal=USR1@120\nmpirun ./a.out\n", title="mpirun starts steps"),
]
