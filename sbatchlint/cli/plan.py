"""`plan`: what a script requests, whether sbatch accepts it, and what the job would start."""

import json
import sys
from argparse import Namespace
from functools import partial

from sbatchlint import ISSUES
from sbatchlint.cli.arguments import (
    Parser,
    add_configuration_options,
    add_site_option,
    add_submission_option,
    add_version_option,
    command_after_dashes,
    count_argument,
    gpus_argument,
    overrides,
    script_of,
)
from sbatchlint.planning import AsJob, Resized, planned
from sbatchlint.report.json import clean_path
from sbatchlint.report.model import shown_path
from sbatchlint.report.plan import as_text
from sbatchlint.report.terminal import Terminal
from sbatchlint.settings import Resolver
from sbatchlint.source.files import InputError, read, read_standard_input
from sbatchlint.source.text import Source

FORMATS = ("text", "json", "svg", "html")


def plan(arguments: list[str]) -> int:
    """`sbatchlint plan [OPTIONS] PATH...`: one object for one path, a list for several."""
    arguments, command = command_after_dashes(arguments)
    options = _options(arguments, command)
    own = None
    if options.nodes is not None:
        own = Resolver(overrides(options))
        options.sbatch_options = f"{options.sbatch_options or ''} --nodes={options.nodes}".strip()
    resolver = Resolver(overrides(options))
    drawn = options.output_format != "json"
    as_job = None
    if options.as_job is not None:
        as_job = AsJob(options.as_job, options.gpus_per_node, options.cpus_per_node)
    found = [
        planned(
            source, resolver.settings(source.path), as_job, drawn,
            None if own is None else Resized(options.nodes, own.settings(source.path)),
        )
        for source in ([script_of(command)] if command else map(partial(_read, options), options.paths))
    ]  # fmt: skip
    if options.output_format == "json":
        plans = [{**each.plan, "path": clean_path(each.plan["path"])} for each in found]
        print(json.dumps(plans[0] if len(plans) == 1 else plans, indent=2))
    elif options.output_format == "svg":
        from sbatchlint.report.plan_svg import as_svg  # for this format only

        print(as_svg(found[0].plan, found[0].marks), end="")
    elif options.output_format == "html":
        from sbatchlint.report.plan_html import as_html  # for this format only

        print(as_html([(each.plan, each.marks, each.findings) for each in found]), end="")
    else:
        terminal = Terminal.of_stream(sys.stdout, options.color)
        print("\n".join(as_text(each.plan, terminal, each.marks) for each in found), end="")
    faults = [fault for each in found for fault in each.faults]
    for fault in faults:
        said = f"sbatchlint itself failed in {fault.where} on {shown_path(fault.path)} ({fault.error})"
        print(f"fault: {said}; please report this at {ISSUES}", file=sys.stderr)
    return 3 if faults else 0


def _read(options: Namespace, name: str) -> Source:
    return read_standard_input(options.stdin_filename or "<stdin>") if name == "-" else read(name)


def parser() -> Parser:
    made = Parser(
        "plan",
        usage="sbatchlint plan [OPTIONS] PATH...\n"
        "       sbatchlint plan --as-job NODES [OPTIONS] PATH...|-- COMMAND...",
        description="Shows what a job requests, whether sbatch accepts it, and which tasks and processes run where.",
    )
    made.add_argument("paths", nargs="*", metavar="PATH", help="batch scripts; - is standard input")
    made.add_argument(
        "--as-job",
        type=count_argument,
        metavar="NODES",
        help="show a script without #SBATCH as a job of so many nodes",
    )
    made.add_argument("--nodes", type=count_argument, metavar="N", help="show the job as it would be on N nodes")
    made.add_argument("--gpus-per-node", type=gpus_argument, metavar="G", help="with --as-job: GPUs of each node")
    made.add_argument("--cpus-per-node", type=count_argument, metavar="C", help="with --as-job: CPUs of each node")
    add_version_option(made)
    add_site_option(made)
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
