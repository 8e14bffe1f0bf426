// Runs the conformance suite's table of operations in Chromium, on WebGPU's software adapter: `node conform.mjs FOLDER`, where `.ci/web-conform.sh` has built the
// compiler with the suite inside.

import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { WEBGPU, launch } from "./browser.mjs";
import { serve } from "./serve.mjs";

const [folder] = process.argv.slice(2);
/** What differs there, and only there: for each operation the operands that are constant, and `null` without one. docs/conformance.md says how. */
const FAULTS = {
  "min/bf16": [null, 0, 1],
  "min/bf16x2": [null],
  "min/f32": [null, 0, 1],
  "min/f32x2": [null],
  "max/bf16": [null, 0, 1],
  "max/f32": [null, 0, 1],
  "select/f32": [1, 2],
  "convert/f32 from u32": [null],
  "exp2/f32": [null],
  "sin/f32": [null],
  "cos/f32": [null],
  "asin/f32": [null],
  "pow/f16": [null, 0, 1],
  "pow/f32": [null, 0, 1],
  "atomic.min/bf16 global alone": [null],
  "atomic.min/bf16 shared alone": [null],
  "atomic.min/f32 global alone": [null],
  "atomic.min/f32 shared alone": [null],
  "atomic.max/bf16 global alone": [null],
  "atomic.max/bf16 shared alone": [null],
  "atomic.max/f32 global alone": [null],
  "atomic.max/f32 shared alone": [null],
};
/** How many cases need what a page's device does not have: a number that changes with the table, or with the browser. */
const REFUSED = 218;

await writeFile(join(folder, "index.html"), "<!doctype html><title>Conformance</title>");
const [address, close] = await serve(folder);
const browser = await launch(WEBGPU);
const page = await browser.newPage();
await page.goto(address);
const { passed, refused, failed } = await page.evaluate(async () => {
  globalThis.girihWrite = () => {};
  globalThis.girihPanic = (message) => console.error(message);
  const compiler = await import("./compiler.js");
  await compiler.default({ module_or_path: "./compiler_bg.wasm" });
  return JSON.parse(await compiler.conform());
});
await browser.close();
close();

for (const { case: name, what } of failed) console.log(`${name}: ${what}`);
console.log(`table of operations in Chromium: ${passed} passed, ${refused} refused, ${failed.length} failed`);
const known = Object.entries(FAULTS).flatMap(([name, operands]) =>
  operands.map((operand) => (operand === null ? name : `${name} with constant operand ${operand}`)));
const found = failed.map(({ case: name }) => name);
const added = found.filter((name) => !known.includes(name));
const mended = known.filter((name) => !found.includes(name));
if (added.length) console.log(`these failed, and are not known to: ${added.join(", ")}`);
if (mended.length) console.log(`these passed, and are listed as faults: ${mended.join(", ")}`);
if (refused !== REFUSED) console.log(`${refused} cases were refused, and ${REFUSED} were before`);
// Another version of the browser may have mended some: that is no mistake of ours.
if (added.length || refused !== REFUSED) process.exit(1);
