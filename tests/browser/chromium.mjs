// Compiles a folder of WGSL in Chromium, by Tint and the software adapter behind it: `node chromium.mjs FOLDER`.
//
// Needs Node 20 and Chromium (`CHROMIUM`, or `chromium` on the path), nothing else.

import { spawn } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Sheets } from "./sheets.mjs";

/** The longest time in milliseconds that the browser may take for one file. */
const PATIENCE = 120_000;

const sheets = await Sheets.open();
const own = async (name) => readFile(new URL(name, import.meta.url));
const [page, compiler] = [await own("page.html"), await own("compiler.mjs")];

let end;
const ended = new Promise((resolve) => (end = resolve));
let timer;
function wait() {
  clearTimeout(timer);
  const last = () => sheets.results.at(-1)?.file ?? "the start";
  timer = setTimeout(() => end({ error: `no answer for ${PATIENCE / 1000} s after ${last()}` }), PATIENCE);
}

async function answer(request, response) {
  wait();
  const send = (type, content) => response.writeHead(200, { "content-type": type }).end(content);
  const file = request.url.startsWith("/file/") && decodeURIComponent(request.url.slice("/file/".length));
  if (request.url === "/") return send("text/html", page);
  if (request.url === "/compiler.mjs") return send("text/javascript", compiler);
  if (request.url === "/files") return send("application/json", JSON.stringify(sheets.files));
  if (sheets.files.includes(file)) return send("text/plain", await sheets.read(file));
  if (request.method !== "POST") return response.writeHead(404).end();
  const value = JSON.parse(Buffer.concat(await request.toArray()).toString());
  if (request.url === "/about") console.log(value);
  if (request.url === "/result") sheets.report(value);
  send("text/plain", "");
  if (request.url === "/end") end(value);
}

const server = createServer((request, response) => {
  answer(request, response).catch((error) => end({ error: String(error) }));
});
await new Promise((resolve) => server.listen(0, "localhost", resolve)); // WebGPU is for secure contexts; this is one.
const profile = await mkdtemp(join(tmpdir(), "girih-browser-"));
const flags = [
  "--headless", "--no-sandbox", "--disable-quic", "--no-first-run", "--disable-background-networking",
  "--disable-component-update", "--disable-sync", `--user-data-dir=${profile}`,
  "--enable-unsafe-webgpu", "--use-webgpu-adapter=swiftshader", "--enable-features=Vulkan",
];
const program = process.env.CHROMIUM ?? "chromium";
const browser = spawn(program, [...flags, `http://localhost:${server.address().port}/`], { stdio: "ignore" });
const gone = new Promise((resolve) => {
  browser.on("error", (error) => resolve({ error: `${program}: ${error.message}` }));
  browser.on("exit", (code) => resolve({ error: `the browser ended with ${code}` }));
});
wait();
const { error } = await Promise.race([ended, gone]);
clearTimeout(timer);
if (browser.kill()) await gone;
server.closeAllConnections();
server.close();
await rm(profile, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 });
sheets.end(error);
