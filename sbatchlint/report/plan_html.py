"""Plans as an HTML page: the requests of each job, the verdict, its steps as pictures, and the findings."""

from collections.abc import Iterator, Sequence

from sbatchlint.diagnostics import Diagnostic
from sbatchlint.report.cells import LONGEST_CODE
from sbatchlint.report.plan import NOTHING, STYLES, request_rows, verdicts
from sbatchlint.report.plan_nodes import MOST_TASKS, is_drawn, nodes_of
from sbatchlint.report.plan_pen import STYLE, Pen, number, plain, written
from sbatchlint.report.plan_view import (
    LEGEND,
    Marks,
    Plan,
    drawn_table,
    heading,
    in_short,
    notes_on,
    plans,
    remaining,
    repeated,
    says_more,
    severity_of,
    view,
)

PAGE = """\
:root { color-scheme: light dark; }
body { max-width: 60rem; margin: 2rem auto; padding: 0 1rem; font: 16px/1.5 system-ui, sans-serif;
  color: #1b2330; background: #ffffff; }
h1, h2, h3, td, code, .step { font-family: ui-monospace, Menlo, Consolas, "DejaVu Sans Mono", monospace; }
h1 { font-size: 1.4rem; overflow-wrap: anywhere; }
h2 { font-size: 1rem; }
h3 { font-size: 0.875rem; margin: 0 0 0.25rem; overflow-wrap: anywhere; }
table { border-collapse: collapse; }
th, td { text-align: left; vertical-align: top; padding: 0.15rem 1.5rem 0.15rem 0; overflow-wrap: anywhere; }
th { font-weight: normal; }
th:first-child { min-width: 6.5rem; }
td:last-child { white-space: nowrap; padding-right: 0; }
.step { font-size: 0.8rem; margin: 1rem 0; padding: 0.7rem 0.75rem; background: #f6f7f9; overflow-wrap: anywhere;
  border: 1px solid #c9d0da; border-left-width: 6px; border-radius: 8px; }
.step p { margin: 0; }
.step table { display: block; overflow-x: auto; margin-top: 0.5rem; }
.step th, .step td { min-width: 0; overflow-wrap: break-word; }
.step.has-error { border-left-color: #b3001b; }
.step.has-warning { border-left-color: #c77700; }
.step.refused { background: #fdecee; border-color: #b3001b; }
.nodes { display: flex; flex-wrap: wrap; gap: 12px; margin: 0.6rem 0; }
svg.plan { max-width: 100%; height: auto; }
li code.short { white-space: nowrap; }
.stressed, .step .error, .step .warning { font-weight: bold; }
.error { color: #b3001b; }
.warning { color: #8a5200; }
.dim { color: #566173; }
@media (prefers-color-scheme: dark) {
body { color: #e4e8ef; background: #12161d; }
a { color: #8ab4ff; }
.step { background: #1a2029; border-color: #3b4554; }
.step.has-error { border-left-color: #ff5c6c; }
.step.has-warning { border-left-color: #ffb14a; }
.step.refused { background: #341419; border-color: #ff8a94; }
.error { color: #ff8a94; }
.warning { color: #ffc069; }
.dim { color: #a3adbd; }
}
"""


def as_html(found: Sequence[tuple[Plan, Marks, Sequence[Diagnostic]]]) -> str:
    """A self-contained page for one or several scripts, whose texts are escaped."""
    titles = ", ".join(plan["path"] for plan, _, _ in found)
    body: list[str] = []
    for plan, marks, diagnostics in found:
        body.append("<main>" if len(found) == 1 else "<article>")
        body.append(f"<h1>{written(plan['path'])}</h1>")
        for inner, shown_plan in enumerate(plans(plan)):
            if inner:
                body.append("<h2>submits</h2>")
            body.extend(_request(shown_plan))
            body.extend(_steps(shown_plan, marks))
        body.extend(_findings(plan, diagnostics))
        body.append("</main>" if len(found) == 1 else "</article>")
    head = (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>plan of {written(titles)}</title>\n<style>\n{PAGE}{STYLE}</style>\n</head>\n<body>\n"
    )
    return plain(head + "\n".join(body) + "\n</body>\n</html>\n")


def _request(plan: Plan) -> Iterator[str]:
    for name, verdict, reason in verdicts(plan):
        # the reason is already escaped, and escaping it again changes nothing
        more = f": {written(reason)}" if reason else ""
        yield f'<p>{name}: <strong class="{STYLES.get(verdict, "accepted")}">{verdict}</strong>{more}</p>'
    components = plan["request"]["components"]
    for index, component in enumerate(components):
        if len(components) > 1:
            yield f"<h2>component {index}</h2>"
        rows = request_rows(component)
        if not rows:
            yield f"<p>{NOTHING}</p>"
            continue
        yield "<table>"
        for cells in rows:
            label, value, where = map(written, cells)
            yield f'<tr><th scope="row">{label}</th><td>{value}</td><td class="dim">{where}</td></tr>'
        yield "</table>"


