/** What VS Code calls: the commands, and the events that start and restart the server. */
import { randomBytes } from "node:crypto";
import * as vscode from "vscode";
import { CodeActionRequest, CodeActionResolveRequest, ExecuteCommandRequest } from "vscode-languageclient/node";
import type { CodeAction, Command } from "vscode-languageclient/node";
import { sbatchlint as needs } from "../package.json";
import { failure, page } from "./plan";
import { LANGUAGES, Server } from "./server";

const DIRECTIVE = /^[ \t]*#SBATCH\b/m;
/** What a file has that has to do with Slurm. Where no file does, no server is started. */
const SLURM = /#SBATCH\b|\bsbatch\b/;

/** The server, for the tests. */
export let server: Server;

export function activate(context: vscode.ExtensionContext): void {
  const log = vscode.window.createOutputChannel("sbatchlint", { log: true });
  server = new Server(log);
  const { commands, window, workspace } = vscode;
  const seen = (document: vscode.TextDocument) => void look(document);
  context.subscriptions.push(
    log,
    server,
    commands.registerCommand("sbatchlint.showPlan", showPlan),
    commands.registerCommand("sbatchlint.fixAll", fixAll),
    commands.registerCommand("sbatchlint.restartServer", () => server.restart()),
    workspace.onDidOpenTextDocument(seen),
    workspace.onDidSaveTextDocument(seen),
    workspace.onDidSaveTextDocument((document) => void plans.get(document.uri.toString())?.draw(document)),
    workspace.onDidGrantWorkspaceTrust(() => server.refresh()),
    workspace.onDidChangeConfiguration((event) => {
      if (event.affectsConfiguration("sbatchlint")) {
        void server.refresh();
      }
    }),
    window.onDidChangeActiveTextEditor((editor) => editor && seen(editor.document)),
    workspace.onDidChangeTextDocument(({ document, contentChanges }) => {
      // What is being typed: the line of each change.
      if (contentChanges.some(({ range, text }) => SLURM.test(text) || SLURM.test(document.lineAt(range.start.line).text))) {
        seen(document);
      }
    }),
  );
  workspace.textDocuments.forEach(seen);
}

export function deactivate(): Promise<void> {
  return server.stop();
}

/** Tells what a text file with directives is, and starts the server for the first that has to do with Slurm. */
async function look(document: vscode.TextDocument): Promise<void> {
  if (document.languageId === "plaintext" && DIRECTIVE.test(document.getText())) {
    await vscode.languages.setTextDocumentLanguage(document, "sbatch");
  } else if (
    document.languageId === "sbatch" ||
    (LANGUAGES.includes(document.languageId) && SLURM.test(document.getText()))
  ) {
    await server.start();
  }
}

/** The panels of plans, by the scripts they show. */
const plans = new Map<string, Panel>();

class Panel {
  private readonly panel: vscode.WebviewPanel;
  private drawing = 0;

  constructor(script: vscode.TextDocument) {
    const options = { enableScripts: false, enableForms: false, enableCommandUris: false, localResourceRoots: [] };
    const place = { viewColumn: vscode.ViewColumn.Beside, preserveFocus: true };
    const title = `Plan: ${script.fileName.split(/[\\/]/).at(-1)}`;
    this.panel = vscode.window.createWebviewPanel("sbatchlint.plan", title, place, options);
    this.panel.onDidDispose(() => plans.delete(script.uri.toString()));
  }

  reveal(): void {
    this.panel.reveal(undefined, true);
  }

  /** Shows the plan of a script as it stands in the editor. */
  async draw(script: vscode.TextDocument): Promise<void> {
    const drawing = ++this.drawing;
    const style = randomBytes(16).toString("base64");
    const html = await drawn(script).then(
      (svg) => page(svg, style),
      (error: unknown) => failure(error instanceof Error ? error.message : String(error), style),
    );
    if (drawing === this.drawing) {
      this.panel.webview.html = html;
    }
  }
}

/** The picture of a plan. */
async function drawn(script: vscode.TextDocument): Promise<string> {
  await server.start();
  const { client } = server;
  if (!client?.isRunning()) {
    throw new Error("The server of sbatchlint, which draws the plan, does not run.");
  }
  const uri = client.code2ProtocolConverter.asUri(script.uri);
  const svg: unknown = await client.sendRequest(ExecuteCommandRequest.type, { command: needs.plan, arguments: [uri, "svg"] });
  if (typeof svg !== "string") {
    throw new Error("This file is not a batch script.");
  }
  return svg;
}

/** Shows the plan of the script with an address, or else of the one in the editor. */
async function showPlan(address?: unknown): Promise<void> {
  const script =
    typeof address === "string"
      ? await vscode.workspace.openTextDocument(vscode.Uri.parse(address))
      : vscode.window.activeTextEditor?.document;
  if (!script) {
    return;
  }
  const key = script.uri.toString();
  const panel = plans.get(key) ?? new Panel(script);
  plans.set(key, panel);
  panel.reveal();
  await panel.draw(script);
}

/** Applies the safe fixes of the open script: what the server offers as `source.fixAll`. */
async function fixAll(): Promise<void> {
  const script = vscode.window.activeTextEditor?.document;
  if (!script) {
    return;
  }
  await server.start();
  const { client } = server;
  if (!client?.isRunning()) {
    return; // what is wrong was said when it was started
  }
  const end = script.lineAt(script.lineCount - 1).range.end;
  const offered = await client.sendRequest(CodeActionRequest.type, {
    textDocument: { uri: client.code2ProtocolConverter.asUri(script.uri) },
    range: { start: { line: 0, character: 0 }, end: { line: end.line, character: end.character } },
    context: { diagnostics: [], only: ["source.fixAll"] },
  });
  const isFixAll = (action: CodeAction | Command): action is CodeAction =>
    "kind" in action && !!action.kind && /^source\.fixAll(\.sbatchlint)?$/.test(action.kind);
  let action = (offered ?? []).find(isFixAll);
  if (action && !action.edit && !action.command) {
    action = await client.sendRequest(CodeActionResolveRequest.type, action);
  }
  if (action?.edit) {
    await vscode.workspace.applyEdit(await client.protocol2CodeConverter.asWorkspaceEdit(action.edit));
  } else if (action?.command) {
    const { command, arguments: given } = action.command;
    await client.sendRequest(ExecuteCommandRequest.type, { command, ...(given ? { arguments: given } : {}) });
  } else {
    void vscode.window.showInformationMessage("sbatchlint: there is nothing that can be fixed safely.");
  }
}
