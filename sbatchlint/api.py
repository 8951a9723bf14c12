"""sbatchlint for programs: `lint`, `plan`, `fix`, `convert` and `diagnose`.

    from sbatchlint.api import lint

    for finding in lint("#!/bin/bash\\n#SBATCH --nodes=2\\nhostname\\n"):
        print(finding.code, finding.message)

A script is a text (`str` or `bytes`), or an `os.PathLike` of a file. A text alone is judged by itself: no file of this
machine is looked at, and no configuration file is read. `path` says where it is, or will stand: then the settings that
hold there count, files beside it are read as the command line reads them, and its ending says whether it is a document
with scripts in it. With `root`, nothing outside this folder is read.

Nothing is ever run, written or sent, and nothing is kept from one call to the next that would change an answer. Calls
from several threads take turns. What cannot be used (an unreadable file, bytes that are not text, unknown settings)
raises `InputError`, the only exception that is meant.

What is in docs/api.md stays as it is within a major version; attributes may be added.
"""

import os
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, cast

from sbatchlint.configuration import LEVELS, check_table
from sbatchlint.diagnostics import Diagnostic
from sbatchlint.linting import fix_file, inspect_file, reported
from sbatchlint.registry import registry
from sbatchlint.report import plan_shape
from sbatchlint.report.json import clean
from sbatchlint.report.model import shown_path
from sbatchlint.report.reasons import certainty, check_of, references, silencing
from sbatchlint.report.terminal import Terminal
from sbatchlint.settings import Overrides, Resolver, Settings
from sbatchlint.source import edits as source_edits
from sbatchlint.source import lookups
from sbatchlint.source.files import InputError, read_bytes
from sbatchlint.source.secrets import redacted, redacted_plan, secrets_of, without_values
from sbatchlint.source.text import Source, Undecodable

if TYPE_CHECKING:
    from sbatchlint.diagnose.run import Run
    from sbatchlint.planning import Planned

__all__ = [
    "Answer",
    "Certainty",
    "Converted",
    "Diagnosis",
    "Edit",
    "Fault",
    "Finding",
    "Fix",
    "Fixed",
    "InputError",
    "Lint",
    "LogPlace",
    "Plan",
    "Position",
    "Refused",
    "Related",
    "Severity",
    "convert",
    "diagnose",
    "fix",
    "lint",
    "plan",
]

Severity = Literal["error", "warning", "info"]
Certainty = Literal["certain", "likely", "possible"]
Text = str | bytes | os.PathLike[str]
# The path of a text that has none.
NO_PATH = "<script>"
_LOG = "<log>"
# The engine keeps the trees that it walked last, and a record of what it asked of the file system.
_turn = threading.RLock()


@dataclass(frozen=True, slots=True)
class Position:
    """A place in a file: row and column from 1, and the offset from 0, in characters."""

    row: int
    column: int
    offset: int


@dataclass(frozen=True, slots=True)
class Edit:
    """Replaces what stands from `start` to before `end`; an empty range inserts."""

    start: Position
    end: Position
    content: str


@dataclass(frozen=True, slots=True)
class Fix:
    """What to change, in a few words, and how. `safe`: no correct script changes its meaning by it."""

    title: str
    safe: bool
    edits: tuple[Edit, ...]


@dataclass(frozen=True, slots=True)
class Related:
    """Another place that matters, and what is there."""

    label: str
    start: Position
    end: Position


@dataclass(frozen=True, slots=True)
class Finding:
    """A fault at one place.

    `message`: what will happen, then what to write instead. `certainty`: `certain` if that happens, `possible` if it
    may. `releases`: the releases of Slurm for which it holds; empty for all that are asked for. `summary`: what the
    check looks for; `source`: what it rests on (manuals, source files of a release, live runs, threads); `url`: its
    page. `path`: the file, which is not the script if `reached` names the place that includes it. `silence`: the
    comment that suppresses it, for the line above.
    """

    code: str
    name: str
    severity: Severity
    message: str
    certainty: Certainty
    releases: tuple[str, ...]
    summary: str
    source: str
    url: str
    path: str
    start: Position
    end: Position
    related: tuple[Related, ...]
    fix: Fix | None
    silence: str
    reached: str


@dataclass(frozen=True, slots=True)
class Fault:
    """A check that failed itself: a fault of sbatchlint, by which findings may be missing."""

    where: str
    error: str


