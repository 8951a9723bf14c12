"""What an editor writes to `sbatchlint server`, and a coding agent to `sbatchlint mcp`, about one file, as bytes."""

from __future__ import annotations

import json
from pathlib import Path


def of_editor(script: Path, text: str) -> bytes:
    """Opens and changes a script, asks what editors ask, and leaves."""
    document = {"uri": script.as_uri()}
    at = {"textDocument": document, "position": {"line": 1, "character": 12}}
    around = {"start": {"line": 0, "character": 0}, "end": {"line": 3, "character": 0}}
    opened = {**document, "languageId": "sbatch", "version": 1, "text": text}
    changed = {"textDocument": {**document, "version": 2}, "contentChanges": [{"text": text + "srun ./b\n"}]}
    folder = script.parent.as_uri()
    calls: list[tuple[str, object]] = [
        ("initialize", {"processId": None, "rootUri": folder, "capabilities": {}}),
        ("!initialized", {}),
        ("!textDocument/didOpen", {"textDocument": opened}),
        ("textDocument/hover", at),
        ("textDocument/completion", at),
        ("textDocument/definition", at),
        ("textDocument/codeLens", {"textDocument": document}),
        ("!textDocument/didChange", changed),
        ("textDocument/codeAction", {"textDocument": document, "range": around, "context": {"diagnostics": []}}),
        ("!textDocument/didClose", {"textDocument": document}),
        ("shutdown", None),
        ("!exit", None),
    ]
    messages = [json.dumps(message).encode() for message in _numbered(calls)]
    return b"".join(b"Content-Length: %d\r\n\r\n%s" % (len(message), message) for message in messages)


def of_agent(script: str, log: str, text: str) -> bytes:
    """Asks each tool that reads something: of a text, and of files below the root."""
    client = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
    calls: list[tuple[str, object]] = [("initialize", client), ("!notifications/initialized", {}), ("tools/list", {})]
    wanted: list[tuple[str, dict[str, object]]] = [
        ("check", {"script": text}),
        ("check", {"path": script}),
        ("plan", {"path": script}),
        ("fix", {"path": script}),
        ("convert", {"path": script, "nodes": 2}),
        ("diagnose", {"log_paths": [log], "path": script}),
        ("explain", {"name": script}),
    ]
    calls += [("tools/call", {"name": name, "arguments": arguments}) for name, arguments in wanted]
    return b"".join(json.dumps(message).encode() + b"\n" for message in _numbered(calls))


def _numbered(calls: list[tuple[str, object]]) -> list[dict[str, object]]:
    """Messages with these methods and parameters; those with a `!` ask for no answer."""
    messages: list[dict[str, object]] = []
    for number, (method, parameters) in enumerate(calls):
        message: dict[str, object] = {"jsonrpc": "2.0", "method": method.removeprefix("!"), "params": parameters}
        messages.append(message if method.startswith("!") else message | {"id": number})
    return messages
