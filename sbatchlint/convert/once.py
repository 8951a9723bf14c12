"""The commands that a script runs once, on the first node, and has to run once after the conversion."""

from collections.abc import Iterable, Iterator

from sbatchlint.analysis.editing.words import reaches_only
from sbatchlint.bash.syntax.tree import If
from sbatchlint.bash.syntax.walk import nodes_of
from sbatchlint.bash.trace import Invocation
from sbatchlint.bash.values import Phase, shown_text
from sbatchlint.job import Job
from sbatchlint.job.launchers import is_python
from sbatchlint.job.steps import enclosing_step
from sbatchlint.source.edits import Edit, insert
from sbatchlint.source.text import Span

# Commands that bring data or an environment to each node, which a conversion may start there on purpose.
_OF_NODES = frozenset({
    "cp", "curl", "chmod", "git", "gunzip", "gzip", "install", "ln", "mkdir", "mv", "pigz", "rm", "rsync", "tar",
    "touch", "unpigz", "unsquashfs", "unzip", "uv", "wget", "zstd",
})  # fmt: skip

# Commands that show something of a node, which does no harm on each.
_SHOWING = frozenset({"date", "echo", "env", "hostname", "nvidia-smi", "printenv", "rocm-smi", "true"})
_GEOMETRY = ("nodes", "ntasks", "ntasks-per-node", "nodelist")


def single_steps(before: Job, job: Job, keep: Iterable[int] = ()) -> tuple[list[Edit], list[str]]:
    """The edits that keep steps of one task to one where the job gets several nodes, and to-dos for others.

    `before`: the job with its old option block, of which the steps with the indexes `keep` are to grow.
    """
    kept, text = set(keep), job.source.own.text
    launching = {id(each.step.invocation) for each in before.launches if each.step is not None}
    found: dict[Span, list[Invocation]] = {}
    for number, step in enumerate(before.steps):
        programs = [each for each in step.program if not each.children]
        if (
            number in kept
            or step.all_tasks != 1
            or id(step.invocation) in launching
            or not step.certain
            or not programs
        ):
            continue
        if any(name in step.options for name in _GEOMETRY) or {each.name for each in programs} <= _OF_NODES | _SHOWING:
            continue
        found.setdefault(step.invocation.name_span, []).append(step.invocation)
    edits, todos = [], []
    for span, commands in found.items():
        if text[span.start : span.end] == "srun" and reaches_only(before, span.start, commands):
            edits.append(insert(span.end, " --nodes=1 --ntasks=1"))
        else:
            line = before.line(commands[0].span.start)
            todos.append(f"write --nodes=1 --ntasks=1 to the srun of line {line}, whose program runs once now")
    return edits, todos


def branches_without(job: Job, starts: Iterable[Invocation]) -> Iterator[str]:
    """To-dos for programs of the first node alone that a test may choose in the place of a launcher."""
    places = [each.span.start for each in starts]
    programs = [each for each in job.invocations if each.phase is Phase.BATCH and each.argv and is_python(each.argv[0])]
    programs = [each for each in programs if each.context.conditional and enclosing_step(each.context) is None]
    for choice in nodes_of(job.program, If) if programs else ():
        bodies = [body for _, body in choice.branches] + [choice.otherwise or ()]
        spans = [job.span(body[0].start, body[-1].end) for body in bodies if body]
        chosen = [span for span in spans if any(span.start <= each < span.end for each in places)]
        for each in programs:
            own = [span for span in spans if span.start <= each.span.start < span.end]
            if chosen and own and own[0] not in chosen:
                yield (
                    f"see which branch is taken with one GPU on a node: on line {job.line(each.span.start)} "
                    f"{each.name} starts its program on the first node alone"
                )


def _words(command: Invocation) -> tuple[str, ...]:
    return tuple(map(shown_text, command.argv))


def commands_once(job: Job) -> frozenset[tuple[str, ...]]:
    """The words of the commands of the batch shell that start none of the processes."""
    starting = set()
    for launch in job.launches:
        starting |= {id(each) for each in (launch.invocation, *launch.invocation.ancestors())}
    return frozenset(
        _words(each)
        for each in job.invocations
        if each.phase is Phase.BATCH and each.argv and each.context.parent is None and id(each) not in starting
    )


def spread(job: Job, before: frozenset[tuple[str, ...]]) -> Iterator[str]:
    """The faults by which a command that ran once would run in every task."""
    if not before:
        return
    still = commands_once(job)
    for command in job.invocations:
        if command.phase is not Phase.TASK or not command.argv or command.name in _OF_NODES:
            continue
        words = _words(command)
        step = enclosing_step(command.context)
        if words in before and words not in still and step is not None and step.invocation is command.context.parent:
            yield f"{command.name} on line {job.line(command.span.start)} would run in every task"