@dataclass(frozen=True, slots=True)
class Lint:
    """The findings of a script, in the order of the file; it can be iterated itself.

    `hidden`: how many are below `min_severity`; `ignored`: how many are suppressed by comments.
    """

    findings: tuple[Finding, ...]
    hidden: int
    ignored: int
    faults: tuple[Fault, ...]

    def __iter__(self) -> Iterator[Finding]:
        return iter(self.findings)

    def __len__(self) -> int:
        return len(self.findings)


@dataclass(frozen=True, slots=True)
class Refused:
    """A fix that was taken back, and why."""

    finding: Finding
    reason: str


@dataclass(frozen=True, slots=True)
class Fixed:
    """A script after its fixes.

    `text`: all of it; `edits`: the lines that changed, with places of the script as it was. `applied`: the findings
    that were fixed, each with its place before its fix; `refused`: fixes that were tried and taken back; `findings`:
    what is left.
    """

    text: str
    edits: tuple[Edit, ...]
    applied: tuple[Finding, ...]
    refused: tuple[Refused, ...]
    findings: tuple[Finding, ...]
    faults: tuple[Fault, ...]

    @property
    def data(self) -> bytes:
        """The text as bytes: those that are not UTF-8 are as they were."""
        return Source.encode(self.text)

    @property
    def changed(self) -> bool:
        return bool(self.edits)


class Plan:
    """What a job requests, and what its steps start.

    `data`: plain values, as `sbatchlint plan --output-format json` prints them. `findings`: the errors and warnings,
    which the pictures mark.
    """

    def __init__(self, planned: "Planned") -> None:
        self._planned = planned
        self.data = cast(plan_shape.PlanShape, planned.plan)
        self.findings: tuple[Finding, ...] = tuple(map(_finding, planned.findings))
        self.faults: tuple[Fault, ...] = tuple(Fault(each.where, each.error) for each in planned.faults)

    @property
    def accepted(self) -> bool | None:
        """Whether sbatch accepts the script; None where that is not known, or releases differ."""
        return self.data["request"]["accepted"]

    @property
    def steps(self) -> list[plan_shape.Step]:
        return self.data["steps"]

    def text(self, width: int = 80) -> str:
        """The plan as `sbatchlint plan` prints it, in lines of about this width."""
        from sbatchlint.report.plan import as_text  # each form is loaded where it is asked for

        return as_text(self._planned.plan, Terminal(max(width, 40)), self._planned.marks)

    def svg(self) -> str:
        """The plan as a picture."""
        from sbatchlint.report.plan_svg import as_svg

        return as_svg(self._planned.plan, self._planned.marks)

    def html(self) -> str:
        """The picture as a page, with the findings below it."""
        from sbatchlint.report.plan_html import as_html

        return as_html([(self._planned.plan, self._planned.marks, self._planned.findings)])


@dataclass(frozen=True, slots=True)
class Converted:
    """A script for more nodes, proven by its plan.

    `text`: all of it; None where it cannot be converted, which `reason` says. `decisions`: what was chosen, and why;
    `todos`: what only a user can fill in. `before`, `after`: the plans, as `plan` has their `data`.
    """

    text: str | None
    reason: str
    decisions: tuple[str, ...] = ()
    todos: tuple[str, ...] = ()
    before: plan_shape.PlanShape | None = None
    after: plan_shape.PlanShape | None = None

    @property
    def data(self) -> bytes:
        """The text as bytes."""
        return Source.encode(self.text or "")


@dataclass(frozen=True, slots=True)
class LogPlace:
    """The decisive lines of a log: their rows, and the text of the first of them."""

    path: str
    rows: tuple[int, ...]
    text: str


@dataclass(frozen=True, slots=True)
class Answer:
    """A cause of a failure.

    `symptom`, `title`: what was printed; `where`: whose fault it is: `script`, `cluster`, `submission`, `code`, `data`
    or `unknown`. `cause`, `advice`: sentences. `script_rows`: the lines of the script to blame, or related to it;
    `findings`: the findings of checks that confirm it; `diff`: what their fixes change, "" for nothing.
    """

    symptom: str
    title: str
    log: LogPlace
    certainty: Certainty
    where: str
    cause: str
    advice: str
    script_rows: tuple[int, ...]
    findings: tuple[Finding, ...]
    diff: str


