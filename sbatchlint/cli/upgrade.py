"""`--upgrade-to`: what changes for scripts between two releases of Slurm.

Nothing is known here of single changes: each script is linted and planned under both releases, and what differs is
reported, with the variables that only one of them sets.
"""

import json
from argparse import Namespace
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from sbatchlint.cli.outcome import Outcome
from sbatchlint.cli.process import Mode, process, worked, worthwhile_jobs
from sbatchlint.diagnostics import Diagnostic
from sbatchlint.report.cells import escape
from sbatchlint.report.json import clean_shown_path
from sbatchlint.report.model import shown_path
from sbatchlint.settings import Overrides, Resolver
from sbatchlint.slurm.environment import variables
from sbatchlint.slurm.versions import is_before
from sbatchlint.source.files import InputError
from sbatchlint.source.numbers import counted
from sbatchlint.source.regex import Regex
from sbatchlint.source.text import Source

if TYPE_CHECKING:
    from sbatchlint.job import Job

# In the order of a report: what stops a job, what it does otherwise, and what is better by then.
KINDS = ("refused", "dropped", "new", "differs", "variable", "accepted", "gone")
_NAMES = Regex(r"\$\{?(S(?:LURM|BATCH)D?_\w+)")
_LOOKS = Mode(False, False, False, False)
# Parts of a plan that say the same of both releases in other words, or are compared apart.
_LEFT_OUT = frozenset({"slurm_version", "by_version", "accepted", "message", "options", "path", "line", "variables"})


class Change(NamedTuple):
    """A difference between two releases for a script; `code`: that of the finding, "" for others."""

    path: str
    line: int
    kind: str
    code: str
    name: str
    severity: str
    message: str


class Releases(NamedTuple):
    old: str
    new: str


def releases(version: str | None, wanted: str, known: tuple[str, str]) -> Releases:
    """The two releases. `known`: those of the settings. Raises `InputError`."""
    low, high = (version, version) if version is not None else known
    if "-" in low or low != high:
        raise InputError("--upgrade-to needs the release before: --slurm-version V, or slurm-version in the settings")
    if "-" in wanted or not is_before(low, wanted):
        raise InputError(f"--upgrade-to: {wanted} is not a release after {low}")
    return Releases(low, wanted)


class _Answer(NamedTuple):
    """What is asked of a job under a release: its plan, and the options of which one is dropped, with their line."""

    plan: Mapping[str, Any]
    dropped: dict[tuple[str, ...], tuple[int, str]]


def _answer(job: "Job") -> _Answer:
    from sbatchlint.analysis.directives.conflicts import conflicts, named  # with the engine
    from sbatchlint.planning import plan_without_secrets

    dropped = {
        tuple(one.name for one in each.settings): (
            job.line(each.settings[0].span.start), named(job, each.settings, each.settings[0]),
        )
        for each in conflicts(job)
        if each.ignored
    }  # fmt: skip
    return _Answer(plan_without_secrets(job), dropped)


def changes_of(script: tuple[str, bytes], given: Overrides, pair: Releases) -> Outcome:
    """What changes for a script, in `more` of the outcome."""
    old, new = (process(script, Resolver(given._replace(slurm_version=each)), _LOOKS, ask=_answer) for each in pair)
    if old.error or new.error:
        return old if old.error else new
    found = [*_findings(old.diagnostics, new.diagnostics, pair)]
    if isinstance(old.more, _Answer) and isinstance(new.more, _Answer):  # no document
        source = Source.from_bytes(script[1], script[0])
        dropped = list(_dropped(source.path, old.more, new.more, pair))
        found = [each for each in found if each.kind != "new" or each.line not in {one.line for one in dropped}]
        found += [*dropped, *_of_plans(source.path, old.more.plan, new.more.plan, pair)]
        told = "\n".join(each.message for each in found)
        found += [each for each in _variables(source, pair) if each.name not in told]
    found.sort(key=lambda each: (KINDS.index(each.kind), each.line))
    return new._replace(diagnostics=[], more=found)


