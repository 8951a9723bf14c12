"""Evidence for the causes of symptoms in the log: functions for `Cause.log`, and functions that return one.

`log=says("fork")` rules a cause out where the message has no such word.
"""

import re
from collections.abc import Callable

from sbatchlint.diagnose.symptom import Event
from sbatchlint.source.numbers import parse_integer
from sbatchlint.source.regex import Regex

Clue = Callable[[Event], bool | None]
# Messages of programs that submit jobs about a failed submission.
_WORKFLOW = Regex(
    r"(?i)(?:error|fail\w{,4}) (?:while )?submitting|submit\w{,4} (?:the )?(?:job ?)?script|jobscript|workflow ?error"
    r"|sbatch failed|failed to submit|submission (?:error|of job)|grid scheduler|\.command\.run|failedjoberror"
    r"|got command|can't be submitted|non-?zero exit status|calledprocesserror|--cluster |^\s*\S.*[\s'\"]sbatch: error:"
    r'|^traceback \(most recent|^\s*file "[^"]+", line \d'
)


def number(event: Event, group: str) -> int | None:
    """The number in a group of the pattern; None if there is none."""
    text = event.groups.get(group)
    return parse_integer(text) if text else None


def near(event: Event, above: int = 0, below: int = 0) -> str:
    """The message and so many lines above and below it, on one line."""
    return " ".join((event.text, *(event.above[-above:] if above else ()), *event.below[:below]))


def possible(condition: object) -> bool | None:
    """For `Cause.log`: leaves a cause open if a condition holds, and rules it out if not."""
    return None if condition else False


def by_program(event: Event) -> bool | None:
    """For `Cause.log`: confirms that a program submitted the refused job, which is therefore not that of the script.

    Then other output surrounds the message.
    """
    lines = (event.text, *event.above[-12:], *event.below[:4])
    return True if any(map(_WORKFLOW.search, lines)) else None


def says(*words: str) -> Clue:
    """For `Cause.log`: rules a cause out if the message has none of these words."""
    return lambda event: possible(any(each in event.text for each in words))


def says_not(*words: str) -> Clue:
    """For `Cause.log`: rules a cause out if the message has one of these words."""
    return lambda event: possible(not any(each in event.text for each in words))


def matches(pattern: str | re.Pattern[str] | Regex, above: int = 0, below: int = 0) -> Clue:
    """For `Cause.log`: rules a cause out if the expression matches neither the message nor so many lines near it."""
    expression = Regex(pattern) if isinstance(pattern, str) else pattern
    return lambda event: possible(expression.search(near(event, above, below)))


def group_matches(group: str, pattern: str) -> Clue:
    """For `Cause.log`: rules a cause out if the expression does not match the group of the symptom's pattern."""
    expression = Regex(pattern)
    return lambda event: possible(expression.search(event.groups.get(group, "")))


def begins(group: str, *beginnings: str) -> Clue:
    """For `Cause.log`: rules a cause out if the group of the pattern does not begin with one of these."""
    return lambda event: possible(event.groups.get(group, "").startswith(beginnings))
