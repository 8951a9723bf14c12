"""`audit`: the findings of a queue or of all scripts below some folders, by check, user and partition; `merge`: of
several shards.

Each script leaves one line in a state file when it is done. A run that is repeated with the same state file goes on
where the one before ended, and the report counts lines: what is held in memory does not grow with the scripts but by
their names.
"""

import json
import os
import sys
from argparse import ArgumentTypeError, Namespace
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from functools import lru_cache, partial
from itertools import chain, islice
from typing import IO, TYPE_CHECKING, Any, NamedTuple
from zlib import crc32

from sbatchlint.cli.arguments import (
    Parser,
    add_configuration_options,
    add_site_option,
    add_version_option,
    count_argument,
    overrides,
)
from sbatchlint.cli.outcome import Outcome
from sbatchlint.cli.process import Mode, cpus, process, worked
from sbatchlint.report.cells import escape
from sbatchlint.settings import Resolver
from sbatchlint.slurm.grammar.arrays import indexes
from sbatchlint.source.files import InputError, reason, regular, unreadable
from sbatchlint.source.numbers import counted, is_number, parse_integer

if TYPE_CHECKING:
    from sbatchlint.job import Job

_LOOKS = Mode(False, False, False, False)
_BEGIN = b'{"path": "'
FORMATS = ("text", "json")
VERSION = 1
# Options that make more of a job than one task on one node.
_MORE = frozenset({"nodes", "ntasks", "ntasks-per-node", "ntasks-per-gpu", "ntasks-per-tres", "nodelist", "nodefile"})
# So many scripts a single process reads itself; further ones a process that is replaced now and then.
_FEW = 100
# How many rows of a table are shown as text.
_ROWS = 20


class Item(NamedTuple):
    """A script of an audit; `user`: who owns the file or the job. `partition`: that of the job, "" for files."""

    path: str
    data: bytes
    user: str
    partition: str = ""


def parser() -> Parser:
    made = Parser(
        "audit",
        usage="sbatchlint audit [OPTIONS] PATH...\n       sbatchlint audit --queue [OPTIONS]",
        description="Counts the findings of many scripts, or of a queue, by check, user and partition.",
    )
    add = made.add_argument
    add("paths", nargs="*", metavar="PATH", help="files and folders")
    add("--queue", action="store_true", help="audit the scripts of all jobs that squeue shows")
    add("--state", metavar="FILE", help="a file that keeps what is done, so that an interrupted run can continue")
    add("--shard", type=_shard, metavar="I/N", help="only every Nth script, for one task of a job array: 1/4")
    add("--jobs", type=count_argument, metavar="N", help="how many processes (default: one for each core)")
    add_version_option(made)
    add_site_option(made)
    add("--output-format", choices=FORMATS, default="text", help="default: text")
    add_configuration_options(made)
    return made


def merge_parser() -> Parser:
    made = Parser(
        "merge",
        "Prints the report of an audit from its state files, one for each shard.",
    )
    made.add_argument("files", nargs="+", metavar="FILE", help="state files")
    made.add_argument("--output-format", choices=FORMATS, default="text", help="default: text")
    return made


def _shard(text: str) -> tuple[int, int]:
    index, slash, number = text.partition("/")
    if not slash or not (is_number(index) and is_number(number)):
        raise ArgumentTypeError("must be I/N: 1/4 is the first of four")
    found = parse_integer(index), parse_integer(number)
    if not 1 <= found[0] <= found[1] <= 100_000:
        raise ArgumentTypeError("must be I/N with I from 1 to N")
    return found


def audit(arguments: list[str]) -> int:
    """Runs `sbatchlint audit`; returns the exit code."""
    options = parser().parse_intermixed_args(arguments)
    if bool(options.paths) == options.queue:
        raise InputError("audit needs a PATH, or --queue")
    resolver = Resolver(overrides(options))
    resolver.settings(options.paths[0] if options.paths else ".")  # an invalid configuration is an error at once
    totals = Totals()
    with _State(options.state, totals) as state:
        mine = partial(_is_mine, options.shard, state.done)
        items = _queue(mine) if options.queue else _files(options, mine, state)
        work, jobs = partial(_examined, resolver=resolver), options.jobs or cpus()
        few = worked(islice(items, _FEW), work, 1) if jobs == 1 and options.jobs is None else ()
        for _, outcome in chain(few, worked(items, work, jobs, apart=True)):
            state.keep(outcome)
    _show(totals, options.output_format)
    return 2 if state.unread else 0


