// SPDX-License-Identifier: Apache-2.0
// node test_browser.js DIR: that browser.js does what it says, on a page of its own in DIR: WebGL 2, waiting, mouse and keys, sizes and
// colours, pictures, errors, and who is asked for what.
"use strict";
const assert = require("assert");
const fs = require("fs");
const http = require("http");
const path = require("path");
const { start } = require("./browser.js");
const { readPng } = require("./png.js");

const [dir] = process.argv.slice(2);

const PAGE = `<!doctype html><meta charset=utf-8><title>a page</title><link rel=icon href=data:,>
<style>body { margin: 0; background: white } canvas { display: block } @media (prefers-color-scheme: dark) { body { background: rgb(1, 2, 3) } }</style>
<canvas width=64 height=48></canvas><button>go</button><input><p></p>
<script>
const gl = document.querySelector("canvas").getContext("webgl2");
function shader(type, text) {
  const s = gl.createShader(type);
  gl.shaderSource(s, "#version 300 es\\nprecision highp float;\\n" + text);
  gl.compileShader(s);
  if (!gl.getShaderParameter(s, gl.COMPILE_STATUS)) throw new Error(gl.getShaderInfoLog(s));
  return s;
}
function draw() { // a green triangle on blue, its tip on top
  const p = gl.createProgram();
  gl.attachShader(p, shader(gl.VERTEX_SHADER, "void main() { gl_Position = vec4(vec2[3](vec2(-1, -1), vec2(1, -1), vec2(0, 1))[gl_VertexID], 0, 1); }"));
  gl.attachShader(p, shader(gl.FRAGMENT_SHADER, "out vec4 color; void main() { color = vec4(0, 1, 0, 1); }"));
  gl.linkProgram(p);
  gl.useProgram(p);
  gl.clearColor(0, 0, 1, 1);
  gl.clear(gl.COLOR_BUFFER_BIT);
  gl.drawArrays(gl.TRIANGLES, 0, 3);
}
function read(x, y) { // drawn in this very task: the buffer is empty after it
  const to = new Uint8Array(4);
  draw();
  gl.readPixels(x, y, 1, 1, gl.RGBA, gl.UNSIGNED_BYTE, to);
  return [...to];
}
draw();
const events = [];
for (const name of ["mousedown", "mousemove", "mouseup", "wheel"]) document.querySelector("canvas").addEventListener(name, (e) => events.push([name, e.clientX, e.clientY, e.deltaY]));
document.querySelector("button").onclick = async () => {
  const text = await (await fetch("answer")).text();
  document.querySelector("p").textContent = text;
};
document.querySelector("input").onkeydown = (e) => { if (e.key === "Enter" && !e.ctrlKey) document.title = e.target.value; };
</script>`;

const FILES = { "/": ["text/html", PAGE], "/answer": ["text/plain", "it answers"], "/next": ["text/html", "<title>next</title><script>there = 1</script>"],
                "/worker.js": ["text/javascript", "fetch('http://worker.example/x').catch(() => postMessage('done'))"] };

function serve() {
  const server = http.createServer((request, response) => {
    const [type, text] = FILES[request.url] ?? [];
    response.writeHead(type ? 200 : 404, { "content-type": type ?? "text/plain" }).end(text ?? "");
  });
  return new Promise((resolve) => server.listen(0, "127.0.0.1", () => resolve(server)));
}

