"""Which event came first, and which only follow from it."""

import re
from collections.abc import Iterable
from typing import NamedTuple

from sbatchlint.diagnose.findings import Findings
from sbatchlint.diagnose.symptom import Event

CURED = "a later line says that it went well after all"
FOLLOWS = "follows from the first failure"
TEARDOWN = "teardown after the first failure"
HARMLESS = "says nothing of a failure"
WENT_ON = "the job went on after it"
# After an event, this many lines of other output show that the job did not end with it.
WENT_ON_LINES = 400
# And so many, where nothing else goes wrong until the end of the log.
OUTLIVED_LINES = 40
HANDLED = "the program says that it goes on"
ELSEWHERE = "says that the reason stands elsewhere"
# A program that tells of what it does instead goes on.
_GOES_ON = re.compile(
    r"(?i)\b(?:continuing|trying to continue|ignor(?:ed|ing)|skipp(?:ed|ing)|falling back|fall back|retrying"
    r"|fallback(?!.*\bnot\b)|will (?:retry|try again|be ignored|continue|use)|using (?:the )?default|assum(?:es?|ing)\b"
    r"|proceeding|instead\b|trying again|non[- ]fatal|harmless|exception ignored|is retried)|: Setting \w+ to "
)
# What a shell without `set -e` goes on after, the messages that tell of another failure in words of their own, and how
# those sound that come of it.
_PASSED_OVER = frozenset({"command-not-found", "conda-not-initialised", "module-unknown"})
_OWN_WORDS = frozenset({"python-exception", "error-message"})
_LACKS = re.compile(
    r"(?i)not found|no such (?:file|command)|no module|not installed|cannot import|shared object|shared librar"
    r"|not in (?:your )?path|exit code 12[67]|no package|could not find|unable to (?:find|locate)|can(?:no|')t find"
    r"|undefined symbol|GLIBC|version"
)
# A name of a command, and not what is left of a broken line.
_COMMAND = re.compile(r"[a-z][\w.+-]*")
# What only points to the reason.
_POINTS = re.compile(
    r"(?i)see (?:the )?(?:\w+ )?(?:stack ?trace|trace ?back|root cause|logs?|above|output|message|error)s?\b"
    r".*(?:root cause|above|detail|for)|root cause above|(?:due to|because of) (?:an? )?(?:exception|error|failure) in "
    r"|previous errors?|look (?:at|above|below|in)|check (?:the )?(?:log|output)s?\b|non-zero exit (?:status|code)"
    r"|failed with (?:exit|error|return) (?:code|status)|exited with (?:code|status|non-zero)"
    r"|(?:with|following) (?:trace|error|exception)s?:?$|child process(?:es)? .*(?:died|failed|exited)"
    r"|\bcrashed or (?:was )?killed\b"
    r"|^\w+: (?:\W*[A-Za-z]+ ?[=:] ?-?\d+)+\W*$|failed to submit \w+ to \w+ ?\w* scheduler"
    r"|^\W*(?:(?:an?|fatal|internal|runtime) )?error\W*$|^\W*error in \S+\.\w+ (?:at|on) line \d+\W*$"
)


class Noise(NamedTuple):
    """An event that is not the answer, and why."""

    event: Event
    reason: str


class Ranked(NamedTuple):
    """The events by what they say, each list in the order of time; `noise`: those that can be no answer. `outlived`:
    what the log goes on after, to its end: the answer only where the job failed, or the script shows the cause."""

    causes: list[Event]
    warnings: list[Event]
    consequences: list[Event]
    teardown: list[Event]
    outlived: list[Event]
    noise: list[Noise]


