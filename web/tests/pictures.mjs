// Takes the pictures of the documentation: `node pictures.mjs ADDRESS [FOLDER]`, where ADDRESS is where the page is served; `docs/images` if no folder is named.

import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { toFragment } from "../page/link.mjs";
import { WEBGPU, launch } from "./browser.mjs";

const [address, folder = fileURLToPath(new URL("../../docs/images", import.meta.url))] = process.argv.slice(2);
const examples = await (await fetch(new URL("examples.json", address))).json();
const example = (name) => examples.find(({ file }) => file.endsWith(name));
const average = "def average(xs: List(f24)) -> f24:\n  total, count = sum(xs)\n  return total / count\n\ndef sum(xs: List(f24)) -> (f24, u24):\n  fold xs:\n    case List/Nil:\n      return (0.0, 0)\n    case List/Cons:\n      total, count = xs.tail\n      return (total + xs.head, count + 1)\n\ndef main():\n  return average([1.0, 2.0, 6.0])\n";

const play = async (page) => {
  await page.locator("#run", { hasText: "Play" }).click();
  // The first picture takes as long as its kernel is compiled.
  for (const time of ["2", "3"]) {
    await page.fill("#time", time);
    await page.locator("#time").dispatchEvent("change");
    await page.locator(`#canvas[data-time="${time}"]`).waitFor();
  }
};
const run = async (page) => {
  await page.locator("#run", { hasText: "Run" }).click();
  await page.locator("#status", { hasText: "The program has ended." }).waitFor();
};
const pictures = [
  { name: "playground", program: example("plasma.bend"), then: play },
  { name: "playground-phone", program: example("plasma.bend"), then: play, phone: true },
  { name: "playground-dark", program: example("web/examples/softmax.py"), then: run, colorScheme: "dark" },
  {
    name: "playground-error",
    program: { language: "bend", text: average },
    then: async (page) => {
      await page.locator(".cm-lintRange-error").first().hover();
      await page.locator(".cm-tooltip").waitFor();
    },
  },
  {
    name: "playground-net",
    program: example("square.hvm"),
    then: async (page) => {
      await page.click("#tab-net");
      await page.fill("#step", "3");
      await page.locator("#step").dispatchEvent("change");
      await page.locator('#drawing[alt^="The net after 3 steps"]').waitFor();
    },
  },
];

const browser = await launch(WEBGPU);
for (const { name, program, then, phone, colorScheme = "light" } of pictures) {
  const viewport = phone ? { width: 390, height: 844 } : { width: 1180, height: 660 };
  const page = await browser.newPage({ viewport, colorScheme, deviceScaleFactor: phone ? 2 : 1 });
  await page.goto(address + (await toFragment(program)));
  await page.locator("body[data-ready=true]").waitFor();
  await then(page);
  await page.evaluate(() => (scrollTo(0, 0), document.activeElement.blur()));
  // A field that is left may ask for a picture once more.
  await page.locator("#stop:disabled").waitFor();
  await page.screenshot({ path: join(folder, `${name}.png`) });
  await page.close();
}
await browser.close();
