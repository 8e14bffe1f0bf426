// The page: what its buttons, tabs and lists do. The compiler runs in a worker, so nothing here waits for it.

import { Compiler, Stopped, Unloaded } from "./compiler.mjs";
import { Editor } from "./editor.mjs";
import { TooLong, Unknown, fromFragment, toFragment } from "./link.mjs";
import { NetView } from "./net.mjs";
import { Output } from "./output.mjs";
import { Player } from "./player.mjs";
import { tabs } from "./tabs.mjs";

const $ = (id) => document.getElementById(id);
/** How long the text has to be left alone before it is checked, in milliseconds, where the worker is at something else; it is checked at once where it is not. */
const REST = 50;

const compiler = new Compiler();
const output = new Output($("output"), $("cut"));
const player = new Player(compiler, $("canvas"));
const editor = new Editor($("editor"), { changed, run: act });
const net = new NetView((...question) => ask(...question), file);
const tab = tabs($("tabs"), turned);

/** What the text is, as the compiler has said last; none while it has not. */
let checked = null;
/** Whether Run was pressed, and what it has begun has not ended. */
let running = false;
/** How often Run was pressed, or what it had begun was ended. What becomes of an older press does not count. */
let turn = 0;
/** Whether a program runs: then the status says so, and not what a check says that was asked for before. */
let isRunning = false;
/** Whether it is known what can run programs. */
let hasBegun = false;
/** What was wanted of the picture last. What becomes of an older wish does not count: another picture is there by then, or another program. */
let wish = 0;
/** Whether the picture is to stand still. */
let isHeld = false;
/** Whether the picture is to be brought to the front as soon as there is one: somebody has opened a program or pressed Run, and turned to no other tab since. */
let isAwaited = false;
/** Whether the worker has a picture that it can paint on. */
let isReady = false;
/** Whether the text may run by itself. That of a link may not, before somebody has asked for it. */
let mayRun = true;
let timer;

function file() {
  return { language: $("language").value, text: editor.text };
}
const isKernel = (language) => language === "gir" || language === "py";
/** What the compiler does and says. What a button answers stands elsewhere, or a check that ends later would take its place. */
const status = (text) => ($("status").textContent = text);
const shared = (text) => ($("shared").textContent = text);

/** What the page has to say for longer: one thing of each kind. */
const notices = new Map();

function tell(kind, text) {
  notices.set(kind, text);
  showNotices();
}

function untell(kind) {
  if (notices.delete(kind)) showNotices();
}

function showNotices() {
  const lines = [...notices.values()].map((text) => Object.assign(document.createElement("p"), { textContent: text }));
  $("notices").replaceChildren(...lines);
  $("notice").hidden = notices.size === 0;
}

/** Somebody has edited the text. */
function changed() {
  checked = null;
  shared("");
  $("examples").value = "";
  clearTimeout(timer);
  timer = setTimeout(check, compiler.isBusy ? REST : 0);
}

/** What the worker answers; nothing if it was stopped. What it has trapped with is shown. */
async function ask(...question) {
  try {
    return await compiler.ask(...question);
  } catch (error) {
    // What cannot be loaded is told once.
    if (!(error instanceof Stopped || error instanceof Unloaded)) {
      $("diagnostics").textContent = error.message;
      status(error.message);
    }
    return null;
  }
}

/** What the compiler says of the text, which is shown; nothing if there is another text by then. */
async function look() {
  clearTimeout(timer);
  const asked = file();
  const answer = await ask("check", asked);
  if (!answer || asked.text !== editor.text || asked.language !== $("language").value) return null;
  checked = answer;
  editor.say(answer.findings);
  $("diagnostics").textContent = answer.text;
  const wasShader = !$("tab-picture").hidden;
  $("tab-picture").hidden = !answer.shader;
  // Without a `main` there is nothing that a net would reduce.
  $("tab-net").hidden = answer.shader !== null || isKernel(asked.language);
  $("run").textContent = answer.shader ? "Play" : "Run";
  if (!answer.shader && wasShader) {
    wish += 1;
    player.pause();
    if (tab.current() === "picture") leavePicture();
  }
  return answer;
}

