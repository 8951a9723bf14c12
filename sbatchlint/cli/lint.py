"""Lints, fixes and reports."""

import os
import sys
from argparse import Namespace
from collections.abc import Iterator

from sbatchlint import ISSUES
from sbatchlint.cli.arguments import configured, listed
from sbatchlint.cli.outcome import Outcome
from sbatchlint.cli.process import Mode, process_all
from sbatchlint.diagnostics import Diagnostic
from sbatchlint.registry import registry
from sbatchlint.report.cells import escape
from sbatchlint.report.formats import renderer
from sbatchlint.report.model import Report, shown_path
from sbatchlint.report.summary import count, statistics, statistics_json, summary
from sbatchlint.report.terminal import Terminal
from sbatchlint.settings import Overrides, Resolver
from sbatchlint.source.discover import candidates, is_batch_name, is_batch_script, submits_scripts
from sbatchlint.source.files import InputError, content, reason
from sbatchlint.source.text import Span, begins_as_script

STANDARD_INPUT = "<stdin>"
# Larger files in a folder are data.
MOST_BYTES = 4 << 20


def lint(options: Namespace) -> int:
    """Runs `sbatchlint`; returns the exit code."""
    run = _Run(options)
    if options.paths == ["-"]:
        scripts = [(options.stdin_filename or STANDARD_INPUT, sys.stdin.buffer.read())]
    else:
        scripts = list(run.scripts(options.paths or ["."]))
    if options.show_files:
        for path, _ in scripts:
            print(shown_path(path))
        return 2 if run.errors else 0
    if not scripts and not run.errors and not options.quiet:
        looked = f" ({run.left_out} other files)" if run.left_out else ""
        print(f"note: no batch script found{looked}; one has an #SBATCH line", file=sys.stderr)
    caching = not options.no_cache and not _keeps_nothing()
    outcomes = process_all(scripts, run.resolver, run.mode, options.jobs, caching)
    for outcome in outcomes:
        run.take(outcome)
    return run.finish(outcomes)


