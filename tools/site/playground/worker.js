// Runs sbatchlint in a worker, so that the page stays usable meanwhile. It is started from a blob of playground.js, by
// which the content security policy of the page holds here too: it can load from this site, and from nowhere else.
import { loadPyodide } from "./pyodide/pyodide.mjs";

async function loaded(base) {
  const python = await loadPyodide({ indexURL: new URL("pyodide/", base).href });
  const packages = await fetch(new URL("sbatchlint.whl", base));
  python.unpackArchive(await packages.arrayBuffer(), "wheel");
  const program = await fetch(new URL("playground.py", base));
  python.runPython(await program.text());
  return python.globals.get("answer");
}

let answer;

addEventListener("message", async ({ data }) => {
  try {
    answer ??= loaded(data.base);
    const asked = await answer;
    if (data.text !== undefined) postMessage({ number: data.number, answer: asked(data.text, data.version) });
    else postMessage({ ready: true });
  } catch (error) {
    postMessage({ number: data.number, error: String(error.message ?? error) });
  }
});
