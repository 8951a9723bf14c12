"""`diagnose`: what went wrong, from the log of a failed job, and the lines of its script that caused it."""

import sys

from sbatchlint.cli.arguments import Parser, add_configuration_options, add_version_option, overrides
from sbatchlint.diagnose.answers import codes_of
from sbatchlint.diagnose.jobs import judged_jobs
from sbatchlint.diagnose.repair import repaired
from sbatchlint.diagnose.run import Run
from sbatchlint.report.cells import escape
from sbatchlint.report.model import shown_path
from sbatchlint.report.terminal import Terminal
from sbatchlint.source.files import write
from sbatchlint.source.secrets import without_values
from sbatchlint.source.text import Source

FORMATS = ("text", "json", "github")


def diagnose(arguments: list[str]) -> int:
    """`sbatchlint diagnose [OPTIONS] LOG...`: 0 where nothing wrong is found, 1 with a diagnosis."""
    made = parser()
    options = made.parse_intermixed_args(arguments)
    if not options.logs and options.sacct is None:
        made.error("name a LOG, or give --sacct FILE")
    runs = judged_jobs(options.logs, options.script, options.sacct, overrides(options), options.job)
    several = len(runs) != 1 or options.job is None and runs[0].job != ""
    if options.fix and several:
        made.error("--fix repairs the script of one job: name it with --job")

    def tell(report: str) -> None:
        """Prints a report, in which a secret may stand that only the script or another line of the log tells."""
        print(without_values(report, tuple({value for each in runs for value in each.run.secrets})), end="")

    if options.output_format == "json":
        from sbatchlint.diagnose.as_json import render, render_jobs  # for this format only

        print(render_jobs(runs) if several else render(runs[0].run), end="")
    elif options.output_format == "github":
        from sbatchlint.diagnose.as_github import render as as_github  # for this format only

        tell("".join(as_github(each.run) for each in runs))
    else:
        from sbatchlint.diagnose.as_text import render as as_text  # for this format only
        from sbatchlint.diagnose.jobs_text import render as table_of

        terminal = Terminal.of_stream(sys.stdout, options.color)
        tell(table_of(runs, terminal) if several else as_text(runs[0].run, terminal))
    if options.fix:
        _fix(runs[0].run)
    return 1 if any(each.failed for each in runs) else 0


def _fix(run: Run) -> None:
    """Repairs the script where a check confirms the first answer and its fix is safe."""
    best = run.diagnosis.answers[0] if run.diagnosis.answers else None
    fixed = None if best is None else repaired(best, run.picture, unsafe=False)
    if best is None or fixed is None or run.source is None:
        print("fix: nothing in the script can be repaired safely", file=sys.stderr)
        return
    from sbatchlint.fix import redacted_diff  # only where there is a fix

    name, codes = shown_path(run.source.path), ", ".join(codes_of(best.findings))
    print(f"fix: {name} is going to change ({codes}):", file=sys.stderr)
    for line in redacted_diff(run.source, fixed, name).splitlines():
        print(escape(line), file=sys.stderr, flush=True)
    write(run.source.path, Source.encode(fixed.text), Source.encode(run.source.text))
    print(f"fix: {name} was repaired ({codes})", file=sys.stderr)


def parser() -> Parser:
    made = Parser(
        "diagnose",
        usage="sbatchlint diagnose [OPTIONS] LOG...\n",
        description="Says from the log of a job what went wrong, and which lines of the script caused it.",
        epilog="Exit codes: 0 the log shows nothing wrong, 1 it does, 2 wrong usage or input, 3 a bug in sbatchlint.",
    )
    add = made.add_argument
    add("logs", nargs="*", metavar="LOG", help="logs of one or more jobs, or folders of logs; - is standard input")
    add("--script", metavar="SCRIPT", help="the job's script (default: searched for near the log)")
    add(
        "--sacct",
        metavar="FILE",
        help="output of `sacct` or `scontrol show job`, as text or JSON; no logs are needed with it",
    )
    add("--job", metavar="ID", help="only the logs of this job")
    add("--fix", action="store_true", help="repair the script if that is safe and the cause is confirmed")
    add_version_option(made)
    add("--output-format", choices=FORMATS, default="text", help="default: text")
    add("--color", choices=("auto", "always", "never"), default="auto", help="default: auto")
    add_configuration_options(made)
    return made
