"""Whether a command runs only if a test succeeds: in an `if`, in a loop, or after `[ … ] &&`."""

from sbatchlint.bash.trace import Invocation
from sbatchlint.bash.variables import Guards, branches_in, is_default, is_loop
from sbatchlint.source.regex import Regex

# `cd x && command` is not a test.
_TEST = Regex(r"!?\s*(?:\[|test\b|\(\(|grep\b|command\s+-v\b|which\b|type\b|hash\b|cmp\b|diff\b|pgrep\b)")

# A test that only looks for a file or a folder, so its result does not depend on the size of the job.
_FILE_TEST = Regex(r"!?\s*(?:(?:\[\[?|test)\s+!?\s*-[a-hkpsuwxGLNOS]\s+[^\s=<>&|]+(?:\s+\]\]?)?|cd\s+\S+)")


def is_for_some_jobs(command: Invocation) -> bool:
    """Whether a command may be meant for only some of the jobs that the script is submitted as.

    A test for a file (`if [ -f restart.chk ]`) does not tell jobs apart: what it guards runs in a job of this size.
    """
    context = command.context
    if not context.conditional:
        return False
    tests = [str(key[1]) for key, _ in branches_in(context.guards) if key[0] == "if"]
    return bool(context.loops) or len(tests) < max(len(context.guards), 1) or not all(map(_FILE_TEST.fullmatch, tests))


def depends_on_test(command: Invocation, within: Invocation | None = None) -> bool:
    """Whether a test in the script decides if a command runs; with `within`, if it runs once that command does."""
    context = command.context
    if context.conditional and (within is None or not within.context.conditional):
        return True
    guards = context.guards if within is None else context.guards - within.context.guards
    return any(key[0] == "case" or _TEST.match(str(key[1])) for key, _ in branches_in(guards))


def may_not_run(command: Invocation, guards: Guards | None = None) -> bool:
    """Whether the script does not decide if a command runs: also after `cd x &&`, and where it may have ended before.

    `guards`: what holds where it runs, if that is not what its context says. The iterations of a loop all run, and of
    `${X:-d}` the default is told. That the shell may exit where a command fails under `set -e` does not count.
    """
    held = command.context.guards if guards is None else guards
    branches = any(not is_loop(key) and not is_default(key) for key, _ in held)
    return command.context.conditional or command.state.escaped or branches
