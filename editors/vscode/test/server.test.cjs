// The extension with the server of the sbatchlint that SBATCHLINT names, or else the one on PATH.
"use strict";
const assert = require("node:assert/strict");
const { execFileSync } = require("node:child_process");
const { readFileSync } = require("node:fs");
const path = require("node:path");
const { after, test } = require("node:test");

/** The real sbatchlint, or why it cannot be used. */
function real() {
  try {
    const command = process.env.SBATCHLINT ?? execFileSync("sh", ["-c", "command -v sbatchlint"], { encoding: "utf8" }).trim();
    execFileSync(command, ["server", "--help"], { stdio: "pipe" });
    return { command };
  } catch (error) {
    return { skip: `no sbatchlint with a server: ${String(error.message).split("\n")[0]}` };
  }
}

const { command, skip = false } = real();
const { eventually, extension, finish, found, handlers, open, settings, shown, type } = require("./session.cjs");
const WRONG = readFileSync(path.join(__dirname, "../../../examples/ranks.sbatch"), "utf8");
const context = { subscriptions: [] };
let script;

after(() => finish(context));

test("it reports what is wrong", { skip }, async () => {
  settings.set("sbatchlint.path", path.resolve(command));
  extension.activate(context);
  script = await open("ranks.sbatch", "sbatch", WRONG);
  await eventually(() => found(script).length > 0, "a finding");
  assert.ok(found(script).some(({ code }) => (code.value ?? code) === "SB301"), JSON.stringify(found(script)));
  assert.deepEqual(shown.messages, []);
});

test("it draws the plan", { skip }, async () => {
  await handlers.get("sbatchlint.showPlan")();
  const { html } = shown.panels[0].webview;
  assert.match(html, /base64/, shown.log.join(""));
  const svg = Buffer.from(/base64,([^"]+)"/.exec(html)[1], "base64").toString();
  assert.match(svg, /^<svg .*<\/svg>\s*$/s);
  assert.match(html, /<img alt="1 step\. /);
  await handlers.get("sbatchlint.plan")(script.uri.toString());
  assert.equal(shown.panels.length, 1);
});

test("it fixes all that is safe to fix", { skip }, async () => {
  await handlers.get("sbatchlint.fixAll")();
  assert.equal(shown.edits.length, 1, shown.messages.join("\n"));
  const edits = shown.edits[0].edits.flatMap(([, each]) => each);
  assert.ok(edits.some(({ newText }) => newText.includes("1")), JSON.stringify(edits));
});

test("it follows what is typed", { skip }, async () => {
  await type(script, "#!/bin/bash\n#SBATCH --nodes=1 --time=10\nsrun hostname\n");
  await eventually(() => found(script).length === 0, "no finding");
  await handlers.get("sbatchlint.restartServer")();
  await type(script, WRONG);
  await eventually(() => found(script).length > 0, "a finding after a restart");
});

test("it ends with the session", { skip }, async () => {
  const { process: started } = extension.server;
  await extension.deactivate();
  await eventually(() => started.exitCode !== null || started.signalCode !== null, "an end");
});
