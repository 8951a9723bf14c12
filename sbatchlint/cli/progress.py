"""Says on a terminal how far a long run is."""

import sys
import time
from collections.abc import Iterable, Iterator
from typing import TypeVar

Item = TypeVar("Item")

# A run that ends before says nothing; the line is written again as often.
FIRST, AGAIN = 1.0, 0.1


def with_progress(items: Iterable[Item], total: int | None, begun: float) -> Iterator[Item]:
    """Passes the items on; from one second on, a line on standard error counts them, and goes when they are done.

    `total`: how many scripts there are; None while they are looked for among files. `begun`: when the run began, by
    `time.monotonic`: to look for scripts may take a while, too.
    """
    out = sys.stderr
    due = begun + FIRST
    written = False
    try:
        for number, item in enumerate(items, 1):
            yield item
            if time.monotonic() >= due:
                out.write(f"\r{number:,} files looked at" if total is None else f"\r{number:,} of {total:,} scripts")
                out.flush()
                written = True
                due = time.monotonic() + AGAIN
    finally:
        if written:
            out.write("\r\x1b[K")
            out.flush()
