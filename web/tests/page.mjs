// Drives the real page in Chromium: `node page.mjs ADDRESS GIRIH [PART...]`, where GIRIH is the command that says what results are right, and a PART is a function below.
//
// Chromium is `CHROMIUM`, or `chromium` on the path. WebGPU is that of its software adapter. Whatever is not as it has to be ends the program with 1.

import { chromium } from "playwright-core";
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { deflateRawSync } from "node:zlib";
import { toFragment } from "../page/link.mjs";

const [address, girih, ...wanted] = process.argv.slice(2);
const root = fileURLToPath(new URL("../../", import.meta.url));
const examples = await (await fetch(new URL("examples.json", address))).json();
/** What a machine with two cores needs for anything here, many times over: it only ends what hangs. */
const PATIENCE = 240_000;
const SIZE = [48, 36];
const TIMES = [0.25, 1.5];
// A pipeline takes the software adapter seconds, after which the browser's watchdog would end it on a busy machine.
const WITHOUT_WEBGPU = ["--disable-gpu", "--disable-features=WebGPU"];
const WEBGPU = ["--disable-gpu-watchdog", "--enable-unsafe-webgpu", "--use-webgpu-adapter=swiftshader", "--enable-features=Vulkan"];

const command = (...words) => execFileSync(girih, words, { cwd: root, encoding: "utf8" });
const launch = (flags) =>
  chromium.launch({ executablePath: process.env.CHROMIUM || "/usr/bin/chromium", args: ["--no-sandbox", ...flags] });

/** A page that has begun. What it says on the console is an error. */
async function open(browser, fragment = "") {
  const page = await browser.newPage();
  page.setDefaultTimeout(PATIENCE);
  page.messages = [];
  page.on("console", (message) => page.messages.push(`${message.type()}: ${message.text()}`));
  page.on("pageerror", (error) => page.messages.push(String(error)));
  await page.goto(address + fragment);
  await page.locator("body[data-ready=true]").waitFor();
  return page;
}

async function close(page) {
  assert.deepEqual(page.messages, [], "the page says something on the console");
  await page.close();
}

const text = (page, id) => page.locator(`#${id}`).textContent();
const statusIs = (page, pattern) => page.locator("#status", { hasText: pattern }).waitFor();
const program = (text, language = "bend") => toFragment({ language, text });

/** Runs what is in the editor. */
async function run(page) {
  await page.locator("#run", { hasText: "Run" }).click();
  await statusIs(page, /The program has/);
}

/** What the command line says of an example. A kernel says itself what is right. */
function expected({ file, language }) {
  return ["gir", "py"].includes(language) ? null : command("run", file).split("Result: ")[1].trim();
}

