"""The options of the command line."""

import argparse
import os
from collections.abc import Mapping
from typing import NoReturn

from sbatchlint import __version__
from sbatchlint.configuration import LEVELS, merge_tables, parse_pair, version_problem
from sbatchlint.registry import did_you_mean
from sbatchlint.report import FORMATS
from sbatchlint.settings import Overrides
from sbatchlint.source.files import InputError
from sbatchlint.source.numbers import is_number, parse_integer
from sbatchlint.source.text import COMMAND_LINE, Source, script_of_words

# What may stand before the paths that are linted, and says no more.
LINT_VERBS = ("lint", "check")
# What the first argument may be instead of a path.
VERBS = (
    "plan", "diagnose", "convert", "submit", "audit", "merge", "explain", "checks", "config", "schema", "site",
    "server", "mcp", "completions",
)  # fmt: skip


class Parser(argparse.ArgumentParser):
    """The parser of a verb, "" for that of the program; its errors are `InputError`, and suggest a known option."""

    def __init__(self, verb: str, description: str, usage: str | None = None, epilog: str | None = None) -> None:
        super().__init__(
            f"sbatchlint {verb}".rstrip(), usage, description, epilog, formatter_class=_formatter, allow_abbrev=False
        )

    def error(self, message: str) -> NoReturn:
        unknown = message.removeprefix("unrecognized arguments: ")
        if unknown != message:
            word = next((word for word in unknown.split() if word.startswith("-")), "").partition("=")[0]
            message = f"unknown option '{word}'{did_you_mean(word, self._option_string_actions)}"
            message = message if word else f"unexpected argument '{unknown}'"
        wrong = InputError(message.removeprefix("argument "))
        wrong.add_note(f"hint: `{self.prog} --help` lists the options")
        raise wrong

    def _check_value(self, action: argparse.Action, value: object) -> None:
        if action.choices is None or value in action.choices:
            return
        choices = [*map(str, action.choices)]
        guess = did_you_mean(str(value), choices) or f"; it can be {', '.join(choices)}"
        raise argparse.ArgumentError(action, f"there is no '{value}'{guess}")

    def format_help(self) -> str:
        from shutil import get_terminal_size  # slow to import

        width = min(get_terminal_size().columns, 110)
        self.formatter_class = lambda prog: argparse.HelpFormatter(prog, max_help_position=34, width=width)
        return super().format_help()


def _formatter(prog: str) -> argparse.HelpFormatter:
    """The help formatter. argparse makes one for each option, and without a width each would query the terminal."""
    return argparse.HelpFormatter(prog, width=100)


def add_configuration_options(group: argparse._ActionsContainer) -> None:
    """Adds --config and --isolated; see `configured`."""
    group.add_argument(
        "--config", action="append", default=[], metavar="FILE|KEY=VALUE", help="a configuration file, or one setting"
    )
    group.add_argument("--isolated", action="store_true", help="read no configuration file")


def count_argument(text: str) -> int:
    """How many of something: an argument of `type=`."""
    if not is_number(text) or not 1 <= parse_integer(text) <= 100_000:
        raise argparse.ArgumentTypeError("must be a number, 1 or more")
    return parse_integer(text)


def gpus_argument(text: str) -> int:
    """How many GPUs: an argument of `type=`."""
    return 0 if text == "0" else count_argument(text)


def command_after_dashes(arguments: list[str]) -> tuple[list[str], list[str] | None]:
    """The arguments before `--`, and the command after it; None if there is none. Raises `InputError`."""
    if "--" not in arguments:
        return arguments, None
    at = arguments.index("--")
    if at + 1 == len(arguments):
        raise InputError("there is no command after --")
    return arguments[:at], arguments[at + 1 :]


def arguments_and_paths(arguments: list[str]) -> tuple[list[str], list[str]]:
    """The arguments before `--`, and the paths after it, whatever these look like.

    `--add-ignore` becomes `--add-ignore=`, as the reason never is an argument of its own: that would be a path.
    """
    at = arguments.index("--") if "--" in arguments else len(arguments)
    return ["--add-ignore=" if each == "--add-ignore" else each for each in arguments[:at]], arguments[at + 1 :]


def script_of(command: list[str]) -> Source:
    """A command line as a script."""
    return Source(script_of_words(command), COMMAND_LINE)