const tests = {
  async "WebGL 2 draws, and what it drew is seen"(page) {
    assert.match(await page.evaluate("gl.getParameter(gl.VERSION)"), /^WebGL 2/);
    assert.deepStrictEqual(await page.evaluate("read(32, 24)"), [0, 255, 0, 255]);
    assert.deepStrictEqual(await page.evaluate("read(1, 46)"), [0, 0, 255, 255]);
    const seen = await page.pixels("canvas");
    assert.deepStrictEqual([seen.width, seen.height], [64, 48]);
    assert.deepStrictEqual(seen.at(32, 24), [0, 255, 0, 255]);
    assert.deepStrictEqual(seen.at(1, 1), [0, 0, 255, 255]);
  },
  async "values come back, of promises too, and what is thrown"(page) {
    assert.strictEqual(await page.evaluate("document.title"), "a page");
    assert.deepStrictEqual(await page.evaluate(async (a, b) => ({ sum: a + b }), 1, 2), { sum: 3 });
    await assert.rejects(page.evaluate("Promise.reject(new Error('no such thing'))"), /no such thing/);
  },
  async "a click, keys, and what comes of them later"(page) {
    await page.click("button");
    assert.strictEqual(await page.waitFor(`document.querySelector("p").textContent`), "it answers");
    await page.click("input");
    await page.type("Ab 1ä");
    await page.key("Backspace");
    await page.key("Control+Enter");
    assert.strictEqual(await page.evaluate("document.title"), "a page");
    await page.key("Enter");
    await page.waitFor(`document.title === "Ab 1"`);
  },
  async "what does not become true is named, with the reason"(page) {
    await assert.rejects(page.waitFor("nothing.there", { seconds: 0.1 }), /nothing\.there: .*did not become true.*nothing is not defined/);
  },
  async "drags and the wheel"(page) {
    await page.evaluate("events.length = 0");
    await page.drag("canvas", [-10, 0], [10, 5], { steps: 2 });
    await page.wheel("canvas", 120);
    const events = await page.waitFor("events.some(([name]) => name === 'wheel') && events");
    const of = (name) => events.filter((e) => e[0] === name).map((e) => e.slice(1, 3));
    assert.deepStrictEqual(of("mousedown"), [[22, 24]]);
    assert.deepStrictEqual(of("mouseup"), [[42, 29]]);
    assert.ok(of("mousemove").length >= 3);
    assert.deepStrictEqual(events.at(-1), ["wheel", 32, 24, 120]);
  },
  async "the size of the window, its colours, a picture of it"(page) {
    const file = path.join(dir, "page.png");
    await page.view({ width: 400, height: 300, scheme: "dark" });
    assert.deepStrictEqual(await page.evaluate("[innerWidth, innerHeight, matchMedia('(prefers-color-scheme: dark)').matches]"), [400, 300, true]);
    await page.screenshot(file);
    const picture = readPng(fs.readFileSync(file));
    assert.deepStrictEqual([picture.width, picture.height, ...picture.at(399, 299)], [400, 300, 1, 2, 3, 255]);
    await page.view({ scheme: "light" });
    assert.deepStrictEqual(await page.evaluate("[innerWidth, getComputedStyle(document.body).backgroundColor]"), [400, "rgb(255, 255, 255)"]);
  },
  async "nothing went wrong so far, and nobody else was asked"(page, base) {
    assert.deepStrictEqual(page.errors, []);
    assert.deepStrictEqual(page.requests.map((r) => r.url).filter((u) => u.startsWith("http")), [base, base + "answer"]);
    assert.deepStrictEqual(page.foreign(), []);
  },
  async "errors are kept"(page) {
    await page.evaluate("console.error('one', 2), console.log('said'), setTimeout(() => { throw new Error('late') }), 0");
    await page.evaluate("fetch('missing').then(() => 0)");
    for (const want of [/^one 2$/, /late/, /404.*missing/]) await page.until(() => page.errors.some((e) => want.test(e)));
    await page.until(() => page.console.includes("log: said"));
    assert.strictEqual(page.errors.length, 3);
  },
  async "who asks another host is told, in a worker and over WebSocket too"(page) {
    await page.evaluate("fetch('http://page.example/x').catch(() => 0)");
    await page.evaluate("new Promise((resolve) => (new WebSocket('ws://socket.example/x').onerror = () => resolve(0)))");
    await page.evaluate("new Promise((resolve) => (new Worker('worker.js').onmessage = (m) => resolve(m.data)))");
    await page.until(() => page.foreign().length === 3);
    assert.deepStrictEqual(page.foreign().map((r) => new URL(r.url).host).sort(), ["page.example", "socket.example", "worker.example"]);
    assert.deepStrictEqual(page.foreign(["page.example", "worker.example"]).map((r) => r.type), ["WebSocket"]);
  },
  async "one waits across a page that is left"(page, base) {
    const leave = `void setTimeout(() => (location = ${JSON.stringify(base + "next")}))`;
    assert.deepStrictEqual(await Promise.all([page.waitFor("window.there"), page.evaluate(leave)]), [1, undefined]);
    await assert.rejects(page.goto("http://nowhere.example/"), /ERR_NAME_NOT_RESOLVED/);
  },
};

async function badEnds() {
  let browser;
  const never = async () => {
    browser = await start({ seconds: 3 });
    await (await browser.open(null)).evaluate("new Promise(() => {})");
  };
  await assert.rejects(never(), /^Error: not within 3 s: ./); // of a slow machine already the start
  if (browser) {
    await assert.rejects(browser.open(null), /^Error: not within 3 s/);
    await browser.close();
    await assertGone(browser.pid);
  }
  browser = await start();
  process.kill(browser.pid, "SIGKILL");
  await assert.rejects(browser.open(null), /^Error: the browser has ended \(SIGKILL\)/);
  await browser.close();
  await assert.rejects(start({ command: path.join(dir, "no-browser"), seconds: 3 }), /no-browser: .*ENOENT/);
}

// What /proc says of a process of that group that runs; of those that have ended one may still wait for init to take note of it.
function oneOf(group) {
  for (const pid of fs.readdirSync("/proc").filter((name) => /^[0-9]+$/.test(name))) {
    let stat = "";
    try { stat = fs.readFileSync(`/proc/${pid}/stat`, "utf8"); } catch { continue; }
    const [state, , of] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    if (state !== "Z" && Number(of) === group) return stat;
  }
  return "";
}

// Who was killed runs until the kernel has come to it.
async function assertGone(group) {
  while (oneOf(group)) await new Promise(setImmediate);
}

(async () => {
  const server = await serve(), base = `http://127.0.0.1:${server.address().port}/`;
  const browser = await start(), page = await browser.open(base, { width: 800, height: 600 });
  let bad = 0;
  for (const [name, test] of Object.entries(tests)) {
    const begun = performance.now();
    const why = await test(page, base).then(() => "", (e) => (bad++, `: ${e.stack}`));
    console.log(`${why ? "FAIL" : "ok  "} ${name} (${Math.round(performance.now() - begun)} ms)${why}`);
  }
  await browser.close();
  await assertGone(browser.pid);
  assert.ok(!fs.existsSync(browser.devtools.dir));
  await badEnds();
  server.closeAllConnections();
  server.close();
  process.exitCode = bad ? 1 : 0;
})();
