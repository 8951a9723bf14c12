"""Whether a job printed nothing for long before it was ended: then it hung, as a rule."""

import re
from datetime import datetime

from sbatchlint.diagnose.asking import possible
from sbatchlint.diagnose.symptom import Event

# A shorter silence is work: an epoch, a checkpoint, a large file.
LONG_MINUTES = 20
# Clocks of a container and of its node differ by whole hours, so that a gap of such a size says nothing.
_NEAR_HOUR_MINUTES = 3

_AT = re.compile(r"CANCELLED AT (\d{4}-\d\d-\d\d)T(\d\d:\d\d:\d\d)")


def silent(event: Event) -> bool | None:
    """For `Cause.log`: rules a cause out where the log does not show that nothing was printed for long."""
    return possible(_silence(event))


def not_silent(event: Event) -> bool | None:
    """For `Cause.log`: rules a cause out where the log shows that nothing was printed for long."""
    return False if _silence(event) else None


def _silence(event: Event) -> bool:
    match = _AT.search(event.text)
    if match is None or len(event.time) < 19:
        return False
    try:
        last = datetime.fromisoformat(event.time[:19])
        end = datetime.fromisoformat(f"{match[1]} {match[2]}")
    except ValueError:
        return False
    minutes = (end - last).total_seconds() / 60
    beside = minutes % 30
    whole = minutes > 30 - _NEAR_HOUR_MINUTES and min(beside, 30 - beside) < _NEAR_HOUR_MINUTES
    return minutes >= LONG_MINUTES and not whole
