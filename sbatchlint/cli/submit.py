"""`submit`: sbatch, which is called only when the script was linted and no error was found.

Nothing but a finding keeps a job back: a script that takes too long to lint, a broken configuration or a fault of
sbatchlint itself lead to a note, and sbatch is called.
"""

import os
import shutil
import signal
import sys
from argparse import ArgumentTypeError, Namespace
from collections.abc import Iterator, Sequence
from contextlib import suppress
from shlex import join
from typing import NamedTuple, NoReturn

from sbatchlint import ISSUES, slurm
from sbatchlint.cli.arguments import Parser, add_site_option, add_version_option, overrides
from sbatchlint.cli.output import is_lost
from sbatchlint.configuration import LEVELS
from sbatchlint.diagnostics import Diagnostic
from sbatchlint.report.cells import escape
from sbatchlint.report.formats import renderer
from sbatchlint.report.model import Report, shown_path
from sbatchlint.report.summary import summary
from sbatchlint.report.terminal import Terminal
from sbatchlint.settings import Overrides, Resolver
from sbatchlint.slurm.getopt import Parsed, parse
from sbatchlint.slurm.options import all_options
from sbatchlint.slurm.rewriting import quote
from sbatchlint.source.files import (
    LARGEST,
    InputError,
    content,
    read_bytes,
    reason,
    standard_input,
    unreadable,
)
from sbatchlint.source.numbers import counted
from sbatchlint.source.text import COMMAND_LINE

# What sbatch answers without a job, or reads apart from the options.
_ANSWERS = ("help", "usage", "version")
_WRAPPED = "#!/bin/sh\n# This script was created by sbatch --wrap.\n\n{}\n"
# By this name sbatch is called, so that a filter in it sees that the script was linted already; the messages of sbatch
# begin with the last part.
LINTED = "sbatchlint/sbatch"
# The filter for all users of a cluster.
_FILTER = os.path.join(os.path.dirname(slurm.__file__), "data", "cli_filter.lua")
FORCED = "SBATCHLINT_FORCE"
_LEAST, _MOST = 0.1, 3600.0
# What ends this process while it waits for the one that lints.
_ENDING = (signal.SIGTERM, signal.SIGHUP)


class Script(NamedTuple):
    """What is submitted: its name, its bytes, and the options that override its directives."""

    path: str
    data: bytes
    options: str


def parser() -> Parser:
    made = Parser(
        "submit",
        usage="sbatchlint submit [OPTIONS] [SBATCH OPTIONS] SCRIPT [ARGUMENT...]",
        description="Lints a script with the options it is submitted with, and calls sbatch unless there is an error.",
        epilog="OPTIONS come first; all that follows is passed to sbatch. Findings go to"
        f" standard error. {FORCED}=1 in the environment does what --force does.",
    )
    add = made.add_argument
    add("--force", action="store_true", help="submit even if there are errors")
    add("--lint-only", action="store_true", help="do not call sbatch; exit with 1 if it would not be called")
    add("--lint-brief", action="store_true", help="print only the worst finding, in three lines")
    add(
        "--lint-refuse",
        choices=(*LEVELS[::-1], "never"),
        default="error",
        help="the minimum severity that prevents the submission (default: error)",
    )
    add(
        "--lint-time",
        type=_seconds,
        default=10.0,
        metavar="SECONDS",
        help="submit anyway after that (default: 10)",
    )
    add_version_option(made, "--lint-slurm-version")
    add_site_option(made, "--lint-site")
    add(
        "--lint-config", action="append", default=[], metavar="FILE|KEY=VALUE", dest="config",
        help="a configuration file, or one setting",
    )  # fmt: skip
    add("--lint-isolated", action="store_true", dest="isolated", help="read no configuration file")
    add("--lint-lua", action="store_true", help="print a cli_filter.lua that does this for all users of a cluster")
    add("words", nargs="*", metavar="SCRIPT", help="options of sbatch, the script, and its arguments")
    return made


def _seconds(text: str) -> float:
    try:
        found = float(text)
    except ValueError:
        found = 0.0
    if not _LEAST <= found <= _MOST:
        raise ArgumentTypeError(f"must be a number of seconds, from {_LEAST:g} to {_MOST:g}")
    return found


def submit(arguments: list[str]) -> int:
    """Runs `sbatchlint submit`; returns its exit code where sbatch is not called."""
    made = parser()
    at = _first_of_sbatch(arguments, made)
    options = made.parse_args(arguments[:at])
    words = arguments[at:]
    if options.lint_lua:
        sys.stdout.write(read_bytes(_FILTER).decode())
        return 0
    program = shutil.which("sbatch")
    if program is None and not options.lint_only:
        raise InputError("cannot submit: there is no sbatch in PATH")
    code = 0
    try:
        script = _script(words, options)
        if script is not None:
            code = _judged(script, options)
    except InputError as error:
        _say(f"not linted: {error}")
    if options.lint_only and is_lost(sys.stderr):
        return 2  # nobody was told
    if code:
        return code
    return 0 if program is None or options.lint_only else _become(program, words)


