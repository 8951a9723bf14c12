"""What the model says of a batch script beside what a Slurm did with it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from sbatchlint.bash.values import Text
from sbatchlint.slurm.directives import Directives, read_directives
from sbatchlint.slurm.grammar.hosts import hosts
from sbatchlint.slurm.model import Setting
from sbatchlint.slurm.verdict import CONTROLLER, Verdict, verdict
from sbatchlint.source.edits import Edit, apply
from shown import shown

from .local_slurm import ANCHOR, Held, LocalSlurm
from .records import PATTERNS

SCRIPT_NAME = "job.sh"
# What stands before a message proper.
BEFORE_MESSAGE = re.compile(r"(?:error: |fatal: |warning: )?(?:Batch job submission failed: )?(?:job\.sh: line \d+: )?")
# Why this cluster, not the script, refuses a job.
SITE = re.compile(
    r"invalid partition specified|Invalid partition name|Invalid node name|Invalid (?:preferred )?feature specification"
    r"|Requested reservation is invalid|Invalid account|Invalid qos|Invalid license|Invalid accounting frequency"
    r"|Preemption is required but is disabled|not supported on this system|talking to database"
)
# The same of sbatch, which looks at slurm.conf and at files while it reads the options.
SITE_EARLY = re.compile(
    r"is not allowed in slurm\.conf|in your slurm\.conf|step management must be enabled|error opening file"
    r"|Could not open user environment file"
)
# What --test-only says of a job that could be.
TESTED = re.compile(r"^Job \d+ to start at", re.MULTILINE)
# Why the time at which a job was submitted does.
CLOCK = re.compile(
    r"Incompatible begin and deadline|Invalid time-min|time limit is invalid|Invalid --(?:begin|deadline)"
)
# In a dependency, apart from the numbers of tasks and minutes.
JOB_NUMBERS = re.compile(r"(?<![\d_+\[(-])[1-9]\d*")
HOST_LISTS = ("ReqNodeList", "ExcNodeList")
Seen = tuple[str, str, str]


class Compared(NamedTuple):
    """One script. `wrong`: (what, the model's, Slurm's) for all that differs; `fields`: how many were compared.

    `outcome`: accepted, refused, undecided (the model does not say), or site (this cluster does not have something).
    `accepted`, `messages`: what Slurm did.
    """

    script: str
    outcome: str
    wrong: tuple[Seen, ...]
    fields: int
    accepted: bool
    messages: str


def compare(script: str, version: str, held: Held) -> Compared:
    """The verdict, the message of a refusal and each field of the jobs."""

    def result(outcome: str, wrong: Sequence[Seen] = (), fields: int = 0) -> Compared:
        return Compared(script, outcome, tuple(wrong), fields, held.accepted, held.messages)

    directives = read_directives(Text.of_file(script), (version, version))
    ours = verdict(directives, version)
    if ours.accepted is None:
        return result("undecided")
    if depends_on_site(directives, ours, held.messages):
        return result("site")
    if ours.accepted != held.accepted:
        said = held.messages.strip() or "accepted without a word"
        return result("refused", [("verdict", ours.message or "accepted", said)])
    if not held.accepted:
        expected = ours.message or ""
        tested = directives.last("test-only") is not None and TESTED.search(held.messages)
        # A template is taken as it stands, with words that sbatch would never get.
        template = not directives.certain or any(not setting.known for setting in directives.settings)
        if tested or template:
            return result("refused")
        return result("refused", [] if says(held.messages, expected) else [("message", expected, held.messages)])
    components = shown(directives, version, SCRIPT_NAME)
    if components is None:
        return result("accepted")
    if len(components) != len(held.jobs):
        return result("accepted", [("components", str(len(components)), str(len(held.jobs)))])
    differing: list[Seen] = []
    for number, (fields, job) in enumerate(zip(components, held.jobs, strict=True)):
        for name, value in fields.items():
            # Slurm fills in the patterns of the folder, but only when it shows these.
            if name in PATTERNS and "%" in job["WorkDir"]:
                continue
            if not same_field(name, value, job.get(name)):
                where = name if len(components) == 1 else f"{name} of component {number}"
                differing.append((where, value, job.get(name, "not shown")))
    return result("accepted", differing, sum(map(len, components)))


def depends_on_site(directives: Directives, ours: Verdict, messages: str) -> bool:
    """Whether this cluster, or the clock, refused what the model may take."""
    if "unrecognized option" in messages and any(setting.plugin for setting in directives.settings):
        return True
    if SITE_EARLY.search(messages):
        return True
    # The controller looks at the names of the site before it looks at much else.
    if ours.stage not in (None, CONTROLLER):
        return False
    if "Invalid generic resource" in messages and any(map(asks_others, directives.settings)):
        return True
    return bool(SITE.search(messages) or (directives.all("deadline") and CLOCK.search(messages)))


def compare_all(slurm: LocalSlurm, scripts: Sequence[str]) -> list[Compared]:
    """All scripts on a live Slurm. Nothing is run."""
    found = []
    for script, held in zip(scripts, slurm.all_held(scripts), strict=True):
        result = compare(script, slurm.version, held)
        if any(what in ("verdict", "message") for what, _, _ in result.wrong):
            # The controller does not look at everything in a held job.
            later = slurm.delayed(script)
            again = compare(script, slurm.version, Held(later.accepted, later.messages, ()))
            if not later.accepted and not again.wrong:
                result = again
        found.append(result)
    return found


def asks_others(setting: Setting) -> bool:
    """Whether a setting asks for generic resources other than GPUs."""
    names = [part.removeprefix("gres:").removeprefix("gres/") for part in (setting.text or "").split(",")]
    gpus = re.compile(r"(?:gpu(?:$|[:=])|none$)", re.IGNORECASE)
    return setting.name == "gres" and any(gpus.match(name) is None for name in names)


class Names(NamedTuple):
    """What only a site names."""

    partitions: set[str]
    features: set[str]


def names_of(scripts: Iterable[str]) -> Names:
    """The partitions and features that scripts ask for, so that a cluster may have them."""
    partitions: set[str] = set()
    features: set[str] = set()
    for script in scripts:
        for setting in read_directives(Text.of_file(script)).settings:
            words = re.findall(r"[A-Za-z_][\w.-]*", setting.text or "")
            if setting.name == "partition":
                partitions.update(word for word in words if word.lower() not in ("default", "all"))
            elif setting.name in ("constraint", "prefer", "batch"):
                features.update(words)
    return Names(partitions, features)


def with_anchor(script: str) -> str:
    """The script with dependencies on a job that there is, instead of those on jobs that there are not."""
    settings = read_directives(Text.of_file(script)).settings
    spans = {setting.value_span for setting in settings if setting.name == "dependency"}
    edits = [
        Edit(span, JOB_NUMBERS.sub(str(ANCHOR), script[span.start : span.end])) for span in spans if span is not None
    ]
    return apply(script, edits)


def says(messages: str, expected: str) -> bool:
    """Whether sbatch gave this message; one of several lines takes as many lines."""
    if not expected:
        return False
    lines = [message_of(line) for line in messages.splitlines()]
    if "is ambiguous" in expected:
        wanted = sorted(re.findall(r"'--[^']*'", expected))
        return any("is ambiguous" in line and sorted(re.findall(r"'--[^']*'", line)) == wanted for line in lines)
    parts = [message_of(line) for line in expected.split("\n")]
    return any(lines[start : start + len(parts)] == parts for start in range(len(lines)))


def message_of(line: str) -> str:
    """A line of sbatch without the program's name, the severity and the place."""
    text = line.removeprefix("sbatch: ")
    return text[BEFORE_MESSAGE.match(text).end() :].strip()  # type: ignore[union-attr]