class Diagnosis:
    """What went wrong in a job: `answers`, the best first, and none where the logs say of nothing.

    `data`: plain values, as `sbatchlint diagnose --output-format json` prints them.
    """

    def __init__(self, run: "Run") -> None:
        from sbatchlint.diagnose.as_json import as_value

        self._run = run
        self.data: dict[str, Any] = as_value(run)
        self.answers: tuple[Answer, ...] = tuple(
            Answer(
                symptom=plain["symptom"],
                title=plain["title"],
                log=LogPlace(plain["log"]["path"], tuple(plain["log"]["rows"]), plain["log"]["text"]),
                certainty=plain["confidence"],
                where=plain["where"],
                cause=plain["cause"],
                advice=plain["fix"],
                script_rows=tuple(plain["script_rows"]),
                findings=tuple(map(_finding, answer.findings)),
                diff=plain["diff"] or "",
            )
            for answer, plain in zip(run.diagnosis.answers, self.data["diagnoses"], strict=True)
        )

    def text(self, width: int = 80) -> str:
        """The diagnosis as `sbatchlint diagnose` prints it."""
        from sbatchlint.diagnose.as_text import render

        return without_values(render(self._run, Terminal(max(width, 40))), self._run.secrets)


def lint(
    script: Text, *, path: str | os.PathLike[str] | None = None, root: str | os.PathLike[str] | None = None,
    settings: Mapping[str, object] | None = None, isolated: bool = False, sbatch_options: str | None = None,
    min_severity: Severity | None = None,
) -> Lint:  # fmt: skip
    """The findings in a script, or in the scripts of a document.

    `settings`: keys as in a configuration file (docs/settings.md), which override that file; `isolated`: no file is
    read. `sbatch_options`: the options with which sbatch is called. `min_severity`: the least that is reported; None
    for what the settings say, `warning` without any.
    """
    overrides = _overrides(settings, isolated, sbatch_options, min_severity)
    with _opened(script, path, root, overrides) as (source, resolved):
        inspection = inspect_file(source, resolved)
        shown = reported(inspection.diagnostics, resolved)
        return Lint(
            tuple(map(_finding, shown)),
            len(inspection.diagnostics) - len(shown),
            inspection.ignored,
            tuple(Fault(each.where, each.error) for each in inspection.faults),
        )


def fix(
    script: Text, *, unsafe: bool = False, checks: Iterable[str] | None = None,
    path: str | os.PathLike[str] | None = None, root: str | os.PathLike[str] | None = None,
    settings: Mapping[str, object] | None = None, isolated: bool = False, sbatch_options: str | None = None,
    min_severity: Severity | None = None,
) -> Fixed:  # fmt: skip
    """The script after its safe fixes; nothing is written.

    `unsafe`: also after those that encode a guess. `checks`: only after those of these codes, names or groups. The
    other arguments are those of `lint`.
    """
    overrides = _overrides(settings, isolated, sbatch_options, min_severity)
    with _opened(script, path, root, overrides) as (source, resolved):
        chosen = resolved
        if checks is not None:
            codes = {entry.code for each in checks for entry in registry().select(each)}
            chosen = resolved.narrowed(codes & {entry.code for entry in resolved.selected})
        fixed = fix_file(source, chosen, unsafe)
        inspection = fixed.inspection if chosen is resolved else inspect_file(fixed.source, resolved)
        return Fixed(
            fixed.source.text,
            tuple(_edit(source, each) for each in source_edits.edits_between(source.text, fixed.source.text)),
            tuple(map(_finding, fixed.applied)),
            tuple(Refused(_finding(each.diagnostic), each.reason) for each in fixed.refused),
            tuple(map(_finding, reported(inspection.diagnostics, resolved))),
            tuple(Fault(each.where, each.error) for each in inspection.faults),
        )


def plan(
    script: Text, *, nodes: int | None = None, gpus_per_node: int | None = None, cpus_per_node: int | None = None,
    path: str | os.PathLike[str] | None = None, root: str | os.PathLike[str] | None = None,
    settings: Mapping[str, object] | None = None, isolated: bool = False, sbatch_options: str | None = None,
) -> Plan:  # fmt: skip
    """What a job requests, whether sbatch accepts it, and what its steps start.

    What if: `sbatch_options="--nodes=8"` is the job as it would be with these options. `nodes`, `gpus_per_node` and
    `cpus_per_node` make a job of a script without directives, as `--as-job` does. The other arguments are those of
    `lint`.
    """
    from sbatchlint.planning import AsJob, planned  # heavy, and not needed by `lint`

    if nodes is None and (gpus_per_node is not None or cpus_per_node is not None):
        raise InputError("gpus_per_node and cpus_per_node need nodes")
    _check_counts(nodes, cpus_per_node)
    _check_counts(gpus_per_node, least=0)
    as_job = None if nodes is None else AsJob(nodes, gpus_per_node, cpus_per_node)
    overrides = _overrides(settings, isolated, sbatch_options, None)
    with _opened(script, path, root, overrides) as (source, resolved):
        return Plan(planned(source, resolved, as_job))


