"""Lints and fixes files, in this process or in several."""

import os
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from sbatchlint.cli.outcome import STARVED, Outcome, starved
from sbatchlint.report.model import shown_path
from sbatchlint.settings import Resolver
from sbatchlint.source import lookups
from sbatchlint.source.files import InputError, write
from sbatchlint.source.text import Source, Undecodable

if TYPE_CHECKING:
    from sbatchlint.engine import Question
    from sbatchlint.fix import Refused

# With fewer files for each process, starting it costs more than it saves.
FILES_PER_PROCESS = 16
# With fewer files, to keep results and find them again costs more than it saves.
FEWEST_CACHED = 8
_STARVED = tuple(each.__name__ for each in STARVED)


class Mode(NamedTuple):
    """What to do: write fixes or only show them, also unsafe ones; whether the text is standard input.

    `shown`: the changes go to a terminal or to the log of a CI run.
    """

    fix: bool
    diff: bool
    unsafe: bool
    standard_input: bool
    shown: bool = False


Script = tuple[str, bytes]
Item = TypeVar("Item")


def process(
    script: Script, resolver: Resolver, mode: Mode, recording: bool = False, ask: "Question | None" = None
) -> Outcome:
    """Lints one file, and fixes it where that is asked for. Raises `InputError` only for an invalid configuration.

    `recording`: whether the outcome tells what was asked of the file system. `ask`: what else to ask of the job; the
    answer is `more` of the outcome, and None for a document.
    """
    try:
        outcome = _process(script, resolver, mode, recording, ask)
        lacking = any(fault.error.startswith(_STARVED) for fault in outcome.faults)
    except STARVED:
        lookups.end_record()
        lacking = True
    return starved(script[0]) if lacking else outcome


def _process(script: Script, resolver: Resolver, mode: Mode, recording: bool, ask: "Question | None") -> Outcome:
    # slow to import, and not needed where all results are known
    from sbatchlint.linting import fix_file, inspect_file, reported

    path, data = script
    settings = resolver.settings(path)
    try:
        source = Source.from_bytes(data, path)
    except Undecodable as error:
        return Outcome(path, [], error=f"cannot read {path}: {error}")
    record = lookups.begin_record() if recording else None
    inspection = inspect_file(source, settings, ask)
    lookups.end_record()
    applied: tuple[tuple[str, str], ...] = ()
    refused: tuple[Refused, ...] = ()
    diff = redacted = ""
    before = source
    if mode.fix or mode.diff:
        from sbatchlint.fix import redacted_diff, unified_diff  # loaded with --fix and --diff only

        fixed = fix_file(source, settings, mode.unsafe, inspection)
        source, inspection = fixed.source, fixed.inspection
        applied = tuple((each.code, each.name) for each in fixed.applied)
        refused = tuple(fixed.refused)
        if mode.diff and source.text != before.text:
            diff = unified_diff(before, source, shown_path(path))
            redacted = redacted_diff(before, source, shown_path(path)) if mode.shown else diff
    if mode.fix and source.text != before.text and not mode.standard_input:
        try:
            write(path, Source.encode(source.text), data)
        except InputError as error:
            return Outcome(path, [], faults=tuple(inspection.faults), error=str(error))
    found = inspection.diagnostics
    shown = reported(found, settings)
    if shown:
        from sbatchlint.source.secrets import redacted_source  # with the engine

        redacted_source(source)  # as reports ask it, while the answer for its text is at hand
    return Outcome(
        path,
        shown,
        hidden=len(found) - len(shown),
        failing=sum(settings.fails(each.severity) and settings.shows(each.code, each.severity) for each in shown),
        applied=applied,
        refused=refused,
        diff=redacted,
        is_redacted=redacted != diff,
        text=Source.encode(source.text) if mode.standard_input else b"",
        faults=tuple(inspection.faults),
        origin=settings.origin or "",
        asked=record.answers if record is not None and record.lasting and not inspection.unread else None,
        ignored=inspection.ignored,
        dated=sum(each.dated for each in found),
        unread=inspection.unread,
        more=inspection.answer,
    )