/** How many errors and warnings there are, in words. */
function summary(findings) {
  if (!findings.length) return "Nothing is wrong.";
  const errors = findings.filter((finding) => finding.severity === "error").length;
  const count = (number, what) => `${number} ${what}${number === 1 ? "" : "s"}`;
  return `${count(errors, "error")}, ${count(findings.length - errors, "warning")}`;
}

/** Checks the text, and shows what follows from it. */
async function check() {
  const answer = await look();
  if (!answer) return null;
  if (!isRunning) status(summary(answer.findings));
  refresh(tab.current());
  if (!answer.shader) return answer;
  if (mayRun) paint(answer.shader); // Plays on, and is not waited for.
  else invite();
  return answer;
}

/** Brings the picture to the front, if somebody waits for it: not at each key. */
function bringPicture() {
  if (isAwaited) tab.show("picture");
  isAwaited = false;
}

/** There is no picture while the text has a mistake. It comes back with the next one. */
function leavePicture() {
  tab.show("result");
  isAwaited = true;
}

/** A shader came with a link: it waits for whoever looks at it. */
function invite() {
  bringPicture();
  $("rate").textContent = "This shader came with a link. Play runs it.";
}

/** Whether a number can be the side of a picture. The worker says what is too much, but would read other numbers as large ones. */
const isSide = (side) => Number.isInteger(side) && side >= 1 && side < 2 ** 32;

/** What the worker makes ready now. */
let made = null;
/** When it is known what can run programs; nothing before somebody has asked. */
let found = null;

/** Makes the shader of the text ready, and shows it: a coarse picture at once, then playing, unless it was paused. */
async function paint(own) {
  const mine = (wish += 1);
  player.pause();
  isReady = false;
  const wanted = [$("width"), $("height")].map((field, side) => (field.value ? Number(field.value) : own[side]));
  if (!wanted.every(isSide)) {
    $("trouble").textContent = `There is no picture of ${wanted.join(" by ")} pixels. Write whole numbers from 1 on.`;
    return bringPicture();
  }
  const coarse = await ask("preview", file(), wanted, player.time);
  if (mine !== wish) return;
  if (coarse) {
    [$("canvas").width, $("canvas").height] = wanted;
    player.preview(coarse);
    bringPicture();
  }
  // A device may take seconds to make a shader ready. Of those that wait meanwhile, the newest counts.
  await device();
  while (made) await made;
  if (mine !== wish) return;
  made = ask("paint", file(), $("device").value, wanted);
  const answer = await made;
  made = null;
  if (!answer || mine !== wish) return;
  $("trouble").textContent = answer.width ? "" : answer.text;
  if (!answer.width) return bringPicture();
  isReady = true;
  if (!$("width").value) [$("width").placeholder, $("height").placeholder] = own;
  // Setting a side clears the canvas.
  if (!coarse) [$("canvas").width, $("canvas").height] = [answer.width, answer.height];
  bringPicture();
  // What was wanted meanwhile counts.
  await go(isHeld ? player.seek(player.time) : player.play());
}

/** Follows the player until it ends, and shows what is wrong. */
async function go(played) {
  const mine = (wish += 1);
  buttons();
  let trouble = "";
  try {
    const wrong = await played;
    if (mine !== wish) return;
    trouble = wrong?.text ?? "";
    if (wrong) editor.say(wrong.findings);
  } catch (error) {
    if (mine !== wish) return;
    if (!(error instanceof Stopped)) trouble = error.message;
    player.pause();
  }
  $("trouble").textContent = trouble;
  buttons();
}

player.shown = ({ time, milliseconds, how }) => {
  if (document.activeElement !== $("time")) $("time").value = time.toFixed(2);
  $("rate").textContent = `${milliseconds.toFixed(1)} ms for a picture${how ? `; the device runs it ${how}` : ""}`;
};

