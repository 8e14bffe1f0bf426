// Runs the conformance suite's table of operations in Chromium, on WebGPU's software adapter: `node conform.mjs FOLDER`, where `.ci/web-conform.sh` has built the
// compiler with the suite inside.

import { chromium } from "playwright-core";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { serve } from "./serve.mjs";

const [folder] = process.argv.slice(2);
/** What differs there, and only there: docs/conformance.md says how. */
const FAULTS = [
  "min/bf16", "min/bf16x2", "min/f32", "min/f32x2", "max/bf16", "max/f32", "select/f32", "convert/f32 from u32",
  "exp2/f32", "sin/f32", "cos/f32", "asin/f32", "pow/f16", "pow/f32",
];
/** Fewer cases than this would be a mistake. */
const LEAST = 1700;

await writeFile(join(folder, "index.html"), "<!doctype html><title>Conformance</title>");
const [address, close] = await serve(folder);
const args = ["--no-sandbox", "--disable-gpu-watchdog", "--enable-unsafe-webgpu", "--use-webgpu-adapter=swiftshader", "--enable-features=Vulkan"];
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM || "/usr/bin/chromium", args });
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
if (passed < LEAST || failed.some(({ case: name }) => !FAULTS.includes(name.split(" with constant operand ")[0]))) process.exit(1);
