"""Symptoms: messages that programs print when a job fails, and their possible causes."""

import re
from collections.abc import Callable, Mapping
from functools import cache
from typing import TYPE_CHECKING, Literal, NamedTuple

from sbatchlint.source.text import Span

if TYPE_CHECKING:
    from sbatchlint.job import Job

Where = Literal["script", "cluster", "submission", "code", "data", "unknown"]
Confidence = Literal["certain", "likely", "possible"]
# The role of a message in a failure:
# cause        it names the reason; the earliest such event is the answer
# consequence  something failed because of something else, which is the answer if it left a message
# teardown     the job is being ended; the answer only if nothing else is in the log
# warning      a healthy job may print it, too; the answer only if the script shows a cause
# harmless     never an answer; listed as noise
Role = Literal["cause", "consequence", "teardown", "warning", "harmless"]


# The cache of `re` is too small for all expressions.
_compiled = cache(re.compile)


class Account(NamedTuple):
    """The record of the job in sacct or scontrol; '' for missing fields. `limits`: other fields, by name.

    `hours`: how long it ran, all elements of an array together that did not end well, and `node_hours` on all of its
    nodes; None if unknown.
    """

    job: str = ""
    state: str = ""
    exit_code: str = ""
    reason: str = ""
    limits: Mapping[str, str] = {}
    hours: float | None = None
    node_hours: float | None = None


class Event:
    """An occurrence of a symptom in the logs; equal messages of many ranks are one event.

    `text`: the line, without labels and control sequences; `groups`: the named groups of the pattern; `count`: how
    often it was printed; `tasks`: the labels of the tasks, ranks or nodes that printed it; `above` and `below`: a few
    lines of the same stream before and after it; `symptoms`: how often each symptom occurs in all logs, by its id.
    `path`, `row` and `offset`: where it was printed first; `files`: the numbers of all logs that have it; `last`: the
    row where it was last; `rows`: all rows of the message where it was printed first; `time`: what the line or one
    near it says, as it sorts, and `before` what a line before it says; '' without. `early`: the first lines of the log
    that stand before it. `output`: the last lines before it of whatever task, with their rows and labels, where the
    symptom only tells that a process ended.
    """

    __slots__ = (
        "above", "account", "before", "below", "count", "early", "file", "files", "groups", "label", "last", "offset",
        "output", "path", "row", "rows", "symptom", "symptoms", "tasks", "text", "time",
    )  # fmt: skip

    def __init__(
        self, symptom: "Symptom", string: str, groups: Mapping[str, str], path: str = "", row: int = 0, offset: int = 0,
        file: int = 0, label: str = "",
    ) -> None:  # fmt: skip
        self.symptom = symptom
        self.text = string
        self.groups = groups
        self.path = path
        self.row = self.last = row
        self.rows: tuple[int, ...] = (row,)
        self.offset = offset
        self.file = file
        self.files: set[int] = {file}
        self.label = label
        self.count = 1
        self.tasks: set[str] = {label} if label else set()
        self.above: tuple[str, ...] = ()
        self.below: tuple[str, ...] = ()
        self.early: tuple[str, ...] = ()
        self.output: tuple[tuple[int, str, str], ...] = ()
        self.symptoms: Mapping[str, int] = {}
        self.account: Account | None = None
        self.time = self.before = ""


class Shown(NamedTuple):
    """The script has the fault, at these places; no place if it lacks something that no line is related to.

    `says`: replaces the text of the cause; None for no change.
    """

    spans: tuple[Span, ...]
    says: str | None = None
    confidence: Confidence = "certain"


class RuledOut(NamedTuple):
    """The script shows that the cause is another one."""


RULED_OUT = RuledOut()
Verdict = Shown | RuledOut | None


class Cause(NamedTuple):
    """A possible cause of a symptom.

    `key`: its name within the symptom.
    `where`: `submission` if it is a request to Slurm or a program that need not be in the script.
    `says`: what happened, as a sentence of plain English; `advice`: what to do. Both may name groups of the pattern
    (`{port}`).
    `codes`: checks of which a finding in the script confirms the cause, and is blamed; one that is only advice makes it
    possible. `told`: an expression for the messages of these findings, where a check reports several faults.
    `script`: looks for evidence in the job, if there is a script without such a finding; None if none can show it.
    `log`: looks for evidence in the event: True confirms the cause, False rules it out, None leaves it open.
    `unproven`: its confidence if nothing confirms it and it is the first that is left.
    """

    key: str
    where: Where
    says: str
    advice: str
    codes: tuple[str, ...] = ()
    script: "Callable[[Job, Event], Verdict] | None" = None
    log: Callable[[Event], bool | None] | None = None
    unproven: Confidence = "likely"
    told: str = ""


class Example(NamedTuple):
    """A log, the script (None if there is none) with the lines to blame in «marks», and the expected cause."""

    log: str
    script: str | None
    cause: str
    confidence: Confidence = "certain"


class Below(NamedTuple):
    """The message is on a later line: the next one of the same task that matches `pattern`.

    `after`: only if the line matches this expression. `instead`: the later line replaces the line, or continues it.
    """

    pattern: str
    after: str = ""
    instead: bool = False


class Symptom(NamedTuple):
    """A message of a failure.

    `id`: as in JSON and `explain`. `title`: a short phrase. `docs`: background, as Markdown. `printed_by`: programs;
    `releases`: their releases with this wording, with the source file.
    `literals`: each line with the message contains one of them: at least five ASCII characters, no digits.
    `patterns`: expressions for a line without labels, control sequences and newline.
    `recovered_by`: an expression for a later line that cancels the symptom, with `recovery` its literals.
    `near_end`: it counts only if at most this many lines follow, unless the logs otherwise show that the job failed:
    what a job survives is not a failure; 0 if it always counts. `below`: for a line that only announces the message.
    `tells_end`: the message only says that a process ended, whatever for.
    `matches` and `others`: lines with the symptom, and similar lines without it.
    """

    id: str
    title: str
    docs: str
    printed_by: str
    literals: tuple[str, ...]
    patterns: tuple[str, ...]
    matches: str
    causes: tuple[Cause, ...] = ()
    releases: str = "all releases"
    role: Role = "cause"
    others: str = ""
    examples: tuple[Example, ...] = ()
    recovered_by: str | None = None
    recovery: tuple[str, ...] = ()
    near_end: int = 0
    below: Below | None = None
    tells_end: bool = False

    def search(self, line: str) -> re.Match[str] | None:
        """The match of the message in a line; None if there is none."""
        return self.found(line) if any(literal in line for literal in self.literals) else None

    def found(self, line: str) -> re.Match[str] | None:
        """The match of the message in a line that contains one of the literals; None if there is none."""
        for pattern in self.patterns:
            match = _compiled(pattern).search(line)
            if match:
                return match
        return None
