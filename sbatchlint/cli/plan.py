"""`plan`: what a script's job asks for, and what sbatch makes of it."""

from __future__ import annotations

import sys
from argparse import Namespace

from ..job import Job
from ..job.plan import plan_of
from ..report.terminal import Terminal
from ..settings import Overrides, Resolver
from ..source.files import InputError, read, read_standard_input
from .arguments import Parser, add_configuration_options, add_version_option, configured, formatter

FORMATS = ("text", "json")


def plan(arguments: list[str]) -> int:
    """`sbatchlint plan [OPTIONS] PATH...`: one object for one path, a list for several."""
    options = _options(arguments)
    path, pairs = configured(options)
    resolver = Resolver(
        Overrides(slurm_version=options.slurm_version, isolated=options.isolated, configuration=path, pairs=pairs)
    )
    plans = []
    for name in options.paths:
        source = read_standard_input(options.stdin_filename or "<stdin>") if name == "-" else read(name)
        plans.append(plan_of(Job.from_source(source, resolver.settings(source.path).site)))
    if options.output_format == "json":
        import json

        print(json.dumps(plans[0] if len(plans) == 1 else plans, indent=2))
    else:
        from ..report.plan import as_text

        terminal = Terminal.of_stream(sys.stdout, options.color)
        print("\n".join(as_text(each, terminal) for each in plans), end="")
    return 0


def _options(arguments: list[str]) -> Namespace:
    parser = Parser(
        prog="sbatchlint plan",
        description="What a job asks for, and whether sbatch takes it.",
        allow_abbrev=False,
        formatter_class=formatter,
    )
    parser.add_argument("paths", nargs="+", metavar="PATH", help="batch scripts; - is standard input")
    add_version_option(parser)
    parser.add_argument("--output-format", choices=FORMATS, default="text", help="default: text")
    parser.add_argument("--color", choices=("auto", "always", "never"), default="auto", help="default: auto")
    add_configuration_options(parser)
    parser.add_argument("--stdin-filename", metavar="PATH", help="the name of what comes from standard input")
    options = parser.parse_intermixed_args(arguments)
    if options.paths.count("-") > 1:
        raise InputError("- (standard input) can be read once")
    return options