def convert(
    script: Text, *, nodes: int, gpus_per_node: int | None = None, cpus_per_node: int | None = None,
    to: str | None = None, rdzv: str | None = None, options: Mapping[str, str] | None = None,
    container: str | None = None, image: str | None = None, mounts: str | None = None,
    path: str | os.PathLike[str] | None = None, root: str | os.PathLike[str] | None = None,
    settings: Mapping[str, object] | None = None, isolated: bool = False,
) -> Converted:  # fmt: skip
    """The script that starts on `nodes` nodes what this one starts on one; nothing is written.

    `to`: `torchrun`, `accelerate`, `deepspeed` or `srun`, which is to start it; `rdzv`: `static` or `c10d`; `options`:
    more options of sbatch, by their long names; `container`, `image`, `mounts`: see docs/convert.md. The other
    arguments are those of `lint`.
    """
    from sbatchlint.convert.containers import KINDS  # heavy, and not needed by `lint`
    from sbatchlint.convert.conversion import convert as converted
    from sbatchlint.convert.goal import LAUNCHERS, RENDEZVOUS, Goal, NotConvertible, options_of

    _check_counts(nodes, cpus_per_node)
    _check_counts(gpus_per_node, least=0)
    for name, value, known in (("to", to, LAUNCHERS), ("rdzv", rdzv, RENDEZVOUS), ("container", container, KINDS)):
        if value is not None and value not in known:
            raise InputError(f"{name} must be one of {', '.join(known)}: not {value!r}")
    wanted = options_of(options or {})
    goal = Goal(nodes, gpus_per_node, cpus_per_node, to, rdzv, wanted, container, image, mounts)
    with _opened(script, path, root, _overrides(settings, isolated, None, None)) as (source, resolved):
        try:
            made = converted(source, goal, resolved)
        except NotConvertible as error:
            return Converted(None, clean(redacted(str(error), secrets_of(source))))
        before, after, decisions, todos = (redacted_plan(each, secrets_of(made.source)) for each in made[1:])
        return Converted(made.source.text, "", tuple(decisions), tuple(todos), before, after)


def diagnose(
    logs: Text | Sequence[Text], *, script: Text | None = None, sacct: Text | None = None,
    path: str | os.PathLike[str] | None = None, root: str | os.PathLike[str] | None = None,
    settings: Mapping[str, object] | None = None, isolated: bool = False, sbatch_options: str | None = None,
) -> Diagnosis:  # fmt: skip
    """What went wrong in a job, from its log or logs, and the lines of its script that caused it.

    `sacct`: what `sacct` or `scontrol show job` prints of the job, as text or JSON; `logs` may be empty then. `path`:
    that of the script. No script is looked for where none is given. The other arguments are those of `lint`.
    """
    from sbatchlint.diagnose.accounts import read_account  # slow to import, and not needed by `lint`
    from sbatchlint.diagnose.answers import overrides_for, picture_of
    from sbatchlint.diagnose.logs import findings_in
    from sbatchlint.diagnose.run import judge

    several = list(logs) if isinstance(logs, (list, tuple)) else [cast(Text, logs)]
    contents: dict[str, bytes] = {}
    for number, each in enumerate(several):
        data = _bytes(each, root)
        contents[_name(each) or log_names(len(several))[number]] = data
    if not contents and sacct is None:
        raise InputError("diagnose needs a log, or the record of sacct")
    account, account_path = None, ""
    if sacct is not None:
        data = _bytes(sacct, root)
        account_path = _name(sacct) or "<sacct>"
        account = read_account(data.decode("utf-8", "replace"), account_path)
    overrides = overrides_for(_overrides(settings, isolated, sbatch_options, "info"))
    with _turn:
        findings = findings_in(contents)
        if script is None:
            return Diagnosis(judge(findings, list(contents), None, account, account_path, []))
        with _opened(script, path, root, overrides) as (source, resolved):
            picture = picture_of(source, resolved)
            run = judge(findings, list(contents), picture, account, account_path, [])
            diagnosis = Diagnosis(run)
            for job in picture.jobs:
                job.release()
            return diagnosis


# --- what is read ------------------------------------------------------------------------------------