def merge(arguments: list[str]) -> int:
    """Runs `sbatchlint merge`; returns the exit code."""
    options = merge_parser().parse_args(arguments)
    totals, done = Totals(), set[str]()
    for path in options.files:
        try:
            with open(path, encoding="utf-8", opener=regular) as file:
                for row in _rows(file, path):
                    if row["path"] not in done:
                        done.add(row["path"])
                        totals.add(row)
        except (OSError, UnicodeDecodeError) as error:
            raise unreadable(path, error) from None
    _show(totals, options.output_format)
    return 0


# --- scripts -------------------------------------------------------------------------------------------


def _is_mine(shard: tuple[int, int] | None, done: set[str], path: str) -> bool:
    if path in done:
        return False
    return shard is None or crc32(os.fsencode(path)) % shard[1] == shard[0] - 1


def _files(options: Namespace, mine: Callable[[str], bool], state: "_State") -> Iterator[Item]:
    from sbatchlint.cli.arguments import lint_options
    from sbatchlint.cli.lint import Run

    words = ["--quiet", *(["--isolated"] if options.isolated else [])]
    words += [word for value in options.config for word in ("--config", value)]
    run = Run(lint_options([*words, "--", *options.paths]))
    for path, data in run.scripts(options.paths, None, mine):
        yield Item(path, data, _owner(path))
    state.unread += run.errors


@lru_cache(maxsize=4096)
def _name_of(number: int) -> str:
    import pwd  # not on every system

    try:
        return pwd.getpwuid(number).pw_name
    except KeyError:
        return str(number)


def _owner(path: str) -> str:
    try:
        return _name_of(os.stat(path).st_uid)
    except (OSError, ImportError):
        return ""


def _queue(mine: Callable[[str], bool]) -> Iterator[Item]:
    """The scripts of the jobs in the queue; of an array once. A job that is over by now is left out."""
    import subprocess

    def ask(*words: str) -> "subprocess.CompletedProcess[bytes]":
        try:
            return subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, check=False)
        except OSError as error:
            raise InputError(f"cannot run {words[0]}: {reason(error)}") from None

    asked = ask("squeue", "--noheader", "--all", "--format=%F|%u|%P")
    if asked.returncode:
        raise InputError(f"squeue: {asked.stderr.decode(errors='replace').strip()}")
    seen = set()
    for line in asked.stdout.decode(errors="replace").splitlines():
        job, _, rest = line.strip().partition("|")
        user, _, partition = rest.partition("|")
        name = f"<job {job}>"
        if is_number(job) and job not in seen and mine(name):
            written = ask("scontrol", "write", "batch_script", job, "-")
            if written.returncode == 0 and written.stdout:
                yield Item(name, written.stdout, user, partition)
        seen.add(job)


def _examined(item: Item, resolver: Resolver) -> Outcome:
    """The row of a script, in `more` of the outcome."""
    outcome = process((item.path, item.data), resolver, _LOOKS, ask=_asked_for)
    row: dict[str, Any] = {"path": item.path, "user": item.user, "partition": item.partition}
    if outcome.error:
        return outcome._replace(more={**row, "problem": outcome.error})
    found: dict[str, list[Any]] = {}
    for each in outcome.diagnostics:
        known = found.setdefault(each.code, [each.name, each.severity, 0])
        known[2] += 1
        known[1] = "error" if "error" in (known[1], each.severity) else known[1]
    partition, hours = outcome.more if isinstance(outcome.more, tuple) else ("", None)
    row |= {"partition": item.partition or partition, "gpu_hours": hours, "findings": found}
    return Outcome(item.path, [], more=row)


