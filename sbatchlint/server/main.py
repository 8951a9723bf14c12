"""The language server over standard input and output.

The event loop only keeps the texts of open files. All that evaluates scripts runs on one other thread, one thing after
the other, so that the loop is never busy; what only reads a text runs on a third. The evaluation of a text begins as
soon as the text is there, and ends where another one takes its place; its findings are published when nothing was typed
for a while. What a client cancels before it has begun is not begun.
"""

import asyncio
import gc
import logging
import os
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from threading import Event
from typing import Any, BinaryIO, TypeVar

from lsprotocol import types
from pygls import uris
from pygls.exceptions import JsonRpcException
from pygls.lsp.server import LanguageServer

from sbatchlint import ISSUES, __version__
from sbatchlint.configuration import CONFIGURATION_FILES, LEVELS, check_table
from sbatchlint.planning import marked, planned
from sbatchlint.report.json import clean
from sbatchlint.report.log import log_lines
from sbatchlint.server import actions
from sbatchlint.server.completion import TRIGGERS, completions
from sbatchlint.server.definition import definitions
from sbatchlint.server.hover import hover
from sbatchlint.server.lenses import SHOW_PLAN, lenses
from sbatchlint.server.positions import ENCODING, Positions, changed, cleaned
from sbatchlint.server.protocol import Protocol
from sbatchlint.server.publishing import published
from sbatchlint.server.snapshot import Snapshot
from sbatchlint.settings import Overrides, Resolver, Settings
from sbatchlint.source.files import InputError

NAME = "sbatchlint"
# Findings are published when nothing was typed for so long, in seconds.
PAUSE = 0.1
Result = TypeVar("Result")
_log = logging.getLogger(__name__)


class Document:
    """An open file. `snapshot`: the last version that was evaluated; `task`: the evaluation that is due or runs;
    `publication`: that of its findings.

    `failed`: the version that could not be evaluated, by a fault of sbatchlint.
    """

    def __init__(self, uri: str, path: str, version: int, text: str) -> None:
        self.uri = uri
        self.path = path
        self.version = version
        self.text = text
        self.snapshot: Snapshot | None = None
        self.task: asyncio.Task[None] | None = None
        self.publication: asyncio.TimerHandle | None = None
        self.failed: int | None = None

    def stop(self) -> None:
        """Ends the evaluation of the text as it was, and publishes nothing of it any more."""
        if self.task is not None:
            self.task.cancel()
        if self.publication is not None:
            self.publication.cancel()