class _Script(NamedTuple):
    source: Source
    settings: Settings


@contextmanager
def _opened(
    script: Text, path: str | os.PathLike[str] | None, root: str | os.PathLike[str] | None, overrides: Overrides
) -> Iterator[_Script]:
    """A script with the settings that hold for it, while nothing but what may be read can be."""
    data = _bytes(script, root)
    name = _name(script) if path is None else _path(path)
    try:
        source = Source.from_bytes(data, name or NO_PATH)
    except Undecodable as error:
        raise InputError(f"cannot read {name or NO_PATH}: {error}") from None
    top = ""
    if root is not None:
        top = os.path.abspath(_path(root))
        if name is not None and not _is_below(name, top):
            raise InputError(f"{name} is not below {top}")
    overrides = overrides if name is not None else overrides._replace(isolated=True)
    with _turn:
        if root is None:
            settings = Resolver(overrides).settings(source.path)
            if name is not None:
                yield _Script(source, settings)
                return
        with lookups.confined([] if name is None else [top]):
            yield _Script(source, settings if root is None else Resolver(overrides, top).settings(source.path))


def _overrides(
    settings: Mapping[str, object] | None, isolated: bool, sbatch_options: str | None, min_severity: str | None
) -> Overrides:
    if min_severity not in (None, *LEVELS):
        raise InputError(f"min_severity must be one of {', '.join(LEVELS)}: not {min_severity!r}")
    pairs = dict(settings or {})
    check_table(pairs, "settings")
    return Overrides(sbatch_options=sbatch_options, min_severity=min_severity, isolated=isolated, pairs=pairs)


def log_names(count: int) -> list[str]:
    """How logs that are given as texts are called."""
    return [_LOG] if count == 1 else [f"<log {number}>" for number in range(1, count + 1)]


def _check_counts(*counts: int | None, least: int = 1) -> None:
    for number in counts:
        if number is not None and (type(number) is not int or not least <= number <= 100_000):
            raise InputError(f"{number!r} is not a number from {least} to 100000")


def _path(path: str | os.PathLike[str]) -> str:
    found = os.fspath(path)
    if not isinstance(found, str) or "\0" in found or not found:
        raise InputError(f"{path!r} is not a path")
    return found


def _name(text: Text) -> str | None:
    """The path of a file; None for a text."""
    return None if isinstance(text, (str, bytes)) else _path(text)


def _bytes(text: Text, root: str | os.PathLike[str] | None) -> bytes:
    if isinstance(text, bytes):
        return text
    if isinstance(text, str):
        try:
            return Source.encode(text)
        except UnicodeEncodeError:
            raise InputError("the text holds characters that no file can hold") from None
    if not isinstance(text, os.PathLike):
        raise InputError(f"a script or a log is a text, bytes or a path: not {type(text).__name__}")
    name = _path(text)
    if root is not None and not _is_below(name, _path(root)):
        raise InputError(f"{name} is not below {_path(root)}")
    return read_bytes(name)


def _is_below(path: str, folder: str) -> bool:
    """Whether a path is in a folder, wherever its links lead."""
    return os.path.realpath(path).startswith(os.path.join(os.path.realpath(folder), ""))


# --- what is returned ----------------------------------------------------------------------------------


def _position(source: Source, offset: int) -> Position:
    row, column = source.position(offset)
    return Position(row, column, offset)


def _edit(source: Source, edit: source_edits.Edit) -> Edit:
    return Edit(_position(source, edit.span.start), _position(source, edit.span.end), edit.content)


def _finding(diagnostic: Diagnostic) -> Finding:
    source, own = diagnostic.source, diagnostic.fix
    check = check_of(diagnostic)
    return Finding(
        code=diagnostic.code,
        name=diagnostic.name,
        severity=cast(Severity, diagnostic.severity),
        message=clean(diagnostic.message),
        certainty=cast(Certainty, certainty(diagnostic)),
        releases=diagnostic.versions,
        summary=check.summary,
        source=references(check),
        url=diagnostic.url,
        path=shown_path(source.path),
        start=_position(source, diagnostic.span.start),
        end=_position(source, diagnostic.span.end),
        related=tuple(
            Related(clean(label), _position(source, span.start), _position(source, span.end))
            for span, label in diagnostic.related
        ),
        fix=None if own is None else Fix(clean(own.title), own.safe, tuple(_edit(source, each) for each in own.edits)),
        silence=silencing(diagnostic),
        reached=diagnostic.reached,
    )
