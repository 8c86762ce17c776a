// SPDX-License-Identifier: Apache-2.0
// Numbers of any channel over simulated time.

import { SERIES } from "./colormap.js";
import { decoderOf, isLarge } from "./decoder.js";
import { Keyed, colour, fitCanvas, h, setOptions, setText, smallText } from "./dom.js";
import * as format from "./format.js";
import { numbersIn, parsePath, read } from "./paths.js";
import { drawPlot } from "./plot-draw.js";
import { numericPaths } from "./ros2msg.js";
import { Samples } from "./samples.js";

const WINDOW_MIN = 5;
const WINDOW_MAX = 120;
const SERIES_MAX = 16;
const clampWindow = (s) => Math.max(WINDOW_MIN, Math.min(WINDOW_MAX, s));

class Plot {
  params = {};
  #series = []; // {key, topic, path, axis, colour, steps, samples, error}
  #ends = new Map(); // topic -> function that ends the subscription
  #off = null;
  #paths = new Map(); // topic -> paths, of channels without definition
  #window = 30;
  #end = null; // time at the right edge; null: it follows
  #cursor = null; // part of the width
  #plot = null; // what was drawn: {left, right, from, to}
  #drag = null;
  #peek = null;
  #dirty = true;

  constructor(app) {
    this.app = app;
    this.#build();
    app.clock.onJump(() => this.#clear());
  }

  #build() {
    this.topic = h("select", { id: "plot-topic", "aria-label": "channel", onchange: () => this.#complete() });
    this.path = h("input", {
      id: "plot-path",
      class: "path",
      type: "text",
      list: "plot-paths",
      placeholder: "field, such as linear_acceleration.x",
      "aria-label": "field",
      autocomplete: "off",
      spellcheck: "false",
    });
    this.paths = h("datalist", { id: "plot-paths" });
    this.axis = h(
      "select",
      { id: "plot-axis", "aria-label": "axis" },
      h("option", { value: "L" }, "left"),
      h("option", { value: "R" }, "right"),
    );
    this.form = h(
      "form",
      { class: "bar", onsubmit: (e) => this.#add(e) },
      this.topic,
      this.path,
      this.paths,
      this.axis,
      h("button", { type: "submit", id: "plot-add" }, "add"),
      h("span", { class: "fill" }),
      h("label", {}, "window ", this.#windowSelect(), "s"),
      h("button", { type: "button", id: "plot-pause", "aria-pressed": "false", title: "p", onclick: () => this.#pause() }, "hold"),
      h("button", { type: "button", id: "plot-csv", onclick: () => this.#csv() }, "CSV"),
    );
    this.list = h("ul", { class: "series", id: "series" });
    this.rows = new Keyed(this.list, (s) => this.#row(s));
    this.canvas = h("canvas", {
      id: "plot",
      tabindex: "0",
      role: "img",
      "aria-label": "plot: the wheel zooms, arrow keys move the cursor, p holds",
    });
    this.empty = h("p", { class: "scene-message" });
    this.element = h("section", {}, this.form, this.list, h("div", { class: "plot-area" }, this.canvas, this.empty));
    this.#pointer();
  }

  #windowSelect() {
    this.seconds = h("input", {
      id: "plot-window",
      type: "number",
      min: String(WINDOW_MIN),
      max: String(WINDOW_MAX),
      "aria-label": "window, s",
      onchange: () => this.#setWindow(Number(this.seconds.value) || 30),
    });
    return this.seconds;
  }

  #row(s) {
    const swatch = h("span", { class: "swatch" });
    const value = h("span", { class: "num value" });
    const note = h("span", { class: "dim" });
    const side = h("button", {
      type: "button",
      title: "change the axis",
      onclick: () => this.#change(() => (s.axis = s.axis === "R" ? "L" : "R")),
    });
    const remove = h(
      "button",
      {
        type: "button",
        "aria-label": `remove ${s.topic} ${s.path}`,
        title: "remove",
        onclick: () => this.#change(() => this.#series.splice(this.#series.indexOf(s), 1)),
      },
      "×",
    );
    const element = h(
      "li",
      { dataset: { series: s.key } },
      swatch,
      h("span", { class: "what" }, `${s.topic} ${s.path}`),
      value,
      note,
      side,
      remove,
    );
    const update = () => {
      swatch.style.background = s.colour;
      setText(value, this.#valueOf(s));
      setText(note, s.error || s.unit);
      setText(side, s.axis);
      element.dataset.samples = String(s.samples.length);
    };
    return { element, update };
  }

  #valueOf(s) {
    const n = s.samples.length;
    if (n === 0) return "–";
    const p = this.#plot;
    const v = this.#cursor === null || !p ? s.samples.value(n - 1) : s.samples.at(p.from + this.#cursor * (p.to - p.from));
    return Number.isNaN(v) ? "–" : format.value(v);
  }

  // ---- the series ----

  // s: "topic path axis", divided by ";"; w: the window
  show(params) {
    this.params = { ...params };
    this.#window = clampWindow(Number(params.w) || 30);
    this.seconds.value = String(Math.round(this.#window));
    const wanted = (params.s ?? "")
      .split(";")
      .filter((x) => x)
      .slice(0, SERIES_MAX);
    this.#series = wanted.map((text) => this.#series.find((s) => `${s.key} ${s.axis}` === text) ?? this.#make(text)).filter((s) => s);
    this.#off ??= this.app.link.on("channels", () => this.#channels());
    this.colours = null;
    this.#channels();
    this.#sync();
  }

  hide() {
    for (const end of this.#ends.values()) end();
    this.#ends.clear();
    this.#stopPeek();
    this.#off?.();
    this.#off = null;
    // what is missed from now on is no straight line
    for (const s of this.#series) if (s.samples.length) s.samples.push(s.samples.time(s.samples.length - 1), NaN);
  }

  #make(text) {
    const [topic, path, axis] = text.split(" ");
    const steps = parsePath(path ?? "");
    return (
      steps && {
        key: `${topic} ${path}`,
        topic,
        path,
        axis: axis === "R" ? "R" : "L",
        colour: "",
        steps,
        samples: new Samples(),
        error: "",
        unit: "",
      }
    );
  }

  #change(f) {
    f();
    this.params.s = this.#series.map((s) => `${s.key} ${s.axis}`).join(";");
    this.params.w = String(Math.round(this.#window));
    this.app.remember("plot", this.params);
    this.#sync();
  }

  #add(e) {
    e.preventDefault();
    const s = this.#make(`${this.topic.value} ${this.path.value.trim().replace(/\s+/g, "")} ${this.axis.value}`);
    if (!this.topic.value || !s) return this.app.toast("choose a channel and a field");
    if (this.#series.some((x) => x.key === s.key)) return this.app.toast("this series is there already");
    if (this.#series.length >= SERIES_MAX) return this.app.toast(`at most ${SERIES_MAX} series`);
    this.#change(() => this.#series.push(s));
    this.path.value = "";
  }

  #sync() {
    const topics = new Set(this.#series.map((s) => s.topic));
    for (const [topic, end] of this.#ends) if (!topics.has(topic)) end(this.#ends.delete(topic));
    for (const topic of topics) if (!this.#ends.has(topic)) this.#subscribe(topic);
    this.#series.forEach((s, i) => {
      s.colour = SERIES[i % SERIES.length];
      s.unit = this.#unitOf(s);
    });
    this.rows.update(this.#series, (s) => s.key);
    setText(this.empty, this.#series.length ? "" : "Choose a channel and a field above: every number in a message can be drawn.");
    this.#dirty = true;
  }

  #unitOf(s) {
    const channel = this.app.link.channels.get(s.topic);
    const schema = channel && decoderOf(channel).schema;
    const path = s.path.replace(/\[\d+\]/g, "[0]");
    const unit = schema && numericPaths(schema).find((p) => p.path === path)?.unit;
    return unit ? `[${unit}]` : "";
  }

  #subscribe(topic) {
    this.#ends.set(
      topic,
      this.app.link.subscribe(topic, (m) => this.#take(m), { background: (channel) => !isLarge(channel) }),
    );
  }

  #take(m) {
    const of = this.#series.filter((s) => s.topic === m.topic);
    let message,
      error = "";
    try {
      message = decoderOf(m.channel).decode(m.data);
    } catch (e) {
      error = e.message;
    }
    for (const s of of) {
      const v = error ? NaN : read(message, s.steps);
      s.error = error || (Number.isNaN(v) ? "no number there" : "");
      s.samples.push(m.logNs / 1e9, v);
    }
    this.#dirty = true;
  }

  #clear() {
    for (const s of this.#series) s.samples.clear();
    this.#end = null;
    this.#showHold();
  }

  // ---- completion ----

  #channels() {
    const topics = [...this.app.link.channels.keys()].sort();
    setOptions(this.topic, ["", ...topics], (t) => t || "channel");
    this.#complete();
    this.#sync();
  }

  #complete() {
    const channel = this.app.link.channels.get(this.topic.value);
    const schema = channel && decoderOf(channel).schema;
    this.#stopPeek();
    if (schema)
      return this.#offer(numericPaths(schema).map((p) => [p.path, [p.unit && `[${p.unit}]`, p.comment].filter((x) => x).join(" ")]));
    this.#offer((this.#paths.get(this.topic.value) ?? []).map((p) => [p, ""]));
    if (channel && !this.#paths.has(channel.topic)) this.#peekAt(channel);
  }

  // Of a channel without definition one message says which fields there are.
  #peekAt(channel) {
    this.#peek = this.app.link.subscribe(channel.topic, (m) => {
      this.#stopPeek();
      this.#paths.set(channel.topic, numbersIn(decoderOf(channel).decode(m.data)));
      this.#complete();
    });
  }

  #stopPeek() {
    this.#peek?.();
    this.#peek = null;
  }

  #offer(paths) {
    const key = JSON.stringify(paths);
    if (this.paths.dataset.key === key) return;
    this.paths.dataset.key = key;
    this.paths.replaceChildren(...paths.map(([value, label]) => h("option", { value, label: label ? `${value}  ${label}` : undefined })));
  }

  // ---- window, hold, cursor ----

  #setWindow(s) {
    this.#window = clampWindow(s);
    this.seconds.value = String(Math.round(this.#window));
    this.#change(() => {});
  }

  #pause() {
    this.#end = this.#end === null ? this.#newest() : null;
    this.#showHold();
  }

  #showHold() {
    document.getElementById("plot-pause")?.setAttribute("aria-pressed", String(this.#end !== null));
    this.element.dataset.held = String(this.#end !== null);
    this.#dirty = true;
  }

  #newest() {
    const last = Math.max(...this.#series.map((s) => (s.samples.length ? s.samples.time(s.samples.length - 1) : -Infinity)));
    const now = this.app.clock.simNs / 1e9;
    // the clock scrolls evenly, if messages are stamped by it
    return Number.isFinite(last) && now >= last && now < last + 1 ? now : Number.isFinite(last) ? last : now;
  }

  #pointer() {
    const place = (e) => {
      const box = this.canvas.getBoundingClientRect();
      const p = this.#plot ?? { left: 0, right: box.width };
      return (e.clientX - box.left - p.left) / Math.max(1, p.right - p.left);
    };
    this.canvas.addEventListener("pointermove", (e) => {
      const at = place(e);
      this.#cursor = at >= 0 && at <= 1 ? at : null;
      if (this.#drag !== null && this.#end !== null) this.#end -= (at - this.#drag) * this.#window;
      if (this.#drag !== null) this.#drag = at;
      this.#dirty = true;
    });
    this.canvas.addEventListener("pointerdown", (e) => {
      this.canvas.setPointerCapture(e.pointerId);
      this.#drag = place(e);
    });
    for (const type of ["pointerup", "pointercancel"]) this.canvas.addEventListener(type, () => (this.#drag = null));
    this.canvas.addEventListener("pointerleave", () => {
      this.#cursor = null;
      this.#dirty = true;
    });
    this.canvas.addEventListener("wheel", (e) => this.#wheel(e, place(e)), { passive: false });
  }

  // While it is held the time under the pointer stays where it is.
  #wheel(e, at) {
    e.preventDefault();
    const before = this.#window;
    this.#window = clampWindow(before * Math.exp(Math.max(-1, Math.min(1, e.deltaY * 0.002))));
    if (this.#end !== null) this.#end += (1 - at) * (this.#window - before);
    this.#setWindow(this.#window);
  }

  key(e) {
    if (e.key === "p") this.#pause();
    else if (e.target === this.canvas && (e.key === "ArrowLeft" || e.key === "ArrowRight")) {
      const by = (e.key === "ArrowLeft" ? -1 : 1) * (e.shiftKey ? 0.1 : 0.01);
      this.#cursor = Math.max(0, Math.min(1, (this.#cursor ?? 1) + by));
      this.#dirty = true;
    } else if (e.target === this.canvas && (e.key === "+" || e.key === "-")) this.#setWindow(this.#window * (e.key === "+" ? 0.8 : 1.25));
    else return false;
    return true;
  }

  // ---- drawing ----

  frame() {
    const resized = fitCanvas(this.canvas);
    const running = this.#end === null && this.#series.length > 0 && !this.app.clock.now?.paused;
    if (!resized && !this.#dirty && !running) return;
    this.#dirty = false;
    const to = this.#end ?? this.#newest();
    const view = { from: to - this.#window, to, cursor: this.#cursor };
    this.colours ??= { fg: colour("--fg"), dim: colour("--dim"), line: colour("--line"), size: smallText() };
    this.#plot = drawPlot(this.canvas, this.#series, view, this.colours);
    for (const s of this.#series) this.rows.get(s.key)?.update();
  }

  // All samples, one line a time, one column a series.
  #csv() {
    const rows = new Map();
    this.#series.forEach((s, k) => {
      for (let i = 0; i < s.samples.length; i++) {
        const t = s.samples.time(i);
        if (!rows.has(t)) rows.set(t, []);
        if (!Number.isNaN(s.samples.value(i))) rows.get(t)[k] = s.samples.value(i);
      }
    });
    const quote = (text) => `"${text.replaceAll('"', '""')}"`;
    const lines = [["time_s", ...this.#series.map((s) => quote(s.key))].join()];
    for (const t of [...rows.keys()].sort((a, b) => a - b)) lines.push([t, ...this.#series.map((_, k) => rows.get(t)[k] ?? "")].join());
    const url = URL.createObjectURL(new Blob([`${lines.join("\n")}\n`], { type: "text/csv" }));
    const link = h("a", { href: url, download: "plot.csv" });
    link.click();
    setTimeout(() => URL.revokeObjectURL(url), 1000);
  }
}

export const create = (app) => new Plot(app);
