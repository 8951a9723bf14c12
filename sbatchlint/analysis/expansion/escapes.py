"""How an expansion that happens too early can be left to the shell in each task.

Where such a shell parses the string again, with backslashes before its `$`: how many is not computed but tried, and
proven (see `sbatchlint.job.proofs`). Where there is none, a shell must also be added that starts the command.
"""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from sbatchlint.analysis.expansion.early import EarlyUse, place_of
from sbatchlint.analysis.expansion.varying import of_task
from sbatchlint.bash.syntax.parser import parse
from sbatchlint.bash.syntax.tree import Arithmetic, CommandSubstitution, Literal, Parameter, Simple, Word
from sbatchlint.bash.syntax.walk import nodes, nodes_of
from sbatchlint.bash.values import Expansion, Phase, expansions, span_of
from sbatchlint.job import Job, Step
from sbatchlint.job.launches import container_of
from sbatchlint.job.once import once
from sbatchlint.job.proofs import keeps_words
from sbatchlint.source.edits import Edit, overlap
from sbatchlint.source.regex import Regex
from sbatchlint.source.text import Span

# The numbers of backslashes that leave a `$` to the first shell, the second, and the third.
_BACKSLASHES = (1, 3, 7)
# How many sruns that get one string, and how many possible beginnings of an srun's command, are tried.
_MOST_STEPS, _MOST_STARTS = 4, 3
# How many expansions a shell added before a command is proven for: a proof looks for each in all words.
_MOST_PLACES = 100
# A word that means the same inside `"…"`.
_SAME_IN_QUOTES = Regex(r"(?:[\w./:=,@%+{}*?~\[\]-]|\$(?=\{?\w))+")
_ONE_QUOTED = Regex(r"([\w./:=,@%+-]*)\"((?:[\w ./:=,@%+{}-]|\$(?=\{?\w))*)\"([\w./:=,@%+-]*)")
_ALL_OF_ARRAY = Regex(r"\"\$\{(\w+)\[@\]\}\"")


class Repair(NamedTuple):
    """Edits with which the tasks expand something themselves, and `text`, which tells the user what to write.

    `safe`: whether nothing else changes, whatever the unknown values are.
    """

    text: str
    edits: list[Edit]
    safe: bool


@once
def deferred_to_tasks(job: Job, use: EarlyUse, names: frozenset[str]) -> Repair | None:
    """The proven repair with which each task expands it itself; None where nothing is found that does just that.

    `names`: variables that must stay as they are in the tasks' environment.
    """
    file, place = job.source.text, place_of(job, use.expansion)
    container = container_of(use.command)
    if container is not None and container.kind in ("docker", "podman"):
        return None  # such a container does not get the job's variables
    ahead = file[max(place.start - 40, 0) : place.start]
    before = len(ahead) - len(ahead.rstrip("\\"))
    for count in _BACKSLASHES:
        text = _deferred(use.expansion, file, count)
        if text is None or count <= before:
            continue
        edit = Edit(place, text) if text.lstrip("\\") != file[place.start : place.end] else None
        edit = edit or Edit(Span(place.start, place.start), text[before : len(text) - len(text.lstrip("\\"))])
        if use.shells:
            if keeps_words(job, [edit], [place], names):
                return Repair(f"write `{text}`", [edit], not _is_spliced(place, file))
        else:
            for edits, shown in _with_shells(job, use):
                if not overlap([edit], edits) and keeps_words(job, [edit, *edits], [place], names):
                    return Repair(f"write `{text}`, and {shown}", [edit, *edits], False)
    return None


def is_plain(expansion: Expansion, file: str) -> bool:
    """Whether the place holds `$NAME` or `${NAME…}` itself, so that a backslash before it defers the expansion."""
    written = file[expansion.span.start : expansion.span.end]
    return written.startswith("$") and not written.startswith(("$(", "$[")) and expansion.name in written


