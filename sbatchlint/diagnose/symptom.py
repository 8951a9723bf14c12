"""What a symptom is: a message that programs print when a job goes wrong, and what it may come from."""

import re
from collections.abc import Callable, Mapping
from functools import cache
from typing import TYPE_CHECKING, Literal, NamedTuple

from sbatchlint.source.text import Span

if TYPE_CHECKING:
    from sbatchlint.job import Job

Where = Literal["script", "cluster", "submission", "code", "data", "unknown"]
Confidence = Literal["certain", "likely", "possible"]
# What a message says of the failure:
# cause        names the reason, or is the first that can go wrong; the earliest such event is the answer
# consequence  something failed because of another thing, which is the answer where it left a message
# teardown     a job that is being ended; the answer only where nothing else is in the log
# warning      a healthy job may print it: the answer only where the script shows a cause of it
# harmless     never an answer; folded as noise
Role = Literal["cause", "consequence", "teardown", "warning", "harmless"]


# `re` itself keeps fewer expressions than there are, and compiles the others again.
_compiled = cache(re.compile)


class Account(NamedTuple):
    """What sacct or scontrol say of the job; '' where they do not. `limits`: other fields, by their name."""

    job: str = ""
    state: str = ""
    exit_code: str = ""
    reason: str = ""
    limits: Mapping[str, str] = {}


class Event:
    """An occurrence of a symptom in the logs. Equal ones of many ranks are one event.

    `text`: the line, without labels and control sequences; `groups`: the named groups of the pattern; `count`: how
    often it was printed; `tasks`: the labels of the tasks, ranks or nodes that printed it; `above` and `below`: a few
    lines of the same stream before and after it; `symptoms`: how often each symptom occurs in all logs, by its id.
    `path`, `row` and `offset`: where it was printed first; `last`: the row where it was last; `rows`: all rows of the
    message where it was printed first; `time`: what the line or one near it says, as it sorts; '' without.
    """

    __slots__ = (
        "above", "account", "below", "count", "file", "groups", "label", "last", "offset", "path", "row", "rows",
        "symptom", "symptoms", "tasks", "text", "time",
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
        self.label = label
        self.count = 1
        self.tasks: set[str] = {label} if label else set()
        self.above: tuple[str, ...] = ()
        self.below: tuple[str, ...] = ()
        self.symptoms: Mapping[str, int] = {}
        self.account: Account | None = None
        self.time = ""


class Shown(NamedTuple):
    """The script has the fault, at these places; `says` replaces the text of the cause. No place: it lacks something,
    and the first line that bears on it is not known."""

    spans: tuple[Span, ...]
    says: str | None = None
    confidence: Confidence = "certain"


class RuledOut(NamedTuple):
    """The script shows that this is not the cause."""


RULED_OUT = RuledOut()
Verdict = Shown | RuledOut | None


class Cause(NamedTuple):
    """One thing that a symptom may come from.

    `key`: its name within the symptom.
    `where`: what Slurm or a program was asked for, and no script shows, is the submission's.
    `says`: what happened, a sentence of plain English; `advice`: what to do. Both may name groups of the pattern
    (`{port}`).
    `codes`: checks; a finding of one of them in the script, of whatever severity, confirms the cause, and is blamed.
    `script`: asks the job; called where a script is there and no code has a finding. None: the script does not tell.
    `log`: asks the event alone: True confirms the cause, False rules it out, None leaves it open.
    `unproven`: how sure it is where nothing confirms it and it is the first that is left.
    """

    key: str
    where: Where
    says: str
    advice: str
    codes: tuple[str, ...] = ()
    script: "Callable[[Job, Event], Verdict] | None" = None
    log: Callable[[Event], bool | None] | None = None
    unproven: Confidence = "likely"


class Example(NamedTuple):
    """A log, the script (lines to blame marked «so»; None: without one) and the cause that is to be found."""

    log: str
    script: str | None
    cause: str
    confidence: Confidence = "certain"


class Below(NamedTuple):
    """Where the message stands below a line that ends in `after`: the next line of the same task in which `pattern` is
    found. `instead`: the line itself says nothing; else it begins the message."""

    pattern: str
    after: str = ""
    instead: bool = False


class Symptom(NamedTuple):
    """`id`: as in JSON and `explain`. `title`: what it is, in a few words. `docs`: what one has to know of it, as
    Markdown. `printed_by`: programs; `releases`: in which of them the message reads how, with the source file.
    `literals`: each line with the message holds at least one of them: at least five characters of ASCII, no digits.
    `patterns`: expressions searched in a line that is free of labels, control sequences and its end.
    `recovered_by`: an expression for a later line which says that all went well after all, with `recovery` its
    literals. `near_end`: where the logs do not show otherwise that the job failed, it counts only if at most so many
    lines follow: what a job outlives is no failure. 0: it always counts. `below`: where the line only announces the
    message. `matches` and `others`: lines which have the symptom, and which look like it and have not; one example a
    line.
    """

    id: str
    title: str
    docs: str
    printed_by: str
    releases: str
    role: Role
    literals: tuple[str, ...]
    patterns: tuple[str, ...]
    causes: tuple[Cause, ...]
    matches: str
    others: str = ""
    examples: tuple[Example, ...] = ()
    recovered_by: str | None = None
    recovery: tuple[str, ...] = ()
    near_end: int = 0
    below: Below | None = None

    def search(self, line: str) -> re.Match[str] | None:
        """The message in a line."""
        return self.found(line) if any(literal in line for literal in self.literals) else None

    def found(self, line: str) -> re.Match[str] | None:
        """The message in a line of which it is known that one of the literals stands in it."""
        for pattern in self.patterns:
            match = _compiled(pattern).search(line)
            if match:
                return match
        return None
