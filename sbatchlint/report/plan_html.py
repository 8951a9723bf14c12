"""Plans as one page: what each job asks for, the verdict on it, its steps as pictures, and what the checks say."""

from collections.abc import Iterator, Sequence

from sbatchlint.diagnostics import Diagnostic
from sbatchlint.report.plan import NOTHING, request_rows, verdicts
from sbatchlint.report.plan_pen import STYLE, plain, written
from sbatchlint.report.plan_svg import step_svgs
from sbatchlint.report.plan_view import LEGEND, Marks, Plan, counted, plans, said_of

PAGE = """\
:root { color-scheme: light dark; }
body { max-width: 60rem; margin: 2rem auto; padding: 0 1rem; font: 16px/1.5 system-ui, sans-serif;
  color: #1b2330; background: #ffffff; }
h1, h2, td:nth-child(2), code { font-family: ui-monospace, Menlo, Consolas, "DejaVu Sans Mono", monospace; }
h1 { font-size: 1.4rem; overflow-wrap: anywhere; }
h2 { font-size: 1rem; }
table { border-collapse: collapse; }
th, td { text-align: left; vertical-align: top; padding: 0.15rem 1.5rem 0.15rem 0; overflow-wrap: anywhere; }
th { font-weight: normal; }
td:last-child { white-space: nowrap; }
figure { margin: 1.5rem 0; overflow-x: auto; }
.error { color: #b3001b; }
.warning { color: #8a5200; }
.dim { color: #566173; }
@media (prefers-color-scheme: dark) {
body { color: #e4e8ef; background: #12161d; }
a { color: #8ab4ff; }
.error { color: #ff8a94; }
.warning { color: #ffc069; }
.dim { color: #a3adbd; }
}
"""


def as_html(found: Sequence[tuple[Plan, Marks, Sequence[Diagnostic]]]) -> str:
    """A page for one script or several. It holds all that it shows; nothing of a script is markup in it."""
    titles = ", ".join(plan["path"] for plan, _, _ in found)
    body: list[str] = []
    for number, (plan, marks, diagnostics) in enumerate(found):
        body.append("<main>" if len(found) == 1 else "<section>")
        body.append(f"<h1>{written(plan['path'])}</h1>")
        for inner, each in enumerate(plans(plan)):
            if inner:
                body.append("<h2>submits</h2>")
            body.extend(_request(each))
            body.extend(_steps(each, marks, f"plan{number}-{inner}"))
        body.extend(_findings(plan, diagnostics))
        body.append("</main>" if len(found) == 1 else "</section>")
    head = (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>plan of {written(titles)}</title>\n<style>\n{PAGE}{STYLE}</style>\n</head>\n<body>\n"
    )
    return plain(head + "\n".join(body) + "\n</body>\n</html>\n")


def _request(plan: Plan) -> Iterator[str]:
    styles = {"refused": "error", "not known": "warning"}
    for name, verdict, said in verdicts(plan):
        # what is said is escaped for lines of text already; that changes nothing the second time
        more = f": {written(said)}" if said else ""
        yield f'<p>{name}: <strong class="{styles.get(verdict, "accepted")}">{verdict}</strong>{more}</p>'
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


def _steps(plan: Plan, marks: Marks, name: str) -> Iterator[str]:
    said = said_of(plan)
    if said is not None:
        yield f"<p>{written(said)}</p>"
    if plan["steps"]:
        yield "<h2>steps</h2>"
        yield f'<p class="dim">{LEGEND}</p>'
    for picture, more in step_svgs(plan, marks, name):
        caption = f"<figcaption>… and {counted(more, 'more step')} like this</figcaption>\n" if more else ""
        yield f"<figure>\n{picture}{caption}</figure>"


def _findings(plan: Plan, diagnostics: Sequence[Diagnostic]) -> Iterator[str]:
    if not diagnostics:
        return
    yield "<h2>findings</h2>"
    yield "<ul>"
    for each in diagnostics:
        line = f"line {each.source.row(each.span.start)}"
        if each.source.path != plan["path"]:
            line += f" of {each.source.path}"
        name = f'<a href="{written(each.url)}">{each.code} {each.name}</a>'
        yield (
            f'<li>{written(line)}: <strong class="{each.severity}">{each.severity}</strong> {name}: '
            f"{written(each.message)}</li>"
        )
    yield "</ul>"
