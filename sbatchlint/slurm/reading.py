"""Reading of the option block of a script, once for all releases that split it into the same words.

Follows `_opt_batch_script()` of src/sbatch/opt.c, 20.11 to 26.05; see `directives` for the result.
"""

import re

from sbatchlint.slurm.getopt import UNKNOWN, OptionFault, ParsedOption, parse
from sbatchlint.slurm.lines import (
    BLANKS,
    DirectiveLine,
    Readable,
    Token,
    inline_directive,
    magic_of,
    read_words,
    separator_at,
    template_end,
)
from sbatchlint.slurm.model import Problem, Setting, StopLine
from sbatchlint.slurm.versions import Range, is_before
from sbatchlint.source.records import Record
from sbatchlint.source.text import Span

# Directive lines are read until they have this many characters together.
MOST_CHARACTERS = 1 << 17


class Reading(Record):
    """The option block as some releases read it; the attributes are those of `Directives`."""

    lines: list[DirectiveLine]
    unread: list[DirectiveLine]
    stop: StopLine | None
    settings: list[Setting]
    problems: list[Problem]
    certain: bool
    components: int
    cut: Span | None = None


def read(text: Readable, within: Range, extra: tuple[str, ...]) -> Reading:
    """The reading of the newest release, in which settings and problems of only some releases are marked with these."""
    blocks = [list(majors) for majors in _classes(text.string, within)]
    readings = [_read(text, tuple(majors), extra) for majors in blocks]
    reading = readings[-1]
    for majors, other in zip(blocks[:-1], readings[:-1], strict=True):
        reading = _merge(reading, tuple(each for each in within.majors if each not in majors), other, tuple(majors))
    return reading


def _classes(string: str, versions: Range) -> list[list[str]]:
    """The releases, oldest first, grouped by how they split this script into words."""
    escapes = "\\ " in string
    lowered = versions.first == "20.11" and ("hetjob" in string.lower() or "packjob" in string.lower())
    if not escapes and not lowered:
        return [list(versions.majors)]
    groups: dict[tuple[bool, bool], list[str]] = {}
    for major in versions.majors:
        key = (lowered and major == "20.11", escapes and not is_before(major, "24.05"))
        groups.setdefault(key, []).append(major)
    return list(groups.values())


def _merge(new: Reading, new_versions: tuple[str, ...], old: Reading, old_versions: tuple[str, ...]) -> Reading:
    """The newer reading, in which settings and problems of only one of the two are marked with its releases."""

    def narrow(versions: tuple[str, ...] | None, to: tuple[str, ...]) -> tuple[str, ...]:
        return to if versions is None else tuple(each for each in versions if each in to)

    old_problems = {(each.kind, each.span): each for each in old.problems}
    new_problems = {(each.kind, each.span) for each in new.problems}
    problems = [
        other_problem._replace(versions=narrow(other_problem.versions, old_versions))
        for other_problem in old.problems
        if (other_problem.kind, other_problem.span) not in new_problems
    ]
    for problem in new.problems:
        if (problem.kind, problem.span) not in old_problems:
            problem = problem._replace(versions=narrow(problem.versions, new_versions))
        problems.append(problem)
    old_settings = {(each.name, each.span, each.value) for each in old.settings}
    new_settings = {(each.name, each.span, each.value) for each in new.settings}
    settings = [each for each in old.settings if (each.name, each.span, each.value) not in new_settings]
    for setting in settings:
        setting.versions = narrow(setting.versions, old_versions)
    for setting in new.settings:
        if (setting.name, setting.span, setting.value) not in old_settings:
            setting.versions = narrow(setting.versions, new_versions)
    new.settings = [*settings, *new.settings]
    new.problems = problems
    new.certain = new.certain and old.certain
    return new


def _read(text: Readable, majors: tuple[str, ...], extra: tuple[str, ...]) -> Reading:
    string = text.string
    escaped_space = not is_before(majors[0], "24.05")
    strict = majors[-1] != "20.11"
    lines: list[DirectiveLine] = []
    unread: list[DirectiveLine] = []
    stop: StopLine | None = None
    certain = True
    component = 0
    at = 0
    size = len(string)
    room = MOST_CHARACTERS
    cut: Span | None = None
    while at < size:
        newline = string.find("\n", at)
        end, full_end = (size, size) if newline < 0 else (newline, newline + 1)
        start, shown_end = at, end - 1 if end > at and string[end - 1] == "\r" else end
        magic = magic_of(string, at)
        inline = inline_directive(string, at, shown_end) if magic is None else None
        if inline is not None:
            (start, shown_end), magic, certain = inline, "#SBATCH", False
        if magic is not None:
            room -= shown_end - start
            if room < 0:
                certain, cut = False, text.span(start, shown_end)
                break
            line = DirectiveLine(text, magic, start, shown_end, full_end, component)
            separates = _fill(text, line, escaped_space, strict)
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
                after = template_end(string, first, end)
                if after is not None:
                    certain = False
                    full_end = max(full_end, after)
                else:
                    known = string[first] != UNKNOWN
                    shown_end = end - 1 if string[end - 1] == "\r" else end
                    span = text.span(first, max(shown_end, first))
                    stop = StopLine(span, span.start, known, at)
                    certain = certain and known
                    unread = _unread(text, full_end, escaped_space, strict)
                    break
        at = full_end
    settings: list[Setting] = []
    problems: list[Problem] = []
    components: list[list[DirectiveLine]] = [[] for _ in range(component + 1)]
    for line in lines:
        components[line.component].append(line)
    for number, own in enumerate(components):
        for line in own:
            if line.fault is not None:
                fault = line.fault
                span = text.span(fault.start, fault.end)
                written = string[fault.start : fault.end].rstrip(BLANKS)
                problems.append(Problem(fault.kind, span, fault.message, written, line, (), None))
        words = [(line, token) for line in own for token in line.tokens]
        found, faults, sure = parse_words(text, words, number, majors, extra)
        settings.extend(found)
        problems.extend(faults)
        certain = certain and sure
    return Reading(lines, unread, stop, settings, problems, certain, component + 1, cut)


