"""Lints, fixes and reports."""

import os
import re
import sys
from argparse import Namespace
from collections import Counter
from collections.abc import Callable, Iterator
from functools import cached_property
from time import monotonic
from typing import TYPE_CHECKING

from sbatchlint import ISSUES
from sbatchlint.cli.arguments import LINT_VERBS, VERBS, configured, listed
from sbatchlint.cli.outcome import Outcome
from sbatchlint.cli.output import write_bytes
from sbatchlint.cli.process import Mode, process, process_all, watched
from sbatchlint.diagnostics import Diagnostic
from sbatchlint.registry import did_you_mean, registry
from sbatchlint.report.cells import escape
from sbatchlint.report.formats import renderer
from sbatchlint.report.model import Report, by_file, shown_path
from sbatchlint.report.summary import statistics, statistics_json, summary
from sbatchlint.report.terminal import REDACTED, Terminal, is_read_by_people
from sbatchlint.settings import Overrides, Resolver, Settings
from sbatchlint.source.discover import BATCH_ENDINGS, candidates, is_batch_script, is_document, is_lintable
from sbatchlint.source.files import InputError, content, reason, standard_input_bytes, writable, write
from sbatchlint.source.numbers import counted, is_number, parse_integer
from sbatchlint.source.text import Source, Span, begins_as_script

if TYPE_CHECKING:
    from sbatchlint.cli.baseline import Baseline

STANDARD_INPUT = "<stdin>"
# Of more findings than this, a terminal gets an overview.
MOST_IN_FULL = 30
# Larger files in a folder are data.
MOST_BYTES = 4 << 20
_YAML = re.compile(rb"\w\.ya?ml\b")


def lint(options: Namespace) -> int:
    """Runs `sbatchlint`; returns the exit code."""
    begun = monotonic() if not options.quiet and _is_watched() else None
    run = Run(options)
    if options.paths == ["-"]:
        scripts = [(options.stdin_filename or STANDARD_INPUT, standard_input_bytes())]
    else:
        scripts = list(run.scripts(options.paths or ["."], begun))
    if options.show_files:
        write_bytes(b"".join(os.fsencode(shown_path(path)) + b"\n" for path, _ in scripts))
        return 2 if run.errors else 0
    if options.unsafe_fixes and not (options.fix or options.fix_only or options.diff) and not options.quiet:
        print("note: --unsafe-fixes repairs nothing without --fix or --diff", file=sys.stderr)
    if not scripts and not run.errors and not options.quiet:
        looked = f" ({counted(run.left_out, 'other file')})" if run.left_out else ""
        one = "a batch script is a file with an #SBATCH line"
        print(f"note: no batch script found{looked}; {one}{run.unread_documents()}", file=sys.stderr)
    if options.upgrade_to is not None:
        return run.upgrade(scripts)
    caching = not options.no_cache and not _keeps_nothing()
    outcomes = process_all(scripts, run.resolver, run.mode, options.jobs, caching, begun)
    for outcome in outcomes:
        run.take(outcome)
    run.tell_unread(outcomes)
    if options.verbose:
        run.tell_of_yaml(scripts)
    return run.finish(outcomes)


