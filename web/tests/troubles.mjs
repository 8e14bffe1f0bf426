// What goes wrong on the page, in Chromium: `node troubles.mjs ADDRESS [PART...]`, where ADDRESS is where the page is served, and a PART is a function below.
//
// Nothing waits for some time, as in `page.mjs`.

import assert from "node:assert/strict";
import { WITHOUT_WEBGPU, asked, blank, close, each, launch, opener, program, run, statusIs, text } from "./browser.mjs";

const [address, ...wanted] = process.argv.slice(2);
const open = opener(address);
const SHADER = "width = 8\nheight = 8\ndef shader(x: u24, y: u24, t: f24) -> u24:\n  return x + y\n";

/** What came by a link does not run when the address changes to one that holds no program. */
async function fragments(browser) {
  const page = await open(browser, await program(SHADER));
  await page.locator("#rate", { hasText: "Play runs it" }).waitFor();
  // Whoever follows this event later sees what the page has made of it.
  await page.evaluate(() => new Promise((done) => {
    addEventListener("hashchange", done, { once: true });
    location.hash = "#x";
  }));
  // A fragment that is a program comes after it, and is opened: so the one before was read.
  await page.evaluate((hash) => (location.hash = hash), await program("def main():\n  return 1\n"));
  await page.locator("#run", { hasText: "Run" }).waitFor();
  assert.deepEqual(new Set(await asked(page)), new Set(["device", "check"]), "nobody has asked for it");
  assert.equal(await page.locator("#canvas[data-time]").count(), 0);
  await close(page);
}

/** Writes without end: much at a time, and each character alone. */
const endless = (line) => `def go() -> IO(u24):
  with IO:
    * <- IO/print("${line}")
    return go()

def main() -> IO(u24):
  return go()
`;
/** The most characters that the page keeps. */
const MOST_KEPT = 1 << 17;

/** A program that writes without end is stopped as any other; of what it has written the last part is kept, and the page says so. */
async function floods(browser) {
  for (const line of ["0123456789".repeat(100) + "\\n", "x"]) {
    const page = await open(browser, await program(endless(line)));
    await page.selectOption("#device", "worker");
    await page.locator("#run", { hasText: "Run" }).click();
    await page.locator("#cut").waitFor();
    await page.click("#stop");
    await statusIs(page, "Stopped.");
    assert.equal((await text(page, "output")).length, MOST_KEPT);
    await close(page);
  }
}

/** What a program writes in many pieces comes whole, and in its order. */
async function writes(browser) {
  const loop = `def go(n: u24) -> IO(u24):
  if n == 0:
    with IO:
      return wrap(7)
  else:
    with IO:
      * <- IO/print(u24/to_string(n))
      * <- IO/print("\\n")
      return go(n - 1)

def main() -> IO(u24):
  return go(2000)
`;
  const page = await open(browser, await program(loop));
  await page.selectOption("#device", "worker");
  await run(page);
  assert.equal(await text(page, "output"), Array.from({ length: 2000 }, (_, at) => `${2000 - at}\n`).join(""));
  assert.ok(await page.locator("#cut").isHidden());
  await close(page);
}

const ENDLESS = "def main():\n  return go(0)\n\ndef go(n):\n  if n == 1:\n    return n\n  else:\n    return go(n * 2)\n";

/** Another text ends a program that never ends; and after Stop the page says what was asked meanwhile. */
async function leaves(browser) {
  const page = await open(browser, await program(ENDLESS));
  await page.selectOption("#device", "worker");
  await page.locator("#run", { hasText: "Run" }).click();
  await statusIs(page, "Running");
  // Neither the form nor the mistake is known while it runs.
  await page.click("#tab-core");
  await page.locator(".cm-content").focus();
  await page.keyboard.press("Control+End");
  await page.keyboard.type("mistake");
  await page.click("#stop");
  await page.locator("#diagnostics", { hasText: "error" }).waitFor({ state: "attached" });
  await page.locator("#panel-core pre", { hasText: "error" }).waitFor();
  assert.equal(await text(page, "status"), "Stopped.");
  await close(page);
  const other = await open(browser, await program(ENDLESS));
  await other.selectOption("#device", "worker");
  await other.locator("#run", { hasText: "Run" }).click();
  await statusIs(other, "Running");
  await other.selectOption("#examples", { label: await other.locator("#examples option").nth(-1).textContent() });
  await statusIs(other, "Nothing is wrong.");
  await close(other);
}

/** A module, or a worker, that cannot be loaded is told, with what to do; and nothing waits for it. */
async function absent(browser) {
  for (const name of ["compiler_bg.wasm", "worker.js"]) {
    const page = await blank(browser);
    await page.route(`**/${name}`, (route) => route.abort());
    await page.goto(address);
    await page.locator("#notice", { hasText: /The browser could not load the compiler: .+\. Reload the page/ }).waitFor();
    await page.locator("body[data-ready=true]").waitFor();
    await page.click("#run");
    await page.waitForFunction(() => document.getElementById("stop").disabled);
    await page.unroute(`**/${name}`);
    await page.reload();
    await page.locator("#canvas[data-preview]").waitFor();
    assert.ok(!(await text(page, "notice")).includes("could not load"));
    await page.close();
  }
}

/** The number of LEB128 at a place, and where the next thing is. */
function number(bytes, at) {
  let value = 0;
  for (let shift = 0; ; shift += 7) {
    value |= (bytes[at] & 0x7f) << shift;
    if (bytes[at++] < 0x80) return [value, at];
  }
}

/** A number as LEB128. */
const encoded = (value) => (value < 0x80 ? [value] : [(value & 0x7f) | 0x80, ...encoded(value >> 7)]);