def _fill(text: Readable, line: DirectiveLine, escaped_space: bool, strict: bool) -> bool:
    """Sets the words of a line; returns whether it begins another component."""
    string = text.string
    start, end = line.words_start, line.end
    separates = False
    if not strict:
        # 20.11: the word anywhere in the line, which is then overwritten with spaces.
        blanked = re.sub(r"(?i)hetjob|packjob", lambda found: " " * len(found.group()), string[start:end], count=1)
        if blanked != string[start:end]:
            separates = True
            string = string[:start] + blanked + string[end:]
    words = read_words(string, start, end, escaped_space, strict)
    if strict and not words.tokens and words.dropped is not None:
        separates = separator_at(string, words.dropped, end)
    line.tokens = words.tokens
    line.fault = words.fault
    if words.comment is not None:
        line.comment_start = words.comment
        line.comment = text.span(words.comment, end)
    if words.dropped is not None and not separates:
        line.dropped = text.span(words.dropped, end)
    return separates


def _unread(text: Readable, at: int, escaped_space: bool, strict: bool) -> list[DirectiveLine]:
    """The lines from `at` on that begin with `#SBATCH`."""
    string = text.string
    found: list[DirectiveLine] = []
    room = MOST_CHARACTERS
    while True:
        if not string.startswith("#SBATCH", at):
            at = string.find("\n#SBATCH", at) + 1
            if at == 0:
                return found
        newline = string.find("\n", at)
        end, full_end = (len(string), len(string)) if newline < 0 else (newline, newline + 1)
        shown_end = end - 1 if string[end - 1] == "\r" else end
        line = DirectiveLine(text, "#SBATCH", at, shown_end, full_end, -1)
        _fill(text, line, escaped_space, strict)
        found.append(line)
        room -= shown_end - at
        if room < 0:
            return found
        at = full_end


_Words = list[tuple[DirectiveLine, Token]]


def parse_words(
    text: Readable, words: _Words, component: int, majors: tuple[str, ...], extra: tuple[str, ...],
    command: str = "sbatch",
) -> tuple[list[Setting], list[Problem], bool]:  # fmt: skip
    """The settings and problems of one argument vector, and whether there can be no others."""
    settings: list[Setting] = []
    problems: list[Problem] = []
    certain = True
    strings = [token.text for _, token in words]
    at = 0
    while True:
        parsed = parse(strings, command, majors, extra, at)
        certain = certain and not parsed.uncertain
        settings.extend([_setting(text, words, option, component) for option in parsed.options])
        problems.extend([_problem(text, words, fault) for fault in parsed.problems])
        at = parsed.rest
        if at >= len(words):
            return settings, problems, certain
        # sbatch exits here; the rest is read as well, because it shows what the script is meant to set.
        line, token = words[at]
        if problems and problems[-1].kind == "unknown-option" and problems[-1].token is words[at - 1][1]:
            unknown = problems[-1]
            if unknown.line is line and "=" not in words[at - 1][1].text and not parsed.ended:
                # Presumably the value of the option.
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


def _setting(text: Readable, words: _Words, parsed: ParsedOption, component: int) -> Setting:
    line, token = words[parsed.word]
    cluster = parsed.start > 0
    first = token.offset(parsed.start) if parsed.start > 1 else token.start
    if parsed.value_word is None or parsed.value_word != parsed.word:
        last = token.end if not cluster or parsed.start + 1 >= len(token.text) else token.offset(parsed.start) + 1
    else:
        last = token.end
    value_line: DirectiveLine | None = None
    value_token: Token | None = None
    value_span: Span | None = None
    value_start = parsed.value_start or 0
    option_last = last
    end = last
    if parsed.value_word is not None:
        value_line, value_token = words[parsed.value_word]
        start, stop = value_token.part(value_start)
        if value_start and value_token.positions is not None and not _same(text.string, start, stop, parsed.value):
            start = value_token.start
        value_span = text.span(start, stop)
        if value_token is token:
            option_last = token.offset(value_start - 1) + (0 if parsed.written.startswith("--") else 1)
        elif value_line is line:
            end = value_token.end
    plugin = "site" if parsed.option is None else parsed.option.plugin
    return Setting(
        parsed.name,
        parsed.written,
        parsed.value,
        first,
        end,
        option_last,
        value_span,
        line,
        value_line,
        component,
        plugin,
        parsed.versions,
        parsed.option,
        token,
        parsed.start,
        value_token,
        value_start,
    )


def _same(string: str, start: int, end: int, value: str | None) -> bool:
    """Whether these characters by themselves are read as the value, so that no earlier quote extends into them."""
    words = read_words(string, start, end, strict_separator=False)
    if not value:
        return not words.tokens and words.fault is None
    return words.fault is None and len(words.tokens) == 1 and words.tokens[0].text == value


def _problem(text: Readable, words: _Words, fault: OptionFault) -> Problem:
    line, token = words[fault.word]
    span = text.span(token.start, token.end)
    candidates, versions = fault.candidates, fault.versions
    return Problem(fault.kind, span, fault.message, fault.written, line, candidates, versions, token, None, fault.start)