def rank(findings: Findings) -> Ranked:
    """Sorts the events of all logs."""
    ranked = Ranked([], [], [], [], [], [])
    pointing: list[Event] = []
    by_role = {
        "cause": ranked.causes, "warning": ranked.warnings, "consequence": ranked.consequences,
        "teardown": ranked.teardown,
    }  # fmt: skip
    said = {(each.file, each.row) for each in findings.events.values() if not _announces(each)}
    for event in in_order(findings.events.values()):
        if _announces(event) and (event.file, event.row) in said:
            continue  # what it announces is known by its own words
        cure = findings.recoveries.get(event.symptom.id)
        if cure is not None and (cure.file, cure.offset) >= (event.file, event.offset):
            ranked.noise.append(Noise(event, CURED))
        elif event.symptom.role == "harmless":
            ranked.noise.append(Noise(event, event.symptom.title))
        elif event.symptom.near_end and _goes_on(event):
            ranked.noise.append(Noise(event, HANDLED))
        elif (
            _led_to_another(event)
            or announces_nothing(event)
            or (event.symptom.near_end and _POINTS.search(event.text))
        ):
            pointing.append(event)
        else:
            by_role[event.symptom.role].append(event)
    # nothing but the text of the script leads to this, and the shell ends at it
    ranked.causes.sort(key=lambda each: not (each.symptom.id == "shell-syntax" and "slurm_script" in each.text))
    for event in ranked.causes[:]:
        if _has_nothing_to_do_with(event, ranked):
            ranked.causes.remove(event)
            ranked.noise.append(Noise(event, WENT_ON))
    # those who start others report them, at times before their last words arrive
    ranked.consequences.sort(key=lambda each: each.symptom.id in ("task-failed", "workflow-step-failed"))
    # messages that only have the form of errors: those that are called so come first
    vague = ("failure-words", "last-words")
    ranked.teardown.sort(key=lambda each: vague.index(each.symptom.id) + 1 if each.symptom.id in vague else 0)
    ranked.teardown.extend(pointing)
    failed = [*ranked.causes, *ranked.consequences, *ranked.teardown]
    for events in (ranked.causes, ranked.consequences, ranked.teardown):
        for event in events[:]:
            if _survived(event, failed, findings.lines.get(event.path, 0)):
                events.remove(event)
                ranked.noise.append(Noise(event, WENT_ON))
            elif _ended_well(event, failed, findings.lines.get(event.path, 0)):
                events.remove(event)
                ranked.outlived.append(event)
    return ranked


def _has_nothing_to_do_with(event: Event, ranked: Ranked) -> bool:
    """Whether the shell went on after an event, to a failure that is none of a missing program, module or file."""
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


def _announces(event: Event) -> bool:
    """Whether only the line above says that this one is a message."""
    below = event.symptom.below
    return below is not None and below.instead and not below.after


def announces_nothing(event: Event) -> bool:
    """Whether the message that the line announces is not in the log."""
    return _announces(event) and not event.groups


def _goes_on(event: Event) -> bool:
    """Whether the line, or the next one, says what is done instead."""
    return any(_GOES_ON.search(text) for text in (event.text, *event.below[:1]))


def _led_to_another(event: Event) -> bool:
    """Whether an exception is a look-up that failed, and the next one says what for: `except KeyError: raise …`. Or it
    is a mere name, which does not stand below the frames of a traceback."""
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
    """Events as they came: by the clock where all tell it, else log by log."""
    given = list(events)
    if len({each.file for each in given}) > 1 and all(len(each.time) > 12 for each in given):
        return sorted(given, key=lambda each: (each.time, each.file, each.offset))
    return sorted(given, key=lambda each: (each.file, each.offset))


def _survived(event: Event, failed: list[Event], lines: int) -> bool:
    """Whether the job outlived an event: much other output follows it, and then its end or something else."""
    symptom = event.symptom
    later = [each for each in failed if each.file == event.file and each.row > event.last]
    if symptom.near_end:
        sure = min((each.row for each in later if not each.symptom.near_end), default=lines)
        return sure - event.last > symptom.near_end
    if symptom.role == "teardown" or not later:
        return False
    return min(each.row for each in later) - event.last >= WENT_ON_LINES


def _ended_well(event: Event, failed: list[Event], lines: int) -> bool:
    """Whether nothing else goes wrong after an event, though the log goes on for long."""
    if event.symptom.role == "teardown" or lines - event.last <= OUTLIVED_LINES:
        return False
    return not any(each.last > lines - OUTLIVED_LINES for each in failed if each.file == event.file)
