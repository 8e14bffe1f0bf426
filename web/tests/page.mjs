// Drives the real page in Chromium: `node page.mjs ADDRESS GIRIH [PART...]`, where GIRIH is the command that says what results are right, and a PART is a function below, or `-` and the name of
// one that is left out.
//
// WebGPU is that of Chromium's software adapter. Whatever is not as it has to be ends the program with 1. Nothing waits for some time: each part waits for what the page
// shows, or for what its worker was asked and has answered.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { deflateRawSync, gzipSync } from "node:zlib";
import { WEBGPU, WITHOUT_WEBGPU, answered, asked, blank, close, each, launch, opener, program, run, statusIs, text } from "./browser.mjs";

const [address, girih, ...wanted] = process.argv.slice(2);
const open = opener(address);
const root = fileURLToPath(new URL("../../", import.meta.url));
const examples = await (await fetch(new URL("examples.json", address))).json();
const SIZE = [48, 36];
const TIMES = [0.25, 1.5];
/** The most bytes of the compiler's module, compressed as servers do. */
const MOST_BYTES = 3_000_000;

/** What the command says, and whether it has succeeded. */
function tried(...words) {
  const { status, stdout, stderr } = spawnSync(girih, words, { cwd: root, encoding: "utf8", maxBuffer: 1 << 28 });
  return { succeeded: status === 0, stdout, stderr };
}

function command(...words) {
  const { succeeded, stdout, stderr } = tried(...words);
  assert.ok(succeeded, `girih ${words.join(" ")}: ${stderr}`);
  return stdout;
}

/** What the command line writes of an example, and its result. A kernel says itself what is right. */
function expected({ file, language }) {
  if (["gir", "py"].includes(language)) return { written: "", right: null };
  const [written, right] = command("run", file).split("Result: ");
  return { written, right: right.trim() };
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
      const { written, right } = expected(example);
      assert.equal(await text(page, "output"), written, `${example.file} on ${device}`);
      assert.equal(await text(page, "diagnostics"), "", `${example.file} on ${device}`);
      if (right === null) assert.match(result, /^(; run:.*\n%x|# run:.*\n\w+) = f32\[/, example.file);
      else assert.equal(result, right, `${example.file} on ${device}`);
      if (device === "webgpu" && right !== null) assert.doesNotMatch(await text(page, "stats"), /evaluator/);
      await close(page);
    }
    console.log(`example ${number}: ${example.file}`);
  }
}

/** Each example, chosen from the list, is shown by each tab as `girih emit` shows it. */
async function forms(browser) {
  const page = await open(browser);
  for (const [number, { file, language }] of examples.entries()) {
    const before = (await asked(page)).filter((verb) => verb === "check").length;
    await page.selectOption("#examples", String(number));
    // A shader would keep the worker busy with its kernel.
    if (number === 0) await page.selectOption("#device", "worker");
    await answered(page, "check", before + 1);
    await page.evaluate(() => pause.textContent === "Pause" && pause.click());
    for (const [tab, form] of Object.entries({ core: "term", ir: "ir", wgsl: "wgsl", net: "net" })) {
      const isKernel = ["gir", "py"].includes(language);
      if ((isKernel && tab === "core") || ((isKernel || file.startsWith("shaders/")) && tab === "net")) {
        assert.ok(await page.locator(`#tab-${tab}`).isHidden(), file);
        continue;
      }
      const shown = page.locator(tab === "net" ? "#book" : `#panel-${tab} pre`);
      await shown.evaluate((pre) => (pre.textContent = ""));
      await page.click(`#tab-${tab}`);
      await page.waitForFunction((pre) => pre.textContent, await shown.elementHandle());
      // The core of a net is the net itself.
      await emitted(file, language === "hvm" && tab === "core" ? "net" : form, await shown.textContent());
      await page.evaluate(() => document.getElementById("tab-result").click());
    }
    console.log(`forms of example ${number}: ${file}`);
  }
  await close(page);
}

