"""Measures `sbatchlint diagnose` over a folder of cases: one folder each, with job.log, perhaps job.sh, and case.json.

Prints how often the first answer has the decisive line, where the cause lies (a case may name more than one place that
its log and its script allow: `where_also`), and the lines of the script; with --misses also each case in which one of
them is wrong.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from sbatchlint.diagnose.answers import rows_of
from sbatchlint.diagnose.run import judged


class Score(NamedTuple):
    """Whether the first answer is right in each respect; `script`: None where no line of the script is to blame."""

    name: str
    line: bool
    where: bool
    script: bool | None
    said: str


def score(folder: Path) -> Score:
    """The first answer for a case, compared with what is known."""
    case = json.loads((folder / "case.json").read_text())
    script = folder / "job.sh"
    run = judged([str(folder / "job.log")], str(script) if script.exists() else None)
    wanted = set(case["script_lines"]) if script.exists() else set()
    if not run.diagnosis.answers:
        expected = f"{case['where']} {case['script_lines']} {case['class']}"
        return Score(folder.name, False, False, False if wanted else None, f"nothing | {expected}")
    best = run.diagnosis.answers[0]
    rows = rows_of(best, run.source)
    said = (
        f"{best.event.symptom.id}/{best.cause.key} {best.confidence} {best.where} log {best.event.rows} "
        f"script {rows} | {case['where']} log {case['log_lines']} script {case['script_lines']} {case['class']}"
    )
    right = {case["where"], *case.get("where_also", ())}
    near = any(row in case["log_lines"] for row in best.event.rows)
    return Score(folder.name, near, best.where in right, bool(wanted & set(rows)) if wanted else None, said)


def scores(folder: Path) -> Iterator[Score]:
    for path in sorted(folder.glob("*/case.json")):
        if (path.parent / "job.log").exists():
            yield score(path.parent)


def table(found: list[Score]) -> str:
    blamed = [each.script for each in found if each.script is not None]
    rows = [
        ("decisive line", sum(each.line for each in found), len(found)),
        ("where it lies", sum(each.where for each in found), len(found)),
        ("lines of the script", sum(blamed), len(blamed)),
    ]
    return "\n".join(
        f"{name:<20} {right:>4} of {total:>4}  {right / max(total, 1):>6.1%}" for name, right, total in rows
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--misses", action="store_true", help="list the cases that are wrong in something")
    options = parser.parse_args()
    found = list(scores(options.folder))
    if options.misses:
        for score in found:
            marks = "".join(
                "-" if right is None else "+" if right else "x" for right in (score.line, score.where, score.script)
            )
            if "x" in marks:
                print(f"{marks} {score.name}: {score.said}")
    print(table(found))


if __name__ == "__main__":
    main()
