// The worker: runs the compiler. Of what may wait for the device, one question after the other. The page ends it when it has to stop.

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
/** How long a moment is, in milliseconds, and how many messages of it are sent as soon as something is written. */
const MOMENT = 50;
const AT_ONCE = 100;
/** The most characters that are kept back. */
const MOST_HELD = 1 << 16;
/** What is written and not sent yet. */
let held = [];
let size = 0;
/** When this moment began, and how many messages were sent in it. */
let moment = 0;
let sent = 0;

/** Sends what a program writes. Where it writes much, a message for each piece would leave the page no time: then pieces are sent together. */
function write(stream, text) {
  const last = held.at(-1);
  if (last?.stream === stream) last.text += text;
  else held.push({ stream, text });
  size += text.length;
  if (performance.now() - moment > MOMENT) [moment, sent] = [performance.now(), 0];
  if (sent < AT_ONCE || size >= MOST_HELD) send();
}

function send() {
  if (held.length) postMessage({ written: held });
  [held, size] = [[], 0];
  sent += 1;
}

let panic = null;
globalThis.girihWrite = (stream, bytes) => write(stream, decoders.get(stream).decode(bytes, { stream: true }));
globalThis.girihPanic = (message) => (panic = message);

/** Whether the browser has refused memory: to us, or to the module, which then stops without a word; before all other stops it panics. */
const isFull = (error) =>
  /allocation failed|out of memory|array length|memory size/i.test(error.message) ||
  (error instanceof WebAssembly.RuntimeError && /unreachable/i.test(error.message));

/** What is said of a trap: a stack or a memory that is full is the program's, everything else is ours. */
function trouble(error) {
  if (panic) return { internal: true, message: `the compiler has panicked: ${panic}` };
  if (isFull(error)) {
    return { message: "the program needs more memory than the browser gives; make its data smaller, or run it by the command `girih`" };
  }
  if (error instanceof RangeError || /call stack|stack overflow/i.test(error.message)) {
    return { message: "the program is nested too deeply for the stack of a browser; the command `girih` has a larger one" };
  }
  return { internal: true, message: String(error?.message ?? error) };
}

/** How many shaders the page has wanted painted. */
let wish = 0;

/** When the questions are answered that have come meanwhile. */
function others() {
  return new Promise((done) => {
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = () => {
      port1.close();
      done();
    };
    port2.postMessage(null);
  });
}

/** What never waits: answered at once, also while what was asked before waits for the device. */
const atOnce = {
  check: (file) => JSON.parse(compiler.check(JSON.stringify(file))),
  show: (file, form) => JSON.parse(compiler.show(JSON.stringify(file), form)),
  step: (file, steps) => JSON.parse(compiler.step(JSON.stringify(file), steps)),
  preview(file, [width, height], time) {
    const given = compiler.preview(JSON.stringify(file), width, height, time);
    if (!given) return null;
    const sides = new DataView(given.buffer);
    return {
      width: sides.getUint32(0, true),
      height: sides.getUint32(4, true),
      pixels: new Uint8ClampedArray(given.buffer, 8),
    };
  },
};

/** What may wait for the device: one after the other. */
const inTurn = {
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
  run: async (file, device, input) => JSON.parse(await compiler.run(JSON.stringify(file), device, input)),
  paint: async (file, device, [width, height]) =>
    JSON.parse(await compiler.paint(JSON.stringify(file), device, width, height)),
  async frame(time) {
    const mine = wish;
    for (;;) {
      const given = await compiler.frame(time);
      if (typeof given === "string") return JSON.parse(given);
      if (given) return { pixels: given, how: compiler.how() };
      await others();
      // Another shader is to be painted: nobody waits for this picture any more.
      if (mine !== wish) return { isLate: true };
    }
  },
};

/** When the compiler is there. If it cannot be loaded, that is never: the page is told, and ends this worker. */
const ready = new Promise((loaded) => {
  init({ module_or_path: new URL("compiler_bg.wasm", import.meta.url) }).then(
    () => {
      postMessage({ ready: true });
      loaded();
    },
    (error) => postMessage({ failed: error.message }),
  );
});

async function answer({ id, verb, given }) {
  try {
    const answer = await (atOnce[verb] ?? inTurn[verb])(...given);
    send();
    postMessage({ id, answer }, answer?.pixels ? [answer.pixels.buffer] : []);
  } catch (error) {
    send();
    postMessage({ id, trouble: trouble(error) });
  }
}
let last = ready;
onmessage = ({ data }) => {
  if (data.verb === "paint") wish += 1;
  const turn = (data.verb in atOnce ? ready : last).then(() => answer(data));
  if (data.verb in inTurn) last = turn;
};
