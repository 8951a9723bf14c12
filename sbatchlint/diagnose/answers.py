"""Joins the events of a log with the script: which causes it confirms, and which it rules out."""

from collections.abc import Iterable, Sequence
from string import Formatter
from typing import NamedTuple

from sbatchlint.diagnose.bearing import advised, bearing, is_sure
from sbatchlint.diagnose.symptom import Cause, Confidence, Event, RuledOut, Shown, Where
from sbatchlint.diagnostics import Diagnostic
from sbatchlint.engine import inspect_job
from sbatchlint.job import Job
from sbatchlint.registry import registry
from sbatchlint.settings import Overrides, Settings
from sbatchlint.source.regex import Regex
from sbatchlint.source.text import Source, Span

CONFIDENCES: tuple[Confidence, ...] = ("certain", "likely", "possible")


class Picture(NamedTuple):
    """A script: its job, the jobs that it submits, and all findings of checks, including advice."""

    source: Source
    settings: Settings
    jobs: list[Job]
    findings: list[Diagnostic]


class Answer(NamedTuple):
    """The cause of an event, and how certain it is.

    `spans`: the places in the script to blame; `findings`: the findings there; `proven`: whether the script or the log
    shows it; `related`: if no place is to blame, the places in the script that are related to it. `place`: where
    it lies in this job; None where the cause says it.
    """

    event: Event
    cause: Cause
    confidence: Confidence
    says: str
    advice: str
    spans: tuple[Span, ...] = ()
    findings: tuple[Diagnostic, ...] = ()
    proven: bool = False
    related: tuple[Span, ...] = ()
    place: Where | None = None

    @property
    def where(self) -> Where:
        return self.place or self.cause.where


def overrides_for(options: Overrides) -> Overrides:
    """The settings for a script that ran: all checks run, and nothing is suppressed."""
    codes = tuple(each.code for each in registry().entries)
    return options._replace(select=codes, min_severity="info", ignores=False, have_run=True)


def picture_of(source: Source, settings: Settings) -> Picture:
    """The picture of a script."""
    job = Job.from_source(source, settings.site_of(source.path))
    inspection = inspect_job(job, source, settings)
    own = [each for each in inspection.diagnostics if not each.reached]
    return Picture(source, settings, job.with_submitted(), own)


def answers(event: Event, picture: Picture | None) -> list[Answer]:
    """The possible causes of an event, the likeliest first; empty if all are ruled out."""
    confirmed: list[Answer] = []
    open_ones: list[Answer] = []
    hidden: list[Answer] = []
    vague: list[Answer] = []
    for cause in event.symptom.causes:
        confirmed_by_log = cause.log(event) if cause.log is not None else None
        if confirmed_by_log is False:
            continue
        says, advice = _filled(cause.says, event), _filled(cause.advice, event)
        answer = Answer(event, cause, cause.unproven, says, advice)
        joined = _joined(answer, picture)
        if isinstance(joined, RuledOut):
            continue
        if joined is not None:
            confirmed.append(joined)
        elif confirmed_by_log:
            confirmed.append(answer._replace(confidence="certain", proven=True))
        elif cause.where == "script":  # not shown by the script, or there is no script
            hidden.append(answer)
        elif _lacks_group(cause, event):  # its text names a group that did not match
            vague.append(answer)
        else:
            open_ones.append(answer)
    confirmed.sort(key=lambda each: (CONFIDENCES.index(each.confidence), not each.findings))
    if picture is not None:
        hidden = [each._replace(confidence="possible") for each in hidden]
    left = open_ones + (vague + hidden if picture is None else hidden + vague)
    if confirmed and confirmed[0].confidence == "possible" and open_ones and open_ones[0].confidence != "possible":
        found, rest = open_ones[:1] + confirmed, left[1:]
    elif confirmed:
        found, rest = confirmed, left
    else:
        found, rest = left[:1], left[1:]
    known = {(each.says, each.where) for each in found}
    return found + [each._replace(confidence="possible") for each in rest if (each.says, each.where) not in known]


