"""Branches that no job takes, as the script itself decides their tests: `MODE=train`, and an `if` for other modes."""

from collections.abc import Iterable, Iterator, Sequence

from sbatchlint.bash.syntax.tree import Arithmetic, ArithmeticCommand, Case, Function, If, Parameter, Simple, Statement
from sbatchlint.bash.syntax.walk import nodes_of
from sbatchlint.job import Job
from sbatchlint.job.once import once
from sbatchlint.source.numbers import has_between
from sbatchlint.source.text import Nested, Span


def is_in_idle_branch(job: Job, place: Span) -> bool:
    """Whether a place is in a branch that the script does not take as it stands: whoever edits a switch meets it."""
    return any(_idle_branches(job).around(place))


@once
def _idle_branches(job: Job) -> Nested[bool]:
    if job.limits.exhausted or job.program.errors:
        return Nested([])
    functions = Nested((Span(each.start, each.end), True) for each in nodes_of(job.program, Function))
    ran = sorted([each.span.start for each in job.invocations] + [each.span.start for each in job.assignments])
    commands = sorted(each.start for each in nodes_of(job.program, Simple) if each.words)
    read = sorted((each.start, each.name) for each in nodes_of(job.program, Parameter))
    written = [(each.name, job.source.slice(each.span)) for each in job.assignments]
    switches = {name for name, _ in written} - {name for name, text in written if "$" in text or "`" in text}
    foreign = [start for start, name in read if name not in switches]
    foreign += [each.start for each in nodes_of(job.program, Arithmetic)]
    foreign += [each.start for each in nodes_of(job.program, ArithmeticCommand)]
    foreign.sort()
    found = []
    for tests, bodies in _choices(job):
        if any(has_between(foreign, *test) for test in tests):
            continue  # who submits the job decides it, where it runs, or what it requests
        for place in bodies:
            span = job.span(place.start, place.end)
            if has_between(ran, *span) or not has_between(commands, *place) or any(functions.around(place)):
                continue
            if job.ended is None or place.end <= job.ended:
                found.append((span, True))
    return Nested(found)


def _choices(job: Job) -> Iterator[tuple[list[Span], list[Span]]]:
    """The tests of each statement with branches, and the branches, by their places in the program."""
    for node in nodes_of(job.program, If):
        tests, bodies = [test for test, _ in node.branches], [body for _, body in node.branches]
        yield [*_places(tests)], [*_places([*bodies, node.otherwise or ()])]
    for case in nodes_of(job.program, Case):
        yield [Span(case.word.start, case.word.end)], [*_places(body for _, body, _ in case.items)]


def _places(parts: Iterable[Sequence[Statement]]) -> Iterator[Span]:
    return (Span(each[0].start, each[-1].end) for each in parts if each)
