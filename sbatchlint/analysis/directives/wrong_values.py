"""Option values that Slurm refuses, and what was meant; each family of values has a check that reports them."""

import re
from collections.abc import Collection, Iterable, Iterator
from itertools import groupby
from shlex import quote
from typing import NamedTuple
from unicodedata import category

from sbatchlint.analysis.directives.typos import swallowed_option, typo
from sbatchlint.job import Job
from sbatchlint.job.command_lines import option_blocks
from sbatchlint.slurm.directives import Directives
from sbatchlint.slurm.grammar import Refusal, refusals
from sbatchlint.slurm.model import Setting
from sbatchlint.slurm.rewriting import replacement
from sbatchlint.source.edits import Edit
from sbatchlint.source.text import Span


class WrongValue(NamedTuple):
    """A setting whose value is refused.

    `span`: the value, or the option if it has none. `fault`: the beginning of a sentence: what refuses it, in which
    releases, and why. `reason`: only why. `versions`: the releases, None for all. `instead`: the value that was clearly
    meant and that all releases of the range accept, '' for the option without a value, None where it is not known;
    `edits` write it. `conditional`: whether only some jobs run the command, or give the option this value.
    """

    setting: Setting
    span: Span
    fault: str
    reason: str
    instead: str | None
    edits: tuple[Edit, ...]
    versions: Collection[str] | None
    conditional: bool = False


def wrong_values(job: Job, *kinds: str) -> Iterator[WrongValue]:
    """The settings of these families (`Refusal.kind`) that some release refuses, each once.

    Settings that a later one overrides are included, as sbatch checks each; settings with a typo are not. Options of
    srun, sbatch and salloc on a command line are judged like directives.
    """
    for directives in option_blocks(job):
        yield from _of_block(job, directives, kinds)


def _of_block(job: Job, directives: Directives, kinds: Collection[str]) -> Iterator[WrongValue]:
    chosen = [each for each in directives.refused if each.refusal.kind in kinds]
    for _, group in groupby(chosen, key=lambda each: id(each.setting)):
        found = list(group)
        setting = found[0].setting
        if typo(directives, setting) is not None or swallowed_option(setting) or _is_cut_by_space(directives, setting):
            continue
        newest = found[-1].refusal
        instead = _instead(directives, setting, [each.refusal.instead for each in found])
        edits = () if instead is None else _edits(job, directives, setting, instead)
        span = setting.value_span or setting.option_span
        versions = _releases(directives, setting, [each.refusal for each in found])
        when = job.versions.suffix(versions)
        refuser = "slurmctld" if newest.stage == "controller" else directives.command
        fault = f"{refuser} refuses {setting.shown}{when}: {newest.reason}"
        unseen = next((each for each in setting.text or "" if category(each) == "Cc"), None)
        if unseen is not None:  # a terminal shows nothing of it
            fault = (
                f"{refuser} refuses the value of --{setting.name}{when}: the invisible character U+{ord(unseen):04X} is"
            )
            fault += f" part of it{'' if instead is not None else '; remove it'}"
            newest = newest._replace(reason="")
        span = span if span.end > span.start else setting.span
        yield WrongValue(setting, span, fault, newest.reason, instead, edits, versions, directives.conditional)


def _releases(directives: Directives, setting: Setting, found: list[Refusal]) -> set[str] | None:
    """The releases that refuse a value, or any value of the option; None for all of the range."""
    chosen: set[str] = set()
    for refusal in found:
        if refusal.versions is None:
            return None
        chosen.update(refusal.versions)
    for problem in directives.problems:
        if problem.kind == "unexpected-value" and problem.token is setting.token:
            chosen.update(problem.versions or ())
    return chosen


def _is_cut_by_space(directives: Directives, setting: Setting) -> bool:
    """Whether a space cuts the value in two (`-d afterok: 1`); then the word after the space is reported."""
    token, line = setting.value_token, setting.value_line
    value = setting.text or ""
    is_open = value[-1:] in ",:=%@-" or setting.name == "dependency" and ":" not in value
    if token is None or line is None or not is_open:
        return False
    following = next((each for each in line.tokens if each.start >= token.end), None)
    if following is None:
        return False
    start = line.text.span(following.start, following.end).start
    return any(each.kind == "stray-word" and each.span.start == start for each in directives.problems)


def _instead(directives: Directives, setting: Setting, suggested: Iterable[str | None]) -> str | None:
    """The first suggested value that every release of the range accepts; None where there is none."""
    for value in suggested:
        if value is None or setting.option is None:
            continue
        if value == "":
            return value if setting.value_token is setting.token and setting.written.startswith("--") else None
        if not refusals(setting.option, value, setting.versions or directives.versions.majors, directives.command):
            return value
    return None


def _edits(job: Job, directives: Directives, setting: Setting, value: str) -> tuple[Edit, ...]:
    if directives is not job.directives:
        span = setting.value_span
        plain = value and span is not None and job.source.slice(span) == setting.value and quote(value) == value
        return (Edit(span, value),) if plain and span is not None else ()
    return (_edit(directives, setting, value),)


def _edit(directives: Directives, setting: Setting, value: str) -> Edit:
    if value == "" and setting.value_span is not None:
        return Edit(Span(setting.option_span.end, setting.value_span.end), "")
    return replacement(directives, setting, value)


def span_of_words(directives: Directives, setting: Setting, words: tuple[str, ...]) -> Span:
    """The place of a word in the list that is a setting's value.

    The whole value for several words, for one that occurs twice, and for one that is not written literally.
    """
    whole = setting.value_place
    token = setting.value_token
    if len(words) != 1 or token is None:
        return whole
    start, end = token.part(setting.value_start)
    raw = setting.line.text.string[start:end]
    places = [match.start() for match in re.finditer(rf"(?<![^,?\"']){re.escape(words[0])}(?![^,?\"'])", raw)]
    if len(places) != 1:
        return whole
    return setting.line.text.span(start + places[0], start + places[0] + len(words[0]))