/** Whether there is something to stop: also a check, or a kernel that is compiled. */
const isAtWork = () => hasBegun && (running || !player.isPaused || compiler.isBusy);

function buttons() {
  $("stop").disabled = !isAtWork();
  $("pause").textContent = player.isPaused ? "Play" : "Pause";
}

/** Runs the program, or plays the shader. */
function act() {
  if (running) return;
  isHeld = false;
  return start();
}

/** The same; but where the picture is to stand still, it does. */
async function start() {
  if (running) return;
  mayRun = true;
  isAwaited = true;
  const known = checked;
  // From here on: a second press while the text is checked does not run it twice.
  running = true;
  const mine = (turn += 1);
  const what = known ?? (await check());
  if (mine === turn && what && !what.shader) await run(what, mine);
  if (mine !== turn) return;
  running = false;
  buttons();
  // A shader that was checked just now plays already.
  if (known?.shader) paint(known.shader);
}

async function run(what, mine) {
  tab.show("result");
  if (!what.runs) return;
  output.clear();
  for (const id of ["result", "diagnostics", "stats"]) $(id).textContent = "";
  isRunning = true;
  status("Running …");
  await device();
  // Another text may be there by now, of which nobody has said that it may run.
  if (mine !== turn) return;
  const ran = await ask("run", file(), $("device").value, $("input").value);
  if (mine !== turn) return;
  isRunning = false;
  output.show();
  if (ran) show(ran);
}

/** What came of a run. */
function show(ran) {
  // Kernels give arrays, which say themselves what they are.
  const label = isKernel($("language").value) ? "" : "Result: ";
  $("result").textContent = ran.result === null ? "" : label + ran.result;
  $("diagnostics").textContent = ran.text;
  $("stats").textContent = [ran.choice, ran.stats].filter(Boolean).join("\n");
  if (ran.findings.length) editor.say(ran.findings);
  status(ran.result === null ? "The program has failed." : "The program has ended.");
}

/** Forgets what Run has begun. */
function forget() {
  turn += 1;
  running = false;
  isRunning = false;
}

/** Ends whatever the worker is at, with what was made ready there. */
function end() {
  forget();
  isReady = false;
  wish += 1;
  player.pause();
  compiler.stop();
  buttons();
}

function stop() {
  if (!isAtWork()) return;
  const hasRun = isRunning;
  end();
  output.show();
  status("Stopped.");
  // While the program ran, nothing was answered: the text may be another one. But a check that was stopped is not begun again, since it may have been what took so long.
  if (hasRun) look().then(() => refresh(tab.current()));
}

compiler.written = (text) => output.write(text);

/** Another tab is in front. */
function turned(name) {
  isAwaited = false;
  refresh(name);
}

/** What a tab shows is made when it is in front. */
async function refresh(name) {
  if (name === "net") return net.show();
  if (!["core", "ir", "wgsl"].includes(name)) return;
  const answer = await ask("show", file(), name);
  if (answer) $(`panel-${name}`).querySelector("pre").textContent = answer.text;
}

/** Kernels have no core, and are no nets. */
function forms(language) {
  for (const form of ["core", "net"]) $(`tab-${form}`).hidden = isKernel(language);
  if (isKernel(language) && ["core", "net"].includes(tab.current())) tab.show("result");
}

function load(program, own = true) {
  // A program that runs keeps the worker from everything else. Before it is known what can run programs, none runs yet.
  if (isRunning && hasBegun) end();
  else forget();
  wish += 1;
  player.pause();
  checked = null;
  isHeld = false;
  mayRun = own;
  output.clear();
  for (const id of ["result", "diagnostics", "stats", "rate", "trouble", "shared"]) $(id).textContent = "";
  for (const id of ["width", "height"]) $(id).value = "";
  $("language").value = program.language;
  forms(program.language);
  isAwaited = true;
  editor.open(program);
  return check();
}

/** When it is known what can run programs. A first coarse picture does not wait for it: it takes a browser a while to begin with a device. */
function device() {
  found ??= findDevice().then(() => {
    hasBegun = true;
    buttons();
  });
  return found;
}

