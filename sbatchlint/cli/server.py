"""`server`: speaks with an editor by the Language Server Protocol."""

from sbatchlint.cli.arguments import Parser
from sbatchlint.cli.output import input_of_server, output_of_server
from sbatchlint.source.files import InputError, standard_input


def server(arguments: list[str]) -> int:
    """`sbatchlint server`: over standard input and output, until the editor leaves."""
    parser().parse_args(arguments)
    try:
        from sbatchlint.server.main import serve  # with the extra `lsp` only
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] not in ("pygls", "lsprotocol"):
            raise
        raise InputError("the server needs pygls: pip install 'sbatchlint[lsp]'") from None
    reading = standard_input()
    with input_of_server(), output_of_server() as writing:
        return serve(reading, writing)


def parser() -> Parser:
    made = Parser(
        "server",
        "A language server over standard input and output; docs/editors.md says how editors start it.",
    )
    made.add_argument("--stdio", action="store_true", help="accepted, but changes nothing: it is the only way")
    return made
