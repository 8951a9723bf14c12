"""Evidence for the causes of symptoms, in a job or in an event.

The first functions return places in the script. The last ones return a function for `Cause.script`:
`script=sets("account")`.
"""

import re
from collections.abc import Callable, Iterable
from typing import Protocol

from sbatchlint.analysis.containers.container_starts import container_starts
from sbatchlint.bash.values import known_prefix, text_of
from sbatchlint.diagnose.symptom import RULED_OUT, Confidence, Event, Shown, Verdict
from sbatchlint.job import Job
from sbatchlint.job.environment import GPU_OPTIONS
from sbatchlint.source.numbers import parse_integer
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


Question = Callable[[Job, Event], Verdict]
# The short forms of options of sbatch and srun.
_LETTERS = {
    "account": "-A", "array": "-a", "constraint": "-C", "cpus-per-task": "-c", "dependency": "-d", "error": "-e",
    "gpus": "-G", "nodelist": "-w", "nodes": "-N", "ntasks": "-n", "output": "-o", "partition": "-p", "qos": "-q",
    "time": "-t",
}  # fmt: skip
_NAMES = {letter[1]: name for name, letter in _LETTERS.items()}
# Messages of programs that submit jobs about a failed submission.
_WORKFLOW = Regex(
    r"(?i)(?:error|fail\w{,4}) (?:while )?submitting|submit\w{,4} (?:the )?(?:job ?)?script|jobscript|workflow ?error"
    r"|sbatch failed|failed to submit|submission (?:error|of job)|grid scheduler|\.command\.run|failedjoberror"
    r"|got command|can't be submitted|non-?zero exit status|calledprocesserror|--cluster |^\s*\S.*[\s'\"]sbatch: error:"
    r'|^traceback \(most recent|^\s*file "[^"]+", line \d'
)
_SEVERAL_TASKS = Regex(r"\s(?:-n\s*|--ntasks(?:-per-node)?[= ])(?:[2-9]|\d\d)")


def options(job: Job, *names: str) -> tuple[Span, ...]:
    """The places where directives set one of these options (canonical names), in order."""
    return tuple(each.span for each in job.directives.settings if each.name in names)


def options_written(text: str) -> set[str]:
    """The canonical names of the options in the text of a directive, whether or not sbatch reads it."""
    found = re.findall(r"\s--?([A-Za-z][\w-]*)", text)
    return {_NAMES.get(each, each) for each in found}


def lacks(job: Job, *names: str) -> bool:
    """Whether the directives certainly set none of these options."""
    return job.directives.certain and not options(job, *names)


def commands(job: Job, *names: str) -> tuple[Span, ...]:
    """The commands with these names, in order."""
    return tuple(each.span for each in job.invocations if each.name in names)


def assigned(job: Job, *names: str) -> tuple[Span, ...]:
    """The assignments to these variables, in order."""
    return tuple(each.span for each in job.assignments if each.name in names)


def step_options(job: Job, *names: str) -> tuple[Span, ...]:
    """The places where an srun of the script has one of these options."""
    found = (step.option(name) for step in job.steps for name in names)
    return tuple(each.span for each in found if each is not None)


def submissions(job: Job, *names: str) -> tuple[Span, ...]:
    """The places of these options of sbatch and salloc in the script; without names, these commands themselves."""
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
    """The sbatch commands whose whole output the script captures: they have no `--parsable`."""
    return tuple(
        command.span
        for command in job.invocations
        if command.name == "sbatch"
        and command.context.captured
        and not any(text_of(word) == "--parsable" for word in command.argv)
    )


def several_tasks(job: Job) -> tuple[Span, ...]:
    """The sruns with several tasks, also in a script of the login node, where each is a job."""
    text = job.source.text
    sruns = [each.span for each in job.invocations if each.name == "srun"]
    return tuple(each for each in sruns if _SEVERAL_TASKS.search(text[each.start : each.end]))


def small_shm(job: Job, event: Event) -> Verdict:
    """The containers of docker and podman that have a /dev/shm of their own, of 64 MB."""
    return shown(
        tuple(
            start.place
            for ways in container_starts(job)
            for start in ways
            if start.is_isolated and start.has_small_memory
        )
    )


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


def possible(condition: object) -> bool | None:
    """For `Cause.log`: leaves a cause open if a condition holds, and rules it out if not."""
    return None if condition else False


def shown(spans: tuple[Span, ...], confidence: Confidence = "likely") -> Verdict:
    """The places as a verdict; None without any."""
    return Shown(spans, None, confidence) if spans else None


def by_program(event: Event) -> bool | None:
    """For `Cause.log`: confirms that a program submitted the refused job, which is therefore not that of the script.

    Then other output surrounds the message.
    """
    near = (event.text, *event.above[-12:], *event.below[:4])
    return True if any(map(_WORKFLOW.search, near)) else None


def number(event: Event, group: str) -> int | None:
    """The number in a group of the pattern; None if there is none."""
    text = event.groups.get(group)
    return parse_integer(text) if text else None


def says(*words: str) -> Callable[[Event], bool | None]:
    """For `Cause.log`: rules a cause out if the message has none of these words."""
    return lambda event: None if any(each in event.text for each in words) else False


def begins(group: str, *beginnings: str) -> Callable[[Event], bool | None]:
    """For `Cause.log`: rules a cause out if the group of the pattern does not begin with one of these."""
    return lambda event: None if event.groups.get(group, "").startswith(beginnings) else False


def sets(*names: str, confidence: Confidence = "likely") -> Question:
    """The directives or sruns set one of these options; ruled out if they certainly do not."""

    def question(job: Job, event: Event) -> Verdict:
        spans = options(job, *names) + step_options(job, *names)
        return shown(spans, confidence) or (RULED_OUT if lacks(job, *names) else None)

    return question


def not_set(*names: str, beside: str = "", confidence: Confidence = "likely") -> Question:
    """The directives certainly set none of these options; `beside`: the option whose place is shown."""

    def question(job: Job, event: Event) -> Verdict:
        if lacks(job, *names):
            return Shown(options(job, beside) if beside else (), None, confidence)
        return RULED_OUT if job.directives.certain else None

    return question


def submits(*names: str) -> Question:
    """The script itself submits another job, with one of these options."""
    return lambda job, event: shown(submissions(job, *names))


def steps(confidence: Confidence = "likely") -> Question:
    """The script runs steps; their sruns are the places."""
    return lambda job, event: shown(spans_of(job.steps), confidence)


def has_word(group: str, confidence: Confidence = "likely") -> Question:
    """A command of the script contains the word in this group of the pattern."""

    def question(job: Job, event: Event) -> Verdict:
        word = event.groups.get(group)
        return shown(worded(job, word), confidence) if word else None

    return question
