"""`plan`: what a script requests, whether sbatch accepts it, and what the job would start."""

import json
import sys
from argparse import Namespace
from functools import partial

from sbatchlint import ISSUES
from sbatchlint.analysis.planning.plan import plan_of
from sbatchlint.analysis.planning.programs import batch_programs
from sbatchlint.bash.trace import Invocation
from sbatchlint.cli.arguments import (
    Parser,
    add_configuration_options,
    add_submission_option,
    add_version_option,
    command_after_dashes,
    count_argument,
    formatter,
    overrides,
    script_of,
)
from sbatchlint.diagnostics import Diagnostic, Fault
from sbatchlint.engine import inspect_job
from sbatchlint.job import Job, has_directives
from sbatchlint.report.model import shown_path
from sbatchlint.report.plan import as_text
from sbatchlint.report.plan_view import Mark, Place, first_clause
from sbatchlint.report.terminal import Terminal
from sbatchlint.settings import Resolver, Settings
from sbatchlint.source.files import InputError, read, read_standard_input
from sbatchlint.source.secrets import redacted_plan, values_in
from sbatchlint.source.text import Source

FORMATS = ("text", "json", "svg", "html")


def plan(arguments: list[str]) -> int:
    """`sbatchlint plan [OPTIONS] PATH...`: one object for one path, a list for several."""
    arguments, command = command_after_dashes(arguments)
    options = _options(arguments, command)
    resolver = Resolver(overrides(options))
    drawn = options.output_format != "json"
    plans, marks, findings = [], [], []
    faults: list[Fault] = []
    for source in [script_of(command)] if command else map(partial(_read, options), options.paths):
        settings = resolver.settings(source.path)
        job = _job(source, settings, options)
        plans.append(redacted_plan(plan_of(job), values_in(job.source.text)))
        found = _findings(job, source, settings, faults) if drawn else []
        marks.append(_marks(job, found) if drawn else {})
        findings.append(found)
    if options.output_format == "json":
        print(json.dumps(plans[0] if len(plans) == 1 else plans, indent=2))
    elif options.output_format == "svg":
        from sbatchlint.report.plan_svg import as_svg  # for this format only

        print(as_svg(plans[0], marks[0]), end="")
    elif options.output_format == "html":
        from sbatchlint.report.plan_html import as_html  # for this format only

        print(as_html(list(zip(plans, marks, findings, strict=True))), end="")
    else:
        terminal = Terminal.of_stream(sys.stdout, options.color)
        print("\n".join(as_text(each, terminal, found) for each, found in zip(plans, marks, strict=True)), end="")
    for fault in faults:
        said = f"sbatchlint itself failed in {fault.where} on {shown_path(fault.path)} ({fault.error})"
        print(f"fault: {said}; please report this at {ISSUES}", file=sys.stderr)
    return 3 if faults else 0


def _read(options: Namespace, name: str) -> Source:
    return read_standard_input(options.stdin_filename or "<stdin>") if name == "-" else read(name)


def _job(source: Source, settings: Settings, options: Namespace) -> Job:
    """The job of a script; with --as-job that of one without options of its own."""
    if options.as_job is None:
        return Job.from_source(source, settings.site_of(source.path))
    if has_directives(source, settings.site):
        raise InputError(f"{source.path} has #SBATCH lines; --as-job is for scripts that have none")
    wanted = {"nodes": options.as_job, "ntasks-per-node": 1, "gpus-per-node": options.gpus_per_node}
    wanted["cpus-per-task"] = options.cpus_per_node
    words = [f"--{name}={number}" for name, number in wanted.items() if number is not None]
    return Job.from_source(source, settings.site, " ".join(words))


def _findings(job: Job, source: Source, settings: Settings, faults: list[Fault]) -> list[Diagnostic]:
    """The errors and warnings of a script, as far as the settings show them."""
    inspection = inspect_job(job, source, settings)
    faults.extend(inspection.faults)
    return [
        diagnostic
        for diagnostic in inspection.diagnostics
        if diagnostic.severity in ("error", "warning") and settings.shows(diagnostic.code, diagnostic.severity)
    ]


