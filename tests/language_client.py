"""An editor, as far as a language server can tell: a client that speaks over standard input and output."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from lsprotocol import types
from pygls.lsp.client import LanguageClient

from conftest import ROOT

# Only ends what hangs.
LONGEST = 300


class Editor:
    """Open files, and what the server says of them. `published`: the last findings of each file, with its version."""

    def __init__(self, client: LanguageClient, folder: Path) -> None:
        self.client = client
        self.folder = folder
        self.published: dict[str, types.PublishDiagnosticsParams] = {}
        self.messages: list[str] = []
        self.news = asyncio.Event()
        self._versions: dict[str, int] = {}

        @client.feature(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
        def publish(parameters: types.PublishDiagnosticsParams) -> None:
            self.published[parameters.uri] = parameters
            self.news.set()

        @client.feature(types.WINDOW_SHOW_MESSAGE)
        def show(parameters: types.ShowMessageParams) -> None:
            self.messages.append(parameters.message)
            self.news.set()

        @client.feature(types.CLIENT_REGISTER_CAPABILITY)
        def register(_: types.RegistrationParams) -> None:
            return None

    def uri(self, name: str) -> str:
        return (self.folder / name).as_uri()

    def identifier(self, name: str) -> types.TextDocumentIdentifier:
        return types.TextDocumentIdentifier(self.uri(name))

    def open(self, name: str, text: str, language: str = "shellscript") -> None:
        self._versions[name] = self._versions.get(name, 0) + 1
        item = types.TextDocumentItem(self.uri(name), language, self._versions[name], text)
        self.client.text_document_did_open(types.DidOpenTextDocumentParams(item))

    def change(self, name: str, text: str, range_: types.Range | None = None) -> None:
        self._versions[name] += 1
        identifier = types.VersionedTextDocumentIdentifier(self._versions[name], self.uri(name))
        change: types.TextDocumentContentChangeEvent = types.TextDocumentContentChangeWholeDocument(text)
        if range_ is not None:
            change = types.TextDocumentContentChangePartial(range_, text)
        self.client.text_document_did_change(types.DidChangeTextDocumentParams(identifier, [change]))

    def close(self, name: str) -> None:
        self.client.text_document_did_close(types.DidCloseTextDocumentParams(self.identifier(name)))

    async def findings(self, name: str) -> list[types.Diagnostic]:
        """The findings of the text as it is now."""
        while True:
            found = self.published.get(self.uri(name))
            if found is not None and found.version == self._versions[name]:
                return list(found.diagnostics)
            await self.wait()

    async def wait(self) -> None:
        """Waits until the server says something."""
        self.news.clear()
        await asyncio.wait_for(self.news.wait(), LONGEST)

    async def command(self, *arguments: Any) -> Any:
        parameters = types.ExecuteCommandParams("sbatchlint.plan", list(arguments))
        return await self.client.workspace_execute_command_async(parameters)


@asynccontextmanager
async def editor(folder: Path, **options: object) -> AsyncIterator[Editor]:
    """An editor with a server of its own. `options`: what the client sets."""
    client = LanguageClient("test", "1")
    found = Editor(client, folder)
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    await client.start_io(sys.executable, "-m", "sbatchlint", "server", cwd=str(folder), env=environment)
    capabilities = types.ClientCapabilities()
    parameters = types.InitializeParams(
        capabilities, root_uri=folder.as_uri(), initialization_options={"pause": 0} | options
    )
    result = await asyncio.wait_for(client.initialize_async(parameters), LONGEST)
    assert result.server_info is not None and result.server_info.name == "sbatchlint"
    client.initialized(types.InitializedParams())
    try:
        yield found
    finally:
        await asyncio.wait_for(client.shutdown_async(None), LONGEST)
        client.exit(None)
        await asyncio.wait_for(client.stop(), LONGEST)
