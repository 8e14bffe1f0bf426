// Runs the programs of `tests/bend` in Chromium, by the compiler of the page: `node programs.mjs ADDRESS`, where ADDRESS is where the page is served.
//
// Each comes to the value, or to the errors, that its `#:` lines say; those that need nets run as nets. What needs files, input or flags of the command line is left
// out, and so is what imports other files; the last line says how many there were of each.

import assert from "node:assert/strict";
import { readFile, readdir } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { launch } from "./browser.mjs";

const [address] = process.argv.slice(2);
const root = fileURLToPath(new URL("../../tests/bend/", import.meta.url));
/** Fewer programs than this would be a mistake in what is left out. */
const LEAST = 750;

/** What a file says of itself; null if it is no test, or needs what a page does not have. */
function directives(text) {
  const all = { result: [], nets: [], error: [], warning: [], args: [], flags: [], stdin: [], stdout: [], file: [] };
  for (const [, key, value] of text.matchAll(/^\s*#: ?(\w+) ?(.*)$/gm)) all[key].push(value.trimEnd());
  if (!all.result.length && !all.error.length) return null;
  if (all.flags.length || all.stdin.length || all.file.length || all.stdout.length) return null;
  return /^\s*(from|import)\s|IO\/FS\//m.test(text) ? null : all;
}

/** The words of arguments; `'` holds one together. */
const words = (lines) => lines.flatMap((line) => [...line.matchAll(/'([^']*)'|(\S+)/g)].map(([, quoted, plain]) => quoted ?? plain));

/** Runs in the page: what the compiler says of each program. */
async function outcomes(programs) {
  let panic = null;
  globalThis.girihWrite = () => {};
  globalThis.girihPanic = (message) => (panic = message);
  let count = 0;
  // A module that has trapped is not gone on with.
  const start = async () => {
    const compiler = await import(`./compiler.js?${count++}`);
    await compiler.default({ module_or_path: "./compiler_bg.wasm" });
    return compiler;
  };
  let compiler = await start();
  const said = [];
  for (const { text, args } of programs) {
    const file = JSON.stringify({ language: "bend", text, arguments: args });
    try {
      const checked = JSON.parse(compiler.check(file));
      const ran = JSON.parse(await compiler.run(file, "worker", ""));
      const errors = (findings) => findings.filter(({ severity }) => severity === "error").map(({ code }) => code);
      const before = errors(checked.findings);
      said.push({ result: ran.result ?? "", errors: before.length ? before : errors(ran.findings), text: ran.text });
    } catch (error) {
      said.push({ trap: panic ?? String(error), isDeep: !panic && error instanceof RangeError });
      panic = null;
      compiler = await start();
    }
  }
  return said;
}

const programs = [];
let leftOut = 0;
for (const name of (await readdir(root, { recursive: true })).filter((name) => name.endsWith(".bend")).sort()) {
  const text = await readFile(join(root, name), "utf8");
  const expected = directives(text);
  if (!expected) leftOut += 1;
  else programs.push({ name, text, expected, args: words(expected.args) });
}

const browser = await launch([]);
const page = await browser.newPage();
await page.goto(new URL("icon.svg", address).href);
const said = await page.evaluate(outcomes, programs.map(({ text, args }) => ({ text, args })));
await browser.close();

let passed = 0;
const [wrong, deep] = [[], []];
for (const [at, { name, expected }] of programs.entries()) {
  const { result, errors, text, trap, isDeep } = said[at];
  const value = (expected.nets.length ? expected.nets : expected.result).join("\n");
  const right = { result: value, errors: expected.nets.length ? [] : expected.error };
  try {
    if (isDeep) deep.push(name);
    else {
      assert.deepEqual({ result, errors }, right, trap ?? text);
      passed += 1;
    }
  } catch {
    wrong.push(`${name}: ${trap ?? JSON.stringify({ result, errors })}, and not ${JSON.stringify(right)}`);
  }
}
for (const each of wrong) console.log(each);
console.log(`${passed} programs passed, ${wrong.length} failed, ${deep.length} are nested too deeply (${deep.join(", ")}), ${leftOut} were left out`);
if (wrong.length || deep.length || passed < LEAST) process.exit(1);
