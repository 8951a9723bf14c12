"""A flag is always passed: its variable holds the word false, which counts as set.

`${DEBUG:+--debug}` tests whether DEBUG is empty, not what it holds: with `DEBUG=false`, or 0 or no, the option is
passed in every run.

## Fix

Assigns an empty value instead, `DEBUG=`. Unsafe: something else may read the word.

## References

bash(1), "Parameter Expansion".
"""

from collections.abc import Iterator

from sbatchlint.analysis.expansion.reads import assignments_by_name
from sbatchlint.analysis.script.programs import programs
from sbatchlint.bash.syntax.tree import Literal, Parameter
from sbatchlint.bash.syntax.walk import nodes_of
from sbatchlint.bash.trace import VariableRead
from sbatchlint.bash.values import Pieces, span_of, text_of
from sbatchlint.check import Bad, Card, Finding, Fix, Good, Job, Span, replace
from sbatchlint.job.once import once

CARD = Card(
    "SB423", "false-counts-as-set", severity="warning", fix="always", since="0.1.0", seen="a public script"
)  # fmt: skip

_FALSE = frozenset({"false", "no", "off", "0", "none", "disable", "disabled"})


def check(job: Job) -> Iterator[Finding]:
    seen: set[Span] = set()
    for read in job.trace.reads:
        if read.operator not in (":+", "+") or read.variable is None or read.span in seen:
            continue
        seen.add(read.span)
        value, flag = _false_value(read), _flags(job).get(read.span)
        if value is None or flag is None or _is_emptied(job, read.name):
            continue
        word, place = text_of(value), span_of(value)
        if job.source.slice(place) != word:
            continue  # written in some other way than as one word
        yield Finding(
            read.span,
            f"`{flag}` is passed although {read.name} is {word}: any non-empty value counts as true; leave the "
            "variable empty instead",
            related=[(place, "counts as true")],
            fix=Fix("leave it empty", [replace(place, "")], safe=False),
        )


def _false_value(read: VariableRead) -> Pieces | None:
    """The first possible value of a variable that means no; None where there is none."""
    assert read.variable is not None
    values = [each.fields[0] for each in read.variable.alternatives if each.fields and len(each.fields) == 1]
    return next((value for value in values if (text_of(value) or "").lower() in _FALSE), None)


@once
def _flags(job: Job) -> dict[Span, str]:
    """The flags that are passed if a variable is set, without its value, by the place of the expansion."""
    found = {}
    for text, program in programs(job):
        for node in nodes_of(program, Parameter):
            if node.operator in (":+", "+") and node.arguments and node.index is None:
                parts = node.arguments[0].parts
                words = "".join(each.text for each in parts if isinstance(each, Literal)).strip()
                if words.startswith("-") and all(isinstance(each, Literal) for each in parts):
                    found[text.span(node.start, node.end)] = words
    return found


def _is_emptied(job: Job, name: str) -> bool:
    """Whether an assignment also makes the variable empty, or gives it an unknown value."""
    values = (value for each in assignments_by_name(job).get(name, ()) for value in each.alternatives)
    return any(not value.fields or text_of(value.fields[0]) == "" for value in values)


CASES = [
    Bad(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        PRIVATE=false
        while [ $# -gt 0 ]; do
            case $1 in
                --private) PRIVATE=true ;;
            esac
            shift
        done
        srun python upload.py «${PRIVATE:+--private}»
        """,
        unsafe_fixed={"PRIVATE=false": "PRIVATE="},
    ),
    Good(
        """\
        #!/bin/bash
        #SBATCH --nodes=1
        PRIVATE=
        SEED=0
        srun python upload.py ${PRIVATE:+--private} ${SEED:+--seed $SEED}
        """
    ),
]
