// Compiles a folder of WGSL by Tint and a Vulkan driver of this machine: `node dawn.mjs FOLDER`.
//
// The npm package `webgpu` is Chromium's WebGPU without Chromium; it may be installed anywhere (`DAWN`, the folder of
// the package). Unlike Chromium it takes any driver, so that also kernels with `enable f16` are compiled on lavapipe.

import { pathToFileURL } from "node:url";
import { join, resolve } from "node:path";
import { compile, open } from "./compiler.mjs";
import { Sheets } from "./sheets.mjs";

const sheets = await Sheets.open();
const folder = process.env.DAWN;
const { create, globals } = await import(folder ? pathToFileURL(join(resolve(folder), "index.js")) : "webgpu");
const gpu = create(["backend=vulkan"]);
Object.assign(globalThis, globals, { gpu }); // Devices end with the object that made them: it must not be collected.
const { device, about } = await open(gpu);
console.log(about);
for (const file of sheets.files) {
  sheets.report({ file, ...(await compile(device, await sheets.read(file))) });
}
sheets.end();
