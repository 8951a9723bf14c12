"""Ranking of events: which came first, and which only follow from it."""

import re
from collections.abc import Collection, Iterable, Mapping
from typing import NamedTuple

from sbatchlint.diagnose.findings import Findings
from sbatchlint.diagnose.making import makers
from sbatchlint.diagnose.symptom import Event
from sbatchlint.diagnose.traceback import FRAME
from sbatchlint.job import Job

CURED = "a later line says that it went well after all"
FOLLOWS = "follows from the first failure"
LATER = "later"
TEARDOWN = "teardown after the first failure"
HARMLESS = "says nothing of a failure"
WENT_ON = "the job went on after it"
# The lines of other output after an event that show that the job survived it.
WENT_ON_LINES = 400
# The same if no other failure follows until the end of the log.
OUTLIVED_LINES = 40
# The characters of two lines that have to be the same.
ALIKE = 12
_DIGITS = re.compile(r"\d+")
HANDLED = "the program says that it goes on"
ELSEWHERE = "says that the reason stands elsewhere"
# Messages by which a program says that it continues.
_GOES_ON = re.compile(
    r"(?i)\b(?:continuing|trying to continue|ignor(?:ed|ing)|skipp(?:ed|ing)|falling back|fall back|retrying"
    r"|fallback(?!.*\bnot\b)|will (?:retry|try again|be ignored|continue|use)|using (?:the )?default|assum(?:es?|ing)\b"
    r"|proceeding|instead\b|trying again|non[- ]fatal|harmless|exception ignored|is retried)|: Setting \w+ to "
)
# Symptoms of any line that has the form of an error.
_VAGUE = frozenset({"error-message", "failure-words", "last-words"})
_RULER = re.compile(r"-{60,}$")
# Failures after which a shell without `set -e` continues; symptoms of other failures; and texts of failures that may
# follow from the former.
_PASSED_OVER = frozenset({"command-not-found", "conda-not-initialised", "module-unknown", "module-conflict"})
_OWN_WORDS = frozenset({"python-exception", "error-message"})
_LACKS = re.compile(
    r"(?i)not found|no such (?:file|command)|no module|not installed|cannot import|shared object|shared librar"
    r"|not in (?:your )?path|exit code 12[67]|no package|could not find|unable to (?:find|locate)|can(?:no|')t find"
    r"|undefined symbol|GLIBC|version|not set|unset|is empty|unbound"
)
# The name of a command, as opposed to the rest of a broken line.
_COMMAND = re.compile(r"[a-z][\w.+-]*")
# Messages that only point to the reason.
_POINTS = re.compile(
    r"(?i)see (?:the )?(?:\w+ )?(?:stack ?trace|trace ?back|root cause|logs?|above|output|message|error)s?\b"
    r".*(?:root cause|above|detail|for)|root cause above|(?:due to|because of) (?:an? )?(?:exception|error|failure) in "
    r"|previous errors?|look (?:at|above|below|in)|check (?:the )?(?:log|output)s?\b|non-zero exit (?:status|code)"
    r"|failed with (?:exit|error|return) (?:code|status)|exited with (?:code|status|non-zero)"
    r"|(?:with|following) (?:trace|error|exception)s?:?$|child process(?:es)? .*(?:died|failed|exited)"
    r"|\bcrashed or (?:was )?killed\b"
    r"|\b(?:bad|unexpected) (?:command )?(?:exit|return|submission) (?:code|status|state)\b"
    r"|^\W*[\w.+]+\s+FAILED\W*$|(?i:status|state)\b[^|]{0,20}[:=|].*\bFAILED\b"
    r"|^\W*FAILED\W*(?:done|finished|ended|at|on)?\b.{0,6}(?:at|on)? *\w{3} \w{3} +\d"
    r"|^\w+: (?:\W*[A-Za-z]+ ?[=:] ?-?\d+)+\W*$|failed to submit \w+ to \w+ ?\w* scheduler"
    r"|^\W*(?:(?:an?|fatal|internal|runtime) )?error\W*$|^\W*error in \S+\.\w+ (?:at|on) line \d+\W*$"
)


class Noise(NamedTuple):
    """An event that is not the answer, and why."""

    event: Event
    reason: str


class Ranked(NamedTuple):
    """The events by role, each list in order of time.

    `outlived`: events after which the log continues to its end: an answer only if the job failed, or the script shows
    the cause. `noise`: events that cannot be an answer.
    """

    causes: list[Event]
    warnings: list[Event]
    consequences: list[Event]
    teardown: list[Event]
    outlived: list[Event]
    noise: list[Noise]


