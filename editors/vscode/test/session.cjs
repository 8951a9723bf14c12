// A session of the packaged extension with a server, without a display: VS Code is stubbed, the server is a process.
"use strict";
const assert = require("node:assert/strict");
const { mkdtempSync, realpathSync, rmSync } = require("node:fs");
const Module = require("node:module");
const { tmpdir } = require("node:os");
const path = require("node:path");
const vscode = require("./vscode.cjs");

const load = Module._load;
Module._load = (name, ...rest) => (name === "vscode" ? vscode.stub : load(name, ...rest));
const extension = require("../out/extension.js");

const folder = realpathSync(mkdtempSync(path.join(tmpdir(), "sbatchlint-")));
process.env.PATH = ["/usr/bin", "/bin"].join(path.delimiter); // no sbatchlint but what a test names
vscode.stub.workspace.workspaceFolders = [{ uri: vscode.stub.Uri.file(folder), name: "project", index: 0 }];

/** Waits for what another process brings about. */
async function eventually(holds, what) {
  for (let tries = 0; tries < 4800; tries++) {
    if (holds()) {
      return;
    }
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
  assert.fail(`never: ${what}\n${vscode.shown.log.join("")}`);
}

/** Opens a document in an editor. */
async function open(name, languageId, text) {
  const document = vscode.document(path.join(folder, name), languageId, text);
  vscode.stub.workspace.textDocuments.push(document);
  vscode.stub.window.activeTextEditor = { document };
  await vscode.emitter("onDidOpenTextDocument").fire(document);
  return document;
}

/** Replaces the text of a document, as typing would. */
async function type(document, text) {
  const end = document.lineAt(document.lineCount - 1).range.end;
  const range = new vscode.stub.Range(new vscode.stub.Position(0, 0), end);
  const contentChanges = [{ range, rangeLength: document.text.length, rangeOffset: 0, text }];
  document.text = text;
  document.version++;
  await vscode.emitter("onDidChangeTextDocument").fire({ document, contentChanges });
}

const found = (document) => vscode.diagnostics.get(document.uri.toString()) ?? [];

async function finish(context) {
  await extension.deactivate();
  context.subscriptions.forEach((each) => each.dispose());
  rmSync(folder, { recursive: true });
}

module.exports = { ...vscode, extension, eventually, finish, folder, found, open, type };
