// Writes the page, and the npm package, into two folders: `node bundle.mjs FOLDER PACKAGE`. The compiler is in the first one already.

import { build } from "esbuild";
import { copyFile, mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { examples } from "./examples.mjs";

const [folder, packed] = process.argv.slice(2);
const here = (name) => new URL(name, import.meta.url).pathname;
const page = (name) => here(`page/${name}`);

const bundled = {
  bundle: true,
  minify: true,
  format: "esm",
  target: "es2022",
  // The glue lies beside the worker, and loads the compiler from there.
  external: ["./compiler.js"],
  legalComments: "linked",
  logLevel: "warning",
};
await build({ ...bundled, entryPoints: { page: page("page.mjs"), worker: page("worker.mjs") }, outdir: folder });
for (const name of ["index.html", "style.css", "icon.svg"]) await copyFile(page(name), join(folder, name));
await writeFile(join(folder, "examples.json"), JSON.stringify(await examples()));

// The package has the same compiler. Its two entries share what both need, so that each error has one class.
await mkdir(packed, { recursive: true });
const entries = { girih: here("package/girih.mjs"), element: here("package/element.mjs") };
await build({ ...bundled, entryPoints: entries, outdir: packed, splitting: true, chunkNames: "[name]" });
for (const name of ["worker.js", "compiler.js", "compiler_bg.wasm"]) await copyFile(join(folder, name), join(packed, name));
for (const name of ["package.json", "README.md", "girih.d.ts", "element.d.ts"]) {
  await copyFile(here(`package/${name}`), join(packed, name));
}
for (const name of ["LICENSE-MIT", "LICENSE-APACHE"]) await copyFile(here(`../${name}`), join(packed, name));
