"""Answers that are kept for a job: several checks, and the plan, ask the same questions."""

from collections.abc import Callable, Hashable
from functools import wraps
from typing import Concatenate, ParamSpec, TypeVar, cast

from sbatchlint.job import Job

Answer = TypeVar("Answer")
About = ParamSpec("About")

_UNKNOWN = object()  # no answer


def once(question: Callable[Concatenate[Job, About], Answer]) -> Callable[Concatenate[Job, About], Answer]:
    """Computes the answer to a question once for each job, and for what else it is asked about (hashable, by position).

    What is kept is shared: whoever gets it must not change it. A generator would be empty the second time: make a list.
    """
    ask: Callable[..., Answer] = question

    @wraps(question)
    def answer(job: Job, /, *about: Hashable) -> Answer:
        key: Hashable = (question, about) if about else question
        found: Answer = job.answers.get(key, _UNKNOWN)
        if found is _UNKNOWN:
            found = job.answers[key] = ask(job, *about)
        return found

    return cast(Callable[Concatenate[Job, About], Answer], answer)