class _Run:
    """One run: its options, and what it prints beside the report."""

    def __init__(self, options: Namespace) -> None:
        self.options = options
        self.resolver = Resolver(_overrides(options))
        fixing = options.fix or options.fix_only
        self.mode = Mode(fixing and not options.diff, options.diff, options.unsafe_fixes, options.paths == ["-"])
        self.errors = 0
        self.left_out = 0
        self._faults: set[tuple[str, str]] = set()
        overrides = self.resolver.overrides
        for selector in (*(overrides.select or ()), *overrides.extend_select, *overrides.ignore):
            registry().select(selector)  # an invalid configuration is an error even with nothing to lint

    def error(self, text: str) -> None:
        self.errors += 1
        print(f"error: {escape(text)}", file=sys.stderr)

    def note(self, text: str) -> None:
        if self.options.verbose:
            print(f"note: {escape(text)}", file=sys.stderr)

    def scripts(self, paths: list[str]) -> Iterator[tuple[str, bytes]]:
        """Every batch script in or below the paths, with its content."""
        existing = []
        for path in paths:
            if os.path.lexists(path) and not os.path.exists(path):
                self.error(f"cannot read {path}: it is a link to nothing")
            elif not os.path.exists(path):
                self.error(f"there is no file or folder {path}")
            else:
                existing.append(path)

        def excluded(path: str, is_folder: bool) -> bool:
            return self.resolver.settings(path).excluded(path, is_folder)

        for path, named in candidates(existing, excluded, self.options.force_exclude):
            try:
                data = _content(path, named)
            except OSError as error:
                self.error(f"cannot read {path}: {reason(error)}")
                continue
            if data is not None and (
                is_batch_script(data, path) or named and (is_batch_name(path) or submits_scripts(data))
            ):
                yield path, data
            else:
                self.left_out += 1
                if named:
                    self.note(f"{path} has no #SBATCH line, so it is not linted")

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

    def finish(self, outcomes: list[Outcome]) -> int:
        """Writes the report; returns the exit code."""
        options = self.options
        found = _once([diagnostic for outcome in outcomes for diagnostic in outcome.diagnostics])
        scripts = {outcome.path for outcome in outcomes if not outcome.error}
        report = Report(
            found,
            len(scripts | {each.source.path for each in found if each.reached}),
            sum(len(outcome.applied) for outcome in outcomes),
            sum(outcome.hidden for outcome in outcomes),
        )
        if options.diff:
            self._write_diff(outcomes, report)
        elif self.mode.standard_input and self.mode.fix:
            sys.stdout.buffer.write(b"".join(outcome.text for outcome in outcomes))
            if not options.fix_only:
                print(self._rendered(report, Terminal.of_stream(sys.stderr, options.color)), end="", file=sys.stderr)
        elif options.fix_only:
            if not options.quiet:
                print(f"{report.fixed} fixed in {count(report.scripts, 'script')}")
        elif outcomes or not self.errors:
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
        return 1 if not options.fix_only and any(outcome.failing for outcome in outcomes) else 0

    def _write(self, report: Report) -> None:
        if self.options.output_file:
            text = self._rendered(report, Terminal())
            try:
                with open(self.options.output_file, "w", encoding="utf-8", errors="backslashreplace") as file:
                    file.write(text)
            except OSError as error:
                raise InputError(f"cannot write {self.options.output_file}: {reason(error)}") from None
            return
        print(self._rendered(report, Terminal.of_stream(sys.stdout, self.options.color)), end="")
        chosen = self.options.output_format is not None or self.options.statistics
        if not chosen and os.environ.get("GITHUB_ACTIONS") == "true":
            print(renderer("github")(report, Terminal()), end="")

    def _rendered(self, report: Report, terminal: Terminal) -> str:
        output_format = self.options.output_format or "full"
        if self.options.statistics:
            if output_format.startswith("json"):
                return statistics_json(report)
            return statistics(report, terminal) + ("" if self.options.quiet else summary(report, terminal))
        text = renderer(output_format)(report, terminal)
        if self.options.quiet and output_format in ("full", "concise"):
            text = text[: text[:-1].rfind("\n") + 1]  # without the summary line
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
            sys.stdout.flush()
            sys.stdout.buffer.write(text.encode("utf-8", "surrogateescape"))
        if not self.options.quiet:
            changed = sum(bool(outcome.applied) for outcome in outcomes)
            scripts = count(report.scripts, "script")
            print(f"{count(report.fixed, 'finding')} would be fixed in {changed} of {scripts}", file=sys.stderr)

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


def _once(diagnostics: list[Diagnostic]) -> list[Diagnostic]:
    """The findings, each once where several scripts include the same file."""
    if not any(each.reached for each in diagnostics):
        return diagnostics

    def place(each: Diagnostic) -> tuple[str, str, Span]:
        return (os.path.realpath(each.source.path), each.code, each.span)

    seen = {place(each) for each in diagnostics if not each.reached}
    kept = []
    for each in diagnostics:
        if not each.reached or place(each) not in seen:
            seen.add(place(each))
            kept.append(each)
    return kept


def _keeps_nothing() -> bool:
    """Whether the environment says that no results are to be kept."""
    return os.environ.get("SBATCHLINT_NO_CACHE", "").lower() not in ("", "0", "false", "no", "off")


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


def _overrides(options: Namespace) -> Overrides:
    path, pairs = configured(options)
    return Overrides(
        select=None if options.select is None else listed(options.select),
        extend_select=listed(options.extend_select),
        ignore=listed(options.ignore),
        slurm_version=options.slurm_version,
        fail_on=options.fail_on,
        min_severity=options.min_severity,
        isolated=options.isolated,
        configuration=path,
        pairs=pairs,
    )