/** Says in a line what runs programs, where it is not the device. */
async function findDevice() {
  const answer = await ask("device");
  if (!answer) return;
  const option = $("device").querySelector("[value=webgpu]");
  option.disabled = !answer.is_there;
  $("device").value = answer.is_there ? "webgpu" : "worker";
  if (answer.is_there) {
    option.textContent = answer.name ? `WebGPU (${answer.name})` : "WebGPU";
    return;
  }
  tell(
    "device",
    `There is no WebGPU here: ${answer.why}. Everything runs in the worker, which is slower. ` +
      "Chrome and Edge from 137 and Firefox from 153 have WebGPU.",
  );
}

async function share() {
  let fragment;
  try {
    fragment = await toFragment(file());
  } catch (error) {
    return shared(`There is no link: ${error.message}.`);
  }
  history.replaceState(null, "", fragment);
  try {
    await navigator.clipboard.writeText(location.href);
    shared(`The link is copied: ${location.href.length} characters hold the program.`);
  } catch {
    shared("The address of this page is the link now; copy it from there.");
  }
}

async function begin() {
  const examples = await (await fetch(new URL("examples.json", import.meta.url))).json();
  for (const [number, { title }] of examples.entries()) $("examples").append(new Option(title, String(number)));
  $("examples").onchange = () => {
    if (!$("examples").value) return;
    history.replaceState(null, "", location.pathname);
    untell("link");
    load(examples[Number($("examples").value)]);
  };
  const program = await linked();
  $("examples").value = program ? "" : "0";
  await load(program ?? examples[0], program === null);
  await device();
  document.body.dataset.ready = "true";
}

/** The program of the address; null if it holds none. */
async function linked() {
  try {
    return await fromFragment(location.hash);
  } catch (error) {
    tell("link", refusal(error));
    return null;
  }
}

/** Why a link is not opened, and what can be done. */
function refusal(error) {
  if (error instanceof TooLong) return `The link is not opened: ${error.message}.`;
  if (error instanceof Unknown) return `This page does not know such a link: ${error.message}. Open it in the playground that has made it.`;
  return "The link is damaged, so its program cannot be shown; ask for it once more.";
}

/** The address is another one. Where it holds no program, the text stays: also whether it may run, or a link's text would run by itself. */
async function moved() {
  const fragment = location.hash;
  const program = await linked();
  // It takes a while to unpack a program: another address may have come meanwhile.
  if (!program || fragment !== location.hash) return;
  untell("link");
  $("examples").value = "";
  load(program, false);
}

$("run").onclick = act;
$("seen").onclick = () => {
  notices.clear();
  showNotices();
};
$("stop").onclick = stop;
$("share").onclick = share;
$("language").onchange = () => load(file(), mayRun);
$("device").onchange = () => check();
$("pause").onclick = () => {
  if (!mayRun || !isReady) return act();
  isHeld = !player.isPaused;
  if (!isHeld) return go(player.play());
  player.pause();
  buttons();
};
$("time").onchange = () => {
  const time = Number($("time").value) || 0;
  isHeld = true;
  if (mayRun && isReady) return go(player.seek(time));
  player.hold(time);
  start();
};
for (const side of ["width", "height"]) $(side).onchange = () => mayRun && checked?.shader && paint(checked.shader);
window.addEventListener("hashchange", moved);
let escaped = 0;
window.addEventListener("keydown", (event) => {
  if (event.key !== "Escape") return void (escaped = 0);
  escaped += 1;
  if (escaped === 2) stop();
});
// A later one takes the place of one that was ended: why is what the status says then.
compiler.started = (failed) => {
  if (failed) {
    tell("compiler", `The browser could not load the compiler: ${failed}. Reload the page to try again.`);
    status("There is no compiler.");
  }
  else if (!hasBegun) status("Ready.");
};
compiler.worked = buttons;

begin().catch((error) => status(`The page cannot begin: ${error.message}. Reload it to try again.`));
