// Writes the page into a folder, beside the compiler that is there already: `node bundle.mjs FOLDER`.

import { build } from "esbuild";
import { copyFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { examples } from "./examples.mjs";

const folder = process.argv[2];
const page = (name) => new URL(`page/${name}`, import.meta.url).pathname;

await build({
  entryPoints: { page: page("page.mjs"), worker: page("worker.mjs") },
  outdir: folder,
  bundle: true,
  minify: true,
  format: "esm",
  target: "es2022",
  // The glue lies beside the worker, and loads the compiler from there.
  external: ["./compiler.js"],
  legalComments: "linked",
  logLevel: "warning",
});
for (const name of ["index.html", "style.css", "icon.svg"]) await copyFile(page(name), join(folder, name));
await writeFile(join(folder, "examples.json"), JSON.stringify(await examples()));