class Server(LanguageServer):
    """The open files, their settings, and the thread that evaluates."""

    def __init__(self) -> None:
        kind = types.TextDocumentSyncKind.Incremental
        super().__init__(NAME, __version__, text_document_sync_kind=kind, protocol_cls=Protocol)
        self.documents: dict[str, Document] = {}
        self.pause = PAUSE
        self.reason = actions.REASON
        self.resolves_lazily = False
        self.status = 0  # of the process: 1 where a client leaves without `shutdown`
        self._overrides = Overrides()
        self._resolver = Resolver(self._overrides)
        self._wrong_settings = ""
        self._faults: set[tuple[str, str]] = set()
        self._worker = ThreadPoolExecutor(max_workers=1, thread_name_prefix="evaluation")
        self._reader = ThreadPoolExecutor(max_workers=1, thread_name_prefix="reading")

    # --- settings ------------------------------------------------------------------------------

    def configure(self, options: object) -> None:
        """Takes over what a client sets; see docs/editors.md. Says so where it cannot be used, and changes nothing."""
        if isinstance(options, Mapping) and isinstance(options.get(NAME), Mapping):
            options = options[NAME]
        if not isinstance(options, Mapping):
            return
        try:
            self._overrides = _overrides(options)
            Settings(self._overrides.pairs, self._overrides, ".")
        except InputError as error:
            self._tell(str(error))
            self._overrides = Overrides()
        pause, reason = options.get("pause"), options.get("ignoreReason")
        if isinstance(pause, (int, float)) and 0 <= pause <= 10_000:
            self.pause = pause / 1000
        if isinstance(reason, str) and "\n" not in reason:
            self.reason = reason
        self.reload()

    def reload(self) -> None:
        """Reads configuration files again, and reevaluates all open files."""
        self._resolver = Resolver(self._overrides)
        self._wrong_settings = ""
        for document in self.documents.values():
            self.evaluate(document, 0)

    def _settings(self, path: str) -> Settings:
        """The settings of a file; those without configuration files where these are invalid."""
        try:
            return self._resolver.settings(path)
        except InputError as error:
            if str(error) != self._wrong_settings:
                self._wrong_settings = str(error)
                asyncio.get_running_loop().call_soon(self._tell, str(error))
            return Resolver(self._overrides._replace(isolated=True, configuration=None)).settings(path)

    def _tell(self, text: str) -> None:
        parameters = types.ShowMessageParams(types.MessageType.Warning, f"sbatchlint: {clean(text)}")
        self.window_show_message(parameters)

    # --- evaluation ----------------------------------------------------------------------------

    async def worked_out(self, work: Callable[..., Result], *arguments: object) -> Result:
        """What a function returns on the thread that evaluates."""
        return await asyncio.get_running_loop().run_in_executor(self._worker, work, *arguments)

    async def read(self, work: Callable[..., Result], *arguments: object) -> Result:
        """What a function returns that only reads a text, and waits for no evaluation."""
        return await asyncio.get_running_loop().run_in_executor(self._reader, work, *arguments)

    def end(self) -> None:
        """Ends the threads, without what they have not begun."""
        for executor in (self._worker, self._reader):
            executor.shutdown(wait=False, cancel_futures=True)

    def evaluate(self, document: Document, pause: float) -> None:
        """Has a file evaluated, instead of what was due, and its findings published after a pause at the earliest."""
        document.stop()
        document.task = asyncio.get_running_loop().create_task(self._evaluated(document, pause))

    async def _evaluated(self, document: Document, pause: float) -> None:
        shown_from = asyncio.get_running_loop().time() + pause
        settings = self._settings(document.path)
        encoding = self.encoding
        version = document.version
        superseded = Event()
        pending = self._worker.submit(
            Snapshot, document.uri, document.path, version, document.text, settings, encoding, superseded.is_set
        )
        try:
            snapshot = await asyncio.wrap_future(pending)
        except asyncio.CancelledError:
            superseded.set()
            if not pending.cancel():  # it runs, and nobody waits for it
                pending.add_done_callback(_release)
            raise
        except Exception as error:
            _log.exception("the evaluation failed")
            document.failed = version
            self._tell(f"the evaluation failed ({type(error).__name__}: {error}); please report this at {ISSUES}")
            self.text_document_publish_diagnostics(types.PublishDiagnosticsParams(document.uri, [], version))
            return
        if document.version != snapshot.version or self.documents.get(document.uri) is not document:
            await self.worked_out(snapshot.release)
            return
        before, document.snapshot = document.snapshot, snapshot
        if asyncio.get_running_loop().time() < shown_from:
            document.publication = asyncio.get_running_loop().call_at(shown_from, self._publish, snapshot)
        else:
            self._publish(snapshot)
        if before is not None:
            self._worker.submit(before.release)  # nobody waits for it

    def _publish(self, snapshot: Snapshot) -> None:
        self._report(snapshot)
        parameters = types.PublishDiagnosticsParams(snapshot.uri, published(snapshot), snapshot.version)
        self.text_document_publish_diagnostics(parameters)

    def _report(self, snapshot: Snapshot) -> None:
        """Says once of each check that failed that it did."""
        for fault in snapshot.faults:
            if (fault.where, fault.error) not in self._faults:
                self._faults.add((fault.where, fault.error))
                _log.error("%s failed: %s", fault.where, fault.error)
                self._tell(f"{fault.where} failed ({fault.error}); please report this at {ISSUES}")

    @property
    def encoding(self) -> str:
        """In which units the client counts columns."""
        return str(self.workspace.position_encoding or ENCODING)

    async def current(self, uri: str) -> Snapshot | None:
        """The evaluation of the text as it is now, which is waited for; None for a file that is not open."""
        document = self.documents.get(uri)
        while document is not None and self.documents.get(uri) is document:
            snapshot = document.snapshot
            if snapshot is not None and snapshot.version == document.version and not self._is_due(document):
                return snapshot if snapshot.is_linted else None
            if not self._is_due(document):
                if document.failed == document.version:
                    return None
                self.evaluate(document, 0)
            assert document.task is not None
            await asyncio.wait({document.task})
        return None

    @staticmethod
    def _is_due(document: Document) -> bool:
        return document.task is not None and not document.task.done()

    # --- open files ----------------------------------------------------------------------------

    def open(self, item: types.TextDocumentItem) -> None:
        path = uris.to_fs_path(item.uri) or item.uri
        self.close(item.uri)
        self.documents[item.uri] = document = Document(item.uri, path, item.version, cleaned(item.text))
        self.evaluate(document, 0)

    def change(self, parameters: types.DidChangeTextDocumentParams) -> None:
        document = self.documents.get(parameters.text_document.uri)
        if document is not None:
            document.text = changed(document.text, parameters.content_changes, self.encoding)
            document.version = parameters.text_document.version
            self.evaluate(document, self.pause)

    def close(self, uri: str) -> None:
        document = self.documents.pop(uri, None)
        if document is None:
            return
        document.stop()
        if document.snapshot is not None:
            self._worker.submit(document.snapshot.release)
        self.text_document_publish_diagnostics(types.PublishDiagnosticsParams(uri, []))


