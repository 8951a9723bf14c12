"""The commands of a step that do its work, and those that only prepare, look or copy."""

from sbatchlint.bash.trace import Invocation
from sbatchlint.job import Step

# Commands that prepare, look, copy or wait, and have no settings, caches or results of their own.
UTILITIES = frozenset(
    {"echo", "printf", "mkdir", "ls", "cd", "rm", "cat", "cp", "mv", "rsync", "tar", "chmod", "chown", "touch", "find"}
    | {"df", "du", "hostname", "date", "env", "printenv", "export", "true", "false", "sleep", "wait", "ulimit", "stat"}
    | {"nvidia-smi", "rocm-smi", "lscpu", "free", "ps", "kill", "pkill", "sed", "awk", "grep", "head", "tail", "sort"}
    | {"wc", "tee", "id", "whoami", "scontrol", "squeue", "sacct", "sbcast", "test", "[", "[[", ":", "set", "unset"}
    | {"source", ".", "module", "ln", "pwd", "which", "type", "exit", "return", "trap", "git", "wget", "curl", "read"}
    | {"numactl", "nproc", "uname"}
)


def step_programs(step: Step) -> list[Invocation]:
    """The commands of a step that do its work: no shells, no wrappers, none that only prepares, looks or copies."""
    return [
        each
        for each in step.program
        if not each.children and each.text is None and each.name not in UTILITIES and each.argv
    ]
