"""The server over standard input and output, by the official SDK."""

import logging
from io import TextIOWrapper
from typing import BinaryIO, TextIO

import anyio
from mcp import types
from mcp.server import Server, ServerRequestContext
from mcp.server.stdio import stdio_server
from mcp.shared.message import ServerMessageMetadata, SessionMessage
from mcp_types import JSONRPCError, JSONRPCRequest, JSONRPCResponse
from msgspec.json import schema

from sbatchlint import ISSUES, __version__
from sbatchlint.agents.folder import Folder
from sbatchlint.agents.tools import TOOLS, Tool, Tools
from sbatchlint.report.log import log_lines
from sbatchlint.source.files import InputError
from sbatchlint.source.secrets import masked, values_in

INSTRUCTIONS = (
    "Checks Slurm batch scripts statically. Before a script is submitted, or after it was changed, call `check` with "
    "its text; after a job failed, `diagnose` with its log. A comment `# sbatchlint: ignore[NAME] why` above a line "
    "silences a finding."
)
# So many seconds a client that left is answered for at most, as any answer takes less.
_LONGEST_ANSWER = 60
_log = logging.getLogger(__name__)


def made(folder: Folder | None) -> Server:
    """A server with all tools. `folder`: below which files may be read."""
    tools = Tools(folder)

    async def list_tools(_: ServerRequestContext, __: types.PaginatedRequestParams | None) -> types.ListToolsResult:
        return types.ListToolsResult(tools=[_described(name, tool) for name, tool in TOOLS.items()])

    async def call_tool(_: ServerRequestContext, asked: types.CallToolRequestParams) -> types.CallToolResult:
        try:
            text = await anyio.to_thread.run_sync(tools.call, asked.name, asked.arguments or {})
        except InputError as error:
            text = str(error)  # may hold a path that is none
            return _answer(f"error: {masked(text, values_in(text))}", True)
        except Exception as error:
            _log.exception("the tool %s failed", asked.name)
            said = f"sbatchlint itself failed ({type(error).__name__}); please report this at {ISSUES}"
            return _answer(f"error: {said}", True)
        return _answer(text, False)

    return Server(
        "sbatchlint", version=__version__, instructions=INSTRUCTIONS, on_list_tools=list_tools, on_call_tool=call_tool
    )


def _answer(text: str, is_error: bool) -> types.CallToolResult:
    return types.CallToolResult(content=[types.TextContent(type="text", text=text)], is_error=is_error)


def _described(name: str, tool: Tool) -> types.Tool:
    hints = types.ToolAnnotations(read_only_hint=True, open_world_hint=False)
    return types.Tool(
        name=name, description=tool.description, input_schema=_schema(tool), annotations=hints
    )  # fmt: skip


def _schema(tool: Tool) -> dict[str, object]:
    """The schema of the arguments of a tool, without what says nothing to an agent."""
    whole = schema(tool.arguments)
    (own,) = whole["$defs"].values()
    for each in own["properties"].values():
        each.pop("maximum", None)
        kinds = each.get("anyOf", [])
        if {"type": "null"} in kinds and len(kinds) == 2:  # it may be left out, which needs no null
            del each["anyOf"], each["default"]
            each |= next(kind for kind in kinds if kind != {"type": "null"})
    return {key: own[key] for key in ("type", "properties", "required") if own.get(key)}


def serve(folder: Folder | None, reading: BinaryIO, writing: BinaryIO) -> int:
    """Speaks with a client until it leaves."""
    log_lines()
    anyio.run(_serve, made(folder), TextIOWrapper(reading, "utf-8", "replace"), TextIOWrapper(writing, "utf-8"))
    return 0


async def _serve(server: Server, reading: TextIO, writing: TextIO) -> None:
    """The SDK drops what was asked and not answered yet where the input ends; here it is answered before the end."""
    async with stdio_server(anyio.wrap_file(reading), anyio.wrap_file(writing)) as (incoming, outgoing):
        to_server, of_client = anyio.create_memory_object_stream[SessionMessage | Exception]()
        to_client, of_server = anyio.create_memory_object_stream[SessionMessage]()
        asked = answered = 0
        is_answered = anyio.Condition()

        async def settle() -> None:
            nonlocal answered
            async with is_answered:
                answered += 1
                is_answered.notify()

        async def pass_on() -> None:
            nonlocal asked
            async with to_server:
                async for said in incoming:
                    if isinstance(said, SessionMessage) and isinstance(said.message, JSONRPCRequest):
                        asked += 1
                        # what was cancelled gets no answer
                        said = SessionMessage(said.message, ServerMessageMetadata(on_request_unanswered=settle))
                    await to_server.send(said)
                with anyio.move_on_after(_LONGEST_ANSWER):
                    async with is_answered:
                        while answered < asked:
                            await is_answered.wait()

        async def pass_back() -> None:
            async with outgoing:
                async for said in of_server:
                    await outgoing.send(said)
                    if isinstance(said.message, (JSONRPCResponse, JSONRPCError)) and said.message.id is not None:
                        await settle()

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(pass_on)
            tasks.start_soon(pass_back)
            await server.run(of_client, to_client, server.create_initialization_options())
