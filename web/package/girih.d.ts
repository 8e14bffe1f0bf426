/** A part of the text, in units of UTF-16, as JavaScript counts. */
export interface Place {
  from: number;
  to: number;
}

/** An error or a warning. */
export interface Finding {
  severity: "error" | "warning";
  /** Its code, for example `B0301`; `girih explain` tells more. */
  code: string;
  message: string;
  hint: string | null;
  /** Where it is, the main place first; `place` is null in another file. */
  labels: { place: Place | null; text: string }[];
}

/** What the compiler, or a run, says is wrong; `message` is what the command line shows. */
export class GirihError extends Error {
  readonly findings: Finding[];
}

/** A run was ended by `stop` or `close`. */
export class Stopped extends Error {}

/** The browser could not load the compiler; `message` says why. */
export class Unloaded extends Error {}

/** Bend, Triton's Python, the IR's text, interaction nets. */
export type Language = "bend" | "py" | "gir" | "hvm";

/** Where a program runs; `auto` is WebGPU where there is one. */
export type Where = "auto" | "webgpu" | "worker";

export interface CompileOptions {
  /** Default: `bend`. */
  language?: Language;
  /** Default: `auto`. */
  device?: Where;
}

export interface RunOptions {
  /** Standard input. */
  input?: string;
  /** Called with what the program writes; stream 1 is the output, 2 is for errors. */
  written?: (text: string, stream: 1 | 2) => void;
}

export interface Ran {
  /** The value, as `girih run` prints it. */
  result: string;
  /** What has run it. */
  choice: string;
  /** What it took. */
  stats: string;
}

/** An image shader. */
export class Shader {
  /** The size that the program says its pictures have. */
  readonly width: number;
  readonly height: number;
  private constructor();
  /** Draws the picture at a time, in seconds, as large as the canvas is. Rejects with `GirihError`. */
  frame(canvas: HTMLCanvasElement | OffscreenCanvas, time: number): Promise<void>;
}

/** A compiled text, with a worker of its own. */
export class Program {
  /** The shader that it is; null if it is none. */
  readonly shader: Shader | null;
  /** Warnings. */
  readonly findings: Finding[];
  private constructor();
  /** Runs it; `main` of a Bend program is applied to the arguments, which are expressions of Bend. Rejects with `GirihError` or `Stopped`. */
  run(args?: (string | number)[], options?: RunOptions): Promise<Ran>;
  /** Ends whatever runs. The program can be run again. */
  stop(): void;
  /** Ends it for good, and gives its memory back. */
  close(): void;
}

/** Compiles a text. Rejects with `GirihError` if something is wrong with it, and with `Unloaded` if the browser could not load the compiler. */
export function compile(text: string, options?: CompileOptions): Promise<Program>;

/** What the browser's device is, or why there is none. */
export function device(): Promise<{ is_there: boolean; name?: string; why?: string }>;
