// The compiler as the page sees it: questions with promises of answers, and a worker that can be ended at any time.

/** The worker was ended before it had answered. */
export class Stopped extends Error {}

/** What the worker has trapped with; a new one is there already. */
export class Trouble extends Error {}

/** The browser could not load the compiler: nothing is answered. */
export class Unloaded extends Error {}

export class Compiler {
  #worker;
  #asked = new Map();
  #next = 0;
  #isReady = false;
  /** Why no question is answered any more; null while they are. */
  #refused = null;
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
      this.#fail(event.message || "the worker cannot be loaded");
    };
    this.#isReady = false;
  }

  /** The worker cannot go on. One that was never ready is not started again: it would fail once more. */
  #fail(reason) {
    if (this.#isReady) return this.stop(new Trouble(reason));
    this.#refused = new Unloaded(`the browser could not load the compiler: ${reason}`);
    const asked = this.#end();
    this.started(reason);
    this.worked();
    for (const { reject } of asked) reject(this.#refused);
  }

  #take({ id, answer, trouble, written, ready, failed }) {
    if (written) return written.forEach(({ text, stream }) => this.written(text, stream));
    if (failed) return this.#fail(failed);
    if (ready) {
      this.#isReady = true;
      return this.started();
    }
    const asked = this.#asked.get(id);
    this.#asked.delete(id);
    // A module that has trapped is not gone on with.
    if (trouble) this.stop();
    this.worked();
    if (trouble) asked?.reject(new Trouble(trouble.message));
    else asked?.resolve(answer);
  }

  /** Asks the worker. Rejects with `Stopped`, `Trouble` or `Unloaded`. */
  ask(verb, ...given) {
    if (this.#refused) return Promise.reject(this.#refused);
    const id = this.#next++;
    return new Promise((resolve, reject) => {
      this.#asked.set(id, { resolve, reject });
      this.#worker.postMessage({ id, verb, given });
      this.worked();
    });
  }

  /** Ends whatever runs, at once, and starts anew. What was asked is rejected. */
  stop(error = new Stopped()) {
    const asked = this.#end();
    if (!this.#refused) this.#start();
    this.worked();
    for (const { reject } of asked) reject(error);
  }

  /** Ends whatever runs, for good: nothing is answered any more. */
  close() {
    this.#refused ??= new Stopped();
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
