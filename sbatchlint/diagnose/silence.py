"""Whether a job printed nothing for a long time before it was cancelled, which usually means that it hung."""

import re
from datetime import datetime

from sbatchlint.diagnose.clues import possible
from sbatchlint.diagnose.symptom import Event

# A shorter silence may be work: an epoch, a checkpoint, a large file.
LONG_MINUTES = 20
# The clocks of a container and its node may differ by a multiple of half an hour, so such a gap is not evidence.
_NEAR_HOUR_MINUTES = 3

_AT = re.compile(r"CANCELLED AT (\d{4}-\d\d-\d\d)T(\d\d:\d\d:\d\d)")


def silent(event: Event) -> bool | None:
    """For `Cause.log`: rules a cause out unless the log shows a long silence."""
    return possible(_silence(event))


def not_silent(event: Event) -> bool | None:
    """For `Cause.log`: rules a cause out if the log shows a long silence."""
    return False if _silence(event) else None


def _silence(event: Event) -> bool:
    match = _AT.search(event.text)
    if match is None or len(event.before) < 19:
        return False
    # the line's own time is of the same clock as that of the line before it, which that of Slurm need not be
    same_clock = event.time != event.before and len(event.time) >= 19
    try:
        last = datetime.fromisoformat(event.before[:19])
        end = datetime.fromisoformat(event.time[:19] if same_clock else f"{match[1]} {match[2]}")
    except ValueError:
        return False
    minutes = (end - last).total_seconds() / 60
    rest = minutes % 30
    is_offset = not same_clock and minutes > 30 - _NEAR_HOUR_MINUTES and min(rest, 30 - rest) < _NEAR_HOUR_MINUTES
    return minutes >= LONG_MINUTES and not is_offset
