"""Variables in which a script counts the commands that failed: `if ! wait "$p"; then ((failed++)); fi`."""

from collections.abc import Iterable, Iterator, Sequence

from sbatchlint.bash.syntax.tree import AndOr, ArithmeticCommand, Group, If, Pipeline, Statement
from sbatchlint.bash.syntax.walk import nodes_of
from sbatchlint.job import Job
from sbatchlint.source.regex import Regex
from sbatchlint.source.text import Span

_COUNTS = Regex(r"\(\(\s*(?:\+\+\s*([A-Za-z_]\w*)|([A-Za-z_]\w*)\s*(?:\+\+|\+=\s*1))\s*\)\)")


def failure_counter(job: Job, place: Span) -> str | None:
    """The variable that is incremented where a test fails, which is an `if`'s, or what stands after `||`, at a place.

    None where it does not hold the failures of all of the job: it begins again in a loop, or begins nowhere.
    """
    for statements in _failing(job, place):
        for statement in _flat(statements):
            found = _COUNTS.fullmatch(job.source.slice(job.span(statement.start, statement.end)))
            name: str | None = (found[1] or found[2]) if found is not None else None
            begins = [each for each in job.assignments if each.name == name]
            if name is not None and len(begins) == 1 and job.source.slice(begins[0].span) == f"{name}=0":
                context = begins[0].context
                if not (context.loops or context.calls or context.parent or context.shell.depth):
                    return name
    return None


def _failing(job: Job, place: Span) -> Iterator[Sequence[Statement]]:
    """What runs where the test at a place shows a failure."""
    for choice in nodes_of(job.program, If):
        condition, body = choice.branches[0]
        if condition and job.span(condition[-1].start, condition[-1].end) == place:
            test = condition[-1]
            yield body if isinstance(test, Pipeline) and test.negated else choice.otherwise or ()
    for chain in nodes_of(job.program, AndOr):
        if chain.operator == "||" and job.span(chain.right.start, chain.right.end) == place:
            yield (chain.right,)


def _flat(statements: Iterable[Statement]) -> Iterator[ArithmeticCommand]:
    """The `((…))` among statements, also in `{ … }`, and before the `|| true` that `set -e` wants."""
    for each in statements:
        if isinstance(each, Group) and not each.subshell:
            yield from _flat(each.body)
        elif isinstance(each, AndOr):
            yield from _flat((each.left,))
        elif isinstance(each, ArithmeticCommand):
            yield each
