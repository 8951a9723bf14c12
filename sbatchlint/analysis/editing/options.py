"""Adds, removes and replaces options of a script's commands, wherever their words are in the file.

The words of an srun may be on its own line, in an array, or in a string: where an option goes follows from the syntax.
Those of a launcher may be in strings that shells parse several times: how many backslashes a `$` needs there is not
computed but tried, and proven by evaluating the changed script.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Collection, Iterable, Sequence

from sbatchlint.analysis.editing.words import Place, reaches_only, words_of
from sbatchlint.bash.syntax.tree import Simple, Word
from sbatchlint.bash.syntax.walk import nodes_of
from sbatchlint.bash.trace import Invocation
from sbatchlint.bash.values import Pieces, shown_text, span_of, text_of
from sbatchlint.diagnostics import Fix
from sbatchlint.job import Job, Launch
from sbatchlint.job.argv import is_plain
from sbatchlint.job.launchers import Launcher, Setting
from sbatchlint.job.once import once
from sbatchlint.job.reevaluation import launches_after
from sbatchlint.job.srun import StepOption
from sbatchlint.job.steps import Step
from sbatchlint.source.edits import Edit, insert
from sbatchlint.source.text import Span

Accept = Callable[[Launch], bool]

VERBS = frozenset({"launch", "run"})
# How a `$` is written: in a command or single quotes, in double quotes, and in double quotes within a heredoc.
DOLLARS = ("$", "\\$", "\\\\\\$")
_SPACES = (" ", "\t")
_CLOSING = ('"', "'", ")")

# --- steps ---------------------------------------------------------------------------------------------


@once
def _unseen_steps(job: Job) -> bool:
    """Whether the script has an srun that was never found to run, as in a function that is never called."""
    seen = {each.span.start for each in job.invocations}
    for command in nodes_of(job.program, Simple):
        if command.words and isinstance(command.words[0], Word):
            first = command.words[0]
            if (
                job.text.string[first.start : first.end] == "srun"
                and job.span(first.start, first.end).start not in seen
            ):
                return True
    return False


def knows_all_steps(job: Job) -> bool:
    """Whether every srun of the script was found, with all its options."""
    return all(step.certain for step in job.steps) and not _unseen_steps(job)


def add_step_option(
    job: Job, steps: Iterable[Step], option: str, after: Collection[str] = (), *, as_in_file: bool = False
) -> list[Edit] | None:
    """The edits that add an option (as the job's shell must see it, or as it is written in the file) to these steps.

    It goes after a step's last option whose name is in `after`, else after the word `srun`. None where a step has no
    place for it, or where other commands would get it too. Its dollars are escaped where an outer shell expands them.
    """
    if "$" in option and not as_in_file and job.directives_expand:
        if job.outer is None or job.outer.directives_expand:
            return None
        option = option.replace("$", "\\$")
    groups: dict[int, list[Step]] = {}
    for step in steps:
        groups.setdefault(step.invocation.span.start, []).append(step)
    wanted = [step.invocation for group in groups.values() for step in group]
    plain = is_plain(option)
    for own_only in (False, True):
        places: dict[int, Place] = {}
        for group in groups.values():
            place = _place(job, group, after, plain, own_only, wanted)
            if place is None:
                return None
            places[place.offset] = place
        starts = sorted(place.start for place in places.values())
        if all(_count_within(step, starts) == 1 for group in groups.values() for step in group):
            return [insert(at, place.separator + option) for at, place in sorted(places.items())]
    return None


def with_step_option(
    job: Job, steps: Iterable[Step], option: str, title: str, after: Collection[str] = (), *, safe: bool = False
) -> Fix | None:
    """The fix that adds an option to these steps, as `add_step_option` does; None where that gives no edits."""
    edits = add_step_option(job, steps, option, after)
    return None if edits is None else Fix(title, edits, safe)


def remove_step_option(job: Job, step: Step, option: StepOption) -> Edit | None:
    """The edit that removes an option of a step; None where its words are not known, or reach other commands too."""
    start, command = option.span.start, step.invocation
    found = words_of(job).removal(start, option.value_word != option.word, command.span)
    if found is None or found[1] and not reaches_only(job, start, [command]):
        return None
    return Edit(found[0], "")


def _place(
    job: Job, group: list[Step], after: Collection[str], plain: bool, own_only: bool, wanted: list[Invocation]
) -> Place | None:
    words, command = words_of(job), group[0].invocation

    def fits(place: Place | None) -> bool:
        return (
            place is not None
            and (plain or not place.in_string)
            and (not place.shared or reaches_only(job, place.start, wanted))
        )

    for option in reversed(group[0].all_options):
        if option.name in after and all(_has(step, option) for step in group[1:]):
            place = words.after_option(option.span.start, option.value_word != option.word, command.span)
            if place is not None and fits(place) and not (place.shared and own_only):
                return place
    if job.source.slice(command.name_span) != "srun":
        return None
    place = words.after_option(command.name_span.start, False, command.span)
    return place._replace(separator=" ") if place is not None and fits(place) else None


def _has(step: Step, option: StepOption) -> bool:
    return any(each.name == option.name and each.span.start == option.span.start for each in step.all_options)


def _count_within(step: Step, starts: list[int]) -> int:
    """How many of these sorted offsets lie in this step's words."""
    first, last = starts[0], starts[-1]
    pieces = [each for field in step.invocation.argv for each in field if each.start <= last and first < each.end]
    ranges = (range(bisect_left(starts, each.start), bisect_left(starts, each.end)) for each in pieces)
    return len({at for each in ranges for at in each})


# --- launchers -----------------------------------------------------------------------------------------


def add_launcher_options(
    job: Job, launch: Launch, options: str, title: str, accept: Accept, before: Sequence[Edit] = (), safe: bool = False
) -> Fix | None:
    """The fix that adds options to a launcher; None where `accept` rejects every launch that results.

    `options`: as the shell that starts the launcher must see them. `before`: further edits that the options need.
    """
    dollars = DOLLARS if "$" in options else ("$",)
    for place in _places(job, launch):
        for dollar in dollars:
            edits = [*before, insert(place, " " + options.replace("$", dollar))]
            if is_proven(job, launch, edits, accept):
                return Fix(title, edits, safe)
    return None


def replace_words(
    job: Job, launch: Launch, span: Span, content: str, title: str, accept: Accept, before: Sequence[Edit] = ()
) -> Fix | None:
    """The fix that replaces what is at `span` by `content`; None where `accept` rejects every launch that results."""
    for dollar in DOLLARS if "$" in content else ("$",):
        edits = [*before, Edit(span, content.replace("$", dollar))]
        if is_proven(job, launch, edits, accept):
            return Fix(title, edits)
    return None


def lines_before(job: Job, launch: Launch, lines: Iterable[str], also: Iterable[int] = ()) -> Edit | None:
    """The edit that inserts lines before the statement that starts a launcher or holds its words; None if none.

    `also`: further places that the lines must precede.
    """
    places = [launch.launcher.span.start]
    places.extend(each.span.start for each in (launch.invocation, *launch.invocation.ancestors()))
    places.extend(also)
    return lines_before_statement(job, places, lines)


def lines_before_statement(job: Job, places: Iterable[int], lines: Iterable[str]) -> Edit | None:
    """The edit that inserts lines before the first statement that holds one of these places.

    None if not all of them are in the script's own text.
    """
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
            return lines_above(job, start, lines)
    return None


def lines_above(job: Job, start: int, lines: Iterable[str]) -> Edit | None:
    """The edit that inserts lines above the line of `start`; None if that is not the first word of the line."""
    line = job.source.line_of(start)
    indentation = job.source.text[line.start : start]
    content = "".join(f"{indentation}{each}\n" for each in lines)
    return None if indentation.strip() else insert(line.start, content)


def is_proven(job: Job, launch: Launch, edits: Sequence[Edit], accept: Accept, start: int | None = None) -> bool:
    """Whether the changed script starts the launcher of this place as `accept` demands, and the others as before.

    `start`: the launcher's offset after the edits, if it is not where they have moved it.
    """
    if start is None:
        old = launch.launcher.span.start
        start = old + sum(len(e.content) - (e.span.end - e.span.start) for e in edits if e.span.end <= old)
    else:
        start += sum(len(e.content) for e in edits if e.span.start == e.span.end and e.span.end <= start)
    found = [each for each in launches_after(job, edits, launch) or () if each.launcher.span.start == start]
    return bool(found) and all(map(accept, found))


def _places(job: Job, launch: Launch) -> list[int]:
    """The offsets at which an option may be inserted: after the number of nodes, and after the launcher's name."""
    launcher = launch.launcher
    found: list[int] = []
    for option in launcher.all_options:
        field = launcher.argv[option.value_at]
        if option.name in ("nnodes", "num_machines") and field and all(piece.expansion is None for piece in field):
            end = span_of(field).end
            found.append(end + 1 if job.source.text[end : end + 1] in ('"', "'") else end)
    found.append(name_span(launch).end)
    return list(dict.fromkeys(found))


def name_span(launch: Launch) -> Span:
    """The place of the words that name a launcher: `accelerate launch`, `python -m torch.distributed.run`."""
    launcher = launch.launcher
    end = launcher.span.end
    at = launcher.index + 1
    if len(launcher.name.split()) == 2 and at < len(launcher.argv) and text_of(launcher.argv[at]) in VERBS:
        end = max(end, span_of(launcher.argv[at]).end)  # accelerate launch
    elif launcher.kind == "fabric":
        verbs = 2 if launcher.name.endswith(" model") else 1
        end = max(end, span_of(launcher.argv[at + verbs - 1]).end)  # fabric run model
    return Span(launcher.span.start, end)


def place_of(launcher: Launcher, setting: Setting) -> Span:
    """The place of a launcher's setting: its option, with a value that is joined to it; else the value."""
    if setting.at is None:
        return setting.span
    first = launcher.argv[setting.at][0]
    return Span(first.start, first.end)


# --- words of any command ------------------------------------------------------------------------------


def remove_word(job: Job, field: Pieces) -> Edit | None:
    """The edit that removes one literal word from the file; None where it is not written there as it is."""
    span = span_of(field)
    is_written = text_of(field) is not None and job.source.slice(span) == shown_text(field)
    return remove_words(job, span) if is_written else None


def remove_words(job: Job, span: Span) -> Edit | None:
    """The edit that removes words from the file, with their line if it holds nothing else; None for parts of words."""
    (start, end), text = span, job.source.text
    if text[start - 1 : start] in _SPACES and text[end : end + 1] in (*_SPACES, "\n", "", *_CLOSING):
        while text[start - 1] in _SPACES:
            start -= 1
        if text[start - 1] != "\n":
            return Edit(Span(start, end), "")
        line_end = text.find("\n", end)
        rest = text[end:line_end].strip(" \t")
        if line_end >= 0 and rest in ("\\", "\\\\"):
            return Edit(Span(start, line_end + 1), "")
        if line_end >= 0 and not rest:  # an element of an array: its line stays, blank
            return Edit(Span(start, end), "")
    elif text[start - 1 : start] not in (*_CLOSING, "("):
        return None
    # the first word of its line, string or array: the text before it stays
    stop = end
    while text[stop : stop + 1] in _SPACES:
        stop += 1
    return Edit(Span(span.start, stop), "") if stop > end and text[stop : stop + 1] not in ("\n", "") else None