class Run:
    """One run: its options, and what it prints beside the report."""

    def __init__(self, options: Namespace) -> None:
        self.options = options
        # Path and line of each finding that --add-ignore is about; without any, all of the paths.
        self.rows = _take_rows(options) if options.add_ignore is not None else set[tuple[str, int]]()
        self.resolver = Resolver(_overrides(options))
        fixing = options.fix or options.fix_only
        shown = options.diff and is_read_by_people(sys.stdout)
        fixes = (fixing and not options.diff, options.diff, options.unsafe_fixes)
        self.mode = Mode(*fixes, options.paths == ["-"], shown)
        self.errors = 0
        # A path may be the reason of --add-ignore; then nothing is written.
        self.is_meant_otherwise = False
        self.left_out = 0
        self.left_out_documents = 0  # those of folders that have directives
        self._faults: set[tuple[str, str]] = set()
        self._baselines: dict[str, Baseline] = {}
        if options.baseline is not None:
            self._read_baseline(options.baseline)  # one that cannot be read is an error before anything is linted
        if options.update_baseline and self._narrowed():
            raise InputError("--update-baseline needs a whole run: without --select, --ignore and --min-severity")
        overrides = self.resolver.overrides
        for selector in (*(overrides.select or ()), *overrides.extend_select, *overrides.ignore):
            registry().select(selector)  # an invalid configuration is an error even with nothing to lint

    @cached_property
    def settings(self) -> Settings:
        """Those of the report: of the first path that is named."""
        first = self.options.stdin_filename or (self.options.paths or ["."])[0]
        return self.resolver.settings(os.path.join(first, "*") if os.path.isdir(first) else first)

    @property
    def output_format(self) -> str | None:
        chosen: str | None = self.options.output_format
        return chosen or self.settings.output_format

    def error(self, text: str) -> None:
        self.errors += 1
        print(f"error: {escape(text)}", file=sys.stderr)

    def note(self, text: str) -> None:
        if self.options.verbose:
            print(f"note: {escape(text)}", file=sys.stderr)

    def scripts(
        self, paths: list[str], begun: float | None, wanted: Callable[[str], bool] | None = None
    ) -> Iterator[tuple[str, bytes]]:
        """Every batch script in or below the paths, with its content. `begun`: see `process_all`. `wanted`: which of
        the files are read."""
        existing = []
        for path in paths:
            if os.path.exists(path):
                existing.append(path)
            elif os.path.lexists(path):
                self.error(f"cannot read {path}: it is a link to nothing")
            else:
                hint = did_you_mean(path, (*LINT_VERBS, *VERBS, "--help")) if path == paths[0] else ""
                if self.options.add_ignore == "":
                    self.is_meant_otherwise = True
                    hint = " (a reason is written --add-ignore=REASON)"
                elif path == paths[0] and path.isalpha():  # a verb is meant, and the others are its arguments
                    raise InputError(f"there is no command, file or folder {path}{hint}")
                self.error(f"there is no file or folder {path or repr(path)}{hint}")

        def excluded(path: str, is_folder: bool) -> bool:
            found = self.resolver.settings(path).excluded(path, is_folder)
            if found:
                self.note(f"{path} is left out: it is excluded (see sbatchlint config)")
            return found

        def unreadable(error: OSError) -> None:
            self.error(f"cannot read {os.path.normpath(error.filename)}: {reason(error)}")

        def left_out(path: str, why: str) -> None:
            self.note(f"{path} is left out: {why}")

        others = 0
        told = left_out if self.options.verbose else None
        found = candidates(existing, excluded, self.options.force_exclude, unreadable, told)
        for path, named in watched(found, None, begun):
            if wanted is not None and not wanted(path):
                continue
            try:
                data = _content(path, named)
            except OSError as error:
                self.error(f"cannot read {path}: {reason(error)}")
                continue
            if data is not None and self._is_wanted(path, data, named):
                yield path, data
            else:
                self.left_out += 1
                has_directives = not named and data is not None and b"#SBATCH" in data
                self.left_out_documents += has_directives and is_document(path, data or b"")
                why = _why_not(path, data, named) if self.options.verbose else ""
                others += not why
                if why:
                    self.note(f"{path} is left out: {why}")
        if others:
            self.note(f"{counted(others, 'other file')} left out: neither shell scripts nor documents")

    def unread_documents(self) -> str:
        """What to do about documents that were found in folders, as the end of a sentence."""
        if not self.left_out_documents:
            return ""
        found = counted(self.left_out_documents, "document")
        return f"; {found} with such lines can be read: name them, or `include` them in the settings"

    def _is_wanted(self, path: str, data: bytes, named: bool) -> bool:
        """Whether a file is linted: a batch script, or a document that somebody named or the settings include.

        With --force-exclude the paths come from a program that names every file of the repository, as hooks do.
        """
        if is_document(path, data):
            return named and not self.options.force_exclude or self.resolver.settings(path).includes(path)
        return is_lintable(path, data) if named else is_batch_script(data, path)

    def take(self, outcome: Outcome) -> None:
        """Prints at once what went wrong with a file."""
        if outcome.error:
            self.error(outcome.error)
        for fault in outcome.faults:
            if (fault.where, fault.error) not in self._faults:
                self._faults.add((fault.where, fault.error))
                print(
                    f"fault: sbatchlint itself failed in {fault.where} on {escape(shown_path(fault.path))}"
                    f" ({escape(fault.error)});"
                    f" please report this at {ISSUES}",
                    file=sys.stderr,
                )
                if self.options.verbose:
                    print(fault.traceback, file=sys.stderr)
        if not self.options.quiet:
            for refused in outcome.refused:
                each = refused.diagnostic
                row, column = each.source.position(each.span.start)
                print(
                    f"note: {escape(shown_path(outcome.path))}:{row}:{column}: the fix of {each.code} {each.name}"
                    f" was taken back: {escape(refused.reason)}",
                    file=sys.stderr,
                )
        if outcome.origin:
            self.note(f"{shown_path(outcome.path)} follows {outcome.origin}")

    def upgrade(self, scripts: list[tuple[str, bytes]]) -> int:
        """Says what changes between two releases; returns the exit code."""
        from sbatchlint.cli.upgrade import upgraded  # rarely asked for

        options = self.options
        known = self.settings.site.slurm_versions
        text, changes, problems = upgraded(scripts, self.resolver.overrides, known, options)
        for problem in problems:
            self.error(problem)
        sys.stdout.write(text)
        return 2 if self.errors else 1 if changes and not options.exit_zero else 0

    def tell_unread(self, outcomes: list[Outcome]) -> None:
        """Says of which documents nothing was read, and why; of several only how many, unless asked for all."""
        unread = [outcome for outcome in outcomes if outcome.unread]
        if not unread or self.options.quiet:
            return
        if self.options.verbose or len(outcomes) == 1:
            for outcome in unread:
                path = escape(shown_path(outcome.path))
                print(f"note: no script was read in {path}: {escape(outcome.unread)}", file=sys.stderr)
        elif len(unread) == len(outcomes):
            print(f"note: no script was read in {counted(len(unread), 'document')} (-v says why)", file=sys.stderr)

    def tell_of_yaml(self, scripts: list[tuple[str, bytes]]) -> None:
        """Says that YAML files are read in part alone, where scripts name some."""
        from sbatchlint.source.yaml_files import has_reader  # which imports the reader, if it is there

        naming = sum(_YAML.search(data) is not None for _, data in scripts)
        if naming and not has_reader():
            self.note(
                f"PyYAML is not installed: of the YAML files named in {counted(naming, 'script')}, only plain lines"
                " are read (pip install 'sbatchlint[yaml]')"
            )

    def finish(self, outcomes: list[Outcome]) -> int:
        """Writes the report; returns the exit code."""
        options = self.options
        found = _once([diagnostic for outcome in outcomes for diagnostic in outcome.diagnostics])
        scripts = {outcome.path for outcome in outcomes if not outcome.error}
        if options.write_baseline is not None:
            return self._write_baseline(found)
        failing = any(outcome.failing for outcome in outcomes)
        everything = found
        found, known = self._without_known(found, scripts)
        if self._baselines:
            failing = any(self.resolver.settings(each.source.path).fails(each.severity) for each in found)
        report = Report(
            found,
            len(
                scripts.difference(outcome.path for outcome in outcomes if outcome.unread)
                | {each.source.path for each in found if each.reached}
            ),
            sum(len(outcome.applied) for outcome in outcomes),
            sum(outcome.hidden for outcome in outcomes),
            sum(outcome.ignored for outcome in outcomes),
            known,
            self.settings.min_severity,
            sum(outcome.dated for outcome in outcomes),
            tuple(code for outcome in outcomes for code, _ in outcome.applied),
        )
        if options.add_ignore is not None:
            if self.is_meant_otherwise:
                return 2
            added = self._add_ignores(outcomes, self._in_rows(everything, found))
            return 2 if self.errors else 0 if added else 1
        if options.diff:
            self._write_diff(outcomes, report)
        elif self.mode.standard_input and self.mode.fix:
            write_bytes(b"".join(outcome.text for outcome in outcomes))
            if not options.fix_only:
                print(self._rendered(report, Terminal.of_stream(sys.stderr, options.color)), end="", file=sys.stderr)
        elif options.fix_only:
            if not options.quiet:
                print(f"{report.fixed} fixed in {counted(report.scripts, 'script')}")
        elif scripts or not self.errors:
            self._write(report)
        if options.show_fixes and not options.diff:
            self._show_fixes(outcomes)
        if self._faults:
            return 3
        if self.errors:
            return 2
        if options.exit_zero:
            return 0
        if options.diff:
            return 1 if any(outcome.applied for outcome in outcomes) else 0
        return 1 if failing and not options.fix_only else 0

    def _without_known(self, found: list[Diagnostic], scripts: set[str]) -> tuple[list[Diagnostic], int]:
        """The findings that no baseline holds, and how many one does; shrinks baselines where that is asked for."""
        parts: dict[str, tuple[set[str], list[Diagnostic]]] = {}
        if self.options.update_baseline:  # perhaps every script is gone
            parts[self._baseline_of(os.path.join(".", "*"))] = (set(), [])
        for path in scripts:
            parts.setdefault(self._baseline_of(path), (set(), []))[0].add(path)
        for path, own in by_file(found).items():
            parts.setdefault(self._baseline_of(path), (set(), []))[1].extend(own)
        new = parts.pop("", (set[str](), list[Diagnostic]()))[1]
        known = gone = 0
        for file, (own_scripts, own) in parts.items():
            baseline = self._read_baseline(file)
            compared = baseline.compare(own, own_scripts)
            new += compared.new
            known += compared.known
            gone += compared.gone
            if self.options.update_baseline:
                before = baseline.count
                baseline.shrink(own, own_scripts)
                baseline.write()
                left = baseline.count
                print(f"{escape(shown_path(file))}: {before - left} removed, {left} left", file=sys.stderr)
        if self.options.update_baseline and not parts:
            raise InputError("--update-baseline: name the baseline, too: --baseline FILE --update-baseline")
        options = self.options
        if gone and not (options.update_baseline or options.quiet or options.diff or self._narrowed()):
            held = f"{counted(gone, 'finding')} of the baseline {'is' if gone == 1 else 'are'} gone"
            print(f"note: {held}; remove {'it' if gone == 1 else 'them'} with --update-baseline", file=sys.stderr)
        chosen = set(map(id, new))
        return [each for each in found if id(each) in chosen], known

    def _baseline_of(self, path: str) -> str:
        """The file of the baseline that holds for a script; empty where none does."""
        if self.options.write_baseline is not None or self.options.no_baseline:
            return ""
        named: str | None = self.options.baseline
        return (self.resolver.settings(path).baseline or "") if named is None else named

    def _read_baseline(self, file: str) -> "Baseline":
        """The baseline in a file. Raises `InputError` where it cannot be read."""
        if file not in self._baselines:
            from sbatchlint.cli.baseline import read_baseline

            self._baselines[file] = read_baseline(file)
        return self._baselines[file]

    def _narrowed(self) -> bool:
        """Whether options leave out findings that a run without them would have."""
        options = self.options
        return options.select is not None or bool(options.ignore) or options.min_severity is not None

    def _write_baseline(self, found: list[Diagnostic]) -> int:
        from sbatchlint.cli.baseline import baseline_of

        path = self.options.write_baseline
        if os.path.exists(path):
            raise InputError(f"{path} exists; remove it to start over, or shrink it with --update-baseline")
        baseline = baseline_of(path, found)
        baseline.write()
        held = f"{counted(baseline.count, 'finding')} in {counted(len(baseline.entries), 'file')}"
        named, origin = self.settings.baseline, self.settings.origin
        if named is not None and origin is not None and os.path.realpath(named) == os.path.realpath(path):
            print(f"{escape(path)}: {held}; {escape(shown_path(origin))} names it already")
        else:
            shown = escape(path)
            print(f'{shown}: {held}; write baseline = "{shown}" into sbatchlint.toml, or pass --baseline')
        return 2 if self.errors else 0

    def _in_rows(self, everything: list[Diagnostic], found: list[Diagnostic]) -> list[Diagnostic]:
        """The findings in the lines that were named, also those that a baseline holds, and all found in other files;
        says of which lines there is none."""
        left = set(self.rows)
        named = {path for path, _ in left}
        chosen = set(map(id, found))
        kept = []
        for each in everything:
            place = os.path.realpath(each.source.path), each.source.row(each.span.start)
            if place in self.rows or place[0] not in named and id(each) in chosen:
                kept.append(each)
                left.discard(place)
        for path, row in sorted(left):
            self.error(f"there is no finding on line {row} of {shown_path(path)}")
        return kept

    def _add_ignores(self, outcomes: list[Outcome], found: list[Diagnostic]) -> bool:
        """Writes comments that ignore the findings; whether each could be ignored."""
        from sbatchlint.fix import bash_parses
        from sbatchlint.linting import holds_scripts, with_comments

        added = files = 0
        wanted = set(map(id, found))
        left = []
        for outcome in outcomes:
            own = [each for each in outcome.diagnostics if id(each) in wanted]
            here = [each for each in own if not each.reached]
            if here:
                before = here[0].source
                settings = self.resolver.settings(outcome.path)
                after = with_comments(before, settings, here, self.options.add_ignore)
                again = process(
                    (outcome.path, Source.encode(after.text)), self.resolver, Mode(False, False, False, True)
                )
                if not holds_scripts(before) and bash_parses(before) and not bash_parses(after) or again.error:
                    left += here
                    continue
                try:
                    write(outcome.path, Source.encode(after.text), Source.encode(before.text))
                except InputError as error:
                    self.error(str(error))
                    continue
                files += 1
                added += len(here)
                others = Counter(_identity(each) for each in outcome.diagnostics if id(each) not in wanted)
                mine = {_identity(each) for each in here}
                for diagnostic in again.diagnostics:
                    if others[_identity(diagnostic)] > 0:
                        others[_identity(diagnostic)] -= 1
                    elif not diagnostic.reached and _identity(diagnostic) in mine:
                        left.append(diagnostic)
        print(f"{counted(added - len(left), 'finding')} ignored by comments in {counted(files, 'file')}")
        for diagnostic in left:
            place = f"{escape(shown_path(diagnostic.source.path))}:{diagnostic.source.row(diagnostic.span.start)}"
            print(
                f"note: {place}: {diagnostic.code} {diagnostic.name} cannot be ignored by a comment here",
                file=sys.stderr,
            )
        return not left

    def _write(self, report: Report) -> None:
        if self.options.output_file:
            text = self._rendered(report, Terminal())
            path = self.options.output_file
            try:
                with open(path, "w", encoding="utf-8", errors="backslashreplace", opener=writable) as file:
                    file.write(text)
            except OSError as error:
                raise InputError(f"cannot write {path}: {reason(error)}") from None
            return
        text = self._rendered(report, Terminal.of_stream(sys.stdout, self.options.color))
        if self.output_format in (None, "full", "concise"):
            print(text, end="")
        else:  # read by programs, as in a file
            write_bytes(text.encode("utf-8", "backslashreplace"))
        chosen = self.output_format is not None or self.options.statistics
        if not chosen and os.environ.get("GITHUB_ACTIONS") == "true":
            write_bytes(renderer("github")(report, Terminal()).encode("utf-8", "backslashreplace"))
            self._summarise_step(report)

    def _summarise_step(self, report: Report) -> None:
        """Adds the table to what GitHub shows of a step."""
        path = os.environ.get("GITHUB_STEP_SUMMARY")
        if path:
            try:
                with open(path, "a", encoding="utf-8", errors="backslashreplace", opener=writable) as file:
                    file.write(renderer("markdown")(report, Terminal()))
            except OSError as error:
                print(f"note: cannot write the step summary: {reason(error)}", file=sys.stderr)

    def _rendered(self, report: Report, terminal: Terminal) -> str:
        output_format = self.output_format or "full"
        if self.options.statistics:
            if output_format.startswith("json"):
                return statistics_json(report)
            return statistics(report, terminal) + ("" if self.options.quiet else summary(report, terminal))
        is_long = terminal.height > 0 and len(report.diagnostics) > MOST_IN_FULL
        if is_long and self.output_format is None and not self.options.quiet:
            from sbatchlint.report.overview import render  # only for people who have many findings

            return render(report, terminal, self.options.paths, self.settings.site.versions_named)
        text = renderer(output_format)(report, terminal)
        if self.options.quiet and output_format in ("full", "concise"):
            is_full = output_format == "full"
            text = text.removesuffix(summary(report, terminal, is_full, explained=is_full))
        return text

    def _write_diff(self, outcomes: list[Outcome], report: Report) -> None:
        terminal = Terminal.of_stream(sys.stdout, self.options.color)
        for outcome in outcomes:
            text = outcome.diff
            if terminal.colour:
                styles = {"+": "added", "-": "removed", "@": "help"}
                text = "".join(
                    (terminal.style(styles[line[0]], escape(line)) if line[:1] in styles else escape(line)) + "\n"
                    for line in text.removesuffix("\n").split("\n")
                    if text
                )
            write_bytes(text.encode("utf-8", "surrogateescape"))
        if any(outcome.is_redacted for outcome in outcomes):
            print(f"note: {REDACTED}", file=sys.stderr)
        if not self.options.quiet and (not self.errors or any(not outcome.error for outcome in outcomes)):
            changed = sum(bool(outcome.applied) for outcome in outcomes)
            scripts = counted(report.scripts, "script")
            print(f"{counted(report.fixed, 'finding')} would be fixed in {changed} of {scripts}", file=sys.stderr)

    def _show_fixes(self, outcomes: list[Outcome]) -> None:
        out = sys.stderr if self.mode.standard_input else sys.stdout
        for outcome in outcomes:
            counts: dict[str, int] = {}
            for code, name in outcome.applied:
                counts[f"{code} {name}"] = counts.get(f"{code} {name}", 0) + 1
            if counts:
                print(f"fixed in {escape(shown_path(outcome.path))}:", file=out)
            for name, number in sorted(counts.items()):
                print(f"  {number} x {name}", file=out)


