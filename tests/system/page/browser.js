// SPDX-License-Identifier: Apache-2.0
// A page in a headless Chromium, for tests:
//
//   const browser = await start();                    // seconds: all that follows must be done by then; else the runner's limit holds
//   const page = await browser.open("http://127.0.0.1:8080/", { width: 800, height: 600, scheme: "dark" });
//   await page.evaluate("document.title");            // or a function and its arguments; promises are awaited
//   await page.waitFor("window.ready");               // until it is true; its value
//   await page.click("#go"); await page.type("text"); await page.key("Enter");
//   await page.drag("canvas", [0, 0], [50, 20]); await page.wheel("canvas", 120);   // from the middle of it
//   await page.view({ width: 400, height: 300, scheme: "light" });
//   await page.screenshot("page.png"); (await page.pixels("canvas")).at(10, 10);    // [r, g, b, a] of what is seen
//   page.errors, page.console, page.requests, page.foreign()    // what went wrong, was said, was asked for; of other hosts
//   await page.until(() => page.errors.length);       // until that holds
//   await page.close(); await browser.close();
"use strict";
const fs = require("fs");
const { DevTools } = require("./devtools.js");
const { readPng } = require("./png.js");

// key: [code, number of Windows, text]
const KEYS = {
  Enter: ["Enter", 13, "\r"], Tab: ["Tab", 9], Escape: ["Escape", 27], Backspace: ["Backspace", 8], Delete: ["Delete", 46], " ": ["Space", 32, " "],
  ArrowLeft: ["ArrowLeft", 37], ArrowUp: ["ArrowUp", 38], ArrowRight: ["ArrowRight", 39], ArrowDown: ["ArrowDown", 40],
  Home: ["Home", 36], End: ["End", 35], PageUp: ["PageUp", 33], PageDown: ["PageDown", 34],
};
const MODIFIERS = { Alt: 1, Control: 2, Meta: 4, Shift: 8 };

function keyOf(name) {
  if (KEYS[name]) return KEYS[name];
  if (/^[a-z]$/i.test(name)) return ["Key" + name.toUpperCase(), name.toUpperCase().charCodeAt(0), name];
  if (/^[0-9]$/.test(name)) return ["Digit" + name, name.charCodeAt(0), name];
  if ([...name].length === 1) return ["", 0, name];
  throw new Error(`no key is called ${name}`);
}

// In the page: whether the expression comes true, looked at once a frame, and why not.
const LOOK = `(look, within) => new Promise((resolve, reject) => {
  const end = performance.now() + within;
  const again = () => {
    let value, why = "";
    try { value = look(); } catch (e) { why = ": " + e; }
    if (value) resolve(value);
    else if (performance.now() > end) reject(new Error("it did not become true" + why));
    else requestAnimationFrame(again);
  };
  again();
})`;

const short = (text) => String(text).replace(/\s+/g, " ").slice(0, 160);

class Page {
  constructor(devtools, session, url) {
    Object.assign(this, { devtools, session, url, errors: [], console: [], requests: [] });
    this.sessions = new Set();
    for (const [name, take] of Object.entries({
      "Runtime.exceptionThrown": (p) => this.errors.push(short(p.exceptionDetails.exception?.description ?? p.exceptionDetails.text)),
      "Runtime.consoleAPICalled": (p) => this.#said(p.type, p.args.map((a) => a.value ?? a.description ?? a.type).join(" ")),
      "Log.entryAdded": (p) => p.entry.level === "error" && this.errors.push(`${p.entry.text} ${p.entry.url ?? ""}`),
      "Network.requestWillBeSent": (p) => this.requests.push({ url: p.request.url, type: p.type ?? "Other" }),
      "Network.webSocketCreated": (p) => this.requests.push({ url: p.url, type: "WebSocket" }),
      "Inspector.targetCrashed": () => this.errors.push("the page has crashed"),
      "Target.attachedToTarget": (p) => this.attach(p.sessionId).catch(() => {}), // workers and frames; they may be gone already
    }))
      devtools.on(name, (params, of) => this.sessions.has(of) && take(params));
  }

