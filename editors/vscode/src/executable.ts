/** Where sbatchlint is, and whether it is new enough. Knows nothing of VS Code. */
import { execFile } from "node:child_process";
import { constants, promises as files } from "node:fs";
import { homedir } from "node:os";
import * as path from "node:path";
import { sbatchlint as needs } from "../package.json";

/** What decides where sbatchlint is looked for. */
export interface Surroundings {
  /** The Python interpreters of the workspace. */
  interpreters: string[];
  /** The setting `sbatchlint.path`; "" where it is not set. */
  configured: string;
  /** The folders on PATH, as the variable holds them. */
  searchPath: string;
  /** The folders of the workspace. */
  folders: string[];
  /** Whether the workspace may start programs of its own. */
  isTrusted: boolean;
}

export interface Executable {
  command: string;
  /** Where it comes from, in words. */
  origin: string;
}

export interface Found extends Executable {
  version: string;
}

/** Why there is no sbatchlint to start: in one sentence, and what to do, in another. */
export interface Missing {
  problem: string;
  advice: string;
}

const SETTING = "the setting sbatchlint.path";
const NAME = process.platform === "win32" ? "sbatchlint.exe" : "sbatchlint";

/** The places to look at, best first: the Python environments, the setting, PATH. */
export function places(around: Surroundings): Executable[] {
  const found: Executable[] = around.interpreters.map((interpreter) => ({
    command: path.join(path.dirname(interpreter), NAME),
    origin: "the Python environment",
  }));
  if (around.configured) {
    found.push({ command: absolute(around.configured, around.folders), origin: SETTING });
  }
  for (const folder of around.searchPath.split(path.delimiter)) {
    // A relative folder would be one of wherever the editor was started.
    if (path.isAbsolute(folder)) {
      found.push({ command: path.join(folder, NAME), origin: "PATH" });
    }
  }
  return found;
}

function absolute(written: string, folders: string[]): string {
  const folder = folders[0] ?? homedir();
  const command = written.replaceAll("${workspaceFolder}", () => folder).replace(/^~(?=$|[\\/])/, () => homedir());
  return path.resolve(folder, command);
}

/** The first sbatchlint that is there and new enough; nothing inside an untrusted workspace is asked. */
export async function locate(around: Surroundings): Promise<Found | Missing> {
  const rejected: string[] = [];
  let isWithheld = false;
  const asked = new Set<string>();
  for (const { command, origin } of places(around)) {
    if (asked.has(command)) {
      continue;
    }
    asked.add(command);
    if (!(await isExecutable(command))) {
      if (origin === SETTING) {
        rejected.push(`${command} (${origin}) is not a program`);
      }
      continue;
    }
    if (!around.isTrusted && (await isWithin(command, around.folders))) {
      isWithheld = true;
      continue;
    }
    const answer = await versionOf(command, around.isTrusted);
    if (answer instanceof Error) {
      rejected.push(`${command} (${origin}) does not tell its version: ${answer.message}`);
    } else if (isBefore(answer, needs.oldest)) {
      rejected.push(`${command} (${origin}) is version ${answer}, and ${needs.oldest} or newer is needed`);
    } else {
      return { command, origin, version: answer };
    }
  }
  if (isWithheld) {
    rejected.push("the workspace has one of its own, which is started only once you trust the workspace");
  }
  const where = "in the workspace's Python environment, by the setting sbatchlint.path, or on PATH";
  return {
    problem: rejected.length ? `sbatchlint cannot be used: ${rejected.join("; ")}.` : `There is no sbatchlint ${where}.`,
    advice: `Install it with \`${needs.install}\` in the environment of the workspace, or set sbatchlint.path.`,
  };
}

async function isExecutable(command: string): Promise<boolean> {
  try {
    await files.access(command, constants.X_OK);
    return (await files.stat(command)).isFile();
  } catch {
    return false;
  }
}

/** Whether a file lies in one of the folders, by its name or by where links lead. */
async function isWithin(file: string, folders: string[]): Promise<boolean> {
  const names = [path.resolve(file), await files.realpath(file)];
  for (const folder of folders) {
    const real = await files.realpath(folder).catch(() => folder);
    for (const parent of [path.resolve(folder), real]) {
      if (names.some((name) => name.startsWith(parent.endsWith(path.sep) ? parent : parent + path.sep))) {
        return true;
      }
    }
  }
  return false;
}

/** The environment of sbatchlint. That of an untrusted workspace cannot bring modules from elsewhere. */
export function environment(isTrusted: boolean): NodeJS.ProcessEnv {
  const variables: NodeJS.ProcessEnv = { ...process.env, PYTHONSAFEPATH: "1" };
  if (!isTrusted) {
    delete variables.PYTHONPATH;
  }
  return variables;
}

function versionOf(command: string, isTrusted: boolean): Promise<string | Error> {
  // Python on a network file system that has not been read for long takes its time.
  const options = { timeout: 60_000, env: environment(isTrusted), cwd: path.dirname(command) };
  return new Promise((resolve) => {
    execFile(command, needs.version, options, (error, output, errors) => {
      const version = /^sbatchlint (\d+(?:\.\d+)*)/.exec(output)?.[1];
      resolve(version ?? new Error(lastLine(errors) || error?.message.split("\n")[0] || `it prints ${output.trim()}`));
    });
  });
}

/** The last line that says something. */
export function lastLine(text: string): string {
  return text.trim().split("\n").at(-1)?.trim() ?? "";
}

/** Whether a release comes before another one; numbers count, not letters. */
export function isBefore(release: string, other: string): boolean {
  const [left, right] = [release, other].map((each) => each.split(".").map(Number)) as [number[], number[]];
  for (let index = 0; index < Math.max(left.length, right.length); index++) {
    const difference = (left[index] ?? 0) - (right[index] ?? 0);
    if (difference !== 0) {
      return difference < 0;
    }
  }
  return false;
}
