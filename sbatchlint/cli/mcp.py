"""`mcp`: speaks with a coding agent by the Model Context Protocol."""

import os

from sbatchlint.cli.arguments import Parser
from sbatchlint.cli.output import input_of_server, output_of_server
from sbatchlint.source.files import InputError, standard_input


def mcp(arguments: list[str]) -> int:
    """`sbatchlint mcp [--root FOLDER]`: over standard input and output, until the agent leaves."""
    root = parser().parse_args(arguments).root
    try:
        from sbatchlint.agents.main import serve  # with the extra `mcp` only
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] not in ("mcp", "mcp_types", "anyio"):
            raise
        raise InputError("mcp needs the SDK of the protocol: pip install 'sbatchlint[mcp]'") from None
    from sbatchlint.agents.folder import Folder

    folder = None if root is None else Folder(root)
    if folder is not None:
        os.chdir(folder.path)  # paths are told from there
    reading = standard_input()
    with input_of_server(), output_of_server() as writing:
        return serve(folder, reading, writing)


def parser() -> Parser:
    made = Parser(
        "mcp",
        "A server for coding agents over standard input and output; docs/agents.md says how to start it.",
    )
    made.add_argument("--root", metavar="FOLDER", help="files below this folder may be read (default: none)")
    return made
