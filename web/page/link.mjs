// A program as a link: its language, and its text compressed behind the `#`, which no server is sent.

const VERSION = "1";
/** Longer texts are not taken from a link, which could be made to fill memory, nor put into one. In bytes. */
const MOST = 1 << 20;

/** A program that is too long for a link. */
export class TooLong extends Error {
  constructor() {
    super(`links hold programs of at most ${MOST} bytes`);
  }
}

/** A link that this page does not understand: of another version, or with another language. */
export class Unknown extends Error {}

const LANGUAGES = ["bend", "gir", "hvm", "py"];

async function through(stream, bytes, most = Infinity) {
  const parts = [];
  let size = 0;
  const reader = new Blob([bytes]).stream().pipeThrough(stream).getReader();
  for (;;) {
    const { done, value: part } = await reader.read();
    if (done) break;
    size += part.length;
    if (size > most) throw new TooLong();
    parts.push(part);
  }
  return new Uint8Array(await new Blob(parts).arrayBuffer());
}

/** The fragment that holds a program. Throws `TooLong` if it would not be opened. */
export async function toFragment({ language, text }) {
  const bytes = new TextEncoder().encode(text);
  if (bytes.length > MOST) throw new TooLong();
  const packed = await through(new CompressionStream("deflate-raw"), bytes);
  const base64 = btoa(Array.from(packed, (byte) => String.fromCharCode(byte)).join(""));
  return `#${VERSION},${language},${base64.replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "")}`;
}

/** The program that a fragment holds; null if it is no link. Throws `Unknown` or `TooLong`, and something else if it is damaged. */
export async function fromFragment(fragment) {
  const [version, language, base64] = fragment.replace(/^#/, "").split(",");
  if (!/^\d+$/.test(version) || base64 === undefined) return null;
  if (version !== VERSION) throw new Unknown(`it is of version ${version}`);
  if (!LANGUAGES.includes(language)) throw new Unknown(`it holds a program in the language “${language}”`);
  const packed = Uint8Array.from(atob(base64.replaceAll("-", "+").replaceAll("_", "/")), (char) => char.charCodeAt(0));
  const bytes = await through(new DecompressionStream("deflate-raw"), packed, MOST);
  return { language, text: new TextDecoder("utf-8", { fatal: true }).decode(bytes) };
}
