"""What the sruns of a script without #SBATCH lines ask of an allocation, which only the option block can.

Such an srun gets an allocation of its own. In a batch job srun ignores most of these options, and others fail where the
job has less than they ask for (`create_job_step()` in src/srun/launch.c of 26.05).
"""

from typing import NamedTuple

from sbatchlint.analysis.editing.options import remove_step_option
from sbatchlint.convert.goal import Goal, NotConvertible
from sbatchlint.job import Job, has_directives
from sbatchlint.job.srun import StepOption
from sbatchlint.job.steps import Step
from sbatchlint.source.edits import Edit
from sbatchlint.source.regex import Regex

# Those that srun ignores in a job, of which SB331 tells.
_IGNORED = (
    "account", "begin", "deadline", "dependency", "hold", "mail-type", "mail-user", "partition", "priority", "qos",
    "reservation", "time-min",
)  # fmt: skip
_NAMES = (
    "clusters", "comment", "constraint", "contiguous", "cpus-per-gpu", "exclude", "exclusive", "licenses", "mem",
    "mem-per-cpu", "mem-per-gpu", "mincpus", "oversubscribe", "prefer", "reboot", "switches", "thread-spec", "time",
    "tmp", "wckey",
)  # fmt: skip
# Options that choose nodes, which the nodes of the goal may not be.
_PLACING = ("nodelist", "nodefile", "relative")
# What needs the terminal of somebody who waits.
_OF_TERMINAL = ("pty",)
_OF_GPUS = ("gres", "gpus-per-node", "gpus", "gpus-per-task")
# The type of GPU in `gpu:a100:8` and `a100:8`.
_KIND = Regex(r"(?:gpu:)?(?!gpu:)([a-zA-Z]\w*):\d+")


class Asked(NamedTuple):
    """The options by long name (an empty value for a flag), the edits that take them out of the sruns, and to-dos."""

    options: dict[str, str]
    edits: list[Edit]
    todos: list[str]


def asked_by_steps(job: Job, goal: Goal, gpus: int) -> Asked:
    """What the sruns ask, for the option block; of what the goal has, its value counts. `gpus`: those of a node."""
    asked = Asked({}, [], [])
    if has_directives(job.source.own, job.site):
        return asked
    for name in (*_IGNORED, *_NAMES, *_PLACING, *_OF_TERMINAL):
        given = [(step, option) for step in job.steps if (option := step.option(name)) is not None]
        if given and name in _PLACING:
            line = job.line(given[0][1].span.start)
            raise NotConvertible(f"--{name} on line {line} places it on nodes of its own choice: leave it out")
        asked.edits.extend(_take(job, goal, given, asked))
    options = [option for step in job.steps for option in map(step.option, _OF_GPUS) if option is not None]
    kinds = {found[1] for option in options if (found := _KIND.fullmatch(option.text or "")) is not None}
    if len(kinds) == 1 and gpus and not {*_OF_GPUS} & goal.options.keys():
        asked.options["gpus-per-node"] = f"{kinds.pop()}:{gpus}"
    for option in options:
        if "," in (option.text or ""):
            line = job.line(option.span.start)
            asked.todos.append(f"line {line}: {option.as_written} asks for more than GPUs: write it as #SBATCH")
    return asked


def _take(job: Job, goal: Goal, given: list[tuple[Step, StepOption]], asked: Asked) -> list[Edit]:
    """The edits that take an option out of the sruns that have it, once the option block has it."""
    names = {option.name for _, option in given}
    texts = {option.text if option.value is not None else "" for _, option in given}
    is_set = names <= goal.options.keys() or names == {"cpus-per-gpu"} and goal.cpus is not None
    if not is_set and (len(texts) > 1 or None in texts):
        for option in [option for _, option in given if option.name not in _IGNORED]:
            what = f"{option.as_written} is for the whole job: write #SBATCH --{option.name}, with its value"
            asked.todos.append(f"line {job.line(option.span.start)}: {what}")
        return []
    if not is_set and not names & {*_OF_TERMINAL}:
        asked.options.update((name, text) for name in names for text in texts if text is not None)
    edits = (remove_step_option(job, step, option) for step, option in given)
    return list(dict.fromkeys(edit for edit in edits if edit is not None))
