"""Applies fixes in rounds, and proves each round by linting the result.

A fix is reverted if its finding remains, if sbatch would refuse a script that it took before, or if bash no longer
parses one that it parsed before. What else a fix uncovers is a finding like any other.
"""

import os
import re
from bisect import bisect_left, bisect_right, insort
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from itertools import accumulate
from typing import NamedTuple

from sbatchlint.bash.limits import cost_of_script
from sbatchlint.diagnostics import Diagnostic, Fix
from sbatchlint.engine import Inspection, inspect
from sbatchlint.settings import Settings
from sbatchlint.source.edits import Edit, apply
from sbatchlint.source.numbers import parse_integer
from sbatchlint.source.regex import Regex
from sbatchlint.source.text import Source, Span, lines_of

MAX_ROUNDS = 200
# Each round lints the whole file again. When the rounds have cost this much together, the remaining findings are not
# fixed; nor is anything in a file that costs twice as much by itself and was not analysed to its end.
MOST_COST = 1 << 15
# What it costs to ask bash whether it can parse a text, in the same unit.
COST_OF_BASH = 16
_NUMBER = Regex(r"\d+")
_HUNK = Regex(r"@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@")


class Refused(NamedTuple):
    """A fix that was reverted, and why."""

    diagnostic: Diagnostic
    reason: str


class Fixed(NamedTuple):
    """A file after its fixes. `applied`: the findings that were fixed, each as it was before its fix.

    `spent`: what the rounds cost, with what was spent before them.
    """

    source: Source
    applied: list[Diagnostic]
    refused: list[Refused]
    inspection: Inspection
    spent: int


class _State(NamedTuple):
    source: Source
    inspection: Inspection


class _Bash:
    """What bash says of texts, each asked of at most once. `cost`: what asking cost."""

    def __init__(self) -> None:
        self._parses: dict[str, bool] = {}
        self.cost = 0

    def parses(self, source: Source) -> bool:
        found = self._parses.get(source.text)
        if found is None:
            self.cost += COST_OF_BASH
            found = self._parses[source.text] = bash_parses(source)
        return found

    def still_parses(self, before: Source, after: Source) -> bool:
        """Whether bash parses a text, or did not parse that before it."""
        if self._parses.get(before.text) is False:
            self._parses[after.text] = False  # as good as that: nothing gets worse
            return True
        return self.parses(after) or not self.parses(before)


Accept = Callable[[Diagnostic], bool]
Admits = Callable[[Source, Fix], bool]


def fix_source(
    source: Source, settings: Settings, unsafe: bool = False, first: Inspection | None = None,
    admits: Admits | None = None, spent: int = 0,
) -> Fixed:  # fmt: skip
    """The file after the fixes of all reported findings; nothing is written.

    `unsafe`: also unsafe fixes. `first`: the inspection of the file, None if it is not known yet. `admits`: whether the
    document that holds the text can hold a fix. `spent`: what the fixes of its other scripts have cost.
    """

    def accepted(diagnostic: Diagnostic) -> bool:
        fix = diagnostic.fix
        if fix is None or not (fix.safe or unsafe) or not settings.shows(diagnostic.code, diagnostic.severity):
            return False
        return admits is None or admits(diagnostic.source, fix)

    state = _State(source, first or inspect(source, settings))
    applied: list[Diagnostic] = []
    refused: list[Refused] = []
    banned: set[tuple[str, int]] = set()
    aside: set[tuple[str, int]] = set()  # to be tried when all others are dealt with
    bash = _Bash()
    before = {source.text}
    most = 0
    for number in range(MAX_ROUNDS):
        batch = _choose(state.inspection.diagnostics, accepted, banned | aside)
        if not batch and aside:
            aside.clear()
            batch = _choose(state.inspection.diagnostics, accepted, banned)
        if most:
            batch = batch[:most]
        if not batch:
            break
        spent += state.inspection.cost + cost_of_script(state.source.text)
        if number and spent + bash.cost > MOST_COST or state.inspection.is_cut and spent > 2 * MOST_COST:
            break
        after, reason, blamed = _try(state, batch, settings, bash)
        if not reason and after.source.text in before:
            reason = "it would undo what another fix did"
        if reason and 0 < len(blamed) < len(batch):
            aside.update([(each.name, each.span.start) for each in blamed])
            continue
        if reason and len(batch) > 1:
            most = len(batch) // 2  # one of them is to blame: halve the batch until it is found
            continue
        most = 0
        if reason:
            refused.append(Refused(batch[0], reason))
            banned.add((batch[0].name, batch[0].span.start))
            continue
        offsets = OffsetMap(_edits(batch, state.source))
        banned, aside = ({(name, offsets.offset(at)) for name, at in places} for places in (banned, aside))
        applied.extend(batch)
        before.add(after.source.text)
        state = after
    return Fixed(state.source, applied, refused, state.inspection, spent + bash.cost)


