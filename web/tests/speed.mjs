// How long a reader waits: `node speed.mjs ADDRESS`, where ADDRESS is where the page is served. Prints medians, in milliseconds, on WebGPU's software adapter and without WebGPU.
//
// The first picture: from opening a page whose files the browser has, with the shader of the first example. Typing: from a key to the picture of the new text.

import { WEBGPU, WITHOUT_WEBGPU, launch } from "./browser.mjs";

const [address] = process.argv.slice(2);
const TIMES = 7;
const median = (values) => values.toSorted((a, b) => a - b)[values.length >> 1];

/** In the page: when the next picture of a text that was made ready anew is there. */
const nextPicture = () =>
  new Promise((found) => {
    let isNew = false;
    const observer = new MutationObserver((changes) => {
      isNew ||= changes.some(({ attributeName }) => attributeName === "width");
      if (!isNew || !changes.some(({ attributeName }) => attributeName === "data-time")) return;
      observer.disconnect();
      found(performance.now());
    });
    observer.observe(document.getElementById("canvas"), { attributes: true, attributeFilter: ["width", "data-time"] });
  });

async function firstPicture(context) {
  const page = await context.newPage();
  await page.goto(address);
  await page.locator("#canvas[data-time]").waitFor({ timeout: 120_000 });
  const at = await page.evaluate("performance.now()");
  return { page, at };
}

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
    typing.push((await picture) - begun);
  }
  console.log(`${where}: first picture, warm: ${Math.round(median(first))} ms (${first.map(Math.round).join(", ")})`);
  console.log(`${where}: typing to a new picture: ${Math.round(median(typing))} ms (${typing.map(Math.round).join(", ")})`);
  await browser.close();
}

await measure("software adapter", WEBGPU);
await measure("without WebGPU", WITHOUT_WEBGPU);
