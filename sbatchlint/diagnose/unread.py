"""A directive that sbatch does not read, as the cause why a job did not get what its script requests."""

from sbatchlint.analysis.directives.near_misses import turned_off
from sbatchlint.diagnose.answers import Answer, Picture
from sbatchlint.diagnose.evidence import lacks, options_written, spans_of
from sbatchlint.diagnose.subjects import related_options
from sbatchlint.diagnose.symptom import Cause, Event
from sbatchlint.diagnostics import Diagnostic
from sbatchlint.source.text import Source

# An option that is set twice counts once.
_CODES = ("SB101", "SB102", "SB103", "SB110", "SB116")
UNREAD = Cause(
    "directive-not-read",
    "script",
    "sbatch does not read a directive of the script, so the job does not get what it asks for",
    "see the finding",
    codes=_CODES,
)
# Who prints symptoms by which a job is refused for its request.
_REFUSING = ("slurmctld, by way of sbatch", "job_submit")
# Options by which slurmctld, or a filter of the site, may refuse a job.
_REFUSED_FOR = frozenset(
    ["account", "constraint", "cpus-per-task", "exclusive", "gpus", "gpus-per-node", "gpus-per-task", "gres", "mem",
     "mem-per-cpu", "mem-per-gpu", "nodes", "ntasks", "ntasks-per-node", "partition", "qos", "reservation", "time"]
)  # fmt: skip


def unread(event: Event, picture: Picture) -> Answer | None:
    """The directives that are not read and would have set what the message is about; None without any."""
    refused = any(each in event.symptom.printed_by for each in _REFUSING)
    names = _REFUSED_FOR if refused else related_options(event)
    source = picture.source
    found = tuple(
        finding
        for finding in picture.findings
        if finding.code in _CODES and (finding.severity == "error" or finding.code == "SB116")
        if names & _options_of(finding, source)
    )
    if not found:
        return None
    spans = spans_of(found)
    return Answer(event, UNREAD, "likely", UNREAD.says, UNREAD.advice, spans, found, proven=True)


def _options_of(finding: Diagnostic, source: Source) -> set[str]:
    """The options on the lines of a finding: of the directive, or of all directives after a command."""
    places = (finding.span, *(place for place, _ in finding.related))
    rows = {source.row(place.start) for place in places} | {source.row(place.end) for place in places}
    return {each for row in rows for each in options_written(source.slice(source.line(row)))}


OFF = Cause(
    "directive-off",
    "script",
    "the line of the script that asks for it is a comment, so the job does not get it",
    "write `#SBATCH` at the beginning of the line, with one # and no space",
)


def off(event: Event, picture: Picture) -> Answer | None:
    """The directives that are comments and would set what the message is about; None where something else sets it."""
    wanted = related_options(event)
    job = picture.jobs[0]
    if not wanted or not lacks(job, *wanted):
        return None
    spans = tuple(each.span for each in turned_off(job) if each.name in wanted)
    if not spans:
        return None
    return Answer(event, OFF, "likely", OFF.says, OFF.advice, spans, proven=True)
