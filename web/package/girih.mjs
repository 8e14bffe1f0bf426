// The package: Bend programs, shaders, kernels and nets, compiled and run in a browser.
//
// Each program has a worker of its own, so one that never ends holds up nothing else, and can be ended.

import { Compiler, Stopped, Unloaded } from "../page/compiler.mjs";

export { Stopped, Unloaded };

/** What the compiler, or the run, says is wrong. */
export class GirihError extends Error {
  name = "GirihError";

  constructor({ text, findings }) {
    super(text);
    this.findings = findings;
  }
}

/** A compiled text. */
export class Program {
  #compiler;
  #file;
  #device;
  /** The shader that it is; null if it is none. */
  shader;
  /** Warnings. */
  findings;

  constructor(compiler, file, device, checked) {
    [this.#compiler, this.#file, this.#device] = [compiler, file, device];
    this.findings = checked.findings;
    this.shader = checked.shader && new Shader(compiler, file, device, checked.shader);
  }

  /** Runs it; `main` of a Bend program is applied to the arguments, which are expressions of Bend. */
  async run(args = [], { input = "", written = () => {} } = {}) {
    this.#compiler.written = written;
    const file = { ...this.#file, arguments: args.map(String) };
    const { result, choice, stats, ...said } = await this.#compiler.ask("run", file, this.#device, input);
    if (result === null) throw new GirihError(said);
    return { result, choice, stats };
  }

  /** Ends whatever runs: its promise is rejected with `Stopped`. The program can be run again. */
  stop() {
    this.#compiler.stop();
    this.shader?.forget();
  }

  /** Ends it for good, and gives its memory back. */
  close() {
    this.#compiler.close();
  }
}

/** An image shader. */
export class Shader {
  #compiler;
  #file;
  #device;
  /** The size that was made ready; a promise while it is. */
  #ready = null;
  /** The size that the program says its pictures have. */
  width;
  height;

  constructor(compiler, file, device, [width, height]) {
    [this.#compiler, this.#file, this.#device] = [compiler, file, device];
    [this.width, this.height] = [width, height];
  }

  /** Draws the picture at a time, in seconds, as large as the canvas is. */
  async frame(canvas, time) {
    const { width, height } = canvas;
    if (this.#ready?.width !== width || this.#ready?.height !== height) {
      this.#ready = { width, height, made: this.#make(canvas, time) };
    }
    const made = await this.#ready.made;
    if (!made.width) throw new GirihError(made);
    const { pixels, isLate, ...said } = await this.#compiler.ask("frame", time);
    if (isLate) return;
    if (!pixels) {
      this.forget();
      throw new GirihError(said);
    }
    // The canvas may have got another size meanwhile; the next picture has it.
    if (pixels.length !== 4 * canvas.width * canvas.height) return;
    canvas.getContext("2d").putImageData(new ImageData(pixels, width, height), 0, 0);
  }

  /** Makes it ready, for which a device may take seconds; a coarse picture stands there meanwhile. */
  async #make(canvas, time) {
    const { width, height } = canvas;
    const coarse = await this.#compiler.ask("preview", this.#file, [width, height], time);
    if (coarse) {
      const small = new OffscreenCanvas(coarse.width, coarse.height);
      small.getContext("2d").putImageData(new ImageData(coarse.pixels, coarse.width, coarse.height), 0, 0);
      canvas.getContext("2d").drawImage(small, 0, 0, width, height);
    }
    return this.#compiler.ask("paint", this.#file, this.#device, [width, height]);
  }

  /** What was made ready is gone. */
  forget() {
    this.#ready = null;
  }
}

/** What the browser's device is, or why there is none: `{ is_there, name, why }`. */
export async function device() {
  const compiler = new Compiler();
  try {
    return await compiler.ask("device");
  } finally {
    compiler.close();
  }
}

/** Compiles a text. Rejects with `GirihError` if something is wrong with it, and with `Unloaded` if there is no compiler. */
export async function compile(text, { language = "bend", device = "auto" } = {}) {
  const compiler = new Compiler();
  try {
    const file = { language, text };
    const place = device === "auto" ? ((await compiler.ask("device")).is_there ? "webgpu" : "worker") : device;
    const checked = await compiler.ask("check", file);
    if (checked.findings.some(({ severity }) => severity === "error")) throw new GirihError(checked);
    return new Program(compiler, file, place, checked);
  } catch (error) {
    compiler.close();
    throw error;
  }
}
