// How long a reader waits: `node speed.mjs ADDRESS`, where ADDRESS is where the page is served. Prints medians, in milliseconds, on WebGPU's software adapter and without WebGPU.
//
// The first picture: from opening a page whose files the browser has, with the shader of the first example. Typing: from a key to the picture of the new text. For both, when the coarse
// picture is there, and when the whole one is.

import { WEBGPU, WITHOUT_WEBGPU, launch } from "./browser.mjs";

const [address] = process.argv.slice(2);
const TIMES = 7;
const median = (values) => values.toSorted((a, b) => a - b)[values.length >> 1];

/** In the page: when the next picture of a text that was made ready anew is there, first coarse and then whole. */
const nextPicture = () =>
  new Promise((found) => {
    let coarse = null;
    const observer = new MutationObserver((changes) => {
      if (changes.some(({ attributeName }) => attributeName === "data-preview")) coarse = performance.now();
      if (coarse === null || !changes.some(({ attributeName }) => attributeName === "data-time")) return;
      observer.disconnect();
      found([coarse, performance.now()]);
    });
    observer.observe(document.getElementById("canvas"), { attributes: true, attributeFilter: ["data-preview", "data-time"] });
  });

/** In the page, before its scripts: notes when the first pictures are there. */
const noteFirst = () => {
  const observer = new MutationObserver((changes) => {
    for (const { attributeName, target } of changes) {
      if (target.id === "canvas") window[attributeName] ??= performance.now();
    }
  });
  observer.observe(document, { subtree: true, attributes: true, attributeFilter: ["data-preview", "data-time"] });
};

async function firstPicture(context) {
  const page = await context.newPage();
  await page.addInitScript(noteFirst);
  await page.goto(address);
  await page.locator("#canvas[data-time]").waitFor({ timeout: 120_000 });
  return { page, at: await page.evaluate(() => [window["data-preview"], window["data-time"]]) };
}

const rounded = (values) => `${Math.round(median(values))} ms (${values.map(Math.round).join(", ")})`;
const told = (pairs) => `coarse ${rounded(pairs.map(([coarse]) => coarse))}, whole ${rounded(pairs.map(([, whole]) => whole))}`;

async function measure(where, flags) {
  const browser = await launch(flags);
  const context = await browser.newContext();
  (await firstPicture(context)).page.close();
  const first = [];
  let open;
  for (let turn = 0; turn < TIMES; turn++) {
    await open?.close();
    const { page, at } = await firstPicture(context);
    open = page;
    first.push(at);
  }
  const typing = [];
  await open.locator(".cm-content").focus();
  for (let turn = 0; turn < TIMES; turn++) {
    const picture = open.evaluate(nextPicture);
    const begun = await open.evaluate("performance.now()");
    await open.keyboard.press("Enter");
    typing.push((await picture).map((at) => at - begun));
  }
  console.log(`${where}: first picture, warm: ${told(first)}`);
  console.log(`${where}: typing to a new picture: ${told(typing)}`);
  await browser.close();
}

await measure("software adapter", WEBGPU);
await measure("without WebGPU", WITHOUT_WEBGPU);
