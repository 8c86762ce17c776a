// SPDX-License-Identifier: Apache-2.0
// One channel's newest message as a tree, beside it the units and notes that its definition has. Only what is unfolded
// is in the document: of long arrays a page.

import { decoderOf } from "./decoder.js";
import { Keyed, h, setAttr, setOptions, setText } from "./dom.js";
import * as format from "./format.js";

const REFRESH_MS = 100;
const PAGE = 100; // elements of an array at once
const TEXT_MAX = 400;
const INLINE_MAX = 16; // numbers that fit behind the name
const MEMBERS_MAX = 6; // of a small message, likewise

const isArray = (v) => Array.isArray(v) || ArrayBuffer.isView(v);
const isTime = (v) => Object.hasOwn(v, "sec") && Object.hasOwn(v, "nanosec") && Object.keys(v).length === 2;

function preview(value, type) {
  if (isArray(value)) {
    const short = value.length <= INLINE_MAX && (ArrayBuffer.isView(value) || value.every((v) => typeof v !== "object"));
    return short ? `[${[...value].map((v) => preview(v, "")).join(", ")}]` : `<${type || "array"}[${value.length}]>`;
  }
  if (value === null || value === undefined) return String(value);
  if (typeof value === "object") return isTime(value) ? `${value.sec}.${String(value.nanosec).padStart(9, "0")} s` : members(value);
  if (typeof value === "string") return JSON.stringify(value.length > TEXT_MAX ? `${value.slice(0, TEXT_MAX)}…` : value);
  return typeof value === "number" && type === "float32" ? format.value(value) : String(value);
}

// {x: 1, y: 2} where that is short, else how many there are
function members(value) {
  const entries = Object.entries(value);
  const small =
    entries.length <= MEMBERS_MAX && entries.every(([, v]) => typeof v !== "object" && !(typeof v === "string" && v.length > 24));
  return small
    ? `{${entries.map(([k, v]) => `${k}: ${typeof v === "number" ? format.value(v) : preview(v, "")}`).join(", ")}}`
    : `{${entries.length}}`;
}

// The constant that a value stands for: of this field's type and, if there are several, of its name.
function constantOf(type, field, value) {
  if (!type || !field || typeof value !== "number") return "";
  const same = type.constants.filter((c) => c.type === field.type && c.value === value);
  const named = same.filter((c) => c.name.toLowerCase().startsWith(field.name.toLowerCase()));
  return (named.length === 1 ? named[0] : same.length === 1 ? same[0] : null)?.name ?? "";
}

// One line of the tree and, while it is unfolded, those under it.
class Node {
  // place: {key, path, level, owner: type that has the field, field, ofArray: it is an element}
  constructor(view, place) {
    this.view = view;
    Object.assign(this, place);
    this.first = 0; // of an array's page
    this.fold = h("span", { class: "fold", "aria-hidden": "true" });
    this.valueText = h("span", { class: "value" });
    this.note = h("span", { class: "note" });
    this.line = h(
      "div",
      { class: "line", onclick: () => this.toggle() },
      this.fold,
      h("span", { class: "key" }, this.key),
      this.valueText,
      this.note,
    );
    this.line.style.paddingLeft = `${8 + (this.level - 1) * 14}px`;
    this.group = h("ul", { role: "group" });
    this.group.hidden = true;
    this.element = h(
      "li",
      { role: "treeitem", "aria-level": String(this.level), tabindex: "-1", dataset: { path: this.path } },
      this.line,
      this.group,
    );
    this.element.node = this;
    this.children = new Keyed(this.group, (child) => (child.pager ? this.#pager() : new Node(view, child.place)));
  }

  get type() {
    return this.field ? this.field.type : "";
  }

  get open() {
    return this.foldable && (this.view.unfolded.get(this.path) ?? this.#openAtFirst);
  }

  get #openAtFirst() {
    return isArray(this.value)
      ? this.value.length <= INLINE_MAX && typeof this.value[0] === "object" && this.level <= 3
      : this.level <= 2 && !isTime(this.value);
  }

  update({ value }) {
    this.value = value;
    const isList = isArray(value);
    this.foldable = value !== null && typeof value === "object" && (isList ? value.length > 0 : Object.keys(value).length > 0);
    setText(this.valueText, preview(value, this.type));
    setText(this.note, this.#noteText());
    setText(this.fold, this.foldable ? (this.open ? "▾" : "▸") : "");
    setAttr(this.element, "aria-expanded", this.foldable ? String(this.open) : null);
    this.group.hidden = !this.open;
    this.children.update(this.open ? this.#parts() : [], (p) => p.key);
  }

  #noteText() {
    const parts = [constantOf(this.owner, this.field, this.value)];
    if (this.field && !this.ofArray)
      parts.push(this.field.unit && !this.field.comment.includes(this.field.unit) ? `[${this.field.unit}]` : "", this.field.comment);
    if (this.level <= 2 && this.field && !this.field.comment && !this.field.primitive && !this.field.array) parts.push(this.field.type);
    return parts.filter((p) => p).join("  ");
  }

  #parts() {
    return isArray(this.value) ? this.#elements() : this.#members();
  }

  #members() {
    const owner = this.field ? this.view.schema?.types.get(this.type) : this.level === 1 ? this.view.rootType : null;
    return Object.entries(this.value).map(([key, value]) => {
      const field = owner?.fields.find((f) => f.name === key) ?? null;
      return { key, value, place: { key, path: `${this.path}.${key}`, level: this.level + 1, owner, field } };
    });
  }

  #elements() {
    const out = [];
    const n = this.value.length;
    if (n > PAGE) out.push({ key: "pager", pager: true, value: n });
    this.first = Math.max(0, Math.min(this.first, n - 1));
    for (let i = n > PAGE ? this.first : 0; i < Math.min(n, this.first + PAGE); i++) {
      const key = `[${i}]`;
      out.push({
        key,
        value: this.value[i],
        place: { key, path: `${this.path}${key}`, level: this.level + 1, owner: this.owner, field: this.field, ofArray: true },
      });
    }
    return out;
  }

