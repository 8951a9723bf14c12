"""What code costs, counted in lines that it executes: the same on every machine, however busy."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType


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


def called_built_ins(work: Callable[[], object]) -> int:
    """How many functions and methods that are not written in Python some work calls."""
    count = 0

    def watch(frame: FrameType, event: str, argument: object) -> None:
        nonlocal count
        count += event == "c_call"

    before = sys.getprofile()
    sys.setprofile(watch)
    try:
        work()
    finally:
        sys.setprofile(before)
    return count
