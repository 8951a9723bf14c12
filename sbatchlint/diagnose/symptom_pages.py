"""The page of a symptom, as text, Markdown or a JSON value."""

import json

from sbatchlint.diagnose.silent_faults import SILENT
from sbatchlint.diagnose.symptom import Cause, Symptom
from sbatchlint.diagnose.symptoms import symptoms
from sbatchlint.registry import nearest, registry
from sbatchlint.report.cells import wrap
from sbatchlint.report.pages import as_paragraphs
from sbatchlint.report.terminal import Terminal
from sbatchlint.source.regex import Regex

# What lists all symptoms, in place of the name of one.
ALL = "symptoms"
ORDER = "`diagnose` takes the first that the script or the log shows; if they show none, the first left open."
# The second half of a sentence: a line that a terminal cut in two.
_FRAGMENT = Regex(r"[a-z][a-z ]*[.)]+ [A-Z]")


def page(name: str, form: str, terminal: Terminal) -> str:
    """What is known of a symptom, or the list of all; '' where there is none of this name."""
    known = name.strip().lower()
    if known == ALL:
        return _listed(form)
    symptom = SILENT if known == SILENT.id else symptoms().get(known)
    if symptom is None:
        return ""
    if form == "json":
        return json.dumps(as_value(symptom), indent=2) + "\n"
    return as_markdown(symptom) if form == "markdown" else as_text(symptom, terminal)


def did_you_mean_any(name: str) -> str:
    """` (did you mean the symptom 'gpu-out-of-memory', or the check 'exclusive-without-memory'?)`; "" for neither."""
    symptom, check = nearest(name.strip().lower(), [*symptoms(), SILENT.id]), registry().nearest(name)
    near = [f"the {kind} '{each}'" for kind, each in (("symptom", symptom), ("check", check)) if each]
    return f" (did you mean {', or '.join(near)}?)" if near else ""


def _listed(form: str) -> str:
    """Every symptom with its title."""
    known = [(each.id, each.title) for each in sorted([*symptoms().values(), SILENT], key=lambda each: each.id)]
    if form == "json":
        return json.dumps([{"symptom": name, "title": title} for name, title in known], indent=2) + "\n"
    if form == "markdown":
        rows = [f"| {name} | {title} |\n" for name, title in known]
        return "".join(["| symptom | title |\n|---|---|\n", *rows])
    room = max(len(name) for name, _ in known)
    return "".join(f"{name:<{room}}  {title}\n" for name, title in known)


def samples(symptom: Symptom) -> list[str]:
    """Lines with the symptom, as a program prints them."""
    return [each for each in symptom.matches.splitlines() if _FRAGMENT.match(each) is None]


def as_value(symptom: Symptom) -> dict[str, object]:
    return {
        "symptom": symptom.id,
        "title": symptom.title,
        "role": symptom.role,
        "printed_by": symptom.printed_by,
        "releases": _joined(symptom.releases),
        "description": _joined(symptom.docs),
        "patterns": list(symptom.patterns),
        "causes": [
            {
                "name": cause.key,
                "where": cause.where,
                "cause": cause.says,
                "advice": cause.advice,
                "codes": list(cause.codes),
            }
            for cause in symptom.causes
        ],
        "examples": samples(symptom),
    }


def as_markdown(symptom: Symptom) -> str:
    lines = [f"# {symptom.title} (`{symptom.id}`)", "", symptom.docs.strip(), "", "## Printed by", ""]
    lines += [f"{symptom.printed_by}; {_joined(symptom.releases)}", "", "```text", *samples(symptom), "```"]
    if symptom.causes:
        lines += ["", "## Possible causes", "", ORDER, ""]
        lines += [f"{number}. {_cause(each)}" for number, each in enumerate(symptom.causes, 1)]
    return "\n".join(lines) + "\n"


def as_text(symptom: Symptom, terminal: Terminal) -> str:
    lines = [f"{symptom.id}: {symptom.title}", "", *as_paragraphs(symptom.docs.strip(), terminal), ""]
    printed = f"Printed by {symptom.printed_by}; {_joined(symptom.releases)}:"
    lines += [*as_paragraphs(printed, terminal), ""]
    for each in samples(symptom):
        lines += [f"{' ' * 8 if at else ' ' * 4}{line}" for at, line in enumerate(wrap(each, terminal.width - 8))]
    if symptom.causes:
        lines += ["", "Possible causes:", "", *as_paragraphs(ORDER, terminal), ""]
    for number, cause in enumerate(symptom.causes, 1):
        begin = f"  {number}. "
        told = wrap(_cause(cause), min(terminal.width, 110) - len(begin))
        lines += [f"{' ' * len(begin) if at else begin}{line}" for at, line in enumerate(told)]
    return "\n".join(lines) + "\n"


def _cause(cause: Cause) -> str:
    codes = f" ({', '.join(cause.codes)})" if cause.codes else ""
    advice = cause.advice
    if codes and advice.startswith("see the finding"):  # `diagnose` has one; here stand only the checks
        advice = f"lint the script, and see what these checks say{advice.removeprefix('see the finding')}"
    return f"{cause.where}: {cause.says}; {advice}{codes}".replace("{", "<").replace("}", ">")


def _joined(text: str) -> str:
    return " ".join(text.split())