def _release(done: "Future[Snapshot]") -> None:
    if done.exception() is None:
        done.result().release()


def _overrides(options: Mapping[str, Any]) -> Overrides:
    """The settings of a client. Raises `InputError`."""
    table = options.get("settings") or {}
    if not isinstance(table, Mapping):
        raise InputError("settings: must be a table")
    check_table(table, "settings")
    texts = {name: options.get(name) for name in ("configuration", "sbatchOptions", "minSeverity")}
    for name, value in texts.items():
        if value is not None and not isinstance(value, str):
            raise InputError(f"{name}: must be text")
    if texts["minSeverity"] not in (None, *LEVELS):
        raise InputError(f"minSeverity: must be one of {', '.join(LEVELS)}")
    configuration = texts["configuration"] or None
    return Overrides(
        configuration=configuration and os.path.expanduser(configuration), sbatch_options=texts["sbatchOptions"],
        min_severity=texts["minSeverity"], pairs=dict(table),
    )  # fmt: skip


def made() -> Server:
    """A server with all that it can do."""
    server = Server()
    _add_files(server)
    _add_requests(server)
    return server


def _add_files(server: Server) -> None:
    @server.feature(types.INITIALIZE)
    def initialize(parameters: types.InitializeParams) -> None:
        text = parameters.capabilities.text_document
        support = text.code_action.resolve_support if text is not None and text.code_action is not None else None
        server.resolves_lazily = support is not None and "edit" in support.properties
        server.configure(parameters.initialization_options)

    @server.feature(types.EXIT)
    def leave(*_: object) -> None:
        protocol = server.protocol
        server.status = 1 if isinstance(protocol, Protocol) and not protocol.has_ended else 0

    @server.feature(types.INITIALIZED)
    async def initialized(_: types.InitializedParams) -> None:
        workspace = server.client_capabilities.workspace
        watched = workspace.did_change_watched_files if workspace is not None else None
        if watched is not None and watched.dynamic_registration:
            watchers = [types.FileSystemWatcher(f"**/{name}") for name in CONFIGURATION_FILES]
            options = types.DidChangeWatchedFilesRegistrationOptions(watchers)
            registration = types.Registration("settings", types.WORKSPACE_DID_CHANGE_WATCHED_FILES, options)
            await server.client_register_capability_async(types.RegistrationParams([registration]))

    @server.feature(types.TEXT_DOCUMENT_DID_OPEN)
    async def did_open(parameters: types.DidOpenTextDocumentParams) -> None:
        server.open(parameters.text_document)

    @server.feature(types.TEXT_DOCUMENT_DID_CHANGE)
    async def did_change(parameters: types.DidChangeTextDocumentParams) -> None:
        server.change(parameters)

    @server.feature(types.TEXT_DOCUMENT_DID_SAVE)
    async def did_save(_: types.DidSaveTextDocumentParams) -> None:
        server.reload()  # another open file may include it, or follow it

    @server.feature(types.TEXT_DOCUMENT_DID_CLOSE)
    async def did_close(parameters: types.DidCloseTextDocumentParams) -> None:
        server.close(parameters.text_document.uri)

    @server.feature(types.WORKSPACE_DID_CHANGE_WATCHED_FILES)
    async def did_change_watched_files(_: types.DidChangeWatchedFilesParams) -> None:
        server.reload()

    @server.feature(types.WORKSPACE_DID_CHANGE_CONFIGURATION)
    async def did_change_configuration(parameters: types.DidChangeConfigurationParams) -> None:
        if isinstance(parameters.settings, Mapping) and parameters.settings:
            server.configure(parameters.settings)
        else:
            server.reload()


