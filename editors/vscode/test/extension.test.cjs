"use strict";
const assert = require("node:assert/strict");
const { existsSync, readFileSync } = require("node:fs");
const path = require("node:path");
const { after, test } = require("node:test");
const { emitter, eventually, extension, finish, folder, found, handlers, open, settings, shown, stub, type } = require("./session.cjs");

const started = path.join(folder, "starts");
process.env.FAKE_LOG = started;
const starts = (verb) => (existsSync(started) ? readFileSync(started, "utf8").split("\n").filter((each) => each === verb).length : 0);
const changed = (name) => emitter("onDidChangeConfiguration").fire({ affectsConfiguration: (each) => `${name}.`.startsWith(`${each}.`) });
const context = { subscriptions: [] };
let script;

after(() => finish(context));

test("what has nothing to do with Slurm starts no server", async () => {
  settings.set("sbatchlint.path", path.join(__dirname, "fake.cjs"));
  extension.activate(context);
  await open("setup.sh", "shellscript", "#!/bin/bash\necho WRONG\n");
  await open("main.c", "c", "// sbatch\n");
  await new Promise((resolve) => setTimeout(resolve, 100));
  assert.equal(starts("--version"), 0);
});

test("the first batch script starts it, and it sees what is typed", async () => {
  script = await open("job.sbatch", "sbatch", "#!/bin/bash\n#SBATCH --nodes=WRONG\n");
  await eventually(() => found(script).length === 1, "a finding");
  assert.equal(found(script)[0].message, "it is wrong");
  await type(script, "#!/bin/bash\n#SBATCH --nodes=1\n");
  await eventually(() => found(script).length === 0, "no finding");
  await type(script, "#!/bin/bash\n#SBATCH --nodes=WRONG WRONG\n");
  await eventually(() => found(script).length === 1, "a finding again");
  assert.equal(shown.status[0].detail, "0.1.0, from the setting sbatchlint.path");
  assert.equal(starts("server"), 1);
});

test("a text file with directives becomes a batch script", async () => {
  await open("submit", "plaintext", "#!/bin/bash\n#SBATCH --nodes=1\n");
  await open("notes.txt", "plaintext", "write #SBATCH lines\n");
  assert.deepEqual(shown.languages, [[path.join(folder, "submit"), "sbatch"]]);
});

