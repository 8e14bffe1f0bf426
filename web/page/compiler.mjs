// The compiler as the page sees it: questions with promises of answers, and a worker that can be ended at any time.

/** The worker was ended before it had answered. */
export class Stopped extends Error {}

/** What the worker has trapped with; a new one is there already. */
export class Trouble extends Error {}

export class Compiler {
  #worker;
  #asked = new Map();
  #next = 0;
  /** Called with what a program writes, and the number of its stream. */
  written = () => {};
  /** Called when a worker is ready, or cannot be: then with the reason. */
  started = () => {};
  /** Called when there is something to answer, and when all is answered. */
  worked = () => {};

  /** Whether something is not answered yet. */
  get isBusy() {
    return this.#asked.size > 0;
  }

  constructor() {
    this.#start();
  }

  #start() {
    this.#worker = new Worker(new URL("worker.js", import.meta.url), { type: "module" });
    this.#worker.onmessage = ({ data }) => this.#take(data);
    this.#worker.onerror = (event) => {
      event.preventDefault();
      this.started(event.message || "the worker cannot be loaded");
    };
  }

  #take({ id, answer, trouble, written, ready, failed }) {
    if (written) return written.forEach(({ text, stream }) => this.written(text, stream));
    if (ready || failed) return this.started(failed);
    const asked = this.#asked.get(id);
    this.#asked.delete(id);
    // A module that has trapped is not gone on with.
    if (trouble) this.stop();
    this.worked();
    if (trouble) asked?.reject(new Trouble(trouble.message));
    else asked?.resolve(answer);
  }

  /** Asks the worker. Rejects with `Stopped` or `Trouble`. */
  ask(verb, ...given) {
    const id = this.#next++;
    return new Promise((resolve, reject) => {
      this.#asked.set(id, { resolve, reject });
      this.#worker.postMessage({ id, verb, given });
      this.worked();
    });
  }

  /** Ends whatever runs, at once, and starts anew. */
  stop() {
    const asked = this.#end();
    this.#start();
    this.worked();
    for (const { reject } of asked) reject(new Stopped());
  }

  /** Ends whatever runs, for good: nothing is answered any more. */
  close() {
    for (const { reject } of this.#end()) reject(new Stopped());
  }

  #end() {
    this.#worker.terminate();
    // What it has sent may be on its way still, and nobody waits for it.
    this.#worker.onmessage = null;
    const asked = [...this.#asked.values()];
    this.#asked.clear();
    return asked;
  }
}
