// The page on which sbatchlint runs in the browser. What is typed goes to a worker of this page, and nowhere else.

const BASE = new URL(".", import.meta.url).href;
const VERSIONS = ["", "22.05", "23.02", "23.11", "24.05", "24.11", "25.05", "25.11", "26.05"];
const LONGEST = 200_000; // characters of a script that a link may bring
const PATIENCE = 30_000; // milliseconds for one script

const place = document.getElementById("try-it");
const examples = await (await fetch(new URL("examples.json", BASE))).json();

/** An element with attributes and children; texts are always texts. */
function make(name, attributes = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key in element && typeof value !== "string") element[key] = value;
    else element.setAttribute(key, value);
  }
  element.append(...children);
  return element;
}

const versions = make("select", { id: "version" }, ...VERSIONS.map((each) => make("option", { value: each }, each || "22.05 to 26.05")));
const choices = make("select", { id: "example" }, make("option", { value: "" }, "choose one"), ...Object.keys(examples).map((each) => make("option", { value: each }, each)));
const advice = make("input", { type: "checkbox", id: "advice" });
const fix = make("button", { type: "button", id: "fix", class: "md-button", disabled: true }, "Apply the safe fixes");
const share = make("button", { type: "button", id: "share", class: "md-button" }, "Link to this script");
const gutter = make("pre", { "aria-hidden": "true" });
const script = make("textarea", { id: "script", spellcheck: "false", autocapitalize: "off", autocomplete: "off", wrap: "off", "aria-label": "The batch script" });
const state = make("p", { id: "state", role: "status" }, "Loading Python and sbatchlint, about 6 MB …");
const findings = make("ol", { id: "findings" });
const picture = make("img", { id: "picture", alt: "What the job would start; the same as text below", hidden: true });
const plan = make("pre", { id: "plan" });
const told = make("details", { hidden: true }, make("summary", {}, "The plan as text"), plan);

place.replaceChildren(
  make("div", { class: "controls" },
    make("label", {}, "Example ", choices), make("label", {}, "Slurm ", versions), make("label", {}, advice, " advice too")),
  make("div", { class: "editor" }, gutter, script),
  make("div", { class: "controls" }, fix, share),
  state, findings, make("div", { class: "picture" }, picture), told,
);

// --- the worker ----------------------------------------------------------------------------------

let worker, number = 0, waiting, answered;

function start() {
  const text = `import ${JSON.stringify(new URL("worker.js", BASE).href)};`;
  worker = new Worker(URL.createObjectURL(new Blob([text], { type: "text/javascript" })), { type: "module" });
  worker.onmessage = ({ data }) => {
    if (data.ready) return ask();
    if (data.number !== number) return undefined; // the script has changed since
    clearTimeout(waiting);
    place.dataset.answered = String(number);
    if (data.error) return say(`sbatchlint failed: ${data.error.split("\n").filter(Boolean).pop()}`);
    answered = JSON.parse(data.answer);
    return show();
  };
  worker.onerror = (event) => say(`Python could not be started here: ${event.message || "this browser is too old"}`);
}

function ask() {
  clearTimeout(waiting);
  number += 1;
  worker.postMessage({ base: BASE, number, text: script.value, version: versions.value });
  waiting = setTimeout(() => {
    worker.terminate();
    say("This script took too long, and was given up.");
    start();
  }, PATIENCE);
}

// --- what is shown -------------------------------------------------------------------------------

function say(text) {
  state.textContent = text;
}

function show() {
  const shown = answered.findings.filter((each) => advice.checked || each.severity !== "info");
  const hidden = answered.findings.length - shown.length;
  const lines = new Map(shown.map((each) => [each.location.row, each.severity]).reverse());
  drawGutter(lines);
  findings.replaceChildren(...shown.map(described));
  const count = shown.length === 1 ? "1 finding" : `${shown.length || "No"} findings`;
  const ends = answered.failed.length || shown.length || hidden ? "." : ": nothing certain is wrong.";
  const bugs = answered.failed.map((each) => ` A bug in sbatchlint: ${each}.`).join("");
  say(`${count}${hidden ? `; ${hidden} more of advice` : ""}${ends}${bugs}`);
  fix.disabled = answered.fixed === script.value;
  URL.revokeObjectURL(picture.src);
  picture.src = URL.createObjectURL(new Blob([answered.picture], { type: "image/svg+xml" }));
  plan.textContent = answered.plan;
  picture.hidden = told.hidden = false;
}