def rank(events: Collection[Event], findings: Findings, job: Job | None = None) -> Ranked:
    """The ranked events of all logs. `job`: what the script runs, None if there is none."""
    ranked = Ranked([], [], [], [], [], [])
    pointing: list[Event] = []
    by_role = {
        "cause": ranked.causes, "warning": ranked.warnings, "consequence": ranked.consequences,
        "teardown": ranked.teardown,
    }  # fmt: skip
    known = {(each.file, each.row) for each in events if not _announces(each)}
    for event in in_order(events):
        if _announces(event) and (event.file, event.row) in known:
            continue  # the message it announces is an event itself
        if _quotes(event, events):
            continue
        recovery = findings.recoveries.get(event.symptom.id)
        if recovery is not None and recovery >= (event.file, event.offset):
            ranked.noise.append(Noise(event, CURED))
        elif event.symptom.role == "harmless":
            ranked.noise.append(Noise(event, event.symptom.title))
        elif event.symptom.near_end and _goes_on(event):
            ranked.noise.append(Noise(event, HANDLED))
        elif _led_to_another(event) or announces_nothing(event) or points(event):
            pointing.append(event)
        else:
            by_role[event.symptom.role].append(event)
    # this depends only on the text of the script, and ends the shell
    ranked.causes.sort(key=lambda each: not (each.symptom.id == "shell-syntax" and "slurm_script" in each.text))
    for event in ranked.causes[:]:
        if _has_nothing_to_do_with(event, ranked):
            ranked.causes.remove(event)
            ranked.noise.append(Noise(event, WENT_ON))
    # launchers may report failed tasks before the last output of these arrives
    ranked.consequences.sort(key=lambda each: each.symptom.id in ("task-failed", "workflow-step-failed"))
    # messages that only have the form of errors: those with words of failure come first
    vague = ("failure-words", "last-words")
    ranked.teardown.sort(key=lambda each: vague.index(each.symptom.id) + 1 if each.symptom.id in vague else 0)
    ranked.teardown.extend(pointing)
    _put_aborts_after(ranked)
    made = _put_first(ranked, job)
    failed = [*ranked.causes, *ranked.consequences, *ranked.teardown]
    for events in (ranked.causes, ranked.consequences, ranked.teardown):
        for event in [each for each in events if each not in made]:
            if _survived(event, failed, findings.lines.get(event.path, 0)):
                events.remove(event)
                ranked.noise.append(Noise(event, WENT_ON))
            elif _ended_well(event, failed, findings.lines.get(event.path, 0)):
                events.remove(event)
                ranked.outlived.append(event)
    return ranked


def points(event: Event) -> bool:
    """Whether a message of any program only says that the reason is elsewhere."""
    return event.symptom.near_end > 0 and (_POINTS.search(event.text) is not None or _of_help_text(event))


def _put_first(ranked: Ranked, job: Job | None) -> list[Event]:
    """Makes those failures causes that make a later one, which only misses something; returns them.

    Only where the later one would be the answer: another cause stays before what is merely missed.
    """
    promoted: list[Event] = []
    known = list(ranked.causes)
    for event, missed in makers([*ranked.causes, *ranked.consequences, *ranked.teardown], job):
        if known and not any(each in known for each in missed):
            continue
        promoted.append(event)
        for events in (ranked.consequences, ranked.teardown):
            if event in events:
                events.remove(event)
                before = [each for each in ranked.causes if (each.file, each.offset) < (event.file, event.offset)]
                ranked.causes.insert(len(before), event)
    return promoted


# A program that ends itself with abort() says why right before.
_ABORTS = frozenset({"signal-caught", "task-segfault", "uncaught-exception"})
_ABORTED = re.compile(r"\bSIGABRT\b|\bAborted\b|\((?:signal )?6\)|signal 6\b")
_SAID_BEFORE = 60


def _put_aborts_after(ranked: Ranked) -> None:
    """Moves those crashes after the messages that a program printed before it ended itself."""
    said = [each for each in ranked.teardown if each.symptom.id == "error-message"]
    for events in (ranked.causes, ranked.consequences):
        for event in [each for each in events if each.symptom.id in _ABORTS]:
            near = " ".join((event.text, *event.below[:2]))
            before = [each for each in said if each.file == event.file and 0 < event.row - each.row <= _SAID_BEFORE]
            if before and _ABORTED.search(near):
                events.remove(event)
                ranked.teardown.append(event)


def _of_help_text(event: Event) -> bool:
    """Whether a line is of the prose that Open MPI and PRRTE print between two rulers to explain another message."""
    if event.symptom.id not in _VAGUE:
        return False
    rulers = [number for number, line in enumerate(event.above) if _RULER.match(line)]
    return len(rulers) % 2 == 1 and any(_RULER.match(line) for line in event.below)


