// A program as a link: its language, and its text compressed behind the `#`, which no server is sent.

const VERSION = "1";
/** Longer texts are not taken from a link: it would be one made to fill memory. */
const MOST = 1 << 20;

async function through(stream, bytes, most = Infinity) {
  const parts = [];
  let size = 0;
  const reader = new Blob([bytes]).stream().pipeThrough(stream).getReader();
  for (;;) {
    const { done, value: part } = await reader.read();
    if (done) break;
    size += part.length;
    if (size > most) throw new Error("the program in the link is too long");
    parts.push(part);
  }
  return new Uint8Array(await new Blob(parts).arrayBuffer());
}

/** The fragment that holds a program. */
export async function toFragment({ language, text }) {
  const packed = await through(new CompressionStream("deflate-raw"), new TextEncoder().encode(text));
  const base64 = btoa(Array.from(packed, (byte) => String.fromCharCode(byte)).join(""));
  return `#${VERSION},${language},${base64.replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "")}`;
}

/** The program that a fragment holds; null if it is none. Throws if it is damaged. */
export async function fromFragment(fragment) {
  const [version, language, base64] = fragment.replace(/^#/, "").split(",");
  if (version !== VERSION || !["bend", "gir", "hvm", "py"].includes(language) || base64 === undefined) return null;
  const packed = Uint8Array.from(atob(base64.replaceAll("-", "+").replaceAll("_", "/")), (char) => char.charCodeAt(0));
  const bytes = await through(new DecompressionStream("deflate-raw"), packed, MOST);
  return { language, text: new TextDecoder("utf-8", { fatal: true }).decode(bytes) };
}
