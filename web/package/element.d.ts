/** `<girih-shader src="plasma.bend">`. Events: `frame` after each picture, `error`. */
export class GirihShader extends HTMLElement {}

declare global {
  interface HTMLElementTagNameMap {
    "girih-shader": GirihShader;
  }
}
