// Tests the npm package: `node package.mjs FOLDER`, where FOLDER is what `web/build.sh` has written. It is packed and unpacked; `tsc` checks a sample against its
// types; and a page with `<girih-shader>` runs in Chromium, with WebGPU's software adapter.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { cp, mkdir, mkdtemp, readFile, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { WEBGPU, answered, asked, blank, launch } from "./browser.mjs";
import { serve } from "./serve.mjs";

const folder = resolve(process.argv[2]);
const here = (name) => fileURLToPath(new URL(name, import.meta.url));
/** The lines of the sample page that a user writes for a live shader, at most. */
const MOST_LINES = 50;

/** The package as a user gets it. */
async function unpacked(place) {
  const [{ filename, files, version }] = JSON.parse(
    execFileSync("npm", ["pack", "--json", "--pack-destination", place, folder], { encoding: "utf8" }),
  );
  const names = files.map(({ path }) => path).sort();
  for (const name of ["girih.js", "girih.d.ts", "element.js", "element.d.ts", "worker.js", "compiler_bg.wasm", "LICENSE-MIT", "README.md"]) {
    assert.ok(names.includes(name), `${name} is not in ${names}`);
  }
  const cargo = await readFile(here("../../Cargo.toml"), "utf8");
  assert.equal(version, /^version = "(.*)"$/m.exec(cargo)[1], "the package has the version of the crates");
  execFileSync("tar", ["-xzf", join(place, filename), "-C", place]);
  return join(place, "package");
}

async function types(place, packed) {
  await mkdir(join(place, "node_modules"));
  await cp(packed, join(place, "node_modules/girih"), { recursive: true });
  await cp(here("sample/sample.ts"), join(place, "sample.ts"));
  const tsc = here("../node_modules/typescript/bin/tsc");
  const flags = ["--noEmit", "--strict", "--target", "es2022", "--module", "esnext", "--moduleResolution", "bundler", "--lib", "es2022,dom"];
  execFileSync(process.execPath, [tsc, ...flags, "sample.ts"], { cwd: place, stdio: "inherit" });
}

async function site(place, packed) {
  const root = join(place, "site");
  await cp(here("sample"), root, { recursive: true });
  await cp(packed, join(root, "girih"), { recursive: true });
  return root;
}

async function element(page) {
  const shader = page.locator("girih-shader");
  const canvas = shader.locator("canvas");
  await page.locator("girih-shader canvas[data-time]").waitFor();
  // It plays, until it is clicked.
  await page.waitForFunction(() => Number(document.querySelector("girih-shader").shadowRoot.querySelector("canvas").dataset.time) > 1);
  await canvas.click();
  assert.equal(await shader.getAttribute("paused"), "");
  // What was asked before the click is answered, and nothing is asked any more.
  await answered(page, "frame", 1);
  const frames = (await asked(page)).length;
  const [time, pixels] = await canvas.evaluate((canvas) => [
    Number(canvas.dataset.time),
    Array.from(canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data),
  ]);
  const right = Array.from({ length: 64 }, (_, at) => [Math.floor(time), 0, (at % 8) * (at >> 3), 255]).flat();
  assert.deepEqual(pixels, right, `at ${time}`);
  assert.equal((await asked(page)).length, frames, "it stands still");
  // What is no shader is said in its place.
  const wrong = page.evaluate(() => new Promise((said) => {
    const element = document.querySelector("girih-shader");
    element.addEventListener("error", ({ detail }) => said(detail.message), { once: true });
    element.setAttribute("src", "sample.ts");
  }));
  assert.match(await wrong, /sample|main\.bend/);
  assert.match(await shader.locator("pre").textContent(), /error/);
}

async function functions(page) {
  const got = await page.evaluate(async () => {
    const { compile, GirihError, Stopped } = await import("/girih/girih.js");
    const sum = await compile("def main(n: u24) -> u24:\n  return n * (n + 1) / 2\n");
    const first = (await sum.run([100])).result;
    const second = (await sum.run([3])).result;
    const refused = await sum.run(["x"]).catch((error) => error instanceof GirihError && error.findings[0].code);
    sum.close();
    const wrong = await compile("def main():\n  return b\n").catch((error) => error instanceof GirihError && error.findings[0].labels[0].place);
    const endless = await compile("def main():\n  return go(0)\n\ndef go(n):\n  if n == 1:\n    return n\n  else:\n    return go(n * 2)\n", { device: "worker" });
    const running = endless.run().catch((error) => error instanceof Stopped);
    await new Promise((next) => setTimeout(next, 300));
    endless.stop();
    const stopped = await running;
    endless.close();
    const net = await compile("@main = a & (7 a) ~ ({$([*] $(b r)) b} r)\n", { language: "hvm" });
    return { first, second, refused, wrong, stopped, net: (await net.run()).result };
  });
  const right = { first: "5050", second: "6", refused: "B0201", wrong: { from: 21, to: 22 }, stopped: true, net: "49" };
  assert.deepEqual(got, right);
}

/** Without the module, what was asked and what is asked later is rejected; and so is what is asked of a program that was closed. */
async function refusals(browser, address) {
  const page = await blank(browser);
  await page.route("**/compiler_bg.wasm", (route) => route.abort());
  await page.goto(new URL("sample.ts", address).href);
  const got = await page.evaluate(async () => {
    const { compile, device, Unloaded } = await import("/girih/girih.js");
    const why = (error) => error instanceof Unloaded && error.message;
    return [await compile("def main():\n  return 1\n").catch(why), await device().catch(why)];
  });
  for (const message of got) assert.match(message, /^the browser could not load the compiler: ./);
  await page.unroute("**/compiler_bg.wasm");
  const isStopped = await page.evaluate(async () => {
    const { compile, Stopped } = await import("/girih/girih.js");
    const program = await compile("def main():\n  return 1\n", { device: "worker" });
    program.close();
    return program.run().catch((error) => error instanceof Stopped);
  });
  assert.equal(isStopped, true);
  await page.close();
}

const place = await mkdtemp(join(tmpdir(), "girih-npm-"));
try {
  const packed = await unpacked(place);
  console.log(`packed: ${(await readdir(packed)).join(" ")}`);
  await types(place, packed);
  console.log("types: passed");
  const lines = (await readFile(here("sample/index.html"), "utf8")).trim().split("\n").length;
  assert.ok(lines < MOST_LINES);
  const [address, close] = await serve(await site(place, packed));
  const browser = await launch(WEBGPU);
  const page = await blank(browser);
  await page.goto(address);
  for (const part of [element, functions]) {
    await part(page);
    console.log(`${part.name}: passed`);
  }
  await refusals(browser, address);
  console.log("refusals: passed");
  assert.deepEqual(page.messages, [], "the page says something on the console");
  await browser.close();
  close();
} finally {
  await rm(place, { recursive: true, force: true });
}
