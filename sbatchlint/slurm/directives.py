"""Reads the option block of a batch script as sbatch does (`_opt_batch_script()`, src/sbatch/opt.c, 20.11 to 26.05).

The words of all directive lines of a component make one argument vector; reading stops at the first line that is
neither blank nor a comment. Where releases differ, the newest of the range counts, and what holds only in some of them
says so.
All spans are of the file.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from ..source.edits import Edit
from ..source.records import NamedTuple
from ..source.text import Span
from .getopt import UNKNOWN, Fault, Given, parse
from .lines import BLANKS, DirectiveLine, Readable, Token, magic_of, read_words, separator_at, template_end
from .model import Problem, Setting, StopLine
from .versions import DEFAULT, Range, is_before

if TYPE_CHECKING:
    from .suggest import Suggestion

__all__ = ["UNKNOWN", "DirectiveLine", "Directives", "Problem", "Setting", "StopLine", "read_directives"]

# Options that begin anew in each component of a heterogeneous job (`reset_each_pass`, src/common/slurm_opt.c 26.05).
_RESET = (
    "bb consolidate-segments constraint contiguous core-spec cores-per-socket cpu-freq cpus-per-gpu cpus-per-task"
    " distribution exclusive external extra-node-info gpu-bind gpu-freq gpus gpus-per-node gpus-per-socket"
    " gpus-per-task gres gres-flags hint licenses mail-type mail-user mem-bind mem-per-cpu mem-per-gpu mincpus network"
    " nodefile nodelist nodes ntasks ntasks-per-core ntasks-per-gpu ntasks-per-node ntasks-per-socket ntasks-per-tres"
    " overcommit oversubscribe partition resources resv-ports segment sockets-per-node spread-job spread-segments"
    " switches thread-spec threads-per-core tmp tres-bind tres-per-task umask use-min-nodes"
)
RESET_PER_COMPONENT = frozenset(_RESET.split())


class _Reading(NamedTuple):
    lines: list[DirectiveLine]
    unread: list[DirectiveLine]
    stop: StopLine | None
    settings: list[Setting]
    problems: list[Problem]
    certain: bool
    components: int


class Directives:
    """The option block of a script, as read.

    `lines`: the directive lines that are read; `unread`: those behind `stop`, the line that ended the reading.
    `settings`: in order. `problems`: in the order in which sbatch meets them; it gives up at the first. `certain`:
    whether there can be no other options than these: no unknown words, nothing left out.
    `components`: how many a heterogeneous job has; 1 for others.
    """

    __slots__ = (
        "certain",
        "components",
        "extra",
        "lines",
        "problems",
        "settings",
        "stop",
        "text",
        "unread",
        "versions",
    )

    def __init__(self, text: Readable, versions: Range, extra: tuple[str, ...], reading: _Reading) -> None:
        self.text = text
        self.versions = versions
        self.extra = extra
        self.lines: tuple[DirectiveLine, ...] = tuple(reading.lines)
        self.unread: tuple[DirectiveLine, ...] = tuple(reading.unread)
        self.stop = reading.stop
        self.settings: tuple[Setting, ...] = tuple(reading.settings)
        self.problems: tuple[Problem, ...] = tuple(reading.problems)
        self.certain = reading.certain
        self.components = reading.components

    def all(self, name: str, component: int = 0) -> list[Setting]:
        """Every setting of an option that reaches this component, in order."""
        carried = name not in RESET_PER_COMPONENT
        return [
            setting
            for setting in self.settings
            if setting.name == name and (setting.component == component or carried and setting.component < component)
        ]

    def last(self, name: str, component: int = 0) -> Setting | None:
        """The setting of an option that counts."""
        found = self.all(name, component)
        return found[-1] if found else None

    def rejection(self, version: str) -> Problem | None:
        """The problem at which sbatch of this release gives up; None where it takes the option block as far as read."""
        for problem in self.problems:
            if problem.versions is None or version in problem.versions:
                return problem
        return None

    @property
    def interpreter(self) -> str:
        """The program of the shebang without its folder (`bash`, `python3`); '' without one."""
        first = self.text.string.partition("\n")[0]
        words = first[2:].split() if first.startswith("#!") else []
        names = [word.rpartition("/")[2] for word in words if word[0] != "-" and "=" not in word]
        if names and names[0] == "env":
            del names[0]
        return names[0] if names else ""

    @property
    def is_shell_script(self) -> bool:
        """Whether the script runs in a shell; one without a shebang is taken for one."""
        return self.interpreter in ("", "sh", "bash", "dash", "ksh", "zsh", "ash", "mksh", "rbash")

    def takers(self, problem: Problem) -> Mapping[str, tuple[str, ...]]:
        """Which commands take an option that sbatch does not know here, and in which releases (of all that are known).

        `sbatch` is among them where other releases have it. Abbreviations count, plugins do not.
        """
        from .suggest import takers

        return takers(problem.written)

    def suggestion(self, problem: Problem) -> Suggestion | None:
        """The option that was probably meant by an unknown one."""
        from .suggest import suggest

        return suggest(problem.written, self.versions.majors)

    def read_line(self, line: DirectiveLine) -> tuple[list[Setting], bool]:
        """The options of one line taken by itself, for a line that is not read; and whether sbatch would take them."""
        words = [(line, token) for token in line.tokens]
        settings, problems, _ = _parse(self.text, words, line.component, self.versions.majors, self.extra)
        return settings, not problems and line.fault is None

    @property
    def insert_offset(self) -> int:
        """Where a new directive line of the first component would begin."""
        return self.insertion("").span.start

    def insertion(self, options: str, component: int = 0) -> Edit:
        """Adds a line `#SBATCH options` behind the last one of a component, or else behind the shebang."""
        from .rewriting import insertion

        return insertion(self, options, component)

    def removal(self, settings: Iterable[Setting | Problem]) -> list[Edit]:
        """Takes settings, or options that were refused, out.

        A line of which nothing is left goes with its newline; its comment stays as a line.
        """
        from .rewriting import removal

        return removal(self, settings)

    def replacement(self, setting: Setting, value: str) -> Edit:
        """Gives a setting another value, quoted as sbatch needs it."""
        from .rewriting import replacement

        return replacement(self, setting, value)


def read_directives(text: Readable, versions: tuple[str, str] = DEFAULT, extra: Sequence[str] = ()) -> Directives:
    """Reads the option block of a script.

    `text`: the script (shell.values.Text). `versions`: first and last major release of interest. `extra`: long options
    that the site's plugins add (see `getopt.parse`).
    """
    within = Range(*versions)
    site = tuple(extra)
    blocks = [list(majors) for majors in _classes(text.string, within)]
    readings = [_read(text, tuple(majors), site) for majors in blocks]
    reading = readings[-1]
    for majors, other in zip(blocks[:-1], readings[:-1], strict=True):
        reading = _merge(reading, tuple(each for each in within.majors if each not in majors), other, tuple(majors))
    return Directives(text, within, site, reading)


def _classes(string: str, versions: Range) -> list[list[str]]:
    """The releases, oldest first, grouped by how they would split this script into words."""
    escapes = "\\ " in string
    lowered = versions.first == "20.11" and ("hetjob" in string.lower() or "packjob" in string.lower())
    if not escapes and not lowered:
        return [list(versions.majors)]
    groups: dict[tuple[bool, bool], list[str]] = {}
    for major in versions.majors:
        key = (lowered and major == "20.11", escapes and not is_before(major, "24.05"))
        groups.setdefault(key, []).append(major)
    return list(groups.values())


def _merge(new: _Reading, new_versions: tuple[str, ...], old: _Reading, old_versions: tuple[str, ...]) -> _Reading:
    """The newer reading, with what holds only in one of the two marked as such."""

    def narrow(versions: tuple[str, ...] | None, to: tuple[str, ...]) -> tuple[str, ...]:
        return to if versions is None else tuple(each for each in versions if each in to)

    old_problems = {(each.kind, each.span): each for each in old.problems}
    new_problems = {(each.kind, each.span) for each in new.problems}
    problems = [
        each._replace(versions=narrow(each.versions, old_versions))
        for each in old.problems
        if (each.kind, each.span) not in new_problems
    ]
    for each in new.problems:
        if (each.kind, each.span) not in old_problems:
            each = each._replace(versions=narrow(each.versions, new_versions))
        problems.append(each)
    old_settings = {(each.name, each.span, each.value) for each in old.settings}
    new_settings = {(each.name, each.span, each.value) for each in new.settings}
    settings = [
        each._replace(versions=narrow(each.versions, old_versions))
        for each in old.settings
        if (each.name, each.span, each.value) not in new_settings
    ]
    for setting in new.settings:
        if (setting.name, setting.span, setting.value) not in old_settings:
            setting = setting._replace(versions=narrow(setting.versions, new_versions))
        settings.append(setting)
    return new._replace(settings=settings, problems=problems, certain=new.certain and old.certain)


def _read(text: Readable, majors: tuple[str, ...], extra: tuple[str, ...]) -> _Reading:
    string = text.string
    escaped_blank = not is_before(majors[0], "24.05")
    strict = majors[-1] != "20.11"
    lines: list[DirectiveLine] = []
    unread: list[DirectiveLine] = []
    stop: StopLine | None = None
    certain = True
    component = 0
    at = 0
    size = len(string)
    while at < size:
        newline = string.find("\n", at)
        end, full_end = (size, size) if newline < 0 else (newline, newline + 1)
        magic = magic_of(string, at)
        if magic is not None:
            shown_end = end - 1 if end > at and string[end - 1] == "\r" else end
            line = DirectiveLine(text, magic, at, shown_end, full_end, component)
            separates = _fill(text, line, escaped_blank, strict)
            if separates:
                component += 1
                line.component = component
                line.separator = True
            if line.fault is not None:
                certain = False
            lines.append(line)
        else:
            first = at
            while first < end and string[first] in BLANKS:
                first += 1
            if first < end and string[first] != "#":
                behind = template_end(string, first, end)
                if behind is not None:
                    certain = False
                    full_end = max(full_end, behind)
                else:
                    known = string[first] != UNKNOWN
                    stop = StopLine(text.span(first, end), text.span(first, end).start, known)
                    certain = certain and known
                    unread = _unread(text, full_end, escaped_blank, strict)
                    break
        at = full_end
    settings: list[Setting] = []
    problems: list[Problem] = []
    for number in range(component + 1):
        own = [line for line in lines if line.component == number]
        for line in own:
            if line.fault is not None:
                fault = line.fault
                span = text.span(fault.start, fault.end)
                written = string[fault.start : fault.end].rstrip(BLANKS)
                problems.append(Problem(fault.kind, span, fault.message, written, line, (), None))
        words = [(line, token) for line in own for token in line.tokens]
        found, faults, sure = _parse(text, words, number, majors, extra)
        settings.extend(found)
        problems.extend(faults)
        certain = certain and sure
    return _Reading(lines, unread, stop, settings, problems, certain, component + 1)


def _fill(text: Readable, line: DirectiveLine, escaped_blank: bool, strict: bool) -> bool:
    """Reads the words of a line; whether it begins another component."""
    string = text.string
    start, end = line.words_start, line.end
    separates = False
    if strict:
        first = start
        while first < end and string[first] in BLANKS:
            first += 1
        separates = first < end and string[first] in "hHpP" and separator_at(string, first, end)
    else:
        # 20.11: the word anywhere in the line, which is then blanked out.
        blanked = re.sub(r"(?i)hetjob|packjob", lambda found: " " * len(found.group()), string[start:end], count=1)
        if blanked != string[start:end]:
            separates = True
            string = string[:start] + blanked + string[end:]
    words = read_words(string, start, end, escaped_blank, strict)
    line.tokens = words.tokens
    line.fault = words.fault
    if words.comment is not None:
        line.comment_start = words.comment
        line.comment = text.span(words.comment, end)
    if words.dropped is not None and not separates:
        line.dropped = text.span(words.dropped, end)
    return separates


def _unread(text: Readable, at: int, escaped_blank: bool, strict: bool) -> list[DirectiveLine]:
    """The lines from `at` on that begin with `#SBATCH` in column 0."""
    string = text.string
    found: list[DirectiveLine] = []
    while True:
        if not string.startswith("#SBATCH", at):
            at = string.find("\n#SBATCH", at) + 1
            if at == 0:
                return found
        newline = string.find("\n", at)
        end, full_end = (len(string), len(string)) if newline < 0 else (newline, newline + 1)
        shown_end = end - 1 if string[end - 1] == "\r" else end
        line = DirectiveLine(text, "#SBATCH", at, shown_end, full_end, -1)
        _fill(text, line, escaped_blank, strict)
        found.append(line)
        at = full_end


_Words = list[tuple[DirectiveLine, Token]]


def _parse(
    text: Readable, words: _Words, component: int, majors: tuple[str, ...], extra: tuple[str, ...]
) -> tuple[list[Setting], list[Problem], bool]:
    """Settings and problems of one argument vector, and whether they are all there can be."""
    settings: list[Setting] = []
    problems: list[Problem] = []
    certain = True
    strings = [token.text for _, token in words]
    at = 0
    while True:
        parsed = parse(strings, "sbatch", majors, extra, at)
        certain = certain and not parsed.uncertain
        settings.extend([_setting(text, words, given, component) for given in parsed.options])
        problems.extend([_problem(text, words, fault) for fault in parsed.problems])
        at = parsed.rest
        if at >= len(words):
            return settings, problems, certain
        # sbatch gives up here; what follows is read on all the same, for what the script plainly meant.
        line, token = words[at]
        if problems and problems[-1].kind == "unknown-option" and problems[-1].token is words[at - 1][1]:
            unknown = problems[-1]
            if unknown.line is line and "=" not in words[at - 1][1].text and not parsed.ended:
                # The value of the option, as far as anybody can tell.
                problems[-1] = unknown._replace(value_token=token)
                at += 1
                continue
        last = token
        at += 1
        while at < len(words) and words[at][0] is line and (parsed.ended or not _is_option(strings[at])):
            last = words[at][1]
            at += 1
        message = f"Invalid directive found in batch script: {token.text}"
        span = text.span(token.start, last.end)
        problems.append(Problem("stray-word", span, message, token.text, line, (), None))


def _is_option(word: str) -> bool:
    return len(word) > 1 and word[0] == "-" or word.startswith(UNKNOWN)


def _setting(text: Readable, words: _Words, given: Given, component: int) -> Setting:
    line, token = words[given.word]
    cluster = given.start > 0
    first = token.offset(given.start) if given.start > 1 else token.start
    if given.value_word is None or given.value_word != given.word:
        last = token.end if not cluster or given.start + 1 >= len(token.text) else token.offset(given.start) + 1
    else:
        last = token.end
    value_line: DirectiveLine | None = None
    value_token: Token | None = None
    value_span: Span | None = None
    value_start = given.value_start or 0
    option_last = last
    end = last
    if given.value_word is not None:
        value_line, value_token = words[given.value_word]
        start, stop = value_token.part(value_start)
        if value_start and value_token.positions is not None and not _same(text.string, start, stop, given.value):
            start = value_token.start
        value_span = text.span(start, stop)
        if value_token is token:
            option_last = token.offset(value_start - 1) + (0 if given.written.startswith("--") else 1)
        elif value_line is line:
            end = value_token.end
    plugin = "site" if given.option is None else given.option.plugin
    return Setting(
        given.name,
        given.written,
        given.value,
        text.span(first, end),
        text.span(first, option_last),
        value_span,
        line,
        value_line,
        component,
        plugin,
        given.versions,
        given.option,
        token,
        given.start,
        value_token,
        value_start,
    )


def _same(string: str, start: int, end: int, value: str | None) -> bool:
    """Whether these characters alone are read as the value: no quote reaches into them from before."""
    words = read_words(string, start, end, strict_separator=False)
    if not value:
        return not words.tokens and words.fault is None
    return words.fault is None and len(words.tokens) == 1 and words.tokens[0].text == value


def _problem(text: Readable, words: _Words, fault: Fault) -> Problem:
    line, token = words[fault.word]
    span = text.span(token.start, token.end)
    candidates, versions = fault.candidates, fault.versions
    return Problem(fault.kind, span, fault.message, fault.written, line, candidates, versions, token, None, fault.start)
