"""`convert`: the script that starts on many nodes what a script or a command starts on one."""

import json
import os
import sys
from argparse import Namespace
from typing import Any

from sbatchlint.cli.arguments import (
    Parser,
    add_configuration_options,
    add_version_option,
    command_after_dashes,
    count_argument,
    gpus_argument,
    overrides,
    script_of,
)
from sbatchlint.cli.output import write_bytes
from sbatchlint.convert.containers import KINDS
from sbatchlint.convert.conversion import Conversion
from sbatchlint.convert.conversion import convert as converted
from sbatchlint.convert.goal import LAUNCHERS, RENDEZVOUS, Goal, NotConvertible, options_of
from sbatchlint.convert.proof import groups
from sbatchlint.report.cells import escape
from sbatchlint.report.terminal import REDACTED, is_read_by_people
from sbatchlint.settings import Resolver
from sbatchlint.source.files import InputError, create, read, read_standard_input, reason
from sbatchlint.source.secrets import redacted, redacted_plan, secrets_of
from sbatchlint.source.text import Source

NOT_CONVERTIBLE = 4


def convert(arguments: list[str]) -> int:
    """Runs `sbatchlint convert`; returns the exit code: 0 proven, 1 to-dos remain, 4 not convertible."""
    arguments, command = command_after_dashes(arguments)
    options = parser().parse_args(arguments)
    source = _source(options, command)
    resolver = Resolver(overrides(options))
    goal = Goal(
        options.nodes, options.gpus_per_node, options.cpus_per_node, options.to, options.rdzv, _set(options.set),
        options.container, options.image, options.mounts,
    )  # fmt: skip
    try:
        made = converted(source, goal, resolver.settings(source.path))
    except NotConvertible as error:
        said = redacted(str(error), secrets_of(source))
        if options.output_format == "json":
            print(json.dumps({"converted": False, "reason": said}, indent=2))
        print(f"not convertible: {escape(said)}", file=sys.stderr)
        return NOT_CONVERTIBLE
    _write(options, source, made)
    _tell(made)
    return 1 if made.todos else 0


def parser() -> Parser:
    made = Parser(
        "convert",
        usage="sbatchlint convert --nodes N [OPTIONS] SCRIPT|-\n"
        "       sbatchlint convert --nodes N [OPTIONS] -- COMMAND...",
        description="Prints a batch script that starts on many nodes what a script or a command starts on one, proven "
        "by its plan. No file is changed.",
        epilog="Exit codes: 0 proven, 1 something is left to fill in, 2 wrong usage or input, 3 a bug in "
        "sbatchlint, 4 it cannot be converted (the reason is printed).",
    )
    add = made.add_argument
    add("script", nargs="?", metavar="SCRIPT", help="a script that starts one launcher; - is standard input")
    add("--nodes", type=count_argument, required=True, metavar="N", help="the number of nodes")
    add("--gpus-per-node", type=gpus_argument, metavar="G", help="default: as many as the script has; 0 for none")
    add("--cpus-per-node", type=count_argument, metavar="C", help="default: as many as the script has")
    add(
        "--to",
        choices=LAUNCHERS,
        help="the launcher to use; default: that of the script",
    )
    add("--rdzv", choices=RENDEZVOUS, help="how the torchrun processes find each other; default: static")
    add(
        "--set",
        action="append",
        default=[],
        metavar="KEY=VALUE,...",
        help="options of the job: time=1:00:00,account=a",
    )
    add("--container", choices=KINDS, help="the container for what docker runs, or with --image for what runs in none")
    add("--image", metavar="IMAGE", help="with --container: the image, if another name or a file is needed")
    add("--mounts", metavar="SOURCE:TARGET,...", help="with --image: folders for a launcher that ran in no container")
    add("-o", dest="output", metavar="OUT", help="write the script to this file, if nothing is left to fill in")
    add("--allow-todo", action="store_true", help="with -o: write it even if something is left to fill in")
    add("--diff", action="store_true", help="show what would change")
    add("--check", action="store_true", help="do not print the script")
    add("--output-format", choices=("text", "json"), default="text", help="default: text")
    add_version_option(made)
    add_configuration_options(made)
    return made


def _source(options: Namespace, command: list[str] | None) -> Source:
    if options.diff + options.check + (options.output is not None) > 1:
        raise InputError("--diff, --check and -o exclude each other")
    if (command is None) == (options.script is None):
        raise InputError("convert needs a script, or -- and a command")
    if command is not None:
        return script_of(command)
    return read_standard_input("<stdin>") if options.script == "-" else read(options.script)


def _set(values: list[str]) -> dict[str, str]:
    pairs = dict(pair.partition("=")[::2] for value in values for pair in value.split(","))
    try:
        return options_of(pairs)
    except InputError as error:
        raise InputError(f"--set: {error}") from None


def _write(options: Namespace, source: Source, made: Conversion) -> None:
    text = made.source.text
    shown = redacted(text, secrets_of(made.source)) if is_read_by_people(sys.stdout) else text
    if options.output is not None:
        if made.todos and not options.allow_todo:
            print(f"note: {options.output} is not written, as something is left to do (--allow-todo)", file=sys.stderr)
            return
        if os.path.exists(options.output):
            raise InputError(f"{options.output} is there already")
        try:
            create(options.output, Source.encode(text))
        except OSError as error:
            raise InputError(f"cannot write {options.output}: {reason(error)}") from None
    elif options.output_format == "json":
        keys = ("before", "after", "decisions", "todos")
        told = {key: redacted_plan(getattr(made, key), secrets_of(made.source)) for key in keys}
        print(json.dumps({"converted": True, "script": shown} | told, indent=2))
    elif options.diff:
        from sbatchlint.fix import redacted_diff, unified_diff  # few ask for it

        difference = unified_diff if shown == text else redacted_diff
        write_bytes(Source.encode(difference(source, made.source, source.path)))
    elif not options.check:
        write_bytes(Source.encode(shown))
    if options.output is None and not options.check and shown != text:
        print(f"note: {REDACTED}", file=sys.stderr)


_UNITS = (("node", "nodes"), ("task", "tasks"), ("process", "processes"))


def _counted(step: dict[str, Any], one: str, several: str) -> str:
    number = step[several]
    return f"{number or '?'} {one if number == 1 else several}"


def _sizes(step: dict[str, Any]) -> str:
    return ", ".join(_counted(step, *names) for names in _UNITS)


def _tell(made: Conversion) -> None:
    values = secrets_of(made.source)

    def tell(line: str) -> None:
        print(escape(redacted(line, values)), file=sys.stderr)

    for name, plan in (("before", made.before), ("after", made.after)):
        # one that a test changes in other respects is there several times
        steps = {(step["line"], step.get("path"), _sizes(step)): None for step in groups(plan)}
        tell(f"{name}: {'; '.join(sizes for _, _, sizes in steps) or 'no group of processes'}")
    for decision in made.decisions:
        tell(f"decided: {decision}")
    for todo in made.todos:
        tell(f"to do: {todo}")