def _choose(diagnostics: Iterable[Diagnostic], accepted: Accept, banned: set[tuple[str, int]]) -> list[Diagnostic]:
    """The findings to fix in one round, in the order of the file; their edits do not touch each other."""
    chosen: list[Diagnostic] = []
    taken: list[Span] = []  # the spans of their edits, sorted
    for diagnostic in diagnostics:
        if diagnostic.fix is None or not accepted(diagnostic) or (diagnostic.name, diagnostic.span.start) in banned:
            continue
        if not any(_is_taken(each.span, taken) for each in diagnostic.fix.edits):
            chosen.append(diagnostic)
            for edit in diagnostic.fix.edits:
                insort(taken, edit.span)
    return chosen


def _is_taken(span: Span, taken: Sequence[Span]) -> bool:
    """Whether an edit of this span would touch one of the others, or insert at its start."""
    at = bisect_left(taken, (span.start, 0))
    before, after = taken[max(at - 1, 0) : at], taken[at : at + 1]
    return any(each.end > span.start for each in before) or any(
        later.start < span.end or later.start == span.start for later in after
    )


def _edits(batch: Iterable[Diagnostic], source: Source) -> list[Edit]:
    """The edits of several fixes, sorted, with the newlines of the file."""
    found = []
    for diagnostic in batch:
        for edit in diagnostic.fix.edits if diagnostic.fix else ():
            content = edit.content
            if source.newline != "\n":
                content = re.sub(r"\r?\n", source.newline, content)
            found.append(Edit(Span(*edit.span), content))
    return sorted(found, key=lambda edit: edit.span)


class OffsetMap:
    """Maps offsets of a text to offsets in the text after these sorted edits."""

    def __init__(self, edits: Sequence[Edit]) -> None:
        self._edits = edits
        self._starts = [each.span.start for each in edits]
        grown = (len(content) - (end - start) for (start, end), content in edits)
        self._moved = list(accumulate(grown, initial=0))  # for each edit, how far the edits before it move text

    def offset(self, at: int, after: bool = True) -> int:
        """The new offset of a place; `after`: whether a place at an insertion ends up after the inserted text."""
        number = max(bisect_left(self._starts, at) - 1, 0)
        for (start, end), content in self._edits[number : bisect_right(self._starts, at)]:
            if start == end == at and not after:
                break
            if at < end:
                return start + self._moved[number] + min(at - start, len(content))
            number += 1
        return at + self._moved[number]


def _try(
    state: _State, batch: list[Diagnostic], settings: Settings, bash: _Bash
) -> tuple[_State, str, list[Diagnostic]]:
    """The file after a round; why it must be reverted, "" if it need not; and whose fixes seem to blame, if known."""
    edits = _edits(batch, state.source)
    try:
        text = apply(state.source.text, edits)
    except ValueError:
        return state, "its edits overlap", []
    text = _with_same_end(state.source, text)
    if text == state.source.text:
        return state, "it changes nothing", []
    source = state.source.with_text(text)
    inspection = inspect(source, settings)
    if inspection.faults and not state.inspection.faults:
        return state, "sbatchlint could not read the result", []
    reason, blamed = _unwanted(state.inspection.diagnostics, inspection.diagnostics, batch, OffsetMap(edits))
    if reason:
        return state, reason, blamed
    if _has_new_error(state.inspection.diagnostics, inspection.diagnostics):
        before, now = _refusals(state.source, settings), _refusals(source, settings)
        message = next((message for version, message in now.items() if version not in before), None)
        if message is not None:
            blamed = [
                each for each in batch if any(_is_of_directive(edit, state.source) for edit in _edits([each], source))
            ]
            return state, f"sbatch would refuse the result: {message}", blamed
    if inspection.syntax_errors > state.inspection.syntax_errors or not bash.still_parses(state.source, source):
        return state, "the result would not be valid bash", _breaking(state, batch, bash)
    return _State(source, inspection), "", []


def _is_of_directive(edit: Edit, source: Source) -> bool:
    """Whether an edit changes a comment, or adds one."""
    return source.slice(source.line_of(edit.span.start)).lstrip().startswith("#") or "#SBATCH" in edit.content


