// Chromium for the tests, and what a page asks its workers: so that a test waits for an answer, and not for some time.

import assert from "node:assert/strict";
import { chromium } from "playwright-core";
import { toFragment } from "../page/link.mjs";

/** WebGPU's software adapter. A pipeline takes it seconds, after which the browser's watchdog would end it on a busy machine. */
export const WEBGPU = ["--disable-gpu-watchdog", "--enable-unsafe-webgpu", "--use-webgpu-adapter=swiftshader", "--enable-features=Vulkan"];
export const WITHOUT_WEBGPU = ["--disable-gpu", "--disable-features=WebGPU"];
/** What a machine with two cores needs for anything here, many times over: it only ends what hangs. */
export const PATIENCE = 240_000;

/** Chromium is `CHROMIUM`, or `chromium` on the path. */
export const launch = (flags) =>
  chromium.launch({ executablePath: process.env.CHROMIUM || "/usr/bin/chromium", args: ["--no-sandbox", ...flags] });

/** In the page, before its own scripts: notes each question to a worker, and whether it was answered. */
function note() {
  const questions = [];
  globalThis.girihQuestions = questions;
  globalThis.Worker = class extends Worker {
    constructor(...given) {
      super(...given);
      this.addEventListener("message", ({ data: { id } }) => {
        const asked = questions.find((question) => question.worker === this && question.id === id);
        if (asked) asked.isOpen = false;
      });
    }
    postMessage(question, ...given) {
      questions.push({ worker: this, id: question.id, verb: question.verb, isOpen: true });
      super.postMessage(question, ...given);
    }
    terminate() {
      for (const question of questions) if (question.worker === this) question.isOpen = false;
      super.terminate();
    }
  };
}

/** A page that is not opened yet. Its `messages` are what it says on the console. */
export async function blank(browser, options = {}) {
  const page = await browser.newPage(options);
  page.setDefaultTimeout(PATIENCE);
  await page.addInitScript(note);
  page.messages = [];
  page.on("console", (message) => page.messages.push(`${message.type()}: ${message.text()}`));
  page.on("pageerror", (error) => page.messages.push(String(error)));
  return page;
}

/** What opens a page of an address, and waits until it has begun. What it says on the console is an error. */
export const opener =
  (address) =>
  async (browser, fragment = "", options = {}) => {
    const page = await blank(browser, options);
    await page.goto(address + fragment);
    await page.locator("body[data-ready=true]").waitFor();
    return page;
  };

export async function close(page) {
  assert.deepEqual(page.messages, [], "the page says something on the console");
  await page.close();
}

export const text = (page, id) => page.locator(`#${id}`).textContent();
export const statusIs = (page, pattern) => page.locator("#status", { hasText: pattern }).waitFor();
/** The fragment of a program. */
export const program = (text, language = "bend") => toFragment({ language, text });

/** Runs what is in the editor. */
export async function run(page) {
  await page.locator("#run", { hasText: "Run" }).click();
  await statusIs(page, /The program has/);
}

/** Calls the parts of a test that are wanted, all but those named `-NAME`, or all, with a browser. */
export async function each(parts, wanted) {
  const left = wanted.filter((name) => name.startsWith("-"));
  const isWanted = ({ name }) => (left.length === wanted.length ? !left.includes(`-${name}`) : wanted.includes(name));
  const browser = await launch(WEBGPU);
  try {
    for (const part of parts.filter(isWanted)) {
      await part(browser);
      console.log(`${part.name}: passed`);
    }
  } finally {
    await browser.close();
  }
}

/** What the workers were asked, in turn. */
export const asked = (page) => page.evaluate(() => girihQuestions.map(({ verb }) => verb));

/** Waits until they were asked something so many times, and have answered all. */
export const answered = (page, verb, times) =>
  page.waitForFunction(
    ([verb, times]) =>
      girihQuestions.every(({ isOpen }) => !isOpen) && girihQuestions.filter((question) => question.verb === verb).length >= times,
    [verb, times],
  );