def _asked_for(job: "Job") -> tuple[str, float | None]:
    """The partition, and the GPU hours by the plan; 0 without GPUs, None where they are not known."""
    from sbatchlint.analysis.planning.plan import request_of  # in the processes that lint

    components = request_of(job)["components"]
    hours: float | None = 0.0
    for each in components:
        own = _gpu_hours(each)
        hours = None if hours is None or own is None else hours + own
    partition = components[0]["partition"] if components else None
    return partition or "", None if hours is None else round(hours, 2)


def _gpu_hours(component: dict[str, Any]) -> float | None:
    gpus = component["gpus"]
    if not gpus:
        return 0.0
    alone = _MORE.isdisjoint(component["options"])  # one task on one node
    nodes, tasks = component["nodes"], component["tasks"]
    least = nodes["min"] if nodes else 1 if alone or tasks == 1 else None
    number = gpus.get("total")
    for name, factor in (("per_node", least), ("per_task", 1 if alone and tasks is None else tasks)):
        if number is None and gpus.get(name) is not None and isinstance(factor, int):
            number = gpus[name] * factor
    minutes, jobs = component["time_minutes"], _array_tasks(component["array"])
    if not isinstance(number, int) or not isinstance(minutes, (int, float)) or jobs is None:
        return None
    return number * minutes / 60 * jobs


def _array_tasks(text: str | None) -> int | None:
    """How many tasks an array has; 1 without an array, None where that is not known."""
    if not text:
        return 1
    found = indexes(text)
    return None if found is None else found.tasks


# --- state ---------------------------------------------------------------------------------------------


_MOST_NAMED = 20  # scripts that cannot be read, which the report counts


class _State:
    """What is done, in a file if there is one: a line for each script, and perhaps a broken last one."""

    def __init__(self, path: str | None, totals: "Totals") -> None:
        self.totals = totals
        self.done: set[str] = set()
        self.unread = 0
        self._file: IO[str] | None = None
        if path is None:
            return
        try:
            opener = regular if os.path.lexists(path) else None
            self._file = open(path, "a+", encoding="utf-8", errors="backslashreplace", opener=opener)  # noqa: SIM115
            self._file.seek(0)
            for row in _rows(self._file, path):
                self.done.add(row["path"])
                totals.add(row)
            self._cut(path)
        except OSError as error:
            raise InputError(f"cannot use {path}: {reason(error)}") from None
        except UnicodeDecodeError as error:
            raise unreadable(path, error) from None

    def _cut(self, path: str) -> None:
        """Takes off a line that was being written when the run before was killed."""
        assert self._file is not None
        with open(path, "rb+") as file:
            size = file.seek(0, os.SEEK_END)
            start = max(size - (1 << 20), 0)
            file.seek(start)
            tail = file.read()
            end = tail.rfind(b"\n") + 1
            if not (tail[end:].startswith(_BEGIN) or _BEGIN.startswith(tail[end:])):
                raise InputError(f"{path} is not the state of an audit")
            file.truncate(start + end)
        self._file.seek(0, os.SEEK_END)

    def __enter__(self) -> "_State":
        return self

    def __exit__(self, *error: object) -> None:
        if self._file is not None:
            with suppress(OSError):  # what was not written before, which was said then
                self._file.close()

    def keep(self, outcome: Outcome) -> None:
        row = outcome.more
        if not isinstance(row, dict):  # the process that read it died
            row = {"path": outcome.path, "user": "", "partition": "", "problem": outcome.error}
        if outcome.error:
            self.unread += 1
            if self.unread <= _MOST_NAMED:
                print(f"error: {escape(outcome.error)}", file=sys.stderr)
        for fault in outcome.faults:
            print(f"fault: sbatchlint itself failed in {fault.where} on {escape(fault.path)}", file=sys.stderr)
        self.totals.add(row)
        if self._file is not None:
            try:
                self._file.write(json.dumps(row) + "\n")
                self._file.flush()
            except OSError as error:
                raise InputError(f"cannot write {self._file.name}: {reason(error)}") from None


