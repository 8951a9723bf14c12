"""The traps of the batch shell: for which signals, and what they do."""

from typing import NamedTuple

from sbatchlint.bash.trace import Invocation
from sbatchlint.bash.values import Phase, text_of
from sbatchlint.job import Job
from sbatchlint.job.once import once
from sbatchlint.job.programs import by_program
from sbatchlint.slurm.grammar.signals import early_signal

# Commands of a trap before its `exit`, which mostly succeed.
_TIDYING = frozenset(
    {"rm", "rmdir", "echo", "printf", "date", "cp", "rsync", "mv", "touch", "sync", "sleep", "cd", "chmod"}
)


class Trap(NamedTuple):
    """A `trap` of the batch script's own shell. `signal`: a name without SIG, or EXIT, ERR and the like."""

    command: Invocation
    signal: str


@once
def traps_of(job: Job) -> list[Trap]:
    """Every trap of the batch script's shell, one per signal and in order, with those that ignore the signal."""
    found: list[Trap] = []
    for command in job.invocations:
        if command.name != "trap" or command.phase is not Phase.BATCH or command.context.shell.kind != "script":
            continue
        words = [text_of(field) or "" for field in command.argv[1:]]
        if words[:1] == ["--"]:
            del words[0]
        if len(words) < 2 or words[0].startswith("-"):
            continue
        for word in words[1:]:
            known = early_signal(word)
            found.append(Trap(command, known.name if known is not None else word.upper()))
    return found


def resets(command: Invocation) -> bool:
    """Whether a command of the script, not of a trap, resets a trap or ignores its signal: `trap - TERM`."""
    is_trap = command.name == "trap" and len(command.argv) > 2 and not command.context.handler
    return is_trap and text_of(command.argv[1]) in ("-", "")


def exiting_trap(job: Job) -> Invocation | None:
    """The trap for ERR, or the `exit` in a trap for EXIT that sets the script's status; None if there is none."""
    ends: list[str | None] = []
    for command in job.invocations if "trap" in by_program(job) else ():
        if command.name == "trap":
            ends = [text_of(field) for field in command.argv[2:]]
            if "ERR" in ends and text_of(command.argv[1]) != "-":
                return command
        elif command.name == "exit" and command.context.handler and {"EXIT", "0"} & set(ends) and len(command.argv) > 1:
            return command
    return None


def exit_of_error_trap(job: Job, trap: Invocation) -> Invocation | None:
    """The `exit` at the end of a trap for ERR that returns 0: by its number, or the status of what it runs before."""
    commands = [each for each in job.invocations[trap.index + 1 :] if each.parent is trap]
    last = commands[-1] if commands else None
    if last is None or last.name != "exit" or last.guards != trap.guards:
        return None
    if len(last.argv) > 1:
        return last if text_of(last.argv[1]) == "0" or status_before(job, last) is not None else None
    before = commands[-2] if len(commands) > 1 else None
    return last if before is not None and before.guards == last.guards and before.name in _TIDYING else None


def status_before(job: Job, exit_: Invocation) -> Invocation | None:
    """The tidying command in a trap whose status `exit $?` returns (`rm -rf tmp; exit $?`); None if there is none."""
    if job.source.slice(exit_.span) not in ("exit $?", 'exit "$?"', "exit ${?}"):
        return None
    before = [each for each in job.invocations[: exit_.index] if each.parent is exit_.parent]
    last = before[-1] if before else None
    if last is None or last.guards != exit_.guards or last.name not in _TIDYING:
        return None
    between = job.source.text[last.span.end : exit_.span.start]
    return last if not any(each in between for each in ("$?", "||", "&&", "=")) else None
