"""Findings and plans as agents get them: sentences and places in few characters."""

from collections.abc import Callable, Iterator
from typing import Any

from sbatchlint.agents.room import page, size
from sbatchlint.api import Edit, Finding, Position
from sbatchlint.report.plan import request_rows, verdicts
from sbatchlint.report.plan_view import view
from sbatchlint.source.secrets import masked_lines

Value = dict[str, Any]
Shape = Callable[[Any, Any], Value]


def finding_value(finding: Finding, text: str, secrets: tuple[str, ...], full: bool) -> Value:
    """A finding. `text`: the script, of which edits show what they replace."""
    found: Value = {
        "code": finding.code,
        "name": finding.name,
        "severity": finding.severity,
        "certainty": finding.certainty,
        "at": _range(finding.start, finding.end),
        "message": finding.message,
        "why": finding.summary,
    }
    if finding.reached:
        found |= {"file": finding.path, "reached": finding.reached}
    if finding.releases:
        found["releases"] = list(finding.releases)
    if finding.related:
        found["related"] = [f"{_range(each.start, each.end)} {each.label}" for each in finding.related]
    if finding.fix is not None:
        own = "" if finding.reached else text
        found["fix"] = {
            "title": finding.fix.title,
            "safe": finding.fix.safe,
            "edits": [_edit(each, own, secrets) for each in finding.fix.edits],
        }
    if full:
        found |= {"source": finding.source, "url": finding.url, "silence": finding.silence}
    return found


def _edit(edit: Edit, text: str, secrets: tuple[str, ...]) -> Value:
    told: Value = {"at": _range(edit.start, edit.end)}
    old = text[edit.start.offset : edit.end.offset]
    if old:
        told["old"] = masked_lines(old, secrets)
    return told | {"new": edit.content}


def _range(start: Position, end: Position) -> str:
    """A range as `row:column-row:column`, its end exclusive; a place where nothing stands as `row:column`."""
    first = f"{start.row}:{start.column}"
    if start == end:
        return first
    return f"{first}-{end.column}" if start.row == end.row else f"{first}-{end.row}:{end.column}"


# --- plans ---------------------------------------------------------------------------------------------


def plan_value(plan: Any, start: int, room: int, full: bool) -> tuple[Value, int, int]:
    """A plan with the steps from `start` on that fit, of it and of the scripts that it submits; where the next page
    begins, and how many steps there are."""
    request, step = (_whole_request, _whole_step) if full else (_brief_request, _brief_step)
    jobs = list(_jobs(plan))
    heads = [request(each, plan) for each in jobs]
    steps = [(number, step(each, job)) for number, job in enumerate(jobs) for each in job["steps"]]
    shown = [{**head, "steps": []} for head in heads] if start == 0 else [{"steps": []} for _ in heads]
    shown, _ = page(shown, 0, room)
    room -= sum(map(size, shown))
    taken, after = page(steps, start, max(room, 200))
    for number, each in taken:
        if number < len(shown):
            shown[number]["steps"].append(each)
    first, *others = shown
    return first | ({"submits": others} if others else {}), after, len(steps)


def _jobs(plan: Any) -> Iterator[Any]:
    yield plan
    for inner in plan.get("submits", ()):
        yield from _jobs(inner)


def _brief_request(job: Any, _: Any) -> Value:
    components = []
    for component in job["request"]["components"]:
        rows = request_rows(component)
        components.append({label: f"{value} ({lines})" if lines else value for label, value, lines in rows})
    return {"slurm": _verdicts(job), "request": components[0] if len(components) == 1 else components}


def _verdicts(job: Any) -> list[str]:
    """What sbatch says of a script, for each range of releases."""
    return [": ".join(filter(None, (f"{name} {verdict}", reason))) for name, verdict, reason in verdicts(job)]


def _whole_request(job: Any, _: Any) -> Value:
    return {"request": job["request"]}


def _brief_step(step: Any, plan: Any) -> Value:
    told = view(step, plan, {})
    found: Value = {"step": " ".join(told.title.split()), "counts": told.counts, "facts": told.facts}
    if told.stressed:
        found["problems"] = told.stressed
    if told.refused is not None:
        found["refused"] = told.refused
    return found


def _whole_step(step: Any, _: Any) -> Value:
    return dict(step)