def _steps(plan: Plan, marks: Marks) -> Iterator[str]:
    note = notes_on(plan)
    if note is not None:
        yield f'<p class="stressed {"error" if plan["steps"] else ""}">{written(note)}</p>'
    if plan["steps"]:
        yield "<h2>steps</h2>"
    if is_drawn(plan):
        yield f'<p class="dim">{LEGEND}</p>'
    for lines, more in repeated(((list(_step(step, plan, marks)), step) for step in plan["steps"]), "".join):
        yield from lines
        if more:
            yield f"<p>{more}</p>"


def _step(step: Plan, plan: Plan, marks: Marks) -> Iterator[str]:
    found = view(step, plan, marks)
    severity = severity_of(found)
    kinds = ["step", *([f"has-{severity}"] if severity else []), *(["refused"] if found.refused is not None else [])]
    yield f'<section class="{" ".join(kinds)}">'
    yield f"<h3>{written(heading(found))}</h3>"
    yield from (f"<p>{written(fact)}</p>" for fact in found.facts)
    yield from (f'<p class="stressed">{written(sentence)}</p>' for sentence in found.stressed)
    if found.refused is not None:
        yield f'<p class="error">! {written(found.refused)}</p>'
    for mark in found.marks:
        yield f'<p class="{mark.severity}">! line {mark.line}: {mark.code}: {written(mark.text)}</p>'
    if found.refused is None:
        yield from _nodes(step, plan)
        yield from _ranks(step)
    yield "</section>"


def _nodes(step: Plan, plan: Plan) -> Iterator[str]:
    """A picture of each node, side by side as far as the page has room."""
    found = nodes_of(step, plan, None)
    if found.boxes:
        yield '<div class="nodes">'
    for kind, drawn, width in found.boxes:
        pen = Pen()
        pen.box(0.5, 0.5, width - 1, drawn.height - 1, kind, 6)
        sizes = f'viewBox="0 0 {number(width)} {number(drawn.height)}" width="{number(width)}"'
        yield f'<svg class="plan" role="img" {sizes} aria-label="{kind}">\n{pen.body()}{drawn.body}</svg>'
    if found.boxes:
        yield "</div>"
    yield from (f"<p>{written(note)}</p>" for note in found.notes)


def _ranks(step: Plan) -> Iterator[str]:
    """A table of the rank variables of the tasks drawn, without those that the boxes show."""
    found = drawn_table(step, MOST_TASKS)
    if found is None:
        return
    if says_more(found, step):
        found = in_short(found)
        yield "<table>"
        yield "<tr>" + "".join(f'<th scope="col">{written(head)}</th>' for head in found.columns) + "</tr>"
        for row in found.rows:
            yield "<tr>" + "".join(f"<td>{written(cell)}</td>" for cell in row) + "</tr>"
        yield "</table>"
        if found.left > 0:
            yield f"<p>{written(remaining(step, found.left))}</p>"
    if found.common:
        pairs = ", ".join(f"{name}={value}" for name, value in found.common)
        yield f'<p class="dim">in every task: {written(pairs)}</p>'


def _findings(plan: Plan, diagnostics: Sequence[Diagnostic]) -> Iterator[str]:
    if not diagnostics:
        return
    yield "<h2>findings</h2>"
    yield "<ul>"
    for diagnostic in diagnostics:
        line = f"line {diagnostic.source.row(diagnostic.span.start)}"
        if diagnostic.source.path != plan["path"]:
            line += f" of {diagnostic.source.path}"
        name = f'<a href="{written(diagnostic.url)}">{diagnostic.code} {diagnostic.name}</a>'
        yield (
            f'<li>{written(line)}: <strong class="{diagnostic.severity}">{diagnostic.severity}</strong> {name}: '
            f"{_coded(diagnostic.message)}</li>"
        )
    yield "</ul>"


def _coded(message: str) -> str:
    """A message with backquoted parts as code; short code is not broken."""
    parts = message.split("`")
    if len(parts) % 2 == 0:
        return written(message)
    for at in range(1, len(parts), 2):
        kind = ' class="short"' if len(parts[at]) <= LONGEST_CODE else ""
        parts[at] = f"<code{kind}>{written(parts[at])}</code>"
    return "".join(part if at % 2 else written(part) for at, part in enumerate(parts))
