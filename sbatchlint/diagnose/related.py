"""The places in a script that are related to a message without being its cause: what it names, or what printed it."""

from collections.abc import Iterator, Sequence

from sbatchlint.bash.trace import Invocation
from sbatchlint.bash.values import shown_text, text_of
from sbatchlint.diagnose.evidence import options
from sbatchlint.diagnose.installed import bringing
from sbatchlint.diagnose.subjects import named, related_options, runs, working
from sbatchlint.diagnose.symptom import Event, Shown, Where
from sbatchlint.diagnose.symptoms.shell import row_named
from sbatchlint.diagnose.traceback import files
from sbatchlint.job import Job
from sbatchlint.source.regex import Regex
from sbatchlint.source.text import Span

# Of more commands than this it is unknown which failed.
MOST_STARTED = 2
# Shorter names of modules occur in other words by chance.
_SHORTEST_MODULE = 3
_WORDS = Regex(r"[a-z][a-z\d_+-]*")
# A release at the end of a name in a path: `matlab2021b`, `gcc11`.
_RELEASE = Regex(r"\d[a-z\d]*$")
# Messages about software that does not fit: what brings it into the job is looked at, too.
_OF_SOFTWARE = Regex(
    r"(?i)ImportError|ModuleNotFound|cannot import|GLIBC|CXXABI|shared object|shared librar|undefined symbol"
    r"|no package called|namespace|driver|(?:compiled|built|linked) (?:with|for|against|using|under)|site-packages"
    r"|version mismatch|requires? (?:python|cuda|java|R )\b"
)


def related_places(jobs: Sequence[Job], event: Event, where: Where) -> tuple[Span, ...]:
    """The places of the script that are related to an event, as far as the log shows that; else empty."""
    return next(filter(None, (places for job in jobs for places in _places(job, event, where))), ())


def _places(job: Job, event: Event, where: Where) -> Iterator[tuple[Span, ...]]:
    for question in (row_named, named):
        verdict = question(job, event)
        if isinstance(verdict, Shown):
            yield verdict.spans
    directives = () if where in ("code", "data", "cluster") else options(job, *related_options(event))
    printed = runs(job, event)
    if isinstance(printed, Shown):
        started = printed.spans
    else:  # a fault of the cluster does not depend on what the script starts
        started = _started(job, event) if where != "cluster" else ()
    yield tuple(dict.fromkeys(directives + (_modules(job, event) or _brings(job, event)) + started))


def _brings(job: Job, event: Event) -> tuple[Span, ...]:
    """What brings the software of the job, where a message says that software does not fit."""
    near = " ".join((event.text, *event.above[-2:]))
    return bringing(job) if _OF_SOFTWARE.search(near) else ()


def _started(job: Job, event: Event) -> tuple[Span, ...]:
    """The commands that may have printed a message: those with a file of its traceback, else those that do the work."""
    traced = _spans([each for each in job.invocations if not each.kind and _of_traceback(each, event)])
    if traced:
        return traced
    work = working(job)
    heaviest = max((its for its, _ in work), default=None)
    return _spans([each for its, each in work if its is heaviest])


def _modules(job: Job, event: Event) -> tuple[Span, ...]:
    """The commands that load a module named in the message or the lines around it."""
    words = _WORDS.findall(" ".join((event.text, *event.above[-6:], *event.below)).lower())
    near = frozenset(words) | {_RELEASE.sub("", each) for each in words}
    return tuple(
        command.span
        for command in job.invocations
        if command.name in ("module", "ml")
        for word in command.argv[1:]
        if _name_of_module(shown_text(word)) in near
    )


def _name_of_module(word: str) -> str:
    name = word.partition("/")[0].lower()
    return name if len(name) >= _SHORTEST_MODULE and name != "load" else ""


def _of_traceback(command: Invocation, event: Event) -> bool:
    """Whether a command names a file of the traceback that ends in the event."""
    names = files(event.above)
    return bool(names) and any(
        text.rpartition("/")[2] in names
        for descendant in (command, *command.descendants())
        for text in map(text_of, descendant.argv)
        if text
    )


def _spans(commands: list[Invocation]) -> tuple[Span, ...]:
    spans = tuple(dict.fromkeys(each.span for each in commands))
    return spans if len(spans) <= MOST_STARTED else ()
