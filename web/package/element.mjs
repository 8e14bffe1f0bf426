// `<girih-shader src="plasma.bend">`: a live Bend shader in any page.
//
// Attributes: `src`; `width` and `height` of its pictures; `device` (auto, webgpu, worker); `paused`. It plays while it can be seen, and stands still for who wants
// less motion until it is clicked.

import { compile, Stopped } from "./girih.mjs";

const STYLE = `
  :host { display: inline-block; max-width: 100%; }
  canvas { display: block; width: 100%; image-rendering: pixelated; cursor: pointer; background: #000; }
  canvas:focus-visible { outline: 2px solid #0f766e; outline-offset: 2px; }
  pre { margin: 0; padding: .5em; overflow: auto; color: #b42318; background: #fff; font: 12px/1.4 ui-monospace, monospace; }
  [hidden] { display: none; }
`;

export class GirihShader extends HTMLElement {
  static observedAttributes = ["src", "width", "height", "device", "paused"];
  #program = null;
  #canvas = document.createElement("canvas");
  #wrong = document.createElement("pre");
  #time = 0;
  #isSeen = false;
  #isPlaying = false;
  /** Which opening counts; an older one that ends late does not. */
  #turn = 0;
  #watcher = new IntersectionObserver(([entry]) => {
    this.#isSeen = entry.isIntersecting;
    this.#play();
  });

  constructor() {
    super();
    const root = this.attachShadow({ mode: "open" });
    const style = new CSSStyleSheet();
    style.replaceSync(STYLE);
    root.adoptedStyleSheets = [style];
    this.#canvas.tabIndex = 0;
    this.#canvas.setAttribute("role", "img");
    this.#canvas.onclick = () => this.toggleAttribute("paused");
    this.#canvas.onkeydown = (event) => {
      if (event.key !== " " && event.key !== "Enter") return;
      event.preventDefault();
      this.toggleAttribute("paused");
    };
    this.#wrong.hidden = true;
    root.append(this.#canvas, this.#wrong);
  }

  connectedCallback() {
    if (matchMedia("(prefers-reduced-motion: reduce)").matches) this.setAttribute("paused", "");
    this.#watcher.observe(this);
    this.#open();
  }

  disconnectedCallback() {
    this.#turn += 1;
    this.#watcher.disconnect();
    this.#program?.close();
    this.#program = null;
  }

  attributeChangedCallback(name, before, after) {
    if (!this.isConnected || before === after) return;
    if (name === "paused") this.#play();
    else this.#open();
  }

  /** Fetches and compiles the shader, and shows its first picture. */
  async #open() {
    const turn = (this.#turn += 1);
    this.#program?.close();
    this.#program = null;
    const src = this.getAttribute("src");
    if (!src) return;
    try {
      const answer = await fetch(new URL(src, this.baseURI));
      if (!answer.ok) throw new Error(`${src} cannot be fetched: ${answer.status}`);
      const program = await compile(await answer.text(), { device: this.getAttribute("device") ?? "auto" });
      if (turn !== this.#turn) return program.close();
      this.#program = program;
      if (!program.shader) throw new Error(`${src} is not a shader`);
      this.#canvas.width = Number(this.getAttribute("width")) || program.shader.width;
      this.#canvas.height = Number(this.getAttribute("height")) || program.shader.height;
      this.#canvas.setAttribute("aria-label", this.getAttribute("aria-label") ?? `The shader ${src}`);
      this.#wrong.hidden = true;
      this.#time = 0;
      await this.#frame(program.shader, turn);
      await this.#play();
    } catch (error) {
      this.#fail(error, turn);
    }
  }

  async #frame(shader, turn) {
    const time = this.#time;
    await shader.frame(this.#canvas, time);
    if (turn !== this.#turn) return;
    this.#canvas.dataset.time = String(time);
    this.dispatchEvent(new CustomEvent("frame", { detail: { time } }));
  }

  /** Plays while it is seen and not paused. */
  async #play() {
    const shader = this.#program?.shader;
    if (!shader || this.#isPlaying) return;
    const turn = this.#turn;
    const goesOn = () => turn === this.#turn && this.#isSeen && !this.hasAttribute("paused");
    this.#isPlaying = true;
    try {
      let last = performance.now();
      while (goesOn()) {
        await new Promise((next) => requestAnimationFrame(next));
        const now = performance.now();
        this.#time += (now - last) / 1000;
        last = now;
        if (goesOn()) await this.#frame(shader, turn);
      }
    } catch (error) {
      this.#fail(error, turn);
    } finally {
      this.#isPlaying = false;
    }
    // It was opened anew meanwhile.
    if (turn !== this.#turn) this.#play();
  }

  /** Shows what is wrong, instead of the picture that there is none of. */
  #fail(error, turn) {
    if (turn !== this.#turn || error instanceof Stopped) return;
    this.#program?.close();
    this.#program = null;
    this.#wrong.textContent = error.message;
    this.#wrong.hidden = false;
    this.dispatchEvent(new CustomEvent("error", { detail: error }));
  }
}

if (!customElements.get("girih-shader")) customElements.define("girih-shader", GirihShader);
