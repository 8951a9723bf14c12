"""The diagnosis as one JSON object, for one job or for several."""

import json
from functools import partial
from typing import Any

from sbatchlint.diagnose.answers import Answer, advice_of, codes_of, rows_of
from sbatchlint.diagnose.jobs import JobRun, failing_nodes, summary
from sbatchlint.diagnose.repair import diff_of
from sbatchlint.diagnose.run import Run
from sbatchlint.report.json import clean, clean_shown_path
from sbatchlint.source.secrets import masked


def render(run: Run) -> str:
    """The diagnosis of a run as the text of a JSON object."""
    return json.dumps(as_value(run), indent=2) + "\n"


def as_value(run: Run) -> dict[str, Any]:
    """The diagnosis as plain values."""
    told = partial(_redacted, run.secrets)
    return {
        "script": None if run.source is None else told(clean_shown_path(run.source.path)),
        "logs": [told(clean_shown_path(each)) for each in run.logs],
        "diagnoses": [_answer(each, run) for each in run.diagnosis.answers],
        "places": [{"where": place.where, "why": told(place.why)} for place in run.places()],
        "noise": [
            {"path": told(clean_shown_path(noise.event.path)), "rows": list(noise.event.rows),
             "why": told(noise.reason), "symptom": noise.event.symptom.id, "count": noise.event.count}
            for noise in run.diagnosis.noise
        ],
        "notes": [told(each) for each in run.notes],
    }  # fmt: skip


def render_jobs(runs: list[JobRun]) -> str:
    """The JSON text for several jobs: each as in `as_value`, and what they have in common."""
    value = {
        "jobs": [_job(each) for each in runs],
        "summary": [
            {"symptom": row.symptom, "title": row.title, "where": row.where, "jobs": row.jobs, "hours": row.hours,
             "node_hours": row.node_hours}
            for row in summary(runs)
        ],
        "nodes": [{"node": clean(node), "jobs": jobs} for node, jobs in failing_nodes(runs).items()],
    }  # fmt: skip
    return json.dumps(value, indent=2) + "\n"


def _job(job: JobRun) -> dict[str, Any]:
    elements, total = job.elements()
    found = {"job": clean(job.job), "hours": job.hours, "node_hours": job.node_hours}
    return {**found, "elements": elements, "elements_of": total, **as_value(job.run)}


def _answer(answer: Answer, run: Run) -> dict[str, Any]:
    event, told = answer.event, partial(_redacted, run.secrets)
    return {
        "symptom": event.symptom.id,
        "title": event.symptom.title,
        "log": {"path": told(clean_shown_path(event.path)), "rows": list(event.rows), "text": told(event.text)},
        "count": event.count,
        "tasks": [told(each) for each in sorted(event.tasks)[:100]],
        "where": answer.where,
        "confidence": answer.confidence,
        "cause": told(answer.says),
        "script_rows": rows_of(answer, run.source),
        "codes": codes_of(answer.findings),
        "fix": told(advice_of(answer)),
        "diff": told(diff_of(answer, run.picture)) or None,
    }


def _redacted(secrets: tuple[str, ...], text: str) -> str:
    return clean(masked(text, secrets))