/** A module whose memory grows by so many pages of 64 KiB at most. */
function bounded(module, pages) {
  const MEMORY = 5;
  for (let at = 8; at < module.length; ) {
    const [size, begin] = number(module, at + 1);
    if (module[at] === MEMORY) {
      // One memory, without a limit: `1 0 least`. With one it is `1 1 least most`.
      assert.deepEqual([...module.subarray(begin, begin + 2)], [1, 0]);
      const [least] = number(module, begin + 2);
      const section = [1, 1, ...encoded(least), ...encoded(least + pages)];
      return Buffer.concat([module.subarray(0, at), Buffer.from([MEMORY, ...encoded(section.length), ...section]), module.subarray(begin + size)]);
    }
    at = begin + size;
  }
  throw new Error("the module has no memory");
}

/** A program that needs more memory than there is: the page says so, and goes on. The browser gives much, so the module is given less. */
async function fills(browser) {
  const page = await blank(browser);
  await page.route("**/compiler_bg.wasm", async (route) => {
    const response = await route.fetch();
    await route.fulfill({ response, body: bounded(await response.body(), 512) });
  });
  const grows =
    "def go(n: u24, xs: List(u24)) -> u24:\n  if n == 1:\n    return 0\n  else:\n    return go(n * 2, List/Cons(n, xs))\n\ndef main() -> u24:\n  return go(0, [])\n";
  await page.goto(address + (await program(grows)));
  await page.locator("body[data-ready=true]").waitFor();
  await page.selectOption("#device", "worker");
  await page.locator("#run", { hasText: "Run" }).click();
  await page.locator("#diagnostics", { hasText: "the program needs more memory than the browser gives; make its data smaller" }).waitFor();
  await page.goto(address + (await program("def main():\n  return 6 * 7\n")));
  await statusIs(page, "Nothing is wrong.");
  await run(page);
  assert.equal(await text(page, "result"), "Result: 42");
  await close(page);
}

/** Links that are not opened, and what is said of each. */
const REFUSED = [
  ["#1,bend,AAAA", /The link is damaged/],
  ["#2,bend,AAAA", /This page does not know such a link: it is of version 2\. Open it in/],
  ["#1,basic,AAAA", /This page does not know such a link: it holds a program in the language “basic”\. Open it in/],
];

/** What is wrong with a link is said, also where there is no WebGPU; until something else is opened. */
async function refused() {
  const browser = await launch(WITHOUT_WEBGPU);
  for (const [fragment, said] of REFUSED) {
    const page = await open(browser, fragment);
    const notice = await text(page, "notice");
    assert.match(notice, said);
    assert.match(notice, /There is no WebGPU here/);
    await page.selectOption("#examples", "1");
    await page.waitForFunction(() => !/link/.test(document.getElementById("notice").textContent));
    assert.match(await text(page, "notice"), /There is no WebGPU here/);
    await close(page);
  }
  const page = await open(browser, "#elsewhere", { viewport: { width: 390, height: 844 } });
  assert.doesNotMatch(await text(page, "notice"), /link/);
  // On a phone the notice takes little, and nothing when it was read.
  const top = async () => (await page.locator("main").boundingBox()).y;
  assert.ok((await top()) <= 230, `${await top()} pixels`);
  await page.click("#seen");
  await page.locator("#notice").waitFor({ state: "hidden" });
  assert.ok((await top()) <= 150, `${await top()} pixels`);
  await close(page);
  await browser.close();
}

const current = (page) => page.locator("[role=tab][aria-selected=true]").textContent();

/** A key in a shader leaves the tab that is read, and what it shows follows the text. A picture that went because of a mistake comes back. */
async function tabs(browser) {
  const page = await open(browser, await program(SHADER));
  await page.selectOption("#device", "worker");
  await page.click("#run");
  await page.locator("#canvas[data-time]").waitFor();
  assert.equal(await current(page), "Picture");
  await page.click("#tab-wgsl");
  const before = await page.locator("#panel-wgsl pre", { hasText: "@compute" }).textContent();
  await page.evaluate("delete canvas.dataset.time");
  await page.locator(".cm-content").focus();
  await page.keyboard.press("Control+End");
  await page.keyboard.press("Backspace");
  await page.keyboard.type(" + 3");
  await page.locator("#canvas[data-time]").waitFor({ state: "attached" });
  await page.waitForFunction((before) => document.querySelector("#panel-wgsl pre").textContent !== before, before);
  assert.equal(await current(page), "WGSL");
  await page.click("#tab-picture");
  await page.locator(".cm-content").focus();
  await page.keyboard.type(" +");
  await page.locator("#tab-picture").waitFor({ state: "hidden" });
  assert.equal(await current(page), "Result");
  await page.keyboard.type(" 1");
  await page.locator("#panel-picture").waitFor();
  await close(page);
}

/** The picture of a net is as large as it is drawn: it is scrolled, and the page is not. */
async function scrolls(browser) {
  const pairs = Array.from({ length: 16 }, (_, at) => `(${at} `).join("");
  const page = await open(browser, await program(`@main = ${pairs}*${")".repeat(16)}\n`, "hvm"), { viewport: { width: 390, height: 844 } });
  await page.click("#tab-net");
  await page.locator("#drawing[alt]:not([alt=''])").waitFor();
  await page.evaluate(() => drawing.decode());
  const [shown, natural, panel] = await page.evaluate(() => [drawing.clientWidth, drawing.naturalWidth, document.getElementById("drawn").clientWidth]);
  assert.ok(natural > panel, "it is wider than its place");
  assert.equal(shown, natural);
  const [wide, screen] = await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth]);
  assert.ok(wide <= screen, `${wide} of ${screen} pixels`);
  await close(page);
}

await each([fragments, floods, writes, leaves, absent, fills, refused, tabs, scrolls], wanted);
