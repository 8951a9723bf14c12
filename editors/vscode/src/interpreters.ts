/** The Python interpreters of the workspace. */
import { promises as files } from "node:fs";
import * as path from "node:path";
import * as vscode from "vscode";

/** What is used of the API of the extension ms-python.python. */
interface PythonApi {
  readonly environments: {
    getActiveEnvironmentPath(resource?: vscode.Uri): { readonly path: string };
    resolveEnvironment(
      environment: { readonly path: string },
    ): Promise<{ readonly executable: { readonly uri: vscode.Uri | undefined } } | undefined>;
    readonly onDidChangeActiveEnvironmentPath: vscode.Event<unknown>;
  };
}

async function pythonApi(): Promise<PythonApi | undefined> {
  const extension = vscode.extensions.getExtension<PythonApi>("ms-python.python");
  const api = await extension?.activate();
  return api?.environments ? api : undefined;
}

/** The interpreter that is chosen for each folder, and those of `.venv` and `venv` in it. */
export async function interpreters(folders: readonly vscode.WorkspaceFolder[]): Promise<string[]> {
  const found: string[] = [];
  const api = await pythonApi().catch(() => undefined); // without it there are still the folders
  for (const { uri } of folders) {
    if (api) {
      const active = api.environments.getActiveEnvironmentPath(uri);
      const resolved = await api.environments.resolveEnvironment(active).catch(() => undefined);
      if (resolved?.executable.uri) {
        found.push(resolved.executable.uri.fsPath);
      }
    }
    for (const name of [".venv", "venv"]) {
      const interpreter = path.join(uri.fsPath, name, ...(process.platform === "win32" ? ["Scripts", "python.exe"] : ["bin", "python"]));
      if (await files.access(interpreter).then(() => true, () => false)) {
        found.push(interpreter);
      }
    }
  }
  return found;
}

/** Calls back whenever another interpreter is chosen. */
export async function onInterpreterChange(listener: () => void): Promise<vscode.Disposable | undefined> {
  const api = await pythonApi().catch(() => undefined);
  return api?.environments.onDidChangeActiveEnvironmentPath(listener);
}
