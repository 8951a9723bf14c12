"""A cache of answers for each job, as several checks and the plan ask the same questions."""

from collections.abc import Callable, Hashable
from functools import wraps
from typing import TypeVar, TypeVarTuple

from sbatchlint.job import Job

Answer = TypeVar("Answer")
About = TypeVarTuple("About")

_UNKNOWN = object()  # no answer


def once(question: Callable[[Job, *About], Answer]) -> Callable[[Job, *About], Answer]:
    """Computes the answer to a question once for each job and each set of further arguments (hashable, positional).

    The answer is shared, so nobody may change it. It must not be a generator, which would be empty the second time.
    """

    @wraps(question)
    def answer(job: Job, /, *about: *About) -> Answer:
        key: Hashable = (question, about) if about else question
        found: Answer = job.answers.get(key, _UNKNOWN)
        if found is _UNKNOWN:
            found = job.answers[key] = question(job, *about)
        return found

    return answer
