"""How long a job ran, by the times in its logs."""

from collections.abc import Sequence
from datetime import datetime

from sbatchlint.diagnose.lines import read_line

# The bytes at the beginning and at the end of a log that are searched for times.
_SEARCHED = 32 << 10
_SECONDS = 3600


def hours_in(paths: Sequence[str]) -> float | None:
    """The hours between the first and the last time in these logs; None where fewer than two have a date."""
    times = [each for path in paths if path != "-" for each in _times(path)]
    if len(times) < 2 or max(times) == min(times):
        return None
    return round((max(times) - min(times)).total_seconds() / _SECONDS, 3)


def _times(path: str) -> list[datetime]:
    found: list[datetime] = []
    try:
        with open(path, "rb") as file:
            begin = file.read(_SEARCHED)
            file.seek(max(file.seek(0, 2) - _SEARCHED, 0))
            end = file.read()
    except OSError:
        return found
    for lines in (begin.split(b"\n"), reversed(end.split(b"\n"))):
        for raw in lines:
            time = read_line(raw[:400]).time
            if len(time) >= len("2026-01-01 00:00:00"):
                try:
                    found.append(datetime.fromisoformat(time[:19]))
                except ValueError:
                    continue
                break
    return found
