// Checks the types, and bundles the extension with the libraries it needs and their licences.
import { execFileSync } from "node:child_process";
import { copyFileSync, existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

process.chdir(fileURLToPath(new URL(".", import.meta.url)));
execFileSync("node_modules/.bin/tsc", { stdio: "inherit" });
const common = { bundle: true, platform: "node", target: "node18", format: "cjs", external: ["vscode"] };
const { metafile } = await build({
  ...common,
  entryPoints: ["src/extension.ts"],
  outfile: "out/extension.js",
  minify: true,
  metafile: true,
});
// What needs no VS Code, for the tests.
await build({ ...common, entryPoints: ["src/executable.ts"], outdir: "out/parts" });

const bundled = Object.keys(metafile.inputs).map((input) => /^(.*node_modules\/(?:@[^/]+\/)?[^/]+)\//.exec(input)?.[1]);
const licences = [...new Set(bundled.filter(Boolean))].sort().map((folder) => {
  const { name, version } = JSON.parse(readFileSync(`${folder}/package.json`, "utf8"));
  const file = readdirSync(folder).find((each) => /^licen[cs]e/i.test(each));
  if (!file) {
    throw new Error(`${folder} has no licence`);
  }
  return `${name} ${version}\n\n${readFileSync(`${folder}/${file}`, "utf8").trim()}\n`;
});
writeFileSync("THIRD-PARTY.txt", licences.join(`\n${"-".repeat(80)}\n\n`));
if (existsSync("../../LICENSE")) {
  copyFileSync("../../LICENSE", "LICENSE");
}
