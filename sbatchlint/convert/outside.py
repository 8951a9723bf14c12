"""What decides from outside of a script how many processes it starts: arguments, variables, and tests on them."""

from collections.abc import Iterable, Iterator

from sbatchlint.bash.values import expansions
from sbatchlint.bash.variables import branches_in
from sbatchlint.convert.starts import Start, workers_of
from sbatchlint.job import Job, Launch
from sbatchlint.source.regex import Regex

_ASKED = Regex(r"\$\{?(\w+|[#@*])")
_COUNTS = ("nproc_per_node", "num_processes", "num_gpus", "np")


def counted_by(job: Job, starts: list[Start]) -> str:
    """The unknown variable or argument that sets the number of processes of a launcher, as a clause; "" if none."""
    for launch, name in _counts(starts):
        what = "an argument of the script" if name.isdigit() else name
        return f", as line {job.line(launch.launcher.span.start)} takes it from {what}"
    return ""


def by_argument(job: Job, starts: list[Start], gpus: int) -> Iterator[str]:
    """To-dos for launchers that only some arguments of the script start, of which one is the number of processes."""
    for launch, name in _counts(starts):
        if name.isdigit() and launch.invocation.context.conditional and not _asks_others(launch, name):
            line = job.line(launch.launcher.span.start)
            yield f"submit it with {gpus} as argument {name}: it decides whether line {line} is reached"


def _asks_others(launch: Launch, argument: str) -> bool:
    """Whether the tests before a launch ask for other arguments only."""
    tests = [str(key[1]) for key, _ in branches_in(launch.invocation.guards)]
    asked = [set(_ASKED.findall(each)) for each in tests]
    return bool(asked) and all(each and argument not in each and all(map(str.isdigit, each)) for each in asked)


def by_count(job: Job, launches: Iterable[Launch]) -> Iterator[str]:
    """To-dos for launchers that a test may leave out where it counts one GPU, as they do."""
    for launch in launches:
        told = any(each.name in _COUNTS for each in launch.launcher.all_options)
        if told and launch.invocation.context.conditional and workers_of(launch) is None:
            line = job.line(launch.launcher.span.start)
            yield f"see that line {line} is reached with one GPU on a node: a test before it decides"


def _counts(starts: list[Start]) -> Iterator[tuple[Launch, str]]:
    """The launches whose number of processes an unknown variable or argument sets, with its name."""
    for launch in (each.launch for each in starts if each.launch is not None):
        for option in launch.launcher.all_options:
            names = [each.name for each in expansions(option.value or ()) if each.name]
            if names and option.name in _COUNTS:
                yield launch, names[0]
