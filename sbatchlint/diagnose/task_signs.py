"""Signs in a script that its tasks are the cause: they disturb each other, or are not as many as the program is told.

Like those of `script_signs`, they are looked for where neither a finding nor the log proves what the symptom itself says.
"""

import re

from sbatchlint.bash.values import text_of
from sbatchlint.diagnose.answers import Answer, Picture, other_cause
from sbatchlint.diagnose.evidence import TASKS, options, spans_of
from sbatchlint.job import Job
from sbatchlint.job.steps import Step
from sbatchlint.programs import has_trait
from sbatchlint.source.numbers import parse_integer
from sbatchlint.source.regex import Regex

# A call that removes, renames or makes a file, as a traceback quotes it: of several that do it, one is first.
_TAKES = Regex(
    r"\b(?:os|shutil|pathlib|Path)\S*\.(?:remove|unlink|rename|renames|replace|rmdir|rmtree|move|makedirs|mkdir|symlink)\(|\.(?:unlink|rmdir|rename|symlink_to)\("
)
_GONE = Regex(r"FileNotFoundError|FileExistsError|No such file|File exists|Directory not empty")
# Messages of ranks that do not find each other, or are not those that a collective expects.
_OF_RANKS = frozenset(
    ["nccl-cuda-error", "nccl-system-error", "nccl-connection", "collective-timeout", "collective-mismatch", "rendezvous-timeout", "store-unreachable", "store-lost"]
)  # fmt: skip
_WORLD = re.compile(r"--?(?:[a-z]+[-_])*(?:world[-_]size|n(?:um)?[-_]?ranks)(?:=(?P<value>\d+))?")


def _several(job: Job) -> list[Step]:
    """Steps of several tasks that start a program itself, without a launcher or MPI."""
    launched = {each.step for each in job.launches if each.step is not None}
    return [
        step
        for step in job.steps
        if (step.tasks or 0) > 1
        and step not in launched
        and not any(has_trait(each.name, "mpi") for each in step.program)
    ]


def copies_disturb(first: Answer, picture: Picture) -> Answer | None:
    """Each task removes, renames or makes the same file, and all but the first fail at it."""
    event = first.event
    if not _GONE.search(event.text) or not any(map(_TAKES.search, event.above[-3:])):
        return None
    job = picture.jobs[0]
    steps = _several(job)
    if steps and len(steps) == len(job.steps):
        says = f"srun starts the program {steps[0].tasks} times, and the copies take the same file from each other"
        advice = "start it once (srun --ntasks=1), give each task a folder of its own (by SLURM_PROCID), or let rank 0 do it alone"
        return other_cause(first, "copies-disturb", "script", says, advice, (*options(job, *TASKS), *spans_of(steps)))
    return None


def other_world(first: Answer, picture: Picture) -> Answer | None:
    """The program is told another number of processes than srun starts."""
    if first.event.symptom.id not in _OF_RANKS or first.where == "cluster" and first.confidence == "certain":
        return None
    job = picture.jobs[0]
    for step in _several(job):
        for command in step.program:
            words = [text_of(each) or "" for each in command.argv]
            for number, word in enumerate(words):
                match = _WORLD.fullmatch(word)
                told = (match["value"] or "".join(words[number + 1 : number + 2])) if match else ""
                if told.isdecimal() and parse_integer(told) != step.tasks:
                    name = word.partition("=")[0]
                    says = f"{name} tells the program of {told} processes, and srun starts {step.tasks}"
                    advice = f"give {name} the number of tasks: $SLURM_NTASKS"
                    spans = (*options(job, *TASKS), step.span, command.argv[number][0].span)
                    return other_cause(first, "other-world", "script", says, advice, spans)
    return None