def add_version_option(group: argparse._ActionsContainer, name: str = "--slurm-version") -> None:
    group.add_argument(
        name, type=_version, metavar="V|V-W", dest="slurm_version",
        help="the Slurm of the cluster: 23.11, or 23.11-25.05",
    )  # fmt: skip


def add_site_option(group: argparse._ActionsContainer, name: str = "--site") -> None:
    group.add_argument(
        name,
        dest="site",
        metavar="FILE|NAME",
        help="the profile of the cluster (default: from the settings)",
    )


def add_submission_option(group: argparse._ActionsContainer) -> None:
    group.add_argument(
        "--sbatch-options",
        metavar="OPTIONS",
        help="options that sbatch is called with: --sbatch-options=--nodes=8",
    )


def configured(options: argparse.Namespace) -> tuple[str | None, Mapping[str, object]]:
    """The configuration file of --config, and the settings of its other values. Raises `InputError`."""
    path = None
    pairs = []
    for value in options.config:
        if os.path.isfile(value):
            if path is not None:
                raise InputError("--config names two files; one may extend the other")
            path = value
        elif "=" in value:
            pairs.append(parse_pair(value))
        elif os.path.exists(value):
            raise InputError(f"--config: {value} is not a regular file")
        else:
            raise InputError(f"--config: there is no file {value}, and it is not KEY=VALUE")
    if path is not None and options.isolated:
        raise InputError("--isolated and a configuration file exclude each other")
    return path, merge_tables(pairs)


def overrides(options: argparse.Namespace) -> Overrides:
    """What the options of a verb say in place of the configuration. Raises `InputError`."""
    path, pairs = configured(options)
    return Overrides(
        slurm_version=options.slurm_version,
        sbatch_options=getattr(options, "sbatch_options", None),
        isolated=options.isolated,
        configuration=path,
        pairs=pairs,
        site=getattr(options, "site", None),
    )


def _version(text: str) -> str:
    wrong = version_problem(text)
    if wrong:
        raise argparse.ArgumentTypeError(wrong)
    return text


def _jobs(text: str) -> int:
    if not is_number(text) or parse_integer(text) < 1:
        raise argparse.ArgumentTypeError("must be a number, 1 or more")
    return parse_integer(text)