def _deferred(expansion: Expansion, file: str, count: int) -> str | None:
    """The expansion as written with `count` backslashes; None where deferring it could also change its value."""
    written = file[expansion.span.start : expansion.span.end]
    if expansion.name == "HOSTNAME" and written in ("$HOSTNAME", "${HOSTNAME}"):
        # HOSTNAME is inherited, and so the same in all tasks
        return "\\" * count + ("${SLURMD_NODENAME}" if "{" in written else "$SLURMD_NODENAME")
    if is_plain(expansion, file):
        return "\\" * count + written
    if written.startswith("`") and written.endswith("`"):
        written = f"$({written[1:-1]})"
    inside = written[2:-1]
    if not written.startswith("$(") or any(letter in inside for letter in '"\\`\n'):
        return None
    # a variable of the batch shell may not be set in the task
    expanded = (Parameter, CommandSubstitution, Arithmetic)
    if any(isinstance(node, expanded) for node in nodes(parse(inside).statements)):
        return None
    return "\\" * count + "$(" + inside.replace("$", "\\" * count + "$") + ")"


def _is_spliced(place: Span, file: str) -> bool:
    """Whether it is written as `'…'"$NAME"'…'`."""
    at = place.start
    return file[at - 1 : at] == '"' and file[at - 2 : at - 1] == "'" or file[at - 1 : at] == "'"


# --- a shell in the task -------------------------------------------------------------------------------


@once
def _receiving_steps(job: Job) -> dict[Expansion, dict[int, Step]]:
    """The steps whose commands get an expansion in a word, by where their sruns begin."""
    found: dict[Expansion, dict[int, Step]] = {}
    for step in job.steps:
        for command in step.invocation.children[:1]:
            for expansion in {each for field in command.argv for each in expansions(field)}:
                found.setdefault(expansion, {}).setdefault(step.invocation.span.start, step)
    return found


def _with_shells(job: Job, use: EarlyUse) -> Iterator[tuple[list[Edit], str]]:
    """Edits with which each step that gets the string starts its command by a shell, and how to write that."""
    steps = _receiving_steps(job).get(use.expansion, {})
    if not steps or len(steps) > _MOST_STEPS or use.step.invocation.span.start not in steps:
        return
    ways = [_wrapped(job, step) for step in steps.values()]
    if not all(ways):
        return
    number = list(steps).index(use.step.invocation.span.start)
    for iteration in range(min(map(len, ways))):
        yield [way[iteration] for way in ways], f"`srun … {ways[number][iteration].content}`"


@once
def _wrapped(job: Job, step: Step) -> list[Edit]:
    """Edits that make `bash -c "…"` of an srun's command, one for each word at which it may begin."""
    found = []
    for words in commands_of(job, step):
        texts = [_in_quotes(job.source.slice(job.span(word.start, word.end))) for word in words]
        if None not in texts:
            text = " ".join(text for text in texts if text is not None)
            found.append(Edit(job.span(words[0].start, words[-1].end), f'bash -c "{text}"'))
    return found


def commands_of(job: Job, step: Step) -> Iterator[Sequence[Word]]:
    """The words of an srun's command as written, from each word at which it may begin, the likeliest first.

    The proof shows which word that is, as it may not be known how many words an `$OPTIONS` before it expands to.
    """
    words = _words_of(job, step)
    varying = [n for n, word in enumerate(words) if not all(isinstance(part, Literal) for part in word.parts)]
    first = step.command or 0
    starts = [first] if not varying or first <= varying[0] else list(range(varying[0], len(words)))
    for at in starts[:_MOST_STARTS]:
        if at < len(words):
            yield words[at:]


