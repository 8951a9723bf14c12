// The grammar, in the engine of VS Code, on top of a real grammar of shell scripts.
"use strict";
const assert = require("node:assert/strict");
const { readFileSync } = require("node:fs");
const path = require("node:path");
const { test } = require("node:test");
const { createOnigScanner, createOnigString, loadWASM } = require("vscode-oniguruma");
const { INITIAL, parseRawGrammar, Registry } = require("vscode-textmate");

const here = path.join(__dirname, "..");
const { grammars } = require("../package.json").contributes;
const files = new Map(grammars.map((each) => [each.scopeName, path.join(here, each.path)]));
files.set("source.shell", path.join(here, "node_modules/tm-grammars/grammars/shellscript.json"));

const registry = new Registry({
  onigLib: loadWASM(readFileSync(require.resolve("vscode-oniguruma/release/onig.wasm"))).then(() => ({ createOnigScanner, createOnigString })),
  loadGrammar: async (scope) => (files.has(scope) ? parseRawGrammar(readFileSync(files.get(scope), "utf8"), files.get(scope)) : null),
  getInjections: (scope) => grammars.filter((each) => each.injectTo?.includes(scope)).map((each) => each.scopeName),
});

/** The pieces of a script with their innermost scopes. */
async function pieces(scope, script) {
  const grammar = await registry.loadGrammar(scope);
  let stack = INITIAL;
  return script.split("\n").flatMap((line) => {
    const { tokens, ruleStack } = grammar.tokenizeLine(line, stack);
    stack = ruleStack;
    return tokens.map(({ startIndex, endIndex, scopes }) => [line.slice(startIndex, endIndex), scopes.at(-1), scopes]);
  });
}

for (const scope of ["source.sbatch", "source.shell"]) {
  test(`directives in ${scope}`, async () => {
    const found = await pieces(scope, '#!/bin/bash\n#SBATCH --nodes=2 -t 01:00:00 --output="%x-%j.out" # two\n#SBATCH hetjob\necho $HOME # why\n');
    const scopeOf = (text) => found.find(([piece]) => piece.trim() === text)?.[1];
    assert.equal(scopeOf("#SBATCH"), "keyword.control.directive.sbatch");
    assert.equal(scopeOf("--nodes"), "entity.other.attribute-name.long.sbatch");
    assert.equal(scopeOf("2"), "constant.numeric.sbatch");
    assert.equal(scopeOf("-t"), "entity.other.attribute-name.short.sbatch");
    assert.equal(scopeOf("01:00:00"), "constant.numeric.sbatch");
    assert.equal(scopeOf('"%x-%j.out"'), "string.quoted.double.sbatch");
    assert.equal(scopeOf("# two"), "comment.line.number-sign.sbatch");
    assert.equal(scopeOf("hetjob"), "keyword.control.component.sbatch");
    assert.match(scopeOf("echo"), /shell$/);
    assert.match(found.find(([piece]) => piece.includes("why"))[1], /^comment\..*shell$/);
  });

  test(`no directives in ${scope}`, async () => {
    const lines = ["##SBATCH --nodes=2", "#SBATCHES --nodes=2", " #SBATCH --nodes=2", "cat <<EOF\n#SBATCH --nodes=2\nEOF", "x='\n#SBATCH --nodes=2\n'"];
    for (const line of lines) {
      const found = await pieces(scope, `#!/bin/bash\n${line}\n`);
      assert.ok(!found.some(([, , scopes]) => scopes.includes("meta.directive.sbatch")), line);
    }
  });
}