def _has_nothing_to_do_with(event: Event, ranked: Ranked) -> bool:
    """Whether the shell continued after an event, to a failure that is not about a missing program, module or file."""
    if event.symptom.id not in _PASSED_OVER:
        return False
    named = event.groups.get("command") or event.groups.get("module")
    if "command" in event.groups and not _COMMAND.fullmatch(event.groups["command"]):
        return False
    failed = (*ranked.causes, *ranked.consequences, *ranked.teardown)
    later = [
        failure
        for failure in failed
        if failure.file == event.file and failure.row > event.last and failure.symptom.id not in _PASSED_OVER
        if failure.symptom.role == "cause" or failure.symptom.id in _OWN_WORDS
    ]
    return bool(later) and not any(_LACKS.search(each.text) or (named and named in each.text) for each in later)


# The lines of a traceback between a frame and its message.
_TRACEBACK = 60


def _quotes(event: Event, events: Collection[Event]) -> bool:
    """Whether an event is a line of a program, quoted in a traceback that has the same symptom in its message."""
    if not event.above or not FRAME.match(event.above[-1]):
        return False
    return any(
        each is not event
        and each.symptom is event.symptom
        and each.file == event.file
        and 0 < each.row - event.row <= _TRACEBACK
        for each in events
    )


def _announces(event: Event) -> bool:
    """Whether the line only announces the message on a later line."""
    below = event.symptom.below
    return below is not None and below.instead and not below.after


def announces_nothing(event: Event) -> bool:
    """Whether the announced message is not in the log."""
    return _announces(event) and not event.groups


def _goes_on(event: Event) -> bool:
    """Whether the line or the next one says that the program continues."""
    return any(_GOES_ON.search(text) for text in (event.text, *event.below[:1]))


def _led_to_another(event: Event) -> bool:
    """Whether an exception is a failed lookup that led to the next exception: `except KeyError: raise …`.

    Also True for a mere name of an exception that does not follow the frames of a traceback.
    """
    if event.groups.get("text", "").startswith("Caught ") and any("Original Traceback" in each for each in event.below):
        return True
    if event.groups.get("type") and not event.groups.get("text") and event.symptom.id == "python-exception":
        return not event.above or not event.above[-1].startswith((" ", "\t"))
    kind = event.groups.get("type", "").rsplit(".", 1)[-1]
    if kind not in ("KeyError", "IndexError", "AttributeError", "StopIteration", "LookupError", "EntryNotFoundError"):
        return False
    return any(
        text.startswith(("During handling of the above exception", "The above exception was the direct cause"))
        for text in event.below[:1]
    )


def in_order(events: Iterable[Event]) -> list[Event]:
    """The events in order of time if all have one, else log by log."""
    found = list(events)
    if len({each.file for each in found}) > 1 and all(len(each.time) > 12 for each in found):
        return sorted(found, key=lambda each: (each.time, each.file, each.offset))
    return sorted(found, key=lambda each: (each.file, each.offset))


def _survived(event: Event, failed: list[Event], lines: int) -> bool:
    """Whether the job survived an event: much other output follows before the end or another failure."""
    symptom = event.symptom
    later = [each for each in failed if each.file == event.file and each.row > event.last]
    if symptom.near_end:
        sure = min((each.row for each in later if not each.symptom.near_end), default=lines)
        last = event.last
        for each in sorted(later, key=lambda other: other.row):  # the callers of a routine that failed say so in turn
            if each.symptom is symptom and each.row - last <= symptom.near_end and _alike(each, event):
                last = max(last, each.last)
        return sure - last > symptom.near_end
    if symptom.role == "teardown" or not later:
        return False
    return min(each.row for each in later) - event.last >= WENT_ON_LINES


def _alike(one: Event, other: Event) -> bool:
    """Whether two lines begin with the same words, but for their numbers."""
    first, second = (_DIGITS.sub("", each.text)[:ALIKE] for each in (one, other))
    return first == second


def _ended_well(event: Event, failed: list[Event], lines: int) -> bool:
    """Whether no other failure follows an event, although the log continues for long."""
    if event.symptom.role == "teardown" or lines - event.last <= OUTLIVED_LINES:
        return False
    return not any(each.last > lines - OUTLIVED_LINES for each in failed if each.file == event.file)


EARLIER = "of an earlier run: the job was requeued after it"
# How slurmstepd says that a run of the whole job ended and another may follow (src/slurmd/slurmstepd/req.c).
_ENDED = re.compile(r"\*\*\* JOB \S+ .*DUE TO (?:JOB REQUEUE|PREEMPTION|NODE ?FAIL)")


def of_earlier_runs(events: Iterable[Event], lines: Mapping[str, int]) -> list[Event]:
    """The events of all runs but the last one of each log; empty where the last run shows no failure of its own."""
    found = list(events)
    ends: dict[int, int] = {}
    for event in found:
        if _ENDED.search(event.text) and event.last < lines.get(event.path, 0):
            ends[event.file] = max(ends.get(event.file, 0), event.last)
    earlier = [each for each in found if each.files == {each.file} and each.last <= ends.get(each.file, 0)]
    later = [each for each in found if each not in earlier and each.symptom.role in ("cause", "consequence")]
    return earlier if any(each.file in ends for each in later) else []
