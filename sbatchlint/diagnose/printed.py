"""What a log says before a message: the release of Slurm, where a program lies, files that an earlier run left."""

import re
from collections.abc import Iterable

from sbatchlint.diagnose.symptom import Event
from sbatchlint.slurm.versions import MAJORS

# What `srun --version` prints.
_RELEASE = re.compile(r"(?i)^(?:using |version:? ?)?slurm[ -]?(?:version )?v?(\d\d\.\d\d)\.\d+\b")
# How programs say that they take what is there already.
_LEFT = re.compile(
    r"(?i)\b(?:found|us(?:e|ing)|load(?:ed|ing)|read(?:ing)?)\b (?:an? |the )?(?:\w+ )?(?:cached|existing|previous)\b"
    r"|\balready (?:exists|done|there|computed|finished)\b"
    r"|\bskip(?:s|ped|ping)\b.*\b(?:exists?|existing|found|done|present|finished)\b|\b(?:exists?|found|existing)\b.*\bskip|\bre-?us(?:e|ing)\b|\bresum(?:e|ed|ing)\b"
    r"|\bresults? exists?\b|\bfrom (?:an? |the )?(?:earlier|previous|last) run\b"
)


def before(event: Event) -> tuple[str, ...]:
    """The lines of the log that are at hand and stand before an event."""
    return tuple(dict.fromkeys((*event.early, *event.above)))


def release_of(events: Iterable[Event]) -> str | None:
    """The release of Slurm that a log names, if it is one that is known; None if there is none."""
    for event in events:
        for line in before(event):
            match = _RELEASE.search(line)
            if match:
                return match[1] if match[1] in MAJORS else None
    return None


def found_by_shell(event: Event, program: str) -> str:
    """Where the shell of the job found a program, as `type`, `which` or `command -v` printed; '' if nothing says so."""
    name = re.escape(program)
    shown = re.compile(rf"^(?:{name} is (?:hashed \()?)?(/[^\s()]*/{name})\)?$")
    return next((match[1] for line in before(event) if (match := shown.search(line.strip()))), "")


def left_behind(event: Event) -> str:
    """The last line before an event by which a program takes a file that an earlier run made; '' if there is none."""
    return next((line for line in reversed(before(event)) if _LEFT.search(line)), "")


def shown_name(event: Event, name: str) -> str:
    """A line of a table, printed before an event, that has a name as one of its fields; '' if there is none."""
    field = re.compile(rf"(?:^|[\t,; ]){re.escape(name)}\s*(?:[\t,;]|$)")
    return next((line for line in event.early if re.search(r"[\t,;]", line) and field.search(line)), "")


def release_named(event: Event) -> bool | None:
    """For `Cause.log`: rules a cause out that depends on the release of Slurm, unless the log says which it is."""
    return None if release_of([event]) else False


# How a message says what to do about it.
_OWN_ADVICE = re.compile(
    r"(?:^|[.;!?]\s+|\s-+ |\(|^SOLUTION: ?)(?P<advice>(?:please |to (?:fix|solve|avoid|resolve|enable|use) [\w ,']{2,60}, ?|you (?:can|may|should|must|need to) |(?:also )?consider )?"
    r"(?:try(?:ing)? |increas(?:e|ing) |decreas(?:e|ing) |reduc(?:e|ing) |lower(?:ing)? |set(?:ting)? |re-?run |run `|run \w+|re-?generate |re-?install |upgrad(?:e|ing) |downgrad(?:e|ing) |specify |use (?:the )?[-`'\"]|add (?:the )?[-`'\"]|pass (?:the )?[-`'\"]|call |remov(?:e|ing) |delet(?:e|ing) |make sure )\S.{5,240})",
    re.IGNORECASE,
)
_FEW_BELOW = 4


def own_advice(event: Event) -> str:
    """The first sentence of a message, or of the lines right below it, that says what to do; '' if there is none."""
    for line in (event.text, *event.below[:_FEW_BELOW]):
        match = _OWN_ADVICE.search(line.strip())
        if match:
            return re.split(r"(?<=[\w`'\"])[.!](?:\s|$)", match["advice"])[0].strip(" )")
    return ""
