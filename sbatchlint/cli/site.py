"""`site`: the profile of a cluster, from its own commands or from saved outputs of these."""

import os
import sys
from argparse import Namespace
from codecs import BOM_UTF16_BE, BOM_UTF16_LE

from sbatchlint.cli.arguments import Parser
from sbatchlint.report.cells import escape
from sbatchlint.site.collecting import COMMANDS, Output, carried_over, printed, profile_of
from sbatchlint.site.reading import examples, path_of, read_profile
from sbatchlint.site.writing import as_toml
from sbatchlint.source.files import InputError, create, read_bytes, reason, standard_input_bytes, write
from sbatchlint.source.numbers import counted


def parser() -> Parser:
    made = Parser(
        "site",
        "Writes the profile of a cluster: its partitions, nodes and limits, against which scripts are "
        "checked.",
        epilog="Without --from, these commands are run here; with it, their saved outputs are read: "
        + "; ".join(COMMANDS) + ".",
    )  # fmt: skip
    made.add_argument(
        "--from",
        nargs="+",
        dest="outputs",
        metavar="FILE",
        help="saved outputs; - is standard input",
    )
    made.add_argument("-o", "--output-file", metavar="FILE", help="write the profile there; prices in it are kept")
    made.add_argument("--with-accounts", action="store_true", help="include the names of accounts (default: no names)")
    made.add_argument(
        "--for-user",
        metavar="USER",
        help="what this user may have, with the names of the accounts of the user: a profile for this user alone",
    )
    names = examples()
    made.add_argument(
        "--show", choices=names, metavar="NAME",
        help=f"print a profile that comes with sbatchlint, made from public documentation: {', '.join(names)}",
    )  # fmt: skip
    return made


def site(arguments: list[str]) -> int:
    """Runs `sbatchlint site`; returns the exit code."""
    made = parser()
    options = made.parse_args(arguments)
    if options.show is not None:
        if options.outputs is not None or options.with_accounts or options.for_user is not None:
            made.error("--show prints a profile as it is: it takes no other option than --output-file")
        shown = read_bytes(path_of(options.show))
        if options.output_file is None:
            sys.stdout.write(shown.decode())
        else:
            _create(options.output_file, shown)
        return 0
    outputs, missing = _outputs(options)
    for line in missing:
        print(f"note: not asked: {escape(line)}", file=sys.stderr)
    profile = profile_of(outputs, options.with_accounts, options.for_user)
    for what, other in (("partitions", "nodes"), ("nodes", "partitions")):
        if getattr(profile, what) and what not in profile.complete and "scontrol show node" in profile.source:
            print(f"note: the {other} name {what} that are hidden or cut off; unknown {what} are not reported",
                  file=sys.stderr)  # fmt: skip
    if options.output_file is None:
        sys.stdout.write(as_toml(profile))
        return 0
    if os.path.exists(options.output_file):
        profile = carried_over(profile, read_profile(options.output_file))
        write(options.output_file, as_toml(profile).encode())
    else:
        _create(options.output_file, as_toml(profile).encode())
    kinds, names = len(profile.nodes), len(profile.partitions)
    said = f"{counted(names, 'partition')}, {counted(kinds, 'kind')} of nodes"
    print(f"{escape(options.output_file)}: {said}", file=sys.stderr)
    return 0


def _create(path: str, data: bytes) -> None:
    try:
        create(path, data)
    except OSError as error:
        raise InputError(f"cannot write {path}: {reason(error)}") from None


def _outputs(options: Namespace) -> tuple[list[Output], list[str]]:
    if options.outputs is None:
        return printed(options.for_user)
    if options.outputs.count("-") > 1:
        raise InputError("- (standard input) can be read once")
    texts = [(name, standard_input_bytes() if name == "-" else read_bytes(name)) for name in options.outputs]
    return [Output(name, _decoded(data)) for name, data in texts], []


def _decoded(data: bytes) -> str:
    """The text of a file, in UTF-16 where Windows has written it."""
    encoding = "utf-16" if data.startswith((BOM_UTF16_LE, BOM_UTF16_BE)) else "utf-8-sig"
    return data.decode(encoding, "replace")