/** A form as the command line shows it, or the error that it gives instead. What Triton's kernels become depends on what they are given. */
async function emitted(file, form, shown) {
  if (file.endsWith(".py")) return assert.match(shown, form === "ir" ? /^(kernel|tile)/m : /@compute/, file);
  const { succeeded, stdout, stderr } = tried("emit", file, "--as", form);
  // The two differ in how they expand functions: what such a kernel computes is compared by its run.
  if (file.endsWith(".gir") && form === "wgsl") return assert.match(shown, /@compute/, file);
  // The command line shows a shader as kernels alone.
  if (file.startsWith("shaders/") && form !== "wgsl") assert.match(shown, /^(?!error)[^]*(shader|render)/, `${file} as ${form}`);
  else if (succeeded) assert.equal(shown.trim(), stdout.trim(), `${file} as ${form}`);
  else assert.equal(shown.split("\n")[0], stderr.split("\n")[0], `${file} as ${form}`);
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

/** While a device compiles a kernel, the worker answers what needs no device: the coarse picture of the newest text is there first. */
async function coarse(browser) {
  const page = await open(browser, await program(examples.find(({ file }) => file.endsWith("plasma.bend")).text));
  await page.click("#run");
  await page.locator('#canvas[data-preview="64x48"]').waitFor();
  const isPainted = () => canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data.some((value, at) => at % 4 < 3 && value > 0);
  assert.ok(await page.evaluate(`(${isPainted})()`), "something is seen");
  // A text without one: of the shaders that follow each other the last one is painted.
  await page.locator(".cm-content").focus();
  for (let number = 0; number < 3; number++) {
    await page.evaluate("delete canvas.dataset.preview; delete canvas.dataset.time");
    await page.keyboard.press("Enter");
    await page.locator('#canvas[data-preview="64x48"]').waitFor();
  }
  await page.locator("#canvas[data-time]").waitFor();
  await close(page);
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
    // It is drawn, or this fails.
    await page.evaluate(() => drawing.decode());
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
  const checks = (await asked(page)).filter((verb) => verb === "check").length;
  await page.keyboard.press("Enter");
  await answered(page, "check", checks + 1);
  assert.deepEqual(new Set(await asked(page)), new Set(["device", "check"]), "nobody has asked for it");
  assert.equal(await page.locator("#canvas[data-time]").count(), 0);
  await page.click("#run");
  await page.locator('#canvas[width="8"][data-time]').waitFor();
  await playsAgain(page);
  await close(page);
}

/** A shader that was stopped plays again, and a size of which there is no picture is refused. */
async function playsAgain(page) {
  await page.click("#stop");
  await statusIs(page, "Stopped.");
  await page.evaluate(() => delete document.querySelector("#canvas").dataset.time);
  await page.click("#pause");
  await page.locator('#canvas[width="8"][data-time]').waitFor();
  assert.equal(await text(page, "trouble"), "");
  await page.fill("#width", "100000000");
  await page.press("#width", "Enter");
  await page.locator("#trouble", { hasText: "no picture of 100000000 by 8 pixels" }).waitFor();
  for (const side of ["-5", "1.5"]) {
    await page.fill("#width", side);
    await page.press("#width", "Enter");
    await page.locator("#trouble", { hasText: `There is no picture of ${side} by 8 pixels. Write whole numbers` }).waitFor();
  }
}

/** A device that is lost is opened anew: while a shader plays, and for the next program. */
async function loses(browser) {
  const page = await blank(browser);
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

/** A mistake in each language: the text, what is underlined of it, in which line, and what is said there. */
const MISTAKES = [
  ["bend", "def main(total: f24, count: u24):\n  return total / count\n", "count", 2, /^B0301: expected `f24`.*hint: convert it with `u24\/to_f24`/s],
  ["bend", "def main():\n  total = 1.5\n  return total / count\n", "count", 3, /^B0201/],
  ["gir", "kernel @f(%x: buffer) workgroup(4) {\n  store.u32 %x[%y], 2\n}\n", "%y", 2, /^B\d+/],
  ["py", "import triton\nimport triton.language as tl\n\n@triton.jit\ndef f(x_ptr):\n    tl.store(x_ptr, unknown)\n\n# run: f[1](x_ptr=f32.zeros(1))\n", "unknown", 6, /^B\d+/],
  ["hvm", "@main = (a @other)\n", "@other", 1, /^B\d+/],
];

async function errors(browser) {
  for (const [language, source, underlined, line, said] of MISTAKES) {
    const page = await open(browser, await program(source, language));
    await statusIs(page, /^1 error/);
    const wrong = page.locator(".cm-lintRange-error").first();
    assert.equal(await wrong.textContent(), underlined, source);
    await wrong.hover();
    assert.match(await page.locator(".cm-tooltip").textContent(), said);
    assert.match(await text(page, "diagnostics"), new RegExp(`main\\.${language}:${line}:`));
    await close(page);
  }
  const page = await open(browser);
  // While it runs, too.
  const divides = "def divide(n: u24) -> u24:\n  return 100 / n\n\ndef main() -> u24:\n  return divide(0)\n";
  await page.goto(address + (await program(divides)));
  await statusIs(page, "Nothing is wrong.");
  await run(page);
  assert.match(await text(page, "diagnostics"), /B0501.*division by zero/);
  assert.match(await page.locator(".cm-lintRange-error").first().textContent(), /100 \/ n/);
  await close(page);
}

const ENDLESS = "def main():\n  return go(0)\n\ndef go(n):\n  if n == 1:\n    return n\n  else:\n    return go(n * 2)\n";

/** A program that never ends is stopped, wherever it runs, by the button and by the keyboard; and so is the compiler. */
async function stops(browser) {
  const page = await open(browser, await program(ENDLESS));
  for (const device of ["worker", "webgpu"]) {
    await page.selectOption("#device", device);
    await page.locator("#run", { hasText: "Run" }).click();
    await statusIs(page, "Running");
    // The page answers meanwhile.
    await page.click("#tab-core");
    await page.locator("#panel-core").waitFor();
    if (device === "worker") await page.click("#stop");
    else for (const key of ["Escape", "Escape"]) await page.keyboard.press(key);
    await statusIs(page, "Stopped.");
    // Nothing is left to be stopped when the text is checked again.
    await page.locator("#stop:disabled").waitFor();
  }
  await page.goto(address + (await program("def main():\n  return 6 * 7\n")));
  await statusIs(page, "Nothing is wrong.");
  await page.click("#tab-result");
  await run(page);
  assert.equal(await text(page, "result"), "Result: 42");
  await close(page);
}

/** A shader whose kernel is compiled, which takes minutes: nothing plays yet, and the worker waits for the device. The adapter goes on with it, so the browser is not used any more. */
async function stopsTheCompiler() {
  const browser = await launch(WEBGPU);
  const page = await open(browser, await program(examples.find(({ file }) => file.endsWith("shadows.bend")).text));
  await page.locator("#run", { hasText: "Play" }).click();
  await page.waitForFunction(() => girihQuestions.some(({ verb, isOpen }) => verb === "frame" && isOpen));
  await page.click("#stop");
  await statusIs(page, "Stopped.");
  assert.equal(await page.locator("#canvas[data-time]").count(), 0);
  assert.equal(await text(page, "trouble"), "");
  assert.deepEqual(page.messages, []);
  await browser.close();
}

async function links(browser) {
  const source = "def main():\n  return \"λ 🌷\"\n";
  const page = await open(browser, await program(source));
  await page.click("#share");
  await page.locator("#shared", { hasText: /[Ll]ink/ }).waitFor();
  // A check that ends later does not take its place.
  await page.selectOption("#device", "worker");
  await answered(page, "check", 2);
  assert.match(await text(page, "shared"), /[Ll]ink/);
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

/** The languages' words have colours, light and dark; on a phone nothing is wider than the screen; what Link answers is in sight. */
async function looks(browser) {
  const backgrounds = new Set();
  for (const colorScheme of ["light", "dark"]) {
    const page = await open(browser, "", { colorScheme, viewport: { width: 390, height: 844 } });
    await page.selectOption("#device", "worker");
    for (const name of ["sort.bend", "softmax.py", "softmax.gir", "square.hvm"]) {
      await page.selectOption("#examples", String(examples.findIndex(({ file }) => file.endsWith(`web/examples/${name}`))));
      // The language's words get their colours when its parser has been loaded.
      const words = page.locator(".cm-line span");
      await words.nth(name.endsWith(".hvm") ? 1 : 7).waitFor({ state: "attached" });
      const colours = await words.evaluateAll((words) => words.map((word) => getComputedStyle(word).color));
      assert.ok(new Set(colours).size >= (name.endsWith(".hvm") ? 2 : 4), `${name}: ${[...new Set(colours)]}`);
      await answered(page, "check", 1);
      const [wide, screen] = await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth]);
      assert.ok(wide <= screen, `${name}: ${wide} of ${screen} pixels`);
    }
    backgrounds.add(await page.evaluate(() => getComputedStyle(document.body).backgroundColor));
    await page.click("#share");
    const shared = page.locator("#shared", { hasText: /[Ll]ink/ });
    await shared.waitFor();
    const { y, height } = await shared.boundingBox();
    assert.ok(y + height <= 844 + (await page.evaluate("scrollY")), "the answer is in sight");
    await close(page);
  }
  assert.equal(backgrounds.size, 2, "light and dark differ");
}

/** The page's policy lets no text become code, and what is loaded is small. */
async function policy(browser) {
  const page = await blank(browser);
  await page.goto(address);
  await page.locator("body[data-ready=true]").waitFor();
  const policy = await page.locator("meta[http-equiv=Content-Security-Policy]").getAttribute("content");
  assert.match(policy, /^default-src 'none'; script-src 'self' 'wasm-unsafe-eval';/);
  assert.doesNotMatch(policy, /'unsafe-(eval|inline)'/);
  // A timer with a text is code from a text: it is refused, and an event tells. The worker has the policy from its server.
  const refused = () =>
    new Promise((told) => {
      globalThis.told = told;
      addEventListener("securitypolicyviolation", ({ blockedURI }) => told(blockedURI), { once: true });
      setTimeout("told('It has run.')");
    });
  for (const place of [page, ...page.workers()]) assert.equal(await place.evaluate(refused), "eval");
  const module = gzipSync(Buffer.from(await (await fetch(new URL("compiler_bg.wasm", address))).arrayBuffer()), { level: 9 });
  assert.ok(module.length < MOST_BYTES, `the compiler has ${module.length} bytes, compressed`);
  await page.close();
}

/** Everything runs in the worker, and the page says why. */
async function inTheWorker(page, why) {
  const notice = await text(page, "notice");
  assert.match(notice, /^There is no WebGPU here: .*\. Everything runs in the worker.*Chrome and Edge from 137/);
  assert.match(notice, why);
  assert.equal(await page.inputValue("#device"), "worker");
  assert.ok(await page.locator("#device option[value=webgpu]").evaluate((option) => option.disabled));
  await run(page);
  assert.match(await text(page, "result"), /^Result: \[4, 15, 26/);
  await page.goto(address + (await program(examples.find(({ file }) => file.endsWith("softmax.gir")).text, "gir")));
  // It has run when its result is there, which says what it was.
  await statusIs(page, "Nothing is wrong.");
  await run(page);
  assert.match(await text(page, "result"), /%x = f32\[/);
  await page.goto(address + (await program("def shader(x: u24, y: u24, t: f24) -> u24:\n  return x + y\n")));
  await page.locator("#run", { hasText: "Play" }).click();
  await page.locator("#canvas[data-time]").waitFor();
  await close(page);
}

async function withoutWebgpu() {
  const browser = await launch(WITHOUT_WEBGPU);
  const sort = await program(examples.find(({ file }) => file.endsWith("sort.bend")).text);
  await inTheWorker(await open(browser, sort), /this browser has no WebGPU|no adapter/);
  await browser.close();
}

/** A browser with WebGPU that cannot suspend WebAssembly. */
async function withoutSuspending(browser) {
  const page = await blank(browser);
  await page.route("**/worker.js", async (route) => {
    const answer = await route.fetch();
    await route.fulfill({ response: answer, body: `delete WebAssembly.Suspending; ${await answer.text()}` });
  });
  await page.goto(address + (await program(examples.find(({ file }) => file.endsWith("sort.bend")).text)));
  await page.locator("body[data-ready=true]").waitFor();
  await inTheWorker(page, /cannot suspend/);
}

const parts = [
  programs, forms, errors, stops, stopsTheCompiler, links, waits, coarse, loses, nets, keyboard, looks, policy, shaders, shadersOnWebgpu, withoutSuspending, withoutWebgpu,
];
await each(parts, wanted);
