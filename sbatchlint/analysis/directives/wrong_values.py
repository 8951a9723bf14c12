"""Values that Slurm refuses, drops or understands otherwise than they read, with what they were meant to be."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

from sbatchlint.analysis.directives.typos import took_an_option
from sbatchlint.slurm.grammar import Refusal, dependencies, mail, refusals
from sbatchlint.slurm.model import Problem, Setting
from sbatchlint.source.edits import Edit
from sbatchlint.source.records import NamedTuple
from sbatchlint.source.text import Span

if TYPE_CHECKING:
    from sbatchlint.slurm.directives import Directives


class WrongValue(NamedTuple):
    """A setting whose value is refused.

    `span`: the value, or the option where it has none. `says`: Slurm's message, of the newest release that refuses it.
    `reason`: what is wrong. `ends`: whether sbatch does what is asked, and submits nothing (`help`). `instead`: the
    value that was plainly meant and that all releases of the range take, '' for the option without a value, None where
    it is not known. `versions`: the releases that refuse it, None for all.
    """

    setting: Setting
    span: Span
    says: str
    reason: str
    ends: bool
    instead: str | None
    versions: tuple[str, ...] | None
    edits: tuple[Edit, ...]


def wrong_values(directives: Directives, kinds: Iterable[str]) -> list[WrongValue]:
    """The settings of these families (`Refusal.kind`) that some release refuses, each once; no slips of the pen."""
    grouped: dict[int, tuple[Setting, list[Refusal]]] = {}
    for each in directives.misvalued(*kinds):
        if not took_an_option(each.setting) and not _is_cut_by_blank(directives, each.setting):
            grouped.setdefault(id(each.setting), (each.setting, []))[1].append(each.refusal)
    found: list[WrongValue] = []
    for setting, refusals_of in grouped.values():
        newest = refusals_of[-1]
        versions: tuple[str, ...] | None = None
        if all(each.versions is not None for each in refusals_of):
            chosen = {version for each in refusals_of for version in each.versions or ()}
            chosen |= _refusing_a_value(directives, setting)
            versions = tuple(version for version in directives.versions.majors if version in chosen)
            if len(versions) == len(directives.versions.majors):
                versions = None
        instead = _instead(directives, setting, [each.instead for each in refusals_of])
        edits = () if instead is None else (_edit(directives, setting, instead),)
        span = setting.value_span or setting.option_span
        ends = newest.reason.endswith(" ends sbatch")
        span = span if span.end > span.start else setting.span
        found.append(WrongValue(setting, span, newest.message, newest.reason, ends, instead, versions, edits))
    return found


def _is_cut_by_blank(directives: Directives, setting: Setting) -> bool:
    """Whether a word stands behind the value that belongs to it: `-d afterok: 1`. The word is reported."""
    token, line = setting.value_token, setting.value_line
    value = setting.text or ""
    is_open = value[-1:] in ",:=%@-" or setting.name == "dependency" and ":" not in value
    if token is None or line is None or not is_open:
        return False
    following = next((each for each in line.tokens if each.start >= token.end), None)
    if following is None:
        return False
    start = directives.text.span(following.start, following.end).start
    return any(each.kind == "stray-word" and each.span.start == start for each in directives.problems)


def _refusing_a_value(directives: Directives, setting: Setting) -> set[str]:
    """The releases in which an option takes no value at all, where it does in others."""
    return {
        version
        for problem in directives.problems
        if problem.kind == "unexpected-value" and problem.token is setting.token
        for version in problem.versions or ()
    }


def _instead(directives: Directives, setting: Setting, given: Iterable[str | None]) -> str | None:
    """The first of the values that every release of the range takes."""
    for value in given:
        if value is None or setting.option is None:
            continue
        if value == "":
            return value if setting.value_token is setting.token and setting.written.startswith("--") else None
        if not refusals(setting.option, value, setting.versions or directives.versions.majors):
            return value
    return None


def _edit(directives: Directives, setting: Setting, value: str) -> Edit:
    if value == "" and setting.value_span is not None:
        return Edit(Span(setting.option_span.end, setting.value_span.end), "")
    return directives.replacement(setting, value)


class ValueMissing(NamedTuple):
    """An option that has no value where it needs one, or one where it takes none.

    `span`: the option, with a value that is too much. `taken`: the option of a later line that became the value, ''
    where there was none. `says`: Slurm's message, None where it takes the script. `edits`: take away what is too much.
    """

    name: str
    span: Span
    taken: str
    says: str | None
    versions: tuple[str, ...] | None
    edits: tuple[Edit, ...]


# Options whose argument came or went: their own checks report them.
_CHANGED = ("get-user-env", "requeue")


def _is_cut_off(directives: Directives, problem: Problem) -> bool:
    """Whether a fault of the line keeps the value from being read: a quote, an empty word, a `#` in front of it."""
    line = problem.line
    if not line.tokens or line.tokens[-1] is not problem.token:
        return False
    behind = line.comment_start + 1
    hidden = line.comment is not None and directives.text.string[behind : behind + 1] not in ("", " ", "\t", "#", "\n")
    return line.fault is not None or line.dropped is not None or hidden


def missing_values(directives: Directives) -> list[ValueMissing]:
    """Options with a value too much or too few, in order."""
    found: list[ValueMissing] = []
    # Releases that do not have the option refuse it for that.
    absent = [each.token for each in directives.problems if each.kind == "unknown-option"]
    for problem in directives.problems:
        if problem.kind == "missing-value" and any(each is problem.token for each in absent):
            continue
        if problem.kind == "missing-value" and _is_cut_off(directives, problem):
            continue
        if problem.kind == "missing-value":
            found.append(ValueMissing(problem.candidates[0], problem.span, "", problem.message, problem.versions, ()))
        elif problem.kind == "unexpected-value" and problem.candidates[0] not in _CHANGED:
            surplus = Span(problem.span.start + len(problem.written), problem.span.end)
            plain = problem.token is not None and problem.token.positions is None
            edits = (Edit(surplus, ""),) if plain else ()
            found.append(
                ValueMissing(problem.candidates[0], problem.span, "", problem.message, problem.versions, edits)
            )
    for setting in directives.settings:
        if took_an_option(setting):
            taken = setting.text or ""
            found.append(ValueMissing(setting.name, setting.option_span, taken, None, setting.versions, ()))
    return sorted(found, key=lambda each: each.span)


class DroppedMail(NamedTuple):
    """Words of `--mail-type` that are dropped without a sound.

    `words`: as written. `span`: the word, or the whole value where there are several. `after_none`: whether they are
    events that stand behind NONE, or before it. `instead`: the words that were plainly meant, None where one is not
    known.
    """

    setting: Setting
    words: tuple[str, ...]
    span: Span
    after_none: bool
    instead: str | None
    edits: tuple[Edit, ...]


def dropped_mail(directives: Directives) -> list[DroppedMail]:
    """Where sbatch takes a value of `--mail-type`, and not all of its words."""
    found: list[DroppedMail] = []
    for setting in directives.settings:
        text = setting.text
        if setting.name != "mail-type" or not text or directives.slip(setting) is not None:
            continue
        read = mail.events(text)
        if read.unknown and (read.events or read.none):
            value = mail.corrected(text)
            edits = () if value is None else (directives.replacement(setting, value),)
            meant = [mail.meant(word) for word in read.unknown]
            instead = None if None in meant else " and ".join(dict.fromkeys(each for each in meant if each))
            found.append(
                DroppedMail(setting, read.unknown, _word_span(directives, setting, read.unknown), False, instead, edits)
            )
        elif read.none and text.strip(",").upper() != "NONE":
            others = tuple(word for word in text.split(",") if word and word.upper() != "NONE")
            if others:
                found.append(DroppedMail(setting, others, _word_span(directives, setting, others), True, None, ()))
    return found


def _word_span(directives: Directives, setting: Setting, words: tuple[str, ...]) -> Span:
    """Where the only word stands, if it does so once and as it is written; else the whole value."""
    whole = setting.value_span or setting.span
    token = setting.value_token
    if len(words) != 1 or token is None:
        return whole
    start, end = token.part(setting.value_start)
    raw = directives.text.string[start:end]
    places = [match.start() for match in re.finditer(rf"(?<![^,?\"']){re.escape(words[0])}(?![^,?\"'])", raw)]
    if len(places) != 1:
        return whole
    return directives.text.span(start + places[0], start + places[0] + len(words[0]))


class ImpliedDependency(NamedTuple):
    """A bare job id behind a term of another type than afterany, which it does not share.

    `job`: the id, as written. `type`: that of the term before it. `span`: the id. `instead`: the value that gives it
    this type.
    """

    setting: Setting
    job: str
    type: str
    span: Span
    instead: str
    edits: tuple[Edit, ...]


def implied_dependencies(directives: Directives) -> list[ImpliedDependency]:
    """Dependencies such as `afterok:1,2`, which sbatch takes for `afterok:1,afterany:2`."""
    found: list[ImpliedDependency] = []
    for setting in directives.settings:
        text = setting.text
        if setting.name != "dependency" or not text or directives.slip(setting) is not None:
            continue
        read = dependencies.parse(text, directives.versions.last)
        if isinstance(read, dependencies.Fault):
            continue
        kind = ""
        value = text
        bare: list[str] = []
        for term in reversed(read.terms):
            if term.bare:
                before = next((each for each in reversed(read.terms) if each.end <= term.start and not each.bare), None)
                if before is None or before.type in ("afterany", "singleton"):
                    continue
                kind = before.type
                bare.insert(0, text[term.start : term.end])
                joined = ":" if text[term.start - 1] == "," else f"?{kind}:"
                value = value[: term.start - 1] + joined + value[term.start :]
        if bare:
            edit = directives.replacement(setting, value)
            span = _word_span(directives, setting, tuple(bare))
            found.append(ImpliedDependency(setting, " and ".join(bare), kind, span, value, (edit,)))
    return found


def unsent_mail(directives: Directives) -> list[Setting]:
    """The `--mail-user` of each component for which no mail is ever sent: no event is named anywhere.

    Silent where the events may be named all the same: by an option that is not read or not known, or in a comment.
    """
    if not directives.certain or re.search(r"(?i)mail[-_ ]?type", directives.text.string):
        return []
    foreign = directives.foreign
    if foreign is not None and (not foreign.certain or any(each.name == "mail-type" for each in foreign.settings)):
        return []
    found: list[Setting] = []
    for component in range(directives.components):
        if directives.all("mail-type", component):
            continue
        setting = directives.last("mail-user", component)
        if setting is not None and setting.text and directives.slip(setting) in (None, "placeholder"):
            found.append(setting)
    return found