test("the plan is an image in a page that runs nothing", async () => {
  await type(script, "#!/bin/bash\n#SBATCH --nodes=1\n");
  stub.window.activeTextEditor = { document: script };
  await handlers.get("sbatchlint.showPlan")();
  const [panel] = shown.panels;
  assert.equal(panel.title, "Plan: job.sbatch");
  assert.deepEqual(panel.options, { enableScripts: false, enableForms: false, enableCommandUris: false, localResourceRoots: [] });
  const { html } = panel.webview;
  assert.match(html, /content="default-src 'none'; img-src data:; style-src 'nonce-[A-Za-z0-9+/=]+'"/);
  assert.doesNotMatch(html, /<script|<svg|alert\(/);
  assert.match(html, /<img alt="&quot;1 step&quot;" src="data:image\/svg\+xml;base64,[A-Za-z0-9+/=]+">/);
});

test("a saved script is drawn again, and what went wrong is said as text", async () => {
  const [panel] = shown.panels;
  await type(script, "#!/bin/bash\n");
  await emitter("onDidSaveTextDocument").fire(script);
  await eventually(() => panel.webview.html.includes("<p>"), "a message");
  assert.match(panel.webview.html, /<p>This file is not a batch script\.<\/p>/);
  await type(script, "#!/bin/bash\n#SBATCH --nodes=WRONG\n");
  await handlers.get("sbatchlint.showPlan")();
  assert.match(panel.webview.html, /<img/);
  assert.equal(shown.panels.length, 1);
  panel.closed.fire();
});

test("a code lens of the server shows the plan, too", async () => {
  stub.window.activeTextEditor = undefined;
  await handlers.get("sbatchlint.plan")(script.uri.toString());
  assert.equal(shown.panels.length, 2);
  assert.match(shown.panels[1].webview.html, /<img/);
  stub.window.activeTextEditor = { document: script };
});

test("fix all applies what the server offers, and says when that is nothing", async () => {
  await handlers.get("sbatchlint.fixAll")();
  const [[uri, [edit]]] = shown.edits[0].edits;
  assert.equal(uri.toString(), script.uri.toString());
  assert.equal(edit.newText, "right");
  assert.equal(edit.range.start.line, 1);
  await type(script, "#!/bin/bash\n#SBATCH --nodes=1\n");
  await handlers.get("sbatchlint.fixAll")();
  assert.equal(shown.edits.length, 1);
  assert.match(shown.messages.at(-1), /nothing that can be fixed safely/);
});

test("the command and changed settings restart the server; others do not", async () => {
  const before = starts("server");
  await handlers.get("sbatchlint.restartServer")();
  assert.equal(starts("server"), before + 1);
  await type(script, "#!/bin/bash\n#SBATCH --nodes=WRONG\n");
  await eventually(() => found(script).length === 1, "a finding after the restart");
  await changed("sbatchlint.path");
  await eventually(() => starts("server") === before + 2, "a restart");
  await changed("editor.fontSize");
  await Promise.all([handlers.get("sbatchlint.restartServer")(), handlers.get("sbatchlint.restartServer")()]);
  assert.equal(starts("server"), before + 4);
  await eventually(() => found(script).length === 1, "one server's findings");
});

test("a server that dies is started again", async () => {
  const before = starts("server");
  extension.server.process.kill("SIGKILL");
  await eventually(() => starts("server") === before + 1, "another start");
  await eventually(() => extension.server.client.isRunning(), "a running server");
});

test("a server that cannot start says why, once", async () => {
  process.env.FAKE_SERVER = "broken";
  const before = shown.messages.length;
  await handlers.get("sbatchlint.restartServer")();
  delete process.env.FAKE_SERVER;
  assert.deepEqual(shown.messages.slice(before), [
    `The server of sbatchlint 0.1.0 (${path.join(__dirname, "fake.cjs")}) does not start: error: pygls is not installed ` +
      "If its libraries are missing, `pip install --upgrade 'sbatchlint[lsp]'` installs them.",
  ]);
});

test("one that is too old is not started, and what to do is said", async () => {
  process.env.FAKE_VERSION = "0.0.1";
  const before = starts("server");
  await handlers.get("sbatchlint.restartServer")();
  delete process.env.FAKE_VERSION;
  assert.equal(starts("server"), before);
  assert.match(shown.messages.at(-1), /is version 0\.0\.1, and 0\.1\.0 or newer is needed\. Install it with `pip install --upgrade/);
  assert.equal(shown.status[0].severity, 2);
});

test("trust and a new setting bring it up again", async () => {
  const before = starts("server");
  await emitter("onDidGrantWorkspaceTrust").fire();
  await eventually(() => starts("server") === before + 1, "a start");
  await eventually(() => found(script).length === 1, "a finding");
});

test("an untrusted workspace's Python is not looked for", async () => {
  let asked = 0;
  stub.extensions.getExtension = () => ({ activate: () => Promise.resolve(void asked++) });
  stub.workspace.isTrusted = false;
  await handlers.get("sbatchlint.restartServer")();
  assert.equal(asked, 0);
  stub.workspace.isTrusted = true;
  await handlers.get("sbatchlint.restartServer")();
  assert.ok(asked > 0);
});

test("the Python that is chosen counts, and another choice restarts the server", async () => {
  const chosen = new stub.EventEmitter();
  const executable = { uri: stub.Uri.file(path.join(folder, "env/bin/python")) };
  const environments = {
    getActiveEnvironmentPath: () => ({ path: "env" }),
    resolveEnvironment: () => Promise.resolve({ executable }),
    onDidChangeActiveEnvironmentPath: chosen.event,
  };
  stub.extensions.getExtension = () => ({ activate: () => Promise.resolve({ environments }) });
  const { mkdirSync, symlinkSync } = require("node:fs");
  mkdirSync(path.join(folder, "env/bin"), { recursive: true });
  symlinkSync(path.join(__dirname, "fake.cjs"), path.join(folder, "env/bin/sbatchlint"));
  await handlers.get("sbatchlint.restartServer")();
  assert.equal(shown.status[0].detail, "0.1.0, from the Python environment");
  const before = starts("server");
  await chosen.fire();
  await eventually(() => starts("server") === before + 1, "a restart");
});