def _joined(answer: Answer, picture: Picture | None) -> Answer | RuledOut | None:
    """The answer as confirmed by the script; None if it neither confirms it nor rules it out."""
    if picture is None:
        return None
    cause, event = answer.cause, answer.event
    found = bearing(cause, event, picture.findings, picture.source)
    worst = [each for each in found if each.severity != "info"]
    if worst:
        return blaming(answer, worst, picture, "certain" if is_sure(event, worst) else "likely")
    if cause.script is None:
        return blaming(answer, found, picture, advised(event, found)) if found else None
    ruled_out = 0
    for job in picture.jobs:
        verdict = cause.script(job, event)
        if isinstance(verdict, Shown):
            own = [span for span in verdict.spans if span.end <= len(picture.source.text)]
            if own and _is_there(answer.advice, own, picture.source):
                continue
            return answer._replace(
                confidence=verdict.confidence, says=verdict.says or answer.says, spans=_unique(own), proven=True
            )
        ruled_out += isinstance(verdict, RuledOut)
    if found:
        return blaming(answer, found, picture, advised(event, found))
    return RuledOut() if ruled_out == len(picture.jobs) else None


def other_cause(first: Answer, key: str, where: Where, says: str, advice: str, spans: Iterable[Span] = ()) -> Answer:
    """The answer with another cause, which a sign in the message or in the script shows."""
    places = _unique(spans)
    return Answer(first.event, Cause(key, where, says, advice), "likely", says, advice, places, proven=bool(places))


# An option with its value, or a setting, that advice needs written.
_WANTED = Regex(r"(?<![\w-])(?:--[a-z][a-z-]+=[\w:.-]+|[A-Z][A-Z0-9_]+=[\w.-]+)(?![\w$=-])")


def _is_there(advice: str, spans: Iterable[Span], source: Source) -> bool:
    """Whether the lines that an answer blames have what it advises already."""
    wanted = _WANTED.findall(advice)
    lines = [source.slice(source.line(source.row(each.start))) for each in spans]
    return any(each in line.split() for each in wanted for line in lines)


def blaming(answer: Answer, found: Sequence[Diagnostic], picture: Picture, confidence: Confidence) -> Answer:
    """The answer with the places of findings that confirm it."""
    spans = [span for each in found for span in (each.span, *(other for other, _ in each.related))]
    spans += _run_at(picture.jobs[0], [each.span for each in found])
    return answer._replace(confidence=confidence, spans=_unique(spans), findings=tuple(found), proven=True)


def _run_at(job: Job, spans: Sequence[Span]) -> list[Span]:
    """The commands whose words are written at these places, for instance in a variable."""
    return [
        invocation.span
        for invocation in job.invocations
        if not invocation.kind and not any(_touch(invocation.span, span) for span in spans)
        if any(_touch(piece.span, span) for field in invocation.argv for piece in field for span in spans)
    ]


def _touch(one: Span, other: Span) -> bool:
    return one.start < other.end and other.start < one.end


def _unique(spans: Iterable[Span]) -> tuple[Span, ...]:
    return tuple(dict.fromkeys(spans))


def _lacks_group(cause: Cause, event: Event) -> bool:
    return "{" in cause.says and any(
        name and name not in event.groups for _, name, _, _ in Formatter().parse(cause.says)
    )


class _Groups(dict[str, str]):
    def __missing__(self, key: str) -> str:
        return "..."


def _filled(text: str, event: Event) -> str:
    return text.format_map(_Groups(event.groups)) if "{" in text else text


def rows_of(answer: Answer, source: Source | None) -> list[int]:
    """The rows of the script to blame; without any, the related ones."""
    return [] if source is None else sorted({source.row(each.start) for each in answer.spans or answer.related})


def advice_of(answer: Answer) -> str:
    """What an answer advises; what its findings say, where its advice only points to them."""
    if answer.findings and answer.advice.startswith("see the finding"):
        told = dict.fromkeys(each.message for each in answer.findings[:3])
        return " | ".join(told) + answer.advice.removeprefix("see the finding")
    return answer.advice


def codes_of(found: Sequence[Diagnostic]) -> list[str]:
    return sorted({each.code for each in found})