  #said(level, text) {
    this.console.push(`${level}: ${text}`);
    if (level === "error" || level === "assert") this.errors.push(text);
  }

  #send(method, params, what) {
    return this.devtools.send(method, params, this.session, what);
  }

  // Looks at a session from its beginning: its target waits until then. Not each kind of target has all of these.
  async attach(session) {
    this.sessions.add(session);
    const wanted = ["Runtime.enable", "Network.enable", "Log.enable"].map((m) => this.devtools.send(m, {}, session).catch(() => {}));
    const auto = { autoAttach: true, waitForDebuggerOnStart: true, flatten: true };
    await Promise.all([...wanted, this.devtools.send("Target.setAutoAttach", auto, session)]);
    await this.devtools.send("Runtime.runIfWaitingForDebugger", {}, session);
  }

  // Goes there; returns when it is loaded. An answer of HTTP that is no page is none here either.
  async goto(url) {
    this.url = url;
    const loaded = this.devtools.event("Page.loadEventFired", (p, of) => of === this.session, `loading ${url}`);
    loaded.catch(() => {});
    const r = await this.#send("Page.navigate", { url }, `opening ${url}`);
    if (r.errorText) throw new Error(`${url}: ${r.errorText}`);
    await loaded;
  }

  // An expression, or a function with what JSON can carry as arguments. Its value, of a promise what it becomes.
  async evaluate(what, ...args) {
    const expression = typeof what === "function" ? `(${what})(...${JSON.stringify(args)})` : String(what);
    const o = { expression, awaitPromise: true, returnByValue: true, userGesture: true };
    const r = await this.#send("Runtime.evaluate", o, short(expression));
    if (r.exceptionDetails) throw new Error(`${short(expression)}: ${r.exceptionDetails.exception?.description ?? r.exceptionDetails.text}`);
    return r.result.value;
  }

  // Until the expression is true, once a frame, also across pages that are left meanwhile. seconds: less than is left of all.
  async waitFor(expression, { seconds = Infinity } = {}) {
    const end = performance.now() + Math.min(seconds * 1000, this.devtools.left() - 500);
    const said = setTimeout(() => console.error(`still waiting for ${short(expression)}`), 10000);
    try {
      return await this.#waitUntil(expression, end);
    } finally {
      clearTimeout(said);
    }
  }

  async #waitUntil(expression, end) {
    for (;;) {
      const look = `(${LOOK})(() => (${expression}), ${end - performance.now()})`;
      const o = { expression: look, awaitPromise: true, returnByValue: true };
      try {
        const r = await this.#send("Runtime.evaluate", o, `waiting for ${short(expression)}`);
        if (!r.exceptionDetails) return r.result.value;
        const lines = r.exceptionDetails.exception?.description ?? r.exceptionDetails.text;
        throw Object.assign(new Error(`${short(expression)}: ${lines.split("\n")[0]}`), { final: true });
      } catch (e) {
        const left = /context was destroyed|find default execution context|navigated or closed/.test(e.message);
        if (e.final || !left || performance.now() > end) throw e;
      }
    }
  }

  // Until a function of the test's own is true of what is kept here, such as errors, which may come after what they are of; its value.
  async until(holds) {
    for (;;) {
      const value = holds();
      if (value) return value;
      await this.devtools.event("any", () => true, `waiting for ${short(holds)}`);
    }
  }

  // Where the middle of an element is, once it is there and has a size.
  async middle(selector) {
    const box = `(() => { const e = document.querySelector(${JSON.stringify(selector)}); e.scrollIntoView({ block: "nearest" });
      const b = e.getBoundingClientRect(); return b.width && b.height && [b.x, b.y, b.width, b.height]; })()`;
    const [x, y, width, height] = await this.waitFor(box);
    return { x: x + width / 2, y: y + height / 2, box: { x, y, width, height } };
  }

  async #mouse(type, x, y, more = {}) {
    await this.#send("Input.dispatchMouseEvent", { type, x, y, ...more }, `the mouse at ${x}, ${y}`);
  }

  // The button goes down at the first place and up at the last; places are [x, y].
  async #press(places, button) {
    const held = { button, buttons: button === "right" ? 2 : 1, clickCount: 1 }, [first] = places, last = places[places.length - 1];
    await this.#mouse("mouseMoved", ...first);
    await this.#mouse("mousePressed", ...first, held);
    for (const place of places.slice(1)) await this.#mouse("mouseMoved", ...place, held);
    await this.#mouse("mouseReleased", ...last, { button, clickCount: 1 });
  }

  async click(selector, { button = "left" } = {}) {
    const { x, y } = await this.middle(selector);
    await this.#press([[x, y]], button);
  }

  // from, to: away from the middle, in pixels
  async drag(selector, from, to, { button = "left", steps = 8 } = {}) {
    const { x, y } = await this.middle(selector);
    const along = (k) => [0, 1].map((i) => [x, y][i] + from[i] + ((to[i] - from[i]) * k) / steps);
    await this.#press(Array.from({ length: steps + 1 }, (_, k) => along(k)), button);
  }

  async wheel(selector, deltaY, deltaX = 0) {
    const { x, y } = await this.middle(selector);
    await this.#mouse("mouseWheel", x, y, { deltaX, deltaY });
  }

  // "Enter", "a", "Control+ArrowLeft", to whatever has the focus
  async key(name) {
    const parts = name.length > 1 ? name.split(/\+(?=.)/) : [name], key = parts.pop();
    const modifiers = parts.reduce((bits, m) => bits | MODIFIERS[m], 0), [code, number, text] = keyOf(key);
    const o = { key, code, modifiers, windowsVirtualKeyCode: number }, types = text && !(modifiers & ~MODIFIERS.Shift);
    await this.#send("Input.dispatchKeyEvent", types ? { type: "keyDown", ...o, text } : { type: "rawKeyDown", ...o }, `the key ${name}`);
    await this.#send("Input.dispatchKeyEvent", { type: "keyUp", ...o }, `the key ${name}`);
  }

  async type(text) {
    for (const c of text) await this.key(c === "\n" ? "Enter" : c);
  }

  // Any of them; what is left out stays as it is. scheme: "dark" or "light"; motion: "reduce" or ""
  async view(o) {
    this.seen = { width: 800, height: 600, scale: 1, scheme: "light", motion: "", ...this.seen, ...o };
    const { width, height, scale, scheme, motion } = this.seen;
    await this.#send("Emulation.setDeviceMetricsOverride", { width, height, deviceScaleFactor: scale, mobile: false });
    const features = [{ name: "prefers-color-scheme", value: scheme }, { name: "prefers-reduced-motion", value: motion }];
    await this.#send("Emulation.setEmulatedMedia", { features });
  }

  async #picture(clip) {
    const r = await this.#send("Page.captureScreenshot", { format: "png", ...(clip && { clip: { ...clip, scale: 1 } }) }, "a picture");
    return Buffer.from(r.data, "base64");
  }

  // It, and all of its own.
  async close() {
    await this.devtools.send("Target.disposeBrowserContext", { browserContextId: this.context }, undefined, "a page's end");
  }

  async screenshot(file) {
    fs.writeFileSync(file, await this.#picture());
  }

  // What is seen where the element is: { width, height, at(x, y) }, whatever draws it and whatever stands before it.
  async pixels(selector) {
    return readPng(await this.#picture((await this.middle(selector)).box));
  }

  // What was asked of another host than the page's own, as { url, type }; more: hosts that are none, "127.0.0.1:9090"
  foreign(more = []) {
    const own = new Set([new URL(this.url).host, ...more]);
    const local = (u) => ["data:", "blob:", "about:", "file:"].includes(u.protocol) || own.has(u.host);
    return this.requests.filter((r) => !local(new URL(r.url)));
  }
}

class Browser {
  constructor(devtools) {
    this.devtools = devtools;
    this.pid = devtools.child.pid;
  }

  // A page of its own: no cookies or storage of another one. url: NULL for none yet; view: of Page.view()
  async open(url, view = {}) {
    const { browserContextId } = await this.devtools.send("Target.createBrowserContext");
    const { targetId } = await this.devtools.send("Target.createTarget", { url: "about:blank", browserContextId });
    const { sessionId } = await this.devtools.send("Target.attachToTarget", { targetId, flatten: true });
    const page = new Page(this.devtools, sessionId, "about:blank");
    page.context = browserContextId;
    await page.attach(sessionId);
    await this.devtools.send("Page.enable", {}, sessionId);
    await page.view(view);
    if (url) await page.goto(url);
    return page;
  }

  async close() {
    await this.devtools.close();
  }
}

async function start({ command = process.env.CHROMIUM || "chromium", seconds = 3600 } = {}) {
  const devtools = new DevTools(command, seconds * 1000);
  try {
    await devtools.send("Browser.getVersion", {}, undefined, "the browser's start");
    return new Browser(devtools);
  } catch (e) {
    await devtools.close();
    throw e;
  }
}

module.exports = { start };
