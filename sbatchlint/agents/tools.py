"""The tools: each a plain function of its arguments, which reads what it is given and keeps nothing."""

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from msgspec import ValidationError
from msgspec import convert as typed

from sbatchlint import api
from sbatchlint.agents import arguments
from sbatchlint.agents.folder import Folder
from sbatchlint.agents.room import characters, page, shortened, size, written
from sbatchlint.agents.shapes import Value, finding_value, plan_value
from sbatchlint.diagnose.seen import bites
from sbatchlint.diagnose.symptom_pages import did_you_mean_any
from sbatchlint.diagnose.symptom_pages import page as symptom_page
from sbatchlint.fix import redacted_diff
from sbatchlint.registry import registry
from sbatchlint.report.json import clean
from sbatchlint.report.pages import as_markdown
from sbatchlint.report.terminal import Terminal
from sbatchlint.source.discover import is_document
from sbatchlint.source.files import InputError
from sbatchlint.source.numbers import counted
from sbatchlint.source.secrets import masked_lines, values_in
from sbatchlint.source.text import Source, Undecodable, script_of_words

# Room for what is around findings, steps and lines.
_AROUND = 700


class _Script(NamedTuple):
    """A script that was given or read: its text for answers, and the arguments of `api` that name it."""

    data: bytes
    text: str
    path: str | None
    secrets: tuple[str, ...]

    @property
    def source(self) -> Source:
        return Source(self.text, self.path or api.NO_PATH)


