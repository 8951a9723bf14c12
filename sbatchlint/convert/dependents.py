"""What a script works out from how many devices or nodes there are: found by evaluating it with other numbers.

Where a script says or measures a number of devices (`NGPU=8`, `$(nvidia-smi -L | wc -l)`), others are put in its place.
Words of programs, variables for them and commands that write files, which then are others, depend on that number,
whatever the way: arithmetic, arrays, functions, conditions, `printf -v`, `eval`, heredocs, the words of other commands.
What is another with another number of nodes, too, follows the job.
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Collection, Hashable, Iterable, Iterator, Sequence
from typing import NamedTuple

from sbatchlint.analysis.expansion.reads import assigned_names, enclosing_assignment
from sbatchlint.bash.trace import Invocation, exported
from sbatchlint.bash.values import UNKNOWN_CHARACTER, Phase, Pieces, expansions, shown_text, span_of, text_of
from sbatchlint.convert.counts import (
    MEASURES,
    OF_NODE,
    OF_NODES,
    OF_ONE_NODE,
    SLURM_NODES,
    counts_devices,
    counts_nodes,
    lists_devices,
)
from sbatchlint.job import Job
from sbatchlint.job.argv import Argv
from sbatchlint.job.gpus import DEVICE_VARIABLES
from sbatchlint.job.steps import enclosing_step
from sbatchlint.programs import has_trait
from sbatchlint.source.edits import Edit, edited, insert
from sbatchlint.source.regex import Regex
from sbatchlint.source.text import Span

# Numbers in the place of that of a node: quotients, remainders and comparisons differ for some of them.
_NUMBERS = (3, 13)
_OTHER_NODES = 7
# Variables of which each is looked at by itself.
_MOST_NAMES = 8
_NAME = Regex(r"[A-Za-z_]\w*")
_LITERAL = Regex(r"\d+")
_LIST = Regex(r"\d+(?:,\d+)*")
_SPACED = Regex(r"\d+(?:[ \t]+\d+)*")
_ARRAY = Regex(r"\([ \t\n]*\d+(?:[ \t\n]+\d+)*[ \t\n]*\)")
# `$1`, `${2:-8}`, `${NGPU:-8}`, `$(…)`
_GIVEN = Regex(r"\$(?:\d|[A-Za-z_]\w*|\{(?:\d+|[A-Za-z_]\w*)(?::?[-=][\w,]*)?\})")
_PRINTED = Regex(r"(?s)\$\((?!\().*\)|`.*`")
_LOGS = Regex(r".*\.(?:log|out|err)|/dev/\w+|&\d")


class _Source(NamedTuple):
    """A place that says how many devices there are.

    `kind`: `count`, `list` (`0,1,2`), `spaced` (`0 1 2`) or `array`. `name`: of the variable; "" for a measurement.
    """

    span: Span
    kind: str
    name: str

    def edit(self, number: int) -> Edit:
        if self.kind == "count":
            return Edit(self.span, str(number))
        listed = ("," if self.kind == "list" else " ").join(map(str, range(number)))
        return Edit(self.span, f"({listed})" if self.kind == "array" else f'"{listed}"')


class Key(NamedTuple):
    """Which word, variable or command it is: `number` counts those of one name on a line."""

    kind: str
    line: int
    name: str
    number: int


class _Told(NamedTuple):
    """What a program or a command is told. `shown`, `line`: for a message; `inside`: whether the command holds it."""

    value: Hashable
    shown: str
    line: int
    inside: bool = True


def _counts_of_launchers(job: Job) -> list[Pieces]:
    """The values from which the launchers and steps of a script take how many processes they start."""
    values = [each.launcher.setting("nproc_per_node", "num_processes", "num_gpus", "nproc", "devices", "include")
              for each in job.launches]  # fmt: skip
    values += [each.launcher.total_processes for each in job.launches]
    fields = [each.value or () for each in values if each is not None]
    for step in job.steps:
        options = map(step.option, ("ntasks", "ntasks-per-node", "gpus-per-node", "gpus", "gres", "gpus-per-task"))
        fields += [each.value or () for each in options if each is not None]
    return fields


def names_of_counts(job: Job) -> frozenset[str]:
    """The variables from which the launchers and steps of a script take how many processes they start."""
    found = set()
    for field in _counts_of_launchers(job):
        for piece in field:
            if piece.expansion is not None:
                found |= {each.name for each in piece.expansion.all() if each.name.isidentifier()}
            assigned = enclosing_assignment(job, piece.span)
            if assigned is not None:
                found.add(assigned.name)
    return frozenset(each for each in found if not each.startswith("SLURM_") and not counts_nodes(each))


def of_one_node(job: Job, names: Collection[str], nodes: int) -> dict[Key, str]:
    """To-dos for what counts the devices or processes of one node, or the nodes that there were.

    `names`: the variables from which the original script took how many processes it starts.
    """
    sources, unset = [*_sources(job, names)], _unset(job)
    todos: dict[Key, str] = {}
    if sources or unset:
        number = job.request.gpus_per_node() or job.request.tasks_on_each_node() or 8
        runs = [
            _told_with(job, [each.edit(other) for each in sources], _exports(unset, other))
            for other in (number, *_NUMBERS)
        ]
        own = {*unset, *(each.name for each in sources)}
        differing = _differing(runs, own)
        if differing:
            others = "".join(f"export {each}={_OTHER_NODES}; " for each in SLURM_NODES)
            edits = [each.edit(number) for each in sources]
            moved = _told_with(job, edits, _exports(unset, number) + others)
            follows = _differing([runs[0], moved], ())
            now = _all_told(job)
            for key in differing:
                if key not in follows and not OF_ONE_NODE.match(key.name.lstrip("-+")):
                    todos[key] = _said(key, now.get(key) or runs[0].get(key) or runs[1].get(key))
    return todos | _of_other_nodes(job, nodes)


def _said(key: Key, told: _Told | None) -> str:
    return f"{_what(key, told)} counts the processes of one node: see if it is to count all"


def _what(key: Key, told: _Told | None) -> str:
    if told is None or key.kind == "command":
        return f"line {key.line}: what {key.name} is told"
    if told.inside:
        return f"line {told.line}: {told.shown}"
    return f"line {key.line}: {told.shown}, from line {told.line},"


def _of_other_nodes(job: Job, nodes: int) -> dict[Key, str]:
    """To-dos for what counts with another number of nodes, which a variable of the script still holds."""
    text, held, todos = job.source.own.text, dict[str, dict[Span, str]](), dict[Key, str]()
    for assignment in job.assignments:
        span = _value_span(text, assignment.name, assignment.span) if counts_nodes(assignment.name) else None
        number = "" if span is None else text[span.start : span.end].strip("\"'")
        if span is not None and _LITERAL.fullmatch(number):
            held.setdefault(assignment.name, {})[span] = number
    held = {name: spans for name, spans in held.items() if str(nodes) not in spans.values()}
    if not held:
        return todos
    now = _all_told(job)

    def differing(names: Collection[str]) -> list[tuple[Key, _Told | None]]:
        edits = [Edit(span, str(_OTHER_NODES)) for name in names for span in held[name]]
        other = _told_with(job, edits, "")
        return [(key, now.get(key) or other.get(key)) for key in _differing([now, other], names)]

    for name in [*held][:_MOST_NAMES] if differing(held) else ():
        for key, told in differing([name])[:1]:
            what = f"{_what(key, told)} counts with {name}, which is {next(iter(held[name].values()))}"
            todos[key] = f"{what}, where the program has {nodes} nodes: set it to $SLURM_JOB_NUM_NODES"
    return todos


# --- other numbers ----------------------------------------------------------------------------------------------------


def _sources(job: Job, names: Collection[str]) -> Iterator[_Source]:
    """The places where the script says or measures how many devices there are, in order, none inside of another."""
    text, found = job.source.own.text, dict[Span, tuple[str, str]]()
    for assignment in job.assignments:
        name, devices = assignment.name, lists_devices(assignment.name)
        if name not in names and not devices and not counts_devices(name) or counts_nodes(name):
            continue
        span = _value_span(text, name, assignment.span)
        if span is None:
            continue
        counts, written = name in names or counts_devices(name), text[span.start : span.end]
        kind = _kind(written, devices, counts)
        unknown = not any(one.fields and None not in map(text_of, one.fields) for one in assignment.alternatives)
        if not kind and counts and unknown and not any(map(counts_nodes, _NAME.findall(written))):
            kind = "" if OF_NODES.search(written) else "count"
        if kind:
            found[span] = kind, name
    for field in _counts_of_launchers(job):
        for piece in field:
            if piece.expansion is None and (piece.text or "").isdigit() and piece.end <= len(text):
                if text[piece.start : piece.end] == piece.text:
                    found.setdefault(piece.span, ("count", ""))
    for field in _fields(job):
        for expansion in expansions(field):
            name, span = expansion.name, expansion.span
            if _PRINTED.fullmatch(name) and MEASURES.search(name) and span.end <= len(text):
                if text[span.start : span.end][:1] in ("$", "`"):
                    found.setdefault(span, ("count", ""))
    end = 0
    for span in sorted(found):
        if span.start >= end:
            yield _Source(span, *found[span])
            end = span.end


def _kind(written: str, lists: bool, counts: bool) -> str:
    """What a value is that says how many devices there are; "" for one that is worked out from others."""
    if OF_NODES.search(written):
        return ""
    bare = written.strip("\"'")
    if lists and _LIST.fullmatch(bare) and ("," in bare or not counts):
        return "list"
    if _ARRAY.fullmatch(bare):
        return "array"
    if "," not in bare and _SPACED.fullmatch(bare) and " " in bare:
        return "spaced"
    if not counts:
        return ""
    plain = _LITERAL.fullmatch(bare) or _GIVEN.fullmatch(bare) or _PRINTED.fullmatch(bare)
    return "count" if plain else "list" if _LIST.fullmatch(bare) else ""


def _value_span(text: str, name: str, span: Span) -> Span | None:
    """The value of an assignment that is written as `NAME=value` in the script."""
    if span.end > len(text) or not text.startswith(f"{name}=", span.start):
        return None
    return Span(span.start + len(name) + 1, span.end)


def _unset(job: Job) -> list[str]:
    """The variables with a number of devices that the script reads, and does not set."""
    assigned = assigned_names(job)
    names = dict.fromkeys(each.name for each in job.trace.reads)
    known = (*OF_NODE, *DEVICE_VARIABLES)
    return [each for each in names if each not in assigned and (each in known or counts_devices(each))
            and not (each.startswith("SLURM") and each not in known)]  # fmt: skip


def _exports(names: Iterable[str], number: int) -> str:
    listed = ",".join(map(str, range(number)))
    return "".join(f"export {each}={listed if each in DEVICE_VARIABLES else number}; " for each in names)


def _told_with(job: Job, edits: Sequence[Edit], exports: str) -> dict[Key, _Told]:
    """What is told to programs and commands after the edits, and after these commands at the beginning."""
    made, first = [*edits], job.program.statements[:1]
    if exports and first:
        made.append(insert(job.text.offset(first[0].start), exports))
    other = Job.from_source(edited(job.source.own, made), job.site)
    try:
        return _all_told(other)
    finally:
        other.release()


def _differing(runs: Sequence[dict[Key, _Told]], own: Collection[str]) -> list[Key]:
    """What is not the same in all runs, of commands that all of them have.

    `own`: variables that were set to these numbers.
    """
    there = [{(key.kind == "command", key.line) for key in run} for run in runs]
    keys = dict.fromkeys(key for run in runs for key in run)
    values = {key: [run[key].value if key in run else None for run in runs] for key in keys}
    return [
        key
        for key, (first, *others) in values.items()
        if any(each != first for each in others)
        and all((key.kind == "command", key.line) in lines for lines in there)
        and not (key.kind == "variable" and key.name in own)
    ]


# --- what is told -----------------------------------------------------------------------------------------------------


def _all_told(job: Job) -> dict[Key, _Told]:
    """The words and variables of programs, and of other commands what they do, each by its kind, line and name."""
    found: dict[Key, _Told] = {}
    inputs = _Inputs(job)

    counts = Counter[tuple[str, int, str]]()

    def add(kind: str, line: int, name: str, told: _Told) -> None:
        counts[kind, line, name] += 1
        found[Key(kind, line, name, counts[kind, line, name])] = told

    programs = programs_of(job)
    for command, words in programs:
        line, last, whole = job.line(command.span.start), "", [command, *command.ancestors()][-1].span
        for field in words:
            text = shown_text(field)
            option = text.partition("=")[0] if "=" in text else last
            at = span_of(field).start
            shown, inside = _shown(field, "" if text[:1] == "-" else last), whole.start <= at < whole.end
            add("word", line, option, _Told(inputs.key(field), shown, job.line(at), inside))
            last = text if text[:1] in "-+" and "=" not in text else ""
        for name, variable in command.state.variables.items():
            if variable.exported and name.isidentifier() and not name.startswith("SLURM_"):
                fields = [each.fields for each in variable.alternatives]
                has: Hashable = tuple([None if held is None else (*map(inputs.key, held),) for held in fields])
                at = next((span_of(each[0]).start for each in fields if each), command.span.start)
                add("variable", line, name, _Told(has, name, job.line(at)))
    starting = {id(each) for command, _ in programs for each in (command, *command.ancestors())}
    for command in job.invocations:
        if id(command) not in starting and writes(command):
            does: tuple[Hashable, ...] = (*map(inputs.key, command.argv), command.stdin and command.stdin.string)
            if command.name in READING_VARIABLES:
                does = *does, *((each, inputs.key(exported(command, each) or ())) for each in command.state.variables)
            line = job.line(command.span.start)
            add("command", line, command.name or "", _Told(does, "", line))
    return found


def programs_of(job: Job) -> list[tuple[Invocation, Argv]]:
    """The programs that launchers and steps start, with their words."""
    found = [(each.invocation, each.launcher.program_words[1:]) for each in job.launches]
    launching = {id(each) for each, _ in found}
    for step in job.steps:
        leaves = (each for each in step.program if not each.children and id(each) not in launching)
        found.extend((each, each.argv[1:]) for each in leaves)
    return found


def writes(command: Invocation) -> bool:
    """Whether a command of the batch shell may write what a program reads later."""
    if not command.argv or command.kind or command.children or command.calls_function:
        return False
    if enclosing_step(command.context) is not None or command.phase is Phase.SUBMIT:
        return False
    shell = command.context.shell
    if shell is not None and any(each.kind == "substitution" for each in shell.enclosing_shells()):
        return False
    targets = [
        shown_text(each.target) for each in command.redirects if each.target and each.operator in (">", ">>", "&>")
    ]
    if any(not _LOGS.fullmatch(each) for each in targets):
        return True
    name = command.name or ""
    if name in ("sed", "perl", "yq", "awk", "gawk"):
        return any(
            each in ("--in-place", "inplace") or each.startswith("-i") or each == "-pi" for each in command.words
        )
    return not any(has_trait(name, each) for each in ("minor", "looks", "prints")) and name not in _OF_SHELL


_OF_SHELL = frozenset(
    {
        "mkdir", "cd", "set", "shift", "read", "mapfile", "readarray", "let", "eval", "source", ".", "local", "declare",
        "typeset", "export", "readonly", "return", "exit", "wait", "seq", "expr", "bc", "trap", "rm", "tee", "printf",
        "tput", "((", "cat",
    }
)  # fmt: skip


# What puts the values of exported variables into a file.
READING_VARIABLES = ("envsubst", "gomplate", "j2", "jinja2")


class _Inputs:
    """The values of words by what tells them apart; of unknown output also the words and the input of its commands."""

    def __init__(self, job: Job) -> None:
        fed = sorted((each.span.start, each.stdin.string) for each in job.invocations if each.stdin is not None)
        self._starts = [start for start, _ in fed]
        self._job = job
        self._captured: dict[int, list[Hashable]] = {}  # the words of commands whose output something reads, by line
        for command in job.invocations:
            if command.context.captured:
                self._captured.setdefault(job.line(command.span.start), []).append(tuple(command.words))
        self._texts = [text for _, text in fed]

    def key(self, field: Pieces) -> Hashable:
        text = text_of(field)
        if text is not None:
            return text
        found: list[Hashable] = []
        for piece in field:
            if piece.text is not None or piece.expansion is None:
                found.append(piece.text)
                continue
            for expansion in piece.expansion.all():
                fed: tuple[Hashable, ...] = ()
                if expansion.name == "$(read)":
                    fed = (*self._captured.get(self._job.line(expansion.span.start), ()),)
                elif expansion.name.startswith(("$(", "`")) and not expansion.name.startswith("$(("):
                    span = expansion.span
                    low, high = bisect_left(self._starts, span.start), bisect_left(self._starts, span.end)
                    fed = tuple(self._texts[low:high])
                found.append((expansion.name, expansion.commands, fed))
        return tuple(found)


def _fields(job: Job) -> Iterator[Pieces]:
    for command in job.invocations:
        yield from command.argv
    for assigned in job.assignments:
        for alternative in assigned.alternatives:
            yield from alternative.fields or ()


def _shown(field: Pieces, option: str) -> str:
    """A word for a message, with its option: what is worked out in it as it is written."""
    names = [each.name for each in expansions(field)]
    sums = next((each for each in names if each.startswith("$((")), "")
    text = sums or shown_text(field)
    for name in names:
        text = text.replace(UNKNOWN_CHARACTER, name if name.startswith("$") else f"${name}", 1)
    return f"{option} {text}" if option else text
