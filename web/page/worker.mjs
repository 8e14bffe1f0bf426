// The worker: runs the compiler, one question after the other. The page ends it when it has to stop.

import init, * as compiler from "./compiler.js";

// Browsers that cannot suspend WebAssembly have no device here, but all the rest: nothing that is called then waits.
const suspends = "Suspending" in WebAssembly && "promising" in WebAssembly;
if (!suspends) {
  WebAssembly.Suspending = function (imported) {
    return imported;
  };
  WebAssembly.promising = (exported) => async (...given) => exported(...given);
}

const decoders = new Map([1, 2].map((stream) => [stream, new TextDecoder()]));
let panic = null;
globalThis.girihWrite = (stream, bytes) => {
  postMessage({ written: decoders.get(stream).decode(bytes, { stream: true }), stream });
};
globalThis.girihPanic = (message) => (panic = message);

/** What is said of a trap: a stack that is full is the program's, everything else is ours. */
function trouble(error) {
  if (panic) return { internal: true, message: `the compiler has panicked: ${panic}` };
  if (error instanceof RangeError || /call stack|stack overflow/i.test(error.message)) {
    return { message: "the program is nested too deeply for the stack of a browser; the command `girih` has a larger one" };
  }
  return { internal: true, message: String(error?.message ?? error) };
}

const verbs = {
  async device() {
    if (!("gpu" in navigator)) return { is_there: false, why: "this browser has no WebGPU" };
    if (!suspends) return { is_there: false, why: "this browser cannot suspend WebAssembly while a device works" };
    const adapter = await navigator.gpu.requestAdapter();
    if (!adapter) return { is_there: false, why: "the browser offers no adapter for WebGPU" };
    // Most browsers tell only who has made it and of which kind it is.
    const { description, vendor, architecture } = adapter.info;
    const name = description || [vendor, architecture].filter(Boolean).join(" ");
    return { ...JSON.parse(await compiler.device()), name };
  },
  check: async (file) => JSON.parse(compiler.check(JSON.stringify(file))),
  show: async (file, form) => JSON.parse(compiler.show(JSON.stringify(file), form)),
  step: async (file, steps) => JSON.parse(compiler.step(JSON.stringify(file), steps)),
  run: async (file, device, input) => JSON.parse(await compiler.run(JSON.stringify(file), device, input)),
  paint: async (file, device, [width, height]) =>
    JSON.parse(await compiler.paint(JSON.stringify(file), device, width, height)),
  async frame(time) {
    const given = await compiler.frame(time);
    return typeof given === "string" ? JSON.parse(given) : { pixels: given, how: compiler.how() };
  },
};

const ready = init({ module_or_path: new URL("compiler_bg.wasm", import.meta.url) });
let last = ready;
onmessage = ({ data: { id, verb, given } }) => {
  last = last.then(async () => {
    try {
      const answer = await verbs[verb](...given);
      postMessage({ id, answer }, answer.pixels ? [answer.pixels.buffer] : []);
    } catch (error) {
      postMessage({ id, trouble: trouble(error) });
    }
  });
};
ready.then(
  () => postMessage({ ready: true }),
  (error) => postMessage({ failed: String(error) }),
);
