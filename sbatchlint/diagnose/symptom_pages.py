"""The page of a symptom, as text, Markdown or a JSON value."""

import json

from sbatchlint.diagnose.silent_faults import SILENT
from sbatchlint.diagnose.symptom import Cause, Symptom
from sbatchlint.diagnose.symptoms import symptoms


def page(name: str, form: str) -> str:
    """What is known of a symptom; '' where there is none of this name."""
    known = name.strip().lower()
    symptom = SILENT if known == SILENT.id else symptoms().get(known)
    if symptom is None:
        return ""
    if form == "json":
        return json.dumps(as_value(symptom), indent=2) + "\n"
    return as_markdown(symptom) if form == "markdown" else as_text(symptom)


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
        "examples": symptom.matches.splitlines(),
    }


def as_markdown(symptom: Symptom) -> str:
    lines = [f"# {symptom.title} (`{symptom.id}`)", "", symptom.docs.strip(), "", "## Printed by", ""]
    lines += [f"{symptom.printed_by}; {_joined(symptom.releases)}", "", "```text", *symptom.matches.splitlines(), "```"]
    if symptom.causes:
        lines += ["", "## Causes, the likeliest first", ""]
        lines += [f"{number}. {_cause(each)}" for number, each in enumerate(symptom.causes, 1)]
    return "\n".join(lines) + "\n"


def as_text(symptom: Symptom) -> str:
    lines = [f"{symptom.id}: {symptom.title}", "", symptom.docs.strip(), ""]
    lines += [f"Printed by {symptom.printed_by}; {_joined(symptom.releases)}:", ""]
    lines += [f"    {each}" for each in symptom.matches.splitlines()]
    if symptom.causes:
        lines += ["", "Causes, the likeliest first:", ""]
        lines += [f"  {number}. {_cause(each)}" for number, each in enumerate(symptom.causes, 1)]
    return "\n".join(lines) + "\n"


def _cause(cause: Cause) -> str:
    codes = f" ({', '.join(cause.codes)})" if cause.codes else ""
    return f"{cause.where}: {cause.says}; {cause.advice}{codes}".replace("{", "<").replace("}", ">")


def _joined(text: str) -> str:
    return " ".join(text.split())