function described(each) {
  const { row, column } = each.location;
  const at = make("button", { type: "button", class: "at" }, `${row}:${column}`);
  at.onclick = () => select(...each.offsets);
  const page = make("a", { href: new URL(`../checks/${each.name}/`, location.href).href, target: "_blank" }, `${each.code} ${each.name}`);
  const item = make("li", { class: each.severity }, make("span", { class: "severity" }, each.severity), " ", at, " ", each.message, " ", page);
  if (each.changes.length) {
    const guess = each.fix.applicability === "unsafe" ? " (a guess: look at the result)" : "";
    const apply = make("button", { type: "button", class: "apply" }, `${each.fix.message}${guess}`);
    apply.onclick = () => put(changed(each.changes));
    item.append(" ", apply);
  }
  return item;
}

/** The script after some edits; their places are counted in characters, of which some are two units here. */
function changed(edits) {
  const characters = Array.from(script.value);
  for (const [start, end, content] of [...edits].sort((one, other) => other[0] - one[0])) {
    characters.splice(start, end - start, content);
  }
  return characters.join("");
}

function select(start, end) {
  const characters = Array.from(script.value);
  const from = characters.slice(0, start).join("").length;
  script.focus();
  script.setSelectionRange(from, from + characters.slice(start, end).join("").length);
  const row = script.value.slice(0, from).split("\n").length;
  script.scrollTop = Math.max(0, (row - 5) * parseFloat(getComputedStyle(script).lineHeight));
}

function drawGutter(lines = new Map()) {
  const count = script.value.split("\n").length;
  gutter.replaceChildren(...Array.from({ length: count }, (_, at) => make("span", { class: lines.get(at + 1) ?? "" }, `${at + 1}\n`)));
  gutter.scrollTop = script.scrollTop;
}

function put(text) {
  script.value = text;
  drawGutter();
  ask();
}

// --- sharing -------------------------------------------------------------------------------------

async function through(stream, bytes, most) {
  const reader = new Blob([bytes]).stream().pipeThrough(stream).getReader();
  const parts = [];
  for (let size = 0, part = await reader.read(); !part.done; part = await reader.read()) {
    size += part.value.length;
    if (size > most) throw new Error("the link holds more than a script");
    parts.push(part.value);
  }
  return new Uint8Array(await new Blob(parts).arrayBuffer());
}

async function packed(text) {
  const bytes = await through(new CompressionStream("deflate-raw"), new TextEncoder().encode(text), Infinity);
  return btoa(Array.from(bytes, (each) => String.fromCharCode(each)).join("")).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

async function unpacked(text) {
  const bytes = Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (each) => each.charCodeAt(0));
  return new TextDecoder().decode(await through(new DecompressionStream("deflate-raw"), bytes, LONGEST));
}

/** Takes the script of the address, which no server gets to see: it is in the fragment. */
async function fromAddress() {
  const given = new URLSearchParams(location.hash.slice(1));
  if (!given.has("script")) return false;
  try {
    const text = await unpacked(given.get("script"));
    versions.value = VERSIONS.includes(given.get("slurm") ?? "") ? given.get("slurm") ?? "" : "";
    script.value = text;
    return true;
  } catch (error) {
    say(`The link cannot be read: ${error.message}`);
    return false;
  }
}

share.onclick = async () => {
  const given = new URLSearchParams({ script: await packed(script.value) });
  if (versions.value) given.set("slurm", versions.value);
  history.replaceState(null, "", `#${given}`);
  try {
    await navigator.clipboard.writeText(location.href);
    say("The link is copied. Whoever has it can read the script: it is in the link.");
  } catch {
    say("The link is in the address bar. Whoever has it can read the script: it is in the link.");
  }
};

// --- what a reader does --------------------------------------------------------------------------

let typing;
script.oninput = () => {
  drawGutter();
  clearTimeout(typing);
  typing = setTimeout(ask, 400);
};
script.onscroll = () => { gutter.scrollTop = script.scrollTop; };
versions.onchange = ask;
advice.onchange = () => answered && show();
fix.onclick = () => put(answered.fixed);
choices.onchange = () => choices.value && put(examples[choices.value]);
addEventListener("hashchange", async () => { if (await fromAddress()) put(script.value); });

if (!(await fromAddress())) script.value = examples.ranks;
drawGutter();
start();
worker.postMessage({ base: BASE });