def process_all(
    scripts: list[Script], resolver: Resolver, mode: Mode, jobs: int | None, caching: bool, begun: float | None = None
) -> list[Outcome]:
    """The outcomes in the order of the scripts. `caching`: those of former runs may be taken, and these be kept.

    `begun`: when the run began, where a terminal shows how many are done.
    """
    if not caching or mode.fix or mode.diff or mode.standard_input or len(scripts) < FEWEST_CACHED:
        return _processed(scripts, resolver, mode, jobs, False, begun)
    from sbatchlint.cli.cache import Cache  # not for few files

    cache = Cache.of_run(resolver.overrides)
    if cache is None:
        return _processed(scripts, resolver, mode, jobs, False, begun)
    known = [cache.find(path, data, resolver.settings(path)) for path, data in scripts]
    changed = [script for script, outcome in zip(scripts, known) if outcome is None]
    processed = _processed(changed, resolver, mode, jobs, True, begun)
    for (path, data), outcome in zip(changed, processed):
        cache.add(data, resolver.settings(path), outcome)
    cache.write()
    fresh = iter(processed)
    return [next(fresh) if outcome is None else outcome for outcome in known]


def _processed(
    scripts: list[Script], resolver: Resolver, mode: Mode, jobs: int | None, recording: bool, begun: float | None
) -> list[Outcome]:
    """The outcomes in the order of the scripts, worked out in this process or in several."""
    # a single process that is asked for is one of its own, or a script that takes all memory would cost the others too
    apart = jobs is not None and len(scripts) > 1
    if jobs is None:
        jobs = worthwhile_jobs(len(scripts))
    jobs = min(jobs, len(scripts))
    for path, _ in scripts[: jobs > 1 or apart]:
        resolver.settings(path)  # an invalid configuration is an error before anything starts
    work = partial(process, resolver=resolver, mode=mode, recording=recording)
    numbered = dict(watched(worked(scripts, work, jobs, not mode.fix, apart), len(scripts), begun))
    return [numbered[number] for number in range(len(scripts))]


def worked(
    scripts: Iterable[Item], work: Callable[[Item], Outcome], jobs: int, unchanged: bool = True, apart: bool = False
) -> Iterator[tuple[int, Outcome]]:
    """The outcomes of any work, with the numbers of their scripts, as they are done; a script is read when its turn
    comes. `unchanged`: whether no file changes meanwhile. `apart`: not in this process, even with a single one: it may
    die, or has to be replaced as its memory grows."""
    if jobs < 2 and not apart:
        lookups.assume_unchanged(unchanged)
        try:
            yield from enumerate(map(work, scripts))
        finally:
            lookups.assume_unchanged(False)
        return
    import sbatchlint.engine  # noqa: F401  # once for all processes
    from sbatchlint.cli.workers import work_in_processes  # slow to import

    yield from work_in_processes(scripts, jobs, partial(_begin, work, unchanged))  # type: ignore[arg-type]


def watched(outcomes: Iterator[Item], total: int | None, begun: float | None) -> Iterator[Item]:
    """The outcomes, counted on a terminal; see `with_progress`."""
    if begun is None:
        return outcomes
    from sbatchlint.cli.progress import with_progress  # only where somebody looks

    return with_progress(outcomes, total, begun)


def _begin(work: Callable[[Item], Outcome], unchanged: bool) -> Callable[[Item], Outcome]:
    """What a new process does with each of its files."""
    lookups.assume_unchanged(unchanged)
    return work


def worthwhile_jobs(scripts: int) -> int:
    """How many processes so many scripts are worth."""
    return min(cpus(), scripts // FILES_PER_PROCESS)


def cpus() -> int:
    """How many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
