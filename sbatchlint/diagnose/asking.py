"""Questions that several symptoms ask of a job.

The first ones answer with places. Those below them make a `Cause.script` of a question: `script=asks("account")`.
"""

import re
from collections.abc import Callable, Iterable
from typing import Protocol

from sbatchlint.bash.values import known_prefix, text_of
from sbatchlint.diagnose.symptom import RULED_OUT, Confidence, Event, Shown, Verdict
from sbatchlint.job import Job
from sbatchlint.source.numbers import parse_integer
from sbatchlint.source.regex import Regex
from sbatchlint.source.text import Span


class HasSpan(Protocol):
    """What stands at a place of the script."""

    @property
    def span(self) -> Span: ...


Question = Callable[[Job, Event], Verdict]
# The letters that stand for options of sbatch and srun.
_LETTERS = {
    "account": "-A", "array": "-a", "constraint": "-C", "cpus-per-task": "-c", "dependency": "-d", "error": "-e",
    "gpus": "-G", "nodelist": "-w", "nodes": "-N", "ntasks": "-n", "output": "-o", "partition": "-p", "qos": "-q",
    "time": "-t",
}  # fmt: skip
_NAMES = {letter[1]: name for name, letter in _LETTERS.items()}
# How programs that submit jobs report that it failed.
_WORKFLOW = Regex(
    r"(?i)(?:error|fail\w{,4}) (?:while )?submitting|submit\w{,4} (?:the )?(?:job ?)?script|jobscript|workflow ?error"
    r"|sbatch failed|failed to submit|submission (?:error|of job)|grid scheduler|\.command\.run|failedjoberror"
    r"|got command|can't be submitted|non-?zero exit status|calledprocesserror|--cluster |^\s*\S.*[\s'\"]sbatch: error:"
    r'|^traceback \(most recent|^\s*file "[^"]+", line \d'
)
_SEVERAL_TASKS = Regex(r"\s(?:-n\s*|--ntasks(?:-per-node)?[= ])(?:[2-9]|\d\d)")


def options(job: Job, *names: str) -> tuple[Span, ...]:
    """Where the directives set one of these options (canonical names), in order."""
    return tuple(each.span for each in job.directives.settings if each.name in names)


def options_written(text: str) -> set[str]:
    """The options in the text of a directive, whether or not sbatch reads it, by their canonical names."""
    found = re.findall(r"\s--?([A-Za-z][\w-]*)", text)
    return {_NAMES.get(each, each) for each in found}


def lacks(job: Job, *names: str) -> bool:
    """Whether the directives certainly set none of these options."""
    return job.directives.certain and not options(job, *names)


def commands(job: Job, *names: str) -> tuple[Span, ...]:
    """Where commands of these names are run, in order."""
    return tuple(each.span for each in job.invocations if each.name in names)


def assigned(job: Job, *names: str) -> tuple[Span, ...]:
    """Where variables of these names are set, in order."""
    return tuple(each.span for each in job.assignments if each.name in names)


def step_options(job: Job, *names: str) -> tuple[Span, ...]:
    """Where sruns of the script are given one of these options."""
    found = (step.option(name) for step in job.steps for name in names)
    return tuple(each.span for each in found if each is not None)


def submissions(job: Job, *names: str) -> tuple[Span, ...]:
    """One of these options of the commands of the script that submit jobs; where none is named, these commands."""
    words = tuple(f"--{each}" for each in names) + tuple(_LETTERS[each] for each in names if each in _LETTERS)
    commands = [each for each in job.invocations if each.name in ("sbatch", "salloc")]
    if not names:
        return spans_of(commands)
    return tuple(
        word[0].span
        for command in commands
        for word in command.argv[1:]
        if word and known_prefix(word).startswith(words)
    )


def captured_submissions(job: Job) -> tuple[Span, ...]:
    """Every sbatch whose output the script keeps, words and all: it was not told to print the number alone."""
    return tuple(
        command.span
        for command in job.invocations
        if command.name == "sbatch"
        and command.context.captured
        and not any(text_of(word) == "--parsable" for word in command.argv)
    )


def several_tasks(job: Job) -> tuple[Span, ...]:
    """The sruns that are asked for several tasks, also in a script of the login node, where each makes a job."""
    text = job.source.text
    sruns = [each.span for each in job.invocations if each.name == "srun"]
    return tuple(each for each in sruns if _SEVERAL_TASKS.search(text[each.start : each.end]))


def worded(job: Job, word: str) -> tuple[Span, ...]:
    """The commands with a word that is this one, or ends in it as a path does."""
    return tuple(
        command.span
        for command in job.invocations
        if any(text == word or text.endswith(f"/{word}") for text in map(text_of, command.argv) if text)
    )


def spans_of(found: Iterable[HasSpan]) -> tuple[Span, ...]:
    """Where these commands, steps, worlds or settings stand."""
    return tuple(each.span for each in found)


def possible(condition: object) -> bool | None:
    """For `Cause.log`: leaves a cause open where a condition holds, and rules it out where it does not."""
    return None if condition else False


def shown(spans: tuple[Span, ...], confidence: Confidence = "likely") -> Verdict:
    """The places, where there are any."""
    return Shown(spans, None, confidence) if spans else None


def by_program(event: Event) -> bool | None:
    """Whether a program submitted the job that was refused, so that it is not the one of the script: other output
    stands around the message."""
    near = (event.text, *event.above[-12:], *event.below[:4])
    return True if any(map(_WORKFLOW.search, near)) else None


def number(event: Event, group: str) -> int | None:
    """A number that the message names; None where this group of the pattern has none."""
    text = event.groups.get(group)
    return parse_integer(text) if text else None


def says(*words: str) -> Callable[[Event], bool | None]:
    """For `Cause.log`: rules a cause out where the message has none of these words."""
    return lambda event: None if any(each in event.text for each in words) else False


def begins(group: str, *beginnings: str) -> Callable[[Event], bool | None]:
    """For `Cause.log`: rules a cause out where the group of the pattern does not begin with one of these."""
    return lambda event: None if event.groups.get(group, "").startswith(beginnings) else False


def sets(*names: str, confidence: Confidence = "likely") -> Question:
    """The directives, or sruns, give one of these options; ruled out where they certainly do not."""

    def question(job: Job, event: Event) -> Verdict:
        spans = options(job, *names) + step_options(job, *names)
        return shown(spans, confidence) or (RULED_OUT if lacks(job, *names) else None)

    return question


def not_set(*names: str, beside: str = "", confidence: Confidence = "likely") -> Question:
    """The directives certainly give none of these options; `beside` is the one that stands for the place."""

    def question(job: Job, event: Event) -> Verdict:
        if lacks(job, *names):
            return Shown(options(job, beside) if beside else (), None, confidence)
        return RULED_OUT if job.directives.certain else None

    return question


def submits(*names: str) -> Question:
    """The script submits another job itself, with one of these options."""
    return lambda job, event: shown(submissions(job, *names))


def steps(confidence: Confidence = "likely") -> Question:
    """The script runs steps: their sruns are the place."""
    return lambda job, event: shown(spans_of(job.steps), confidence)


def has_word(group: str, confidence: Confidence = "likely") -> Question:
    """A command of the script has the word that the message names in this group."""

    def question(job: Job, event: Event) -> Verdict:
        word = event.groups.get(group)
        return shown(worded(job, word), confidence) if word else None

    return question