def _breaking(state: _State, batch: list[Diagnostic], bash: _Bash) -> list[Diagnostic]:
    """One of these findings whose fix alone makes the file invalid for bash, if there is one."""
    while len(batch) > 1 and bash.parses(state.source):
        half = batch[: len(batch) // 2]
        text = apply(state.source.text, _edits(half, state.source))
        batch = batch[len(half) :] if bash.parses(state.source.with_text(text)) else half
    return batch


def _with_same_end(before: Source, text: str) -> str:
    """The new text, ending in a newline if and only if the file did: an edit may have moved another line to the end."""
    if text and before.text and text.endswith("\n") != before.text.endswith("\n"):
        return text + before.newline if before.text.endswith("\n") else text.removesuffix("\n").removesuffix("\r")
    return text


def _unwanted(
    before: list[Diagnostic], after: list[Diagnostic], batch: list[Diagnostic], offsets: OffsetMap
) -> tuple[str, list[Diagnostic]]:
    """Why a round must be reverted: findings remain; "" if none does. And those that remain at their places."""
    taken = {id(each) for each in batch}
    kept_places = _Places(each for each in before if id(each) not in taken)
    places = _Places(after)
    blamed = []
    for diagnostic in batch:
        start, end = offsets.offset(diagnostic.span.start), offsets.offset(diagnostic.span.end, after=False)
        if places.touching(diagnostic.name, start, end) > kept_places.touching(diagnostic.name, *diagnostic.span):
            blamed.append(diagnostic)
    if blamed:
        return "its finding would remain", blamed
    old = Counter(each.name for each in before)
    gone = Counter(each.name for each in batch)
    new = Counter(each.name for each in after)
    for name, count in gone.items():
        if new[name] > old[name] - count:
            known = {offsets.offset(each.span.start) for each in before if each.name == name and id(each) not in taken}
            said = {_said(each) for each in batch if each.name == name}
            others = (each for each in after if each.name == name and each.span.start not in known)
            if any(_said(each) in said for each in others):
                return "its finding would remain", []  # elsewhere; of other words it is the next of several
    return "", []


def _said(diagnostic: Diagnostic) -> tuple[str, str]:
    """The word that a finding is about, and what it says of it, without the lines that it names."""
    return diagnostic.source.slice(diagnostic.span), _NUMBER.sub("", diagnostic.message)


def _has_new_error(before: list[Diagnostic], after: list[Diagnostic]) -> bool:
    old, new = (Counter(each.name for each in found if each.severity == "error") for found in (before, after))
    return bool(new - old)


def _refusals(source: Source, settings: Settings) -> dict[tuple[int, str], str]:
    """Why sbatch refuses the jobs of a file, by their number and the release."""
    from sbatchlint.job import Job  # heavy, and rarely needed
    from sbatchlint.slurm.verdict import verdict

    job = Job.from_source(source, settings.site_of(source.path))
    found: dict[tuple[int, str], str] = {}
    for number, each in enumerate(job.with_submitted()):
        for version in each.versions.majors:
            judged = verdict(each.directives, version)
            if judged.accepted is False:
                found[number, version] = judged.message or ""
    job.release()
    return found


class _Places:
    """The places of findings by check, sorted, to find those near a place without looking at all."""

    def __init__(self, findings: Iterable[Diagnostic]) -> None:
        self._spans: dict[str, list[Span]] = {}
        self._longest: dict[str, int] = {}
        for finding in sorted(findings, key=lambda each: each.span):
            self._spans.setdefault(finding.name, []).append(finding.span)
            self._longest[finding.name] = max(self._longest.get(finding.name, 0), finding.span.end - finding.span.start)

    def touching(self, name: str, start: int, end: int) -> int:
        """How many findings of a check touch a place."""
        spans = self._spans.get(name, [])
        first = bisect_left(spans, (start - self._longest.get(name, 0), 0))
        return sum(_touch(each, start, end) for each in spans[first : bisect_left(spans, (end + 1, 0))])


def _touch(span: Span, start: int, end: int) -> bool:
    return span.start < end and start < span.end or span.start == start and span.end == end


def bash_parses(source: Source) -> bool:
    """Whether `bash -n`, which runs nothing, accepts the file; False also without a bash."""
    from subprocess import DEVNULL, TimeoutExpired, run  # heavy, and rarely needed

    environment = {name: value for name, value in os.environ.items() if name not in ("BASH_ENV", "ENV", "SHELLOPTS")}
    environment["LC_ALL"] = "C"
    try:
        done = run(
            ["bash", "--norc", "--noprofile", "-n"],
            input=Source.encode(source.text),
            stdout=DEVNULL,
            stderr=DEVNULL,
            env=environment,
            timeout=10,
            check=False,
        )
    except (OSError, ValueError, TimeoutExpired):
        return False
    return done.returncode == 0


def unified_diff(before: Source, after: Source, path: str) -> str:
    """The change as a unified diff, in which every line ends in a newline."""
    from sbatchlint.source.differences import unified  # only needed by `--diff`

    lines = unified(lines_of(before.text), lines_of(after.text), path)
    return "".join(line if line.endswith("\n") else line + "\n\\ No newline at end of file\n" for line in lines)


def redacted_diff(before: Source, after: Source, path: str) -> str:
    """The change as people are shown it: without secrets, also in lines that stay."""
    from sbatchlint.source.secrets import masked_lines, values_in  # as above

    values = (*values_in(before.text), *values_in(after.text))
    texts = (masked_lines(each.text, values) for each in (before, after))
    old, new = ([line.removesuffix("\n") for line in lines_of(text)] for text in texts)
    rows = [0, 0]
    shown: list[str] = []
    for number, line in enumerate(unified_diff(before, after, path).split("\n")):
        place = _HUNK.match(line)
        if place is not None:
            rows = [parse_integer(row) - 1 for row in place.groups()]
        elif number > 1 and line[:1] in (" ", "-", "+"):
            body = old[rows[0]] if line[0] != "+" else new[rows[1]]
            rows = [rows[0] + (line[0] != "+"), rows[1] + (line[0] != "-")]
            line = line[0] + body
        shown.append(line)
    return "\n".join(shown)
