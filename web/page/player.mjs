// Plays a shader: asks the worker for one picture after the other, and shows each when it comes.

export class Player {
  #compiler;
  #canvas;
  #time = 0;
  #since = null;
  /** Whoever plays now; an older one that wakes up finds another. */
  #turn = 0;
  /** Called after each picture: how many a second there are, and how they are made. */
  shown = () => {};

  constructor(compiler, canvas) {
    this.#compiler = compiler;
    this.#canvas = canvas;
  }

  /** The time of the picture that is shown next, in seconds. */
  get time() {
    return this.#since === null ? this.#time : this.#time + (performance.now() - this.#since) / 1000;
  }
  get isPaused() {
    return this.#since === null;
  }

  pause() {
    this.#time = this.time;
    this.#since = null;
    this.#turn += 1;
  }

  /** Stands still at a time, of which no picture is shown yet. */
  hold(time) {
    this.pause();
    this.#time = time;
  }

  /** Shows the picture at a time, and stays there. Gives what is wrong, if something is. */
  async seek(time) {
    this.hold(time);
    return this.#paint(time);
  }

  /** Goes on until it is paused. Gives what is wrong, if something is. */
  async play() {
    this.pause();
    const turn = this.#turn;
    this.#since = performance.now();
    while (turn === this.#turn) {
      const wrong = await this.#paint(this.time, () => turn === this.#turn);
      if (wrong) {
        if (turn === this.#turn) this.pause();
        return wrong;
      }
      await new Promise((next) => requestAnimationFrame(next));
    }
    return null;
  }

  /** Shows a coarse picture, as large as the canvas, until the first one is there. */
  preview({ width, height, pixels }) {
    const coarse = new OffscreenCanvas(width, height);
    coarse.getContext("2d").putImageData(new ImageData(pixels, width, height), 0, 0);
    this.#canvas.getContext("2d", { willReadFrequently: true }).drawImage(coarse, 0, 0, this.#canvas.width, this.#canvas.height);
    this.#canvas.dataset.preview = `${width}x${height}`;
  }

  async #paint(time, isWanted = () => true) {
    const begun = performance.now();
    const answer = await this.#compiler.ask("frame", time);
    if (answer.isLate) return null;
    if (!answer.pixels) return answer;
    if (!isWanted()) return null;
    const { width, height } = this.#canvas;
    if (answer.pixels.length !== 4 * width * height) return null; // It is of a size that was asked for before.
    this.#canvas.getContext("2d", { willReadFrequently: true }).putImageData(new ImageData(answer.pixels, width, height), 0, 0);
    this.#canvas.dataset.time = String(time);
    this.shown({ time, milliseconds: performance.now() - begun, how: answer.how });
    return null;
  }
}
