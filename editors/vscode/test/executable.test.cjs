"use strict";
const assert = require("node:assert/strict");
const { chmodSync, mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } = require("node:fs");
const { tmpdir } = require("node:os");
const path = require("node:path");
const { after, test } = require("node:test");
const { environment, isBefore, locate } = require("../out/parts/executable.js");

const root = realpathSync(mkdtempSync(path.join(tmpdir(), "sbatchlint-")));
after(() => rmSync(root, { recursive: true }));

/** A program that tells a version; what it is started with is not looked at. */
function program(name, version = "0.1.0") {
  const file = path.join(root, name, "sbatchlint");
  mkdirSync(path.dirname(file), { recursive: true });
  writeFileSync(file, `#!/bin/sh\necho "sbatchlint ${version}"\n`);
  chmodSync(file, 0o755);
  return file;
}

const inside = program("project/.venv/bin");
const configured = program("tool");
const onPath = program("bin");
const folders = [path.join(root, "project")];
const interpreters = [path.join(root, "project/.venv/bin/python")];
const around = { interpreters, configured, searchPath: path.dirname(onPath), folders, isTrusted: true };

test("the Python environment goes before the setting, and that before PATH", async () => {
  assert.equal((await locate(around)).command, inside);
  assert.equal((await locate({ ...around, interpreters: [] })).command, configured);
  const found = await locate({ ...around, interpreters: [], configured: "" });
  assert.deepEqual(found, { command: onPath, origin: "PATH", version: "0.1.0" });
});

test("an environment without sbatchlint is passed over", async () => {
  assert.equal((await locate({ ...around, interpreters: [path.join(root, "nowhere/python")] })).command, configured);
});

test("one that is too old is passed over, and told of where no other is found", async () => {
  const old = program("old", "0.0.9");
  assert.equal((await locate({ ...around, interpreters: [], configured: old })).command, onPath);
  const { problem, advice } = await locate({ ...around, interpreters: [], configured: old, searchPath: "" });
  assert.match(problem, /old\/sbatchlint \(the setting sbatchlint\.path\) is version 0\.0\.9, and 0\.1\.0 or newer is needed/);
  assert.match(advice, /pip install --upgrade 'sbatchlint\[lsp\]'/);
});

test("where there is none, it is said where it was looked for and what to do", async () => {
  const { problem, advice } = await locate({ ...around, interpreters: [], configured: "", searchPath: "/nonexistent" });
  assert.equal(problem, "There is no sbatchlint in the workspace's Python environment, by the setting sbatchlint.path, or on PATH.");
  assert.match(advice, /^Install it with `pip install /);
});

test("a setting that leads nowhere is told of", async () => {
  const { problem } = await locate({ ...around, interpreters: [], configured: "/nonexistent/sbatchlint", searchPath: "" });
  assert.match(problem, /\/nonexistent\/sbatchlint \(the setting sbatchlint\.path\) is not a program/);
});

test("what does not tell its version is not started", async () => {
  const broken = program("broken");
  writeFileSync(broken, "#!/bin/sh\necho 'ModuleNotFoundError: no sbatchlint' >&2\nexit 1\n");
  const { problem } = await locate({ ...around, interpreters: [], configured: broken, searchPath: "" });
  assert.match(problem, /does not tell its version: ModuleNotFoundError: no sbatchlint/);
});

test("nothing inside an untrusted workspace is started, by whatever way it is reached", async () => {
  const untrusted = { ...around, isTrusted: false, configured: "", searchPath: "" };
  const ways = [
    { interpreters },
    { configured: inside },
    { configured: "${workspaceFolder}/.venv/bin/sbatchlint" },
    { configured: ".venv/bin/sbatchlint" },
    { searchPath: path.dirname(inside) },
  ];
  symlinkSync(path.dirname(inside), path.join(root, "link"));
  ways.push({ searchPath: path.join(root, "link") });
  symlinkSync(path.join(root, "project"), path.join(root, "linked-project"));
  ways.push({ searchPath: path.dirname(inside), folders: [path.join(root, "linked-project")] });
  for (const way of ways) {
    writeFileSync(inside, `#!/bin/sh\ntouch '${root}/started'\necho sbatchlint 0.1.0\n`);
    const { problem } = await locate({ ...untrusted, ...way });
    assert.match(problem, /only once you trust the workspace/, JSON.stringify(way));
    assert.throws(() => realpathSync(path.join(root, "started")));
  }
  assert.equal((await locate({ ...untrusted, interpreters, configured })).command, configured);
});

test("relative folders on PATH do not count", async () => {
  const before = process.cwd();
  process.chdir(path.join(root, "bin"));
  try {
    const found = await locate({ ...around, interpreters: [], configured: "", searchPath: [".", "", "../bin"].join(path.delimiter) });
    assert.ok("problem" in found);
  } finally {
    process.chdir(before);
  }
});

test("an untrusted workspace brings no modules", () => {
  process.env.PYTHONPATH = "/somewhere";
  assert.equal(environment(true).PYTHONPATH, "/somewhere");
  assert.equal("PYTHONPATH" in environment(false), false);
  delete process.env.PYTHONPATH;
});

test("releases are compared by their numbers", () => {
  assert.ok(isBefore("0.9", "0.10.0"));
  assert.ok(isBefore("0.1.0", "0.1.1"));
  assert.ok(!isBefore("1.0", "1.0.0"));
  assert.ok(!isBefore("1.0.1", "1.0"));
});
