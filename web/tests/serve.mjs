// Serves a folder on the loopback address, for tests.

import { createServer } from "node:http";
import { readFile } from "node:fs/promises";
import { extname, join } from "node:path";

const KINDS = { ".html": "text/html", ".js": "text/javascript", ".wasm": "application/wasm", ".bend": "text/plain" };

/** Serves a folder. Gives the address, and what ends it. */
export async function serve(place) {
  const server = createServer(async (request, answer) => {
    const name = new URL(request.url, "http://localhost").pathname.replace(/\/$/, "/index.html");
    try {
      const bytes = await readFile(join(place, name));
      answer.writeHead(200, { "Content-Type": KINDS[extname(name)] ?? "text/plain" }).end(bytes);
    } catch {
      answer.writeHead(404).end();
    }
  });
  await new Promise((ready) => server.listen(0, "127.0.0.1", ready));
  return [`http://127.0.0.1:${server.address().port}/`, () => server.close()];
}