def lint_parser() -> Parser:
    parser = Parser(
        "",
        usage="sbatchlint [lint|check] [OPTIONS] [PATH|-]...\n       sbatchlint plan [OPTIONS] PATH...\n"
        "       sbatchlint diagnose [OPTIONS] LOG...\n"
        "       sbatchlint convert --nodes N [OPTIONS] SCRIPT|-- COMMAND...\n"
        "       sbatchlint submit [OPTIONS] [SBATCH OPTIONS] SCRIPT\n"
        "       sbatchlint audit [OPTIONS] PATH...|--queue\n       sbatchlint merge FILE...\n"
        "       sbatchlint explain CODE|NAME|GROUP\n       sbatchlint checks\n       sbatchlint config [PATH]\n"
        "       sbatchlint schema\n       sbatchlint site [--from FILE...]\n"
        "       sbatchlint server\n       sbatchlint mcp [--root FOLDER]\n"
        "       sbatchlint completions bash|zsh|fish",
        description="Finds, explains and repairs mistakes in Slurm batch scripts, without running anything.",
        epilog="Exit codes: 0 nothing is left, 1 something is, 2 wrong usage or input, 3 a bug in sbatchlint.",
    )
    add = parser.add_argument
    add("paths", nargs="*", metavar="PATH", help="files and folders (default: the current folder); - is standard input")

    group = parser.add_argument_group("fixing")
    add = group.add_argument
    add("--fix", action="store_true", help="repair what can be repaired safely")
    add("--unsafe-fixes", action="store_true", help="with --fix or --diff: include repairs that rely on a guess")
    add("--diff", action="store_true", help="show what --fix would change, and change nothing")
    add("--fix-only", action="store_true", help="repair, and do not report what is left")
    add("--show-fixes", action="store_true", help="list what was repaired")

    group = parser.add_argument_group("choosing checks (codes, prefixes, names, groups; comma separated)")
    add = group.add_argument
    add("--select", action="append", metavar="CHECKS", help="run these, instead of those of the configuration")
    add("--extend-select", action="append", default=[], metavar="CHECKS", help="run these as well")
    add("--ignore", action="append", default=[], metavar="CHECKS", help="do not run these")
    add("--min-severity", choices=LEVELS[::-1], help="the minimum severity to report (default: warning)")
    add_version_option(group)
    add_site_option(group)
    add_submission_option(group)
    group.add_argument(
        "--upgrade-to", type=_version, metavar="V", help="show only what changes from --slurm-version to this release"
    )

    group = parser.add_argument_group("living with findings")
    add = group.add_argument
    add("--no-ignores", action="store_true", help="also report what comments in scripts ignore")
    add(
        "--add-ignore", nargs="?", const="", metavar="REASON",
        help="ignore each finding (or that of FILE:LINE) by a comment above it; --add-ignore=REASON adds a reason",
    )  # fmt: skip
    add("--baseline", metavar="FILE", help="report only what is not in this file (default: from the settings)")
    add("--no-baseline", action="store_true", help="also report what the baseline of the settings holds")
    add("--write-baseline", metavar="FILE", help="write all findings into a new file")
    add("--update-baseline", action="store_true", help="remove repaired findings from the baseline; add none")

    group = parser.add_argument_group("output")
    add = group.add_argument
    add("--output-format", choices=FORMATS, metavar="FORMAT", help=f"one of {', '.join(FORMATS)} (default: full)")
    add("--output-file", metavar="FILE", help="write the report to this file")
    add("--statistics", action="store_true", help="instead, count the findings and files of each check")
    add("--show-files", action="store_true", help="list the scripts that would be linted")
    add("--color", choices=("auto", "always", "never"), default="auto", help="default: auto (NO_COLOR, FORCE_COLOR)")
    add("-q", "--quiet", action="store_true", help="print findings only")
    add("-v", "--verbose", action="store_true", help="also print excluded files, the configuration and tracebacks")

    group = parser.add_argument_group("files and configuration")
    add = group.add_argument
    add_configuration_options(group)
    add("--stdin-filename", metavar="PATH", help="the name of what comes from standard input")
    add("--force-exclude", action="store_true", help="exclude files even if they are named as a PATH")
    add("--no-cache", action="store_true", help="neither use nor keep results of earlier runs")
    add("--jobs", type=_jobs, metavar="N", help="how many processes (default: one, more for many files)")

    group = parser.add_argument_group("exit code")
    add = group.add_argument
    add("--exit-zero", action="store_true", help="exit with 0 even if there are findings")
    add("--fail-on", choices=LEVELS[::-1], help="the minimum severity that makes the exit code 1 (default: warning)")
    add("-V", "--version", action="store_true", help="show the version")
    return parser


def lint_options(arguments: list[str]) -> argparse.Namespace:
    """The parsed options. Raises `InputError`; exits with 0 after --help or --version."""
    arguments, after = arguments_and_paths(arguments)
    options = lint_parser().parse_intermixed_args(arguments)
    options.paths += after
    if options.version:
        print(f"sbatchlint {__version__}")
        raise SystemExit(0)
    if "-" in options.paths and len(options.paths) > 1:
        raise InputError("- (standard input) cannot be mixed with other paths")
    if options.stdin_filename and options.paths != ["-"]:
        raise InputError("--stdin-filename needs - as the only path")
    if options.quiet and options.verbose:
        raise InputError("--quiet and --verbose exclude each other")
    fixing = options.fix or options.fix_only or options.diff
    if options.add_ignore is not None and (fixing or options.paths == ["-"] or options.no_ignores):
        raise InputError("--add-ignore goes with none of --fix, --diff, --no-ignores and standard input")
    if options.update_baseline and fixing:
        raise InputError("--update-baseline goes with neither --fix nor --diff")
    if options.no_baseline and (options.baseline is not None or options.update_baseline):
        raise InputError("--no-baseline goes with neither --baseline nor --update-baseline")
    if options.write_baseline is not None and (fixing or options.baseline is not None):
        raise InputError("--write-baseline goes with none of --baseline, --fix and --diff")
    if options.upgrade_to is not None and (fixing or options.add_ignore is not None or options.write_baseline):
        raise InputError("--upgrade-to goes with none of --fix, --diff, --add-ignore and --write-baseline")
    if options.diff and options.fix_only:
        raise InputError("--diff and --fix-only exclude each other")
    return options


def listed(values: list[str] | None) -> tuple[str, ...]:
    """The selectors of an option that may be repeated, and take several with commas."""
    return tuple(each.strip() for value in values or () for each in value.split(",") if each.strip())
