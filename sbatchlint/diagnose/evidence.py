"""Evidence for the causes of symptoms in the script: its places that have to do with a message."""

import re
from collections.abc import Iterable
from typing import Protocol

from sbatchlint.analysis.containers.container_starts import container_starts
from sbatchlint.bash.trace import Invocation, VariableAssignment
from sbatchlint.bash.values import known_prefix, text_of
from sbatchlint.diagnose.symptom import RULED_OUT, Confidence, Shown, Verdict
from sbatchlint.job import Job
from sbatchlint.job.environment import GPU_OPTIONS
from sbatchlint.job.programs import commands_named
from sbatchlint.slurm.model import Setting
from sbatchlint.source.regex import Regex
from sbatchlint.source.text import Span

# The options that say how many tasks, CPUs and nodes a job has.
TASKS = ("ntasks", "ntasks-per-node", "ntasks-per-socket", "ntasks-per-core", "ntasks-per-gpu")
CPUS = ("cpus-per-task", "cpus-per-gpu", "mincpus", "sockets-per-node", "cores-per-socket", "threads-per-core",
        "extra-node-info", "core-spec", "thread-spec", "hint", "ntasks-per-core", "ntasks-per-socket")  # fmt: skip
MEMORY = ("mem", "mem-per-cpu", "mem-per-gpu")
SIZES = tuple(dict.fromkeys((*TASKS, *CPUS, "nodes", *MEMORY, *GPU_OPTIONS, "exclusive")))


class HasSpan(Protocol):
    """Something with a place in the script."""

    @property
    def span(self) -> Span: ...


# The short forms of options of sbatch and srun.
_LETTERS = {
    "account": "-A", "array": "-a", "constraint": "-C", "cpus-per-task": "-c", "dependency": "-d", "error": "-e",
    "gpus": "-G", "nodelist": "-w", "nodes": "-N", "ntasks": "-n", "output": "-o", "partition": "-p", "qos": "-q",
    "time": "-t",
}  # fmt: skip
_NAMES = {letter[1]: name for name, letter in _LETTERS.items()}
_SEVERAL_TASKS = Regex(r"\s(?:-n\s*|--ntasks(?:-per-node)?[= ])(?:[2-9]|\d\d)")


def settings(job: Job, *names: str) -> list[Setting]:
    """What directives set of these options (canonical names), in order."""
    return [each for each in job.directives.settings if each.name in names]


def options(job: Job, *names: str) -> tuple[Span, ...]:
    """The places where directives set one of these options (canonical names), in order."""
    return spans_of(settings(job, *names))


def options_written(text: str) -> set[str]:
    """The canonical names of the options in the text of a directive, whether or not sbatch reads it."""
    found = re.findall(r"\s--?([A-Za-z][\w-]*)", text)
    return {_NAMES.get(each, each) for each in found}


def names_kind(setting: Setting) -> bool:
    """Whether an option that asks for GPUs names a kind of them."""
    return any(map(str.isalpha, (setting.value or "").removeprefix("gpu")))


def lacks(job: Job, *names: str) -> bool:
    """Whether the directives certainly set none of these options."""
    return job.directives.certain and not options(job, *names)


def commands(job: Job, *names: str) -> tuple[Span, ...]:
    """The commands with these names, in order."""
    return spans_of(commands_named(job, *names))


def own_commands(job: Job) -> list[Invocation]:
    """The commands that are written in the script itself, in order."""
    end = len(job.source.text)
    return [each for each in job.invocations if each.span.end <= end]


def variables(job: Job, *names: str) -> list[VariableAssignment]:
    """The assignments to these variables, in order."""
    return [each for each in job.assignments if each.name in names]


def assigned(job: Job, *names: str) -> tuple[Span, ...]:
    """The places of the assignments to these variables, in order."""
    return spans_of(variables(job, *names))


def step_options(job: Job, *names: str) -> tuple[Span, ...]:
    """The places where an srun of the script has one of these options."""
    found = (step.option(name) for step in job.steps for name in names)
    return tuple(each.span for each in found if each is not None)


def asks_for_gpus(job: Job) -> bool:
    """Whether a directive or a step asks for GPUs."""
    return bool(options(job, *GPU_OPTIONS) or step_options(job, *GPU_OPTIONS))


def submissions(job: Job, *names: str) -> tuple[Span, ...]:
    """The places of these options of sbatch and salloc in the script; without names, these commands themselves."""
    words = tuple(f"--{each}" for each in names) + tuple(_LETTERS[each] for each in names if each in _LETTERS)
    if not names:
        return commands(job, "sbatch", "salloc")
    return tuple(
        word[0].span
        for command in commands_named(job, "sbatch", "salloc")
        for word in command.argv[1:]
        if word and known_prefix(word).startswith(words)
    )


def captured_submissions(job: Job) -> tuple[Span, ...]:
    """The sbatch commands whose whole output the script captures: they have no `--parsable`."""
    captured = [each for each in commands_named(job, "sbatch") if each.context.captured]
    return spans_of(each for each in captured if "--parsable" not in map(text_of, each.argv))


def several_tasks(job: Job) -> tuple[Span, ...]:
    """The sruns with several tasks, also in a script of the login node, where each is a job."""
    return matching(job, commands_named(job, "srun"), _SEVERAL_TASKS)


def worded(job: Job, word: str) -> tuple[Span, ...]:
    """The commands with this word, also as the last component of a path."""
    return tuple(
        command.span
        for command in job.invocations
        if any(text == word or text.endswith(f"/{word}") for text in map(text_of, command.argv) if text)
    )


def spans_of(found: Iterable[HasSpan]) -> tuple[Span, ...]:
    """The places of these commands, steps, worlds or settings."""
    return tuple(each.span for each in found)


def matching(job: Job, found: Iterable[HasSpan], pattern: str | re.Pattern[str] | Regex) -> tuple[Span, ...]:
    """The places of those of these commands, steps or assignments whose text the expression matches."""
    text = job.source.text
    expression = Regex(pattern) if isinstance(pattern, str) else pattern
    return tuple(each.span for each in found if expression.search(text[each.span.start : each.span.end]))


def containing(job: Job, found: Iterable[HasSpan], *words: str) -> tuple[Span, ...]:
    """The places of those of these commands, steps or assignments whose text has one of these words."""
    text = job.source.text
    return tuple(each.span for each in found if any(word in text[each.span.start : each.span.end] for word in words))


def containers(job: Job) -> tuple[Span, ...]:
    """The commands that enter a container; without any, the steps that do."""
    found = tuple(start.place for ways in container_starts(job) for start in ways)
    return found or contained_steps(job)


def contained_steps(job: Job) -> tuple[Span, ...]:
    """The steps that run in a container."""
    return spans_of(each for each in job.steps if each.container is not None)


def shown(spans: tuple[Span, ...], confidence: Confidence = "likely") -> Verdict:
    """The places as a verdict; None without any."""
    return Shown(spans, None, confidence) if spans else None


def certainly(job: Job, spans: tuple[Span, ...]) -> Verdict:
    """The places in directives as a verdict; ruled out if there are none, and no directive is unknown."""
    return shown(spans, "certain") or (RULED_OUT if job.directives.certain else None)