class Tools:
    """The tools of a server. `folder`: below which files may be read; None: no file may."""

    def __init__(self, folder: Folder | None) -> None:
        self._folder = folder

    def call(self, name: str, given: Mapping[str, Any]) -> str:
        """The answer of a tool, as JSON that fits. Raises `InputError` for what cannot be used."""
        tool = TOOLS.get(name)
        if tool is None:
            raise InputError(f"there is no tool {name!r}; there are {', '.join(TOOLS)}")
        try:
            options = typed(given, tool.arguments)
        except ValidationError as error:
            raise InputError(f"{name}: {error}".replace(" - at `$.", ": argument `")) from None
        answer = tool.work(self, options)
        return written(shortened(answer, characters(options.detail)))

    # --- what is read --------------------------------------------------------------------------

    def _allowed(self, path: str) -> Folder:
        if self._folder is None:
            said = (
                f"{path} may not be read: no folder is allowed; give the text, or start `sbatchlint mcp --root FOLDER`"
            )
            raise InputError(said)
        return self._folder

    def _script(self, options: arguments.OfScript, command: str | list[str] | None = None) -> _Script:
        started = None if not command else script_of_words([command] if isinstance(command, str) else command)
        given = [each for each in (options.script, started) if each is not None]
        if len(given) > 1 or not given and options.path is None:
            raise InputError("give `script`, its text, or `path`" + (", or `command`" if command is not None else ""))
        path = None if options.path is None else self._allowed(options.path).full(options.path)
        data = _encoded(given[0]) if given else self._allowed(options.path or "").read(options.path or "")
        try:
            text = Source.from_bytes(data, path or api.NO_PATH).text
        except Undecodable as error:
            raise InputError(f"cannot read {options.path or 'the script'}: {error}") from None
        return _Script(data, text, path, values_in(text))

    def _common(self, script: _Script, options: arguments.OfScript) -> dict[str, Any]:
        """The arguments that all functions of `api` have."""
        settings = dict(options.settings or {})
        if options.slurm_version is not None:
            settings["slurm-version"] = options.slurm_version
        root = "." if self._folder is None else self._folder.path
        return {"path": script.path, "root": root, "settings": settings}

    def _submitted(self, script: _Script, options: arguments.Submitted) -> dict[str, Any]:
        words = [options.sbatch_options or "", "" if options.nodes is None else f"--nodes={options.nodes}"]
        return self._common(script, options) | {"sbatch_options": " ".join(filter(None, words)) or None}

    # --- tools ---------------------------------------------------------------------------------

    def check(self, options: arguments.Check) -> Value:
        script = self._script(options)
        common = self._submitted(script, options)
        full = options.detail == "full"
        linted = api.lint(script.data, min_severity=options.min_severity, **common)
        counts = {
            severity: sum(each.severity == severity for each in linted.findings)
            for severity in ("error", "warning", "info")
        }
        answer: Value = {
            "verdict": {
                "accepted": None,
                **{severity: number for severity, number in counts.items() if number},
                "fixable_safely": sum(each.fix is not None and each.fix.safe for each in linted.findings),
                "below_min_severity": linted.hidden,
                "ignored_by_comments": linted.ignored,
            }
        }
        room = characters(options.detail) - _AROUND
        findings = [finding_value(each, script.text, script.secrets, full) for each in linted.findings]
        planned = None if is_document(script.path or "", script.data) else api.plan(script.data, **common)
        wanted = 0
        if planned is not None:
            answer["verdict"]["accepted"] = planned.accepted
            if options.start == 0:
                wanted = size(plan_value(planned.data, 0, room, False)[0])
        for_plan = min(wanted, max(room * 2 // 5, room - size(findings)))
        answer["findings"], after = page(findings, options.start, room - for_plan)
        _add_page(answer, after, len(findings))
        _add_faults(answer, linted.faults)
        if planned is not None and options.start == 0:
            plan, shown, steps = plan_value(planned.data, 0, max(room - size(answer["findings"]), for_plan), False)
            answer["plan"] = plan
            if shown < steps:
                answer["plan_left_out"] = f"{steps - shown} of {steps} steps: the tool `plan` with start={shown}"
        return answer

    def plan(self, options: arguments.Plan) -> Value:
        script = self._script(options)
        planned = api.plan(script.data, **self._submitted(script, options))
        room = characters(options.detail) - _AROUND
        plan, after, steps = plan_value(planned.data, options.start, room, options.detail == "full")
        answer: Value = {"accepted": planned.accepted, "plan": plan}
        _add_page(answer, after, steps)
        errors = [each for each in planned.findings if each.severity == "error"]
        if errors:
            answer["note"] = f"{counted(len(errors), 'error')} in it: see the tool `check`"
        _add_faults(answer, planned.faults)
        return answer

    def fix(self, options: arguments.Fix) -> Value:
        script = self._script(options)
        common = self._submitted(script, options)
        fixed = api.fix(script.data, unsafe=options.unsafe, checks=options.checks, **common)
        after = Source.from_bytes(fixed.data, script.path or api.NO_PATH)
        secrets = (*script.secrets, *values_in(after.text))
        full = options.detail == "full"
        text = masked_lines(after.text, secrets)
        hidden = text != after.text
        if not full:
            name = os.path.basename(script.path or "script")
            text = redacted_diff(script.source, after, name) if fixed.changed else ""
        answer: Value = {
            "changed": fixed.changed,
            "applied": [f"{each.code} {each.name}, line {each.start.row}: {_title(each)}" for each in fixed.applied],
        }
        if fixed.refused:
            answer["refused"] = [f"{each.finding.code}: {each.reason}" for each in fixed.refused]
        answer["left"] = [
            f"{each.code} {each.severity}, line {each.start.row}: {each.message}" for each in fixed.findings
        ]
        _add_faults(answer, fixed.faults)
        return _with_lines(answer, "script" if full else "diff", text, options, hidden)

    def convert(self, options: arguments.Convert) -> Value:
        script = self._script(options, options.command)
        made = api.convert(
            script.data, nodes=options.nodes, gpus_per_node=options.gpus_per_node, cpus_per_node=options.cpus_per_node,
            to=options.to, rdzv=options.rdzv, options=options.options, container=options.container, image=options.image,
            mounts=options.mounts, **self._common(script, options),
        )  # fmt: skip
        if made.text is None:
            return {"converted": False, "reason": made.reason}
        after = Source.from_bytes(made.data, script.path or api.NO_PATH)
        secrets = (*script.secrets, *values_in(after.text))
        answer: Value = {"converted": True, "proven": not made.todos, "decisions": list(made.decisions)}
        answer |= {"todos": list(made.todos)} if made.todos else {}
        room = characters(options.detail) // 4
        for name, plan in (("before", made.before), ("after", made.after)):
            steps = plan_value(plan, 0, room, False)[0]["steps"]
            answer[name] = [f"{each['step']}: {each['counts']}" for each in steps if isinstance(each, dict)]
        text = masked_lines(after.text, secrets)
        return _with_lines(answer, "script", text, options, text != after.text)

    def diagnose(self, options: arguments.Diagnose) -> Value:
        logs: list[bytes | Path] = [_encoded(each) for each in options.logs]
        logs += [self._allowed(each).read(each) for each in options.log_paths]
        names = [f"log {number}" for number, _ in enumerate(options.logs, 1)] + options.log_paths
        paths = dict(zip(api.log_names(len(logs)), names, strict=True))
        script = None if options.script is None and options.path is None else self._script(options)
        common = self._submitted(script or _Script(b"", "", None, ()), options)
        found = api.diagnose(logs, script=None if script is None else script.data, sacct=options.sacct, **common)
        answers = []
        for answer, plain in zip(found.answers, found.data["diagnoses"], strict=True):
            told = {
                "symptom": answer.symptom, "title": answer.title, "certainty": answer.certainty, "where": answer.where,
                "cause": answer.cause, "advice": answer.advice, "log": _log(answer.log, paths),
                "script_rows": list(answer.script_rows), "codes": plain["codes"], "diff": answer.diff,
            }  # fmt: skip
            answers.append({key: value for key, value in told.items() if value})
        shown, after = page(answers, options.start, characters(options.detail) - _AROUND)
        value: Value = {"diagnoses": shown}
        _add_page(value, after, len(answers))
        return value | {"notes": found.data["notes"]} if found.data["notes"] else value

    def explain(self, options: arguments.Explain) -> Value:
        entry = registry().find(options.name)
        if entry is None:
            text = symptom_page(options.name, "markdown", Terminal())
        else:
            text = as_markdown(registry().load(entry), bites(entry.code))
        if not text:
            raise InputError(f"there is no check and no symptom {options.name!r}{did_you_mean_any(options.name)}")
        return _with_lines({}, "page", text, options, False)


class Tool(NamedTuple):
    """`description`: all that an agent knows of it before it calls it."""

    description: str
    arguments: type[arguments.Answered]
    work: Callable[[Tools, Any], Value]


TOOLS: dict[str, Tool] = {
    "check": Tool(
        "Checks a Slurm batch script before it is submitted, without running anything: whether sbatch accepts it, what "
        "will go wrong and why (each finding with the edits that repair it), and what the job would start. Places are "
        "row:column from 1. Begin here.",
        arguments.Check, Tools.check,
    ),
    "plan": Tool(
        "What a batch script requests and starts: nodes, tasks, processes, GPUs, ranks of each step. What if: nodes, "
        "sbatch_options. detail=full: with the ranks and variables of the first tasks.",
        arguments.Plan, Tools.plan,
    ),
    "fix": Tool(
        "The fixes of a batch script, as a diff (detail=full: the whole script), each tried first. Writes nothing.",
        arguments.Fix, Tools.fix,
    ),
    "convert": Tool(
        "Makes a script or a command for one node a batch script for several nodes, proven by its plan, or says why "
        "that is not possible and what is left to fill in. Writes nothing.",
        arguments.Convert, Tools.convert,
    ),
    "diagnose": Tool(
        "What went wrong in a failed job, from its logs, or the record of sacct, and the lines of its script to blame.",
        arguments.Diagnose, Tools.diagnose,
    ),
    "explain": Tool(
        "The page of a check or of a symptom: why, how to fix it, examples, limits, sources.",
        arguments.Explain, Tools.explain,
    ),
}  # fmt: skip


def _encoded(text: str) -> bytes:
    try:
        return Source.encode(text)
    except UnicodeEncodeError:
        raise InputError("the text holds characters that no file can hold") from None


def _title(finding: api.Finding) -> str:
    return finding.fix.title if finding.fix is not None else finding.message


def _log(place: api.LogPlace, paths: Mapping[str, str]) -> Value:
    return {"path": paths.get(place.path, place.path), "rows": list(place.rows[:5]), "text": place.text}


def _add_page(answer: Value, after: int, count: int) -> None:
    """Says where the next page begins, if this one is not the last."""
    if after < count:
        answer["next"] = after
        answer["of"] = count


def _add_faults(answer: Value, faults: tuple[api.Fault, ...]) -> None:
    if faults:
        answer["faults"] = [f"sbatchlint itself failed in {each.where}: {each.error}" for each in faults]


def _with_lines(answer: Value, name: str, text: str, options: arguments.Answered, hidden: bool) -> Value:
    """The answer with the lines of a text that fit, from a line on."""
    if hidden:
        answer["redacted"] = "secrets are shown as ***: do not write this over a file, run the command line on it"
    lines = clean(text).splitlines(keepends=True)
    around = shortened(answer, characters(options.detail) // 2)
    shown, after = page(lines, options.start, characters(options.detail) - size(around) - _AROUND)
    around[name] = "".join(shown)
    _add_page(around, after, len(lines))
    value: Value = around
    return value