def _take_rows(options: Namespace) -> set[tuple[str, int]]:
    """Takes the line off each path that is FILE:LINE or FILE:LINE:COLUMN; returns these files with their lines."""
    rows = set()
    paths = []
    for path in options.paths:
        parts = path.split(":")
        at = next((at for at in (2, 1) if len(parts) > at and all(map(is_number, parts[-at:]))), 0)
        file = ":".join(parts[:-at]) if at else ""
        if at and not os.path.exists(path) and os.path.isfile(file):
            rows.add((os.path.realpath(file), parse_integer(parts[-at])))
            path = file
        if path not in paths:
            paths.append(path)
    options.paths = paths
    return rows


def _once(diagnostics: list[Diagnostic]) -> list[Diagnostic]:
    """The findings, each once where several scripts include the same file."""
    if not any(each.reached for each in diagnostics):
        return diagnostics

    def place(each: Diagnostic) -> tuple[str, str, Span]:
        return (os.path.realpath(each.source.path), each.code, each.span)

    seen = {place(each) for each in diagnostics if not each.reached}
    kept = []
    for diagnostic in diagnostics:
        if not diagnostic.reached or place(diagnostic) not in seen:
            seen.add(place(diagnostic))
            kept.append(diagnostic)
    return kept


def _is_watched() -> bool:
    """Whether standard error is a terminal that can go back to the beginning of a line."""
    return os.environ.get("TERM") != "dumb" and sys.stderr.isatty()


