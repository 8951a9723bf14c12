/** The language server: found, started, stopped, one after the other. */
import { type ChildProcess, spawn } from "node:child_process";
import * as vscode from "vscode";
import { CloseAction, LanguageClient, type LanguageClientOptions } from "vscode-languageclient/node";
import { sbatchlint as needs } from "../package.json";
import { environment, type Found, lastLine, locate, type Missing } from "./executable";
import { interpreters, onInterpreterChange } from "./interpreters";

/** What the server reads; it decides itself which of these are batch scripts or hold some. */
export const LANGUAGES = ["sbatch", "shellscript", "markdown", "restructuredtext", "python"];
const SCHEMES = ["file", "untitled"];
/** The settings that the server takes when it is started. */
const PASSED = ["configuration", "minSeverity"];

/** A client whose errors go to the log. What a user should know is said once, by `Server`. */
class Client extends LanguageClient {
  override error(message: string, data?: unknown): void {
    super.error(message, data, false);
  }

  /** Stops also what never ran. */
  override async stop(timeout?: number): Promise<void> {
    await super.stop(timeout).catch(() => {});
  }
}

export class Server implements vscode.Disposable {
  client: Client | undefined;
  /** The sbatchlint that was found last. */
  found: Found | undefined;
  private process: ChildProcess | undefined;
  private last: Promise<void> = Promise.resolve();
  private isWanted = false;
  private listener: vscode.Disposable | undefined;
  private readonly status = vscode.languages.createLanguageStatusItem(
    "sbatchlint",
    LANGUAGES.map((language) => ({ language })),
  );

  constructor(private readonly log: vscode.LogOutputChannel) {
    this.status.name = "sbatchlint";
    this.status.command = { command: "sbatchlint.restartServer", title: "Restart" };
    this.show("not started");
  }

  /** Starts the server unless that was done before. */
  start(): Promise<void> {
    return this.isWanted ? this.last : this.restart();
  }

  /** Stops the server, looks for sbatchlint again, and starts it. */
  restart(): Promise<void> {
    this.isWanted = true;
    return this.after(async () => {
      await this.end();
      await this.begin();
    });
  }

  /** Restarts the server if one was started, or should have been. */
  refresh(): Promise<void> {
    return this.isWanted ? this.restart() : Promise.resolve();
  }

  stop(): Promise<void> {
    this.isWanted = false;
    return this.after(() => this.end());
  }

  dispose(): void {
    this.status.dispose();
    this.listener?.dispose();
    void this.stop();
  }

  /** Runs what is asked for once all that was asked for before is done. */
  private after(action: () => Promise<void>): Promise<void> {
    this.last = this.last.then(action).catch((error: unknown) => this.log.error(String(error)));
    return this.last;
  }

  private async begin(): Promise<void> {
    const { isTrusted } = vscode.workspace;
    if (isTrusted) {
      this.listener ??= await onInterpreterChange(() => void this.refresh());
    }
    const found = await lookedFor();
    if ("problem" in found) {
      this.found = undefined;
      this.complain(found);
      return;
    }
    this.found = found;
    this.log.info(`${found.command}, version ${found.version}, from ${found.origin}`);
    let errors = "";
    let hasStarted = Promise.resolve(false);
    const start = (): Promise<ChildProcess> => {
      const started = spawn(found.command, needs.server, { env: environment(isTrusted), ...workingFolder() });
      this.process = started;
      started.stderr.on("data", (data) => (errors = (errors + data).slice(-10_000)));
      return new Promise((resolve, reject) => started.once("spawn", () => resolve(started)).once("error", reject));
    };
    const options: LanguageClientOptions = {
      documentSelector: LANGUAGES.flatMap((language) => SCHEMES.map((scheme) => ({ language, scheme }))),
      diagnosticCollectionName: "sbatchlint",
      outputChannel: this.log,
      initializationOptions: () => passed(),
      middleware: {
        // The server draws the plan, and a code lens asks for it: the client has to show it.
        executeCommand: (command, given, next) =>
          command === needs.plan ? vscode.commands.executeCommand("sbatchlint.showPlan", ...given) : next(command, given),
      },
      initializationFailedHandler: () => false,
      errorHandler: {
        error: (error, message, count) => handler.error(error, message, count),
        closed: async () => {
          // Before the start has failed, the client would take it for a success.
          if (!(await hasStarted)) {
            return { action: CloseAction.DoNotRestart, handled: true };
          }
          const result = await handler.closed();
          if (result.action === CloseAction.DoNotRestart) {
            this.complain({ problem: "The server of sbatchlint ended several times.", advice: lastLine(errors) });
          }
          return result;
        },
      },
    };
    const client = new Client("sbatchlint", "sbatchlint", start, options);
    const handler = client.createDefaultErrorHandler();
    this.client = client;
    try {
      const starting = client.start();
      hasStarted = starting.then(
        () => true,
        () => false,
      );
      await starting;
      this.show(`${found.version}, from ${found.origin}`);
    } catch (error) {
      const said = lastLine(errors) || String(error);
      this.complain({
        problem: `The server of sbatchlint ${found.version} (${found.command}) does not start: ${said}`,
        advice: `If its libraries are missing, \`${needs.install}\` installs them.`,
      });
      await this.end();
    }
  }

  private async end(): Promise<void> {
    const { client, process: started } = this;
    this.client = this.process = undefined;
    this.show("not started");
    await client?.dispose(2000).catch(() => {}); // one that never ran, or that does not answer
    if (started?.exitCode === null && started.signalCode === null) {
      started.kill();
    }
  }

  private show(text: string, severity = vscode.LanguageStatusSeverity.Information): void {
    this.status.text = "sbatchlint";
    this.status.detail = text;
    this.status.severity = severity;
  }

  private complain({ problem, advice }: Missing): void {
    this.log.error(problem, advice);
    this.show(problem, vscode.LanguageStatusSeverity.Error);
    const [settings, log] = ["Open Settings", "Show Log"];
    void vscode.window.showErrorMessage(`${problem} ${advice}`, settings, log).then((chosen) => {
      if (chosen === settings) {
        void vscode.commands.executeCommand("workbench.action.openSettings", "sbatchlint.");
      } else if (chosen === log) {
        this.log.show();
      }
    });
  }
}

function passed(): Record<string, string> {
  const settings = vscode.workspace.getConfiguration("sbatchlint");
  const given = PASSED.map((name) => [name, settings.get(name, "")] as const);
  return Object.fromEntries(given.filter(([, value]) => value));
}

function workingFolder(): { cwd?: string } {
  const folder = vscode.workspace.workspaceFolders?.find(({ uri }) => uri.scheme === "file");
  return folder ? { cwd: folder.uri.fsPath } : {};
}

/** Looks for sbatchlint. The Python of a workspace that is not trusted is not even asked for. */
export async function lookedFor(): Promise<Found | Missing> {
  const { isTrusted, workspaceFolders = [] } = vscode.workspace;
  const folders = workspaceFolders.filter(({ uri }) => uri.scheme === "file");
  const settings = vscode.workspace.getConfiguration("sbatchlint", folders[0]?.uri);
  const usesEnvironment = isTrusted && settings.get("useEnvironment", true);
  return locate({
    interpreters: usesEnvironment ? await interpreters(folders) : [],
    configured: settings.get("path", "").trim(),
    searchPath: process.env.PATH ?? "",
    folders: folders.map(({ uri }) => uri.fsPath),
    isTrusted,
  });
}