def _findings(old: list[Diagnostic], new: list[Diagnostic], pair: Releases) -> Iterator[Change]:
    """The findings that only one release has, and those that are louder under the new one."""
    before = {_place(each): each for each in old}
    after = {_place(each): each for each in new}
    for place, each in after.items():
        known = before.get(place)
        if known is None or (known.severity != "error" and each.severity == "error"):
            yield _change(each, "new", f"with Slurm {pair.new}, and not with {pair.old}: {each.message}")
    for place, each in before.items():
        if place not in after:
            yield _change(each, "gone", f"with Slurm {pair.old}, and no longer with {pair.new}: {each.message}")


def _place(each: Diagnostic) -> tuple[str, str, int]:
    return each.code, each.source.path, each.span.start


def _change(each: Diagnostic, kind: str, message: str) -> Change:
    row = each.source.row(each.span.start)
    return Change(each.source.path, row, kind, each.code, each.name, each.severity, message)


def _dropped(path: str, old: _Answer, new: _Answer, pair: Releases) -> Iterator[Change]:
    """The options that the new release takes and does not follow, beside another one."""
    for names, (line, said) in new.dropped.items():
        if names not in old.dropped:
            message = f"Slurm {pair.new} takes {said} and drops one of them, Slurm {pair.old} does not"
            yield Change(path, line, "dropped", "", "", "warning", message)


def _of_plans(path: str, old: Mapping[str, Any], new: Mapping[str, Any], pair: Releases) -> Iterator[Change]:
    """Whether sbatch takes the script, and the numbers of the job and of its steps."""
    requests = old["request"], new["request"]
    accepted = [each["accepted"] for each in requests]
    if accepted[1] is False and accepted[0] is not False:
        said = f"Slurm {pair.new} refuses the script ({requests[1]['message']}), Slurm {pair.old} does not"
        yield Change(path, 1, "refused", "", "", "error", said)
    if accepted[0] is False and accepted[1] is not False:
        said = f"Slurm {pair.old} refuses the script ({requests[0]['message']}), Slurm {pair.new} does not"
        yield Change(path, 1, "accepted", "", "", "info", said)
    if False in accepted:
        return
    yield from _of_steps(path, old["steps"], new["steps"], pair)
    seen = set()
    pairs = [("the job", 1, one, other) for one, other in zip(requests[0]["components"], requests[1]["components"])]
    steps = zip(old["steps"], new["steps"])
    pairs += [("the step", other["line"], one, other) for one, other in steps if not _refusals(one, other)]
    for what, line, one, other in pairs:
        for name, first, second in _differences(one, other, ""):
            if (line, name) not in seen:
                seen.add((line, name))
                said = f"{what} has {name} {_shown(first)} with Slurm {pair.old}, and {_shown(second)} with {pair.new}"
                row, why = _reason(other, name, pair) if what == "the job" else (None, "")
                yield Change(path, row or line, "differs", "", "", "warning", f"{why}{said}")


def _refusals(old: Mapping[str, Any], new: Mapping[str, Any]) -> tuple[Any, Any] | None:
    """Why the two releases refuse a step, None for one that takes it; None where neither refuses it."""
    found = old.get("refused"), new.get("refused")
    return None if found == (None, None) else found


def _of_steps(path: str, old: Sequence[Any], new: Sequence[Any], pair: Releases) -> Iterator[Change]:
    """The steps that only one of the releases refuses."""
    for one, other in zip(old, new):
        before, after = _refusals(one, other) or (None, None)
        line = other["line"]
        if after is not None and before is None:
            said = f"srun of Slurm {pair.new} refuses the step ({after}), that of {pair.old} does not"
            yield Change(path, line, "refused", "", "", "error", said)
        elif before is not None and after is None:
            said = f"srun of Slurm {pair.old} refuses the step ({before}), that of {pair.new} does not"
            yield Change(path, line, "accepted", "", "", "info", said)


