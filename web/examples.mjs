// The examples that the page offers: all image shaders, and a program for each other thing that Girih runs.

import { readFile, readdir } from "node:fs/promises";
import { basename, extname } from "node:path";

const own = [
  ["Sort a list", "sort.bend"],
  ["Queens on a board", "queens.bend"],
  ["Sum of a tree", "tree_sum.bend"],
  ["Effects: hello", "hello.bend"],
  ["Superposition (a net)", "superposition.bend"],
  ["Square (a net as text)", "square.hvm"],
  ["Triton: softmax", "softmax.py"],
  ["Triton: matrix product", "matmul.py"],
  ["Softmax (a kernel of the IR)", "softmax.gir"],
];

/** Each with its title, its language, its text, and the file that it comes from, in the repository. */
export async function examples() {
  const root = new URL("../", import.meta.url);
  const shaders = (await readdir(new URL("shaders/", root))).filter((name) => name.endsWith(".bend")).sort();
  // The first one is what a visitor sees.
  shaders.sort((a, b) => Number(b === "plasma.bend") - Number(a === "plasma.bend"));
  const files = [
    ...shaders.map((name) => [`Shader: ${basename(name, ".bend")}`, `shaders/${name}`]),
    ...own.map(([title, name]) => [title, `web/examples/${name}`]),
  ];
  const read = async ([title, file]) => ({
    title,
    file,
    language: extname(file).slice(1),
    text: await readFile(new URL(file, root), "utf8"),
  });
  return Promise.all(files.map(read));
}
