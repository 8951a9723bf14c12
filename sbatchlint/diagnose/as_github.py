"""The diagnosis as annotations of GitHub Actions, on the lines of the script to blame."""

from sbatchlint.diagnose.answers import rows_of
from sbatchlint.diagnose.run import Run
from sbatchlint.report.github import command
from sbatchlint.report.json import clean_shown_path
from sbatchlint.source.secrets import masked


def render(run: Run) -> str:
    lines = []
    for number, answer in enumerate(run.diagnosis.answers):
        event = answer.event
        kind = "error" if not number and answer.confidence != "possible" else "warning"
        place = f"{clean_shown_path(event.path)}:{event.row}"
        said = f"{answer.says}; {answer.advice} ({answer.confidence}; {place}: {masked(event.text, run.secrets)[:300]})"
        rows = rows_of(answer, run.source)
        title = f"{event.symptom.title} ({event.symptom.id})"
        for row in rows[:5] or [0]:
            path = run.source.path if run.source is not None and row else ""
            lines.append(command(kind, path, row, masked(title, run.secrets), masked(said, run.secrets)))
    return "".join(lines)
