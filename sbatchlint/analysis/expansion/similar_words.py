"""Words of a script that differ in a variable only."""

from sbatchlint.analysis.expansion.nobody_sets import set_names
from sbatchlint.bash.trace import VariableRead
from sbatchlint.job import Job
from sbatchlint.job.once import once
from sbatchlint.slurm.edit_distance import edit_distance
from sbatchlint.source.regex import Regex
from sbatchlint.source.text import Span

# The text of a word before and after a variable.
_WORD_BEFORE = Regex(r"([\w.${}-]*)\Z")
_WORD_AFTER = Regex(r"[\w./-]+")
_VARIABLE_IN_WORD = Regex(r"(\$\{?(\w++)\}?)([\w./-]+)")
_SHORTEST_PATH = 5  # of a path after a variable that tells which one was meant: `$BIN/mdrun`
# Places with the same after a variable that are compared.
_MOST_ALIKE = 50


def in_same_word(job: Job, read: VariableRead) -> Span | None:
    """Where the same word occurs with a similar variable that is set: a file's name that was meant to be the same."""
    text, (start, end) = job.source.text, read.span
    before, after = _WORD_BEFORE.search(text[max(start - 200, 0) : start]), _WORD_AFTER.match(text, end)
    if before is None or after is None or min(len(after[0]), len(read.name)) < 2:
        return None
    if len(before[1]) < 2 and (before[1] or after[0][0] != "/" or len(after[0]) < _SHORTEST_PATH):
        return None
    for (name, _), span in _places_before(job).get(after[0], {}).items():
        if name != read.name and text.endswith(before[1], 0, span.start) and edit_distance(name, read.name) <= 2:
            return span
    return None


@once
def _places_before(job: Job) -> dict[str, dict[tuple[str, str], Span]]:
    """The first places of variables that are set before each text that goes on their words.

    By their names, and by what is before them.
    """
    found: dict[str, dict[tuple[str, str], Span]] = {}
    text = job.source.text
    for match in _VARIABLE_IN_WORD.finditer(text):
        alike = found.setdefault(match[3], {})
        if match[2] in set_names(job) and len(alike) < _MOST_ALIKE:
            before = _WORD_BEFORE.search(text[max(match.start() - 200, 0) : match.start()])
            assert before is not None
            alike.setdefault((match[2], before[1]), Span(match.start(1), match.end(1)))
    return found