def same_field(name: str, expected: str, found: str | None) -> bool:
    """Slurm shows nothing or `(null)` for a value that is not set, and lists of hosts in its own order."""
    if name in HOST_LISTS and found:
        return set(hosts(expected) or ()) == set(hosts(found) or ())
    # Blanks at the end of a line of scontrol's are lost.
    return (found or "(null)").rstrip() == (expected or "(null)").rstrip()


def smallest(slurm: LocalSlurm, found: Compared) -> Compared:
    """The same difference in a script of as few words as possible."""
    what = {name for name, _, _ in found.wrong}

    def again(script: str) -> Compared:
        return compare_all(slurm, [script])[0]

    return again(reduced(found.script, lambda script: any(name in what for name, _, _ in again(script).wrong)))


def reduced(script: str, is_wrong: Callable[[str], bool]) -> str:
    """The script without all lines, then words, that do not matter to what is wrong with it."""
    lines = script.split("\n")
    for separator in ("\n", " "):
        parts = lines if separator == "\n" else "\n".join(lines).split(" ")
        index = len(parts) - 1
        while index > 0:
            shorter = parts[:index] + parts[index + 1 :]
            if is_wrong(separator.join(shorter)):
                parts = shorter
            index -= 1
        lines = separator.join(parts).split("\n")
    return "\n".join(lines)


def report(found: Iterable[Compared]) -> str:
    """What is wrong, script by script."""
    return "\n".join(
        f"{compared.script!r}\n"
        + "".join(f"    {what}: the model {ours!r}, Slurm {theirs!r}\n" for what, ours, theirs in compared.wrong)
        for compared in found
    )


def kinds(found: Iterable[Compared]) -> dict[str, int]:
    """How many scripts had each outcome."""
    counts: dict[str, int] = {}
    for compared in found:
        counts[compared.outcome] = counts.get(compared.outcome, 0) + 1
    return counts
