"""Lines of a script that were meant to ask for something, and of which sbatch does not read all.

What they would have asked for, the job has not; but the fault to report is the one that keeps it from being read.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from sbatchlint.analysis.directives.continuations import continuations
from sbatchlint.analysis.directives.invisible_characters import invisible_characters
from sbatchlint.analysis.directives.near_misses import near_misses
from sbatchlint.analysis.directives.typos import swallowed
from sbatchlint.slurm.lines import magic_of

if TYPE_CHECKING:
    from sbatchlint.slurm.directives import Directives

# Misses that sbatch reads all the same.
_READ = ("old-word", "banner", "bare")


def lost_lines(directives: "Directives") -> Iterator[str]:
    """The text of each: a directive with a fault in it, one that is not read, and what was meant for one."""
    string = directives.text.string
    faulty = {problem.line.start for problem in directives.problems}
    for line in directives.lines:
        if line.start in faulty or line.fault is not None or line.dropped is not None:
            yield string[line.start : line.end]
        elif line.comment is not None and magic_of(string, line.comment_start) is not None:
            yield string[line.comment_start : line.end]
    for line in directives.unread:
        yield string[line.start : line.end]
    for miss in near_misses(directives):
        if miss.kind not in _READ:
            yield string[miss.start : miss.last]
    for each in continuations(directives):
        for piece in each.pieces:
            yield string[piece.start : piece.end]
    for setting in directives.settings:
        token, line = setting.value_token, setting.line
        if line.comment is not None and (swallowed(setting) or token is not None and token.end == line.comment_start):
            yield string[setting.token.start : line.end]
    for found in invisible_characters(directives):
        end = string.find("\n", found.start)
        yield string[found.start : end if end >= 0 else len(string)]
