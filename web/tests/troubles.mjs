// What goes wrong on the page, in Chromium: `node troubles.mjs ADDRESS [PART...]`, where ADDRESS is where the page is served, and a PART is a function below.
//
// Nothing waits for some time, as in `page.mjs`.

import assert from "node:assert/strict";
import { answered, asked, close, each, opener, program, statusIs, text } from "./browser.mjs";

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

await each([fragments], wanted);