def _differences(old: Any, new: Any, name: str) -> Iterator[tuple[str, Any, Any]]:
    """The numbers and texts that differ, by name; of tasks, those of the first that differs."""
    if isinstance(old, dict) and isinstance(new, dict):
        for key in [*old, *(key for key in new if key not in old)]:
            if key == "variables" and isinstance(old.get(key), dict) and isinstance(new.get(key), dict):
                for variable in sorted({*old[key], *new[key]}):
                    if old[key].get(variable) != new[key].get(variable):
                        yield variable, old[key].get(variable), new[key].get(variable)
            elif key not in _LEFT_OUT:
                yield from _differences(old.get(key), new.get(key), key if name in ("", "by_task") else f"{name}.{key}")
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new) and name == "by_task":
        for one, other in zip(old, new):
            found = list(_differences(one, other, name))
            yield from found
            if found:
                return
    elif old != new and name != "by_task":
        yield name.replace("_", " "), old, new


def _reason(component: Mapping[str, Any], name: str, pair: Releases) -> tuple[int | None, str]:
    """The line of the option that a number of the job comes from, None if none is known; and why it differs."""
    setting = component["options"].get(name.replace(" ", "-"))
    if setting is None:
        return None, ""
    is_merged = name == "mail type" and is_before(pair.old, "25.05") and not is_before(pair.new, "25.05")
    why = "Slurm before 25.05 merges repeated --mail-type, later releases use only the last: " if is_merged else ""
    return setting["line"], why


def _shown(value: Any) -> str:
    return "unset" if value is None else f"`{value}`" if isinstance(value, (str, int)) else json.dumps(value)


def _variables(source: Source, pair: Releases) -> Iterator[Change]:
    """The variables in a script that only one of the releases sets."""
    seen = set()
    for match in _NAMES.finditer(source.text):
        entry = variables().get(match[1])
        if entry is None or match[1] in seen or f"{match[1]}=" in source.text:
            continue
        seen.add(match[1])
        old, new = ({*entry.batch, *entry.task} >= {each} for each in pair)
        if old != new:
            sets, lacks = (pair.old, pair.new) if old else (pair.new, pair.old)
            said = f"{match[1]} is set by Slurm {sets}, and not by {lacks}"
            row = source.row(match.start())
            yield Change(source.path, row, "variable", "", match[1], "warning" if old else "info", said)


def upgraded(
    scripts: list[tuple[str, bytes]], given: Overrides, known: tuple[str, str], options: Namespace
) -> tuple[str, int, list[str]]:
    """The report, the number of changes, and what is wrong with files."""
    pair = releases(given.slurm_version, options.upgrade_to, known)
    jobs = options.jobs or worthwhile_jobs(len(scripts))
    done = sorted(worked(scripts, partial(changes_of, given=given, pair=pair), jobs), key=lambda each: each[0])
    problems = [each.error for _, each in done if each.error]
    found = [change for _, each in done if isinstance(each.more, list) for change in each.more]
    render = as_json if (options.output_format or "").startswith("json") else as_text
    return render(found, len(done) - len(problems), pair), len(found), problems


# --- reports -------------------------------------------------------------------------------------------


def as_text(found: list[Change], scripts: int, pair: Releases) -> str:
    lines = [
        f"{escape(shown_path(each.path))}:{each.line}: {each.kind}: {f'{each.code}: ' if each.code else ''}"
        f"{escape(each.message)}\n"
        for each in found
    ]
    files = len({each.path for each in found})
    what = f"{counted(len(found), 'change')} in {files} of {counted(scripts, 'script')}"
    kinds = ", ".join(f"{number} {kind}" for kind in KINDS if (number := sum(each.kind == kind for each in found)))
    return "".join(lines) + f"Slurm {pair.old} to {pair.new}: {what}{f' ({kinds})' if kinds else ''}\n"


def as_json(found: list[Change], scripts: int, pair: Releases) -> str:
    rows = [{**each._asdict(), "path": clean_shown_path(each.path)} for each in found]
    return json.dumps({"from": pair.old, "to": pair.new, "scripts": scripts, "changes": rows}, indent=2) + "\n"
