"""The diagnoses of several jobs as text: a table of what went wrong, nodes that failed again, and each job."""

from sbatchlint.diagnose.answers import codes_of
from sbatchlint.diagnose.as_text import SHORT
from sbatchlint.diagnose.jobs import JobRun, Row, failing_nodes, summary, total
from sbatchlint.report.cells import escape, wrap
from sbatchlint.report.model import shown_path
from sbatchlint.report.terminal import Terminal
from sbatchlint.source.secrets import masked

# The maximum number of jobs that are shown one by one, and named in a row.
MOST_JOBS, MOST_NAMED = 20, 4


def render(runs: list[JobRun], terminal: Terminal) -> str:
    """The text; `diagnose --job` shows one of the jobs whole."""
    failed = [each for each in runs if each.failed]
    logs = sum(len(each.run.logs) for each in runs)
    lines = [f"{len(runs)} jobs, {logs} {'log' if logs == 1 else 'logs'}: {len(failed)} went wrong"]
    if not failed:
        return lines[0] + "\n"
    lines += ["", *_table(summary(failed), terminal)]
    for node, jobs in failing_nodes(failed).items():
        said = f"{escape(node)} failed in {len(jobs)} jobs ({_some(jobs)}): submit with --exclude={escape(node)}"
        lines += ["", *_wrapped("node:", said, terminal)]
    lines.append("")
    for each in failed[:MOST_JOBS]:
        lines += _job(each, terminal)
    if len(failed) > MOST_JOBS:
        lines.append(f"and {len(failed) - MOST_JOBS} more; --output-format json has them all")
    lines += ["", f"--job {escape(failed[0].job)} shows that job with the lines of its script, and their fix"]
    return "\n".join(lines) + "\n"


def _table(rows: list[Row], terminal: Terminal) -> list[str]:
    has_nodes = any(row.node_hours is not None for row in rows)
    cells = [("symptom", "jobs", "hours", "node-hours", "where, and which jobs")]
    for row in rows:
        where = f"{SHORT[row.where]}: {_some(row.jobs)}"
        cells.append((row.symptom, str(len(row.jobs)), _hours(row.hours), _hours(row.node_hours), where))
    if len(rows) > 1:
        hours, nodes = _hours(total(row.hours for row in rows)), _hours(total(row.node_hours for row in rows))
        cells.append(("total", str(sum(len(row.jobs) for row in rows)), hours, nodes, ""))
    widths = [max(len(each[column]) for each in cells) for column in range(4)]
    lines = []
    for number, (symptom, jobs, hours, nodes, where) in enumerate(cells):
        line = f"{symptom:<{widths[0]}}  {jobs:>{widths[1]}}  {hours:>{widths[2]}}"
        line += f"  {nodes:>{widths[3]}}" if has_nodes else ""
        line = f"{line}  {where}".rstrip()
        lines.append(terminal.style("bold", line) if not number else line)
    return lines


def _hours(value: float | None) -> str:
    return "-" if value is None else f"{value:.1f}"


def _some(jobs: list[str]) -> str:
    more = f" and {len(jobs) - MOST_NAMED} more" if len(jobs) > MOST_NAMED else ""
    return ", ".join(map(escape, jobs[:MOST_NAMED])) + more


def _job(each: JobRun, terminal: Terminal) -> list[str]:
    """A job in two rows or more: what, how sure, where; and its cause."""
    answer = each.run.diagnosis.answers[0]
    codes = ", ".join(codes_of(answer.findings))
    elements, of_all = each.elements()
    array = f"; in {len(elements)} of {of_all} elements: {_some(elements)}" if of_all > 1 else ""
    place = f"{shown_path(answer.event.path)}:{answer.event.row}"
    where = SHORT[answer.where] + (f" ({codes})" if codes else "")
    head = f"{answer.confidence}[{answer.event.symptom.id}] {where}, {masked(place, each.run.secrets)}{array}"
    return [
        *_wrapped(f"job {escape(each.job)}:", escape(head), terminal),
        *(f"    {line}" for line in wrap(escape(masked(answer.says, each.run.secrets)), terminal.width - 4)),
    ]


def _wrapped(name: str, text: str, terminal: Terminal) -> list[str]:
    first, *more = wrap(text, terminal.width - 4, terminal.width - len(name) - 1)
    return [f"{terminal.style('bold', name)} {first}", *(f"    {each}" for each in more)]