def _first_of_sbatch(arguments: Sequence[str], made: Parser) -> int:
    """The index of the first word that is sbatch's."""
    at = 0
    while at < len(arguments):
        name, equals, _ = arguments[at].partition("=")
        action = made._option_string_actions.get(name)
        if action is None and not name.startswith("--lint-"):  # a misspelt one is an error
            break
        at += 1 if action is None or equals or action.nargs == 0 else 2
    return min(at, len(arguments))


def _script(words: Sequence[str], options: Namespace) -> Script | None:
    """What sbatch would submit; None where it submits nothing, or that is not known."""
    site = Resolver(_overrides(options, "")).settings(os.path.join(".", "*")).site
    parsed = parse(words, "sbatch", site.slurm_versions, site.plugin_options)
    names = {each.name: each.value for each in parsed.options}
    if any(name in names for name in _ANSWERS):
        return None
    given = " ".join(_as_directive([*_of_environment(), *_of_words(parsed)]))
    if "wrap" in names:
        return Script(COMMAND_LINE, _WRAPPED.format(names["wrap"] or "").encode("utf-8", "surrogateescape"), given)
    if parsed.rest < len(words):
        path = _found(words[parsed.rest])
        try:
            return None if path is None else Script(path, content(path), given)
        except OSError as error:
            raise unreadable(path or "", error) from None
    data = b"" if parsed.uncertain else _standard_input()
    return Script("<stdin>", data, given) if data else None  # of nothing, sbatch itself says that it is nothing


def _found(name: str) -> str | None:
    """The file that sbatch reads: one of this folder, or else of PATH."""
    if os.path.exists(name) or "/" in name:
        return name if os.path.isfile(name) else None
    return shutil.which(name, mode=os.R_OK)


def _standard_input() -> bytes:
    """All of standard input, which sbatch finds again."""
    from tempfile import TemporaryFile  # slow to import

    standard_input()
    size = 0
    try:
        with TemporaryFile() as kept:
            while part := os.read(0, 1 << 16):
                kept.write(part)
                size += len(part)
                if size > LARGEST:
                    raise InputError("cannot read standard input: it is larger than 64 MB")
            kept.flush()
            os.dup2(kept.fileno(), 0)
        os.lseek(0, 0, os.SEEK_SET)
        with open(0, "rb", closefd=False) as file:
            data = file.read()
        os.lseek(0, 0, os.SEEK_SET)
        return data
    except OSError as error:
        raise InputError(f"cannot read standard input: {reason(error)}") from None


def _of_environment() -> Iterator[tuple[str, str | None]]:
    """The options that the variables of sbatch set; of those without a value, it is not said what a variable means."""
    for option in all_options():
        for variable in option.environment.get("sbatch", ()):
            value = os.environ.get(variable)
            if value and variable.startswith("SBATCH_") and option.argument("22.05") == "required":
                yield option.canonical, value


def _of_words(parsed: Parsed) -> Iterator[tuple[str, str | None]]:
    for each in parsed.options:
        if each.versions is None and each.name != "wrap":
            yield each.name, each.value


def _as_directive(settings: Sequence[tuple[str, str | None]]) -> Iterator[str]:
    """Options as they would stand in a directive; one that cannot stand there is left out."""
    for name, value in settings:
        if value is None:
            yield f"--{name}"
        elif "\n" not in value and "\0" not in value:
            yield f"--{name}={quote(value)}"


def _overrides(options: Namespace, submitted: str) -> Overrides:
    options.sbatch_options = submitted
    return overrides(options)._replace(fail_on=None if options.lint_refuse == "never" else options.lint_refuse)


def _judged(script: Script, options: Namespace) -> int:
    """Shows the findings; 1 where they keep the job back, 2 where they cannot be shown and that is all there is to do.

    They are found in a process of its own, which the kernel ends when the time is over, whatever it does by then.
    """
    sys.stdout.flush()
    sys.stderr.flush()
    before = {number: signal.signal(number, _end) for number in _ENDING if signal.getsignal(number) == signal.SIG_DFL}
    # no signal comes between the fork and where it is known whom to end
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, {*_ENDING, signal.SIGINT})
    child = os.fork()
    if child == 0:
        for number in before:
            signal.signal(number, signal.SIG_DFL)
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.setitimer(signal.ITIMER_REAL, options.lint_time)
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        _lint_and_leave(script, options)
    try:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        status = os.waitpid(child, 0)[1]
        for number, handler in before.items():
            signal.signal(number, handler)
    except BaseException as error:  # interrupted: nothing is submitted
        with suppress(ProcessLookupError):  # it had ended just before
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
        if isinstance(error, _Ended):
            signal.signal(error.number, signal.SIG_DFL)
            os.kill(os.getpid(), error.number)
        raise
    if os.WIFSIGNALED(status):
        ended = os.WTERMSIG(status)
        why = f"within {options.lint_time:g} seconds" if ended == signal.SIGALRM else f"(ended by signal {ended})"
        _say(f"not linted {why}")
    code = os.WEXITSTATUS(status) if os.WIFEXITED(status) else 0
    return code if code in (1, 2) else 0


