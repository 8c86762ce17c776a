// SPDX-License-Identifier: Apache-2.0
// What ties the page together: the connection, the views behind their tabs, the address that says which one is shown,
// keys, theme, and the one loop of frames.

import { ClockBar } from "./clockbar.js";
import { h } from "./dom.js";
import { Log } from "./log.js";
import { Link, addressOf } from "./protocol.js";
import * as view3d from "./view-3d.js";
import * as viewBridges from "./view-bridges.js";
import * as viewImage from "./view-image.js";
import * as viewLog from "./view-log.js";
import * as viewOverview from "./view-overview.js";
import * as viewPlot from "./view-plot.js";
import * as viewRaw from "./view-raw.js";
import * as viewSystem from "./view-system.js";

// Each: create(app) -> {element, show(params), hide(), frame?(now), key?(event) -> taken}
const VIEWS = [
  ["overview", "overview", viewOverview], ["image", "image", viewImage], ["3d", "3-D", view3d], ["plot", "plot", viewPlot],
  ["raw", "raw", viewRaw], ["bridges", "bridges", viewBridges], ["log", "log", viewLog], ["system", "system", viewSystem],
];
const THEMES = ["auto", "dark", "light"];

class App {
  link = new Link(addressOf(location));
  log = new Log(this.link);
  #views = new Map(); // name -> view, made when first shown
  #tabs = new Map(); // name -> button
  #current = "";

  constructor() {
    this.clock = new ClockBar(this);
    this.#makeTabs();
    this.#applyTheme(stored("simd-theme", "auto"));
    this.link.on("state", () => this.#showState());
    this.link.on("server", (s) => this.#showServer(s));
    addEventListener("hashchange", () => this.#route());
    addEventListener("keydown", (e) => this.#key(e));
    document.getElementById("skip").addEventListener("click", (e) => {
      e.preventDefault();
      document.getElementById("main").focus();
    });
    document.addEventListener("visibilitychange", () => this.link.setHidden(document.hidden));
    this.link.setHidden(document.hidden);
    this.#route();
    this.link.open();
    requestAnimationFrame((now) => this.#frame(now));
  }

  // ---- views and the address ----

  #makeTabs() {
    const nav = document.getElementById("tabs");
    VIEWS.forEach(([name, label], i) => {
      const tab = h("button", {
        id: `tab-${name}`, role: "tab", dataset: { view: name }, "aria-controls": `view-${name}`, title: `key ${i + 1}`,
        onclick: () => this.goto(name), onkeydown: (e) => this.#tabKey(e, i),
      }, h("kbd", { "aria-hidden": "true" }, String(i + 1)), label);
      this.#tabs.set(name, tab);
      nav.append(tab);
    });
  }

  #tabKey(e, i) {
    const to = { ArrowLeft: i - 1, ArrowRight: i + 1, Home: 0, End: VIEWS.length - 1 }[e.key];
    if (to === undefined) return;
    e.preventDefault();
    e.stopPropagation();
    const name = VIEWS[(to + VIEWS.length) % VIEWS.length][0];
    this.goto(name);
    this.#tabs.get(name).focus();
  }

  // Show a view; params go to the address, so that a reload returns to the same.
  goto(name, params = this.#views.get(name)?.params ?? {}) {
    const hash = hashOf(name, params);
    if (location.hash === hash) this.#route();
    else location.hash = hash;
  }

  // The shown view's parameters have changed: the address follows, without an entry in the history.
  remember(name, params) {
    if (name === this.#current) history.replaceState(null, "", hashOf(name, params));
  }

  #route() {
    const [name, query] = location.hash.slice(1).split("?");
    const known = VIEWS.find(([n]) => n === name) ?? VIEWS[0];
    const params = Object.fromEntries(new URLSearchParams(query ?? ""));
    this.#show(known[0], known[2], params);
  }

  #show(name, module, params) {
    if (this.#current && this.#current !== name) {
      const before = this.#views.get(this.#current);
      before.hide();
      before.element.hidden = true;
    }
    if (!this.#views.has(name)) this.#make(name, module);
    const view = this.#views.get(name);
    this.#current = name;
    document.documentElement.dataset.view = name;
    for (const [n, tab] of this.#tabs) {
      tab.setAttribute("aria-selected", String(n === name));
      tab.tabIndex = n === name ? 0 : -1;
      if (n === name) tab.scrollIntoView({ block: "nearest", inline: "nearest" });
    }
    view.element.hidden = false;
    view.show(params);
  }

  #make(name, module) {
    const view = module.create(this);
    view.element.id = `view-${name}`;
    view.element.classList.add("view");
    view.element.setAttribute("role", "tabpanel");
    view.element.setAttribute("aria-labelledby", `tab-${name}`);
    document.getElementById("main").append(view.element);
    this.#views.set(name, view);
  }

  #frame(now) {
    requestAnimationFrame((t) => this.#frame(t));
    this.clock.frame(now);
    try {
      this.#views.get(this.#current)?.frame?.(now);
    } catch (e) {
      this.log.once(`view ${this.#current}: ${e.message}`);
    }
  }

  // ---- keys ----

  #key(e) {
    const target = e.target;
    const typing = target instanceof HTMLElement && target.matches("input:not([type=checkbox]), select, textarea");
    if (e.ctrlKey || e.altKey || e.metaKey) return;
    if (typing) {
      if (e.key === "Escape") target.blur();
      return;
    }
    if (this.#views.get(this.#current)?.key?.(e)) return e.preventDefault();
    if (/^[1-8]$/.test(e.key)) return this.goto(VIEWS[Number(e.key) - 1][0]);
    if (e.key === " " && !(target instanceof HTMLElement && target.matches("button, a, summary, [role=treeitem], [type=checkbox]"))) {
      e.preventDefault();
      this.clock.togglePause();
    } else if (e.key === "n") {
      this.clock.step();
    } else if (e.key === "/") {
      const filter = this.#views.get(this.#current)?.element.querySelector("input[type=search]");
      if (!filter) return;
      e.preventDefault();
      filter.focus();
    }
  }

  // ---- theme, state, messages ----

  nextTheme() {
    const now = document.documentElement.dataset.theme;
    const next = THEMES[(THEMES.indexOf(now) + 1) % THEMES.length];
    store("simd-theme", next);
    this.#applyTheme(next);
  }

  #applyTheme(theme) {
    document.documentElement.dataset.theme = THEMES.includes(theme) ? theme : "auto";
    this.clock.showTheme(document.documentElement.dataset.theme);
  }

  #showState() {
    document.documentElement.dataset.state = this.link.state;
  }

