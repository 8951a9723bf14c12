"""Commands that have the same effect however often a node runs them."""

from sbatchlint.bash.trace import Invocation
from sbatchlint.job.steps import Step
from sbatchlint.programs import has_trait

# Wrappers, which are repeatable if the command that they start is.
_STARTERS = frozenset({"apptainer", "bash", "env", "exec", "nice", "numactl", "sh", "singularity", "stdbuf", "taskset",
                       "time", "timeout"})  # fmt: skip


def is_repeatable(invocation: Invocation) -> bool:
    """Whether a command has the same effect however often a node runs it."""
    return bool(invocation.name in _STARTERS and invocation.children) or has_trait(invocation.name, "repeatable")


def is_repeatable_step(step: Step) -> bool:
    """Whether a step has the same effect with any number of tasks per node."""
    return bool(step.program) and all(map(is_repeatable, step.program))