class _Ended(BaseException):
    """A signal that ends the process."""

    def __init__(self, number: int) -> None:
        self.number = number


def _end(number: int, frame: object) -> NoReturn:
    raise _Ended(number)


def _lint_and_leave(script: Script, options: Namespace) -> NoReturn:
    """Lints in this process and ends it: with 1 where the findings keep the job back, 2 where they cannot be shown."""
    code = 0
    try:
        code = 1 if _lint(script, options) else 0
    except InputError as error:
        _say(f"not linted: {error}")
    except KeyboardInterrupt:
        code = 130  # as the process that waits for this one
    except BaseException as error:  # the script is submitted whatever goes wrong here
        _say(f"not linted: sbatchlint itself failed ({type(error).__name__}: {error}); please report this at {ISSUES}")
    finally:
        try:
            if is_lost(sys.stderr) and options.lint_only:
                code = 2
        finally:
            os._exit(code)


def _lint(script: Script, options: Namespace) -> bool:
    """Shows the findings in a script; whether they keep it back."""
    from sbatchlint.cli.process import Mode, process  # only in the process that lints

    resolver = Resolver(_overrides(options, script.options))
    outcome = process((script.path, script.data), resolver, Mode(False, False, False, True))
    if outcome.error:
        _say(f"not linted: {outcome.error}")
    for fault in outcome.faults:
        _say(f"sbatchlint itself failed in {fault.where} ({fault.error}); please report this at {ISSUES}")
    found = outcome.diagnostics
    if not found:
        if options.lint_only and not outcome.error:
            report = Report(found, 1, 0, outcome.hidden, outcome.ignored, dated=outcome.dated)
            sys.stderr.write(summary(report, Terminal.of_stream(sys.stderr)))
        return False
    forced = options.force or os.environ.get(FORCED, "") not in ("", "0")
    refused = outcome.failing > 0 and options.lint_refuse != "never" and not forced
    if options.lint_brief:
        lines = _brief(script, found)
    else:
        report = Report(found, 1, 0, outcome.hidden, outcome.ignored)
        terminal = Terminal.of_stream(sys.stderr)
        chosen = resolver.settings(script.path).output_format
        sys.stderr.write(renderer(chosen if chosen == "concise" else "full")(report, terminal))
        lines = []
    if refused:
        held = counted(outcome.failing, "finding")
        if options.lint_only and not options.lint_brief:
            lines.append(f"would not be submitted for {held}")
        else:
            way = f"{FORCED}=1" if options.lint_only else "sbatchlint submit --force"
            lines.append(f"not submitted for {held}; repair the script, or submit it all the same by {way}")
    elif outcome.failing and forced:
        lines.append("submitted all the same, as that is forced")
    for line in lines:
        _say(line)
    return refused


def _brief(script: Script, found: list[Diagnostic]) -> list[str]:
    """The worst finding, and what to do about it."""
    worst = min(found, key=lambda each: -LEVELS.index(each.severity))
    row = worst.source.row(worst.span.start)
    path = shown_path(worst.source.path)
    lines = [f"{path}:{row}: {worst.severity} {worst.code}: {worst.message}"]
    name = join([shown_path(script.path)])
    is_file = not script.path.startswith("<")
    repair = f"more: sbatchlint explain {worst.code}"
    if worst.fix is not None and is_file:
        unsafe = "" if worst.fix.safe else " --unsafe-fixes"
        repair = f"repair: {worst.fix.title}, by hand or by: sbatchlint --fix{unsafe} {name}"
    others = f"; all {len(found)} findings: sbatchlint {name}" if len(found) > 1 and is_file else ""
    return [*lines, repair + others]


def _say(text: str) -> None:
    print(f"sbatchlint: {escape(text)}", file=sys.stderr)


def _become(program: str, words: Sequence[str]) -> int:
    """Goes on as sbatch, in this process, with the signals as they are for a program that is started."""
    sys.stdout.flush()
    sys.stderr.flush()
    for number in (signal.SIGPIPE, signal.SIGXFSZ):  # which Python ignores
        signal.signal(number, signal.SIG_DFL)
    try:
        os.execv(program, [LINTED, *words])
    except OSError as error:
        raise InputError(f"cannot run {program}: {reason(error)}") from None
