"""The last iterations get an empty entry: the loop counts past the end of its list.

`${CKPTS[$i]}` counts from 0. In `for i in {0..5}` over a list of four, the fifth and sixth iterations have an empty
name, and `cp -r $OUT/$CKPT` means the whole folder; under `set -e` the first failure ends the job. Lists grow and
shrink, and nobody adjusts the range of the loop. `for i in {1..4}` leaves out the first entry as well.

Nothing is reported where the script reads the length of the list, tests the entry, or leaves the loop early.

## Fix

None: `for i in "${!CKPTS[@]}"` has the right numbers, and `for ckpt in "${CKPTS[@]}"` needs none.

## References

bash(1), "Arrays"; a review of public scripts.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from itertools import islice
from operator import attrgetter
from typing import TypeVar

from sbatchlint.analysis.expansion.reads import enclosing_assignment, guarded_names
from sbatchlint.analysis.script.loops import counted_numbers
from sbatchlint.analysis.script.programs import programs
from sbatchlint.bash.syntax.tree import ArithmeticFor, Assignment, For, Parameter
from sbatchlint.bash.syntax.walk import nodes_of
from sbatchlint.bash.values import Text
from sbatchlint.bash.variables import branches_in
from sbatchlint.check import Bad, Card, Finding, Good, Job, Span
from sbatchlint.source.numbers import parse_integer
from sbatchlint.source.regex import Regex

Named = TypeVar("Named", Assignment, Parameter)

CARD = Card(
    "SB429", "loop-beyond-list", severity="error", fix="never", since="0.1.0", seen="a review of public scripts",
)  # fmt: skip

_INDEX = Regex(r"(?:\$\(\(|\(\(|\$\[)?\s*\$?\{?([A-Za-z_]\w*)\}?\s*(?:([-+])\s*(\d{1,6}))?\s*(?:\)\)|\])?")
_EARLY_EXIT = Regex(r"\b(?:break|continue|exit|return)\b")
_GLOB = Regex(r"[*?[]")
_start = attrgetter("start")


def check(job: Job) -> Iterator[Finding]:
    for text, program in programs(job):
        loops: list[For | ArithmeticFor] = [*nodes_of(program, For), *nodes_of(program, ArithmeticFor)]
        counting_loops = [(loop, numbers) for loop in loops if (numbers := counted_numbers(text, loop)) is not None]
        if not counting_loops:
            continue
        parameters = sorted(nodes_of(program, Parameter), key=_start)
        names_with_length_read = {each.name for each in parameters if each.operator in ("length", "indirect")}
        assignments = sorted(nodes_of(program, Assignment), key=_start)
        for loop, (name, first, last, place) in counting_loops:
            body = text.string[loop.start : loop.end]
            if any(each.name == name for each in _inside(assignments, loop)) or _EARLY_EXIT.search(body):
                continue
            element_reads = [each for each in _inside(parameters, loop) if each.index and not each.operator]
            element_reads = [each for each in element_reads if each.name not in names_with_length_read]
            findings = (_finding(job, text, each, name, first, last, place) for each in element_reads)
            yield from islice(filter(None, findings), 1)


def _inside(nodes: list[Named], loop: For | ArithmeticFor) -> list[Named]:
    """The nodes inside a loop. `nodes` must be sorted by position."""
    return nodes[bisect_right(nodes, loop.start, key=_start) : bisect_left(nodes, loop.end, key=_start)]


def _finding(
    job: Job, text: Text, parameter: Parameter, name: str, first: int, last: int, place: Span
) -> Finding | None:
    """The finding on an element read beyond the end; None if it is not, or unknown."""
    assert parameter.index is not None
    match = _INDEX.fullmatch(text.string[parameter.index.start : parameter.index.end])
    if match is None or match[1] != name:
        return None
    shift = parse_integer(match[3] or "0") * (-1 if match[2] == "-" else 1)
    span = text.span(parameter.start, parameter.end)
    length = _length(job, parameter.name, span)
    if length is None or first + shift < 0 or last < first or last + shift < length:
        return None
    assignment = enclosing_assignment(job, span)
    if assignment is not None and assignment.name in guarded_names(job):
        return None
    first_empty = max(length - shift, first)
    which = f"{first_empty} to {last}" if last > first_empty else f"{first_empty}"
    entries = f"{length} entries, counted from 0" if length != 1 else "one entry, number 0"
    return Finding(
        place,
        f"`{parameter.name}` has {entries}, so {name} = {which} is empty on line {job.line(span.start)}; "
        f'write `for {name} in "${{!{parameter.name}[@]}}"`, or complete the list',
        related=[(span, "the entry that is read")],
    )


def _length(job: Job, name: str, span: Span) -> int | None:
    """The number of entries of a list where one of them is read; None where it is not known."""
    read = next((each for each in job.trace.reads if each.name == name and each.span == span), None)
    if read is None or read.variable is None:
        return None
    if branches_in(read.context.guards):
        return None  # a test decides in which iterations this is read
    alternatives, flags = read.variable.alternatives, read.variable.flags
    if len(alternatives) != 1 or not read.variable.array or "A" in flags or alternatives[0].keys is not None:
        return None
    fields = alternatives[0].fields
    pieces = [piece for field in fields or () for piece in field]
    if not fields or any(each.open or each.text is None or _GLOB.search(each.text) for each in pieces):
        return None
    return len(fields)


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        CKPTS=(
            iter_1000
            iter_2000
        )
        for i in «{0..2}»; do
            srun ./convert "in/${CKPTS[$i]}"
        done
        """
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        seeds=(11 22 33)
        for ((«i = 1; i <= 3; i++»)); do
            srun ./train --seed=${seeds[i]}
        done
        """,
        title="counted from 1",
    ),
    Good("#!/bin/bash\n#SBATCH -N1\nseeds=(11 22)\nfor i in {0..1}; do\n    srun ./train ${seeds[$i]}\ndone\n"),
    Good(
        "#!/bin/bash\n#SBATCH -N1\nseeds=(11 22)\nfor i in {1..2}; do\n    srun ./train ${seeds[$((i - 1))]}\ndone\n",
        title="counts from 1, but reads at i - 1",
    ),
]