async function programs(browser) {
  for (const [number, example] of examples.entries()) {
    if (example.file.startsWith("shaders/")) continue;
    for (const device of ["webgpu", "worker"]) {
      const page = await open(browser, await program(example.text, example.language));
      assert.equal(await page.inputValue("#device"), "webgpu", "the software adapter is there");
      await page.selectOption("#device", device);
      await run(page);
      const result = (await text(page, "result")).replace("Result: ", "");
      const right = expected(example);
      assert.equal(await text(page, "diagnostics"), "", `${example.file} on ${device}`);
      if (right === null) assert.match(result, /^(; run:.*\n%x|# run:.*\n\w+) = f32\[/, example.file);
      else assert.equal(result, right, `${example.file} on ${device}`);
      if (device === "webgpu" && right !== null) assert.doesNotMatch(await text(page, "stats"), /evaluator/);
      await close(page);
    }
    console.log(`example ${number}: ${example.file}`);
  }
}

/** The pixels of the page's picture at a time. */
async function picture(page, time) {
  await page.fill("#time", String(time));
  await page.locator("#time").dispatchEvent("change");
  await page.locator(`#canvas[data-time="${time}"], #trouble:not(:empty)`).first().waitFor();
  assert.equal(await text(page, "trouble"), "");
  const pixels = () => Array.from(canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data);
  return page.evaluate(`(${pixels})()`);
}

/** The pixels that the command line draws. */
async function drawn(page, folder, file, time) {
  const output = join(folder, "frame.png");
  command("render", file, "--device", "evaluator", "--size", SIZE.join("x"), "--start", String(time), "-o", output);
  const bytes = (await readFile(output)).toString("base64");
  return page.evaluate(async (base64) => {
    const blob = new Blob([Uint8Array.from(atob(base64), (char) => char.charCodeAt(0))], { type: "image/png" });
    const bitmap = await createImageBitmap(blob, { colorSpaceConversion: "none" });
    const context = new OffscreenCanvas(bitmap.width, bitmap.height).getContext("2d");
    context.drawImage(bitmap, 0, 0);
    return Array.from(context.getImageData(0, 0, bitmap.width, bitmap.height).data);
  }, bytes);
}

/** What Chromium's software adapter is too slow for: it does not compile the first one's kernel within four minutes, and takes two for the second one. They are
 * compared in the worker alone. */
const TOO_LARGE = ["shaders/shadows.bend", "shaders/spirals.bend"];

/** The pictures of each shader, painted by a device, are those that the command line draws. */
async function shadersOn(browser, device, without = []) {
  const folder = await mkdtemp(join(tmpdir(), "girih-page-"));
  try {
    for (const example of examples.filter(({ file }) => file.startsWith("shaders/") && !without.includes(file))) {
      const begun = performance.now();
      const page = await open(browser, await program(example.text));
      await page.selectOption("#device", device);
      await page.locator("#run", { hasText: "Play" }).waitFor();
      await page.fill("#width", String(SIZE[0]));
      await page.fill("#height", String(SIZE[1]));
      await page.click("#run");
      await page.locator(`#canvas[width="${SIZE[0]}"][height="${SIZE[1]}"][data-time], #trouble:not(:empty)`).first().waitFor();
      const frames = [];
      for (const time of TIMES) {
        const [mine, right] = [await picture(page, time), await drawn(page, folder, example.file, time)];
        assert.equal(mine.length, right.length, example.file);
        const far = mine.findIndex((value, at) => Math.abs(value - right[at]) > 1);
        assert.equal(far, -1, `${example.file} at ${time} on ${device}: byte ${far} is ${mine[far]}, and not ${right[far]}`);
        frames.push(mine);
      }
      assert.notDeepEqual(frames[0], frames[1], `${example.file} stands still`);
      await close(page);
      console.log(`shader on ${device}: ${example.file} (${((performance.now() - begun) / 1000).toFixed(1)} s)`);
    }
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** In the worker, by the evaluator. */
async function shaders() {
  const browser = await launch(WITHOUT_WEBGPU);
  await shadersOn(browser, "worker");
  await browser.close();
}

const shadersOnWebgpu = (browser) => shadersOn(browser, "webgpu", TOO_LARGE);

/** A net goes on step by step, with a picture of each. */
async function nets(browser) {
  const page = await open(browser, await program("@main = a & @square ~ (7 a)\n@square = ({$([*] $(b r)) b} r)\n", "hvm"));
  await page.click("#tab-net");
  const shown = (step) => page.locator(`#drawing[alt^="The net after ${step} steps"]`).waitFor();
  await shown(0);
  assert.equal(await text(page, "net"), "v0 & (7 v0) ~ @square");
  for (let step = 1; step <= 6; step++) {
    await page.click("#next");
    await shown(step);
    assert.ok(await page.evaluate(() => drawing.complete && drawing.naturalWidth > 0), "the picture is drawn");
  }
  assert.equal(await text(page, "net"), "49");
  assert.match(await text(page, "rule"), /operate.*normal form/);
  assert.ok(await page.locator("#next").isDisabled());
  await page.click("#back");
  await shown(5);
  await close(page);
}

/** A program of a link runs only when somebody asks for it. */
async function waits(browser) {
  const shader = await program("def shader(x: u24, y: u24, t: f24) -> u24:\n  return x + y\n");
  const page = await open(browser, shader);
  await page.locator("#rate", { hasText: "Play runs it" }).waitFor();
  await page.fill("#width", "8");
  await page.fill("#height", "8");
  await page.locator(".cm-content").focus();
  await page.keyboard.press("Enter");
  await page.waitForTimeout(1000);
  assert.equal(await page.locator("#canvas[data-time]").count(), 0, "nobody has asked for it");
  await page.click("#run");
  await page.locator('#canvas[width="8"][data-time]').waitFor();
  await playsAgain(page);
  await close(page);
}

/** A shader that was stopped plays again, and a size of which there is no picture is refused. */
async function playsAgain(page) {
  await page.click("#stop");
  await statusIs(page, /Stopped|Ready/);
  await page.evaluate(() => delete document.querySelector("#canvas").dataset.time);
  await page.click("#pause");
  await page.locator('#canvas[width="8"][data-time]').waitFor();
  assert.equal(await text(page, "trouble"), "");
  await page.fill("#width", "100000000");
  await page.press("#width", "Enter");
  await page.locator("#trouble", { hasText: "no picture of 100000000 by 8 pixels" }).waitFor();
}

/** A device that is lost is opened anew: while a shader plays, and for the next program. */
async function loses(browser) {
  const page = await browser.newPage();
  await page.route("**/worker.js", async (route) => {
    const answer = await route.fetch();
    const keep = `globalThis.opened = [];
      const open = GPUAdapter.prototype.requestDevice;
      GPUAdapter.prototype.requestDevice = async function (...given) {
        const device = await open.apply(this, given);
        opened.push(device);
        return device;
      };`;
    await route.fulfill({ response: answer, body: keep + (await answer.text()) });
  });
  page.setDefaultTimeout(PATIENCE);
  await page.goto(address + (await program("width = 8\nheight = 8\ndef shader(x: u24, y: u24, t: f24) -> u24:\n  return x * y\n")));
  await page.locator("body[data-ready=true]").waitFor();
  await page.click("#run");
  await page.locator("#canvas[data-time]").waitFor();
  const [worker] = page.workers();
  const before = await worker.evaluate("opened.length");
  await worker.evaluate("opened.forEach((device) => device.destroy())");
  const right = Array.from({ length: 64 }, (_, at) => [0, 0, (at % 8) * (at >> 3), 255]).flat();
  assert.deepEqual(await picture(page, 2), right);
  assert.ok((await worker.evaluate("opened.length")) > before, "another device was opened");
  await worker.evaluate("opened.forEach((device) => device.destroy())");
  await page.goto(address + (await program(examples.find(({ file }) => file.endsWith("softmax.gir")).text, "gir")));
  await statusIs(page, "Nothing is wrong.");
  await page.click("#tab-result");
  await run(page);
  assert.match(await text(page, "result"), /%x = f32\[/);
  await page.close();
}

async function errors(browser) {
  const page = await open(browser, await program("def main():\n  total = 1.5\n  return total / count\n"));
  await statusIs(page, "1 error");
  const wrong = page.locator(".cm-lintRange-error");
  assert.equal(await wrong.textContent(), "count");
  await wrong.hover();
  assert.match(await page.locator(".cm-tooltip").textContent(), /B0201/);
  assert.match(await text(page, "diagnostics"), /main\.bend:3:18/);
  // While it runs, too.
  const divides = "def divide(n: u24) -> u24:\n  return 100 / n\n\ndef main() -> u24:\n  return divide(0)\n";
  await page.goto(address + (await program(divides)));
  await statusIs(page, "Nothing is wrong.");
  await run(page);
  assert.match(await text(page, "diagnostics"), /B0501.*division by zero/);
  assert.match(await page.locator(".cm-lintRange-error").first().textContent(), /100 \/ n/);
  await close(page);
}

async function stops(browser) {
  const page = await open(browser, await program("def main():\n  return go(0)\n\ndef go(n):\n  if n == 1:\n    return n\n  else:\n    return go(n * 2)\n"));
  await page.selectOption("#device", "worker");
  await statusIs(page, "Nothing is wrong.");
  await page.click("#run");
  await statusIs(page, "Running");
  // The page answers meanwhile.
  await page.click("#tab-core");
  await page.click("#stop");
  await statusIs(page, /Stopped|Ready/);
  await page.goto(address + (await program("def main():\n  return 6 * 7\n")));
  await statusIs(page, "Nothing is wrong.");
  await page.click("#tab-result");
  await run(page);
  assert.equal(await text(page, "result"), "Result: 42");
  await close(page);
}

async function links(browser) {
  const source = "def main():\n  return \"λ 🌷\"\n";
  const page = await open(browser, await program(source));
  await page.click("#share");
  await page.locator("#shared", { hasText: /[Ll]ink/ }).waitFor();
  const other = await open(browser, new URL(page.url()).hash);
  assert.equal((await other.locator(".cm-line").allTextContents()).join("\n"), source);
  await close(other);
  const damaged = await open(browser, "#1,bend,AAAA");
  assert.match(await text(damaged, "notice"), /damaged/);
  await close(damaged);
  const long = await open(browser, `#1,bend,${deflateRawSync(Buffer.alloc((1 << 20) + 1, " ")).toString("base64url")}`);
  assert.match(await text(long, "notice"), /at most 1048576 bytes/);
  await close(long);
  await close(page);
}

async function keyboard(browser) {
  const page = await open(browser, await program("def main():\n  return 1 + 1\n"));
  await page.locator(".cm-content").focus();
  await page.keyboard.press("Control+Enter");
  await statusIs(page, "The program has ended.");
  await page.focus("#tab-result");
  await page.keyboard.press("ArrowRight");
  await page.locator("#panel-core pre", { hasText: "main" }).waitFor();
  await page.keyboard.press("ArrowRight");
  await page.locator("#panel-ir pre", { hasText: "main" }).waitFor();
  await page.keyboard.press("ArrowRight");
  await page.locator("#book", { hasText: "main" }).waitFor({ state: "attached" });
  await close(page);
}

async function withoutWebgpu() {
  const browser = await launch(WITHOUT_WEBGPU);
  const page = await open(browser, await program(examples.find(({ file }) => file.endsWith("sort.bend")).text));
  assert.match(await text(page, "notice"), /There is no WebGPU here: .*\. Everything runs in the worker/);
  assert.equal(await page.inputValue("#device"), "worker");
  await run(page);
  assert.match(await text(page, "result"), /^Result: \[4, 15, 26/);
  await page.goto(address + (await program("def shader(x: u24, y: u24, t: f24) -> u24:\n  return x + y\n")));
  await page.locator("#run", { hasText: "Play" }).click();
  await page.locator("#canvas[data-time]").waitFor();
  await close(page);
  await browser.close();
}

const parts = [programs, errors, stops, links, waits, loses, nets, keyboard, shaders, shadersOnWebgpu, withoutWebgpu];
const browser = await launch(WEBGPU);
try {
  for (const part of wanted.length === 0 ? parts : parts.filter(({ name }) => wanted.includes(name))) {
    await part(browser);
    console.log(`${part.name}: passed`);
  }
} finally {
  await browser.close();
}