def _words_of(job: Job, step: Step) -> Sequence[Word]:
    """The words of an srun as written; empty if it is not in the script's own text."""
    invocation = step.invocation
    if invocation.kind or any(each.text is not None for each in invocation.ancestors()) or job.is_wrapped:
        return ()
    node = _by_place(job).get(invocation.span)
    if node is None:
        return ()
    inside = any(each.start < node.words[-1].end for each in node.redirects)
    plain = [word for word in node.words if isinstance(word, Word)]
    return plain if len(plain) == len(node.words) and not inside else ()


@once
def _by_place(job: Job) -> dict[Span, Simple]:
    """The commands of the script's own text, by the place of their words."""
    found: dict[Span, Simple] = {}
    for node in nodes_of(job.program, Simple):
        if node.words:
            found.setdefault(job.span(node.words[0].start, node.words[-1].end), node)
    return found


def _in_quotes(word: str) -> str | None:
    """How a word is written within `"…"`, so that the inner shell gets the same word; None where that is not known."""
    if word == '"$@"':
        return "$*"
    if found := _ALL_OF_ARRAY.fullmatch(word):
        return f"${{{found[1]}[*]}}"
    if _SAME_IN_QUOTES.fullmatch(word):
        return word
    if found := _ONE_QUOTED.fullmatch(word):
        return f'{found[1]}\\"{found[2]}\\"{found[3]}'
    return None


def started_by_shell(job: Job, use: EarlyUse) -> Repair | None:
    """The proven repair that makes the words up to the last variable a program of a shell in the task.

    The shell gets the other words as arguments. None without such a repair.
    """
    if not is_plain(use.expansion, job.source.text):
        return None
    edits = _shell_before(job, use.step, None if _is_early_in_task(use.expansion) else use.expansion)
    return Repair(f"start it with `bash -c '… ${use.expansion.name} …'`", edits, False) if edits else None


@once
def _shell_before(job: Job, step: Step, other: Expansion | None) -> list[Edit] | None:
    """The proven edits that start a step's command by a shell, which expands the variables of tasks and `other`."""
    found = _words_to_wrap(job, step, other)
    if found is None or len(found[1]) > _MOST_PLACES:
        return None
    span, places = found
    program = job.source.slice(span)
    for dollar, quote in (("$", '"'), ("\\$", '\\"')):  # as it is, and within a double-quoted string
        edits = [Edit(Span(span.start, span.start), "bash -c 'exec ")]
        if dollar != "$":
            if program.count("$") != len(places):
                continue
            edits.extend(Edit(Span(place.start, place.start), "\\") for place in places)
        edits.append(Edit(Span(span.end, span.end), f" {quote}{dollar}@{quote}' _"))
        if keeps_words(job, edits, places):
            return edits
    return None


def _words_to_wrap(job: Job, step: Step, other: Expansion | None) -> tuple[Span, list[Span]] | None:
    """The place of the words of srun's command up to the last expansion, and the places of the expansions.

    None where they are not written literally in one place.
    """
    file, started = job.source.text, step.invocation.children
    if not started or started[0].kind != "srun" or job.is_wrapped:
        return None
    argv = started[0].argv
    found = [
        (number, expansion)
        for number, field in enumerate(argv)
        for expansion in expansions(field)
        if expansion == other or _is_early_in_task(expansion) and is_plain(expansion, file)
    ]
    spans = [span_of(field) for field in argv[: found[-1][0] + 1]] if found else []
    if not spans or any(one.end > then.start for one, then in pairwise(spans)):
        return None
    start, end = spans[0].start, spans[-1].end
    if file.count('"', start, end) % 2:
        end = file.find('"', end) + 1 or end  # the word's last quote
    places = list(dict.fromkeys(each.span for _, each in found))
    own = step.invocation.span
    inside = own.start <= start and end <= own.end and all(start <= at.start < at.end <= end for at in places)
    return (Span(start, end), places) if inside and "'" not in file[start:end] else None


def _is_early_in_task(expansion: Expansion) -> bool:
    """Whether the batch shell expands a variable that each task has its own value of."""
    return expansion.phase is Phase.BATCH and of_task(expansion)
