"""A line of the plan above each step."""

from lsprotocol import types

from sbatchlint.report.plan_view import plans, view
from sbatchlint.server.snapshot import Snapshot
from sbatchlint.source.text import Source, Span

SHOW_PLAN = "sbatchlint.plan"


def lenses(snapshot: Snapshot) -> list[types.CodeLens]:
    """The numbers of each step of the file; those of included files are shown there."""
    found: dict[tuple[int, str], types.CodeLens] = {}
    for part in snapshot.parts:
        for plan in plans(snapshot.plan(part)):
            for step in plan["steps"]:
                if "path" in step:
                    continue
                told = view(step, plan, {})
                title = told.refused or "; ".join([told.counts, *told.facts[:1]])
                row = min(max(step["line"], 1), part.source.rows)
                place = part.outer(Span(*Source.line(part.source, row)))
                range_ = snapshot.positions.range(Span(place.start, place.start))
                command = types.Command(title, SHOW_PLAN, arguments=[snapshot.uri, "svg"])
                found[range_.start.line, title] = types.CodeLens(range_, command)
    return list(found.values())
