"""What a process complained of before its end, in words of no known symptom."""

import re

from sbatchlint.diagnose.symptom import Event
from sbatchlint.diagnose.symptoms import symptoms
from sbatchlint.source.regex import Regex

# Words that make a line a complaint, whichever program prints it.
_COMPLAINT = Regex(
    r"(?i)(?<![\w=/.-])(?:not|no|never|cannot|can't|couldn't|doesn't|isn't|unable|missing|lacks?|without|wrong|bad|illegal"
    r"|invalid|unknown|unexpected|undefined|unsupported|inconsistent|incompatible|mismatch\w*|corrupt\w*|fail(?:s|ed|ure)?"
    r"|errors?|abort\w*|stop(?:ped|ping|s)?|exit(?:ed|ing)?|halt\w*|exceed\w*|too|must|should|requires?|required|needs?"
    r"|expect\w*|denied|refused|lost|overflow|diverg\w*|nan|killed|terminat\w*|problem|out of)(?![\w=/])"
)
# Words that a program prints only if it failed.
FAILURE = Regex(
    r"(?i)(?<![\w=/.-])(?<!no )(?<!0 )(?<!zero )(?<!without )(?:aborted|killed|crashed|refused|denied|died"
    r"|lost (?:the )?(?:connection|contact))(?![\w=/])"
)
# Words that only say that the program ends.
_ENDS = Regex(
    r"(?i)^\W*(?:(?:fatal )?errors? (?:detected|occurred|found)\b.*|(?:(?:the )?(?:program|run|job|simulation|model"
    r"|code|process|now|is) )*(?:abort|stop|exit|terminat|halt)\w*(?: .{0,60})?)$"
)
# Lines that launchers and Slurm print themselves, and lines without words, such as rules.
_NOT_OF_PROGRAM = re.compile(r"^\W*$|^(?:srun|slurmstepd|slurmd|mpirun|mpiexec|prterun|orterun)[:\[ ]|^=  |^\*{3} ")
# The maximum number of lines in a complaint.
_MOST_LINES = 4


def last_complaint(end: Event, words: Regex = _COMPLAINT) -> Event | None:
    """The first line of the last complaint before a process ended, as an event; None if there is none."""
    lines = [each for each in end.output if not _NOT_OF_PROGRAM.search(each[2])]
    while lines and not words.search(lines[-1][2]):
        lines.pop()
        if len(lines) + _MOST_LINES < len(end.output):
            break
    run: list[tuple[int, str, str]] = []
    for line in reversed(lines):
        if len(run) == _MOST_LINES or not words.search(line[2]):
            break
        run.append(line)
    run.reverse()
    while len(run) > 1 and _ENDS.search(run[0][2]):
        run.pop(0)
    if not run:
        return None
    row, label, text = run[0]
    event = Event(symptoms()["last-words"], text, {}, end.path, row, end.offset, end.file, label)
    event.early, event.symptoms, event.account = end.early, end.symptoms, end.account
    event.above = tuple(other for at, _, other in end.output if at < row)
    event.below = tuple(other for at, _, other in end.output if at > row)
    return event
