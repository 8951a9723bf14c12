"""Questions to the script by which it shows a cause: functions that return one for `Cause.script`.

`script=sets("account")` asks whether the directives or the steps set the account.
"""

from collections.abc import Callable

from sbatchlint.analysis.containers.container_starts import container_starts
from sbatchlint.diagnose.evidence import (
    assigned,
    commands,
    lacks,
    options,
    shown,
    spans_of,
    step_options,
    submissions,
    worded,
)
from sbatchlint.diagnose.symptom import RULED_OUT, Confidence, Event, Shown, Verdict
from sbatchlint.job import Job

Question = Callable[[Job, Event], Verdict]


def sets(*names: str, confidence: Confidence = "likely") -> Question:
    """The directives or sruns set one of these options; ruled out if they certainly do not."""

    def question(job: Job, event: Event) -> Verdict:
        spans = options(job, *names) + step_options(job, *names)
        return shown(spans, confidence) or (RULED_OUT if lacks(job, *names) else None)

    return question


def requests(*names: str, confidence: Confidence = "likely") -> Question:
    """The directives set one of these options."""
    return lambda job, event: shown(options(job, *names), confidence)


def assigns(*names: str, confidence: Confidence = "likely") -> Question:
    """The script assigns one of these variables."""
    return lambda job, event: shown(assigned(job, *names), confidence)


def calls(*names: str, confidence: Confidence = "likely") -> Question:
    """The script has commands with one of these names."""
    return lambda job, event: shown(commands(job, *names), confidence)


def sets_or_lacks(*names: str, confidence: Confidence = "likely") -> Question:
    """The directives set one of these options, or certainly none of them."""

    def question(job: Job, event: Event) -> Verdict:
        none = Shown((), None, confidence) if lacks(job, *names) else None
        return shown(options(job, *names), confidence) or none

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


def small_shm(job: Job, event: Event) -> Verdict:
    """The containers of docker and podman that have a /dev/shm of their own, of 64 MB."""
    starts = (start for ways in container_starts(job) for start in ways)
    return shown(tuple(each.place for each in starts if each.is_isolated and each.has_small_memory))
