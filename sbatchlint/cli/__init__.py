"""The command: `sbatchlint [OPTIONS] [PATH|-]...` lints; `plan` shows what a job requests and starts, `diagnose`
reads the log of a failed one, `convert` makes one for more nodes, `explain` and `checks` describe the checks, `config`
tells the settings, `schema` their schema, `site` describes a cluster, `submit` lints and calls sbatch,
`audit` counts the findings of many scripts; `server` speaks with editors, `mcp` with coding agents; `completions`
completes for a shell.

Exit codes: 0 no finding at or above --fail-on is left; 1 some are; 2 wrong usage, unreadable input or bad
configuration; 3 an internal error of sbatchlint; 130 interrupted; 141 broken pipe.
"""

import gc
import os
import sys

from sbatchlint import ISSUES, __version__

# Objects live until their file is done, or (from imports) until the end, so that collecting early finds nothing. Set
# before the other imports, this saves a tenth of a short run.
gc.set_threshold(500_000, 20, 50)


def command() -> int:
    """`main` as a process of its own."""
    from sbatchlint.cli.output import OutputError, guard_streams, told

    guard_streams()
    try:
        try:
            code = main()
        finally:
            sys.stdout.flush()  # also of --help, which ends by SystemExit
    except OutputError as error:
        code = told(error)
    gc.freeze()  # else the interpreter would traverse all objects once more at exit
    return code


def main(argv: list[str] | None = None) -> int:
    """Runs the command and returns its exit code. Nothing heavy is imported before it is known what is asked."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    if arguments and arguments[0] in ("--version", "-V"):
        sys.stdout.write(f"sbatchlint {__version__}\n")
        return 0
    from sbatchlint.source.files import InputError

    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):  # file names may hold characters that the terminal's encoding lacks
            stream.reconfigure(errors="backslashreplace")
    try:
        try:
            os.getcwd()
        except FileNotFoundError:
            raise InputError("the working folder was removed: change to another") from None
        return _run(arguments)
    except InputError as error:
        from sbatchlint.report.cells import escape

        notes = [escape(line) for note in getattr(error, "__notes__", ()) for line in note.split("\n")]
        print(f"error: {escape(str(error))}", *notes, sep="\n", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130
    except SystemExit:
        raise
    except Exception as error:
        shown = " ".join(f"{type(error).__name__}: {error}".split())
        print(f"fault: sbatchlint itself failed ({shown}); please report this at {ISSUES}", file=sys.stderr)
        if "-v" in arguments or "--verbose" in arguments:
            from traceback import print_exc

            print_exc()
        return 3


# The functions of the verbs, by their modules: only that of the one that is asked for is loaded.
_VERBS = {
    "plan": "plan", "diagnose": "diagnose", "convert": "convert", "submit": "submit", "audit": "audit",
    "merge": "audit", "explain": "explain", "checks": "explain", "config": "config", "schema": "schema",
    "site": "site", "server": "server", "mcp": "mcp", "completions": "completions",
}  # fmt: skip


def _run(arguments: list[str]) -> int:
    verb = arguments[0] if arguments else ""
    if verb in _VERBS:
        from importlib import import_module  # not for --version

        module = import_module(f"sbatchlint.cli.{_VERBS[verb]}")
        code: int = getattr(module, verb)(arguments[1:])
        return code
    from sbatchlint.cli.arguments import LINT_VERBS, lint_options

    options = lint_options(arguments[1:] if verb in LINT_VERBS else arguments)
    from sbatchlint.cli.lint import lint

    return lint(options)
