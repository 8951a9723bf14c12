"""The loop runs once, with the text `{1..8}`: bash expands braces before variables.

`for i in {1..$N}` looks like eight iterations and is one, in which `$i` is `{1..8}`: files get that name, a program
gets it as its number, and most of the work is not done. The job ends COMPLETED. In `sh`, where it is dash, not even
`{1..8}` is a range. `for sample in samples`, where `$samples` is meant, is one iteration as well, with the name of the
list: reported where the script sets a variable of that name.

## Fix

`$(seq 1 "$N")`, `$samples` or `"${samples[@]}"` in its place. Unsafe, as what ran once runs more often then.

## References

bash(1), "Brace Expansion": performed before any other expansions
"""

from collections.abc import Iterator

from sbatchlint.bash.syntax.tree import ArrayLiteral, Assignment, For, Parameter, Word
from sbatchlint.bash.syntax.walk import nodes_of
from sbatchlint.check import Bad, Card, Finding, Fix, Good, Job, replace
from sbatchlint.job.programs import by_program
from sbatchlint.source.regex import Regex

CARD = Card(
    "SB438", "range-not-expanded", severity="error", fix="always", since="0.1.0", batch=True, seen="bash(1)",
    unseen="One file or one result where many are expected, with `{1..8}` in its name.",
)  # fmt: skip

# What reads a variable by its name.
_NAMING = frozenset({"eval", "declare", "typeset", "local"})
# A range with a variable as one of its ends, as a whole word.
_END = r"([\w-]+|\$\w+|\$\{\w+\}|\$\(\([^()]*\)\)|\$\[[^\[\]]*\])"
_RANGE = Regex(rf"\{{{_END}\.\.{_END}\}}")


def check(job: Job) -> Iterator[Finding]:
    if job.interpreter_line[0] not in ("bash", "sh"):
        return  # zsh and ksh expand variables in braces
    string = job.text.string
    assigned: dict[str, list[Assignment]] = {}
    for assignment in nodes_of(job.program, Assignment):
        assigned.setdefault(assignment.name, []).append(assignment)
    for loop in nodes_of(job.program, For):
        yield from _name_of_list(job, loop, assigned)
        for word in loop.words or ():
            match = _RANGE.fullmatch(string, word.start, word.end) if isinstance(word, Word) else None
            if match is None or "$" not in match[0]:
                continue
            instead = f"$(seq {match[1]} {match[2]})"
            span = job.span(word.start, word.end)
            yield Finding(
                span,
                f"bash does not expand variables in `{match[0]}`, so the loop runs once, with this text; "
                f"write `{instead}`",
                fix=Fix(f"write {instead}", [replace(span, instead)], safe=False),
            )


def _name_of_list(job: Job, loop: For, assigned: dict[str, list[Assignment]]) -> Iterator[Finding]:
    """`for x in xs`, where `xs` is a variable. `assigned`: the assignments by name."""
    if loop.words is None or len(loop.words) != 1:
        return
    span = job.span(loop.words[0].start, loop.words[0].end)
    name = job.text.string[loop.words[0].start : loop.words[0].end]
    if not name.isidentifier() or name == loop.name:
        return
    lists = [each for each in assigned.get(name, ()) if each.start < loop.start]
    uses = [each for each in nodes_of(loop.body, Parameter) if each.name == loop.name]
    if not lists or not uses or any(each.operator in ("indirect", "prefix") for each in uses):
        return
    if not _NAMING.isdisjoint(by_program(job)):
        return  # the name may be meant
    array = any(isinstance(each.value, ArrayLiteral) for each in lists)
    instead = f'"${{{name}[@]}}"' if array else f"${name}"
    filled, listed = any(map(_holds_something, lists)), job.span(lists[-1].start, lists[-1].end)
    advice = f"write `{instead}`"
    if not filled:
        advice += f", and fill in the list on line {job.line(listed.start)}"
    yield Finding(
        span,
        f"the loop runs once, for the word `{name}`, not for the values of `${name}`; {advice}",
        related=[(listed, "the variable" if filled else "empty")],
        fix=Fix(f"write {instead}", [replace(span, instead)], safe=False) if filled else None,
    )


def _holds_something(assigned: Assignment) -> bool:
    """Whether an assignment may give a list an element: not `samples=` or `samples=()`."""
    value = assigned.value
    if isinstance(value, ArrayLiteral):
        return bool(value.elements)
    return value is not None and value.end - value.start > 0


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        N=8
        for i in «{1..$N}»; do
            srun ./solver "$i"
        done
        """,
        unsafe_fixed={"{1..$N};": "$(seq 1 $N);"},
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=4
        for rank in «{0..$((SLURM_NNODES-1))}»; do
            srun --nodes=1 ./worker "$rank" &
        done
        wait
        """,
        unsafe_fixed={"{0..$((SLURM_NNODES-1))};": "$(seq 0 $((SLURM_NNODES-1)));"},
        title="a number of nodes",
    ),
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        samples="a b c"
        for sample in «samples»; do
            srun ./align "$sample"
        done
        """,
        unsafe_fixed={"samples;": "$samples;"},
        title="the name of a list",
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        for i in {1..8} $(eval echo "{1..$N}"); do
            srun ./solver "$i"
        done
        """
    ),
]
