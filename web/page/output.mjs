// What a program writes, shown as it comes. Of a program that writes without end the last part is kept.

/** The most characters that are kept: the browser lays them out anew when earlier ones go. */
const MOST = 1 << 17;
/** How long text may wait until it is shown, in milliseconds. */
const SHOWN = 50;
/** Texts shorter than this are put together, or a program that writes little by little would leave countless of them. */
const SHORT = 1 << 12;

export class Output {
  #place;
  #cut;
  /** What is not shown yet: shown together, or each byte would be laid out alone. */
  #waiting = "";
  #size = 0;
  #timer = 0;
  /** How long the browser took to lay out what was shown last, in milliseconds. */
  #took = 0;

  /** `cut` is shown when the beginning is not there any more. */
  constructor(place, cut) {
    [this.#place, this.#cut] = [place, cut];
  }

  write(text) {
    this.#waiting += text;
    if (this.#waiting.length > 2 * MOST) this.#shorten();
    // A page that lays out longer than it rests answers nobody.
    this.#timer ||= setTimeout(() => this.show(), Math.max(SHOWN, 2 * this.#took));
  }

  /** Shows what waits, now. */
  show() {
    clearTimeout(this.#timer);
    this.#timer = 0;
    if (!this.#waiting) return;
    if (this.#waiting.length > MOST) this.#shorten();
    const begun = performance.now();
    this.#append(this.#waiting);
    this.#waiting = "";
    this.#drop();
    void this.#place.offsetHeight; // The browser lays out here what it would else lay out later.
    this.#took = performance.now() - begun;
  }

  clear() {
    clearTimeout(this.#timer);
    [this.#waiting, this.#size, this.#timer, this.#took] = ["", 0, 0, 0];
    this.#place.textContent = "";
    this.#cut.hidden = true;
  }

  #shorten() {
    this.#waiting = this.#waiting.slice(-MOST);
    this.#cut.hidden = false;
  }

  #append(text) {
    const last = this.#place.lastChild;
    if (last && last.length < SHORT) last.appendData(text);
    else this.#place.append(text);
    this.#size += text.length;
  }

  /** Drops the beginning of what is too much. */
  #drop() {
    while (this.#size > MOST) {
      const first = this.#place.firstChild;
      const length = Math.min(this.#size - MOST, first.length);
      if (length === first.length) first.remove();
      else first.deleteData(0, length);
      this.#size -= length;
      this.#cut.hidden = false;
    }
  }
}
