"""Gives a launcher options where its words stand in the file, whatever they stand in: a command, a string, a heredoc.

How many backslashes a `$` needs there is not reckoned but tried: the changed script is evaluated, and a change is good
where the launcher then gets what it was to get.
"""

from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence

from sbatchlint.bash.values import span_of, text_of
from sbatchlint.job import Job, Launch
from sbatchlint.job.launchers import Launcher, Setting
from sbatchlint.job.reevaluation import launches_after
from sbatchlint.source.edits import Edit
from sbatchlint.source.text import Span

Accept = Callable[[Launch], bool]

VERBS = frozenset({"launch", "run"})
# What a `$` may be written as: in a command or single quotes, in double quotes, and in those inside a heredoc.
DOLLARS = ("$", "\\$", "\\\\\\$")


def add_launcher_options(
    job: Job, launch: Launch, options: str, accept: Accept, before: Sequence[Edit] = ()
) -> list[Edit] | None:
    """The edits that give a launcher these options; None where none is found of which `accept` says that they do.

    `options`: as the shell that starts it must read them, words between blanks. `before`: edits that belong to them.
    """
    dollars = DOLLARS if "$" in options else ("$",)
    for place in _places(job, launch):
        for dollar in dollars:
            edits = [*before, Edit(Span(place, place), " " + options.replace("$", dollar))]
            if proven(job, launch, edits, accept):
                return edits
    return None


def replace_words(
    job: Job, launch: Launch, span: Span, content: str, accept: Accept, before: Sequence[Edit] = ()
) -> list[Edit] | None:
    """The edits that put a text in the place of another, so that the launcher gets it."""
    for dollar in DOLLARS if "$" in content else ("$",):
        edits = [*before, Edit(span, content.replace("$", dollar))]
        if proven(job, launch, edits, accept):
            return edits
    return None


def line_before(job: Job, launch: Launch, content: str, also: Iterable[int] = ()) -> Edit | None:
    """A line of its own in front of the statement of the script that starts a launcher, or that holds its words.

    `also`: more places that it has to stand before.
    """
    places = [launch.launcher.span.start]
    places.extend(each.span.start for each in (launch.invocation, *launch.invocation.ancestors()))
    places.extend(also)
    return line_before_statement(job, places, content)


def line_before_statement(job: Job, places: Iterable[int], content: str) -> Edit | None:
    """A line of its own in front of the first statement of the script that holds one of these places, all its own."""
    places = sorted(places)
    if job.is_embedded or places[-1] >= len(job.source.own.text):
        return None
    statements = job.program.statements
    for place in places:
        at = bisect_right(statements, place, key=lambda each: job.span(each.start, each.end).start) - 1
        if at < 0:
            continue
        start, end = job.span(statements[at].start, statements[at].end)
        if place < end:
            line = job.source.line_of(start)
            blanks = job.source.text[line.start : start]
            return None if blanks.strip() else Edit(Span(line.start, line.start), f"{blanks}{content}\n")
    return None


def proven(job: Job, launch: Launch, edits: Sequence[Edit], accept: Accept, start: int | None = None) -> bool:
    """Whether the script, so changed, starts the launcher of the same place as `accept` wants it, and all others too.

    `start`: where the launcher stands then, if it is not where the edits have moved it.
    """
    if start is None:
        old = launch.launcher.span.start
        start = old + sum(len(e.content) - (e.span.end - e.span.start) for e in edits if e.span.end <= old)
    else:
        start += sum(len(e.content) for e in edits if e.span.start == e.span.end and e.span.end <= start)
    found = [each for each in launches_after(job, edits, launch) or () if each.launcher.span.start == start]
    return bool(found) and all(map(accept, found))


def _places(job: Job, launch: Launch) -> list[int]:
    """Where an option may go: behind the one that counts nodes, else behind the launcher's name."""
    launcher = launch.launcher
    found: list[int] = []
    for each in launcher.given:
        field = launcher.argv[each.value_at]
        if each.name in ("nnodes", "num_machines") and field and all(piece.expansion is None for piece in field):
            end = span_of(field).end
            found.append(end + 1 if job.source.text[end : end + 1] in ('"', "'") else end)
    found.append(name_span(launch).end)
    return list(dict.fromkeys(found))


def name_span(launch: Launch) -> Span:
    """The words that name a launcher: `accelerate launch`, `python -m torch.distributed.run`."""
    launcher = launch.launcher
    end = launcher.span.end
    at = launcher.index + 1
    if len(launcher.name.split()) == 2 and at < len(launcher.argv) and text_of(launcher.argv[at]) in VERBS:
        end = max(end, span_of(launcher.argv[at]).end)  # accelerate launch
    return Span(launcher.span.start, end)


def place_of(launcher: Launcher, setting: Setting) -> Span:
    """Where a launcher is told something: its option, with a value that stands right behind it; else the value."""
    if setting.at is None:
        return setting.span
    first = launcher.argv[setting.at][0]
    return Span(first.start, first.end)