def _rows(file: Iterable[str], path: str) -> Iterator[dict[str, Any]]:
    """The rows of a state file; a last line without an end is left out."""
    for number, line in enumerate(file, 1):
        if not line.endswith("\n"):
            return
        try:
            row = json.loads(line)
        except ValueError:
            row = None
        if not isinstance(row, dict) or not {"path", "user", "partition"} <= row.keys():
            raise InputError(f"{path}:{number} is not a line of an audit")
        yield row


# --- report --------------------------------------------------------------------------------------------


class Group:
    """What is counted of the scripts of a check, a user or a partition. `hours`: GPU hours of all, `at_stake`: of those
    with an error; `unknown`: scripts with GPUs of which no hours are known."""

    def __init__(self) -> None:
        self.scripts = self.findings = self.failing = self.unknown = 0
        self.hours = self.at_stake = 0  # in hundredths, whose sums do not depend on the order

    def add(self, findings: int, fails: bool, hours: float | None) -> None:
        self.scripts += 1
        self.findings += findings
        self.failing += fails
        self.unknown += hours is None
        self.hours += round(100 * (hours or 0))
        self.at_stake += round(100 * (hours or 0)) if fails else 0

    def as_row(self) -> dict[str, Any]:
        return {
            "scripts": self.scripts, "with_errors": self.failing, "findings": self.findings,
            "gpu_hours": self.hours / 100, "gpu_hours_at_stake": self.at_stake / 100,
            "gpu_hours_unknown": self.unknown,
        }  # fmt: skip


class Totals:
    """The sums of an audit, whatever the order of its scripts."""

    def __init__(self) -> None:
        self.all = Group()
        self.problems = 0
        self.checks: dict[str, Group] = {}
        self.users: dict[str, Group] = {}
        self.partitions: dict[str, Group] = {}

    def add(self, row: dict[str, Any]) -> None:
        if "problem" in row:
            self.problems += 1
            return
        findings, hours = row["findings"], row["gpu_hours"]
        fails = any(severity == "error" for _, severity, _ in findings.values())
        number = sum(each for _, _, each in findings.values())
        self.all.add(number, fails, hours)
        for groups, name in ((self.users, row["user"]), (self.partitions, row["partition"] or "(default)")):
            groups.setdefault(name, Group()).add(number, fails, hours)
        for code, (name, severity, each) in findings.items():
            self.checks.setdefault(f"{code} {name}", Group()).add(each, severity == "error", hours)

    def as_json(self) -> dict[str, Any]:
        tables = {"checks": self.checks, "users": self.users, "partitions": self.partitions}
        return {
            "version": VERSION, **self.all.as_row(), "unreadable": self.problems,
            **{name: {key: group.as_row() for key, group in _ordered(groups)} for name, groups in tables.items()},
        }  # fmt: skip


def _ordered(groups: dict[str, Group]) -> list[tuple[str, Group]]:
    return sorted(groups.items(), key=lambda each: (-each[1].at_stake, -each[1].scripts, each[0]))


def _show(totals: Totals, output_format: str) -> None:
    if output_format == "json":
        print(json.dumps(totals.as_json(), indent=2))
        return
    whole = totals.all
    print(
        f"{counted(whole.scripts, 'script')}, {whole.failing} with errors, {counted(whole.findings, 'finding')};"
        f" {whole.at_stake // 100:,} of {whole.hours // 100:,} GPU hours at stake"
        + (f" ({whole.unknown} scripts without a known number)" if whole.unknown else "")
        + (f"; {totals.problems} could not be read" if totals.problems else "")
    )
    for title, groups in (("check", totals.checks), ("user", totals.users), ("partition", totals.partitions)):
        print(f"\n{'scripts':>8} {'errors':>7} {'findings':>8} {'GPU hours':>10} {'at stake':>10}  {title}")
        rows = _ordered(groups)
        for name, each in rows[:_ROWS]:
            counts = f"{each.scripts:>8} {each.failing:>7} {each.findings:>8}"
            print(f"{counts} {each.hours // 100:>10,} {each.at_stake // 100:>10,}  {escape(name)}")
        if len(rows) > _ROWS:
            print(f"... and {len(rows) - _ROWS} more (--output-format json)")
