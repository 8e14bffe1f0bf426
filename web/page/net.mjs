// The net of a program, as a picture and as text, and how it changes step by step.

const $ = (id) => document.getElementById(id);
/** The most steps that the compiler shows. */
const MOST = 100_000;

export class NetView {
  #ask;
  #file;

  /** `ask` asks the compiler; `file` gives the text of the editor. */
  constructor(ask, file) {
    this.#ask = ask;
    this.#file = file;
    const go = (steps) => this.#go(Math.min(Math.max(0, Math.trunc(steps) || 0), MOST));
    $("first").onclick = () => go(0);
    $("back").onclick = () => go(Number($("step").value) - 1);
    $("next").onclick = () => go(Number($("step").value) + 1);
    $("step").onchange = () => go(Number($("step").value));
  }

  /** Shows the net of the text before its first step. */
  async show() {
    const book = await this.#ask("show", this.#file(), "net");
    if (book) $("book").textContent = book.text;
    await this.#go(0);
  }

  async #go(wanted) {
    const answer = await this.#ask("step", this.#file(), wanted);
    if (!answer) return;
    const { steps, rule, is_normal: isNormal, text, picture } = answer;
    const isNet = steps !== undefined;
    $("steps").hidden = !isNet;
    $("net").textContent = text;
    $("drawing").hidden = !picture;
    if (!isNet) return;
    $("step").value = String(steps);
    $("back").disabled = $("first").disabled = steps === 0;
    $("next").disabled = isNormal;
    const last = rule ? `The last rule was ${rule}.` : "Nothing has been reduced yet.";
    $("rule").textContent = isNormal ? `${last} This is the normal form.` : last;
    if (!picture) {
      $("rule").textContent += " The net is too large to be drawn.";
      return;
    }
    // An image runs no scripts, whatever is in it.
    $("drawing").src = `data:image/svg+xml,${encodeURIComponent(picture)}`;
    $("drawing").alt = `The net after ${steps} steps: ${text}`.slice(0, 300);
  }
}
