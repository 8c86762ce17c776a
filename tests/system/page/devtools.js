// SPDX-License-Identifier: Apache-2.0
// A headless Chromium as a child, and its DevTools protocol over two pipes: no port is open, and no library is needed. One deadline
// holds for all that is done with it: then it is ended, and whatever waits fails with the name of what it waited for.
"use strict";
const fs = require("fs");
const os = require("os");
const path = require("path");
const { spawn } = require("child_process");
const { EventEmitter } = require("events");

const FLAGS = [
  "--headless=new", "--remote-debugging-pipe", "--no-first-run", "--no-default-browser-check",
  // WebGL 2 without a graphics card, the same everywhere
  "--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader", "--force-color-profile=srgb", "--hide-scrollbars", "--mute-audio",
  // a page that nobody looks at runs as fast as one that somebody does
  "--disable-background-timer-throttling", "--disable-backgrounding-occluded-windows", "--disable-renderer-backgrounding",
  // the browser asks nobody by itself, and no name leads anywhere
  "--disable-background-networking", "--disable-component-update", "--disable-default-apps", "--disable-domain-reliability", "--disable-extensions",
  "--disable-sync", "--disable-features=MediaRouter,OptimizationHints,Translate", "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE localhost, EXCLUDE 127.0.0.1, EXCLUDE [::1]",
  // no process that outlives it
  "--disable-breakpad", "--disable-crash-reporter",
];

class DevTools extends EventEmitter {
  // command: the program; deadlineMs: from now on, for everything
  constructor(command, deadlineMs) {
    super();
    this.setMaxListeners(0);
    this.deadline = performance.now() + deadlineMs;
    this.dir = fs.mkdtempSync(path.join(os.tmpdir(), "browser-"));
    this.said = ""; // the end of what it wrote to stderr
    this.next = 1;
    this.waiting = new Map(); // number to { resolve, reject, what }
    // It runs as root, where its sandbox does not work, as well as without.
    const sandbox = process.getuid() === 0 ? ["--no-sandbox"] : [];
    this.child = spawn(command, [...FLAGS, ...sandbox, `--user-data-dir=${this.dir}`, "about:blank"], {
      detached: true, // a group of its own, which ends as a whole
      stdio: ["ignore", "ignore", "pipe", "pipe", "pipe"],
      env: { ...process.env, HOME: this.dir, XDG_CONFIG_HOME: this.dir, XDG_CACHE_HOME: this.dir, DBUS_SESSION_BUS_ADDRESS: "disabled:" },
    });
    this.child.stderr.setEncoding("utf8").on("data", (text) => (this.said = (this.said + text).slice(-4096)));
    this.child.stdio[3].on("error", () => {}); // it ends: "close" tells
    this.#read(this.child.stdio[4]);
    // Its helpers hold the pipes as well: the last of them has ended when they are closed.
    this.ended = new Promise((resolve) => {
      this.child.once("error", (e) => (this.#fail(`${command}: ${e.message}`), resolve()));
      this.child.once("close", (code, signal) => {
        this.#fail(`the browser has ended (${signal ?? code}); it said:\n${this.said}`);
        resolve();
      });
    });
    this.timer = setTimeout(() => (this.#fail(`not within ${Math.round(deadlineMs / 1000)} s`), this.kill()), deadlineMs);
    this.onExit = () => (this.kill(), this.#clean()); // nobody closed it
    process.once("exit", this.onExit);
  }

  left() {
    return this.deadline - performance.now();
  }

  // One command; its result. what: in the words of whoever waits for it.
  send(method, params = {}, session = undefined, what = method) {
    if (this.failed) return Promise.reject(new Error(`${this.failed}: ${what}`));
    const id = this.next++;
    this.child.stdio[3].write(JSON.stringify({ id, method, params, sessionId: session }) + "\0");
    return new Promise((resolve, reject) => this.waiting.set(id, { resolve, reject, what }));
  }

  // The first event of that name for which fits(params, session) holds, from now on.
  event(name, fits, what) {
    return new Promise((resolve, reject) => {
      const off = () => (this.off(name, on), this.off("failed", bad));
      const on = (params, session) => fits(params, session) && (off(), resolve(params));
      const bad = (why) => (off(), reject(new Error(`${why}: ${what}`)));
      if (this.failed) return bad(this.failed);
      this.on(name, on).on("failed", bad);
    });
  }

  kill() {
    try {
      process.kill(-this.child.pid, "SIGKILL");
    } catch {
      // it has ended by itself
    }
  }

  // Ends it and all of its helpers; returns when there are none left.
  async close() {
    await this.send("Browser.close").catch(() => {});
    await this.ended;
    clearTimeout(this.timer);
    process.off("exit", this.onExit);
    this.#clean();
  }

  #clean() {
    fs.rmSync(this.dir, { recursive: true, force: true, maxRetries: 3 });
  }

  #read(pipe) {
    let rest = [];
    pipe.on("data", (bytes) => {
      for (let end; (end = bytes.indexOf(0)) >= 0; bytes = bytes.subarray(end + 1)) {
        const text = Buffer.concat([...rest, bytes.subarray(0, end)]).toString();
        rest = [];
        this.#take(JSON.parse(text));
      }
      if (bytes.length) rest.push(bytes);
    });
  }

  #take(m) {
    if (m.id === undefined) return this.emit(m.method, m.params, m.sessionId), this.emit("any");
    const w = this.waiting.get(m.id);
    if (!w) return; // it came after the end
    this.waiting.delete(m.id);
    if (m.error) w.reject(new Error(`${w.what}: ${m.error.message}`));
    else w.resolve(m.result);
  }

  #fail(why) {
    if (this.failed) return;
    this.failed = why;
    for (const w of this.waiting.values()) w.reject(new Error(`${why}: ${w.what}`));
    this.waiting.clear();
    this.emit("failed", why);
  }
}

module.exports = { DevTools };