def _keeps_nothing() -> bool:
    """Whether the environment says that no results are to be kept."""
    return os.environ.get("SBATCHLINT_NO_CACHE", "").lower() not in ("", "0", "false", "no", "off")


def _why_not(path: str, data: bytes | None, named: bool) -> str:
    """Why a file is not a batch script; "" where nobody would take it for one."""
    if data is None:
        return "it is not text, or larger than 4 MB" if path.endswith((".sh", *BATCH_ENDINGS)) else ""
    if is_document(path, data):
        return "it is a document that the setting `include` does not name"
    if b"#SBATCH" in data:
        return "it is a log, or its #SBATCH lines stand where sbatch does not read them"
    return "it has no #SBATCH line" if named or path.endswith(".sh") or data.startswith(b"#!") else ""


def _content(path: str, named: bool) -> bytes | None:
    """The bytes of a file; None for one of a folder that is not text, or too large for a script."""
    if named:
        return content(path)
    with open(path, "rb") as file:
        data = file.read(1 << 16)
        if b"\0" in data and not begins_as_script(data):
            return None
        if len(data) == 1 << 16:
            data += file.read(MOST_BYTES)
        return None if len(data) > MOST_BYTES else data


def _identity(diagnostic: Diagnostic) -> tuple[str, str]:
    """What a finding keeps where the lines of its file move."""
    return diagnostic.code, diagnostic.source.slice(diagnostic.span)


def _overrides(options: Namespace) -> Overrides:
    path, pairs = configured(options)
    return Overrides(
        select=None if options.select is None else listed(options.select),
        extend_select=listed(options.extend_select),
        ignore=listed(options.ignore),
        slurm_version=options.slurm_version,
        sbatch_options=options.sbatch_options,
        fail_on=options.fail_on,
        min_severity=options.min_severity,
        isolated=options.isolated,
        configuration=path,
        pairs=pairs,
        ignores=not options.no_ignores,
        site=options.site,
    )
