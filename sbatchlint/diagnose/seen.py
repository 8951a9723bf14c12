"""What one sees when a check's fault bites: the symptoms by which its findings are confirmed, or nothing.

The tables are made from the causes of the symptoms, so both ways say the same.
"""

from collections.abc import Iterable
from functools import cache

from sbatchlint.diagnose.subjects import GENERAL_CAUSES
from sbatchlint.diagnose.symptom import Symptom
from sbatchlint.diagnose.symptoms import symptoms
from sbatchlint.diagnose.unread import UNREAD
from sbatchlint.registry import registry
from sbatchlint.source.regex import Regex

TITLE = "What you see when it bites"
# The example of a message that a reader meets when sbatch does not read a directive.
_REFUSED = "time-limit-invalid"
_LONGEST = 110
# The maximum number of messages on the page of a check.
MOST = 4
# Of more checks than these, one message of a symptom is rarely that of the check at hand.
_MOST_CODES = 4
# The codes of checks of what sbatch reads, and its own programs.
_OF_DIRECTIVES = "SB1"
_SLURM = Regex(r"\b(?:sbatch|slurm\w*|job_submit|sacct)\b")
# Symptoms whose messages have little in common but that they come at the same time.
_VARIED = frozenset({"site-rule"})


@cache
def _by_code() -> dict[str, list[Symptom]]:
    found: dict[str, list[Symptom]] = {each: [symptoms()[_REFUSED]] for each in UNREAD.codes}
    for symptom in symptoms().values():
        for code in {each for cause in symptom.causes for each in cause.codes}:
            known = found.setdefault(code, [])
            if symptom not in known:
                known.append(symptom)
    return found


def symptoms_of(code: str) -> list[Symptom]:
    """The symptoms that a finding of this check may explain."""
    return _by_code().get(code, [])


def _unseen(code: str) -> str:
    """What one sees of a fault that leaves no message in a log, as its card says; empty for others."""
    entry = registry().find(code)
    return "" if entry is None else registry().load(entry).card.unseen


def message(symptom: Symptom) -> str:
    """A line with the symptom, shortened."""
    line = " ".join(symptom.matches.splitlines()[0].split()).replace("`", "'")
    return line if len(line) <= _LONGEST else line[: _LONGEST - 3] + "..."


def _sample(symptom: Symptom) -> str:
    """What a symptom is, with its message where that is for others."""
    if _is_alike(symptom):
        return f"`{message(symptom)}` (`{symptom.id}`: {symptom.title})"
    return f"{symptom.title} (`{symptom.id}`)"


def _is_alike(symptom: Symptom) -> bool:
    """Whether one message of a symptom stands for that of each check that may explain it."""
    codes = {code for cause in symptom.causes if cause not in GENERAL_CAUSES for code in cause.codes}
    is_alike = len(symptom.matches.splitlines()) == 1 or len(codes) <= _MOST_CODES
    return is_alike and symptom.id not in _VARIED


def _distance(symptom: Symptom, code: str) -> tuple[bool, bool]:
    """How far a symptom is from what a check finds: of a directive, what Slurm itself says comes first; then a message
    that stands for others."""
    is_of_directive = code.startswith(_OF_DIRECTIVES)
    return is_of_directive and _SLURM.search(symptom.printed_by) is None, not _is_alike(symptom)


def bites(code: str) -> list[tuple[str, str]]:
    """The section of a check's page on what one sees, as title and Markdown; empty where that is unknown."""
    found, unseen = symptoms_of(code), _unseen(code)
    if not found:
        return [(TITLE, unseen)] if unseen else []
    special = [
        each for each in found if any(code in cause.codes for cause in each.causes if cause not in GENERAL_CAUSES)
    ]
    special.sort(key=lambda each: _distance(each, code))
    lines = [f"- {_sample(each)}" for each in special[:MOST]]
    if len(special) > MOST:
        lines.append(f"- {', '.join(f'`{each.id}`' for each in special[MOST:])}")
    if code in UNREAD.codes:
        lines.append(
            f"- what Slurm says where it misses what the line asks for, such as `{message(symptoms()[_REFUSED])}`"
        )
    elif len(special) < len(found):
        lines.append(f"- errors of any program (`{found[-1].id}`)")
    begin = (unseen, "") if unseen else ()
    where = "Else, in the log" if unseen else "In the log"
    return [(TITLE, _joined((*begin, f"{where}, or where the job is submitted:", "", *lines)).strip())]


def tables() -> str:
    """Both ways as Markdown: from a message to the checks that know its causes, and from a check to what one sees."""
    rows = ["| symptom | message | lies in | checks |", "|---|---|---|---|"]
    for symptom in sorted(symptoms().values(), key=lambda each: each.id):
        codes = sorted({code for cause in symptom.causes for code in cause.codes})
        places = ", ".join(dict.fromkeys(cause.where for cause in symptom.causes))
        rows.append(f"| {symptom.id} | `{_cell(message(symptom))}` | {places} | {', '.join(map(_linked, codes))} |")
    back = ["| check | what one sees |", "|---|---|"]
    for entry in registry().entries:
        names = ", ".join(each.id for each in symptoms_of(entry.code))
        back.append(f"| {_linked(entry.code)} {entry.name} | {names or _unseen(entry.code)} |")
    return _joined(("## From a message to checks", "", *rows, "", "## From a check to what one sees", "", *back))


def _linked(code: str) -> str:
    entry = registry().find(code)
    return code if entry is None else f"[{code}](checks/{entry.name}.md)"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def _joined(lines: Iterable[str]) -> str:
    return "\n".join(lines) + "\n"
