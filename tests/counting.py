"""What code costs, counted in lines that it executes: the same on every machine, however busy."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType
from typing import Literal


def executed_lines(work: Callable[[], object]) -> int:
    """How many lines of Python run in a call; the first call imports modules and fills caches, so count a later one."""
    counted = 0

    def count(frame: FrameType, event: str, argument: object) -> object:
        nonlocal counted
        counted += event == "line"
        return count

    before = sys.gettrace()
    sys.settrace(count)
    try:
        work()
    finally:
        sys.settrace(before)
    return counted


def lines_by_size(work: Callable[[int], object]) -> Callable[[int], int]:
    """How many lines run in work on so much, which has run before on a little."""
    work(10)
    return lambda size: executed_lines(lambda: work(size))


def calls(work: Callable[[], object], kind: Literal["call", "c_call"] = "call") -> int:
    """How many functions some work calls: those written in Python, or with "c_call" the others."""
    counted = 0

    def count(frame: FrameType, event: str, argument: object) -> None:
        nonlocal counted
        counted += event == kind

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        work()
    finally:
        sys.setprofile(before)
    return counted