  #pager() {
    const go = (to) => {
      this.first = Math.max(0, Math.min(to, this.value.length - 1));
      this.view.refresh();
    };
    const input = h("input", {
      type: "number",
      min: "0",
      "aria-label": "first element shown",
      onchange: () => go(Math.floor(Number(input.value) || 0)),
    });
    const total = h("span", { class: "dim" });
    const button = (label, title, by) =>
      h("button", { type: "button", title, "aria-label": title, onclick: () => go(this.first + by) }, label);
    const line = h(
      "div",
      { class: "line" },
      h("span", { class: "pager" }, button("‹", "the 100 before", -PAGE), input, button("›", "the next 100", PAGE), total),
    );
    line.style.paddingLeft = `${8 + this.level * 14}px`;
    const update = () => {
      if (document.activeElement !== input) input.value = String(this.first);
      setText(total, `… ${Math.min(this.value.length, this.first + PAGE) - 1} of ${this.value.length}`);
    };
    return { element: h("li", { role: "none" }, line), update };
  }

  toggle(to = !this.open) {
    if (!this.foldable) return;
    this.view.unfolded.set(this.path, to);
    this.update(this);
  }
}

class Raw {
  params = {};
  unfolded = new Map(); // path -> is it open? kept over messages and channels
  schema = null;
  #end = null;
  #off = null;
  #topic = "";
  #newest = null;
  #message = null; // the decoded one
  #shownAt = 0;
  #times = [];

  constructor(app) {
    this.app = app;
    this.channel = h("select", {
      id: "raw-topic",
      "aria-label": "channel",
      onchange: () => this.app.goto("raw", { topic: this.channel.value }),
    });
    this.hold = h("input", { type: "checkbox", id: "raw-hold" });
    this.info = h("span", { id: "raw-info", class: "dim num" });
    this.copy = h(
      "button",
      {
        type: "button",
        id: "raw-copy",
        title: "copy the message as JSON; of long arrays the first 100 elements",
        onclick: () => this.#copy(),
      },
      "copy",
    );
    this.error = h("p", { class: "empty bad", id: "raw-error", role: "status" });
    this.definition = h("pre", { id: "raw-definition" });
    this.details = h("details", { class: "definition" }, h("summary", {}, "definition"), this.definition);
    this.tree = h("ul", {
      class: "tree",
      role: "tree",
      id: "raw-tree",
      "aria-label": "message",
      onkeydown: (e) => this.#treeKey(e),
      onfocusin: (e) => this.#rove(e),
    });
    this.element = h(
      "section",
      {},
      h("div", { class: "bar" }, h("label", {}, "channel ", this.channel), h("label", {}, this.hold, "hold"), this.copy, this.info),
      h("div", { class: "scroll" }, this.error, this.tree, this.details),
    );
  }

  get rootType() {
    return this.schema?.types.get(this.schema.root);
  }

  // ---- the channel ----