def _add_requests(server: Server) -> None:
    async def answered(uri: str, work: Callable[..., Result], *arguments: object) -> Result | None:
        """What a function says of the file as it is now; None where it fails, as half a line may be anything."""
        while True:
            snapshot = await server.current(uri)
            if snapshot is None:
                return None
            try:
                found = await server.worked_out(work, snapshot, *arguments)
            except Exception:
                _log.exception("a request failed")
                return None
            if not snapshot.is_released:
                return found

    @server.feature(
        types.TEXT_DOCUMENT_CODE_ACTION,
        types.CodeActionOptions(code_action_kinds=[*actions.KINDS], resolve_provider=True),
    )
    async def code_action(parameters: types.CodeActionParams) -> list[types.CodeAction] | None:
        only = None if parameters.context.only is None else [str(each) for each in parameters.context.only]

        def work(snapshot: Snapshot) -> list[types.CodeAction]:
            span = snapshot.positions.span(parameters.range)
            return actions.actions(snapshot, span, only, server.resolves_lazily, server.reason)

        return await answered(parameters.text_document.uri, work)

    @server.feature(types.CODE_ACTION_RESOLVE)
    async def code_action_resolve(action: types.CodeAction) -> types.CodeAction:
        uri = action.data.get("uri") if isinstance(action.data, dict) else None
        return await answered(str(uri), actions.resolved, action) or action

    @server.feature(types.TEXT_DOCUMENT_HOVER)
    async def text_document_hover(parameters: types.HoverParams) -> types.Hover | None:
        def work(snapshot: Snapshot) -> types.Hover | None:
            found = hover(snapshot, snapshot.positions.offset(parameters.position))
            if found is None:
                return None
            content = types.MarkupContent(types.MarkupKind.Markdown, found[0])
            return types.Hover(content, snapshot.positions.range(found[1]))

        return await answered(parameters.text_document.uri, work)

    @server.feature(types.TEXT_DOCUMENT_COMPLETION, types.CompletionOptions(trigger_characters=[*TRIGGERS]))
    async def completion(parameters: types.CompletionParams) -> list[types.CompletionItem] | None:
        document = server.documents.get(parameters.text_document.uri)
        if document is None:
            return None

        def work(text: str, site: Any, encoding: str) -> list[types.CompletionItem]:
            positions = Positions(text, encoding)
            return completions(text, positions.offset(parameters.position), positions, site)

        site = server._settings(document.path).site_of(document.path)
        return await server.read(work, document.text, site, server.encoding)

    @server.feature(types.TEXT_DOCUMENT_CODE_LENS)
    async def code_lens(parameters: types.CodeLensParams) -> list[types.CodeLens] | None:
        return await answered(parameters.text_document.uri, lenses)

    @server.feature(types.TEXT_DOCUMENT_DEFINITION)
    async def definition(parameters: types.DefinitionParams) -> list[types.Location] | None:
        def work(snapshot: Snapshot) -> list[types.Location]:
            return definitions(snapshot, snapshot.positions.offset(parameters.position))

        return await answered(parameters.text_document.uri, work)

    @server.command(SHOW_PLAN)
    async def show_plan(uri: str, form: str) -> str | None:
        """The plan of a file, as `svg`, `html` or `text`."""

        def work(snapshot: Snapshot) -> str:
            return _drawn(snapshot, form)

        return await answered(uri, work)


def _drawn(snapshot: Snapshot, form: str) -> str:
    if snapshot.is_document or not snapshot.parts:
        found = planned(snapshot.source, snapshot.settings)
    else:
        (part,) = snapshot.parts
        found = marked(part.job, snapshot.plan(part), snapshot.inspection, snapshot.settings)
    if form == "html":
        from sbatchlint.report.plan_html import as_html  # each form is loaded where it is asked for

        return as_html([(found.plan, found.marks, found.findings)])
    if form == "text":
        from sbatchlint.report.plan import as_text
        from sbatchlint.report.terminal import Terminal

        return as_text(found.plan, Terminal(80), found.marks)
    from sbatchlint.report.plan_svg import as_svg

    return as_svg(found.plan, found.marks)


def _on_one_line(record: logging.LogRecord) -> bool:
    """Shortens what pygls says of a wrong message: the client is at fault, and a traceback tells nothing of it."""
    error = record.exc_info[1] if record.exc_info else None
    text = record.getMessage()
    if text.startswith("Unable to deserialize message\n"):
        return False  # with the traceback; what follows says it again
    if record.name.startswith("pygls.") and (isinstance(error, JsonRpcException) or text.startswith("Unable to ")):
        first = str(error).partition("\n")[0]
        record.msg, record.args, record.exc_info = f"{text}: {type(error).__name__}: {first:.200}", None, None
    return True


def serve(reading: BinaryIO, writing: BinaryIO) -> int:
    """Speaks with a client until it leaves."""
    log_lines()
    for handler in logging.getLogger().handlers:
        handler.addFilter(_on_one_line)
    # More objects than an evaluation makes at a time: it leaves hardly any circles, and each search for them would go
    # through all that it has made so far.
    gc.set_threshold(100_000, 10, 10)
    if not gc.get_freeze_count():  # of a second server in this process, the garbage of the first would stay as well
        gc.freeze()  # what was imported stays
    server = made()
    try:
        server.start_io(reading, writing)
    finally:
        server.end()
    return server.status
