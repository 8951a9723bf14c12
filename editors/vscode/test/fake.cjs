#!/usr/bin/env node
// Stands for sbatchlint: tells a version, and serves. Its server reports each `WRONG`, repairs it, and draws plans.
// FAKE_VERSION: the version it tells. FAKE_SERVER=broken: its server says why it cannot start. FAKE_LOG: a file that
// gets a line for each start.
"use strict";
const { appendFileSync } = require("node:fs");
const verb = process.argv[2];

if (process.env.FAKE_LOG) {
  appendFileSync(process.env.FAKE_LOG, `${process.argv.slice(2).join(" ")}\n`);
}
if (verb === "--version") {
  console.log(`sbatchlint ${process.env.FAKE_VERSION ?? "0.1.0"}`);
} else if (verb === "server" && process.env.FAKE_SERVER === "broken") {
  console.error("Traceback (most recent call last):\nerror: pygls is not installed");
  process.exitCode = 2;
} else if (verb === "server") {
  serve();
}

function send(message) {
  const body = Buffer.from(JSON.stringify({ jsonrpc: "2.0", ...message }));
  process.stdout.write(`Content-Length: ${body.length}\r\n\r\n`);
  process.stdout.write(body);
}

function serve() {
  const texts = new Map();
  const places = (uri) =>
    (texts.get(uri) ?? "").split("\n").flatMap((line, row) => {
      const column = line.indexOf("WRONG");
      return column < 0 ? [] : [{ start: { line: row, character: column }, end: { line: row, character: column + 5 } }];
    });
  const report = (uri) =>
    send({
      method: "textDocument/publishDiagnostics",
      params: { uri, diagnostics: places(uri).map((range) => ({ range, message: "it is wrong", severity: 1, code: "SB999" })) },
    });
  const answers = {
    initialize: () => ({ capabilities: { textDocumentSync: 1, codeActionProvider: { codeActionKinds: ["source.fixAll.sbatchlint"], resolveProvider: true }, executeCommandProvider: { commands: ["sbatchlint.plan"] } } }),
    "textDocument/codeAction": ({ textDocument: { uri }, context }) =>
      context.only.includes("source.fixAll") && places(uri).length
        ? [{ title: "Fix all", kind: "source.fixAll.sbatchlint", data: uri }]
        : [],
    "codeAction/resolve": (action) => ({
      ...action,
      edit: { changes: { [action.data]: places(action.data).map((range) => ({ range, newText: "right" })) } },
    }),
    "workspace/executeCommand": ({ arguments: [uri] }) =>
      /#SBATCH/.test(texts.get(uri))
        ? `<svg xmlns="http://www.w3.org/2000/svg"><desc>"1 step"</desc><script>alert(1)</script></svg>`
        : null,
    shutdown: () => null,
  };
  const notices = {
    "textDocument/didOpen": ({ textDocument: { uri, text } }) => (texts.set(uri, text), report(uri)),
    "textDocument/didChange": ({ textDocument: { uri }, contentChanges }) => (texts.set(uri, contentChanges.at(-1).text), report(uri)),
    exit: () => process.exit(0),
  };
  let waiting = Buffer.alloc(0);
  process.stdin.on("end", () => process.exit(0));
  process.stdin.on("data", (data) => {
    waiting = Buffer.concat([waiting, data]);
    for (;;) {
      const head = waiting.indexOf("\r\n\r\n");
      const length = Number(/Content-Length: (\d+)/i.exec(waiting.subarray(0, Math.max(head, 0)))?.[1]);
      if (head < 0 || waiting.length < head + 4 + length) {
        return;
      }
      const { id, method, params } = JSON.parse(waiting.subarray(head + 4, head + 4 + length).toString());
      waiting = waiting.subarray(head + 4 + length);
      if (id !== undefined && method) {
        send({ id, result: answers[method]?.(params) ?? null });
      } else {
        notices[method]?.(params);
      }
    }
  });
}