  show(params) {
    this.#off ??= this.app.link.on("channels", () => this.#channels());
    const topic = params.topic ?? this.params.topic ?? "";
    this.params = { topic };
    if (topic !== this.#topic || !this.#end) this.#listen(topic);
    this.#channels();
  }

  hide() {
    this.#end?.();
    this.#off?.();
    this.#end = this.#off = null;
  }

  #listen(topic) {
    this.#end?.();
    if (topic !== this.#topic) this.#clear();
    this.#topic = topic;
    this.#end = topic ? this.app.link.subscribe(topic, (m) => this.#take(m)) : null;
  }

  #clear() {
    this.#newest = this.#message = this.root = null;
    this.#times = [];
    this.tree.replaceChildren();
    setText(this.error, "");
    setText(this.info, "");
  }

  #channels() {
    const topics = [...this.app.link.channels.keys()].sort();
    if (this.#topic && !topics.includes(this.#topic)) topics.unshift(this.#topic);
    setOptions(this.channel, ["", ...topics], (t) => t || "choose a channel");
    this.channel.value = this.#topic;
    const channel = this.app.link.channels.get(this.#topic);
    setText(this.definition, channel?.schema ?? "");
    this.details.hidden = !channel?.schema;
    const gone = this.#topic && !channel && this.app.link.state === "connected" && this.app.link.channels.size > 0;
    if (gone) setText(this.error, `${this.#topic} is not offered by the server.`);
    else if (!this.#message) setText(this.error, channel ? decoderOf(channel).error : "");
  }

  #take(m) {
    const now = performance.now();
    this.#times.push(now);
    while (this.#times[0] < now - 2000) this.#times.shift();
    if (!this.hold.checked) this.#newest = m;
  }

  // ---- the tree ----

  frame(now) {
    if (!this.#newest || now - this.#shownAt < REFRESH_MS) return;
    this.#shownAt = now;
    const m = this.#newest;
    this.#newest = null;
    const decoder = decoderOf(m.channel);
    try {
      this.#message = decoder.decode(m.data);
      this.schema = decoder.schema;
      setText(this.error, "");
    } catch (e) {
      setText(this.error, `${m.data.length} bytes cannot be decoded: ${e.message}`);
      return;
    }
    const hz = (this.#times.length - 1) / ((this.#times[this.#times.length - 1] - this.#times[0]) / 1000);
    setText(
      this.info,
      `${m.channel.schemaName} at ${format.seconds(m.logNs)} s, ${format.bytes(m.data.length)}${Number.isFinite(hz) ? `, ${format.hz(hz)} Hz` : ""}`,
    );
    this.refresh();
  }

  refresh() {
    if (this.#message === null) return;
    if (!this.root) {
      this.root = new Node(this, { key: this.schema?.root ?? "message", path: "", level: 1, owner: null, field: null });
      this.root.element.tabIndex = 0;
      this.tree.replaceChildren(this.root.element);
    }
    this.root.update({ value: this.#message });
  }

  #rove(e) {
    const item = e.target.closest("[role=treeitem]");
    if (!item || e.target !== item) return;
    for (const other of this.tree.querySelectorAll('[tabindex="0"]')) other.tabIndex = -1;
    item.tabIndex = 0;
  }

  // Arrows as in any tree.
  #treeKey(e) {
    const item = e.target;
    if (!(item instanceof HTMLElement) || item.getAttribute("role") !== "treeitem") return;
    const shown = [...this.tree.querySelectorAll("[role=treeitem]")].filter((i) => i.offsetParent !== null);
    const at = shown.indexOf(item);
    const { node } = item;
    const moves = {
      ArrowDown: () => shown[at + 1]?.focus(),
      ArrowUp: () => shown[at - 1]?.focus(),
      Home: () => shown[0].focus(),
      End: () => shown[shown.length - 1].focus(),
      ArrowRight: () => (node.open ? shown[at + 1]?.focus() : node.toggle(true)),
      ArrowLeft: () => (node.open ? node.toggle(false) : item.parentElement.closest("[role=treeitem]")?.focus()),
      Enter: () => node.toggle(),
      " ": () => node.toggle(),
    };
    if (!moves[e.key]) return;
    e.preventDefault();
    e.stopPropagation();
    moves[e.key]();
  }

  async #copy() {
    if (this.#message === null) return;
    const plain = (key, v) => (typeof v === "bigint" ? Number(v) : ArrayBuffer.isView(v) ? Array.from(v.subarray(0, PAGE), Number) : v);
    try {
      await navigator.clipboard.writeText(JSON.stringify(this.#message, plain, 2));
      this.app.toast("copied");
    } catch {
      this.app.toast("the browser does not allow copying here");
    }
  }
}

export const create = (app) => new Raw(app);