def _marks(job: Job, findings: list[Diagnostic]) -> dict[Place, list[Mark]]:
    """The findings of each step, on the lines of its words and of the commands that it runs."""
    steps: dict[tuple[str, int], set[Place]] = {}
    for inner in job.with_submitted():
        _add_rows(inner, steps)
    marks: dict[Place, list[Mark]] = {}
    for finding in findings:
        source = finding.source
        touched: dict[Place, None] = {}
        for span in (finding.span, *(span for span, _ in finding.related)):
            for row in range(source.row(span.start), source.row(max(span.end - 1, span.start)) + 1):
                touched |= dict.fromkeys(steps.get((source.path, row), ()))
        mark = Mark(finding.code, finding.severity, source.row(finding.span.start), first_clause(finding.message))
        for place in touched:
            if mark not in marks.setdefault(place, []):
                marks[place].append(mark)
    return marks


def _add_rows(job: Job, steps: dict[tuple[str, int], set[Place]]) -> None:
    """Adds the rows of each step, by the path of their file, and the step's place."""
    own = [*(each.invocation for each in job.launches if each.step is None), *batch_programs(job)]
    roots = {id(each) for each in (*(step.invocation for step in job.steps), *own)}
    for invocation in job.invocations:
        root: Invocation | None = invocation
        while root is not None and id(root) not in roots:
            root = root.context.parent
        if root is None:
            continue
        line = job.line(root.span.start)
        place = (getattr(line, "path", None), int(line))
        # a word may be written elsewhere, and reach the command by a variable
        spans = {invocation.span, *(piece.span for field in invocation.argv for piece in field)}
        for span in spans:
            source, base = job.source.part(span.start)
            start, end = span.start - base, max(span.end - 1, span.start) - base
            for row in range(source.row(start), source.row(end) + 1):
                steps.setdefault((source.path, row), set()).add(place)


def parser() -> Parser:
    made = Parser(
        prog="sbatchlint plan",
        usage="sbatchlint plan [OPTIONS] PATH...\n"
        "       sbatchlint plan --as-job NODES [OPTIONS] PATH...|-- COMMAND...",
        description="What a job asks for, whether sbatch takes it, and which tasks and processes run where.",
        allow_abbrev=False,
        formatter_class=formatter,
    )
    made.add_argument("paths", nargs="*", metavar="PATH", help="batch scripts; - is standard input")
    made.add_argument(
        "--as-job", type=count_argument, metavar="NODES", help="a script without #SBATCH as a job of so many"
    )
    made.add_argument("--gpus-per-node", type=count_argument, metavar="G", help="of --as-job")
    made.add_argument("--cpus-per-node", type=count_argument, metavar="C", help="of --as-job")
    add_version_option(made)
    add_submission_option(made)
    made.add_argument("--output-format", choices=FORMATS, default="text", help="default: text; svg takes one path")
    made.add_argument("--color", choices=("auto", "always", "never"), default="auto", help="default: auto")
    add_configuration_options(made)
    made.add_argument("--stdin-filename", metavar="PATH", help="the name of what comes from standard input")
    return made


def _options(arguments: list[str], command: list[str] | None) -> Namespace:
    options = parser().parse_intermixed_args(arguments)
    if bool(options.paths) == (command is not None):
        raise InputError("plan needs a PATH, or -- and a command")
    if options.as_job is None and (command or options.gpus_per_node or options.cpus_per_node):
        raise InputError("--as-job says as a job of how many nodes")
    if options.paths.count("-") > 1:
        raise InputError("- (standard input) can be read once")
    if options.output_format == "svg" and len(options.paths) > 1:
        raise InputError("svg is a picture of one script; html takes several")
    return options