  #showServer(server) {
    const bridge = String(server.metadata.bridge ?? "");
    document.title = bridge ? `${bridge} – simd` : "simd";
    document.documentElement.dataset.control = String(this.control);
  }

  // Is this connection allowed to change things?
  get control() {
    return this.link.server?.metadata.control === "true";
  }

  // The name of the bridge that serves this page.
  get bridge() {
    return this.link.server?.metadata.bridge;
  }

  // Call a service and say what came of it. ends: the call ends this connection, so that no answer is a success.
  async act(name, request, what, ends = false) {
    try {
      const reply = await this.link.call(name, request);
      this.log.add("info", what);
      return reply;
    } catch (e) {
      if (ends && e.lost) {
        this.log.add("info", `${what}, which serves this page`);
        return {};
      }
      this.log.add("error", `${what}: ${e.message}`);
      this.toast(`${what}: ${e.message}`);
      return null;
    }
  }

  toast(text) {
    const box = document.getElementById("toast");
    box.textContent = text;
    box.hidden = false;
    clearTimeout(this.toastTimer);
    this.toastTimer = setTimeout(() => (box.hidden = true), 6000);
  }
}

function hashOf(name, params) {
  const query = new URLSearchParams(Object.entries(params).filter(([, v]) => v !== "" && v !== undefined)).toString();
  return `#${name}${query ? `?${query}` : ""}`;
}

// Storage may be forbidden; then nothing is kept.
function stored(key, otherwise) {
  try {
    return localStorage.getItem(key) ?? otherwise;
  } catch {
    return otherwise;
  }
}

function store(key, value) {
  try {
    localStorage.setItem(key, value);
  } catch {
    // nothing is kept
  }
}

new App();
