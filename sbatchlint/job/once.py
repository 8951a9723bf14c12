"""Answers that are kept for a job: several checks, and the plan, ask the same questions."""

from collections.abc import Callable, Hashable
from functools import wraps
from typing import Concatenate, ParamSpec, TypeVar

from sbatchlint.job import Job

Answer = TypeVar("Answer")
About = ParamSpec("About")


def once(question: Callable[Concatenate[Job, About], Answer]) -> Callable[Concatenate[Job, About], Answer]:
    """Computes the answer to a question once for each job, and for what else it is asked about (hashable).

    What is kept is shared: whoever gets it must not change it. A generator would be empty the second time: make a list.
    """

    @wraps(question)
    def answer(job: Job, /, *about: About.args, **named: About.kwargs) -> Answer:
        key: Hashable = (question, *about, *named.items()) if named else (question, *about)
        if key not in job.answers:
            job.answers[key] = question(job, *about, **named)
        found: Answer = job.answers[key]
        return found

    return answer
