"""What the playground asks of sbatchlint, in the browser. No file is read, and nothing is kept between two calls."""

import json

from sbatchlint.linting import fix_file, inspect_file
from sbatchlint.planning import planned
from sbatchlint.report.json import clean, finding
from sbatchlint.report.plan import as_text
from sbatchlint.report.plan_svg import as_svg
from sbatchlint.report.terminal import Terminal
from sbatchlint.settings import Overrides, Resolver
from sbatchlint.source import lookups
from sbatchlint.source.text import Source

PATH = "job.sbatch"


def answer(text: str, version: str) -> str:
    """The findings, the checks that failed, the script after its safe fixes and the plan, as JSON.

    An empty version: all releases.
    """
    settings = Resolver(Overrides(slurm_version=version or None, isolated=True)).settings(PATH)
    source = Source(text, PATH)
    with lookups.confined([]):
        inspection = inspect_file(source, settings)
        fixed = fix_file(source, settings, False, inspection).source.text
        plan = planned(source, settings)
    found = []
    for each in inspection.diagnostics:
        value = finding(each)
        value["offsets"] = [each.span.start, each.span.end]
        edits = () if each.fix is None else each.fix.edits
        value["changes"] = [[edit.span.start, edit.span.end, clean(edit.content)] for edit in edits]
        found.append(value)
    return json.dumps(
        {
            "findings": found,
            "failed": [f"{each.where} failed ({each.error})" for each in inspection.faults],
            "fixed": clean(fixed),
            "picture": as_svg(plan.plan, plan.marks),
            "plan": as_text(plan.plan, Terminal(80), plan.marks),
        }
    )
